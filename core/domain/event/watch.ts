/**
 * What a watcher is told of a change: that a record entered, changed within, or left what they follow, which is the live rows that they see and that pass
 * their filter. Of a record that was not there before and is not there after it, they are told nothing. It reads no clock and sends nothing.
 */

import * as Result from "effect/Result"
import type { Access } from "../access/access.ts"
import { evaluate, evaluateKnown } from "../filter/evaluate.ts"
import { compilePattern } from "../filter/pattern.ts"
import {
  allOf,
  always,
  anyOf,
  type Bindings,
  conditionsOf,
  type FilterTree,
  never,
  not,
  type Operand,
  operandsOf,
  relatedOf
} from "../filter/tree.ts"
import type { Field, Model } from "../model/model.ts"
import { problem } from "../problem.ts"
import type { Problem, ProblemError, Span } from "../problem.ts"
import { writeKey } from "../read/key.ts"
import type { Row } from "../value/kind.ts"
import { cellsOf, isLive, type RecordChange } from "./change.ts"

/** What a change did to what somebody follows. */
export type WatchKind = "entered" | "changed" | "left"

/** A record as a watcher is told of it. */
export interface Told {
  readonly kind: WatchKind
  /** As it stands in URLs. */
  readonly key: string
}

/** Who follows what: the caller's access, and their checked filter. */
export interface WatchScope {
  readonly access: Pick<Access, "caller" | "rows">
  readonly filter: FilterTree
}

/** Most of what one filter may weigh: judging it must not take long, however many changes come. */
export const mostWeight = 200
/** A condition that reads through a text weighs as much as ten others. */
const scanWeight = 10
/** One through a relation is asked of the database. */
const relatedWeight = 40
/** Values of `in` that weigh as much as one condition. */
const valuesOfOne = 10

/** What looking up a value costs. What a path finds in JSON is looked for in its text. */
const weightOfField = ({ member }: Field): number => member === undefined ? 1 : scanWeight

/** What judging a filter once costs: its conditions, those that read through texts several times. */
export const weightOf = (tree: FilterTree): number => {
  switch (tree.op) {
    case "true":
    case "false":
      return 0
    case "and":
    case "or":
      return tree.items.reduce((sum, item) => sum + weightOf(item), 0)
    case "not":
      return weightOf(tree.item)
    case "in":
      return weightOfField(tree.field) - 1 + Math.ceil(tree.values.length / valuesOfOne)
    case "has":
      return scanWeight - 1 + Math.ceil(tree.values.length / valuesOfOne)
    case "compare":
    case "null":
    case "overlaps":
      return weightOfField(tree.field)
    case "pair":
      return Math.max(weightOfField(tree.field), weightOfField(tree.other))
    case "search":
      return scanWeight * tree.fields.length
    case "match":
    case "contains":
    case "same":
    case "regex":
    case "similar":
    case "words":
    case "length":
      return scanWeight
    case "some":
    case "count":
      return relatedWeight
  }
}

const refuse = (
  code: string,
  message: string,
  hint: string,
  places: ReadonlyArray<{ readonly span?: Span }>
): Problem =>
  problem("invalid-filter", message, {
    parameter: "filter",
    errors: places.slice(0, 20).map(({ span }): ProblemError =>
      span === undefined ? { code, message, hint } : { code, message, hint, span }
    )
  })

/** Refuses filters that a list takes and a stream does not: what costs too much for each change, and patterns that only the database knows. */
export const checkWatched = (filter: FilterTree): Result.Result<FilterTree, Problem> => {
  const weight = weightOf(filter)
  if (weight > mostWeight) {
    return Result.fail(refuse(
      "limit",
      `The filter weighs ${weight}; ${mostWeight} are allowed here.`,
      `A condition weighs 1, one that looks into texts ${scanWeight}, one through a relation ${relatedWeight}. Use fewer.`,
      [{}]
    ))
  }
  const similar = conditionsOf(filter, "similar")
  if (similar.length > 0) {
    return Result.fail(refuse(
      "not-watchable",
      "similar() cannot be watched: it takes long on long texts.",
      "Look for a part of the text instead, such as name:part.",
      similar
    ))
  }
  if (conditionsOf(filter, "words").length > 0) {
    return Result.fail(refuse(
      "not-watchable",
      "Search vectors cannot be watched: only the database knows the forms of words.",
      "Look for a part of a text instead, such as name:part.",
      [{}]
    ))
  }
  // Counted repetitions multiply what it takes to compile a pattern.
  const unknown = conditionsOf(filter, "regex").filter(({ pattern }) =>
    /\{\d/.test(pattern) || compilePattern(pattern) === null
  )
  return unknown.length === 0 ? Result.succeed(filter) : Result.fail(refuse(
    "invalid-pattern",
    "The pattern of regex() cannot be watched.",
    "Use a pattern without counted repetitions, back references and look-around.",
    unknown
  ))
}

/** Whether a filter goes through relations: then the database has to say which records pass. */
export const isRelated = (filter: FilterTree): boolean => relatedOf(filter).length > 0

const isNow = ({ of }: Operand): boolean => of === "now"

/** The tree with conditions on the present time replaced by what lets more through: `more`, or less under a negation. */
const loosened = (tree: FilterTree, more: boolean): FilterTree => {
  switch (tree.op) {
    case "and":
      return allOf(tree.items.map((item) => loosened(item, more)))
    case "or":
      return anyOf(tree.items.map((item) => loosened(item, more)))
    case "not":
      return not(loosened(tree.item, !more))
    default:
      return operandsOf(tree).some(isNow) ? more ? always : never : tree
  }
}

const everTrees = new WeakMap<FilterTree, FilterTree>()

/** What lets a row through that the filter let through at any time. Without conditions on the present time it is the filter itself. */
const ever = (filter: FilterTree): FilterTree => {
  if (!operandsOf(filter).some(isNow)) return filter
  let tree = everTrees.get(filter)
  if (tree === undefined) everTrees.set(filter, tree = loosened(filter, true))
  return tree
}

const askedOfCaller = new WeakMap<FilterTree, { readonly id: boolean; readonly tenant: boolean }>()

/** Which values of the caller a row filter asks for. */
const askedOf = (rows: FilterTree): { readonly id: boolean; readonly tenant: boolean } => {
  let asked = askedOfCaller.get(rows)
  if (asked === undefined) {
    const operands = operandsOf(rows)
    const asks = (value: "id" | "tenant"): boolean =>
      operands.some((operand) => operand.of === "caller" && operand.value === value)
    askedOfCaller.set(rows, asked = { id: asks("id"), tenant: asks("tenant") })
  }
  return asked
}

/** One side of a change, and the answers about it: each filter and each access is asked once, however many follow by it. */
class Side {
  readonly parts: Row
  readonly key: string
  readonly #row: Row
  readonly #now: bigint
  readonly #passing = new Map<FilterTree, boolean>()
  readonly #seen = new Map<FilterTree, Map<string, boolean>>()

  constructor({ key }: Model, row: Row, now: bigint) {
    this.parts = key.map(({ index }) => row[index] ?? null)
    this.key = writeKey(this.parts)
    this.#row = row
    this.#now = now
  }

  /** A filter looks only at rows that its caller sees: how long it takes says something about them. */
  passes({ access }: WatchScope, filter: FilterTree): boolean {
    return this.sees(access) && this.#passes(filter)
  }

  /** As far as that can be said without the related records; null: it depends on them. */
  passesKnown({ access }: WatchScope, filter: FilterTree): boolean | null {
    return this.sees(access) && evaluateKnown(filter, cellsOf(this.#row), this.#bindings())
  }

  sees({ caller, rows }: WatchScope["access"]): boolean {
    if (rows.op === "true") return true
    const asks = askedOf(rows)
    const who = JSON.stringify([asks.id ? caller.id : "", asks.tenant ? caller.tenant : ""])
    let answers = this.#seen.get(rows)
    if (answers === undefined) this.#seen.set(rows, answers = new Map())
    let answer = answers.get(who)
    if (answer === undefined) {
      // Whoever is seen by related records alone is told nothing: they may have changed since.
      answer = evaluateKnown(rows, cellsOf(this.#row), { caller, now: this.#now, params: [] }) === true
      answers.set(who, answer)
    }
    return answer
  }

  #passes(filter: FilterTree): boolean {
    if (filter.op === "true") return true
    let answer = this.#passing.get(filter)
    if (answer === undefined) {
      this.#passing.set(filter, answer = evaluate(filter, cellsOf(this.#row), this.#bindings()))
    }
    return answer
  }

  /** A caller's filter names no caller. */
  #bindings(): Bindings {
    return { caller: { id: "", tenant: null }, now: this.#now, params: [] }
  }
}

const nothing: readonly Told[] = []

/** A change for those who follow. */
export interface Telling {
  /** `passing`: for a filter through relations, the keys of records that pass it now, as the database says. */
  readonly told: (following: WatchScope, passing?: ReadonlySet<string>) => readonly Told[]
  /** The key of the record that the database has to be asked about for a filter through relations; null where it need not. */
  readonly asks: (following: WatchScope) => Row | null
  /** Characters of the rows. */
  readonly size: number
}

/**
 * What watchers are told of one change, at an instant in microseconds. The rows that the change was captured with say where the record was before, so
 * nothing is remembered of a watcher. A record whose key changed left under the old one and entered under the new one.
 *
 * Time is no change, and neither is a change of a related record: a record that left a filter such as `due > now()` as time went by is told as left with its
 * next change. Where related records decide, it is not known whether it was in before: then it enters if it is in now, and leaves if it is not.
 */
export const tellingOf = (
  { after, before, model }: Pick<RecordChange, "after" | "before" | "model">,
  now: bigint
): Telling => {
  const side = (row: Row | null): Side | null => row !== null && isLive(model, row) ? new Side(model, row, now) : null
  const old = side(before)
  const young = side(after)
  const moved = old !== null && young !== null && old.key !== young.key
  const sizeOf = (row: Row | null): number => row?.reduce((sum, cell) => sum + (cell?.length ?? 0), 0) ?? 0
  return {
    size: sizeOf(before) + sizeOf(after),
    asks: ({ access }) => young?.sees(access) === true ? young.parts : null,
    told: (following, passing) => {
      const { access, filter } = following
      /** Whether a side passes; null where the related records decide. */
      const passes = (of: Side, tree: FilterTree): boolean | null =>
        passing === undefined ? of.passes(following, tree) : of.passesKnown(following, tree)
      const is = young !== null &&
        (passing === undefined ? young.passes(following, filter) : passing.has(young.key) && young.sees(access))
      const left = old !== null && (!is || moved) && passes(old, ever(filter)) !== false
        ? [{ kind: "left", key: old.key } as const]
        : nothing
      if (!is) return left
      const was = !moved && old !== null && passes(old, filter) === true
      return [...left, { kind: was ? "changed" : "entered", key: young.key }]
    }
  }
}
