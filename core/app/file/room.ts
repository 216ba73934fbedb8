/** Room for an upload at a provider with a quota: it counts the stored bytes if no count is recent, and reserves room until the upload ends. */

import * as Effect from "effect/Effect"
import { isLimited } from "../../domain/file/quota.ts"
import type { Amount } from "../../domain/file/quota.ts"
import { readUnfinished } from "../../domain/file/unfinished.ts"
import type { StoredFile } from "../../domain/file/uri.ts"
import { problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import type { StorageError } from "../../ports/storage.ts"
import { storageProblem } from "../ground/files.ts"
import type { FileProvider, Files } from "../ground/files.ts"

/** What one upload may take. */
export interface Room {
  /** Whether it may have so many bytes in all; keeps room for them, as others are under way, too. */
  readonly grow: (bytes: number) => boolean
  /** Whether so many bytes more fit, for copies of an image. */
  readonly take: (bytes: number) => boolean
  /** The upload is stored: it counts from now on. `replaced`: one of its copies stands for it. */
  readonly keep: (file: StoredFile & { size: number }, replaced: boolean) => void
  /** The upload has ended, stored or not. */
  readonly release: () => void
}

const pageFiles = 1_000

/**
 * What a provider holds: every file of records, and what unfinished uploads have announced. Everything else that begins with a dot does not count.
 */
export const heldAmount = Effect.fnUntraced(
  function*({ storage }: Pick<FileProvider, "storage">): Effect.fn.Return<Amount, StorageError> {
    let amount: Amount = { bytes: 0, files: 0 }
    let after: string | null = null
    for (;;) {
      const page: readonly { readonly path: string; readonly size: number }[] = yield* storage.list({
        prefix: "",
        after,
        limit: pageFiles
      })
      for (const { path, size } of page) {
        const unfinished = path.startsWith(".") ? readUnfinished(path) : null
        const bytes = unfinished?.of === "upload" ? unfinished.length : path.startsWith(".") ? null : size
        if (bytes !== null) amount = { bytes: amount.bytes + bytes, files: amount.files + 1 }
      }
      if (page.length < pageFiles) return amount
      after = page.at(-1)!.path
    }
  }
)

/** Counts under way, so that several uploads at once list a provider once. */
const counting = new WeakMap<FileProvider, Promise<Amount>>()

const counted = (files: Files, provider: FileProvider): Effect.Effect<void, Problem> => {
  const { quota } = provider
  if (!quota.isStale(files.now())) return Effect.void
  const count = Effect.tryPromise({
    try: () => {
      let count = counting.get(provider)
      if (count === undefined) {
        quota.begin()
        count = Effect.runPromise(heldAmount(provider)).finally(() => counting.delete(provider))
        counting.set(provider, count)
      }
      return count
    },
    catch: (error) => error as StorageError
  })
  return Effect.map(Effect.catch(count, storageProblem(files, provider.name)), (amount) => {
    if (quota.isStale(files.now())) quota.count(amount, files.now())
  })
}

const unlimited: Room = { grow: () => true, take: () => true, keep: () => {}, release: () => {} }

const full = (): Problem => problem("insufficient-storage", "The place where the file would be stored is full.")

const reserving = ({ quota }: FileProvider, wanted: Amount): Room => {
  quota.reserve(wanted)
  let reserved = wanted
  let own = wanted.bytes
  let taken = 0
  return {
    grow: (bytes) => {
      const more = bytes - own
      if (more <= 0) return true
      if (!quota.fits({ bytes: more, files: 0 })) return false
      quota.reserve({ bytes: more, files: 0 })
      own = bytes
      reserved = { bytes: reserved.bytes + more, files: reserved.files }
      return true
    },
    take: (bytes) => {
      if (!quota.fits({ bytes, files: 1 })) return false
      quota.reserve({ bytes, files: 1 })
      reserved = { bytes: reserved.bytes + bytes, files: reserved.files + 1 }
      taken += bytes
      return true
    },
    keep: ({ size, variants }, replaced) =>
      quota.add({ bytes: (replaced ? 0 : size) + taken, files: 1 + variants.length }),
    release: () => quota.release(reserved)
  }
}

/** Keeps room for an upload of an announced length (null: not announced), or refuses it with 507. */
export const roomFor = (
  files: Files,
  provider: FileProvider,
  announced: number | null
): Effect.Effect<Room, Problem> => {
  const { quota } = provider
  if (!isLimited(quota.limits)) return Effect.succeed(unlimited)
  return Effect.flatMap(counted(files, provider), () => {
    const wanted = { bytes: announced ?? 0, files: 1 }
    return quota.fits(wanted) ? Effect.succeed(reserving(provider, wanted)) : Effect.fail(full())
  })
}

/** Counts a file that will arrive in pieces as if it were there, or refuses it with 507. */
export const claimRoom = (files: Files, provider: FileProvider, length: number): Effect.Effect<void, Problem> => {
  const { quota } = provider
  if (!isLimited(quota.limits)) return Effect.void
  return Effect.flatMap(counted(files, provider), () => {
    if (!quota.fits({ bytes: length, files: 1 })) return Effect.fail(full())
    quota.add({ bytes: length, files: 1 })
    return Effect.void
  })
}

/** Takes back what was claimed for a file that does not come, or that counts itself from now on. */
export const unclaimRoom = ({ quota }: FileProvider, length: number): void => quota.add({ bytes: -length, files: -1 })

/** Room for the copies of a file that stands already, where nobody may have counted yet. */
export const roomForCopies = (files: Files, provider: FileProvider): Effect.Effect<Room, Problem> =>
  isLimited(provider.quota.limits)
    ? Effect.map(counted(files, provider), () => reserving(provider, { bytes: 0, files: 0 }))
    : Effect.succeed(unlimited)

/** Room for the copies of a file that counts already. */
export const roomBeside = (provider: FileProvider): Room =>
  isLimited(provider.quota.limits) ? reserving(provider, { bytes: 0, files: 0 }) : unlimited
