/**
 * Which end a `:seek` walks from. Skipped rows are walked, so that the nearer end is the shorter way, but from the end all rows have to be counted
 * first. The planner says which of the two costs less; what it said holds for a minute.
 */

import * as Effect from "effect/Effect"
import { BoundedMap } from "../../domain/bounded.ts"
import { pathOf } from "../../domain/filter/tree.ts"
import type { PagePlan } from "../../domain/read/plan.ts"
import type { PlanEstimate, RecordsError } from "../../ports/records.ts"
import type { Core } from "../ground/core.ts"
import type { Judgements } from "../ground/guard.ts"

/** Rows that are skipped in no time, whatever the way. */
const near = 10_000

/** How long an answer of the planner counts, in microseconds. */
const judged = 60_000_000n

interface Way {
  readonly fromEnd: boolean
  readonly at: bigint
}

/** What a plan costs all processors: parallel workers save time only while the others rest. */
const work = ({ cost, processes }: PlanEstimate): number => cost * processes

const ways = new WeakMap<Judgements, BoundedMap<string, Way>>()

/** The plan of the page at a row number. `key` names the query; `first` is its first page. */
export const planSeek = (
  core: Pick<Core, "judgements" | "records">,
  key: string,
  first: PagePlan,
  offset: number
): Effect.Effect<PagePlan, RecordsError> => {
  const forward: PagePlan = offset === 0 ? first : { ...first, offset }
  // Walks of two tables have no nearer end.
  if (pathOf(first.shape.order) !== null) return Effect.succeed(forward)
  const rows = core.judgements.get(key)?.rows ?? 0
  if (offset < near || offset < rows / 2 || offset >= rows) return Effect.succeed(forward)
  const { bindings, shape } = first
  let byPlace = ways.get(core.judgements)
  if (byPlace === undefined) ways.set(core.judgements, byPlace = new BoundedMap(1_000))
  // A position's tenth of the rows is as good as the position itself.
  const name = `${key}\u0000${Math.floor(offset * 10 / rows)}`
  const way = byPlace.get(name)
  const backward: PagePlan = { ...forward, fromEnd: true }
  if (way !== undefined && bindings.now >= way.at && bindings.now - way.at < judged) {
    return Effect.succeed(way.fromEnd ? backward : forward)
  }
  const estimates = Effect.all([
    core.records.estimate(forward),
    core.records.estimate({ model: shape.model, where: shape.where, bindings, cap: null }),
    core.records.estimate({ ...first, before: [], offset: Math.max(0, Math.floor(rows) - offset - shape.limit) })
  ])
  return Effect.map(estimates, ([walk, count, back]) => {
    const fromEnd = work(count) + work(back) < work(walk)
    byPlace.set(name, { fromEnd, at: bindings.now })
    return fromEnd ? backward : forward
  })
}
