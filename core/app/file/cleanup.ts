/**
 * Cleanup runs (docs/guides/files.md#from-upload-to-cleanup): they delete files that are due and that no row holds, with their variants, and the remains of
 * interrupted uploads. Entries are checked in groups. A file is marked before the check that counts, so that no write attaches what is deleted.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import {
  cleanupFolder,
  cleanupLimits,
  dueOf,
  heldText,
  leftOf,
  patienceMs,
  readEntry,
  temporaryFolder,
  temporaryMs
} from "../../domain/file/cleanup.ts"
import type { CleanupEntry } from "../../domain/file/cleanup.ts"
import { forgottenMs, readUnfinished, remainsMs, unfinishedMs } from "../../domain/file/unfinished.ts"
import { pathsOf, readStored } from "../../domain/file/uri.ts"
import type { Model } from "../../domain/model/model.ts"
import { Problem } from "../../domain/problem.ts"
import { fileFieldsOf } from "../../domain/write/file-values.ts"
import { RecordsError, type RecordsTransaction } from "../../ports/records.ts"
import type { ListedFile, StorageError } from "../../ports/storage.ts"
import type { Core } from "../ground/core.ts"
import { filesLock, readText, tenantCell, within } from "../ground/files.ts"
import type { FileProvider, Files } from "../ground/files.ts"
import { markGone, resolveMark } from "../write/attach.ts"
import { inTransaction } from "../write/transaction.ts"
import { unclaimRoom } from "./room.ts"

/** What a run did: files with their variants count as one. */
export interface CleanupResult {
  readonly deleted: number
  /** Files that a row holds. */
  readonly kept: number
  /** Entries that could not be handled and stay. */
  readonly failed: number
}

/** An entry that is due, and where it is stored. */
interface Due {
  readonly listed: ListedFile
  /** Null: the entry is invalid and is removed. */
  readonly entry: CleanupEntry | null
}

const pageFiles = 500

/** The longest that a storage takes for an entry, or for a list. */
const storageMs = 10_000

/** How many more failures of a storage a run takes. */
interface Patience {
  left: number
}

const mostFailures = 3

/** The files that rows of one tenant may hold, or rows of any. */
interface Asked {
  readonly texts: string[]
  readonly tenant?: string
}

/** Of more tenants than this at once all rows are asked: a statement for each would read a table without an index on the tenant as often. */
const mostTenants = 16

/**
 * Which rows of a model are asked for which files. Where only the owner is asked, a file in the folder of a tenant is looked for in the rows of that tenant, which
 * are one partition of a table that is divided so. What stands elsewhere may be in any row.
 */
const askedOf = ({ tenant }: Model, files: ReadonlyMap<string, string>, who: "owner" | "all"): Iterable<Asked> => {
  const groups = new Map<string | undefined, Asked>()
  for (const [text, path] of files) {
    const own = tenant === null || who === "all" ? undefined : tenantCell(tenant, path)
    const group = groups.get(own)
    if (group === undefined) groups.set(own, { texts: [text], ...own === undefined ? {} : { tenant: own } })
    else group.texts.push(text)
  }
  return groups.size > mostTenants ? [{ texts: [...files.keys()] }] : groups.values()
}

/**
 * Which of some files rows of any declared resource hold, with the paths of the variants that they list. Versions in a history do not hold files.
 * `files`: their paths by their texts. `who`: rows of the tenant in whose folder a file is, or of all.
 */
const heldOf = Effect.fnUntraced(function*(
  core: Core,
  files: ReadonlyMap<string, string>,
  who: "owner" | "all"
): Effect.fn.Return<ReadonlyMap<string, ReadonlySet<string>>, RecordsError> {
  const versions = new Set([...core.models.values()].map(({ history }) => history))
  const held = new Map<string, Set<string>>()
  for (const model of core.models.values()) {
    if (versions.has(model.name)) continue
    for (const field of fileFieldsOf(model)) {
      for (const asked of askedOf(model, files, who)) {
        for (const value of yield* core.records.holding({ model, field, ...asked })) {
          const [text = ""] = value.split("?", 1)
          const listed = held.get(text) ?? new Set()
          const file = readStored(value)
          if (file !== null) { for (const path of pathsOf(file).slice(1)) listed.add(path) }
          held.set(text, listed)
        }
      }
    }
  }
  return held
})

/** What is done with an entry: these paths are deleted and it goes, or rows hold what it names and it goes, or it stays for now. */
type Fate = { readonly delete: readonly string[] } | "keep" | "wait"

/** A due entry that can be read. */
type DueEntry = Due & { readonly entry: CleanupEntry }

/**
 * Decides about entries. It first asks rows without any lock, however large their tables are. A file that no row holds is then marked, under a lock
 * that waits for whoever attaches a file; nothing attaches a marked file. Rows are asked a second time, and a file that a row holds by then loses its
 * mark. A run that ends in between leaves marks on files that it meant to delete; the next run replaces them. Of two runs at once, the later mark
 * decides.
 */
const decide = Effect.fnUntraced(function*(
  core: Core,
  files: Files,
  group: readonly Due[],
  now: number
): Effect.fn.Return<ReadonlyMap<Due, Fate>, RecordsError> {
  const fates = new Map<Due, Fate>()
  // The write that let a held file go may not have committed yet.
  const fateOf = ({ listed }: Due): Fate => now - listed.modified < patienceMs ? "wait" : "keep"
  const heldBy = (all: readonly DueEntry[], who: "owner" | "all") =>
    heldOf(core, new Map(all.map(({ entry }) => [heldText(entry), entry.path])), who)
  const leftIn = ({ entry }: DueEntry, held: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> =>
    new Set(leftOf(entry, held.get(heldText(entry)) ?? null))
  const named = group.filter((due): due is DueEntry => due.entry !== null)
  const before = named.length === 0 ? new Map<string, ReadonlySet<string>>() : yield* heldBy(named, "owner")
  const open: DueEntry[] = []
  for (const due of named) if (leftIn(due, before).size > 0) open.push(due)
  for (const due of group) fates.set(due, due.entry === null ? { delete: [] } : fateOf(due))
  if (open.length === 0) return fates
  const mark = files.newId()
  yield* locked(core, "alone", (tx) =>
    Effect.forEach(
      open.flatMap(markedBy),
      (file) => markGone(files, tx, file, mark),
      { discard: true }
    ))
  // SQL may have moved or copied rows to another tenant: before bytes go, every row is asked.
  const after = yield* heldBy(open, "all")
  yield* locked(core, "shared", (tx) =>
    Effect.forEach(open, (due) => {
      const left = leftIn(due, after)
      const goes = (path: string): boolean => due.entry.whole ? left.size > 0 : left.has(path)
      return Effect.map(
        Effect.forEach(markedBy(due), (file) => resolveMark(files, tx, file, mark, !goes(file.path))),
        (own) => fates.set(due, own.includes(false) ? "wait" : left.size > 0 ? { delete: [...left] } : fateOf(due))
      )
    }, { discard: true }))
  return fates
})

/** The files that need a mark before an entry is handled: the whole file, or only the variants that are due. */
const markedBy = ({ entry: { path, provider, variants, whole } }: DueEntry) =>
  (whole ? [path] : variants).map((each) => ({ provider, path: each }))

/** Runs a body that holds the lock of files. */
const locked = <A>(
  core: Core,
  how: "alone" | "shared",
  body: (tx: RecordsTransaction) => Effect.Effect<A, RecordsError>
): Effect.Effect<A, RecordsError> =>
  Effect.catch(
    inTransaction(core, (tx) => Effect.andThen(tx.hold(filesLock, how), body(tx))),
    // It attaches nothing, so no storage refuses it.
    (error) => error instanceof Problem ? Effect.die(error) : Effect.fail(error)
  )

/** Handles due entries. Those that fail stay, and the failure is reported. A storage that has failed too often is left for the next run. */
const handleGroup = Effect.fnUntraced(function*(
  core: Core,
  files: Files,
  provider: FileProvider,
  group: readonly Due[],
  now: number,
  patience: Patience
): Effect.fn.Return<CleanupResult, RecordsError> {
  const fates = yield* decide(core, files, group, now)
  let [deleted, kept, failed] = [0, 0, 0]
  for (const [{ entry, listed }, fate] of fates) {
    if (fate === "wait") {
      kept++
      continue
    }
    if (patience.left === 0) break
    const done = yield* Effect.result(
      within(
        fate === "keep"
          ? Effect.as(provider.storage.remove(listed.path), false)
          : removeAll(provider, fate.delete, listed),
        storageMs
      )
    )
    if (Result.isFailure(done)) {
      const { cause, reason } = done.failure
      files.report("file-cleanup-failed", {
        provider: provider.name,
        path: entry?.path ?? listed.path,
        reason,
        cause
      })
      failed++
      if (reason === "Unavailable") patience.left--
    } else if (fate === "keep") kept++
    else if (done.success) deleted++
  }
  return { deleted, kept, failed }
})

/** Deletes files, then their entry. If that is interrupted, the next run completes it. Answers whether there was a file. */
const removeAll = Effect.fnUntraced(function*(
  { quota, storage }: FileProvider,
  paths: readonly string[],
  listed: ListedFile
): Effect.fn.Return<boolean, StorageError> {
  let any = false
  for (const path of paths) {
    const head = yield* storage.head(path)
    if (head === null) continue
    any = true
    yield* storage.remove(path)
    quota.add({ bytes: -head.size, files: -1 })
  }
  yield* storage.remove(listed.path)
  return any
})

/** Whether the remains of an upload are to go: an hour after the last write, or after the time that an upload in pieces has. */
const isOver = ({ modified, path }: ListedFile, now: number): boolean => {
  const unfinished = readUnfinished(path)
  return unfinished === null
    ? now - modified > temporaryMs
    : now - unfinished.created > unfinishedMs + remainsMs
}

/** Removes the remains of interrupted uploads. */
const sweep = Effect.fnUntraced(
  function*(files: Files, provider: FileProvider, until: number): Effect.fn.Return<void, StorageError> {
    const { storage } = provider
    const now = files.now()
    let after: string | null = null
    let more = true
    const aborted = new Set<string>()
    while (more && files.now() < until) {
      const page: readonly ListedFile[] = yield* within(
        storage.list({ prefix: temporaryFolder, after, limit: pageFiles }),
        storageMs
      )
      after = page.at(-1)?.path ?? null
      more = page.length === pageFiles
      for (const listed of page) {
        if (!isOver(listed, now)) continue
        const unfinished = readUnfinished(listed.path)
        if (unfinished === null || unfinished.of === "record") {
          yield* within(storage.remove(listed.path), storageMs)
        } else if (!aborted.has(unfinished.name)) {
          // All that belongs to it goes with it.
          aborted.add(unfinished.name)
          yield* within(storage.resumable.abort(unfinished.name), storageMs)
          if (unfinished.of === "upload") unclaimRoom(provider, unfinished.length)
        }
      }
    }
    // Not every key of a bucket may list them, and not every store can. The rest of the cleanup is done all the same.
    yield* Effect.catch(
      within(storage.resumable.forget(now - forgottenMs), storageMs),
      ({ cause, reason }) =>
        Effect.sync(() => files.report("file-cleanup-parts", { provider: provider.name, reason, cause }))
    )
  }
)

/** Handles a provider's due entries. Failures are counted and reported. The other providers continue. */
/** How many entries may still be handled, and until when, in milliseconds since 1970. */
interface Budget {
  entries: number
  readonly until: number
}

const cleanProvider = Effect.fnUntraced(function*(
  core: Core,
  files: Files,
  provider: FileProvider,
  budget: Budget
): Effect.fn.Return<CleanupResult, StorageError | RecordsError> {
  const patience: Patience = { left: mostFailures }
  let total: CleanupResult = { deleted: 0, kept: 0, failed: 0 }
  const now = files.now()
  let after: string | null = null
  let more = true
  while (more && patience.left > 0 && budget.entries > 0 && files.now() < budget.until) {
    const page: readonly ListedFile[] = yield* within(
      provider.storage.list({ prefix: cleanupFolder, after, limit: pageFiles }),
      storageMs
    )
    after = page.at(-1)?.path ?? null
    more = page.length === pageFiles
    const due: Due[] = []
    for (const listed of page) {
      const at = dueOf(listed.path)
      // Names sort in the order of their times, so no later entry is due.
      if (at !== null && at > now) {
        more = false
        break
      }
      if (at === null) continue
      const text = yield* readText(provider, listed.path)
      const entry = text === null ? null : readEntry(text)
      due.push({ listed, entry: entry?.provider === provider.name ? entry : null })
    }
    for (
      let i = 0;
      i < due.length && patience.left > 0 && budget.entries > 0 && files.now() < budget.until;
      i += cleanupLimits.group
    ) {
      const group = due.slice(i, i + cleanupLimits.group)
      budget.entries -= group.length
      const done = yield* handleGroup(core, files, provider, group, now, patience)
      total = {
        deleted: total.deleted + done.deleted,
        kept: total.kept + done.kept,
        failed: total.failed + done.failed
      }
    }
  }
  if (patience.left > 0) yield* sweep(files, provider, budget.until)
  return total
})

/** One run over all providers. A storage that fails does not end it; a database that cannot be asked does. */
export const cleanup = Effect.fnUntraced(function*(core: Core): Effect.fn.Return<CleanupResult, RecordsError> {
  const { files } = core
  let total: CleanupResult = { deleted: 0, kept: 0, failed: 0 }
  if (files === null) return total
  // What is due may be nothing, and then no database would be asked. Whoever wants a cleanup is told that it cannot be had.
  if ((yield* core.records.ping) === "reads") {
    return yield* Effect.fail(new RecordsError({ reason: { _tag: "ReadOnly" } }))
  }
  const budget: Budget = { entries: cleanupLimits.entries, until: files.now() + cleanupLimits.milliseconds }
  for (const provider of files.providers.values()) {
    const done = yield* Effect.matchEffect(cleanProvider(core, files, provider, budget), {
      onSuccess: (result) => Effect.succeed(result),
      onFailure: (error): Effect.Effect<CleanupResult, RecordsError> => {
        const reason = typeof error.reason === "string" ? error.reason : error.reason._tag
        files.report("file-cleanup-failed", { provider: provider.name, reason, cause: error.cause })
        return error instanceof RecordsError ?
          Effect.fail(error)
          : Effect.succeed({ deleted: 0, kept: 0, failed: 1 })
      }
    })
    total = { deleted: total.deleted + done.deleted, kept: total.kept + done.kept, failed: total.failed + done.failed }
  }
  files.report("file-cleanup", { ...total })
  return total
})
