/**
 * The kinds of values, and the forms a value takes: JSON outside, one exact text (a cell) inside. Types only: how a kind reads and writes its
 * values stands in `cell.ts`.
 */

/** A JSON value as it stands in a request body, a default or a view. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/**
 * The kinds of values. A relation has the kind of the key it points at; `float` is IEEE 754 double (wire: JSON number).
 */
export type Kind =
  | "integer"
  | "text"
  | "boolean"
  | "timestamp"
  | "date"
  | "decimal"
  | "float"
  | "enum"
  | "uuid"
  | "json"
  | "currency"
  | "country"

/**
 * One stored value as exact, canonical text; `null` is SQL NULL.
 *
 * integer `-?[0-9]+` · decimal plain notation with the column's scale · float shortest round-trip text · boolean
 * `true`/`false` · timestamp `YYYY-MM-DDTHH:MM:SS[.ffffff]Z` (UTC, trailing zeros of the fraction dropped) · date
 * `YYYY-MM-DD` · uuid lower case · json JSON text · text, enum, currency, country the text itself.
 */
export type Cell = string | null

/** One row of a plan's answer: the plan's columns in order, then one `"true"`/`"false"` cell for each of its checks. */
export type Row = readonly Cell[]
