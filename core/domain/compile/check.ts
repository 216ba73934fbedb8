/**
 * Checks that the compiler of every part uses: names, counts and unknown properties. What a part may say is decided by its own file.
 */

import type { Bag } from "../bag.ts"
import { didYouMean } from "../declare/refusal.ts"

/** Lower-case words of letters, digits and `_`: names of resources and fields. */
const namePattern = /^[a-z][a-z0-9_]*$/

export const nameRule = "Use lower-case letters, digits and _, beginning with a letter, at most 63 characters."

export const isName = (value: unknown): value is string =>
  typeof value === "string" && value.length <= 63 && namePattern.test(value)

/** PostgreSQL keeps 63 bytes of an identifier. */
export const isIdentifier = (value: unknown): value is string => {
  if (typeof value !== "string" || value === "" || value.includes("\0") || !value.isWellFormed()) return false
  let bytes = 0
  for (const character of value) {
    const code = character.codePointAt(0)!
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
  }
  return bytes <= 63
}

export const isCount = (value: unknown, least: number, most: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= least && value <= most

/** Reports keys that are not known, and keys that are there with the value `undefined` (a name that was never defined). */
export const refuseUnknownKeys = (
  bag: Bag,
  members: readonly string[],
  path: string,
  report: (message: string, fix: string) => void
): void => {
  for (const key of Object.keys(bag)) {
    const place = path === "" ? key : `${path}.${key}`
    if (!members.includes(key)) report(`There is no property ${place}.`, didYouMean(key, members))
    else if (bag[key] === undefined) {
      report(`${place} is undefined.`, "Leave it out, or check the name it is taken from.")
    }
  }
}

const objectNames: ReadonlySet<string> = new Set(["prototype", ...Object.getOwnPropertyNames(Object.prototype)])

/** Why a name cannot be a key of any object in a response, or null. */
export const objectName = (name: string): string | null =>
  objectNames.has(name) ? "every JavaScript object has a property of that name" : null

/** Why a resource or a page of the admin app cannot have this name: the service itself uses that address. Null: it can. */
export const addressName = (name: string): string | null =>
  ["api", "livez", "readyz"].includes(name) ? `the service itself is at /${name}` : null

/** Reports one thing that is wrong at a known place: what is wrong, and what to do about it. */
export type Say = (message: string, fix: string) => void

export const isAsync = (value: unknown): boolean => Object.prototype.toString.call(value) === "[object AsyncFunction]"

/** A text that people read: not empty, at most 200 characters. */
export const isLabel = (value: unknown): value is string =>
  typeof value === "string" && value.trim() !== "" && value.length <= 200

/** Plain text that people read: not blank, and at most `most` characters. */
export const isProse = (value: unknown, most: number): value is string =>
  typeof value === "string" && value.trim() !== "" && value.length <= most && value.isWellFormed() &&
  !value.includes("\0")

/** A path of this site, or an http, https or mailto address. Never `javascript:`, never `//host`. */
export const isAddress = (value: unknown): value is string =>
  typeof value === "string" && value.length <= 2000 && !/[\s\\\p{Cc}]/u.test(value) &&
  (/^\/(?!\/)/.test(value) || (/^(?:https?:\/\/[^/]|mailto:.)/i.test(value) && URL.canParse(value)))

export const addressFix = "Write a path such as \"/reports\", or an http(s) or mailto address."
