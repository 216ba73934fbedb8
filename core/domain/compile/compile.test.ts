import * as Result from "effect/Result"
import { describe, expect, expectTypeOf, it } from "vitest"
import { where } from "../access/where.ts"
import { type Change, defaultOptions, defineConfig } from "../declare/config.ts"
import { f, relation } from "../declare/field.ts"
import { defineResource } from "../declare/resource.ts"
import { defineRoles } from "../declare/roles.ts"
import { defineView } from "../declare/view.ts"
import { compileModels } from "./compile.ts"

const customers = defineResource("customers", {
  table: "shop.customers",
  primaryKey: "id",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    name: f.text().max(80).searched().filterable().sortable(),
    country: f.country().optional()
  }
})

const orders = defineResource("orders", {
  table: "shop.\"Orders 2\"",
  primaryKey: "id",
  tenant: f.integer().column("tenant_id"),
  owner: "owner_id",
  softDelete: "deleted_at",
  version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable().alias("no"),
    customer_id: relation("customers").filterable(),
    owner_id: f.uuid().readOnly(),
    status: f.enum(["draft", "paid"]).filterable().sortable().default("draft"),
    total: f.decimal({ precision: 12, scale: 2 }).filterable().sortable().default("0"),
    secret: f.text().sensitive().optional(),
    note: f.text().max(2000).optional().searched().column("remark"),
    created_at: f.timestamp().readOnly().dbDefault().filterable().sortable(),
    deleted_at: f.timestamp().optional()
  },
  validate: [(record) => record.total === "0.00" ? [{ field: "total", message: "must not be zero" }] : undefined],
  access: {
    read: where`owner_id = caller.id OR secret = "x" OR tenant_id = caller.tenant`,
    update: ({ record }) => record.status === "draft",
    delete: where`status = "draft"`,
    fields: { total: { write: ["finance"] }, secret: { read: false } }
  },
  events: { created: true, large_order: { on: ["create", "update"], match: ({ after }) => after?.status === "paid" } }
})

const lines = defineResource("order_lines", {
  primaryKey: ["order_id", "line"],
  fields: {
    order_id: relation(orders).inverse("lines"),
    line: f.integer().bits(16),
    replaced_by: relation("customers").optional().as("replacement").inverse(false)
  }
})

const config = defineConfig({
  resources: [customers, orders, lines],
  roles: defineRoles({ sales: ["orders.*", "customers.read"], finance: ["*.read"] }),
  views: {
    orders: [
      { name: "finance", roles: ["finance"], columns: ["total"] },
      {
        label: { singular: "Order", plural: "Orders" },
        columns: ["id", "status", "total"],
        sort: "created_at desc, no",
        filters: [{ name: "Open", filter: "status = draft AND total > 10" }],
        search: ["note", "status"],
        layout: [{ label: "Amounts", fields: ["total"] }, { fields: ["note"] }],
        chart: { of: "series", field: "created_at", measure: "sum:total" },
        title: "id",
        nav: { group: "Sales", icon: "cart", recent: { sort: "created_at desc" } }
      }
    ]
  },
  pages: [{ name: "reports", label: "Reports", roles: ["finance"] }],
  userMenu: [{ label: "Reports", page: "reports" }, {
    label: "Help",
    href: "https://example.com/help",
    resource: "orders"
  }],
  auth: { tenant: 1 },
  options: { statementTimeoutMs: 5000, scanGuard: { mode: "warn" }, rowPermissions: { except: ["order_lines"] } }
})

const compiled = Result.getOrThrow(compileModels(config))
const model = (name: string) => compiled.models.get(name)!
const column = (of: string, name: string) => model(of).columns.find((each) => each.name === name)!

describe("compileModels", () => {
  it("keeps the resources in declared order", () => {
    expect([...compiled.models.keys()]).toEqual(["customers", "orders", "order_lines"])
    expect([...compiled.rules.keys()]).toEqual(["customers", "orders", "order_lines"])
    for (const { fields, columns, byName } of compiled.models.values()) {
      expect(columns.map((each) => each.index)).toEqual(columns.map((_, index) => index))
      expect(columns.slice(0, fields.length)).toEqual(fields)
      expect([...byName.values()]).toEqual(fields)
    }
  })

  it("takes schema, table and columns apart", () => {
    expect([model("customers").schema, model("customers").table]).toEqual(["shop", "customers"])
    expect([model("orders").schema, model("orders").table]).toEqual(["shop", "Orders 2"])
    expect([model("order_lines").schema, model("order_lines").table]).toEqual([null, "order_lines"])
    expect(column("orders", "note").column).toBe("remark")
  })

  it("adds system columns that no field shows", () => {
    expect(model("orders").tenant).toBe(column("orders", "tenant_id"))
    expect(column("orders", "tenant_id")).toMatchObject({
      kind: "integer",
      bits: 32,
      system: true,
      readOnly: true,
      filterable: false,
      index: 9
    })
    expect(model("orders").version).toMatchObject({ name: "updated_at", kind: "timestamp", system: true, index: 10 })
    expect(model("orders").byName.has("tenant_id")).toBe(false)
  })

  it("makes declared system fields read-only", () => {
    expect(model("orders").softDelete).toBe(column("orders", "deleted_at"))
    expect(column("orders", "deleted_at")).toMatchObject({ system: false, readOnly: true, optional: true })
  })

  it("gives relations the kind of the key they point at", () => {
    expect(column("orders", "customer_id")).toMatchObject({ kind: "integer", bits: 64, relation: "customers" })
    expect(column("order_lines", "order_id")).toMatchObject({ kind: "integer", bits: 64, relation: "orders" })
  })

  it("follows keys that are relations themselves", () => {
    const profiles = defineResource("profiles", { primaryKey: "user_id", fields: { user_id: relation("users") } })
    const avatars = defineResource("avatars", { primaryKey: "id", fields: { id: relation("profiles").as("profile") } })
    const users = defineResource("users", { primaryKey: "id", fields: { id: f.uuid() } })
    const { models } = Result.getOrThrow(compileModels({ resources: [avatars, profiles, users] }))
    expect(models.get("avatars")!.key[0]).toMatchObject({ kind: "uuid", relation: "profiles" })
  })

  it("names the ways that expand can follow", () => {
    const ways = (name: string) =>
      [...model(name).relations.values()].map(({ name, target, many, from, to }) => [name, target, many, from.name, to])
    expect(ways("customers")).toEqual([["orders", "orders", true, "id", "customer_id"]])
    expect(ways("orders")).toEqual([
      ["customer", "customers", false, "customer_id", "id"],
      ["lines", "order_lines", true, "id", "order_id"]
    ])
    expect(ways("order_lines")).toEqual([
      ["order", "orders", false, "order_id", "id"],
      ["replacement", "customers", false, "replaced_by", "id"]
    ])
  })

  it("keeps defaults", () => {
    expect(column("orders", "status").default).toEqual({ value: "draft" })
    expect(column("orders", "id").default).toEqual({ db: true })
    expect(column("orders", "note").default).toBe(null)
  })

  it("gives defaults as records show values, however they were written", () => {
    const fields = {
      id: f.integer().readOnly().dbDefault(),
      count: f.integer().default("5" as never),
      stock: f.integer().default(5).bits(64),
      price: f.decimal({ precision: 6, scale: 2 }).default("1"),
      at: f.timestamp().default("2026-01-01T01:00:00.500+01:00"),
      ref: f.uuid().default("123E4567-E89B-42D3-A456-426614174000"),
      data: f.json().default({ b: 1.0, a: [null] })
    }
    const { models } = Result.getOrThrow(
      compileModels(defineConfig({ resources: [defineResource("goods", { primaryKey: "id", fields })] }))
    )
    const shown = models.get("goods")!.fields.slice(1).map((field) => field.default)
    expect(shown).toEqual([
      { value: 5 },
      { value: "5" },
      { value: "1.00" },
      { value: "2026-01-01T00:00:00.5Z" },
      { value: "123e4567-e89b-42d3-a456-426614174000" },
      { value: { b: 1, a: [null] } }
    ])
  })

  it("checks rules over the whole model, fields that are not filterable and system columns included", () => {
    const rules = compiled.rules.get("orders")!
    expect(rules.read).toMatchObject({ of: "filter", tree: { op: "or" } })
    expect(rules.create).toBe(null)
    expect(rules.update).toMatchObject({ of: "function" })
    expect(rules.delete).toMatchObject({ of: "filter", tree: { op: "compare", field: column("orders", "status") } })
    expect(rules.fields.get("total")).toEqual({ read: null, write: { of: "roles", roles: ["finance"] } })
    expect(rules.fields.get("secret")).toEqual({ read: { of: "constant", allow: false }, write: null })
  })

  it("checks filters that rule functions answer", () => {
    const { check } = compiled.rules.get("orders")!
    expect(check("deleted_at > now()")).toMatchObject({ op: "compare" })
    expect(check("deleted_ > now()")).toBe(null)
    expect(check("  ")).toBe(null)
  })

  it("compiles events", () => {
    expect(model("orders").events).toEqual(["created", "large_order"])
    const events = compiled.events.get("orders")!
    expect(events.get("created")).toEqual({ name: "created", on: new Set(["create"]), match: null })
    expect([...events.get("large_order")!.on]).toEqual(["create", "update"])
    const change = { operation: "create", before: null, after: { status: "paid" } } as const
    expect(events.get("large_order")!.match!(change)).toBe(true)
    expect(model("orders").validate[0]!({ total: "0.00" })).toEqual([{ field: "total", message: "must not be zero" }])
  })

  it("compiles views, the usual one for resources without any", () => {
    const [finance, open, ofCustomers, ofLines] = compiled.views
    expect(compiled.views.map(({ resource, name, roles }) => [resource, name, roles])).toEqual([
      ["orders", "finance", ["finance"]],
      ["orders", "orders", null],
      ["customers", "customers", null],
      ["order_lines", "order_lines", null]
    ])
    expect(finance!.columns).toEqual(["total"])
    expect(open!.sort).toEqual([
      { field: column("orders", "created_at"), descending: true },
      { field: column("orders", "id"), descending: false }
    ])
    expect(open!.filters).toEqual([
      { name: "Open", filter: "status = draft AND total > 10", fields: ["status", "total"] }
    ])
    expect(open!.search).toEqual(["note", "status"])
    expect(open!.layout).toEqual([{ label: "Amounts", fields: ["total"] }, { label: null, fields: ["note"] }])
    expect(open!.chart).toEqual({
      of: "series",
      field: "created_at",
      granularity: "day",
      range: "30d",
      measure: "sum:total",
      measured: "total"
    })
    expect(open!.nav).toEqual({
      group: "Sales",
      order: 0,
      icon: "cart",
      bottom: false,
      recent: { sort: "created_at desc", limit: 5, fields: ["created_at"] }
    })
    expect(ofCustomers).toMatchObject({
      label: { singular: "Customer", plural: "Customers" },
      columns: ["id", "name", "country"],
      search: ["name"],
      title: null,
      nav: { group: null, order: 0, icon: null, bottom: false, recent: null }
    })
    expect(ofLines!.label).toEqual({ singular: "Order line", plural: "Order lines" })
  })

  it("compiles menus and pages", () => {
    expect(compiled.pages).toEqual([
      { name: "reports", label: "Reports", href: "/reports", roles: ["finance"], resource: null, blocks: null }
    ])
    expect(compiled.userMenu).toEqual([
      { label: "Reports", href: "/reports", page: "reports", roles: null, resource: null },
      { label: "Help", href: "https://example.com/help", page: null, roles: null, resource: "orders" }
    ])
  })

  it("fills in options, and takes roles from either place", () => {
    expect(compiled.options).toEqual({
      ...defaultOptions,
      statementTimeoutMs: 5000,
      scanGuard: { mode: "warn", seqScanRows: 10_000, aggregateRows: 1_000_000 },
      rowPermissions: { except: new Set(["order_lines"]) }
    })
    expect([...compiled.roles!.keys()]).toEqual(["sales", "finance"])
    expect(compiled.auth).toEqual({ tenant: 1 })
    const { roles, ...rest } = config
    const again = Result.getOrThrow(compileModels({ ...rest, options: { roles: roles! } }))
    expect(again.defaults).toEqual(compiled.defaults)
    const none = Result.getOrThrow(compileModels({ resources: [customers] }))
    expect(none.defaults).toEqual({ roles: null, defaultAccess: null })
    expect(none.options).toEqual(defaultOptions)
    // As documented; no other test runs for as long or reads as much as would tell them from others.
    expect(defaultOptions).toMatchObject({
      statementTimeoutMs: 15_000,
      scanGuard: { mode: "reject", seqScanRows: 10_000, aggregateRows: 1_000_000 },
      basePath: "/api/v1",
      serverTiming: false,
      maxBodyBytes: 2_097_152,
      maxAnswerBytes: 33_554_432,
      maxBatchBytes: 67_108_864,
      trustedProxies: 0
    })
  })

  it("takes views from defineView, and false for what is turned off", () => {
    const view = defineView(customers, { columns: ["name"], nav: false })
    const result = Result.getOrThrow(compileModels(
      defineConfig({ resources: [customers], views: [view], options: { rowPermissions: false, sources: false } })
    ))
    expect(result.views).toMatchObject([{ resource: "customers", columns: ["name"], nav: null }])
    expect(result.options).toMatchObject({ rowPermissions: null, sources: null })
  })

  it("does not tell a typed configuration from a plain one", () => {
    const field = (kind: string) => ({ _tag: "Field", spec: { ...f.text().spec, kind } })
    const plain = { _tag: "Resource", name: "a", declaration: { primaryKey: "id", fields: { id: field("uuid") } } }
    const result = compileModels({ resources: [plain] } as never)
    expect(Result.getOrThrow(result).models.get("a")!.key[0]!.kind).toBe("uuid")
  })
})

describe("defineConfig", () => {
  it("types hooks by resource, and views by their resource's fields", () => {
    defineConfig({
      resources: [customers, lines],
      options: {
        writeHooks: [(change) => {
          expectTypeOf(change.resource).toEqualTypeOf<"customers" | "order_lines">()
          expectTypeOf(change.transaction).toEqualTypeOf<Change["transaction"]>()
          if (change.resource === "customers") expectTypeOf(change.after!.country).toEqualTypeOf<string | null>()
          if (change.resource === "order_lines") expectTypeOf(change.before!.line).toEqualTypeOf<number>()
        }]
      }
    })
    // @ts-expect-error no such field
    defineConfig({ resources: [customers], views: { customers: { columns: ["nam"] } } })
    // @ts-expect-error no such resource
    defineConfig({ resources: [customers], views: { orders: {} } })
    // @ts-expect-error no such field
    defineView(customers, { title: "nam" })
    // @ts-expect-error no such option
    defineConfig({ resources: [customers], options: { statementTimeout: 1 } })
    // @ts-expect-error an entry leads to one place
    defineConfig({ resources: [customers], userMenu: [{ label: "a", href: "/a", page: "b" }] })
  })
})
