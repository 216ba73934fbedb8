import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { vi } from "vitest"
import type { Caller } from "../../core/domain/access/caller.ts"
import type { TokensService } from "../../core/ports/tokens.ts"
import { type Authenticator, type Identity, KeysUnavailable, Refused, tokensOf, Unauthorized } from "./authenticator.ts"

const request = { method: "GET", url: "http://localhost/", headers: new Headers() }
const ann: Identity = { user: { id: "u1", roles: ["sales"] }, tenant: 7 }
const throwing = (cause: unknown): Authenticator => () => {
  throw cause
}

/** The caller of the request, if it is known without a wait. */
const callerAtOnce = (tokens: TokensService): Caller => Effect.runSync(tokens.authenticate(request))

describe("the tokens port over an authenticator", () => {
  it("answers a known identity without waiting, always as the same caller", () => {
    const tokens = tokensOf(() => ann)
    const caller = callerAtOnce(tokens)
    expect(caller).toEqual({ id: "u1", roles: ["sales"], tenant: "7" })
    expect(callerAtOnce(tokens)).toBe(caller)
  })

  it("gives another caller once the identity says something else", () => {
    const roles = ["sales", "admin"]
    const identity: { user: { id: string; roles: readonly string[] }; tenant?: number } = { user: { id: "u1", roles } }
    const tokens = tokensOf(() => identity)
    const caller = () => callerAtOnce(tokens)
    const first = caller()
    roles.pop()
    expect(caller()).toEqual({ id: "u1", roles: ["sales"], tenant: null })
    expect(first.roles).toEqual(["sales", "admin"])
    identity.tenant = 8
    expect(caller().tenant).toBe("8")
    identity.user = { id: "u2", roles: [] }
    expect(caller()).toEqual({ id: "u2", roles: [], tenant: "8" })
    expect(caller()).toBe(caller())
  })

  it("takes an empty tenant for none", () => {
    const tokens = tokensOf(() => ({ ...ann, tenant: "" }))
    expect(callerAtOnce(tokens).tenant).toBe(null)
  })

  it.effect("waits for an identity that must be looked up", () =>
    Effect.gen(function*() {
      const tokens = tokensOf(() => Promise.resolve({ user: { id: "u2", roles: [] } }))
      expect(yield* tokens.authenticate(request)).toEqual({ id: "u2", roles: [], tenant: null })
    }))

  it.effect("gives up an authenticator that never answers, as keys that cannot be read", () =>
    Effect.gen(function*() {
      // The time is a timer's and not that of Effect's clock, because a promise is waited for.
      yield* Effect.acquireRelease(
        Effect.sync(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })),
        () => Effect.sync(() => void vi.useRealTimers())
      )
      const asked = yield* Effect.forkChild(tokensOf(() => new Promise(() => {})).authenticate(request), {
        startImmediately: true
      })
      yield* Effect.promise(() => vi.advanceTimersByTimeAsync(30_000))
      const ended = yield* Fiber.await(asked)
      expect(Exit.isFailure(ended) && ended.cause.reasons[0]).toMatchObject({ error: { reason: "KeysUnavailable" } })
    }))

  it.effect.each<readonly [cause: Error, reason: string]>([
    [new Unauthorized("no"), "Unauthenticated"],
    [new Refused("no"), "Refused"],
    [new KeysUnavailable("no"), "KeysUnavailable"]
  ])("turns %s into %s, thrown or rejected", ([cause, reason]) =>
    Effect.gen(function*() {
      for (const authenticator of [throwing(cause), () => Promise.reject(cause)]) {
        const exit = yield* Effect.exit(tokensOf(authenticator).authenticate(request))
        expect(Exit.isFailure(exit) && exit.cause.reasons[0]).toMatchObject({
          _tag: "Fail",
          error: { reason, why: "no" }
        })
      }
    }))

  it.effect("lets nobody in when the authenticator breaks: that is a defect, not an anonymous caller", () =>
    Effect.gen(function*() {
      const broken = new TypeError("broken")
      for (const authenticator of [throwing(broken), () => Promise.reject(broken)]) {
        const exit = yield* Effect.exit(tokensOf(authenticator).authenticate(request))
        expect(Exit.isFailure(exit) && exit.cause.reasons[0]).toMatchObject({ _tag: "Die", defect: broken })
      }
    }))
})
