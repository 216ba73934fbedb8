/**
 * The state of a list in the address: filter, order, columns, deleted records. The address takes precedence over stored settings, and stored settings
 * are copied into it. Pure.
 */

import { hasOrder } from "../../../core/domain/value/traits.ts"
import type { MetaField } from "../../client/index.ts"
import { holdsFiles, isEndAligned, isIdentifier, widthOf } from "../field/kind.ts"
import type { Column } from "../grid/columns.ts"
import { inOrder, narrowest, widest } from "../grid/columns.ts"
import type { Messages } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"

/** One key of an order. */
export interface OrderKey {
  readonly field: string
  readonly descending: boolean
}

/** Parses an `order_by` text. Invalid keys are left out. */
export const readOrderText = (text: string): readonly OrderKey[] =>
  text.split(",").flatMap((part) => {
    const [, field, direction] = /^\s*([A-Za-z_]\w*)(?:\s+(asc|desc))?\s*$/.exec(part) ?? []
    return field === undefined ? [] : [{ field, descending: direction === "desc" }]
  })

export const printOrder = (keys: readonly OrderKey[]): string =>
  keys.map(({ descending, field }) => descending ? `${field} desc` : field).join(", ")

/** The order after a click on a header. `add`: the field becomes a further key, else the only one. A third click removes it. */
export const nextOrder = (keys: readonly OrderKey[], field: string, add: boolean): readonly OrderKey[] => {
  const known = keys.find((key) => key.field === field)
  const others = add ? keys.filter((key) => key.field !== field) : []
  if (known === undefined) return [...others, { field, descending: false }]
  if (!known.descending) {
    return add
      ? keys.map((key) => key.field === field ? { field, descending: true } : key)
      : [{ field, descending: true }]
  }
  return others
}

/** A chosen column: its field, whether it is pinned, and its width if the user set one. */
export interface Choice {
  readonly field: string
  readonly pinned: boolean
  readonly width: number | null
}

/** Parses `columns` of the address: `id.p,customer_id.220,total`. Unknown fields are left out. */
export const readChoices = (text: string, resource: Resource): readonly Choice[] => {
  const choices: Choice[] = []
  for (const part of text.split(",")) {
    const [field = "", ...marks] = part.split(".")
    if (!resource.fields.has(field) || choices.some((choice) => choice.field === field)) continue
    const width = Number(marks.find((mark) => /^\d{2,3}$/.test(mark)) ?? Number.NaN)
    choices.push({
      field,
      pinned: marks.includes("p"),
      width: Number.isNaN(width) ? null : Math.min(widest, Math.max(narrowest, width))
    })
  }
  return choices
}

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
    const field = resource.fields.get(name)!
    return {
      id: name,
      label: fieldLabel(resource, name),
      width: width ?? widthOf(resource, field),
      flexible: width === null && isFlexible(resource, field),
      end: isEndAligned(field) && field.relation === undefined,
      pinned
    }
  }))

/** Why no list can be sorted by a field, or null where one can. */
export const whyUnsorted = (field: MetaField, words: Messages["columns"]): string | null =>
  field.sortable ? null : !hasOrder(field.kind) || holdsFiles(field) ? words.noOrder : words.notSortable

/** The order of the rows. Fields that are unknown or not sortable are left out, so that every address works. */
export const orderFor = (text: string | null, resource: Resource): readonly OrderKey[] =>
  readOrderText(text ?? resource.view.sort).filter(({ field }) => {
    const known = resource.fields.get(field) ?? resource.model.fields.find(({ alias }) => alias === field)
    return known?.sortable === true
  })
