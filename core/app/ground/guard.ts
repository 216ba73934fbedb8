/**
 * The scan guard at work: asks the planner once per query shape and values, remembers the judgement for a minute, and refuses or warns. A
 * shape is judged again for other values, because selectivity depends on values. It is judged again for a longer page, because a short one
 * may stop early, and after the minute, because tables grow.
 */

import * as Effect from "effect/Effect"
import type { Access } from "../../domain/access/access.ts"
import { BoundedMap } from "../../domain/bounded.ts"
import type { FilterTree, Way as RelationWay } from "../../domain/filter/tree.ts"
import { always, conditionsOf, goesThrough, pathOf, relatedOf } from "../../domain/filter/tree.ts"
import { problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { isExpensive, isExpensiveRelated, isHasty } from "../../domain/read/guard.ts"
import type { GuardBound, ScanGuard } from "../../domain/read/guard.ts"
import type { AggregatePlan, CountPlan, PagePlan, RelatedPlan } from "../../domain/read/plan.ts"
import { pathsOf } from "../../domain/read/plan.ts"
import type { PlanEstimate, RecordsService } from "../../ports/records.ts"
import type { SealService } from "../../ports/seal.ts"
import { adviceFor } from "./advice.ts"
import { readProblem } from "./refusal.ts"

/** A walk in the page's order that stops early, or all rows that pass before the first. */
export type PageWay = "walk" | "whole"

/** What the planner said, and when it was asked, in microseconds. */
interface Judgement extends PlanEstimate {
  /** How a page that may be slow through relations is read first; null where that is no question. */
  readonly way: PageWay | null
  readonly at: bigint
  /** Most rows of the page that was judged; 0 for what is no page. */
  readonly limit: number
}

export type Judgements = BoundedMap<string, Judgement>

/** What the guard needs of `Core`. */
export interface Guarding {
  readonly judgements: Judgements
  readonly options: { readonly scanGuard: ScanGuard }
  readonly records: Pick<RecordsService, "estimate" | "indexed">
}

/** How long a judgement counts, in microseconds. */
const judged = 60_000_000n

export const makeJudgements = (): Judgements => new BoundedMap(5_000)

const rowsIds = new WeakMap<FilterTree, number>()
let lastRowsId = 0

const rowsId = (rows: FilterTree): number => {
  if (rows.op === "true") return 0
  let id = rowsIds.get(rows)
  if (id === undefined) rowsIds.set(rows, id = ++lastRowsId)
  return id
}

/**
 * Names what the caller sees through the relations of a filter and of paths, and the fields that the filter searches there; empty where they have none.
 */
export const relatedName = (
  { caller }: Access,
  filter: FilterTree,
  paths: ReadonlyArray<readonly RelationWay[]> = []
): string => {
  const ways = [...relatedOf(filter).map(({ way }) => way), ...paths.flat()]
  return ways.length === 0
    ? ""
    : JSON.stringify([
      ways.map(({ rows }) => rowsId(rows)),
      conditionsOf(filter, "search").map(({ fields }) => fields.map(({ index }) => index)),
      caller.tenant,
      caller.id
    ])
}

/** Names the rows that an access covers, and the caller. One user may come with fewer roles another time, for example with an API key. */
const rowsName = ({ caller, rows }: Access): string =>
  rows.op === "true" ? "" : JSON.stringify([rowsId(rows), caller.tenant, caller.id])

/** Longest name that is kept as it is. Filters may have 200,000 characters, and thousands of names are remembered. */
const longestName = 500

/** Names one query: kind, restriction, texts with their values, and the caller where rows depend on it. */
export const queryKey = (
  { seal }: { readonly seal: Pick<SealService, "digest"> },
  access: Access,
  ...parts: readonly string[]
): string => {
  const name = [access.restricted.id, rowsName(access), ...parts].join("\u0000")
  return name.length <= longestName ? name : seal.digest(name)
}

/** The warning header of mode `warn`; empty when there is nothing to say. */
export type Warning = { readonly "x-service-warning"?: string }

const noWarning: Warning = {}

/** One header for the warnings of an answer's queries: each once, in order, separated by commas (RFC 9110, 5.3). */
export const allWarnings = (warnings: readonly Warning[]): Warning => {
  const texts = new Set(warnings.flatMap((warning) => warning["x-service-warning"] ?? []))
  return texts.size === 0 ? noWarning : { "x-service-warning": [...texts].join(", ") }
}

/**
 * Text for a header. Names of tables and columns may have any character, so all but printable ASCII and `%` itself is percent-encoded
 * UTF-8.
 */
const headerText = (text: string): string => text.toWellFormed().replaceAll(/[^ -$&-~]+/g, encodeURIComponent)

/**
 * Judges a plan before it runs: pages by `seqScanRows`, aggregates and counts by `aggregateRows`. Mode `reject` fails with 400 `expensive-query`, mode `warn`
 * answers a warning header. The index suggestion names columns the caller may read; every column to callers who hold the role `admin`. `filter` is the
 * caller's own, for errors in it. `timed`: a page through relations is read by `judgedPage`, which gives it little time, so its cost is not judged.
 */
export const guardPlan = (
  core: Guarding,
  access: Access,
  key: string,
  plan: PagePlan | RelatedPlan | CountPlan | AggregatePlan,
  filter: FilterTree = always,
  timed = false
): Effect.Effect<Warning, Problem> => {
  const guard = core.options.scanGuard
  if (guard.mode === "off") return Effect.succeed(noWarning)
  const judgement = core.judgements.get(key)
  const { now } = plan.bindings
  const times = "keys" in plan ? plan.keys.length : 1
  const limit = "shape" in plan ? plan.shape.limit * times : 0
  const path = "shape" in plan ? pathOf(plan.shape.order) : null
  // What the caller asks for counts. A rule through relations is the operator's choice: it is judged as any other rule.
  const related = path !== null || goesThrough(filter) || ("of" in plan && pathsOf(plan).length > 0)
  const bound: GuardBound = "shape" in plan && (timed || !related) && access.model.readWhole !== true
    ? "seqScanRows"
    : "aggregateRows"
  const most = guard[bound]
  // What is read once for each of several values may be a small table, but not so often that it is as much as an aggregate may read. A page through
  // relations is judged by its time (see read/hasty.ts), or as if it did not end early.
  const refuses = (estimate: PlanEstimate): boolean =>
    related
      ? timed
        // Time shows what the related records cost. That an order has no index is certain before.
        ? (guard.mode !== "reject" && isExpensiveRelated(estimate, most)) ||
          (path !== null && isExpensive(estimate, most))
        : isExpensiveRelated({ ...estimate, cost: estimate.through }, most)
      : isExpensive(estimate, most) ||
        isExpensive({ ...estimate, scannedRows: estimate.scannedRows * times }, guard.aggregateRows)
  // One of the future was made before the clock was set back.
  const counts = judgement !== undefined && limit <= judgement.limit && now >= judgement.at &&
    now - judgement.at < judged
  if (counts && !refuses(judgement)) return Effect.succeed(noWarning)
  // A page of each of several values is judged as if it did not end early: for a value that has few rows it reads as much as a count does.
  // An order through relations sorts all rows of each value anyway.
  const judgedPlan: typeof plan = "keys" in plan && plan.how.of === "each" && path === null
    ? { ...plan, how: { of: "counts" } }
    : plan
  return Effect.flatMap(
    Effect.catch(core.records.estimate(judgedPlan), readProblem(access.model, filter)),
    (estimate) => {
      const way = related && timed && isHasty(estimate, most) ? judgement?.way ?? "walk" : null
      core.judgements.set(key, { ...estimate, at: now, limit, way })
      if (!refuses(estimate)) return Effect.succeed(noWarning)
      return Effect.flatMap(adviceFor(core, access, plan, estimate, bound), ({ hint, suggestion }) => {
        if (guard.mode === "warn") {
          const advice = suggestion === null ? "" : `; ${headerText(suggestion)}`
          return Effect.succeed({ "x-service-warning": `expensive-query${advice}` })
        }
        const detail = "The query would scan a big table from end to end."
        return Effect.fail(problem("expensive-query", detail, {
          errors: [{ code: "sequential-scan", message: detail, hint }],
          ...(suggestion === null ? {} : { suggestion })
        }))
      })
    }
  )
}
