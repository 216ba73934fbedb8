import { describe, expect, it } from "vitest"
import { isSelected, nothing, selectedCount, withKeys } from "./selection.ts"

describe("a selection", () => {
  it("holds keys, whatever rows they stand in", () => {
    const some = withKeys(withKeys(nothing, ["1", "2", "3"], true), ["2"], false)
    expect(["1", "2", "3"].map((key) => isSelected(some, key))).toEqual([true, false, true])
    expect(selectedCount(some, 1000)).toBe(2)
  })

  it("of all that match keeps what was taken out", () => {
    const all = withKeys({ of: "all", filter: "total > 5", except: new Set() }, ["7"], false)
    expect([isSelected(all, "7"), isSelected(all, "8"), selectedCount(all, 61_200)]).toEqual([false, true, 61_199])
    expect(isSelected(withKeys(all, ["7"], true), "7")).toBe(true)
  })
})
