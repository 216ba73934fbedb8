import * as Result from "effect/Result"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { examplesOf } from "../../../test/docs/blocks.ts"
import { filterFields, scopeOf } from "../../../test/support/filter.ts"
import { withPaths } from "../../../test/support/members.ts"
import { makeField, makeModel } from "../../../test/support/model.ts"
import type { FilterErrorCode, FilterScope } from "./read.ts"
import { readFilter, readOrder } from "./read.ts"
import { always } from "./tree.ts"

const page = readFileSync(new URL("../../../docs/reference/filter.md", import.meta.url), "utf8")

/** A section of the page, without its heading. */
const section = (heading: string): string => page.split(`\n## ${heading}\n`)[1]!.split("\n## ")[0]!

const codes = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1]!)

const status = makeField({ name: "status", kind: "enum", values: ["draft", "paid", "shipped"], optional: true })
const scope = scopeOf(filterFields.map((field) => field.name === "status" ? status : field))

describe("the reference page", () => {
  const [examples = "", orders = ""] = section("Examples").split("\nOrders: ")
  const filters = examples.split("\n").filter((line) => line.startsWith("| `")).flatMap((line) =>
    codes(line.split(" | ")[0]!)
  )

  it("has examples that are accepted", () => {
    expect(filters.length).toBeGreaterThan(20)
    expect(filters.filter((text) => Result.isFailure(readFilter(text, scope)))).toEqual([])
    expect(codes(orders).filter((text) => Result.isFailure(readOrder(text, scope)))).toEqual([])
  })

  it("has examples of lists that are accepted, and one that is not", () => {
    const lists = section("Lists").split("\n").filter((line) => line.startsWith("| `")).flatMap((line) =>
      codes(line.split(" | ")[0]!)
    )
    expect(lists.length).toBeGreaterThan(8)
    expect(lists.filter((text) => Result.isFailure(readFilter(text, scope)))).toEqual([])
    expect(Result.isFailure(readFilter("tags = new", scope))).toBe(true)
  })

  it("has examples through relations that are accepted", () => {
    const through = section("Through relations").split("\n").filter((line) => line.startsWith("| `")).flatMap((line) =>
      codes(line.split(" | ")[0]!)
    )
    expect(through.length).toBeGreaterThan(15)
    const scopes: { readonly [name: string]: FilterScope } = {
      orders: shopScope(["id", "status"], { customer: "customers", lines: "lines" }),
      customers: shopScope(["id", "country", "name", "meta.level"], { orders: "orders" }),
      lines: shopScope(["id", "quantity"], { product: "products" }),
      products: shopScope(["id", "name"], {})
    }
    function shopScope(names: readonly string[], relations: { readonly [name: string]: string }): FilterScope {
      const fields = names.map((name) =>
        makeField({ name, kind: name === "name" || name === "country" ? "text" : "integer" })
      )
      const step = (name: string) => {
        const target = relations[name]
        if (target === undefined) return null
        const model = makeModel({ name: target, fields: [{ name: "id", kind: "integer" }] })
        const [to] = model.key
        return {
          way: {
            relation: { name, target, many: name.endsWith("s"), from: fields[0]!, to: "id" },
            model,
            to: to!,
            rows: always
          },
          scope: scopes[target]!
        }
      }
      return scopeOf(fields, { relations: { names: () => Object.keys(relations), step } })
    }
    expect(through.filter((text) => Result.isFailure(readFilter(text, scopes["orders"]!)))).toEqual([])
    const orders = section("Orders through relations").split("\n").filter((line) => line.startsWith("| `"))
      .flatMap((line) => codes(line.split(" | ")[0]!))
    expect(orders.length).toBe(4)
    expect(orders.filter((text) => Result.isFailure(readOrder(text, scopes["orders"]!)))).toEqual([])
  })

  it("has examples into JSON that are accepted", () => {
    const inside = section("Into JSON").split("\n").filter((line) => line.startsWith("| `")).flatMap((line) =>
      codes(line.split(" | ")[0]!)
    )
    expect(inside.length).toBeGreaterThan(8)
    const products = withPaths(
      makeModel({
        name: "products",
        fields: [{ name: "id", kind: "integer" }, { name: "price", kind: "decimal" }, { name: "meta", kind: "json" }]
      }),
      [
        { whole: "meta", name: "color", kind: "text" },
        { whole: "meta", name: "size.width", kind: "decimal" },
        { whole: "meta", name: "level", kind: "enum", values: ["low", "mid", "high"], ordered: true }
      ]
    )
    const names = new Map([...products.fields, ...products.members!].map((field) => [field.name, field]))
    const target: FilterScope = { names, searched: [], caller: false }
    const [to] = products.key
    const way = {
      relation: { name: "product", target: "products", many: false, from: to!, to: "id" },
      model: products,
      to: to!,
      rows: always
    }
    const relations = {
      names: () => ["product"],
      step: (name: string) => name === "product" ? { way, scope: target } : null
    }
    expect(inside.filter((text) => Result.isFailure(readFilter(text, { ...target, relations })))).toEqual([])
  })

  it("shows an error as it is", () => {
    const [example] = examplesOf("docs/reference/filter.md", "json")
    const shown = JSON.parse(example!.text) as { readonly errors: readonly unknown[] }
    expect(readFilter("status = piad", scope)).toEqual(Result.fail(shown.errors))
  })

  it("lists every code", () => {
    const every: { readonly [code in FilterErrorCode]: true } = {
      "syntax": true,
      "limit": true,
      "unknown-field": true,
      "not-filterable": true,
      "not-sortable": true,
      "not-searchable": true,
      "unknown-function": true,
      "operator": true,
      "argument": true,
      "value": true,
      "duplicate": true
    }
    const listed = section("Errors").split("\n").filter((line) => line.startsWith("| `")).flatMap((line) =>
      codes(line.split(" | ")[0]!)
    )
    expect(listed).toEqual(Object.keys(every))
  })
})
