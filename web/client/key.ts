/**
 * Record keys as values and in URLs, and idempotency keys of requests. It knows no resource: only the service knows whether a key exists.
 */

/** A key in any form that stands for one: itself, or its parts in order. */
export type KeyInput = string | number | bigint | readonly (string | number | bigint)[]

/** The parts of a key as texts. Throws a TypeError for an invalid key. */
export const keyParts = (key: unknown): readonly string[] =>
  (Array.isArray(key) ? key : [key]).map((part: unknown) => {
    if (typeof part === "string" || typeof part === "number" || typeof part === "bigint") return String(part)
    throw new TypeError("A key is made of texts and numbers.")
  })

/** A key as it stands in URLs: its parts percent-encoded, with commas between them. */
export const keyText = (key: unknown): string => {
  const parts = keyParts(key)
  if (parts.length === 0 || parts.includes("")) throw new TypeError("A key has no empty part.")
  return parts.map((part) => encodeURIComponent(part)).join(",")
}

/** The parts of a key that stands in a URL. Throws a URIError for an invalid text. */
export const readKey = (text: string): readonly string[] => text.split(",").map(decodeURIComponent)

/** What makes a call one that may be repeated: its idempotency key; `true` makes one that no other call has. */
export const idempotent = (asked: string | true | undefined) => {
  const key = asked === true ? crypto.randomUUID() : asked
  return { headers: { "idempotency-key": key }, repeatable: key !== undefined }
}
