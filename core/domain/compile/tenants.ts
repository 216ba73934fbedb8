/**
 * Reads where the tenants of a process are (`auth.tenant: fromHost(…)`), and refuses what would mix them up: two names of one tenant, a host of two tenants, and
 * settings of sign-in that are the same for all of them. It asks nobody which tenants there are.
 */

import * as Result from "effect/Result"
import {
  coversTenants,
  declaredHost,
  hostsOf,
  isTenantLabel,
  type TenantLookup,
  type Tenants
} from "../account/tenants.ts"
import { type Bag, isBag, isFunction, isTextList } from "../bag.ts"
import { quoteValue } from "../declare/refusal.ts"
import type { Models } from "../model/model.ts"
import { cellFromText } from "../value/cell.ts"
import { refuseUnknownKeys, type Say } from "./check.ts"

/** Whether `auth.tenant` is what `fromHost` or `fromPath` gives. */
export const isTenantSource = (raw: unknown): raw is Bag => isBag(raw) && raw["_tag"] === "TenantSource"

/** What tenants are read with. */
export interface TenantScope {
  /** `auth` as declared. */
  readonly auth: Bag
  readonly forms: unknown
  readonly models: Models
  /** Whether this service keeps the accounts: nobody else verifies credentials. */
  readonly keepsAccounts: boolean
  readonly say: Say
}

/** Whether a text is the only way to write a tenant: `07` and `7` would be two tenants with the same rows. */
const fitsOf = (models: Models) => {
  const fields = [...models.values()].flatMap(({ tenant }) => tenant === null ? [] : [tenant])
  return (tenant: string): boolean =>
    fields.every((field) => {
      const cell = cellFromText(field, tenant)
      return Result.isSuccess(cell) && cell.success === tenant
    })
}

const isTenant = (value: unknown): value is string | number =>
  (typeof value === "string" && value !== "" && value.length <= 255) || Number.isSafeInteger(value)

/** Tenants that are written down. */
interface Written {
  readonly hosts: ReadonlyMap<string, string>
  readonly listed: readonly string[]
}

const readWritten = (declaration: Bag, fits: Tenants["fits"], say: Say): Written => {
  const hosts = new Map<string, string>()
  const tenantIn = (raw: unknown, place: string): string | null => {
    if (!isTenant(raw)) {
      say(`${place} is ${quoteValue(raw)}.`, "Write a tenant: a text of at most 255 characters, or a whole number.")
      return null
    }
    if (fits(String(raw))) return String(raw)
    say(
      `${place} is ${quoteValue(raw)}, which is no value of the tenant columns, or another way to write one.`,
      "Write the tenant exactly as the columns hold it."
    )
    return null
  }
  const { hosts: declared, tenants } = declaration
  if (declared !== undefined && !isBag(declared)) {
    say(`auth.tenant: hosts is ${quoteValue(declared)}.`, "Write hosts: { \"acme.example.com\": 1 }.")
  }
  for (const [text, raw] of isBag(declared) ? Object.entries(declared) : []) {
    const host = declaredHost(text)
    const tenant = tenantIn(raw, `auth.tenant: hosts["${text}"]`)
    if (host === null) {
      say(
        `auth.tenant: hosts has ${quoteValue(text)}, which is no host.`,
        "Write the name alone, without scheme, port and path."
      )
    } else if (hosts.has(host)) say(`auth.tenant: hosts has ${host} twice.`, "Keep one of them.")
    else if (tenant !== null) hosts.set(host, tenant)
  }
  if (tenants !== undefined && !Array.isArray(tenants)) {
    say(`auth.tenant: tenants is ${quoteValue(tenants)}, not a list.`, "Write tenants: [\"acme\", \"globex\"].")
  }
  const listed = (Array.isArray(tenants) ? tenants : []).flatMap((raw: unknown, index) =>
    tenantIn(raw, `auth.tenant: tenants[${index}]`) ?? []
  )
  return { hosts, listed }
}

const readHosts = (declaration: Bag, fits: Tenants["fits"], say: Say): Tenants => {
  refuseUnknownKeys(declaration, ["hosts", "suffix", "tenants", "tenantOf"], "auth.tenant", say)
  const { suffix: rawSuffix, tenantOf, tenants } = declaration
  const { hosts, listed } = readWritten(declaration, fits, say)
  const suffix = typeof rawSuffix === "string" && rawSuffix.startsWith(".") ? declaredHost(rawSuffix.slice(1)) : null
  if (rawSuffix !== undefined && suffix === null) {
    say(
      `auth.tenant: suffix is ${quoteValue(rawSuffix)}.`,
      "Write what follows the tenant, such as suffix: \".admin.example.com\"."
    )
  }
  const asks = isFunction<TenantLookup>(tenantOf)
  if (tenantOf !== undefined && !asks) {
    say(
      `auth.tenant: tenantOf is ${quoteValue(tenantOf)}, not a function.`,
      "Write tenantOf: async (host) => tenant or null."
    )
  }
  if (declaration["hosts"] === undefined && rawSuffix === undefined && tenantOf === undefined) {
    say("auth.tenant: fromHost names no host.", "Write fromHost({ hosts: { \"acme.example.com\": 1 } }), or a suffix.")
  }
  const open = asks || (suffix !== null && tenants === undefined)
  const made: Tenants = {
    by: "host",
    hosts,
    suffix: suffix === null ? null : `.${suffix}`,
    prefix: "",
    lookup: asks ? tenantOf : null,
    known: open ? null : new Set([...hosts.values(), ...listed]),
    fits
  }
  for (const tenant of listed) {
    if (suffix !== null && isTenantLabel(tenant, "host")) continue
    if (asks || (rawSuffix !== undefined && suffix === null) || hostsOf(made, tenant).length > 0) continue
    say(
      `auth.tenant: the tenant ${quoteValue(tenant)} has no host.`,
      "Give it one in hosts: only letters a to z, digits and hyphens can stand before a suffix."
    )
  }
  for (const [host, tenant] of hosts) {
    const before = suffix !== null && host.endsWith(`.${suffix}`) ? host.slice(0, -suffix.length - 1) : tenant
    if (before !== tenant && listed.includes(before)) {
      say(
        `auth.tenant: ${host} is of ${quoteValue(tenant)}, and by the suffix of ${quoteValue(before)}.`,
        "Take it out of hosts."
      )
    }
  }
  return made
}

const readPaths = (declaration: Bag, fits: Tenants["fits"], say: Say): Tenants => {
  refuseUnknownKeys(declaration, ["prefix", "tenants"], "auth.tenant", say)
  const { prefix, tenants } = declaration
  const { listed } = readWritten({ tenants }, fits, say)
  const plain = typeof prefix === "string" && /^(?:\/[A-Za-z0-9_-]+)+$/.test(prefix)
  if (!plain) {
    say(`auth.tenant: prefix is ${quoteValue(prefix)}.`, "Write what precedes the tenant, such as prefix: \"/t\".")
  }
  for (const tenant of listed.filter((each) => !isTenantLabel(each, "path"))) {
    say(
      `auth.tenant: the tenant ${quoteValue(tenant)} cannot stand in a path.`,
      "Use at most 63 letters, digits, _ and -."
    )
  }
  return {
    by: "path",
    hosts: new Map(),
    suffix: null,
    prefix: plain ? prefix : "",
    lookup: null,
    known: tenants === undefined ? null : new Set(listed),
    fits
  }
}

/** Settings that are the same for all tenants and would let one of them into another. */
const refuseShared = (tenants: Tenants, { auth, forms, keepsAccounts, say }: TenantScope): void => {
  if (keepsAccounts && tenants.known === null) {
    say(
      "auth.tenant leaves open which tenants there are, and this service keeps their accounts.",
      "List them: tenants: [\"acme\", \"globex\"]. Or let another server keep the accounts: authenticate: (request) => ({ user, tenant })."
    )
  }
  if (auth["jwksUrl"] !== undefined) {
    say(
      "auth.jwksUrl says nothing about tenants, so its users would be those of every tenant.",
      "Write authenticate: jwtAuthenticator({ jwksUrl, issuer, tenantClaim: \"…\" }): its tenant is compared with the host."
    )
  }
  const { apps, mail, oidc, passkeys, trustedOrigins } = auth
  for (const [index, app] of (Array.isArray(apps) ? apps : []).entries()) {
    if (isBag(app) && app["tenant"] === undefined) {
      say(
        `auth.apps[${index}] has no tenant, so its users would be those of none.`,
        "Write the tenant that they work in."
      )
    }
  }
  for (const [index, provider] of (Array.isArray(oidc) ? oidc : []).entries()) {
    if (isBag(provider) && provider["createUsers"] === true) {
      say(
        `auth.oidc[${index}].createUsers gives people of its domains an account at every tenant whose host they open.`,
        "Remove it, and make the accounts of each tenant: service users create, or invitations."
      )
    }
  }
  if (isBag(mail) && mail["page"] !== undefined) {
    say(
      "auth.mail.page is one page for the links of all tenants, and cannot know whose they are.",
      "Remove it: links lead to the tenant's own host."
    )
  }
  if (isBag(passkeys) && passkeys["origins"] !== undefined) {
    say("auth.passkeys.origins is the same for all tenants.", "Remove it: passkeys are for the tenant's own host.")
  }
  if (isBag(forms) && forms["tenant"] !== undefined) {
    say("forms.tenant means nothing beside auth.tenant: a submission belongs to the tenant of its host.", "Remove it.")
  }
  for (const origin of isTextList(trustedOrigins) ? trustedOrigins : []) {
    if (coversTenants(tenants, origin)) {
      say(
        `auth.trustedOrigins has ${origin}, so that pages of one tenant could use sessions of another.`,
        "Remove it: a tenant's own hosts are trusted, each for itself."
      )
    }
  }
}

/** Reads `auth.tenant` where it is a source; null where it is none. */
export const readTenants = (scope: TenantScope): Tenants | null => {
  const { auth, models, say } = scope
  const { tenant: source } = auth
  if (!isTenantSource(source)) return null
  const { by, declaration } = source
  if (!isBag(declaration) || (by !== "host" && by !== "path")) {
    say(
      "auth.tenant is not what fromHost or fromPath gives.",
      "Write tenant: fromHost({ hosts: { \"acme.example.com\": 1 } })."
    )
    return null
  }
  const fits = fitsOf(models)
  const tenants = by === "host" ? readHosts(declaration, fits, say) : readPaths(declaration, fits, say)
  refuseShared(tenants, scope)
  return tenants
}
