/**
 * What a write has to do with stored files: the uploads that it takes must be there and stay, and the files that it lets go must be on record. Stores are
 * asked outside of its transaction, so that a slow one holds no connection and no lock.
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { entryOf, heldText } from "../../domain/file/cleanup.ts"
import type { StoredFile } from "../../domain/file/uri.ts"
import { problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { invalidRecord } from "../../domain/write/body.ts"
import type { FileValueGiven, GivenUpload, Tickets } from "../../domain/write/file-values.ts"
import { RecordsError, type RecordsTransaction } from "../../ports/records.ts"
import type { Core } from "../ground/core.ts"
import { ask, askMs, type FileProvider, type Files, filesLock, schedule, storageProblem } from "../ground/files.ts"

export const ticketsOf = ({ files }: Core): Tickets | null => files === null ? null : files.tickets

const goneError = (name: string): Problem =>
  invalidRecord([{
    field: name,
    code: "invalid",
    message: "The uploaded file is gone.",
    hint: "Upload it again, and send the value of the new answer."
  }])

// ------------------------------------------------------------------------------------------------------ before a transaction

/** Answers of the stores for the running write, by the column's texts: uploads that exist, and files with a scheduled delete. */
export interface Prepared {
  readonly there: ReadonlySet<string>
  readonly scheduled: ReadonlySet<string>
}

export const Prepared = Context.Reference<Prepared>("resource-admin/app/Prepared", {
  defaultValue: () => ({ there: new Set(), scheduled: new Set() })
})

/**
 * A transaction that cannot go on before stores have been asked. To the code around it, it is a conflict: nothing is written, and it runs again
 * (`inTransaction`).
 */
export class Unprepared extends RecordsError {
  readonly uploads: readonly GivenUpload[]
  /** Files that the write takes out of their rows. */
  readonly taken: readonly StoredFile[]
  constructor(uploads: readonly GivenUpload[], taken: readonly StoredFile[]) {
    super({ reason: { _tag: "Conflict" } })
    this.uploads = uploads
    this.taken = taken
  }
}

/** Most uploads that one request attaches. Each is a lock of its transaction, and a server has room for some thousands. */
const mostUploads = 1_000

/** Most files that the records of one request let go. The delete of each is written down at its storage before the commit, while the caller waits. */
export const mostTaken = 1_000

/** One of each file. Several records may take the same upload. */
const distinct = <A>(items: readonly A[], fileOf: (item: A) => StoredFile): readonly A[] =>
  items.length < 2 ? items : [...new Map(items.map((item) => [heldText(fileOf(item)), item])).values()]

const fileOf = ({ file }: GivenUpload): StoredFile => file

/** Whether the bytes of an upload are there. */
const isThere = (files: Files, { path, provider: name }: StoredFile): Effect.Effect<boolean, Problem> => {
  const provider = files.providers.get(name)
  return provider === undefined
    ? Effect.succeed(false)
    : Effect.map(
      Effect.catch(ask(files, provider, provider.storage.head(path), askMs.write), storageProblem(files, name)),
      (head) => head !== null
    )
}

/**
 * Asks for the uploads of a request before its transaction runs, so that it need not stop at each of several writes. What is not there, or cannot be asked for,
 * is left to the write that takes it.
 */
export const foresee = Effect.fnUntraced(
  function*(files: Files, uploads: readonly GivenUpload[]): Effect.fn.Return<Prepared> {
    const answers = yield* Effect.forEach(
      distinct(uploads, fileOf).slice(0, mostUploads),
      ({ file }) => Effect.map(Effect.result(isThere(files, file)), (there) => ({ file, there })),
      { concurrency: 8 }
    )
    const there = answers.filter((each) => Result.isSuccess(each.there) && each.there.success)
    return { there: new Set(there.map(({ file }) => heldText(file))), scheduled: new Set() }
  }
)

/** Asks the stores: whether the uploads are there, and to schedule the deletes. An entry for a file that a row still holds is harmless. */
export const prepare = Effect.fnUntraced(function*(
  files: Files,
  { scheduled, there }: Prepared,
  { taken, uploads }: Unprepared
): Effect.fn.Return<Prepared, Problem> {
  const now = files.now()
  if (there.size + uploads.length > mostUploads) {
    return yield* Effect.fail(
      problem("payload-too-large", `The request attaches more than ${mostUploads} uploads. Send fewer at once.`)
    )
  }
  yield* Effect.forEach(
    uploads,
    ({ field, file }) =>
      Effect.flatMap(isThere(files, file), (there) => there ? Effect.void : Effect.fail(goneError(field.name))),
    { concurrency: 8, discard: true }
  )
  yield* Effect.forEach(taken, (file) => {
    const provider = providerOf(files, file)!
    const entry = entryOf(file, now + provider.retention)
    return Effect.catch(schedule(files, provider, entry, askMs.write), storageProblem(files, file.provider))
  }, { concurrency: 8, discard: true })
  return {
    there: new Set([...there, ...uploads.map(({ file }) => heldText(file))]),
    scheduled: new Set([...scheduled, ...taken.map(heldText)])
  }
})

/** Of a provider that is not configured any more nothing can be deleted; `service files check` names such values. */
const providerOf = (files: Files, file: StoredFile): FileProvider | undefined => files.providers.get(file.provider)

// ------------------------------------------------------------------------------------------------------ within a transaction

/**
 * Under this scope the keys of answers are marks on files: a cleanup deletes the file, and the answer is the cleanup's own. Or the mark was taken back, and
 * the answer says so. They are kept for a day, as long as a ticket is valid.
 */
const goneScope = "deleted file"
const takenBack = "kept"

const goneKey = (files: Files, file: Pick<StoredFile, "path" | "provider">) => ({
  scope: goneScope,
  key: heldText(file),
  now: BigInt(files.now()) * 1_000n
})

/** The mark on a file. Null: there is none, or it was taken back. */
const markOf = (
  files: Files,
  tx: RecordsTransaction,
  file: Pick<StoredFile, "path" | "provider">
): Effect.Effect<string | null, RecordsError> =>
  Effect.map(
    // Busy: another write attaches it.
    tx.claimKey(goneKey(files, file)),
    (claim) => claim.of === "stored" && claim.answer !== takenBack ? claim.answer : null
  )

const store = (
  files: Files,
  tx: RecordsTransaction,
  file: Pick<StoredFile, "path" | "provider">,
  answer: string
): Effect.Effect<void, RecordsError> => tx.storeKey({ ...goneKey(files, file), request: "", answer })

/**
 * Marks a file, so that no ticket attaches it any more. The transaction has `filesLock` alone: whoever attaches it has committed before. `mark`: a text of
 * this cleanup's own. It takes the place of another's.
 */
export const markGone = (
  files: Files,
  tx: RecordsTransaction,
  file: Pick<StoredFile, "path" | "provider">,
  mark: string
): Effect.Effect<void, RecordsError> => Effect.andThen(tx.claimKey(goneKey(files, file)), store(files, tx, file, mark))

/**
 * Whether the mark on a file is still the cleanup's own, so that nothing has attached the file since. `back`: then the mark is taken back, because a row
 * holds the file. The transaction shares `filesLock`.
 */
export const resolveMark = (
  files: Files,
  tx: RecordsTransaction,
  file: Pick<StoredFile, "path" | "provider">,
  mark: string,
  back: boolean
): Effect.Effect<boolean, RecordsError> =>
  Effect.flatMap(
    markOf(files, tx, file),
    (current) => Effect.as(current === mark && back ? store(files, tx, file, takenBack) : Effect.void, current === mark)
  )

/**
 * Makes sure that files which a transaction names stay: a cleanup that would delete them waits for its end. False: one has decided to delete one of
 * them.
 */
export const claimFiles = Effect.fnUntraced(function*(
  files: Files,
  tx: RecordsTransaction,
  claimed: ReadonlyArray<Pick<StoredFile, "path" | "provider">>
): Effect.fn.Return<boolean, RecordsError> {
  yield* tx.hold(filesLock, "shared")
  for (const file of claimed) if ((yield* markOf(files, tx, file)) !== null) return false
  return true
})

/**
 * Makes sure that the uploads of tickets are there and stay. A cleanup that would delete them waits for the end of the transaction. An upload that a cleanup
 * has already decided to delete counts as gone. Null: there are no uploads.
 */
export const claimUploads = (
  core: Core,
  tx: RecordsTransaction,
  given: readonly FileValueGiven[]
): Effect.Effect<void, Problem | RecordsError> | null => {
  const { files } = core
  const uploads = distinct(given.flatMap((each) => each.uploads), fileOf)
  if (files === null || uploads.length === 0) return null
  const stays = ({ field, file }: GivenUpload): Effect.Effect<void, Problem | RecordsError> =>
    Effect.flatMap(
      markOf(files, tx, file),
      (mark) => mark === null ? Effect.void : Effect.fail(goneError(field.name))
    )
  return Effect.flatMap(Prepared, ({ there }) => {
    const unknown = uploads.filter(({ file }) => !there.has(heldText(file)))
    return unknown.length > 0
      ? Effect.fail(new Unprepared(unknown, []))
      : Effect.andThen(tx.hold(filesLock, "shared"), Effect.forEach(uploads, stays, { discard: true }))
  })
}

/** Makes sure that the deletes of files are scheduled before the commit that takes them out of their rows. Null: there are none. */
export const releaseFiles = (
  { files }: Core,
  taken: readonly StoredFile[]
): Effect.Effect<void, RecordsError> | null => {
  if (files === null || taken.length === 0) return null
  return Effect.flatMap(Prepared, ({ scheduled }) => {
    const unscheduled = distinct(taken, (file) => file)
      .filter((file) => providerOf(files, file) !== undefined && !scheduled.has(heldText(file)))
    return unscheduled.length > 0 ? Effect.fail(new Unprepared([], unscheduled)) : Effect.void
  })
}
