/**
 * Upserts: a PATCH that creates what is missing (AIP-134, `allow_missing`), by the key or by a unique field. The record is locked and goes through the
 * pipeline of an update; where there is none, the values go through that of a create. Where another request creates it in between, the transaction runs again.
 *
 * `on conflict` is not used: it knows neither rules over the stored record nor hooks, and says of a row that it left alone not why.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import type { Bindings, FilterTree } from "../../domain/filter/tree.ts"
import { always, both } from "../../domain/filter/tree.ts"
import type { Field, Model } from "../../domain/model/model.ts"
import { notFound, type Problem } from "../../domain/problem.ts"
import { etagOf } from "../../domain/read/etag.ts"
import { keyCondition, readKey } from "../../domain/read/key.ts"
import { visibleRows } from "../../domain/read/list.ts"
import type { Json, Row } from "../../domain/value/kind.ts"
import type { Precondition } from "../../domain/write/precondition.ts"
import { type UpsertRequest, upsertRequest } from "../../domain/write/request.ts"
import {
  alreadyThere,
  keyedBy,
  nothingToMatch,
  readCreateOnly,
  readMatch,
  splitUpsert
} from "../../domain/write/upsert.ts"
import { RecordsError, type RecordsTransaction } from "../../ports/records.ts"
import { readJson } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import type { Checks, Core } from "../ground/core.ts"
import { permitted, pipeline } from "../ground/core.ts"
import { writeProblem } from "../ground/refusal.ts"
import { during } from "../ground/timing.ts"
import type { RequestFiber } from "../ground/timing.ts"
import { ticketsOf } from "./attach.ts"
import { change, createMany } from "./execute.ts"
import type { WriteResult } from "./execute.ts"
import { type CreateWrite, ownKey, prepareCreate, prepareUpdate, type UpdateWrite, type Write } from "./intent.ts"
import { decisionTree, stillSeen, type WriteStep } from "./judge.ts"
import { answerWrite, presentWrite, standsAlone } from "./single.ts"
import { failedFor, traceOf } from "./transaction.ts"

/** A write to a record that may be there. What is against one of its two ways counts only where that way is taken. */
export interface Upsert {
  readonly access: Access
  /** The unique field that names the record; null: its key. */
  readonly by: Field | null
  /** The cells of the key, or of that field. */
  readonly cells: readonly string[]
  readonly update: Result.Result<UpdateWrite, Problem>
  readonly create: Result.Result<CreateWrite, Problem>
  readonly precondition: Precondition
  /** The record must not be there. */
  readonly createOnly: boolean
}

interface UpsertCall {
  readonly request: UpsertRequest
  readonly resource: string
  readonly body: (access: Access) => Result.Result<Json, Problem>
  readonly cells: (model: Model) => Result.Result<readonly string[], Problem>
  readonly precondition: Precondition
  readonly createOnly: boolean
}

/** Checks all that needs no stored record. It is refused where neither way could be taken. */
export const prepareUpsert = function*(core: Core, call: Pick<Call, "access">, asked: UpsertCall): Checks<Upsert> {
  const { createOnly, precondition, request, resource } = asked
  const updating = permitted(call, resource, "update")
  const creating = request.allowMissing ? permitted(call, resource, "create") : Result.fail(notFound())
  const access = yield* (Result.isSuccess(updating) || !request.allowMissing ? updating : creating)
  const by = yield* readMatch(access, request.match)
  const named = keyedBy(access.model, by)
  const cells = yield* asked.cells(named)
  const body = yield* asked.body(access)
  const { create: whole, fixed, update: part } = request.allowMissing
    ? yield* splitUpsert(access, named.key, cells, body)
    : { create: body, update: body, fixed: new Map() }
  const tickets = ticketsOf(core)
  const update = Result.flatMap(updating, () => prepareUpdate(access, cells, part, precondition, tickets))
  const create = Result.flatMap(creating, () => prepareCreate(access, whole, tickets))
  if (Result.isFailure(update) && Result.isFailure(create)) {
    // What is wrong with the body in both ways, rather than what only a create would lack.
    return yield* Result.fail(Result.isFailure(updating) ? create.failure : update.failure)
  }
  return {
    access,
    by,
    cells,
    update: fixed.size === 0 ? update : Result.map(update, (write) => ({ ...write, fixed })),
    create,
    precondition,
    createOnly
  }
}

/** Places of a request whose creation met a record that another request had made in between. Each is tried once more. */
export type Raced = Set<number>

/** The row that the caller can see under that name, or null. It is locked where it may be changed. */
const findRow = (tx: RecordsTransaction, upsert: Upsert, bindings: Bindings): WriteStep<Row | null> => {
  const { access, by, cells, createOnly } = upsert
  const { model } = access
  const visible = visibleRows(access, always, false)
  const where: FilterTree = both(visible, keyCondition(by === null ? model : keyedField(model, by)))
  const named = { ...bindings, params: cells }
  const read = (columns: readonly Field[]): WriteStep<Row | null> =>
    Effect.map(
      tx.page({ shape: { model, columns, where, order: [], limit: 1, checks: [] }, bindings: named }),
      ([row]) => row ?? null
    )
  if (createOnly || Result.isFailure(upsert.update)) return read(model.columns)
  const lock = (key: readonly string[]): WriteStep<Row | null> =>
    Effect.flatMap(
      tx.lock({
        model,
        key,
        where: by === null ? visible : where,
        columns: model.columns,
        checks: [decisionTree(access.decisions.update)],
        bindings: named
      }),
      (row): WriteStep<Row | null> =>
        row === null
          ? Effect.succeed(null)
          : Effect.map(stillSeen(tx, access, ownKey(model, row), bindings), (seen) => seen ? row : null)
    )
  return by === null
    ? lock(cells)
    : Effect.flatMap(read(model.key), (key) => key === null ? Effect.succeed(null) : lock(key as readonly string[]))
}

const keyed = new WeakMap<Field, Model>()

/** The same object for each field, as what is compiled from a condition is found by it. */
const keyedField = (model: Model, by: Field): Model => {
  let named = keyed.get(by)
  if (named === undefined) keyed.set(by, named = keyedBy(model, by))
  return named
}

/** Runs an upsert inside a transaction. `place` stands for it among those that were tried before. */
export const executeUpsert = (
  core: Core,
  tx: RecordsTransaction,
  upsert: Upsert,
  bindings: Bindings,
  raced: Raced,
  place = 0,
  midway = false
): WriteStep<WriteResult> =>
  Effect.flatMap(findRow(tx, upsert, bindings), (row): WriteStep<WriteResult> => {
    const { access, create, createOnly, precondition, update } = upsert
    if (row !== null) {
      if (createOnly) return Effect.fail(alreadyThere(etagOf(access.restricted, row, core.seal)))
      return Result.isFailure(update)
        ? Effect.fail(update.failure)
        : change(core, tx, { ...update.success, key: ownKey(access.model, row), midway }, row, bindings)
    }
    if (Result.isFailure(create)) return Effect.fail(create.failure)
    if (precondition !== null && precondition.trim() !== "*") return Effect.fail(nothingToMatch())
    return Effect.catch(
      Effect.map(createMany(core, tx, [create.success], bindings), (written) => written[0]!),
      (error) => {
        if (raced.has(place) || !failedFor(error, "Unique")) return Effect.fail(error)
        // Perhaps the record was made since it was looked for. To the code around, this is a conflict: nothing is written, and it runs again.
        raced.add(place)
        return Effect.fail(new RecordsError({ reason: { _tag: "Conflict" }, cause: error }))
      }
    )
  })

const planUpsert = function*(
  fiber: RequestFiber,
  core: Core,
  call: Call,
  resource: string,
  segment: string,
  bytes: Uint8Array
): Checks<{ readonly upsert: Upsert; readonly rest: Call["query"]; readonly allowMissing: boolean }> {
  const { request, rest } = yield* upsertRequest(call.query)
  const precondition = call.header("if-match")
  const asked: UpsertCall = {
    request,
    resource,
    cells: (model) => readKey(model, segment),
    body: () => during(fiber, "write.parse", () => readJson(bytes)),
    precondition,
    createOnly: request.allowMissing && (yield* readCreateOnly(precondition, call.header("if-none-match")))
  }
  const upsert = yield* during(fiber, "write.plan", () => Result.gen(() => prepareUpsert(core, call, asked)))
  return { upsert, rest, allowMissing: request.allowMissing }
}

/** What an idempotency key stands for besides the path: the body, and by which field the path names the record. */
const requested = ({ by }: Upsert, body: Uint8Array): Uint8Array =>
  by === null ? body : new TextEncoder().encode(`${by.name}\n${new TextDecoder().decode(body)}`)

/** `PATCH` with `allow_missing` or `match`: 201 where it created the record, else the answer of a PATCH. */
export const upsert = (
  core: Core,
  call: Call,
  resource: string,
  segment: string,
  body: Uint8Array
): Effect.Effect<Reply, Problem> =>
  pipeline(
    (fiber) => Result.gen(() => planUpsert(fiber, core, call, resource, segment, body)),
    ({ allowMissing, rest, upsert }, fiber) => {
      const raced: Raced = new Set()
      const alone = (way: Result.Result<Write, Problem>) => Result.isFailure(way) || standsAlone(core, way.success)
      const collection = call.path.slice(0, call.path.lastIndexOf("/"))
      return answerWrite<never>(
        fiber,
        core,
        { ...call, query: rest },
        allowMissing ? requested(upsert, body) : null,
        (tx, bindings, rehearses) =>
          Effect.map(executeUpsert(core, tx, upsert, bindings, raced), (written) => ({
            reply: presentWrite(core, { ...call, path: collection }, written, bindings, rehearses),
            written: [traceOf(written)]
          })),
        alone(upsert.update) && alone(upsert.create),
        writeProblem(upsert.access, "update")
      )
    }
  )
