/**
 * From a configuration and the deployment's settings to what the parts are made with: the effective configuration, who verifies tokens,
 * who signs people in. Everything wrong with either is refused together. It opens no connection.
 */

import * as Result from "effect/Result"
import type { AuthLog } from "../adapters/auth/auth-log.ts"
import { createAuth } from "../adapters/auth/auth.ts"
import type { Auth } from "../adapters/auth/auth.ts"
import { type Authenticator, type Identity, Unauthorized } from "../adapters/auth/authenticator.ts"
import { builtInAuthenticator } from "../adapters/auth/built-in.ts"
import type { AuthDatabase } from "../adapters/auth/database.ts"
import { accountMailsOf } from "../core/domain/account/mails.ts"
import { coversTenants } from "../core/domain/account/tenants.ts"
import { type Bag, isBag } from "../core/domain/bag.ts"
import { compileModels } from "../core/domain/compile/compile.ts"
import type { Compiled } from "../core/domain/compile/compile.ts"
import { parentPath } from "../core/domain/declare/config.ts"
import type { AuthDeclaration, AuthenticateFunction, Config } from "../core/domain/declare/config.ts"
import { filesEnvironment } from "../core/domain/declare/file.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"
import { allSecrets, type Secrets, withAccepted } from "../core/domain/secret.ts"
import { keptSecret, refuseUrls } from "./database.ts"
import { defaultUrl } from "./environment.ts"
import type { Settings } from "./environment.ts"
import { refuseFiles } from "./files.ts"
import type { FileSettings } from "./files.ts"
import { StartupError } from "./startup-error.ts"
import { accountsSchema, furtherOrigins, knownUrl, type TenantAuths, tenantSecret } from "./tenants.ts"

/** A configuration with everything that the environment adds, and what startup needs of it. */
export interface Assembly {
  readonly config: Config
  readonly compiled: Compiled
  /** `AUTH_SECRET`, with those of `AUTH_SECRET_ACCEPTED` behind it. Empty only where none was asked for. */
  readonly secret: Secrets
  /** Public URL of the API. */
  readonly url: string
}

/** Public tunnels that developers show their work through: trusted by the dev command only. */
export const tunnelOrigins: readonly string[] = [
  "https://*.trycloudflare.com",
  "https://*.ngrok-free.app",
  "https://*.ngrok.app",
  "https://*.loca.lt"
]

const record = (value: unknown): Bag => isBag(value) ? value : {}

/** `files` of the configuration with the addresses of the environment, where the compiler looks for them. */
const withEnvironment = (
  files: Config["files"],
  addresses: Settings["files"]["addresses"]
): NonNullable<Config["files"]> => Object.assign({ ...files }, { [filesEnvironment]: addresses })

/** The configuration wins where both say something; lists of origins add up. */
const merge = (config: Config, settings: Settings): Config => {
  const options = record(config?.options)
  const { cors = {} } = options
  // What is no list of origins is left as it is, for the compiler to refuse.
  const origins = isBag(cors) ? cors["origins"] ?? [] : null
  const { auth } = config
  // `false` turns those of the environment off, too.
  const { plugins = [], sources: listed = [] } = options
  return {
    ...config,
    ...(isBag(auth) && auth["url"] === undefined && settings.url !== null
      ? { auth: { ...auth, url: settings.url } }
      : {}),
    options: {
      ...config.options,
      ...(settings.trustedProxies === null || options["trustedProxies"] !== undefined
        ? {}
        : { trustedProxies: settings.trustedProxies }),
      ...(settings.sources.length === 0 || !Array.isArray(listed)
        ? {}
        : { sources: [...listed, ...settings.sources] }),
      ...(settings.plugins.length === 0 || !Array.isArray(plugins)
        ? {}
        : { plugins: [...plugins, ...settings.plugins] }),
      ...(settings.corsOrigins.length === 0 || !isBag(cors) || !Array.isArray(origins)
        ? {}
        : { cors: { ...cors, origins: [...new Set([...origins, ...settings.corsOrigins])] } })
    },
    ...(Object.keys(settings.files.addresses).length === 0 || (config.files !== undefined && !isBag(config.files))
      ? {}
      : { files: withEnvironment(config.files, settings.files.addresses) })
  }
}

/** The secrets behind tickets and links of files; null: those of the deployment. */
export const filesSecretsOf = (
  { compiled, secret }: Pick<Assembly, "compiled" | "secret">,
  { files }: Pick<Settings, "files">
): Secrets | null => {
  const own = compiled.files.secret ?? files.secret
  return own === null && files.acceptedSecrets.length === 0 ? null : withAccepted(own, files.acceptedSecrets, secret)
}

/** The secrets of public forms; null: those of the deployment. */
export const formsSecretsOf = (
  { secret }: Pick<Assembly, "secret">,
  { acceptedFormsSecrets, formsSecret }: Pick<Settings, "acceptedFormsSecrets" | "formsSecret">
): Secrets | null =>
  formsSecret === null && acceptedFormsSecrets.length === 0
    ? null
    : withAccepted(formsSecret, acceptedFormsSecrets, secret)

/** Where folders of files are, and the keys of buckets, as the deployment says. */
export const fileSettingsOf = ({ data, files, folder }: Settings): FileSettings => ({
  folder,
  data,
  keys: files.keys,
  retention: files.retention
})

/**
 * Checks configuration and settings together; throws `StartupError` with everything that is wrong. A missing secret is made and kept
 * beside the embedded database, and refused for any other: several instances must share one. `secretless` work signs nothing.
 */
export const assemble = (
  config: Config,
  { refusals: earlier, settings }: { readonly settings: Settings; readonly refusals: readonly Refusal[] },
  secretless = false
): Assembly => {
  const db: unknown = isBag(config) ? config["db"] : undefined
  const refusals = [
    ...earlier,
    // What is no URL of a database at all is left for the compiler to refuse.
    ...refuseUrls(settings, typeof db === "string" && /^postgres(?:ql)?:\/\/./.test(db) ? db : undefined, false)
  ]
  // What is no object at all is left as it is, for the compiler to refuse.
  const usable = isBag(config)
  const merged = usable && (config.options === undefined || isBag(config.options)) ? merge(config, settings) : config
  const compiled = compileModels(merged)
  if (Result.isFailure(compiled)) refusals.push(...compiled.failure)
  else refusals.push(...refuseFiles(compiled.success.files.providers.values(), fileSettingsOf(settings)))
  const auth = usable ? record(config.auth) : {}
  const ownDatabase = usable && config.db !== undefined
  const given = typeof auth["secret"] === "string" ? auth["secret"] : settings.secret
  if (given === null && !secretless && (settings.databaseUrl !== null || ownDatabase)) {
    refusals.push({
      resource: null,
      field: null,
      message: "AUTH_SECRET is not set.",
      fix: "Set 32 random bytes in base64, the same in every instance: openssl rand -base64 32."
    })
  }
  const tenants = Result.isFailure(compiled) ? null : compiled.success.tenants
  for (const origin of tenants === null ? [] : settings.trustedOrigins.filter((each) => coversTenants(tenants, each))) {
    refusals.push({
      resource: null,
      field: null,
      message: `TRUSTED_ORIGINS has ${origin}, so that pages of one tenant could use sessions of another.`,
      fix: "Remove it: a tenant's own hosts are trusted, each for itself."
    })
  }
  if (Result.isFailure(compiled) || refusals.length > 0) throw new StartupError(refusals)
  const url = typeof auth["url"] === "string" ? auth["url"] : settings.url ?? defaultUrl
  return {
    config: merged,
    compiled: compiled.success,
    secret: given === null && secretless
      ? ""
      : withAccepted(given ?? keptSecret(settings.data), settings.acceptedSecrets, ""),
    url
  }
}

/** The roles that accounts may have: as configured, else those declared; undefined: the auth server's own default. */
const accountRoles = (auth: AuthDeclaration | null, compiled: Compiled): readonly string[] | undefined => {
  if (auth?.roles !== undefined) return auth.roles
  const declared = [...compiled.roles?.keys() ?? []].filter((role) => role !== "admin" && role !== "anonymous")
  return declared.length === 0 ? undefined : ["admin", ...declared]
}

/** What an auth server is made with besides configuration and settings. */
interface AuthMore {
  readonly origins?: readonly string[]
  readonly onError?: (cause: unknown) => void
  readonly log?: AuthLog
}

/** Where the accounts of a tenant are, and where they sign in; without a tenant, those of the service. */
const placeOfAccounts = ({ compiled, secret, url }: Assembly, tenant: string | null) => {
  const { auth, options, schemas, tenants } = compiled
  const path = `${parentPath(options.basePath)}/auth`
  if (tenants === null || tenant === null) {
    return { schemaName: schemas.auth, secret, url, basePath: path, tenant: auth?.tenant, origins: [], cut: "" }
  }
  const [first, ...accepted] = allSecrets(secret)
  const cut = tenants.by === "path" ? `${tenants.prefix}/${tenant}` : ""
  return {
    schemaName: accountsSchema(schemas.auth, tenant),
    secret: [tenantSecret(first, tenant), ...accepted.map((each) => tenantSecret(each, tenant))] as const,
    url: knownUrl(tenants, tenant, url),
    basePath: cut + path,
    tenant,
    origins: furtherOrigins(tenants, tenant, url),
    cut
  }
}

/** Makes the auth servers of all tenants over a pool; null where requests do not decide the tenant. */
export const makeTenantAuths = (
  assembly: Assembly,
  settings: Settings,
  database: AuthDatabase,
  moreOf: (tenant: string) => AuthMore = () => ({})
): TenantAuths | null => {
  const { tenants } = assembly.compiled
  if (tenants === null) return null
  return new Map(
    Array.from(
      tenants.known ?? [],
      (tenant) => [tenant, makeAuth(assembly, settings, database, moreOf(tenant), tenant)]
    )
  )
}

/** Makes the auth server over a pool, whoever verifies tokens: that of a tenant, where requests decide the tenant. */
export const makeAuth = (
  assembly: Assembly,
  settings: Settings,
  database: AuthDatabase,
  more: AuthMore = {},
  ofTenant: string | null = null
): Auth => {
  const { compiled } = assembly
  const { auth, options } = compiled
  const { basePath, cut, origins, schemaName, secret, tenant, url } = placeOfAccounts(assembly, ofTenant)
  const mails = accountMailsOf(auth?.mail)
  const adminPath = options.admin?.path ?? "/"
  return createAuth({
    database,
    schemaName,
    secret,
    url,
    basePath,
    ...(cut === "" ? {} : { cookiePath: cut }),
    roles: accountRoles(auth, compiled),
    defaultRole: auth?.defaultRole,
    signInPerMinute: auth?.signInPerMinute,
    tenant,
    twoFactor: auth?.twoFactor,
    passkeys: auth?.passkeys,
    oidc: auth?.oidc,
    ...(mails === null
      ? {}
      : {
        mail: {
          ...mails,
          page: mails.page ?? `${new URL(url).origin}${cut}${adminPath === "/" ? "" : adminPath}/-/reset`
        }
      }),
    appName: auth?.appName,
    log: more.log,
    trustedOrigins: [...auth?.trustedOrigins ?? [], ...settings.trustedOrigins, ...more.origins ?? [], ...origins],
    onError: more.onError
  })
}

/** Whether this service keeps accounts itself: nobody else verifies credentials. */
export const keepsAccounts = ({ compiled, config }: Assembly): boolean =>
  config.authenticate === undefined && compiled.auth?.jwksUrl === undefined

const isTenant = (value: unknown): boolean => typeof value === "string" || Number.isSafeInteger(value)

/** Who the configuration's function says is calling. It may be plain JavaScript: a user without an id must not pass for one. */
const identityOf = (answer: Awaited<ReturnType<AuthenticateFunction>>): Identity => {
  const { tenant = null, user } = answer
  const { id, roles } = record(user)
  if (
    typeof id !== "string" || id === "" || !Array.isArray(roles) || !roles.every((role) => typeof role === "string")
  ) {
    throw new TypeError("authenticate must answer { user: { id, roles } }: a text and a list of texts")
  }
  if (tenant === null) return { user }
  if (!isTenant(tenant)) throw new TypeError("authenticate must answer a tenant that is a text or a whole number")
  return { user, tenant }
}

const ownAuthenticator = (authenticate: AuthenticateFunction): Authenticator => (request) => {
  const { tenant } = request
  const answer = authenticate({
    method: request.method,
    url: request.url,
    headers: request.headers,
    ...(tenant === undefined ? {} : { tenant })
  })
  return answer instanceof Promise ? answer.then(identityOf) : identityOf(answer)
}

/** Who verifies credentials: the configuration's own function, tokens of an auth server elsewhere, or those of `auth`. */
export const makeAuthenticator = (
  { compiled, config, url }: Pick<Assembly, "compiled" | "config" | "url">,
  auth: Auth | null
): Authenticator => {
  if (config.authenticate !== undefined) return ownAuthenticator(config.authenticate)
  const declared = compiled.auth
  const apps = (declared?.apps ?? []).map(({ keys, ...app }) => ({
    ...app,
    ...(keys === undefined ? {} : { keys: keys as { readonly keys: readonly never[] } })
  }))
  return builtInAuthenticator({
    ...(auth === null ? { jwksUrl: declared?.jwksUrl, issuer: declared?.issuer ?? url } : { auth }),
    tenant: auth?.tenant ?? declared?.tenant,
    cache: declared?.cache,
    // Users of an app work in one tenant.
    apps: compiled.tenants === null ? apps : apps.filter(({ tenant }) => String(tenant) === auth?.tenant)
  })
}

/** Who verifies credentials where requests decide the tenant: those of each tenant know its own people only. */
export const makeTenantAuthenticator = (
  assembly: Pick<Assembly, "compiled" | "config" | "url">,
  auths: TenantAuths
): Authenticator => {
  const authenticators = new Map<string, Authenticator>()
  return (request) => {
    const { tenant = "" } = request
    let own = authenticators.get(tenant)
    if (own === undefined) {
      const auth = auths.get(tenant)
      if (auth === undefined) throw new Unauthorized("the tenant has no accounts here")
      own = makeAuthenticator(assembly, auth)
      authenticators.set(tenant, own)
    }
    return own(request)
  }
}
