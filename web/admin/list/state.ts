/**
 * The state of a list in the address: filter, order, columns, deleted records. The address takes precedence over stored settings, and stored settings
 * are copied into it. Pure.
 */

import { fieldsOfTitle } from "../../../core/domain/model/title.ts"
import { hasOrder } from "../../../core/domain/value/traits.ts"
import type { MetaField } from "../../client/index.ts"
import { holdsFiles, isEndAligned, isIdentifier, widthOf } from "../field/kind.ts"
import type { Column } from "../grid/columns.ts"
import { inOrder, narrowest, widest } from "../grid/columns.ts"
import type { Messages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { columnAt, columnLabel, type Path } from "../model/paths.ts"

/** One key of an order. */
export interface OrderKey {
  readonly field: string
  readonly descending: boolean
}

/** Parses an `order_by` text. Invalid keys are left out. */
const readOrderText = (text: string): readonly OrderKey[] =>
  text.split(",").flatMap((part) => {
    const [, field, direction] =
      /^\s*([A-Za-z_]\w*(?:\.(?:[\w-]+|"(?:[^"\\]|\\.)+"))*)(?:\s+(asc|desc))?\s*$/.exec(part) ?? []
    return field === undefined ? [] : [{ field, descending: direction === "desc" }]
  })

export const printOrder = (keys: readonly OrderKey[]): string =>
  keys.map(({ descending, field }) => descending ? `${field} desc` : field).join(", ")

/** The order with a further key. It has one field through relations at most: a further one takes its place. */
export const withKey = (keys: readonly OrderKey[], field: string, resource: Resource): readonly OrderKey[] => {
  const others = isFar(resource, field) ? keys.filter((key) => !isFar(resource, key.field)) : keys
  return [...others, { field, descending: false }]
}

/** The order after a click on a header. `add`: the field becomes a further key, else the only one. A third click removes it. */
export const nextOrder = (
  keys: readonly OrderKey[],
  field: string,
  add: boolean,
  resource: Resource
): readonly OrderKey[] => {
  const known = keys.find((key) => key.field === field)
  const others = add ? keys.filter((key) => key.field !== field) : []
  if (known === undefined) return withKey(others, field, resource)
  if (!known.descending) {
    return add
      ? keys.map((key) => key.field === field ? { field, descending: true } : key)
      : [{ field, descending: true }]
  }
  return others
}

/** A chosen column: its field or a path to one, whether it is pinned, and its width if the user set one. */
export interface Choice {
  readonly field: string
  readonly pinned: boolean
  readonly width: number | null
}

/** The longest beginning of the parts that is a column: a path has periods, as the marks behind it have. */
const fieldOf = (parts: readonly string[], resource: Resource): string | undefined =>
  parts.map((_, at) => parts.slice(0, parts.length - at).join(".")).find((text) =>
    columnAt(resource, text) !== undefined
  )

/** Parses `columns` of the address: `id.p,customer_id.220,customer.country,total`. Unknown fields are left out. */
export const readChoices = (text: string, resource: Resource): readonly Choice[] => {
  const choices: Choice[] = []
  for (const part of text.split(",")) {
    const parts = part.split(".")
    const field = parts.length > mostParts ? undefined : fieldOf(parts, resource)
    if (field === undefined) continue
    const marks = parts.slice(field.split(".").length)
    if (choices.some((choice) => choice.field === field)) continue
    const width = Number(marks.find((mark) => /^\d{2,3}$/.test(mark)) ?? Number.NaN)
    choices.push({
      field,
      pinned: marks.includes("p"),
      width: Number.isNaN(width) ? null : Math.min(widest, Math.max(narrowest, width))
    })
  }
  return choices
}

/** A path of three relations, its field and two marks. */
const mostParts = 6

export const printChoices = (choices: readonly Choice[]): string =>
  choices.map(({ field, pinned, width }) =>
    [field, ...(pinned ? ["p"] : []), ...(width === null ? [] : [width])].join(".")
  )
    .join(",")

/** The default columns of the view. */
export const usualChoices = ({ fields, view }: Resource): readonly Choice[] =>
  view.columns.filter((name) => fields.has(name)).map((field) => ({ field, pinned: false, width: null }))

/** Whether a column grows if there is space. */
const isFlexible = (resource: Resource, field: MetaField): boolean =>
  !isIdentifier(resource, field) || field.relation !== undefined

/** The columns of the grid for the chosen columns. */
export const columnsOf = (resource: Resource, choices: readonly Choice[]): readonly Column[] =>
  inOrder(choices.map(({ field: name, pinned, width }) => {
    const path = columnAt(resource, name)!
    const { field, resource: owner } = path
    return {
      id: name,
      label: columnLabel(resource, path),
      width: width ?? widthOf(owner, field),
      flexible: width === null && isFlexible(owner, field),
      end: isEndAligned(field) && field.relation === undefined,
      pinned
    }
  }))

/**
 * The column whose cells open their records: that of the title, else of the key, else the first one that leads nowhere else. Null where all of them lead to
 * other records.
 */
export const titleColumn = (resource: Resource, columns: readonly Column[]): string | null => {
  const own = columns.flatMap(({ id }) => {
    const field = resource.fields.get(id)
    return field === undefined || field.relation !== undefined || holdsFiles(field) ? [] : [id]
  })
  const wanted = [...fieldsOfTitle(resource.view.title ?? ""), ...resource.model.primaryKey]
  return wanted.find((name) => own.includes(name)) ?? own[0] ?? null
}

/** Why no list can be sorted by a column, or null where one can. */
export const whyUnsortedBy = ({ field, ways }: Path, t: Pick<Messages, "columns" | "paths">): string | null =>
  field.sortable
    ? null
    : !hasOrder(field.kind) || holdsFiles(field)
    ? t.columns.noOrder
    : ways.length > 0
    ? t.paths.notSorted
    : t.columns.notSortable

/** Whether a field is reached through relations. */
const isFar = (resource: Resource, text: string): boolean => (columnAt(resource, text)?.ways.length ?? 0) > 0

/** Whether lists can be sorted by a field, by its name or alias, by a path to one of a related record, or by a declared path into JSON. */
const isSortable = (resource: Resource, text: string): boolean =>
  columnAt(resource, text)?.field.sortable ??
    resource.model.fields.some(({ alias, name, paths, sortable }) =>
      alias === text ? sortable : paths?.some((each) => each.sortable && `${name}.${each.path}` === text) === true
    )

/** Most fields of an order, and of one that has a field through relations. */
const mostKeys = 20
const mostFarKeys = 5

/** The order of the rows. What the service would refuse is left out, so that every address works. */
export const orderFor = (text: string | null, resource: Resource): readonly OrderKey[] => {
  const keys: OrderKey[] = []
  let far = false
  for (const key of readOrderText(text ?? resource.view.sort)) {
    const leads = isFar(resource, key.field)
    if ((leads && far) || !isSortable(resource, key.field) || keys.some(({ field }) => field === key.field)) continue
    keys.push(key)
    far ||= leads
  }
  if (!far) return keys.slice(0, mostKeys)
  // The field through relations is kept, wherever it stands.
  const at = keys.findIndex(({ field }) => isFar(resource, field))
  return at < mostFarKeys ? keys.slice(0, mostFarKeys) : [...keys.slice(0, mostFarKeys - 1), keys[at]!]
}
