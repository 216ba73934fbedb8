/**
 * Writes a checked tree as filter text, in one canonical form: reading the text again gives the same tree. It escapes what the grammar
 * would read otherwise, and adds only the parentheses that the grammar needs.
 */

import type { Kind } from "../value/kind.ts"
import type { AnyTree, FilterField, Operand } from "./tree.ts"

const escapes: { readonly [char: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const escaped = (text: string): string => text.replace(/[\\"*\n\r\t]/g, (char) => escapes[char] ?? `\\${char}`)

const quoted = (text: string): string => `"${escaped(text)}"`

/** A backslash of a pattern is written as it is, except before a character that it would escape. */
const quotedPattern = (pattern: string): string => `"${pattern.replace(/\\(?=[\\"']|$)|"/g, (part) => `\\${part}`)}"`

// Weeks are written as days, the usual form: `now() - 7d`.
const units: ReadonlyArray<readonly [string, bigint]> = [["d", 86_400n], ["h", 3_600n], ["m", 60n], ["s", 1n]]

const shift = (micros: bigint): string => {
  if (micros === 0n) return ""
  const seconds = (micros < 0n ? -micros : micros) / 1_000_000n
  const [unit, size] = units.find(([, size]) => seconds % size === 0n)!
  return ` ${micros < 0n ? "-" : "+"} ${seconds / size}${unit}`
}

const bare: readonly Kind[] = ["integer", "decimal", "float", "boolean"]

const operandText = (field: Pick<FilterField, "kind">, operand: Operand): string => {
  switch (operand.of) {
    case "literal":
      return bare.includes(field.kind) ? operand.text : quoted(operand.text)
    case "now":
      return `now()${shift(operand.offset)}`
    case "caller":
      return `caller.${operand.value}`
    case "param":
      return `param(${operand.index})`
  }
}

const negated = (item: AnyTree, at: string): string => {
  if (item.op === "compare" && item.is === "=") {
    return `${at}${item.field.name} != ${operandText(item.field, item.value)}`
  }
  if (item.op === "pair" && item.is === "=") return pairText(item, "!=", at)
  if (item.op === "match") return `${at}${item.field.name} != ${matchText(item.parts)}`
  if (item.op === "null") return `${at}${item.field.name}:*`
  if (item.op === "length" && item.is === "=") return `length(${at}${item.field.name}) != ${item.number}`
  if (item.op === "count" && item.is === "=") return `${countText(item)} != ${item.number}`
  const end = item.op === "some" ? endOf(item) : null
  if (end?.path === true) {
    const { tree } = end
    if (tree.op === "not" && "field" in tree.item) return `isNull(${end.at}${tree.item.field.name})`
    if (
      tree.op === "match" ||
      ((tree.op === "compare" || tree.op === "pair" || tree.op === "length") && tree.is === "=")
    ) {
      return negated(tree, end.at)
    }
  }
  return item.op === "and" || item.op === "or" ? `NOT (${printFilter(item)})` : `NOT ${printFilter(item)}`
}

type Pair = Extract<AnyTree, { readonly op: "pair" }>

const pairText = ({ field, other }: Pair, is: string, at: string): string =>
  `${at}${field.name} ${is} field(${at}${other.name})`

/** What a path with a condition says by itself. Everything else about related records stands in `has(…)`. */
const asPath: ReadonlySet<AnyTree["op"]> = new Set([
  "compare",
  "pair",
  "in",
  "match",
  "contains",
  "same",
  "words",
  "similar",
  "regex",
  "has",
  "length",
  "overlaps"
])

/** The end of a chain of relations: the names that lead there, the tree there, and whether a path says it. */
const endOf = (tree: Related): { readonly at: string; readonly tree: AnyTree; readonly path: boolean } => {
  let at = ""
  let item: AnyTree = tree
  while (item.op === "some") {
    at += `${item.way.relation.name}.`
    item = item.item
  }
  return { at, tree: item, path: asPath.has(item.op) || (item.op === "not" && item.item.op === "null") }
}

type Related = Extract<AnyTree, { readonly op: "some" }>

const innerText = (tree: AnyTree): string => tree.op === "true" ? "" : `, ${quotedPattern(printFilter(tree))}`

const countText = ({ item, way }: Extract<AnyTree, { readonly op: "count" }>): string =>
  `count(${way.relation.name}${innerText(item)})`

const someText = (some: Related): string => {
  const { at, path, tree } = endOf(some)
  return path ? printAt(tree, at) : `has(${at.slice(0, -1)}${innerText(tree)})`
}

const matchText = (parts: readonly string[]): string => `"${parts.map(escaped).join("*")}"`

/**
 * The canonical text of a tree. A tree that came from text reads back as itself. Params and the constant `false` have no text: what is
 * written for them is refused when it is read.
 */
export const printFilter = (tree: AnyTree): string => printAt(tree, "")

/** The text of a tree at the end of a path; `at` is empty or ends with a period. Only conditions on one field stand there. */
const printAt = (tree: AnyTree, at: string): string => {
  switch (tree.op) {
    case "true":
      return ""
    case "false":
      return "()"
    case "and":
      // OR binds tighter than AND, so that neither needs parentheses here.
      return tree.items.map(printFilter).join(" AND ")
    case "or":
      return tree.items.map((item) => item.op === "and" ? `(${printFilter(item)})` : printFilter(item)).join(" OR ")
    case "not":
      return negated(tree.item, at)
    case "compare":
      return `${at}${tree.field.name} ${tree.is} ${operandText(tree.field, tree.value)}`
    case "pair":
      return pairText(tree, tree.is, at)
    case "in":
      return `in(${[at + tree.field.name, ...tree.values.map((value) => operandText(tree.field, value))].join(", ")})`
    case "has": {
      const values = tree.values.map((value) => operandText(tree.field.of, value))
      return values.length === 1
        ? `${at}${tree.field.name}:${values[0]}`
        : `in(${[at + tree.field.name, ...values].join(", ")})`
    }
    case "length":
      return `length(${at}${tree.field.name}) ${tree.is} ${tree.number}`
    case "null":
      return `isNull(${tree.field.name})`
    case "overlaps":
      return `${tree.value.of === "now" ? "contains" : "overlaps"}(${at}${tree.field.name}, ${
        operandText(tree.field, tree.value)
      })`
    case "match":
      return `${at}${tree.field.name} = ${matchText(tree.parts)}`
    case "contains":
      return `${at}${tree.field.name}:${quoted(tree.text)}`
    case "same":
      return `${tree.whole ? "same" : "begins"}(${at}${tree.field.name}, ${quoted(tree.text)})`
    case "search":
      return `search(${quoted(tree.text)})`
    case "words":
      return `search(${at}${tree.field.name}, ${quoted(tree.text)})`
    case "similar":
      return `similar(${at}${tree.field.name}, ${quoted(tree.text)})`
    case "regex":
      return `regex(${at}${tree.field.name}, ${quotedPattern(tree.pattern)})`
    case "some":
      return someText(tree)
    case "count":
      return `${countText(tree)} ${tree.is} ${tree.number}`
  }
}
