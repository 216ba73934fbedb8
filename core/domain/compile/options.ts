/**
 * Reads options and sign-in settings: fills in defaults and refuses what cannot hold. It reads no environment and reaches no
 * other service; secrets are never repeated in a message.
 */

import * as Result from "effect/Result"
import { anonymousRole } from "../access/caller.ts"
import { readProviders } from "../account/identity-provider.ts"
import { readAccountMails } from "../account/mails.ts"
import { isOriginPattern, isPlainUrl } from "../account/origin.ts"
import { readPasskeys } from "../account/passkey.ts"
import { type Bag, isBag, isFunction, isList, isTextList } from "../bag.ts"
import { type AuthDeclaration, type AuthSettings, defaultOptions, type Options } from "../declare/config.ts"
import { didYouMean, quoteValue, type Report, shownAddress } from "../declare/refusal.ts"
import { isCount, refuseUnknownKeys, type Say } from "./check.ts"
import type { KnownRoles } from "./roles.ts"
import { readSources } from "./source.ts"
import { isTenantSource } from "./tenants.ts"

/** What options are checked against. */
export interface OptionsScope {
  readonly resources: ReadonlySet<string>
  /** Names of declared pages: a remote resource cannot take their addresses. */
  readonly pages: ReadonlySet<string>
  readonly roles: KnownRoles
  readonly report: Report
}

const optionNames = [
  "statementTimeoutMs",
  "scanGuard",
  "roles",
  "defaultAccess",
  "rowPermissions",
  "basePath",
  "writeHooks",
  "onUnhandledError",
  "cors",
  "sources",
  "plugins",
  "serverTiming",
  "maxBodyBytes",
  "maxAnswerBytes",
  "maxBatchBytes",
  "trustedProxies",
  "admin",
  "tasks"
] as const

const count = (raw: unknown, path: string, least: number, most: number, usual: number, say: Say): number => {
  if (raw === undefined) return usual
  if (isCount(raw, least, most)) return raw
  say(`${path} is ${quoteValue(raw)}.`, `Write a whole number from ${least} to ${most}.`)
  return usual
}

const choice = <T extends string>(raw: unknown, path: string, all: readonly T[], say: Say): T | null => {
  if (raw === undefined) return null
  const choice = all.find((each) => each === raw)
  if (choice !== undefined) return choice
  say(`${path} is ${quoteValue(raw)}.`, `Write ${all.map((each) => `"${each}"`).join(" or ")}.`)
  return null
}

const readScanGuard = (raw: unknown, say: Say): Options["scanGuard"] => {
  const usual = defaultOptions.scanGuard
  if (raw === undefined) return usual
  if (!isBag(raw)) {
    say(`options.scanGuard is ${quoteValue(raw)}.`, "Write scanGuard: { mode: \"reject\", seqScanRows: 10000 }.")
    return usual
  }
  refuseUnknownKeys(raw, ["mode", "seqScanRows", "aggregateRows"], "options.scanGuard", say)
  const rows = (name: "seqScanRows" | "aggregateRows", otherwise: number): number =>
    count(raw[name], `options.scanGuard.${name}`, 0, Number.MAX_SAFE_INTEGER, otherwise, say)
  const seqScanRows = rows("seqScanRows", usual.seqScanRows)
  return {
    mode: choice(raw["mode"], "options.scanGuard.mode", ["reject", "warn", "off"], say) ?? usual.mode,
    seqScanRows,
    // What a list may scan, an aggregate may, unless it is said otherwise.
    aggregateRows: rows("aggregateRows", Math.max(usual.aggregateRows, seqScanRows))
  }
}

const readRowPermissions = (raw: unknown, of: OptionsScope, say: Say): Options["rowPermissions"] => {
  if (raw === undefined || raw === true) return defaultOptions.rowPermissions
  if (raw === false) return null
  if (!isBag(raw) || !isTextList(raw["except"])) {
    say(`options.rowPermissions is ${quoteValue(raw)}.`, "Write false, or { except: [\"orders\"] }.")
    return defaultOptions.rowPermissions
  }
  refuseUnknownKeys(raw, ["except"], "options.rowPermissions", say)
  for (const name of raw["except"]) {
    if (!of.resources.has(name)) {
      say(`options.rowPermissions.except names "${name}", which is not a resource.`, didYouMean(name, of.resources))
    }
  }
  return { except: new Set(raw["except"]) }
}

const basePathPattern = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){2,}$/

/** What sits beside the last segment of the base path. */
const besideResources = [
  "auth",
  "docs",
  "meta",
  "openapi.json",
  "files",
  "forms",
  "hooks",
  "jobs",
  "functions",
  "saved-views",
  "tasks"
]

const readBasePath = (raw: unknown, say: Say): string => {
  if (raw === undefined) return defaultOptions.basePath
  if (typeof raw === "string" && raw.length <= 200 && basePathPattern.test(raw)) {
    const last = raw.slice(raw.lastIndexOf("/") + 1)
    if (besideResources.includes(last)) {
      say(
        `options.basePath is ${quoteValue(raw)}, and ${raw} is the path of the service's own "${last}".`,
        `Let it end in another segment, such as "${raw.slice(0, raw.lastIndexOf("/"))}/v1".`
      )
    }
    return raw
  }
  say(
    `options.basePath is ${quoteValue(raw)}.`,
    "Write a path of at least two segments without a slash at its end, such as \"/api/v1\": the system endpoints sit beside its last segment."
  )
  return defaultOptions.basePath
}

const readHooks = (raw: unknown, say: Say): Options["writeHooks"] => {
  if (raw === undefined) return []
  const fix = "Write writeHooks: [(change) => …]."
  if (!Array.isArray(raw)) {
    say(`options.writeHooks is ${quoteValue(raw)}, not a list of functions.`, fix)
    return []
  }
  return raw.flatMap((hook: unknown, index) => {
    if (isFunction<Options["writeHooks"][number]>(hook)) return [hook]
    say(`options.writeHooks[${index}] is ${quoteValue(hook)}, not a function.`, fix)
    return []
  })
}

/** An origin as browsers send it: scheme, host and port, nothing after. `URL` takes `*` for a letter of a host; no browser sends it. */
export const isOrigin = (value: unknown): value is string => {
  if (typeof value !== "string" || !/^https?:\/\/[^*]+$/.test(value) || !URL.canParse(value)) return false
  return new URL(value).origin === value
}

const readCors = (raw: unknown, say: Say): Options["cors"] => {
  const usual = defaultOptions.cors
  if (raw === undefined) return usual
  if (!isBag(raw) || !Array.isArray(raw["origins"])) {
    say(`options.cors is ${quoteValue(raw)}.`, "Write cors: { origins: [\"https://app.example.com\"] }.")
    return usual
  }
  refuseUnknownKeys(raw, ["origins", "maxAgeSeconds"], "options.cors", say)
  const origins: string[] = []
  for (const [index, origin] of raw["origins"].entries()) {
    if (isOrigin(origin)) origins.push(origin)
    else {
      say(
        `options.cors.origins[${index}] is ${quoteValue(origin)}, which is not an origin.`,
        "Write scheme, host and port as browsers send them, such as \"https://app.example.com\"; there is no wildcard."
      )
    }
  }
  return {
    origins,
    maxAgeSeconds: count(raw["maxAgeSeconds"], "options.cors.maxAgeSeconds", 0, 86_400, usual.maxAgeSeconds, say)
  }
}

const readTasks = (raw: unknown, say: Say): Options["tasks"] => {
  const usual = defaultOptions.tasks
  if (raw === undefined) return usual
  if (typeof raw === "boolean") return { ...usual, mode: raw ? "on" : "off" }
  if (!isBag(raw)) {
    say(
      `options.tasks is ${quoteValue(raw)}.`,
      "Write true, false, or { ownerRoles: async ({ id, tenant }) => [roles] }."
    )
    return usual
  }
  refuseUnknownKeys(raw, ["ownerRoles", "maxImportBytes"], "options.tasks", say)
  const { ownerRoles = null } = raw
  const readsRoles = isFunction<NonNullable<Options["tasks"]["ownerRoles"]>>(ownerRoles)
  if (ownerRoles !== null && !readsRoles) {
    say(`options.tasks.ownerRoles is ${quoteValue(ownerRoles)}.`, "Write async ({ id, tenant }) => [roles].")
  }
  return {
    mode: "on",
    ownerRoles: readsRoles ? ownerRoles : null,
    maxImportBytes: count(
      raw["maxImportBytes"],
      "options.tasks.maxImportBytes",
      1_024,
      4_294_967_296,
      usual.maxImportBytes,
      say
    )
  }
}

const adminPathPattern = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/

/** Where the admin app lives. Below the API's own path it would hide routes, or be hidden by them. */
const readAdmin = (raw: unknown, basePath: unknown, say: Say): Options["admin"] => {
  const usual = defaultOptions.admin
  if (raw === undefined) return usual
  if (raw === false) return null
  if (!isBag(raw)) {
    say(`options.admin is ${quoteValue(raw)}.`, "Write admin: { path: \"/admin\" }, or false for none.")
    return usual
  }
  refuseUnknownKeys(raw, ["path", "name"], "options.admin", say)
  const { name = null, path = "/" } = raw
  if (name !== null && (typeof name !== "string" || name.trim() === "" || name.length > 100)) {
    say(`options.admin.name is ${quoteValue(name)}.`, "Write what people call the app, in at most 100 characters.")
    return usual
  }
  const first = (text: string): string => text.split("/")[1] ?? ""
  const api = first(typeof basePath === "string" ? basePath : defaultOptions.basePath)
  const own = typeof path === "string" ? first(path) : ""
  const fits = path === "/" || (typeof path === "string" && path.length <= 200 && adminPathPattern.test(path))
  if (typeof path !== "string" || !fits || ["-", api, "livez", "readyz"].includes(own)) {
    say(
      `options.admin.path is ${quoteValue(path)}.`,
      `Write / or a path such as "/admin", without a slash at its end and not below /${api}, /-, /livez or /readyz.`
    )
    return usual
  }
  return { path, name }
}

/** What is wrong with the address of a plugin's manifest, or null. */
const manifestProblem = (raw: unknown): string | null => {
  if (typeof raw !== "string" || raw.length > 2_000) return "is no address."
  if (/^\/(?![/\\])[\w./~-]+$/.test(raw)) return null
  // What else an address may hold would end the directive of the policy that names it.
  if (!/^https?:\/\/[\w.:@/~?#&=[\]-]+$/.test(raw) || !URL.canParse(raw)) return "is no http(s) URL, and no path."
  const { hash, hostname, password, protocol, search, username } = new URL(raw)
  if (username !== "" || password !== "" || hash !== "" || search !== "") return "has more than a host and a path."
  return protocol === "https:" || /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
    ? null
    : "is not https; http is for this machine."
}

const readPlugins = (raw: unknown, say: Say): readonly string[] => {
  if (raw === undefined || raw === false) return []
  const fix = "Write plugins: [\"https://plugins.example.com/map/manifest.json\"], or false."
  if (!isList(raw) || raw.length > 50) {
    say(`options.plugins is ${quoteValue(raw)}, not a list of at most 50 manifests.`, fix)
    return []
  }
  const plugins: string[] = []
  for (const [index, address] of raw.entries()) {
    const problem = plugins.includes(String(address)) ? "is listed twice." : manifestProblem(address)
    if (problem === null) plugins.push(String(address))
    else say(`options.plugins[${index}] ${problem} It is ${shownAddress(address)}.`, fix)
  }
  return plugins
}

/** Reads `options`, with every default filled in. */
export const readOptions = (raw: unknown, of: OptionsScope): Options => {
  const say: Say = (message, fix) => of.report(null, null, message, fix)
  if (raw === undefined) return defaultOptions
  if (!isBag(raw)) {
    say(`options is ${quoteValue(raw)}, not an object.`, "Write options: { statementTimeoutMs: 15000 }.")
    return defaultOptions
  }
  refuseUnknownKeys(raw, optionNames, "options", say)
  const { onUnhandledError, serverTiming, sources } = raw
  if (onUnhandledError !== undefined && typeof onUnhandledError !== "function") {
    say(`options.onUnhandledError is ${quoteValue(onUnhandledError)}.`, "Write a function: (error, context) => …")
  }
  if (serverTiming !== undefined && typeof serverTiming !== "boolean") {
    say(`options.serverTiming is ${quoteValue(serverTiming)}.`, "Write true or false.")
  }
  const bytes = (name: "maxBodyBytes" | "maxAnswerBytes" | "maxBatchBytes", least: number, most: number): number =>
    count(raw[name], `options.${name}`, least, most, defaultOptions[name], say)
  return {
    statementTimeoutMs: count(
      raw["statementTimeoutMs"],
      "options.statementTimeoutMs",
      1,
      600_000,
      defaultOptions.statementTimeoutMs,
      say
    ),
    scanGuard: readScanGuard(raw["scanGuard"], say),
    defaultAccess: choice(raw["defaultAccess"], "options.defaultAccess", ["allow", "deny"], say),
    rowPermissions: readRowPermissions(raw["rowPermissions"], of, say),
    basePath: readBasePath(raw["basePath"], say),
    writeHooks: readHooks(raw["writeHooks"], say),
    onUnhandledError: isFunction<NonNullable<Options["onUnhandledError"]>>(onUnhandledError) ? onUnhandledError : null,
    cors: readCors(raw["cors"], say),
    sources: readSources(sources, of),
    plugins: readPlugins(raw["plugins"], say),
    serverTiming: serverTiming === true,
    maxBodyBytes: bytes("maxBodyBytes", 1024, 1024 ** 3),
    // The engine's longest text is half a gigabyte, and an answer may take two or three times its bytes on the way.
    maxAnswerBytes: bytes("maxAnswerBytes", 65_536, 128 * 1024 ** 2),
    maxBatchBytes: bytes("maxBatchBytes", 65_536, 1024 ** 3),
    trustedProxies: count(raw["trustedProxies"], "options.trustedProxies", 0, 100, defaultOptions.trustedProxies, say),
    admin: readAdmin(raw["admin"], raw["basePath"], say),
    tasks: readTasks(raw["tasks"], say)
  }
}

const authNames = [
  "tenant",
  "url",
  "secret",
  "roles",
  "defaultRole",
  "signInPerMinute",
  "trustedOrigins",
  "jwksUrl",
  "issuer",
  "apps",
  "cache",
  "twoFactor",
  "passkeys",
  "oidc",
  "mail",
  "appName"
] as const satisfies readonly (keyof AuthDeclaration)[]

const roleName = /^[a-z0-9_-]+$/

const isWebUrl = (value: unknown): boolean =>
  typeof value === "string" && /^https?:\/\/./i.test(value) && URL.canParse(value)

const addressForm = "an http(s) URL without password and query"

const isAddress = (value: unknown): value is string => typeof value === "string" && isPlainUrl(value)

/** The same for all ways to write an address. */
const canonical = (url: string): string => new URL(url).href.replace(/\/+$/, "")

const readApps = (raw: unknown, auth: Bag, of: OptionsScope, say: Say): void => {
  const fix = "Write apps: [{ issuer: \"https://…\", roles: { editor: \"sales\" }, tenant: 1 }]."
  if (!Array.isArray(raw)) {
    say(`auth.apps is ${quoteValue(raw)}, not a list.`, fix)
    return
  }
  // Who issues this app's own tokens: the other auth server when keys come from one, else this app itself.
  const own = (auth["jwksUrl"] === undefined ? undefined : auth["issuer"]) ?? auth["url"]
  const hosts = new Set<string>()
  for (const [index, app] of raw.entries()) {
    const path = `auth.apps[${index}]`
    if (!isBag(app)) {
      say(`${path} is ${quoteValue(app)}, not an object.`, fix)
      continue
    }
    refuseUnknownKeys(app, ["issuer", "roles", "tenant", "keys"], path, say)
    const { issuer } = app
    if (!isAddress(issuer)) say(`${path}.issuer is ${shownAddress(issuer)}, not ${addressForm}.`, fix)
    else if (isAddress(own) && canonical(own) === canonical(issuer)) {
      say(`${path}.issuer is this app itself.`, "Remove it.")
    } else {
      const { host } = new URL(issuer)
      if (hosts.has(host)) {
        say(
          `${path}.issuer is at ${host} like another app: users of one could pass for users of the other.`,
          "Serve each app at a host of its own."
        )
      }
      hosts.add(host)
    }
    if (!isBag(app["roles"])) say(`${path}.roles is ${quoteValue(app["roles"])}.`, fix)
    else {
      for (const [role, local] of Object.entries(app["roles"])) {
        const names = typeof local === "string" ? [local] : local
        if (!isTextList(names)) {
          say(`${path}.roles.${role} is ${quoteValue(local)}.`, "Name a local role, or list some.")
        } else {
          for (const name of names) {
            if (name === anonymousRole) {
              say(
                `${path}.roles.${role} is the role "${anonymousRole}", which nobody who is signed in can hold.`,
                "Name another local role, or leave it out."
              )
            } else if (of.roles !== null && !of.roles.has(name)) {
              say(`${path}.roles.${role} names the role "${name}", which is not declared.`, didYouMean(name, of.roles))
            }
          }
        }
      }
    }
    refuseTenant(app["tenant"], path, say)
  }
}

const refuseTenant = (raw: unknown, path: string, say: Say): void => {
  if (raw === undefined || (typeof raw === "string" && raw !== "") || Number.isSafeInteger(raw)) return
  say(`${path}.tenant is ${quoteValue(raw)}.`, "Write a text of at least one character or a whole number.")
}

/** Checks `auth` as far as it can be without an environment. */
export const checkAuth = (raw: unknown, of: OptionsScope): AuthSettings | null => {
  if (raw === undefined) return null
  const say: Say = (message, fix) => of.report(null, null, message, fix)
  if (!isBag(raw)) {
    say("auth is not an object.", "Write auth: { tenant: 1 }.")
    return null
  }
  refuseUnknownKeys(raw, authNames, "auth", say)
  if (!isTenantSource(raw["tenant"])) refuseTenant(raw["tenant"], "auth", say)
  const { jwksUrl } = raw
  for (const name of ["url", "issuer"] as const) {
    if (raw[name] !== undefined && !isAddress(raw[name])) {
      say(
        `auth.${name} is ${shownAddress(raw[name])}, not ${addressForm}.`,
        "Write an address such as \"https://admin.example.com\"."
      )
    }
  }
  if (jwksUrl !== undefined && !isWebUrl(jwksUrl)) {
    say(
      `auth.jwksUrl is ${shownAddress(jwksUrl)}, not an http(s) URL.`,
      "Write an address such as \"https://admin.example.com/api/auth/jwks\"."
    )
  }
  const { secret, roles, defaultRole } = raw
  if (secret !== undefined && (typeof secret !== "string" || secret.length < 32)) {
    say("auth.secret is too short.", "Use 32 random bytes in base64, best from the variable AUTH_SECRET.")
  }
  if (roles !== undefined && !isTextList(roles)) {
    say(`auth.roles is ${quoteValue(roles)}, not a list of roles.`, "Write roles: [\"admin\", \"sales\"].")
  } else if (roles !== undefined) {
    for (const role of roles) {
      if (!roleName.test(role)) say(`auth.roles has ${quoteValue(role)}.`, "Use lower-case letters, digits, _ and -.")
    }
  }
  if (defaultRole !== undefined) {
    const choices = new Set(["admin", ...(isTextList(roles) ? roles : ["user"])])
    if (typeof defaultRole !== "string" || !choices.has(defaultRole)) {
      say(
        `auth.defaultRole is ${quoteValue(defaultRole)}, which accounts cannot have.`,
        didYouMean(defaultRole, choices)
      )
    }
  }
  count(raw["signInPerMinute"], "auth.signInPerMinute", 1, 10_000, 5, say)
  const origins = raw["trustedOrigins"]
  if (origins !== undefined && !isTextList(origins)) {
    say(
      `auth.trustedOrigins is ${quoteValue(origins)}, not a list of origins.`,
      "Write trustedOrigins: [\"https://admin.example.com\"]."
    )
  } else {
    for (const [index, origin] of (origins ?? []).entries()) {
      if (isOriginPattern(origin)) continue
      say(
        `auth.trustedOrigins[${index}] is ${shownAddress(origin)}, which is not an origin.`,
        "Write scheme, host and port alone, such as \"https://app.example.com\" or \"https://*.example.com\"."
      )
    }
  }
  if (raw["apps"] !== undefined) readApps(raw["apps"], raw, of, say)
  if (raw["twoFactor"] !== undefined && typeof raw["twoFactor"] !== "boolean") {
    say(`auth.twoFactor is ${quoteValue(raw["twoFactor"])}.`, "Write true or false.")
  }
  const { url } = raw
  const passkeys = readPasskeys(raw["passkeys"], isAddress(url) ? url : null)
  if (Result.isFailure(passkeys)) {
    say(
      passkeys.failure.message,
      "Write passkeys: true, or { rpName: \"…\", rpId: \"example.org\", origins: [\"https://…\"] }."
    )
  }
  const mails = readAccountMails(raw["mail"])
  if (Result.isFailure(mails)) {
    say(`auth.${mails.failure.message}`, "Write mail: true, or { passwordReset: true, invitations: true }.")
  }
  const { appName } = raw
  if (appName !== undefined && (typeof appName !== "string" || appName.trim() === "")) {
    say(`auth.appName is ${quoteValue(appName)}.`, "Write the name that people know, such as \"Shop administration\".")
  }
  // The default role may follow from the declared roles. The auth server checks it once they are known.
  const providers = readProviders(raw["oidc"], typeof defaultRole === "string" ? defaultRole : "user")
  if (Result.isFailure(providers)) {
    say(
      providers.failure.message,
      "Write oidc: [{ id: \"corp\", issuer: \"https://…\", clientId: \"…\", clientSecret: \"…\" }]."
    )
  }
  const { cache } = raw
  if (cache !== undefined && !isBag(cache)) {
    say(`auth.cache is ${quoteValue(cache)}.`, "Write cache: { refreshMs: 600000 }.")
  } else if (cache !== undefined) {
    refuseUnknownKeys(cache, ["refreshMs", "minReloadMs"], "auth.cache", say)
    count(cache["refreshMs"], "auth.cache.refreshMs", 1, 86_400_000, 600_000, say)
    count(cache["minReloadMs"], "auth.cache.minReloadMs", 0, 86_400_000, 30_000, say)
  }
  const { tenant, ...rest } = raw as AuthDeclaration
  return tenant === undefined || typeof tenant === "object" ? rest : { ...rest, tenant }
}

/** Settings of accounts, which only a service that keeps them reads. */
const accountNames = [
  "defaultRole",
  "signInPerMinute",
  "trustedOrigins",
  "twoFactor",
  "passkeys",
  "oidc",
  "mail",
  "appName"
] as const satisfies readonly (keyof AuthDeclaration)[]

/** Settings of how this service judges tokens. */
const tokenNames = [
  "tenant",
  "jwksUrl",
  "issuer",
  "apps",
  "cache"
] as const satisfies readonly (keyof AuthDeclaration)[]

/**
 * Refuses settings that nothing reads because somebody else says who is calling. Whoever writes `twoFactor: true` believes that sign-in is
 * protected by it.
 */
export const refuseIdleAuth = (auth: unknown, authenticate: unknown, say: Say): void => {
  if (!isBag(auth)) return
  const own = typeof authenticate === "function"
  if (!own && !isWebUrl(auth["jwksUrl"])) return
  const idle = [...(own ? tokenNames : []), ...accountNames].filter((name) =>
    auth[name] !== undefined && !(name === "tenant" && isTenantSource(auth[name]))
  )
  if (idle.length === 0) return
  const [them, mean] = idle.length === 1 ? ["it", "means"] : ["them", "mean"]
  say(
    `${idle.map((name) => `auth.${name}`).join(", ")} ${mean} nothing beside ${
      own ? "authenticate, which alone says who is calling" : "auth.jwksUrl, as another server keeps the accounts"
    }.`,
    own
      ? `Remove ${them}, or authenticate${auth["tenant"] === undefined ? "" : "; give the tenant in its answer"}.`
      : `Remove ${them}, or auth.jwksUrl.`
  )
}
