import { describe, expect, it } from "vitest"
import { isHttpDate, rangeOf } from "./range.ts"

const modified = "Tue, 03 Mar 2026 10:00:00 GMT"
const ask = (header: string | null, ifRange: string | null = null, size = 10) =>
  rangeOf(header, ifRange, size, "\"v1\"", modified)

describe("the part of a file that a Range header asks for", () => {
  it.each<readonly [string | null, ReturnType<typeof rangeOf>]>([
    [null, null],
    ["bytes=0-0", { start: 0, end: 0 }],
    ["bytes=9-", { start: 9, end: 9 }],
    ["bytes=2-99", { start: 2, end: 9 }],
    ["bytes=-3", { start: 7, end: 9 }],
    ["bytes=-99", { start: 0, end: 9 }],
    ["bytes=10-", "unsatisfiable"],
    ["bytes=-0", "unsatisfiable"],
    ["bytes=5-4", null],
    ["bytes=0-1,3-4", null],
    ["bytes=-", null],
    ["lines=0-1", null]
  ])("%s", (header, expected) => {
    expect(ask(header)).toEqual(expected)
  })

  it("is the whole file for a version that is no longer there", () => {
    expect(ask("bytes=0-1", "\"v1\"")).toEqual({ start: 0, end: 1 })
    expect(ask("bytes=0-1", modified)).toEqual({ start: 0, end: 1 })
    expect(ask("bytes=0-1", "\"v0\"")).toBeNull()
  })

  it("has no byte in an empty file", () => {
    expect(ask("bytes=0-", null, 0)).toBe("unsatisfiable")
    expect(ask("bytes=-1", null, 0)).toBe("unsatisfiable")
  })
})

it("knows dates as HTTP writes them", () => {
  expect([modified, "Tue, 03 Mar 2026 10:00:00 UTC", "2026-03-03", "Tue, 99 Mar 2026 10:00:00 GMT"].map(isHttpDate))
    .toEqual([true, false, false, false])
})
