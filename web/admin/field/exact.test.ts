import { describe, expect, it } from "vitest"
import type { MetaField } from "../../client/index.ts"
import { en as texts } from "../messages/en.ts"
import type { Messages } from "../messages/locale.tsx"
import { exampleOf, parseField } from "./exact.ts"

const field = (kind: string, more: object = {}) =>
  ({ name: "x", kind, optional: false, ...more }) as unknown as MetaField
// Only the texts of fields are asked for.
const en = texts as unknown as Messages
const value = (of: MetaField, text: string) => {
  const draft = parseField(of, text, en)
  return draft.problem === null ? draft.value : draft.problem
}

describe("texts of exact kinds", () => {
  it.each([
    [field("time"), " 9:30 ", en.field.notLike("09:30:00")],
    [field("time"), "09:30", "09:30:00"],
    [field("interval"), "P14M", "P1Y2M"],
    [field("interval"), "2 days", en.field.notLike("P1Y2M3DT4H5M6S")],
    [field("inet"), "2001:DB8::1", "2001:db8::1"],
    [field("cidr"), "10.0.0.1/8", en.field.notLike("192.0.2.0/24")],
    [field("macaddr"), "08-00-2b-01-02-03", "08:00:2b:01:02:03"],
    [field("bytes", { max: 2 }), "AAE=", "AAE="],
    [field("bytes", { max: 2 }), "AAEC", en.field.tooManyBytes("2")],
    [field("range", { of: "integer" }), "[1,5]", "[1,6)"],
    [field("range", { of: "date" }), "[5,1]", en.field.notLike("[2026-01-01,2026-02-01)")],
    [field("money", { scale: 2 }), "1,234.5", "1234.50"],
    [field("money", { scale: 2 }), "1.234,567", en.field.places(2)],
    [field("native", { type: "point" }), "(1,2)", "(1,2)"]
  ])("%o %j", (of, text, expected) => expect(value(of, text)).toBe(expected))

  it("an empty text is no value", () => {
    expect(value(field("time"), "")).toBe(en.field.required)
    expect(value(field("range", { of: "date", optional: true }), " ")).toBeNull()
  })

  it("have a hint of their form", () => {
    expect(exampleOf(field("range", { of: "bigint" }))).toBe("[1,10)")
    expect(exampleOf(field("text"))).toBeUndefined()
    expect(exampleOf(field("constructor"))).toBeUndefined()
    expect(exampleOf(field("range", { of: "constructor" }))).toBe("[1,10)")
    expect(value(field("range", { of: "constructor" }), "[1,5]")).toBe("[1,6)")
  })
})
