/**
 * Pages of records that related ones are asked about. The planner supposes that a walk in the page's order soon meets enough of them, and cannot know: so the
 * walk has little time. After that all rows that pass are found first. What neither gives in time is refused. The way that worked is remembered.
 */

import * as Effect from "effect/Effect"
import type { Access } from "../../domain/access/access.ts"
import { type FilterTree, pathOf, relatedOf } from "../../domain/filter/tree.ts"
import { problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { hastyMs, mayFindAll, wholeMs } from "../../domain/read/guard.ts"
import type { PagePlan } from "../../domain/read/plan.ts"
import type { Row } from "../../domain/value/kind.ts"
import { RecordsError, type RecordsService } from "../../ports/records.ts"
import { createSql, firstMissing, pathIndexes, type TableIndex } from "../ground/advice.ts"
import type { Guarding, PageWay } from "../ground/guard.ts"
import { filteredProblem } from "../ground/refusal.ts"

/** What reading such pages needs of `Core`. */
export interface Hurrying extends Guarding {
  readonly records: Pick<RecordsService, "estimate" | "indexed" | "page">
}

/** Whether the pages of a query have little time, by its judgement. */
export const isHurried = ({ judgements, options }: Hurrying, key: string): boolean =>
  options.scanGuard.mode === "reject" && (judgements.get(key)?.way ?? null) !== null

/** A page under the judgement of its query. `filter` is the caller's own, whose relations an index may be suggested for. */
export const judgedPage = (
  core: Hurrying,
  access: Access,
  key: string,
  plan: PagePlan,
  filter: FilterTree
): Effect.Effect<readonly Row[], RecordsError | Problem> => {
  const judgement = core.judgements.get(key)
  if (judgement === undefined || judgement.way === null || !isHurried(core, key)) return core.records.page(plan)
  const whole: PagePlan = { ...plan, whole: true, within: wholeMs }
  const take = (way: PageWay): Effect.Effect<readonly Row[], RecordsError | Problem> =>
    way === "walk"
      ? core.records.page({ ...plan, within: walkMs(plan) })
      // A way that worked before is not judged again.
      : way === judgement.way
      ? core.records.page(whole)
      // A database that does not even plan in time is held up: its relations are not to blame.
      : Effect.flatMap(Effect.catch(core.records.estimate(whole), filteredProblem(filter)), (estimate) =>
        mayFindAll(estimate, core.options.scanGuard.aggregateRows)
          ? core.records.page(whole)
          : Effect.fail(new RecordsError({ reason: { _tag: "Timeout" } })))
  const other: PageWay = judgement.way === "walk" ? "whole" : "walk"
  const second = Effect.tap(take(other), () =>
    Effect.sync(() => {
      const now = core.judgements.get(key)
      if (now !== undefined) core.judgements.set(key, { ...now, way: other })
    }))
  return ifCut(take(judgement.way), ifCut(second, refused(core, access, plan, filter)))
}

/**
 * The time of a walk. A later page in an order through relations comes to where the records without a value begin, and has to find out how few there are;
 * one at a row number has rows of two tables to skip.
 */
const walkMs = ({ after, before, offset = 0, shape }: PagePlan): number =>
  pathOf(shape.order) === null || ((after ?? before ?? []).length === 0 && offset === 0) ? hastyMs : wholeMs

/** A later page of an answer whose first page was judged and that has begun: it goes the way that worked, and has the time of every read. */
export const laterPage = (core: Hurrying, key: string, plan: PagePlan): Effect.Effect<readonly Row[], RecordsError> =>
  core.records.page(core.judgements.get(key)?.way === "whole" ? { ...plan, whole: true } : plan)

/** What is done instead when the time of a read has ended. */
const ifCut = <A>(
  read: Effect.Effect<A, RecordsError | Problem>,
  instead: Effect.Effect<A, RecordsError | Problem>
): Effect.Effect<A, RecordsError | Problem> =>
  Effect.catch(
    read,
    (error) => error instanceof RecordsError && error.reason._tag === "Timeout" ? instead : Effect.fail(error)
  )

/** The refusal. An index that a relation needs is suggested where there is none. */
const refused = (core: Hurrying, access: Access, plan: PagePlan, filter: FilterTree): Effect.Effect<never, Problem> => {
  const detail = "The query would look at too many related records."
  const path = pathOf(plan.shape.order)
  const all = access.caller.roles.includes("admin")
  const indexes = [
    ...path === null ? [] : pathIndexes(access, path),
    ...relatedOf(filter).filter(({ way }) => way.relation.many).map(({ way: { model, to } }): TableIndex => ({
      sql: createSql(model, [to, ...model.tenant !== null && all ? [model.tenant] : []]),
      asked: [{ model, columns: [to], method: "btree", partial: false }]
    }))
  ]
  return Effect.flatMap(firstMissing(core, indexes), (index) => {
    const { seqScanRows } = core.options.scanGuard
    const narrower = path !== null && (plan.offset ?? 0) > 0
      ? "A jump in this order skips rows of both tables: go page by page, or narrow the filter"
      : path === null
      ? "Narrow the filter by fields of the record itself"
      : "Order by fields of the record itself, narrow the filter"
    const hint = index?.sql ?? `${narrower}, or raise options.scanGuard.seqScanRows, which is ${seqScanRows}.`
    return Effect.fail(problem("expensive-query", detail, {
      errors: [{ code: "related-records", message: detail, hint }],
      ...(index === null ? {} : { suggestion: index.sql })
    }))
  })
}
