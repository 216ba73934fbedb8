import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { makeField } from "../../../test/support/model.ts"
import { evaluate } from "../filter/evaluate.ts"
import { type FilterScope, readFilter } from "../filter/read.ts"
import type { FilterTree } from "../filter/tree.ts"
import type { Cell } from "../value/kind.ts"
import { where, type WhereValue } from "./where.ts"

const name = makeField({ name: "name" })
const total = makeField({ name: "total", kind: "decimal", optional: true }, 1)
const at = makeField({ name: "at", kind: "timestamp" }, 2)
const active = makeField({ name: "active", kind: "boolean" }, 3)
const count = makeField({ name: "count", kind: "integer" }, 4)
const ratio = makeField({ name: "ratio", kind: "float" }, 5)
const all = [name, total, at, active, count, ratio]
const scope: FilterScope = { names: new Map(all.map((field) => [field.name, field])), searched: [name], caller: true }

const read = (text: string): FilterTree => {
  const result = readFilter(text, scope)
  if (Result.isFailure(result)) throw new Error(`${text}: ${JSON.stringify(result.failure)}`)
  return result.success
}
const passes = (text: string, cells: { readonly [field: string]: Cell }): boolean =>
  evaluate(read(text), (field) => cells[field.name] ?? null, {
    caller: { id: "u1", tenant: null },
    now: 0n,
    params: []
  })

const hostile = [
  "draft",
  "",
  " ",
  "it's",
  "\"",
  "\\",
  "\\\"",
  "a\\",
  "*",
  "a*b",
  "\\*",
  "\" OR name = \"x",
  "x) OR (name:*",
  "caller.id",
  "null",
  "true",
  "a\nb\tc\r",
  "naïve 💥 é",
  "-1",
  "now() - 7d",
  "${x}",
  "`",
  "''",
  "AND",
  "a,b"
]

describe("where", () => {
  it.each(hostile)("keeps %j a value", (value) => {
    const filters = [
      where`name = ${value}`,
      where.eq("name", value),
      where`in(name, ${[value, "other"]})`,
      where.in("name", [value])
    ]
    for (const { text } of filters) {
      expect(passes(text, { name: value })).toBe(true)
      expect(passes(text, { name: `${value}x` })).toBe(false)
      expect(passes(text, { name: "x" })).toBe(false)
    }
    expect(passes(where.ne("name", value).text, { name: value })).toBe(false)
  })

  // Rules written in JavaScript, or with a cast, hand over what a record's JSON field holds, and that is what somebody wrote into it.
  it.each<[string, (stored: never) => unknown]>([
    ["a value", (stored) => where`name = ${stored}`],
    ["a condition", (stored) => where`active = true AND ${stored}`],
    ["one of a list", (stored) => where`in(name, ${[stored]})`],
    ["the value of a comparison", (stored) => where.eq("name", stored)],
    ["a filter to join", (stored) => where.and(where.eq("name", "a"), stored)],
    ["the only filter to join", (stored) => where.or(stored)],
    ["a filter to negate", (stored) => where.not(stored)]
  ])("takes no stored JSON as %s that looks like its own parts", (_, make) => {
    for (const part of [where`x) OR (count > 0`, where`true`, where.callerId, where.callerTenant]) {
      const stored = JSON.parse(JSON.stringify(part)) as never
      expect(() => make(stored)).toThrow(TypeError)
    }
  })

  it.each<[WhereValue, string, string]>([
    [5, "count", "5"],
    [-5, "count", "-5"],
    [9_007_199_254_740_993n, "count", "9007199254740993"],
    [0.1, "total", "0.1"],
    [1e21, "total", "1000000000000000000000"],
    [1.25e-7, "total", "0.000000125"],
    [-1.5e22, "total", "-15000000000000000000000"],
    [true, "active", "true"],
    [false, "active", "false"],
    [new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 600)), "at", "2026-01-02T03:04:05.6Z"],
    [1.5, "ratio", "1.5"]
  ])("writes %s as a value of its kind", (value, field, cell) => {
    expect(passes(where.eq(field, value).text, { [field]: cell })).toBe(true)
    expect(passes(where.ne(field, value).text, { [field]: cell })).toBe(false)
  })

  it("compares with the caller", () => {
    expect(read(where.eq("name", where.callerId).text)).toMatchObject({
      op: "compare",
      value: { of: "caller", value: "id" }
    })
    expect(read(where`name = ${where.callerTenant}`.text)).toMatchObject({ value: { of: "caller", value: "tenant" } })
  })

  it("groups so that each part keeps its meaning", () => {
    const a = where`name = "a" OR name = "b"`
    const b = where`active = true`
    expect(passes(where.and(a, b).text, { name: "b", active: "true" })).toBe(true)
    expect(passes(where.and(a, b).text, { name: "b", active: "false" })).toBe(false)
    expect(passes(where.or(where.and(a, b), where.isNull("total")).text, { name: "c", total: null })).toBe(true)
    expect(passes(where.not(where.or(a, b)).text, { name: "a", active: "false" })).toBe(false)
    expect(passes(where`${a} AND NOT ${b}`.text, { name: "b", active: "false" })).toBe(true)
    expect(where.and(a)).toBe(a)
  })

  it("has the other comparisons", () => {
    for (
      const [filter, passing] of [
        [where.lt("count", 5), ["4"]],
        [where.le("count", 5), ["4", "5"]],
        [where.gt("count", 5), ["6"]],
        [where.ge("count", 5), ["5", "6"]]
      ] as const
    ) {
      expect(["4", "5", "6"].filter((cell) => passes(filter.text, { count: cell }))).toEqual(passing)
    }
  })

  it("keeps the filter language's own escapes", () => {
    expect(passes(where`name = "a\*b"`.text, { name: "a*b" })).toBe(true)
    expect(passes(where`name = "a\*b"`.text, { name: "axb" })).toBe(false)
    expect(passes(where`name = "a*b"`.text, { name: "axb" })).toBe(true)
  })

  it.each<[string, () => unknown]>([
    ["null", () => where`name = ${null as unknown as string}`],
    ["undefined", () => where`name = ${undefined as unknown as string}`],
    ["NaN", () => where`count = ${Number.NaN}`],
    ["infinity", () => where.gt("count", Number.POSITIVE_INFINITY)],
    ["an invalid date", () => where.eq("at", new Date("no"))],
    ["an object", () => where`name = ${{} as unknown as string}`],
    ["a function", () => where`name = ${(() => "x") as unknown as string}`],
    ["an unknown caller value", () => where`name = ${{ _tag: "CallerValue", value: "roles" } as never}`],
    ["an empty list", () => where`in(name, ${[]})`],
    ["an empty group", () => where.and()],
    ["an empty alternative", () => where.or()],
    ["a field that is none", () => where.eq("name = \"a\" OR name", "b")],
    ["a value inside double quotes", () => where`name = "${"x"}"`],
    ["a value inside single quotes", () => where`name = 'a ${"x"} b'`],
    ["a value inside later quotes", () => where`count = ${1} AND name = "${"x"}"`],
    ["a value after a word", () => where`name = pre${"x"}`],
    ["a value before a word", () => where`name = ${"x"}post`],
    ["two values in a row", () => where`name = ${"x"}${"y"}`]
  ])("throws on %s", (_, make) => expect(make).toThrow(TypeError))
})
