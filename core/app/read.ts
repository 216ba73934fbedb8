/**
 * Reading records: list, `:search`, `:seek` and get. Each function is one pipeline over values of the domain; what a caller may not see is gone
 * after the second line of it.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../domain/access/access.ts"
import type { FilterTree } from "../domain/filter/tree.ts"
import { parseJson } from "../domain/json.ts"
import type { Json } from "../domain/model/model.ts"
import type { Cell, Row } from "../domain/model/model.ts"
import { invalidParameter, notFound, problem } from "../domain/problem.ts"
import type { Problem } from "../domain/problem.ts"
import { tagListed } from "../domain/read/etag.ts"
import { keyCondition, readKey } from "../domain/read/key.ts"
import { checkFields, checkFilter, checkOrder, checkShowDeleted, listShape } from "../domain/read/list.ts"
import type { ListShape } from "../domain/read/list.ts"
import { pageContext, readPosition, writePosition } from "../domain/read/page.ts"
import type { PagePosition } from "../domain/read/page.ts"
import type { Bindings, CountPlan, PagePlan } from "../domain/read/plan.ts"
import { getRequest, listRequest, searchRequest, seekRequest } from "../domain/read/request.ts"
import type { ListRequest } from "../domain/read/request.ts"
import type { RecordsError } from "../ports/records.ts"
import { json } from "./call.ts"
import type { Call, Reply } from "./call.ts"
import { bindingsOf, permitted } from "./core.ts"
import type { Core } from "./core.ts"
import { countRows, estimateCap, recallRows, rememberRows } from "./estimate.ts"
import { checkExpand, expandFields, expandRows } from "./expand.ts"
import type { Expansion } from "./expand.ts"
import { allWarnings, guardPlan, queryKey } from "./guard.ts"
import type { Warning } from "./guard.ts"
import { filteredProblem, recordsProblem } from "./refusal.ts"
import { checked, phase } from "./timing.ts"

/** Decodes and parses a JSON body; malformed UTF-8 or JSON is a 400 `malformed-json`. */
export const readJson = (body: Uint8Array): Result.Result<Json, Problem> => {
  let text: string
  try {
    text = decoder.decode(body)
  } catch {
    return Result.fail(problem("malformed-json", "The body is not valid UTF-8."))
  }
  return Result.mapError(
    parseJson(text),
    ({ at, message }) => problem("malformed-json", `The body is not valid JSON: ${message} (at character ${at}).`)
  )
}

const decoder = new TextDecoder("utf-8", { fatal: true })

export const list = Effect.fnUntraced(
  function*(core: Core, call: Call, resource: string): Effect.fn.Return<Reply, Problem> {
    const access = yield* checked("list.access")(() => permitted(call, resource, "read"))
    const request = yield* checked("list.parse")(() => listRequest(call.query))
    return yield* answerList(core, call, access, request)
  }
)

export const search = Effect.fnUntraced(
  function*(core: Core, call: Call, resource: string, body: Uint8Array): Effect.fn.Return<Reply, Problem> {
    const access = yield* checked("list.access")(() => permitted(call, resource, "read"))
    if (call.query.length > 0) {
      return yield* Effect.fail(invalidParameter(call.query[0]![0], "A search takes its parameters in the body."))
    }
    const request = yield* checked("list.parse")(() => Result.flatMap(readJson(body), searchRequest))
    return yield* answerList(core, call, access, request)
  }
)

/** A list request whose texts have been checked against the caller's model. */
interface Checked {
  readonly shape: ListShape
  readonly key: string
  readonly expansion: Expansion
  /** The caller's own filter. */
  readonly filter: FilterTree
}

const checkList = Effect.fnUntraced(function*(
  core: Core,
  call: Call,
  access: Access,
  request: ListRequest
): Effect.fn.Return<Checked, Problem> {
  yield* Effect.fromResult(checkShowDeleted(access.model, request.showDeleted))
  const filter = yield* Effect.fromResult(checkFilter(access.restricted, request.filter))
  const order = yield* Effect.fromResult(checkOrder(access.restricted, request.orderBy))
  const fields = yield* Effect.fromResult(checkFields(access.restricted, request.fields))
  const expansion = yield* checkExpand(call, access, request.expand)
  const shape = listShape(access, {
    filterText: request.filter,
    orderText: request.orderBy,
    filter,
    order,
    fields: request.fields,
    shown: { fields, permissions: core.options.rowPermissions(access.model.name) ? "row" : "none" },
    showDeleted: request.showDeleted,
    limit: request.pageSize + 1,
    more: expandFields(expansion)
  }, core.seal.digest)
  return {
    shape,
    key: queryKey(core, access, request.filter, request.orderBy, String(request.showDeleted)),
    expansion,
    filter
  }
})

const openPosition = (
  core: Core,
  context: string,
  token: string,
  shape: ListShape
): Effect.Effect<PagePosition | null, Problem> => {
  if (token === "") return Effect.succeed(null)
  const text = core.seal.open(context, token)
  const position = text === null ? null : readPosition(text, shape.order.length)
  return position === null
    ? Effect.fail(invalidParameter("page_token", "The page token does not belong to this request."))
    : Effect.succeed(position)
}

/** The cells a row has for the keys of the order: the position of a token. */
const positionCells = (shape: ListShape, row: Row): readonly Cell[] =>
  shape.order.map((sort) => row[shape.layout.position.get(sort.field)!] ?? null)

const answerList = Effect.fnUntraced(function*(
  core: Core,
  call: Call,
  access: Access,
  request: ListRequest
): Effect.fn.Return<Reply, Problem> {
  const { expansion, filter, key, shape } = yield* phase("list.plan")(checkList(core, call, access, request))
  const context = pageContext(call.caller, access.model.name, request, shape.order)
  const position = yield* openPosition(core, context, request.pageToken, shape)
  const bindings = yield* bindingsOf(call.caller)
  const first: PagePlan = { shape: shape.page, bindings }
  const count = { model: access.model, where: shape.page.where, bindings }
  let warning = yield* guardPlan(core, access, key, first, filter)
  if (request.exactCount) {
    warning = { ...warning, ...(yield* guardPlan(core, access, `${key}\u0000count`, { ...count, cap: null }, filter)) }
  }
  const backward = position?.direction === "before"
  const plan: PagePlan = position === null
    ? first
    : backward
    ? { ...first, before: position.cells }
    : { ...first, after: position.cells }

  const known = position !== null && position.estimate >= 0
    ? position.estimate
    : request.exactCount
    ? null
    : yield* recallRows(core, access, key)
  // Where the planner expects few rows, they are counted while they are read for the page.
  const few = position === null && known === null && (core.judgements.get(key)?.rows ?? Infinity) <= fewRows
  const asked: Asked = { access, key, plan, count, exact: request.exactCount }
  const read = few ? readCounted(core, asked) : readPage(core, asked, known)
  const { estimated, rows, total } = yield* executePhase(Effect.catch(read, filteredProblem(filter)))
  // A count of rows that the caller just saw is better than an older estimate.
  const more = rows.length > request.pageSize
  const visible = backward ? rows.slice(more ? 1 : 0) : more ? rows.slice(0, request.pageSize) : rows
  const size = total !== null
    ? Math.min(Number(total), Number.MAX_SAFE_INTEGER)
    : position === null && !more
    ? visible.length
    : Math.max(estimated, visible.length)

  const token = (direction: "after" | "before", row: Row | undefined): string =>
    row === undefined ? "" : core.seal.seal(
      context,
      writePosition({
        direction,
        bothWays: position?.bothWays ?? false,
        cells: positionCells(shape, row),
        estimate: size
      })
    )
  // Walking back, there is always a page to return to: the one the walk came from.
  const next = backward || more ? token("after", visible.at(-1)) : ""
  const previous = position?.bothWays === true ? (!backward || more ? token("before", visible[0]) : "") : null
  const tail = `"next_page_token":"${next}"` +
    (previous === null ? "" : `,"prev_page_token":"${previous}"`) +
    `,"total_size_estimate":${size}` +
    (total === null ? "" : `,"total_size":${size}`)
  return yield* present(core, shape, expansion, visible, bindings, tail, warning)
})

/** A page, and the count that goes with it. */
interface Asked {
  readonly access: Access
  /** Names the query, for what is remembered of it. */
  readonly key: string
  readonly plan: PagePlan
  readonly count: Omit<CountPlan, "cap">
  /** Whether the exact number is answered, too. */
  readonly exact: boolean
}

/** Rows of a page, the exact number of all that pass where it was asked for, and what else is known of it. */
interface Found {
  readonly rows: readonly Row[]
  readonly total: string | null
  readonly estimated: number
}

type Read = Effect.Effect<Found, RecordsError>

const executePhase = phase("list.execute")
const together = { concurrency: "unbounded" } as const

/** The page, and beside it the count where there is none yet. */
const readPage = (core: Core, { access, count, exact, key, plan }: Asked, known: number | null): Read => {
  const page = core.records.page(plan)
  if (exact) {
    const counted = Effect.all([page, core.records.count({ ...count, cap: null })], together)
    return Effect.map(counted, ([rows, total]) => ({ rows, total, estimated: 0 }))
  }
  if (known !== null) return Effect.map(page, (rows) => ({ rows, total: null, estimated: known }))
  return Effect.map(
    Effect.all([page, countRows(core, access, key, count)], together),
    ([rows, estimated]) => ({ rows, total: null, estimated })
  )
}

/** Most rows, by the planner's word, that are all read for a page and their count at once. */
const fewRows = 2_000

/** The first page and the count as one statement; when there are more rows than the planner thought, as two after all. */
const readCounted = (core: Core, asked: Asked): Read =>
  Effect.suspend(() => {
    const { access, exact, key, plan } = asked
    const written = core.estimates.written(access.model.name)
    return Effect.flatMap(core.records.page({ ...plan, counted: estimateCap + 1 }), (rows): Read => {
      const total = rows[0]?.at(-1) ?? "0"
      const estimated = Number(total)
      return estimated > estimateCap
        ? readPage(core, asked, null)
        : Effect.as(rememberRows(core, key, estimated, written), { rows, total: exact ? total : null, estimated })
    })
  })

/** Writes the page: items, what they expand to, and the members after them. */
const present = Effect.fnUntraced(function*(
  core: Core,
  shape: ListShape,
  expansion: Expansion,
  rows: readonly Row[],
  bindings: Bindings,
  tail: string,
  warning: Warning
): Effect.fn.Return<Reply, Problem> {
  const expanded = expansion.length === 0
    ? null
    : yield* phase("list.expand")(expandRows(core, expansion, rows, shape.layout))
  return yield* phase("list.present")(Effect.sync(() => {
    let items = ""
    for (let i = 0; i < rows.length; i++) {
      const item = shape.write(rows[i]!, bindings).open
      items += (i === 0 ? "" : ",") + item + (expanded === null ? "}" : `,"expand":${expanded.members[i]!}}`)
    }
    const headers = expanded === null ? warning : allWarnings([warning, ...expanded.warnings])
    return json(200, `{"items":[${items}],${tail}}`, headers)
  }))
})

/**
 * `:seek`: the page at a row number. The page's own tokens walk on from there both ways; no other position leaves.
 */
export const seek = Effect.fnUntraced(
  function*(core: Core, call: Call, resource: string): Effect.fn.Return<Reply, Problem> {
    const access = yield* checked("seek.access")(() => permitted(call, resource, "read"))
    const request = yield* checked("seek.parse")(() => seekRequest(call.query))
    const { expansion, filter, key, shape } = yield* phase("seek.plan")(checkList(core, call, access, request))
    const bindings = yield* bindingsOf(call.caller)
    const offset = Number(request.position)
    const first: PagePlan = { shape: shape.page, bindings }
    const warning = yield* guardPlan(core, access, key, first, filter)
    const read = (plan: PagePlan) =>
      phase("seek.execute")(Effect.catch(core.records.page(plan), filteredProblem(filter)))
    let rows = yield* read(offset === 0 ? first : { ...first, offset })
    let atStart = offset === 0
    let more = rows.length > request.pageSize
    if (more) rows = rows.slice(0, request.pageSize)
    if (rows.length === 0 && offset > 0) {
      // Beyond the end: the last page, read from the end backwards.
      rows = yield* read({ ...first, before: [] })
      atStart = rows.length <= request.pageSize
      if (!atStart) rows = rows.slice(1)
      more = false
    }
    const context = pageContext(call.caller, access.model.name, request, shape.order)
    const token = (direction: "after" | "before", row: Row | undefined): string =>
      row === undefined
        ? ""
        : core.seal.seal(
          context,
          writePosition({ direction, bothWays: true, cells: positionCells(shape, row), estimate: -1 })
        )
    const tail = `"next_page_token":"${more ? token("after", rows.at(-1)) : ""}"` +
      `,"prev_page_token":"${atStart ? "" : token("before", rows[0])}"`
    return yield* present(core, shape, expansion, rows, bindings, tail, warning)
  }
)

export const get = Effect.fnUntraced(
  function*(core: Core, call: Call, resource: string, segment: string): Effect.fn.Return<Reply, Problem> {
    const access = yield* checked("get.access")(() => permitted(call, resource, "read"))
    const request = yield* Effect.fromResult(getRequest(call.query))
    yield* Effect.fromResult(checkShowDeleted(access.model, request.showDeleted))
    const key = yield* checked("get.parse")(() => readKey(access.model, segment))
    const fields = yield* Effect.fromResult(checkFields(access.restricted, request.fields))
    const expansion = yield* checkExpand(call, access, request.expand)
    const shape = listShape(access, {
      filterText: "",
      orderText: "",
      filter: keyCondition(access.model),
      order: [],
      fields: request.fields,
      shown: { fields, permissions: "full" },
      showDeleted: request.showDeleted,
      limit: 1,
      more: expandFields(expansion)
    }, core.seal.digest)
    const bindings = yield* bindingsOf(call.caller, key)
    const rows = yield* phase("get.execute")(
      Effect.catch(core.records.page({ shape: shape.page, bindings }), recordsProblem)
    )
    const row = rows[0]
    if (row === undefined) return yield* Effect.fail(notFound())
    const item = shape.write(row, bindings)
    // The tag is the record's alone: with related records beside it, it does not tell whether the answer is still the same.
    const alone = expansion.length === 0
    const noneMatch = alone ? call.header("if-none-match") : null
    if (noneMatch !== null && (noneMatch.trim() === "*" || tagListed(noneMatch, item.etag, true))) {
      return { status: 304, headers: { etag: item.etag }, body: null }
    }
    if (alone) return json(200, `${item.open}}`, { etag: item.etag })
    const { members, warnings } = yield* expandRows(core, expansion, rows, shape.layout)
    const headers = { etag: item.etag, "cache-control": "no-store", ...allWarnings(warnings) }
    return json(200, `${item.open},"expand":${members[0]!}}`, headers)
  }
)
