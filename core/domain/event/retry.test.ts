import { describe, expect, it } from "vitest"
import { mostTries, readRetryAfter, retryWait } from "./retry.ts"

const seconds = (tries: number, more: { asked?: number; ordered?: boolean; random?: number } = {}): number | null => {
  const wait = retryWait({ tries, asked: more.asked ?? null, ordered: more.ordered ?? false, random: more.random ?? 0 })
  return wait === null ? null : wait / 1_000
}

describe("retryWait", () => {
  it("follows the schedule over ten tries", () => {
    const waits = Array.from({ length: mostTries }, (_, i) => seconds(i + 1))
    expect(waits).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400, null])
    const days = waits.reduce<number>((sum, wait) => sum + (wait ?? 0), 0) / 86_400
    expect(days).toBeGreaterThan(3)
    expect(days).toBeLessThan(3.5)
  })

  it("adds at most a tenth", () => {
    expect(seconds(1, { random: 1 })).toBe(5.5)
    expect(seconds(9, { random: 1 })).toBe(95_040)
  })

  it("doubles for ordered deliveries, up to a day, without jitter", () => {
    expect(Array.from({ length: 10 }, (_, i) => seconds(i + 1, { ordered: true, random: 1 })))
      .toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1_280, null])
  })

  it.each([
    [1, 60, 60],
    [2, 60, 300],
    [1, 1e12, 86_400],
    [9, 1e12, 86_400],
    [1, 0, 5]
  ])("after try %i an asked wait of %f s gives %f s", (tries, asked, wait) => {
    expect(seconds(tries, { asked })).toBe(wait)
  })
})

const now = Date.UTC(2026, 10, 23, 8, 0, 0)

describe("readRetryAfter", () => {
  it.each([
    ["120", 120],
    [" 7 ", 7],
    ["0", 0],
    ["999999999999999", 999_999_999_999_999],
    ["Mon, 23 Nov 2026 08:01:00 GMT", 60],
    ["Monday, 23-Nov-26 08:01:00 GMT", 60],
    ["Mon Nov 23 08:01:00 2026", 60],
    ["Sun, 06 Nov 1994 08:49:37 GMT", 0],
    ["Sunday, 06-Nov-94 08:49:37 GMT", 0]
  ])("reads %s", (header, expected) => {
    expect(readRetryAfter(header, now)).toBe(expected)
  })

  it.each([
    null,
    "",
    "soon",
    "-5",
    "1.5",
    "5 minutes",
    "1e3",
    "2026-11-23T08:01:00Z",
    "Mon, 23 Foo 2026 08:01:00 GMT",
    "Mon, 40 Nov 2026 08:01:00 GMT",
    "Mon, 23 Nov 2026 08:01:00 CET",
    "99999999999999999999"
  ])("takes %s for nothing", (header) => {
    expect(readRetryAfter(header, now)).toBeNull()
  })
})
