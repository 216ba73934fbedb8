/**
 * Uploads in pieces (tus 1.0), for lines that break: one request announces a file, others send its bytes from where they ended, and the last one makes of
 * them what `upload` would. No table knows of it. A sealed address names the upload, its provider keeps what has come, and the name there tells whose it
 * is. So any instance can go on, and nobody else can. Access is asked with every request.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { cleanName } from "../../domain/file/name.ts"
import { detectedBytes } from "../../domain/file/type.ts"
import {
  addressContext,
  isTooMuch,
  pieceType,
  readAddress,
  readLength,
  readMetadata,
  readOffset,
  readUnfinished,
  tusExtensions,
  tusVersion,
  underWay,
  unfinishedMs,
  unfinishedName,
  uploaderPrefix,
  uploaderText,
  versionRefusal,
  writeAddress
} from "../../domain/file/unfinished.ts"
import type { UploadRecord } from "../../domain/file/unfinished.ts"
import { tenantFolder } from "../../domain/file/uri.ts"
import { isProblem, notFound, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import type { ListedFile } from "../../ports/storage.ts"
import type { Call, Incoming, Reply } from "../ground/call.ts"
import type { Checks, Core } from "../ground/core.ts"
import { storageProblem } from "../ground/provider.ts"
import { begin } from "./body.ts"
import { claimRoom, unclaimRoom } from "./room.ts"
import { asked, decideRecord, drop, recordOf, settle, targetOfRecord } from "./settle.ts"
import type { PiecedUpload } from "./settle.ts"
import { readParameters, targetOf, tooLarge, writable } from "./target.ts"
import { inTurn, pieceBody, storing } from "./turn.ts"
import type { Turn } from "./turn.ts"

const expires = ({ created }: Pick<PiecedUpload, "created">): { readonly [name: string]: string } => ({
  "upload-expires": new Date(created + unfinishedMs).toUTCString()
})

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

const planBegin = function*(core: Core, call: Call, resource: string): Checks<PiecedUpload> {
  const refusal = versionRefusal(call.header("tus-resumable"))
  if (refusal !== null) return yield* Result.fail(refusal)
  const access = yield* writable(call, resource)
  const parameters = yield* readParameters(call)
  const target = yield* targetOf(core, access, parameters.get("field"))
  const length = yield* readLength(call.header)
  const metadata = yield* readMetadata(call.header("upload-metadata"))
  if (length > target.file.maxSize) return yield* Result.fail(tooLarge(target.file))
  const { files } = target
  const unfinished = {
    who: files.seal.digest(uploaderText(call.caller)),
    created: files.now(),
    length,
    id: files.newId()
  }
  return {
    ...target,
    ...unfinished,
    name: unfinishedName(unfinished),
    ...described(call, target, metadata, parameters.get("name") ?? null),
    metadata: call.header("upload-metadata")
  }
}

const described = (
  { caller }: Call,
  { access }: Pick<PiecedUpload, "access">,
  metadata: ReadonlyMap<string, string>,
  name: string | null
): Pick<PiecedUpload, "folder" | "fileName" | "declared"> => ({
  folder: tenantFolder(access.model.tenant === null ? null : caller.tenant),
  fileName: cleanName(name ?? metadata.get("filename") ?? metadata.get("name") ?? ""),
  declared: metadata.get("filetype") ?? metadata.get("type") ?? null
})

/** The upload of an address. What cannot be opened, is over or is for a field that is not there is not found. */
const addressed = function*(core: Core, call: Call, resource: string, key: string): Checks<PiecedUpload> {
  const access = yield* writable(call, resource)
  const opened = core.files?.seal.open(addressContext(call.caller, resource), key) ?? null
  const address = opened === null ? null : readAddress(opened)
  const found = address === null ? null : readUnfinished(address.name)
  if (address === null || found === null || !access.restricted.byName.has(address.field)) {
    return yield* Result.fail(notFound())
  }
  const target = yield* targetOf(core, access, address.field)
  if (target.provider.name !== address.provider || target.files.now() - found.created >= unfinishedMs) {
    return yield* Result.fail(notFound())
  }
  const metadata = yield* readMetadata(address.metadata)
  return {
    ...target,
    ...found,
    ...described(call, target, metadata, address.fileName),
    metadata: address.metadata
  }
}

/** Refuses a person who has begun too much. Whoever comes at the same time has begun before, too, so that nobody passes. */
const checkLimits = Effect.fnUntraced(function*(upload: PiecedUpload): Effect.fn.Return<void, Problem> {
  const { files, length, provider, who } = upload
  let total = { uploads: 0, bytes: 0 }
  let after: string | null = null
  for (;;) {
    const page: readonly ListedFile[] = yield* asked(
      upload,
      provider.storage.list({ prefix: uploaderPrefix(who), after, limit: 1_000 })
    )
    const more = underWay(page, files.now())
    total = { uploads: total.uploads + more.uploads, bytes: total.bytes + more.bytes }
    if (page.length < 1_000) break
    after = page.at(-1)!.path
  }
  if (!isTooMuch(total, length)) return
  return yield* Effect.fail(
    problem(
      "too-many-requests",
      "You have begun too many uploads that have not ended. End some of them, or wait until they expire.",
      {},
      { "retry-after": "60" }
    )
  )
})

/** Adds the body of a request at an offset. The size then. The last piece ends the upload. */
const receive = Effect.fnUntraced(function*(
  call: Call,
  upload: PiecedUpload,
  offset: number,
  incoming: Incoming,
  turn: Turn
): Effect.fn.Return<number, Problem> {
  const { files, length, name, provider } = upload
  const { resumable } = provider.storage
  let record = yield* recordOf(upload)
  if (record?.finished != null) {
    if (offset !== length) return yield* Effect.fail(wrongOffset(length))
    yield* settle(call, upload, record)
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
  if (appended.size === length) yield* settle(call, upload, record)
  return appended.size
})

const turnOf = <A>(upload: PiecedUpload, work: (turn: Turn) => Effect.Effect<A, Problem>): Effect.Effect<A, Problem> =>
  inTurn(`${upload.provider.name}:${upload.name}`, upload.who, work)

/** `POST`: announces a file. 201 with its address; a body is its first piece. */
export const beginUpload = Effect.fnUntraced(function*(
  core: Core,
  call: Call,
  resource: string,
  incoming: Incoming
): Effect.fn.Return<Reply, Problem> {
  const upload = yield* Effect.fromResult(Result.gen(() => planBegin(core, call, resource)))
  const { files, length, name, provider } = upload
  const hasPiece = isPiece(incoming)
  if (!hasPiece && (incoming.length ?? 0) > 0) return yield* Effect.fail(notPiece())
  if (hasPiece && (incoming.length ?? 0) > length) return yield* Effect.fail(tooLong())
  yield* claimRoom(files, provider, length)
  yield* Effect.onExit(
    Effect.andThen(asked(upload, provider.storage.resumable.begin(name)), checkLimits(upload)),
    (exit) => {
      if (exit._tag === "Success") return Effect.void
      unclaimRoom(provider, length)
      return Effect.ignore(asked(upload, provider.storage.resumable.abort(name)))
    }
  )
  const address = writeAddress({
    provider: provider.name,
    name,
    field: upload.field.name,
    metadata: upload.metadata,
    fileName: new Map(call.query).get("name") ?? null
  })
  const location = `${call.path}/${files.seal.seal(addressContext(call.caller, resource), address)}`
  // Of an upload that fails here nobody knows the address.
  const received = hasPiece
    ? {
      "upload-offset": String(
        yield* Effect.onError(
          turnOf(upload, (turn) => receive(call, upload, 0, incoming, turn)),
          () => Effect.ignore(drop(upload))
        )
      )
    }
    : {}
  return empty(201, { location, ...expires(upload), ...received })
})

const withVersion = function*(core: Core, call: Call, resource: string, key: string): Checks<PiecedUpload> {
  const refusal = versionRefusal(call.header("tus-resumable"))
  return refusal === null ? yield* addressed(core, call, resource, key) : yield* Result.fail(refusal)
}

/** `HEAD`: how much has arrived. */
export const uploadState = Effect.fnUntraced(function*(
  core: Core,
  call: Call,
  resource: string,
  key: string
): Effect.fn.Return<Reply, Problem> {
  const upload = yield* Effect.fromResult(Result.gen(() => withVersion(core, call, resource, key)))
  let size = yield* asked(upload, upload.provider.storage.resumable.size(upload.name))
  if (size === null || size < upload.length) {
    const record = yield* recordOf(upload)
    if (record?.finished != null) size = upload.length
    else if (size === null) return yield* Effect.fail(notFound())
  }
  return empty(200, {
    "upload-offset": String(size),
    "upload-length": String(upload.length),
    ...(upload.metadata === null ? {} : { "upload-metadata": upload.metadata }),
    ...expires(upload),
    "cache-control": "no-store"
  })
})

/** `PATCH`: a piece. 204 with the offset of the next one; after the last one the file is stored. */
export const addPiece = Effect.fnUntraced(function*(
  core: Core,
  call: Call,
  resource: string,
  key: string,
  incoming: Incoming
): Effect.fn.Return<Reply, Problem> {
  const [upload, offset] = yield* Effect.fromResult(Result.gen(function*(): Checks<readonly [PiecedUpload, number]> {
    const upload = yield* withVersion(core, call, resource, key)
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
  const known: UploadRecord | null = yield* recordOf(upload)
  if (known?.result != null) return yield* settle(call, upload, known)
  const size = yield* asked(upload, upload.provider.storage.resumable.size(upload.name))
  // Whoever asks early ends no piece that is on its way.
  if (size !== null && size < upload.length && known?.finished == null) {
    return yield* Effect.fail(problem("conflict", "Not all of the file has arrived yet.", { offset: size }))
  }
  return yield* turnOf(upload, () => Effect.flatMap(recordOf(upload), (record) => settle(call, upload, record)))
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
        if (size === null && (yield* recordOf(upload)) === null) return yield* Effect.fail(notFound())
        yield* drop(upload)
      })
  )
  return empty(204, {})
})
