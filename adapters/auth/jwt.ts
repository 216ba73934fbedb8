/**
 * Verification of signed tokens: signature, algorithm, expiry, issuer, audience, and what the claims say about the user. A verified token
 * is remembered by its text until it expires. It never accepts an unsigned token, a key inside a token, or a symmetric signature that was
 * not allowed.
 */

import type { CompactJWSHeaderParameters, JWK, JWTPayload } from "jose"
import { JOSEError, JWTExpired } from "jose/errors"
import { jwtVerify } from "jose/jwt/verify"
import { saysOnce } from "../../core/domain/value/json.ts"
import { rolesOf } from "../../core/domain/value/role.ts"
import {
  type Authenticator,
  bearerOf,
  Expired,
  type Identity,
  KeysUnavailable,
  Refused,
  Unauthorized
} from "./authenticator.ts"
import { makeCache } from "./cache.ts"
import { fetchKeys, type KeyCache, type KeySet, makeKeys } from "./keys.ts"

/** Seconds by which clocks may differ. */
export const clockToleranceSeconds = 30

/** The algorithms that a public key verifies. */
export const asymmetric = [
  "EdDSA",
  "Ed25519",
  "ES256",
  "ES384",
  "ES512",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512"
]

/** Settings of the memory for keys and tokens. */
export interface TokenCache extends KeyCache {
  /** Most verified tokens remembered; default 10,000. */
  readonly tokens?: number | undefined
}

/** Whose tokens `jwtAuthenticator` accepts, and where they hold roles and tenant. */
export interface JwtOptions {
  /** Where the key set is read (one of `jwksUrl` and `keys` is needed). */
  readonly jwksUrl?: string | undefined
  readonly keys?: KeySet | readonly JWK[] | undefined
  /** Accepted `iss`; not checked when left out. */
  readonly issuer?: string | readonly string[] | undefined
  /** Accepted `aud`; not checked when left out. */
  readonly audience?: string | readonly string[] | undefined
  /** The claim that holds roles, as a comma-separated text or a list of texts; default `role`. */
  readonly rolesClaim?: string | undefined
  /** The claim that holds the tenant. Not together with `tenant`. */
  readonly tenantClaim?: string | undefined
  /** The tenant of every user. */
  readonly tenant?: string | number | undefined
  /** Accepted algorithms; default all asymmetric ones. Symmetric ones (`HS256`, …) work only when named here. */
  readonly algorithms?: readonly string[] | undefined
  readonly cache?: TokenCache | undefined
}

/** What a verified token says, before it is decided what that means here. */
export interface Claims {
  readonly subject: string
  readonly roles: readonly string[]
  readonly payload: JWTPayload
}

/** Decides about a verified token: the identity it stands for, or a throw. `counts` is asked at every use of the token. */
export type Admit = (claims: Claims) => {
  readonly identity: Identity
  readonly counts?: () => boolean | Promise<boolean>
}

interface Entry {
  readonly identity: Identity
  readonly counts: (() => boolean | Promise<boolean>) | undefined
  readonly until: number
}

interface VerifierOptions {
  readonly load: () => Promise<unknown>
  readonly issuer: string | readonly string[] | undefined
  readonly audience: string | readonly string[] | undefined
  readonly algorithms: readonly string[] | undefined
  readonly rolesClaim: string
  readonly cache: TokenCache | undefined
  /** Whether the set is one's own, which has no key before the first token. */
  readonly mayBeEmpty?: boolean
  readonly admit: Admit
}

const unsafe = /[\u0000-\u001f\u007f]/

const readSubject = (value: unknown): string => {
  if (typeof value !== "string" || value === "" || value.length > 255 || unsafe.test(value) || !value.isWellFormed()) {
    throw new Unauthorized("the token's subject is not usable")
  }
  return value
}

/** A role name has no blanks and no control characters: "admin " differs from "admin" when compared, and looks the same to a reader. */
const oddRole = /[\s\u0000-\u001f\u007f]/

/**
 * A text is split at commas, and blanks around names are ignored. Texts in a list are roles as they stand: a group with the name "x,admin"
 * is not two roles. A list with anything but texts is not trusted at all.
 */
const readRolesClaim = (value: unknown): readonly string[] => {
  const names: readonly unknown[] = typeof value === "string"
    ? rolesOf(value)
    : value === undefined || value === null
    ? []
    : Array.isArray(value)
    ? value
    : [value]
  const roles = names.filter((name): name is string => typeof name === "string" && name !== "" && !oddRole.test(name))
  if (roles.length !== names.length) throw new Unauthorized("the token's roles are not names of roles")
  return [...new Set(roles)]
}

const times = ["exp", "nbf", "iat"] as const

const isCanonical = (part: string): boolean => Buffer.from(part, "base64url").toString("base64url") === part

/** Refuses a token that two readers could read differently: other spellings of the same bytes, or a name that stands twice. */
const checkText = (token: string): void => {
  const parts = token.split(".")
  if (!parts.every(isCanonical)) throw new Unauthorized("the token is not in canonical base64url")
  for (const part of parts.slice(0, 2)) {
    if (!saysOnce(Buffer.from(part, "base64url").toString("utf8"))) {
      throw new Unauthorized("the token is no JSON, or says something twice")
    }
  }
}

const list = (value: string | readonly string[]): string | string[] => typeof value === "string" ? value : [...value]

const revoked = (): Unauthorized => new Unauthorized("the token was revoked")

/** The machinery under every JWT authenticator. */
export const makeVerifier = (options: VerifierOptions): Authenticator => {
  const { admit, audience, issuer, rolesClaim } = options
  const size = options.cache?.tokens ?? 10_000
  let cache = makeCache<Entry>(size)
  const verifying = new Map<string, Promise<Entry>>()
  const keys = makeKeys(options.load, options.cache, () => {
    cache = makeCache(size)
  }, options.mayBeEmpty)
  const checks = {
    algorithms: [...(options.algorithms ?? asymmetric)],
    clockTolerance: clockToleranceSeconds,
    requiredClaims: ["exp", "sub"],
    ...(issuer === undefined ? {} : { issuer: list(issuer) }),
    ...(audience === undefined ? {} : { audience: list(audience) })
  }

  const verify = async (token: string): Promise<Entry> => {
    // If the token's key is removed meanwhile, this memory is replaced by a new one. The token must then go into the old one.
    const memory = cache
    try {
      checkText(token)
      const { payload } = await jwtVerify(
        token,
        (header: CompactJWSHeaderParameters) => {
          const kid: unknown = header.kid
          if (kid !== undefined && typeof kid !== "string") throw new Unauthorized("the token's key id is no text")
          return keys.find(header.alg, kid)
        },
        checks
      )
      if (times.some((name) => payload[name] !== undefined && !Number.isSafeInteger(payload[name]))) {
        throw new Unauthorized("a time of the token is no whole number")
      }
      const claims: Claims = {
        subject: readSubject(payload.sub),
        roles: readRolesClaim(Object.hasOwn(payload, rolesClaim) ? payload[rolesClaim] : undefined),
        payload
      }
      const { counts, identity } = admit(claims)
      const entry: Entry = { identity, counts, until: ((payload.exp ?? 0) + clockToleranceSeconds) * 1_000 }
      memory.set(token, entry)
      return entry
    } catch (cause) {
      if (cause instanceof Unauthorized || cause instanceof Refused || cause instanceof KeysUnavailable) throw cause
      // Besides jose's own errors, a broken key or signature surfaces as a TypeError or DOMException of Web Crypto.
      if (cause instanceof JWTExpired) throw new Expired("the token has expired")
      if (cause instanceof JOSEError) throw new Unauthorized(`the token is not valid: ${cause.code}`, { cause })
      throw new Unauthorized("the token cannot be verified", { cause })
    }
  }

  const identityNow = (entry: Entry): Identity | Promise<Identity> => {
    if (entry.counts === undefined) return entry.identity
    const counts = entry.counts()
    if (counts === true) return entry.identity
    if (counts === false) throw revoked()
    return counts.then((still) => {
      if (!still) throw revoked()
      return entry.identity
    })
  }

  return (request) => {
    const token = bearerOf(request)
    const entry = cache.get(token)
    if (entry !== undefined) {
      if (entry.until > Date.now()) {
        keys.touch()
        return identityNow(entry)
      }
      cache.delete(token)
      throw new Expired("the token has expired")
    }
    let verified = verifying.get(token)
    if (verified === undefined) {
      verified = verify(token).finally(() => verifying.delete(token))
      verifying.set(token, verified)
    }
    return verified.then(identityNow)
  }
}

const isList = (keys: KeySet | readonly JWK[]): keys is readonly JWK[] => Array.isArray(keys)

/** Reads a key set given in code. */
export const loadKeys = (keys: KeySet | readonly JWK[]) => async (): Promise<unknown> => isList(keys) ? { keys } : keys

/**
 * An authenticator for tokens of any issuer (docs/guides/authentication.md#other-issuers). Throws at once when the options contradict each other.
 */
export const jwtAuthenticator = (options: JwtOptions): Authenticator => {
  const { cache, jwksUrl, keys, tenant, tenantClaim } = options
  if ((jwksUrl === undefined) === (keys === undefined)) {
    throw new Error("jwtAuthenticator needs either jwksUrl or keys.")
  }
  if (tenant !== undefined && tenantClaim !== undefined) {
    throw new Error("jwtAuthenticator takes either tenant or tenantClaim, not both.")
  }
  if (options.algorithms?.some((algorithm) => algorithm.toLowerCase() === "none") === true) {
    throw new Error("jwtAuthenticator does not accept unsigned tokens: take \"none\" out of algorithms.")
  }
  const tenantOf = (payload: JWTPayload): string | number | undefined => {
    if (tenantClaim === undefined) return tenant
    const value = Object.hasOwn(payload, tenantClaim) ? payload[tenantClaim] : undefined
    if (value === undefined || value === null || value === "") return undefined
    if (typeof value === "string" && !unsafe.test(value)) return value
    if (typeof value === "number" && Number.isSafeInteger(value)) return value
    throw new Unauthorized("the token's tenant is neither text nor a whole number")
  }
  return makeVerifier({
    load: keys === undefined ? fetchKeys(jwksUrl ?? "") : loadKeys(keys),
    issuer: options.issuer,
    audience: options.audience,
    algorithms: options.algorithms,
    rolesClaim: options.rolesClaim ?? "role",
    cache: keys === undefined ? cache : { ...cache, refreshMs: Infinity, minReloadMs: Infinity },
    admit: ({ payload, roles, subject }) => {
      const own = tenantOf(payload)
      return {
        identity: Object.freeze({
          user: Object.freeze({ id: subject, roles }),
          ...(own === undefined ? {} : { tenant: own })
        })
      }
    }
  })
}
