/**
 * Which versions of a tracked resource a caller sees (extension `history`). A caller sees a version of an update only if a field changed
 * that they can read in the record. Otherwise its number, time and author would tell that something hidden has changed.
 */

import { anyOf, both, type FilterTree } from "../filter/tree.ts"
import { changedColumn } from "../model/model.ts"
import type { Field, Model } from "../model/model.ts"
import type { Access, RestrictedModel } from "./access.ts"

/** A column as the list of changed columns names it. */
export const quotedColumn = ({ column }: Pick<Field, "column">): string => `"${column.replaceAll("\"", "\"\"")}"`

const changedOf = (versions: Model): Field | undefined =>
  versions.columns.find(({ column, system }) => system && column === changedColumn)

/** The field of versions that says who made them, where the caller sees it; null for records that are no versions. */
export const makerField = ({ model, restricted }: Pick<Access, "model" | "restricted">): Field | null =>
  changedOf(model) === undefined ? null : restricted.byName.get("history_by") ?? null

const trees = new WeakMap<RestrictedModel, WeakMap<RestrictedModel, FilterTree>>()

const changedTree = (changed: Field, versions: RestrictedModel, tracked: RestrictedModel): FilterTree => {
  let byTracked = trees.get(versions)
  if (byTracked === undefined) trees.set(versions, byTracked = new WeakMap())
  let tree = byTracked.get(tracked)
  if (tree === undefined) {
    // No version holds the values of sensitive fields. Whoever can read such a field may still see that it changed.
    const seen = tracked.fields.filter(({ name, sensitive }) => sensitive || versions.byName.has(name))
    const visible = seen.map((field): FilterTree => ({
      op: "match",
      field: changed,
      parts: ["", quotedColumn(field), ""]
    }))
    byTracked.set(tracked, tree = anyOf([{ op: "null", field: changed }, ...visible]))
  }
  return tree
}

/**
 * The access to versions, given the access to the records they belong to. A caller who can read every field of the records sees all of
 * their versions.
 */
export const confineVersions = (versions: Access, tracked: Access): Access => {
  const changed = changedOf(versions.model)
  if (changed === undefined) return versions
  // A caller may be allowed to read versions but not the records. Then the access to versions alone decides what is visible.
  const seen = tracked.decisions.read.of === "deny" ? versions.restricted : tracked.restricted
  const all = tracked.model.fields.every(({ name, sensitive }) =>
    seen.byName.has(name) && (sensitive || versions.restricted.byName.has(name))
  )
  return all ? versions : { ...versions, rows: both(versions.rows, changedTree(changed, versions.restricted, seen)) }
}
