/** Preconditions and preferences of writes: `If-Match` (RFC 9110, 13.1.1), `Prefer: return=…` (RFC 7240). */

import { problem } from "../problem.ts"
import type { Problem } from "../problem.ts"
import { tagListed, tagsIn } from "../read/etag.ts"

/** What a write demands of the stored version: nothing, any version, or one of a list of tags. */
export type Precondition = null | string

/** A missing precondition where one is required. */
export const preconditionRequired = (): Problem =>
  problem(
    "precondition-required",
    "Send the record's ETag, or * for any version: in If-Match, or in a batch as the operation's etag (the etags of a reorder)."
  )

/** A list of entity tags (RFC 9110, 5.6.1 and 8.8.3). A malformed list holds no tag, so `w/"…"` is not taken for a strong tag. */
const tagList = /^[\t ,]*(?:(?:W\/)?"[^"]*"[\t ]*(?:,[\t ,]*|$))+$/

/** Whether the current tag satisfies the precondition; null is satisfied by every version. */
export const preconditionHolds = (precondition: Precondition, etag: string): boolean =>
  precondition === null || precondition === etag || precondition.trim() === "*" ||
  (tagList.test(precondition) && tagListed(precondition, etag, false))

/** Whether any tag could match a version: the list is well-formed and has a strong tag. */
const namesVersion = (precondition: string): boolean =>
  tagList.test(precondition) && tagsIn(precondition).some((tag) => tag.startsWith("\""))

/**
 * The refusal of a stale version, with what a client needs to merge: the current tag and the fields that changed, where known. When the
 * client lost the quotes, or a proxy made the tag weak, the message says so; merging would never succeed then.
 */
export const preconditionFailed = (
  precondition: string,
  etag: string | null,
  changed: readonly string[] | null
): Problem =>
  problem(
    "precondition-failed",
    namesVersion(precondition)
      ? "The record has changed since the version of the sent ETag."
      : "The sent ETag cannot match any version. Send the record's etag unchanged, with its quotes and without W/.",
    { ...(etag === null ? {} : { etag }), ...(changed === null ? {} : { changed }) },
    etag === null ? {} : { etag }
  )

export type ReturnPreference = "minimal" | "representation"

/** The members of a list. A comma inside a quoted string does not separate members. An unclosed string reaches to the end. */
const members = /(?:"(?:[^"\\]|\\[^])*(?:"|\\?$)|[^,"])+/g

/** The `return` preference of a Prefer header; the first one given counts, unknown values are no preference. */
export const returnPreference = (header: string | null): ReturnPreference | null => {
  if (header === null) return null
  for (const part of header.match(members) ?? []) {
    const match = /^\s*return\s*=\s*"?(?:(minimal)|representation)"?\s*(?:;.*)?$/i.exec(part)
    if (match !== null) return match[1] === undefined ? "representation" : "minimal"
  }
  return null
}
