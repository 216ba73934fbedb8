/**
 * Where a sign-in with an identity provider may lead, and what a callback may use. It judges addresses after normalising them, lets a state
 * count once in all instances, and gives a code only to the provider that the state names. It opens no session.
 */

import { isBag } from "../../core/domain/bag.ts"
import { type Problem, problem } from "../../core/domain/problem.ts"
import type { AuthCall } from "./asked.ts"
import type { OwnCookies } from "./cookies.ts"
import { signedIn } from "./cookies.ts"
import type { Queries } from "./database.ts"
import type { Limits } from "./limits.ts"

/**
 * An address on this service as a browser resolves it, or null for one that may lead elsewhere. `/..//host` and similar paths become
 * `//host`, which is another host to a browser; so do backslashes. Percent-encoded forms count, too, because something on the way may
 * decode them.
 */
const ownAddress = (text: string, origin: string): string | null => {
  if (!text.startsWith("/") || !URL.canParse(text, origin)) return null
  const url = new URL(text, origin)
  if (url.origin !== origin || url.username !== "" || url.password !== "") return null
  const leads = (path: string): boolean => /^[/\\]{2}/.test(path) || path.includes("\\")
  let path = url.pathname
  for (let round = 0; round < 4; round++) {
    if (leads(path)) return null
    try {
      const decoded = decodeURIComponent(path)
      if (leads(decoded)) return null
      path = new URL(decoded, origin).pathname
    } catch {
      return null
    }
  }
  return `${url.pathname}${url.search}${url.hash}`
}

const addresses = [
  ["callbackURL", "INVALID_CALLBACK_URL"],
  ["errorCallbackURL", "INVALID_ERROR_CALLBACK_URL"]
] as const

const foreign = (name: string, code: string): Problem =>
  problem("access-denied", `${name} is no address of this service or of a trusted origin.`, { code })

/**
 * The addresses of a sign-in as they will be used: paths of this service, normalised, or absolute ones whose origin is trusted. Throws a `Problem`
 * for any other.
 */
export const readAddresses = (
  body: { readonly [name: string]: unknown },
  origin: string,
  trusts: (origin: string) => boolean
): { readonly [name: string]: string } =>
  Object.fromEntries(addresses.flatMap(([name, code]) => {
    const given = body[name]
    if (given === undefined || given === null || given === "") return []
    if (typeof given !== "string") throw foreign(name, code)
    if (given.startsWith("/")) {
      const own = ownAddress(given, origin)
      if (own === null) throw foreign(name, code)
      return [[name, own]]
    }
    if (!URL.canParse(given)) throw foreign(name, code)
    const url = new URL(given)
    const plain = url.username === "" && url.password === ""
    if (!plain || !trusts(url.origin === "null" ? given : url.origin)) throw foreign(name, code)
    return [[name, url.href]]
  }))

/** What a callback may say went wrong; docs/guides/authentication.md explains each. */
const causes: ReadonlySet<string> = new Set([
  "signup_disabled",
  "domain_not_allowed",
  "email_not_verified",
  "BANNED_USER",
  "invalid_code",
  "no_code",
  "issuer_mismatch",
  "unable_to_get_user_info",
  "unable_to_link_account",
  "unable_to_create_user",
  "account_not_linked",
  "state_mismatch",
  // What the provider itself may say (RFC 6749, 4.1.2.1; OpenID Connect Core 1.0, 3.1.2.6).
  "access_denied",
  "login_required",
  "consent_required",
  "interaction_required",
  "account_selection_required",
  "temporarily_unavailable"
])

const renamed: ReadonlyMap<string, string> = new Map([
  ["state_not_found", "state_mismatch"],
  ["state_security_mismatch", "state_mismatch"],
  ["nonce_binding_missing", "state_mismatch"],
  ["oauth_provider_not_found", "state_mismatch"],
  ["email_not_found", "unable_to_get_user_info"]
])

/** The code that an address says went wrong; null where it says nothing. */
const errorIn = (location: string, origin: string): string | null =>
  URL.canParse(location, origin) ? new URL(location, origin).searchParams.get("error") : null

/** An address with an error as callers may see it: a documented code, or `provider_error` for any other. It carries no text of others. */
const withError = (location: string, origin: string, code: string): string => {
  const url = new URL(location, origin)
  url.searchParams.delete("error_description")
  const plain = renamed.get(code) ?? code
  url.searchParams.set("error", causes.has(plain) ? plain : "provider_error")
  return url.origin === origin ? `${url.pathname}${url.search}${url.hash}` : url.href
}

/** A sign-in that waits for its callback. */
interface Pending {
  readonly provider: unknown
  readonly errorUrl: string
  /** Lets the same callback run again, where two first sign-ins met. */
  readonly restore: () => Promise<void>
}

interface StateRow {
  readonly value: string
  readonly expiresAt: Date
}

const stateCookie = "service.state"

/** What callbacks need. */
export interface CallbackSettings {
  readonly store: Queries
  readonly table: (name: string) => string
  readonly limits: Limits
  readonly origin: string
  readonly onError: (cause: unknown) => void
}

/**
 * Takes the state of a callback for good. Of several callbacks with it, in any instance, one gets it. `null`: there is no such state, or
 * another browser began it; better-auth then refuses it. `"used"`: another callback has it.
 */
const takeState = async (
  state: string | null,
  cookies: OwnCookies,
  { limits, origin, store, table }: CallbackSettings
): Promise<Pending | "used" | null> => {
  if (state === null || signedIn(cookies, stateCookie) !== state) return null
  const identifier = `auth-state:${state}`
  const [row] = await store.query<StateRow>(
    `select "value", "expiresAt" from ${table("verification")} where "identifier" = $1 and "expiresAt" > now()`,
    [identifier]
  )
  if (row === undefined) return null
  if (!await limits.once(`state:${state}`)) return "used"
  const value: unknown = JSON.parse(row.value)
  const { errorURL, provider } = isBag(value) ? value : {}
  return {
    provider,
    errorUrl: typeof errorURL === "string" ? errorURL : `${origin}/`,
    restore: async () => {
      await store.query(
        `insert into ${table("verification")} ("id", "identifier", "value", "expiresAt") values ($1, $2, $3, $4)`,
        [crypto.randomUUID(), identifier, row.value, row.expiresAt]
      )
    }
  }
}

/** The errors of better-auth where two first sign-ins of one person met. */
const meetings: ReadonlySet<string | null> = new Set(["unable_to_create_user", "unable_to_link_account"])

/**
 * A callback. Its state counts once, and its code goes only to its own provider. When two first sign-ins of one person meet, the later
 * one runs again and finds the account.
 */
export const callBack = async (
  ask: () => Promise<Response>,
  { cookies, search }: Pick<AuthCall, "cookies" | "search">,
  provider: string,
  trusts: (origin: string) => boolean,
  settings: CallbackSettings
): Promise<Response> => {
  const { onError, origin } = settings
  const leadTo = (location: string, headers = new Headers()): Response => {
    headers.set("location", location)
    return new Response(null, { status: 302, headers })
  }
  const query = new URLSearchParams(search)
  const pending = await takeState(query.get("state"), cookies, settings)
  if (pending === "used") return leadTo(withError("/", origin, "state_mismatch"))
  if (pending !== null && pending.provider !== provider) {
    return leadTo(withError(pending.errorUrl, origin, "state_mismatch"))
  }
  const codeIn = (answer: Response): string | null => errorIn(answer.headers.get("location") ?? "", origin)
  let response = await ask()
  if (pending !== null && meetings.has(codeIn(response))) {
    await pending.restore()
    response = await ask()
  }
  const location = response.headers.get("location")
  if (location === null) return response
  const code = codeIn(response)
  if (code === "internal_server_error" && !query.has("error")) {
    onError(new Error(`better-auth could not end the sign-in with ${provider}`))
  }
  const { origin: target } = new URL(location, origin)
  // Untrusted addresses were refused when the sign-in began, so nothing leads there.
  const safe = target === origin || trusts(target) ? location : "/"
  return leadTo(code === null ? safe : withError(safe, origin, code), new Headers(response.headers))
}
