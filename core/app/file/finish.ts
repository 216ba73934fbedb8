/**
 * The end of an upload in pieces: all bytes are there, and the file becomes what `upload` would have made of it. Each step may be the last one of a
 * process, and may be done again: a record beside the upload tells how far it came. The delete of the file is scheduled before the file is visible.
 */

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { ticketMs } from "../../domain/file/ticket.ts"
import { detectedBytes, extensionOfType, isAccepted } from "../../domain/file/type.ts"
import { doneName, readRecord, recordContext, recordName, writeRecord } from "../../domain/file/unfinished.ts"
import type { UploadRecord } from "../../domain/file/unfinished.ts"
import { extensionOf, pathsOf, readStored, writeStored } from "../../domain/file/uri.ts"
import type { StoredFile } from "../../domain/file/uri.ts"
import { notFound, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { StorageError } from "../../ports/storage.ts"
import type { UnfinishedTarget } from "../../ports/storage.ts"
import type { Call, Reply } from "../ground/call.ts"
import { ask, askMs, readText, schedule, storageProblem, textBody, uploadEntry, within } from "../ground/files.ts"
import { roomBeside, unclaimRoom } from "./room.ts"
import type { Room } from "./room.ts"
import { answer, decide, derive, expected, headWanted, refusedType, render, typeOf } from "./stored.ts"
import type { Derived, Rendered, SizedFile } from "./stored.ts"
import type { UploadTarget } from "./target.ts"

/** An upload that has not ended, as its address names it. */
export interface PendingUpload extends UploadTarget {
  /** Its name at the provider, and what that tells. */
  readonly name: string
  readonly who: string
  readonly id: string
  readonly created: number
  readonly length: number
  /** Where its file will be. */
  readonly folder: string
  readonly fileName: string
  /** The type that was sent with it. */
  readonly declared: string | null
  readonly metadata: string | null
  /** Its bytes go straight to the provider; else they come in pieces. */
  readonly direct: boolean
  /** What the ids of all uploads begin with that the same request begins; empty where it does not say that it is the same. */
  readonly again: string
}

/** Longest record in bytes: it holds what a ticket holds, sealed. */
const maxRecord = 64 * 1024

/** The longest that somebody waits for a storage that puts parts together. It goes on meanwhile, and whoever asks once more finds it done. */
const finishMs = 60_000

/** A small call about an upload, as the caller is told of its failure. */
export const asked = <A>(
  { files, provider }: UploadTarget,
  call: Effect.Effect<A, StorageError>
): Effect.Effect<A, Problem> =>
  Effect.catch(ask(files, provider, call, askMs.upload), storageProblem(files, provider.name))

/** What is known of the file; null: its first bytes have not come yet. */
export const recordOf = (upload: PendingUpload): Effect.Effect<UploadRecord | null, Problem> => {
  const read = (name: string): Effect.Effect<UploadRecord | null, Problem> =>
    Effect.map(asked(upload, readText(upload.provider, name, maxRecord)), (text) => {
      const opened = text === null ? null : upload.files.seal.open(recordContext(upload.name), text)
      return opened === null ? null : readRecord(opened)
    })
  return Effect.map(
    Effect.all([read(doneName(upload.name)), read(recordName(upload.name))], { concurrency: 2 }),
    ([done, earlier]) => done ?? earlier
  )
}

const keepRecord = (upload: PendingUpload, record: UploadRecord): Effect.Effect<void, Problem> => {
  const text = upload.files.seal.seal(recordContext(upload.name), writeRecord(record))
  const name = record.result === null ? recordName(upload.name) : doneName(upload.name)
  const put = upload.provider.storage.put(name, textBody(text), {
    type: "application/octet-stream",
    size: text.length
  })
  return Effect.asVoid(asked(upload, put))
}

export const targetOfRecord = ({ length }: PendingUpload, { path, type }: UploadRecord): UnfinishedTarget => ({
  path,
  type,
  length
})

/**
 * Removes all that there is of an upload. A file that is visible stays for its scheduled delete. Of a direct upload a record without a result stays until its
 * time is over: the signed request may write the object again, and that is nobody's. Answers whether the upload was there.
 */
export const drop = (upload: PendingUpload): Effect.Effect<boolean, Problem> => {
  const { direct, name, provider } = upload
  const { resumable } = provider.storage
  return Effect.gen(function*(): Effect.fn.Return<boolean, Problem> {
    const record = direct ? yield* recordOf(upload) : null
    const size = yield* asked(upload, resumable.size(name))
    if (direct) yield* keepRecord(upload, { path: "", type: "", corrected: null, finished: null, result: null })
    yield* asked(upload, resumable.abort(name))
    for (const record of direct ? [doneName] : [recordName, doneName]) {
      yield* asked(upload, provider.storage.remove(record(name)))
    }
    // The room of an upload that has a record was given back already.
    if (size !== null && record === null) unclaimRoom(provider, upload.length)
    return size !== null
  })
}

/** Decides the type by the first bytes and writes it down. An upload that the field does not accept is refused, and goes. */
export const decideRecord = Effect.fnUntraced(function*(
  upload: PendingUpload,
  head: Uint8Array,
  whole: boolean
): Effect.fn.Return<UploadRecord, Problem> {
  const decided = yield* decide(upload, upload.fileName, upload.declared, head, whole)
  if (!isAccepted(upload.file.accept, decided.type)) {
    yield* drop(upload)
    return yield* Effect.fail(refusedType(upload.file, decided))
  }
  const record: UploadRecord = {
    ...decided,
    path: `${upload.folder}/${upload.id}.${extensionOfType(decided.type)}`,
    finished: null,
    result: null
  }
  yield* keepRecord(upload, record)
  return record
})

/** The beginning of a stored file. */
export const headOf = (upload: PendingUpload, path: string, size: number): Effect.Effect<Uint8Array, Problem> => {
  const end = Math.min(size, headWanted(upload.file)) - 1
  if (end < 0) return Effect.succeed(new Uint8Array(0))
  return asked(
    upload,
    Effect.flatMap(upload.provider.storage.read(path, { start: 0, end }), (body) =>
      Effect.tryPromise({
        try: async () => {
          const head = new Uint8Array(end + 1)
          let at = 0
          for await (const chunk of body?.bytes ?? []) {
            head.set(chunk, at)
            at += chunk.length
          }
          if (at !== head.length) throw new Error("the file is shorter than it was")
          return head
        },
        catch: (cause) => new StorageError({ reason: "Unavailable", cause })
      }))
  )
}

/** The answer about an upload that is done; it may be asked for again. */
export const answerAgain = (
  call: Call,
  upload: PendingUpload,
  { corrected, finished, result }: UploadRecord
): Effect.Effect<Reply, Problem> => {
  const file = result === null ? null : readStored(result.uri)
  if (file === null || file.size === null || result === null || finished === null) return Effect.fail(notFound())
  const { size } = file
  return answer(
    upload,
    call,
    { ...file, size },
    result.type,
    { type: result.type, corrected },
    { cells: new Map(result.cells) },
    200,
    finished + ticketMs
  )
}

/** Schedules the deletes of all that a file may become, before there is anything of it. */
export const scheduleAll = (
  upload: PendingUpload,
  first: StoredFile,
  finished: number
): Effect.Effect<void, Problem> => {
  const { files, provider } = upload
  return Effect.catch(
    Effect.forEach(
      expected(upload, first),
      (each) => schedule(files, provider, uploadEntry(each, finished), askMs.upload),
      { discard: true }
    ),
    storageProblem(files, provider.name)
  )
}

/** The bytes that came, as a visible file whose delete is scheduled. Its size; it may have become visible before. */
const show = Effect.fnUntraced(function*(
  upload: PendingUpload,
  record: UploadRecord & { readonly finished: number },
  first: StoredFile
): Effect.fn.Return<number, Problem> {
  const { files, provider } = upload
  yield* scheduleAll(upload, first, record.finished)
  const finish = provider.storage.resumable.finish(upload.name, targetOfRecord(upload, record))
  const finished = yield* Effect.catch(within(finish, finishMs), storageProblem(files, provider.name))
  if (finished !== null) return finished
  const head = yield* asked(upload, provider.storage.head(record.path))
  return head === null ? yield* Effect.fail(notFound()) : head.size
})

/** What a visible file has become, before it is written down. */
interface FileResult {
  readonly done: UploadRecord
  readonly file: SizedFile
  readonly rendered: Rendered | null
}

/** Makes of a visible file what its field wants. Whatever fails here has given nobody a ticket. */
export const make = Effect.fnUntraced(function*(
  upload: PendingUpload,
  record: UploadRecord & { readonly finished: number },
  stored: SizedFile,
  room: Room
): Effect.fn.Return<FileResult, Problem> {
  const { file } = upload
  const head = yield* headOf(upload, stored.path, stored.size)
  // What decided before has to be true of the file as it came together.
  const decided = yield* decide(upload, upload.fileName, upload.declared, head, head.length === stored.size)
  if (decided.type !== record.type || !isAccepted(file.accept, decided.type)) {
    return yield* Effect.fail(refusedType(file, decided))
  }
  const rendered = yield* render(upload, stored, record.type, room)
  const outcome = rendered?.file ?? stored
  const type = outcome.path === stored.path ? record.type : typeOf(extensionOf(outcome.path))
  const derived: Derived = yield* derive(upload, outcome, type, rendered?.head ?? head, rendered?.image ?? null)
  const done = { ...record, result: { uri: writeStored(outcome), type, cells: [...derived.cells] } }
  return { done, file: outcome, rendered }
})

/** Writes down what a file has become, and gives the answer about it. */
export const conclude = Effect.fnUntraced(function*(
  call: Call,
  upload: PendingUpload,
  { done, file, rendered }: FileResult,
  room: Room
): Effect.fn.Return<Reply, Problem> {
  const reply = yield* answerAgain(call, upload, done)
  yield* keepRecord(upload, done)
  if (rendered?.replaced != null) yield* asked(upload, upload.provider.storage.remove(rendered.replaced))
  unclaimRoom(upload.provider, upload.length)
  room.keep(file, rendered !== null && rendered.head !== null)
  return reply
})

/** Whether the same bytes would fail again. After other failures the file stays, and whoever asks once more has it tried again. */
export const isFinal = (cause: Cause.Cause<Problem>): boolean =>
  cause.reasons.some((reason) =>
    Cause.isFailReason(reason) ? reason.error.slug === "unsupported-media-type" : Cause.isDieReason(reason)
  )

/**
 * Ends an upload whose bytes are all there, and gives the answer of `upload` with status 200. It needs the upload's turn. `before`: its record, if
 * there is one.
 */
export const finish = Effect.fnUntraced(function*(
  call: Call,
  upload: PendingUpload,
  before: UploadRecord | null
): Effect.fn.Return<Reply, Problem> {
  if (before?.result != null) return yield* answerAgain(call, upload, before)
  const { provider } = upload
  const { resumable } = provider.storage
  const size = yield* asked(upload, resumable.size(upload.name))
  // Once it has begun to end, all had arrived: a storage that broke off in between may have only some of it left.
  if (before?.finished == null) {
    if (size === null) return yield* Effect.fail(notFound())
    if (size < upload.length) return yield* Effect.fail(incomplete())
  }
  let record = before
  if (record === null) {
    const head = yield* asked(upload, resumable.start(upload.name, detectedBytes))
    if (head === null) return yield* Effect.fail(notFound())
    record = yield* decideRecord(upload, head, head.length === upload.length)
  }
  const finished = record.finished ?? upload.files.now()
  const begun = { ...record, finished }
  const first: StoredFile = {
    provider: provider.name,
    path: record.path,
    name: upload.fileName,
    size: null,
    variants: []
  }
  const undo = Effect.ignore(Effect.gen(function*(): Effect.fn.Return<void, Problem> {
    // Another process may have come to its end meanwhile, where the same bytes did not fail: then a record may hold the file.
    if ((yield* recordOf(upload))?.result != null) return
    yield* Effect.forEach(
      new Set(expected(upload, first).flatMap((each) => [...pathsOf(each)])),
      (path) => asked(upload, provider.storage.remove(path)),
      { discard: true }
    )
    if (!(yield* drop(upload))) unclaimRoom(provider, upload.length)
  }))
  if (!isAccepted(upload.file.accept, record.type)) {
    yield* drop(upload)
    return yield* Effect.fail(refusedType(upload.file, record))
  }
  if (record.finished === null) yield* keepRecord(upload, begun)
  const room = roomBeside(provider)
  const visible = Effect.ensuring(
    Effect.gen(function*(): Effect.fn.Return<Reply, Problem> {
      const bytes = yield* show(upload, begun, first)
      return yield* conclude(call, upload, yield* make(upload, begun, { ...first, size: bytes }, room), room)
    }),
    Effect.sync(() => room.release())
  )
  return yield* Effect.onExit(
    visible,
    (exit) => exit._tag === "Failure" && isFinal(exit.cause) ? undo : Effect.void
  )
})

const incomplete = (): Problem => problem("conflict", "Not all of the file has arrived yet.")
