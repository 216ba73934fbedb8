/**
 * Credentials without signatures: the fake remembers whom it has issued each one to, and accepts no other. Time passes when a test says so. For tests that
 * must not depend on what a token is made of.
 */

import * as Effect from "effect/Effect"
import { anonymousRole, type Caller } from "../../core/domain/access/caller.ts"
import { TokensError, type TokensService } from "../../core/ports/tokens.ts"

export interface FakeTokens {
  readonly service: TokensService
  /** A bearer token of somebody that is valid for so many seconds. */
  readonly issue: (caller: Caller, seconds: number) => string
  readonly pass: (seconds: number) => void
  /** Ends the tokens of a user that were issued so far. */
  readonly revoke: (id: string) => void
  /** Makes the valid tokens of a user work nowhere here. */
  readonly bar: (id: string) => void
  /** Makes it impossible to judge a token, until it is taken back. */
  readonly lose: (lost: boolean) => void
}

interface Issued {
  readonly caller: Caller
  readonly until: number
  revoked: boolean
}

const refused = (reason: TokensError["reason"], why: string, expired = false): Effect.Effect<never, TokensError> =>
  Effect.fail(new TokensError({ reason, why, ...(expired ? { expired } : {}) }))

export const makeFakeTokens = (): FakeTokens => {
  const issued = new Map<string, Issued>()
  const barred = new Set<string>()
  let lost = false
  let now = 0
  return {
    issue: (caller, seconds) => {
      const number = (issued.size + 1).toString(36).padStart(8, "0")
      const token = `t-${number}-${number}-${number}`
      const roles = caller.roles.filter((role) => role !== anonymousRole)
      issued.set(token, { caller: Object.freeze({ ...caller, roles }), until: now + seconds, revoked: false })
      return token
    },
    pass: (seconds) => {
      now += seconds
    },
    revoke: (id) => {
      for (const each of issued.values()) if (each.caller.id === id) each.revoked = true
    },
    bar: (id) => void barred.add(id),
    lose: (away) => {
      lost = away
    },
    service: {
      authenticate: ({ headers }) =>
        Effect.suspend(() => {
          const token = /^bearer +([^ ]+)$/i.exec(headers.get("authorization") ?? "")?.[1]
          if (token === undefined) return refused("Unauthenticated", "there is no bearer token")
          if (lost) return refused("KeysUnavailable", "nothing can be judged now")
          const found = issued.get(token)
          if (found === undefined) return refused("Unauthenticated", "nobody has issued this token")
          if (found.until <= now) return refused("Unauthenticated", "the token has expired", true)
          if (found.revoked) return refused("Unauthenticated", "the token was revoked")
          return barred.has(found.caller.id)
            ? refused("Refused", "the user may not work here")
            : Effect.succeed(found.caller)
        })
    }
  }
}
