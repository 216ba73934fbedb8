/**
 * What a filter or order text may refer to, and how it is refused: the names in reach, the errors with their codes, and "did you mean"
 * hints. A name that is hidden from the caller is not in a scope. So no error can tell it from a name that never existed.
 */

import type { Field } from "../model/model.ts"
import type { ProblemError, Span } from "../problem.ts"
import type { FilterField, FilterWay, Way } from "./tree.ts"

/** A relation that can be followed, and the names in reach at its end. */
export interface Step<F extends FilterField = Field, W extends FilterWay = Way> {
  readonly way: W
  readonly scope: FilterScope<F, W>
}

/** The relations in reach. One that is hidden is not among them, as little as one that never was. */
export interface Relations<F extends FilterField = Field, W extends FilterWay = Way> {
  /** Public names, for hints. */
  readonly names: () => readonly string[]
  /** The same name gives the same step. */
  readonly step: (name: string) => Step<F, W> | null
}

/** A scope of whatever fields. */
export type AnyScope = FilterScope<FilterField, FilterWay>

/** The names in reach of a text. */
export interface FilterScope<F extends FilterField = Field, W extends FilterWay = Way> {
  /** Name and alias to readable field. */
  readonly names: ReadonlyMap<string, F>
  /** The readable fields that bare words and `search(…)` look into. */
  readonly searched: readonly F[]
  /** Search vectors by name. Absent: conditions here are decided in memory, too, where nothing knows the forms of words. */
  readonly vectors?: ReadonlyMap<string, F>
  /** True for access rules: `caller.id` and `caller.tenant` are values, and fields need not be filterable. */
  readonly caller: boolean
  /** Absent: no condition goes through relations here. */
  readonly relations?: Relations<F, W>
}

/**
 * `syntax`: the text does not follow the grammar · `limit`: too long, too deep, too many terms, values or keys · `unknown-field`: no
 * such field, or a hidden one · `not-filterable`, `not-sortable`: a readable field that is not declared so · `not-searchable`: nothing
 * here is searched · `unknown-function` · `operator`: not an operator of this kind of field · `argument`: wrong arguments of a
 * function · `value`: not a value of this field · `duplicate`: a field that stands twice in an order.
 */
export type FilterErrorCode =
  | "syntax"
  | "limit"
  | "unknown-field"
  | "not-filterable"
  | "not-sortable"
  | "not-searchable"
  | "unknown-function"
  | "operator"
  | "argument"
  | "value"
  | "duplicate"

/** One error of a text. */
export interface FilterError extends ProblemError {
  readonly code: FilterErrorCode
  readonly hint: string
  readonly span: Span
}

export const refusal = (code: FilterErrorCode, message: string, hint: string, span: Span): FilterError => ({
  code,
  message,
  hint,
  span: { start: span.start, end: span.end }
})

/** Collects errors up to a cap. Errors beyond it are dropped. */
export class Findings {
  static readonly cap = 20
  readonly errors: FilterError[]
  readonly #place: (at: number) => number

  constructor(errors: FilterError[] = [], place: (at: number) => number = (at) => at) {
    this.errors = errors
    this.#place = place
  }

  /** The same for a text inside this one: `place` says where a place of it is in this one. */
  within(place: (at: number) => number): Findings {
    return new Findings(this.errors, (at) => this.#place(place(at)))
  }

  /** A span in the whole text. */
  span({ end, start }: Span): Span {
    return { start: this.#place(start), end: this.#place(end) }
  }

  add(code: FilterErrorCode, message: string, hint: string, span: Span): null {
    if (this.errors.length < Findings.cap) this.errors.push(refusal(code, message, hint, this.span(span)))
    return null
  }

  get full(): boolean {
    return this.errors.length >= Findings.cap
  }
}

const longestQuote = 60

/** Text from the caller inside a message: in quotes, shortened. */
export const quote = (text: string): string => {
  if (text.length <= longestQuote) return `"${text}"`
  const cut = text.slice(0, longestQuote)
  // Never end on half a character.
  return `"${(cut.charCodeAt(longestQuote - 1) & 0xfc00) === 0xd800 ? cut.slice(0, -1) : cut}…"`
}

const longestGuess = 64

/** Edit distance with transpositions (optimal string alignment), or `most + 1` when it is larger than `most`. */
const distance = (a: string, b: string, most: number): number => {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1)
      row.push(cost)
      least = Math.min(least, cost)
    }
    if (least > most) return most + 1
    before = last
    last = row
  }
  return last[b.length]!
}

/** The choice that the caller most likely meant, or null. */
export const nearest = (text: string, choices: Iterable<string>): string | null => {
  if (text.length > longestGuess) return null
  const wanted = text.toLowerCase()
  let best: string | null = null
  let bestDistance = Math.max(1, Math.floor(text.length / 3)) + 1
  for (const choice of choices) {
    const edits = distance(wanted, choice.toLowerCase(), bestDistance - 1)
    if (edits < bestDistance) {
      best = choice
      bestDistance = edits
    }
  }
  return best
}

const mostNamed = 12

/** A hint about names: the nearest one, else the list of them. `what` is plural: "Fields that can be filtered". */
export const nameHint = (text: string, choices: readonly string[], what: string): string => {
  const near = nearest(text, choices)
  if (near !== null) return `Did you mean ${near}?`
  if (choices.length === 0) return `${what}: none.`
  return `${what}: ${choices.slice(0, mostNamed).join(", ")}${choices.length > mostNamed ? ", …" : "."}`
}

/** Names (aliases after them) of the fields that pass. */
export const namesOf = (scope: AnyScope, passes: (field: FilterField) => boolean): readonly string[] => {
  const names: string[] = []
  const aliases: string[] = []
  for (const [name, field] of scope.names) {
    if (passes(field)) (name === field.name ? names : aliases).push(name)
  }
  return [...names, ...aliases]
}
