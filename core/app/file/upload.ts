/**
 * `POST /{resource}:upload` (docs/guides/files.md#from-upload-to-cleanup): checks access and type, streams the bytes to their provider, has copies of images made, and answers a
 * ticket that a write takes. A refused or interrupted upload leaves nothing behind. A later cleanup removes files that no write attaches.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { cleanName } from "../../domain/file/name.ts"
import { extensionOfType, isAccepted } from "../../domain/file/type.ts"
import { extensionOf, pathsOf, tenantFolder } from "../../domain/file/uri.ts"
import type { StoredFile } from "../../domain/file/uri.ts"
import { problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import type { Call, Incoming, IncomingFile, Reply } from "../ground/call.ts"
import { pipeline } from "../ground/core.ts"
import type { Checks, Core } from "../ground/core.ts"
import { ask, askMs, schedule, storageProblem, uploadEntry } from "../ground/files.ts"
import { readMaybe } from "./idempotency.ts"
import type { UploadKey } from "./idempotency.ts"
import { roomFor } from "./room.ts"
import { answer, decide, derive, expected, headWanted, refusedType, render, typeOf } from "./stored.ts"
import { targetOf, tooLarge, uploadParameters, writable } from "./target.ts"
import type { UploadTarget } from "./target.ts"
import { after, begin, metered, reading } from "./upload-body.ts"
import type { Meter } from "./upload-body.ts"

/** An upload that may begin. */
interface UploadPlan extends UploadTarget {
  /** As in the query. Null: only the body can name it. */
  readonly name: string | null
  readonly key: UploadKey | null
}

/** Bytes that a multipart form adds around its file. */
const formBytes = 64 * 1024

const planUpload = function*(core: Core, call: Call, resource: string, incoming: Incoming): Checks<UploadPlan> {
  const access = yield* writable(call, resource)
  const { field, name = null } = yield* uploadParameters(call, ["field", "name"])
  const target = yield* targetOf(core, access, field)
  const { file } = target
  const most = file.maxSize + (incoming.isForm ? formBytes : 0)
  if (incoming.length !== null && incoming.length > most) return yield* Result.fail(tooLarge(file))
  return { ...target, name, key: yield* readMaybe(core, call) }
}

/** Stores an accepted upload. If anything fails, the stored files are removed. The delete of files that cannot be removed is already scheduled. */
const store = Effect.fnUntraced(function*(
  call: Call,
  plan: UploadPlan,
  { length }: Incoming,
  incoming: IncomingFile
): Effect.fn.Return<Reply, Problem> {
  const { access, file, files, key, provider } = plan
  const room = yield* roomFor(
    files,
    provider,
    incoming.length ?? (length === null ? null : Math.min(length, file.maxSize))
  )
  const meter: Meter = { size: 0, hash: key === null ? null : key.hash }
  const limits = [[(size: number) => size <= file.maxSize, () => tooLarge(file)], [
    room.grow,
    () => problem("insufficient-storage", "There is no room for the file.")
  ]] as const
  const limited = metered(incoming.bytes, incoming.length, meter, limits)
  return yield* Effect.ensuring(
    Effect.gen(function*(): Effect.fn.Return<Reply, Problem> {
      const begun = yield* reading(() => begin(limited, headWanted(file)))
      const name = cleanName(plan.name ?? incoming.name ?? "")
      const decided = yield* decide(plan, name, incoming.type, begun.head, begun.whole)
      if (!isAccepted(file.accept, decided.type)) {
        yield* Effect.promise(async () => void await begun.bytes[Symbol.asyncIterator]().return?.())
        return yield* Effect.fail(refusedType(file, decided))
      }
      const folder = tenantFolder(access.model.tenant === null ? null : call.caller.tenant)
      const path = `${folder}/${files.newId()}.${extensionOfType(decided.type)}`
      const first: StoredFile = { provider: provider.name, path, name, size: null, variants: [] }
      const promises = expected(plan, first)
      const unavailable = storageProblem(files, provider.name)
      let names: readonly string[] = []
      const gate = Promise.withResolvers<void>()
      gate.promise.catch(() => {})
      const scheduled = Effect.onExit(
        Effect.map(
          Effect.forEach(promises, (each) => schedule(files, provider, uploadEntry(each, files.now()), askMs.upload)),
          (all) => void (names = all)
        ),
        (exit) => Effect.sync(() => exit._tag === "Success" ? gate.resolve() : gate.reject(new Error("not scheduled")))
      )
      const undo = Effect.suspend(() =>
        Effect.ignore(Effect.forEach(
          [...new Set(promises.flatMap((each) => [...pathsOf(each)])), ...names],
          (each) => ask(files, provider, provider.storage.remove(each), askMs.upload),
          { concurrency: "unbounded", discard: true }
        ))
      )
      const stored = Effect.gen(function*(): Effect.fn.Return<Reply, Problem> {
        // Neither interrupts the other, because a running storage operation has to end by itself.
        const [entries, put] = yield* Effect.all([
          Effect.exit(scheduled),
          Effect.exit(
            provider.storage.put(path, after(begun.bytes, gate.promise), {
              type: decided.type,
              size: incoming.length,
              most: file.maxSize
            })
          )
        ], { concurrency: 2 })
        yield* Effect.catch(entries, unavailable)
        const size = yield* Effect.catch(put, unavailable)
        const rendered = yield* render(plan, { ...first, size }, decided.type, room)
        const outcome = rendered?.file ?? { ...first, size }
        const type = outcome.path === path ? decided.type : typeOf(extensionOf(outcome.path))
        const derived = yield* derive(plan, outcome, type, rendered?.head ?? begun.head, rendered?.image ?? null)
        const replaced = rendered?.replaced ?? null
        if (replaced !== null) yield* Effect.catch(provider.storage.remove(replaced), unavailable)
        const reply = yield* answer(plan, call, outcome, type, decided, derived)
        room.keep(outcome, rendered !== null && rendered.head !== null)
        return key === null ? reply : yield* key.keep(reply)
      })
      // A storage operation continues after its sender has disconnected. It would end after the rollback, so the rollback waits for it. A body that
      // breaks off ends it at once.
      return yield* Effect.uninterruptibleMask((restore) =>
        Effect.onExit(
          Effect.flatMap(stored, (reply) => Effect.as(restore(Effect.promise(() => Promise.resolve())), reply)),
          (exit) =>
            exit._tag === "Success" && exit.value.headers["idempotency-replayed"] === undefined
              ? Effect.void
              : undo
        )
      )
    }),
    Effect.sync(() => room.release())
  )
})

/** `POST /{resource}:upload?field=…&name=…`: 201 with a ticket. The body is the file, or a form with one file. */
export const upload = (core: Core, call: Call, resource: string, incoming: Incoming): Effect.Effect<Reply, Problem> =>
  pipeline(
    () => Result.gen(() => planUpload(core, call, resource, incoming)),
    (plan) =>
      Effect.flatMap(
        incoming.open,
        (file) =>
          plan.key === null
            ? store(call, plan, incoming, file)
            : plan.key.run(file, () => store(call, plan, incoming, file))
      )
  )
