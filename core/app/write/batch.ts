/**
 * `:batchWrite`: operations in order inside one transaction, each through the write pipeline. Consecutive creates of one resource go to the
 * database together where the result is the same. When such a group fails, the batch runs again one by one, so that the failing operation is
 * named.
 *
 * A batch is bounded as a whole: the records that it reads, writes and copies (`maxBatchBytes`), its answer (`maxAnswerBytes`), and its time. Of
 * a record it keeps only what the answer and later operations need. Existing rows are locked in the order of their keys before the first
 * operation.
 */

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import { allOf, always } from "../../domain/filter/tree.ts"
import type { Bindings } from "../../domain/filter/tree.ts"
import type { Field } from "../../domain/model/model.ts"
import { invalidParameter, Problem, problem } from "../../domain/problem.ts"
import { keyed, readKey, writeKey } from "../../domain/read/key.ts"
import { visibleRows } from "../../domain/read/list.ts"
import { rowBytes } from "../../domain/value/bytes.ts"
import type { Cell, Json } from "../../domain/value/kind.ts"
import {
  inOperation,
  isReference,
  isUpsert,
  readBatch,
  referencedNames,
  referredFields,
  resolveData,
  resolveKey
} from "../../domain/write/batch.ts"
import type { BatchOperation, Referenced } from "../../domain/write/batch.ts"
import { uploadsIn } from "../../domain/write/file-values.ts"
import type { GivenUpload } from "../../domain/write/file-values.ts"
import { returnPreference } from "../../domain/write/precondition.ts"
import { RecordsError } from "../../ports/records.ts"
import type { RecordsTransaction } from "../../ports/records.ts"
import { json, readJson } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import { namedFor, permitted, pipeline } from "../ground/core.ts"
import type { Core } from "../ground/core.ts"
import { OperationDefect, writeProblem } from "../ground/refusal.ts"
import { clockOf, during } from "../ground/timing.ts"
import type { RequestFiber } from "../ground/timing.ts"
import { foresee, Prepared, ticketsOf } from "./attach.ts"
import { Budget } from "./budget.ts"
import { createMany, execute } from "./execute.ts"
import type { WriteResult } from "./execute.ts"
import { cells, prepareCreate, prepareUpdate } from "./intent.ts"
import type { CreateWrite } from "./intent.ts"
import { isRefusedValue } from "./judge.ts"
import { reorder } from "./reorder.ts"
import { answerWrite, preferenceApplied } from "./single.ts"
import type { Outcome } from "./single.ts"
import { traceOf, writtenRecord } from "./transaction.ts"
import type { Trace } from "./transaction.ts"
import { executeUpsert, prepareUpsert } from "./upsert.ts"
import type { Raced } from "./upsert.ts"

/** A group of creates failed: which of them is found by running one by one. */
class GroupFailed {
  readonly _tag = "GroupFailed"
}

type Create = BatchOperation & { op: "create" }

/** A create that waits for others of its kind. */
interface Pending {
  readonly index: number
  readonly operation: Create
  readonly write: CreateWrite
}

/** How operations are answered and refused. */
export interface BatchAnswers {
  /** The answer's entry for a record that was written, as JSON. */
  readonly entry: (run: Answering, written: WriteResult, tells: boolean) => string
  readonly reply: (entries: readonly string[], written: readonly Trace[]) => Reply
  /** The refusal of a single operation. */
  readonly refusal: (error: Problem, index: number, operation: BatchOperation) => Problem
}

/** What an answer depends on besides what was written. */
type Answering = Pick<Run, "bindings" | "core" | "minimal" | "rehearses">

/** The state of one run of a batch. */
interface Run {
  readonly core: Core
  readonly call: Call
  readonly tx: RecordsTransaction
  readonly bindings: Bindings
  readonly grouped: boolean
  readonly minimal: boolean
  readonly rehearses: boolean
  readonly told: BatchAnswers
  readonly budget: Budget
  /** Which fields of which named records the operations refer to. */
  readonly referred: ReadonlyMap<string, ReadonlySet<string>>
  readonly references: Map<string, Referenced>
  /** Upserts that met a record of another request; it outlives the run. */
  readonly raced: Raced
  pending: Pending[]
  /** Bytes of the values that wait. */
  waiting: number
  /** What a failure is of; null where it is no single operation's. */
  underWay: { readonly index: number; readonly operation: BatchOperation } | null
  readonly written: Trace[]
  /** The answer's entry for each operation, as JSON. */
  readonly results: string[]
}

type Step<A> = Effect.Effect<A, Problem | RecordsError | GroupFailed>
type Steps<A> = Effect.fn.Return<A, Problem | RecordsError | GroupFailed>

/** A batch has as long as this many statements may take. */
const statementsOfTime = 4

/**
 * Ends work when the time of a batch is over; all tries of a request share it. To be put around the operations and not around the commit: a batch that was
 * committed must not be called late.
 */
export const timeOf = (
  fiber: RequestFiber,
  core: Core
): <A, E>(work: Effect.Effect<A, E>) => Effect.Effect<A, E | Problem> => {
  const clock = clockOf(fiber)
  const milliseconds = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  const deadline = milliseconds() + statementsOfTime * core.options.statementTimeoutMs
  const message = "The batch did not finish in time. Send fewer operations at once."
  return (work) =>
    Effect.suspend(() =>
      Effect.timeoutOrElse(work, {
        duration: Math.max(1, deadline - milliseconds()),
        orElse: () => Effect.fail(problem("statement-timeout", message))
      })
    )
}

/** `POST :batchWrite`: all operations or none; a failure names its operation. */
export const batch = (core: Core, call: Call, body: Uint8Array): Effect.Effect<Reply, Problem> =>
  pipeline(
    (fiber) => during(fiber, "batch.parse", () => Result.flatMap(readJson(body), readBatch)),
    (operations, fiber) => {
      const preference = returnPreference(call.header("prefer"))
      const resources = operations.map(({ resource }) => resource)
      const answer = runBatch(fiber, core, call, body, operations, {
        entry: writtenResult,
        reply: (results) => json(200, `{"results":[${results.join(",")}]}`, preferenceApplied(preference)),
        refusal: (error, index, { op, resource }) => inOperation(error, index, op, resource)
      })
      return namedFor(core, call, resources, answer)
    }
  )

/** Runs operations in order in one transaction, within the bounds of a batch. */
export const runBatch = (
  fiber: RequestFiber,
  core: Core,
  call: Call,
  /** What the client sent. */
  body: Uint8Array,
  operations: readonly BatchOperation[],
  told: BatchAnswers
): Effect.Effect<Reply, Problem> => {
  const minimal = returnPreference(call.header("prefer")) === "minimal"
  const inTime = timeOf(fiber, core)
  const referred = referredFields(operations)
  const runAll = (grouped: boolean) => {
    let last: Run | undefined
    const raced: Raced = new Set()
    const answer = answerWrite(
      fiber,
      core,
      call,
      body,
      (tx, bindings, rehearses): Effect.Effect<Outcome, Problem | RecordsError | GroupFailed> => {
        const run: Run = last = {
          core,
          call,
          tx,
          bindings,
          grouped,
          minimal,
          rehearses,
          told,
          budget: new Budget(core.options),
          referred,
          references: new Map(),
          raced,
          pending: [],
          waiting: 0,
          underWay: null,
          written: [],
          results: []
        }
        return Effect.map(inTime(runOperations(run, operations)), () => ({
          reply: told.reply(run.results, run.written),
          written: run.written
        }))
      }
    )
    return Effect.catchCause(
      Effect.mapError(answer, (error) => error instanceof Problem ? named(error, last) : error),
      (cause) => Effect.failCause(defectNamed(cause, last))
    )
  }
  const foreseen = <A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E> => {
    const uploads = uploadsOf(core, call, operations)
    // One alone is asked for when its operation takes it.
    return core.files === null || uploads.length < 2
      ? work
      : Effect.flatMap(foresee(core.files, uploads), (there) => Effect.provideService(work, Prepared, there))
  }
  // Hooks see every write as it happens, so that nothing is grouped where there are any.
  const ungrouped = Effect.catch(
    runAll(false),
    (error) => error instanceof GroupFailed ? Effect.die(error) : Effect.fail(error)
  )
  return foreseen(
    core.options.writeHooks.length > 0
      ? ungrouped
      : Effect.catch(runAll(true), (error) => error instanceof GroupFailed ? ungrouped : Effect.fail(error))
  )
}

/** The uploads that operations attach, as far as the caller may write at all. */
const uploadsOf = (core: Core, call: Call, operations: readonly BatchOperation[]): readonly GivenUpload[] => {
  const tickets = ticketsOf(core)
  if (tickets === null) return []
  return operations.flatMap((operation) => {
    if (operation.op !== "create" && operation.op !== "update") return []
    const { data, op, resource } = operation
    // Who may only create takes the other way of an upsert.
    const ways = op === "update" && operation.allowMissing ? [op, "create" as const] : [op]
    const way = ways.find((each) => Result.isSuccess(permitted(call, resource, each)))
    return way === undefined ? [] : uploadsIn(call.access(resource)!, data, way, tickets)
  })
}

const runOperations = Effect.fnUntraced(function*(run: Run, operations: readonly BatchOperation[]): Steps<void> {
  yield* lockNamed(run, operations)
  for (let index = 0; index < operations.length; index++) {
    const operation = operations[index]!
    if (operation.op === "create") yield* queue(run, index, operation)
    else {
      yield* flush(run)
      run.underWay = { index, operation }
      yield* runOne(run, index, operation)
    }
  }
  yield* flush(run)
  run.underWay = null
})

/** Adds the operation to a failure: the operation that ran when the last try ended. */
const named = (error: Problem, run: Run | undefined): Problem => {
  if (run === undefined || run.underWay === null) return error
  const { index, operation } = run.underWay
  return run.told.refusal(error, index, operation)
}

/** The same for a defect, such as a hook that throws. Where several things went wrong at once, it is no single operation's. */
const defectNamed = <E>(cause: Cause.Cause<E>, run: Run | undefined): Cause.Cause<E> => {
  const [only] = cause.reasons
  if (run === undefined || run.underWay === null || cause.reasons.length !== 1 || !Cause.isDieReason(only!)) {
    return cause
  }
  const { index, operation: { op, resource } } = run.underWay
  return Cause.die(new OperationDefect(only.defect, { operation: index, op, resource }))
}

// -------------------------------------------------------------------------------------------------------------------- locks

/** Rows of one resource that a batch names by key. */
interface RowsByKey {
  readonly access: Access
  readonly keys: Map<string, readonly string[]>
}

/** Nothing to refer to. */
export const noReferences: ReadonlyMap<string, Referenced> = new Map()

/** The rows that updates, deletes and reorders name, by resource. What an operation has against its key or access it says in its turn. */
const namedRows = (run: Run, operations: readonly BatchOperation[]): readonly RowsByKey[] => {
  const rows = new Map<string, RowsByKey>()
  for (const operation of operations) {
    // A record that a unique field names is locked when its turn comes.
    if (operation.op === "create" || (operation.op === "update" && operation.match !== "")) continue
    const { op, resource } = operation
    const access = permitted(run.call, resource, op === "delete" ? "delete" : "update")
    if (Result.isFailure(access)) continue
    const { model } = access.success
    let named = rows.get(model.name)
    if (named === undefined) rows.set(model.name, named = { access: access.success, keys: new Map() })
    for (const key of op === "reorder" ? operation.keys : [operation.key]) {
      const parts = resolveKey(model, noReferences, key)
      if (Result.isSuccess(parts)) named.keys.set(writeKey(parts.success), parts.success)
    }
  }
  const place = ({ access: { model } }: RowsByKey) => `${model.schema ?? ""}.${model.table} ${model.name}`
  return [...rows.values()].sort((a, b) => place(a) < place(b) ? -1 : 1)
}

/** Most values of one statement's keys: the driver takes 32,767 parameters, and rules need some. */
const mostKeyParts = 30_000

/**
 * Locks what the batch will change in the order of keys, whatever the order of its operations. So batches that have rows in common wait for each
 * other and do not deadlock. One row alone is locked when its turn comes.
 */
const lockNamed = Effect.fnUntraced(function*(run: Run, operations: readonly BatchOperation[]): Steps<void> {
  const rows = namedRows(run, operations)
  if (rows.reduce((sum, { keys }) => sum + keys.size, 0) < 2) return
  for (const { access, keys } of rows) {
    const { model } = access
    const all = [...keys.values()]
    const most = Math.floor(mostKeyParts / model.key.length)
    for (let i = 0; i < all.length; i += most) {
      const where = allOf([keyed(model, all.slice(i, i + most)), visibleRows(access, always, false)])
      yield* run.tx.lockAll({ model, where, bindings: run.bindings })
    }
  }
})

// ------------------------------------------------------------------------------------------------------------------ creates

/** Lets a create wait for others of its kind, after those whose records it refers to. */
const queue = (run: Run, index: number, operation: Create): Step<void> =>
  refersToPending(run, operation.data)
    ? Effect.flatMap(flush(run), () => enqueue(run, index, operation))
    : enqueue(run, index, operation)

const refersToPending = ({ pending }: Run, data: Json): boolean => {
  if (!pending.some(({ operation }) => operation.ref !== null)) return false
  const names = referencedNames(data)
  return pending.some(({ operation: { ref } }) => ref !== null && names.includes(ref))
}

const enqueue = (run: Run, index: number, operation: Create): Step<void> => {
  const write = prepare(run, operation)
  // Those before it come first with their own failures, as they would one by one.
  if (Result.isFailure(write)) {
    return Effect.andThen(
      flush(run),
      Effect.suspend(() => {
        run.underWay = { index, operation }
        return Effect.fail(write.failure)
      })
    )
  }
  const item: Pending = { index, operation, write: write.success }
  const [first] = run.pending
  const size = rowBytes(item.write.values.values())
  const together = run.grouped && run.waiting + size <= mostWaiting && first !== undefined &&
    sameShape(first.write, item.write) && !awaited(run, item.write)
  const wait = () => {
    run.waiting += size
    run.pending.push(item)
  }
  if (first !== undefined && !together) return Effect.map(flush(run), wait)
  wait()
  return Effect.void
}

/** Most bytes of the values of one statement: while it is sent they are in memory several times. */
const mostWaiting = 4 * 1024 * 1024

const prepare = (run: Run, { data, ref, refers, resource }: Create): Result.Result<CreateWrite, Problem> => {
  const access = permitted(run.call, resource, "create")
  if (Result.isFailure(access)) return Result.fail(access.failure)
  const resolved = resolveData(access.success.restricted, run.references, data, refers)
  if (Result.isFailure(resolved)) return Result.fail(resolved.failure)
  const write = prepareCreate(access.success, resolved.success, ticketsOf(run.core))
  if (Result.isFailure(write)) return write
  if (ref !== null && (run.references.has(ref) || run.pending.some((other) => other.operation.ref === ref))) {
    return Result.fail(refTwice(ref))
  }
  return Result.map(run.budget.spend(write.success.values.values()), () => write.success)
}

const refTwice = (ref: string): Problem => invalidParameter("ref", `The ref "${ref}" is used twice in this batch.`)

/** Whether two creates can go into one statement: same access, same fields given. */
export const sameShape = (a: CreateWrite, b: CreateWrite): boolean => {
  if (a.access.model !== b.access.model || a.access.decisions.create !== b.access.decisions.create) return false
  if (a.values.size !== b.values.size) return false
  for (const field of a.values.keys()) if (!b.values.has(field)) return false
  return true
}

/** Whether a waiting record points at the record that is created here. It came too early; in one statement with this record it finds it. */
const awaited = ({ pending }: Run, { access: { model }, values }: CreateWrite): boolean => {
  const key = values.get(model.key[0]!) ?? null
  return key !== null &&
    model.fields.some((field) =>
      field.relation === model.name && pending.some(({ write }) => write.values.get(field) === key)
    )
}

/** Writes the creates that wait. */
const flush = (run: Run): Step<void> =>
  Effect.suspend((): Step<void> => {
    const { bindings, core, pending, references, tx } = run
    const [first] = pending
    if (first === undefined) return Effect.void
    run.pending = []
    run.waiting = 0
    run.underWay = pending.length === 1 ? first : null
    const created = createMany(core, tx, pending.map((item) => item.write), bindings)
    return Effect.matchEffect(created, {
      onSuccess: (rows): Step<void> => {
        for (let i = 0; i < rows.length; i++) {
          const item = pending[i]!
          const { index, operation: { ref } } = item
          if (ref !== null) references.set(ref, referenced(run, ref, rows[i]!))
          const noted = note(run, index, rows[i]!)
          if (Result.isFailure(noted)) {
            run.underWay = item
            return Effect.fail(noted.failure)
          }
        }
        return Effect.void
      },
      onFailure: (error): Step<void> =>
        pending.length > 1
          ? Effect.fail(isOwnFailure(error) ? new GroupFailed() : error)
          : refusedIn(first.write.access, "create")(error)
    })
  })

/** Whether a failure of several creates at once is one that a single of them may not have: each has the time of a statement for itself. */
const isOwnFailure = (error: Problem | RecordsError): boolean =>
  error instanceof Problem || isRefusedValue(error) || error.reason._tag === "Timeout"

// ------------------------------------------------------------------------------------------------------------------- others

const runOne = Effect.fnUntraced(function*(
  run: Run,
  index: number,
  operation: Exclude<BatchOperation, Create>
): Effect.fn.Return<void, Problem | RecordsError> {
  const { bindings, core, references, tx } = run
  const { op, resource } = operation
  if (isUpsert(operation)) return yield* runUpsert(run, index, operation)
  const access = yield* Effect.fromResult(permitted(run.call, resource, op === "delete" ? "delete" : "update"))
  if (op === "reorder") return yield* runReorder(run, index, access, operation)
  const key = yield* Effect.fromResult(resolveKey(access.model, references, operation.key))
  const midway = run.written.length > 0
  if (op === "delete") {
    const write = { op, access, key, precondition: operation.etag, midway } as const
    const removed = yield* Effect.catch(execute(core, tx, write, bindings), refusedIn(access, op))
    return yield* Effect.fromResult(note(run, index, removed))
  }
  const data = yield* Effect.fromResult(resolveData(access.restricted, references, operation.data))
  const write = yield* Effect.fromResult(prepareUpdate(access, key, data, operation.etag, ticketsOf(core)))
  yield* Effect.fromResult(run.budget.spend(write.values.values()))
  const updated = yield* Effect.catch(execute(core, tx, { ...write, midway }, bindings), refusedIn(access, op))
  yield* Effect.fromResult(note(run, index, updated))
})

/** An update of a record that may be missing, or that a unique field names. */
const runUpsert = Effect.fnUntraced(function*(
  run: Run,
  index: number,
  { allowMissing, data, etag, key, match, ref, resource }: BatchOperation & { op: "update" }
): Effect.fn.Return<void, Problem | RecordsError> {
  const { bindings, core, references, tx } = run
  if (ref !== null && references.has(ref)) return yield* Effect.fail(refTwice(ref))
  const upsert = yield* Effect.fromResult(Result.gen(() =>
    prepareUpsert(core, run.call, {
      request: { allowMissing, match },
      resource,
      cells: (model) => resolveKey(model, references, key),
      body: ({ restricted }) => resolveData(restricted, references, data),
      precondition: etag,
      createOnly: false
    })
  ))
  const { access, create, update } = upsert
  // What either way would write: which of them it is shows later.
  if (Result.isSuccess(create)) yield* Effect.fromResult(run.budget.spend(create.success.values.values()))
  else if (Result.isSuccess(update)) yield* Effect.fromResult(run.budget.spend(update.success.values.values()))
  const written = yield* Effect.catch(
    executeUpsert(core, tx, upsert, bindings, run.raced, index, run.written.length > 0),
    refusedIn(access, "update")
  )
  if (ref !== null) references.set(ref, referenced(run, ref, written))
  yield* Effect.fromResult(note(run, index, written, allowMissing))
})

/** What the database has against the values of one operation; other failures are the batch's. */
const refusedIn =
  (access: Access, op: "create" | "update" | "delete") =>
  (error: Problem | RecordsError): Effect.Effect<never, Problem | RecordsError> =>
    error instanceof RecordsError && isRefusedValue(error) ? writeProblem(access, op)(error) : Effect.fail(error)

const runReorder = Effect.fnUntraced(function*(
  run: Run,
  index: number,
  access: Access,
  { etags, field, keys }: BatchOperation & { op: "reorder" }
): Effect.fn.Return<void, Problem | RecordsError> {
  const { bindings, core, references, tx } = run
  const held = new Map<string, Json>()
  for (const [text, etag] of Object.entries(etags)) {
    const key = readKey(access.model, text)
    const own = Result.isSuccess(key) ? writeKey(key.success) : text
    // Keys have many forms ("05", "%35"); the record's own goes before the others.
    if (own === text || !held.has(own)) held.set(own, etag)
  }
  const parts: Array<readonly string[]> = []
  for (const key of keys) {
    const resolved = yield* Effect.fromResult(resolveKey(access.model, references, key))
    parts.push(resolved)
    // The client cannot know the version of what this very batch created, and nobody else can have changed it.
    if (isReference(key) && !held.has(writeKey(resolved))) held.set(writeKey(resolved), "*")
  }
  const { budget } = run
  const spend = (row: readonly Cell[]) => budget.spend(row)
  const request = { field, keys: parts, etags: held, midway: run.written.length > 0, spend }
  const written = yield* reorder(core, tx, access, request, bindings)
  const records = written.map((item) => {
    keep(run, item)
    const { etag } = writtenRecord(core, item, bindings, run.rehearses)
    return `{"key":${JSON.stringify(writeKey(item.key))},"etag":${JSON.stringify(etag)}}`
  })
  yield* Effect.fromResult(answer(run, index, `{"records":[${records.join(",")}]}`))
})

// ------------------------------------------------------------------------------------------------------------------ results

/** A record as operations refer to it: its key, and the fields that one of them names. */
const referenced = (run: Run, name: string, { access, key, row, visible }: WriteResult): Referenced => {
  const { restricted } = access
  const cellsByField = new Map<Field, Cell>()
  for (const field of run.referred.get(name) ?? []) {
    const named = restricted.byName.get(field)
    if (named !== undefined) cellsByField.set(named, cells(row)(named))
  }
  return { restricted, key, visible, cellOf: (field) => cellsByField.get(field) ?? null }
}

/** Remembers a write for after the commit; references to its record see it as it is now. */
const keep = (run: Run, written: WriteResult): void => {
  run.written.push(traceOf(written))
  for (const [name, { key, restricted, visible }] of run.references) {
    if (restricted.model !== written.access.model || key.some((cell, i) => cell !== written.key[i])) continue
    run.references.set(name, { ...referenced(run, name, written), visible })
  }
}

type Noted = Result.Result<void, Problem>

/** Notes the result of a write, its cost, and its part of the batch's answer. `tells`: the part says whether the record was created. */
const note = (run: Run, index: number, written: WriteResult, tells = false): Noted => {
  if (written.op !== "create") keep(run, written)
  else run.written.push(traceOf(written))
  return Result.flatMap(
    spent(run, written),
    () => answer(run, index, written.op === "delete" ? "{\"deleted\":true}" : run.told.entry(run, written, tells))
  )
}

/** Counts the record as it was read and as it was written, and the version that was kept of it. */
const spent = ({ budget }: Run, { access, before, changed, row }: WriteResult): Noted => {
  const read = before === null || before === row ? budget.spend(row) : budget.spend([...before, ...row])
  return Result.isSuccess(read) && changed && access.model.history !== null ? budget.spend(row) : read
}

const answer = (run: Run, index: number, result: string): Noted => {
  run.results[index] = result
  return run.budget.answer(result)
}

const writtenResult = (run: Answering, written: WriteResult, tells: boolean): string => {
  const created = tells ? `"created":${written.op === "create"}` : ""
  // What the caller cannot read is not shown to its creator either.
  if (!written.visible) return `{${created}}`
  const { etag, json: record } = writtenRecord(run.core, written, run.bindings, run.rehearses)
  const tag = `"etag":${JSON.stringify(etag)}`
  const told = tells ? `${created},${tag}` : tag
  return run.minimal ? `{${told}}` : `{"record":${record},${told}}`
}
