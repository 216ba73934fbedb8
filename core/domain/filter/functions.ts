/**
 * The functions that are conditions: which arguments they take and the tree they become. What they do with rows is decided by the
 * database and by `evaluate`.
 */

import * as Result from "effect/Result"
import type { Span } from "../problem.ts"
import { pastCharacters } from "../value/cell.ts"
import { elementOf, rangeAround } from "../value/exact.ts"
import { hasEquality } from "../value/traits.ts"
import { decodePattern } from "./lex.ts"
import { type Checking, hasElements, holdsValues, operandOf, soughtOf } from "./literal.ts"
import { fieldUsage } from "./pair.ts"
import type { FunctionCall, FunctionName, Syntax, Value } from "./parse.ts"
import { functionNames, parseFilter } from "./parse.ts"
import { type End, endOf, type PathField, placeOf, presentAt, through, vectorOf } from "./path.ts"
import { nameHint, quote } from "./scope.ts"
import type { AnyTree, Comparison, FilterField, Operand } from "./tree.ts"
import { always, confined, not } from "./tree.ts"

/** Most characters of a regular expression. */
const maxPattern = 200

interface FilterFunction {
  /** How the function is written, for hints. */
  readonly usage: string
  readonly least: number
  readonly most: number
  readonly check: (checking: Checking, args: readonly Value[], call: FunctionCall) => AnyTree | null
}

const fieldArgument = (checking: Checking, value: Value, usage: string): PathField | null =>
  value.of === "word"
    ? placeOf(checking, value, usage)
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
  call: FunctionCall,
  accepts: (field: FilterField) => boolean,
  usage: string
): PathField | null => {
  const place = fieldArgument(checking, value, usage)
  if (place === null || accepts(place.field)) return place
  const { field: { kind }, name } = place
  return checking.findings.add(
    "operator",
    `${call.name.text}() does not work on the field ${quote(name)} of the kind ${kind}.`,
    kind === "boolean" ? `Write ${name} = true or ${name} = false.` : `Write ${usage}.`,
    value
  )
}

/** Text search over the scope's searched fields: bare words, phrases and `search('…')`. */
export const searchTree = (checking: Checking, value: Value): AnyTree | null => {
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

/** Most characters of a text whose words are looked for. */
export const maxWords = 1_000

/** Words of a text in a search vector: `search(words, "tall -lamp")`. */
const wordsTree = (checking: Checking, [vector, value]: readonly Value[]): AnyTree | null => {
  if (vector!.of !== "word") {
    return checking.findings.add(
      "argument",
      "The first argument is the name of a search vector, without quotes.",
      "Write search('text') or search(vector, 'text').",
      vector!
    )
  }
  const place = vectorOf(checking, vector!)
  const text = soughtOf(checking, value!)
  if (place === null || text === null) return null
  if (pastCharacters(text, maxWords) !== null) {
    return checking.findings.add(
      "limit",
      `The text to look for has more than ${maxWords} characters.`,
      "Look for fewer words.",
      value!
    )
  }
  return through(place.ways, { op: "words", field: place.field, text }, place.span)
}

const spanOf = ({ findings }: Checking, call: FunctionCall): Span => findings.span(call)

const containsUsage = "contains(field, value) with a field of ranges"
const overlapsUsage = "overlaps(field, \"[1,5)\") with a field of ranges"

/** Whether a range holds a value: `during:2026-01-31` and `contains(during, 2026-01-31)`. */
export const holdsTree = (
  checking: Checking,
  field: Extract<FilterField, { readonly kind: "range" }>,
  value: Value,
  name: string
): AnyTree | null => {
  const operand = operandOf(checking, { name: field.name, ...elementOf(field) }, value, name)
  return operand === null ? null : {
    op: "overlaps",
    field,
    value: operand.of === "literal" ? { ...operand, text: rangeAround(field, operand.text) } : operand
  }
}

/** A condition on a range and another range, or on a value of the kind that the range goes over. */
const rangeTree = (
  checking: Checking,
  [name, value]: readonly Value[],
  call: FunctionCall,
  of: "value" | "range"
): AnyTree | null => {
  const usage = of === "value" ? containsUsage : overlapsUsage
  const place = fieldOfKind(checking, name!, call, ({ kind }) => kind === "range", usage)
  if (place === null || place.field.kind !== "range") return null
  const { field, name: called, span, ways } = place
  if (of === "value") {
    const tree = holdsTree(checking, field, value!, called)
    return tree === null ? null : through(ways, tree, span)
  }
  const operand = operandOf(checking, field, value!, called)
  return operand === null ? null : through(ways, { op: "overlaps", field, value: operand }, span)
}

const isText = ({ kind }: FilterField): boolean => kind === "text"
const hasValues = (field: FilterField): boolean => field.kind === "list" ? hasElements(field) : hasEquality(field.kind)

const inUsage = "in(field, value, …)"
const similarUsage = "similar(field, 'text') with a text field"
const regexUsage = "regex(field, 'pattern') with a text field"

const sameUsage = "same(field, 'text') with a text field"
const beginsUsage = "begins(field, 'text') with a text field"

/** A text ignoring case: the whole value, or its beginning. */
const sameFunction = (whole: boolean, usage: string): FilterFunction => ({
  usage,
  least: 2,
  most: 2,
  check: (checking, args, call) => {
    const place = fieldOfKind(checking, args[0]!, call, isText, usage)
    const text = soughtOf(checking, args[1]!)
    return place === null || text === null
      ? null
      : through(place.ways, { op: "same", field: place.field, text, whole }, place.span)
  }
})

/** A function that gives a number: alone it is no condition. */
const numberFunction = (name: FunctionName, usage: string, most: number): FilterFunction => ({
  usage,
  least: 1,
  most,
  check: (checking, _, call) =>
    checking.findings.add("argument", `${name}() gives a number, which is compared.`, `Write ${usage}.`, call)
})

const hasUsage = "has(lines) or has(lines, \"quantity > 10\")"
const lengthUsage = "length(tags) >= 2 with a list"
const countUsage = "count(lines) >= 3 or count(lines, \"quantity > 10\") >= 3"

/** A relation, and a filter of its records. */
interface Related {
  readonly end: End
  readonly item: AnyTree
}

const relatedArguments = (checking: Checking, [path, filter]: readonly Value[], usage: string): Related | null => {
  if (path?.of !== "word") {
    return checking.findings.add(
      "argument",
      "The first argument is a relation's name, without quotes.",
      `Write ${usage}.`,
      path!
    )
  }
  const end = endOf(checking, path)
  if (end === null) return null
  const item = filter === undefined ? always : innerTree(checking, end, filter, usage)
  return item === null ? null : { end, item: confined(item, end.ways.at(-1)!.rows) }
}

/**
 * A filter in quotes, of the records at the end of a path. It is written like a pattern: only quotes and backslashes before them are escaped once more, so
 * that its own escapes stay as they are.
 */
const innerTree = (checking: Checking, { scope, ways }: End, value: Value, usage: string): AnyTree | null => {
  if (value.of !== "string") {
    return checking.findings.add(
      "argument",
      "A filter of related records is written in quotes.",
      `Write ${usage}.`,
      value
    )
  }
  const findings = checking.findings.within(placesIn(value.text, value.start + 1))
  const parsed = parseFilter(decodePattern(value.text), checking.spent.terms)
  if (Result.isFailure(parsed)) {
    const { code, hint, message, span } = parsed.failure
    return findings.add(code, message, hint, span)
  }
  const { syntax, terms } = parsed.success
  checking.spent.terms = terms
  return syntax === null
    ? checking.findings.add("syntax", "The filter in quotes is empty.", `Write ${usage}.`, value)
    : checking.check({ ...checking, findings, scope, depth: checking.depth + ways.length }, syntax)
}

/** Where a place of a decoded pattern is in the text around it. */
const placesIn = (raw: string, start: number): (at: number) => number => {
  // The places, in the decoded text, of characters that were written with a backslash.
  const escaped: number[] = []
  for (const { index } of raw.matchAll(/\\[\\"']/g)) escaped.push(index - escaped.length)
  return (at) => {
    let low = 0
    for (let high = escaped.length; low < high;) {
      const middle = (low + high) >> 1
      if (escaped[middle]! < at) low = middle + 1
      else high = middle
    }
    return start + at + low
  }
}

/** Most related records that a count is compared with. */
const maxNumber = 999_999_999

type Counted = Extract<Syntax, { readonly node: "counted" }>

/** The number that a count is compared with, or null after reporting. A client may write it as any value, in quotes. */
const numberOf = ({ findings }: Checking, value: Value): number | null =>
  value.of !== "call" && /^\d{1,9}$/.test(value.text) ? Number(value.text) : findings.add(
    "value",
    "A count is compared with a whole number.",
    `Write a number from 0 to ${maxNumber}.`,
    value
  )

/** `count(lines) >= 3` or `length(tags) >= 2`, or null after reporting. */
export const countedTree = (checking: Checking, counted: Counted): AnyTree | null => {
  const { call, is, isAt } = counted
  if (is === ":") {
    return checking.findings.add("operator", "The operator : does not work on a count.", "Use = != < <= > >=.", isAt)
  }
  return call.name.text === "length" ? lengthTree(checking, counted, is) : countTree(checking, counted, is)
}

const lengthTree = (
  checking: Checking,
  { call, value }: Counted,
  is: Comparison | "!="
): AnyTree | null => {
  if (call.args.length !== 1) {
    return checking.findings.add(
      "argument",
      `length() takes 1 argument, not ${call.args.length}.`,
      `Write ${lengthUsage}.`,
      call
    )
  }
  const place = fieldOfKind(checking, call.args[0]!, call, holdsValues, lengthUsage)
  const number = numberOf(checking, value)
  if (place === null || number === null) return null
  const { field, span, ways } = place
  if (!holdsValues(field)) return null
  const length = (compared: Comparison): AnyTree => through(ways, { op: "length", field, is: compared, number }, span)
  return is === "!=" ? not(length("=")) : length(is)
}

const countTree = (checking: Checking, { call, value }: Counted, is: Comparison | "!="): AnyTree | null => {
  const { findings } = checking
  if (call.args.length < 1 || call.args.length > 2) {
    return findings.add(
      "argument",
      `count() takes 1 or 2 arguments, not ${call.args.length}.`,
      `Write ${countUsage}.`,
      call
    )
  }
  const related = relatedArguments(checking, call.args, countUsage)
  const number = numberOf(checking, value)
  if (related === null || number === null) return null
  const { end: { ways }, item } = related
  if (ways.length > 1) {
    return findings.add(
      "argument",
      "count() takes one relation, not a path.",
      "Write has(customer, \"count(orders) >= 3\").",
      call.args[0]!
    )
  }
  const count = (compared: Comparison): AnyTree => ({
    op: "count",
    way: ways[0]!,
    item,
    is: compared,
    number,
    span: spanOf(checking, call)
  })
  return is === "!=" ? not(count("=")) : count(is)
}

const functions: { readonly [name in FunctionName]: FilterFunction } = {
  in: {
    usage: inUsage,
    least: 2,
    most: Infinity,
    check: (checking, args, call) => {
      const place = fieldOfKind(checking, args[0]!, call, hasValues, inUsage)
      if (place === null) return null
      const { field, name, span, ways } = place
      const of = holdsValues(field) ? { name: field.name, ...field.of } : field
      const values: Operand[] = []
      for (let at = 1; at < args.length && !checking.findings.full; at++) {
        const operand = operandOf(checking, of, args[at]!, name)
        if (operand !== null) values.push(operand)
      }
      if (values.length < args.length - 1) return null
      return through(ways, holdsValues(field) ? { op: "has", field, values } : { op: "in", field, values }, span)
    }
  },
  search: {
    usage: "search('text') or search(vector, 'text')",
    least: 1,
    most: 2,
    check: (checking, args) => args.length === 1 ? searchTree(checking, args[0]!) : wordsTree(checking, args)
  },
  similar: {
    usage: similarUsage,
    least: 2,
    most: 2,
    check: (checking, args, call) => {
      const place = fieldOfKind(checking, args[0]!, call, isText, similarUsage)
      const text = soughtOf(checking, args[1]!)
      if (text === "") {
        return checking.findings.add(
          "value",
          "The text to compare with is empty.",
          "Write at least one character.",
          args[1]!
        )
      }
      if (place === null || text === null) return null
      return through(place.ways, { op: "similar", field: place.field, text, span: spanOf(checking, call) }, place.span)
    }
  },
  regex: {
    usage: regexUsage,
    least: 2,
    most: 2,
    check: (checking, args, call) => {
      const place = fieldOfKind(checking, args[0]!, call, isText, regexUsage)
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
      if (place === null) return null
      return through(place.ways, { op: "regex", field: place.field, pattern, span: spanOf(checking, call) }, place.span)
    }
  },
  isNull: {
    usage: "isNull(field)",
    least: 1,
    most: 1,
    check: (checking, args) => {
      const value = args[0]!
      // No other way of writing it is in question, so the hint names fields only.
      const place = value.of === "word" ? placeOf(checking, value) : fieldArgument(checking, value, "isNull(due_on)")
      return place === null ? null : not(presentAt(place))
    }
  },
  contains: {
    usage: containsUsage,
    least: 2,
    most: 2,
    check: (checking, args, call) => rangeTree(checking, args, call, "value")
  },
  overlaps: {
    usage: overlapsUsage,
    least: 2,
    most: 2,
    check: (checking, args, call) => rangeTree(checking, args, call, "range")
  },
  has: {
    usage: hasUsage,
    least: 1,
    most: 2,
    check: (checking, args, call) => {
      const related = relatedArguments(checking, args, hasUsage)
      return related === null ? null : through(related.end.ways, related.item, spanOf(checking, call))
    }
  },
  count: numberFunction("count", countUsage, 2),
  length: numberFunction("length", lengthUsage, 1),
  same: sameFunction(true, sameUsage),
  begins: sameFunction(false, beginsUsage),
  field: {
    usage: fieldUsage,
    least: 1,
    most: 1,
    check: (checking, _, call) =>
      checking.findings.add("argument", "field() is a value, not a condition.", `Write ${fieldUsage}.`, call)
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
export const callTree = (checking: Checking, call: FunctionCall): AnyTree | null => {
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
    const count = least === most
      ? `${least} argument${least === 1 ? "" : "s"}`
      : most === Infinity
      ? `at least ${least} arguments`
      : `${least} or ${most} arguments`
    return checking.findings.add(
      "argument",
      `${name}() takes ${count}, not ${call.args.length}.`,
      `Write ${usage}.`,
      call
    )
  }
  return check(checking, call.args, call)
}
