/**
 * better-auth with the service's settings: no sign-up, twelve characters, EdDSA tokens of fifteen minutes, admin rights for `admin` alone.
 * Second factors, passkeys and identity providers are there only where configured. It is loaded by the first use that needs it. The handler
 * takes care of limits, problem documents and the form of requests.
 */

import type { BetterAuthPlugin } from "better-auth"
import * as Result from "effect/Result"
import { passwordMax, passwordMin, readEmail, tokenSeconds } from "../../core/domain/account/account.ts"
import { managesAccounts } from "../../core/domain/account/authority.ts"
import type { Passkeys } from "../../core/domain/account/passkey.ts"
import { judgeProvided, type Provider } from "../../core/domain/account/provider.ts"
import { readRoles, type RoleList } from "../../core/domain/account/roles.ts"
import { isBag } from "../../core/domain/bag.ts"
import { type Queries, quote, type Store } from "./database.ts"
import type { DiscoveredProvider } from "./discovery.ts"
import { endHeld } from "./ending.ts"
import { activeAdmin, adminLock } from "./migration.ts"
import { oauthProvider } from "./oidc.ts"

export interface EngineSettings {
  readonly store: Store
  readonly table: (name: string) => string
  readonly schema: string | undefined
  readonly secret: string
  readonly url: string
  readonly origin: string
  readonly basePath: string
  readonly roles: RoleList
  readonly trustedOrigins: readonly string[]
  /** Whether accounts may have a second factor. */
  readonly twoFactor: boolean
  /** Null: there are no passkeys. */
  readonly passkeys: Passkeys | null
  /** What authenticator apps show beside the account, and the name for passkeys unless another is configured. */
  readonly appName: string
}

/** The claims of a user's token besides issuer and audience. */
export interface TokenClaims {
  readonly [claim: string]: unknown
  readonly sub: string
  readonly role: string
  /** See revocations.ts. */
  readonly epoch: number
  readonly iat: number
  readonly exp: number
}

export interface Engine {
  /** better-auth's own handler; throws what is no answer of it. */
  readonly handle: (request: Request) => Promise<Response>
  /** Signs claims with the current key; adds issuer and audience. */
  readonly sign: (claims: TokenClaims) => Promise<string>
  readonly hash: (password: string) => Promise<string>
  readonly newId: () => string
  /** Whether pages of an origin (the text of an `Origin` header) may use sessions. */
  readonly trusts: (origin: string) => boolean
  /** The providers it can sign in with. */
  readonly providers: ReadonlySet<string>
}

interface UserRow {
  readonly role: string | null
  readonly barred: boolean
  readonly epoch: string
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

/**
 * The claims of a user as the store has them now. Role, ban and epoch come from one statement. A later change makes the token invalid, so a
 * token never outlives the state it was made from.
 *
 * `session` is the token of the session that asks; null for the host. Whatever ended that session raised the epoch, and a token made after
 * that would look valid. Null when there is no such user or session, or the user is banned.
 */
export const claimsOf = async (
  { store, table }: Pick<EngineSettings, "store" | "table">,
  userId: string,
  seconds: number,
  session: string | null
): Promise<TokenClaims | null> => {
  const [user] = await store.query<UserRow>(
    `select "role", coalesce("banned", false) and ("banExpires" is null or "banExpires" > now()) as barred,`
      + ` "tokenEpoch"::text as epoch from ${table("user")} where "id" = $1`
      + ` and ($2::text is null or exists (select 1 from ${table("session")} where "token" = $2 and "userId" = $1))`,
    [userId, session]
  )
  if (user === undefined || user.barred) return null
  const iat = Math.floor(Date.now() / 1_000)
  return { sub: userId, role: user.role ?? "", epoch: Number(user.epoch), iat, exp: iat + seconds }
}

/** The part of better-auth's context that tells who asks for what. */
interface Asked {
  readonly path?: string | undefined
  readonly context: { readonly session: { readonly session: { readonly token: string } } | null }
}

/** Whether a session has not ended. With `admin`, also whether its user is still an admin who may sign in. */
const stands = async (
  { query }: Queries,
  table: EngineSettings["table"],
  token: string,
  admin: boolean
): Promise<boolean> => {
  const found = await query(
    `select 1 from ${table("session")} s join ${table("user")} u on u."id" = s."userId" where s."token" = $1`
      + (admin ? ` and ${activeAdmin("u")}` : ""),
    [token]
  )
  return found.length > 0
}

/**
 * Changes a password, unless the session that asks has ended, or is no longer an admin's where it must be one. A new password ends all
 * sessions of its user, so only one of several at the same time counts.
 */
const changePassword = (
  { store, table }: Pick<EngineSettings, "store" | "table">,
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
const changeAccount = (
  { store, table }: Pick<EngineSettings, "store" | "table">,
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

const isAbsentOr = (type: "string" | "boolean", value: unknown): boolean => value === undefined || typeof value === type

/** Whether better-auth would take a body as that of a sign-out. What it says is for providers that have an address for it, and none has here. */
const isSignOut = (body: unknown): boolean =>
  body === undefined || (isBag(body) && isAbsentOr("string", body["callbackURL"]) && isAbsentOr("string", body["state"])
    && isAbsentOr("boolean", body["disableRedirect"]))

/**
 * Makes an engine. With `providers` it serves only sign-in with them. It is separate, so that a provider that is away delays nobody else.
 */
export const makeEngine = async (
  settings: EngineSettings,
  providers: readonly DiscoveredProvider[] = []
): Promise<Engine> => {
  const { basePath, origin, roles, schema, store, table, url } = settings
  const [
    { betterAuth },
    { admin, jwt, twoFactor },
    { deleteSessionCookie },
    { createAccessControl },
    { adminAc, defaultStatements },
    { APIError, createAuthMiddleware, getOAuthState, getSessionFromCtx, setShouldSkipSessionRefresh }
  ] = await Promise
    .all([
      import("better-auth"),
      import("better-auth/plugins"),
      import("better-auth/cookies"),
      import("better-auth/plugins/access"),
      import("better-auth/plugins/admin/access"),
      import("better-auth/api")
    ])
  const passkeys = settings.passkeys === null || providers.length > 0
    ? []
    : (await import("./passkeys.ts")).passkeyPlugins({
      passkeys: settings.passkeys,
      appName: settings.appName,
      store,
      table
    })
  const access = createAccessControl(defaultStatements)
  // Without a prototype, so that `constructor` is no role unless it was declared.
  const permissions: Record<string, ReturnType<typeof access.newRole>> = Object.create(null)
  for (const role of roles.choices) {
    permissions[role] = managesAccounts(role)
      ? access.newRole({ user: [...adminAc.statements.user], session: [...adminAc.statements.session] })
      : access.newRole({})
  }
  const refuse = (code: string, message: string) => new APIError("BAD_REQUEST", { code, message })
  const ended = () => new APIError("UNAUTHORIZED", { code: "UNAUTHORIZED", message: "Unauthorized" })
  const demoted = () => new APIError("FORBIDDEN", { code: "FORBIDDEN", message: "You are no longer an admin." })
  /** Whether a request of an admin may still make something: only while its caller is an admin. Other requests always may. */
  const standsFor = async (context: Asked | null): Promise<boolean> =>
    context?.path?.startsWith("/admin/") !== true
    || stands(store, table, context.context.session?.session.token ?? "", true)
  const checkRoles = (given: unknown): void => {
    const read = typeof given === "string" ? readRoles(roles, given) : undefined
    if (read !== undefined && Result.isSuccess(read)) return
    throw refuse(
      "YOU_ARE_NOT_ALLOWED_TO_SET_NON_EXISTENT_VALUE",
      read === undefined ? `The roles are: ${roles.choices.join(", ")}.` : read.failure.message
    )
  }
  /** Host functions and sign-in know only such addresses. better-auth sets no longest one. */
  const checkEmail = (given: unknown): void => {
    if (typeof given !== "string" || Result.isFailure(readEmail(given))) throw refuse("INVALID_EMAIL", "Invalid email")
  }
  /** Why a person with an account at a provider may not come in; undefined: they may. */
  const providedRefusal = async (
    provider: Provider | undefined,
    action: string,
    user: { readonly email?: unknown; readonly emailVerified?: unknown },
    anyUser: () => Promise<boolean>
  ) => {
    const judged = judgeProvided(provider, {
      began: (await getOAuthState<{ readonly provider?: unknown }>())?.provider,
      linked: action === "sign-in",
      creates: action === "create-user",
      email: String(user.email),
      verified: user.emailVerified === true
    })
    if (judged === "may" || (judged === "unless-first" && await anyUser())) return undefined
    return { error: judged === "unless-first" ? "signup_disabled" : judged }
  }

  /** Only admins may ask what roles may do. It would tell others about accounts and rights. */
  const permissionsForAdmins = {
    id: "permissions-for-admins",
    hooks: {
      before: [{
        matcher: ({ path }: { readonly path?: string }) => path === "/admin/has-permission",
        handler: createAuthMiddleware(async (context) => {
          const session = await getSessionFromCtx(context)
          if (session === null) throw ended()
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

  const plugins = [
    withoutRefresh,
    signOutAtOnce,
    permissionsForAdmins,
    ...(settings.twoFactor
      ? [twoFactor({
        issuer: settings.appName,
        twoFactorCookieMaxAge: 300,
        backupCodeOptions: { amount: 10, length: 12, storeBackupCodes: "encrypted" }
      })]
      : []),
    ...passkeys,
    ...(providers.length === 0
      ? []
      : [{
        id: "identity-providers",
        init: () => ({ context: { socialProviders: providers.map(oauthProvider) } })
      }]),
    admin({
      ac: access,
      roles: permissions,
      adminRoles: roles.choices.filter(managesAccounts),
      ...(roles.defaultRole === undefined ? {} : { defaultRole: roles.defaultRole })
    }),
    jwt({
      disableSettingJwtHeader: true,
      jwks: { keyPairConfig: { alg: "EdDSA", crv: "Ed25519" } },
      adapter: {
        // Two instances may need the first key at once. One makes it, the other uses it.
        createJwk: (key) =>
          store.transaction(async (queries) => {
            await queries.query("select pg_advisory_xact_lock($1)", [adminLock])
            const [known] = await queries.query<StoredKey>(
              `select * from ${
                table("jwks")
              } where "expiresAt" is null or "expiresAt" > now() order by "createdAt" desc limit 1`
            )
            if (known !== undefined) return known
            const [made] = await queries.query<StoredKey>(
              `insert into ${table("jwks")} ("id", "publicKey", "privateKey", "createdAt", "alg", "crv")`
                + ` values ($1, $2, $3, $4, $5, $6) returning *`,
              [crypto.randomUUID(), key.publicKey, key.privateKey, new Date(), "EdDSA", "Ed25519"]
            )
            if (made === undefined) throw new Error("the signing key was not stored")
            return made
          })
      },
      jwt: {
        issuer: url,
        audience: url,
        expirationTime: `${tokenSeconds}s`,
        definePayload: async ({ session, user }) => {
          const claims = await claimsOf(settings, user.id, tokenSeconds, session.token)
          if (claims === null) throw ended()
          return claims
        }
      }
    })
  ] satisfies BetterAuthPlugin[]

  const auth = betterAuth({
    appName: settings.appName,
    baseURL: origin,
    basePath,
    secret: settings.secret,
    trustedOrigins: [...settings.trustedOrigins],
    database: {
      db: await store.kysely(),
      type: "postgres",
      transaction: true,
      ...(schema === undefined ? {} : { schemaName: schema })
    },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: passwordMin,
      maxPasswordLength: passwordMax
    },
    // The handler limits sign-ins itself, in the database and also per account.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: { disabled: true },
    onAPIError: { throw: true, errorURL: `${origin}/` },
    account: {
      updateAccountOnSignIn: false,
      // Only admins make accounts, so nobody else can have claimed an address here. The provider must have verified its own.
      accountLinking: { enabled: true, trustedProviders: [], requireLocalEmailVerified: false }
    },
    ...(providers.length === 0 ? {} : {
      user: {
        validateUserInfo: (
          { source, user }: { source: { action: string; oauth?: { providerId: string } | undefined }; user: object },
          { context: { internalAdapter } }
        ) =>
          providedRefusal(
            providers.find(({ provider }) => provider.id === source.oauth?.providerId)?.provider,
            source.action,
            user,
            // Runs on the connection of its own transaction. Many that each needed another connection would all wait.
            async () => (await internalAdapter.listUsers(1)).length > 0
          )
      }
    }),
    advanced: {
      cookiePrefix: "service",
      useSecureCookies: origin.startsWith("https:"),
      defaultCookieAttributes: { sameSite: "lax", httpOnly: true },
      // Set explicitly, because better-auth turns both off when NODE_ENV is "test".
      disableCSRFCheck: false,
      disableOriginCheck: false,
      ipAddress: { ipAddressHeaders: ["x-forwarded-for"], ipv6Subnet: 128 },
      database: { validateSchema: false }
    },
    databaseHooks: {
      account: {
        create: {
          // A provider's tokens are not kept, as nothing here needs what they open.
          before: async (account, context) => {
            if (!await standsFor(context)) throw ended()
            return { data: { ...account, accessToken: null, refreshToken: null, idToken: null } }
          }
        },
        update: {
          // Hashing takes time. If the account was taken back meanwhile, the password of its owner stays.
          before: async (account, context) => {
            const byAdmin = context?.path === "/admin/set-user-password"
            if ((!byAdmin && context?.path !== "/change-password") || typeof account.password !== "string") return
            const session = context.context.session?.session
            const userId = byAdmin ? String(context.body?.userId) : session?.userId ?? ""
            if (!await changePassword(settings, userId, session?.token ?? "", account.password, byAdmin)) throw ended()
            return false
          }
        }
      },
      user: {
        create: {
          before: async (user, context) => {
            checkRoles((user as { readonly role?: unknown }).role)
            checkEmail(user.email)
            if (!await standsFor(context)) throw demoted()
            if (context?.path === "/admin/create-user") {
              const password: unknown = context.body?.password
              if (typeof password !== "string" || password.length < passwordMin) {
                throw refuse("PASSWORD_TOO_SHORT", `A password needs at least ${passwordMin} characters.`)
              }
            }
          }
        },
        update: {
          before: async (user, context) => {
            if ("role" in user) checkRoles(user["role"])
            if ("email" in user) checkEmail(user["email"])
            if (context?.path?.startsWith("/admin/") !== true) return
            const token = context.context.session?.session.token ?? ""
            if (!await changeAccount(settings, token, String(context.body?.userId), user)) {
              throw demoted()
            }
            // better-auth has nothing left to change. It answers the account as it is now.
            return { data: Object.fromEntries(Object.keys(user).map((name) => [name, undefined])) }
          },
          after: async (user, context) => {
            if (context?.path === "/two-factor/disable") await endHeld(store, table, "factor-off", user.id)
          }
        }
      }
    },
    plugins
  })
  const context = await auth.$context
  return {
    handle: auth.handler,
    sign: async (claims) => (await auth.api.signJWT({ body: { payload: { ...claims } } })).token,
    hash: context.password.hash,
    trusts: (origin) => context.isTrustedOrigin(origin),
    newId: () => context.generateId({ model: "user" }) || crypto.randomUUID(),
    providers: new Set(context.socialProviders.map(({ id }) => id))
  }
}
