/** Chooses what a list is grouped by. The choice is in the address. */

import { ListTree } from "lucide-react"
import type { ReactNode } from "react"
import { setQuery } from "../ground/location.ts"
import { Menu, type MenuEntry } from "../ground/parts.tsx"
import { useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { columnLabel } from "../model/paths.ts"
import { chosenGroups, hasGroup, type Offered, offeredGroups } from "./group-choice.ts"
import { type Layout, printLayout } from "./layout.ts"

export const setGroups = (group: readonly string[]): void =>
  setQuery(printLayout(group.length === 0 ? null : { of: "list", group }), { replace: false })

interface GroupMenuProps {
  readonly resource: Resource
  readonly layout: Layout
  readonly children?: ReactNode
}

export const GroupMenu = ({ children, layout, resource }: GroupMenuProps): ReactNode => {
  const { group: w } = useMessages()
  const offered = offeredGroups(resource)
  const group = layout?.of === "list" ? layout.group : []
  if (offered.length === 0) return null
  const entryOf = ({ path, text }: Offered): MenuEntry => ({
    label: columnLabel(resource, path),
    chosen: hasGroup(group, text),
    onAction: () => setGroups(chosenGroups(group, text))
  })
  const entries: readonly MenuEntry[] = [
    ...offered.map(entryOf),
    ...(group.length === 0 ? [] : ["line" as const, { label: w.none, onAction: () => setGroups([]) }])
  ]
  const name = group.length === 1 && children !== undefined ? w.second : w.name
  return (
    <Menu
      label={name}
      name={children === undefined ? name : undefined}
      className={`btn quiet${children === undefined ? " bare" : ""}`}
      entries={entries}
    >
      {children ?? <ListTree className="icon" aria-hidden="true" />}
    </Menu>
  )
}
