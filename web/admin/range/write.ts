/**
 * Changes of many cells, as one batch in one transaction: first as a dry run that finds what is refused, then for good, and back again. Each write names the
 * version of its record, so that nothing of anybody else is lost.
 */

import { ProblemError } from "../../client/index.ts"
import { problemText } from "../ground/problem.tsx"
import type { Messages } from "../messages/locale.tsx"
import { keyPartsOf, type Resource } from "../model/catalogue.ts"
import { anyBatch, type AnyRecord } from "../model/client.ts"
import { type Edit, type Plan, type Refusal, without } from "./edits.ts"

/** Most refusals of the service that a check looks for: a batch names one at a time. */
const mostRefusals = 100

/** Sends edits as one batch. Gives the records as written, null for one that the caller may not see. */
export const send = async (
  resource: Resource,
  edits: readonly Edit[],
  dryRun: boolean,
  signal?: AbortSignal
): Promise<readonly (AnyRecord | null)[]> => {
  const batch = anyBatch()
  const operations = edits.map(({ data, key, record: { etag } }) =>
    batch.update(resource.name, keyPartsOf(key), data, { etag })
  )
  const results = await batch.send({
    dryRun,
    ...(dryRun ? {} : { idempotencyKey: true }),
    ...(signal === undefined ? {} : { signal })
  })
  return operations.map((operation) => results.of(operation) ?? null)
}

/** Why a record was refused, in words. */
const reasonOf = (error: ProblemError, t: Messages): string =>
  error.status === 412 ? t.range.conflict : problemText(error, t)

/** What a dry run found. `more`: it stopped early, so that more may be refused. */
export interface Tried extends Pick<Plan, "edits" | "refused"> {
  readonly more: boolean
}

/** Tries edits as a dry run until all that are left pass. `progress` is told how many were refused so far. */
export const tryEdits = async (
  resource: Resource,
  asked: readonly Edit[],
  t: Messages,
  progress: (refused: number) => void,
  signal: AbortSignal
): Promise<Tried> => {
  let edits = asked
  const refused: Refusal[] = []
  // Those before a refused one have passed: the next try begins there, and a last one tries all together.
  let from = 0
  let whole = true
  while (edits.length > 0) {
    try {
      await send(resource, edits.slice(from), true, signal)
      if (whole) break
      from = 0
      whole = true
    } catch (error) {
      if (!(error instanceof ProblemError) || error.operation === null) throw error
      const at = from + error.operation
      const next = without(edits, at, error.fields, reasonOf(error, t))
      edits = next.edits
      refused.push(...next.refused)
      progress(refused.length)
      if (refused.length >= mostRefusals) return { edits, refused, more: true }
      from = at
      whole = from === 0
      if (from === edits.length) {
        from = 0
        whole = true
      }
    }
  }
  return { edits, refused, more: false }
}
