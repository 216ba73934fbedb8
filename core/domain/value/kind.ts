/**
 * The kinds of values, what bounds each of them, and the forms that a value takes: JSON outside, one exact text (a cell) inside. Types
 * only; `cell.ts` reads and writes values.
 */

/** A JSON value as it stands in a request body, a default or a view. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** An integer. `bits`: 16, 32 (wire: JSON number) or 64 (wire: text). */
export interface IntegerShape {
  readonly kind: "integer"
  readonly bits: 16 | 32 | 64
}

/** Text. `max`: most characters (Unicode code points), or null. */
export interface TextShape {
  readonly kind: "text"
  readonly max: number | null
}

/** An exact decimal, as `numeric(precision, scale)`; both null: unconstrained. */
export interface DecimalShape {
  readonly kind: "decimal"
  readonly precision: number | null
  readonly scale: number | null
}

/** One of some texts. `values`: all of them, in declared order. */
export interface EnumShape {
  readonly kind: "enum"
  readonly values: readonly string[]
  /** Declared `ordered()`: values compare and sort in this order. */
  readonly ordered?: true
  /** Declared `ordered("type")`: the column is of an enum type whose values have this order, too. */
  readonly typed?: true
}

/** A kind that nothing bounds further. `float` is IEEE 754 double (wire: JSON number). */
export interface PlainShape {
  readonly kind:
    | "boolean"
    | "timestamp"
    | "date"
    | "float"
    | "uuid"
    | "json"
    | "currency"
    | "country"
    | "time"
    | "interval"
    | "inet"
    | "cidr"
    | "macaddr"
}

/** Bytes. `max`: most of them. */
export interface BytesShape {
  readonly kind: "bytes"
  readonly max: number
}

/** An amount of `money`. `scale`: how many digits after the point the database gives it. */
export interface MoneyShape {
  readonly kind: "money"
  readonly scale: number
}

/** The kinds of values that ranges go over. */
export type RangeElement = "integer" | "bigint" | "decimal" | "date" | "timestamp"

/** A range of values of one kind. */
export interface RangeShape {
  readonly kind: "range"
  readonly of: RangeElement
}

/** The text of a value of a type for which there is no kind. `type`: its name in PostgreSQL. */
export interface NativeShape {
  readonly kind: "native"
  readonly type: string
}

/** A list of values of one kind, an array of the database. `max`: most of them, or null. `nulls`: whether a body may give elements that are null. */
export interface ListShape {
  readonly kind: "list"
  readonly of: ElementShape
  readonly max: number | null
  readonly nulls: boolean
}

/** What values a field or column may hold: its kind, with what bounds that kind. */
export type Shape =
  | IntegerShape
  | TextShape
  | DecimalShape
  | EnumShape
  | PlainShape
  | ListShape
  | BytesShape
  | MoneyShape
  | RangeShape
  | NativeShape

/** The kinds of values. A relation has the kind of the key it points at. */
export type Kind = Shape["kind"]

/** The kinds of single values. */
export type ScalarKind = Exclude<Kind, "list">

/** What the elements of a list may be. Never `json`: a JSON value is a list by itself where it has to be. */
export type ElementShape = Exclude<Shape, ListShape>

/**
 * One stored value as exact, canonical text; `null` is SQL NULL.
 *
 * integer `-?[0-9]+` · decimal plain notation with the column's scale · float shortest round-trip text · boolean
 * `true`/`false` · timestamp `YYYY-MM-DDTHH:MM:SS[.ffffff]Z` (UTC, trailing zeros of the fraction dropped) · date
 * `YYYY-MM-DD` · uuid lower case · json JSON text · list JSON text of the array in wire form, as `JSON.stringify` writes it · text, enum, currency,
 * country the text itself · time `HH:MM:SS[.ffffff]` · interval ISO 8601 duration · inet, cidr, macaddr as the database prints them · bytes base64 ·
 * money as a decimal · range `[a,b)` with cells as its ends, or `empty` · native as the database prints it.
 */
export type Cell = string | null

/** One row of a plan's answer: the plan's columns in order, then one `"true"`/`"false"` cell for each of its checks. */
export type Row = readonly Cell[]
