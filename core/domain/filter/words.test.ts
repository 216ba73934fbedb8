import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { filterFields, scopeOf } from "../../../test/support/filter.ts"
import { makeField } from "../../../test/support/model.ts"
import { evaluate, evaluateKnown } from "./evaluate.ts"
import { printFilter } from "./print.ts"
import { type FilterError, type FilterScope, readFilter, readOrder } from "./read.ts"
import type { Bindings, FilterTree } from "./tree.ts"

const vector = { ...makeField({ name: "words" }, 90), vector: { config: "english" } }
const lists = scopeOf(filterFields, { vectors: new Map([["words", vector]]) })
const rules = scopeOf(filterFields, { caller: true })
const bindings: Bindings = { caller: { id: "7", tenant: null }, now: 0n, params: [] }
const read = (text: string): FilterTree =>
  Result.getOrThrowWith(readFilter(text, lists), (errors) => new Error(JSON.stringify(errors)))
const refused = (text: string, scope: FilterScope = lists): readonly FilterError[] => {
  const result = readFilter(text, scope)
  if (Result.isSuccess(result)) expect.fail(`${text} was accepted`)
  return result.failure
}

describe("words in a search vector", () => {
  it.each([
    ["search(words, lamp)", "lamp"],
    ["search(words, '\"tall lamps\" or -chair')", "\"tall lamps\" or -chair"],
    ["search(words, \"a*\\\\b\")", "a*\\b"]
  ])("%s is a condition that is printed and read again", (text, words) => {
    expect(read(text)).toEqual({ op: "words", field: vector, text: words })
    expect(read(printFilter(read(text)))).toEqual(read(text))
    expect(read(printFilter(read(`NOT ${text}`)))).toEqual(read(`NOT ${text}`))
  })

  it.each([
    ["search(wrods, lamp)", "unknown-field", "Did you mean words?"],
    ["search(name, lamp)", "unknown-field", "Search vectors: words."],
    ["search('words', lamp)", "argument", "search(vector, 'text')"],
    ["search(words, lamp, 1)", "argument", "search(vector, 'text')"],
    [`search(words, "${"x".repeat(1_001)}")`, "limit", "fewer words"],
    ["words = lamp", "unknown-field", "write search(words, \"some words\")"],
    ["words:*", "unknown-field", "write search(words"],
    ["name = field(words)", "unknown-field", "write search(words"]
  ])("%.40s is refused: %s", (text, code, hint) => {
    expect(refused(text)).toMatchObject([{ code, hint: expect.stringContaining(hint) }])
  })

  it("is refused by name where conditions are decided in memory", () => {
    const texts = ["search(words, lamp)", "search(never, lamp)"]
    for (const text of texts) {
      expect(refused(text, rules)).toMatchObject([{
        code: "not-searchable",
        message: expect.stringContaining("decided without the database")
      }])
    }
  })

  it("is decided by the database alone", () => {
    const tree = read("search(words, lamp) AND count = 1")
    const cellOf = () => "1"
    expect(evaluateKnown(tree, cellOf, bindings)).toBe(null)
    expect(evaluateKnown(tree, () => "2", bindings)).toBe(false)
    expect(() => evaluate(tree, cellOf, bindings)).toThrow("database")
  })
})

describe("an order by rank", () => {
  it("is a number of the vector and the text", () => {
    const keys = Result.getOrThrow(readOrder("rank(words, \"tall \\\"lamp\\\"\") desc, id", lists))
    expect(keys.map(({ descending, field }) => [field.kind, field.rank, field.column, descending])).toEqual([
      ["float", "tall \"lamp\"", "words", true],
      ["integer", undefined, "id", false]
    ])
  })

  it.each([
    ["rank(wrods, a)", "unknown-field", "Did you mean words?"],
    ["rank(words)", "syntax", "rank(vector, \"text\")"],
    ["rank(words, a, b)", "syntax", "rank(vector, \"text\")"],
    ["rank(words, \"\\q\")", "syntax", "backslash"],
    [`rank(words, "${"x".repeat(1_001)}")`, "limit", "fewer words"],
    ["rank", "unknown-field", "Fields that can be sorted"],
    ["words", "unknown-field", "Fields that can be sorted"]
  ])("%.40s is refused: %s", (text, code, hint) => {
    expect(readOrder(text, lists)).toMatchObject({ failure: [{ code, hint: expect.stringContaining(hint) }] })
  })

  it("is unknown without a vector, byte for byte", () => {
    const order = (text: string) => JSON.stringify(readOrder(text, scopeOf(filterFields)))
    expect(order("rank(words, a)").replaceAll("words", "zzzzz")).toBe(order("rank(zzzzz, a)"))
  })
})
