/**
 * The contract of the tokens port, one suite for every implementation: bearer tokens, and who comes of them. What a signed token may say, keys and their caches
 * are in adapters/auth; sessions and API keys in test/auth.
 */

import { expect, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { anonymousRole, type Caller } from "../../core/domain/access/caller.ts"
import { type Credentials, TokensError, type TokensService } from "../../core/ports/tokens.ts"
import { altered } from "./seal.ts"

export interface TokensHarness {
  readonly tokens: TokensService
  /** A bearer token of somebody that is valid for so many seconds. */
  readonly issue: (caller: Caller, seconds: number) => Effect.Effect<string>
  /** A token that says the same, made by somebody who may not. */
  readonly forge: (caller: Caller) => Effect.Effect<string>
  readonly pass: (seconds: number) => Effect.Effect<void>
  /** Seconds by which clocks may differ. */
  readonly tolerance: number
  /** The same service where nothing can be judged now. */
  readonly keyless: TokensService
  /** Ends the tokens of a user that were issued so far; null where nobody can. */
  readonly revoke: ((id: string) => Effect.Effect<void>) | null
  /** A valid token of somebody who may not work here; null where there is none. */
  readonly barred: Effect.Effect<string> | null
}

class Harness extends Context.Service<Harness, TokensHarness>()("test/contracts/tokens/Harness") {}

const ann: Caller = { id: "ann", roles: ["sales", "finance"], tenant: "7" }
const bob: Caller = { id: "bob", roles: [], tenant: null }

const withHeaders = (headers: { readonly [name: string]: string }, more: Partial<Credentials> = {}): Credentials => ({
  method: "GET",
  url: "http://localhost/api/v1/orders",
  headers: new Headers(headers),
  ...more
})
const bearer = (token: string): Credentials => withHeaders({ authorization: `Bearer ${token}` })

const hour = 3_600

/** Runs the suite. `can`: what the harness has besides valid and invalid tokens. */
export const tokensContract = (
  name: string,
  can: { readonly revoke: boolean; readonly bar: boolean },
  make: Effect.Effect<TokensHarness, never, Scope.Scope>
): void =>
  layer(Layer.effect(Harness, make), { excludeTestServices: true })(`tokens: ${name}`, (it) => {
    const authenticate = (credentials: Credentials) =>
      Effect.flatMap(Harness, ({ tokens }) => tokens.authenticate(credentials))
    /** Why credentials are refused, and whether their holder is told that they have expired. */
    const refusal = Effect.fnUntraced(function*(credentials: Credentials, by?: TokensService) {
      const { tokens } = yield* Harness
      const error = yield* Effect.flip((by ?? tokens).authenticate(credentials))
      expect(error).toBeInstanceOf(TokensError)
      expect(error.why).not.toBe("")
      return error.expired === true ? `${error.reason}, expired` : error.reason
    })
    const issue = (caller: Caller, seconds = hour) =>
      Effect.flatMap(Harness, (harness) => harness.issue(caller, seconds))

    it.effect("gives the caller of a valid token, with its roles and its tenant", () =>
      Effect.gen(function*() {
        for (const caller of [ann, bob]) {
          const token = yield* issue(caller)
          expect(yield* authenticate(bearer(token))).toEqual(caller)
          expect(yield* authenticate(bearer(token))).toEqual(caller)
        }
      }))

    it.effect("keeps the callers of several tokens apart", () =>
      Effect.gen(function*() {
        const callers = [ann, bob, { ...ann, tenant: "8" }, { ...ann, roles: ["sales"] }]
        const tokens = yield* Effect.forEach(callers, (caller) => issue(caller))
        for (let round = 0; round < 2; round++) {
          expect(yield* Effect.forEach(tokens, (token) => authenticate(bearer(token)), { concurrency: "unbounded" }))
            .toEqual(callers)
        }
      }))

    it.effect("gives the visitors' role to nobody", () =>
      Effect.gen(function*() {
        const token = yield* issue({ ...ann, roles: [anonymousRole, "sales"] })
        expect((yield* authenticate(bearer(token))).roles).toEqual(["sales"])
      }))

    it.effect("answers a token that is known without a wait, as the same caller", () =>
      Effect.gen(function*() {
        const { tokens } = yield* Harness
        const token = yield* issue(ann)
        const caller = yield* tokens.authenticate(bearer(token))
        for (let round = 0; round < 3; round++) {
          const known = Effect.runSyncExit(tokens.authenticate(bearer(token)))
          expect(Exit.isSuccess(known) && known.value).toBe(caller)
        }
      }))

    it.effect("gives the same to all who come with a new token at once", () =>
      Effect.gen(function*() {
        const token = yield* issue(ann)
        const all = yield* Effect.all(Array.from({ length: 20 }, () => authenticate(bearer(token))), {
          concurrency: "unbounded"
        })
        expect(all).toEqual(all.map(() => ann))
      }))

    it.effect("reads the bearer scheme in any case, and the token as it is", () =>
      Effect.gen(function*() {
        const token = yield* issue(ann)
        for (const scheme of ["bearer", "BEARER", "Bearer "]) {
          expect(yield* authenticate(withHeaders({ authorization: `${scheme} ${token}` }))).toEqual(ann)
        }
        const other = withHeaders({ Authorization: `Bearer ${token}` }, {
          method: "DELETE",
          url: "http://localhost/x?y"
        })
        expect(yield* authenticate(other)).toEqual(ann)
      }))

    it.effect("takes a token from nowhere but the header, alone", () =>
      Effect.gen(function*() {
        const token = yield* issue(ann)
        const elsewhere = [
          withHeaders({}),
          withHeaders({}, { url: `http://localhost/?access_token=${token}&token=${token}` }),
          withHeaders({ cookie: `token=${token}; authorization=Bearer ${token}` }),
          withHeaders({ "x-authorization": `Bearer ${token}` }),
          ...["", token, `Basic ${token}`, `Token ${token}`, "Bearer", "Bearer ", `Bearer${token}`, `Bearer ${token} x`]
            .map((authorization) => withHeaders({ authorization })),
          withHeaders({ authorization: `Bearer ${token}, Bearer ${token}` })
        ]
        for (const credentials of elsewhere) {
          expect(yield* refusal(credentials), JSON.stringify([...(credentials.headers as Headers)])).toBe(
            "Unauthenticated"
          )
        }
      }))

    it.effect("refuses a token that was altered, cut, extended or made of two", () =>
      Effect.gen(function*() {
        const token = yield* issue(ann)
        const other = yield* issue(bob)
        const made = [
          ...Array.from({ length: token.length }, (_, i) => altered(token, i)),
          ...[1, 2, 20].flatMap((count) => [token.slice(0, -count), token.slice(count)]),
          `${token}A`,
          `${token}=`,
          `${token}.`,
          ".",
          "..",
          "a".repeat(20_000),
          token.slice(0, Math.floor(token.length / 2)) + other.slice(Math.floor(other.length / 2))
        ]
        const parts = token.split(/[.-]/)
        const others = other.split(/[.-]/)
        for (let i = 0; i < parts.length; i++) {
          const mixed = parts.with(i, others[i]!).join(token.includes(".") ? "." : "-")
          if (mixed !== token && mixed !== other) made.push(mixed)
        }
        const reasons = yield* Effect.forEach(made, (text) => refusal(bearer(text)))
        expect(made.filter((_, i) => reasons[i] !== "Unauthenticated")).toEqual([])
        // Nobody else is refused for that.
        expect(yield* authenticate(bearer(token))).toEqual(ann)
      }))

    it.effect("refuses a token that somebody else has made", () =>
      Effect.gen(function*() {
        const { forge } = yield* Harness
        yield* authenticate(bearer(yield* issue(ann)))
        const forged = yield* forge(ann)
        for (let round = 0; round < 2; round++) expect(yield* refusal(bearer(forged))).toBe("Unauthenticated")
      }))

    it.effect("refuses a token that has expired, known or not, and says so to its holder only", () =>
      Effect.gen(function*() {
        const { pass, tolerance } = yield* Harness
        const known = yield* issue(ann, 60)
        const unseen = yield* issue(bob, 60)
        const later = yield* issue(bob, 120)
        yield* authenticate(bearer(known))
        yield* pass(59)
        expect(yield* authenticate(bearer(known))).toEqual(ann)
        yield* pass(2 + tolerance)
        for (let round = 0; round < 2; round++) {
          for (const token of [known, unseen]) {
            expect(yield* refusal(bearer(token))).toBe("Unauthenticated, expired")
            expect(yield* refusal(bearer(altered(token, token.length - 3)))).toBe("Unauthenticated")
          }
        }
        expect(yield* authenticate(bearer(later))).toEqual(bob)
        expect(yield* authenticate(bearer(yield* issue(ann)))).toEqual(ann)
      }))

    it.effect("says when nothing can be judged now, and never that a token is wrong", () =>
      Effect.gen(function*() {
        const { forge, keyless } = yield* Harness
        for (const token of [yield* issue(ann), yield* forge(ann)]) {
          expect(yield* refusal(bearer(token), keyless)).toBe("KeysUnavailable")
        }
        expect(yield* refusal(withHeaders({}), keyless)).toBe("Unauthenticated")
      }))

    // Tokens of any issuer are valid until they expire: nobody tells this service that one was revoked.
    if (can.revoke) {
      it.effect("refuses a token that was revoked, known or not, and no other", () =>
        Effect.gen(function*() {
          const { revoke } = yield* Harness
          const [known, unseen, other] = [yield* issue(ann), yield* issue(ann), yield* issue(bob)]
          yield* authenticate(bearer(known))
          yield* authenticate(bearer(other))
          yield* revoke!("ann")
          for (let round = 0; round < 2; round++) {
            for (const token of [known, unseen]) expect(yield* refusal(bearer(token))).toBe("Unauthenticated")
          }
          expect(yield* authenticate(bearer(other))).toEqual(bob)
          expect(yield* authenticate(bearer(yield* issue(ann)))).toEqual(ann)
        }))
    }

    // Such an issuer vouches for all of its users.
    if (can.bar) {
      it.effect("refuses somebody who may not work here, and says that it is not the token", () =>
        Effect.gen(function*() {
          const { barred } = yield* Harness
          const token = yield* barred!
          for (let round = 0; round < 2; round++) expect(yield* refusal(bearer(token))).toBe("Refused")
        }))
    }
  })
