/**
 * What surrounds a write: the transaction that is tried again after a conflict, what is remembered after the commit, and the record as the
 * answer shows it. It decides nothing about the write itself.
 */

import * as Effect from "effect/Effect"
import type { Access } from "../domain/access/access.ts"
import { entryOf } from "../domain/file/cleanup.ts"
import type { StoredFile } from "../domain/file/uri.ts"
import type { Bindings } from "../domain/filter/tree.ts"
import type { Problem } from "../domain/problem.ts"
import { itemWriter, layoutOf } from "../domain/read/item.ts"
import type { ItemWriter } from "../domain/read/item.ts"
import { takenFiles } from "../domain/write/file.ts"
import { RecordsError } from "../ports/records.ts"
import type { RecordsTransaction } from "../ports/records.ts"
import type { Core } from "./core.ts"
import { schedule, storageProblem } from "./provider.ts"
import { isKept } from "./versions.ts"
import type { Written } from "./write.ts"

/** What is remembered of a write until its transaction has committed. */
export type Trace = Pick<Written, "access" | "before" | "changed" | "key"> & {
  /** Files that the write took out of the row. */
  readonly taken: readonly StoredFile[]
}

const noFiles: readonly StoredFile[] = []

/** The trace of a write. The record as it was is left out where it would not be remembered. */
export const traceOf = ({ access, before, changed, key, op, row }: Written): Trace => ({
  access,
  before: before !== null && changed && isKept(before) ? before : null,
  changed,
  key,
  taken: !changed || before === null
    ? noFiles
    : takenFiles(access.model, before, op === "delete" && access.model.softDelete === null ? null : row)
})

/** To be called once the transaction has committed. */
export const committed = (core: Core, written: Trace): void => {
  if (!written.changed) return
  if (written.access.model.captured) core.changed?.()
  const { history, name } = written.access.model
  core.estimates.touch(name)
  if (history !== null) core.estimates.touch(history)
  if (written.before !== null) core.versions.remember(written.access, written.key, written.before)
}

type Writers = WeakMap<Access["restricted"], ItemWriter>

const writers: Writers = new WeakMap()
const rehearsedWriters: Writers = new WeakMap()

/**
 * The record of a write as the answer shows it: readable fields and ETag. The ETag of a dry run (`rehearses`) is longer than any real tag.
 * Its version never existed, and where versions are numbers somebody else may still write the same one.
 */
export const writtenRecord = (
  core: Core,
  written: Written,
  bindings: Bindings,
  rehearses: boolean
): { readonly json: string; readonly etag: string } => {
  const { access } = written
  const known = rehearses ? rehearsedWriters : writers
  let write = known.get(access.restricted)
  if (write === undefined) {
    const shown = { fields: access.restricted.fields, permissions: "none" } as const
    const all = new Map(access.model.columns.map((field) => [field, field.index]))
    write = itemWriter(
      access,
      shown,
      { ...layoutOf(access, shown, []), columns: access.model.columns, position: all, hashed: [] },
      rehearses ? { ...core.items, digest: (text) => `dry-run-${core.seal.digest(text)}` } : core.items
    )
    known.set(access.restricted, write)
  }
  const item = write(written.row, bindings)
  return { json: `${item.open}}`, etag: item.etag }
}

const maxTries = 4

/**
 * Runs a body in a transaction. Serialization failures and deadlocks run it again, up to three times. The body resets what it remembers
 * outside of the transaction. `alone`: it is first tried without locks (see `RecordsService.transaction`).
 */
export const inTransaction = <A, E>(
  core: Core,
  body: (tx: RecordsTransaction) => Effect.Effect<A, E | RecordsError>,
  alone = false,
  tries = maxTries
): Effect.Effect<A, E | RecordsError> =>
  Effect.catch(
    core.records.transaction(body, alone),
    (error) =>
      alone && failedFor(error, "Contended")
        ? inTransaction(core, body, false, tries)
        : tries > 1 && isConflict(error)
        ? inTransaction(core, body, alone, tries - 1)
        : Effect.fail(error)
  )

/** Whether the port failed for this reason. */
export const failedFor = (error: unknown, reason: RecordsError["reason"]["_tag"]): boolean =>
  error instanceof RecordsError && error.reason._tag === reason

const isConflict = (error: unknown): boolean => failedFor(error, "Conflict")

/**
 * Schedules the delete of the files that writes took out of their rows. It happens before the commit: an entry for a file that a row still holds is
 * harmless, a file that nobody remembers is not.
 */
export const scheduleTaken = (core: Core, written: readonly Trace[]): Effect.Effect<void, Problem> | null => {
  const { files } = core
  if (files === null) return null
  const taken = written.flatMap((trace) => trace.taken)
  if (taken.length === 0) return null
  const now = files.now()
  return Effect.forEach(taken, (file) => {
    const provider = files.providers.get(file.provider)
    // Of a provider that is not configured any more nothing can be deleted; `service files check` names such values.
    return provider === undefined
      ? Effect.void
      : Effect.catch(
        schedule(files, provider, entryOf(file, now + provider.retention)),
        storageProblem(files, file.provider)
      )
  }, { concurrency: 8, discard: true })
}
