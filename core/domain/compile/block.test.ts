import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { makeAccessResolver } from "../access/resolve.ts"
import type { Config } from "../declare/config.ts"
import { f } from "../declare/field.ts"
import { defineResource } from "../declare/resource.ts"
import { defineRoles } from "../declare/roles.ts"
import { defineFunction } from "../function/declaration.ts"
import { metaDocument } from "../meta/meta.ts"
import { type Compiled, compileModels } from "./compile.ts"

const orders = defineResource("orders", {
  primaryKey: "id",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    parcel: f.text().max(40).optional().filterable(),
    status: f.enum(["draft", "paid"]).filterable().sortable(),
    total: f.decimal({ precision: 12, scale: 2 }).filterable(),
    margin: f.decimal({ precision: 12, scale: 2 }).filterable(),
    note: f.text().max(200).optional(),
    created_at: f.timestamp().readOnly().dbDefault().filterable().sortable()
  },
  access: { fields: { margin: { read: ["finance"] } } }
})

const secrets = defineResource("secrets", { primaryKey: "id", fields: { id: f.integer().filterable() } })

const run = () => undefined

const configOf = (view: object, blocks: readonly unknown[]): Config => ({
  resources: [orders, secrets],
  roles: defineRoles({ finance: ["*.*"], sales: ["orders.read"] }),
  functions: {
    ship: defineFunction({ roles: ["sales", "finance"], run }),
    close: defineFunction({ roles: ["finance"], run })
  },
  views: { orders: view },
  pages: [{ name: "board", label: "Board", blocks: blocks as never }]
})

const compiled = (view: object, blocks: readonly unknown[] = [{ of: "text", text: "Hello" }]): Compiled =>
  Result.getOrThrowWith(compileModels(configOf(view, blocks)), (all) => new Error(JSON.stringify(all)))

const refusals = (view: object, blocks: readonly unknown[] = [{ of: "text", text: "Hello" }]): readonly string[] => {
  const result = compileModels(configOf(view, blocks))
  return Result.isFailure(result) ? result.failure.map(({ message }) => message) : []
}

const metaFor = (role: string, { defaults, functions, models, pages, rules, userMenu, views }: Compiled) => {
  const caller = { id: "u1", roles: [role], tenant: null } as never
  const resolver = makeAccessResolver(models, rules, defaults)
  return metaDocument({
    caller,
    models,
    views,
    userMenu,
    pages,
    functions,
    sources: null,
    resolve: (resource) => resolver.resolve(caller, resource)
  })
}

describe("links, actions and cells", () => {
  it("are kept with the fields that they use", () => {
    const view = compiled({
      links: [
        { label: "Track", href: "https://track.example/{parcel}?s={status}&s2={status}" },
        { label: "Mail", href: "mailto:{parcel}@example.com" },
        { label: "Own", href: "/orders/{id}" }
      ],
      actions: [
        { label: "Ship", function: "ship", on: "record", confirm: "Ship it?" },
        { label: "Close", function: "close", on: "selection", roles: ["finance"] }
      ],
      cells: { parcel: "parcels/map" },
      nav: { bottom: true }
    }).views[0]!
    expect(view.links.map(({ fields }) => fields)).toEqual([["parcel", "status"], ["parcel"], ["id"]])
    expect(view.actions).toEqual([
      { label: "Ship", function: "ship", on: "record", confirm: "Ship it?", roles: null },
      { label: "Close", function: "close", on: "selection", confirm: null, roles: ["finance"] }
    ])
    expect(view.cells).toEqual({ parcel: "parcels/map" })
    expect(view.nav?.bottom).toBe(true)
  })

  it.each([
    ["javascript:alert({id})", /which is not an address/],
    ["//{parcel}", /which is not an address/],
    ["https://{parcel}.example/", /before the path/],
    ["https://track.example:{id}/x", /not an address|before the path/],
    ["{parcel}", /which is not an address/],
    ["/x#{parcel}", /behind #/],
    ["/x/{parcel", /not closed/],
    ["/x/{nothing}", /which is not a field/]
  ])("refuses the address %s", (href, message) => {
    expect(refusals({ links: [{ label: "L", href }] }).join("\n")).toMatch(message)
  })

  it("refuses what does not exist", () => {
    expect(refusals({ actions: [{ label: "A", function: "shop", on: "row" }] })).toEqual([
      expect.stringContaining("which is not a function"),
      expect.stringContaining(".on is \"row\"")
    ])
    expect(refusals({ cells: { parcel: "<b>", nothing: "map" } })).toHaveLength(2)
    expect(refusals({ nav: { bottom: 1 } })).toHaveLength(1)
    expect(refusals({ links: "x", actions: {} })).toHaveLength(2)
  })

  it("are told to whom they are for", () => {
    const all = compiled({
      links: [{ label: "Own", href: "/orders/{id}" }, { label: "Margin", href: "/m/{margin}" }],
      actions: [
        { label: "Ship", function: "ship", on: "record" },
        { label: "Close", function: "close", on: "record" },
        { label: "Ship too", function: "ship", on: "record", roles: ["finance"] }
      ],
      cells: { parcel: "map", margin: "gauge" }
    })
    const sales = metaFor("sales", all).views["orders"]!
    expect(sales.links.map(({ label }) => label)).toEqual(["Own"])
    expect(sales.actions).toEqual([{ label: "Ship", function: "ship", confirm: null, on: "record" }])
    expect(sales.cells).toEqual({ parcel: "map" })
    const finance = metaFor("finance", all).views["orders"]!
    expect(finance.links).toHaveLength(2)
    expect(finance.actions).toHaveLength(3)
    expect(finance.cells).toEqual({ parcel: "map", margin: "gauge" })
  })
})

describe("composed pages", () => {
  const blocks = [
    { of: "text", text: "# Today" },
    { of: "number", label: "Orders", resource: "orders" },
    {
      of: "number",
      label: "Sales",
      resource: "orders",
      measure: "sum:total",
      filter: "status = paid",
      period: { field: "created_at", range: "30d" }
    },
    {
      of: "number",
      label: "Margin",
      resource: "orders",
      measure: "avg:margin",
      period: { field: "created_at", range: "7d" }
    },
    { of: "chart", label: "By day", resource: "orders", chart: { of: "series", field: "created_at" } },
    { of: "chart", label: "By margin", resource: "orders", chart: { of: "histogram", field: "margin" } },
    {
      of: "list",
      label: "Latest",
      resource: "orders",
      columns: ["id", "margin", "total"],
      sort: "created_at desc, id",
      limit: 5
    },
    { of: "list", label: "Good ones", resource: "orders", filter: "status = paid AND margin > 5" },
    { of: "list", label: "Margins", resource: "orders", columns: ["margin"] },
    { of: "list", label: "Secrets", resource: "secrets" },
    { of: "component", component: "weather", props: { city: "Oslo" } }
  ]

  it("compile to checked blocks", () => {
    const [page] = compiled({}, blocks).pages
    expect(page!.blocks).toHaveLength(blocks.length)
    expect(page!.blocks![2]).toEqual({
      of: "number",
      label: "Sales",
      resource: "orders",
      filter: "status = paid",
      measure: "sum:total",
      measured: "total",
      period: { field: "created_at", range: "30d" },
      fields: ["status", "created_at", "total"]
    })
  })

  it("lose every block that the caller cannot see", () => {
    const all = compiled({}, blocks)
    expect(metaFor("finance", all).pages[0]!.blocks).toHaveLength(blocks.length)
    const [page] = metaFor("sales", all).pages
    expect(page!.blocks!.map((block) => "label" in block ? block.label : block.of)).toEqual([
      "text",
      "Orders",
      "Sales",
      "By day",
      "Latest",
      null
    ])
    expect(page!.blocks).toContainEqual({
      of: "list",
      label: "Latest",
      resource: "orders",
      filter: "",
      columns: ["id", "total"],
      sort: "created_at desc, id",
      limit: 5
    })
    expect(JSON.stringify(page)).not.toMatch(/margin|secrets/i)
    expect(metaFor("sales", compiled({}, [{ of: "list", label: "S", resource: "secrets" }])).pages).toEqual([])
  })

  it.each([
    [{ of: "table" }, /of is number, chart|blocks\[0\] is/],
    [{ of: "text", text: "" }, /text is/],
    [{ of: "number", label: "N", resource: "order" }, /not a resource/],
    [{ of: "number", label: "N", resource: "orders", measure: "sum:total" }, /needs a period/],
    [{ of: "number", label: "N", resource: "orders", measure: "median:total" }, /measure is/],
    [{ of: "number", label: "N", resource: "orders", period: { field: "note", range: "7d" } }, /period\.field/],
    [{ of: "number", label: "N", resource: "orders", period: { field: "created_at", range: "all" } }, /range is/],
    [{ of: "number", label: "N", resource: "orders", filter: "note = 1" }, /does not check/],
    [{ of: "chart", label: "C", resource: "orders" }, /no chart/],
    [{ of: "list", label: "L", resource: "orders", limit: 51 }, /limit is 51/],
    [{ of: "list", label: "L", resource: "orders", columns: ["nothing"] }, /not a field/],
    [{ of: "list", label: "L", resource: "orders", colums: [] }, /no property/],
    [{ of: "component", component: "a b" }, /component is/],
    [{ of: "component", component: "a", props: () => 1 }, /props is no JSON/]
  ])("refuse %j", (block, message) => {
    const said = refusals({}, [block])
    expect(said).not.toEqual([])
    expect(said.join("\n")).toMatch(message)
  })

  it("have either blocks or an address", () => {
    const result = compileModels({
      resources: [secrets],
      pages: [{ name: "p", label: "P", href: "/x", blocks: [{ of: "text", text: "a" }] }]
    })
    expect(Result.isFailure(result) && result.failure[0]!.message).toMatch(/href and blocks/)
  })
})
