/**
 * ETags (spec 1, Write rules, 1): a keyed hash of the version column's exact text, or of the fields the caller may read. Computed from the
 * row itself, the same in lists, gets, writes and batches.
 */

import type { RestrictedModel } from "../access/access.ts"
import type { Cell, Field, Row } from "../model/model.ts"

/** The columns an ETag is made of. */
export const etagFields = (restricted: RestrictedModel): readonly Field[] =>
  restricted.model.version === null ? restricted.fields : [restricted.model.version]

/** The text whose digest is the tag: lengths keep neighbouring values apart, `~` is null. */
export const etagSource = (restricted: RestrictedModel, cellOf: (field: Field) => Cell): string => {
  const version = restricted.model.version
  if (version !== null) return `v${cellOf(version) ?? "~"}`
  let source = "f"
  for (const field of restricted.fields) {
    const cell = cellOf(field)
    source += cell === null ? "~" : `${cell.length}:${cell}`
  }
  return source
}

/** The header's text, quotes included. `digest` is the Seal port's. */
export const etagOf = (
  restricted: RestrictedModel,
  cellOf: (field: Field) => Cell,
  digest: (text: string) => string
): string => `"${digest(etagSource(restricted, cellOf))}"`

/** A reader of a row's cells by field, for a row of the given columns. */
export const cellReader = (columns: readonly Field[]): (row: Row) => (field: Field) => Cell => {
  const positions = new Map(columns.map((field, i) => [field, i]))
  return (row) => (field) => row[positions.get(field)!] ?? null
}

/**
 * Whether a list of entity tags (`If-Match`, `If-None-Match`) holds the tag. `*` is for the caller to treat. Weak tags match only when
 * `weak` is true (RFC 9110, 13.1.1 and 13.1.2).
 */
export const tagListed = (list: string, tag: string, weak: boolean): boolean => {
  for (const item of list.match(/(?:W\/)?"[^"]*"/g) ?? []) {
    if (item === tag || (weak && item === `W/${tag}`)) return true
  }
  return false
}
