import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { property } from "../../../test/generators/property.ts"
import type { Random } from "../../../test/generators/random.ts"
import { relatedTree, scopeOf as worldScope, world } from "../../../test/generators/related.ts"
import { withoutSpans } from "../../../test/support/filter.ts"
import { makeModel } from "../../../test/support/model.ts"
import type { Model } from "../model/model.ts"
import type { Cell } from "../value/kind.ts"
import { evaluate, evaluateKnown, type RowsThrough } from "./evaluate.ts"
import { countsIn, merged, relatedLeaves } from "./merge.ts"
import { printFilter } from "./print.ts"
import { type FilterError, type FilterScope, readFilter, type Step } from "./read.ts"
import type { Bindings, FilterTree } from "./tree.ts"
import { always, conditionsOf, relatedOf } from "./tree.ts"

const relation = (name: string, target: string, many: boolean, from: string, to: string) => ({
  name,
  target,
  many,
  from,
  to
})
const id = { name: "id", kind: "integer" } as const
const models: ReadonlyMap<string, Model> = new Map([
  makeModel({
    name: "orders",
    fields: [id, { name: "customer_id", kind: "integer", optional: true }, { name: "note", searched: true }],
    relations: [
      relation("customer", "customers", false, "customer_id", "id"),
      relation("lines", "lines", true, "id", "order_id")
    ]
  }),
  makeModel({
    name: "customers",
    fields: [id, { name: "country", optional: true }, { name: "name" }, { name: "vip", kind: "boolean" }, {
      name: "plain",
      filterable: false
    }],
    relations: [relation("orders", "orders", true, "id", "customer_id")]
  }),
  makeModel({
    name: "lines",
    fields: [id, { name: "order_id", kind: "integer" }, { name: "product_id", kind: "integer" }, {
      name: "quantity",
      kind: "integer",
      optional: true
    }, { name: "ratio", kind: "float" }],
    relations: [
      relation("order", "orders", false, "order_id", "id"),
      relation("product", "products", false, "product_id", "id")
    ]
  }),
  makeModel({ name: "products", fields: [id, { name: "name", searched: true }, { name: "price", kind: "decimal" }] })
].map((model) => [model.name, model]))

const scopes = new Map<string, FilterScope>()
const scopeOf = (name: string): FilterScope => {
  let scope = scopes.get(name)
  if (scope === undefined) {
    const model = models.get(name)!
    const steps = new Map<string, Step>()
    scopes.set(
      name,
      scope = {
        names: model.byName,
        searched: model.fields.filter(({ searched }) => searched),
        caller: false,
        relations: {
          names: () => [...model.relations.keys()],
          step: (name) => {
            const relation = model.relations.get(name)
            if (relation === undefined) return null
            const target = models.get(relation.target)!
            if (!steps.has(name)) {
              const way = { relation, model: target, to: target.byName.get(relation.to)!, rows: always }
              steps.set(name, { way, scope: scopeOf(relation.target) })
            }
            return steps.get(name)!
          }
        }
      }
    )
  }
  return scope
}
const orders = scopeOf("orders")

const read = (text: string, scope = orders): FilterTree =>
  Result.getOrThrowWith(readFilter(text, scope), (errors) => new Error(`${text}: ${JSON.stringify(errors)}`))
const errorsOf = (text: string, scope = orders): readonly FilterError[] => {
  const tree = readFilter(text, scope)
  return Result.isFailure(tree) ? tree.failure : []
}
const error = (text: string, scope = orders) => {
  const [{ code, hint, message, span } = {} as FilterError] = errorsOf(text, scope)
  return [code, message, hint, span === undefined ? "" : text.slice(span.start, span.end)]
}

describe("conditions through relations", () => {
  it.each([
    ["customer.country = DE", "customer.country = \"DE\""],
    ["NOT customer.country = DE", "customer.country != \"DE\""],
    ["-customer.vip = true", "customer.vip != true"],
    ["customer.country = null", "isNull(customer.country)"],
    ["customer.country != null", "customer.country:*"],
    ["NOT customer.country:*", "isNull(customer.country)"],
    ["lines.product.name : chair", "lines.product.name:\"chair\""],
    ["lines.product.name = 'a*'", "lines.product.name = \"a*\""],
    ["NOT lines.quantity > 10", "NOT lines.quantity > 10"],
    ["in(customer.country, DE, FR)", "in(customer.country, \"DE\", \"FR\")"],
    ["customer.country = (DE OR FR)", "customer.country = \"DE\" OR customer.country = \"FR\""],
    ["similar(lines.product.name, x)", "similar(lines.product.name, \"x\")"],
    ["regex(customer.name, '^a')", "regex(customer.name, \"^a\")"],
    ["has(lines)", "has(lines)"],
    ["has(lines.product)", "has(lines.product)"],
    ["has(lines, 'quantity > 10')", "lines.quantity > 10"],
    [
      "has(lines, \"quantity > 10 AND product.name : 'chair'\")",
      "has(lines, \"quantity > 10 AND product.name:\\\"chair\\\"\")"
    ],
    ["has(lines, 'isNull(quantity)')", "has(lines, \"isNull(quantity)\")"],
    ["has(lines, 'quantity != 1')", "has(lines, \"quantity != 1\")"],
    ["has(lines.product, chair) note", null],
    ["has(lines.product, 'chair')", "has(lines.product, \"search(\\\"chair\\\")\")"],
    ["count(lines) >= 3", "count(lines) >= 3"],
    ["count(lines, 'quantity > 1') != 2", "count(lines, \"quantity > 1\") != 2"],
    ["has(customer, 'count(orders) > 3')", "has(customer, \"count(orders) > 3\")"],
    ["customer.orders.lines.quantity = 1", "customer.orders.lines.quantity = 1"],
    ["count (note)", "search(\"count\") AND search(\"note\")"]
  ])("%s", (text, printed) => {
    if (printed === null) return expect(errorsOf(text)).not.toEqual([])
    expect(printFilter(read(text))).toBe(printed)
    expect(withoutSpans(read(printed))).toEqual(withoutSpans(read(text)))
  })

  it("refuses everything unknown on a path alike, with hints of what can be reached", () => {
    const fields = "Fields that can be filtered: id, country, name, vip."
    expect(error("customer.zzzzzzz = 1")).toEqual([
      "unknown-field",
      "There is no field \"customer.zzzzzzz\".",
      fields,
      "customer.zzzzzzz"
    ])
    expect(error("id = 1 AND zzzzzzz.country = DE")).toEqual([
      "unknown-field",
      "There is no field \"zzzzzzz.country\".",
      "The relations here: customer, lines.",
      "zzzzzzz.country"
    ])
    expect(error("customer.contry = DE")[2]).toBe("Did you mean customer.country?")
    expect(error("custmer.country = DE")[2]).toBe("Did you mean customer?")
    expect(error("customer = 1")[2]).toContain("It is a relation")
    expect(error("customer.plain = 1").slice(0, 2)).toEqual([
      "not-filterable",
      "The field \"customer.plain\" cannot be filtered."
    ])
    expect(error("has(zzzzzzz)").slice(0, 2)).toEqual(["unknown-field", "There is no relation \"zzzzzzz\"."])
    expect(error("count(note) > 1").slice(0, 2)).toEqual(["unknown-field", "There is no relation \"note\"."])
  })

  it.each([
    ["customer..country = DE", "syntax", "customer..country"],
    [".country = DE", "syntax", ".country"],
    ["customer . country = DE", "syntax", "."],
    ["has(lines.)", "syntax", "lines."],
    ["customer.country > (", "syntax", ""],
    ["customer.orders.lines.product.price > 1", "limit", "customer.orders.lines.product.price"],
    ["has(customer.orders, \"lines.product.price > 1\")", "limit", "lines.product.price"],
    ["customer.vip > true", "operator", ">"],
    ["lines.quantity = x", "value", "x"],
    ["has(lines, 'quantity = x')", "value", "x"],
    ["has(lines, \"product.name = \\\"a\\\" AND quantity = x\")", "value", "x"],
    ["has(lines, 'quantity >')", "syntax", ""],
    ["has(lines, '')", "syntax", "''"],
    ["has(lines, quantity)", "argument", "quantity"],
    ["has('lines')", "argument", "'lines'"],
    ["count(lines)", "argument", "count(lines)"],
    ["count(lines) : 3", "operator", ":"],
    ["count(lines) > -1", "value", "-1"],
    ["count(lines) > 1.5", "value", "1.5"],
    ["count(customer.orders) > 1", "argument", "customer.orders"],
    ["count() > 1", "argument", "count()"],
    ["has(lines) > 1", "syntax", ">"]
  ])("refuses %s", (text, code, part) => {
    const [found, , hint, at] = error(text)
    expect([found, at]).toEqual([code, part])
    expect(hint).not.toBe("")
  })

  it("refuses every path where no condition goes through relations", () => {
    const { relations, ...scope } = orders
    expect(relations).toBeDefined()
    for (const text of ["customer.country = DE", "zzz.country = DE", "has(lines)", "count(zzz) > 1"]) {
      expect(error(text, scope).slice(0, 2)).toEqual(["unknown-field", "No condition can go through relations here."])
    }
  })

  it("places what is wrong inside a filter in quotes", () => {
    const text = "id = 1 AND has(lines, \"has(product, \\\"name = 'a' AND price = \\\\\\\"x\\\\\\\"\\\")\")"
    const [found] = errorsOf(text)
    expect(found?.code).toBe("value")
    expect(text.slice(found!.span.start, found!.span.end)).toContain("x")
    const float = conditionsOf(read("has(lines, \"product.name = \\\"a\\\" AND ratio > 1e300\")"), "compare")[1]!
    const { span } = float.value as { readonly span: { readonly start: number; readonly end: number } }
    expect("has(lines, \"product.name = \\\"a\\\" AND ratio > 1e300\")".slice(span.start, span.end)).toBe("1e300")
  })
})

describe("limits of conditions through relations", () => {
  const lines = (count: number) => Array.from({ length: count }, (_, i) => `lines.quantity > ${i}`)

  it("are 8 conditions, once those of one relation are put together", () => {
    expect(errorsOf(lines(8).join(" AND "))).toEqual([])
    const text = lines(9).join(" AND ")
    expect(error(text)).toEqual([
      "limit",
      "The filter has more than 8 conditions through relations.",
      expect.stringContaining("has(lines"),
      "lines.quantity"
    ])
    expect(errorsOf(text)[0]!.span.start).toBe(text.lastIndexOf("lines"))
    expect(errorsOf(lines(1_000).join(" OR "))).toEqual([])
    expect(errorsOf(`customer.country = (${lines(900).map((_, i) => `c${i}`).join(" OR ")})`)).toEqual([])
    expect(errorsOf(Array.from({ length: 100 }, (_, i) => `customer.name != n${i}`).join(" AND "))).toEqual([])
    expect(errorsOf(`has(lines, "${lines(9).map((each) => each.slice(6)).join(" AND ")}")`)).toEqual([])
  })

  it("are 2 counts; presence is none", () => {
    expect(errorsOf("count(lines) > 1 AND count(lines) < 5 AND count(lines) >= 1 AND count(lines) = 0")).toEqual([])
    expect(error("count(lines) > 1 AND count(lines) < 5 AND has(customer, 'count(orders) > 1')")).toEqual([
      "limit",
      "The filter counts related records more than 2 times.",
      "Ask for fewer counts.",
      "count(orders) > 1".slice(0, 13)
    ])
  })

  it("are those of the whole text, filters in quotes included, and end in linear time", () => {
    const inner = (count: number) => `has(lines, "${Array.from({ length: count }, () => "quantity = 1").join(" OR ")}")`
    expect(errorsOf(inner(900))).toEqual([])
    expect(error(`${inner(600)} OR ${inner(600)}`)[1]).toBe("The filter has more than 1000 conditions.")
    const deep = "NOT (".repeat(15) + "customer.vip = true OR id = 1" + ")".repeat(15)
    expect(errorsOf(deep)).toEqual([])
    expect(relatedOf(merged(read(deep))).length).toBe(1)
    const nested = (levels: number): string => levels === 0 ? "id = 1" : `has(order, '${nested(levels - 1)}')`
    expect(errorsOf(nested(500))).not.toEqual([])
    expect(error(lines(1_000).join(" AND "))[0]).toBe("limit")
  })
})

describe("evaluate", () => {
  const tables: { readonly [name: string]: ReadonlyArray<{ readonly [field: string]: Cell }> } = {
    customers: [{ id: "1", country: "DE" }, { id: "2", country: null }],
    lines: [{ id: "1", order_id: "1", quantity: "1" }, { id: "2", order_id: "1", quantity: "20" }],
    orders: [{ id: "1", customer_id: "1" }, { id: "2", customer_id: "2" }, { id: "3", customer_id: null }, {
      id: "4",
      customer_id: "9"
    }]
  }
  const bindings: Bindings = { caller: { id: "u", tenant: null }, now: 0n, params: [] }
  const related: RowsThrough = ({ model, to }, value) =>
    tables[model.name]!.filter((row) => row[to.name] === value).map((row) => (field) => row[field.name] ?? null)
  const passing = (text: string): string =>
    tables["orders"]!.filter((row) => evaluate(read(text), (field) => row[field.name] ?? null, bindings, related))
      .map(({ id }) => id).join("")

  it.each([
    ["customer.country = DE", "1"],
    ["customer.country != DE", "234"],
    ["customer.country = null", "234"],
    ["customer.country:*", "1"],
    ["NOT isNull(customer.country)", "1"],
    ["has(customer, 'isNull(country)')", "2"],
    ["has(customer)", "12"],
    ["lines.quantity > 10", "1"],
    ["NOT lines.quantity > 10", "234"],
    ["lines.quantity > 10 AND lines.quantity < 5", "1"],
    ["has(lines, 'quantity > 10 AND quantity < 5')", ""],
    ["has(lines, 'quantity != 1')", "1"],
    ["lines.quantity != 1", "234"],
    ["count(lines) = 2", "1"],
    ["count(lines) != 2", "234"],
    ["count(lines) < 2", "234"],
    ["count(lines, 'quantity > 1') >= 2", ""],
    ["count(lines) >= 0", "1234"],
    ["customer.orders.lines.quantity = 20", "1"]
  ])("%s", (text, ids) => expect(passing(text)).toBe(ids))

  it("does not know without related records, and says so", () => {
    const row = { id: "1", customer_id: "1" } as { readonly [field: string]: string }
    const known = (text: string) => evaluateKnown(read(text), (field) => row[field.name] ?? null, bindings)
    expect(known("customer.country = DE")).toBe(null)
    expect(known("NOT count(lines) > 1")).toBe(null)
    expect(known("customer.country = DE OR id = 1")).toBe(true)
    expect(known("customer.country = DE AND id = 2")).toBe(false)
    expect(() => evaluate(read("has(lines)"), (field) => row[field.name] ?? null, bindings)).toThrow()
  })
})

const scene = (random: Random) => {
  const made = world(random, 8)
  const place = random.pick(made.places)
  return { world: made, place, tree: relatedTree(random, made, place, { similar: false }) }
}

describe("random trees", () => {
  const bindings: Bindings = { caller: { id: "u", tenant: null }, now: 0n, params: [] }
  let printed = 0
  property(
    "read back as they are printed, and mean the same when they are merged",
    { scene },
    {
      cases: 3_000,
      show: ({ scene: { tree } }) => printFilter(tree),
      reaches: (runs) => expect(printed).toBeGreaterThan(runs / 2)
    },
    ({ scene: { place, tree, world } }) => {
      for (const row of place.rows) {
        const cellOf = (field: { readonly index: number }): Cell => row[field.index] ?? null
        const held = evaluate(tree, cellOf, bindings, world.related)
        expect(evaluate(merged(tree), cellOf, bindings, world.related)).toBe(held)
      }
      const plan = merged(tree)
      expect(merged(plan)).toBe(plan)
      const text = printFilter(tree)
      const back = readFilter(text, worldScope(world, place))
      if (Result.isFailure(back)) {
        expect(back.failure.map(({ code }) => code), text).toEqual(["limit"])
        expect(relatedLeaves(plan).length > 8 || countsIn(plan).length > 2, text).toBe(true)
      } else {
        printed++
        expect(withoutSpans(back.success), text).toEqual(withoutSpans(tree))
      }
    }
  )
})
