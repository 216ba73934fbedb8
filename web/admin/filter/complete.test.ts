import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { readFilter } from "../../../core/domain/filter/read.ts"
import { scopeOf } from "../model/conditions.ts"

import { related } from "../../../test/support/related.ts"
import { askedAt, type CompletionQuery, written } from "./complete.ts"

const orders = related.resources.get("orders")!

const asked = (text: string, explicit = false): CompletionQuery | null => askedAt(orders, text, explicit)

/** What is offered, as text that would then stand there. */
const offered = (text: string, explicit = false): readonly string[] => {
  const found = asked(text, explicit)
  return found?.of === "names" ? found.names.map((each) => each.text) : []
}

describe("the completion of a filter", () => {
  it("offers fields and relations where a name can stand", () => {
    expect(offered("cu")).toEqual(["id", "status", "note", "customer_id", "customer.", "lines."])
    expect(asked("cu")).toMatchObject({ length: 2, whole: true })
    expect(offered("status = paid AND cu")).toContain("customer.")
    expect(asked("")).toBeNull()
    expect(offered("", true)).toContain("customer.")
  })

  it("offers the target's fields behind a relation, as the caller sees them", () => {
    expect(offered("customer.")).toEqual(["id", "name", "country", "orders."])
    expect(asked("customer.co")).toMatchObject({ of: "names", length: 2, whole: false })
    expect(offered("lines.product.")).toEqual(["id", "name"])
    // Three relations are the most: no fourth is offered.
    expect(offered("lines.order.customer.")).toEqual(["id", "name", "country"])
    for (const nowhere of ["secret.", "customer.secret.", "lost.", "customer..", "lines.order.lines.product."]) {
      expect(asked(nowhere, true)).toBeNull()
    }
  })

  it("offers relations in the brackets of has and count", () => {
    expect(offered("has(")).toEqual(["customer", "lines"])
    expect(offered("NOT count(li")).toEqual(["customer", "lines"])
    expect(offered("has(lines.")).toEqual(["order", "product"])
    expect(offered("count(lines.")).toEqual([])
    expect(asked("has(li")).toMatchObject({ length: 2, whole: false })
  })

  it("knows the records that the quotes of has and count are about", () => {
    expect(offered("has(lines, \"")).toEqual([])
    expect(offered("has(lines, \"qu")).toEqual(["id", "order_id", "product_id", "quantity", "order.", "product."])
    expect(asked("has(lines, \"qu")).toMatchObject({ length: 2, whole: true, inQuotes: true })
    expect(offered("status = paid AND count(customer.orders, 'st")).toContain("status")
    expect(asked("has(lines, \"product.name = Ch")).toMatchObject({
      of: "values",
      length: 2,
      resource: { name: "lines" },
      path: { text: "product.name" }
    })
    // Behind the closing quote it is about the record itself again.
    expect(offered("has(lines, \"quantity > 1\") AND st")).toContain("status")
    expect(asked("has(lines, \"product.name = \\\"a b")).toMatchObject({ of: "values", length: 5 })
    expect(asked("has(lines, \"product.name = \\\"Ch")).toMatchObject({ length: 4 })
  })

  it("offers paths into JSON, with quotes where their names need them", () => {
    const field = {
      ...orders.fields.get("note")!,
      name: "meta",
      kind: "json" as const,
      paths: [{ path: "\"net weight\"", kind: "decimal" as const, filterable: true, sortable: false }]
    }
    const resource = { ...orders, model: { ...orders.model, fields: [field] }, fields: new Map([["meta", field]]) }
    const names = (text: string) => {
      const found = askedAt({ ...resource, target: () => resource }, text, false)
      return found?.of === "names" ? found.names.map((each) => each.text) : []
    }
    expect(names("me")).toContain("meta.\"net weight\"")
    expect(Result.isSuccess(readFilter("meta.\"net weight\" > 2", scopeOf(resource)))).toBe(true)
  })

  it.each([
    ["status = pa", "status", 2, false],
    ["customer.country = ", "customer.country", 0, false],
    ["in(customer.country, NO, D", "customer.country", 1, false],
    ["lines.product.name:\"ch", "lines.product.name", 3, true],
    ["-customer.country != N", "customer.country", 1, false]
  ])("asks for values of the field before the operator: %s", (text, path, length, many) => {
    expect(asked(text)).toMatchObject({ of: "values", length, path: { text: path, many } })
  })

  it("asks for no values of what is not filterable", () => {
    expect(asked("customer.photo = a")).toBeNull()
  })

  it.each([["Bo"], ["O'Brien"], ["a \"b\" \\ c"], ["50 *"], ["x) OR status = (paid"]])(
    "writes %j so that it is that value, also within quotes",
    (value) => {
      for (const text of [`note = ${written(value, false)}`, `has(customer, "name = ${written(value, true)}")`]) {
        const read = readFilter(text, scopeOf(orders))
        expect(JSON.stringify(read)).toContain(`"text":${JSON.stringify(value)}`)
      }
    }
  )
})
