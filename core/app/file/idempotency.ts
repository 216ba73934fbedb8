/**
 * `Idempotency-Key` on uploads: the same key and the same bytes get the same answer for 24 hours, other bytes a 422. No transaction is held while the
 * body is on its way: of two twins at once, one in this process gets a 409, one in another the answer of whoever was first.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { ownJson } from "../../domain/own-json.ts"
import { isProblem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import type { RecordsError } from "../../ports/records.ts"
import { readIdempotencyKey } from "../ground/call.ts"
import type { Call, IncomingFile, Reply } from "../ground/call.ts"
import type { Core } from "../ground/core.ts"
import type { Hash } from "../ground/files.ts"
import { recordsProblem } from "../ground/refusal.ts"
import { keyBusy, keyReused } from "../write/single.ts"
import { inTransaction } from "../write/transaction.ts"

export interface UploadKey {
  /** Takes the bytes of the body as they pass. */
  readonly hash: Hash
  /** Runs an upload, or answers what an earlier one was answered. */
  readonly run: (file: IncomingFile, work: () => Effect.Effect<Reply, Problem>) => Effect.Effect<Reply, Problem>
  /** Keeps the answer of an upload whose body has passed; that of a twin who was first goes before it. */
  readonly keep: (reply: Reply) => Effect.Effect<Reply, Problem>
}

/** Keys of uploads that are under way in this process. */
const underWay = new Set<string>()

/** The key of an upload; null without one. */
export const readMaybe = (core: Core, call: Call): Result.Result<UploadKey | null, Problem> =>
  Result.map(readIdempotencyKey(call), (key) => key === null || core.files === null ? null : makeKey(core, call, key))

const makeKey = (core: Core, call: Call, key: string): UploadKey => {
  const { caller, path, query } = call
  const files = core.files!
  const scope = JSON.stringify([caller.tenant, caller.id])
  const hash = files.hash()
  const textOf = (body: string): string =>
    `${path}\n${JSON.stringify(query)}\n${call.header("content-type") ?? ""}\n${body}`
  const now = (): bigint => BigInt(files.now()) * 1000n
  const replayed = (
    text: string,
    stored: { readonly request: string; readonly answer: string }
  ): Effect.Effect<Reply, Problem> => {
    if (!core.seal.digests(text).includes(stored.request)) return Effect.fail(keyReused())
    const reply = ownJson<Reply>(stored.answer)
    return Effect.succeed({ ...reply, headers: { ...reply.headers, "idempotency-replayed": "true" } })
  }
  const withProblems = <A>(work: Effect.Effect<A, Problem | RecordsError>): Effect.Effect<A, Problem> =>
    Effect.catch(
      work,
      (error): Effect.Effect<never, Problem> => isProblem(error) ? Effect.fail(error) : recordsProblem(error)
    )

  return {
    hash,
    run: (file, work) => {
      const name = `${scope}\n${key}`
      if (underWay.has(name)) return Effect.fail(keyBusy())
      underWay.add(name)
      const run = Effect.gen(function*(): Effect.fn.Return<Reply, Problem> {
        const claimed = yield* withProblems(inTransaction(core, (tx) => tx.claimKey({ scope, key, now: now() })))
        if (claimed.of === "busy") return yield* Effect.fail(keyBusy())
        if (claimed.of === "new") return yield* work()
        // The bytes decide whether it is the same request; they are read and kept nowhere.
        const read = yield* Effect.promise(async () => {
          try {
            for await (const chunk of file.bytes) hash.update(chunk)
            return null
          } catch (error) {
            return error
          }
        })
        if (read !== null) {
          return yield* (isProblem(read)
            ? Effect.fail(read)
            : Effect.die(read))
        }
        return yield* replayed(textOf(hash.digest()), claimed)
      })
      return Effect.ensuring(run, Effect.sync(() => underWay.delete(name)))
    },
    keep: (reply) => {
      const text = textOf(hash.digest())
      const request = core.seal.digest(text)
      return withProblems(Effect.flatMap(
        inTransaction(
          core,
          (tx) =>
            Effect.flatMap(tx.claimKey({ scope, key, now: now() }), (claimed) =>
              claimed.of === "new"
                ? Effect.as(tx.storeKey({ scope, key, now: now(), request, answer: JSON.stringify(reply) }), null)
                : Effect.succeed(claimed))
        ),
        (twin): Effect.Effect<Reply, Problem> =>
          twin === null ? Effect.succeed(reply) : twin.of === "busy" ? Effect.fail(keyBusy()) : replayed(text, twin)
      ))
    }
  }
}
