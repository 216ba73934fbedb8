/**
 * The auth server: better-auth as the service wants it, its store, and what host functions and authenticators share. It decides which of
 * better-auth's features exist here. It decides nothing about resources.
 */

import { AsyncLocalStorage } from "node:async_hooks"
import { refuse, taken } from "../../core/domain/account/account.ts"
import { attemptLimits, attemptsPerMinute } from "../../core/domain/account/attempt.ts"
import { type ProviderDeclaration, readProviders } from "../../core/domain/account/identity-provider.ts"
import { type AccountMailDeclaration, readAccountMails } from "../../core/domain/account/mails.ts"
import { isOriginPattern, isPlainUrl } from "../../core/domain/account/origin.ts"
import { type PasskeyDeclaration, readPasskeys } from "../../core/domain/account/passkey.ts"
import { declareRoles } from "../../core/domain/account/roles.ts"
import { shownAddress } from "../../core/domain/declare/refusal.ts"
import { ownJson } from "../../core/domain/own-json.ts"
import { allSecrets, type Secrets, secretsProblem } from "../../core/domain/secret.ts"
import { bodyMax } from "./auth-body.ts"
import { type AccountWatch, type AuthLog, makeHashes, type Told } from "./auth-log.ts"
import { type AuthDatabase, hasAny, openStore, tableIn } from "./database.ts"
import { type Engine, type EngineSettings, makeEngine } from "./engine.ts"
import { makeHandler } from "./handler.ts"
import type { AuthInternals } from "./internals.ts"
import { makeSealer } from "./key-text.ts"
import { makeLimits } from "./limits.ts"
import { makeLinks } from "./links.ts"
import { type AccountMailer, makeMailer } from "./mails.ts"
import { makeProviderEngines } from "./provider-engines.ts"
import { makeRevocations } from "./revocations.ts"
import { makeCipher, makeCookieRenewal } from "./rotation.ts"

/** Settings of the auth server, for `createAuth`. */
export interface AuthOptions {
  /** Where accounts live. The pool or dialect stays the caller's: it is never closed here. */
  readonly database: AuthDatabase
  /**
   * `AUTH_SECRET`: signs cookies and encrypts the private keys of tokens. At least 32 characters. Of a list the first does so, and each is accepted
   * (docs/guides/operations.md#rotating-secrets).
   */
  readonly secret: Secrets
  /** `AUTH_URL`: public URL of the API; issuer and audience of tokens. */
  readonly url: string
  /** Path of the auth routes; default `/api/auth`. */
  readonly basePath?: string | undefined
  /** Path that cookies of sessions are for; default `/`. Several auth servers of one origin each need their own. */
  readonly cookiePath?: string | undefined
  /** The project's roles; `admin` is always one. Default `["admin", "user"]`. */
  readonly roles?: readonly string[] | undefined
  /** What a new user gets when no role is given. */
  readonly defaultRole?: string | undefined
  /** Further origins whose pages may sign in; patterns such as `https://*.example.org` are allowed. */
  readonly trustedOrigins?: readonly string[] | undefined
  /** Sign-in attempts a minute and client; default 5. An account takes twice as many from all clients together. */
  readonly signInPerMinute?: number | undefined
  /** The tenant every user works in. */
  readonly tenant?: string | number | undefined
  /** Schema of the tables when `database` is a pool; default `auth`. */
  readonly schemaName?: string | undefined
  /** Whether accounts may set up a second factor (TOTP with recovery codes); default no. Needs its table: see `authMigrationSql`. */
  readonly twoFactor?: boolean | undefined
  /** Whether people may sign in with passkeys; default no. Needs their table: see `authMigrationSql`. */
  readonly passkeys?: boolean | PasskeyDeclaration | undefined
  /** Identity providers (OpenID Connect) that people may sign in with; default none. */
  readonly oidc?: readonly ProviderDeclaration[] | undefined
  /**
   * Mails about accounts: `true` for all, default none. They are sent by jobs: `createAdmin({ …, auth }, { mail })` runs them. Their links lead to `page`,
   * default `/-/reset` at `url`.
   */
  readonly mail?: boolean | AccountMailDeclaration | undefined
  /** What authenticator apps, passkeys and mails show; default `Resource Admin Service`. */
  readonly appName?: string | undefined
  /** Told what happens to sign-in, accounts and keys; never a secret. */
  readonly log?: AuthLog | undefined
  /** Told about failures that became a 500 or 503. */
  readonly onError?: ((cause: unknown) => void) | undefined
}

/** The auth server: its routes, and what host functions and authenticators take. */
export interface Auth {
  /**
   * Answers every request below `basePath` (docs/guides/authentication.md#the-routes); errors are problem documents. The client is the last address of
   * `X-Forwarded-For`, which the caller or a trusted proxy must set. Our edge replaces the header by what it knows.
   */
  readonly handler: (request: Request) => Promise<Response>
  /** Whether a path is one of its routes. */
  readonly serves: (path: string) => boolean
  /** Largest body of a request in bytes. */
  readonly maxBodyBytes: number
  /** Whether the store has no user yet (`GET /api/auth/status`). Costs nothing once it has. */
  readonly needsAdmin: () => Promise<boolean>
  /** The allowed roles, `admin` first. */
  readonly roles: readonly string[]
  /** Undefined when a new user must be given a role. */
  readonly defaultRole: string | undefined
  /** `AUTH_URL` as given: issuer and audience. */
  readonly url: string
  readonly basePath: string
  readonly tenant: string | number | undefined
  /** The schema of the tables; undefined: where the search path puts them. */
  readonly schema: string | undefined
  /** Whether accounts may have a second factor. */
  readonly twoFactor: boolean
  /** Whether people may sign in with passkeys. */
  readonly passkeys: boolean
  /** The mails about accounts and the jobs that send them. Null where the service sends no such mails. */
  readonly mailer: AccountMailer | null
  /** Has somebody told of every change of an account or key. Gives what ends that. */
  readonly watch: (watch: AccountWatch) => () => void
  /** Loads what the first sign-in needs, so that it need not wait. */
  readonly warm: () => Promise<void>
  readonly internals: AuthInternals
}

interface KeyRow {
  readonly id: string
  readonly publicKey: string
  readonly alg: string | null
  readonly crv: string | null
}

const checkUrl = (url: string): URL => {
  if (isPlainUrl(url)) return new URL(url)
  throw refuse(
    "invalid-origin",
    `AUTH_URL must be an http(s) URL without password and query, not ${shownAddress(url)}.`
  )
}

const checkOrigins = (origins: readonly string[]): void => {
  const wrong = origins.find((origin) => !isOriginPattern(origin))
  if (wrong === undefined) return
  throw refuse(
    "invalid-origin",
    `trustedOrigins has ${shownAddress(wrong)}, which is no origin: write scheme, host and port alone, such as`
      + ` "https://app.example.org" or "https://*.example.org".`
  )
}

const checkRate = (value: number): number => {
  if (!Number.isSafeInteger(value) || value < 1) throw new Error("signInPerMinute must be a whole number from 1.")
  return value
}

/** Makes the auth server. Nothing is read or written before it is first used; throws when an option cannot be right. */
export const createAuth = (options: AuthOptions): Auth => {
  const { database, tenant, url } = options
  const { origin } = checkUrl(url)
  checkOrigins(options.trustedOrigins ?? [])
  if (secretsProblem(options.secret, 32) !== null) {
    throw new Error("AUTH_SECRET must have at least 32 characters (32 random bytes in base64).")
  }
  const secrets = allSecrets(options.secret)
  const [secret] = secrets
  if ("dialect" in database && database.type !== "postgres") {
    throw new Error("The auth store needs PostgreSQL: database.type must be \"postgres\".")
  }
  const basePath = options.basePath ?? "/api/auth"
  if (!/^(?:\/[A-Za-z0-9._~-]+)+$/.test(basePath)) {
    throw new Error("The path of the auth routes must look like \"/api/auth\".")
  }
  const roles = taken(declareRoles(options.roles, options.defaultRole))
  const schema = "dialect" in database ? database.schemaName : options.schemaName ?? "auth"
  const signInPerMinute = checkRate(options.signInPerMinute ?? attemptsPerMinute)
  const onError = options.onError ?? (() => {})
  const providers = taken(readProviders(options.oidc, roles.defaultRole))
  const twoFactor = options.twoFactor === true
  const passkeys = taken(readPasskeys(options.passkeys, url))
  const mails = taken(readAccountMails(options.mail))
  const appName = options.appName ?? "Resource Admin Service"
  const requests = new AsyncLocalStorage<string | null>()
  const watches = new Set<AccountWatch>()
  const log: Told = (entry, changed = {}) => {
    // Whoever throws keeps nobody else from being told.
    const told = (tell: () => void): void => {
      try {
        tell()
      } catch (cause) {
        onError(cause)
      }
    }
    told(() => options.log?.(entry))
    for (const watch of watches) told(() => watch(entry, changed, requests.getStore()))
  }

  const store = openStore(database)
  const table = tableIn(schema)
  const cipher = makeCipher(secrets)
  const settings: EngineSettings = {
    store,
    table,
    schema,
    secrets,
    cipher,
    url,
    origin,
    basePath,
    cookiePath: options.cookiePath ?? "/",
    roles,
    trustedOrigins: options.trustedOrigins ?? [],
    twoFactor,
    passkeys,
    appName
  }
  const hashOf = makeHashes(secret)
  const links = makeLinks(store, table)
  const mailer = mails === null
    ? null
    : makeMailer({ store, table, links, mails, page: mails.page ?? `${origin}/-/reset`, appName, log, hashOf })
  let engine: Promise<Engine> | undefined
  const internals: AuthInternals = {
    store,
    table,
    roles,
    revocations: makeRevocations(store, schema),
    engine: () =>
      engine ??= makeEngine(settings).catch((cause: unknown) => {
        engine = undefined
        throw cause
      }),
    providers,
    providerEngine: makeProviderEngines(providers, (discovered) => makeEngine(settings, discovered), onError),
    sealer: makeSealer(secrets),
    cipher,
    renewCookies: makeCookieRenewal(secrets, store, table("verification")),
    links,
    mailer,
    log,
    inRequest: (id, work) => requests.run(id, work),
    hashOf,
    onError,
    publicKeys: async () => {
      const rows = await store.query<KeyRow>(`select "id", "publicKey", "alg", "crv" from ${table("jwks")}`)
      return {
        keys: rows.map(({ alg, id, publicKey }) => ({
          ...ownJson<Record<string, unknown>>(publicKey),
          alg: alg ?? "EdDSA",
          kid: id
        }))
      }
    }
  }
  let hasPeople = false
  const needsAdmin = async (): Promise<boolean> => {
    // Once there is an admin there is always one, because the last admin cannot be removed.
    hasPeople ||= await hasAny(store, table("user"))
    return !hasPeople
  }
  return {
    needsAdmin,
    maxBodyBytes: bodyMax,
    ...makeHandler({
      internals,
      origin,
      basePath,
      limits: makeLimits({ store, table, secrets, ...attemptLimits(signInPerMinute) }),
      needsAdmin,
      twoFactor,
      passkeys: passkeys !== null
    }),
    roles: roles.choices,
    defaultRole: roles.defaultRole,
    url,
    basePath,
    tenant,
    schema,
    twoFactor,
    passkeys: passkeys !== null,
    mailer,
    watch: (watch) => {
      watches.add(watch)
      return () => void watches.delete(watch)
    },
    warm: async () => {
      await internals.engine()
    },
    internals
  }
}
