/**
 * better-auth with the service's settings: no sign-up, twelve characters, EdDSA tokens of fifteen minutes, admin rights for `admin` alone.
 * Second factors, passkeys and identity providers are there only where configured. It is loaded by the first use that needs it. The handler
 * takes care of limits, problem documents and the form of requests.
 */

import type { BetterAuthPlugin } from "better-auth"
import * as Result from "effect/Result"
import { passwordMax, passwordMin, readEmail, tokenSeconds } from "../../core/domain/account/account.ts"
import { managesAccounts } from "../../core/domain/account/authority.ts"
import { judgeProvided, type Provider } from "../../core/domain/account/identity-provider.ts"
import type { Passkeys } from "../../core/domain/account/passkey.ts"
import { readRoles, type RoleList } from "../../core/domain/account/roles.ts"
import type { DiscoveredProvider } from "./discovery.ts"
import { endHeld } from "./ending.ts"
import { oauthProvider } from "./oidc.ts"
import { type AllSecrets, type Cipher, renewingPlugin } from "./rotation.ts"
import { type AuthTables, changeAccount, changePassword, claimsOf, stands, type TokenClaims } from "./standing.ts"

export interface EngineSettings extends AuthTables {
  readonly schema: string | undefined
  /** The first of them is that of better-auth. */
  readonly secrets: AllSecrets
  readonly cipher: Cipher
  readonly url: string
  readonly origin: string
  readonly basePath: string
  /** Path that cookies are for. */
  readonly cookiePath: string
  readonly roles: RoleList
  readonly trustedOrigins: readonly string[]
  /** Whether accounts may have a second factor. */
  readonly twoFactor: boolean
  /** Null: there are no passkeys. */
  readonly passkeys: Passkeys | null
  /** What authenticator apps show beside the account, and the name for passkeys unless another is configured. */
  readonly appName: string
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

/** The part of better-auth's context that tells who asks for what. */
interface EndpointContext {
  readonly path?: string | undefined
  readonly context: { readonly session: { readonly session: { readonly token: string } } | null }
}

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
    { ownPlugins, storedKey },
    { createAccessControl },
    { adminAc, defaultStatements },
    { APIError, getOAuthState }
  ] = await Promise
    .all([
      import("better-auth"),
      import("better-auth/plugins"),
      import("./own-plugins.ts"),
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
  const standsFor = async (context: EndpointContext | null): Promise<boolean> =>
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

  const plugins = [
    ...ownPlugins(settings),
    ...(settings.twoFactor
      ? [twoFactor({
        issuer: settings.appName,
        twoFactorCookieMaxAge: 300,
        backupCodeOptions: {
          amount: 10,
          length: 12,
          // As better-auth encrypts them itself, and opened with each accepted secret.
          storeBackupCodes: { encrypt: settings.cipher.seal, decrypt: settings.cipher.open }
        }
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
        createJwk: (key) => storedKey(settings, key)
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

  const db = await store.kysely()
  const auth = betterAuth({
    appName: settings.appName,
    baseURL: origin,
    basePath,
    secret: settings.secrets[0],
    trustedOrigins: [...settings.trustedOrigins],
    database: {
      db: settings.secrets.length === 1 ? db : db.withPlugin(renewingPlugin(settings.cipher)),
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
      defaultCookieAttributes: {
        sameSite: "lax",
        httpOnly: true,
        ...(settings.cookiePath === "/" ? {} : { path: settings.cookiePath })
      },
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
            checkRoles("role" in user ? user.role : undefined)
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
