/**
 * ETags (spec 1, Write rules, 1): a keyed hash of the version column's exact text, or of the fields that the caller may read. They are
 * computed from the row itself and are the same in lists, gets, writes and batches.
 */

import type { RestrictedModel } from "../access/access.ts"
import type { Field } from "../model/model.ts"
import type { Row } from "../value/kind.ts"

/** The columns an ETag is made of. */
export const etagFields = (restricted: RestrictedModel): readonly Field[] =>
  restricted.model.version === null ? restricted.fields : [restricted.model.version]

/**
 * Makes the function that writes the text whose digest is the tag. `position` says where each field's cell stands in a row. Each cell comes
 * after its length, so that neighbouring values stay apart; `~` is null. It is made once for a kind of row, so no position is looked up for
 * each row of a page.
 */
export const etagSource = (
  restricted: RestrictedModel,
  position: (field: Field) => number
): (row: Row) => string => {
  const positions = etagFields(restricted).map(position)
  if (restricted.model.version !== null) {
    const [version] = positions as [number]
    return (row) => `v${row[version] ?? "~"}`
  }
  return (row) => {
    let source = "f"
    for (const at of positions) {
      const cell = row[at] ?? null
      source += cell === null ? "~" : `${cell.length}:${cell}`
    }
    return source
  }
}

/** The header's text, quotes included, of a row with all columns of the model. `digest` is the Seal port's. */
export const etagOf = (restricted: RestrictedModel, row: Row, digest: (text: string) => string): string =>
  `"${digest(etagSource(restricted, ({ index }) => index)(row))}"`

/** Whether `If-None-Match` says that the client holds this version, so that a 304 is enough (RFC 9110, 13.1.2). */
export const isHeld = (noneMatch: string | null, etag: string): boolean =>
  noneMatch !== null && (noneMatch.trim() === "*" || tagListed(noneMatch, etag, true))

/** The entity tags in a list, the weak ones with their `W/` (RFC 9110, 8.8.3). */
export const tagsIn = (list: string): readonly string[] => list.match(/(?:W\/)?"[^"]*"/g) ?? []

/**
 * Whether a list of entity tags (`If-Match`, `If-None-Match`) holds the tag. `*` is for the caller to treat. Weak tags match only when
 * `weak` is true (RFC 9110, 13.1.1 and 13.1.2).
 */
export const tagListed = (list: string, tag: string, weak: boolean): boolean => {
  for (const item of tagsIn(list)) {
    if (item === tag || (weak && item === `W/${tag}`)) return true
  }
  return false
}
