/**
 * Reading records: list, `:search`, `:seek` and get. `answerList` shows the stages, and the others have the same. The first resolves the access;
 * what the caller may not see does not exist after that.
 */

import type { Clock } from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import { rolesKey } from "../../domain/access/caller.ts"
import { always } from "../../domain/filter/tree.ts"
import type { Bindings, FilterTree } from "../../domain/filter/tree.ts"
import { pathsIn } from "../../domain/filter/tree.ts"
import { invalidParameter, notFound } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { argumentsName, argumentsOfBody } from "../../domain/read/arguments.ts"
import { isHeld } from "../../domain/read/etag.ts"
import { isPath } from "../../domain/read/expand.ts"
import { hastyMs, isExpensiveRelated } from "../../domain/read/guard.ts"
import { itemWith } from "../../domain/read/item.ts"
import { keyCondition, readKey } from "../../domain/read/key.ts"
import { checkFields, checkFilter, checkOrder, checkShowDeleted, listShape } from "../../domain/read/list.ts"
import type { ListShape } from "../../domain/read/list.ts"
import { pageContext, readPosition, writePosition } from "../../domain/read/page-token.ts"
import type { PagePosition } from "../../domain/read/page-token.ts"
import type { CountPlan, PagePlan } from "../../domain/read/plan.ts"
import { getRequest, listRequest, searchRequest, seekRequest } from "../../domain/read/request.ts"
import type { GetRequest, ListRequest } from "../../domain/read/request.ts"
import { fitsIn } from "../../domain/value/bytes.ts"
import type { Cell, Row } from "../../domain/value/kind.ts"
import type { Refreshed } from "../../ports/records.ts"
import { RecordsError } from "../../ports/records.ts"
import { json, readJson } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import { bindingsOf, permitted, readPipeline, withArguments } from "../ground/core.ts"
import type { Checks, Core } from "../ground/core.ts"
import {
  counting,
  countRows,
  estimateCap,
  type Hurry,
  recallRows,
  rememberRows,
  uncounted
} from "../ground/estimate.ts"
import { allWarnings, guardPlan, queryKey, relatedName } from "../ground/guard.ts"
import type { Warning } from "../ground/guard.ts"
import { answerTooLarge, readProblem, recordsProblem } from "../ground/refusal.ts"
import { clockOf, during, phase } from "../ground/timing.ts"
import type { RequestFiber } from "../ground/timing.ts"
import { checkExpand, expandFields } from "./expand-plan.ts"
import type { Expansion } from "./expand-plan.ts"
import { expandRows } from "./expand.ts"
import { isHurried, judgedPage } from "./hasty.ts"
import { present } from "./page.ts"
import type { AnswerPage } from "./page.ts"
import { planSeek } from "./seek.ts"

/** `GET /{resource}` (docs/reference/reads.md#lists): a page of the rows that the caller can see, as `{ items, next_page_token, total_size_estimate }`. */
export const list = (core: Core, call: Call, resource: string): Effect.Effect<Reply, Problem> =>
  answerList(core, call, resource, (access) =>
    Result.flatMap(
      withArguments(call, access),
      (own) => Result.map(listRequest(own.query), (request) => ({ call: own, request }))
    ))

/** `POST /{resource}:search`: a list whose parameters stand in the body, where longer filters fit. */
export const search = (core: Core, call: Call, resource: string, body: Uint8Array): Effect.Effect<Reply, Problem> =>
  answerList(core, call, resource, (access) =>
    call.query.length > 0
      ? Result.fail(invalidParameter(call.query[0]![0], "A search takes its parameters in the body."))
      : Result.flatMap(readJson(body), (json) =>
        Result.flatMap(argumentsOfBody(access.model, json), ({ args, rest }) =>
          Result.map(searchRequest(rest), (request) => ({
            call: args === undefined ? call : { ...call, args },
            request
          })))))

/** A list, stage by stage. Access comes first: whoever may not read is told nothing about the parameters. */
const answerList = (
  core: Core,
  call: Call,
  resource: string,
  parse: (access: Access) => Result.Result<{ readonly call: Call; readonly request: ListRequest }, Problem>
): Effect.Effect<Reply, Problem> =>
  readPipeline(
    (fiber) =>
      Result.flatMap(during(fiber, "list.access", () => permitted(call, resource, "read")), (access) =>
        Result.flatMap(
          during(fiber, "list.parse", () => parse(access)),
          ({ call: own, request }) =>
            during(fiber, "list.plan", () => Result.gen(() => planList(core, own, clockOf(fiber), access, request)))
        )),
    (plan, fiber) =>
      Effect.flatMap(guardList(core, plan), (warning) =>
        Effect.flatMap(
          phase(fiber, "list.execute", executeList(core, clockOf(fiber), plan)),
          (rows) => present(fiber, core, pageOf(core, plan, rows, warning), plan.bindings)
        ))
  )

/** A list request whose texts have been checked against the caller's model. */
export interface Checked {
  readonly access: Access
  readonly shape: ListShape
  readonly key: string
  readonly expansion: Expansion
  /** The caller's own filter. */
  readonly filter: FilterTree
}

/** The names of `fields` that are no paths; null: all fields. */
const ownNames = (fields: readonly string[] | null): readonly string[] | null =>
  fields?.filter((name) => !isPath(name)) ?? null

/** Checks a list's parameters; `permissions: false` leaves them out of its items. */
export const checkList = function*(
  core: Core,
  call: Call,
  access: Access,
  request: ListRequest,
  permissions = core.options.rowPermissions(access.model.name)
): Checks<Checked> {
  yield* checkShowDeleted(access.model, request.showDeleted)
  const filter = yield* checkFilter(call.access, access, request.filter)
  const order = yield* checkOrder(call.access, access, request.orderBy)
  const own = ownNames(request.fields)
  const fields = yield* checkFields(access.restricted, own)
  const expansion = yield* checkExpand(core, call, access, request.expand)
  const shape = listShape(access, {
    filterText: request.filter,
    orderText: request.orderBy,
    filter,
    order,
    fields: own,
    parts: { fields, permissions: permissions ? "row" : "none" },
    showDeleted: request.showDeleted,
    limit: request.pageSize + 1,
    more: expandFields(expansion)
  }, core.items)
  return {
    access,
    shape,
    key: queryKey(
      core,
      access,
      relatedName(access, filter, pathsIn(order)),
      request.filter,
      request.orderBy,
      String(request.showDeleted),
      ...argumentsName(call.args)
    ),
    expansion,
    filter
  }
}

/** A checked list request, with the page that it asks for and the count that goes with it. */
interface ListPlan extends Checked {
  readonly call: Call
  readonly request: ListRequest
  /** The context that the page tokens of this request are sealed to. */
  readonly context: string
  readonly position: PagePosition | null
  /** The roles that an earlier count must have been made under. */
  readonly roles: string
  readonly bindings: Bindings
  readonly page: PagePlan
  readonly count: Omit<CountPlan, "cap">
}

const planList = function*(
  core: Core,
  call: Call,
  clock: Clock,
  access: Access,
  request: ListRequest
): Checks<ListPlan> {
  const checked = yield* checkList(core, call, access, request)
  const { shape } = checked
  const context = pageContext(call.caller, access.model.name, request, shape.order, call.args)
  const position = yield* openPosition(core, context, request.pageToken, shape)
  const bindings = bindingsOf(clock, call)
  const first: PagePlan = { shape: shape.page, bindings }
  return {
    ...checked,
    call,
    request,
    context,
    position,
    roles: rolesKey(call.caller),
    bindings,
    page: position === null
      ? first
      : position.direction === "before"
      ? { ...first, before: position.cells }
      : { ...first, after: position.cells },
    count: { model: access.model, where: shape.page.where, bindings }
  }
}

const openPosition = (
  core: Core,
  context: string,
  token: string,
  shape: ListShape
): Result.Result<PagePosition | null, Problem> => {
  if (token === "") return Result.succeed(null)
  const text = core.seal.open(context, token)
  const position = text === null ? null : readPosition(text, shape.order.length)
  if (position === "newer") {
    return Result.fail(
      invalidParameter(
        "page_token",
        "A newer version of the service has made this page token. Read the first page again."
      )
    )
  }
  return position === null
    ? Result.fail(invalidParameter("page_token", "The page token does not belong to this request."))
    : Result.succeed(position)
}

/** The cells a row has for the keys of the order: the position of a token. */
export const positionCells = (shape: ListShape, row: Row): readonly Cell[] => shape.cells.map((at) => row[at] ?? null)

/** Judges the first page of the query, whichever is asked for, and the exact count. */
const guardList = (
  core: Core,
  { access, bindings, count, filter, key, request, shape }: ListPlan
): Effect.Effect<Warning, Problem> => {
  const page = guardPlan(core, access, key, { shape: shape.page, bindings }, filter, true)
  return request.exactCount
    ? Effect.flatMap(page, (warning) =>
      Effect.map(
        guardPlan(core, access, `${key}\u0000count`, { ...count, cap: null }, filter),
        (counted) => allWarnings([warning, counted])
      ))
    : page
}

/** Reads the page, and counts what is not known. */
const executeList = (core: Core, clock: Clock, plan: ListPlan): Effect.Effect<PageRows, Problem> => {
  const { access, count, filter, key, position, request, roles } = plan
  const estimate = position?.estimate?.roles === roles
    ? position.estimate.size
    : request.exactCount
    ? null
    : recallRows(core, clock, count, key)
  // When the planner expects few rows, they are counted while the page is read.
  const few = position === null && estimate === null && !isHurried(core, key) &&
    (core.judgements.get(key)?.rows ?? Infinity) <= fewRows
  const refused = readProblem(access.model, filter)
  const otherwise = (error: RecordsError | Problem): Effect.Effect<never, Problem> =>
    error instanceof RecordsError ? refused(error) : Effect.fail(error)
  const page = Effect.catch(
    few ? readCounted(core, plan) : readPage(core, plan, estimate),
    (error): Effect.Effect<PageRows, Problem> =>
      error instanceof RecordsError && error.reason._tag === "TooLarge"
        ? Effect.catch(readWithin(core, plan, estimate), otherwise)
        : otherwise(error)
  )
  if (access.model.materialized === undefined) return page
  // Before the rows: a refresh in between makes them newer than they are said to be, and never older.
  const state = Effect.catch(core.records.refreshed(access.model), recordsProblem)
  return Effect.flatMap(state, (refreshed) => Effect.map(page, (page) => ({ ...page, refreshed })))
}

/** The page that was found, with its tokens and numbers. */
const pageOf = (
  core: Core,
  { context, expansion, position, request, roles, shape }: ListPlan,
  { cut = false, estimated, refreshed, rows, total }: PageRows,
  warning: Warning
): AnswerPage => {
  const backward = position?.direction === "before"
  const beyond = rows.length > request.pageSize
  const page = !beyond ? rows : backward ? rows.slice(1) : rows.slice(0, request.pageSize)
  // A count of rows that the caller just saw is better than an older estimate.
  const [size, accuracy] = total !== null
    ? [Math.min(Number(total), Number.MAX_SAFE_INTEGER), "exact"] as const
    : position === null && !beyond && !cut
    ? [page.length, "exact"] as const
    : sizeOf(estimated, page.length)

  // When the rows of a page are gone meanwhile, there is no position to continue from. The page in the other direction then begins with the
  // first row, or ends with the last.
  const token = (direction: "after" | "before", row: Row | undefined): string =>
    core.seal.seal(
      context,
      writePosition({
        direction,
        bothWays: position?.bothWays ?? false,
        cells: row === undefined ? [] : positionCells(shape, row),
        // A lower bound is not repeated: by then the full count may be there.
        estimate: accuracy === "counting" ? null : { size, roles: roles }
      })
    )
  const tail = (page: readonly Row[], shortened: boolean): string => {
    const more = beyond || cut || shortened
    // A page that was read backwards always has a next page: the page where the walk began.
    const next = backward || more ? token("after", page.at(-1)) : ""
    const previous = position?.bothWays === true ? (!backward || more ? token("before", page[0]) : "") : null
    return `"next_page_token":"${next}"` +
      (previous === null ? "" : `,"prev_page_token":"${previous}"`) +
      `,"total_size_estimate":${size},"total_size_accuracy":"${accuracy}"` +
      (total === null ? "" : `,"total_size":${size}`) +
      (refreshed === undefined
        ? ""
        : `,"refreshed_at":${JSON.stringify(refreshed.at)},"refresh_failed_at":${JSON.stringify(refreshed.failedAt)}`)
  }
  return { expansion, rows: page, backward, shape, tail, warning }
}

/** How well the answered number of rows is known. While it is counted, it is a lower bound. */
type Accuracy = "exact" | "estimate" | "counting"

/** The number of rows to answer, from what was counted and from the rows of the page. */
export const sizeOf = (estimated: number, least: number): readonly [size: number, accuracy: Accuracy] =>
  estimated === counting
    ? [Math.max(estimateCap, least), "counting"]
    : estimated === uncounted
    ? [least, "counting"]
    : estimated > estimateCap || least > estimated
    ? [Math.max(estimated, least), "estimate"]
    : [estimated, "exact"]

/** Rows of a page, the exact number of all that pass where it was asked for, and what else is known of it. */
interface PageRows {
  readonly rows: readonly Row[]
  readonly total: string | null
  readonly estimated: number
  /** Whether the page ends before its last row, as it would be too large. */
  readonly cut?: boolean
  /** Materialized views: their age. */
  readonly refreshed?: Refreshed
}

type Read = Effect.Effect<PageRows, RecordsError | Problem>

const together = { concurrency: "unbounded" } as const

/** The page, and beside it the count where there is none yet. */
const readPage = (
  core: Core,
  { access, count, filter, key, page: plan, request: { exactCount } }: ListPlan,
  estimate: number | null,
  page: Effect.Effect<readonly Row[], RecordsError | Problem> = judgedPage(core, access, key, plan, filter)
): Read => {
  if (exactCount) {
    const counted = Effect.all([page, core.records.count({ ...count, cap: null })], together)
    return Effect.map(counted, ([rows, total]) => ({ rows, total, estimated: 0 }))
  }
  if (estimate !== null) return Effect.map(page, (rows) => ({ rows, total: null, estimated: estimate }))
  return Effect.map(
    Effect.all([page, countRows(core, key, count, hurryOf(core, key))], together),
    ([rows, estimated]) => ({ rows, total: null, estimated })
  )
}

/** How the rows of a query are counted whose pages have little time. */
const hurryOf = (core: Core, key: string): Hurry | null =>
  isHurried(core, key)
    ? {
      within: hastyMs,
      full: (plan) =>
        Effect.map(
          core.records.estimate(plan),
          (estimate) => !isExpensiveRelated(estimate, core.options.scanGuard.aggregateRows)
        )
    }
    : null

/** The same for a page that would be too large: as many of its rows as an answer may have. */
const readWithin = (core: Core, plan: ListPlan, estimate: number | null): Read =>
  Effect.suspend(() => {
    let ended = false
    const page = Effect.map(core.records.pageWithin(plan.page, core.options.maxAnswerBytes), ({ cut, rows }) => {
      ended = cut
      return rows
    })
    return Effect.map(readPage(core, plan, estimate, page), (page) => ({ ...page, cut: ended }))
  })

/** Most rows, by the planner's estimate, that are all read to give a page and their count at once. */
const fewRows = 2_000

/**
 * The first page and the count in one statement. When there are more rows than the planner thought, the count is a statement of its own.
 */
const readCounted = (core: Core, plan: ListPlan): Read =>
  Effect.suspend(() => {
    const { count, key, page, request } = plan
    const written = core.estimates.written(count)
    return Effect.flatMap(core.records.page({ ...page, counted: estimateCap + 1 }), (rows): Read => {
      const total = rows[0]?.at(-1) ?? "0"
      const estimated = Number(total)
      return estimated > estimateCap
        ? readPage(core, plan, null)
        : Effect.as(rememberRows(core, key, estimated, written), {
          rows,
          total: request.exactCount ? total : null,
          estimated
        })
    })
  })

/** `:seek`: the page at a row number. Its tokens continue from there in both directions. No other position is remembered. */
export const seek = (core: Core, call: Call, resource: string): Effect.Effect<Reply, Problem> =>
  readPipeline(
    (fiber) =>
      Result.flatMap(during(fiber, "seek.access", () => permitted(call, resource, "read")), (access) =>
        Result.flatMap(
          during(fiber, "seek.parse", () => withArguments(call, access)),
          (own) =>
            Result.flatMap(seekRequest(own.query), (request) =>
              Result.map(
                during(fiber, "seek.plan", () => Result.gen(() => checkList(core, own, access, request))),
                (checked) => ({ ...checked, call: own, request })
              ))
        )),
    (plan, fiber) => answerSeek(fiber, core, plan)
  )

const answerSeek = Effect.fnUntraced(
  function*(
    fiber: RequestFiber,
    core: Core,
    { access, call, expansion, filter, key, request, shape }: Checked & Pick<ListPlan, "call" | "request">
  ): Effect.fn.Return<Reply, Problem> {
    const bindings = bindingsOf(clockOf(fiber), call)
    const offset = Number(request.position)
    const first: PagePlan = { shape: shape.page, bindings }
    const warning = yield* guardPlan(core, access, key, first, filter, true)
    const refused = readProblem(access.model, filter)
    const read = (plan: PagePlan) =>
      phase(
        fiber,
        "seek.execute",
        Effect.catch(
          Effect.map(judgedPage(core, access, key, plan, filter), (rows) => ({ rows, cut: false })),
          (error) =>
            !(error instanceof RecordsError)
              ? Effect.fail(error)
              : error.reason._tag === "TooLarge"
              ? Effect.catch(core.records.pageWithin(plan, core.options.maxAnswerBytes), refused)
              : refused(error)
        )
      )
    const page = yield* read(yield* Effect.catch(planSeek(core, key, first, offset), refused))
    let rows = page.rows.slice(0, request.pageSize)
    let atStart = offset === 0
    let atEnd = page.rows.length <= request.pageSize && !page.cut
    let backward = false
    if (rows.length === 0 && offset > 0) {
      // Beyond the end: the last page, read from the end backwards.
      const last = yield* read({ ...first, before: [] })
      atStart = last.rows.length <= request.pageSize && !last.cut
      rows = last.rows.slice(-request.pageSize)
      backward = true
      atEnd = true
    }
    const context = pageContext(call.caller, access.model.name, request, shape.order, call.args)
    const token = (direction: "after" | "before", row: Row | undefined): string =>
      row === undefined
        ? ""
        : core.seal.seal(
          context,
          writePosition({ direction, bothWays: true, cells: positionCells(shape, row), estimate: null })
        )
    const tail = (page: readonly Row[], shortened: boolean): string => {
      const next = atEnd && (backward || !shortened) ? "" : token("after", page.at(-1))
      const previous = atStart && (!backward || !shortened) ? "" : token("before", page[0])
      return `"next_page_token":"${next}","prev_page_token":"${previous}"`
    }
    return yield* present(fiber, core, { expansion, rows, backward, shape, tail, warning }, bindings)
  }
)

/** What a get reads. */
interface GetPlan {
  readonly call: Call
  readonly key: readonly string[]
  readonly shape: ListShape
  readonly expansion: Expansion
}

interface GetTarget {
  readonly access: Access
  readonly call: Call
  readonly request: GetRequest
  readonly key: readonly string[]
}

const parseGet = (given: Call, access: Access, segment: string): Result.Result<GetTarget, Problem> =>
  Result.flatMap(
    withArguments(given, access),
    (call) =>
      Result.flatMap(getRequest(call.query), (request) =>
        Result.flatMap(
          checkShowDeleted(access.model, request.showDeleted),
          () => Result.map(readKey(access.model, segment), (key) => ({ access, call, request, key }))
        ))
  )

const planGet = (core: Core, { access, call, key, request }: GetTarget): Result.Result<GetPlan, Problem> => {
  const own = ownNames(request.fields)
  return Result.flatMap(
    checkFields(access.restricted, own),
    (fields) =>
      Result.map(checkExpand(core, call, access, request.expand), (expansion) => {
        const shape = listShape(access, {
          filterText: "",
          orderText: "",
          filter: keyCondition(access.model),
          order: [],
          fields: own,
          parts: { fields, permissions: "full" },
          showDeleted: request.showDeleted,
          limit: 1,
          more: expandFields(expansion)
        }, core.items)
        return { call, key, shape, expansion }
      })
  )
}

/** `GET /{resource}/{key}`: one record with its ETag, or 304 for a client that holds it. */
export const get = (core: Core, call: Call, resource: string, segment: string): Effect.Effect<Reply, Problem> =>
  readPipeline(
    (fiber) =>
      Result.flatMap(during(fiber, "get.access", () => permitted(call, resource, "read")), (access) =>
        Result.flatMap(
          during(fiber, "get.parse", () => parseGet(call, access, segment)),
          (target) => during(fiber, "get.plan", () => planGet(core, target))
        )),
    ({ call: own, expansion, key, shape }, fiber) => {
      const bindings = bindingsOf(clockOf(fiber), own, key)
      const page = Effect.catch(
        core.records.page({ shape: shape.page, bindings }),
        readProblem(shape.page.model, always)
      )
      return Effect.flatMap(
        phase(fiber, "get.execute", page),
        (rows) => presentOne(core, call, shape, expansion, rows, bindings)
      )
    }
  )

const presentOne = (
  core: Core,
  call: Call,
  shape: ListShape,
  expansion: Expansion,
  rows: readonly Row[],
  bindings: Bindings
): Effect.Effect<Reply, Problem> => {
  const row = rows[0]
  if (row === undefined) return Effect.fail(notFound())
  const { etag, open } = shape.write(row, bindings)
  // The tag covers the record alone. With related records it does not tell whether the answer is still the same.
  if (expansion.length > 0) {
    return Effect.flatMap(expandRows(core, expansion, rows, shape.layout), ({ membersOf, warnings }) => {
      const text = itemWith(open, membersOf(0))
      return fitsIn(text, core.options.maxAnswerBytes)
        ? Effect.succeed(json(200, text, { etag, "cache-control": "no-store", ...allWarnings(warnings) }))
        : Effect.fail(answerTooLarge("Ask for fewer fields or relations."))
    })
  }
  return isHeld(call.header("if-none-match"), etag)
    ? Effect.succeed({ status: 304, headers: { etag }, body: null })
    : fitsIn(open, core.options.maxAnswerBytes)
    // A browser would show its own copy again after a 304, with links that have ended.
    ? Effect.succeed(json(200, `${open}}`, shape.ending ? { etag, "cache-control": "no-store" } : { etag }))
    : Effect.fail(answerTooLarge("Ask for fewer fields."))
}
