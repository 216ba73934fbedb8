import * as Result from "effect/Result"
import { expect, it } from "vitest"
import { makeAccessResolver } from "../access/resolve.ts"
import type { Config } from "../declare/config.ts"
import { f, relation } from "../declare/field.ts"
import { defineResource } from "../declare/resource.ts"
import { defineRoles } from "../declare/roles.ts"
import { metaDocument } from "../meta/meta.ts"
import { compileModels } from "./compile.ts"

const id = f.integer().sortable()
const customers = defineResource("customers", {
  primaryKey: "id",
  fields: { id, name: f.text().sortable(), rating: f.integer().sortable(), note: f.text() },
  access: { fields: { rating: { read: ["finance"] } } }
})
const orders = defineResource("orders", {
  primaryKey: "id",
  fields: {
    id,
    customer_id: relation("customers"),
    meta: f.json({ paths: { "size.width": f.decimal().sortable() } })
  },
  access: { fields: { meta: { read: ["finance", "sales"] } } }
})

const configOf = (sort: string, recent = sort): Config => ({
  resources: [customers, orders],
  roles: defineRoles({ finance: ["*.*"], sales: ["orders.read", "customers.read"], packer: ["orders.read"] }),
  views: { orders: { sort, nav: { recent: { sort: recent } } } },
  pages: [{
    name: "board",
    label: "Board",
    blocks: [{ of: "list", label: "Orders", resource: "orders", sort }] as never
  }]
})

it.each<
  readonly [sort: string, recent: string, shown: Readonly<Record<string, readonly [sort: string, recent: boolean]>>]
>([
  ["customer.name desc, id", "customer.rating desc", {
    finance: ["customer.name desc, id", true],
    sales: ["customer.name desc, id", false],
    packer: ["id", false]
  }],
  ["id desc, customer.rating", "customer.name", {
    finance: ["id desc, customer.rating", true],
    sales: ["id desc", true],
    packer: ["id desc", false]
  }],
  ["meta.size.width desc", "meta.size.width", {
    finance: ["meta.size.width desc", true],
    sales: ["meta.size.width desc", true],
    packer: ["", false]
  }]
])("the orders %s and %s of views and blocks are told to those who may sort by them", (sort, recent, shown) => {
  const { defaults, models, pages, rules, userMenu, views } = Result.getOrThrow(compileModels(configOf(sort, recent)))
  const resolver = makeAccessResolver(models, rules, defaults)
  for (const [role, [order, recently]] of Object.entries(shown)) {
    const caller = { id: "u1", roles: [role], tenant: null }
    const resolve = (resource: string) => resolver.resolve(caller, resource)
    const meta = metaDocument({ caller, models, views, userMenu, pages, sources: null, resolve })
    expect(meta.views["orders"]!.sort, role).toBe(order)
    expect(meta.views["orders"]!.nav!.recent, role).toEqual(recently ? { sort: recent, limit: 5 } : null)
    expect(meta.pages[0]!.blocks, role).toMatchObject([{ sort: order }])
    if (role !== "finance") expect(JSON.stringify(meta)).not.toContain("rating")
  }
})

it.each([
  ["customer.note", "cannot be sorted"],
  ["customer.nope", "There is no field \"customer.nope\""],
  ["customer.name, customer.rating", "at most one field through relations"]
])("a view with the order %s is refused", (sort, message) => {
  const result = compileModels(configOf(sort))
  expect(Result.isFailure(result) && result.failure.map((each) => each.message).join("\n")).toContain(message)
})
