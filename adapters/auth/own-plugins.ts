/**
 * What better-auth does otherwise here, as plugins of our own that run before its routes. Loaded with the engine. They decide nothing about accounts.
 */

import type { BetterAuthPlugin } from "better-auth"
import { APIError, createAuthMiddleware, getSessionFromCtx, setShouldSkipSessionRefresh } from "better-auth/api"
import { deleteSessionCookie } from "better-auth/cookies"
import { isBag } from "../../core/domain/bag.ts"
import { adminLock } from "./migration.ts"
import { type Cipher, renewPrivateKey } from "./rotation.ts"
import { type AuthTables, stands } from "./standing.ts"

const isAbsentOr = (type: "string" | "boolean", value: unknown): boolean => value === undefined || typeof value === type

/** Whether better-auth would accept a body as a sign-out request. Its members are for providers with a sign-out address, and none has one here. */
const isSignOut = (body: unknown): boolean =>
  body === undefined || (isBag(body) && isAbsentOr("string", body["callbackURL"]) && isAbsentOr("string", body["state"])
    && isAbsentOr("boolean", body["disableRedirect"]))

/** The plugins, in the order in which they run. */
export const ownPlugins = ({ store, table }: AuthTables) => {
  /** Only admins may ask what roles may do. It would tell others about accounts and rights. */
  const permissionsForAdmins = {
    id: "permissions-for-admins",
    hooks: {
      before: [{
        matcher: ({ path }: { readonly path?: string }) => path === "/admin/has-permission",
        handler: createAuthMiddleware(async (context) => {
          const session = await getSessionFromCtx(context)
          if (session === null) throw new APIError("UNAUTHORIZED", { code: "UNAUTHORIZED", message: "Unauthorized" })
          if (await stands(store, table, session.session.token, true)) return
          throw new APIError("FORBIDDEN", {
            code: "YOU_ARE_NOT_ALLOWED_TO_ASK_FOR_PERMISSIONS",
            message: "Only admins may ask for permissions."
          })
        })
      }]
    }
  }

  /**
   * Signing out is one statement. better-auth would read the session before and the account after, and a sign-out whose session has ended would be refused when
   * one of these meets a database that is away. A body that cannot be is left for better-auth to refuse.
   */
  const signOutAtOnce = {
    id: "sign-out-at-once",
    hooks: {
      before: [{
        matcher: ({ path }: { readonly path?: string }) => path === "/sign-out",
        handler: createAuthMiddleware(async (context) => {
          if (!isSignOut(context.body)) return
          const { authCookies: { sessionToken }, secret } = context.context
          const token = await context.getSignedCookie(sessionToken.name, secret)
          if (typeof token === "string") {
            await store.query(`delete from ${table("session")} where "token" = $1`, [token])
          }
          deleteSessionCookie(context)
          return context.json({ success: true })
        })
      }]
    }
  }

  /** A database that takes no changes can still say who somebody is. Their session is renewed later. */
  const withoutRefresh = {
    id: "without-refresh",
    hooks: {
      before: [{
        matcher: () => store.isSparing(),
        handler: createAuthMiddleware(async () => {
          await setShouldSkipSessionRefresh(true)
        })
      }]
    }
  }

  return [withoutRefresh, signOutAtOnce, permissionsForAdmins] satisfies BetterAuthPlugin[]
}

interface StoredKey {
  readonly id: string
  readonly publicKey: string
  readonly privateKey: string
  readonly createdAt: Date
  readonly expiresAt?: Date
  readonly alg?: "EdDSA"
  readonly crv?: "Ed25519"
}

/** Stores a signing key. Two instances may need the first one at once: one makes it, the other uses it. */
export const storedKey = async (
  { cipher, store, table }: AuthTables & { readonly cipher: Cipher },
  key: { readonly publicKey: string; readonly privateKey: string }
): Promise<StoredKey> => {
  const stored = await store.transaction<StoredKey>(async (queries) => {
    await queries.query("select pg_advisory_xact_lock($1)", [adminLock])
    const [newest] = await queries.query<StoredKey>(
      `select * from ${
        table("jwks")
      } where "expiresAt" is null or "expiresAt" > now() order by "createdAt" desc limit 1`
    )
    if (newest !== undefined) return newest
    const [made] = await queries.query<StoredKey>(
      `insert into ${table("jwks")} ("id", "publicKey", "privateKey", "createdAt", "alg", "crv")`
        + ` values ($1, $2, $3, $4, $5, $6) returning *`,
      [crypto.randomUUID(), key.publicKey, key.privateKey, new Date(), "EdDSA", "Ed25519"]
    )
    if (made === undefined) throw new Error("the signing key was not stored")
    return made
  })
  // That of another instance may be sealed with another secret.
  return { ...stored, privateKey: (await renewPrivateKey(cipher, stored.privateKey)).sealed }
}
