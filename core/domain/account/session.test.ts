import { describe, expect, it } from "vitest"
import { isOvertaken, isRecent } from "./session.ts"

describe("a session", () => {
  const now = new Date("2030-01-01T12:00:00Z")
  it.each([
    ["2030-01-01T12:00:00.000Z", true],
    ["2030-01-01T11:45:00.000Z", true],
    ["2030-01-01T11:44:59.999Z", false],
    ["2029-12-31T12:00:00.000Z", false],
    // A clock that went back since.
    ["2030-01-01T12:00:05.000Z", true],
    ["not a time", false]
  ])("that began at %s is recent: %s", (since, expected) => expect(isRecent(new Date(since), now)).toBe(expected))
})

describe("a sign-in", () => {
  it.each<[bigint | undefined, bigint | undefined, bigint, boolean]>([
    [3n, 3n, 0n, false],
    [3n, 4n, 1n, false],
    // Somebody else changed the account meanwhile.
    [3n, 4n, 0n, true],
    [3n, 5n, 1n, true],
    // The change of this request was taken back, or never came.
    [3n, 3n, 1n, true],
    [4n, 3n, 0n, true],
    // There was no such account, or there is none any more.
    [undefined, 3n, 0n, true],
    [3n, undefined, 0n, true],
    [undefined, undefined, 0n, true],
    // More than a number of JavaScript tells apart.
    [9_007_199_254_740_993n, 9_007_199_254_740_992n, 0n, true]
  ])(
    "from epoch %s to %s with %s of its own is overtaken: %s",
    (before, after, raised, expected) => expect(isOvertaken(before, after, raised)).toBe(expected)
  )
})
