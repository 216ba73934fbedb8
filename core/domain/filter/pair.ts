/**
 * Two fields of one record compared: `shipped_on > field(required_on)`. It decides which fields compare. Both names are checked like every name, so
 * that a hidden one is unknown.
 */

import type { Kind } from "../value/kind.ts"
import { hasOrder } from "../value/traits.ts"
import type { Checking } from "./literal.ts"
import type { FunctionCall, Syntax } from "./parse.ts"
import { type PathField, placeOf, through } from "./path.ts"
import { quote } from "./scope.ts"
import type { AnyTree, Comparison, FilterField } from "./tree.ts"
import { not } from "./tree.ts"

export const fieldUsage = "field(…) after a comparison, such as shipped_on > field(required_on)"

/** Two columns of these kinds may have types that the database does not compare, or have no comparison at all. */
const alone: ReadonlySet<string> = new Set<Kind>(["json", "list", "range", "native"])

/** What fields have in common that compare: whole numbers and decimals are numbers. Null: they compare with nothing. */
const family = ({ kind }: FilterField): string | null =>
  alone.has(kind) ? null : kind === "integer" || kind === "decimal" ? "number" : kind

/** Whether a field is an enum that compares in its declared order. */
export const isOrderedEnum = (field: FilterField): boolean => field.kind === "enum" && field.ordered === true

/** Whether the values of two fields of one family have an order. Those of enums have one if both fields declare the same. */
const isOrdered = (field: FilterField, other: FilterField): boolean =>
  field.kind === "enum" && other.kind === "enum"
    ? isOrderedEnum(field) && isOrderedEnum(other) && JSON.stringify(field.values) === JSON.stringify(other.values)
    : hasOrder(field.kind) && field.kind !== "boolean" && field.kind !== "currency" && field.kind !== "country" &&
      field.kind !== "uuid"

/** The tree of a comparison with another field, or null after reporting. */
export const pairTree = (
  checking: Checking,
  { field, name, span, ways }: PathField,
  { is, isAt }: Extract<Syntax, { readonly node: "restriction" }>,
  call: FunctionCall
): AnyTree | null => {
  const { findings } = checking
  const [written, more] = call.args
  if (written?.of !== "word" || more !== undefined) {
    return findings.add("argument", "field() takes the name of a field, without quotes.", `Write ${fieldUsage}.`, call)
  }
  const place = placeOf(checking, written)
  if (place === null) return null
  const other = place.field
  if (ways.length !== place.ways.length || ways.some((way, at) => way !== place.ways[at])) {
    return findings.add(
      "argument",
      "Two fields that are compared belong to one record.",
      "Write the same path before both, such as customer.until > field(customer.since).",
      written
    )
  }
  if (family(field) === null || family(field) !== family(other)) {
    return findings.add(
      "operator",
      `The fields ${quote(name)} and ${
        quote(place.name)
      } do not compare: they are of the kinds ${field.kind} and ${other.kind}.`,
      "Compare fields of one kind. Integers and decimals compare with each other.",
      call
    )
  }
  if (is === ":" || (is !== "=" && is !== "!=" && !isOrdered(field, other))) {
    return findings.add(
      "operator",
      `The operator ${is} does not compare two fields of the kind ${field.kind}.`,
      isOrdered(field, other) ? "Use = != < <= > >=." : "Use = or !=.",
      isAt
    )
  }
  const pair = (compared: Comparison): AnyTree => through(ways, { op: "pair", field, is: compared, other }, span)
  return is === "!=" ? not(pair("=")) : pair(is)
}
