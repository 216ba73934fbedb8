// The choice among several servers, with servers that only say what they are.
import { describe, expect, it, vi } from "vitest"
import { makeHosts, type Place, type ServerState, type Target } from "../../adapters/postgres/hosts.ts"

const primary: ServerState = { standby: false, readOnly: false }
const follower: ServerState = { standby: true, readOnly: true }
const frozen: ServerState = { standby: false, readOnly: true }
const [a, b]: readonly [Place, Place] = [{ host: "a", port: 1 }, { host: "b", port: 2 }]

/** Hosts whose servers are as `states` says; null: away. */
const hostsWith = (states: Map<Place, ServerState | null>, target: Target = "read-write") => {
  const asked: Place[] = []
  const hosts = makeHosts({
    places: [a, b],
    target,
    ask: async (place) => {
      asked.push(place)
      const state = states.get(place)
      if (state == null) throw new Error(`${place.host} is away`)
      return state
    }
  })
  return { ...hosts, asked }
}

describe("a choice among servers", () => {
  it.each<readonly [Target, ServerState | null, ServerState | null, Place | null]>([
    ["read-write", follower, primary, b],
    ["read-write", frozen, primary, b],
    ["primary", follower, frozen, b],
    ["standby", primary, follower, b],
    ["read-only", primary, frozen, b],
    ["prefer-standby", primary, follower, b],
    ["any", null, follower, b],
    // None fits: one that answers does, but not for those who want no other.
    ["read-write", null, follower, b],
    ["prefer-standby", primary, null, a],
    ["standby", primary, primary, null],
    ["read-write", null, null, null]
  ])("%s of %j and %j", async (target, first, second, expected) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    try {
      const { choose } = hostsWith(new Map([[a, first], [b, second]]), target)
      expect(await choose().catch(() => null)).toBe(expected)
    } finally {
      vi.useRealTimers()
    }
  })

  it("is kept without a question until a connection ends, and then made once for all", async () => {
    const states = new Map([[a, primary], [b, follower]])
    const hosts = hostsWith(states)
    expect(await hosts.choose()).toBe(a)
    const ended = hosts.opened(a, () => {})
    expect(await hosts.choose()).toBe(a)
    expect(hosts.asked).toEqual([a, b])
    states.set(a, null as never).set(b, primary)
    ended()
    expect(await Promise.all([hosts.choose(), hosts.choose()])).toEqual([b, b])
    expect(hosts.asked).toEqual([a, b, a, b])
  })

  it("closes connections to a server that it leaves, once there is a doubt", async () => {
    const states = new Map([[a, primary], [b, follower]])
    const hosts = hostsWith(states)
    await hosts.choose()
    const closed: string[] = []
    hosts.opened(a, () => closed.push("a"))
    hosts.doubt("read-only")
    await hosts.choose()
    expect(closed).toEqual([])
    states.set(a, follower).set(b, primary)
    await vi.waitFor(async () => {
      hosts.doubt("read-only")
      expect(await hosts.choose()).toBe(b)
    })
    expect(closed).toEqual(["a"])
  })

  it("keeps the server of now among several that fit, and hears of no doubt that is none", async () => {
    const answers = new Map<Place, () => void>()
    const asked: Place[] = []
    const hosts = makeHosts({
      places: [a, b],
      target: "standby",
      ask: (place) => {
        asked.push(place)
        return new Promise((resolve) => answers.set(place, () => resolve(follower)))
      }
    })
    const first = hosts.choose()
    answers.get(b)?.()
    expect(await first).toBe(b)
    const closed: string[] = []
    hosts.opened(b, () => closed.push("b"))
    hosts.doubt("read-only")
    expect(asked).toEqual([a, b])
    // The other one answers sooner this time.
    hosts.doubt("away")
    answers.get(a)?.()
    answers.get(b)?.()
    expect(await hosts.choose()).toBe(b)
    expect(asked).toEqual([a, b, a, b])
    expect(closed).toEqual([])
  })

  it("asks again by itself while none fits", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    try {
      const states = new Map([[a, follower], [b, follower]])
      const hosts = hostsWith(states)
      expect(await hosts.choose()).toBe(a)
      const closed: string[] = []
      hosts.opened(a, () => closed.push("a"))
      states.set(b, primary)
      await vi.advanceTimersByTimeAsync(1_000)
      expect(closed).toEqual(["a"])
      expect(await hosts.choose()).toBe(b)
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})
