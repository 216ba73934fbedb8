/**
 * Request parameters of writes, from query pairs into typed requests. It knows names, forms and limits; it knows no model. Every bad parameter is
 * reported, all together.
 */

import * as Result from "effect/Result"
import type { Problem } from "../problem.ts"
import { maxQueryFilter, type Pairs, Parameters } from "../read/request.ts"
import { isOneOf } from "../value/table.ts"

/** `?dry_run=true` or `?validate_only=true` of a write (AIP-163). */
export const dryRunRequest = (query: Pairs): Result.Result<boolean, Problem> => {
  if (query.length === 0) return Result.succeed(false)
  const parameters = new Parameters(query, ["dry_run", "validate_only"])
  const asked = [parameters.boolean("dry_run"), parameters.boolean("validate_only")]
  return parameters.done(asked.includes(true))
}

/** Parameters of a PATCH that does more than change the record of its key. `match` empty: the address has the key. */
export interface UpsertRequest {
  readonly allowMissing: boolean
  readonly match: string
}

const upsertNames = ["allow_missing", "match"] as const

/** Whether a PATCH asks for more than a change by key. */
export const asksUpsert = (query: Pairs): boolean => query.some(([name]) => isOneOf(upsertNames, name))

/** `?allow_missing=true` (AIP-134) and `?match=field` of a PATCH, beside those of every write, which stay for `dryRunRequest`. */
export const upsertRequest = (
  query: Pairs
): Result.Result<{ readonly request: UpsertRequest; readonly rest: Pairs }, Problem> => {
  const parameters = new Parameters(query, [...upsertNames, "dry_run", "validate_only"])
  const request = { allowMissing: parameters.boolean("allow_missing"), match: parameters.text("match") }
  return parameters.done({ request, rest: query.filter((pair) => !asksUpsert([pair])) })
}

/** Parameters of a PATCH or DELETE of all records that pass a filter. */
export interface FilteredRequest {
  readonly filter: string
  /** How many records the client expects; null: it does not say. */
  readonly expectedCount: number | null
}

const filteredNames = ["filter", "expected_count"] as const

/** Those of a write stay for `dryRunRequest`. A filter is required: "all" has to be said, as `id:*`. */
export const filteredRequest = (
  query: Pairs
): Result.Result<{ readonly request: FilteredRequest; readonly rest: Pairs }, Problem> => {
  const parameters = new Parameters(query, [...filteredNames, "dry_run", "validate_only"])
  parameters.required("filter")
  const filter = parameters.filter(maxQueryFilter)
  const text = parameters.text("expected_count")
  if (text !== "" && !/^\d{1,9}$/.test(text)) parameters.refuse("expected_count", "Expected a number of records.")
  const own: readonly string[] = filteredNames
  return parameters.done({
    request: { filter, expectedCount: text === "" ? null : Number(text) },
    rest: query.filter(([name]) => !own.includes(name))
  })
}
