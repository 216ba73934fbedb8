/**
 * The parameters `expand` and `fields` as texts: which relations to follow, and what is asked of the records there. It knows the grammar and its limits; it
 * knows no model. Any text gives steps or a refusal with its place in the text.
 *
 *     expand = path ("," path)*            path = step ("." step)*
 *     step   = name ["(" argument ("," argument)* ")"]
 *     argument = "count" | name ":" (number | quoted text)
 */

import * as Result from "effect/Result"
import { partsBetween } from "../model/path.ts"
import type { ProblemError, Span } from "../problem.ts"

/** Most characters of `expand`. */
export const maxExpandCharacters = 10_000
/** Most paths that `expand` names, and most relations that they follow together. */
export const maxRelations = 10
const maxSteps = 20
/** How many relations may be followed one after the other. */
export const maxExpandDepth = 4
/** How far a relation of a resource to itself may be followed by `depth`. */
const maxTreeDepth = 10
const maxChildren = 500
const maxNames = 200

/** A quoted text of a step, without its quotes and escapes. The span is that between the quotes in the whole parameter. */
export interface Inner extends Span {
  readonly text: string
  /** Where in `text` a character stands that has a backslash before it in the parameter. */
  readonly escapes: readonly number[]
}

interface Count extends Span {
  readonly value: number
}

/** What a step asks of the related records besides their fields. */
export interface Shape {
  readonly filter?: Inner
  readonly order_by?: Inner
  /** Most records of each parent. */
  readonly page_size?: Count
  /** Their number, and no records. */
  readonly count?: Span
  /** How often a relation of a resource to itself is followed. */
  readonly depth?: Count
}

/** A relation to follow from the records before it. */
export interface ExpandStep {
  readonly name: string
  readonly shape: Shape
  /** Names of fields that are asked for, each with the parameter that did so. */
  readonly fields: ReadonlyMap<string, Parameter>
  /** Whether all fields are shown, whichever are named. */
  readonly whole: boolean
  readonly below: Steps
  /** The names of the relations up to here, with periods. */
  readonly path: string
  /** Where a path of fields asked for it first: that path, and the parameter that has it. */
  readonly asked: { readonly path: string; readonly parameter: Parameter } | null
}

type Parameter = "expand" | "fields"

/** Steps by the names of their relations, in the order in which they were asked for. */
export type Steps = ReadonlyMap<string, ExpandStep>

export const noSteps: Steps = new Map()

/** A span of an inner text as a span of the whole parameter. */
export const spanIn = ({ escapes, start }: Inner, span: Span): Span => {
  const place = (offset: number): number => start + offset + escapes.filter((escape) => escape < offset).length
  return { start: place(span.start), end: place(span.end) }
}

/** Whether a name of `fields` is a path through relations. */
export const isPath = (name: string): boolean => name.includes(".")

interface Node extends ExpandStep {
  shape: Shape
  shaped: boolean
  whole: boolean
  /** Whether the shape names fields. The name alone then asks for no more of them. */
  limited: boolean
  readonly fields: Map<string, Parameter>
  readonly below: Map<string, Node>
}

/** The tree of the steps that have been read so far, and their number. */
interface Tree {
  readonly root: Map<string, Node>
  steps: number
}

type Read<A> = Generator<Result.Result<unknown, ProblemError>, A, never>

const refused = (message: string, span?: Span, hint?: string): Result.Result<never, ProblemError> =>
  Result.fail({
    parameter: "expand",
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(span === undefined ? {} : { span })
  })

const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)

class Cursor {
  readonly text: string
  at = 0

  constructor(text: string) {
    this.text = text
  }

  skip(): void {
    while (this.at < this.text.length && isSpace(this.text.charCodeAt(this.at))) this.at++
  }

  /** Takes the character if it is next. */
  takes(character: string): boolean {
    this.skip()
    if (this.text[this.at] !== character) return false
    this.at++
    return true
  }

  /** All up to the next of these characters, without blanks around it. */
  until(ends: string): Span & { readonly text: string } {
    this.skip()
    const start = this.at
    while (this.at < this.text.length && !ends.includes(this.text[this.at]!)) this.at++
    const text = this.text.slice(start, this.at).trimEnd()
    return { text, start, end: start + text.length }
  }

  /** Where something else should stand: the next character, or the end. */
  here(): Span {
    this.skip()
    return { start: this.at, end: Math.min(this.at + 1, this.text.length) }
  }
}

/** The relation `name` from a step, or from the root (null). */
const stepTo = (
  tree: Tree,
  from: Node | null,
  name: string,
  asked: ExpandStep["asked"]
): Result.Result<Node, ProblemError> => {
  const nodes = from === null ? tree.root : from.below
  const earlier = nodes.get(name)
  if (earlier !== undefined) return Result.succeed(earlier)
  if (++tree.steps > maxSteps) {
    const parameter = asked?.parameter ?? "expand"
    return Result.fail({ parameter, message: `At most ${maxSteps} relations can be followed.` })
  }
  const path = from === null ? name : `${from.path}.${name}`
  const node: Node = {
    name,
    shape: {},
    shaped: false,
    whole: false,
    limited: false,
    fields: new Map(),
    below: new Map(),
    path,
    asked
  }
  nodes.set(name, node)
  return Result.succeed(node)
}

/** Adds names of fields, and the relations on their paths, below a step or at the root (null). */
const addFields = function*(
  tree: Tree,
  node: Node | null,
  names: readonly string[],
  before: number,
  parameter: Parameter
): Read<void> {
  for (const name of names) {
    const way = name.split(".")
    const field = way.pop()!
    if (before + way.length > maxExpandDepth) {
      const message = `A path of fields can follow relations ${maxExpandDepth} levels deep.`
      return yield* Result.fail({ parameter, message })
    }
    const asked = { path: node === null ? name : `${node.path}.${name}`, parameter }
    let last = node
    for (const each of way) last = yield* stepTo(tree, last, each, asked)
    last?.fields.set(field, parameter)
  }
}

const numbers = { page_size: maxChildren, depth: maxTreeDepth } as const
const argumentNames = "fields, filter, order_by, page_size, count, depth"

const readNumber = function*(cursor: Cursor, name: keyof typeof numbers): Read<Count> {
  const { end, start, text } = cursor.until(",)")
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : 0
  const most = numbers[name]
  // A page is cut as that of a list is. A depth that is cut would look like the end of a tree.
  if (value < 1 || (name === "depth" && value > most)) {
    const range = name === "depth" ? `from 1 to ${most}` : "of at least 1"
    return yield* refused(`${name} must be a whole number ${range}.`, { start, end })
  }
  return { value: Math.min(value, most), start, end }
}

const readText = function*(cursor: Cursor, name: string): Read<Inner> {
  const { text } = cursor
  cursor.skip()
  const opening = cursor.at
  const quote = text[opening]
  if (quote !== "\"" && quote !== "'") {
    const hint = `Write ${name}: "…", or '…' where the text itself has quotes.`
    return yield* refused(`${name} takes a text in quotes.`, cursor.here(), hint)
  }
  const start = opening + 1
  const escapes: number[] = []
  let inner = ""
  for (let at = start; at < text.length; at++) {
    const next = text[at + 1]
    if (text[at] === "\\" && (next === quote || next === "\\")) {
      escapes.push(inner.length)
      inner += next
      at++
    } else if (text[at] === quote) {
      cursor.at = at + 1
      return { text: inner, escapes, start, end: at }
    } else inner += text[at]
  }
  return yield* refused(`The text of ${name} has no closing quote.`, { start: opening, end: text.length })
}

/** Splits a list of names, in whose quotes commas may stand; null where one of them is empty. */
export const namesIn = (text: string): readonly string[] | null => {
  const names = [...new Set(partsBetween(text, ",").map((part) => part.trim()))]
  return names.includes("") ? null : names
}

interface Shaped {
  readonly shape: Shape
  readonly fields: readonly string[] | null
}

const readShape = function*(cursor: Cursor): Read<Shaped> {
  const shape: { -readonly [name in keyof Shape]: Shape[name] } = {}
  let fields: readonly string[] | null = null
  const given = new Set<string>()
  do {
    const { end, start, text: name } = cursor.until(":,()\"'")
    const span = { start, end }
    if (given.has(name)) return yield* refused(`${name} is given more than once.`, span)
    given.add(name)
    if (name === "count") shape.count = span
    else if (!argumentNames.split(", ").includes(name)) {
      const message = name === "" ? "An argument is missing." : `There is no argument "${name.slice(0, 100)}".`
      return yield* refused(message, name === "" ? cursor.here() : span, `The arguments: ${argumentNames}.`)
    } else if (!cursor.takes(":")) {
      return yield* refused(`${name} takes a value after a colon.`, cursor.here())
    } else if (name === "page_size" || name === "depth") shape[name] = yield* readNumber(cursor, name)
    else {
      const inner = yield* readText(cursor, name)
      if (name === "fields") {
        fields = namesIn(inner.text)
        if (fields === null || fields.length > maxNames) {
          return yield* refused(`fields must be a comma-separated list of up to ${maxNames} names.`, inner)
        }
      } else if (name === "filter" || name === "order_by") shape[name] = inner
    }
  } while (cursor.takes(","))
  if (!cursor.takes(")")) {
    return yield* refused("A comma or a closing bracket is missing.", cursor.here())
  }
  return { shape, fields }
}

/** Reads one path into the tree, and gives its names. */
const readPath = function*(cursor: Cursor, tree: Tree): Read<string> {
  let last: Node | null = null
  for (let depth = 1;; depth++) {
    const { end, start, text: name } = cursor.until(",.(")
    if (depth > maxExpandDepth) {
      return yield* refused(`A relation can be followed ${maxExpandDepth} levels deep.`)
    }
    const opens = cursor.takes("(")
    const next = opens ? yield* readShape(cursor) : null
    const ends = !cursor.takes(".")
    if (ends && depth === 1 && name === "" && !opens) {
      return yield* refused("The parameter must be a comma-separated list of names.")
    }
    const node: Node = yield* stepTo(tree, last, name, null)
    if (next !== null) {
      if (node.shaped) {
        const hint = "A relation has one shape. Write it where the relation is named first."
        return yield* refused(`"${node.path.slice(0, 100)}" has two shapes.`, { start, end }, hint)
      }
      node.shaped = true
      node.shape = next.shape
    }
    if (next !== null && next.fields !== null) {
      node.limited = true
      yield* addFields(tree, node, next.fields, depth, "expand")
    }
    node.whole = !node.limited
    if (ends) return node.path
    last = node
  }
}

const readAll = function*(text: string, fields: readonly string[]): Read<Steps> {
  if (text.length > maxExpandCharacters) {
    return yield* refused(`The parameter has more than ${maxExpandCharacters} characters.`)
  }
  const tree: Tree = { root: new Map(), steps: 0 }
  if (text.trim() !== "") {
    const cursor = new Cursor(text)
    const paths = new Set<string>()
    do {
      paths.add(yield* readPath(cursor, tree))
      if (paths.size > maxRelations) return yield* refused(`At most ${maxRelations} relations can be expanded.`)
    } while (cursor.takes(","))
    if (cursor.at < text.length) {
      return yield* refused("A comma or a period is missing.", cursor.here())
    }
  }
  yield* addFields(tree, null, fields.filter(isPath), 0, "fields")
  return tree.root
}

/** Reads `expand`, and the paths among the names of `fields`. */
export const readExpand = (text: string, fields: readonly string[]): Result.Result<Steps, ProblemError> =>
  Result.gen(() => readAll(text, fields))

/** Whether a text is exactly one path. */
export const isOnePath = (text: string): boolean => {
  const cursor = new Cursor(text)
  const read = Result.gen(() => readPath(cursor, { root: new Map(), steps: 0 }))
  return Result.isSuccess(read) && cursor.at >= text.length
}
