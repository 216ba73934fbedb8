/**
 * The functions that are conditions: which arguments they take and the tree they become. What they do with rows is decided by the
 * database and by `evaluate`.
 */

import type { Field } from "../model/model.ts"
import type { Span } from "../problem.ts"
import { pastCharacters } from "../value/cell.ts"
import type { Kind } from "../value/kind.ts"
import { decodePattern } from "./lex.ts"
import { type Checking, fieldOf, operandOf, soughtOf } from "./literal.ts"
import type { Call, FunctionName, Value } from "./parse.ts"
import { functionNames } from "./parse.ts"
import { nameHint, quote } from "./scope.ts"
import type { FilterTree, Operand } from "./tree.ts"

/** Most characters of a regular expression. */
const maxPattern = 200

interface FilterFunction {
  /** How the function is written, for hints. */
  readonly usage: string
  readonly least: number
  readonly most: number
  readonly check: (checking: Checking, args: readonly Value[], call: Call) => FilterTree | null
}

const fieldArgument = (checking: Checking, value: Value, usage: string): Field | null =>
  value.of === "word"
    ? fieldOf(checking, value, usage)
    : checking.findings.add(
      "argument",
      "The first argument is a field's name, without quotes.",
      `Write ${usage}.`,
      value
    )

/** The field of a function that works on some kinds only. */
const fieldOfKind = (
  checking: Checking,
  value: Value,
  call: Call,
  accepts: (kind: Kind) => boolean,
  usage: string
): Field | null => {
  const field = fieldArgument(checking, value, usage)
  if (field === null || accepts(field.kind)) return field
  return checking.findings.add(
    "operator",
    `${call.name.text}() does not work on the field ${quote(field.name)} of the kind ${field.kind}.`,
    field.kind === "boolean" ? `Write ${field.name} = true or ${field.name} = false.` : `Write ${usage}.`,
    value
  )
}

/** Text search over the scope's searched fields: bare words, phrases and `search('…')`. */
export const searchTree = (checking: Checking, value: Value): FilterTree | null => {
  if (checking.scope.searched.length === 0) {
    return checking.findings.add(
      "not-searchable",
      "There is no text search here.",
      "Write a condition on a field, such as status = \"paid\"; AND, OR and NOT are written in capitals.",
      value
    )
  }
  const text = soughtOf(checking, value)
  if (text === null) return null
  if (text === "") {
    return checking.findings.add("value", "The text to search for is empty.", "Write at least one character.", value)
  }
  return { op: "search", fields: checking.scope.searched, text }
}

const spanOf = ({ end, start }: Call): Span => ({ start, end })

const isText = (kind: Kind): boolean => kind === "text"

const inUsage = "in(field, value, …)"
const similarUsage = "similar(field, 'text') with a text field"
const regexUsage = "regex(field, 'pattern') with a text field"

const functions: { readonly [name in FunctionName]: FilterFunction } = {
  in: {
    usage: inUsage,
    least: 2,
    most: Infinity,
    check: (checking, args, call) => {
      const field = fieldOfKind(checking, args[0]!, call, (kind) => kind !== "json", inUsage)
      if (field === null) return null
      const values: Operand[] = []
      for (let at = 1; at < args.length && !checking.findings.full; at++) {
        const operand = operandOf(checking, field, args[at]!)
        if (operand !== null) values.push(operand)
      }
      return values.length === args.length - 1 ? { op: "in", field, values } : null
    }
  },
  search: {
    usage: "search('text')",
    least: 1,
    most: 1,
    check: (checking, args) => searchTree(checking, args[0]!)
  },
  similar: {
    usage: similarUsage,
    least: 2,
    most: 2,
    check: (checking, args, call) => {
      const field = fieldOfKind(checking, args[0]!, call, isText, similarUsage)
      const text = soughtOf(checking, args[1]!)
      if (text === "") {
        return checking.findings.add(
          "value",
          "The text to compare with is empty.",
          "Write at least one character.",
          args[1]!
        )
      }
      return field === null || text === null ? null : { op: "similar", field, text, span: spanOf(call) }
    }
  },
  regex: {
    usage: regexUsage,
    least: 2,
    most: 2,
    check: (checking, args, call) => {
      const field = fieldOfKind(checking, args[0]!, call, isText, regexUsage)
      const value = args[1]!
      if (value.of !== "string") {
        return checking.findings.add(
          "argument",
          "A pattern is written in quotes.",
          "Write regex(field, 'pattern').",
          value
        )
      }
      const pattern = decodePattern(value.text)
      if (pastCharacters(pattern, maxPattern) !== null) {
        return checking.findings.add(
          "limit",
          `The pattern has more than ${maxPattern} characters.`,
          "Write a shorter pattern.",
          value
        )
      }
      return field === null ? null : { op: "regex", field, pattern, span: spanOf(call) }
    }
  },
  isNull: {
    usage: "isNull(field)",
    least: 1,
    most: 1,
    check: (checking, args) => {
      const value = args[0]!
      // No other way of writing it is in question, so the hint names fields only.
      const field = value.of === "word" ? fieldOf(checking, value) : fieldArgument(checking, value, "isNull(due_on)")
      return field === null ? null : { op: "null", field }
    }
  },
  now: {
    usage: "now() after a comparison, such as created_at > now() - 7d",
    least: 0,
    most: 0,
    check: (checking, _, call) =>
      checking.findings.add(
        "argument",
        "now() is a value, not a condition.",
        "Write it on the right side of a comparison, such as created_at > now() - 7d.",
        call
      )
  }
}

const isFunction = (name: string): name is FunctionName => Object.hasOwn(functions, name)

/** The tree of a function that stands as a condition, or null after reporting. */
export const callTree = (checking: Checking, call: Call): FilterTree | null => {
  const name = call.name.text
  if (!isFunction(name)) {
    return checking.findings.add(
      "unknown-function",
      `There is no function ${quote(name)}.`,
      nameHint(name, functionNames, "The functions are"),
      call.name
    )
  }
  const { check, least, most, usage } = functions[name]
  if (call.args.length < least || call.args.length > most) {
    const count = least === most ? `${least} argument${least === 1 ? "" : "s"}` : `at least ${least} arguments`
    return checking.findings.add(
      "argument",
      `${name}() takes ${count}, not ${call.args.length}.`,
      `Write ${usage}.`,
      call
    )
  }
  return check(checking, call.args, call)
}
