import { describe, expect, it } from "vitest"
import type { MetaField } from "../../client/index.ts"
import { en } from "../messages/en.ts"
import { editText, parseText, plainNumber } from "./parse.ts"

const field = (kind: string, more: object = {}) =>
  ({ name: "x", kind, optional: false, ...more }) as unknown as MetaField
const value = (of: MetaField, text: string) => {
  const draft = parseText(of, text, en)
  return draft.problem === null ? draft.value : draft.problem
}

describe("what is typed", () => {
  it.each([
    ["1,234.50", "1234.50"],
    ["1.234,50", "1234.50"],
    ["1 234,5", "1234.5"],
    ["12,5", "12.5"],
    ["1,234", "1234"],
    ["1,234,567", "1234567"],
    ["1'234.5", "1234.5"],
    ["-7", "-7"]
  ])("as the number %j is %j", (text, plain) => expect(plainNumber(text)).toBe(plain))

  it("stays exact", () => {
    const big = field("integer", { bits: 64 })
    expect(value(big, "9223372036854775807")).toBe("9223372036854775807")
    expect(value(big, "9223372036854775808")).toBe(en.field.outOfRange("-9223372036854775808", "9223372036854775807"))
    expect(value(field("integer", { bits: 16 }), "32768")).toBe(en.field.outOfRange("-32768", "32767"))
    expect(value(field("integer"), "12")).toBe(12)
    expect(value(field("integer"), "1.5")).toBe(en.field.notWhole)
    const money = field("decimal", { precision: 12, scale: 2 })
    expect(value(money, "9999999999.99")).toBe("9999999999.99")
    expect(value(money, "12345678901")).toBe(en.field.digits(10))
    expect(value(money, "0.1")).toBe("0.10")
    expect(value(money, "-0")).toBe("0.00")
    expect(value(money, "1.999")).toBe(en.field.places(2))
    expect(value(field("decimal"), "123456789012345678901234567890.123456789")).toBe(
      "123456789012345678901234567890.123456789"
    )
  })

  it("is refused where the service would refuse it", () => {
    expect(value(field("date"), "2026-02-30")).toBe(en.field.notDate)
    expect(value(field("date"), "2024-02-29")).toBe("2024-02-29")
    expect(value(field("text", { max: 2 }), "äö😀")).toBe(en.field.tooLong("2"))
    expect(value(field("text", { max: 3 }), "äö😀")).toBe("äö😀")
    expect(value(field("uuid"), "X")).toBe(en.field.notUuid)
    expect(value(field("json"), "{")).toBe(en.field.notJson)
  })

  it("of nothing is null where that is allowed", () => {
    expect(value(field("integer", { optional: true }), " ")).toBe(null)
    expect(value(field("integer"), "")).toBe(en.field.required)
    expect(value(field("text"), "")).toBe("")
    expect(value(field("text", { optional: true }), "")).toBe(null)
  })

  it("comes back from what an input shows", () => {
    const big = field("integer", { bits: 64 })
    expect(value(big, editText(big, "9007199254740993"))).toBe("9007199254740993")
    const json = field("json")
    expect(value(json, editText(json, { a: [1, "b"] }))).toEqual({ a: [1, "b"] })
  })
})
