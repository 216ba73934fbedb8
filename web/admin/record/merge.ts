/**
 * Three versions of a record: as it was when somebody began to edit, as another person saved it, and as it is in the form. What only one of them
 * changed is merged already; what both changed is for a person to choose. Pure.
 */

import { isSame, type Values } from "./draft.ts"

export type Side = "theirs" | "mine"

export interface MergeRow {
  readonly field: string
  readonly before: unknown
  readonly theirs: unknown
  readonly mine: unknown
  readonly theirsChanged: boolean
  readonly mineChanged: boolean
  /** Both changed it, to different values: somebody has to choose. */
  readonly overlap: boolean
}

/** The fields that either side changed, in the order given. `changes` is what the form would send. */
export const mergeRows = (
  fields: readonly string[],
  before: Values,
  current: Values,
  changes: Values
): readonly MergeRow[] =>
  fields.flatMap((field) => {
    const theirsChanged = !isSame(before[field], current[field])
    const mineChanged = field in changes
    if (!theirsChanged && !mineChanged) return []
    const mine = mineChanged ? changes[field] : before[field]
    return [{
      field,
      before: before[field],
      theirs: current[field],
      mine,
      theirsChanged,
      mineChanged,
      overlap: theirsChanged && mineChanged && !isSame(current[field], mine)
    }]
  })

/** What the merge sends: own changes that were kept and are not there already. Without a choice, own changes win. */
export const mergedChanges = (
  rows: readonly MergeRow[],
  choices: { readonly [field: string]: Side }
): Values =>
  Object.fromEntries(
    rows.flatMap(({ field, mine, mineChanged, overlap, theirs }) =>
      !mineChanged || isSame(mine, theirs) || (overlap && choices[field] === "theirs") ? [] : [[field, mine]]
    )
  )
