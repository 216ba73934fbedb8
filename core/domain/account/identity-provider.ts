/**
 * What makes an identity provider (OpenID Connect) acceptable, and which of its users may sign in. An account at the provider gives no
 * account here, unless that was asked for. It fetches nothing and judges no token.
 */

import * as Result from "effect/Result"
import { isBag } from "../bag.ts"
import { adminRole } from "../value/role.ts"
import { type AccountError, refuse } from "./account.ts"

/** A provider as it is configured (`auth.oidc`). */
export interface ProviderDeclaration {
  /** Its name in paths: lower-case letters, digits and `-`. The redirect address is `<AUTH_URL>/api/auth/callback/<id>`. */
  readonly id: string
  /** What people read; default the id. */
  readonly name?: string | undefined
  /** Its issuer; the rest is read from `<issuer>/.well-known/openid-configuration`. https, or http on this machine. */
  readonly issuer: string
  readonly clientId: string
  /** Left out: a public client, secured by PKCE alone. */
  readonly clientSecret?: string | undefined
  /** Default `openid email profile`. */
  readonly scopes?: readonly string[] | undefined
  /** Only verified addresses of these domains may sign in; left out: of all. */
  readonly domains?: readonly string[] | undefined
  /** Whether somebody without an account gets one, with the default role. Needs `domains`. Default: no. */
  readonly createUsers?: boolean | undefined
}

/** A provider that was checked, with its defaults. */
export interface Provider {
  readonly id: string
  readonly name: string
  /** Without a slash at its end. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly scopes: readonly string[]
  /** Null: every domain. */
  readonly domains: ReadonlySet<string> | null
  readonly createUsers: boolean
}

const idForm = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/
const domainForm = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,}$/
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
const names = ["id", "name", "issuer", "clientId", "clientSecret", "scopes", "domains", "createUsers"]

const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== ""
const isTextList = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText)

/** Whether a text is a URL that credentials may be sent to: https, or http to this machine. */
export const isSafeUrl = (value: unknown): value is string => {
  const url = typeof value === "string" ? URL.parse(value) : null
  return url !== null && url.username === "" && url.password === ""
    && (url.protocol === "https:" || (url.protocol === "http:" && loopback.test(url.hostname)))
}

const readOne = (
  raw: unknown,
  place: string,
  defaultRole: string | undefined
): Result.Result<Provider, AccountError> => {
  const wrong = (message: string) => Result.fail(refuse("invalid-provider", `${place}: ${message}`))
  if (!isBag(raw)) return wrong("is not an object; write { id, issuer, clientId, clientSecret }.")
  const { clientId, clientSecret, createUsers, domains, id, issuer, name, scopes } = raw
  const stranger = Object.keys(raw).find((key) => !names.includes(key))
  if (stranger !== undefined) return wrong(`has ${JSON.stringify(stranger)}; it may have ${names.join(", ")}.`)
  // "credential" is how an account's password is stored.
  if (typeof id !== "string" || !idForm.test(id) || id === "credential") {
    return wrong("id must be lower-case letters, digits and -, and not \"credential\".")
  }
  if (name !== undefined && !isText(name)) return wrong("name must be a text.")
  if (!isSafeUrl(issuer) || /[?#]/.test(issuer)) return wrong("issuer must be an https URL without query.")
  if (!isText(clientId)) return wrong("clientId must be a text.")
  if (clientSecret !== undefined && !isText(clientSecret)) return wrong("clientSecret must be a text, or left out.")
  if (scopes !== undefined && !isTextList(scopes)) return wrong("scopes must be a list of texts.")
  const lower = isTextList(domains) ? domains.map((domain) => domain.trim().toLowerCase()) : null
  if (
    domains !== undefined && (lower === null || lower.length === 0 || !lower.every((each) => domainForm.test(each)))
  ) {
    return wrong("domains must be a list such as [\"example.org\"].")
  }
  if (createUsers !== undefined && typeof createUsers !== "boolean") return wrong("createUsers must be true or false.")
  if (createUsers === true && lower === null) return wrong("createUsers needs domains: whose users get an account?")
  if (createUsers === true && (defaultRole === undefined || defaultRole === adminRole)) {
    return wrong("createUsers needs a default role other than admin.")
  }
  return Result.succeed({
    id,
    name: name ?? id,
    issuer: issuer.replace(/\/+$/, ""),
    clientId,
    clientSecret,
    scopes: [...new Set(["openid", ...(scopes ?? ["email", "profile"])])],
    domains: lower === null ? null : new Set(lower),
    createUsers: createUsers === true
  })
}

/** Checks the list of providers; the first mistake is the failure. */
export const readProviders = (
  raw: unknown,
  defaultRole: string | undefined
): Result.Result<readonly Provider[], AccountError> => {
  if (raw === undefined) return Result.succeed([])
  if (!Array.isArray(raw)) return Result.fail(refuse("invalid-provider", "auth.oidc is not a list of providers."))
  const providers: Provider[] = []
  for (const [index, item] of raw.entries()) {
    const read = readOne(item, `auth.oidc[${index}]`, defaultRole)
    if (Result.isFailure(read)) return Result.fail(read.failure)
    if (providers.some(({ id }) => id === read.success.id)) {
      return Result.fail(refuse("invalid-provider", `auth.oidc[${index}]: the id "${read.success.id}" is given twice.`))
    }
    providers.push(read.success)
  }
  return Result.succeed(providers)
}

/** Whether an address that the provider says it has verified may sign in through it. */
export const admitsEmail = ({ domains }: Provider, email: string): boolean => {
  const at = email.lastIndexOf("@")
  return domains === null || (at > 0 && domains.has(email.slice(at + 1).toLowerCase()))
}

/** Why a person who has an account at a provider may not come in; docs/guides/authentication.md explains each. */
export type ProvidedRefusal =
  | "oauth_provider_not_found"
  | "state_mismatch"
  | "email_not_verified"
  | "domain_not_allowed"
  | "signup_disabled"

/** A person as a provider vouches for them, and what their coming would do here. */
export interface Provided {
  /** The provider that the sign-in began with. */
  readonly began: unknown
  /** Whether the person has signed in through this provider before: then their account here is known. */
  readonly linked: boolean
  /** Whether they would get a new account. */
  readonly creates: boolean
  readonly email: string
  /** Whether the provider has verified the address. */
  readonly verified: boolean
}

/**
 * Judges a person who comes from a provider. `unless-first`: they may come, unless there is no account yet: the first one is made on the host, whatever is
 * configured.
 */
export const judgeProvided = (
  provider: Provider | undefined,
  { began, creates, email, linked, verified }: Provided
): ProvidedRefusal | "may" | "unless-first" => {
  if (provider === undefined) return "oauth_provider_not_found"
  // One provider must not end a sign-in that began with another (RFC 9700, 4.4). It would decide who its users are here.
  if (began !== provider.id) return "state_mismatch"
  if (!linked && !verified) return "email_not_verified"
  if (provider.domains !== null && !(verified && admitsEmail(provider, email))) return "domain_not_allowed"
  if (!creates) return "may"
  return provider.createUsers ? "unless-first" : "signup_disabled"
}
