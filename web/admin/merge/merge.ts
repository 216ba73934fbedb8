/**
 * Merges three versions of a record: the version when editing began, the version that another person saved, and the version in the form. A field that only one side
 * changed is merged. If both sides changed a field, the user chooses. Pure.
 */

import { uriOf } from "../field/file-list.ts"
import type { AnyRecord } from "../model/client.ts"
import { plain } from "../model/plain.ts"

/** Values by field name, in wire form. */
export type FormValues = { readonly [field: string]: unknown }

/** Whether two values in wire form are equal. A number is equal to its exact text, because both are the same value. */
export const isSame = (a: unknown, b: unknown): boolean => {
  if (Object.is(a, b)) return true
  if (a === null || a === undefined || b === null || b === undefined) return (a ?? null) === (b ?? null)
  // Files are compared by uri, because each answer has new links. A draft holds the texts of a list of files.
  const [left, right] = [uriOf(a), uriOf(b)]
  if (left !== a && right !== b) return left === right
  if (Array.isArray(a) && Array.isArray(b) && [...a, ...b].some((each: unknown) => uriOf(each) !== each)) {
    return a.length === b.length && a.every((each: unknown, at) => uriOf(each) === uriOf(b[at]))
  }
  if (typeof a === "object" || typeof b === "object") return JSON.stringify(a) === JSON.stringify(b)
  return plain(a) === plain(b)
}

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

/** What a merge asks about, and the version that another person saved. */
export interface Conflict {
  readonly rows: readonly MergeRow[]
  readonly current: AnyRecord
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
