/**
 * What statements say of a field that is more than its column, as SQL: paths into JSON, the order of enums. Filters, orders, suggestions of indexes and the doctor
 * write it here, so that an index on it serves them. It decides nothing about access.
 */

import type { Field, Member } from "./model.ts"
import { quotedName, quotedText } from "./table.ts"

/** Longest number of a column of the type `json`, in characters, that counts as one; its exponent has at most three digits. */
export const longestNumber = 1_000

/** Whether a `json` column can be read at all: `\u0000` and halves of characters have no text in the database. Pairs of them are fine, and so is
 * what follows an escaped backslash. */
const readable = (column: string): string =>
  `regexp_replace(${column}::text, ${
    quotedText("\\\\\\\\|\\\\ud[89ab][0-9a-f]{2}\\\\ud[c-f][0-9a-f]{2}")
  }, '', 'gi') !~* ${quotedText("\\\\u(0000|d[89a-f])")}`

/** What a declared path finds in the JSON of a column, as a value of its kind. It never fails: where something else stands there is nothing. */
const memberText = (kind: Field["kind"], { path, storage }: Member, column: string): string => {
  const names = path.map(quotedText)
  const node = [column, ...names].join(" -> ")
  const text = `${[column, ...names.slice(0, -1)].join(" -> ")} ->> ${names.at(-1)!}`
  const is = (type: string): string => `${storage}_typeof(${node}) = '${type}'`
  // A number of `json` is any text of digits, also one that no column can hold.
  const fits = storage === "jsonb"
    ? ""
    : ` and length(${text}) <= ${longestNumber} and (${text}) ~ '^[^eE]*([eE][-+]?[0-9]{1,3})?$'`
  const value = kind === "decimal"
    ? `case when ${is("number")}${fits} then (${text})::numeric end`
    : kind === "boolean"
    ? `case when ${is("boolean")} then (${text})::boolean end`
    : `case when ${is("string")} then ${text} end`
  return storage === "jsonb" ? `(${value})` : `(case when ${readable(column)} then ${value} end)`
}

/** The value of a field, given its column. */
export const valueText = ({ kind, member, rank, vector }: Field, column: string): string =>
  rank !== undefined
    ? `ts_rank(${column}, websearch_to_tsquery(${quotedText(vector!.config)}, ${quotedText(rank)}))`
    : member === undefined
    ? column
    : memberText(kind, member, column)

/** The place of a value in a list of values; null where it is none of them. */
export const rankText = (values: readonly string[], value: string): string =>
  `(case ${value} ${values.map((each, i) => `when ${quotedText(each)} then ${i}`).join(" ")} end)`

/** Whether a field is sorted by the places of its values. An enum type of the database may have another order, and a text has none. */
export const isRanked = (field: Field): boolean =>
  field.kind === "enum" && field.ordered === true && field.typed !== true

/** What a field is sorted by, given its column. What is none of the values of an enum that is ranked stands after all. */
export const sortText = (field: Field, column: string): string =>
  field.kind === "enum" && isRanked(field)
    ? `coalesce(${rankText(field.values, column)}, case when ${column} is not null then ${field.values.length} end)`
    : column

/** The value of a field as a column of an index. */
export const indexed = (field: Field): string => valueText(field, quotedName(field.column))

/** What a field is sorted by, as a column of an index. */
export const indexedSort = (field: Field): string => {
  const value = indexed(field)
  const text = sortText(field, value)
  return text === value ? value : `(${text})`
}
