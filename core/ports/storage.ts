/**
 * The port to stored bytes: one provider, a folder or a bucket. Files are written once and never changed; names are paths that the domain has
 * checked. Limits, types, quotas and who may see what are decided above.
 *
 * Contract (test/contracts/storage.ts runs it against every implementation):
 * - `put` makes the file visible with its last byte and not before. When the body throws or the storage fails, nothing stays behind that `read` or
 *   `list` shows; a body's own error comes back as `Body` with the error as its cause. An existing file is replaced.
 * - Bodies are pulled: a slow storage makes a slow sender.
 * - `read`, `head` of what is not there give null; `remove` of it succeeds.
 * - `list` gives paths in the order of their code units, `after` not included.
 * - Every failure is a `StorageError`.
 */

import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

/** Bytes in order. Whoever stops early calls `return`, so that files and connections close. */
export type Bytes = AsyncIterable<Uint8Array>

export class StorageError extends Data.TaggedError("StorageError")<{
  /** `Full`: no room. `Unavailable`: it does not answer, or not now. `Denied`: it refuses our credentials or rights. `Body`: the sender failed. */
  readonly reason: "Full" | "Unavailable" | "Denied" | "Body"
  readonly cause?: unknown
}> {}

/** What is known of a stored file without its bytes. */
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

/** How a link that the storage itself serves answers. */
export interface LinkOptions {
  readonly seconds: number
  readonly type: string
  /** The value of `Content-Disposition`. */
  readonly disposition: string
}

export interface StorageService {
  /** Stores a file and answers its size in bytes. `size`: what the sender announced; the storage may use it and must not trust it. */
  readonly put: (
    path: string,
    body: Bytes,
    options: { readonly type: string; readonly size: number | null }
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
  /** A link that the storage serves itself, or null where it has none: the service then sends the bytes. */
  readonly link: ((path: string, options: LinkOptions) => Effect.Effect<string, StorageError>) | null
}
