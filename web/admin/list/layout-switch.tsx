/** Chooses how a list is laid out, among what its resource allows. The choice is in the address. */

import { CalendarDays, Images, Kanban, Rows3 } from "lucide-react"
import type { ReactNode } from "react"
import { setQuery } from "../ground/location.ts"
import { Offers } from "../ground/offers.ts"
import { Menu, type MenuEntry } from "../ground/parts.tsx"
import { useMessages } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import { isBoarded, isDay, isPictured, type Layout, printLayout, sameLayout } from "./layout.ts"

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
  })),
  ...resource.model.fields.filter(isDay).map(({ name }): Layout => ({ of: "calendar", by: [name] })),
  ...resource.model.fields.filter(isPictured).map(({ name }): Layout => ({ of: "gallery", by: name }))
]

/** A layout without what one chooses in it: limits, weeks, the end of spans, groups. */
const plainly = (layout: Layout): Layout =>
  layout?.of === "board"
    ? { of: "board", by: layout.by }
    : layout?.of === "calendar"
    ? { of: "calendar", by: layout.by.slice(0, 1) }
    : layout?.of === "list"
    ? null
    : layout

const icons = { board: Kanban, calendar: CalendarDays, gallery: Images, list: Rows3 } as const

export const LayoutSwitch = ({ layout, resource }: SwitchProps): ReactNode => {
  const t = useMessages()
  const w = t.layout
  const all = offered(resource)
  if (all.length === 1) return null
  const nameOf = (each: Layout): string => {
    switch (each?.of) {
      case "board":
        return w.boardBy(fieldLabel(resource, each.by))
      case "calendar":
        return t.calendar.by(fieldLabel(resource, each.by[0] ?? ""))
      case "gallery":
        return t.gallery.by(fieldLabel(resource, each.by))
      default:
        return w.rows
    }
  }
  const Icon = icons[layout?.of ?? "list"]
  const entries: readonly MenuEntry[] = all.map((each) => ({
    label: nameOf(each),
    chosen: sameLayout(each, plainly(layout)),
    onAction: () => setQuery(printLayout(each), { replace: false })
  }))
  return (
    <>
      <Menu label={w.name} name={w.name} className="btn quiet bare" entries={entries}>
        <Icon className="icon" aria-hidden="true" />
      </Menu>
      <Offers entries={entries} />
    </>
  )
}
