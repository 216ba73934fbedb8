/** What a write has to do with the uploads that it takes: they must be there, and stay until the write has committed. */

import * as Effect from "effect/Effect"
import type { Problem } from "../domain/problem.ts"
import { invalidRecord } from "../domain/write/body.ts"
import type { FileValueGiven, Tickets } from "../domain/write/file.ts"
import type { RecordsError, RecordsTransaction } from "../ports/records.ts"
import type { Core } from "./core.ts"
import { filesLock, storageProblem } from "./provider.ts"

export const ticketsOf = ({ files }: Core): Tickets | null => files === null ? null : files.tickets

const goneError = (name: string): Problem =>
  invalidRecord([{
    field: name,
    code: "invalid",
    message: "The uploaded file is gone.",
    hint: "Upload it again, and send the value of the new answer."
  }])

/**
 * Makes sure that the uploads behind tickets are there and stay: a cleanup that would delete them waits for the end of the transaction, and one that
 * is under way is waited for. Null: there are none.
 */
export const claimUploads = (
  core: Core,
  tx: RecordsTransaction,
  given: readonly FileValueGiven[]
): Effect.Effect<void, Problem | RecordsError> | null => {
  const { files } = core
  const uploads = given.filter(({ upload }) => upload !== null)
  if (files === null || uploads.length === 0) return null
  const check = ({ field, upload }: FileValueGiven): Effect.Effect<void, Problem> => {
    const { path, provider: name } = upload!
    const provider = files.providers.get(name)
    if (provider === undefined) return Effect.fail(goneError(field.name))
    return Effect.flatMap(
      Effect.catch(provider.storage.head(path), storageProblem(files, name)),
      (head) => head === null ? Effect.fail(goneError(field.name)) : Effect.void
    )
  }
  return Effect.andThen(
    tx.hold(filesLock, "shared"),
    Effect.forEach(uploads, check, { concurrency: 8, discard: true })
  )
}
