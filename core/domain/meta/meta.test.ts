import { describe, expect, it } from "vitest"
import { resolverOf, rulesOf as accessRulesOf } from "../../../test/support/access.ts"
import { makeModel, type RuledModel } from "../../../test/support/model.ts"
import { rolesOf } from "../../../test/support/openapi.ts"
import type { Caller } from "../access/caller.ts"
import type { AccessDefaults, CompiledRule } from "../access/rules.ts"
import { where } from "../access/where.ts"
import type { Model } from "../model/model.ts"
import type { MenuItem, Page, View } from "../model/view.ts"
import { type MetaDocument, metaDocument, metaEtag, type MetaRequest } from "./meta.ts"
import { type Declared, metaVersion, metaVersions, modelsVersion, stableText } from "./version.ts"

const orders = makeModel({
  name: "orders",
  fields: [
    { name: "id", kind: "integer", bits: 64, readOnly: true, default: { db: true } },
    { name: "customer_id", kind: "integer", bits: 64, relation: "customers" },
    { name: "owner_id" },
    { name: "status", kind: "enum", values: ["draft", "paid"], default: { value: "draft" } },
    { name: "total", kind: "decimal", precision: 12, scale: 2, alias: "amount" },
    { name: "secret_margin", kind: "decimal", precision: 12, scale: 2, alias: "hush_profit", optional: true },
    { name: "note", max: 2000, optional: true, searched: true, filterable: false, sortable: false },
    { name: "created_at", kind: "timestamp", readOnly: true }
  ],
  owner: "owner_id",
  tenant: "hidden_tenant",
  softDelete: "hidden_deleted",
  version: "hidden_version",
  rules: {
    update: { of: "function", run: ({ record }) => record["status"] === "draft" },
    delete: { of: "function", run: () => where`status = "draft"` },
    check: () => ({ op: "null", field: makeModel({ fields: [{ name: "status" }] }).fields[0]! }),
    fields: {
      secret_margin: { read: { of: "roles", roles: ["finance"] } },
      total: { write: { of: "roles", roles: ["finance"] } }
    }
  },
  relations: [
    { name: "customer_id", target: "customers", many: false, from: "customer_id", to: "id" },
    { name: "lines", target: "lines", many: true, from: "id", to: "order_id" }
  ]
})
const customers = makeModel({ name: "customers", fields: [{ name: "id" }, { name: "name" }] })
const lines = makeModel({
  name: "lines",
  fields: [{ name: "order_id", relation: "orders" }, { name: "line", kind: "integer", bits: 16 }],
  key: ["order_id", "line"]
})
const models = new Map([orders, customers, lines].map((model) => [model.name, model]))

const field = (model: Model, name: string) => model.byName.get(name)!
const view = (parts: Partial<View> & { readonly resource: string }): View => ({
  name: parts.resource,
  label: { singular: "Record", plural: "Records" },
  columns: [],
  sort: [],
  filters: [],
  search: [],
  layout: [],
  inputs: {},
  chart: null,
  title: null,
  nav: { group: null, order: 0, icon: null, bottom: false, recent: null },
  links: [],
  actions: [],
  cells: {},
  roles: null,
  ...parts
})
const ordersView = view({
  resource: "orders",
  columns: ["id", "status", "secret_margin", "total"],
  sort: [
    { field: field(orders, "secret_margin"), descending: true },
    { field: field(orders, "created_at"), descending: true },
    { field: field(orders, "id"), descending: false }
  ],
  filters: [
    { name: "Open", filter: "status = draft", fields: ["status"] },
    { name: "Good", filter: "status = paid AND hush_profit > 5", fields: ["status", "secret_margin"] },
    { name: "Folded", filter: "status = paid OR -secret_margin:*", fields: ["status"] }
  ],
  search: ["status", "secret_margin"],
  layout: [
    { label: "Money", fields: ["total", "secret_margin"] },
    { label: "Inner", fields: ["secret_margin"] },
    { label: null, fields: ["note"] }
  ],
  chart: {
    of: "series",
    field: "created_at",
    granularity: "day",
    range: "30d",
    measure: "sum:secret_margin",
    measured: "secret_margin"
  },
  title: "secret_margin",
  nav: {
    group: "Sales",
    order: 1,
    icon: "cart",
    bottom: true,
    recent: { sort: "secret_margin desc", limit: 5, fields: ["secret_margin"] }
  }
})
const page = (name: string, parts: Partial<Page> = {}): Page => ({
  name,
  label: name,
  href: `/${name}`,
  roles: null,
  resource: null,
  blocks: null,
  ...parts
})
const item = (label: string, parts: Partial<MenuItem> = {}): MenuItem => ({
  label,
  href: "/x",
  page: null,
  roles: null,
  resource: null,
  ...parts
})

const caller = (...roles: readonly string[]): Caller => ({ id: "u1", roles, tenant: "1" })
const meta = (
  who: Caller,
  defaults: AccessDefaults,
  parts: Partial<MetaRequest> & { readonly models?: ReadonlyMap<string, RuledModel> } = {}
): MetaDocument => {
  const resolver = resolverOf(parts.models ?? models, defaults)
  const document = metaDocument({
    caller: who,
    models,
    views: [ordersView],
    userMenu: [],
    pages: [],
    sources: [],
    resolve: (resource) => resolver.resolve(who, resource),
    ...parts
  })
  // What is not JSON would be lost on the wire.
  expect(JSON.parse(JSON.stringify(document))).toEqual(document)
  return document
}
const open: AccessDefaults = { roles: null, defaultAccess: null }
const roles = rolesOf({
  finance: ["*"],
  sales: ["orders.*.own", "customers.read"],
  clerk: ["orders.create(status)"],
  lines: ["lines.read", "orders.read(status,created_at)"]
})

describe("metaDocument", () => {
  it("tells admins of a queue, and nobody else", () => {
    expect(meta(caller("admin"), open, { jobs: true }).jobs).toBe(true)
    expect(meta(caller("admin"), open)).not.toHaveProperty("jobs")
    expect(meta(caller("finance"), open, { jobs: true })).not.toHaveProperty("jobs")
  })

  it("has everything for one who sees everything", () => {
    const document = meta(caller("finance"), open)
    expect(document.models.map((model) => model.name)).toEqual(["orders", "customers", "lines"])
    expect(document.models[0]).toEqual({
      name: "orders",
      primaryKey: ["id"],
      softDelete: true,
      tenantScoped: true,
      owner: "owner_id",
      version: null,
      relations: [
        { name: "customer_id", resource: "customers", many: false, field: "customer_id", targetField: "id" },
        { name: "lines", resource: "lines", many: true, field: "id", targetField: "order_id" }
      ],
      fields: expect.any(Array)
    })
    const flags = { optional: false, filterable: true, sortable: true, searched: false, sensitive: false }
    const both = { readOnly: false, writable: { create: true, update: true } }
    const none = { readOnly: true, writable: { create: false, update: false } }
    expect(document.models[0]!.fields).toEqual([
      { name: "id", kind: "integer", bits: 64, default: { db: true }, ...flags, ...none },
      { name: "customer_id", kind: "integer", bits: 64, relation: "customers", ...flags, ...both },
      { name: "owner_id", kind: "text", ...flags, ...both },
      { name: "status", kind: "enum", values: ["draft", "paid"], default: { value: "draft" }, ...flags, ...both },
      { name: "total", kind: "decimal", precision: 12, scale: 2, alias: "amount", ...flags, ...both },
      {
        name: "secret_margin",
        kind: "decimal",
        precision: 12,
        scale: 2,
        alias: "hush_profit",
        ...flags,
        optional: true,
        ...both
      },
      {
        name: "note",
        kind: "text",
        max: 2000,
        ...flags,
        optional: true,
        searched: true,
        filterable: false,
        sortable: false,
        ...both
      },
      { name: "created_at", kind: "timestamp", ...flags, ...none }
    ])
    expect(document.permissions["orders"]).toEqual({
      read: true,
      create: true,
      update: true,
      delete: true,
      conditional: ["update", "delete"]
    })
    expect(document.views["orders"]).toMatchObject({
      sort: "secret_margin desc, created_at desc, id",
      title: "secret_margin",
      filters: [{ name: "Open" }, { name: "Good" }, { name: "Folded" }]
    })
    expect(document.sources).toEqual([])
    const sources = [
      { url: "https://a.example/api/v1", label: "A", resources: ["items"], roles: null },
      { url: "https://b.example/api/v1", label: "B", resources: ["parts"], roles: ["buyer"] }
    ]
    expect(meta(caller("admin"), open, { sources }).sources).toEqual([
      { url: "https://a.example/api/v1", label: "A", resources: ["items"] }
    ])
    expect(meta(caller("buyer"), open, { sources }).sources.map(({ label }) => label)).toEqual(["A", "B"])
    expect(meta(caller("buyer"), open, { sources: null }).sources).toEqual([])
    expect(JSON.stringify(document)).not.toContain("hidden_")
  })

  it("takes every reference to a hidden field out", () => {
    const document = meta(caller("sales"), roles)
    const text = JSON.stringify(document)
    for (const word of ["secret_margin", "hush_profit", "hidden_"]) expect(text).not.toContain(word)
    expect(document.models.map((model) => model.name)).toEqual(["orders", "customers"])
    expect(document.views["orders"]).toEqual({
      name: "orders",
      label: { singular: "Record", plural: "Records" },
      columns: ["id", "status", "total"],
      sort: "created_at desc, id",
      filters: [{ name: "Open", filter: "status = draft" }],
      search: ["status"],
      layout: [{ label: "Money", fields: ["total"] }, { label: null, fields: ["note"] }],
      chart: null,
      title: null,
      nav: { group: "Sales", order: 1, icon: "cart", bottom: true, recent: null },
      links: [],
      actions: [],
      cells: {}
    })
    expect(document.permissions).toEqual({
      orders: {
        read: true,
        create: true,
        update: true,
        delete: true,
        conditional: ["read", "create", "update", "delete"]
      },
      customers: { read: true, create: false, update: false, delete: false, conditional: [] }
    })
    expect(document.models[0]!.fields.find(({ name }) => name === "total")).toMatchObject({ readOnly: true })
    expect(document.models[0]!.relations.map((relation) => relation.name)).toEqual(["customer_id"])
  })

  it("names related resources only when they are visible, and their fields only when readable", () => {
    const document = meta(caller("lines"), roles)
    expect(document.models.map((model) => model.name)).toEqual(["orders", "lines"])
    expect(document.models[0]).toMatchObject({ primaryKey: [], owner: null, relations: [] })
    expect(JSON.stringify(document.models[0])).not.toContain("customers")
    expect(document.models[1]!.fields[0]).toMatchObject({ name: "order_id", relation: "orders" })
  })

  it("shows a creator without read what a create accepts, and nothing that needs a list", () => {
    const document = meta(caller("clerk"), roles)
    expect(document.models).toHaveLength(1)
    expect(document.models[0]!.fields).toEqual([
      expect.objectContaining({
        name: "status",
        writable: { create: true, update: false },
        filterable: false,
        sortable: false
      })
    ])
    // The explicit rules of update and delete would hold, but no record can be found to use them on.
    expect(document.permissions["orders"]).toEqual({
      read: false,
      create: true,
      update: false,
      delete: false,
      conditional: []
    })
    expect(document.views["orders"]).toMatchObject({ columns: [], sort: "", filters: [], search: [], chart: null })
  })

  it("allows nothing of a tenant-scoped resource without a tenant", () => {
    const document = meta({ ...caller("finance"), tenant: null }, open)
    expect(document.permissions["orders"]).toEqual({
      read: false,
      create: false,
      update: false,
      delete: false,
      conditional: []
    })
    expect(document.permissions["lines"]!.read).toBe(true)
  })

  it("picks the first view for the caller's roles", () => {
    const views = [
      view({ resource: "customers", name: "a", roles: ["finance"] }),
      view({ resource: "customers", name: "b", roles: ["sales", "x"] }),
      view({ resource: "customers", name: "c" })
    ]
    expect(meta(caller("finance", "x"), open, { views }).views["customers"]!.name).toBe("a")
    expect(meta(caller("x"), open, { views }).views["customers"]!.name).toBe("b")
    expect(meta(caller(), open, { views }).views["customers"]!.name).toBe("c")
    expect(meta(caller(), open, { views: views.slice(0, 2) }).views).toEqual({})
  })

  it("leaves pages and menu entries out that lead to what the caller cannot see", () => {
    const pages = [
      page("start"),
      page("books", { roles: ["finance"] }),
      page("lineage", { resource: "lines" }),
      page("shortcut", { href: "/lines/7?x=1" }),
      page("outside", { href: "https://example.org/lines" })
    ]
    const userMenu = [
      item("Start", { href: "/start", page: "start" }),
      item("Books", { href: "/books", page: "books" }),
      item("Lines", { href: "/lines" }),
      item("Lines too", { resource: "lines" }),
      item("Margins", { href: "/orders?filter=secret_margin%3E5" }),
      item("Margins too", { href: "/orders?order_by=hush_profit+desc" }),
      item("Drafts", { href: "/orders?filter=status%3Ddraft" }),
      item("Odd", { href: "/orders?filter=%E0%A4%A" }),
      item("Help", { href: "/help", roles: ["sales"] })
    ]
    const sales = meta(caller("sales"), roles, { pages, userMenu })
    expect(sales.pages.map(({ name }) => name)).toEqual(["start", "outside"])
    expect(sales.userMenu.map(({ label }) => label)).toEqual(["Start", "Drafts", "Odd", "Help"])
    const finance = meta(caller("finance"), roles, { pages, userMenu })
    expect(finance.pages).toHaveLength(5)
    expect(finance.userMenu.map(({ label }) => label)).toEqual(
      userMenu.map(({ label }) => label).filter((label) => label !== "Help")
    )
  })

  it("never holds the name of anything hidden, for random models, views and roles", () => {
    let state = 7
    const random = (): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
      return state / 0x80000000
    }
    const some = <A>(items: readonly A[], share = 0.5): A[] => items.filter(() => random() < share)
    for (let round = 0; round < 300; round++) {
      const resources = ["r1x", "r2x", "r3x"]
      const fieldNames = (resource: string) => Array.from({ length: 6 }, (_, i) => `${resource}_f${i}z`)
      const made = new Map(resources.map((resource) => {
        const target = resources[Math.floor(random() * 3)]!
        return [
          resource,
          makeModel({
            name: resource,
            fields: fieldNames(resource).map((name, i) => ({
              name,
              alias: `${name}_alias`,
              relation: i === 1 ? target : null,
              searched: random() < 0.5
            })),
            owner: `${resource}_f2z`,
            version: `${resource}_f3z`,
            rules: {
              fields: Object.fromEntries(
                some(fieldNames(resource), 0.3).map((name) => [name, { read: { of: "constant", allow: false } }])
              )
            },
            relations: [{
              name: `${resource}_f1z`,
              target,
              many: random() < 0.5,
              from: `${resource}_f1z`,
              to: `${target}_f4z`
            }]
          })
        ] as const
      }))
      const texts = some(resources, 0.7).map((resource) => {
        const list = some(fieldNames(resource))
        return `${resource}.${["read", "create", "update", "*"][Math.floor(random() * 4)]}${
          list.length === 0 ? "" : `(${list.join()})`
        }`
      })
      const views = [...made.values()].map((model) => {
        const names = [...model.byName.keys()]
        const pick = () => names[Math.floor(random() * names.length)]!
        const [a, b, c] = [pick(), pick(), pick()]
        return view({
          resource: model.name,
          columns: some(names),
          sort: some(model.fields).map((each) => ({ field: each, descending: random() < 0.5 })),
          filters: [{ name: "F", filter: `${a}_alias = "x" OR NOT ${b} = "y"`, fields: [a, b] }],
          search: some(names),
          layout: [{ label: null, fields: some(names) }],
          chart: random() < 0.5
            ? { of: "facets", field: c, limit: 5 }
            : { of: "series", field: c, granularity: "day", range: "all", measure: `sum:${a}`, measured: a },
          title: pick(),
          nav: {
            group: null,
            order: 0,
            icon: null,
            bottom: false,
            recent: { sort: `${a}_alias desc`, limit: 5, fields: [a] }
          },
          links: [{ label: "L", href: `/x/{${a}}?b={${b}}`, fields: [a, b] }],
          cells: { [c]: "map" }
        })
      })
      const who = caller("role")
      const defaults = rolesOf({ role: texts })
      const resolver = resolverOf(made, defaults)
      const document = meta(who, defaults, {
        models: made,
        views,
        pages: resources.map((resource) =>
          page(`p${resource}`, { label: "P", href: `/${resource}?f=${resource}_f0z`, resource })
        ),
        userMenu: resources.map((resource) => item("M", { href: `/${resource}?f=${resource}_f5z_alias` }))
      })
      const words = new Set(JSON.stringify(document).match(/\w+/g))
      for (const model of made.values()) {
        const access = resolver.resolve(who, model.name)
        expect(words.has(model.name) || access === null).toBe(true)
        if (access === null) expect(words.has(model.name), `round ${round} ${model.name}`).toBe(false)
        for (const { name } of model.fields) {
          if (access?.restricted.byName.has(name) === true) expect(words.has(name)).toBe(true)
          else {
            expect(words.has(name), `round ${round} ${name}`).toBe(false)
            expect(words.has(`${name}_alias`), `round ${round} ${name}`).toBe(false)
          }
        }
      }
    }
  })
})

describe("versions", () => {
  const hash = (text: string): string => `h${text.length}:${text}`
  const declared = (parts: Partial<Declared> = {}): Declared => ({
    models,
    rules,
    views: [ordersView],
    functions: new Map(),
    userMenu: [],
    pages: [],
    sources: [],
    defaults: roles,
    ...parts
  })
  const rules = accessRulesOf(models)
  const ruledAs = (read: CompiledRule): Partial<Declared> => ({
    rules: new Map([...rules, ["customers", { ...customers.rules, read }]])
  })
  const version = (parts: Partial<Declared> = {}) => modelsVersion(declared(parts), hash)

  it("writes every value, in one order", () => {
    expect(stableText({ b: 1, a: [null, undefined, "x", 2n, true], c: new Map([["k", new Set([1])]]), d: undefined }))
      .toBe(
        `{"a":[null,undefined,"x",2n,true],"b":1,"c":map{"k":set[1]}}`
      )
    expect(stableText({ a: 1, b: 2 })).toBe(stableText({ b: 2, a: 1 }))
    expect(stableText([new Date(5), Symbol("s"), Number.NaN])).toBe(`[date 5,symbol "s",NaN]`)
    const loop: { self?: unknown } = {}
    loop.self = loop
    expect(stableText(loop)).toBe(`{"self":cycle}`)
    expect(stableText(["1", 1])).not.toBe(stableText([1, "1"]))
  })

  it("changes with anything declared and with nothing else", () => {
    const base = version()
    expect(version()).toBe(base)
    const variants: Partial<Declared>[] = [
      { models: new Map([...models].reverse()) },
      {
        models: new Map([[
          "orders",
          makeModel(
            {
              ...orders,
              name: "orders",
              fields: orders.fields.slice(1),
              key: ["owner_id"],
              rules: {},
              relations: []
            } as never
          )
        ]])
      },
      { views: [] },
      { views: [{ ...ordersView, columns: ["id"] }] },
      { userMenu: [item("x")] },
      { pages: [page("x")] },
      { queue: true },
      { defaults: open },
      { defaults: { ...roles, defaultAccess: "allow" } },
      ruledAs({ of: "constant", allow: true }),
      ruledAs({ of: "function", run: () => true }),
      ruledAs({ of: "function", run: () => false })
    ]
    expect(new Set([base, ...variants.map(version)]).size).toBe(variants.length + 1)
  })

  it("differs by roles, not by user", () => {
    const of = metaVersions("m", hash)
    expect(of(null)).toBe("m")
    expect(of(caller("a", "b"))).toBe(of({ ...caller("b", "a"), id: "u2", tenant: null }))
    expect(new Set([of(null), of(caller()), of(caller("a")), of(caller("a", "b")), of(caller("a,b"))]).size).toBe(5)
    expect(of(caller("a"))).toBe(metaVersion("m", caller("a"), hash))
  })

  it("gives an ETag that differs per user", () => {
    const tag = (who: Caller) =>
      metaEtag(JSON.stringify(meta(who, open)), (text) => String(stableText(text).length) + text.slice(0, 40))
    expect(tag(caller("x"))).not.toBe(tag({ ...caller("x"), id: "u2" }))
    expect(tag(caller("x"))).toMatch(/^".*"$/s)
  })
})
