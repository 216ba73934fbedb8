/**
 * Merges three versions of a record: the version when editing began, the version that another person saved, and the version in the form. A field that only one side
 * changed is merged. If both sides changed a field, the user chooses. Pure.
 */

import { type FormValues, isSame } from "./draft.ts"

export type Side = "theirs" | "mine"

export interface MergeRow {
  readonly field: string
  readonly before: unknown
  readonly theirs: unknown
  readonly mine: unknown
  readonly theirsChanged: boolean
  readonly mineChanged: boolean
  /** True if both sides changed the field to different values, so the user has to choose. */
  readonly overlap: boolean
}

/** The fields that either side changed, in the given order. `changes` are the values of the form. */
export const mergeRows = (
  fields: readonly string[],
  before: FormValues,
  current: FormValues,
  changes: FormValues
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

/** The values that the merge sends: kept own changes that are not stored already. Without a choice, the own change is kept. */
export const mergedChanges = (
  rows: readonly MergeRow[],
  choices: { readonly [field: string]: Side }
): FormValues =>
  Object.fromEntries(
    rows.flatMap(({ field, mine, mineChanged, overlap, theirs }) =>
      !mineChanged || isSame(mine, theirs) || (overlap && choices[field] === "theirs") ? [] : [[field, mine]]
    )
  )
