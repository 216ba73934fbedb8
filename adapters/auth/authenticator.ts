/**
 * What an authenticator is: a function from a request's credential to an identity, and the only ways in which it may fail. The `Tokens`
 * port is made of one here. Nothing in this file accepts anybody.
 */

import * as Effect from "effect/Effect"
import { anonymousRole } from "../../core/domain/access/caller.ts"
import type { Caller } from "../../core/domain/access/caller.ts"
import { type Credentials, TokensError, type TokensService } from "../../core/ports/tokens.ts"

/** A verified user. `tenant` is absent when the user works in none. */
export interface Identity {
  readonly user: { readonly id: string; readonly roles: readonly string[] }
  readonly tenant?: string | number | undefined
}

/**
 * Verifies the credential of a request (docs/guides/authentication.md#other-issuers). Throws `Unauthorized` for anything but a valid one; an answer
 * that is already known comes without a promise.
 */
export type Authenticator = (request: Credentials) => Identity | Promise<Identity>

/** No valid credential: 401. The message is for logs and never sent. */
export class Unauthorized extends Error {
  override readonly name = "Unauthorized"
}

/** A verified credential that may not work here: 403. */
export class Refused extends Error {
  override readonly name = "Refused"
}

/** The credential was valid, and has expired (401). */
export class Expired extends Unauthorized {}

/** The credential cannot be judged now, because keys or revocations cannot be read (503). */
export class KeysUnavailable extends Error {
  override readonly name = "KeysUnavailable"
}

/** Longest bearer token that is looked at, in characters. */
const tokenLengthMax = 16_384

/** The token of `Authorization: Bearer <token>` (RFC 6750, 2.1). */
export const bearerOf = (request: Credentials): string => {
  const header = request.headers.get("authorization")
  if (header === null) throw new Unauthorized("there is no Authorization header")
  if (header.length > tokenLengthMax) throw new Unauthorized("the credential is too long")
  if (header.startsWith("Bearer ") && header.charCodeAt(7) > 32) return header.slice(7)
  const match = /^bearer +([^ ]+)$/i.exec(header)
  if (match?.[1] === undefined) throw new Unauthorized("the credential is no bearer token")
  return match[1]
}

const failed = (cause: unknown): Effect.Effect<never, TokensError> => {
  if (cause instanceof Unauthorized) {
    const expired = cause instanceof Expired
    return Effect.fail(
      new TokensError({ reason: "Unauthenticated", why: cause.message, ...(expired ? { expired } : {}) })
    )
  }
  if (cause instanceof Refused) return Effect.fail(new TokensError({ reason: "Refused", why: cause.message }))
  if (cause instanceof KeysUnavailable) {
    return Effect.fail(new TokensError({ reason: "KeysUnavailable", why: cause.message }))
  }
  return Effect.die(cause)
}

/** Longest time of an authenticator. Those of this package end sooner. */
const longestMs = 30_000

/** The answer of an authenticator, or a 503. One that never answers must not block places that other requests need. */
const inTime = <A>(answer: Promise<A>): Promise<A> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new KeysUnavailable("the authenticator did not answer in time")), longestMs)
  })
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}

const sameTexts = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, i) => text === b[i])

const isPromise = (value: Identity | Promise<Identity>): value is Promise<Identity> => "then" in value

/** The `Tokens` port over an authenticator. The same identity gives the same `Caller` object for as long as it says the same. */
export const tokensOf = (authenticator: Authenticator): TokensService => {
  const callers = new WeakMap<Identity, Caller>()
  const callerOf = (identity: Identity): Caller => {
    const { user: { id } } = identity
    const given = identity.user.roles
    // No account has the visitors' role, so an issuer that gives it to somebody gives nothing.
    const roles = given.includes(anonymousRole) ? given.filter((role) => role !== anonymousRole) : given
    // An empty text names no tenant. Otherwise everybody whose tenant was not found would share its rows.
    const tenant = identity.tenant === undefined || identity.tenant === "" ? null : String(identity.tenant)
    const last = callers.get(identity)
    if (last !== undefined && last.id === id && last.tenant === tenant && sameTexts(last.roles, roles)) return last
    const caller: Caller = Object.freeze({ id, roles: Object.freeze([...roles]), tenant })
    callers.set(identity, caller)
    return caller
  }
  /** The caller, unless the request asks for another tenant than that of the credential: one never works where the host does not say so. */
  const admitted = (request: Credentials, identity: Identity): Effect.Effect<Caller, TokensError> => {
    const caller = callerOf(identity)
    return request.tenant === undefined || request.tenant === caller.tenant
      ? Effect.succeed(caller)
      : failed(new Refused("the credential is of another tenant"))
  }
  return {
    authenticate: (request) =>
      Effect.suspend(() => {
        try {
          const answer = authenticator(request)
          return isPromise(answer)
            ? Effect.flatMap(
              Effect.result(Effect.tryPromise({ try: () => inTime(answer), catch: (cause) => cause })),
              (result) => result._tag === "Success" ? admitted(request, result.success) : failed(result.failure)
            )
            : admitted(request, answer)
        } catch (cause) {
          return failed(cause)
        }
      })
  }
}
