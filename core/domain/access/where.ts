/**
 * Filters in access rules: `where` turns a template or typed parts into the text of a filter. Every value is quoted, so it can only ever be
 * a value. It knows no model. The text is checked at startup, or before use when a rule function answers it.
 */

import { scan } from "../filter/lex.ts"
import { plainText } from "../value/cell.ts"
import type { Where } from "./rules.ts"

/** A value of the verified caller inside a filter: `caller.id` or `caller.tenant`. */
export interface CallerValue {
  readonly _tag: "CallerValue"
  readonly value: "id" | "tenant"
}

/** A value on the right side of a condition. Dates are instants, for timestamp fields. */
export type WhereValue = string | number | bigint | boolean | Date | CallerValue

/** What may stand in a template: a value, values for `in(field, …)`, or another filter. */
export type WherePart = WhereValue | readonly WhereValue[] | Where

/**
 * Marks the parts made here. A record can hold any JSON, also an object with the members of a filter, but no JSON has a symbol. All copies
 * of the package share this one.
 */
const made = Symbol.for("resource-admin/where")

const mark = <A extends object>(part: A): A => Object.defineProperty(part, made, { value: true })

const make = (text: string): Where => mark({ _tag: "Where", text })

/** Text as a quoted literal. `*` is escaped too: a value is never a pattern. */
const quoted = (text: string): string => `"${text.replace(/["\\*]/g, "\\$&")}"`

/** A finite number in plain notation (`1e21` has no place in a filter). */
const plain = (value: number): string => {
  if (!Number.isFinite(value)) throw new TypeError(`${value} cannot stand in a filter`)
  return plainText(value)
}

const literal = (value: WhereValue): string => {
  switch (typeof value) {
    case "string":
      return quoted(value)
    case "number":
      return plain(value)
    case "bigint":
      return String(value)
    case "boolean":
      return value ? "true" : "false"
    default:
      break
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new TypeError("an invalid Date cannot stand in a filter")
    return quoted(value.toISOString())
  }
  // Rules written in JavaScript can pass anything here. Only values may become text.
  if (typeof value === "object" && value !== null && made in value && value._tag === "CallerValue") {
    if (value.value === "id" || value.value === "tenant") return `caller.${value.value}`
  }
  throw new TypeError(
    `${value === null ? "null" : typeof value} cannot stand in a filter; for null write isNull(field)`
  )
}

/** Whether this is a filter made by `where`. An object in a record that only looks like one is not. */
export const isWhere = (part: unknown): part is Where =>
  typeof part === "object" && part !== null && made in part && "_tag" in part && part._tag === "Where"

/** The text of a filter. Throws for anything else, because rules in JavaScript may pass what a record holds. */
const textOf = (filter: Where): string => {
  if (!isWhere(filter)) throw new TypeError("only filters made by where can be put together")
  return filter.text
}

const isList = (part: WherePart): part is readonly WhereValue[] => Array.isArray(part)

const list = (values: readonly WhereValue[]): string => {
  if (values.length === 0) throw new TypeError("an empty list cannot stand in a filter")
  return values.map(literal).join(", ")
}

const name = (field: string): string => {
  if (!/^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/.test(field)) {
    throw new TypeError(`${JSON.stringify(field)} is not a field name`)
  }
  return field
}

const group = (filters: readonly Where[], word: "AND" | "OR"): Where => {
  // An empty group has no text, and reading it as "every record" would open a rule by mistake.
  if (filters.length === 0) throw new TypeError(`${word} needs at least one filter`)
  const texts = filters.map(textOf)
  return filters.length === 1 ? filters[0]! : make(texts.map((text) => `(${text})`).join(` ${word} `))
}

/**
 * Refuses a value that does not stand by itself. Inside quotes (`"${id}"`) its own quotes would end them. Next to a word it would become a
 * second term. Either way a value could turn into filter text.
 */
const checkPlace = (before: string, after: string): void => {
  let token = scan(before, 0)
  while (token.kind !== "end" && token.kind !== "unterminated") token = scan(before, token.end)
  if (token.kind === "unterminated") {
    throw new TypeError("a value in a filter brings its own quotes; remove those around it")
  }
  if (!/[\s(,=<>:-]$/.test(before) || !/^[\s),]/.test(after)) {
    throw new TypeError("a value in a filter must stand by itself, not next to other text")
  }
}

const template = (strings: TemplateStringsArray, ...parts: readonly WherePart[]): Where => {
  // The raw text: backslashes are the filter language's own.
  let text = strings.raw[0] ?? ""
  parts.forEach((part, i) => {
    const before = strings.raw[i] ?? ""
    const after = strings.raw[i + 1] ?? ""
    checkPlace(i === 0 ? ` ${before}` : before, i === parts.length - 1 ? `${after} ` : after)
    text += isWhere(part) ? `(${part.text})` : isList(part) ? list(part) : literal(part)
    text += after
  })
  return make(text)
}

/**
 * A filter for an access rule: the filter language plus `caller.id` and `caller.tenant`. Interpolated values become quoted literals, lists
 * become comma-separated literals, and other filters are put in parentheses.
 *
 * A value that cannot be a literal (null, NaN, an empty list) throws. Inside a rule function that denies. Write the pattern of `regex()`
 * into the template: in a value, backslashes and stars stand for themselves.
 *
 * @example
 * where`status = "draft" AND owner_id = caller.id`
 * where`region = ${region} AND in(status, ${["draft", "paid"]})`
 * where.and(where.eq("status", "draft"), where.not(where.isNull("owner_id")))
 */
export const where = Object.assign(template, {
  eq: (field: string, value: WhereValue): Where => make(`${name(field)} = ${literal(value)}`),
  ne: (field: string, value: WhereValue): Where => make(`${name(field)} != ${literal(value)}`),
  lt: (field: string, value: WhereValue): Where => make(`${name(field)} < ${literal(value)}`),
  le: (field: string, value: WhereValue): Where => make(`${name(field)} <= ${literal(value)}`),
  gt: (field: string, value: WhereValue): Where => make(`${name(field)} > ${literal(value)}`),
  ge: (field: string, value: WhereValue): Where => make(`${name(field)} >= ${literal(value)}`),
  in: (field: string, values: readonly WhereValue[]): Where => make(`in(${name(field)}, ${list(values)})`),
  /** That there is a related record, or one that passes a filter: `where.has("members", where.eq("user_id", where.callerId))`. */
  has: (relation: string, filter?: Where): Where =>
    make(
      filter === undefined
        ? `has(${name(relation)})`
        : `has(${name(relation)}, "${textOf(filter).replace(/["\\]/g, "\\$&")}")`
    ),
  isNull: (field: string): Where => make(`isNull(${name(field)})`),
  and: (...filters: readonly Where[]): Where => group(filters, "AND"),
  or: (...filters: readonly Where[]): Where => group(filters, "OR"),
  not: (filter: Where): Where => make(`NOT (${textOf(filter)})`),
  /** The verified caller's id and tenant: `where.eq("owner_id", where.callerId)`. */
  callerId: mark<CallerValue>({ _tag: "CallerValue", value: "id" }),
  callerTenant: mark<CallerValue>({ _tag: "CallerValue", value: "tenant" })
})
