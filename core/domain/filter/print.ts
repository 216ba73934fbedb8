/**
 * Writes a checked tree as filter text, in one canonical form: reading the text again gives the same tree. It escapes what the grammar
 * would read otherwise, and adds only the parentheses that the grammar needs.
 */

import type { Field } from "../model/model.ts"
import type { FilterTree, Operand } from "./tree.ts"

const escapes: { readonly [char: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const escaped = (text: string): string => text.replace(/[\\"*\n\r\t]/g, (char) => escapes[char] ?? `\\${char}`)

const quoted = (text: string): string => `"${escaped(text)}"`

/** A backslash of a pattern is written as it is, except before a character that it would escape. */
const quotedPattern = (pattern: string): string => `"${pattern.replace(/\\(?=[\\"']|$)|"/g, (found) => `\\${found}`)}"`

// Weeks are written as days, the usual form: `now() - 7d`.
const units: ReadonlyArray<readonly [string, bigint]> = [["d", 86_400n], ["h", 3_600n], ["m", 60n], ["s", 1n]]

const shift = (micros: bigint): string => {
  if (micros === 0n) return ""
  const seconds = (micros < 0n ? -micros : micros) / 1_000_000n
  const [unit, size] = units.find(([, size]) => seconds % size === 0n)!
  return ` ${micros < 0n ? "-" : "+"} ${seconds / size}${unit}`
}

const bare: readonly Field["kind"][] = ["integer", "decimal", "float", "boolean"]

const operandText = (field: Field, operand: Operand): string => {
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

const negated = (item: FilterTree): string => {
  if (item.op === "compare" && item.is === "=") return `${item.field.name} != ${operandText(item.field, item.value)}`
  if (item.op === "match") return `${item.field.name} != ${matchText(item.parts)}`
  if (item.op === "null") return `${item.field.name}:*`
  return item.op === "and" || item.op === "or" ? `NOT (${printFilter(item)})` : `NOT ${printFilter(item)}`
}

const matchText = (parts: readonly string[]): string => `"${parts.map(escaped).join("*")}"`

/**
 * The canonical text of a tree. A tree that came from text reads back as itself. Params and the constant `false` have no text: what is
 * written for them is refused when it is read.
 */
export const printFilter = (tree: FilterTree): string => {
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
      return negated(tree.item)
    case "compare":
      return `${tree.field.name} ${tree.is} ${operandText(tree.field, tree.value)}`
    case "in":
      return `in(${[tree.field.name, ...tree.values.map((value) => operandText(tree.field, value))].join(", ")})`
    case "null":
      return `isNull(${tree.field.name})`
    case "match":
      return `${tree.field.name} = ${matchText(tree.parts)}`
    case "contains":
      return `${tree.field.name}:${quoted(tree.text)}`
    case "search":
      return `search(${quoted(tree.text)})`
    case "similar":
      return `similar(${tree.field.name}, ${quoted(tree.text)})`
    case "regex":
      return `regex(${tree.field.name}, ${quotedPattern(tree.pattern)})`
  }
}
