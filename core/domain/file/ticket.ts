/**
 * Tickets: an upload answers one, and a write takes it as the value of a file field. A port seals the text. This file defines the content and the
 * context in which a ticket is valid.
 */

import type { Caller } from "../access/caller.ts"
import { isBag, isList } from "../bag.ts"

/** How long a ticket is valid: 24 hours (docs/guides/files.md#from-upload-to-cleanup). */
export const ticketMs = 24 * 3_600_000

/** Longest ticket in characters, sealed. */
export const maxTicket = 16 * 1024

/** What an upload passes to the write. */
export interface Ticket {
  /** The value to store. */
  readonly uri: string
  /** Cells by the name of the field that they are written to: derived values and the placeholder. */
  readonly derived: ReadonlyMap<string, string | null>
  /** Milliseconds since 1970. */
  readonly expires: number
}

/** The context of a ticket: it opens only with exactly the same context. */
export const ticketContext = ({ id, tenant }: Pick<Caller, "id" | "tenant">, resource: string, field: string): string =>
  JSON.stringify(["file-ticket", id, tenant, resource, field])

/** The text to seal. */
export const writeTicket = ({ derived, expires, uri }: Ticket): string => JSON.stringify([uri, expires, [...derived]])

/**
 * Reads an opened ticket. Another version of the service may have written the text: null when it is not of this form, `newer` when it has more members than
 * this version knows.
 */
export const readTicket = (text: string): Ticket | "newer" | null => {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return null
  }
  if (!isList(parsed)) return null
  if (parsed.length > 3) return "newer"
  const [uri, expires, derived] = parsed
  if (typeof uri !== "string" || typeof expires !== "number" || !isList(derived)) return null
  const cells = new Map<string, string | null>()
  for (const pair of derived) {
    if (!isList(pair)) return null
    const [name, cell] = pair
    if (typeof name !== "string" || (typeof cell !== "string" && cell !== null)) return null
    cells.set(name, cell)
  }
  return { uri, expires, derived: cells }
}

/** Whether a text sent as a value can be a ticket. Sealed texts contain no colon. Stored values and URLs do. */
export const looksLikeTicket = (text: string): boolean => /^[A-Za-z0-9_-]{38,}$/.test(text)

/** Whether a value is the file object of an answer. A write takes its `uri`. */
export const isShownFile = (value: unknown): boolean => isBag(value) && typeof value["uri"] === "string"
