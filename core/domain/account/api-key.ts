/**
 * Checks of an API key: its text, name, expiry, and roles. A key acts for the user who made it and never has more rights. This module sees no secret,
 * no hash and no clock: the caller gives the time.
 */

import * as Result from "effect/Result"
import { isOwnName, ownNameMax } from "../own-name.ts"
import { adminRole, rolesOf } from "../value/role.ts"
import { type AccountError, refuse } from "./account.ts"
import { readRoles, type RoleList } from "./roles.ts"

/** What every key begins with, so that a leaked one is recognised. */
export const keyPrefix = "sk_"
/** Days a key lives when nothing is said. */
const keyDays = 90
/** Longest life of a key, in days. */
const keyDaysMax = 366
/** Most keys that one account has open. Whoever has somebody's session must not make many that outlive it. */
export const keysMax = 50

/** What an API key is made from. */
export interface NewApiKey {
  /** The user it stands for. */
  readonly email: string
  /** What it is for: 1 to 200 characters. */
  readonly name: string
  /** Roles of that user; an admin may give any. When the user loses a role, so does the key. */
  readonly role: string | readonly string[]
  /** When it ends: an instant, `90d` and the like, or ISO 8601; default 90 days, at most 366. */
  readonly expires?: Date | string | undefined
}

/** A key as it may be shown: never its text. */
export interface ApiKey {
  /** The part of its text between the underscores. */
  readonly id: string
  readonly name: string
  /** Of the user it stands for. */
  readonly email: string
  readonly role: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly revokedAt: Date | null
  /** Exact to a minute. */
  readonly lastUsedAt: Date | null
}

/** A new key with its text, which is never shown again: `Authorization: Bearer <text>`. */
export interface IssuedKey extends ApiKey {
  readonly text: string
}

/** The parts of a key's text `sk_<id>_<secret><seal>`: 64 random bits, 192 random bits, and 96 bits that only the service can make. */
export interface KeyText {
  readonly id: string
  readonly secret: string
  readonly seal: string
}

const textForm = /^sk_([0-9a-f]{16})_([A-Za-z0-9_-]{32})([A-Za-z0-9_-]{16})$/

/** The parts of a text that looks like a key, or null. */
export const readKeyText = (text: string): KeyText | null => {
  const [, id, secret, seal] = textForm.exec(text) ?? []
  return id === undefined || secret === undefined || seal === undefined ? null : { id, secret, seal }
}

export const printKeyText = ({ id, seal, secret }: KeyText): string => `${keyPrefix}${id}_${secret}${seal}`

/** A key's name: 1 to 200 characters that can be shown in a list. */
export const readKeyName = (text: string): Result.Result<string, AccountError> => {
  const name = text.trim()
  return isOwnName(name)
    ? Result.succeed(name)
    : Result.fail(refuse("invalid-name", `A key needs a name of 1 to ${ownNameMax} characters.`))
}

const dayMs = 24 * 60 * 60 * 1_000
const units: { readonly [unit: string]: number } = { m: 60_000, h: 3_600_000, d: dayMs, w: 7 * dayMs }
const instant = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/

const instantOf = (text: string, now: Date): number => {
  const [, amount = "", unit = ""] = /^(\d{1,6})([mhdw])$/.exec(text) ?? []
  if (unit !== "") return now.getTime() + Number(amount) * (units[unit] ?? Number.NaN)
  return instant.test(text) ? Date.parse(text) : Number.NaN
}

/**
 * When a key ends: an instant, a length (`45m`, `12h`, `90d`, `8w`) or an ISO 8601 text, where a date means its first moment in UTC.
 * Without any, 90 days from now. At most 366 days, because nobody reviews a key that never ends.
 */
export const readKeyExpiry = (
  given: Date | string | undefined,
  now: Date
): Result.Result<Date, AccountError> => {
  const at = given === undefined
    ? now.getTime() + keyDays * dayMs
    : typeof given === "string"
    ? instantOf(given.trim(), now)
    : given.getTime()
  return at > now.getTime() && at <= now.getTime() + keyDaysMax * dayMs
    ? Result.succeed(new Date(at))
    : Result.fail(refuse(
      "invalid-expiry",
      `A key ends within ${keyDaysMax} days: write a length such as 90d or 12h, or an instant such as 2030-01-31T00:00:00Z.`
    ))
}

/** The roles of a key that has `wanted`, made by a user who has `held` now. An admin may hand out every role. */
export const rolesOfKey = (wanted: string, held: string): readonly string[] => {
  const own = rolesOf(held)
  return own.includes(adminRole) ? rolesOf(wanted) : rolesOf(wanted).filter((role) => own.includes(role))
}

/** What a key opens now, by itself and by its maker; else why nothing. `narrowed`: it is a valid credential that may do nothing any more. */
export type KeyStanding =
  | { readonly opens: readonly string[] }
  | { readonly opens: null; readonly why: string; readonly narrowed: boolean }

/** Judges a stored key by what it and its maker are now. When it ends is judged at each use. */
export const judgeKey = (
  key: { readonly role: string; readonly revoked: boolean },
  maker: { readonly role: string; readonly barred: boolean }
): KeyStanding => {
  const closed = (why: string, narrowed = false): KeyStanding => ({ opens: null, why, narrowed })
  if (key.revoked) return closed("the key was revoked")
  if (maker.barred) return closed("the key's maker is banned")
  const opens = rolesOfKey(key.role, maker.role)
  return opens.length === 0 ? closed("the key's maker has none of its roles any more", true) : { opens }
}

/** The role text of a new key: roles of the list that its maker holds. */
export const readKeyRoles = (
  list: RoleList,
  given: string | readonly string[],
  held: string
): Result.Result<string, AccountError> =>
  Result.flatMap(readRoles(list, given), (text) => {
    const granted = rolesOfKey(text, held)
    const missing = rolesOf(text).find((role) => !granted.includes(role))
    return missing === undefined
      ? Result.succeed(text)
      : Result.fail(
        refuse("role-not-held", `The user does not have the role "${missing}", so a key of this user cannot have it.`)
      )
  })
