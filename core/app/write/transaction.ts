/**
 * What surrounds a write: the transaction that is tried again after a conflict, what is remembered after the commit, and the record as the
 * answer shows it. It decides nothing about the write itself.
 */

import * as Effect from "effect/Effect"
import type { Access } from "../../domain/access/access.ts"
import type { StoredFile } from "../../domain/file/uri.ts"
import type { Bindings } from "../../domain/filter/tree.ts"
import type { Problem } from "../../domain/problem.ts"
import { itemWriter, layoutOf } from "../../domain/read/item.ts"
import type { ItemWriter } from "../../domain/read/item.ts"
import { takenFiles } from "../../domain/write/file-values.ts"
import { RecordsError } from "../../ports/records.ts"
import type { RecordsTransaction } from "../../ports/records.ts"
import type { Core } from "../ground/core.ts"
import { isKept } from "../ground/versions.ts"
import { prepare, type Prepared, Prepared as PreparedRef, releaseFiles, Unprepared } from "./attach.ts"
import type { WriteResult } from "./execute.ts"

/** What is remembered of a write until its transaction has committed. */
export type Trace = Pick<WriteResult, "access" | "before" | "changed" | "key"> & {
  /** Files that the write took out of the row. */
  readonly taken: readonly StoredFile[]
}

const noFiles: readonly StoredFile[] = []

/** The trace of a write. The record as it was is left out where it would not be remembered. */
export const traceOf = ({ access, before, changed, key, op, row }: WriteResult): Trace => ({
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
  written: WriteResult,
  bindings: Bindings,
  rehearses: boolean
): { readonly json: string; readonly etag: string } => {
  const { access } = written
  const cache = rehearses ? rehearsedWriters : writers
  let write = cache.get(access.restricted)
  if (write === undefined) {
    const parts = { fields: access.restricted.fields, permissions: "none" } as const
    const all = new Map(access.model.columns.map((field) => [field, field.index]))
    write = itemWriter(
      access,
      parts,
      { ...layoutOf(access, parts, []), columns: access.model.columns, position: all, hashed: [] },
      rehearses ? { ...core.items, digest: (text) => `dry-run-${core.seal.digest(text)}` } : core.items
    )
    cache.set(access.restricted, write)
  }
  const item = write(written.row, bindings)
  return { json: `${item.open}}`, etag: item.etag }
}

const maxTries = 4

/** How often the stores of files are asked for one write. Each time but the first, somebody else has changed its rows meanwhile. */
const maxPreparations = 4

/**
 * Runs a body in a transaction. Serialization failures and deadlocks run it again, up to three times; so does a body that needs the stores of files,
 * which are asked in between. The body resets what it remembers outside of the transaction. `alone`: it is first tried without locks (see
 * `RecordsService.transaction`).
 */
export const inTransaction = <A, E>(
  core: Core,
  body: (tx: RecordsTransaction) => Effect.Effect<A, E | RecordsError>,
  alone = false
): Effect.Effect<A, E | Problem | RecordsError> => runTries(core, body, alone, maxTries, null, maxPreparations)

const runTries = <A, E>(
  core: Core,
  body: (tx: RecordsTransaction) => Effect.Effect<A, E | RecordsError>,
  alone: boolean,
  tries: number,
  prepared: Prepared | null,
  preparations: number
): Effect.Effect<A, E | Problem | RecordsError> => {
  const transaction = core.records.transaction(body, alone)
  return Effect.catch(
    prepared === null ? transaction : Effect.provideService(transaction, PreparedRef, prepared),
    (error): Effect.Effect<A, E | Problem | RecordsError> =>
      error instanceof Unprepared && preparations > 0
        ? Effect.flatMap(
          Effect.flatMap(PreparedRef, (before) => prepare(core.files!, prepared ?? before, error)),
          (next) => runTries(core, body, alone, tries, next, preparations - 1)
        )
        : alone && failedFor(error, "Contended")
        ? runTries(core, body, false, tries, prepared, preparations)
        : tries > 1 && isConflict(error)
        ? runTries(core, body, alone, tries - 1, prepared, preparations)
        : Effect.fail(error)
  )
}

/** Whether the port failed for this reason. */
export const failedFor = (error: unknown, reason: RecordsError["reason"]["_tag"]): boolean =>
  error instanceof RecordsError && error.reason._tag === reason

const isConflict = (error: unknown): boolean => failedFor(error, "Conflict")

/** Makes sure that the deletes of the files that writes took out of their rows are scheduled. Null: there are none. */
export const scheduleTaken = (core: Core, written: readonly Trace[]): Effect.Effect<void, RecordsError> | null =>
  releaseFiles(core, written.flatMap((trace) => trace.taken))
