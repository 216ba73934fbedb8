/**
 * From syntax to the checked tree: names become fields, operators are checked against kinds, values become canonical cells. It reports
 * every error of the text up to a cap, not just the first. It knows no rows and no SQL.
 */

import type { Kind } from "../value/kind.ts"
import { callTree, countedTree, holdsTree, searchTree } from "./functions.ts"
import type { Comparator } from "./lex.ts"
import {
  callerOf,
  type Checking,
  hasElements,
  holdsValues,
  isTooLongToSeek,
  operandOf,
  partsOf,
  soughtOf
} from "./literal.ts"
import { isOrderedEnum, pairTree } from "./pair.ts"
import type { Syntax } from "./parse.ts"
import { type PathField, placeOf, presentAt, through } from "./path.ts"
import { quote } from "./scope.ts"
import type { AnyTree, FilterField } from "./tree.ts"
import { allOf, anyOf, not } from "./tree.ts"

const ordered: readonly Comparator[] = ["=", "!=", "<", "<=", ">", ">=", ":"]
const equality: readonly Comparator[] = ["=", "!=", ":"]

/** Operators by kind. Every kind also has `field:*` (present), `= null` and `!= null`. */
const operators: { readonly [kind in Kind]: readonly Comparator[] } = {
  integer: ordered,
  decimal: ordered,
  float: ordered,
  timestamp: ordered,
  date: ordered,
  text: ordered,
  boolean: equality,
  enum: equality,
  currency: equality,
  country: equality,
  uuid: equality,
  time: ordered,
  interval: ordered,
  inet: ordered,
  cidr: ordered,
  macaddr: ordered,
  money: ordered,
  range: ordered,
  bytes: equality,
  native: [],
  json: [],
  list: [":"]
}

/** The operators of a field. A list of files is asked about its presence only, one of values that are not compared about its length, too. */
const operatorsOf = (field: FilterField): readonly Comparator[] =>
  isOrderedEnum(field) ? ordered : field.kind === "list" && !hasElements(field) ? [] : operators[field.kind]

type Restriction = Extract<Syntax, { readonly node: "restriction" }>

const allowed = ({ field, name }: PathField): string => {
  if (holdsValues(field)) {
    const elements = hasElements(field) ? `${name}:value (has the element), in(${name}, …) (has one of them), ` : ""
    return `Write ${elements}length(${name}) >= 2, ${name}:* or isNull(${name}).`
  }
  const of = operatorsOf(field)
  const list = of.length === 0 ? "" : `${of.join(" ")} and `
  return `A field of the kind ${field.kind} takes ${list}${name}:* (present), ${name} = null.`
}

/** Text `=`: a whole-value match where unescaped stars stand for anything. */
const textEquals = (checking: Checking, field: FilterField, { value }: Restriction): AnyTree | null => {
  const parts = partsOf(checking, value)
  if (parts === null) return null
  if (parts.length === 1) return { op: "compare", field, is: "=", value: { of: "literal", text: parts[0]! } }
  // Stars in a row say the same as one.
  const merged = parts.filter((part, at) => part !== "" || at === 0 || at === parts.length - 1)
  return isTooLongToSeek(checking, value, merged.join("*")) ? null : { op: "match", field, parts: merged }
}

const equals = (checking: Checking, { field, name }: PathField, restriction: Restriction): AnyTree | null => {
  const operand = field.kind === "text"
    ? callerOf(checking, field, restriction.value)
    : operandOf(checking, field, restriction.value, name, restriction.is !== ":")
  if (operand === undefined) return textEquals(checking, field, restriction)
  return operand === null ? null : { op: "compare", field, is: "=", value: operand }
}

const has = (checking: Checking, place: PathField, restriction: Restriction): AnyTree | null => {
  const { field } = place
  const { isAt, value } = restriction
  if (field.kind === "list") {
    const operand = operandOf(checking, { name: field.name, ...field.of }, value, place.name)
    return operand === null ? null : { op: "has", field, values: [operand] }
  }
  if (field.kind === "range") return holdsTree(checking, field, value, place.name)
  if (field.kind !== "text") return equals(checking, place, restriction)
  const caller = callerOf(checking, field, value)
  if (caller === null) return null
  if (caller !== undefined) {
    return checking.findings.add(
      "operator",
      "The caller's values cannot be looked for inside a text.",
      "Use = or !=.",
      isAt
    )
  }
  const text = soughtOf(checking, value)
  return text === null ? null : { op: "contains", field, text }
}

const restrictionTree = (checking: Checking, restriction: Restriction): AnyTree | null => {
  const { is, isAt, value } = restriction
  const place = placeOf(checking, restriction.field)
  if (place === null) return null
  const { field, name, span, ways } = place
  const whole = (tree: AnyTree | null): AnyTree | null => tree === null ? null : through(ways, tree, span)
  if (value.of === "word") {
    // Through a relation nothing is there where no record is, either: that is null, too.
    if (is === ":" && value.text === "*") return presentAt(place)
    if (value.text === "null" && is === "=") return not(presentAt(place))
    if (value.text === "null" && is === "!=") return presentAt(place)
  }
  if (value.of === "call" && value.name.text === "field") return pairTree(checking, place, restriction, value)
  if (!operatorsOf(field).includes(is)) {
    return checking.findings.add(
      "operator",
      `The operator ${is} does not work on the field ${quote(name)} of the kind ${field.kind}.`,
      allowed(place),
      isAt
    )
  }
  switch (is) {
    case "=":
      return whole(equals(checking, place, restriction))
    case "!=": {
      const tree = whole(equals(checking, place, restriction))
      return tree === null ? null : not(tree)
    }
    case ":":
      return whole(has(checking, place, restriction))
    default: {
      const operand = operandOf(checking, field, value, name, true)
      if (operand === null) return null
      return operand.of === "caller"
        ? checking.findings.add("operator", "The caller's values have no order.", "Use = or !=.", isAt)
        : whole({ op: "compare", field, is, value: operand })
    }
  }
}

/** The tree of a syntax, or null after reporting. Depth is bounded by the parser. */
export const checkSyntax = (checking: Checking, syntax: Syntax): AnyTree | null => {
  switch (syntax.node) {
    case "and":
    case "or": {
      const items: AnyTree[] = []
      for (const item of syntax.items) {
        if (checking.findings.full) return null
        const tree = checkSyntax(checking, item)
        if (tree !== null) items.push(tree)
      }
      if (items.length < syntax.items.length) return null
      return syntax.node === "and" ? allOf(items) : anyOf(items)
    }
    case "not": {
      const tree = checkSyntax(checking, syntax.item)
      return tree === null ? null : not(tree)
    }
    case "restriction":
      return restrictionTree(checking, syntax)
    case "call":
      return callTree(checking, syntax.call)
    case "counted":
      return countedTree(checking, syntax)
    case "global":
      return searchTree(checking, syntax.value)
  }
}
