/**
 * Rules through relations for a record that no table holds, because the database refused it. What the rule asks of related records is asked of the database by
 * the values in hand, so that whoever may not write is told so, and not what is wrong with the values.
 */

import * as Effect from "effect/Effect"
import { holds } from "../../domain/filter/evaluate.ts"
import {
  allOf,
  always,
  anyOf,
  type Bindings,
  type FilterTree,
  goesThrough,
  never,
  not
} from "../../domain/filter/tree.ts"
import type { RelatedTree } from "../../domain/filter/tree.ts"
import type { Field } from "../../domain/model/model.ts"
import type { Cell } from "../../domain/value/kind.ts"
import type { RecordsError, RecordsTransaction } from "../../ports/records.ts"

/** A record in hand: undefined is a cell that only the database knows. */
type CellOf = (field: Field) => Cell | undefined

const ask = (
  tx: RecordsTransaction,
  tree: RelatedTree,
  cellOf: CellOf,
  bindings: Bindings
): Effect.Effect<FilterTree, RecordsError> => {
  const { item, way: { model, relation, rows, to } } = tree
  const value = cellOf(relation.from)
  if (value === undefined) return Effect.succeed(tree)
  const answer = (count: number): FilterTree =>
    (tree.op === "some" ? count > 0 : holds(count - tree.number, tree.is)) ? always : never
  if (value === null) return Effect.succeed(answer(0))
  const where = allOf([{ op: "compare", field: to, is: "=", value: { of: "literal", text: value } }, rows, item])
  const limit = tree.op === "some" ? 1 : tree.number + 1
  const shape = { model, columns: [to], where, order: [], limit, checks: [] }
  return Effect.map(tx.page({ shape, bindings }), (rows) => answer(rows.length))
}

/** The tree with the database's answers in place of its conditions about related records. One that depends on an unknown cell stays. */
export const answered = (
  tx: RecordsTransaction,
  tree: FilterTree,
  cellOf: CellOf,
  bindings: Bindings
): Effect.Effect<FilterTree, RecordsError> => {
  if (!goesThrough(tree)) return Effect.succeed(tree)
  switch (tree.op) {
    case "and":
    case "or":
      return Effect.map(
        Effect.forEach(tree.items, (item) => answered(tx, item, cellOf, bindings)),
        tree.op === "and" ? allOf : anyOf
      )
    case "not":
      return Effect.map(answered(tx, tree.item, cellOf, bindings), not)
    case "some":
    case "count":
      return ask(tx, tree, cellOf, bindings)
    default:
      return Effect.succeed(tree)
  }
}
