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
 * - Every failure is a `StorageError`.
 */

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
}
