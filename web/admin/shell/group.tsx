/** A group of the sidebar. Its heading folds it; a folded group shows its current entry only. What is folded is kept in this browser. */

import { ChevronDown } from "lucide-react"
import type { ReactNode } from "react"
import { useToggle } from "../messages/preferences.ts"
import style from "../style/frame.module.css"

interface GroupProps<Entry> {
  /** Null: the group has no heading, and cannot be folded. */
  readonly label: string | null
  /** What the group is called in the preferences, whatever the language. */
  readonly id: string
  /** Folded until somebody unfolds it: one line with this icon stands for all of its entries. */
  readonly icon?: ReactNode
  readonly entries: readonly Entry[]
  readonly isCurrent: (entry: Entry) => boolean
  readonly children: (entry: Entry) => ReactNode
}

export const Group = <Entry extends object>(
  { children, entries, icon, id, isCurrent, label }: GroupProps<Entry>
): ReactNode => {
  const [toggled, toggle] = useToggle(id)
  const folded = label !== null && toggled === (icon === undefined)
  return (
    <div role="group" aria-label={label ?? undefined} className={style.group}>
      {label !== null && (
        <h2>
          <button
            type="button"
            className={icon === undefined ? style.fold : `${style.nav} ${style.fold}`}
            aria-expanded={!folded}
            onClick={toggle}
          >
            {icon}
            <span className="cut">{label}</span>
            <ChevronDown className="icon" aria-hidden="true" />
          </button>
        </h2>
      )}
      {entries.map((entry) => folded && !isCurrent(entry) ? null : children(entry))}
    </div>
  )
}
