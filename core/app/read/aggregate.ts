/** The aggregates `:facets`, `:series` and `:histogram`, over exactly the rows a list with the same filter would give. */

import type { Clock } from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import type { FilterTree } from "../../domain/filter/tree.ts"
import { invalidParameter } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import {
  aggregateField,
  checkTimeZone,
  facetable,
  facetsJson,
  histogramJson,
  histogrammable,
  isIndivisible,
  maxPoints,
  readMeasure,
  seriesJson,
  seriesPoints,
  seriesRange,
  timed
} from "../../domain/read/aggregate.ts"
import { checkFilter, checkShowDeleted, visibleRows } from "../../domain/read/list.ts"
import type { AggregatePlan } from "../../domain/read/plan.ts"
import { facetsRequest, histogramRequest, seriesRequest } from "../../domain/read/request.ts"
import { fitsIn } from "../../domain/value/bytes.ts"
import type { Row } from "../../domain/value/kind.ts"
import type { RecordsError } from "../../ports/records.ts"
import { json } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import { bindingsAt, permitted, pipeline } from "../ground/core.ts"
import type { Checks, Core } from "../ground/core.ts"
import { guardPlan, queryKey, relatedName } from "../ground/guard.ts"
import { answerTooLarge, filteredProblem, imprecise } from "../ground/refusal.ts"
import { clockOf, during, phase } from "../ground/timing.ts"

/** The rows an aggregate covers. */
const coveredRows = (
  call: Call,
  access: Access,
  { filter: text, showDeleted }: { readonly filter: string; readonly showDeleted: boolean }
): Result.Result<{ readonly filter: FilterTree; readonly where: FilterTree }, Problem> =>
  Result.flatMap(checkShowDeleted(access.model, showDeleted), () =>
    Result.map(
      checkFilter(call.access, access, text),
      (filter) => ({ filter, where: visibleRows(access, filter, showDeleted) })
    ))

/**
 * A failed aggregate. The database may not know a time zone that this process knows, but it only says that it refuses a value. So the same
 * series is tried in UTC: when that works, the zone was refused. Otherwise a result is beyond what the database calculates with.
 */
const aggregateProblem =
  (core: Core, plan: AggregatePlan, filter: FilterTree) => (error: RecordsError): Effect.Effect<never, Problem> => {
    if (error.reason._tag !== "BadValue") return filteredProblem(filter)(error)
    if (plan.of === "series" && plan.timeZone !== "UTC") {
      const inUtc = { ...plan, timeZone: "UTC" }
      return Effect.matchEffect(core.records.aggregate(inUtc), {
        onFailure: aggregateProblem(core, inUtc, filter),
        onSuccess: () => Effect.fail(invalidParameter("time_zone", "The database does not know this time zone."))
      })
    }
    const calculates = plan.of === "series" ? plan.measure.of !== "count" : plan.of === "histogram"
    return calculates && imprecise(filter) === null
      ? Effect.fail(
        invalidParameter(
          plan.of === "series" ? "measure" : "field",
          "The database cannot calculate with values of this size."
        )
      )
      : filteredProblem(filter)(error)
  }

/** A checked aggregate. */
interface Planned {
  readonly access: Access
  readonly plan: AggregatePlan
  /** The caller's own filter. */
  readonly filter: FilterTree
  /** A name for the query, under which judgements and counts are kept. */
  readonly key: string
  /** The answer's text. */
  readonly write: (rows: readonly Row[]) => Result.Result<string, Problem>
}

/** An aggregate as a use case: access, then the plan that `plan` makes of the request, then its rows as JSON. */
const aggregate = (
  core: Core,
  call: Call,
  resource: string,
  plan: (core: Core, call: Call, access: Access, clock: Clock) => Checks<Planned>
): Effect.Effect<Reply, Problem> =>
  pipeline(
    (fiber) =>
      Result.flatMap(
        during(fiber, "aggregate.access", () => permitted(call, resource, "read")),
        (access) => during(fiber, "aggregate.plan", () => Result.gen(() => plan(core, call, access, clockOf(fiber))))
      ),
    ({ access, filter, key, plan, write }, fiber) =>
      Effect.flatMapEager(guardPlan(core, access, key, plan, filter), (warning) => {
        const rows = Effect.catch(core.records.aggregate(plan), aggregateProblem(core, plan, filter))
        return Effect.flatMap(phase(fiber, "aggregate.execute", rows), (found) =>
          Effect.fromResult(
            Result.flatMap(
              during(fiber, "aggregate.present", () => write(found)),
              (text) =>
                fitsIn(text, core.options.maxAnswerBytes)
                  ? Result.succeed(json(200, text, warning))
                  : Result.fail(answerTooLarge("Ask for fewer values."))
            )
          ))
      })
  )

const keyOf = (
  core: Core,
  access: Access,
  plan: AggregatePlan,
  filter: FilterTree,
  request: { readonly filter: string; readonly showDeleted: boolean },
  ...more: readonly string[]
): string =>
  queryKey(
    core,
    access,
    plan.of,
    plan.field.name,
    relatedName(access, filter),
    request.filter,
    String(request.showDeleted),
    ...more
  )

const planFacets = function*(core: Core, call: Call, access: Access, clock: Clock): Checks<Planned> {
  const request = yield* facetsRequest(call.query)
  const field = yield* aggregateField(access.restricted, "field", request.field, facetable)
  const { filter, where } = yield* coveredRows(call, access, request)
  const bindings = bindingsAt(clock, call.caller)
  const plan = { of: "facets", model: access.model, field, where, limit: request.limit, bindings } as const
  return {
    access,
    plan,
    filter,
    key: keyOf(core, access, plan, filter, request),
    write: (rows) => Result.succeed(facetsJson(field, rows))
  }
}

const planHistogram = function*(core: Core, call: Call, access: Access, clock: Clock): Checks<Planned> {
  const request = yield* histogramRequest(call.query)
  const field = yield* aggregateField(access.restricted, "field", request.field, histogrammable)
  const { filter, where } = yield* coveredRows(call, access, request)
  const bindings = bindingsAt(clock, call.caller)
  const plan = { of: "histogram", model: access.model, field, where, buckets: request.buckets, bindings } as const
  return {
    access,
    plan,
    filter,
    key: keyOf(core, access, plan, filter, request),
    write: ([row]) =>
      row !== undefined && isIndivisible(row)
        ? Result.fail(invalidParameter("field", "The field has values of too many digits for buckets of equal width."))
        : Result.succeed(histogramJson(field, row, request.buckets))
  }
}

const planSeries = function*(core: Core, call: Call, access: Access, clock: Clock): Checks<Planned> {
  const request = yield* seriesRequest(call.query)
  const field = yield* aggregateField(access.restricted, "field", request.field, timed)
  const measure = yield* readMeasure(access.restricted, request.measure)
  const timeZone = yield* checkTimeZone(request.timeZone)
  const { filter, where } = yield* coveredRows(call, access, request)
  const bindings = bindingsAt(clock, call.caller)
  const range = yield* seriesRange(request, field, timeZone, Number(bindings.now / 1000n))
  const { granularity } = request
  const plan = {
    of: "series",
    model: access.model,
    field,
    where,
    granularity,
    timeZone,
    from: range.from,
    to: range.to,
    measure,
    limit: maxPoints,
    bindings
  } as const
  return {
    access,
    plan,
    filter,
    key: keyOf(
      core,
      access,
      plan,
      filter,
      request,
      request.range,
      request.from,
      request.to,
      granularity,
      request.measure
    ),
    write: (rows) => {
      const points = seriesPoints(rows, range, granularity, timeZone, measure)
      return points === null
        ? Result.fail(invalidParameter("granularity", `The series has more than ${maxPoints} points.`))
        : Result.succeed(seriesJson(field, granularity, timeZone, measure, points))
    }
  }
}

/** `:facets`: the values of a field with their counts, most frequent first. */
export const facets = (core: Core, call: Call, resource: string): Effect.Effect<Reply, Problem> =>
  aggregate(core, call, resource, planFacets)

/** `:histogram`: counts of a number in buckets of equal width. */
export const histogram = (core: Core, call: Call, resource: string): Effect.Effect<Reply, Problem> =>
  aggregate(core, call, resource, planHistogram)

/** `:series`: counts, or a measure, by buckets of time; empty ones included. */
export const series = (core: Core, call: Call, resource: string): Effect.Effect<Reply, Problem> =>
  aggregate(core, call, resource, planSeries)
