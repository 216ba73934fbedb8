import { describe, expect, it } from "vitest"
import { isWaits, mostTries, readRetryAfter, retryWait, triesOf } from "./retry.ts"

const seconds = (
  tries: number,
  more: { asked?: number; ordered?: boolean; random?: number; waits?: readonly number[] } = {}
): number | null => {
  const { asked = null, ordered = false, random = 0, waits = null } = more
  const wait = retryWait({ tries, asked, ordered, random, waits })
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

  it("follows a schedule of the subscription's own, with jitter where nothing is ordered", () => {
    const waits = [1, 60, 86_400]
    expect(triesOf(waits)).toBe(4)
    expect(triesOf(null)).toBe(mostTries)
    expect([1, 2, 3, 4, 5].map((tries) => seconds(tries, { waits }))).toEqual([1, 60, 86_400, null, null])
    expect([1, 2, 3, 4].map((tries) => seconds(tries, { waits, ordered: true, random: 1 }))).toEqual([
      1,
      60,
      86_400,
      null
    ])
    expect(seconds(2, { waits, random: 1 })).toBe(66)
    expect(seconds(1, { waits, asked: 30 })).toBe(30)
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

it.each<[unknown, boolean]>([
  [[1], true],
  [Array.from({ length: 20 }, () => 86_400), true],
  [[], false],
  [Array.from({ length: 21 }, () => 1), false],
  [[0], false],
  [[86_401], false],
  [[1.5], false],
  [["5"], false],
  [[null], false],
  [{ 0: 1, length: 1 }, false],
  ["5", false],
  [null, false]
])("takes %j for a schedule: %s", (value, is) => expect(isWaits(value)).toBe(is))

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
