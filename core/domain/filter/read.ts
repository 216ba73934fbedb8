/**
 * The way in for filter and order texts: parse, then check against the names in reach. It answers a checked tree or every error with
 * its place in the text, for any text at all.
 */

import * as Result from "effect/Result"
import { checkSyntax } from "./check.ts"
import { parseFilter } from "./parse.ts"
import type { FilterError, FilterScope } from "./scope.ts"
import { Findings } from "./scope.ts"
import { always, type FilterTree } from "./tree.ts"

export { readOrder } from "./order.ts"
export type { FilterError, FilterErrorCode, FilterScope } from "./scope.ts"

/** Reads a filter text (AIP-160; docs/reference/filter.md). Empty text lets every row pass. */
export const readFilter = (text: string, scope: FilterScope): Result.Result<FilterTree, readonly FilterError[]> => {
  const parsed = parseFilter(text)
  if (Result.isFailure(parsed)) return Result.fail([parsed.failure])
  if (parsed.success === null) return Result.succeed(always)
  const findings = new Findings()
  const tree = checkSyntax({ findings, scope }, parsed.success)
  return tree === null ? Result.fail(findings.errors) : Result.succeed(tree)
}
