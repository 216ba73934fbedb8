import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { property } from "../../../test/generators/property.ts"
import type { Random } from "../../../test/generators/random.ts"
import { cell as cellOf } from "../../../test/generators/value.ts"
import { filterFields } from "../../../test/support/filter.ts"
import { type FieldParts, makeField } from "../../../test/support/model.ts"
import type { Field } from "../model/model.ts"
import {
  cellFromJson,
  cellFromText,
  compareCells,
  jsonFromCell,
  jsonWriter,
  type ValueProblem,
  wireFromCell
} from "./cell.ts"
import { countries, currencies } from "./codes.ts"
import { compareInstants, isDate, microsFromCell, timestampCell, timestampFromMicros } from "./instant.ts"
import type { Json } from "./kind.ts"

const make = (parts: Omit<FieldParts, "name">): Field => makeField({ name: "f", ...parts })
const integer16 = make({ kind: "integer", bits: 16 })
const integer32 = make({ kind: "integer", bits: 32 })
const integer64 = make({ kind: "integer", bits: 64 })
const decimal = make({ kind: "decimal", precision: 5, scale: 2 })
const plainDecimal = make({ kind: "decimal" })
const float = make({ kind: "float" })
const boolean = make({ kind: "boolean" })
const text = make({ kind: "text", max: 3 })
const timestamp = make({ kind: "timestamp" })
const date = make({ kind: "date" })
const uuid = make({ kind: "uuid" })
const enumeration = make({ kind: "enum", values: ["draft", "paid"] })
const json = make({ kind: "json" })
const currency = make({ kind: "currency" })
const country = make({ kind: "country" })

const nested = (levels: number): Json => {
  let value: Json = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

describe("cellFromJson", () => {
  it.each<[string, Field, Json, string]>([
    ["a number", integer16, -32768, "-32768"],
    ["text", integer32, "2147483647", "2147483647"],
    ["minus zero", integer32, -0, "0"],
    ["leading zeros", integer32, "-007", "-7"],
    ["the largest exact number", integer64, 9_007_199_254_740_991, "9007199254740991"],
    ["the largest integer", integer64, "9223372036854775807", "9223372036854775807"],
    ["a decimal text", decimal, "123.4", "123.40"],
    ["a decimal with zeros", decimal, "-000.5000", "-0.50"],
    ["a decimal number", decimal, 0.1, "0.10"],
    ["a whole decimal", decimal, 999, "999.00"],
    ["minus zero as decimal", decimal, "-0.00", "0.00"],
    ["a small number", make({ kind: "decimal", precision: 12, scale: 10 }), 1.5e-7, "0.0000001500"],
    ["a large number", make({ kind: "decimal", precision: 30, scale: 0 }), 1.5e21, "1500000000000000000000"],
    ["an exponent", decimal, "-1.235e2", "-123.50"],
    ["an exponent with a plus", decimal, "0.012E+2", "1.20"],
    ["a negative exponent", decimal, "12500e-3", "12.50"],
    ["an exponent without a size", plainDecimal, "12345678901234567890.5e3", "12345678901234567890500"],
    ["a negative exponent without a size", plainDecimal, "1e-20", "0.00000000000000000001"],
    ["the longest fraction", plainDecimal, "1e-16383", `0.${"0".repeat(16_382)}1`],
    ["hundreds", make({ kind: "decimal", precision: 3, scale: -2 }), "99900", "99900"],
    ["a scale above the precision", make({ kind: "decimal", precision: 3, scale: 5 }), "0.00999", "0.00999"],
    ["an unconstrained decimal", plainDecimal, "12345678901234567890.1234567890", "12345678901234567890.1234567890"],
    ["a float", float, 1e300, "1e+300"],
    ["a boolean", boolean, false, "false"],
    ["text of the largest length", text, "a\u{1f600}b", "a\u{1f600}b"],
    ["empty text", text, "", ""],
    ["a time", timestamp, "2026-01-31T10:00:00.500+01:00", "2026-01-31T09:00:00.5Z"],
    ["a date", date, "2024-02-29", "2024-02-29"],
    ["a uuid", uuid, "123E4567-E89B-42D3-A456-426614174000", "123e4567-e89b-42d3-a456-426614174000"],
    ["an enum value", enumeration, "paid", "paid"],
    ["an object", json, { a: [1, "x", null, { b: true }] }, "{\"a\":[1,\"x\",null,{\"b\":true}]}"],
    ["deep JSON", json, nested(64), JSON.stringify(nested(64))],
    ["a currency", currency, "NOK", "NOK"],
    ["a country", country, "NO", "NO"]
  ])("accepts %s", (_, field, value, cell) => {
    expect(cellFromJson(field, value)).toEqual(Result.succeed(cell))
  })

  it.each<[string, Field, Json, ValueProblem["code"], string]>([
    ["a fraction", integer32, 1.5, "type", "integer"],
    ["a boolean for an integer", integer32, true, "type", "integer"],
    ["words for an integer", integer32, "abc", "type", "integer"],
    ["blanks around", integer32, " 1", "type", "integer"],
    ["too large for 16 bits", integer16, 32768, "invalid", "32767"],
    ["too large for 32 bits", integer32, "2147483648", "invalid", "2147483647"],
    ["too large for 64 bits", integer64, "9223372036854775808", "invalid", "9223372036854775807"],
    ["an inexact number", integer64, 9_007_199_254_740_992, "invalid", "Send it as text"],
    ["very many digits", integer64, "9".repeat(100_000), "invalid", "integer"],
    ["too many fraction digits", decimal, "1.005", "invalid", "2 after it"],
    ["too many fraction digits in a number", decimal, 1.005, "invalid", "2 after it"],
    ["too many digits", decimal, "1000", "invalid", "3 digits before the point"],
    ["an exponent without digits", decimal, "1e", "type", "decimal"],
    ["an exponent with a point", decimal, "1e2.0", "type", "decimal"],
    ["an exponent that would round", decimal, "1e-3", "invalid", "2 after it"],
    ["an exponent past what PostgreSQL holds", plainDecimal, "1e131072", "invalid", "decimal"],
    ["a fraction past what PostgreSQL holds", plainDecimal, "1e-16384", "invalid", "decimal"],
    ["an exponent past the column", decimal, "1e30", "invalid", "digits"],
    ["NaN as decimal", decimal, "NaN", "type", "decimal"],
    ["a point without digits", decimal, "1.", "type", "decimal"],
    ["no hundreds", make({ kind: "decimal", precision: 3, scale: -2 }), "150", "invalid", "none after it"],
    ["text for a float", float, "1.5", "type", "finite"],
    ["infinity", float, Infinity, "type", "finite"],
    ["text for a boolean", boolean, "true", "type", "true or false"],
    ["a number for text", text, 1, "type", "text"],
    ["long text", text, "abcd", "max", "at most 3"],
    ["NUL", text, "a\0", "invalid", "NUL"],
    ["an unpaired surrogate", text, "\ud800", "invalid", "surrogates"],
    ["no zone", timestamp, "2026-01-31T10:00:00", "invalid", "zone"],
    ["a number for a time", timestamp, 0, "type", "time"],
    ["a word for a time", timestamp, "now", "invalid", "RFC 3339"],
    ["30 February", date, "2026-02-30", "invalid", "exists"],
    ["a time for a date", date, "2026-01-31T10:00:00Z", "invalid", "date"],
    ["no uuid", uuid, "123e4567e89b42d3a456426614174000", "invalid", "UUID"],
    ["an unknown enum value", enumeration, "Paid", "enum", "\"draft\", \"paid\""],
    ["a number for an enum", enumeration, 1, "type", "\"draft\""],
    ["a lower-case currency", currency, "nok", "invalid", "ISO 4217"],
    ["a number for a currency", currency, 578, "type", "currency"],
    ["no country", country, "UK", "invalid", "ISO 3166-1"],
    ["infinity in JSON", json, [Infinity], "invalid", "range"],
    ["NUL in a JSON name", json, { "\0": 1 }, "invalid", "NUL"],
    ["a surrogate in JSON", json, [["\udc00"]], "invalid", "surrogates"],
    ["JSON that is too deep", json, nested(65), "invalid", "64"],
    ["JSON of 100,000 levels", json, nested(100_000), "invalid", "64"],
    ["null", text, null, "required", "required"]
  ])("refuses %s", (_, field, value, code, message) => {
    const answer = cellFromJson(field, value)
    expect(Result.isFailure(answer) && answer.failure.code).toBe(code)
    expect(Result.isFailure(answer) && answer.failure.message).toContain(message)
  })

  it("takes null where the field is optional", () => {
    expect(cellFromJson(make({ kind: "integer", optional: true }), null)).toEqual(Result.succeed(null))
  })
})

describe("cellFromText", () => {
  it.each<[Field, string, string]>([
    [decimal, "1.005", "1.005"],
    [decimal, "1.0050", "1.005"],
    [text, "longer than three", "longer than three"],
    [float, "1e3", "1000"],
    [boolean, "true", "true"],
    [json, "{ \"a\": 1 }", "{\"a\":1}"]
  ])("keeps what a comparison needs: %#", (field, value, cell) => {
    expect(cellFromText(field, value)).toEqual(Result.succeed(cell))
  })

  it.each(["1e-400", "-0.001E-321", "1e400"])("refuses a float that no float is near: %s", (written) => {
    const answer = cellFromText(float, written)
    expect(Result.isFailure(answer) && answer.failure.code).toBe("invalid")
  })

  it.each([["0e-400", "0"], ["-0.00", "0"], ["5e-324", "5e-324"]])("takes the float %s", (written, cell) => {
    expect(cellFromText(float, written)).toEqual(Result.succeed(cell))
  })

  it("refuses text that is no JSON", () => {
    expect(Result.isFailure(cellFromText(json, "{"))).toBe(true)
    expect(Result.isFailure(cellFromText(json, "[1e999]"))).toBe(true)
  })

  const fieldAndCell = (random: Random) => {
    const field = random.pick(filterFields)
    return { field, cell: cellOf(random, field) }
  }
  property("gives back every canonical cell, and so does its wire value", { of: fieldAndCell }, { cases: 3_000 }, (
    { of: { cell, field } }
  ) => {
    expect(cellFromText(field, cell)).toEqual(Result.succeed(cell))
    // A json null on the wire is the absence of a value.
    const wire = wireFromCell(field, cell)
    if (wire !== null) expect(cellFromJson(field, wire)).toEqual(Result.succeed(cell))
  })
})

describe("wire values", () => {
  it.each<[Field, string, Json]>([
    [integer32, "5", 5],
    [integer64, "9007199254740993", "9007199254740993"],
    [decimal, "1.50", "1.50"],
    [decimal, "NaN", "NaN"],
    [float, "1e+15", 1e15],
    [float, "-0", -0],
    [float, "NaN", "NaN"],
    [float, "-Infinity", "-Infinity"],
    [boolean, "true", true],
    [json, "{\"a\": [1, null]}", { a: [1, null] }],
    [json, "null", null],
    [
      text,
      "quote \" backslash \\ newline \n \u0001 \u{1f600} \u2028",
      "quote \" backslash \\ newline \n \u0001 \u{1f600} \u2028"
    ],
    [enumeration, "it's \"odd\"", "it's \"odd\""],
    [timestamp, "2026-01-31T09:00:00.5Z", "2026-01-31T09:00:00.5Z"],
    [date, "2026-01-31", "2026-01-31"],
    [uuid, "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-a456-426614174000"],
    [currency, "NOK", "NOK"]
  ])("%# are the same as value and as JSON text", (field, cell, wire) => {
    expect(wireFromCell(field, cell)).toEqual(wire)
    expect(JSON.parse(jsonFromCell(field, cell))).toEqual(wire)
    expect(jsonWriter(field)(cell)).toBe(jsonFromCell(field, cell))
  })

  it("writes null", () => {
    expect([wireFromCell(text, null), jsonFromCell(text, null)]).toEqual([null, "null"])
  })

  it("escapes every text as JSON does", () => {
    for (let code = 0; code < 0x10000; code++) {
      const value = `a${String.fromCharCode(code)}b`
      if (JSON.parse(jsonFromCell(text, value)) !== value) expect.fail(`U+${code.toString(16)}`)
    }
  })
})

describe("compareCells", () => {
  it.each<[string, Field, readonly string[]]>([
    ["integers", integer64, ["-10", "-9", "0", "9", "10", "9223372036854775807"]],
    ["decimals", plainDecimal, [
      "-Infinity",
      "-10.5",
      "-9.51",
      "-9.5",
      "0.00",
      "0.001",
      "9.5",
      "10.49",
      "Infinity",
      "NaN"
    ]],
    ["floats", float, ["-Infinity", "-1e+300", "-0.5", "0", "1e-7", "1e+21", "Infinity", "NaN"]],
    ["booleans", boolean, ["false", "true"]],
    ["text", text, [
      "",
      "A",
      "B",
      "a",
      "a\u0000",
      "aa",
      "b",
      "é",
      "\ud7ff",
      "\ue000",
      "\uffff",
      "\u{10000}",
      "\u{10ffff}"
    ]],
    ["times", timestamp, [
      "-infinity",
      "0100-01-01T00:00:00Z BC",
      "0044-03-15T00:00:00Z BC",
      "0044-03-16T00:00:00Z BC",
      "0001-01-01T00:00:00Z",
      "2026-01-01T00:00:00Z",
      "2026-01-01T00:00:00.000001Z",
      "2026-01-01T00:00:00.1Z",
      "2026-01-01T00:00:00.10001Z",
      "2026-01-01T00:00:01Z",
      "10000-01-01T00:00:00Z",
      "294276-01-01T00:00:00Z",
      "infinity"
    ]],
    ["dates", date, ["0001-01-01", "1999-12-31", "2000-01-01", "10000-01-01", "infinity"]],
    ["uuids", uuid, ["00000000-0000-4000-8000-000000000000", "0000000a-0000-4000-8000-000000000000"]]
  ])("orders %s", (_, field, cells) => {
    for (const [i, a] of cells.entries()) {
      for (const [j, b] of cells.entries()) {
        expect(Math.sign(compareCells(field, a, b)), `${a} and ${b}`).toBe(Math.sign(i - j))
      }
    }
  })

  it("sees equal values in different digits", () => {
    expect(compareCells(plainDecimal, "1.50", "1.5")).toBe(0)
    expect(compareCells(plainDecimal, "-1.50", "-1.5")).toBe(0)
    expect(compareCells(float, "-0", "0")).toBe(0)
    expect(compareCells(float, "NaN", "NaN")).toBe(0)
  })
})

describe("instants", () => {
  it("goes from text to microseconds and back on every day of 9,999 years", () => {
    let micros = microsFromCell("0001-01-01T00:00:00.000001Z")
    const last = microsFromCell("9999-12-31T00:00:00Z")
    // A prime number of days visits every month and every kind of year.
    for (; micros < last; micros += 89n * 86_400_000_000n) {
      const cell = timestampFromMicros(micros)
      const expected = new Date(Number((micros - 1n) / 1000n)).toISOString().slice(0, 19) + ".000001Z"
      const fine = cell === expected && microsFromCell(cell) === micros && timestampCell(cell) === cell &&
        isDate(cell.slice(0, 10))
      if (!fine) expect.fail(`${micros}: ${cell}, not ${expected}`)
    }
  })

  it("keeps microseconds before 1970", () => {
    expect(timestampFromMicros(-1n)).toBe("1969-12-31T23:59:59.999999Z")
    expect(microsFromCell("1969-12-31T23:59:59.999999Z")).toBe(-1n)
    expect(microsFromCell("1970-01-02")).toBe(86_400_000_000n)
  })

  it("stays within the years 0001 to 9999", () => {
    expect(timestampFromMicros(10n ** 20n)).toBe("9999-12-31T23:59:59.999999Z")
    expect(timestampFromMicros(-(10n ** 20n))).toBe("0001-01-01T00:00:00Z")
  })

  it("knows leap days", () => {
    const years = ["1900", "2000", "2023", "2024", "2100", "2400"]
    expect(years.filter((year) => isDate(`${year}-02-29`))).toEqual(["2000", "2024", "2400"])
    expect(
      ["2026-04-31", "2026-00-10", "2026-13-01", "2026-01-00", "26-01-01", "2026-1-01", "0000-01-01"].filter(isDate)
    ).toEqual([])
  })

  const micros = (random: Random): bigint =>
    BigInt(random.below(3)) * 1_000_000n + BigInt(random.pick([0, 1, 10, 100_000, 123_456]))
  property("orders as microseconds do", { a: micros, b: micros }, { cases: 2_000 }, ({ a, b }) => {
    expect(compareInstants(timestampFromMicros(a), timestampFromMicros(b))).toBe(a < b ? -1 : a > b ? 1 : 0)
  })
})

describe("codes", () => {
  it("are the ISO lists", () => {
    expect(countries.size).toBe(249)
    expect([...countries].every((code) => /^[A-Z]{2}$/.test(code))).toBe(true)
    expect([...currencies].every((code) => /^[A-Z]{3}$/.test(code))).toBe(true)
    // The platform knows every currency in use, and some more that are not of ISO 4217.
    const names = new Intl.DisplayNames("en", { type: "region", fallback: "none" })
    expect([...countries].filter((code) => names.of(code) === undefined)).toEqual([])
    for (const code of ["EUR", "USD", "NOK", "JPY", "CHF", "XCG", "ZWG", "XXX", "DEM", "HRK", "BGN"]) {
      expect(currencies.has(code)).toBe(true)
    }
    for (const code of ["UK", "EU", "XK", "AN", "no"]) expect(countries.has(code)).toBe(false)
    for (const code of ["ZZZ", "BTC", "eur", ""]) expect(currencies.has(code)).toBe(false)
  })
})
