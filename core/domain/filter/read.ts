/**
 * The way in for filter and order texts: parse, then check against the names in reach. It answers a checked tree or every error with
 * its place in the text, for any text at all.
 */

import * as Result from "effect/Result"
import { checkSyntax } from "./check.ts"
import { countsIn, merged, relatedLeaves } from "./merge.ts"
import { parseFilter } from "./parse.ts"
import type { AnyScope, FilterError, FilterScope } from "./scope.ts"
import { Findings, refusal } from "./scope.ts"
import { always, type AnyTree, type FilterField, type FilterTree, type FilterWay, relatedOf } from "./tree.ts"

export { readOrder } from "./order.ts"
export type { AnyScope, FilterError, FilterErrorCode, FilterScope, Step } from "./scope.ts"

/** Most conditions through relations, once those of one relation are put together: a database plans each. */
const maxRelated = 8
/** Most counts of related records: each is counted for every record that is looked at. */
const maxCounts = 2

/** What is too much about related records in a tree. */
const excess = (tree: AnyTree): FilterError | null => {
  const plan = merged(tree)
  const counted = countsIn(plan)[maxCounts]
  if (counted !== undefined) {
    return refusal(
      "limit",
      `The filter counts related records more than ${maxCounts} times.`,
      "Ask for fewer counts.",
      counted.span ?? nowhere
    )
  }
  const related = relatedLeaves(plan)[maxRelated]
  return related === undefined ? null : refusal(
    "limit",
    `The filter has more than ${maxRelated} conditions through relations.`,
    "Put conditions on the same record together: has(lines, \"quantity > 10 AND price < 5\").",
    related.span ?? nowhere
  )
}

const nowhere = { start: 0, end: 0 }

/** Reads a filter text (AIP-160; docs/reference/filter.md). Empty text lets every row pass. Fields and ways of the tree are those of the scope. */
export function readFilter<F extends FilterField, W extends FilterWay>(
  text: string,
  scope: FilterScope<F, W>
): Result.Result<FilterTree<F, W>, readonly FilterError[]>
export function readFilter(text: string, scope: AnyScope): Result.Result<AnyTree, readonly FilterError[]> {
  const parsed = parseFilter(text)
  if (Result.isFailure(parsed)) return Result.fail([parsed.failure])
  const { syntax, terms } = parsed.success
  if (syntax === null) return Result.succeed(always)
  const findings = new Findings()
  const tree = checkSyntax({ findings, scope, depth: 0, spent: { terms }, check: checkSyntax }, syntax)
  if (tree === null) return Result.fail(findings.errors)
  const tooMuch = relatedOf(tree).length === 0 ? null : excess(tree)
  return tooMuch === null ? Result.succeed(tree) : Result.fail([tooMuch])
}
