import { describe, expect, it } from "vitest"
import { makeCache } from "./cache.ts"

describe("a cache", () => {
  it("never holds more than its bound, and keeps what is asked for", () => {
    const cache = makeCache<number>(4)
    for (const [n, key] of ["a", "b", "c", "d", "e"].entries()) cache.set(key, n)
    // The newest generation has one, the one before it two.
    expect(["a", "b", "c", "d", "e"].map(cache.get)).toEqual([undefined, undefined, 2, 3, 4])
    for (let n = 0; n < 100; n++) {
      cache.set(`${n}`, n)
      expect(cache.get("0")).toBe(0)
    }
    expect(Array.from({ length: 100 }, (_, n) => cache.get(`${n}`)).filter((value) => value !== undefined).length)
      .toBeLessThanOrEqual(4)
  })

  it("forgets at will, whatever came since", () => {
    const cache = makeCache<number>(4)
    for (const [n, key] of ["a", "b", "c"].entries()) cache.set(key, n)
    for (const key of ["a", "c"]) cache.delete(key)
    expect(["a", "b", "c"].map(cache.get)).toEqual([undefined, 1, undefined])
  })
})
