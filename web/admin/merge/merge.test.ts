import { describe, expect, it } from "vitest"
import { isSame, mergedChanges, mergeRows } from "./merge.ts"

describe("values", () => {
  it("take numbers and their exact texts for the same value", () => {
    expect(isSame("5", 5)).toBe(true)
    expect(isSame("9007199254740993", "9007199254740992")).toBe(false)
    expect(isSame({ a: [1] }, { a: [1] })).toBe(true)
    // Files by uri, whose links are new in each answer; a draft holds texts.
    const [one, two] = [{ uri: "a", url: "1" }, { uri: "b", url: "1" }]
    expect(isSame(one, { uri: "a", url: "2" })).toBe(true)
    expect(isSame([one, two], ["a", "b"])).toBe(true)
    expect(isSame(["b", "a"], [one, two])).toBe(false)
    expect(isSame([one], [one, two])).toBe(false)
    expect(isSame([], [one])).toBe(false)
    expect(isSame([], [])).toBe(true)
    expect(isSame(null, undefined)).toBe(true)
    expect(isSame(null, "")).toBe(false)
    expect(isSame(0, null)).toBe(false)
    expect(isSame(false, null)).toBe(false)
  })
})

describe("merging three versions", () => {
  const before = { due: "2026-11-14", note: null, status: "pending", channel: "web" }
  const current = { due: "2026-11-28", note: null, status: "paid", channel: "web" }
  const changes = { due: "2026-11-21", note: "Ring twice." }
  const rows = mergeRows(["due", "note", "status", "channel"], before, current, changes)

  it("asks only about what both changed", () => {
    expect(rows.map(({ field, overlap }) => [field, overlap])).toEqual([["due", true], ["note", false], [
      "status",
      false
    ]])
  })

  it("keeps what does not overlap, and what was chosen", () => {
    expect(mergedChanges(rows, { due: "theirs" })).toEqual({ note: "Ring twice." })
    expect(mergedChanges(rows, { due: "mine" })).toEqual({ due: "2026-11-21", note: "Ring twice." })
    expect(mergedChanges(rows, {})).toEqual({ due: "2026-11-21", note: "Ring twice." })
  })

  it("never sends what they changed and I did not", () => {
    expect(mergedChanges(rows, { status: "mine" })).not.toHaveProperty("status")
  })

  it("sends nothing where both made the same change", () => {
    const same = mergeRows(["due"], before, current, { due: "2026-11-28" })
    expect(same[0]!.overlap).toBe(false)
    expect(mergedChanges(same, {})).toEqual({})
  })
})
