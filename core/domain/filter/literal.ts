/**
 * The two sides of a condition: a name becomes a field of the scope, a written value a checked operand or text. Every value is checked by
 * its field's kind here. Operators and functions are decided elsewhere.
 */

import * as Result from "effect/Result"
import type { Span } from "../problem.ts"
import { cellFromText, pastCharacters } from "../value/cell.ts"
import type { Kind, Shape } from "../value/kind.ts"
import { hasEquality } from "../value/traits.ts"
import { decode } from "./lex.ts"
import type { Syntax, Value, Word } from "./parse.ts"
import type { AnyScope, Findings } from "./scope.ts"
import { nameHint, namesOf, nearest, quote } from "./scope.ts"
import type { AnyTree, FilterField, Operand } from "./tree.ts"

/** What a check works with: the names in reach, and where errors go. */
export interface Checking {
  readonly scope: AnyScope
  readonly findings: Findings
  /** How many relations lead from the record to this scope. */
  readonly depth: number
  /** What all texts of a filter have together. */
  readonly spent: { terms: number }
  /** The tree of a syntax in some scope, for filters inside this one. */
  readonly check: (checking: Checking, syntax: Syntax) => AnyTree | null
}

/** Access rules may name every declared field; callers only filterable ones. */
export const mayFilter = (scope: AnyScope) => (field: FilterField): boolean => scope.caller || field.filterable

export const filterableFields = "Fields that can be filtered"

/**
 * The field that a name stands for, or null after reporting. `usage` is how to write the function whose argument the name is; it goes into
 * the hint.
 */
export const fieldOf = ({ findings, scope }: Checking, name: Word, usage?: string): FilterField | null => {
  const field = scope.names.get(name.text)
  if (field !== undefined && mayFilter(scope)(field)) return field
  const named = nameHint(name.text, namesOf(scope, mayFilter(scope)), filterableFields)
  // `status in (draft, paid)` is read as a call of `in` with the field `draft`. When no field has a name like it, the hint shows how to
  // write the function.
  const hint = field === undefined && scope.vectors?.has(name.text) === true
    ? `It is a search vector: write search(${name.text}, "some words").`
    : field === undefined && (scope.relations?.step(name.text) ?? null) !== null
    ? `It is a relation: name a field of it, such as ${name.text}.id, or write has(${name.text}).`
    : field === undefined && usage !== undefined && named.startsWith(filterableFields)
    ? `Write ${usage}. ${named}`
    : named
  return field === undefined
    ? findings.add("unknown-field", `There is no field ${quote(name.text)}.`, hint, name)
    : findings.add("not-filterable", `The field ${quote(name.text)} cannot be filtered.`, hint, name)
}

/** Decoded text with its wildcards: the parts between unescaped stars. Null after reporting a bad escape or a value that is no text. */
export const partsOf = ({ findings }: Checking, value: Value): readonly string[] | null => {
  if (value.of === "call") {
    return findings.add(
      "value",
      `${quote(value.name.text)} cannot be used as a text.`,
      "Write a text in quotes.",
      value
    )
  }
  const decoded = decode(value.text, value.of === "string" ? value.start + 1 : value.start)
  return decoded.ok
    ? decoded.parts
    : findings.add(
      "syntax",
      decoded.message,
      "Write \\\\ for a backslash; the escapes are \\\\ \\\" \\' \\* \\n \\r \\t \\uXXXX.",
      decoded.span
    )
}

/** Decoded text in which a star is just a star. */
const textOf = (checking: Checking, value: Value): string | null => partsOf(checking, value)?.join("*") ?? null

/**
 * Most characters of a text that is searched for inside others, or compared by wildcards or similarity. The database goes through all of it
 * for every row, and many times more when it plans.
 */
const maxSought = 10_000

/** Whether a text is too long to look for, which is reported. */
export const isTooLongToSeek = ({ findings }: Checking, value: Value, text: string): boolean => {
  if (pastCharacters(text, maxSought) === null) return false
  findings.add("limit", `The text to look for has more than ${maxSought} characters.`, "Look for less of it.", value)
  return true
}

/** The text of a value that is to be looked for, or null after reporting. */
export const soughtOf = (checking: Checking, value: Value): string | null => {
  const text = textOf(checking, value)
  return text === null || isTooLongToSeek(checking, value, text) ? null : text
}

/** Whether a field is a list whose elements can be asked for. Those of a list of files cannot: they are addresses of the service. */
export const holdsValues = (field: FilterField): field is Extract<FilterField, { readonly kind: "list" }> =>
  field.kind === "list" && field.file === null

/** Whether a list is asked for its elements: they are compared with values. */
export const hasElements = (field: FilterField): field is Extract<FilterField, { readonly kind: "list" }> =>
  holdsValues(field) && hasEquality(field.of.kind)

/** Kinds that a caller's id or tenant may be compared with. */
const callerKinds: readonly Kind[] = ["text", "integer", "decimal", "uuid", "enum"]

/** What a value is for: a field, or the elements of one. */
type Holder = Shape & Pick<FilterField, "name">

/** `caller.…` in the access-rule language; undefined when the value is nothing of the sort. */
export const callerOf = ({ findings, scope }: Checking, field: Holder, value: Value): Operand | null | undefined => {
  if (!scope.caller || value.of !== "word" || !value.text.startsWith("caller.")) return undefined
  if (value.text !== "caller.id" && value.text !== "caller.tenant") {
    return findings.add(
      "value",
      `There is no ${quote(value.text)}.`,
      "The caller's values are caller.id and caller.tenant.",
      value
    )
  }
  if (!callerKinds.includes(field.kind)) {
    return findings.add(
      "value",
      `The field ${quote(field.name)} cannot hold ${value.text}.`,
      `The caller's values compare with fields of the kinds ${callerKinds.join(", ")}.`,
      value
    )
  }
  return { of: "caller", value: value.text === "caller.id" ? "id" : "tenant" }
}

const refuseValue = ({ findings }: Checking, name: string, text: string, hint: string, span: Span): null =>
  findings.add("value", `${quote(text)} is not a value of the field ${quote(name)}.`, hint, span)

/** How to compare with the field whose name stands as a value; empty where it is no such name. */
const pairHint = ({ scope }: Checking, field: Holder, name: string, value: Value): string => {
  const other = value.of === "word" && name === field.name ? scope.names.get(value.text) : undefined
  return other === undefined || !mayFilter(scope)(other)
    ? ""
    : `To compare with the field, write field(${other.name}). `
}

/** A checked operand for a field, or null after reporting. `name`: how the field is called here. `compared`: a comparator stands before it. */
export const operandOf = (
  checking: Checking,
  field: Holder,
  value: Value,
  name = field.name,
  compared = false
): Operand | null => {
  if (value.of === "call") {
    if (value.name.text !== "now") {
      const hint = value.name.text === "field"
        ? "field(…) stands after = != < <= > or >=, alone."
        : "Only now() and field(…) can stand as a value; put text in quotes."
      return checking.findings.add("value", `${quote(value.name.text)} cannot be used as a value.`, hint, value.name)
    }
    if (value.args.length > 0) {
      return checking.findings.add(
        "argument",
        "now() takes no arguments.",
        "Write an offset after it, such as now() - 7d.",
        value
      )
    }
    if (field.kind !== "timestamp" && field.kind !== "date") {
      const hint = "now() compares with timestamp and date fields."
      return checking.findings.add("value", `The field ${quote(name)} is not a time.`, hint, value)
    }
    return { of: "now", offset: value.shift?.micros ?? 0n }
  }
  const caller = callerOf(checking, field, value)
  if (caller !== undefined) return caller
  if (value.of === "word" && value.text === "null") {
    return refuseValue(
      checking,
      name,
      "null",
      `Use isNull(${name}), or put null in quotes to mean the text.`,
      value
    )
  }
  const text = textOf(checking, value)
  if (text === null) return null
  const cell = cellFromText(field, text)
  if (Result.isSuccess(cell)) {
    const literal = { of: "literal", text: cell.success } as const
    return field.kind === "float" ? { ...literal, span: checking.findings.span(value) } : literal
  }
  const near = field.kind === "enum" ? nearest(text, field.values) : null
  const asked = compared ? pairHint(checking, field, name, value) : ""
  const meant = near === null ? "" : `Did you mean ${near}? `
  return refuseValue(checking, name, text, asked + meant + cell.failure.message, value)
}
