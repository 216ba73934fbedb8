/** A list with a record beside it: the room of both, and what the list learns from the panel. The panel comes from outside. */

import { type ReactNode, Suspense } from "react"
import { FileExpiry } from "../field/file.tsx"
import { useFirstPage } from "../ground/first-page.ts"
import { noticeFailure } from "../ground/session.ts"
import { useLocale } from "../messages/locale.tsx"
import { usePreferences, useToggle } from "../messages/preferences.ts"
import { keyOf, toOneOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import style from "./list.module.css"
import { type Opening, openRecord } from "./open.ts"
import type { Panel, Peeking } from "./peeking.ts"
import { placeAmong } from "./position.ts"

interface BesideProps extends Opening {
  readonly peek: Peeking
  readonly panel: Panel
  /** When a cell was saved last. */
  readonly savedAt: number | null
  /** The list. */
  readonly children: ReactNode
}

/** Shows a record in its row as the panel has read it. */
const putInRow = ({ resource, rows }: Opening, record: AnyRecord): void => {
  const key = keyOf(resource, record)
  const before = key === null ? undefined : rows.rowAt(rows.indexOf(key))
  if (key === null || before === undefined || before.etag === record.etag) return
  // The row may show more of related records than the panel has read.
  const { expand: _, ...own } = record
  rows.replace(key, own)
  const leads = resource.model.fields.some(({ name }) =>
    name in before && before[name] !== record[name] && toOneOf(resource.model, name) !== undefined
  )
  if (leads) rows.renew(key).catch(noticeFailure)
}

const Beside = (props: BesideProps & { readonly keyText: string }): ReactNode => {
  const { handle, keyText, panel: Panel, peek, resource, rows, savedAt } = props
  const { format, t } = useLocale()
  const { about, count, index } = placeAmong(rows, peek.index)
  const numeral = format.count(count)
  return (
    <Panel
      resource={resource}
      keyText={keyText}
      row={rows.rowAt(peek.index)}
      index={index}
      total={about ? t.list.about(numeral) : numeral}
      last={peek.index + 1 >= (rows.groups?.count ?? count)}
      rests={peek.rests}
      savedAt={savedAt}
      onWalk={peek.walk}
      onOpen={(event) => openRecord(props, keyText, peek.index, event, true)}
      onClose={peek.close}
      onList={() => handle.current?.focus(peek.index < 0 ? {} : { row: peek.index })}
      onRecord={(record) => putInRow(props, record)}
      onChanged={rows.reload}
    />
  )
}

/** The list, and the panel once the rows are there. Its room is there before, so that they stay where they are. */
export const WithPanel = (props: BesideProps): ReactNode => {
  const { children, peek, rows } = props
  const hasFirstPage = useFirstPage()
  const { peek: width } = usePreferences()
  const [wide] = useToggle("peek:wide")
  return (
    <div className={style.beside}>
      <div className={style.column}>
        <FileExpiry value={rows.reload}>{children}</FileExpiry>
      </div>
      {peek.key !== null && (
        <div
          className={style.peek}
          style={{ ["--peek" as string]: `${width}px` }}
          data-peek=""
          data-wide={wide ? "" : undefined}
        >
          <Suspense fallback={null}>
            {hasFirstPage && <Beside {...props} keyText={peek.key} />}
          </Suspense>
        </div>
      )}
    </div>
  )
}
