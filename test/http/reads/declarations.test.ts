// What a declaration says decides a read: how decimals at the two ends of a relation meet, which names tables may have, whether items carry
// permissions, and that a page token ends with it.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { where } from "../../../core/domain/access/where.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { defineRoles } from "../../../core/domain/declare/roles.ts"
import { at, expectParameter, pluck } from "../../support/answer.ts"
import { startService } from "../../support/composed.ts"
import type { TestService } from "../../support/composed.ts"
import { onBoth } from "../writes/scenes.ts"

const admin = { id: "u1", roles: ["admin"] }

const prices = defineResource("prices", { primaryKey: "id", fields: { id: f.decimal() } })
const uses = defineResource("uses", {
  primaryKey: "id",
  fields: { id: f.integer(), price: f.relation("prices").optional() }
})
const priced = {
  config: defineConfig({ resources: [prices, uses] }),
  schema: "create table prices (id numeric primary key);" +
    "create table uses (id integer primary key, price numeric references prices)",
  rows: {
    prices: ["100", "2.50", "0.0", "3"].map((id) => ({ id })),
    uses: ["100.00", "2.5", "2.500", "0", null].map((price, i) => ({ id: i + 1, price }))
  }
}

onBoth("relations by decimals", () => priced, (use) => {
  it("meet, whatever zeros they end in", async () => {
    const related = async (resource: string, relation: string) => {
      const expands = pluck(await use().get(admin, at(resource, { expand: relation })), "expand")
      return (expands as ReadonlyArray<{ readonly [relation: string]: unknown }>).map((expand) => expand[relation])
    }
    expect(await related("uses", "price")).toMatchObject([
      { id: "100" },
      { id: "2.50" },
      { id: "2.50" },
      { id: "0.0" },
      null
    ])
    expect(await related("prices", "uses")).toMatchObject([[{ id: 4 }], [{ id: 2 }, { id: 3 }], [], [{ id: 1 }]])
  })
})

const names = ["edge", "range", "counts", "found"]
const named = {
  config: defineConfig({
    resources: names.map((name) =>
      defineResource(`${name}s`, {
        table: name,
        primaryKey: "id",
        fields: { id: f.integer(), low: f.integer().filterable(), l: f.integer().filterable() }
      })
    )
  }),
  schema: names.map((name) =>
    `create table ${name} (id integer primary key, low integer not null, l integer not null);`
  )
    .join("\n"),
  rows: Object.fromEntries(names.map((name) => [`${name}s`, [1, 2, 3].map((id) => ({ id, low: id, l: id }))]))
}

onBoth("tables and columns named like what statements call their parts", () => named, (use) => {
  it.each(names)("are read: %s", async (name) => {
    for (const field of ["low", "l"]) {
      const histogram = await use().get(admin, at(`${name}s:histogram`, { field, buckets: 2 }))
      expect(histogram.json, histogram.text).toEqual({
        field,
        buckets: [{ from: 1, to: 2, count: 1 }, { from: 2, to: 3, count: 2 }]
      })
    }
    const page = await use().get(admin, at(`${name}s`, { count: "exact", page_size: 2 }))
    expect(pluck(page, "id")).toEqual([1, 2])
    expect(page.json["total_size"]).toBe(3)
  })
})

describe("permissions of list items", () => {
  const resources = ["cups", "pots"].map((name) =>
    defineResource(name, { primaryKey: "id", fields: { id: f.integer() }, access: { update: where`id = 1` } })
  )
  const rows = { cups: [{ id: 1 }], pots: [{ id: 1 }] }

  it.each([
    [undefined, [true, true]],
    [false, [false, false]],
    [{ except: ["pots"] }, [true, false]]
  ])("are there as rowPermissions says: %j", async (rowPermissions, shown) => {
    const options = rowPermissions === undefined ? {} : { rowPermissions }
    const service = await startService("fake", { config: defineConfig({ resources, options }), schema: "", rows })
    const found = []
    for (const name of ["cups", "pots"]) {
      const answers = [
        await service.get(admin, at(name)),
        await service.get(admin, at(`${name}:seek`, { position: 0 })),
        await service.call(admin, "POST", at(`${name}:search`), { body: {} })
      ]
      const has = answers.map((answer) => pluck(answer, "permissions")[0] !== undefined)
      expect(new Set(has).size).toBe(1)
      found.push(has[0])
      // A record by itself always has them.
      expect((await service.get(admin, at(`${name}/1`))).json["permissions"]).toMatchObject({ update: true })
    }
    expect(found).toEqual(shown)
    await service.close()
  })
})

const shelf = {
  primaryKey: "id",
  owner: "owner_id",
  fields: { id: f.integer(), owner_id: f.text(), size: f.integer() }
} as const
const shelves = defineResource("shelves", {
  ...shelf,
  access: {
    fields: { size: { write: ({ caller, record }) => caller.roles.includes("lead") || record.size === 2 } }
  }
})
const racks = defineResource("racks", shelf)
const shelfRows = [{ id: 1, owner_id: "u1", size: 1 }, { id: 2, owner_id: "u2", size: 2 }]
const shelved = {
  config: defineConfig({
    resources: [shelves, racks],
    roles: defineRoles({
      keeper: ["*.read", "*.update"],
      lead: ["*.read", "*.update"],
      own: ["*.read", "*.update.own"],
      remover: ["*.read", "*.update", "*.delete"]
    })
  }),
  schema: "create table shelves (id integer primary key, owner_id text not null, size integer not null);" +
    "create table racks (like shelves)",
  rows: { shelves: shelfRows, racks: shelfRows }
}

onBoth("permissions of roles that read the same fields", () => shelved, (use) => {
  it("are each role's own, whoever asked before", async () => {
    const item = (update: boolean, remove: boolean) => ({ update, delete: remove })
    const expected = {
      keeper: { list: [item(true, false), item(true, false)], size: ["read", "edit"] },
      lead: { list: [item(true, false), item(true, false)], size: ["edit", "edit"] },
      own: { list: [item(true, false), item(false, false)], size: ["read", "read"] },
      remover: { list: [item(true, true), item(true, true)], size: ["read", "edit"] }
    } as const
    for (const role of ["keeper", "lead", "keeper", "own", "keeper", "remover", "keeper"] as const) {
      const caller = { id: "u1", roles: [role] }
      for (const resource of ["racks", "shelves"]) {
        expect(pluck(await use().get(caller, at(resource)), "permissions"), role).toEqual(expected[role].list)
      }
      const sizes = [1, 2].map(async (id) =>
        (await use().get(caller, at(`shelves/${id}`))).json["permissions"]!["fields"]!["size"]
      )
      expect(await Promise.all(sizes), role).toEqual(expected[role].size)
    }
  })
})

describe("page tokens of another declaration", () => {
  const fields = { a: f.integer().sortable(), b: f.integer().sortable() }
  const rank = f.integer().sortable()
  const declared = {
    before: defineResource("things", { primaryKey: "a", fields: { ...fields, c: rank.alias("rank").column("c") } }),
    "another key": defineResource("things", {
      primaryKey: "b",
      fields: { ...fields, c: rank.alias("rank").column("c") }
    }),
    "an alias that moved": defineResource("things", {
      primaryKey: "a",
      fields: { ...fields, c: f.integer(), d: rank.alias("rank") }
    }),
    "another column": defineResource("things", {
      primaryKey: "a",
      fields: { ...fields, c: rank.alias("rank").column("d") }
    }),
    "another kind": defineResource("things", {
      primaryKey: "a",
      fields: { ...fields, c: f.text().sortable().alias("rank") }
    })
  } as const
  const others = Object.keys(declared).slice(1) as ReadonlyArray<Exclude<keyof typeof declared, "before">>
  const services = new Map<string, TestService>()
  beforeAll(async () => {
    for (const [name, things] of Object.entries(declared)) {
      const config = defineConfig({ resources: [things] })
      const rows = [1, 2, 3].map((a) => ({ a, b: -a, c: name === "another kind" ? String(a) : a, d: a }))
      services.set(name, await startService("fake", { config, schema: "", rows: { things: rows } }))
    }
  })
  afterAll(async () => {
    for (const service of services.values()) await service.close()
  })
  const list = (name: string, page_token: string) =>
    services.get(name)!.get(admin, at("things", { order_by: "rank", page_size: 1, page_token }))

  it.each(others)("are refused: %s", async (other) => {
    const token = (await list("before", "")).json["next_page_token"] as unknown as string
    expect(pluck(await list("before", token), "a")).toEqual([2])
    const message = "The page token does not belong to this request."
    expectParameter(await list(other, token), "/api/v1/things", "page_token", message)
  })
})
