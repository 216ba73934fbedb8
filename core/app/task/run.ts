/**
 * The job of a task: batch after batch, each in one transaction with its progress, under the current access of the person. After five seconds it
 * enqueues another job for the rest. So its timeout is short, and a process that dies delays a task by about a minute.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type Caller, sharedRoles } from "../../domain/access/caller.ts"
import type { JobModel } from "../../domain/job/definition.ts"
import { LeftToOthers, leftToOthers } from "../../domain/job/failure.ts"
import { ownJson } from "../../domain/own-json.ts"
import { Problem, problem } from "../../domain/problem.ts"
import { readPlan } from "../../domain/task/mapping.ts"
import { batchSize, working } from "../../domain/task/task.ts"
import type { BulkRequest, ImportRequest, Task, TaskRefusal, TaskState } from "../../domain/task/task.ts"
import type { UploadedLine } from "../../domain/task/upload.ts"
import { microsFromCell } from "../../domain/value/instant.ts"
import type { Cell } from "../../domain/value/kind.ts"
import type { QueueError } from "../../ports/queue.ts"
import { RecordsError } from "../../ports/records.ts"
import type { RecordsTransaction } from "../../ports/records.ts"
import type { Accesses } from "../ground/call.ts"
import { bindingsAt, namedFor } from "../ground/core.ts"
import { runJob } from "../ground/run.ts"
import { clockOf } from "../ground/timing.ts"
import { committed, inTransaction, scheduleTaken } from "../write/transaction.ts"
import type { Trace } from "../write/transaction.ts"
import { bulkScope, readBatchRows, stillPassing } from "./bulk.ts"
import { importAccess, importItems } from "./import.ts"
import { lockedTogether, writeBatch } from "./task-batch.ts"
import type { Item } from "./task-batch.ts"
import type { Tasking } from "./tasking.ts"

/** The job's name. */
export const taskJobName = "tasks.run"

/** How long one job works on a task before the next job continues, and its timeout. */
const sliceMs = 5_000
const timeoutMs = 45_000
const mostTries = 12
/** Records of a batch of a bulk change after an earlier failure. */
const smallBatch = 50

/** The next records, and where the batch after them begins. Null: these are the last. */
interface Batch {
  readonly count: number
  readonly next: string | null
  readonly items: (tx: RecordsTransaction, now: bigint) => Effect.Effect<readonly Item[], RecordsError>
}

/** Ends an import at the first batch with a refused line. Nothing of that batch is written. */
class Stopped {
  readonly _tag = "Stopped"
  readonly refused: number
  readonly refusals: readonly TaskRefusal[]
  constructor(refused: number, refusals: readonly TaskRefusal[]) {
    this.refused = refused
    this.refusals = refusals
  }
}

const endWith = (use: Tasking, task: Task, { detail, slug }: Pick<Problem, "detail" | "slug">) =>
  use.tasks.change(task.id, working, { state: "failed", error: { slug, message: detail }, drop: true })

const bulkBatch = Effect.fnUntraced(function*(
  use: Tasking,
  task: Task,
  request: BulkRequest,
  caller: Caller,
  accesses: Accesses,
  limit: number
): Effect.fn.Return<Batch, Problem> {
  const scope = yield* Effect.fromResult(Result.gen(() => bulkScope(use.core, accesses, task.resource, request, limit)))
  // For every batch, `now()` in the filter is the start of the task.
  const bindings = { caller, now: microsFromCell(task.createdAt), params: [] }
  const after = task.position === null ? null : ownJson<readonly Cell[]>(task.position)
  const { items, next } = yield* readBatchRows(use.core, scope, bindings, after)
  return {
    count: items.length,
    next: next === null ? null : JSON.stringify(next),
    items: (tx) => stillPassing(tx, scope, items, bindings)
  }
})

const importBatch = Effect.fnUntraced(function*(
  use: Tasking,
  task: Task,
  request: ImportRequest,
  caller: Caller,
  accesses: Accesses
): Effect.fn.Return<Batch, Problem | RecordsError> {
  const access = yield* Effect.fromResult(
    Result.gen(() => importAccess({ access: accesses }, task.resource, request.plan!.mode))
  )
  // A field that the person may not fill any more is not left out silently.
  const plan = yield* Effect.fromResult(readPlan(access, request, { ...request.plan! }))
  const part = Number(task.position ?? "0")
  const text = yield* use.tasks.part(task.id, part)
  const lines = text === null ? [] : ownJson<readonly UploadedLine[]>(text)
  const isLast = task.done + lines.length >= (task.total ?? 0) || text === null
  return {
    count: lines.length,
    next: isLast ? null : String(part + 1),
    items: (tx, now) => importItems(use.core, tx, access, request, plan, lines, { caller, now, params: [] })
  }
})

/** Does one batch. False: nothing is left to do. */
const step = Effect.fnUntraced(function*(
  use: Tasking,
  task: Task,
  tries: number
): Effect.fn.Return<boolean, RecordsError | LeftToOthers> {
  const { core, tasks } = use
  const { owner, request } = task
  const now = yield* use.rolesOf(owner.id, owner.tenant)
  if (now === "elsewhere") {
    const at = yield* Clock.currentTimeMillis
    const why = "This process does not know the tenant of the task."
    return yield* Effect.fail(leftToOthers(at, Date.parse(task.createdAt), why))
  }
  const roles = sharedRoles(owner.roles, now ?? [])
  if (roles.length === 0) {
    yield* endWith(use, task, problem("access-denied", "The user who started the task no longer has access."))
    return false
  }
  const caller: Caller = { id: owner.id, roles, tenant: owner.tenant }
  const accesses = use.accesses(caller)
  const rehearses = task.state === "checking"
  const read = yield* Effect.result(
    request.kind === "bulk"
      ? bulkBatch(use, task, request, caller, accesses, tries > 1 ? smallBatch : batchSize)
      : importBatch(use, task, request, caller, accesses)
  )
  if (Result.isFailure(read)) {
    if (read.failure instanceof RecordsError) return yield* Effect.fail(read.failure)
    if (read.failure.slug === "unavailable" || read.failure.slug === "statement-timeout") {
      return yield* Effect.die(read.failure)
    }
    yield* endWith(use, task, read.failure)
    return false
  }
  const batch = read.success
  const last: TaskState = rehearses ? "checked" : "completed"
  const stops = !rehearses && request.kind === "import" && request.plan?.errors === "stop"
  const work = (tx: RecordsTransaction) =>
    Effect.gen(function*(): Effect.fn.Return<readonly Trace[] | null, Problem | RecordsError | Stopped> {
      const claimed = yield* tasks.claim(task.id, tx.handle)
      // Another process did this batch, or somebody cancelled.
      if (claimed === null || claimed.state !== task.state || claimed.position !== task.position) return null
      const bindings = yield* Effect.withFiber((fiber) => Effect.succeed(bindingsAt(clockOf(fiber), caller)))
      const items = yield* batch.items(tx, bindings.now)
      const held = yield* lockedTogether(core, tx, items, bindings)
      const done = yield* writeBatch(core, held, items, bindings, rehearses, use.unexpected)
      if (stops && done.refused > 0) return yield* Effect.fail(new Stopped(done.refused, done.refusals))
      const traces = rehearses ? [] : done.traces
      yield* scheduleTaken(core, traces) ?? Effect.void
      yield* tasks.change(task.id, [task.state], {
        position: batch.next,
        done: batch.count,
        written: done.written,
        refused: done.refused,
        refusals: done.refusals,
        ...(batch.next === null ? { state: last, drop: !rehearses } : {})
      }, tx.handle)
      return traces
    })
  const writing = inTransaction<readonly Trace[] | null, Problem | Stopped>(core, work)
  const outcome = yield* Effect.result(namedFor(core, { caller }, [task.resource], writing))
  if (Result.isSuccess(outcome)) {
    for (const trace of outcome.success ?? []) committed(core, trace)
    return batch.next !== null || outcome.success === null
  }
  const { failure } = outcome
  if (failure instanceof RecordsError) return yield* Effect.fail(failure)
  if (failure instanceof Problem) return yield* Effect.die(failure)
  yield* tasks.change(task.id, ["running"], {
    state: "failed",
    refused: failure.refused,
    refusals: failure.refusals,
    error: { slug: "invalid-record", message: "A line was refused, so the import stopped before its batch." },
    drop: true
  })
  return false
})

/** Works on a task until it ends, five seconds have passed, or it has to stop. */
export const runTask = Effect.fnUntraced(function*(
  use: Tasking,
  id: string,
  tries = 1,
  stopped: () => boolean = () => false
): Effect.fn.Return<void, RecordsError | QueueError | LeftToOthers> {
  const until = (yield* Clock.currentTimeMillis) + sliceMs
  for (;;) {
    const task = yield* use.tasks.find(id)
    if (task === null || !working.includes(task.state)) return
    if (!(yield* step(use, task, tries))) return
    if (stopped() || (yield* Clock.currentTimeMillis) > until) {
      yield* use.enqueue(id)
      return use.wake()
    }
  }
})

/** The job of tasks. When its last attempt fails, the task fails. */
export const taskJob = (use: Tasking): JobModel => ({
  name: taskJobName,
  payload: null,
  maxAttempts: mostTries,
  retryDelayMs: 2_000,
  maxRetryDelayMs: 60_000,
  retryStepsMs: null,
  timeoutMs,
  concurrency: 2,
  maxRunning: null,
  rate: null,
  ordered: false,
  schedule: null,
  run: async (payload, { job, signal }) => {
    const { id } = payload as { readonly id: string }
    try {
      await runJob(runTask(use, id, job.attempt, () => signal.aborted), signal)
    } catch (error) {
      if (job.attempt >= job.maxAttempts && !(error instanceof LeftToOthers)) {
        const failed = {
          slug: "internal-error",
          message: "The task failed several times. The operator finds the reason in the log of jobs."
        }
        await runJob(use.tasks.change(id, working, { state: "failed", error: failed, drop: true }), signal).catch(
          () => {}
        )
      }
      throw error
    }
  }
})
