/**
 * ETags (docs/reference/writes.md#etags-and-preconditions; RFC 9110, 8.8.3): a keyed hash of the version column's exact text, or of the fields that the caller may read. They are
 * computed from the row itself and are the same in lists, gets, writes and batches. The database may hash the fields.
 */

import type { RestrictedModel } from "../access/access.ts"
import type { Field } from "../model/model.ts"
import { byteLength } from "../value/bytes.ts"
import type { Cell, Row } from "../value/kind.ts"

/** The columns an ETag is made of. */
export const etagFields = (restricted: RestrictedModel): readonly Field[] =>
  restricted.model.version === null ? restricted.fields : [restricted.model.version]

/** What tags are made with: the Seal port's keyed digest and its plain hash. */
export interface TagTools {
  readonly digest: (text: string) => string
  readonly hash: (text: string) => string
}

/** Whether any text may be a value of the field. Values of other kinds are never empty and have no control characters. */
export const isFreeText = ({ kind }: Field): boolean =>
  kind === "text" || kind === "enum" || kind === "currency" || kind === "country" || kind === "list" ||
  kind === "bytes" || kind === "native"

/** Whether a cell is made of times, which a database spells otherwise. */
export const hasTimes = (field: Field): boolean =>
  field.kind === "timestamp" || (field.kind === "range" && field.of === "timestamp")

/** Ends a cell that is no free text. */
export const cellEnd = "\u0001"

/**
 * The text whose hash is the version of some cells. Different cells give different texts. Where an answer leaves fields out, the database writes this text
 * instead, so its parts cost a database little. A free text follows its length in bytes and a colon. Any other cell is followed by `cellEnd`. A null leaves
 * the colon or `cellEnd` alone. A timestamp is written without the characters in which the service and the database spell it differently.
 */
export const hashedText = (fields: readonly Field[], cellOf: (field: Field, index: number) => Cell): string => {
  let text = ""
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index]!
    const cell = cellOf(field, index)
    if (isFreeText(field)) text += cell === null ? ":" : `${byteLength(cell)}:${cell}`
    else text += (cell === null ? "" : hasTimes(field) ? cell.replace(/[TZ "]/g, "") : cell) + cellEnd
  }
  return text
}

/** The text whose digest is the tag of a row: its version, or the hash of its readable cells. */
export const versionSource = (version: Cell): string => `v${version ?? "~"}`
export const hashSource = (hash: Cell): string => `f${hash ?? "~"}`

/**
 * Makes the function that writes the text whose digest is the tag. `position` says where each field's cell stands in a row. It is made once
 * for a kind of row, so no position is looked up for each row of a page.
 */
export const etagSource = (
  restricted: RestrictedModel,
  position: (field: Field) => number,
  hash: TagTools["hash"]
): (row: Row) => string => {
  const fields = etagFields(restricted)
  if (restricted.model.version !== null) {
    const version = position(restricted.model.version)
    return (row) => versionSource(row[version] ?? null)
  }
  const positions = fields.map(position)
  return (row) => hashSource(hash(hashedText(fields, (_, index) => row[positions[index]!] ?? null)))
}

/** The header's text, quotes included, of a row with all columns of the model. */
export const etagOf = (restricted: RestrictedModel, row: Row, { digest, hash }: TagTools): string =>
  `"${digest(etagSource(restricted, ({ index }) => index, hash)(row))}"`

/** The tags of a row under all secrets, the one that answers have first: a client may hold one from a process with another first secret. */
export const etagsOf = (
  restricted: RestrictedModel,
  row: Row,
  { digests, hash }: { readonly digests: (text: string) => readonly string[]; readonly hash: TagTools["hash"] }
): readonly string[] => digests(etagSource(restricted, ({ index }) => index, hash)(row)).map((digest) => `"${digest}"`)

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
