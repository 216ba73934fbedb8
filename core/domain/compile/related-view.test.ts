import * as Result from "effect/Result"
import { expect, it } from "vitest"
import { makeAccessResolver } from "../access/resolve.ts"
import type { Config } from "../declare/config.ts"
import { f, relation } from "../declare/field.ts"
import { defineResource } from "../declare/resource.ts"
import { defineRoles } from "../declare/roles.ts"
import { metaDocument } from "../meta/meta.ts"
import { compileModels } from "./compile.ts"

const id = f.integer().filterable()
const customers = defineResource("customers", {
  primaryKey: "id",
  fields: { id, country: f.text().filterable(), rating: f.integer().filterable(), note: f.text() },
  access: { fields: { rating: { read: ["finance"] } } }
})
const orders = defineResource("orders", {
  primaryKey: "id",
  fields: {
    id,
    customer_id: relation("customers").filterable(),
    partner_id: relation("customers").as("partner").inverse(false)
  },
  access: { fields: { partner_id: { read: ["finance"] } } }
})
const lines = defineResource("lines", { primaryKey: "id", fields: { id, order_id: relation("orders") } })

const filters = [
  { name: "Near", filter: "customer.country = NO" },
  { name: "Good", filter: "customer.rating > 3" },
  { name: "Good inside", filter: "has(customer, \"rating > 3\")" },
  { name: "Partners", filter: "partner.country = NO" },
  { name: "With lines", filter: "NOT has(lines)" }
]

const configOf = (named: typeof filters): Config => ({
  resources: [customers, orders, lines],
  roles: defineRoles({
    finance: ["*.*"],
    sales: ["orders.read", "customers.read"],
    packer: ["orders.read", "lines.read"]
  }),
  views: { orders: { filters: named } },
  pages: [{
    name: "board",
    label: "Board",
    blocks: named.map(({ filter, name }) => ({ of: "number", label: name, resource: "orders", filter })) as never
  }]
})

it("filters of views and blocks go through relations, for those who may follow them", () => {
  const { defaults, models, pages, rules, userMenu, views } = Result.getOrThrow(compileModels(configOf(filters)))
  const resolver = makeAccessResolver(models, rules, defaults)
  const named = (role: string) => {
    const caller = { id: "u1", roles: [role], tenant: null }
    const resolve = (resource: string) => resolver.resolve(caller, resource)
    const meta = metaDocument({ caller, models, views, userMenu, pages, sources: null, resolve })
    const shown = meta.views["orders"]!.filters.map(({ name }) => name)
    // A block is told to whom the filter is.
    expect(meta.pages[0]?.blocks?.map((block) => "label" in block ? block.label : null) ?? []).toEqual(shown)
    // Nothing that is hidden is named.
    if (role !== "finance") expect(JSON.stringify(meta)).not.toMatch(/rating|partner/)
    return shown
  }
  expect(named("finance")).toEqual(["Near", "Good", "Good inside", "Partners", "With lines"])
  expect(named("sales")).toEqual(["Near"])
  expect(named("packer")).toEqual(["With lines"])
})

it.each([
  ["customer.country.x = 1", "There is no field \"customer.country.x\""],
  ["customers.country = NO", "There is no field \"customers.country\""],
  ["customer.note = x", "cannot be filtered"],
  ["customer.id = caller.id", "is not a value"]
])("a view with the filter %s is refused", (filter, message) => {
  const result = compileModels(configOf([{ name: "One", filter }]))
  expect(Result.isFailure(result) && result.failure.map((each) => each.message).join("\n")).toContain(message)
})
