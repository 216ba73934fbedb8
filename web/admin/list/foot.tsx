/** The line below a list: the visible rows, the number of matches, and the time of the last save. */

import { lazy, type ReactNode, Suspense, useSyncExternalStore } from "react"
import { isMeasure } from "../field/kind.ts"
import type { Column } from "../grid/columns.ts"
import { openShortcuts } from "../ground/overlays.ts"
import { useLocale } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import type { RowsQuery } from "./asked.ts"
import style from "./list.module.css"
import type { ListRows } from "./rows.ts"
import type { Sight } from "./sight.ts"
import { totalText } from "./total.ts"

const Sums = lazy(() => import("./sums.tsx").then(({ Sums }) => ({ default: Sums })))

/** The columns that can be added up, at most ten: a request has no more measures. */
const addedUp = (resource: Resource, columns: readonly Column[]): readonly string[] =>
  resource.model.arguments !== undefined ? [] : columns.flatMap(({ id }) => {
    const field = resource.fields.get(id)
    return field !== undefined && field.kind !== "money" && isMeasure(resource, field) ? [id] : []
  }).slice(0, 10)

interface FootProps {
  readonly resource: Resource
  readonly columns: readonly Column[]
  readonly query: RowsQuery
  readonly rows: ListRows
  readonly sight: Sight
  /** Takes the element in which a range of cells is summed up. */
  readonly slot: (element: HTMLElement | null) => void
  readonly filter: string
  /** Time of the last save in this list, or null. */
  readonly savedAt: number | null
  readonly keys: string
}

export const ListFoot = (
  { columns, filter, keys, query, resource, rows, savedAt, sight, slot }: FootProps
): ReactNode => {
  const { format, t } = useLocale()
  const seen = useSyncExternalStore(sight.subscribe, sight.now)
  const { total } = rows
  const position = `${format.count(seen[0] + 1)}–${format.count(seen[1] + 1)}`
  const text = total === null ? "" : totalText(total, t, format)
  const sums = total === null || total.count === 0 ? [] : addedUp(resource, columns)
  return (
    <footer className={style.foot}>
      {total !== null && total.count > 0 && (
        <span>
          {rows.groups === undefined
            ? (
              <>
                {t.list.position} <b>{position}</b>{" "}
                {filter === "" ? t.list.matching(text) : t.list.matchingFilter(text)}
              </>
            )
            : <b>{text}</b>}
        </span>
      )}
      <span ref={slot} className={style.range} role="status" />
      {sums.length > 0 && (
        <Suspense fallback={null}>
          <Sums resource={resource} query={query} fields={sums} />
        </Suspense>
      )}
      <span className={style.space} role="status">
        {savedAt !== null && t.list.saved(format.moment(new Date(savedAt).toISOString(), Date.now()))}
      </span>
      <button type="button" onClick={openShortcuts}>
        <kbd>{keys}</kbd> {t.shell.shortcuts}
      </button>
    </footer>
  )
}
