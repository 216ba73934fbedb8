/**
 * `:batchWrite`: operations in order inside one transaction, each through the write pipeline. Consecutive creates of one resource go to the database
 * together where nobody can tell the difference; when such a group fails, the batch runs again one by one, so that the failing operation is named.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../domain/access/access.ts"
import type { Bindings } from "../domain/filter/tree.ts"
import { invalidParameter, Problem } from "../domain/problem.ts"
import { readKey, writeKey } from "../domain/read/key.ts"
import type { Json } from "../domain/value/kind.ts"
import { inOperation, isReference, readBatch, referencedNames, resolveData, resolveKey } from "../domain/write/batch.ts"
import type { BatchOperation, Referenced } from "../domain/write/batch.ts"
import { returnPreference } from "../domain/write/precondition.ts"
import type { RecordsError, RecordsTransaction } from "../ports/records.ts"
import type { Call, Reply } from "./call.ts"
import { json } from "./call.ts"
import { answerWrite, preferenceApplied } from "./change.ts"
import type { Outcome } from "./change.ts"
import { permitted, pipeline } from "./core.ts"
import type { Core } from "./core.ts"
import { readJson } from "./read.ts"
import { reorder } from "./reorder.ts"
import { during } from "./timing.ts"
import { cells, createMany, execute, isRefusedValue, prepareCreate, prepareUpdate } from "./write.ts"
import type { CreateWrite, Written } from "./write.ts"
import { writtenRecord } from "./written.ts"

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

/** The state of one run of a batch. */
interface Run {
  readonly core: Core
  readonly call: Call
  readonly tx: RecordsTransaction
  readonly bindings: Bindings
  readonly grouped: boolean
  readonly minimal: boolean
  readonly rehearses: boolean
  readonly references: Map<string, Referenced>
  pending: Pending[]
  /** What a failure is of; null where it is no single operation's. */
  underWay: { readonly index: number; readonly operation: BatchOperation } | null
  readonly written: Written[]
  /** The answer's entry for each operation, as JSON. */
  readonly results: string[]
}

type Step<A> = Effect.Effect<A, Problem | RecordsError | GroupFailed>
type Steps<A> = Effect.fn.Return<A, Problem | RecordsError | GroupFailed>

/** `POST :batchWrite`: all operations or none; a failure names its operation. */
export const batch = (core: Core, call: Call, body: Uint8Array): Effect.Effect<Reply, Problem> =>
  pipeline(
    (fiber) => during(fiber, "batch.parse", () => Result.flatMap(readJson(body), readBatch)),
    (operations, fiber) => {
      const preference = returnPreference(call.header("prefer"))
      const attempt = (grouped: boolean) => {
        let last: Run | undefined
        const answer = answerWrite(
          fiber,
          core,
          call,
          body,
          (tx, bindings, rehearses): Effect.Effect<Outcome, Problem | RecordsError | GroupFailed> => {
            const minimal = preference === "minimal"
            const run: Run = last = {
              core,
              call,
              tx,
              bindings,
              grouped,
              minimal,
              rehearses,
              references: new Map(),
              pending: [],
              underWay: null,
              written: [],
              results: []
            }
            return Effect.map(runOperations(run, operations), () => ({
              reply: json(200, `{"results":[${run.results.join(",")}]}`, preferenceApplied(preference)),
              written: run.written
            }))
          }
        )
        return Effect.mapError(answer, (error) => error instanceof Problem ? named(error, last) : error)
      }
      // Hooks see every write as it happens, so that nothing is grouped where there are any.
      const ungrouped = Effect.catch(
        attempt(false),
        (error) => error instanceof GroupFailed ? Effect.die(error) : Effect.fail(error)
      )
      return core.options.writeHooks.length > 0
        ? ungrouped
        : Effect.catch(attempt(true), (error) => error instanceof GroupFailed ? ungrouped : Effect.fail(error))
    }
  )

const runOperations = Effect.fnUntraced(function*(run: Run, operations: readonly BatchOperation[]): Steps<void> {
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

/** Adds to a failure which operation it is of: the one that was under way when the last try ended. */
const named = (error: Problem, run: Run | undefined): Problem => {
  if (run === undefined || run.underWay === null) return error
  const { index, operation: { op, resource } } = run.underWay
  return inOperation(error, index, op, resource)
}

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
  if (first !== undefined && !(run.grouped && sameShape(first.write, item.write) && !awaited(run, item.write))) {
    return Effect.map(flush(run), () => void run.pending.push(item))
  }
  run.pending.push(item)
  return Effect.void
}

const prepare = (run: Run, { data, ref, resource }: Create): Result.Result<CreateWrite, Problem> => {
  const access = permitted(run.call, resource, "create")
  if (Result.isFailure(access)) return Result.fail(access.failure)
  const resolved = resolveData(access.success.restricted, run.references, data)
  if (Result.isFailure(resolved)) return Result.fail(resolved.failure)
  const write = prepareCreate(access.success, resolved.success)
  return Result.isSuccess(write) && ref !== null &&
      (run.references.has(ref) || run.pending.some((other) => other.operation.ref === ref))
    ? Result.fail(invalidParameter("ref", `The ref "${ref}" stands twice in this batch.`))
    : write
}

/** Whether two creates can go into one statement: same access, same fields given. */
const sameShape = (a: CreateWrite, b: CreateWrite): boolean => {
  if (a.access.model !== b.access.model || a.access.decisions.create !== b.access.decisions.create) return false
  if (a.values.size !== b.values.size) return false
  for (const field of a.values.keys()) if (!b.values.has(field)) return false
  return true
}

/** Whether a record that waits points at the one that is created here: it came too early, and in one statement with it would find it. */
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
    run.underWay = pending.length === 1 ? first : null
    const created = createMany(core, tx, pending.map((item) => item.write), bindings)
    return Effect.matchEffect(created, {
      onSuccess: (rows) => {
        for (let i = 0; i < rows.length; i++) {
          const { index, operation: { ref } } = pending[i]!
          if (ref !== null) references.set(ref, referenced(rows[i]!))
          note(run, index, rows[i]!)
        }
        return Effect.void
      },
      onFailure: (error): Step<void> =>
        Effect.fail(pending.length > 1 && isOwnFailure(error) ? new GroupFailed() : error)
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
  const access = yield* Effect.fromResult(permitted(run.call, resource, op === "delete" ? "delete" : "update"))
  if (op === "reorder") return yield* runReorder(run, index, access, operation)
  const key = yield* Effect.fromResult(resolveKey(access.model, references, operation.key))
  const midway = run.written.length > 0
  if (op === "delete") {
    const write = { op, access, key, precondition: operation.etag, midway } as const
    return note(run, index, yield* execute(core, tx, write, bindings))
  }
  const data = yield* Effect.fromResult(resolveData(access.restricted, references, operation.data))
  const write = yield* Effect.fromResult(prepareUpdate(access, key, data, operation.etag))
  note(run, index, yield* execute(core, tx, { ...write, midway }, bindings))
})

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
  const request = { field, keys: parts, etags: held, midway: run.written.length > 0 }
  const written = yield* reorder(core, tx, access, request, bindings)
  const records = written.map((item) => {
    keep(run, item)
    const { etag } = writtenRecord(core, item, bindings, run.rehearses)
    return `{"key":${JSON.stringify(writeKey(item.key))},"etag":${JSON.stringify(etag)}}`
  })
  run.results[index] = `{"records":[${records.join(",")}]}`
})

// ------------------------------------------------------------------------------------------------------------------ results

const referenced = ({ access, key, row, visible }: Written): Referenced => ({
  restricted: access.restricted,
  key,
  visible,
  cellOf: cells(row)
})

/** Remembers a write for after the commit; references to its record see it as it is now. */
const keep = (run: Run, written: Written): void => {
  run.written.push(written)
  for (const [name, { key, restricted, visible }] of run.references) {
    if (restricted.model !== written.access.model || key.some((cell, i) => cell !== written.key[i])) continue
    run.references.set(name, { ...referenced(written), visible })
  }
}

/** Notes what a write did and what the batch answers for it. */
const note = (run: Run, index: number, written: Written): void => {
  if (written.op !== "create") keep(run, written)
  else run.written.push(written)
  run.results[index] = written.op === "delete" ? "{\"deleted\":true}" : writtenResult(run, written)
}

const writtenResult = (run: Run, written: Written): string => {
  // What the caller cannot read is not shown to its creator either.
  if (!written.visible) return "{}"
  const { etag, json: record } = writtenRecord(run.core, written, run.bindings, run.rehearses)
  const tag = `"etag":${JSON.stringify(etag)}`
  return run.minimal ? `{${tag}}` : `{"record":${record},${tag}}`
}
