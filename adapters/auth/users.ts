/**
 * The host functions (docs/guides/authentication.md#accounts-and-roles): what somebody with access to the machine may do to accounts, without a session. They
 * throw `AccountError` when they refuse. Whoever may run code here may call them.
 *
 * The first account is an admin, also when several are made at once. The last active admin can be neither deleted, demoted nor banned. A
 * ban, deletion, role change or revocation makes earlier tokens useless within two seconds in every instance. API keys follow their user's
 * roles and bans in the same time.
 */

import type { Account, AccountError, IssuedToken, NewAccount } from "../../core/domain/account/account.ts"
import {
  checkPassword,
  nameOfEmail,
  readEmail,
  readLifetime,
  readName,
  refuse,
  taken
} from "../../core/domain/account/account.ts"
import type { AccountChange } from "../../core/domain/account/ending.ts"
import { readRoles, roleOfNew } from "../../core/domain/account/roles.ts"
import type { AuthEventName } from "./auth-log.ts"
import { codeOf, hasAny } from "./database.ts"
import { endHeld } from "./ending.ts"
import type { AuthHost } from "./internals.ts"
import { storePassword } from "./links.ts"
import { adminLock, lastAdminState } from "./migration.ts"
import { claimsOf } from "./standing.ts"

const emailOf = (text: string): string => taken(readEmail(text))

const unknownUser = (): AccountError => refuse("unknown-user", "There is no user with this email address.")

/** Turns the database's refusals into ours; anything else passes through. */
const guarded = async <A>(work: () => Promise<A>): Promise<A> => {
  try {
    return await work()
  } catch (cause) {
    if (codeOf(cause) === lastAdminState) {
      throw refuse("last-admin", "The last active admin cannot be deleted, demoted or banned.")
    }
    if (codeOf(cause) === "23505") throw refuse("email-taken", "There is already a user with this email address.")
    throw cause
  }
}

const returned = `"id", "email", coalesce("role", '') as role, coalesce("banned", false) as banned, "createdAt"`

/**
 * Creates a user with a password. The first user of a store is an admin, also when several are made at once. Later users get `role` or the
 * default role. Without either they are refused with the choices.
 */
export const createUser = async (auth: AuthHost, user: NewAccount): Promise<Account> => {
  const { engine, log, roles, store, table } = auth.internals
  const email = emailOf(user.email)
  const password = taken(checkPassword(user.password))
  const name = user.name === undefined ? nameOfEmail(email) : taken(readName(user.name))
  if (user.role !== undefined) taken(readRoles(roles, user.role))
  const { hash, newId } = await engine()
  const hashed = await hash(password)
  const id = newId()
  const now = new Date()
  const created = await guarded(() =>
    store.transaction(async ({ query }) => {
      await query("select pg_advisory_xact_lock($1)", [adminLock])
      const role = taken(roleOfNew(roles, user.role, !await hasAny({ query }, table("user"))))
      const [made] = await query<Account>(
        `insert into ${
          table("user")
        } ("id", "name", "email", "emailVerified", "role", "banned", "createdAt", "updatedAt")`
          + ` values ($1, $2, $3, false, $4, false, $5, $5) returning ${returned}`,
        [id, name, email, role, now]
      )
      if (made === undefined) throw new Error("the user was not stored")
      await query(
        `insert into ${
          table("account")
        } ("id", "accountId", "providerId", "userId", "password", "createdAt", "updatedAt")`
          + ` values ($1, $2, 'credential', $2, $3, $4, $4)`,
        [newId(), id, hashed, now]
      )
      return made
    })
  )
  log({ level: "info", event: "account-created", user: created.id })
  return created
}

/** Whether any user exists. */
export const hasUsers = async (auth: AuthHost): Promise<boolean> => {
  const { store, table } = auth.internals
  return hasAny(store, table("user"))
}

/** All users, oldest first; never a password. */
export const listUsers = async (auth: AuthHost): Promise<readonly Account[]> => {
  const { store, table } = auth.internals
  return store.query<Account>(`select ${returned} from ${table("user")} order by "createdAt", "id"`)
}

const change = async (
  auth: AuthHost,
  event: AuthEventName,
  email: string,
  statement: string,
  values: readonly unknown[]
): Promise<Account> => {
  const [user] = await guarded(() => auth.internals.store.query<Account>(statement, [emailOf(email), ...values]))
  if (user === undefined) throw unknownUser()
  auth.internals.log({ level: "info", event, user: user.id })
  return user
}

/** Sets a user's role or roles; tokens made before stop working within two seconds. The last active admin stays one. */
export const setUserRole = async (
  auth: AuthHost,
  { email, role }: { readonly email: string; readonly role: string | readonly string[] }
): Promise<Account> =>
  change(
    auth,
    "role-changed",
    email,
    `update ${
      auth.internals.table("user")
    } set "role" = $2, "updatedAt" = now() where "email" = $1 returning ${returned}`,
    [taken(readRoles(auth.internals.roles, role))]
  )

/** Bans a user (sessions end, tokens stop within two seconds, sign-in is refused), or lifts a ban. */
export const setUserBanned = async (
  auth: AuthHost,
  { banned, email }: { readonly email: string; readonly banned: boolean }
): Promise<Account> =>
  change(
    auth,
    banned ? "account-banned" : "account-unbanned",
    email,
    `update ${
      auth.internals.table("user")
    } set "banned" = $2, "banReason" = null, "banExpires" = null, "updatedAt" = now()`
      + ` where "email" = $1 returning ${returned}`,
    [banned]
  )

/**
 * Gives a user a new password, also one who had none. Sessions, tokens, waiting sign-ins and trusted devices end, as with every change of a
 * password; bans and second factors stay.
 */
export const setUserPassword = async (
  auth: AuthHost,
  { email, password }: { readonly email: string; readonly password: string }
): Promise<Account> => {
  const { engine, log, store, table } = auth.internals
  const address = emailOf(email)
  const accepted = taken(checkPassword(password))
  const { hash, newId } = await engine()
  const hashed = await hash(accepted)
  const changed = await store.transaction(async ({ query }) => {
    // Several first passwords at once make one row.
    await query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`password:${address}`])
    const [user] = await query<Account>(`select ${returned} from ${table("user")} where "email" = $1`, [address])
    if (user === undefined) throw unknownUser()
    if (!await storePassword({ query }, table, user.id, hashed, newId)) throw unknownUser()
    return user
  })
  log({ level: "info", event: "password-set", user: changed.id })
  return changed
}

/** Deletes a user with sessions and credentials; tokens stop within two seconds. */
export const deleteUser = async (auth: AuthHost, email: string): Promise<void> => {
  await change(
    auth,
    "account-deleted",
    email,
    `delete from ${auth.internals.table("user")} where "email" = $1 returning ${returned}`,
    []
  )
}

/** Takes from a user what the statements delete or change by the user's id, and ends what that ends. */
const takeFrom = async (
  auth: AuthHost,
  { change, email, event, statements = [] }: {
    readonly email: string
    readonly change: AccountChange
    readonly event: AuthEventName
    readonly statements?: readonly string[]
  }
): Promise<void> => {
  const { log, store, table } = auth.internals
  const address = emailOf(email)
  const id = await store.transaction(async (queries) => {
    const [user] = await queries.query<{ readonly id: string }>(
      `select "id" from ${table("user")} where "email" = $1 for no key update`,
      [address]
    )
    if (user === undefined) throw unknownUser()
    for (const statement of statements) await queries.query(statement, [user.id])
    await endHeld(queries, table, change, user.id)
    return user.id
  })
  log({ level: "info", event, user: id })
}

/** Ends a user's sessions and makes all tokens issued so far stop within two seconds. The user may sign in again. */
export const revokeUser = (auth: AuthHost, email: string): Promise<void> =>
  takeFrom(auth, { email, change: "revocation", event: "tokens-revoked" })

/**
 * Takes away a second factor whose device and recovery codes are lost, and ends sessions and tokens. Whoever asks for this should be known
 * by other means than the password. Throws where second factors are not configured.
 */
export const resetSecondFactor = async (auth: AuthHost, email: string): Promise<void> => {
  if (!auth.twoFactor) throw refuse("no-second-factor", "Second factors are not configured.")
  const { table } = auth.internals
  await takeFrom(auth, {
    email,
    change: "factor-taken",
    event: "second-factor-off",
    statements: [
      `delete from ${table("twoFactor")} where "userId" = $1`,
      `update ${table("user")} set "twoFactorEnabled" = false where "id" = $1`
    ]
  })
}

/**
 * Takes all passkeys of a user away, for a lost device or after somebody else had the account, and ends sessions and tokens. Throws where
 * passkeys are not configured.
 */
export const removePasskeys = async (auth: AuthHost, email: string): Promise<void> => {
  if (!auth.passkeys) throw refuse("no-passkeys", "Passkeys are not configured.")
  await takeFrom(auth, {
    email,
    change: "passkeys-taken",
    event: "passkey-removed",
    statements: [`delete from ${auth.internals.table("passkey")} where "userId" = $1`]
  })
}

/** The roles a user may be given, `admin` first. */
export const roleChoices = (auth: AuthHost): readonly string[] => auth.roles

/**
 * A token for an existing user, signed and shaped like one from `GET /api/auth/token`. `ttlSeconds` is 1 to 86,400 (default 900). Throws
 * for an unknown or banned user.
 */
export const issueToken = async (
  auth: AuthHost,
  { email, ttlSeconds }: { readonly email: string; readonly ttlSeconds?: number | undefined }
): Promise<IssuedToken> => {
  const { engine, log, store, table } = auth.internals
  const seconds = taken(readLifetime(ttlSeconds))
  const [user] = await store.query<{ readonly id: string }>(
    `select "id" from ${table("user")} where "email" = $1`,
    [emailOf(email)]
  )
  if (user === undefined) throw unknownUser()
  const claims = await claimsOf({ store, table }, user.id, seconds, null)
  if (claims === null) throw refuse("banned-user", "The user is banned.")
  const { sign } = await engine()
  const token = await sign(claims)
  log({ level: "info", event: "token-minted", user: user.id, seconds })
  return { token, expiresAt: new Date(claims.exp * 1_000) }
}
