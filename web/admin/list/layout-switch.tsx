/** Chooses how a list is laid out, among what its resource allows. The choice is in the address. */

import { LayoutGrid, Rows3 } from "lucide-react"
import type { ReactNode } from "react"
import { setQuery } from "../ground/location.ts"
import { Offers } from "../ground/offers.ts"
import { Menu, type MenuEntry } from "../ground/parts.tsx"
import { useMessages } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import { isBoarded, type Layout, printLayout, sameLayout } from "./layout.ts"

interface SwitchProps {
  readonly resource: Resource
  readonly layout: Layout
}

/** The layouts that a resource allows, each with its name. */
const offered = (resource: Resource): readonly Layout[] => [
  null,
  ...resource.model.fields.filter((field) => isBoarded(resource, field)).map(({ name }): Layout => ({
    of: "board",
    by: name
  }))
]

export const LayoutSwitch = ({ layout, resource }: SwitchProps): ReactNode => {
  const { layout: w } = useMessages()
  const all = offered(resource)
  if (all.length === 1) return null
  const nameOf = (each: Layout): string => each?.of === "board" ? w.boardBy(fieldLabel(resource, each.by)) : w.rows
  const plainly = (each: Layout): Layout =>
    each?.of === "board" ? { of: "board", by: each.by } : each?.of === "list" ? null : each
  const entries: readonly MenuEntry[] = all.map((each) => ({
    label: nameOf(each),
    chosen: sameLayout(each, plainly(layout)),
    onAction: () => setQuery(printLayout(each), { replace: false })
  }))
  return (
    <>
      <Menu label={w.name} name={w.name} className="btn quiet bare" entries={entries}>
        {layout === null || layout.of === "list"
          ? <Rows3 className="icon" aria-hidden="true" />
          : <LayoutGrid className="icon" aria-hidden="true" />}
      </Menu>
      <Offers entries={entries} />
    </>
  )
}
