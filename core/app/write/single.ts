/**
 * Single writes as use cases. `single` shows their stages; DELETE, `:undelete` and `:restore` follow at the end, and PATCH and POST are in `patch.ts` and
 * `create.ts`. Idempotency keys and dry runs wrap the transaction here, for batches too.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import { rolesKey } from "../../domain/access/caller.ts"
import type { Bindings } from "../../domain/filter/tree.ts"
import { ownJson } from "../../domain/own-json.ts"
import { problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { readKey, writeKey } from "../../domain/read/key.ts"
import { fitsIn } from "../../domain/value/bytes.ts"
import { fileFieldsOf } from "../../domain/write/file-values.ts"
import { returnPreference } from "../../domain/write/precondition.ts"
import type { ReturnPreference } from "../../domain/write/precondition.ts"
import { dryRunRequest } from "../../domain/write/request.ts"
import { RecordsError } from "../../ports/records.ts"
import type { RecordsTransaction } from "../../ports/records.ts"
import { json, readIdempotencyKey, readJson } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import { bindingsAt, permitted, pipeline } from "../ground/core.ts"
import type { Checks, Core } from "../ground/core.ts"
import { recordsProblem, writeProblem } from "../ground/refusal.ts"
import { clockOf, during, phase } from "../ground/timing.ts"
import type { RequestFiber } from "../ground/timing.ts"
import { mostTaken } from "./attach.ts"
import { execute } from "./execute.ts"
import type { WriteResult } from "./execute.ts"
import { readVersion, versionValues } from "./history.ts"
import { prepareUndelete, ruleOf } from "./intent.ts"
import type { Write } from "./intent.ts"
import { isAskedAfter } from "./judge.ts"
import { committed, inTransaction, scheduleTaken, traceOf, writtenRecord } from "./transaction.ts"
import type { Trace } from "./transaction.ts"

/** What one kind of single write has of its own: how its request is read, and the write that it asks for. */
interface Stages<Parsed> {
  readonly op: Write["op"]
  /** Reads the key in the path, and the body where there is one. */
  readonly parse: (access: Access) => Result.Result<Parsed, Problem>
  readonly plan: (access: Access, parsed: Parsed) => Result.Result<Write, Problem>
}

/** A single write, stage by stage. Access comes first: whoever may not write is told nothing about the body. */
export const single = <Parsed>(
  core: Core,
  call: Call,
  resource: string,
  { op, parse, plan }: Stages<Parsed>
): Effect.Effect<Reply, Problem> =>
  pipeline(
    (fiber) =>
      Result.flatMap(during(fiber, "write.access", () => permitted(call, resource, ruleOf(op))), (access) =>
        Result.flatMap(
          during(fiber, "write.parse", () =>
            parse(access)),
          (parsed) => during(fiber, "write.plan", () => plan(access, parsed))
        )),
    (write, fiber) =>
      executeAndPresent(fiber, core, call, null, write)
  )

/**
 * The last two stages, in one transaction: the answer to an idempotency key commits with the write. `body`: what the client sent, when such a key
 * counts; else null.
 */
export const executeAndPresent = (
  fiber: RequestFiber,
  core: Core,
  call: Call,
  body: Uint8Array | null,
  write: Write
): Effect.Effect<Reply, Problem> =>
  answerWrite<never>(
    fiber,
    core,
    call,
    body,
    (tx, bindings, rehearses) =>
      Effect.map(execute(core, tx, write, bindings), (written) => ({
        reply: presentWrite(core, call, written, bindings, rehearses),
        written: [traceOf(written)]
      })),
    standsAlone(core, write),
    writeProblem(write.access, write.op)
  )

/** Carries a finished answer out of a transaction that is rolled back. */
class DryRun {
  readonly _tag = "DryRun"
  readonly reply: Reply
  constructor(reply: Reply) {
    this.reply = reply
  }
}

/** The result of a transaction: the answer, and what to remember after the commit. */
export interface Outcome {
  readonly reply: Reply
  readonly written: readonly Trace[]
}

/** An answer as it is kept for its idempotency key, without its body. */
interface StoredAnswer {
  /** The roles it was made under, and the fields of resources that they could read. Earlier versions did not keep this. */
  readonly roles: string
  readonly fields?: { readonly [resource: string]: readonly string[] }
  readonly reply: Reply
}

/**
 * The text to keep: on the first line what describes the answer, then its body unchanged. As a part of the JSON a long body would exceed
 * its limit.
 */
const writeStored = (call: Call, { reply: { body, ...reply }, written }: Outcome): string => {
  const about = {
    roles: rolesKey(call.caller),
    fields: Object.fromEntries(
      written.map(({ access: { model, restricted } }) => [model.name, restricted.fields.map((field) => field.name)])
    ),
    reply
  }
  return body === null ? JSON.stringify(about) : `${JSON.stringify(about)}\n${String(body)}`
}

/** Reads a kept answer. Earlier versions wrote the body into the JSON. */
const readStored = (text: string): StoredAnswer => {
  const end = text.indexOf("\n")
  const { reply, ...about } = ownJson<StoredAnswer>(end < 0 ? text : text.slice(0, end))
  return { ...about, reply: { ...reply, body: end < 0 ? reply.body ?? null : text.slice(end + 1) } }
}

/** Whether the caller can still read all that an answer may show. Rules may answer differently by now, or be others. */
const isReadable = (call: Call, { fields, roles }: StoredAnswer): boolean =>
  roles === rolesKey(call.caller) && fields !== undefined && Object.entries(fields).every(([resource, names]) => {
    const readable = call.access(resource)?.restricted.byName
    return names.every((name) => readable?.has(name) === true)
  })

/** The kept answer. A caller who may read less by now, or has other roles, is told what happened, but sees no record. */
const replayed = (call: Call, stored: string): Reply => {
  const answer = readStored(stored)
  const { reply } = answer
  const headers: { readonly [name: string]: string } = { ...reply.headers, "idempotency-replayed": "true" }
  if (isReadable(call, answer)) return { ...reply, headers }
  const { "content-type": _, etag: __, "preference-applied": ___, ...rest } = headers
  return { status: reply.status, headers: rest, body: null }
}

/**
 * Runs a body in one transaction and answers after the commit. With an idempotency key, an earlier request of the same user, path and bytes
 * is answered again. The kept answer commits with the writes, so that neither exists without the other.
 */
export const answerWrite = <E = never>(
  fiber: RequestFiber,
  core: Core,
  call: Call,
  /** What the client sent, when an idempotency key counts; else null. */
  body: Uint8Array | null,
  run: (
    tx: RecordsTransaction,
    bindings: Bindings,
    /** Whether nothing of it will stay. */
    rehearses: boolean
  ) => Effect.Effect<Outcome, Problem | RecordsError | E>,
  /** Whether `run` may stand without a transaction around it. */
  alone = false,
  /** What a failure of the database is for the caller. */
  refused: (error: RecordsError) => Effect.Effect<never, Problem> = recordsProblem
): Effect.Effect<Reply, Problem | E> => {
  const dryRun = dryRunRequest(call.query)
  if (Result.isFailure(dryRun)) return Effect.fail(dryRun.failure)
  const sent = body === null ? noKey : readIdempotencyKey(call)
  if (Result.isFailure(sent)) return Effect.fail(sent.failure)
  const rehearses = dryRun.success
  const key = rehearses ? null : sent.success
  const bindings = bindingsAt(clockOf(fiber), call.caller)
  const transaction = (tx: RecordsTransaction): Effect.Effect<Outcome, Problem | RecordsError | DryRun | E> => {
    const work = core.files === null ? run(tx, bindings, rehearses) : bounded(run(tx, bindings, rehearses))
    return rehearses
      ? rehearsed(tx, work)
      : key === null
      ? scheduled(core, work)
      : underKey(tx, call, claimOf(core, call, key, body!, bindings), scheduled(core, work))
  }
  const outcome = Effect.catch(
    inTransaction(core, transaction, alone && key === null && !rehearses),
    (error): Effect.Effect<Outcome, Problem | E> =>
      error instanceof DryRun
        ? Effect.succeed({ reply: error.reply, written: [] })
        : error instanceof RecordsError
        ? refused(error)
        : Effect.fail(error)
  )
  return Effect.map(phase(fiber, "write.execute", outcome), ({ reply, written }) => {
    for (const one of written) committed(core, one)
    return reply
  })
}

/** Refuses a request whose records let go of very many files. One record may always be written. */
const bounded = <E>(run: Effect.Effect<Outcome, E>): Effect.Effect<Outcome, E | Problem> =>
  Effect.tap(
    run,
    ({ written }) =>
      written.length > 1 && written.reduce((sum, { taken }) => sum + taken.length, 0) > mostTaken
        ? Effect.fail(
          problem(
            "payload-too-large",
            `The request lets go of more than ${mostTaken} files. Send fewer operations at once.`
          )
        )
        : Effect.void
  )

/** Runs a body, whose commit needs the deletes of the files that it let go to be scheduled. */
const scheduled = <E>(core: Core, run: Effect.Effect<Outcome, E>): Effect.Effect<Outcome, E | RecordsError> =>
  core.files === null
    ? run
    : Effect.tap(run, ({ written }) => scheduleTaken(core, written) ?? Effect.void)

const noKey: Result.Result<string | null, Problem> = Result.succeed(null)

interface Claim {
  readonly scope: string
  readonly key: string
  readonly now: bigint
  readonly request: string
  /** The digests of the request under all secrets: a process with another first secret may have stored it. */
  readonly requests: readonly string[]
}

/** A key belongs to a user and to one request: its path and bytes. */
const claimOf = (core: Core, { caller, path }: Call, key: string, body: Uint8Array, { now }: Bindings): Claim => {
  const text = `${path}\n${decoder.decode(body)}`
  return {
    scope: JSON.stringify([caller.tenant, caller.id]),
    key,
    now,
    request: core.seal.digest(text),
    requests: core.seal.digests(text)
  }
}

/** Runs a body to its end, deferred constraints included, and then fails with its answer, so that nothing is written. */
const rehearsed = <E>(
  tx: RecordsTransaction,
  run: Effect.Effect<Outcome, E>
): Effect.Effect<never, E | RecordsError | DryRun> =>
  Effect.flatMap(
    run,
    ({ reply }) => Effect.andThen(tx.checkDeferred, Effect.suspend(() => Effect.fail(new DryRun(reply))))
  )

/** Runs a body unless its key was used before, and keeps its answer for the key. */
const underKey = Effect.fnUntraced(function*<E>(
  tx: RecordsTransaction,
  call: Call,
  claim: Claim,
  run: Effect.Effect<Outcome, E>
): Effect.fn.Return<Outcome, E | Problem | RecordsError> {
  const claimed = yield* tx.claimKey(claim)
  if (claimed.of === "busy") return yield* Effect.fail(keyBusy())
  if (claimed.of === "stored") {
    if (!claim.requests.includes(claimed.request)) return yield* Effect.fail(keyReused())
    return { reply: replayed(call, claimed.answer), written: [] }
  }
  const outcome = yield* run
  yield* tx.storeKey({ ...claim, answer: writeStored(call, outcome) })
  return outcome
})

const decoder = new TextDecoder()

export const keyBusy = (): Problem =>
  problem("conflict", "A request with this idempotency key is being processed.", {}, { "retry-after": "1" })

export const keyReused = (): Problem =>
  problem("idempotency-key-reused", "This idempotency key was used for another request.")

/** Says which preference the answer follows (RFC 7240, 3). */
export const preferenceApplied = (preference: ReturnPreference | null): { readonly [name: string]: string } =>
  preference === null ? {} : { "preference-applied": `return=${preference}` }

/** The answer to a single write. A record that the caller cannot see is not shown to its creator, either. */
export const presentWrite = (
  core: Core,
  call: Call,
  written: WriteResult,
  bindings: Bindings,
  rehearses: boolean
): Reply => {
  const preference = returnPreference(call.header("prefer"))
  const { access, key, op, visible } = written
  const { etag, json: record } = writtenRecord(core, written, bindings, rehearses)
  // The record is written already, so an answer that is too long is not refused. The client reads the record again.
  const withBody = visible && (op === "delete" ? preference === "representation" : preference !== "minimal") &&
    fitsIn(record, core.options.maxAnswerBytes)
  const headers: Record<string, string> = preference === (withBody ? "representation" : "minimal")
    ? { ...preferenceApplied(preference) }
    : {}
  // A removed row has no version that a client could name later.
  if (visible && (op !== "delete" || (withBody && access.model.softDelete !== null))) headers["etag"] = etag
  if (op === "create") headers["location"] = `${call.path}/${writeKey(key)}`
  const status = op === "create" ? 201 : withBody ? 200 : 204
  return withBody ? json(status, record, headers) : { status, headers, body: null }
}

/**
 * Whether a write needs no transaction: it is one statement, and no hook and no kept version would have to be undone with it. A rule over a
 * created record is judged when the record exists, and so is one through relations after every write.
 */
export const standsAlone = (core: Core, write: Write): boolean => {
  const { access, op } = write
  return core.options.writeHooks.length === 0 && access.model.history === null &&
    core.checks?.has(access.model.name) !== true &&
    !(op === "create" && access.decisions.create.of === "record") && !isAskedAfter(access, op) && !touchesFiles(write)
}

/** Whether a write takes uploads or lets files go: what follows from that must come before its commit. */
const touchesFiles = (write: Write): boolean =>
  "files" in write
    ? write.files.length > 0
    : write.op === "delete" && write.access.model.softDelete === null && fileFieldsOf(write.access.model).length > 0

/** `DELETE /{resource}/{key}`: for good, or softly where the model says so. */
export const remove = (core: Core, call: Call, resource: string, segment: string): Effect.Effect<Reply, Problem> =>
  single(core, call, resource, {
    op: "delete",
    parse: ({ model }) => readKey(model, segment),
    plan: (access, key) => Result.succeed({ op: "delete", access, key, precondition: call.header("if-match") })
  })

/** `:undelete`: makes a softly deleted record live again. */
export const undelete = (core: Core, call: Call, resource: string, segment: string): Effect.Effect<Reply, Problem> =>
  single(core, call, resource, {
    op: "undelete",
    parse: ({ model }) => readKey(model, segment),
    plan: (access, key) => prepareUndelete(access, key, call.header("if-match"))
  })

/** The version that a record is to have again. */
interface Restore {
  readonly access: Access
  readonly key: readonly string[]
  readonly version: string
}

const planRestore = function*(
  fiber: RequestFiber,
  core: Core,
  call: Call,
  resource: string,
  segment: string,
  body: Uint8Array
): Checks<Restore> {
  const access = yield* during(fiber, "write.access", () => permitted(call, resource, "update"))
  const key = yield* readKey(access.model, segment)
  const parsed = yield* during(fiber, "write.parse", () => readJson(body))
  return { access, key, version: yield* readVersion(core, access.model, parsed) }
}

/** `:restore`: an ordinary update whose values are those of a version; `If-Match` as for a PATCH. */
export const restore = (
  core: Core,
  call: Call,
  resource: string,
  segment: string,
  body: Uint8Array
): Effect.Effect<Reply, Problem> =>
  pipeline(
    (fiber) => Result.gen(() => planRestore(fiber, core, call, resource, segment, body)),
    ({ access, key, version }, fiber) =>
      Effect.flatMap(versionValues(core, call, access, key, version), (values) => {
        const precondition = call.header("if-match")
        const write: Write = { op: "update", access, key, values, files: [], precondition, lenient: true }
        return executeAndPresent(fiber, core, call, null, write)
      })
  )
