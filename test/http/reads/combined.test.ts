/**
 * Reads that several features meet in: orders, facets and groups through relations, of tables, views and functions of the database, by paths into JSON, ordered
 * enums and ranks. The names of tables are those that statements could mistake for their own.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { where } from "../../../core/domain/access/where.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { fn } from "../../../core/domain/declare/database-function.ts"
import { f, relation } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { defineRoles } from "../../../core/domain/declare/roles.ts"
import { at, pluck } from "../../support/answer.ts"
import type { Query } from "../../support/answer.ts"
import { startService, type TestService } from "../../support/composed.ts"

const levels = ["low", "mid", "high"] as const
const makers = defineResource("makers", {
  table: "w0",
  primaryKey: "code",
  fields: {
    code: f.text().filterable().sortable(),
    name: f.text().optional().filterable().sortable(),
    tier: f.enum(levels).ordered().optional().filterable().sortable(),
    meta: f.json({
      paths: {
        "size.width": f.decimal().filterable().sortable(),
        level: f.enum(levels).ordered().filterable().sortable()
      }
    }).optional()
  }
})
const fields = {
  id: f.integer().filterable().sortable(),
  name: f.text().optional().filterable().sortable(),
  maker_id: relation(makers).optional().filterable()
}
const things = defineResource("things", {
  primaryKey: "id",
  fields: { ...fields, words: f.searchVector({ config: "simple" }) }
})
const thingsOf = defineResource("things_of", {
  from: fn("public.things", { low: f.integer(), high: f.integer().dbDefault() }),
  primaryKey: "id",
  fields
})
const nodes = defineResource("nodes", {
  table: "r",
  primaryKey: "id",
  fields: { id: f.integer().filterable().sortable(), parent_id: relation("nodes").optional().filterable() }
})
const keepers = defineResource("keepers", {
  table: "found",
  primaryKey: "id",
  fields: { id: f.integer(), user_id: f.text().filterable().sortable() }
})
const parcels = defineResource("parcels", {
  primaryKey: "id",
  fields: { id: f.integer().sortable(), keeper_id: relation(keepers).filterable() },
  access: { read: true, update: where`keeper.user_id = caller.id` }
})
const big = {
  id: f.integer(),
  n: f.integer().filterable().sortable(),
  at: relation("big_view").optional().filterable()
}
const bigView = defineResource("big_view", { readOnly: true, primaryKey: "id", fields: big })
const bigOf = defineResource("big_of", { from: fn("public.big_of", {}), primaryKey: "id", fields: big })

const config = defineConfig({
  resources: [makers, things, thingsOf, nodes, keepers, parcels, bigView, bigOf],
  roles: defineRoles({ admin: ["*"] }),
  options: { tasks: false }
})

const schema = `
  create table w0 (code text primary key, name text, tier text, meta jsonb);
  create table things (id int primary key, name text, maker_id text not null references w0,
    words tsvector generated always as (to_tsvector('simple', name)) stored);
  insert into w0 values ('a', 'Zed', 'high', '{"size": {"width": 10}, "level": "high"}'),
    ('b', 'Amy', 'mid', '{"size": {"width": 9.5}, "level": "low"}'), ('c', null, null, '{"size": {"width": "9"}}'), ('d', 'Bob', 'low', null);
  insert into things select i, case when i % 3 = 0 then 'lamp lamp' else 'lamp chair ' || i end, (array['a','b','c','d'])[1 + i % 4]
    from generate_series(1, 20) i;
  create function things(low int, high int default 12) returns table (id int, name text, maker_id text) language sql stable as $$
    select t.id, t.name, case when t.id % 5 = 0 then null when t.id % 7 = 0 then 'none' else t.maker_id end
    from things t where t.id between low and high $$;
  create table r (id int primary key, parent_id int references r);
  insert into r values (1, null), (2, 1), (3, 2), (4, 1);
  create table found (id int primary key, user_id text not null);
  create table parcels (id int primary key, keeper_id int not null references found);
  insert into found values (1, '1'), (2, '2');
  insert into parcels values (1, 1), (2, 2), (3, 1);
  create table big (id int primary key, n int not null, at int);
  insert into big select i, i % 97, i from generate_series(1, 30000) i;
  create index on big (at);
  create view big_view as select * from big;
  create function big_of() returns setof big language sql stable as $$ select * from big $$`

const admin = { id: "1", roles: ["admin"] }

describe("reads in combination", () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService("postgres", { config, schema, rows: {} })
  })
  afterAll(() => service.close())

  const get = (path: string, query: Query = {}) => service.get(admin, at(path, query))
  const walk = async (resource: string, query: Query): Promise<readonly unknown[]> => {
    const seen: unknown[] = []
    let token = ""
    do {
      const page = await get(resource, { ...query, page_token: token })
      expect(page.status, page.text).toBe(200)
      seen.push(...pluck(page, "id"))
      token = page.json["next_page_token"] as unknown as string
    } while (token !== "" && seen.length < 100)
    return seen
  }

  const place = (value: string): string => `array_position(array['low', 'mid', 'high'], ${value})`
  const lamp = "ts_rank(t.words, websearch_to_tsquery('simple', 'lamp'))"
  const orders: ReadonlyArray<readonly [order: string, sql: string]> = [
    ["maker.name", "m.name, t.id"],
    ["maker.name desc", "m.name desc, t.id desc"],
    ["maker.tier desc,id", `${place("m.tier")} desc, t.id`],
    ["maker.meta.level", `${place("m.meta ->> 'level'")}, t.id`],
    [
      "maker.meta.size.width desc",
      "(case when m.code < 'c' then m.meta -> 'size' ->> 'width' end)::numeric desc, t.id desc"
    ],
    ["name,maker.tier desc", `t.name, ${place("m.tier")} desc, t.id desc`]
  ]
  it.each(
    [
      ...orders.flatMap(([order, sql]) =>
        [
          ["things", {}, order, sql],
          ["things_of", { "args.low": 1 }, order, sql],
          ["things_of", { "args.low": 3, "args.high": 17 }, order, sql]
        ] as const
      ),
      ["things", {}, "rank(words, \"lamp\") desc,maker.name", `${lamp} desc, m.name, t.id`],
      ["things", {}, "maker.tier,rank(words, \"lamp\")", `${place("m.tier")}, ${lamp}, t.id`]
    ] as const
  )("visit every row of %s %j once in the order %s", async (resource, args: Query, order, sql) => {
    const from = resource === "things" ? "things" : `things(${Object.values(args).join(", ")})`
    const rows = await service.database!.rows(
      `select t.id from ${from} t left join w0 m on m.code = t.maker_id order by ${sql}`
    )
    const wanted = rows.map(([id]) => Number(id))
    const query = { ...args, order_by: order, fields: "id" }
    for (const size of [1, 5, 100]) {
      expect(await walk(resource, { ...query, page_size: size }), `pages of ${size}`).toEqual(wanted)
    }
    const jump = await get(`${resource}:seek`, { ...query, page_size: 3, position: 6 })
    expect(pluck(jump, "id")).toEqual(wanted.slice(6, 9))
    const exported = await get(`${resource}:export`, query)
    expect(exported.text.trim().split("\r\n").slice(1).map(Number)).toEqual(wanted)
  })

  it("count what functions return by fields of related records", async () => {
    const facets = await get("things_of:facets", { "args.low": 1, field: "maker.name" })
    expect(facets.json["facets"]).toEqual([
      { value: null, count: 5 },
      { value: "Zed", count: 3 },
      { value: "Amy", count: 2 },
      { value: "Bob", count: 2 }
    ])
    const levels = await get("things_of:facets", { "args.low": 9, "args.high": 9, field: "maker.meta.level" })
    expect(levels.json["facets"]).toEqual([{ value: "low", count: 1 }])
    const groups = await get("things_of:aggregate", { "args.low": 1, group_by: "maker.meta.level", measures: "count" })
    expect(groups.json["groups"]).toEqual([
      { group: { "maker.meta.level": "low" }, measures: { count: 2 } },
      { group: { "maker.meta.level": "high" }, measures: { count: 3 } },
      { group: { "maker.meta.level": null }, measures: { count: 7 } }
    ])
    expect(service.unhandled).toEqual([])
  })

  it("find trees in a table of any name", async () => {
    const tree = await get("nodes", { filter: "id = 1", expand: "nodes(depth: 3)" })
    expect(tree.status, tree.text).toBe(200)
    expect(tree.json["items"]).toMatchObject([
      { id: 1, expand: { nodes: [{ id: 2, expand: { nodes: [{ id: 3 }] } }, { id: 4 }] } }
    ])
  })

  it.each(["id", "keeper.user_id,id"])(
    "judge each row by related records in a table of any name, by %s",
    async (order) => {
      for (const size of [2, 500]) {
        const list = await get("parcels", { order_by: order, page_size: size })
        expect(list.status, list.text).toBe(200)
        const items = list.json["items"] as unknown as ReadonlyArray<
          { readonly id: number; readonly permissions: object }
        >
        expect(items.length).toBe(Math.min(size, 3))
        for (const { id, permissions } of items) expect(permissions).toMatchObject({ update: id !== 2 })
      }
    }
  )

  it.each([
    ["big_view", { order_by: "n" }],
    ["big_of", { order_by: "n" }],
    ["big_view", { order_by: "at.n" }],
    ["big_of", { order_by: "at.n" }]
  ])("suggest no index on what takes none: %s %j", async (resource, query) => {
    const refused = await get(resource, query)
    expect([refused.status, refused.json["type"]]).toEqual([400, "urn:service:problem:expensive-query"])
    expect(refused.json["suggestion"]).toBeUndefined()
    expect(refused.text).not.toContain("create index")
    expect(refused.text).toContain("raise options.scanGuard.seqScanRows")
  })
})
