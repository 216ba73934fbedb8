/** A column of a board with its head: name, number of records, sums and limit. A card can be put down anywhere on it. */

import { Gauge } from "lucide-react"
import { Fragment, type ReactNode, useId, useMemo, useState } from "react"
import type { Layout } from "../../../core/domain/model/layout.ts"
import { isState } from "../field/kind.ts"
import { State } from "../field/value.tsx"
import { setQuery } from "../ground/location.ts"
import { Box } from "../ground/parts.tsx"
import { printLayout } from "../list/layout.ts"
import { useLocale } from "../messages/locale.tsx"
import { isolated, plain } from "../model/plain.ts"
import { Cards, type CardsProps, useWasSeen } from "./column.tsx"
import { both, conditionOf } from "./columns.ts"
import style from "./layout.module.css"

interface LaneProps extends CardsProps {
  readonly value: unknown
  /** How many there were before cards were moved; null: not known. */
  readonly counted: number | null
  /** The sums of the records, one a currency. */
  readonly sums: readonly string[]
  readonly layout: Extract<Layout, { of: "board" }>
  /** Whether a held card is over the column. */
  readonly over: boolean
  readonly onOver: () => void
  readonly onDrop: () => void
}

const LimitForm = (
  { id, label, layout, onClose }: Pick<LaneProps, "id" | "label" | "layout"> & { readonly onClose: () => void }
): ReactNode => {
  const { t } = useLocale()
  const name = id.slice(1)
  const [text, setText] = useState(String(layout.limits?.[name] ?? ""))
  return (
    <form
      className={style.limit}
      onSubmit={(event) => {
        event.preventDefault()
        const { [name]: _, ...others } = layout.limits ?? {}
        const limit = Number(text)
        setQuery(printLayout({ ...layout, limits: limit > 0 ? { ...others, [name]: limit } : others }))
        onClose()
      }}
    >
      <label>
        <span className="label">{t.layout.limitOf(isolated(label))}</span>
        <span className="input">
          <input
            autoFocus
            inputMode="numeric"
            autoComplete="off"
            maxLength={6}
            value={text}
            onChange={({ target }) => setText(target.value.replaceAll(/\D/g, ""))}
          />
        </span>
      </label>
      <button type="submit" className="btn primary">{t.layout.setLimit}</button>
    </form>
  )
}

export const BoardLane = (props: LaneProps): ReactNode => {
  const { count, counted, id, label, layout, moves, onDrop, onOver, over, query, resource, sums, value } = props
  const { format, t } = useLocale()
  const title = useId()
  const { ref, seen } = useWasSeen()
  const field = resource.fields.get(layout.by)
  const limit = layout.limits?.[id.slice(1)]
  const own = useMemo(
    () => ({ ...query, filter: both(query.filter, conditionOf(resource, layout.by, value)) }),
    [JSON.stringify(query), resource, layout.by, value]
  )
  // A card that was moved here is shown, also where the column is out of sight or had none.
  const arrived = [...moves.values()].some(({ stands }) => stands === id)
  const numeral = count === null ? "" : format.count(count)
  return (
    <section
      ref={ref}
      aria-labelledby={title}
      className={style.column}
      data-column={id}
      data-over={over ? "" : undefined}
      onDragOver={(event) => {
        event.preventDefault()
        onOver()
      }}
      onDrop={(event) => {
        event.preventDefault()
        onDrop()
      }}
    >
      <header className={style.head}>
        <h2 id={title} className="cut">
          {id !== "" && field !== undefined && isState(field) ? <State value={plain(value)} /> : <bdi>{label}</bdi>}
        </h2>
        <span className={`num ${style.count}`} data-full={limit !== undefined && (count ?? 0) > limit ? "" : undefined}>
          {limit === undefined ? numeral : t.layout.ofLimit(numeral, format.count(limit))}
        </span>
        {id !== "" && (
          <Box
            label={t.layout.limitOf(isolated(label))}
            name={t.layout.limitOf(isolated(label))}
            className={`btn quiet bare ${style.gauge}`}
            content={(close) => <LimitForm id={id} label={label} layout={layout} onClose={close} />}
          >
            <Gauge className="icon" aria-hidden="true" />
          </Box>
        )}
        {sums.length > 0 && (
          <small className="cut num" title={sums.join(" · ")}>
            {sums.map((sum, at) => (
              <Fragment key={sum}>
                {at > 0 && " · "}
                <bdi>{sum}</bdi>
              </Fragment>
            ))}
          </small>
        )}
      </header>
      {(seen && counted !== 0) || arrived
        ? <Cards {...props} query={own} count={counted} />
        : <p className={`dim ${style.none}`}>{counted === 0 ? t.layout.none : ""}</p>}
    </section>
  )
}
