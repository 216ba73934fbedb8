/** The menu of a column: its order, its position, and its most frequent values, distribution or series. Selecting one of them filters the list. */

import { useQuery } from "@tanstack/react-query"
import { ArrowDown, ArrowUp, EyeOff, ListFilter, Pin, PinOff, Plus } from "lucide-react"
import { type ReactNode, useState } from "react"
import { hasOrder } from "../../../core/domain/value/traits.ts"
import { elementOf } from "../field/array.ts"
import { isQuantity } from "../field/kind.ts"
import { useReader, Value } from "../field/value.tsx"
import { Problem } from "../ground/problem.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { resourceClient } from "../model/client.ts"
import { textOfSimple, withCondition } from "../model/conditions.ts"
import type { Path } from "../model/paths.ts"
import { plain } from "../model/plain.ts"
import style from "./list.module.css"
import { type Choice, type OrderKey, whyUnsortedBy, withKey } from "./state.ts"

interface ColumnMenuProps {
  readonly resource: Resource
  /** The column. */
  readonly path: Path
  readonly filter: string
  readonly deleted: boolean
  readonly order: readonly OrderKey[]
  readonly choices: readonly Choice[]
  readonly onOrder: (order: readonly OrderKey[]) => void
  readonly onChoices: (choices: readonly Choice[]) => void
  readonly onFilter: (filter: string) => void
  readonly onClose: () => void
}

/** Whether the values of a field are told by how many records have them, and not as a distribution or a series. */
const counted = (field: Path["field"]): boolean =>
  !isQuantity(field) && field.kind !== "timestamp" && field.kind !== "date"

interface ActProps {
  readonly icon: ReactNode
  readonly children: ReactNode
  readonly onAct: () => void
}

const Act = ({ children, icon, onAct }: ActProps): ReactNode => (
  <button type="button" className="menu-item" onClick={onAct}>{icon}{children}</button>
)

export const ColumnMenu = (props: ColumnMenuProps): ReactNode => {
  const { choices, onChoices, onClose, onOrder, order, path, resource } = props
  const { field, text, ways } = path
  const t = useMessages()
  const w = t.columns
  const [asked, setAsked] = useState(false)
  const choice = choices.find((each) => each.field === text)
  const unsorted = whyUnsortedBy(path, t)
  const orderKey = order.find((key) => key.field === text)
  const act = (work: () => void) => () => {
    work()
    onClose()
  }
  const change = (next: Partial<Choice>): void =>
    onChoices(choices.map((each) => each.field === text ? { ...each, ...next } : each))
  return (
    <div className={`menu ${style.stats}`}>
      {unsorted === null ?
        (
          <>
            <Act
              icon={<ArrowUp className="icon" />}
              onAct={act(() => onOrder([{ field: text, descending: false }]))}
            >
              {w.sortAscending}
            </Act>
            <Act
              icon={<ArrowDown className="icon" />}
              onAct={act(() => onOrder([{ field: text, descending: true }]))}
            >
              {w.sortDescending}
            </Act>
            {order.length > 0 && orderKey === undefined && withKey(order, text, resource).length > 1 && (
              <Act
                icon={<Plus className="icon" />}
                onAct={act(() => onOrder(withKey(order, text, resource)))}
              >
                {w.addSort}
              </Act>
            )}
            {orderKey !== undefined && order.length > 1 && (
              <Act
                icon={<span className="icon" />}
                onAct={act(() => onOrder(order.filter((key) => key !== orderKey)))}
              >
                {w.unsort}
              </Act>
            )}
          </>
        ) :
        <p className={`hint ${style.why}`}>{unsorted}</p>}
      <hr className="menu-line" />
      <Act
        icon={choice?.pinned === true ? <PinOff className="icon" /> : <Pin className="icon" />}
        onAct={act(() => change({ pinned: choice?.pinned !== true }))}
      >
        {choice?.pinned === true ? w.unpin : w.pin}
      </Act>
      {choice?.width != null && (
        <Act icon={<span className="icon" />} onAct={act(() => change({ width: null }))}>{w.widthAuto}</Act>
      )}
      {choices.length > 1 && (
        <Act
          icon={<EyeOff className="icon" />}
          onAct={act(() => onChoices(choices.filter((each) => each.field !== text)))}
        >
          {w.hide}
        </Act>
      )}
      {field.filterable && hasOrder(elementOf(field).kind) && (ways.length === 0 || counted(field)) &&
        (
          <>
            <hr className="menu-line" />
            {asked
              ? <Statistics {...props} />
              : <Act icon={<ListFilter className="icon" />} onAct={() => setAsked(true)}>{w.statistics}</Act>}
          </>
        )}
    </div>
  )
}

const Statistics = ({ deleted, filter, onClose, onFilter, path, resource }: ColumnMenuProps): ReactNode => {
  const { field, resource: owner, text: name } = path
  const w = useMessages().columns
  const { format, t } = useLocale()
  const reader = useReader()
  const around = { field: name, filter, ...(deleted ? { show_deleted: true } : {}) }
  const rows = resourceClient(resource.name)
  const many = isQuantity(field)
  const time = !many && !counted(field)
  const facets = useQuery({
    queryKey: ["column-facets", resource.name, name, filter, deleted],
    enabled: !many && !time,
    queryFn: ({ signal }) => rows.facets({ ...around, limit: 8 }, { signal })
  })
  const histogram = useQuery({
    queryKey: ["column-histogram", resource.name, name, filter, deleted],
    enabled: many,
    queryFn: ({ signal }) => rows.histogram({ ...around, buckets: 16 }, { signal })
  })
  const series = useQuery({
    queryKey: ["column-series", resource.name, name, filter, deleted],
    enabled: time,
    queryFn: ({ signal }) =>
      rows.series({
        ...around,
        range: "1y",
        granularity: "month",
        time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone
      }, { signal })
  })
  const narrow = (text: string | null): void => {
    if (text === null) return
    onFilter(text)
    onClose()
  }
  const add = (...texts: (string | null)[]): void =>
    narrow([filter, ...texts].filter((text) => text !== null && text !== "").join(" AND "))
  const error = facets.error ?? histogram.error ?? series.error
  if (error !== null) return <Problem error={error} />
  if (facets.data !== undefined) {
    const most = Math.max(1, ...facets.data.facets.map(({ count }) => count))
    return (
      <section>
        <h3>{w.values}</h3>
        {facets.data.facets.map(({ count, value }) => (
          <button
            key={plain(value)}
            type="button"
            className={style.facet}
            onClick={() =>
              value === null
                ? add(textOfSimple({ field: name, is: "empty", values: [] }, resource))
                : narrow(withCondition(filter, { field: name, is: "is", values: [plain(value)] }, resource))}
          >
            <i style={{ width: `${(count / most) * 100}%` }} />
            <span className="cut">
              {value === null
                ? <em className="dim">{w.noValue}</em>
                : <Value resource={owner} field={elementOf(field)} value={value} linked={false} />}
            </span>
            <small>{format.count(count)}</small>
          </button>
        ))}
      </section>
    )
  }
  if (histogram.data !== undefined) {
    const { buckets } = histogram.data
    const most = Math.max(1, ...buckets.map(({ count }) => count))
    return (
      <section>
        <h3>{w.distribution}</h3>
        <div className={style.bars}>
          {buckets.map(({ count, from, to }) => {
            const words = `${format.number(from)} – ${format.number(to)}: ${format.count(count)}`
            return (
              <button
                key={String(from)}
                type="button"
                title={words}
                aria-label={words}
                onClick={() =>
                  add(
                    textOfSimple({ field: name, is: "atLeast", values: [String(from)] }, resource),
                    textOfSimple({ field: name, is: "atMost", values: [String(to)] }, resource)
                  )}
              >
                <i style={{ height: `${(count / most) * 100}%` }} />
              </button>
            )
          })}
        </div>
        {buckets.length > 0 && (
          <div className={style.ends}>
            <span>{format.number(buckets[0]!.from)}</span>
            <span>{format.number(buckets.at(-1)!.to)}</span>
          </div>
        )}
      </section>
    )
  }
  if (series.data !== undefined) {
    const { points } = series.data
    const most = Math.max(1, ...points.map(({ count = 0 }) => count))
    return (
      <section>
        <h3>{w.overTime}</h3>
        <div className={style.bars}>
          {points.map(({ count = 0, start }, at) => {
            const next = points[at + 1]?.start
            const bound = (iso: string): string => field.kind === "date" ? iso.slice(0, 10) : iso
            const words = `${format.date(start.slice(0, 10))}: ${format.count(count)}`
            return (
              <button
                key={start}
                type="button"
                title={words}
                aria-label={words}
                onClick={() =>
                  add(
                    textOfSimple({ field: name, is: "atLeast", values: [bound(start)] }, resource),
                    next === undefined
                      ? null
                      : textOfSimple({ field: name, is: "under", values: [bound(next)] }, resource)
                  )}
              >
                <i style={{ height: `${(count / most) * 100}%` }} />
              </button>
            )
          })}
        </div>
        {points.length > 0 && (
          <div className={style.ends}>
            <span>{reader.format.date(points[0]!.start.slice(0, 10))}</span>
            <span>{reader.format.date(points.at(-1)!.start.slice(0, 10))}</span>
          </div>
        )}
      </section>
    )
  }
  return <p className="menu-item dim late">{t.shell.loading}</p>
}
