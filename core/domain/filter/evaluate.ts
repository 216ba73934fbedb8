/**
 * Decides in memory whether a record passes a checked filter, with the same answer as the database. Rules use it on records in hand, and so
 * does the fake of the records port. Two-valued. It reads cells and bindings and nothing else.
 */

import * as Result from "effect/Result"
import type { Field } from "../model/model.ts"
import { cellFromText, compareCells } from "../value/cell.ts"
import { timestampFromMicros } from "../value/instant.ts"
import type { Cell } from "../value/kind.ts"
import { compilePattern } from "./pattern.ts"
import { containsIgnoringCase, isSimilar, matchesParts } from "./text.ts"
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
 * UTC. A caller value that is missing, or no value of the field's kind, is null.
 */
export const operandCell = (operand: Operand, field: Field, bindings: Bindings): Cell => {
  switch (operand.of) {
    case "literal":
      return operand.text
    case "param":
      return bindings.params[operand.index] ?? null
    case "now": {
      const time = timestampFromMicros(bindings.now + operand.offset)
      return field.kind === "date" ? time.slice(0, 10) : time
    }
    case "caller": {
      const text = operand.value === "id" ? bindings.caller.id : bindings.caller.tenant
      if (text === null) return null
      const cell = cellFromText(field, text)
      return Result.isSuccess(cell) ? cell.success : null
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
export type Related = (way: Way, value: string) => Iterable<CellOf>

const unrelated: Related = () => {
  throw new Error("There are no related records at hand.")
}

/** How many related records pass, as far as that has to be known. */
const passing = (
  { item, way }: RelatedTree,
  most: number,
  cellOf: CellOf,
  bindings: Bindings,
  related: Related
): number => {
  const value = cellOf(way.relation.from)
  let found = 0
  if (value === null || most === 0) return 0
  for (const record of related(way, value)) {
    if (!evaluate(way.rows, record, bindings, related) || !evaluate(item, record, bindings, related)) continue
    if (++found === most) break
  }
  return found
}

/**
 * Whether a record passes. `cellOf` gives the record's cell of a field. A tree with conditions about related records needs `related`: without it such
 * a condition throws.
 */
export const evaluate = (
  tree: FilterTree,
  cellOf: CellOf,
  bindings: Bindings,
  related: Related = unrelated
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
      return cellOf(tree.field) === null
    case "search":
      return tree.fields.some((field) => {
        const cell = cellOf(field)
        return cell !== null && containsIgnoringCase(cell, tree.text)
      })
    default: {
      const cell = cellOf(tree.field)
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
  related?: Related
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
  RelatedTree | { readonly op: "true" | "false" | "and" | "or" | "not" | "null" | "search" }
>

const cellPasses = (tree: CellTree, cell: string, bindings: Bindings): boolean => {
  switch (tree.op) {
    case "compare": {
      const operand = operandCell(tree.value, tree.field, bindings)
      return operand !== null && holds(compareCells(tree.field, cell, operand), tree.is)
    }
    case "in":
      return tree.values.some((value) => {
        const operand = operandCell(value, tree.field, bindings)
        return operand !== null && compareCells(tree.field, cell, operand) === 0
      })
    case "match":
      return matchesParts(cell, tree.parts)
    case "contains":
      return containsIgnoringCase(cell, tree.text)
    case "similar":
      return isSimilar(cell, tree.text)
    case "regex":
      return testOf(tree)(cell)
  }
}
