/**
 * `:batchWrite`: operations in order inside one transaction, each through the write pipeline. Consecutive creates of one resource go to the database
 * together where nobody can tell the difference; when such a group fails, the batch runs again one by one, so that the failing operation is named.
 */

import * as Effect from "effect/Effect"
import type { Access } from "../domain/access/access.ts"
import { problem } from "../domain/problem.ts"
import type { Problem } from "../domain/problem.ts"
import { writeKey } from "../domain/read/key.ts"
import type { Bindings } from "../domain/read/plan.ts"
import { inOperation, readBatch, referencedNames, resolveData, resolveKey } from "../domain/write/batch.ts"
import type { BatchOperation, Referenced } from "../domain/write/batch.ts"
import { returnPreference } from "../domain/write/precondition.ts"
import { RecordsError } from "../ports/records.ts"
import type { RecordsTransaction } from "../ports/records.ts"
import type { Call, Reply } from "./call.ts"
import { json } from "./call.ts"
import { answerWrite } from "./change.ts"
import type { Outcome } from "./change.ts"
import { accessTo } from "./core.ts"
import type { Core } from "./core.ts"
import { readJson } from "./read.ts"
import { recordsProblem } from "./refusal.ts"
import { reorder } from "./reorder.ts"
import { phase } from "./timing.ts"
import { cells, createMany, execute, prepareCreate, prepareUpdate, writtenRecord } from "./write.ts"
import type { Write, Written } from "./write.ts"

/** A group of creates failed: which of them is found by running one by one. */
class GroupFailed {
  readonly _tag = "GroupFailed"
}

type Create = Write & { op: "create" }

interface Pending {
  readonly index: number
  readonly ref: string | null
  readonly write: Create
}

/** The state of one run of a batch. */
interface Run {
  readonly core: Core
  readonly call: Call
  readonly tx: RecordsTransaction
  readonly bindings: Bindings
  readonly references: Map<string, Referenced>
  readonly written: Written[]
  readonly results: string[]
  readonly minimal: boolean
}

type Step<A> = Effect.Effect<A, Problem | RecordsError | GroupFailed>

export const batch = (core: Core, call: Call, body: Uint8Array): Effect.Effect<Reply, Problem> =>
  Effect.gen(function*() {
    const parsed = yield* phase("batch.parse")(readJson(body))
    const operations = yield* Effect.fromResult(readBatch(parsed))
    const preference = returnPreference(call.header("prefer"))
    const headers: { readonly [name: string]: string } = preference === null ? {} : { "preference-applied": `return=${preference}` }
    const attempt = (grouped: boolean) => {
      const run = (tx: RecordsTransaction, bindings: Bindings): Effect.Effect<Outcome, Problem | RecordsError | GroupFailed> => {
        const state: Run = {
          core,
          call,
          tx,
          bindings,
          references: new Map(),
          written: [],
          results: Array.from({ length: operations.length }),
          minimal: preference === "minimal"
        }
        return Effect.map(runOperations(state, operations, grouped), () => ({
          reply: json(200, `{"results":[${state.results.join(",")}]}`, headers),
          written: state.written
        }))
      }
      return answerWrite(core, call, "POST", body, run)
    }
    // Hooks see every write as it happens, so that nothing is grouped where there are any.
    if (core.options.writeHooks.length > 0) return yield* withoutGroups(attempt(false))
    return yield* Effect.catch(attempt(true), (error) =>
      error._tag === "GroupFailed" ? withoutGroups(attempt(false)) : Effect.fail(error))
  })

const withoutGroups = (reply: Effect.Effect<Reply, Problem | GroupFailed>): Effect.Effect<Reply, Problem> =>
  Effect.catch(reply, (error) => error._tag === "GroupFailed" ? Effect.die(error) : Effect.fail(error))

const runOperations = (run: Run, operations: readonly BatchOperation[], grouped: boolean): Step<void> =>
  Effect.gen(function*() {
    let pending: Pending[] = []
    for (const [index, operation] of operations.entries()) {
      const named = (error: Problem) => inOperation(error, index, operation.op, operation.resource)
      if (operation.op === "create") {
        const waiting = new Set(pending.map((item) => item.ref))
        if (referencedNames(operation.data).some((name) => waiting.has(name))) {
          yield* flush(run, pending)
          pending = []
        }
        const write = yield* Effect.mapError(prepare(run, operation), named)
        if (operation.ref !== null && (run.references.has(operation.ref) || waiting.has(operation.ref))) {
          return yield* Effect.fail(named(refTwice(operation.ref)))
        }
        const first = pending[0]
        if (first !== undefined && !(grouped && sameShape(first.write, write))) {
          yield* flush(run, pending)
          pending = []
        }
        pending.push({ index, ref: operation.ref, write })
      } else {
        yield* flush(run, pending)
        pending = []
        yield* Effect.catch(runOne(run, index, operation), (error) => Effect.flatMap(asProblem(error), (p) => Effect.fail(named(p))))
      }
    }
    yield* flush(run, pending)
  })

const refTwice = (name: string): Problem => {
  const message = `The ref "${name}" stands twice in this batch.`
  return problem("invalid-parameter", message, { errors: [{ parameter: "ref", message }] })
}

/** Conflicts stay errors of the port: the whole transaction runs again. */
const asProblem = (error: Problem | RecordsError): Effect.Effect<Problem, RecordsError> =>
  error instanceof RecordsError
    ? error.reason._tag === "Conflict" ? Effect.fail(error) : Effect.flip(recordsProblem(error))
    : Effect.succeed(error)

const accessOf = (run: Run, resource: string, operation: "create" | "update" | "delete"): Effect.Effect<Access, Problem> =>
  accessTo(run.core, run.call.caller, resource, operation)

const prepare = (run: Run, operation: BatchOperation & { op: "create" }): Effect.Effect<Create, Problem> =>
  Effect.gen(function*() {
    const access = yield* accessOf(run, operation.resource, "create")
    const data = yield* Effect.fromResult(resolveData(access.restricted, run.references, operation.data))
    return (yield* Effect.fromResult(prepareCreate(access, data))) as Create
  })

/** Whether two creates can go into one statement: same access, same fields given, and no rule that wants to see them one by one. */
const sameShape = (a: Create, b: Create): boolean => {
  if (a.access.model !== b.access.model || a.access.decisions.create.of === "record" || a.values.size !== b.values.size) return false
  for (const field of a.values.keys()) if (!b.values.has(field)) return false
  return true
}

const flush = (run: Run, pending: readonly Pending[]): Step<void> => {
  if (pending.length === 0) return Effect.void
  const { bindings, core, references, tx } = run
  return Effect.matchEffect(createMany(core, tx, pending.map((item) => item.write), bindings), {
    onSuccess: (rows) => {
      rows.forEach((written, i) => {
        const { index, ref } = pending[i]!
        if (ref !== null) {
          references.set(ref, { restricted: written.access.restricted, key: written.key, cellOf: cells(written.row) })
        }
        record(run, index, written)
      })
      return Effect.void
    },
    onFailure: (error): Step<never> => {
      if (pending.length > 1 && !(error instanceof RecordsError && error.reason._tag === "Conflict")) {
        return Effect.fail(new GroupFailed())
      }
      const { index, write } = pending[0]!
      return Effect.flatMap(asProblem(error), (p) => Effect.fail(inOperation(p, index, "create", write.access.model.name)))
    }
  })
}

/** Notes what a write did and what the batch answers for it. */
const record = (run: Run, index: number, written: Written): void => {
  run.written.push(written)
  const { etag, json: text } = writtenRecord(run.core, written, run.bindings)
  run.results[index] = written.op === "delete"
    ? "{\"deleted\":true}"
    : !written.visible
    ? "{}"
    : run.minimal
    ? `{"etag":${JSON.stringify(etag)}}`
    : `{"record":${text},"etag":${JSON.stringify(etag)}}`
}

const runOne = (run: Run, index: number, operation: Exclude<BatchOperation, { op: "create" }>): Effect.Effect<void, Problem | RecordsError> =>
  Effect.gen(function*() {
    const { bindings, core, references, tx } = run
    const access = yield* accessOf(run, operation.resource, operation.op === "delete" ? "delete" : "update")
    if (operation.op === "reorder") {
      const keys = []
      for (const key of operation.keys) keys.push(yield* Effect.fromResult(resolveKey(access.model, references, key)))
      const written = yield* reorder(core, tx, access, { field: operation.field, keys, etags: operation.etags }, bindings)
      run.written.push(...written)
      run.results[index] = `{"records":[${
        written.map((item) => {
          const { etag } = writtenRecord(core, item, bindings)
          return `{"key":${JSON.stringify(writeKey(item.key))},"etag":${JSON.stringify(etag)}}`
        }).join(",")
      }]}`
      return
    }
    const key = yield* Effect.fromResult(resolveKey(access.model, references, operation.key))
    const write: Write = operation.op === "delete"
      ? { op: "delete", access, key, precondition: operation.etag }
      : yield* Effect.flatMap(
        Effect.fromResult(resolveData(access.restricted, references, operation.data)),
        (data) => Effect.fromResult(prepareUpdate(access, key, data, operation.etag))
      )
    record(run, index, yield* execute(core, tx, write, bindings))
  })
