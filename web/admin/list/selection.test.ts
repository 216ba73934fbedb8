import { describe, expect, it } from "vitest"
import { isSelected, nothing, selectedCount, sumOf, withKeys } from "./selection.ts"

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

describe("a sum", () => {
  it.each<readonly [readonly unknown[], string | null]>([
    [["12345.67", "0.33"], "12346.00"],
    [["9007199254740993", "0.001"], "9007199254740993.001"],
    [["-1.50", "0.25"], "-1.25"],
    [["0.10", "0.20"], "0.30"],
    [[1, 2, null], "3"],
    [[null], null],
    [["x"], null]
  ])("of %j is %j, exactly", (values, sum) => expect(sumOf(values)).toBe(sum))
})
