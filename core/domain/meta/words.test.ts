/** What people read of fields and resources, from the declaration to the documents about it. */

import * as Result from "effect/Result"
import { expect, it } from "vitest"
import { callerOf, documentOf, open, requestOf } from "../../../test/support/openapi.ts"
import { compileModels } from "../compile/compile.ts"
import { f } from "../declare/field.ts"
import { defineResource } from "../declare/resource.ts"
import { metaDocument } from "./meta.ts"

const customers = defineResource("customers", {
  description: "Who buys, or once did.",
  primaryKey: "id",
  fields: { id: f.integer(), name: f.text() }
})
const orders = defineResource("orders", {
  primaryKey: "id",
  fields: {
    id: f.integer(),
    net: f.text().label("Net price").help("Without tax."),
    customer_id: f.relation(customers).label("Buyer"),
    scan: f.file().optional().label("Receipt").help("A photograph will do."),
    plain: f.text().optional(),
    line: f.text().optional().multiline(false),
    level: f.enum(["low", "high"]).ordered().optional(),
    body: f.text().optional().multiline()
  }
})

const compiled = Result.getOrThrow(compileModels({ resources: [customers, orders] }))
const models = new Map(
  [...compiled.models].map(([name, model]) => [name, { ...model, rules: compiled.rules.get(name)! }])
)
const request = requestOf(callerOf("admin"), open, models)

it("stand in meta where they are declared, and only there", () => {
  const meta = metaDocument({ ...request, views: [], userMenu: [], pages: [], sources: null })
  const [first, second] = meta.models
  expect([first?.description, second && "description" in second]).toEqual(["Who buys, or once did.", false])
  expect(second?.fields.map(({ help, label }) => [label, help])).toEqual([
    [undefined, undefined],
    ["Net price", "Without tax."],
    ["Buyer", undefined],
    ["Receipt", "A photograph will do."],
    [undefined, undefined],
    [undefined, undefined],
    [undefined, undefined],
    [undefined, undefined]
  ])
  expect("label" in second!.fields[4]!).toBe(false)
  expect(second?.fields.map((field) => field.multiline).slice(4)).toEqual([undefined, false, undefined, true])
  expect(second?.fields.map((field) => field.ordered).slice(5)).toEqual([undefined, true, undefined])
})

it("are titles and descriptions in OpenAPI, in records and bodies", () => {
  const { schemas } = documentOf(request).components
  const properties = (schema: string) =>
    (schemas[schema] as { readonly properties: { readonly [name: string]: object } }).properties
  expect(schemas["customers"]).toMatchObject({ description: "Who buys, or once did." })
  for (const schema of ["orders", "orders.Create", "orders.Update"]) {
    expect(properties(schema)["net"]).toMatchObject({ title: "Net price", description: "Without tax." })
    expect(properties(schema)["customer_id"]).toMatchObject({ title: "Buyer" })
    expect(properties(schema)["scan"]).toMatchObject({ title: "Receipt", description: "A photograph will do." })
    expect(properties(schema)["plain"]).not.toHaveProperty("title")
  }
})
