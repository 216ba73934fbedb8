/** The aggregates `:facets`, `:series` and `:histogram`, over exactly the rows a list with the same filter would give. */

import * as Effect from "effect/Effect"
import type { Access } from "../domain/access/access.ts"
import type { FilterTree } from "../domain/filter/tree.ts"
import type { Row } from "../domain/model/model.ts"
import { invalidParameter } from "../domain/problem.ts"
import type { Problem } from "../domain/problem.ts"
import {
  aggregateField,
  checkTimeZone,
  facetable,
  facetsJson,
  histogramJson,
  histogrammable,
  maxPoints,
  readMeasure,
  seriesJson,
  seriesPoints,
  seriesRange,
  timed
} from "../domain/read/aggregate.ts"
import { checkFilter, checkShowDeleted, visibleRows } from "../domain/read/list.ts"
import type { AggregatePlan } from "../domain/read/plan.ts"
import { facetsRequest, histogramRequest, seriesRequest } from "../domain/read/request.ts"
import type { RecordsError } from "../ports/records.ts"
import { json } from "./call.ts"
import type { Call, Reply } from "./call.ts"
import { bindingsOf, permitted } from "./core.ts"
import type { Core } from "./core.ts"
import { guardPlan, queryKey } from "./guard.ts"
import type { Warning } from "./guard.ts"
import { filteredProblem, imprecise } from "./refusal.ts"
import { phase } from "./timing.ts"

/** The rows an aggregate covers. */
const coveredRows = Effect.fnUntraced(function*(
  access: Access,
  request: { readonly filter: string; readonly showDeleted: boolean }
): Effect.fn.Return<{ readonly filter: FilterTree; readonly where: FilterTree }, Problem> {
  yield* Effect.fromResult(checkShowDeleted(access.model, request.showDeleted))
  const filter = yield* Effect.fromResult(checkFilter(access.restricted, request.filter))
  return { filter, where: visibleRows(access, filter, request.showDeleted) }
})

/**
 * A failed aggregate. The database may not know a time zone that this process knows, but it only says that it refuses a value: when it takes
 * the same series in UTC, the zone is what it refused. What is left are results beyond what it calculates with.
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

const run = Effect.fnUntraced(function*(
  core: Core,
  access: Access,
  plan: AggregatePlan,
  filter: FilterTree,
  request: { readonly filter: string; readonly showDeleted: boolean },
  ...more: readonly string[]
): Effect.fn.Return<{ readonly rows: readonly Row[]; readonly warning: Warning }, Problem> {
  const key = queryKey(core, access, plan.of, plan.field.name, request.filter, String(request.showDeleted), ...more)
  const warning = yield* guardPlan(core, access, key, plan, filter)
  const rows = yield* phase("aggregate.execute")(
    Effect.catch(core.records.aggregate(plan), aggregateProblem(core, plan, filter))
  )
  return { rows, warning }
})

export const facets = Effect.fnUntraced(
  function*(core: Core, call: Call, resource: string): Effect.fn.Return<Reply, Problem> {
    const access = yield* Effect.fromResult(permitted(call, resource, "read"))
    const request = yield* Effect.fromResult(facetsRequest(call.query))
    const field = yield* Effect.fromResult(aggregateField(access.restricted, "field", request.field, facetable))
    const { filter, where } = yield* coveredRows(access, request)
    const bindings = yield* bindingsOf(call.caller)
    const plan = { of: "facets", model: access.model, field, where, limit: request.limit, bindings } as const
    const { rows, warning } = yield* run(core, access, plan, filter, request)
    return json(200, facetsJson(field, rows), warning)
  }
)

export const histogram = Effect.fnUntraced(
  function*(core: Core, call: Call, resource: string): Effect.fn.Return<Reply, Problem> {
    const access = yield* Effect.fromResult(permitted(call, resource, "read"))
    const request = yield* Effect.fromResult(histogramRequest(call.query))
    const field = yield* Effect.fromResult(aggregateField(access.restricted, "field", request.field, histogrammable))
    const { filter, where } = yield* coveredRows(access, request)
    const bindings = yield* bindingsOf(call.caller)
    const plan = { of: "histogram", model: access.model, field, where, buckets: request.buckets, bindings } as const
    const { rows, warning } = yield* run(core, access, plan, filter, request)
    return json(200, histogramJson(field, rows[0], request.buckets), warning)
  }
)

export const series = Effect.fnUntraced(
  function*(core: Core, call: Call, resource: string): Effect.fn.Return<Reply, Problem> {
    const access = yield* Effect.fromResult(permitted(call, resource, "read"))
    const request = yield* Effect.fromResult(seriesRequest(call.query))
    const field = yield* Effect.fromResult(aggregateField(access.restricted, "field", request.field, timed))
    const measure = yield* Effect.fromResult(readMeasure(access.restricted, request.measure))
    const timeZone = yield* Effect.fromResult(checkTimeZone(request.timeZone))
    const { filter, where } = yield* coveredRows(access, request)
    const bindings = yield* bindingsOf(call.caller)
    const range = yield* Effect.fromResult(seriesRange(request, field, timeZone, Number(bindings.now / 1000n)))
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
      limit: maxPoints + 1,
      bindings
    } as const
    const { rows, warning } = yield* run(
      core,
      access,
      plan,
      filter,
      request,
      request.range,
      request.from,
      request.to,
      granularity
    )
    const points = seriesPoints(rows, range, granularity, timeZone, measure)
    if (points === null) {
      return yield* Effect.fail(invalidParameter("granularity", `The series has more than ${maxPoints} points.`))
    }
    return json(200, seriesJson(field, granularity, timeZone, measure, points), warning)
  }
)
