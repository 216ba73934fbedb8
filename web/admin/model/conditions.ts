/**
 * A filter as a list of conditions joined by AND, each with a field, an operator and values. Chips and text share one syntax tree. The service's own
 * parser and printer are used for both, so they express the same. Pure.
 */

import * as Result from "effect/Result"
import { printFilter } from "../../../core/domain/filter/print.ts"
import { type AnyScope, type FilterError, readFilter, type Step } from "../../../core/domain/filter/read.ts"
import {
  always,
  type AnyTree,
  type FilterField,
  type FilterWay,
  not,
  type Operand
} from "../../../core/domain/filter/tree.ts"
import { usualBytes } from "../../../core/domain/value/binary.ts"
import { isRangeElement } from "../../../core/domain/value/exact.ts"
import type { ElementShape, Shape } from "../../../core/domain/value/kind.ts"
import { hasEquality } from "../../../core/domain/value/traits.ts"
import type { MetaField } from "../../client/index.ts"
import type { Resource } from "./catalogue.ts"
import { countedBy, farOf, placeIn, through } from "./subjects.ts"

/** A filter with one more condition. */
export const both = (filter: string, condition: string): string =>
  filter === "" ? condition : condition === "" ? filter : `(${filter}) AND ${condition}`

/** The operators that people choose from. */
export type Operator =
  | "oneOf"
  | "noneOf"
  | "is"
  | "isNot"
  | "contains"
  | "atLeast"
  | "atMost"
  | "over"
  | "under"
  | "inLast"
  | "empty"
  | "notEmpty"
  | "search"

/** A condition that can be edited in parts. `values` are exact texts. `inLast` has one, such as `30d`. */
export interface Simple {
  /** A field, a path to one (`customer.country`), or the number of related records (`count(lines)`). Empty for a search. */
  readonly field: string
  readonly is: Operator
  readonly values: readonly string[]
}

/** One condition of a filter: its text, and its parts if it is a simple one. */
export interface Condition {
  readonly text: string
  readonly tree: AnyTree
  readonly simple: Simple | null
}

/** The values of a field. Files are texts, and several are a list of them. */
export const shapeOf = (
  { bits = 32, items, kind, max, of = "integer", ordered, precision, scale, type = "", values = [] }:
    & Partial<MetaField>
    & Pick<MetaField, "kind">
): Shape => {
  switch (kind) {
    case "integer":
      return { kind, bits }
    case "text":
      return { kind, max: max ?? null }
    case "decimal":
      return { kind, precision: precision ?? null, scale: scale ?? null }
    case "enum":
      return { kind, values, ...(ordered === true ? { ordered } : {}) }
    case "file":
      return { kind: "text", max: max ?? null }
    case "files":
      return { kind: "list", of: { kind: "text", max: null }, max: max ?? null, nulls: false }
    case "array": {
      const element = shapeOf(items ?? { kind: "text" }) as ElementShape
      return { kind: "list", of: element, max: max ?? null, nulls: items?.nulls === true }
    }
    case "bytes":
      return { kind, max: max ?? usualBytes }
    case "money":
      return { kind, scale: scale ?? 2 }
    case "range":
      // Another service may say anything.
      return { kind, of: isRangeElement(of) ? of : "integer" }
    case "native":
      return { kind, type }
    default:
      return { kind }
  }
}

/** A field as the language of filters knows it. */
const fieldOf = (
  field: Pick<MetaField, "name" | "kind" | "filterable" | "sortable"> & Partial<MetaField>
): FilterField => ({
  ...shapeOf(field),
  name: field.name,
  filterable: field.filterable,
  sortable: field.sortable,
  file: null
})

/** A search vector as the language of filters knows it. */
const vectorOf = (name: string): FilterField => ({
  name,
  kind: "text",
  max: null,
  filterable: false,
  sortable: false,
  file: null
})

const scopes = new WeakMap<Resource, AnyScope>()

/** The relations that a filter may go through. Which records they lead to is the service's business: here they are only named. */
const relationsOf = (resource: Resource): NonNullable<AnyScope["relations"]> => {
  const steps = new Map<string, Step<FilterField, FilterWay> | null>()
  const step = (name: string): Step<FilterField, FilterWay> | null => {
    const earlier = steps.get(name)
    if (earlier !== undefined) return earlier
    const relation = resource.model.relations.find((each) => each.name === name)
    const target = resource.target(name)
    const from = relation === undefined ? undefined : scopeOf(resource).names.get(relation.field)
    const scope = target === undefined ? undefined : scopeOf(target)
    const to = relation === undefined ? undefined : scope?.names.get(relation.targetField)
    const step = relation === undefined || from === undefined || scope === undefined || to === undefined
      ? null
      : { way: { relation: { name, many: relation.many }, rows: always }, scope }
    steps.set(name, step)
    return step
  }
  return { names: () => resource.model.relations.map(({ name }) => name).filter((name) => step(name) !== null), step }
}

/** The names that a filter of the resource may use. */
export const scopeOf = (resource: Resource): AnyScope => {
  let scope = scopes.get(resource)
  if (scope === undefined) {
    const names = new Map<string, FilterField>()
    const aliases = new Map<string, FilterField>()
    const searched: FilterField[] = []
    for (const each of resource.model.fields) {
      const field = fieldOf(each)
      names.set(field.name, field)
      if (each.alias !== undefined) aliases.set(each.alias, field)
      if (each.searched) searched.push(field)
      for (const path of each.paths ?? []) {
        const member = { ...fieldOf({ ...path, name: `${each.name}.${path.path}` }), member: field }
        names.set(member.name, member)
      }
    }
    for (const [alias, field] of aliases) names.set(alias, field)
    const vectors = new Map((resource.model.searchVectors ?? []).map((name) => [name, vectorOf(name)] as const))
    scopes.set(resource, scope = { names, searched, vectors, caller: false, relations: relationsOf(resource) })
  }
  return scope
}

const literalOf = (operand: Operand): string | null => operand.of === "literal" ? operand.text : null

const day = 86_400_000_000n
const units: ReadonlyArray<readonly [unit: string, micros: bigint]> = [
  ["d", day],
  ["h", day / 24n],
  ["m", day / 1440n],
  ["s", day / 86_400n]
]

/** The text of an offset into the past, such as `30d`. Null if it is not a whole number of units, or not in the past. */
const backOf = (offset: bigint): string | null => {
  if (offset >= 0n) return null
  const unit = units.find(([, micros]) => -offset % micros === 0n)
  return unit === undefined ? null : `${-offset / unit[1]}${unit[0]}`
}

const offsetOf = (back: string): bigint | null => {
  const [, count, unit] = /^(\d{1,6})([dhms])$/.exec(back) ?? []
  const micros = units.find(([name]) => name === unit)?.[1]
  return count === undefined || micros === undefined ? null : -BigInt(count) * micros
}

const comparisons = { ">": "over", ">=": "atLeast", "<": "under", "<=": "atMost" } as const

/** The texts of some operands. Null if one of them is no literal. */
const literalsOf = (operands: readonly Operand[]): readonly string[] | null => {
  const texts = operands.flatMap((operand) => literalOf(operand) ?? [])
  return texts.length < operands.length ? null : texts
}

/** The field and values of an OR of equalities of one field. Null for any other tree. */
const equalities = (tree: AnyTree): { readonly field: string; readonly values: readonly string[] } | null => {
  if (tree.op === "in" || (tree.op === "has" && tree.values.length > 1)) {
    const values = literalsOf(tree.values)
    return values === null ? null : { field: tree.field.name, values }
  }
  if (tree.op === "compare" && tree.is === "=") {
    const value = literalOf(tree.value)
    return value === null ? null : { field: tree.field.name, values: [value] }
  }
  if (tree.op === "some") {
    const { at, end } = farOf(tree)
    const equality = equalities(end)
    return equality === null ? null : { ...equality, field: at + equality.field }
  }
  if (tree.op !== "or") return null
  const parts = tree.items.map(equalities)
  const field = parts[0]?.field
  if (field === undefined || parts.some((part) => part?.field !== field)) return null
  return { field, values: parts.flatMap((part) => part!.values) }
}

/** The parts of a condition on related records, or of its denial. */
const farSimple = (tree: Far, denied: boolean): Simple | null => {
  if (tree.op === "count") {
    const { is, item, number, way } = tree
    if (item.op !== "true" || (denied && is !== "=")) return null
    const word = is === "=" ? (denied ? "isNot" : "is") : comparisons[is]
    return { field: `count(${way.relation.name})`, is: word, values: [String(number)] }
  }
  const { at, end } = farOf(tree)
  if (end.op === "true") {
    const name = at.slice(0, -1)
    return name.includes(".") ? null : { field: `count(${name})`, is: denied ? "empty" : "notEmpty", values: [] }
  }
  // These say something of a record that is there: no path says that.
  const present = end.op === "not" && end.item.op === "null"
  if (end.op === "null" || (end.op === "not" && !present)) return null
  const simple = isFar(end) ? null : simpleOf(denied ? not(end) : end)
  return simple === null || simple.is === "search" ? null : { ...simple, field: at + simple.field }
}

type Far = Extract<AnyTree, { readonly op: "some" | "count" }>

const isFar = (tree: AnyTree): tree is Far => tree.op === "some" || tree.op === "count"

/** The parts of a simple condition. Null if the condition can be edited as text only. */
export const simpleOf = (tree: AnyTree): Simple | null => {
  if (isFar(tree)) return farSimple(tree, false)
  if (tree.op === "not" && isFar(tree.item)) return farSimple(tree.item, true)
  // What is inside of a field has no input of its own.
  const inner = tree.op === "not" ? tree.item : tree.op === "or" ? tree.items[0]! : tree
  if ("field" in inner && inner.field.member !== undefined) return null
  const equal = equalities(tree)
  if (equal !== null) {
    return { field: equal.field, is: equal.values.length === 1 ? "is" : "oneOf", values: equal.values }
  }
  switch (tree.op) {
    case "compare": {
      if (tree.is === "=") return null
      const { field, is, value } = tree
      const back = value.of === "now" ? backOf(value.offset) : null
      if (back !== null && (is === ">" || is === ">=")) return { field: field.name, is: "inLast", values: [back] }
      const literal = literalOf(value)
      return literal === null ? null : { field: field.name, is: comparisons[is], values: [literal] }
    }
    case "contains":
      return { field: tree.field.name, is: "contains", values: [tree.text] }
    case "has": {
      const value = literalOf(tree.values[0]!)
      return value === null ? null : { field: tree.field.name, is: "contains", values: [value] }
    }
    case "length":
      return tree.is === ">" && tree.number === 0 ? { field: tree.field.name, is: "notEmpty", values: [] } : null
    case "null":
      return { field: tree.field.name, is: "empty", values: [] }
    case "search":
      return { field: "", is: "search", values: [tree.text] }
    case "not": {
      const { item } = tree
      if (item.op === "length" && item.is === ">" && item.number === 0) {
        return { field: item.field.name, is: "empty", values: [] }
      }
      if (item.op === "has") {
        const values = literalsOf(item.values)
        return values === null ? null : { field: item.field.name, is: "noneOf", values }
      }
      if (tree.item.op === "null") return { field: tree.item.field.name, is: "notEmpty", values: [] }
      const refused = equalities(tree.item)
      if (refused === null) return null
      return { field: refused.field, is: refused.values.length === 1 ? "isNot" : "noneOf", values: refused.values }
    }
    default:
      return null
  }
}

const conditionOf = (tree: AnyTree): Condition => ({ text: printFilter(tree), tree, simple: simpleOf(tree) })

/** The conditions of a filter text, or its errors. Empty text has no conditions. */
export const readConditions = (
  text: string,
  resource: Resource
): Result.Result<readonly Condition[], readonly FilterError[]> =>
  Result.map(
    readFilter(text, scopeOf(resource)),
    (tree) => tree.op === "true" ? [] : tree.op === "and" ? tree.items.map(conditionOf) : [conditionOf(tree)]
  )

/** The filter text of conditions joined by AND. */
export const printConditions = (texts: readonly string[]): string =>
  // No parentheses are needed: OR binds tighter than AND, and the printer puts an AND within an OR into parentheses.
  texts.filter((text) => text !== "").join(" AND ")

/** The condition on a list. One that is empty has no elements, or is null. */
const treeOfList = (
  field: Extract<FilterField, { readonly kind: "list" }>,
  is: Operator,
  values: readonly string[]
): AnyTree | null => {
  const some: AnyTree = { op: "length", field, is: ">", number: 0 }
  if (is === "empty" || is === "notEmpty") return is === "empty" ? not(some) : some
  if (values.length === 0) return null
  const has: AnyTree = { op: "has", field, values: values.map((text) => ({ of: "literal", text })) }
  return is === "noneOf" || is === "isNot" ? not(has) : has
}

const comparators: { readonly [is in Operator]?: string } = {
  is: "=",
  isNot: "!=",
  over: ">",
  atLeast: ">=",
  under: "<",
  atMost: "<="
}

/** The unchecked text of a condition on the number of related records. */
const textOfCount = (relation: string, is: Operator, value: string): string | null => {
  if (is === "notEmpty") return `has(${relation})`
  if (is === "empty") return `NOT has(${relation})`
  const comparator = comparators[is]
  // A text that is no number stays one, so that it is refused and is never more than a value.
  return comparator === undefined || value === ""
    ? null
    : `count(${relation}) ${comparator} ${/^\d+$/.test(value) ? value : JSON.stringify(value)}`
}

/** The unchecked text of a simple condition. Null if values are missing. */
export const textOfSimple = ({ field: name, is, values }: Simple, resource: Resource): string | null => {
  const scope = scopeOf(resource)
  if (is === "search") {
    const [text = ""] = values
    return text.trim() === "" ? null : printFilter({ op: "search", fields: scope.searched, text })
  }
  const counted = countedBy(name)
  if (counted !== undefined) return textOfCount(counted, is, values[0]?.trim() ?? "")
  const place = placeIn(scope, name)
  if (place === null) return null
  const { field, ways } = place
  const literal = (text: string): Operand => ({ of: "literal", text })
  const equal = (text: string): AnyTree => ({ op: "compare", field, is: "=", value: literal(text) })
  const [first = ""] = values
  const tree = ((): AnyTree | null => {
    if (field.kind === "list") return treeOfList(field, is, values)
    switch (is) {
      case "empty":
        return { op: "null", field }
      case "notEmpty":
        return not({ op: "null", field })
      case "inLast": {
        const offset = offsetOf(first)
        return offset === null ? null : { op: "compare", field, is: ">", value: { of: "now", offset } }
      }
      case "contains":
        return first === "" ? null : { op: "contains", field, text: first }
      case "is":
      case "oneOf":
        return values.length === 0
          ? null
          : values.length === 1
          ? equal(first)
          : { op: "in", field, values: values.map(literal) }
      case "isNot":
      case "noneOf":
        return values.length === 0
          ? null
          : not(values.length === 1 ? equal(first) : { op: "in", field, values: values.map(literal) })
      default: {
        const comparison = ({ over: ">", atLeast: ">=", under: "<", atMost: "<=" } as const)[is]
        return first === "" ? null : { op: "compare", field, is: comparison, value: literal(first) }
      }
    }
  })()
  return tree === null || tree === always ? null : printFilter(through(ways, tree))
}

/** The checked text of a simple condition, or an error message. */
export const checkSimple = (simple: Simple, resource: Resource): Result.Result<string, string> | null => {
  const text = textOfSimple(simple, resource)
  if (text === null) return null
  const read = readFilter(text, scopeOf(resource))
  return Result.isFailure(read)
    ? Result.fail(`${read.failure[0]!.message} ${read.failure[0]!.hint}`)
    : Result.succeed(printFilter(read.success))
}

/** Adds a condition to a filter. It replaces a simple condition with the same field and operator. */
export const withCondition = (text: string, simple: Simple, resource: Resource): string => {
  const added = textOfSimple(simple, resource)
  const before = readConditions(text, resource)
  const conditions = Result.isSuccess(before) ? before.success : []
  const others = conditions.filter(({ simple: each }) =>
    each === null || each.field !== simple.field || each.is !== simple.is
  )
  return printConditions([...others.map((each) => each.text), ...(added === null ? [] : [added])])
}

/** The operators of a field, the default first. */
export const operatorsOf = (field: MetaField): readonly Operator[] => {
  const presence: readonly Operator[] = field.optional ? ["empty", "notEmpty"] : []
  if (field.relation !== undefined) return ["oneOf", "noneOf", ...presence]
  switch (field.kind) {
    case "enum":
      return field.ordered === true
        ? ["oneOf", "noneOf", "atLeast", "atMost", ...presence]
        : ["oneOf", "noneOf", ...presence]
    case "boolean":
    case "currency":
    case "country":
      return ["oneOf", "noneOf", ...presence]
    case "text":
      return ["contains", "is", "isNot", ...presence]
    case "timestamp":
      return ["inLast", "atLeast", "under", ...presence]
    case "date":
      return ["atLeast", "atMost", "is", ...presence]
    case "integer":
    case "decimal":
    case "float":
    case "money":
    case "time":
    case "interval":
    case "inet":
    case "cidr":
    case "macaddr":
      return ["atLeast", "atMost", "is", "isNot", "over", "under", ...presence]
    case "bytes":
    case "range":
    case "uuid":
      return ["is", "isNot", ...presence]
    case "array":
      return hasEquality(field.items?.kind ?? "text")
        ? ["oneOf", "contains", "noneOf", "empty", "notEmpty"]
        : ["empty", "notEmpty"]
    default:
      return ["empty", "notEmpty"]
  }
}
