import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { filterField, filterFields, filterScope, scopeOf } from "../../../test/support/filter.ts"
import { makeField, makeModel } from "../../../test/support/model.ts"
import type { Cell } from "../value/kind.ts"
import { evaluate } from "./evaluate.ts"
import { printFilter } from "./print.ts"
import { type FilterError, readFilter, type Step } from "./read.ts"
import { always, type Bindings, fieldsOf, type FilterTree, not } from "./tree.ts"

const bindings: Bindings = { caller: { id: "7", tenant: null }, now: 0n, params: [] }
const scope = scopeOf([...filterFields, makeField({ name: "other", kind: "enum", values: ["draft"] }, 40)])
const read = (text: string, at = scope): FilterTree =>
  Result.getOrThrowWith(readFilter(text, at), (errors) => new Error(JSON.stringify(errors)))
const refused = (text: string, at = scope): readonly FilterError[] => {
  const result = readFilter(text, at)
  if (Result.isSuccess(result)) expect.fail(`${text} was accepted`)
  return result.failure
}
const passes = (text: string, record: { readonly [field: string]: Cell }): boolean =>
  evaluate(read(text), (field) => record[field.name] ?? null, bindings)

describe("two fields of one record", () => {
  it("compare by a tree that names both", () => {
    const [field, other] = [filterField("total"), filterField("rate")]
    expect(read("total > field(rate)")).toEqual({ op: "pair", field, is: ">", other })
    expect(read("total != field(rate)")).toEqual(not({ op: "pair", field, is: "=", other }))
    expect([...fieldsOf(read("total > field(rate)"))]).toEqual([field, other])
    expect(read("total = field(amount)")).toEqual({ op: "pair", field, is: "=", other: filterField("count") })
    expect(read("total > field(rate) -active = true")).toMatchObject({ op: "and" })
    expect(read("total = (1 OR 2)")).toMatchObject({ op: "or" })
  })

  it.each([
    ["total > field(rate)", { total: "1.50", rate: "1.4999999999999999999999" }, true],
    ["total = field(rate)", { total: "1.50", rate: "1.5" }, true],
    ["id > field(small)", { id: "9007199254740993", small: "1" }, true],
    ["id = field(rate)", { id: "9007199254740993", rate: "9007199254740993.0" }, true],
    ["id = field(rate)", { id: "9007199254740993", rate: "9007199254740992" }, false],
    ["total > field(rate)", { total: "NaN", rate: "Infinity" }, true],
    ["total > field(rate)", { total: "1.50", rate: null }, false],
    ["total != field(rate)", { total: "1.50", rate: null }, true],
    ["total = field(rate)", { total: null, rate: null }, false],
    ["name < field(note)", { name: "Z", note: "a" }, true],
    ["name = field(note)", { name: "a", note: "A" }, false],
    ["due <= field(due)", { due: "2026-01-01" }, true]
  ])("%s on %j is %s", (text, record, expected) => {
    expect(passes(text, record)).toBe(expected)
    expect(passes(`NOT ${text}`, record)).toBe(!expected)
  })

  it.each([
    ["total > field(rate)", "total > field(rate)"],
    ["NOT total = field(rate)", "total != field(rate)"],
    ["NOT total > field(rate)", "NOT total > field(rate)"]
  ])("%s is printed as %s", (text, printed) => {
    expect(printFilter(read(text))).toBe(printed)
    expect(read(printed)).toEqual(read(text))
  })

  it.each([
    ["total > field(name)", "operator", "field(name)", "kinds decimal and text"],
    ["due > field(created_at)", "operator", "field(created_at)", "kinds date and timestamp"],
    ["ratio > field(total)", "operator", "field(total)", "kinds float and decimal"],
    ["extra = field(extra)", "operator", "field(extra)", "json"],
    ["status < field(other)", "operator", "<", "two fields of the kind enum"],
    ["level < field(status)", "operator", "<", "two fields of the kind enum"],
    ["active > field(active)", "operator", ">", "boolean"],
    ["name:field(note)", "operator", ":", "kind text"],
    ["total > field(plain)", "not-filterable", "plain", "cannot be filtered"],
    ["total > field(rat)", "unknown-field", "rat", "There is no field"],
    ["total > rate", "value", "rate", "is not a value"],
    ["total > field()", "argument", "field()", "name of a field"],
    ["total > field(rate, total)", "argument", "field(rate, total)", "name of a field"],
    ["total > field(\"rate\")", "argument", "field(\"rate\")", "without quotes"],
    ["field(total)", "argument", "field(total)", "not a condition"],
    ["in(total, field(rate))", "value", "field", "as a value"],
    ["same(name, field(note))", "value", "field(note)", "as a text"]
  ])("%s is refused: %s", (text, code, place, message) => {
    const [error] = refused(text)
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) })
    expect(text.slice(error!.span.start, error!.span.end)).toBe(place)
  })

  it("is told to whoever writes the name alone, unless the field is hidden", () => {
    const hint = "To compare with the field, write field(rate). "
    expect(refused("total > rate")[0]!.hint).toContain(hint)
    expect(refused("total != rate")[0]!.hint).toContain(hint)
    for (const text of ["in(total, rate)", "total > plain", "total > rat"]) {
      expect(refused(text)[0]!.hint).not.toContain("field(")
    }
    const without = scopeOf(filterFields.filter(({ name }) => name !== "rate"))
    expect(refused("total > rate", without)[0]!.hint).not.toContain("field(")
  })

  it("may not be hidden: such a field is unknown on either side, byte for byte", () => {
    const without = scopeOf(filterFields.filter(({ name }) => name !== "rate"))
    for (const text of ["total > field(rate)", "rate > field(total)", "rate > field(rate)"]) {
      expect(JSON.stringify(refused(text, without)).replaceAll("rate", "zzzz")).toBe(
        JSON.stringify(refused(text.replaceAll("rate", "zzzz"), without))
      )
    }
  })
})

describe("two fields through relations", () => {
  const customers = makeModel({
    name: "customers",
    fields: [{ name: "id", kind: "integer" }, { name: "since", kind: "date" }, { name: "until", kind: "date" }]
  })
  const target = scopeOf(customers.fields)
  const step = (name: string): Step | null => steps.get(name) ?? null
  const steps = new Map<string, Step>(["customer", "seller"].map((name) => [name, {
    way: {
      relation: { name, target: "customers", many: false, from: filterField("id"), to: "id" },
      model: customers,
      to: customers.key[0]!,
      rows: always
    },
    scope: target
  }]))
  const from = scopeOf(filterFields, { relations: { names: () => [...steps.keys()], step } })

  it("belong to one record", () => {
    const text = "customer.until > field(customer.since)"
    expect(read(text, from)).toMatchObject({ op: "some", item: { op: "pair", is: ">" } })
    expect(printFilter(read(text, from))).toBe(text)
    expect(printFilter(read("customer.until != field(customer.since)", from))).toBe(
      "customer.until != field(customer.since)"
    )
    expect(printFilter(read("has(customer, \"until > field(since)\")", from))).toBe(text)
  })

  it.each(["due > field(customer.since)", "customer.since > field(due)", "customer.since > field(seller.since)"])(
    "%s is refused",
    (text) => {
      expect(refused(text, from)).toMatchObject([{ code: "argument", message: expect.stringContaining("one record") }])
    }
  )
})

describe("texts that ignore case", () => {
  it.each([
    ["same(name, \"ÅSA\")", "Åsa", true],
    ["same(name, \"åsa\")", "Åsa ", false],
    ["same(name, \"straße\")", "STRASSE", false],
    ["same(name, \"i\")", "\u0130", true],
    ["same(name, \"ι\")", "\u0399", true],
    ["same(name, \"50\\*\")", "50*", true],
    ["same(name, \"5*\")", "50", false],
    ["same(name, \"\")", "", true],
    ["begins(name, \"ÅS\")", "Åsa", true],
    ["begins(name, \"s\")", "Åsa", false],
    ["begins(name, \"a_\")", "ab", false],
    ["begins(name, \"a%\")", "ab", false],
    ["begins(name, \"\")", "", true],
    ["begins(name, \"\")", null, false],
    ["same(name, \"\")", null, false]
  ])("%s on %j is %s", (text, name, expected) => {
    expect(passes(text, { name })).toBe(expected)
    expect(passes(`NOT ${text}`, { name })).toBe(!expected)
    expect(read(printFilter(read(text)))).toEqual(read(text))
  })

  it.each([
    ["same(total, 1)", "operator", "same() does not work on the field \"total\""],
    ["begins(status, d)", "operator", "begins() does not work"],
    ["same(name)", "argument", "same() takes 2 arguments"],
    ["begins(nope, a)", "unknown-field", "There is no field"],
    [`same(name, "${"x".repeat(10_001)}")`, "limit", "more than 10000 characters"]
  ])("%.40s is refused: %s", (text, code, message) => {
    expect(refused(text)[0]).toMatchObject({ code, message: expect.stringContaining(message) })
  })

  it("are words of everyday texts without a parenthesis right behind", () => {
    expect(printFilter(read("same begins field", filterScope))).toBe(
      "search(\"same\") AND search(\"begins\") AND search(\"field\")"
    )
  })
})
