import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { describe, expect, it, vi } from "vitest"
import { type Authenticator, type Identity, KeysUnavailable, Refused, tokensOf, Unauthorized } from "./authenticator.ts"

const request = { method: "GET", url: "http://localhost/", headers: new Headers() }
const ann: Identity = { user: { id: "u1", roles: ["sales"] }, tenant: 7 }
const throwing = (cause: unknown): Authenticator => () => {
  throw cause
}

describe("the tokens port over an authenticator", () => {
  it("answers a known identity without waiting, always as the same caller", () => {
    const tokens = tokensOf(() => ann)
    const caller = Effect.runSync(tokens.authenticate(request))
    expect(caller).toEqual({ id: "u1", roles: ["sales"], tenant: "7" })
    expect(Effect.runSync(tokens.authenticate(request))).toBe(caller)
  })

  it("gives another caller once the identity says something else", () => {
    const roles = ["sales", "admin"]
    const identity: { user: { id: string; roles: readonly string[] }; tenant?: number } = { user: { id: "u1", roles } }
    const tokens = tokensOf(() => identity)
    const caller = () => Effect.runSync(tokens.authenticate(request))
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
    expect(Effect.runSync(tokens.authenticate(request)).tenant).toBe(null)
  })

  it("waits for an identity that must be looked up", async () => {
    const tokens = tokensOf(() => Promise.resolve({ user: { id: "u2", roles: [] } }))
    expect(await Effect.runPromise(tokens.authenticate(request))).toEqual({ id: "u2", roles: [], tenant: null })
  })

  it("gives up an authenticator that never answers, as keys that cannot be read", async () => {
    vi.useFakeTimers()
    const exit = Effect.runPromiseExit(tokensOf(() => new Promise(() => {})).authenticate(request))
    await vi.advanceTimersByTimeAsync(30_000)
    vi.useRealTimers()
    const ended = await exit
    expect(Exit.isFailure(ended) && ended.cause.reasons[0]).toMatchObject({ error: { reason: "KeysUnavailable" } })
  })

  it.each([
    [new Unauthorized("no"), "Unauthenticated"],
    [new Refused("no"), "Refused"],
    [new KeysUnavailable("no"), "KeysUnavailable"]
  ])("turns %s into %s, thrown or rejected", async (cause, reason) => {
    for (const authenticator of [throwing(cause), () => Promise.reject(cause)]) {
      const exit = await Effect.runPromiseExit(tokensOf(authenticator).authenticate(request))
      expect(Exit.isFailure(exit) && exit.cause.reasons[0]).toMatchObject({
        _tag: "Fail",
        error: { reason, why: "no" }
      })
    }
  })

  it("lets nobody in when the authenticator breaks: that is a defect, not an anonymous caller", async () => {
    const broken = new TypeError("broken")
    for (const authenticator of [throwing(broken), () => Promise.reject(broken)]) {
      const exit = await Effect.runPromiseExit(tokensOf(authenticator).authenticate(request))
      expect(Exit.isFailure(exit) && exit.cause.reasons[0]).toMatchObject({ _tag: "Die", defect: broken })
    }
  })
})
