// Conditions on lists: what they accept, what they refuse and how, what they keep, and that they read back as they are printed.
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { filterField, filterScope, withoutSpans } from "../../../test/support/filter.ts"
import { makeField } from "../../../test/support/model.ts"
import type { FileField } from "../model/file.ts"
import type { FieldOf } from "../model/model.ts"
import { evaluate } from "./evaluate.ts"
import { printFilter } from "./print.ts"
import { type FilterScope, readFilter } from "./read.ts"
import type { Bindings, Comparison, FilterTree } from "./tree.ts"
import { not } from "./tree.ts"

const listOf = (name: string) => filterField(name) as FieldOf<"list">
const read = (text: string, scope: FilterScope = filterScope): FilterTree =>
  Result.getOrThrowWith(readFilter(text, scope), (errors) => new Error(JSON.stringify(errors)))

const has = (name: string, ...values: readonly string[]): FilterTree => ({
  op: "has",
  field: listOf(name),
  values: values.map((text) => ({ of: "literal", text }))
})
const length = (name: string, is: Comparison, number: number): FilterTree => ({
  op: "length",
  field: listOf(name),
  is,
  number
})
const present = (name: string): FilterTree => not({ op: "null", field: listOf(name) })

describe("conditions on lists", () => {
  it.each<[string, FilterTree]>([
    ["tags:new", has("tags", "new")],
    ["tags:\"two words\"", has("tags", "two words")],
    ["tags:\"*\"", has("tags", "*")],
    ["tags:\"null\"", has("tags", "null")],
    ["tags:*", present("tags")],
    ["tags != null", present("tags")],
    ["isNull(tags)", not(present("tags"))],
    ["NOT tags:a", not(has("tags", "a"))],
    ["tags:(a OR b)", { op: "or", items: [has("tags", "a"), has("tags", "b")] }],
    ["tags:(a AND b)", { op: "and", items: [has("tags", "a"), has("tags", "b")] }],
    ["in(tags, a, 'b c')", has("tags", "a", "b c")],
    ["in(marks, 1, -2.5)", has("marks", "1.00", "-2.50")],
    ["days:2026-01-31", has("days", "2026-01-31")],
    ["days:now()", { op: "has", field: listOf("days"), values: [{ of: "now", offset: 0n }] }],
    ["states:paid", has("states", "paid")],
    ["length(tags) >= 2", length("tags", ">=", 2)],
    ["length(tags) = \"0\"", length("tags", "=", 0)],
    ["length(tags) != 3", not(length("tags", "=", 3))]
  ])("read %s", (text, tree) => {
    expect(read(text)).toEqual(tree)
    expect(withoutSpans(read(printFilter(tree)))).toEqual(tree)
  })

  it("may name the caller in rules", () => {
    const scope = { ...filterScope, caller: true }
    const tree = read("tags:caller.id", scope)
    expect(tree).toEqual({ op: "has", field: listOf("tags"), values: [{ of: "caller", value: "id" }] })
    expect(printFilter(tree)).toBe("tags:caller.id")
    expect(evaluate(tree, () => "[\"u1\"]", bindings("u1"))).toBe(true)
    expect(evaluate(tree, () => "[\"u1\"]", bindings("u2"))).toBe(false)
  })

  it.each<[string, string, string]>([
    ["tags = new", "operator", "tags:value (has the element)"],
    ["tags > new", "operator", "tags:value"],
    ["states:piad", "value", "Did you mean paid?"],
    ["days:yesterday", "value", "Expected a date"],
    ["marks:x", "value", "Expected a decimal"],
    ["tags:null", "value", "isNull(tags)"],
    ["in(marks, 1, x)", "value", "Expected a decimal"],
    ["regex(tags, 'a')", "operator", "with a text field"],
    ["length(tags)", "argument", "length(tags) >= 2"],
    ["length(tags) >= -1", "value", "from 0"],
    ["length(tags) >= x", "value", "from 0"],
    ["length(tags):2", "operator", "Use = !="],
    ["length(tags, 1) = 2", "argument", "length(tags) >= 2"],
    ["length() = 2", "argument", "length(tags) >= 2"],
    ["length(name) > 2", "operator", "with a list"],
    ["length(lacking) > 2", "unknown-field", ""],
    ["length('tags') > 2", "argument", "without quotes"],
    [`in(tags, ${Array.from({ length: 10_000 }, (_, i) => i).join(", ")})`, "limit", "Split"]
  ])("refuse %.40s", (text, code, hint) => {
    const answer = readFilter(text, filterScope)
    if (Result.isSuccess(answer)) throw new Error("It was accepted.")
    expect(answer.failure[0]!.code).toBe(code)
    expect(`${answer.failure[0]!.message} ${answer.failure[0]!.hint}`).toContain(hint)
  })

  it("leave out what stands in lists of files", () => {
    // What is said of the files does not matter here.
    const file = {} as FileField
    const files = makeField({ name: "photos", kind: "list", file })
    const scope = { ...filterScope, names: new Map([["photos", files]]) }
    for (const text of ["photos:a", "in(photos, a)", "length(photos) > 1"]) {
      expect(Result.isFailure(readFilter(text, scope))).toBe(true)
    }
    expect(read("photos:*", scope)).toEqual(not({ op: "null", field: files }))
  })
})

const bindings = (id = "u"): Bindings => ({ caller: { id, tenant: null }, now: 0n, params: [] })

describe("lists in memory", () => {
  const keeps = (text: string, cell: string | null): boolean => evaluate(read(text), () => cell, bindings())

  it("have an element by the comparison of its kind", () => {
    expect(keeps("tags:a", "[\"a\"]")).toBe(true)
    expect(keeps("tags:A", "[\"a\"]")).toBe(false)
    expect(keeps("marks:1.5", "[\"1.50\"]")).toBe(true)
    expect(keeps("in(marks, 9, 1.5, 3)", "[\"2.00\",\"1.50\",\"-1.00\"]")).toBe(true)
    expect(keeps("in(marks, 9, 1.51, 3)", "[\"2.00\",\"1.50\",\"-1.00\"]")).toBe(false)
  })

  it("may hold nulls and arrays, as a database may have them", () => {
    expect(keeps("tags:a", "[null,\"a\"]")).toBe(true)
    expect(keeps("tags:\"null\"", "[null]")).toBe(false)
    expect(keeps("tags:b", "[[\"a\",null],[\"b\",\"c\"]]")).toBe(true)
    expect(keeps("length(tags) = 4", "[[\"a\",null],[\"b\",\"c\"]]")).toBe(true)
  })

  it("that are null have no element and no length, which no negation changes", () => {
    for (const text of ["tags:a", "in(tags, a, b)", "length(tags) = 0", "length(tags) >= 0"]) {
      expect(keeps(text, null)).toBe(false)
      expect(keeps(`NOT ${text}`, null)).toBe(true)
    }
    expect(keeps("length(tags) = 0", "[]")).toBe(true)
  })
})
