import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { scopeOf, scopeThrough } from "../../../test/support/filter.ts"
import { withPaths } from "../../../test/support/members.ts"
import { makeModel } from "../../../test/support/model.ts"
import type { Model } from "../model/model.ts"
import type { Cell } from "../value/kind.ts"
import { evaluate, evaluateKnown } from "./evaluate.ts"
import { printFilter } from "./print.ts"
import { type FilterError, type FilterScope, readFilter, readOrder } from "./read.ts"
import { type Bindings, fieldsOf, type FilterTree } from "./tree.ts"

const model = withPaths(
  makeModel({
    name: "products",
    fields: [
      { name: "id", kind: "integer" },
      { name: "meta", kind: "json", filterable: false },
      { name: "raw", kind: "json" },
      { name: "price", kind: "decimal" }
    ]
  }),
  [
    { whole: "meta", name: "color", kind: "text" },
    { whole: "meta", name: "size.width", kind: "decimal" },
    { whole: "meta", name: "sold", kind: "boolean", sortable: false },
    { whole: "meta", name: "level", kind: "enum", values: ["low", "high"], ordered: true },
    { whole: "meta", name: "only.sorted", kind: "text", filterable: false },
    { whole: "raw", name: "n", kind: "decimal", storage: "json" }
  ]
)
const scopeFor = ({ fields, members = [] }: Model): FilterScope => {
  const own = scopeOf(fields)
  return { ...own, names: new Map([...own.names, ...members.map((member) => [member.name, member] as const)]) }
}
const scope = scopeFor(model)
const bindings: Bindings = { caller: { id: "7", tenant: null }, now: 0n, params: [] }
const read = (text: string, at = scope): FilterTree =>
  Result.getOrThrowWith(readFilter(text, at), (errors) => new Error(JSON.stringify(errors)))
const refused = (text: string, at = scope): readonly FilterError[] => {
  const result = readFilter(text, at)
  if (Result.isSuccess(result)) expect.fail(`${text} was accepted`)
  return result.failure
}
const passes = (text: string, record: { readonly [field: string]: Cell }): boolean =>
  evaluate(read(text), (field) => record[field.name] ?? null, bindings)

describe("a path into JSON", () => {
  it.each([
    ["meta.color = red", { meta: `{"color": "red"}` }, true],
    ["meta.color = r*", { meta: `{"color": "red"}` }, true],
    ["meta.color:RE", { meta: `{"color": "red"}` }, true],
    ["begins(meta.color, RE)", { meta: `{"color": "red"}` }, true],
    ["meta.color = 5", { meta: `{"color": 5}` }, false],
    ["meta.color = red", { meta: `{"color": ["red"]}` }, false],
    ["meta.color = red", { meta: `["red"]` }, false],
    ["meta.color:*", { meta: `{"color": null}` }, false],
    ["meta.color:*", { meta: null }, false],
    ["meta.color:*", { meta: `{"__proto__": {"color": "red"}}` }, false],
    ["meta.color:*", { meta: `{"color": ""}` }, true],
    ["meta.size.width > 10", { meta: `{"size": {"width": 10.000000000000000000001}}` }, true],
    ["meta.size.width = 9007199254740993", { meta: `{"size": {"width": 9007199254740993.0}}` }, true],
    ["meta.size.width = 9007199254740993", { meta: `{"size": {"width": 9007199254740992}}` }, false],
    ["meta.size.width > 10", { meta: `{"size": {"width": "11"}}` }, false],
    ["in(meta.size.width, 1, 1500)", { meta: `{"size": {"width": 1.5e3}}` }, true],
    ["meta.sold = true", { meta: `{"sold": true}` }, true],
    ["meta.sold = true", { meta: `{"sold": "true"}` }, false],
    ["meta.level > low", { meta: `{"level": "high"}` }, true],
    ["price < field(meta.size.width)", { meta: `{"size": {"width": 2}}`, price: "1.99" }, true],
    ["raw.n > 0", { raw: `{"n": 1e999}` }, true],
    ["raw.n > 0", { raw: `{"n": 1e1000}` }, false],
    ["raw.n > 0", { raw: `{"n": 1, "a": "\\u0000"}` }, false],
    ["raw.n > 0", { raw: `{"n": 1, "a": "\\ud83d\\ude00"}` }, true],
    // A backslash that is escaped begins no escape.
    ["raw.n > 0", { raw: `{"n": 1, "a": "C:\\\\Udata\\\\u0000"}` }, true],
    ["raw.n > 0", { raw: `{"n": 1, "a": "\\\\\\u0000"}` }, false],
    ["raw.n > 0", { raw: `{"n": 1, "a": "\\ud83d\\\\\\ude00"}` }, false]
  ])("%s on %j is %s", (text, record, expected) => {
    expect(passes(text, record)).toBe(expected)
    expect(passes(`NOT ${text}`, record)).toBe(!expected)
    expect(read(printFilter(read(text)))).toEqual(read(text))
  })

  it("asks for the field that holds it", () => {
    const tree = read("meta.color = red AND price < field(meta.size.width)")
    expect([...fieldsOf(tree)].map(({ name }) => name)).toEqual(["meta", "price"])
    expect(evaluateKnown(tree, ({ name }) => name === "meta" ? undefined : "1", bindings)).toBe(null)
  })

  it("is an order", () => {
    const order = Result.getOrThrow(readOrder("meta.size.width desc, meta.level", scope))
    expect(order.map(({ descending, field }) => [field.name, descending])).toEqual([
      ["meta.size.width", true],
      ["meta.level", false]
    ])
    expect(readOrder("meta.sold", scope)).toMatchObject({ failure: [{ code: "not-sortable" }] })
    expect(readOrder("meta", scope)).toMatchObject({ failure: [{ code: "not-sortable" }] })
  })

  it.each([
    ["meta.colour = red", "unknown-field", "Did you mean meta.color?"],
    [
      "meta.weight > 1",
      "unknown-field",
      "Paths that can be filtered: meta.color, meta.size.width, meta.sold, meta.level."
    ],
    ["meta.size = 1", "unknown-field", "Did you mean meta.sold?"],
    ["meta.size.width > wide", "value", "decimal number"],
    ["meta.sold > true", "operator", "boolean"],
    ["meta.only.sorted = a", "not-filterable", "Fields that can be filtered"],
    ["price.x = 1", "unknown-field", ""],
    ["meta.", "syntax", "one word"],
    ["meta. = 1", "syntax", "customer.country"]
  ])("%s is refused: %s", (text, code, hint) => {
    expect(refused(text)[0]).toMatchObject({ code, hint: expect.stringContaining(hint) })
  })

  it("of a hidden field is unknown, byte for byte like a name that never was", () => {
    const hidden = scopeOf(model.fields.filter(({ name }) => name !== "meta"))
    for (const text of ["meta.color = 1", "meta.size.width > 1", "price < field(meta.size.width)", "in(meta.x, 1)"]) {
      expect(JSON.stringify(refused(text, hidden)).replaceAll("meta", "zzzz")).toBe(
        JSON.stringify(refused(text.replaceAll("meta", "zzzz"), hidden))
      )
    }
    const order = (text: string) => JSON.stringify(readOrder(text, hidden)).replaceAll("meta", "zzzz")
    expect(order("meta.color")).toBe(order("zzzz.color"))
  })

  it("stands at the end of relations", () => {
    const from = scopeThrough("product", model, scope)
    const text = "product.meta.size.width > 10"
    expect(read(text, from)).toMatchObject({ op: "some", item: { op: "compare", field: { name: "meta.size.width" } } })
    expect(printFilter(read(text, from))).toBe(text)
    expect(refused("product.meta.weight > 10", from)).toMatchObject([{ code: "unknown-field" }])
  })
})
