/**
 * Direct uploads: the bytes of a file go straight to its bucket, and none of them through the service. One request announces a file and gets a signed
 * one for the bucket; another confirms that the object is there. Only then it is looked at, and becomes what `upload` would have made of it. The signed
 * request stays good after that, so nothing is decided by the object that it writes: a copy is, whose name its sender does not know.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { directMs, maxAnnouncement, readAnnounced } from "../../domain/file/direct.ts"
import type { Announced } from "../../domain/file/direct.ts"
import { cleanName } from "../../domain/file/name.ts"
import { extensionOfType, isAccepted } from "../../domain/file/type.ts"
import { pathsOf } from "../../domain/file/uri.ts"
import type { StoredFile } from "../../domain/file/uri.ts"
import { invalidParameter, notFound, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import type { DirectStorage } from "../../ports/storage.ts"
import { json, readJson } from "../ground/call.ts"
import type { Call, Incoming, Reply } from "../ground/call.ts"
import type { Checks, Core } from "../ground/core.ts"
import { storageProblem, within } from "../ground/files.ts"
import { addressed, expires, locationOf, open, planned, turnOf } from "./address.ts"
import { answerAgain, asked, conclude, drop, headOf, isFinal, make, recordOf, scheduleAll } from "./finish.ts"
import type { PendingUpload } from "./finish.ts"
import { roomBeside } from "./room.ts"
import { decide, expected, refusedType } from "./stored.ts"
import { targetOf, tooLarge, uploadParameters, writable } from "./target.ts"
import type { UploadTarget } from "./target.ts"
import { concat, metered, reading } from "./upload-body.ts"

/** The longest that a bucket takes to copy an object of 5 GiB within itself. */
const copyMs = 300_000

/** A field whose provider takes direct uploads. */
type DirectTarget = UploadTarget & { readonly direct: DirectStorage }

const planTarget = function*(core: Core, call: Call, resource: string, { type }: Incoming): Checks<DirectTarget> {
  const access = yield* writable(call, resource)
  const parameters = yield* uploadParameters(call, ["field", "direct"])
  if (parameters.direct !== "1") {
    return yield* Result.fail(invalidParameter("direct", "The only value is 1.", "Leave direct out."))
  }
  const target = yield* targetOf(core, access, parameters.field)
  const { direct } = target.provider.storage
  if (direct === null) {
    return yield* Result.fail(
      invalidParameter(
        "direct",
        "The files of this field are in a folder, which takes no direct uploads.",
        "Leave direct out, and send the file to the service."
      )
    )
  }
  if (type?.split(";", 1)[0]!.trim().toLowerCase() !== "application/json") {
    return yield* Result.fail(
      problem("unsupported-media-type", "Announce the file as application/json.", { accept: ["application/json"] })
    )
  }
  return { ...target, direct }
}

const planUpload = function*(call: Call, target: DirectTarget, body: Uint8Array): Checks<[Announced, PendingUpload]> {
  const announced = yield* readAnnounced(yield* readJson(body))
  const { name, size, type } = announced
  if (size > target.file.maxSize) return yield* Result.fail(tooLarge(target.file))
  const said = { fileName: cleanName(name), declared: type, metadata: null, direct: true }
  return [announced, yield* planned(call, target, size, said)]
}

/** The announcement. It is small, whatever Content-Length says. */
const gather = ({ length, open }: Incoming): Effect.Effect<Uint8Array, Problem> =>
  Effect.flatMap(open, ({ bytes }) =>
    reading(async () => {
      const refuse = () => problem("payload-too-large", `An announcement has at most ${maxAnnouncement} bytes.`)
      const chunks: Uint8Array[] = []
      const meter = { size: 0, hash: null }
      const limits = [[(size: number) => size <= maxAnnouncement, refuse]] as const
      for await (const chunk of metered(bytes, length, meter, limits)) chunks.push(chunk)
      return concat(chunks, meter.size)
    }))

/** `POST :upload?field=…&direct=1`: announces a file. 201 with a signed request for the bucket, and the address that confirms it. */
export const beginDirect = Effect.fnUntraced(function*(
  core: Core,
  call: Call,
  resource: string,
  incoming: Incoming
): Effect.fn.Return<Reply, Problem> {
  const target = yield* Effect.fromResult(Result.gen(() => planTarget(core, call, resource, incoming)))
  const body = yield* gather(incoming)
  const [{ type }, plan] = yield* Effect.fromResult(Result.gen(() => planUpload(call, target, body)))
  const upload = yield* open(plan)
  const seconds = directMs / 1_000
  const until = target.files.now() + directMs
  const signed = yield* Effect.onError(
    asked(upload, target.direct.presignPut(upload.name, { size: upload.length, seconds })),
    // An earlier announcement of the same request has its address.
    () => upload === plan ? Effect.ignore(drop(upload)) : Effect.void
  )
  const location = locationOf(call, resource, upload, {
    metadata: null,
    fileName: upload.fileName,
    direct: { type }
  })
  const answer = { method: "PUT", ...signed, expires: new Date(until).toISOString() }
  return json(201, JSON.stringify(answer), { location, ...expires(upload), "cache-control": "no-store" })
})

/** `POST` of the address: looks at what has come, and gives the answer of `upload` with status 200. It may be asked for again. */
export const confirmDirect = Effect.fnUntraced(function*(
  core: Core,
  call: Call,
  resource: string,
  key: string
): Effect.fn.Return<Reply, Problem> {
  const upload = yield* Effect.fromResult(Result.gen(() => addressed(core, call, resource, key)))
  const { direct } = upload.provider.storage
  if (!upload.direct || direct === null) {
    return yield* Effect.fail(problem("conflict", "This upload comes in pieces, and a GET tells its end."))
  }
  return yield* turnOf(upload, () =>
    Effect.gen(function*(): Effect.fn.Return<Reply, Problem> {
      const record = yield* recordOf(upload)
      const reply = yield* record !== null ? answerAgain(call, upload, record) : confirm(call, upload, direct)
      // Whoever has the signed request may have sent it again.
      yield* asked(upload, upload.provider.storage.remove(upload.name))
      return reply
    }))
})

const confirm = Effect.fnUntraced(function*(
  call: Call,
  upload: PendingUpload,
  direct: DirectStorage
): Effect.fn.Return<Reply, Problem> {
  const { file, fileName, files, length, name, provider } = upload
  const unavailable = storageProblem(files, provider.name)
  yield* checkSize(upload, name)
  const head = yield* headOf(upload, name, length)
  const decided = yield* decide(upload, fileName, upload.declared, head, head.length === length)
  if (!isAccepted(file.accept, decided.type)) {
    yield* drop(upload)
    return yield* Effect.fail(refusedType(file, decided))
  }
  // Each attempt has a copy of its own. So none changes a file that another process has given a ticket for.
  const path = `${upload.folder}/${files.newId()}.${extensionOfType(decided.type)}`
  const finished = files.now()
  const first: StoredFile = { provider: provider.name, path, name: fileName, size: null, variants: [] }
  yield* scheduleAll(upload, first, finished)
  const undo = Effect.forEach(
    new Set(expected(upload, first).flatMap((each) => [...pathsOf(each)])),
    (each) => Effect.ignore(asked(upload, provider.storage.remove(each))),
    { discard: true }
  )
  const room = roomBeside(provider)
  const made = Effect.gen(function*() {
    const copied = yield* Effect.catch(within(direct.copy(name, path, decided.type), copyMs), unavailable)
    if (!copied) return yield* Effect.fail(notFound())
    yield* checkSize(upload, path)
    return yield* make(upload, { ...decided, path, finished, result: null }, { ...first, size: length }, room)
  })
  return yield* Effect.ensuring(
    Effect.flatMap(
      Effect.onExit(made, (exit) =>
        exit._tag === "Success"
          ? Effect.void
          : Effect.andThen(undo, isFinal(exit.cause) ? Effect.ignore(drop(upload)) : Effect.void)),
      (each) => conclude(call, upload, each, room)
    ),
    Effect.sync(() => room.release())
  )
})

/** Refuses an object of another size than was announced. It may be sent again. */
const checkSize = Effect.fnUntraced(function*(
  upload: PendingUpload,
  path: string
): Effect.fn.Return<void, Problem> {
  const head = yield* asked(upload, upload.provider.storage.head(path))
  if (head === null) return yield* Effect.fail(notFound())
  if (head.size === upload.length) return
  const said = `The bucket has ${head.size} bytes of the file, and ${upload.length} were announced.`
  return yield* Effect.fail(problem("conflict", said, { size: head.size }))
})
