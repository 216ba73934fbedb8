/** The line below a list: the visible rows, the number of matches, and the time of the last save. */

import { type ReactNode, useSyncExternalStore } from "react"
import { openShortcuts } from "../ground/overlays.ts"
import { useLocale } from "../messages/locale.tsx"
import style from "./list.module.css"
import type { Rows } from "./rows.ts"
import type { Sight } from "./sight.ts"
import { totalText } from "./total.ts"

interface FootProps {
  readonly rows: Rows
  readonly sight: Sight
  readonly filter: string
  /** Time of the last save in this list, or null. */
  readonly savedAt: number | null
  readonly keys: string
}

export const ListFoot = ({ filter, keys, rows, savedAt, sight }: FootProps): ReactNode => {
  const { format, t } = useLocale()
  const seen = useSyncExternalStore(sight.subscribe, sight.now)
  const { total } = rows
  const position = `${format.count(seen[0] + 1)}–${format.count(seen[1] + 1)}`
  const text = total === null ? "" : totalText(total, t, format)
  return (
    <footer className={style.foot}>
      {total !== null && total.count > 0 && (
        <span>
          {t.list.position} <b>{position}</b> {filter === "" ? t.list.matching(text) : t.list.matchingFilter(text)}
        </span>
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
