/** What a list is grouped by, as chips that can be removed; folding of all groups; and what helps where groups are refused. */

import { ChevronDown, X } from "lucide-react"
import type { ReactNode } from "react"
import type { Layout } from "../../../core/domain/model/layout.ts"
import { Menu } from "../ground/parts.tsx"
import { useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { columnLabel } from "../model/paths.ts"
import { isolated } from "../model/plain.ts"
import { withUnit } from "./group-choice.ts"
import { GroupMenu, setGroups } from "./group-menu.tsx"
import { groupAt, timeUnits } from "./group-time.ts"
import style from "./group.module.css"
import { isDay } from "./layout.ts"

interface GroupBarProps {
  readonly resource: Resource
  readonly layout: Extract<Layout, { of: "list" }>
  /** Whether groups are folded unless they are named. */
  readonly folded: boolean
  /** Whether sums were refused. */
  readonly unsummed: boolean
  readonly onFold: (folded: boolean) => void
}

export const GroupBar = ({ folded, layout, onFold, resource, unsummed }: GroupBarProps): ReactNode => {
  const w = useMessages().group
  const { group } = layout
  return (
    <div className={style.bar} role="group" aria-label={w.name}>
      <span className="dim">{w.name}</span>
      {group.map((text) => {
        const at = groupAt(resource, text)
        const label = at === undefined ? text : columnLabel(resource, at.path)
        const unit = at === undefined || !isDay(at.path.field) ? null : at.unit ?? "day"
        return (
          <span key={text} className={style.chip}>
            <bdi className="cut">{label}</bdi>
            {unit !== null && (
              <Menu
                label={w.unitOf(isolated(label))}
                name={`${w.unitOf(isolated(label))}: ${w.units[unit]}`}
                className={style.unit}
                entries={timeUnits.map((each) => ({
                  label: w.units[each],
                  chosen: each === unit,
                  onAction: () => setGroups(withUnit(group, text, each))
                }))}
              >
                {w.units[unit]}
                <ChevronDown aria-hidden="true" />
              </Menu>
            )}
            <button
              type="button"
              aria-label={w.remove(isolated(label))}
              onClick={() => setGroups(group.filter((each) => each !== text))}
            >
              <X aria-hidden="true" />
            </button>
          </span>
        )
      })}
      {group.length === 1 && <GroupMenu resource={resource} layout={layout}>{w.second}</GroupMenu>}
      <button type="button" className="btn quiet" onClick={() => onFold(!folded)}>
        {folded ? w.unfoldAll : w.foldAll}
      </button>
      {unsummed && <span className="dim" role="status">{w.unsummed}</span>}
    </div>
  )
}

export const GroupHelp = (): ReactNode => {
  const w = useMessages().group
  return (
    <>
      <p className="dim">{w.refused}</p>
      <p>
        <button type="button" className="btn" onClick={() => setGroups([])}>{w.plainly}</button>
      </p>
    </>
  )
}
