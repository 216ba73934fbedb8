/**
 * Decides in memory whether a record passes a checked filter, with the same answer as the database. Rules use it on records in hand, and so
 * does the fake of the records port. Two-valued. It reads cells and bindings and nothing else.
 */

import * as Result from "effect/Result"
import type { Field } from "../model/model.ts"
import { elementField } from "../model/model.ts"
import { cellFromText, compareCells } from "../value/cell.ts"
import { elementOf, overlaps, rangeAround } from "../value/exact.ts"
import { timestampFromMicros } from "../value/instant.ts"
import type { Cell } from "../value/kind.ts"
import { cellsIn } from "../value/list.ts"
import { memberCell } from "./member.ts"
import { compilePattern } from "./pattern.ts"
import { containsIgnoringCase, isSame, isSimilar, matchesParts } from "./text.ts"
import {
  type Bindings,
  type Comparison,
  type FilterTree,
  type Operand,
  relatedOf,
  type RelatedTree,
  type Way
} from "./tree.ts"

/**
 * The canonical cell that an operand stands for when it is compared with a field. Null equals nothing. For a date field `now` is the day in
 * UTC. For a range it is the range that holds the value alone. A caller value that is missing, or no value of the field's kind, is null.
 */
export const operandCell = (operand: Operand, field: Field, bindings: Bindings): Cell => {
  switch (operand.of) {
    case "literal":
      return operand.text
    case "param":
      return bindings.params[operand.index] ?? null
    case "now": {
      const time = timestampFromMicros(bindings.now + operand.offset)
      const ofDays = field.kind === "date" || (field.kind === "range" && field.of === "date")
      const cell = ofDays ? time.slice(0, 10) : time
      return field.kind === "range" ? rangeAround(field, cell) : cell
    }
    case "caller": {
      const text = operand.value === "id" ? bindings.caller.id : bindings.caller.tenant
      if (text === null) return null
      // Whoever is called like a range is in none by that.
      const cell = cellFromText(field.kind === "range" ? elementOf(field) : field, text)
      if (Result.isFailure(cell)) return null
      return field.kind === "range" ? rangeAround(field, cell.success) : cell.success
    }
  }
}

/** Whether two values compare so, by their order: negative, zero or positive. */
export const holds = (order: number, is: Comparison): boolean => {
  switch (is) {
    case "=":
      return order === 0
    case "<":
      return order < 0
    case "<=":
      return order <= 0
    case ">":
      return order > 0
    case ">=":
      return order >= 0
  }
}

/** Whether a comparison holds. What is none of an enum's values has no place in its order. */
const compares = (field: Field, cell: string, is: Comparison, other: string): boolean =>
  field.kind === "enum" && (is === "=" || !field.values.includes(cell) || !field.values.includes(other))
    ? is === "=" && cell === other
    : holds(compareCells(field, cell, other), is)

/** The cell of a field, or of what a path finds in the JSON of one. */
export const cellIn = (field: Field, cellOf: (field: Field) => Cell): Cell => {
  const { member } = field
  if (member === undefined) return cellOf(field)
  const cell = cellOf(member.of)
  return cell === null ? null : memberCell(field.kind, member, cell)
}

type RegexTree = Extract<FilterTree, { readonly op: "regex" }>

/** Compiled patterns live as long as their tree. */
const patterns = new WeakMap<RegexTree, (text: string) => boolean>()

/** A pattern that cannot be compiled matches nothing. Code that stores filters for later refuses such patterns before. */
const testOf = (tree: RegexTree): (text: string) => boolean => {
  let test = patterns.get(tree)
  if (test === undefined) {
    test = compilePattern(tree.pattern) ?? (() => false)
    patterns.set(tree, test)
  }
  return test
}

/** A record by its cells. */
export type CellOf = (field: Field) => Cell

/**
 * All records of the way's target whose far field has that value, whoever may see them. Who has none at hand leaves it out, and asks `evaluateKnown`.
 */
export type RowsThrough = (way: Way, value: string) => Iterable<CellOf>

const unrelated: RowsThrough = () => {
  throw new Error("There are no related records at hand.")
}

/** The cell at the end of relations that lead to one record each; null where there is none that is seen. */
export const cellThrough = (
  ways: readonly Way[],
  field: Field,
  cellOf: CellOf,
  bindings: Bindings,
  related: RowsThrough
): Cell => {
  const [way, ...rest] = ways
  if (way === undefined) return cellIn(field, cellOf)
  const value = cellOf(way.relation.from)
  if (value === null) return null
  for (const record of related(way, value)) {
    if (evaluate(way.rows, record, bindings, related)) return cellThrough(rest, field, record, bindings, related)
  }
  return null
}

/** How many related records pass, as far as that has to be known. */
const passing = (
  { item, way }: RelatedTree,
  most: number,
  cellOf: CellOf,
  bindings: Bindings,
  related: RowsThrough
): number => {
  const value = cellOf(way.relation.from)
  let count = 0
  if (value === null || most === 0) return 0
  for (const record of related(way, value)) {
    if (!evaluate(way.rows, record, bindings, related) || !evaluate(item, record, bindings, related)) continue
    if (++count === most) break
  }
  return count
}

/**
 * Whether a record passes. `cellOf` gives the record's cell of a field. A tree with conditions about related records needs `related`: without it such
 * a condition throws.
 */
export const evaluate = (
  tree: FilterTree,
  cellOf: CellOf,
  bindings: Bindings,
  related: RowsThrough = unrelated
): boolean => {
  switch (tree.op) {
    case "true":
      return true
    case "false":
      return false
    case "and":
      return tree.items.every((item) => evaluate(item, cellOf, bindings, related))
    case "or":
      return tree.items.some((item) => evaluate(item, cellOf, bindings, related))
    case "not":
      return !evaluate(tree.item, cellOf, bindings, related)
    case "some":
      return passing(tree, 1, cellOf, bindings, related) > 0
    case "count":
      return holds(passing(tree, tree.number + 1, cellOf, bindings, related) - tree.number, tree.is)
    case "null":
      return cellIn(tree.field, cellOf) === null
    case "words":
      throw new Error("only the database knows the forms of words")
    case "search":
      return tree.fields.some((field) => {
        const cell = cellOf(field)
        return cell !== null && containsIgnoringCase(cell, tree.text)
      })
    case "pair": {
      const [cell, other] = [cellIn(tree.field, cellOf), cellIn(tree.other, cellOf)]
      return cell !== null && other !== null && compares(tree.field, cell, tree.is, other)
    }
    default: {
      const cell = cellIn(tree.field, cellOf)
      return cell !== null && cellPasses(tree, cell, bindings)
    }
  }
}

/**
 * The same, where some cells may be unknown (undefined), and related records without `related`. Null when the answer depends on something unknown: then
 * the database has to be asked.
 */
export const evaluateKnown = (
  tree: FilterTree,
  cellOf: (field: Field) => Cell | undefined,
  bindings: Bindings,
  related?: RowsThrough
): boolean | null => {
  switch (tree.op) {
    case "and":
    case "or": {
      const decisive = tree.op === "or"
      const answers = tree.items.map((item) => evaluateKnown(item, cellOf, bindings, related))
      return answers.includes(decisive) ? decisive : answers.includes(null) ? null : !decisive
    }
    case "not": {
      const answer = evaluateKnown(tree.item, cellOf, bindings, related)
      return answer === null ? null : !answer
    }
    case "words":
      return null
    default: {
      if (related === undefined && relatedOf(tree).length > 0) return null
      let known = true
      const answer = evaluate(
        tree,
        (field) => {
          const cell = cellOf(field)
          known &&= cell !== undefined
          return cell ?? null
        },
        bindings,
        related
      )
      return known ? answer : null
    }
  }
}

type CellTree = Exclude<
  FilterTree,
  RelatedTree | { readonly op: "true" | "false" | "and" | "or" | "not" | "null" | "pair" | "search" | "words" }
>

/** Whether something is in a sorted list. */
const isAmong = (sorted: readonly string[], wanted: string, order: (a: string, b: string) => number): boolean => {
  let low = 0
  for (let high = sorted.length; low < high;) {
    const middle = (low + high) >> 1
    if (order(sorted[middle]!, wanted) < 0) low = middle + 1
    else high = middle
  }
  return low < sorted.length && order(sorted[low]!, wanted) === 0
}

const cellPasses = (tree: CellTree, cell: string, bindings: Bindings): boolean => {
  switch (tree.op) {
    case "compare": {
      const operand = operandCell(tree.value, tree.field, bindings)
      return operand !== null && compares(tree.field, cell, tree.is, operand)
    }
    case "in":
      return tree.values.some((value) => {
        const operand = operandCell(value, tree.field, bindings)
        return operand !== null && compareCells(tree.field, cell, operand) === 0
      })
    case "has": {
      const of = elementField(tree.field)
      const order = (a: string, b: string): number => compareCells(of, a, b)
      const elements = cellsIn(cell).filter((each) => each !== null)
      // A long list may be asked for thousands of values.
      const sorted = tree.values.length > 1 ? elements.toSorted(order) : elements
      return tree.values.some((value) => {
        const operand = operandCell(value, of, bindings)
        if (operand === null) return false
        return sorted === elements
          ? elements.some((each) => order(each, operand) === 0)
          : isAmong(sorted, operand, order)
      })
    }
    case "length":
      return holds(cellsIn(cell).length - tree.number, tree.is)
    case "overlaps": {
      const operand = operandCell(tree.value, tree.field, bindings)
      return operand !== null && overlaps(tree.field, cell, operand)
    }
    case "match":
      return matchesParts(cell, tree.parts)
    case "contains":
      return containsIgnoringCase(cell, tree.text)
    case "same":
      return isSame(cell, tree.text, tree.whole)
    case "similar":
      return isSimilar(cell, tree.text)
    case "regex":
      return testOf(tree)(cell)
  }
}
