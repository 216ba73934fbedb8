/**
 * The layout of a list in its address: rows, groups of rows, a board, a calendar or a gallery, and by which fields. What the resource does not allow is
 * read as if it were not there, so that every address works. Pure.
 */

import type { Layout } from "../../../core/domain/model/layout.ts"
import { hasOrder } from "../../../core/domain/value/traits.ts"
import type { MetaField } from "../../client/index.ts"
import { holdsFiles } from "../field/kind.ts"
import type { Resource } from "../model/catalogue.ts"
import { columnAt } from "../model/paths.ts"

export type { Layout } from "../../../core/domain/model/layout.ts"

/** Whether records can stand in columns by a field: an enum, or the record that it leads to. */
export const isBoarded = (resource: Resource, field: MetaField): boolean =>
  field.filterable && (field.kind === "enum" || resource.related(field.name) !== undefined)

/** Whether records have a day by a field. */
export const isDay = ({ filterable, kind }: MetaField): boolean =>
  filterable && (kind === "date" || kind === "timestamp")

/** Whether a field may hold pictures. */
export const isPictured = (field: MetaField): boolean =>
  holdsFiles(field) && (field.file?.accept ?? ["image/*"]).some((type) => type.startsWith("image/"))

/** The lengths of time that rows are grouped by. */
export type TimeUnit = "day" | "week" | "month" | "year"

const isUnit = (text: string): text is TimeUnit => /^(?:day|week|month|year)$/.test(text)

/** What a text of an address groups by: a field, or a time of it, as `month(created_at)`. */
export const readGroupText = (text: string): { readonly field: string; readonly unit: TimeUnit | null } => {
  const [, unit = "", field = ""] = /^(\w+)\((.+)\)$/.exec(text) ?? []
  return isUnit(unit) ? { field, unit } : { field: text, unit: null }
}

/** Whether rows can be grouped by a field, by a path to one of one related record, or by the time of such a field. */
export const isGrouped = (resource: Resource, text: string): boolean => {
  const { field: name, unit } = readGroupText(text)
  const field = columnAt(resource, name)?.field
  return field !== undefined && field.filterable && (unit === null
    ? hasOrder(field.kind) && !holdsFiles(field)
    : isDay(field))
}

/** Most fields of groups, and most dates of a calendar. */
const most = 2

/** Most groups that an address names as folded, and what their names are made of. */
const mostFolded = 200
const isGroupName = /^[!-+\--~]{1,1300}$/

/** The limits of `limits=pending:20,paid:5`. */
const readLimits = (text: string): { readonly [value: string]: number } =>
  Object.fromEntries(
    text.split(",").flatMap((part) => {
      const [, value, limit] = /^([^:]*):(\d{1,6})$/.exec(part) ?? []
      try {
        return value === undefined || Number(limit) === 0 ? [] : [[decodeURIComponent(value), Number(limit)]]
      } catch {
        // Percent signs that encode nothing.
        return []
      }
    })
  )

/** The layout of an address; null: rows, one by one. */
export const readLayout = (query: URLSearchParams, resource: Resource): Layout => {
  // Rows of a function are read with their arguments, and in no other way.
  if (resource.model.arguments !== undefined || !resource.may.read) return null
  const by = [...new Set(query.get("by")?.split(",") ?? [])].flatMap((name) => resource.fields.get(name) ?? [])
  switch (query.get("layout")) {
    case "board": {
      const field = by.find((each) => isBoarded(resource, each))
      const limits = readLimits(query.get("limits") ?? "")
      return field === undefined
        ? null
        : { of: "board", by: field.name, ...(Object.keys(limits).length === 0 ? {} : { limits }) }
    }
    case "calendar": {
      const days = by.filter(isDay).slice(0, most)
      return days.length === 0
        ? null
        : {
          of: "calendar",
          by: days.map(({ name }) => name),
          ...(query.get("span") === "week" ? { span: "week" } : {})
        }
    }
    case "gallery": {
      const field = by.find(isPictured)
      return field === undefined ? null : { of: "gallery", by: field.name }
    }
    default: {
      const group = [...new Set(query.get("group")?.split(",") ?? [])].filter((text) => isGrouped(resource, text))
      const folded = [...new Set(query.get("folded")?.split(",") ?? [])].filter((text) => isGroupName.test(text))
      return group.length === 0
        ? null
        : {
          of: "list",
          group: group.slice(0, most),
          ...(folded.length === 0 ? {} : { folded: folded.slice(0, mostFolded) })
        }
    }
  }
}

/** The members of an address that say a layout, and nothing of another one. */
export const printLayout = (layout: Layout): { readonly [name: string]: string | null } => {
  const limits = layout?.of === "board" ? Object.entries(layout.limits ?? {}) : []
  return {
    layout: layout === null || layout.of === "list" ? null : layout.of,
    by: layout === null || layout.of === "list" ? null : [layout.by].flat().join(),
    group: layout?.of === "list" ? layout.group.join() : null,
    folded: layout?.of === "list" ? layout.folded?.join() ?? null : null,
    span: layout?.of === "calendar" ? layout.span ?? null : null,
    limits: limits.map(([value, limit]) => `${encodeURIComponent(value)}:${limit}`).join() || null
  }
}

/** Whether two layouts are the same. */
export const sameLayout = (a: Layout, b: Layout): boolean =>
  JSON.stringify(printLayout(a)) === JSON.stringify(printLayout(b))

/** Whether a page of its own draws the layout. Rows are drawn by the list. */
export const isPage = (layout: Layout): boolean => layout !== null && layout.of !== "list"
