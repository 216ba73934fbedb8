/**
 * The port to stored bytes: one provider, which is a folder or a bucket. Files are written once and never changed. The domain has checked their paths.
 * Callers decide about limits, types, quotas and access.
 *
 * Contract (test/contracts/storage.ts runs it against every implementation):
 * - `put` makes the file visible only when it is complete. If the body throws or the storage fails, `read` and `list` show nothing of it. An error of the
 *   body is returned as `Body` with that error as its cause. An existing file is replaced.
 * - Bodies are pulled, so a slow storage slows down the sender.
 * - `read` and `head` of a missing file give null; `remove` of it succeeds.
 * - `list` gives paths in the order of their code units, `after` not included.
 * - `resumable` keeps what has arrived of a file, over many requests and processes. `list` shows an unfinished upload under its own name (the size there
 *   means nothing), and what belongs to it under names that begin with it. `append` at another offset than the size takes nothing of the body. What a
 *   body gave before it ended is kept, and is on the disk when `append` answers. One process never appends twice at once to one upload: its caller
 *   sees to that.
 * - Every failure is a `StorageError`.
 */

import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

/** Bytes in order. A consumer that stops early calls `return`, so that files and connections close. */
export type Bytes = AsyncIterable<Uint8Array>

export class StorageError extends Data.TaggedError("StorageError")<{
  /** `Full`: no space. `Unavailable`: it does not answer. `Denied`: it refuses our credentials or rights. `Body`: the sender failed. */
  readonly reason: "Full" | "Unavailable" | "Denied" | "Body"
  readonly cause?: unknown
}> {}

/** Size and time of a stored file. */
export interface StoredHead {
  readonly size: number
  /** Milliseconds since 1970. */
  readonly modified: number
}

/** Bytes `start` to `end`, both included. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

export interface StoredBody extends StoredHead {
  readonly bytes: Bytes
}

export interface ListedFile extends StoredHead {
  readonly path: string
}

/** Headers of the answer to a link that the storage itself serves. */
export interface LinkOptions {
  readonly seconds: number
  readonly type: string
  /** The value of `Content-Disposition`. */
  readonly disposition: string
}

/** The file that an upload in pieces becomes. */
export interface UnfinishedTarget {
  readonly path: string
  readonly type: string
  /** Its length in the end. */
  readonly length: number
}

/** How an append ended: the bytes that are there now, and whether those of the body are among them. */
export interface Appended {
  readonly size: number
  readonly matched: boolean
}

/** Files that arrive in pieces. A `name` is a path below `.tmp/` that its caller has made up. */
export interface ResumableStorage {
  /** Makes an upload without bytes. */
  readonly begin: (name: string) => Effect.Effect<void, StorageError>
  /** Bytes that have arrived; null: there is no such upload. */
  readonly size: (name: string) => Effect.Effect<number | null, StorageError>
  /** All that has arrived, but at most `most` bytes. To be asked only before an `append` with a target. */
  readonly start: (name: string, most: number) => Effect.Effect<Uint8Array | null, StorageError>
  /**
   * Adds a body at an offset. Null: there is no such upload. `target` null: it is not known yet, and no more than 64 KiB arrive in all; later it is
   * always the same. A body that throws ends the append with `Body`.
   */
  readonly append: (
    name: string,
    offset: number,
    body: Bytes,
    target: UnfinishedTarget | null
  ) => Effect.Effect<Appended | null, StorageError>
  /**
   * Makes the file visible at its target, and the upload is gone. Null: there is no such upload. It fails where not all bytes are there, unless an
   * earlier call broke off once the file was visible: then it removes what that left, which may be a part of the upload.
   */
  readonly finish: (name: string, target: UnfinishedTarget) => Effect.Effect<number | null, StorageError>
  /** Removes an upload with all that belongs to it. There may be none. */
  readonly abort: (name: string) => Effect.Effect<void, StorageError>
  /** Ends what was begun before a time (milliseconds since 1970) and belongs to no upload: a process may have died in between. */
  readonly forget: (before: number) => Effect.Effect<void, StorageError>
}

/** A request that the storage takes from whoever has it. */
export interface SignedPut {
  readonly url: string
  /** Headers that it must have, by their lower-case names. */
  readonly headers: { readonly [name: string]: string }
}

/** Files that their senders bring to the storage themselves. */
export interface DirectStorage {
  /** Signs a request that stores a body of just this size at a path, in place of what is there. For so many seconds it may begin, again and again. */
  readonly presignPut: (
    path: string,
    options: { readonly size: number; readonly seconds: number }
  ) => Effect.Effect<SignedPut, StorageError>
  /** Copies a file unchanged to a path, with a type. Headers of the original's sender are not copied. False: there is no such file. */
  readonly copy: (from: string, to: string, type: string) => Effect.Effect<boolean, StorageError>
}

export interface StorageService {
  /**
   * Stores a file and returns its size in bytes. `size`: its length, if that is known before. A storage that needs it fails with `Body` if the body
   * has another length. `most`: the maximum length of a body of unknown length.
   */
  readonly put: (
    path: string,
    body: Bytes,
    options: { readonly type: string; readonly size: number | null; readonly most?: number }
  ) => Effect.Effect<number, StorageError>
  /** The file, or the bytes of a range that lies within it. */
  readonly read: (path: string, range: ByteRange | null) => Effect.Effect<StoredBody | null, StorageError>
  readonly head: (path: string) => Effect.Effect<StoredHead | null, StorageError>
  readonly remove: (path: string) => Effect.Effect<void, StorageError>
  /** At most `limit` files whose path begins with `prefix`. Fewer than `limit` is the end. */
  readonly list: (request: {
    readonly prefix: string
    readonly after: string | null
    readonly limit: number
  }) => Effect.Effect<readonly ListedFile[], StorageError>
  /** Makes a link that the storage serves itself. Null if the storage has no links: the service then sends the bytes. */
  readonly link: ((path: string, options: LinkOptions) => Effect.Effect<string, StorageError>) | null
  readonly resumable: ResumableStorage
  /** Null: all bytes come through the service. */
  readonly direct: DirectStorage | null
}

/** The storages of a service, by the names of its providers. */
export class Storage
  extends Context.Service<Storage, ReadonlyMap<string, StorageService>>()("resource-admin/Storage")
{}
