import { describe, expect, it } from "vitest"
import type { MetaField } from "../../client/index.ts"
import { en } from "../messages/en.ts"
import { operatorsOf } from "../model/conditions.ts"
import { parseLines } from "./array-lines.ts"
import { elementOf } from "./array.ts"
import { editText, parseText } from "./parse.ts"

const field = (items?: object, more: object = {}) =>
  ({
    name: "x",
    kind: "array",
    optional: true,
    max: 3,
    alias: "y",
    ...(items === undefined ? {} : { items }),
    ...more
  }) as unknown as MetaField

describe("elements of a list", () => {
  it("are a field of their own kind, with their own bounds", () => {
    const array = field({ kind: "text", max: 5 })
    expect(elementOf(array)).toMatchObject({ name: "x", kind: "text", max: 5, optional: false })
    expect(elementOf(array)).toBe(elementOf(array))
    expect(elementOf(array)).not.toHaveProperty("alias")
    expect(elementOf(field({ kind: "integer", bits: 16, nulls: true }))).toMatchObject({
      kind: "integer",
      optional: true
    })
    expect(elementOf(field({ kind: "integer" })).max).toBeUndefined()
    // What a foreign service leaves out.
    expect(elementOf(field())).toMatchObject({ kind: "text" })
    const plain = field(undefined, { kind: "text" })
    expect(elementOf(plain)).toBe(plain)
  })

  it("come a line each, and all or none", () => {
    const texts = elementOf(field({ kind: "text", max: 5 }))
    expect(parseLines(texts, "a\r\n b \n\n\tc,d\r", en)).toEqual({ value: ["a", "b", "c,d"], problem: null })
    expect(parseLines(texts, "a\ntoo long\nb", en)).toEqual({
      value: undefined,
      problem: `“too long”: ${en.field.tooLong("5")}`
    })
    const numbers = elementOf(field({ kind: "integer" }))
    expect(parseLines(numbers, "1\n1,234\n-7", en).value).toEqual([1, 1234, -7])
    expect(parseLines(numbers, "1\nx", en).problem).toContain("“x”")
    // Exact texts are read as the service reads them.
    const hosts = elementOf(field({ kind: "inet" }))
    expect(parseLines(hosts, "192.0.2.1/32\n2001:0db8::1", en).value).toEqual(["192.0.2.1", "2001:db8::1"])
    expect(parseLines(hosts, "300.0.0.1", en).problem).toContain(en.field.notLike("192.0.2.1"))
    expect(parseLines(elementOf(field({ kind: "range", of: "date" })), "[2026-01-01,2026-01-31]", en).value).toEqual([
      "[2026-01-01,2026-02-01)"
    ])
  })

  it("are asked for where they are compared, and are there or not where they are not", () => {
    expect(operatorsOf(field({ kind: "inet" }))).toEqual(["oneOf", "contains", "noneOf", "empty", "notEmpty"])
    expect(operatorsOf(field({ kind: "native", type: "point" }))).toEqual(["empty", "notEmpty"])
  })

  it("stand as JSON where the whole list is a text", () => {
    const array = field({ kind: "text" })
    expect(editText(array, ["a", null])).toBe("[\"a\",null]")
    expect(parseText(array, "[\"a\"]", en).value).toEqual(["a"])
    expect(parseText(array, "{}", en).problem).toBe(en.field.notJson)
    expect(parseText(array, "a", en).problem).toBe(en.field.notJson)
  })
})
