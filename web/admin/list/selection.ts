/**
 * The selection of a list: some records by their keys, or all that match a filter, with exceptions. It has keys and not row numbers, because a new record
 * moves the numbers. It stays the same when the filter changes. Pure.
 */

export type RecordSelection =
  | { readonly of: "some"; readonly keys: ReadonlySet<string> }
  /** All records that match `filter`, the filter at the time of the selection. */
  | { readonly of: "all"; readonly filter: string; readonly except: ReadonlySet<string> }

export const nothing: RecordSelection = { of: "some", keys: new Set() }

export const isSelected = (selection: RecordSelection, key: string): boolean =>
  selection.of === "some" ? selection.keys.has(key) : !selection.except.has(key)

/** The number of selected records. `total` is the number of records that match the filter. */
export const selectedCount = (selection: RecordSelection, total: number): number =>
  selection.of === "some" ? selection.keys.size : Math.max(0, total - selection.except.size)

const toggled = (set: ReadonlySet<string>, keys: readonly string[], into: boolean): ReadonlySet<string> => {
  const next = new Set(set)
  for (const key of keys) {
    if (into) next.add(key)
    else next.delete(key)
  }
  return next
}

/** The selection with records added or removed. */
export const withKeys = (selection: RecordSelection, keys: readonly string[], selected: boolean): RecordSelection =>
  selection.of === "some"
    ? { of: "some", keys: toggled(selection.keys, keys, selected) }
    : { ...selection, except: toggled(selection.except, keys, !selected) }
