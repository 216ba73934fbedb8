/**
 * What a service is told: its configuration, and what the deployment says besides. All of it is checked before anything is opened, and refused together.
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { accountsOf } from "../adapters/auth/accounts.ts"
import type { Auth } from "../adapters/auth/auth.ts"
import type { Authenticator } from "../adapters/auth/authenticator.ts"
import { builtInAuthenticator } from "../adapters/auth/built-in.ts"
import { AddressError, readAddress } from "../adapters/postgres/address.ts"
import type { PostgresOptions } from "../adapters/postgres/connection.ts"
import { isPlainUrl } from "../core/domain/account/origin.ts"
import { isAuditDays, mostAuditDays } from "../core/domain/audit/entry.ts"
import type { Compiled } from "../core/domain/compile/compile.ts"
import { parentPath } from "../core/domain/declare/config.ts"
import type { Config } from "../core/domain/declare/config.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"
import { quoteValue, shownAddress } from "../core/domain/declare/refusal.ts"
import type { JobCounts } from "../core/domain/job/state.ts"
import type { Mail } from "../core/domain/mail/message.ts"
import { type Secrets, secretsProblem } from "../core/domain/secret.ts"
import { makeAuthenticator, makeTenantAuthenticator } from "./assembly.ts"
import { refuseReadUrls } from "./database.ts"
import type { Parts } from "./edge.ts"
import { defaultUrl } from "./environment.ts"
import type { OwnerRoles } from "./event-parts.ts"
import { noAccounts } from "./readiness.ts"
import { StartupError } from "./startup-error.ts"
import type { TenantAuths } from "./tenants.ts"

export const usualAuditDays = 365

/** The options of `createAdmin`: settings that the configuration does not hold. */
export interface AdminOptions extends Partial<Omit<Parts, "compiled" | "records" | "jobs">> {
  /** The database and its pools. Default: `db` of the configuration. */
  readonly database?: PostgresOptions
  /** Who verifies credentials. Default: `authenticate` of the configuration, else the keys at its `auth.jwksUrl`. */
  readonly authenticator?: Authenticator
  /**
   * Default: `auth.secret` of the configuration. At least 16 characters. Of a list the first seals and signs, and each opens what it has sealed
   * (docs/guides/operations.md#rotating-secrets).
   */
  readonly secret?: Secrets
  /** Default: `auth.url` of the configuration, else `http://localhost:5173`. */
  readonly publicUrl?: string
  readonly context?: Context.Context<never>
  /** Sends the mails of jobs, such as `smtpMail({ url, from })`. Without it their `mail` is undefined. */
  readonly mail?: Mail
  /** The auth servers of the tenants, where requests decide the tenant (`fromHost`): each with `tenant`, a schema, a secret and a URL of its own. */
  readonly tenantAuths?: TenantAuths
  /** The roles that the owner of a subscription has now. Needed for the extension `webhooks` without its option `ownerRoles`. */
  readonly ownerRoles?: OwnerRoles
  /** Days that entries of the audit are kept, from 1 to 36500. Default 365. */
  readonly auditDays?: number
  /** Database connections that jobs work on, default 10. */
  readonly jobsConnections?: number
  /** Gets the counts of the queues, about once a minute from one of all processes that run jobs. */
  readonly onJobCounts?: (counts: readonly JobCounts[]) => void
}

/** A configuration whose `auth` is an auth server of this process, as `createAuth` makes it: its routes are mounted, and its tokens count. */
export type ConfigWithAuth = Omit<Config, "auth" | "authenticate"> & { readonly auth: Auth }

const isAuth = (value: unknown): value is Auth =>
  typeof value === "object" && value !== null && "internals" in value && "handler" in value

const hasAuth = (config: Config | ConfigWithAuth): config is ConfigWithAuth => isAuth(config.auth)

/** The configuration as it is compiled: with the settings that an auth server was made with. */
export const declaredOf = (config: Config | ConfigWithAuth): Config => {
  if (!hasAuth(config)) return config
  const { auth, ...rest } = config
  return {
    ...rest,
    auth: {
      roles: auth.roles,
      url: auth.url,
      ...(auth.tenant === undefined ? {} : { tenant: auth.tenant }),
      ...(auth.mailer === null ? {} : { mail: { ...auth.mailer.mails, page: auth.mailer.page } })
    }
  }
}

/** What a service is told, checked. */
export interface DeploymentSettings extends Omit<AdminOptions, "database"> {
  readonly compiled: Compiled
  readonly authenticator: Authenticator
  readonly secret: Secrets
  readonly publicUrl: string
  /** The auth server of this process, whose mails and accounts are the service's. */
  readonly accounts: Auth | null
}

/** What the layers of a service are told. */
export class Deployment extends Context.Service<Deployment, DeploymentSettings>()("resource-admin/Deployment") {}

const refusal = (message: string, fix: string): Refusal => ({ resource: null, field: null, message, fix })

/** What is wrong with the database's address. */
const refuseDatabase = (database: Partial<PostgresOptions> | undefined): readonly Refusal[] => {
  if (typeof database?.url !== "string") {
    return [refusal(
      "Nothing says where the database is.",
      "Write db: \"postgres://…\" in the configuration, or give createAdmin database: { url: \"postgres://…\" }."
    )]
  }
  const { replicas } = database
  try {
    readAddress(database.url)
    return replicas === undefined ? [] : refuseReadUrls(replicas.urls, "database.replicas.urls", false)
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    return [refusal(`The database's URL ${error.problem}`, error.fix)]
  }
}

/** What is wrong with what is given besides the database. It may be plain JavaScript. */
const refuseRest = (
  authenticator: unknown,
  secret: unknown,
  url: unknown,
  auditDays: unknown
): readonly Refusal[] => [
  ...(typeof authenticator === "function" ? [] : [refusal(
    authenticator === undefined ? "Nobody verifies credentials." : `authenticator is ${quoteValue(authenticator)}.`,
    "Write authenticate: (request) => ({ user: { id, roles } }) in the configuration, or give createAdmin an authenticator, such as builtInAuthenticator({ auth }) beside auth. startServer makes both by itself."
  )]),
  ...(secretsProblem(secret, 16) === null ? [] : [refusal(
    secret === undefined ? "There is no secret." : `The secret is ${secretsProblem(secret, 16)}.`,
    "Give createAdmin secret: 32 random bytes in base64, the same in every instance: openssl rand -base64 32."
  )]),
  ...(isPlainUrl(String(url)) ? [] : [refusal(
    `publicUrl is ${shownAddress(url)}, not the http(s) URL of an API.`,
    "Write it without password and query."
  )]),
  ...(auditDays === undefined || isAuditDays(auditDays) ? [] : [refusal(
    `auditDays is ${quoteValue(auditDays)}.`,
    `Write a whole number of days, from 1 to ${mostAuditDays}.`
  )])
]

/** The auth server of this process: from the configuration, else from the options. */
const ownOf = (auth: unknown, options: AdminOptions): Auth | null =>
  isAuth(auth) ? auth : isAuth(options.auth) ? options.auth : null

/** What is wrong with where an auth server answers. */
const refusePlace = (own: Auth | null, { options }: Compiled): readonly Refusal[] => {
  const path = `${parentPath(options.basePath)}/auth`
  return own === null || own.basePath === path ? [] : [refusal(
    `auth answers below ${own.basePath}, and sign-in of this service is below ${path}.`,
    `Make it with createAuth({ …, basePath: "${path}" }).`
  )]
}

/** Who verifies credentials: as the options say, else the auth server of this process, else as the configuration says. */
const authenticatorOf = (
  config: Config,
  compiled: Compiled,
  { authenticator, tenantAuths }: AdminOptions,
  own: Auth | null,
  url: string
): Authenticator | undefined => {
  if (authenticator !== undefined) return authenticator
  if (tenantAuths !== undefined && config.authenticate === undefined) {
    return makeTenantAuthenticator({ compiled, config, url }, tenantAuths)
  }
  if (own !== null && config.authenticate === undefined) {
    return builtInAuthenticator({ auth: own, tenant: compiled.auth?.tenant })
  }
  return config.authenticate === undefined && compiled.auth?.jwksUrl === undefined
    ? undefined
    : makeAuthenticator({ compiled, config, url }, null)
}

/** What an auth server of this process gives, unless the options say otherwise. */
const accountParts = (own: Auth | null, { auth }: Compiled): Partial<AdminOptions> => {
  if (own === null) return {}
  const { namesOf, needsAdmin, rolesOf } = accountsOf(own, auth?.tenant)
  return {
    auth: own,
    authStatus: Effect.mapBoth(needsAdmin, { onFailure: noAccounts, onSuccess: (needed) => ({ needsAdmin: needed }) }),
    namesOf,
    ownerRoles: (id, tenant) => Effect.runPromise(rolesOf(id, tenant))
  }
}

/** What the auth servers of tenants give. Of a tenant that this process does not have, nobody has roles here. */
const tenantParts = (auths: TenantAuths | undefined): Partial<AdminOptions> => {
  if (auths === undefined) return {}
  const accounts = new Map([...auths].map(([tenant, auth]) => [tenant, accountsOf(auth, tenant)]))
  return {
    namesOf: (ids, tenant) => accounts.get(tenant ?? "")?.namesOf(ids) ?? Effect.succeed(new Map()),
    ownerRoles: async (id, tenant) => {
      const own = accounts.get(tenant ?? "")
      return own === undefined ? "elsewhere" : Effect.runPromise(own.rolesOf(id, tenant))
    }
  }
}

/**
 * What a service is told, from the options or else from its configuration: `config` as `declaredOf` gives it, `compiled`. Throws `StartupError` with
 * everything that is wrong.
 */
export const readDeployment = (
  given: Config | ConfigWithAuth,
  config: Config,
  compiled: Compiled,
  options: AdminOptions
): { readonly deployment: DeploymentSettings; readonly database: PostgresOptions } => {
  const own = ownOf(given.auth, options)
  const publicUrl = options.publicUrl ?? own?.url ?? compiled.auth?.url ?? defaultUrl
  const database = options.database ?? (config.db === undefined ? undefined : { url: config.db })
  const authenticator = authenticatorOf(config, compiled, options, own, publicUrl)
  const secret = options.secret ?? compiled.auth?.secret
  const refusals = [
    ...refuseDatabase(database),
    ...refuseRest(authenticator, secret, publicUrl, options.auditDays),
    ...refusePlace(own, compiled)
  ]
  if (refusals.length > 0 || authenticator === undefined || database === undefined || secret === undefined) {
    throw new StartupError(refusals)
  }
  const told = { compiled, authenticator, secret, publicUrl, accounts: own }
  return {
    database,
    deployment: { ...accountParts(own, compiled), ...tenantParts(options.tenantAuths), ...options, ...told }
  }
}
