/**
 * API keys for scripts, as host functions that make, list and revoke them. A key's text is shown once; the store keeps its SHA-256. Whoever
 * may run code here may call them. What a key opens is decided where it is verified (`key-verifier.ts`).
 */

import { randomBytes } from "node:crypto"
import { readEmail, refuse, taken } from "../../core/domain/account/account.ts"
import type { ApiKey, IssuedKey, NewApiKey } from "../../core/domain/account/api-key.ts"
import { printKeyText, readKeyExpiry, readKeyName, readKeyRoles } from "../../core/domain/account/api-key.ts"
import type { AuthHost } from "./internals.ts"
import { hashOfKey } from "./key-text.ts"

const shownColumns = (k: string, u: string): string =>
  `${k}."id", ${k}."name", ${u}."email", ${k}."roles" as role, ${k}."createdAt", ${k}."expiresAt", ${k}."revokedAt", ${k}."lastUsedAt"`

/**
 * Makes a key for a user, with some or all of the user's roles; an admin's key may have any role. Throws `AccountError` for an unknown or
 * banned user, a role the user does not have, a bad name or expiry.
 */
export const createKey = async (auth: AuthHost, wanted: NewApiKey): Promise<IssuedKey> => {
  const { log, roles, sealer, store, table } = auth.internals
  const email = taken(readEmail(wanted.email))
  const name = taken(readKeyName(wanted.name))
  const expiresAt = taken(readKeyExpiry(wanted.expires, new Date()))
  const id = randomBytes(8).toString("hex")
  const secret = randomBytes(24).toString("base64url")
  const text = printKeyText({ id, secret, seal: sealer.seal(id, secret) })
  const key = await store.transaction(async ({ query }) => {
    // The row is locked until the key exists. A ban or role change that comes now waits, and then counts for the key, too.
    const [maker] = await query<{ readonly id: string; readonly role: string; readonly barred: boolean }>(
      `select "id", coalesce("role", '') as role,`
        + ` coalesce("banned", false) and ("banExpires" is null or "banExpires" > now()) as barred`
        + ` from ${table("user")} where "email" = $1 for share`,
      [email]
    )
    if (maker === undefined) throw refuse("unknown-user", "There is no user with this email address.")
    if (maker.barred) throw refuse("banned-user", "The user is banned.")
    const role = taken(readKeyRoles(roles, wanted.role, maker.role))
    const [made] = await query<ApiKey & { readonly user: string }>(
      `with k as (insert into ${table("apiKey")} ("id", "name", "userId", "roles", "hash", "expiresAt")`
        + ` values ($1, $2, $3, $4, $5, $6) returning *)`
        + ` select ${shownColumns("k", "u")}, u."id" as user from k join ${table("user")} u on u."id" = k."userId"`,
      [id, name, maker.id, role, hashOfKey(text), expiresAt]
    )
    if (made === undefined) throw new Error("the key was not stored")
    return made
  })
  const { user, ...rest } = key
  log({ level: "info", event: "key-created", user, key: id }, { name, after: rest.role.split(","), own: true })
  return { ...rest, text }
}

/** All keys, or those of one user, oldest first: revoked and expired ones too, never their text or hash. */
export const listKeys = async (auth: AuthHost, email?: string): Promise<readonly ApiKey[]> => {
  const { store, table } = auth.internals
  const values = email === undefined ? [] : [taken(readEmail(email))]
  return store.query<ApiKey>(
    `select ${shownColumns("k", "u")} from ${table("apiKey")} k join ${table("user")} u on u."id" = k."userId"`
      + `${email === undefined ? "" : ` where u."email" = $1`} order by k."createdAt", k."id"`,
    values
  )
}

/** Revokes a key by its id, the part between the underscores; it stops working everywhere within two seconds. Throws for an unknown one. */
export const revokeKey = async (auth: AuthHost, id: string): Promise<ApiKey> => {
  const { log, store, table } = auth.internals
  const [key] = await store.query<ApiKey & { readonly user: string }>(
    `with k as (update ${table("apiKey")} set "revokedAt" = coalesce("revokedAt", now()) where "id" = $1 returning *)`
      + ` select ${shownColumns("k", "u")}, u."id" as user from k join ${table("user")} u on u."id" = k."userId"`,
    [id]
  )
  if (key === undefined) throw refuse("unknown-key", "There is no key with this id.")
  const { user, ...rest } = key
  log({ level: "info", event: "key-revoked", user, key: rest.id }, { name: rest.name, own: true })
  return rest
}
