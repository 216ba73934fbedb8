/**
 * Uploads in pieces (tus 1.0), for lines that break: one request announces a file, others send its bytes from where they ended, and the last one makes of
 * them what `upload` would. No table knows of it. A sealed address names the upload, its provider keeps what has come, and the name there tells whose it
 * is. So any instance can go on, and nobody else can. Access is asked with every request.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { detectedBytes } from "../../domain/file/type.ts"
import {
  pieceType,
  readLength,
  readMetadata,
  readOffset,
  tusExtensions,
  tusVersion,
  versionRefusal
} from "../../domain/file/unfinished.ts"
import type { UploadRecord } from "../../domain/file/unfinished.ts"
import { isProblem, notFound, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import type { Call, Incoming, Reply } from "../ground/call.ts"
import type { Checks, Core } from "../ground/core.ts"
import { storageProblem } from "../ground/files.ts"
import { addressed, described, expires, locationOf, open, planned, turnOf } from "./address.ts"
import { asked, decideRecord, drop, finish, recordOf, targetOfRecord } from "./finish.ts"
import type { PendingUpload } from "./finish.ts"
import { targetOf, tooLarge, uploadParameters, writable } from "./target.ts"
import { pieceBody, storing } from "./turn.ts"
import type { Turn } from "./turn.ts"
import { begin } from "./upload-body.ts"

const empty = (status: number, headers: { readonly [name: string]: string }): Reply => ({ status, headers, body: null })

const notPiece = (): Problem =>
  problem("unsupported-media-type", `Send a piece with Content-Type: ${pieceType}.`, { accept: [pieceType] })

const isPiece = ({ type }: Incoming): boolean => type?.split(";", 1)[0]!.trim().toLowerCase() === pieceType

const tooLong = (): Problem => problem("payload-too-large", "The piece goes beyond the announced length of the file.")

const wrongOffset = (size: number): Problem =>
  problem("conflict", `The next piece begins at ${size}.`, { offset: size }, { "upload-offset": String(size) })

/** `OPTIONS`: what is served, and the longest file that the caller may send here. */
export const uploadOptions = function*(core: Core, call: Call, resource: string): Checks<Reply> {
  const access = yield* writable(call, resource)
  const { creatable, fields, updatable } = access.restricted
  const sizes = fields.flatMap(({ file, name }) =>
    file !== null && core.files !== null && (creatable.has(name) || updatable.has(name)) ? [file.maxSize] : []
  )
  return empty(204, {
    "tus-version": tusVersion,
    "tus-extension": tusExtensions,
    "tus-max-size": String(Math.max(0, ...sizes))
  })
}

const planBegin = function*(core: Core, call: Call, resource: string): Checks<PendingUpload> {
  const refusal = versionRefusal(call.header("tus-resumable"))
  if (refusal !== null) return yield* Result.fail(refusal)
  const access = yield* writable(call, resource)
  const parameters = yield* uploadParameters(call, ["field", "name"])
  const target = yield* targetOf(core, access, parameters.field)
  const length = yield* readLength(call.header)
  const metadata = yield* readMetadata(call.header("upload-metadata"))
  if (length > target.file.maxSize) return yield* Result.fail(tooLarge(target.file))
  return yield* planned(call, target, length, {
    ...described(metadata, parameters.name ?? null),
    metadata: call.header("upload-metadata"),
    direct: false
  })
}

/** Adds the body of a request at an offset. The size then. The last piece ends the upload. */
const receive = Effect.fnUntraced(function*(
  call: Call,
  upload: PendingUpload,
  offset: number,
  incoming: Incoming,
  turn: Turn
): Effect.fn.Return<number, Problem> {
  const { files, length, name, provider } = upload
  const { resumable } = provider.storage
  let record = yield* recordOf(upload)
  if (record?.finished != null) {
    if (offset !== length) return yield* Effect.fail(wrongOffset(length))
    yield* finish(call, upload, record)
    return length
  }
  let before: Uint8Array | null = null
  if (record === null) {
    before = yield* asked(upload, resumable.start(name, detectedBytes))
    if (before === null) return yield* Effect.fail(notFound())
    if (before.length !== offset) return yield* Effect.fail(wrongOffset(before.length))
  }
  const opened = yield* incoming.open
  const piece = pieceBody(turn, opened.bytes, length - offset, tooLong)
  let { bytes } = piece
  if (before !== null) {
    const begun = yield* Effect.promise(() => begin(piece.bytes, detectedBytes - offset))
    const head = new Uint8Array(offset + begun.head.length)
    head.set(before)
    head.set(begun.head, offset)
    if (head.length >= detectedBytes || head.length === length) {
      record = yield* Effect.onError(
        decideRecord(upload, head, head.length === length),
        () => Effect.promise(async () => void await begun.bytes[Symbol.asyncIterator]().return?.())
      )
    }
    bytes = begun.bytes
  }
  const appended = yield* Effect.catch(
    storing(
      turn,
      piece,
      resumable.append(name, offset, bytes, record === null ? null : targetOfRecord(upload, record))
    ),
    storageProblem(files, provider.name)
  )
  if (appended === null) return yield* Effect.fail(notFound())
  if (!appended.matched) return yield* Effect.fail(wrongOffset(appended.size))
  if (piece.error !== null) {
    return yield* isProblem(piece.error) ? Effect.fail(piece.error) : Effect.die(piece.error)
  }
  if (appended.size === length) yield* finish(call, upload, record)
  return appended.size
})

/** `POST`: announces a file. 201 with its address; a body is its first piece. */
export const beginUpload = Effect.fnUntraced(function*(
  core: Core,
  call: Call,
  resource: string,
  incoming: Incoming
): Effect.fn.Return<Reply, Problem> {
  const plan = yield* Effect.fromResult(Result.gen(() => planBegin(core, call, resource)))
  const { length } = plan
  const hasPiece = isPiece(incoming)
  if (!hasPiece && (incoming.length ?? 0) > 0) return yield* Effect.fail(notPiece())
  if (hasPiece && (incoming.length ?? 0) > length) return yield* Effect.fail(tooLong())
  const upload = yield* open(plan)
  const location = locationOf(call, resource, upload, {
    metadata: upload.metadata,
    fileName: new Map(call.query).get("name") ?? null,
    direct: null
  })
  if (!hasPiece) return empty(201, { location, ...expires(upload) })
  const begun = upload === plan ? 0 : yield* arrived(upload)
  if (begun !== 0) return empty(201, { location, ...expires(upload), "upload-offset": String(begun) })
  const received = turnOf(upload, (turn) => receive(call, upload, 0, incoming, turn))
  // Of an upload that fails here nobody knows the address.
  const size = yield* upload === plan ? Effect.onError(received, () => Effect.ignore(drop(upload))) : received
  return empty(201, { location, ...expires(upload), "upload-offset": String(size) })
})

const withVersion = function*(core: Core, call: Call, resource: string, key: string): Checks<PendingUpload> {
  const refusal = versionRefusal(call.header("tus-resumable"))
  return refusal === null ? yield* addressed(core, call, resource, key) : yield* Result.fail(refusal)
}

/** How much has arrived. */
const arrived = Effect.fnUntraced(function*(upload: PendingUpload): Effect.fn.Return<number, Problem> {
  const size = yield* asked(upload, upload.provider.storage.resumable.size(upload.name))
  if (size !== null && size >= upload.length) return size
  const record = yield* recordOf(upload)
  if (record?.finished != null) return upload.length
  return size === null ? yield* Effect.fail(notFound()) : size
})

/** `HEAD`: how much has arrived. */
export const uploadState = Effect.fnUntraced(function*(
  core: Core,
  call: Call,
  resource: string,
  key: string
): Effect.fn.Return<Reply, Problem> {
  const upload = yield* Effect.fromResult(Result.gen(() => withVersion(core, call, resource, key)))
  const size = yield* arrived(upload)
  return empty(200, {
    "upload-offset": String(size),
    "upload-length": String(upload.length),
    ...(upload.metadata === null ? {} : { "upload-metadata": upload.metadata }),
    ...expires(upload),
    "cache-control": "no-store"
  })
})

const isDirect = (): Problem =>
  problem("conflict", "The file of this upload goes straight to its bucket. A POST confirms that it is there.")

/** `PATCH`: a piece. 204 with the offset of the next one; after the last one the file is stored. */
export const addPiece = Effect.fnUntraced(function*(
  core: Core,
  call: Call,
  resource: string,
  key: string,
  incoming: Incoming
): Effect.fn.Return<Reply, Problem> {
  const [upload, offset] = yield* Effect.fromResult(Result.gen(function*(): Checks<readonly [PendingUpload, number]> {
    const upload = yield* withVersion(core, call, resource, key)
    if (upload.direct) return yield* Result.fail(isDirect())
    if (!isPiece(incoming)) return yield* Result.fail(notPiece())
    const offset = yield* readOffset(call.header("upload-offset"))
    if (offset + (incoming.length ?? 0) > upload.length) return yield* Result.fail(tooLong())
    return [upload, offset]
  }))
  const size = yield* turnOf(upload, (turn) => receive(call, upload, offset, incoming, turn))
  return empty(204, { "upload-offset": String(size), ...expires(upload) })
})

/** `GET`: the ticket, once all has arrived; 409 before. It may be asked for again, and ends what a broken-off last piece has left. */
export const uploadAnswer = Effect.fnUntraced(function*(
  core: Core,
  call: Call,
  resource: string,
  key: string
): Effect.fn.Return<Reply, Problem> {
  const upload = yield* Effect.fromResult(Result.gen(() => addressed(core, call, resource, key)))
  const record: UploadRecord | null = yield* recordOf(upload)
  if (record?.result != null) return yield* finish(call, upload, record)
  if (upload.direct) return yield* Effect.fail(record === null ? isDirect() : notFound())
  const size = yield* asked(upload, upload.provider.storage.resumable.size(upload.name))
  // Whoever asks early ends no piece that is on its way.
  if (size !== null && size < upload.length && record?.finished == null) {
    return yield* Effect.fail(problem("conflict", "Not all of the file has arrived yet.", { offset: size }))
  }
  return yield* turnOf(upload, () => Effect.flatMap(recordOf(upload), (record) => finish(call, upload, record)))
})

/** `DELETE`: ends an upload. A file that is stored already goes with a later cleanup, unless a record holds it. */
export const endUpload = Effect.fnUntraced(function*(
  core: Core,
  call: Call,
  resource: string,
  key: string
): Effect.fn.Return<Reply, Problem> {
  const upload = yield* Effect.fromResult(Result.gen(() => withVersion(core, call, resource, key)))
  yield* turnOf(
    upload,
    () =>
      Effect.gen(function*(): Effect.fn.Return<void, Problem> {
        const size = yield* asked(upload, upload.provider.storage.resumable.size(upload.name))
        const record = yield* recordOf(upload)
        const isOver = record === null ? size === null : upload.direct && record.result === null
        if (isOver) return yield* Effect.fail(notFound())
        yield* drop(upload)
      })
  )
  return empty(204, {})
})
