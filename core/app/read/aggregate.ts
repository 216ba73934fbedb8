/** The aggregates `:facets`, `:series`, `:histogram` and `:aggregate`, over exactly the rows a list with the same filter would give. */

import type { Clock } from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import { scopeOf } from "../../domain/access/reach.ts"
import type { FilterTree } from "../../domain/filter/tree.ts"
import { invalidParameter } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import {
  aggregateField,
  aggregatePlace,
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
import { argumentsName, argumentsOfBody } from "../../domain/read/arguments.ts"
import { checkCurrencies, groupsJson, readGroups } from "../../domain/read/group.ts"
import { checkFilter, checkShowDeleted, visibleRows } from "../../domain/read/list.ts"
import type { AggregatePlan } from "../../domain/read/plan.ts"
import { pathsOf } from "../../domain/read/plan.ts"
import {
  facetsRequest,
  groupsBodyRequest,
  groupsRequest,
  histogramRequest,
  seriesRequest
} from "../../domain/read/request.ts"
import { fitsIn } from "../../domain/value/bytes.ts"
import type { Row } from "../../domain/value/kind.ts"
import type { RecordsError } from "../../ports/records.ts"
import { json, readJson } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import { bindingsOf, permitted, pipeline, withArguments } from "../ground/core.ts"
import type { Checks, Core } from "../ground/core.ts"
import { guardPlan, queryKey, relatedName } from "../ground/guard.ts"
import { answerTooLarge, imprecise, readProblem } from "../ground/refusal.ts"
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

/** The plan in UTC, where it asks the database for another zone. */
const inUtc = (plan: AggregatePlan): AggregatePlan | null => {
  if (plan.of === "series") return plan.timeZone === "UTC" ? null : { ...plan, timeZone: "UTC" }
  if (plan.of !== "groups" || plan.question.timeZone === "UTC") return null
  return plan.question.keys.some(({ granularity }) => granularity !== null)
    ? { ...plan, question: { ...plan.question, timeZone: "UTC" } }
    : null
}

/** The parameter by which the database was asked to calculate, or null. */
const calculation = (plan: AggregatePlan): string | null => {
  switch (plan.of) {
    case "series":
    case "facets":
      return plan.measure === undefined || plan.measure.of === "count" ? null : "measure"
    case "histogram":
      return "field"
    case "groups":
      return plan.question.measures.some(({ of }) => of === "sum" || of === "avg") ? "measures" : null
  }
}

/**
 * A failed aggregate. The database may not know a time zone that this process knows, but it only says that it refuses a value. So the same
 * question is tried in UTC: when that works, the zone was refused. Otherwise a result is beyond what the database calculates with.
 */
const aggregateProblem =
  (core: Core, plan: AggregatePlan, filter: FilterTree) => (error: RecordsError): Effect.Effect<never, Problem> => {
    const refusedRead = readProblem(plan.model, filter)
    if (error.reason._tag !== "BadValue") return refusedRead(error)
    const elsewhere = inUtc(plan)
    if (elsewhere !== null) {
      return Effect.matchEffect(core.records.aggregate(elsewhere), {
        onFailure: aggregateProblem(core, elsewhere, filter),
        onSuccess: () => Effect.fail(invalidParameter("time_zone", "The database does not know this time zone."))
      })
    }
    const refused = imprecise(filter) ?? (plan.of === "groups" ? imprecise(plan.question.having, "having") : null)
    if (refused !== null) return refused
    const parameter = calculation(plan)
    return parameter === null
      ? refusedRead(error)
      : Effect.fail(invalidParameter(parameter, "The database cannot calculate with values of this size."))
  }

/** A checked aggregate. */
interface AggregateQuery {
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
  plan: (core: Core, call: Call, access: Access, clock: Clock) => Checks<AggregateQuery>,
  inBody = false
): Effect.Effect<Reply, Problem> =>
  pipeline(
    (fiber) =>
      Result.flatMap(
        during(fiber, "aggregate.access", () => permitted(call, resource, "read")),
        (access) =>
          Result.flatMap(
            inBody ? Result.succeed(call) : withArguments(call, access),
            (own) => during(fiber, "aggregate.plan", () => Result.gen(() => plan(core, own, access, clockOf(fiber))))
          )
      ),
    ({ access, filter, key, plan, write }, fiber) =>
      Effect.flatMapEager(guardPlan(core, access, key, plan, filter), (warning) => {
        const rows = Effect.catch(core.records.aggregate(plan), aggregateProblem(core, plan, filter))
        return Effect.flatMap(phase(fiber, "aggregate.execute", rows), (groups) =>
          Effect.fromResult(
            Result.flatMap(
              during(fiber, "aggregate.present", () => write(groups)),
              (text) =>
                fitsIn(text, core.options.maxAnswerBytes)
                  ? Result.succeed(json(200, text, warning))
                  : Result.fail(answerTooLarge("Ask for fewer values."))
            )
          ))
      })
  )

const cacheKey = (
  core: Core,
  { args }: Call,
  access: Access,
  filter: FilterTree,
  plan: AggregatePlan,
  request: { readonly filter: string; readonly showDeleted: boolean },
  ...more: readonly string[]
): string =>
  queryKey(
    core,
    access,
    plan.of,
    relatedName(access, filter, pathsOf(plan)),
    request.filter,
    String(request.showDeleted),
    ...more,
    ...argumentsName(args)
  )

const planFacets = function*(core: Core, call: Call, access: Access, clock: Clock): Checks<AggregateQuery> {
  const request = yield* facetsRequest(call.query)
  const scope = scopeOf(call.access, access, [])
  const { field, ways } = yield* aggregatePlace(access.restricted, scope, "field", request.field, facetable)
  const measure = yield* readMeasure(access.restricted, request.measure)
  const { filter, where } = yield* coveredRows(call, access, request)
  yield* checkCurrencies(access.restricted, "measure", [measure], ways.length === 0 ? [field] : [], filter)
  const bindings = bindingsOf(clock, call)
  const plan = {
    of: "facets",
    model: access.model,
    field,
    ways,
    where,
    limit: request.limit,
    measure,
    bindings
  } as const
  return {
    access,
    plan,
    filter,
    key: cacheKey(core, call, access, filter, plan, request, request.field, request.measure),
    write: (rows) => Result.succeed(facetsJson(field, rows, measure, request.field))
  }
}

const planHistogram = function*(core: Core, call: Call, access: Access, clock: Clock): Checks<AggregateQuery> {
  const request = yield* histogramRequest(call.query)
  const field = yield* aggregateField(access.restricted, "field", request.field, histogrammable)
  const { filter, where } = yield* coveredRows(call, access, request)
  const bindings = bindingsOf(clock, call)
  const plan = { of: "histogram", model: access.model, field, where, buckets: request.buckets, bindings } as const
  return {
    access,
    plan,
    filter,
    key: cacheKey(core, call, access, filter, plan, request, field.name),
    write: ([row]) =>
      row !== undefined && isIndivisible(row)
        ? Result.fail(invalidParameter("field", "The field has values of too many digits for buckets of equal width."))
        : Result.succeed(histogramJson(field, row, request.buckets))
  }
}

const planSeries = function*(core: Core, call: Call, access: Access, clock: Clock): Checks<AggregateQuery> {
  const request = yield* seriesRequest(call.query)
  const field = yield* aggregateField(access.restricted, "field", request.field, timed)
  const measure = yield* readMeasure(access.restricted, request.measure)
  const timeZone = yield* checkTimeZone(request.timeZone)
  const { filter, where } = yield* coveredRows(call, access, request)
  yield* checkCurrencies(access.restricted, "measure", [measure], [], filter)
  const bindings = bindingsOf(clock, call)
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
    key: cacheKey(
      core,
      call,
      access,
      filter,
      plan,
      request,
      field.name,
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

/** `body` null: the parameters stand in the query. */
const planGroups = (body: Uint8Array | null) =>
  function*(core: Core, given: Call, access: Access, clock: Clock): Checks<AggregateQuery> {
    const inQuery = body === null ? undefined : given.query[0]
    if (inQuery !== undefined) {
      return yield* Result.fail(invalidParameter(inQuery[0], "With a body, all parameters stand in it."))
    }
    const inBody = body === null ? null : yield* argumentsOfBody(access.model, yield* readJson(body))
    const call = inBody?.args === undefined ? given : { ...given, args: inBody.args }
    const request = yield* inBody === null ? groupsRequest(call.query) : groupsBodyRequest(inBody.rest)
    const question = yield* readGroups(call.access, access, request)
    const { filter, where } = yield* coveredRows(call, access, request)
    const keys = question.keys.flatMap(({ field, granularity, ways }) =>
      granularity === null && ways.length === 0 ? [field] : []
    )
    yield* checkCurrencies(access.restricted, "measures", question.measures, keys, filter)
    const { groupBy, having, limit, measures, orderBy, timeZone } = request
    const bindings = bindingsOf(clock, call)
    const plan = { of: "groups", model: access.model, question, where, limit: limit + 1, bindings } as const
    const asked = JSON.stringify([groupBy, measures, having, orderBy, timeZone])
    return {
      access,
      plan,
      filter,
      key: cacheKey(core, call, access, filter, plan, request, asked),
      write: (rows) => Result.succeed(groupsJson(question, rows, limit))
    }
  }

/** `:facets`: the values of a field with their counts, most frequent first, or with a measure. */
export const facets = (core: Core, call: Call, resource: string): Effect.Effect<Reply, Problem> =>
  aggregate(core, call, resource, planFacets)

/** `:histogram`: counts of a number in buckets of equal width. */
export const histogram = (core: Core, call: Call, resource: string): Effect.Effect<Reply, Problem> =>
  aggregate(core, call, resource, planHistogram)

/** `:series`: counts, or a measure, by buckets of time; empty ones included. */
export const series = (core: Core, call: Call, resource: string): Effect.Effect<Reply, Problem> =>
  aggregate(core, call, resource, planSeries)

/** `:aggregate`: measures of the groups that rows fall into, as a GET or, where longer filters fit, as a POST. */
export const groups = (
  core: Core,
  call: Call,
  resource: string,
  body: Uint8Array | null
): Effect.Effect<Reply, Problem> => aggregate(core, call, resource, planGroups(body), body !== null)
