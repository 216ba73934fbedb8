import { describe, expect, it } from "vitest"
import type { MetaField } from "../../client/index.ts"
import { de } from "../messages/de.ts"
import { en } from "../messages/en.ts"
import { de as entryDe } from "../messages/entry/de.ts"
import { en as entry } from "../messages/entry/en.ts"
import { makeFormats } from "../messages/formats.ts"
import type { Locale } from "../messages/locale.tsx"
import type { Path } from "../model/paths.ts"
import { readCell, several } from "./read.ts"
import { cellText } from "./text.ts"

const english: Pick<Locale, "t" | "format"> = {
  t: { ...entry, ...en },
  format: makeFormats("en-GB", { ...entry, ...en })
}
const german: typeof english = { t: { ...entryDe, ...de }, format: makeFormats("de", { ...entryDe, ...de }) }
const fieldOf = (kind: string, more: object = {}): MetaField =>
  ({ name: "f", kind, optional: true, ...more }) as unknown as MetaField
const read = (kind: string, text: string, more: object = {}, locale = english) =>
  readCell(fieldOf(kind, more), text, null, new Map(), locale)

describe("a text from a spreadsheet", () => {
  it.each<[kind: string, text: string, value: unknown, more?: object]>([
    ["boolean", "TRUE", true],
    ["boolean", " no ", false],
    ["enum", "on_hold", "on_hold", { values: ["on_hold", "ON"] }],
    ["enum", "On hold", "on_hold", { values: ["on_hold", "ON"] }],
    ["country", "Norway", "NO"],
    ["currency", "eur", "EUR"],
    ["date", "2020-02-29", "2020-02-29"],
    ["date", "29/02/2020", "2020-02-29"],
    ["integer", "9007199254740993", "9007199254740993", { bits: 64 }],
    ["decimal", "1,234.5", "1234.50", { precision: 12, scale: 2 }],
    ["text", "'=1+1", "=1+1"],
    ["text", "", null],
    ["integer", "", null]
  ])("of kind %s, %j is %j", (kind, text, value, more) => {
    expect(read(kind, text, more)).toMatchObject({ value, problem: null })
  })

  it.each<[kind: string, text: string, more?: object]>([
    ["boolean", "maybe"],
    ["enum", "off", { values: ["on_hold"] }],
    ["country", "Nowhere"],
    ["date", "2020-02-30"],
    ["text", "a\0b"],
    ["integer", "1.5"],
    ["integer", "", { optional: false }]
  ])("of kind %s, %j is refused", (kind, text, more = {}) => {
    expect(read(kind, text, more).problem).toEqual(expect.any(String))
  })

  it("is read in the language of the app", () => {
    expect(read("boolean", "WAHR", {}, german).value).toBe(true)
    expect(read("boolean", "nein", {}, german).value).toBe(false)
    expect(read("date", "31.12.2026", {}, german).value).toBe("2026-12-31")
    expect(read("decimal", "1.234,50", { precision: 12, scale: 2 }, german).value).toBe("1234.50")
  })

  it("names a related record by what was found for it, and by nothing else", () => {
    const field = fieldOf("integer", { relation: "customers" })
    const lookups = new Map([["f", new Map<string, unknown>([["Ada", 7], ["Twin", several]])]])
    const of = (text: string) => readCell(field, text, null, lookups, english)
    expect(of(" Ada ")).toEqual({ value: 7, problem: null })
    expect(of("")).toMatchObject({ value: null, problem: null })
    expect([of("Twin").problem, of("Nobody").problem]).toEqual([
      english.t.range.severalRecords,
      english.t.range.noRecord
    ])
  })
})

it.each<readonly [string, unknown]>([
  ["text", "=1+1"],
  ["text", "'=x"],
  ["text", "a\tb\n\"c\""],
  ["boolean", true],
  ["integer", "-9007199254740993"],
  ["decimal", "-0.10"],
  ["date", "2026-11-28"],
  ["timestamp", "2026-11-28T03:04:05.123456Z"],
  ["json", { a: [1, "x"] }],
  ["array", ["a", "b"]],
  ["text", null]
])("a value of kind %s is the same after it was copied and pasted: %j", (kind, value) => {
  const field = fieldOf(kind, {
    ...(kind === "integer" ? { bits: 64 } : {}),
    ...(kind === "decimal" ? { precision: 12, scale: 2 } : {}),
    ...(kind === "array" ? { items: { kind: "text" } } : {})
  })
  const text = cellText({ f: value }, { text: "f", ways: [], field, many: false } as unknown as Path)
  expect(text).not.toMatch(/^[=+@]/)
  expect(readCell(field, text, null, new Map(), english)).toMatchObject({ value, problem: null })
})
