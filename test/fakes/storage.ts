/** The Storage port in memory, for tests: files in a map, with switches that make it fail as a disk or a bucket does. */

import * as Effect from "effect/Effect"
import { StorageError } from "../../core/ports/storage.ts"
import type { Bytes, DirectStorage, ResumableStorage, StorageService } from "../../core/ports/storage.ts"

interface Kept {
  readonly bytes: Uint8Array
  readonly modified: number
}

export interface FakeStorage {
  readonly service: StorageService
  readonly files: Map<string, Kept>
  /** Fails every call with this reason while it is set. */
  down: StorageError["reason"] | null
  /** Most bytes that it holds. */
  room: number
  /** Paths that cannot be removed. */
  readonly stuck: Set<string>
  /** Calls that fail, or that stand still until `goOn`. */
  readonly trouble: Map<StorageCall, "stalls" | StorageError["reason"]>
  /** How many calls were made, and how many of them stand still. */
  calls: number
  /** Every call from this one on fails. */
  failsFrom: number
  stalled: number
  /** Ends all trouble. */
  readonly goOn: () => void
}

export type StorageCall =
  | Exclude<keyof StorageService, "direct" | "link" | "resumable">
  | keyof ResumableStorage
  | keyof DirectStorage

const chunkBytes = 64 * 1024

async function* chunks(bytes: Uint8Array): Bytes {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
}

/** `now` dates what is stored; `links` gives it links and direct uploads, as a bucket has. */
export const makeFakeStorage = (
  { links = false, now = () => Date.now() }: { readonly links?: boolean; readonly now?: () => number } = {}
): FakeStorage => {
  const files = new Map<string, Kept>()
  let moving = Promise.withResolvers<void>()
  const attempt = <A>(call: StorageCall, work: () => Promise<A> | A): Effect.Effect<A, StorageError> =>
    Effect.tryPromise({
      try: async () => {
        if (++fake.calls >= fake.failsFrom) throw new StorageError({ reason: "Unavailable" })
        if (fake.down !== null) throw new StorageError({ reason: fake.down })
        const trouble = fake.trouble.get(call)
        if (trouble === "stalls") {
          fake.stalled++
          await moving.promise
          fake.stalled--
        } else if (trouble !== undefined) throw new StorageError({ reason: trouble })
        return await work()
      },
      catch: (error) =>
        error instanceof StorageError ? error : new StorageError({ reason: "Unavailable", cause: error })
    })
  const gather = async (body: Bytes, keep: (parts: readonly Uint8Array[]) => void = () => {}): Promise<Uint8Array> => {
    const parts: Uint8Array[] = []
    const held = [...files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0)
    let size = 0
    const source = body[Symbol.asyncIterator]()
    for (;;) {
      const next = await source.next().catch((cause: unknown) => {
        keep(parts)
        throw new StorageError({ reason: "Body", cause })
      })
      if (next.done === true) return Buffer.concat(parts)
      size += next.value.length
      if (held + size > fake.room) {
        await source.return?.()
        keep(parts)
        throw new StorageError({ reason: "Full" })
      }
      parts.push(next.value)
    }
  }
  const fake: FakeStorage = {
    files,
    down: null,
    room: Number.POSITIVE_INFINITY,
    stuck: new Set(),
    trouble: new Map(),
    calls: 0,
    failsFrom: Number.POSITIVE_INFINITY,
    stalled: 0,
    goOn: () => {
      fake.trouble.clear()
      moving.resolve()
      moving = Promise.withResolvers()
    },
    service: {
      put: (path, body) =>
        attempt("put", async () => {
          const bytes = await gather(body)
          files.set(path, { bytes, modified: now() })
          return bytes.length
        }),
      read: (path, range) =>
        attempt("read", () => {
          const kept = files.get(path)
          if (kept === undefined) return null
          const part = range === null ? kept.bytes : kept.bytes.subarray(range.start, range.end + 1)
          return { size: kept.bytes.length, modified: kept.modified, bytes: chunks(part) }
        }),
      head: (path) =>
        attempt("head", () => {
          const kept = files.get(path)
          return kept === undefined ? null : { size: kept.bytes.length, modified: kept.modified }
        }),
      remove: (path) =>
        attempt("remove", () => {
          if (fake.stuck.has(path)) throw new StorageError({ reason: "Denied" })
          files.delete(path)
        }),
      list: ({ after, limit, prefix }) =>
        attempt(
          "list",
          () =>
            [...files.keys()].filter((path) => path.startsWith(prefix) && (after === null || path > after))
              .sort((a, b) => (a < b ? -1 : 1)).slice(0, limit)
              .map((path) => {
                const { bytes, modified } = files.get(path)!
                return { path, size: bytes.length, modified }
              })
        ),
      link: links
        ? (path, { disposition, seconds, type }) =>
          Effect.succeed(
            `https://bucket.example/${path}?${
              new URLSearchParams({ type, disposition, seconds: String(seconds) }).toString()
            }`
          )
        : null,
      resumable: {
        begin: (name) => attempt("begin", () => void files.set(name, { bytes: new Uint8Array(0), modified: now() })),
        size: (name) => attempt("size", () => files.get(name)?.bytes.length ?? null),
        start: (name, most) => attempt("start", () => files.get(name)?.bytes.subarray(0, most) ?? null),
        append: (name, offset, body) =>
          attempt("append", async () => {
            const before = files.get(name)
            if (before?.bytes.length !== offset) {
              await body[Symbol.asyncIterator]().return?.()
              return before === undefined ? null : { size: before.bytes.length, matched: false }
            }
            const keep = (parts: readonly Uint8Array[]): number => {
              const bytes = Buffer.concat([before.bytes, ...parts])
              files.set(name, { bytes, modified: now() })
              return bytes.length
            }
            return { size: keep([await gather(body, keep)]), matched: true }
          }),
        finish: (name, { length, path }) =>
          attempt("finish", () => {
            const kept = files.get(name)
            if (kept === undefined) return null
            if (kept.bytes.length !== length) {
              if (files.get(path)?.bytes.length !== length) throw new Error("not all of the upload is there")
              files.delete(name)
              return length
            }
            files.set(path, { ...kept, modified: now() })
            files.delete(name)
            return kept.bytes.length
          }),
        abort: (name) =>
          attempt("abort", () => {
            if (fake.stuck.has(name)) throw new StorageError({ reason: "Denied" })
            files.delete(name)
          }),
        forget: () => attempt("forget", () => {})
      },
      direct: links
        ? {
          presignPut: (path, { seconds, size }) =>
            attempt("presignPut", () => ({
              url: `https://bucket.example/${path}?seconds=${seconds}`,
              headers: { "content-type": "application/octet-stream", "content-length": String(size) }
            })),
          copy: (from, to) =>
            attempt("copy", () => {
              const kept = files.get(from)
              if (kept !== undefined) files.set(to, { ...kept, modified: now() })
              return kept !== undefined
            })
        }
        : null
    }
  }
  return fake
}
