/**
 * Trust in other apps' tokens (docs/guides/authentication.md#trusted-apps): which app a token claims to be from, and what that app's users are here. The claim
 * only chooses who verifies the token; it never makes it valid.
 */

import type { JWK } from "jose"
import { decodeJwt } from "jose/jwt/decode"
import { refuse } from "../../core/domain/account/account.ts"
import { isPlainUrl } from "../../core/domain/account/origin.ts"
import { shownAddress } from "../../core/domain/declare/refusal.ts"
import { type Authenticator, bearerOf, type Identity, Refused } from "./authenticator.ts"
import { makeCache } from "./cache.ts"
import { loadKeys, makeVerifier, type TokenCache } from "./jwt.ts"
import { fetchKeys, type KeySet } from "./keys.ts"

/** Another app. Its users may come with its tokens (docs/guides/authentication.md#trusted-apps). */
export interface TrustedApp {
  /** The other app's `AUTH_URL`, with or without trailing slash: issuer and audience of its tokens. */
  readonly issuer: string
  /** The app's role to the local role or roles it stands for; a role that is not listed is dropped. */
  readonly roles: { readonly [role: string]: string | readonly string[] }
  /** The tenant the app's users work in here. */
  readonly tenant?: string | number | undefined
  /** Its keys, instead of reading them from `<issuer>/api/auth/jwks`. */
  readonly keys?: KeySet | readonly JWK[] | undefined
}

/** An issuer without its trailing slash; throws when it is no http(s) URL. */
const issuerOf = (url: string): string => {
  if (isPlainUrl(url)) return url.replace(/\/+$/, "")
  throw refuse("invalid-app", `The issuer ${shownAddress(url)} is not an http(s) URL without password and query.`)
}

/** The same for all ways to write an address: case of the host, default port. */
const canonical = (issuer: string): string => new URL(issuer).href.replace(/\/+$/, "")

const appAuthenticator = (app: TrustedApp, issuer: string, cache: TokenCache | undefined): Authenticator => {
  const accepted = [issuer, `${issuer}/`]
  const { host } = new URL(issuer)
  const { keys, tenant } = app
  return makeVerifier({
    load: keys === undefined ? fetchKeys(`${issuer}/api/auth/jwks`) : loadKeys(keys),
    issuer: accepted,
    audience: accepted,
    algorithms: undefined,
    rolesClaim: "role",
    cache,
    admit: ({ roles, subject }) => {
      const local = roles.flatMap((role) => Object.hasOwn(app.roles, role) ? app.roles[role] ?? [] : [])
      if (local.length === 0) throw new Refused("the user of a trusted app has no role here")
      return {
        identity: Object.freeze({
          user: Object.freeze({ id: `${subject}@${host}`, roles: [...new Set(local)] }),
          ...(tenant === undefined ? {} : { tenant })
        })
      }
    }
  })
}

/**
 * An authenticator that accepts its own tokens and those of trusted apps. A user of an app is `<sub>@<app host>`. A user without a local
 * role is refused (403). So is an own user whose id has that form. Throws when an app is the app itself, or two apps are at one host.
 */
export const withTrustedApps = (
  own: Authenticator,
  ownIssuer: string,
  apps: readonly TrustedApp[],
  cache?: TokenCache
): Authenticator => {
  if (apps.length === 0) return own
  const self = canonical(issuerOf(ownIssuer))
  const byIssuer = new Map<string, Authenticator>()
  const hosts = new Set<string>()
  for (const app of apps) {
    const issuer = issuerOf(app.issuer)
    const { host } = new URL(issuer)
    if (canonical(issuer) === self) {
      throw refuse("invalid-app", `The app cannot trust itself: ${issuer} is its own issuer.`)
    }
    if (hosts.has(host)) {
      throw refuse("invalid-app", `Two trusted apps are at ${host}: users of one could pass for users of the other.`)
    }
    hosts.add(host)
    byIssuer.set(issuer, appAuthenticator(app, issuer, cache))
  }
  const endings = [...hosts].map((host) => `@${host}`)
  // One's own issuer may name its users as it likes, but nobody may get the records of another.
  const local = (identity: Identity): Identity => {
    if (!endings.some((ending) => identity.user.id.endsWith(ending))) return identity
    throw new Refused("the user has an id of a trusted app's users")
  }
  const ours: Authenticator = (request) => {
    const answer = own(request)
    return "then" in answer ? answer.then(local) : local(answer)
  }
  const chosen = makeCache<Authenticator>(cache?.tokens ?? 10_000)
  const choose = (token: string): Authenticator => {
    try {
      const { iss } = decodeJwt(token)
      return (typeof iss === "string" ? byIssuer.get(iss.replace(/\/$/, "")) : undefined) ?? ours
    } catch {
      // The token is not readable. The own authenticator refuses it in its own words.
      return ours
    }
  }
  return (request) => {
    const token = bearerOf(request)
    const earlier = chosen.get(token)
    if (earlier !== undefined) return earlier(request)
    const authenticator = choose(token)
    // Only verified tokens are remembered, because anybody can send long texts.
    const remember = (identity: Identity): Identity => {
      chosen.set(token, authenticator)
      return identity
    }
    const answer = authenticator(request)
    return "then" in answer ? answer.then(remember) : remember(answer)
  }
}
