/**
 * The port to user accounts, for who works on the host: commands and code, never a request. It decides who exists, with which roles, and
 * mints tokens for them; what a role may do is access.
 *
 * Contract:
 * - The first account is an admin, also when several are made at once; the last active admin can be neither deleted, demoted nor banned.
 * - A ban, deletion, role change or revocation makes tokens issued before it useless within two seconds in every instance.
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

type Answer<A> = Effect.Effect<A, AccountError | AccountsUnavailable>

export interface AccountsService {
  readonly create: (account: NewAccount) => Answer<Account>
  readonly any: Answer<boolean>
  /** Oldest first. */
  readonly list: Answer<readonly Account[]>
  readonly setRole: (email: string, role: string | readonly string[]) => Answer<Account>
  readonly setBanned: (email: string, banned: boolean) => Answer<Account>
  readonly remove: (email: string) => Answer<void>
  /** Ends sessions and tokens; the user may sign in again. */
  readonly revoke: (email: string) => Answer<void>
  /** `ttlSeconds` is 1 to 86,400; default 900. */
  readonly issueToken: (email: string, ttlSeconds?: number) => Answer<IssuedToken>
}

export class Accounts extends Context.Service<Accounts, AccountsService>()("resource-admin/ports/Accounts") {}
