/**
 * What statements say of a field that is more than its column, as SQL: the order of enums. Filters, orders, suggestions of indexes and the doctor
 * write it here, so that an index on it serves them. It decides nothing about access.
 */

import type { Field } from "./model.ts"
import { quotedName, quotedText } from "./table.ts"

/** The place of a value in a list of values; null where it is none of them. */
export const rankText = (values: readonly string[], value: string): string =>
  `(case ${value} ${values.map((each, i) => `when ${quotedText(each)} then ${i}`).join(" ")} end)`

/**
 * What a field is sorted by, given its column: of an ordered enum the place in its order. What is none of its values stands after all. An enum type of the
 * database may have another order, and a text has none.
 */
export const sortText = (field: Field, column: string): string =>
  field.kind === "enum" && field.ordered === true
    ? `coalesce(${rankText(field.values, column)}, case when ${column} is not null then ${field.values.length} end)`
    : column

/** The same as a column of an index. */
export const indexedSort = (field: Field): string => {
  const column = quotedName(field.column)
  const text = sortText(field, column)
  return text === column ? column : `(${text})`
}
