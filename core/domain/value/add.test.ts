import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { addCells } from "./add.ts"
import { compareCells } from "./cell.ts"
import type { Shape } from "./kind.ts"

const integer = (bits: 16 | 32 | 64) => ({ kind: "integer", bits, optional: true }) as const
const decimal = (precision: number | null, scale: number | null) =>
  ({ kind: "decimal", precision, scale, optional: true }) as const

type Of = Shape & { readonly optional: boolean }

const added = (shape: Of, stored: string | null, delta: string): string =>
  Result.match(addCells(shape, stored, delta), {
    onSuccess: (cell) => cell,
    onFailure: ({ code, message }) => `${code}: ${message}`
  })

describe("addCells", () => {
  it.each<[Of, string, string, string]>([
    [integer(32), "5", "-1", "4"],
    [integer(32), "1", "-1", "0"],
    [integer(32), "2147483646", "1", "2147483647"],
    [integer(64), "9007199254740993", "1", "9007199254740994"],
    [integer(64), "-9223372036854775807", "-1", "-9223372036854775808"],
    [decimal(12, 2), "0.10", "0.20", "0.30"],
    [decimal(12, 2), "0.05", "-0.10", "-0.05"],
    [decimal(12, 2), "0.05", "-0.05", "0.00"],
    [decimal(12, 2), "-1.00", "0.99", "-0.01"],
    [decimal(12, 2), "99.99", "0.01", "100.00"],
    [decimal(40, 20), "0.00000000000000000001", "1.00000000000000000000", "1.00000000000000000001"],
    [decimal(4, -2), "1200", "-1300", "-100"],
    [decimal(null, null), "16.5", "0.005", "16.505"],
    [decimal(null, null), "1", "0.50", "1.50"]
  ])("adds exactly: %o %s + %s = %s", (shape, stored, delta, result) => {
    expect(added(shape, stored, delta)).toBe(result)
  })

  it.each<[Of, string, string]>([
    [integer(16), "32767", "1"],
    [integer(32), "-2147483648", "-1"],
    [integer(64), "9223372036854775807", "1"],
    [decimal(4, 2), "99.99", "0.01"]
  ])("refuses a sum that is too large as any other value: %o %s + %s", (shape, stored, delta) => {
    expect(added(shape, stored, delta)).toMatch(/^invalid: Expected /)
  })

  it("adds nothing to what is no number", () => {
    expect(added(integer(32), null, "1")).toMatch(/^invalid: The record has no value/)
    for (const stored of ["NaN", "Infinity", "-Infinity"]) {
      expect(added(decimal(null, null), stored, "1")).toMatch(/^invalid: The stored value is no finite number/)
    }
  })

  it("does not begin sums of very many digits", () => {
    const long = "9".repeat(998)
    expect(added(decimal(null, null), long, "1")).toBe(`1${"0".repeat(998)}`)
    expect(added(decimal(null, null), `${long}99`, "1")).toMatch(/^invalid: Numbers of together more/)
    expect(added(decimal(null, null), "1", `${long}99`)).toMatch(/^invalid: Numbers of together more/)
  })

  it("gives what counting in units gives, for every pair of small decimals", () => {
    const shape = decimal(6, 2)
    const cellOf = (cents: number) => `${cents < 0 ? "-" : ""}${(Math.abs(cents) / 100).toFixed(2)}`
    for (let a = -120; a <= 120; a += 7) {
      for (let b = -120; b <= 120; b++) {
        expect(compareCells(shape, added(shape, cellOf(a), cellOf(b)), cellOf(a + b))).toBe(0)
      }
    }
  })
})
