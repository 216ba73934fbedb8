/**
 * `:bulk`: one change of all records that pass a filter. A dry run counts them and tries the first ones. Otherwise the request starts a task, which works
 * in batches by key. Each record passes the pipeline of a single write, on the condition of the version that its batch read.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import type { Bindings, FilterTree } from "../../domain/filter/tree.ts"
import { allOf, goesThrough, not } from "../../domain/filter/tree.ts"
import { accessDenied, invalidParameter, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { etagOf } from "../../domain/read/etag.ts"
import { keyed, readKey, writeKey } from "../../domain/read/key.ts"
import { checkFilter, deletedRows, visibleRows } from "../../domain/read/list.ts"
import type { PagePlan, PageShape } from "../../domain/read/plan.ts"
import { readBulk } from "../../domain/task/request.ts"
import { batchSize, mostListed, previewMs, previewSize } from "../../domain/task/task.ts"
import type { BulkRequest, TaskRefusal } from "../../domain/task/task.ts"
import type { Cell, Row } from "../../domain/value/kind.ts"
import { resolveKey } from "../../domain/write/batch.ts"
import type { RecordsError, RecordsTransaction } from "../../ports/records.ts"
import { named } from "../ground/audit.ts"
import { json, readJson } from "../ground/call.ts"
import type { Accesses, Call, Reply } from "../ground/call.ts"
import { bindingsAt, permitted, pipeline } from "../ground/core.ts"
import type { Checks, Core } from "../ground/core.ts"
import { guardPlan, queryKey, relatedName } from "../ground/guard.ts"
import { filteredProblem } from "../ground/refusal.ts"
import { clockOf, during } from "../ground/timing.ts"
import { noReferences } from "../write/batch.ts"
import { cells, ownKey, prepareUpdate, ruleOf } from "../write/intent.ts"
import type { Write } from "../write/intent.ts"
import { answerWrite } from "../write/single.ts"
import type { Outcome } from "../write/single.ts"
import { tryBatch } from "./task-batch.ts"
import type { BatchOutcome, Item } from "./task-batch.ts"
import { beginTask } from "./tasking.ts"
import type { Tasking } from "./tasking.ts"

/** Bytes of the new values of a batch, and of its records where they are too many for one answer. */
const batchBytes = 4 * 1024 * 1024

/** The records of a bulk change for a caller, and the change of each. */
export interface BulkScope {
  readonly access: Access
  readonly filter: FilterTree
  readonly page: PageShape
  readonly write: (row: Row) => Write
}

/** Checks a bulk change against the caller's current access. */
export const bulkScope = function*(
  core: Core,
  accesses: Accesses,
  resource: string,
  { data, except, filter: text, op }: BulkRequest,
  limit = batchSize
): Checks<BulkScope> {
  const call = { access: accesses }
  yield* permitted(call, resource, "read")
  const access = yield* permitted(call, resource, ruleOf(op))
  const { model, restricted } = access
  // The report names records by their keys.
  if (!model.key.every(({ name }) => restricted.byName.has(name))) return yield* Result.fail(accessDenied())
  const filter = yield* checkFilter(accesses, access, text)
  const keys: Array<readonly string[]> = []
  for (const key of except) keys.push(yield* readKey(model, key))
  if (op === "undelete" && model.softDelete === null) {
    return yield* Result.fail(
      invalidParameter("op", "This resource has no soft delete: its records cannot be undeleted.")
    )
  }
  const visible = op === "undelete" ? deletedRows(access, filter) : visibleRows(access, filter, false)
  const where = keys.length === 0 ? visible : allOf([visible, not(keyed(model, keys))])
  const page: PageShape = {
    model,
    columns: model.columns,
    where,
    order: model.key.map((field) => ({ field, descending: false })),
    // The values of a batch are in memory once for each record.
    limit: Math.max(1, Math.min(limit, Math.floor(batchBytes / JSON.stringify(data).length))),
    checks: []
  }
  const versionOf = (row: Row) => ({
    key: ownKey(model, row),
    precondition: etagOf(restricted, row, core.seal)
  })
  if (op !== "update") return { access, filter, page, write: (row) => ({ op, access, ...versionOf(row) }) }
  const prepared = yield* prepareUpdate(access, [], data, null)
  if (prepared.files.some(({ cell }) => cell !== null)) {
    return yield* Result.fail(invalidParameter("data", "Files are changed one record at a time."))
  }
  return { access, filter, page, write: (row) => ({ ...prepared, ...versionOf(row) }) }
}

/** The records of one batch. `next` is the position after them, or null if there are no more. */
export interface BulkBatch {
  readonly items: readonly Item[]
  readonly next: readonly Cell[] | null
}

/** Reads a batch. It holds no lock: a record that changes before it is written is refused by its version. */
export const readBatchRows = (
  core: Core,
  { access, filter, page, write }: BulkScope,
  bindings: Bindings,
  after: readonly Cell[] | null
): Effect.Effect<BulkBatch, Problem> => {
  const plan: PagePlan = after === null ? { shape: page, bindings } : { shape: page, bindings, after }
  const read = Effect.catch(
    Effect.map(core.records.page(plan), (rows) => ({ rows, cut: rows.length === page.limit })),
    (error): Effect.Effect<{ readonly rows: readonly Row[]; readonly cut: boolean }, RecordsError> =>
      error.reason._tag === "TooLarge" ? core.records.pageWithin(plan, batchBytes) : Effect.fail(error)
  )
  return Effect.map(Effect.catch(read, filteredProblem(filter)), ({ cut, rows }) => {
    const last = rows.at(-1)
    return {
      items: rows.map((row): Item => ({
        place: { key: writeKey(ownKey(access.model, row)), line: null },
        access,
        write: write(row)
      })),
      next: cut && last !== undefined ? page.order.map(({ field }) => cells(last)(field)) : null
    }
  })
}

/**
 * The items of a batch in the transaction that writes them. A record that has changed is refused by its version. One whose related records have changed is
 * not, so a filter through relations is asked again.
 */
export const stillPassing = (
  tx: RecordsTransaction,
  { access: { model }, filter, page }: BulkScope,
  items: readonly Item[],
  bindings: Bindings
): Effect.Effect<readonly Item[], RecordsError> => {
  const keys = items.flatMap(({ write }) => "key" in write ? [write.key] : [])
  if (!goesThrough(filter) || keys.length === 0) return Effect.succeed(items)
  const where = allOf([keyed(model, keys), page.where])
  return Effect.map(
    tx.page({ shape: { ...page, columns: model.key, where, limit: keys.length }, bindings }),
    (rows) => {
      const passing = new Set(rows.map((row) => writeKey(row.map((cell) => cell ?? ""))))
      return items.map((item) =>
        passing.has(item.place.key ?? "")
          ? item
          : { ...item, write: problem("precondition-failed", "The record does not match the filter any more.") }
      )
    }
  )
}

const planBulk = function*(core: Core, call: Call, resource: string, body: Uint8Array): Checks<{
  readonly request: BulkRequest
  readonly scope: BulkScope
}> {
  const access = yield* permitted(call, resource, "read")
  const { data, except, filter, op } = yield* Result.flatMap(readJson(body), readBulk)
  const keys: string[] = []
  for (const key of except) keys.push(writeKey(yield* resolveKey(access.model, noReferences, key)))
  const request: BulkRequest = { kind: "bulk", op, filter, except: keys, data }
  return { request, scope: yield* bulkScope(core, call.access, resource, request) }
}

/** What a dry run found about the records that it tried. */
type Preview = Pick<BatchOutcome, "written" | "refused" | "refusals"> & { readonly tried: number }

/** Tries batches and undoes each, until there are as many refusals as an answer lists, enough were tried, or it takes too long. */
const preview = Effect.fnUntraced(function*(
  { core, unexpected }: Tasking,
  scope: BulkScope,
  tx: RecordsTransaction,
  bindings: Bindings
): Effect.fn.Return<Preview, Problem | RecordsError> {
  const until = (yield* Clock.currentTimeMillis) + previewMs
  const refusedLines: TaskRefusal[] = []
  const preview = { tried: 0, written: 0, refused: 0, refusals: refusedLines }
  let after: readonly Cell[] | null = null
  do {
    const { items, next }: BulkBatch = yield* readBatchRows(core, scope, bindings, after)
    const { refusals, refused, written } = yield* tryBatch(core, tx, items, bindings, unexpected)
    preview.tried += items.length
    preview.written += written
    preview.refused += refused
    preview.refusals.push(...refusals.slice(0, mostListed - preview.refusals.length))
    after = next
  } while (
    after !== null && preview.refusals.length < mostListed && preview.tried < previewSize &&
    (yield* Clock.currentTimeMillis) < until
  )
  return preview
})

/** `POST :bulk`: 202 with the task. With `dry_run`: the number of records, and the refusals among the first ones. */
export const bulk = (use: Tasking, call: Call, resource: string, body: Uint8Array): Effect.Effect<Reply, Problem> => {
  const { core } = use
  return pipeline(
    (fiber) => during(fiber, "bulk.plan", () => Result.gen(() => planBulk(core, call, resource, body))),
    Effect.fnUntraced(function*({ request, scope }, fiber) {
      const { access, filter, page } = scope
      const bindings = bindingsAt(clockOf(fiber), call.caller)
      const count = { model: access.model, where: page.where, bindings }
      const key = queryKey(core, access, "bulk", relatedName(access, filter), request.filter, request.except.join(" "))
      yield* guardPlan(core, access, key, { ...count, cap: null }, filter)
      const counted = yield* Effect.catch(core.records.count({ ...count, cap: null }), filteredProblem(filter))
      const total = Number(counted)
      const answering = answerWrite<never>(fiber, core, call, body, (tx, now, rehearses) => {
        if (!rehearses) return beginTask(use, call, { resource, request, state: "running", total }, tx)
        return Effect.map(preview(use, scope, tx, now), (preview): Outcome => ({
          reply: json(200, JSON.stringify({ total, ...preview })),
          written: []
        }))
      })
      const answer = yield* named(core, call.caller, answering)
      use.wake()
      return answer
    })
  )
}
