/**
 * What use cases know of files: providers with their storages, the keys of tickets and links, how a delete is scheduled, and what a storage that does
 * not work is for a caller.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Breaker } from "../../domain/file/breaker.ts"
import { entryName, entryOf, uploadDueMs, writeEntry } from "../../domain/file/cleanup.ts"
import type { CleanupEntry } from "../../domain/file/cleanup.ts"
import type { FileLinks, LinkedProvider } from "../../domain/file/presentation.ts"
import type { Quota } from "../../domain/file/quota.ts"
import { type StoredFile, tenantOfFolder } from "../../domain/file/uri.ts"
import type { Field } from "../../domain/model/model.ts"
import { isProblem, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { cellFromText } from "../../domain/value/cell.ts"
import type { Tickets } from "../../domain/write/file-values.ts"
import type { DetectorService } from "../../ports/detector.ts"
import type { ImagesService } from "../../ports/images.ts"
import type { SealService } from "../../ports/seal.ts"
import type { SignerService } from "../../ports/signer.ts"
import { type Bytes, StorageError, type StorageService } from "../../ports/storage.ts"

/** A place for files, as use cases work with it. */
export interface FileProvider extends LinkedProvider {
  readonly name: string
  readonly storage: StorageService
  /** Milliseconds between taking a file out of a row and its delete. */
  readonly retention: number
  readonly quota: Quota
  readonly breaker: Breaker
}

/** A hash of bytes as they pass. */
export interface Hash {
  readonly update: (chunk: Uint8Array) => void
  /** The hash of what has passed, once. */
  readonly digest: () => string
}

/** Everything that files need besides the core. */
export interface Files {
  /** Path of the system endpoints: `/api`. */
  readonly root: string
  readonly providers: ReadonlyMap<string, FileProvider>
  readonly links: FileLinks
  readonly signer: SignerService
  readonly seal: SealService
  readonly tickets: Tickets
  /** Null: no image processor is configured. */
  readonly images: ImagesService | null
  readonly detector: DetectorService
  /** A new random name of at least 128 bits: letters, digits, `-` and `_`. */
  readonly newId: () => string
  readonly hash: () => Hash
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Tells the operator of something that is no caller's fault. */
  readonly report: (event: string, details: { readonly [name: string]: unknown }) => void
}

/** The name of the lock between those who attach uploads and a cleanup that decides about files. No storage is asked while it is held. */
export const filesLock = "resource-admin files"

/** Fails a call that takes too long. */
export const within = <A>(
  call: Effect.Effect<A, StorageError>,
  milliseconds: number
): Effect.Effect<A, StorageError> =>
  Effect.timeoutOrElse(call, {
    duration: milliseconds,
    orElse: () => {
      const cause = new Error(`The storage has not answered within ${milliseconds} ms.`)
      return Effect.fail(new StorageError({ reason: "Unavailable", cause }))
    }
  })

/** How long a small call may take on behalf of a write, and of an upload, which takes long by nature. */
export const askMs = { write: 2_000, upload: 10_000 } as const

/** A small call on behalf of somebody who waits. A storage that has not answered several times is not asked for a while. */
export const ask = <A>(
  files: Files,
  { breaker }: FileProvider,
  call: Effect.Effect<A, StorageError>,
  milliseconds: number
): Effect.Effect<A, StorageError> =>
  Effect.suspend(() =>
    breaker.isOpen(files.now())
      ? Effect.fail(new StorageError({ reason: "Unavailable", cause: new Error("The storage counts as down.") }))
      : Effect.tap(
        Effect.tapError(
          within(call, milliseconds),
          ({ reason }) => Effect.sync(() => breaker.note(reason !== "Unavailable", files.now()))
        ),
        () => Effect.sync(() => breaker.note(true, files.now()))
      )
  )

/** A storage that does not work, as the caller is told: its own errors stay inside. `Body` is the sender's own failure. */
export const storageProblem =
  (files: Files, provider: string) => (error: StorageError): Effect.Effect<never, Problem> => {
    if (error.reason === "Body" && isProblem(error.cause)) return Effect.fail(error.cause)
    if (error.reason === "Full") {
      return Effect.fail(problem("insufficient-storage", "There is no room for the file."))
    }
    files.report("file-storage", { provider, reason: error.reason, cause: error.cause })
    return Effect.fail(
      problem("unavailable", "The storage of files does not answer at the moment.", {}, { "retry-after": "5" })
    )
  }

/** Bytes of a text as a body. */
export async function* textBody(text: string): Bytes {
  yield new TextEncoder().encode(text)
}

/** The longest that a small object may take to come, and to be read. Who waits for it asks by `ask`, which is shorter. */
const readMs = 10_000

/** A small object as text; null: it is not there. A text of more than `most` bytes is an empty one. */
export const readText = (
  { storage }: Pick<FileProvider, "storage">,
  path: string,
  most = 16_384
): Effect.Effect<string | null, StorageError> =>
  Effect.flatMap(
    within(storage.read(path, null), readMs),
    (body) =>
      body === null ? Effect.succeed(null) : within(
        Effect.tryPromise({
          try: async () => {
            const chunks: Uint8Array[] = []
            let size = 0
            for await (const chunk of body.bytes) {
              size += chunk.length
              if (size > most) return ""
              chunks.push(chunk)
            }
            const decoder = new TextDecoder()
            return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode()
          },
          catch: (cause) => new StorageError({ reason: "Unavailable", cause })
        }),
        readMs
      )
  )

/** Schedules the deletion of a file. The file stays if a row holds it at that time. */
export const schedule = (
  files: Files,
  provider: FileProvider,
  entry: CleanupEntry,
  milliseconds: number
): Effect.Effect<string, StorageError> => {
  const name = entryName(entry.due, files.newId())
  const put = provider.storage.put(name, textBody(writeEntry(entry)), { type: "application/json", size: null })
  return Effect.as(ask(files, provider, put, milliseconds), name)
}

/** The entry that every upload has from its beginning, so that a file nobody attaches goes. */
export const uploadEntry = (file: StoredFile, now: number): CleanupEntry => entryOf(file, now + uploadDueMs)

/** The tenant of a path as its column has it. Undefined for a text that cannot be a tenant. */
export const tenantCell = (field: Field, path: string): string | undefined => {
  const text = tenantOfFolder(path)
  const cell = text === null ? null : cellFromText(field, text)
  return cell === null || Result.isFailure(cell) ? undefined : cell.success
}
