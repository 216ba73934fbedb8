// Paths into JSON over HTTP: filters, orders with pages, facets and groups; what hides a field hides its paths; rules and views speak of them, too.
import { expect, it } from "vitest"
import { where } from "../../../core/domain/access/where.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { defineRoles } from "../../../core/domain/declare/roles.ts"
import { defineView } from "../../../core/domain/declare/view.ts"
import type { MetaDocument } from "../../../core/domain/meta/meta.ts"
import type { Json } from "../../../core/domain/value/kind.ts"
import { at, pluck, type Query } from "../../support/answer.ts"
import type { Answer, TestCaller } from "../../support/composed.ts"
import { onBoth } from "../writes/scenes.ts"

const paths = {
  color: f.text().filterable().sortable(),
  "size.width": f.decimal().filterable().sortable(),
  level: f.enum(["low", "mid", "high"]).ordered().filterable().sortable(),
  sold: f.boolean().filterable()
}
const products = defineResource("products", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    name: f.text(),
    meta: f.json({ paths }).optional(),
    raw: f.json({
      paths: { n: f.decimal().filterable().sortable(), "\"a,b\"": f.text().filterable().sortable() },
      type: "json"
    }).optional()
  },
  access: {
    read: ({ caller }) => caller.roles.includes("painter") ? where`meta.color = "red"` : true,
    fields: { meta: { read: ["admin", "painter"] } }
  }
})
const lines = defineResource("lines", {
  primaryKey: "id",
  fields: { id: f.integer().filterable(), product_id: f.relation("products").filterable() }
})

/** A number of JSON as it is written, also one that no JavaScript number holds. */
const exact = (text: string): Json => (JSON as unknown as { readonly rawJSON: (text: string) => Json }).rawJSON(text)

const meta = (color: Json, width: Json, level: string | null, sold = false): Json => ({
  color,
  size: { width },
  level,
  sold
})

const fixture = {
  config: defineConfig({
    resources: [products, lines],
    roles: defineRoles({ admin: ["*"], painter: ["*.read"], clerk: ["*.read"] }),
    views: [defineView(products, { filters: [{ name: "Red", filter: "meta.color = red" }] })]
  }),
  schema: `create table products (id integer primary key, name text not null, meta jsonb, raw json);
    create table lines (id integer primary key, product_id integer not null references products)`,
  rows: {
    products: [
      { id: 1, name: "a", meta: meta("red", exact("10.50"), "low"), raw: { n: exact("1e2"), "a,b": "x" } },
      { id: 2, name: "b", meta: meta("Red", exact("9007199254740993"), "high", true), raw: { n: exact("1e999999") } },
      { id: 3, name: "c", meta: meta(7, "wide", "none"), raw: { n: "3" } },
      { id: 4, name: "d", meta: meta("red", exact("9007199254740992"), "mid", true), raw: { n: 2, "a,b": "y" } },
      { id: 5, name: "e", meta: null, raw: null },
      { id: 6, name: "f", meta: [1], raw: 7 }
    ],
    lines: [{ id: 1, product_id: 1 }, { id: 2, product_id: 2 }, { id: 3, product_id: 5 }, { id: 4, product_id: 3 }]
  }
}

const admin = { id: "root", roles: ["admin"], tenant: "1" }
const painter = { id: "pat", roles: ["painter"], tenant: "1" }
const clerk = { id: "cleo", roles: ["clerk"], tenant: "1" }

onBoth("paths into JSON", () => fixture, (use) => {
  const ask = (query: Query, caller: TestCaller = admin, resource = "products"): Promise<Answer> =>
    use().get(caller, at(resource, query))
  const ids = async (query: Query, caller?: TestCaller, resource?: string): Promise<readonly unknown[]> => {
    const answer = await ask(query, caller, resource)
    expect(answer.status, answer.text).toBe(200)
    return pluck(answer, "id")
  }

  it("filter by values of their kind, and of no other", async () => {
    expect(await ids({ filter: "meta.color = red" })).toEqual([1, 4])
    expect(await ids({ filter: "same(meta.color, red)" })).toEqual([1, 2, 4])
    expect(await ids({ filter: "meta.color != red" })).toEqual([2, 3, 5, 6])
    expect(await ids({ filter: "meta.size.width > 9007199254740992" })).toEqual([2])
    expect(await ids({ filter: "meta.size.width:*" })).toEqual([1, 2, 4])
    expect(await ids({ filter: "meta.level >= mid" })).toEqual([2, 4])
    expect(await ids({ filter: "meta.sold = true" })).toEqual([2, 4])
    expect(await ids({ filter: "raw.n >= 2" })).toEqual([1, 4])
    expect(await ids({ filter: "product.meta.color = red" }, admin, "lines")).toEqual([1])
  })

  it("give pages in their order, each record once", async () => {
    for (
      const [order, expected, resource] of [
        ["meta.size.width desc", [6, 5, 3, 2, 4, 1]],
        ["meta.size.width", [1, 4, 2, 3, 5, 6]],
        ["meta.level, id desc", [1, 4, 2, 3, 6, 5]],
        ["meta.color desc, id", [3, 5, 6, 1, 4, 2]],
        ["raw.n", [4, 1, 2, 3, 5, 6]],
        ["product.meta.size.width desc", [4, 3, 2, 1], "lines"],
        ["product.meta.level", [1, 2, 4, 3], "lines"],
        ["product.raw.n desc", [4, 3, 2, 1], "lines"]
      ] as const
    ) {
      const walked: unknown[] = []
      let token = ""
      do {
        const page = await ask(
          {
            order_by: order,
            page_size: 2,
            fields: "id",
            ...token === "" ? {} : { page_token: token }
          },
          admin,
          resource
        )
        expect(page.status, page.text).toBe(200)
        walked.push(...pluck(page, "id"))
        token = page.json["next_page_token"] as string
      } while (token !== "")
      expect(walked, order).toEqual(expected)
    }
  })

  it("have facets, groups and sums", async () => {
    const facets = await use().get(admin, at("products:facets", { field: "meta.color" }))
    expect(facets.json["facets"]).toEqual([
      { value: null, count: 3 },
      { value: "red", count: 2 },
      { value: "Red", count: 1 }
    ])
    const groups = await use().get(
      admin,
      at("products:aggregate", {
        group_by: "meta.level",
        measures: "count,sum(meta.size.width)",
        order_by: "meta.level desc"
      })
    )
    expect(groups.json["groups"], groups.text).toEqual([
      { group: { "meta.level": null }, measures: { count: 2, "sum(meta.size.width)": null } },
      { group: { "meta.level": "none" }, measures: { count: 1, "sum(meta.size.width)": null } },
      { group: { "meta.level": "high" }, measures: { count: 1, "sum(meta.size.width)": "9007199254740993" } },
      { group: { "meta.level": "mid" }, measures: { count: 1, "sum(meta.size.width)": "9007199254740992" } },
      { group: { "meta.level": "low" }, measures: { count: 1, "sum(meta.size.width)": "10.50" } }
    ])
    const related = await use().get(admin, at("lines:facets", { field: "product.meta.color" }))
    expect(related.json["facets"]).toEqual([
      { value: null, count: 2 },
      { value: "Red", count: 1 },
      { value: "red", count: 1 }
    ])
  })

  it("have commas in the quotes of their names", async () => {
    const name = `raw."a,b"`
    expect(await ids({ filter: `${name}:*`, order_by: `${name} desc, id` })).toEqual([4, 1])
    const asked = { group_by: `${name},meta.sold`, measures: `count,count_distinct(${name})`, order_by: `${name} desc` }
    const groups = await use().get(admin, at("products:aggregate", { ...asked, filter: `${name}:*` }))
    expect(groups.json["groups"], groups.text).toEqual([
      { group: { [name]: "y", "meta.sold": true }, measures: { count: 1, [`count_distinct(${name})`]: 1 } },
      { group: { [name]: "x", "meta.sold": false }, measures: { count: 1, [`count_distinct(${name})`]: 1 } }
    ])
    const posted = await use().call(admin, "POST", "/api/v1/products:aggregate", {
      body: {
        group_by: [name, "meta.sold"],
        measures: ["count", `count_distinct(${name})`],
        order_by: asked.order_by,
        filter: `${name}:*`
      }
    })
    expect(posted.json["groups"], posted.text).toEqual(groups.json["groups"])
    for (const [query, resource] of [[{ order_by: `raw."a,b` }, "products"], [asked, "products:aggregate"]] as const) {
      const answer = await ask({ ...query, order_by: `raw."a,b` }, admin, resource)
      expect([answer.status, answer.json["detail"]]).toEqual([400, "This quoted text has no end."])
    }
  })

  it("of a hidden field are unknown everywhere, byte for byte", async () => {
    const forms: ReadonlyArray<(path: string) => readonly [resource: string, query: Query]> = [
      (path) => ["products", { filter: `${path} = red` }],
      (path) => ["products", { filter: `id < field(${path})` }],
      (path) => ["products", { order_by: `${path} desc` }],
      (path) => ["products", { fields: path }],
      (path) => ["products:facets", { field: path }],
      (path) => ["products:aggregate", { group_by: path }],
      (path) => ["products:aggregate", { measures: `sum(${path})` }],
      (path) => ["lines", { filter: `product.${path} = red` }],
      (path) => ["lines", { order_by: `product.${path}` }],
      (path) => ["lines:facets", { field: `product.${path}` }]
    ]
    for (const form of forms) {
      for (const path of ["meta.color", "meta.size.width", "meta.colour"]) {
        const [hidden, never] = await Promise.all(
          [path, path.replace("meta", "zzzz")].map((name) => use().get(clerk, at(...form(name))))
        )
        expect(hidden!.status, hidden!.text).toBe(400)
        const bare = (text: string) => text.replaceAll("meta", "zzzz").replace(/"request_id":"[^"]*"/, "")
        expect(bare(hidden!.text)).toBe(bare(never!.text))
      }
    }
    const document = JSON.parse((await use().call(clerk, "GET", "/api/meta")).text) as MetaDocument
    expect(JSON.stringify(document)).not.toMatch(/color|meta/)
    expect((await use().call(clerk, "GET", "/api/openapi.json")).text).not.toContain("color")
  })

  it("stand in rules, in meta and in OpenAPI", async () => {
    expect(await ids({}, painter)).toEqual([1, 4])
    const document = JSON.parse((await use().call(admin, "GET", "/api/meta")).text) as MetaDocument
    const field = document.models.find(({ name }) => name === "products")!.fields.find(({ name }) => name === "meta")!
    expect(field.paths).toEqual([
      { path: "color", kind: "text", filterable: true, sortable: true },
      { path: "size.width", kind: "decimal", filterable: true, sortable: true },
      { path: "level", kind: "enum", values: ["low", "mid", "high"], ordered: true, filterable: true, sortable: true },
      { path: "sold", kind: "boolean", filterable: true, sortable: false }
    ])
    expect((await use().call(admin, "GET", "/api/openapi.json")).text).toContain("`meta.size.width`")
  })
})
