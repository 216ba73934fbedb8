// Tables that are divided by tenant into 64 partitions: every use case over HTTP works on them, and no plan of any of its statements has more than one
// partition of a table. Whoever adds a use case that asks the database adds a request here.
import * as Effect from "effect/Effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import { type Admin, createAdmin } from "../../composition/create-admin.ts"
import {
  defineConfig,
  defineResource,
  defineRoles,
  defineView,
  f,
  history,
  relation,
  subscription,
  where
} from "../../composition/index.ts"
import { followingMigrations, jobsMigrations, serviceMigrationOf } from "../../composition/migrations.ts"
import { tenantRows } from "../../core/domain/access/resolve.ts"
import type { Bindings } from "../../core/domain/filter/tree.ts"
import { solver } from "../../web/client/solve.ts"
import { at } from "../support/answer.ts"
import { type Answered, testAuthenticator, type TestCaller, testSecret, tokenOf } from "../support/composed.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { migrate } from "../support/server.ts"
import { type Recorder, recordStatements, type SentStatement } from "../support/statements.ts"
import { waitUntil } from "../support/until.ts"

const tenants = 64
const own = "7"
const ann: TestCaller = { id: "ann", roles: ["admin"], tenant: own }

const tenant = f.integer().column("tenant_id")
const id = f.integer().bits(64).readOnly().dbDefault().filterable().sortable()

const customers = defineResource("customers", {
  table: "shop.customers",
  primaryKey: "id",
  tenant,
  fields: {
    id,
    name: f.text().max(40).filterable().sortable().searched(),
    country: f.country().optional().filterable()
  }
})
const products = defineResource("products", {
  table: "shop.products",
  primaryKey: "id",
  tenant,
  softDelete: "deleted_at",
  version: "updated_at",
  fields: {
    id,
    sku: f.text().max(20).filterable().sortable().unique(),
    name: f.text().max(40).filterable().sortable().searched(),
    price: f.decimal({ precision: 10, scale: 2 }).filterable().sortable(),
    place: f.integer().optional().filterable().sortable(),
    over: f.relation("products").optional().filterable().as("parent").inverse("children"),
    photo: f.file().optional(),
    papers: f.files(),
    updated_at: f.timestamp().sortable()
  }
})
const orders = defineResource("orders", {
  table: "shop.orders",
  primaryKey: "id",
  tenant,
  version: "version",
  fields: {
    id,
    customer_id: relation(customers).filterable().sortable(),
    status: f.enum(["draft", "paid"]).filterable().sortable().default("draft"),
    total: f.decimal({ precision: 10, scale: 2 }).filterable().sortable(),
    note: f.text().optional().filterable().searched(),
    placed_at: f.timestamp().filterable().sortable().dbDefault(),
    version: f.integer().readOnly()
  },
  access: { update: where`customer.name != "closed"`, create: where`customer.name != "closed"` },
  events: { created: true, updated: true, deleted: true }
})
const lines = defineResource("lines", {
  table: "shop.lines",
  primaryKey: ["order_id", "number"],
  tenant,
  fields: {
    order_id: relation(orders).filterable().sortable(),
    number: f.integer().filterable().sortable(),
    product_id: relation(products).optional().filterable(),
    quantity: f.integer().filterable().sortable()
  },
  // A tag of a record without a version is a hash of its fields.
  access: { read: where`order.total >= 0` }
})
/** The tenant is a part of the key, and shown. */
const places = defineResource("places", {
  table: "shop.places",
  primaryKey: ["tenant_id", "code"],
  tenant: "tenant_id",
  fields: {
    tenant_id: f.integer().filterable(),
    code: f.text().max(10).filterable().sortable(),
    name: f.text().max(40).filterable().sortable()
  }
})

const roles = defineRoles({ admin: ["*"], anonymous: ["places.create"] })
const delivered: string[] = []
const config = defineConfig({
  resources: [customers, products, orders, lines, places],
  views: [defineView(places, {}).form({ name: "place", fields: ["code", "name"], thanks: "Welcome." })],
  forms: { difficulty: 1, tenant: Number(own) },
  roles,
  extends: [history({ resources: ["orders"] })],
  subscriptions: [
    subscription("code", { events: ["orders.*"], when: "total >= 0", run: ({ type }) => void delivered.push(type) })
  ],
  options: { tasks: { ownerRoles: async () => ["admin"] } }
})

const divided = ["customers", "products", "orders", "lines", "places"] as const
const each = (of: (number: number) => string): string => Array.from({ length: tenants }, (_, i) => of(i + 1)).join("\n")
const schema = `create schema shop;
create sequence shop.number start 1000;
create table shop.customers (tenant_id integer, id bigint default nextval('shop.number'), name text not null, country text, primary key (tenant_id, id))
  partition by list (tenant_id);
create table shop.products (tenant_id integer, id bigint default nextval('shop.number'), sku text not null, name text not null,
  price numeric(10, 2) not null, place integer, over bigint, photo text, papers text[] not null default '{}', deleted_at timestamptz,
  updated_at timestamptz not null default now(), primary key (tenant_id, id), unique (tenant_id, sku), unique (tenant_id, place),
  foreign key (tenant_id, over) references shop.products) partition by list (tenant_id);
create table shop.orders (tenant_id integer, id bigint default nextval('shop.number'), customer_id bigint not null, status text not null default 'draft',
  total numeric(10, 2) not null, note text, placed_at timestamptz not null default now(), version integer not null default 1, primary key (tenant_id, id),
  foreign key (tenant_id, customer_id) references shop.customers) partition by list (tenant_id);
create table shop.lines (tenant_id integer, order_id bigint, number integer, product_id bigint, quantity integer not null,
  primary key (tenant_id, order_id, number), foreign key (tenant_id, order_id) references shop.orders on delete cascade,
  foreign key (tenant_id, product_id) references shop.products) partition by list (tenant_id);
create table shop.places (tenant_id integer, code text, name text not null, primary key (tenant_id, code)) partition by list (tenant_id);
${
  divided.map((table) =>
    each((n) => `create table shop.${table}_${n} partition of shop.${table} for values in (${n});`)
  ).join("\n")
}
insert into shop.customers select t, i, 'customer ' || i, case when i % 2 = 0 then 'NO' end from generate_series(1, ${tenants}) t, generate_series(1, 8) i;
insert into shop.products select t, i, 'sku ' || i, 'product ' || i, i, i, nullif(i / 2, 0) from generate_series(1, ${tenants}) t, generate_series(1, 12) i;
insert into shop.orders (tenant_id, id, customer_id, total) select t, i, i % 8 + 1, i from generate_series(1, ${tenants}) t, generate_series(1, 40) i;
insert into shop.lines select t, i, n, n, n from generate_series(1, ${tenants}) t, generate_series(1, 40) i, generate_series(1, 3) n;
insert into shop.places select t, 'p' || i, 'place ' || i from generate_series(1, ${tenants}) t, generate_series(1, 4) i;
create index on shop.orders (tenant_id, customer_id);
create index on shop.lines (tenant_id, product_id);
analyze;`

interface Sent {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Answered
}

interface PlanNode {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Target Tables"?: ReadonlyArray<{ readonly "Relation Name": string }>
  readonly Plans?: readonly PlanNode[]
}

let database: TestDatabase
let recorder: Recorder
let admin: Admin
let folder: string
let now = Date.now()
beforeAll(async () => {
  database = await openDatabase(schema)
  recorder = await recordStatements(database)
  folder = await mkdtemp(join(tmpdir(), "partitions-"))
  admin = await createAdmin(config, {
    database: { url: recorder.url },
    authenticator: testAuthenticator,
    secret: testSecret,
    files: { now: () => now },
    fileSettings: { folder, data: folder, keys: () => null, retention: null },
    log: () => {}
  })
  const { compiled } = admin
  await migrate(database.url, [
    serviceMigrationOf(compiled),
    ...jobsMigrations(compiled),
    ...followingMigrations(compiled)
  ])
  await admin.startJobs()
})
afterAll(async () => {
  await admin?.close()
  await recorder?.close()
  await database?.drop()
  await rm(folder, { recursive: true, force: true })
})

const call = async (
  method: string,
  path: string,
  body?: unknown,
  headers: { readonly [name: string]: string } = {},
  caller: TestCaller | null = ann
): Promise<Sent> => {
  const raw = typeof body === "string"
  const response = await admin.fetch(
    new Request(`http://service.test${path}`, {
      method,
      headers: {
        ...caller === null ? {} : { authorization: `Bearer ${tokenOf(caller)}` },
        ...body === undefined || raw ? {} : { "content-type": "application/json" },
        ...headers
      },
      ...body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }
    })
  )
  const text = await response.text()
  const isJson = response.headers.get("content-type")?.includes("json") === true && text.trimStart().startsWith("{")
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: (isJson && !text.includes("}\n{") ? JSON.parse(text) : null) as Answered
  }
}

/** The same where it has to succeed. */
const ok = async (...request: Parameters<typeof call>): Promise<Sent> => {
  const answer = await call(...request)
  expect(answer.status, `${request[0]} ${request[1]}: ${answer.text}`).toBeLessThan(300)
  return answer
}

const get = (path: string) => ok("GET", path)

/** A member that is a text. */
const textOf = (value: unknown): string => typeof value === "string" ? value : ""
const any = { "if-match": "*" }

/** Starts a task and waits for its end. */
const task = async (started: Sent): Promise<Answered> => {
  const path = started.headers.get("location")!
  let last: Answered = started.json
  await waitUntil(async () => {
    last = (await get(path)).json
    return last["state"] === "completed" || last["state"] === "failed"
  }, "the end of a task")
  expect(last, JSON.stringify(last)).toMatchObject({ state: "completed", refused: 0 })
  return last
}

/** What each request read or wrote, by what it is. */
const useCases: { readonly [name: string]: () => Promise<unknown> } = {
  "a record": async () => {
    for (const path of ["products/1", "lines/1,1", "places/7,p1", "orders/1?expand=customer,lines.product"]) {
      await get(at(path))
    }
  },
  "lists and their pages": async () => {
    const first = await get(at("orders", { page_size: 5, order_by: "total desc" }))
    const after = await get(
      at("orders", { page_size: 5, order_by: "total desc", page_token: textOf(first.json["next_page_token"]) })
    )
    expect(after.json["items"]).toHaveLength(5)
    await get(at("orders", { filter: "status = draft AND total > 3", count: "exact" }))
    await get(at("products", { show_deleted: true, filter: "name:product", order_by: "place, name desc" }))
    await get(at("lines", { page_size: 3 }))
    await get(at("places", { filter: "tenant_id = 7", order_by: "name" }))
    await ok("POST", at("orders:search"), { filter: "note:x OR total < 9" })
  },
  "the same list again and again": async () => {
    for (let i = 0; i < 8; i++) await get(at("orders", { filter: "status = paid", order_by: "total" }))
  },
  "orders through relations": async () => {
    for (const order of ["customer.name", "customer.name desc, total", "status, customer.name"]) {
      const first = await get(at("orders", { order_by: order, page_size: 4, fields: "id,customer.name" }))
      const next = await get(
        at("orders", {
          order_by: order,
          page_size: 4,
          fields: "id,customer.name",
          page_token: textOf(first.json["next_page_token"])
        })
      )
      expect(next.json["items"]).toHaveLength(4)
    }
    await get(at("lines", { order_by: "product.name desc" }))
    await get(at("products", { order_by: "parent.name", page_size: 50 }))
    await get(at("orders:seek", { order_by: "customer.name", position: 3, page_size: 3 }))
  },
  "row numbers": async () => {
    for (const position of [0, 5, 1_000]) await get(at("orders:seek", { position, page_size: 3 }))
    const sought = await get(at("orders:seek", { position: 10, page_size: 3, order_by: "status, total" }))
    await get(
      at("orders", { order_by: "status, total", page_size: 3, page_token: textOf(sought.json["prev_page_token"]) })
    )
  },
  "conditions through relations": async () => {
    for (
      const filter of [
        "customer.name = \"customer 3\"",
        "NOT customer.name = \"customer 3\"",
        "has(lines, \"quantity > 2 AND product.price > 1\")",
        "NOT has(lines, \"quantity > 2\")",
        "count(lines) > 2",
        "customer.country = NO OR lines.product.name = \"product 2\"",
        "NOT (customer.country = NO AND has(lines, \"number = 1\"))"
      ]
    ) await get(at("orders", { filter, page_size: 3 }))
    await get(at("customers", { filter: "count(orders) = 5" }))
    await get(at("products", { filter: "parent.name = \"product 1\" OR has(children, \"price > 3\")" }))
  },
  "related records": async () => {
    await get(
      at("orders", { page_size: 3, expand: "customer,lines(page_size: 2, order_by: \"quantity desc\").product" })
    )
    await get(at("orders", { page_size: 3, expand: "lines(count, filter: \"quantity > 1\")" }))
    await get(at("customers", { page_size: 3, expand: "orders(order_by: \"customer.name\", page_size: 2)" }))
    await get(at("products", { page_size: 3, expand: "children(depth: 3),parent(depth: 2)" }))
    await get(at("lines", { fields: "number,order.customer.name", page_size: 3 }))
  },
  "aggregates": async () => {
    await get(at("orders:facets", { field: "status" }))
    await get(at("orders:facets", { field: "customer.country", measure: "sum:total" }))
    await get(at("orders:series", { field: "placed_at", range: "30d", measure: "sum:total" }))
    await get(at("orders:histogram", { field: "total" }))
    await get(
      at("orders:aggregate", {
        group_by: "customer.country,status",
        measures: "count,avg(total)",
        filter: "has(lines, \"quantity = 1\")"
      })
    )
  },
  "exports": async () => {
    await get(at("orders:export", { order_by: "total", fields: "id,customer.name" }))
    await get(at("lines:export", { format: "ndjson" }))
  },
  "single writes": async () => {
    const made = await ok("POST", at("products"), { sku: "made", name: "made", price: "1.00", over: "1" })
    const path = made.headers.get("location")!
    const etag = made.headers.get("etag")!
    const changed = await ok("PATCH", path, { name: "changed" }, { "if-match": etag })
    expect((await call("PATCH", path, { name: "late" }, { "if-match": etag })).status).toBe(412)
    expect((await get(path)).headers.get("etag")).toBe(changed.headers.get("etag"))
    await ok("PATCH", `${path}?dry_run=true`, { name: "tried" }, any)
    await ok("DELETE", path)
    await ok("POST", `${path}:undelete`)
    await ok("POST", at("places"), { code: "new", name: "new" })
    await ok("PATCH", at("places/7,new"), { name: "newer" }, any)
    await ok("DELETE", at("places/7,new"))
    const line = await ok("POST", at("lines"), { order_id: "2", number: 9, product_id: "1", quantity: 1 })
    await ok("PATCH", line.headers.get("location")!, { quantity: 4 }, { "if-match": line.headers.get("etag")! })
    await ok("DELETE", line.headers.get("location")!, undefined, { "idempotency-key": "remove" })
    expect((await call("POST", at("orders"), { customer_id: "999", total: "1.00" })).status).toBe(400)
  },
  "writes under rules through relations": async () => {
    const made = await ok("POST", at("orders"), {
      customer_id: "1",
      total: "5.00",
      lines: [{ number: 1, product_id: "2", quantity: 2 }, { number: 2, quantity: 1 }]
    }, {
      "idempotency-key": "nested"
    })
    const path = made.headers.get("location")!
    await ok("PATCH", path, { total: "6.00", customer_id: "2" }, { "if-match": made.headers.get("etag")! })
    const versions = await get(at("orders_history", { filter: `id = ${path.split("/").at(-1)}`, expand: "history_by" }))
    const [first] = versions.json["items"] as unknown as ReadonlyArray<{ readonly history_id: string }>
    await ok("POST", `${path}:restore`, { version: first!.history_id }, any)
    await ok("DELETE", path)
  },
  "upserts": async () => {
    await ok("PATCH", at("products/up?match=sku&allow_missing=true"), { name: "up", price: "1.00" })
    await ok("PATCH", at("products/up?match=sku&allow_missing=true"), { name: "up again", price: "1.00" }, any)
    await ok("PATCH", at("lines/3,9?allow_missing=true"), { quantity: 1 })
    await ok("PATCH", at("lines/3,9?allow_missing=true"), { quantity: 2 }, any)
  },
  "batches": async () => {
    const ops = [
      { op: "create", resource: "customers", ref: "c", data: { name: "in a batch" } },
      { op: "create", resource: "customers", data: { name: "beside it" } },
      { op: "create", resource: "orders", ref: "o", data: { customer_id: { $ref: "c" }, total: "1.00" } },
      { op: "create", resource: "lines", data: { order_id: { $ref: "o" }, number: 1, product_id: "1", quantity: 1 } },
      { op: "create", resource: "lines", data: { order_id: { $ref: "o" }, number: 2, product_id: "2", quantity: 1 } },
      { op: "update", resource: "products", key: "4", etag: "*", data: { name: "four" } },
      { op: "update", resource: "products", key: "5", etag: "*", data: { name: "five" } },
      { op: "update", resource: "places", key: "7,p1", etag: "*", data: { name: "one" } },
      { op: "update", resource: "places", key: "7,p2", etag: "*", data: { name: "two" } },
      {
        op: "update",
        resource: "products",
        match: "sku",
        key: "batched",
        allow_missing: true,
        data: { name: "b", price: "1.00" }
      },
      { op: "reorder", resource: "products", field: "place", keys: ["3", "2", "1"], etags: { 1: "*", 2: "*", 3: "*" } },
      { op: "delete", resource: "lines", key: "4,1" },
      { op: "delete", resource: "lines", key: "4,2" },
      { op: "delete", resource: "products", key: "12" }
    ]
    await ok("POST", "/api/v1:batchWrite", { ops })
    expect((await get(at("products/1"))).json["place"]).toBe(3)
  },
  "records that pass a filter": async () => {
    await ok("PATCH", at("lines?filter=order_id=5&dry_run=true"), { quantity: 8 })
    await ok("PATCH", at("lines?filter=order_id=5&expected_count=3"), { quantity: 8 })
    await ok("PATCH", at("places?filter=code=p3&expected_count=1"), { name: "filtered" })
    await ok("DELETE", at("lines?filter=order_id=6&expected_count=3"))
    await ok("DELETE", at("places?filter=in(code,p3,p4)&expected_count=2"))
    await ok("PATCH", at("orders?filter=in(id,7,8)&expected_count=2"), { note: "filtered" })
  },
  "bulk changes": async () => {
    await ok("POST", at("orders:bulk?dry_run=true"), {
      op: "update",
      filter: "customer.country = NO",
      data: { note: "bulk" }
    })
    await task(
      await ok("POST", at("orders:bulk"), { op: "update", filter: "customer.country = NO", data: { note: "bulk" } })
    )
    await task(
      await ok("POST", at("lines:bulk"), {
        op: "update",
        filter: "quantity = 3",
        except: ["9,3"],
        data: { quantity: 4 }
      })
    )
    await task(await ok("POST", at("products:bulk"), { op: "update", filter: "price > 2", data: { price: "2.00" } }))
    await task(await ok("POST", at("places:bulk"), { op: "update", filter: "", data: { name: "bulk" } }))
    await task(await ok("POST", at("products:bulk"), { op: "delete", filter: "in(id,10,11)" }))
    await task(await ok("POST", at("products:bulk"), { op: "undelete", filter: "in(id,10,11)" }))
    await task(await ok("POST", at("lines:bulk"), { op: "delete", filter: "order_id = 9" }))
  },
  "imports": async () => {
    const bring = async (resource: string, text: string, plan: object): Promise<void> => {
      const made = await ok("POST", at(`${resource}:import`), text, { "content-type": "text/csv" })
      await ok("POST", `${made.headers.get("location")!}:check`, plan)
      await waitUntil(
        async () => (await get(made.headers.get("location")!)).json["state"] === "checked",
        "the end of a check"
      )
      await ok("POST", `${made.headers.get("location")!}:start`, plan)
      await task(made)
    }
    await bring("products", "sku,name,price\nsku 4,imported,3.00\nnew sku,imported,4.00\nother sku,imported,4.00\n", {
      mode: "upsert",
      match: "sku"
    })
    await bring("places", "code,name\ni1,imported\ni2,imported\n", { mode: "create" })
    await bring("lines", "order_id,number,quantity\n11,1,7\n11,2,7\n", { mode: "update" })
    await bring("orders", "customer_id,total\n3,1.00\n4,2.00\n", { mode: "create" })
  },
  "files": async () => {
    const upload = async (field: string): Promise<string> =>
      textOf((await ok("POST", at(`products:upload?field=${field}&name=a.txt`), "a text")).json["value"])
    const [photo, paper] = [await upload("photo"), await upload("papers")]
    const made = await ok("PATCH", at("products/6"), { photo, papers: [paper] }, any)
    const { url } = made.json["photo"] as unknown as { readonly url: string }
    expect((await ok("GET", url, undefined, {}, null)).text).toBe("a text")
    await ok("PATCH", at("products/6"), { photo: null, papers: [] }, any)
    await ok("PATCH", at("products/7"), { photo: await upload("photo"), papers: [await upload("papers")] }, any)
    await upload("photo")
    now += 3 * 86_400_000
    expect(await admin.cleanFiles()).toMatchObject({ deleted: 3, failed: 0 })
    const kept = (await get(at("products/7"))).json["photo"] as unknown as { readonly url: string }
    expect((await ok("GET", kept.url, undefined, {}, null)).text).toBe("a text")
  },
  "public forms": async () => {
    const { json } = await ok("GET", "/api/forms/place:challenge", undefined, {}, null)
    const { challenge, difficulty } = json as unknown as { readonly challenge: string; readonly difficulty: number }
    const proof = { challenge, solution: solver(challenge, difficulty)(2 ** 31)! }
    await ok("POST", "/api/forms/place", { values: { code: "form", name: "sent" }, proof }, {}, null)
  },
  "events": async () => {
    await waitUntil(() => delivered.includes("orders.updated") && delivered.includes("orders.deleted"), "the events")
  },
  "pages from the other end": async () => {
    // Only tables of many thousand rows are walked from their end.
    const records = makeRecords(admin.postgres)
    for (const model of ["orders", "places"].map((name) => admin.compiled.models.get(name)!)) {
      const bindings: Bindings = { caller: { id: "ann", tenant: own }, now: 0n, params: [] }
      const order = model.key.map((field) => ({ field, descending: false }))
      const shape = { model, columns: model.key, where: tenantRows(model.tenant!), order, limit: 3, checks: [] }
      const rows = await Effect.runPromise(records.page({ shape, bindings, offset: 2, fromEnd: true }))
      expect(rows.length).toBeGreaterThan(0)
    }
  }
}

const partition = /^(customers|products|orders|lines|places)_\d+$/

/** The partitions in a plan. Of a plan for any value those that are written to are not counted: they are chosen when it runs, before PostgreSQL 18 without a word. */
const partitionsIn = (node: PlanNode, written: boolean, into = new Set<string>()): ReadonlySet<string> => {
  const names = [
    ...node["Node Type"] === "ModifyTable" && !written ? [] : [node["Relation Name"]],
    ...written ? (node["Target Tables"] ?? []).map((table) => table["Relation Name"]) : []
  ]
  for (const name of names) if (name !== undefined && partition.test(name)) into.add(name)
  for (const child of node.Plans ?? []) partitionsIn(child, written, into)
  return into
}

/** The tables of which a plan has more than one partition. */
const spread = (names: ReadonlySet<string>): readonly string[] => {
  const counts = new Map<string, number>()
  for (const name of names) {
    const table = partition.exec(name)![1]!
    counts.set(table, (counts.get(table) ?? 0) + 1)
  }
  return [...counts].flatMap(([table, count]) => count > 1 ? [`${table}: ${count}`] : [])
}

const literal = (value: string | null): string => value === null ? "null" : `'${value.replaceAll("'", "''")}'`

const isPlanned = ({ sql }: SentStatement): boolean =>
  /"(?:customers|products|orders|lines|places)"/.test(sql) && !sql.includes("to_regclass(") &&
  /^(?:with|select|insert|update|delete|declare)\b/.test(sql)

describe("tables that are divided by tenant", () => {
  const ofUseCase = new Map<string, readonly SentStatement[]>()

  for (const [name, run] of Object.entries(useCases)) {
    it(`serve ${name}`, async () => {
      const before = recorder.sent.length
      await run()
      ofUseCase.set(name, recorder.sent.slice(before).filter(isPlanned))
    })
  }

  it("have one partition of a table at most in the plan of every statement", async () => {
    const client = new Client(pgAddressOf(database.url))
    await client.connect()
    const found: string[] = []
    const done = new Set<string>()
    const planOf = async (text: string, values: ReadonlyArray<string | null>): Promise<PlanNode> => {
      const { rows } = await client.query<{ readonly "QUERY PLAN": ReadonlyArray<{ readonly Plan: PlanNode }> }>({
        text,
        values: [...values]
      })
      return rows[0]!["QUERY PLAN"][0]!.Plan
    }
    try {
      // What the statements are prepared under.
      await client.query("set plan_cache_mode = auto")
      for (const [name, statements] of ofUseCase) {
        for (const { named, params, sql } of statements) {
          if (done.has(sql)) continue
          done.add(sql)
          const plan = await planOf(`explain (format json) ${sql}`, params)
          for (const table of spread(partitionsIn(plan, true))) found.push(`${name}: ${table}: ${sql}`)
          if (!named || params.length === 0) continue
          await client.query(`set plan_cache_mode = force_generic_plan; prepare generic as ${sql}`)
          const generic = await planOf(`explain (format json) execute generic(${params.map(literal).join(", ")})`, [])
          await client.query("deallocate generic; set plan_cache_mode = auto")
          for (const table of spread(partitionsIn(generic, false))) found.push(`${name}, any value: ${table}: ${sql}`)
        }
      }
    } finally {
      await client.end()
    }
    // Before bytes of files go, the rows of all tenants are asked: once for each of the two fields.
    const asked = found.filter((each) => each.startsWith("files: products: 64: select distinct "))
    expect(asked).toHaveLength(2)
    expect(found.filter((each) => !asked.includes(each))).toEqual([])
    expect(done.size).toBeGreaterThan(100)
  })

  it("say that there is no partition for a record", async () => {
    const answer = await call("POST", at("places"), { code: "x", name: "x" }, {}, { ...ann, tenant: "65" })
    expect([answer.status, answer.json["detail"]]).toEqual([400, "The table has no partition for the record."])
  })
})
