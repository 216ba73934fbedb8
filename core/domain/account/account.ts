/**
 * What makes an account acceptable: its address, its password, the lifetime of a minted token. It never reads a stored account, a hash
 * or a clock.
 */

import * as Data from "effect/Data"
import * as Result from "effect/Result"
import { fitsName, isOneLine, ownNameMax } from "../own-name.ts"

/** Fewest characters of a password (docs/guides/authentication.md#setting-it-up). */
export const passwordMin = 12
/** Most characters of a password: a longer one would only make hashing slower. */
export const passwordMax = 128
/** Seconds a token lives when nothing is said. */
export const tokenSeconds = 15 * 60
/** Longest life of a minted token, in seconds. */
const tokenSecondsMax = 24 * 60 * 60

/** An account as it may be shown: never a password. `role` is one name or several, comma-separated. */
export interface Account {
  readonly id: string
  readonly email: string
  readonly role: string
  readonly banned: boolean
  readonly createdAt: Date
}

export interface NewAccount {
  readonly email: string
  readonly password: string
  /** One line of at most 200 characters. Default: the part of the address before the `@`. */
  readonly name?: string | undefined
  /** One role or several. Without it the default role; the first account is an admin in any case. */
  readonly role?: string | readonly string[] | undefined
}

/** A minted token and the instant it expires. */
export interface IssuedToken {
  readonly token: string
  readonly expiresAt: Date
}

export type AccountRefusal =
  | "invalid-email"
  | "weak-password"
  | "long-password"
  | "invalid-roles"
  | "unknown-role"
  | "role-required"
  | "invalid-lifetime"
  | "email-taken"
  | "unknown-user"
  | "banned-user"
  | "last-admin"
  | "invalid-name"
  | "invalid-expiry"
  | "role-not-held"
  | "unknown-key"
  | "invalid-provider"
  | "no-second-factor"
  | "invalid-passkeys"
  | "no-passkeys"
  | "invalid-origin"
  | "invalid-app"
  | "invalid-mail"

/** A refused account operation. The message is for the person who asked for it and holds no secret. */
export class AccountError extends Data.TaggedError("AccountError")<{
  readonly code: AccountRefusal
  readonly message: string
}> {}

export const refuse = (code: AccountRefusal, message: string): AccountError => new AccountError({ code, message })

/** The accepted value. Throws the refusal otherwise, for functions that report failures by throwing. */
export const taken = <A>(result: Result.Result<A, AccountError>): A =>
  Result.getOrThrowWith(result, (refusal) => refusal)

const emailForm = /^(?!\.)(?!.*\.\.)[A-Za-z0-9_'+.-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+[A-Za-z]{2,}$/

/** The address as it is stored and compared: lower case, without surrounding space. */
export const readEmail = (text: string): Result.Result<string, AccountError> => {
  const email = text.trim().toLowerCase()
  return email.length <= 254 && emailForm.test(email)
    ? Result.succeed(email)
    : Result.fail(refuse("invalid-email", "The email address is not valid."))
}

/** The name of a person: one line, which is empty where nobody gave one. */
export const readName = (text: string): Result.Result<string, AccountError> =>
  fitsName(text) && isOneLine(text)
    ? Result.succeed(text)
    : Result.fail(refuse("invalid-name", `A name is one line of at most ${ownNameMax} characters.`))

/** The name of a person who gave none: the part of the address before the `@`, which may be longer than a name. */
export const nameOfEmail = (email: string): string => email.slice(0, Math.min(email.indexOf("@"), ownNameMax))

/** Accepts a password of 12 to 128 characters (UTF-16 units, as everywhere on the wire). */
export const checkPassword = (password: string): Result.Result<string, AccountError> =>
  password.length < passwordMin
    ? Result.fail(refuse("weak-password", `A password needs at least ${passwordMin} characters.`))
    : password.length > passwordMax
    ? Result.fail(refuse("long-password", `A password has at most ${passwordMax} characters.`))
    : Result.succeed(password)

/** Lifetime of a minted token in whole seconds. */
export const readLifetime = (seconds: number | undefined): Result.Result<number, AccountError> => {
  const value = seconds ?? tokenSeconds
  return Number.isInteger(value) && value >= 1 && value <= tokenSecondsMax
    ? Result.succeed(value)
    : Result.fail(
      refuse("invalid-lifetime", `A token lives from 1 to ${tokenSecondsMax} whole seconds (24 hours).`)
    )
}
