import { expect, it } from "vitest"
import { fixedConnections, mostConnections, type PoolSizes, shareConnections, usualSizes } from "./connections.ts"

const none = { read: null, write: null, auth: null, jobs: null }

it("are 47 at most where nothing is set, and one more with a database for accounts", () => {
  expect(mostConnections(usualSizes, false)).toBe(47)
  expect(mostConnections(usualSizes, true)).toBe(48)
  expect(shareConnections(none, null, false).sizes).toEqual(usualSizes)
  expect(shareConnections(none, 43, false).sizes).toEqual({ ...usualSizes, short: 0 })
})

it("of three processes with a bound of 32 fit into the default of PostgreSQL", () => {
  const { sizes } = shareConnections(none, 32, false)
  expect(sizes).toEqual({ read: 6, write: 6, auth: 3, jobs: 6, short: 0 })
  expect(3 * mostConnections(sizes ?? usualSizes, false)).toBe(87)
})

it("share one bound, and keep sizes that are given", () => {
  expect(shareConnections(none, 22, false).sizes).toEqual({ read: 4, write: 4, auth: 2, jobs: 4, short: 0 })
  expect(shareConnections({ ...none, read: 8 }, 22, false).sizes).toEqual({
    read: 8,
    write: 2,
    auth: 1,
    jobs: 2,
    short: 0
  })
})

it("to replicas are each as many as for reads, and three more, within the same bound", () => {
  const { sizes } = shareConnections({ ...none, replicas: 2 }, null, false)
  expect(sizes).toEqual({ ...usualSizes, replica: 10, replicas: 2 })
  expect(mostConnections(sizes ?? usualSizes, false)).toBe(47 + 2 * 13)
  const { least } = shareConnections({ ...none, replicas: 2 }, null, false)
  expect(least).toBe(12 + 2 * 4)
  for (let bound = least; bound < 90; bound++) {
    const shared = shareConnections({ ...none, replica: bound % 2 === 0 ? 1 : null, replicas: 2 }, bound, false).sizes
    expect(mostConnections(shared ?? usualSizes, false), String(bound)).toBeLessThanOrEqual(bound)
    expect(shared?.replica).toBeGreaterThan(0)
  }
})

it("never are more than the bound, and refuse one that is too small", () => {
  const names = ["read", "write", "auth", "jobs"] as const
  for (const own of [false, true]) {
    for (let chosen = 0; chosen < 16; chosen++) {
      const given = { ...none }
      names.forEach((name, bit) => {
        if ((chosen & 2 ** bit) !== 0) Object.assign(given, { [name]: bit + 2 })
      })
      const { least } = shareConnections(given, null, own)
      for (let bound = fixedConnections(own); bound < least; bound++) {
        expect(shareConnections(given, bound, own)).toEqual({ sizes: null, least })
      }
      for (let bound = least; bound < least + 80; bound++) {
        const sizes: PoolSizes = shareConnections(given, bound, own).sizes!
        expect(mostConnections(sizes, own), JSON.stringify({ given, bound })).toBeLessThanOrEqual(bound)
        expect(Math.min(...names.map((name) => sizes[name]))).toBeGreaterThan(0)
        expect(names.every((name) => given[name] === null || given[name] === sizes[name])).toBe(true)
      }
    }
  }
})
