/**
 * The port to user accounts, for who works on the host: commands and code, never a request. It decides who exists, with which roles, and
 * mints tokens for them; what a role may do is access.
 *
 * Contract:
 * - The first account is an admin, also when several are made at once; the last active admin can be neither deleted, demoted nor banned.
 * - A ban, deletion, role change or revocation makes tokens issued before it useless within two seconds in every instance. API keys
 *   follow their user's roles and bans in the same time, and stop when revoked.
 * - A refusal is an `AccountError` with its code; a store that cannot be reached is `AccountsUnavailable`; the rest dies as a defect.
 */

import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { AccountError } from "../domain/account/account.ts"

export class AccountsUnavailable extends Data.TaggedError("AccountsUnavailable")<{ readonly cause: unknown }> {}

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
  /** Default: the part of the address before the `@`. */
  readonly name?: string | undefined
  /** One role or several. Without it the default role; the first account is an admin in any case. */
  readonly role?: string | readonly string[] | undefined
}

/** A minted token and the instant it expires. */
export interface IssuedToken {
  readonly token: string
  readonly expiresAt: Date
}

/** What an API key is made from. */
export interface NewApiKey {
  /** The user it stands for. */
  readonly email: string
  /** What it is for: 1 to 100 characters. */
  readonly name: string
  /** Roles of that user (an admin: any); it loses what the user loses. */
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

type Answer<A> = Effect.Effect<A, AccountError | AccountsUnavailable>

export interface AccountsService {
  readonly create: (account: NewAccount) => Answer<Account>
  readonly any: Answer<boolean>
  /** Oldest first. */
  readonly list: Answer<readonly Account[]>
  readonly setRole: (email: string, role: string | readonly string[]) => Answer<Account>
  readonly setBanned: (email: string, banned: boolean) => Answer<Account>
  /** Ends sessions and tokens, as every change of a password does. */
  readonly setPassword: (email: string, password: string) => Answer<Account>
  readonly remove: (email: string) => Answer<void>
  /** Ends sessions and tokens; the user may sign in again. */
  readonly revoke: (email: string) => Answer<void>
  /** `ttlSeconds` is 1 to 86,400; default 900. */
  readonly issueToken: (email: string, ttlSeconds?: number) => Answer<IssuedToken>
  readonly createKey: (key: NewApiKey) => Answer<IssuedKey>
  /** Of one user or of all, oldest first, revoked and expired ones too. */
  readonly listKeys: (email?: string) => Answer<readonly ApiKey[]>
  readonly revokeKey: (id: string) => Answer<ApiKey>
  /** Takes a lost second factor away and ends sessions; the user signs in by password and sets up a new one. */
  readonly resetSecondFactor: (email: string) => Answer<void>
  /** Takes all passkeys of a user away and ends sessions; the user signs in by password and adds new ones. */
  readonly removePasskeys: (email: string) => Answer<void>
}

export class Accounts extends Context.Service<Accounts, AccountsService>()("resource-admin/ports/Accounts") {}
