import { describe, expect, it } from "vitest"
import { errorText, isReadOnly, leftToOthers } from "./failure.ts"

describe("a job that is left to others", () => {
  const now = 1_000_000_000
  it.each([
    // A twentieth of its wait, within five seconds and five minutes.
    [0, 5_000],
    [100_000, 5_000],
    [200_000, 10_000],
    [6_000_000, 300_000],
    [60_000_000, 300_000],
    // A clock that went back since.
    [-10_000, 5_000]
  ])("for %i ms is there again after %i ms", (waited, wait) => {
    expect(leftToOthers(now, now - waited, "away").time.getTime() - now).toBe(wait)
  })
})

describe("the error of a job", () => {
  it("is what the database can hold", () => {
    expect(errorText(new Error("a\0b\ud800c"))).toBe("ab\ufffdc")
    expect(errorText(new Error("x".repeat(3_000)))).toHaveLength(2_000)
    // The second half of the last character is past the end.
    expect(errorText(new Error(`${"x".repeat(1_999)}😀`))).toBe(`${"x".repeat(1_999)}\ufffd`)
    expect(errorText(new TypeError(""))).toBe("TypeError")
    expect(errorText("\0")).toBe("The job failed without a message.")
  })

  it("is that of a database without writes, however deep it is", () => {
    const refused = Object.assign(new Error("cannot execute"), { code: "25006" })
    expect(isReadOnly(refused)).toBe(true)
    expect(isReadOnly(new Error("outer", { cause: { reason: refused } }))).toBe(true)
    expect(isReadOnly(new Error("outer", { cause: new Error("25006") }))).toBe(false)
    const circle: { cause?: unknown } = {}
    circle.cause = circle
    expect(isReadOnly(circle)).toBe(false)
  })
})
