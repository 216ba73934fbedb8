/** Lists of values, as inputs and cells take them apart: the field of their elements, the elements of a value. Pure. */

import type { MetaField } from "../../client/index.ts"

const elements = new WeakMap<MetaField, MetaField>()

/** A field of arrays as a field of their elements. Any other field is itself. */
export const elementOf = (field: MetaField): MetaField => {
  if (field.kind !== "array") return field
  let made = elements.get(field)
  if (made === undefined) {
    const { alias: _, default: __, items, max: ___, ...rest } = field
    const { nulls = false, ...of } = items ?? { kind: "text" }
    // The form says of the array what is required; an element is required unless it may be null.
    elements.set(field, made = { ...rest, ...of, optional: nulls, sortable: false, searched: false })
  }
  return made
}

/** The elements of a value in wire form. */
export const elementsOf = (value: unknown): readonly unknown[] => Array.isArray(value) ? value : []
