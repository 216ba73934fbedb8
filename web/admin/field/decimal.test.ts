import { describe, expect, it } from "vitest"
import { averageOf, extremeOf, sumOf } from "./decimal.ts"

describe("a sum", () => {
  it.each<readonly [readonly unknown[], string | null]>([
    [["12345.67", "0.33"], "12346.00"],
    [["9007199254740993", "0.001"], "9007199254740993.001"],
    [["9007199254740993", "0.01", "-1"], "9007199254740992.01"],
    [["-1.50", "0.25"], "-1.25"],
    [["-0.05", "0.02"], "-0.03"],
    [["0.1", "0.2"], "0.3"],
    [["0.10", "0.20"], "0.30"],
    [[1, 2, null], "3"],
    [[null], null],
    [[], null],
    [["x"], null],
    [["1", "x"], null]
  ])("of %j is %j, exactly", (values, sum) => expect(sumOf(values)).toBe(sum))
})

describe("figures", () => {
  it("compare exactly", () => {
    expect(extremeOf([], "min")).toBeNull()
    expect(extremeOf(["9007199254740993.1", "9007199254740993.2", "-1"], "max")).toBe("9007199254740993.2")
    expect(extremeOf(["2", "-1.50", "-1.5"], "min")).toBe("-1.50")
  })
  it("divide", () => {
    expect(averageOf("10", 4)).toBe("2.50")
    expect(averageOf("10.000", 3)).toBe("3.333")
    expect(averageOf("-1", 3)).toBe("-0.33")
    expect(averageOf("0.05", 2)).toBe("0.03")
    expect(averageOf("-0.05", 2)).toBe("-0.03")
  })
})
