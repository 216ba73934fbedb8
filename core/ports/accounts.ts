/**
 * The port to the accounts of people who sign in here. How they sign in, and what host functions do to accounts, is the adapter's; whose a credential is
 * comes by the port to tokens.
 *
 * Contract (test/contracts/accounts.ts runs it against every implementation):
 * - `namesOf` gives those of the ids that have an account with a name that others may read, as `shownName` shows it. A ban takes no name away.
 * - `rolesOf` gives the roles of an account in its own tenant, each once, in their order. Null: there is no such account, it is banned now, or it has no roles.
 *   Of another tenant it says `"elsewhere"`, whoever is asked about. A change counts for each call that begins after it.
 * - `needsAdmin` is true until there is an account, and then false for good: the last active admin stays.
 * - If the store is unavailable, calls fail with a `RecordsError`. That says nothing about a person.
 */

import type * as Effect from "effect/Effect"
import type { RecordsError } from "./records.ts"
import type { RolesNow } from "./subscriptions.ts"

export interface AccountsService {
  /** What people call each other, by id. */
  readonly namesOf: (ids: readonly string[]) => Effect.Effect<ReadonlyMap<string, string>, RecordsError>
  /** The roles that somebody has now. `tenant` null: they work in none. */
  readonly rolesOf: (id: string, tenant: string | null) => Effect.Effect<RolesNow, RecordsError>
  /** Whether the first account is still to be made. */
  readonly needsAdmin: Effect.Effect<boolean, RecordsError>
}
