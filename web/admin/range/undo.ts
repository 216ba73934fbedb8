/** Takes a written range back: all of it, or what nobody changed meanwhile. */

import { ProblemError } from "../../client/index.ts"
import type { Messages } from "../messages/locale.tsx"
import { keyOf, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { cellRefusals, type Edit, rebased, type Refusal } from "./edits.ts"
import { readAgain } from "./records.ts"
import { send, tryEdits } from "./write.ts"

/** What was taken back, with the records as written, and the cells that were not. */
export interface Undone {
  readonly edits: readonly Edit[]
  readonly written: readonly (AnyRecord | null)[]
  readonly refused: readonly Refusal[]
}

export const takeBack = async (
  resource: Resource,
  back: readonly Edit[],
  parameters: object,
  t: Messages
): Promise<Undone> => {
  try {
    return { edits: back, written: await send(resource, back, false), refused: [] }
  } catch (error) {
    if (!(error instanceof ProblemError) || error.operation === null) throw error
  }
  // The batch is one transaction: nothing of it was written.
  const records = await readAgain(resource, back.map(({ key }) => key), parameters)
  const now = new Map(records.map((record) => [keyOf(resource, record) ?? "", record]))
  const { edits, refused } = rebased(back, now, t.range.cellConflict)
  const tried = await tryEdits(resource, edits, t, () => {}, AbortSignal.any([]))
  const left = tried.refused.flatMap((refusal) => cellRefusals(refusal, edits))
  if (tried.more) {
    const others = tried.edits.flatMap(({ data, record }) =>
      cellRefusals({ record, column: null, text: "", why: t.range.stopped }, [{ key: "", record, data }])
    )
    return { edits: [], written: [], refused: [...refused, ...left, ...others] }
  }
  const written = tried.edits.length === 0 ? [] : await send(resource, tried.edits, false)
  return { edits: tried.edits, written, refused: [...refused, ...left] }
}
