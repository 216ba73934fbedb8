/** The `Accounts` port over the auth store. Each answer is one statement; nothing is remembered but that there is an account. It changes nothing. */

import * as Effect from "effect/Effect"
import { isHome, rolesNow } from "../../core/domain/account/authority.ts"
import { shownName } from "../../core/domain/account/name.ts"
import { outageOf } from "../../core/domain/outage.ts"
import type { AccountsService } from "../../core/ports/accounts.ts"
import { RecordsError } from "../../core/ports/records.ts"
import type { RolesNow } from "../../core/ports/subscriptions.ts"
import type { Auth } from "./auth.ts"
import type { AuthHost } from "./internals.ts"
import { barred } from "./migration.ts"

/** The roles that a user has now; null for one who is banned, deleted, or has none. */
export const currentRoles = async (auth: AuthHost, id: string): Promise<readonly string[] | null> => {
  const { store, table } = auth.internals
  const [user] = await store.query<{ readonly role: string | null; readonly barred: boolean }>(
    `select "role", ${barred("u")} as barred from ${table("user")} u where "id" = $1`,
    [id]
  )
  return user === undefined ? null : rolesNow({ role: user.role ?? "", barred: user.barred })
}

/** What others call users, by id: those who exist and have a name that others may read. */
export const namesOf = async (auth: AuthHost, ids: readonly string[]): Promise<ReadonlyMap<string, string>> => {
  const { store, table } = auth.internals
  const users = await store.query<{ readonly id: string; readonly name: string }>(
    `select "id", "name" from ${table("user")} where "id" = any($1)`,
    [ids]
  )
  return new Map(users.flatMap(({ id, name }) => {
    const label = shownName(name)
    return label === null ? [] : [[id, label] as const]
  }))
}

/** The same in a tenant. The accounts of a service know the tenant that they work in, and no other. */
export const rolesWithin =
  (auth: AuthHost, home: string | number | undefined) => (id: string, tenant: string | null): Promise<RolesNow> =>
    isHome(home, tenant) ? currentRoles(auth, id) : Promise.resolve("elsewhere")

const asked = <A>(work: () => Promise<A>): Effect.Effect<A, RecordsError> =>
  Effect.tryPromise({
    try: work,
    catch: (cause) => new RecordsError({ reason: { _tag: outageOf(cause) ?? "Unavailable" }, cause })
  })

/** The accounts of an auth server. `home`: the tenant that they work in. */
export const accountsOf = (
  auth: AuthHost & Pick<Auth, "needsAdmin">,
  home: string | number | undefined
): AccountsService => {
  const rolesOf = rolesWithin(auth, home)
  return {
    namesOf: (ids) => asked(() => namesOf(auth, ids)),
    rolesOf: (id, tenant) => asked(() => rolesOf(id, tenant)),
    needsAdmin: asked(auth.needsAdmin)
  }
}
