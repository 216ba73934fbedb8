/**
 * Whether a session, or the admin behind it, still stands at the moment of a change, and the claims of a user at one moment. better-auth admits a request
 * before it does its work; what ended the session meanwhile must end the work, too. It signs nothing.
 */

import { type Queries, quote, type Store } from "./database.ts"
import { activeAdmin, barred } from "./migration.ts"

/** The store and how its tables are named. */
export interface AuthTables {
  readonly store: Store
  readonly table: (name: string) => string
}

/** The claims of a user's token besides issuer and audience. */
export interface TokenClaims {
  readonly [claim: string]: unknown
  readonly sub: string
  readonly role: string
  /** See revocations.ts. */
  readonly epoch: number
  /** The id of the session that the token was made from, which is no secret. */
  readonly sid?: string
  readonly iat: number
  readonly exp: number
}

interface UserRow {
  readonly role: string | null
  readonly barred: boolean
  readonly epoch: string
  readonly session: string | null
}

/**
 * The claims of a user as the store has them now. Role, ban and epoch come from one statement. A later change makes the token invalid, so a
 * token never outlives the state it was made from.
 *
 * `session` is the token of the session that asks; null for the host. Whatever ended that session raised the epoch, and a token made after
 * that would look valid. Null when there is no such user or session, or the user is banned.
 */
export const claimsOf = async (
  { store, table }: AuthTables,
  userId: string,
  seconds: number,
  session: string | null
): Promise<TokenClaims | null> => {
  const [user] = await store.query<UserRow>(
    `select "role", ${barred("u")} as barred, "tokenEpoch"::text as epoch, s."id" as session from ${table("user")} u`
      + ` left join ${table("session")} s on s."token" = $2 and s."userId" = u."id"`
      + ` where u."id" = $1 and ($2::text is null or s."id" is not null)`,
    [userId, session]
  )
  if (user === undefined || user.barred) return null
  const iat = Math.floor(Date.now() / 1_000)
  return {
    sub: userId,
    role: user.role ?? "",
    epoch: Number(user.epoch),
    ...(user.session === null ? {} : { sid: user.session }),
    iat,
    exp: iat + seconds
  }
}

/** Whether a session has not ended. With `admin`, also whether its user is still an admin who may sign in. */
export const stands = async (
  { query }: Queries,
  table: AuthTables["table"],
  token: string,
  admin: boolean
): Promise<boolean> => {
  const rows = await query(
    `select 1 from ${table("session")} s join ${table("user")} u on u."id" = s."userId" where s."token" = $1`
      + (admin ? ` and ${activeAdmin("u")}` : ""),
    [token]
  )
  return rows.length > 0
}

/**
 * Changes a password, unless the session that asks has ended, or is no longer an admin's where it must be one. A new password ends all
 * sessions of its user, so only one of several at the same time counts.
 */
export const changePassword = (
  { store, table }: AuthTables,
  userId: string,
  token: string,
  hashed: string,
  byAdmin: boolean
): Promise<boolean> =>
  store.transaction(async ({ query }) => {
    const password = `"userId" = $1 and "providerId" = 'credential'`
    // Waits for a change that is under way. Only a statement of its own sees what that change ended.
    await query(`select 1 from ${table("account")} where ${password} for update`, [userId])
    if (!await stands({ query }, table, token, byAdmin)) return false
    await query(`update ${table("account")} set "password" = $2, "updatedAt" = now() where ${password}`, [
      userId,
      hashed
    ])
    return true
  })

/**
 * Changes an account for the admin of a session, unless they are no longer one. An admin who is demoted or banned must not undo that with a
 * request that was admitted just before.
 */
export const changeAccount = (
  { store, table }: AuthTables,
  token: string,
  userId: string,
  fields: { readonly [name: string]: unknown }
): Promise<boolean> =>
  store.transaction(async ({ query }) => {
    const [session, user] = [table("session"), table("user")]
    // Waits for changes of either account that are under way. Only a statement of its own sees their results.
    await query(
      `select 1 from ${user} where "id" = $1 or "id" in (select "userId" from ${session} where "token" = $2)`
        + ` order by "id" for no key update`,
      [userId, token]
    )
    if (!await stands({ query }, table, token, true)) return false
    const changes = Object.keys(fields).map((name, index) => `${quote(name)} = $${index + 2}`)
    await query(`update ${user} set ${changes.join(", ")} where "id" = $1`, [userId, ...Object.values(fields)])
    return true
  })
