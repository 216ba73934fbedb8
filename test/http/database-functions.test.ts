/** Resources over functions of the database (docs/guides/views-and-functions.md#functions): arguments, lists, what is refused, and what hostile callers and functions can do. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { createClient } from "resource-admin/client"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { checkDatabase } from "../../composition/startup.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { fn } from "../../core/domain/declare/database-function.ts"
import { f, relation } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import { startService, type TestService, tokenOf } from "../support/composed.ts"

const customers = defineResource("customers", {
  table: "shop.customers",
  primaryKey: "id",
  fields: { id: f.integer(), name: f.text().filterable() }
})
const rows = {
  id: f.integer().filterable().sortable(),
  customer_id: relation(customers).filterable(),
  total: f.decimal().filterable().sortable(),
  placed: f.date().filterable().sortable(),
  secret: f.text().optional()
}
const ordersOf = defineResource("orders_of", {
  from: fn("shop.orders_of", {
    customer: f.integer(),
    since: f.date().optional(),
    least: f.decimal().column("Least \"total\"").dbDefault(),
    most: f.integer().default(1000)
  }),
  primaryKey: "id",
  fields: rows,
  access: { read: ["admin", "clerk"], fields: { secret: { read: ["admin"] } } }
})
const byStatus = defineResource("by_status", {
  from: fn("shop.by_status", { status: f.enum(["open", "done"]), at: f.timestamp() }, {
    types: { status: "shop.status", at: "pg_catalog.timestamp" }
  }),
  primaryKey: "id",
  fields: { id: f.integer() }
})
const echo = defineResource("echo", {
  from: fn("shop.echo", {
    text: f.text().column("a"),
    json: f.json().optional().column("b"),
    ids: f.integer().bits(64).optional().column("c")
  }),
  primaryKey: "text",
  fields: { text: f.text().filterable(), json: f.json().optional(), ids: f.integer().bits(64).optional() }
})
const failing = defineResource("failing", {
  from: fn("shop.failing", { how: f.text() }),
  primaryKey: "id",
  fields: { id: f.integer() }
})
const plain = defineResource("plain", {
  from: fn("shop.plain", {}),
  primaryKey: "id",
  fields: { id: f.integer().filterable().sortable() }
})

/** PostgreSQL puts its query in the place of the call. */
const large = defineResource("large", {
  from: fn("shop.large_of", { low: f.integer() }),
  primaryKey: "id",
  fields: { id: f.integer().filterable().sortable(), n: f.integer().filterable().sortable() }
})

const config = defineConfig({
  resources: [customers, ordersOf, byStatus, echo, failing, plain, large],
  roles: defineRoles({ admin: ["*"], clerk: ["customers.read"] }),
  options: { tasks: false, statementTimeoutMs: 1_000 }
})

const schema = `
  create schema shop;
  create schema "a b";
  create type shop.status as enum ('open', 'done');
  create table shop.customers (id int primary key, name text not null);
  create table shop.orders (id int primary key, customer_id int references shop.customers, total numeric not null,
    placed date not null, status shop.status not null default 'open', secret text);
  insert into shop.customers values (1, 'Ann'), (2, 'Bob');
  insert into shop.orders select i, 1 + i % 2, i * 10, date '2026-01-01' + i, case when i % 3 = 0 then 'done' else 'open' end::shop.status, 's' || i
    from generate_series(1, 40) i;
  create function shop.orders_of(customer int, since date, "Least ""total""" numeric default 100, most int default 5)
    returns setof shop.orders language sql stable
    as $$ select * from shop.orders o where o.customer_id = customer and (since is null or o.placed >= since)
      and o.total >= "Least ""total""" and o.total <= most $$;
  create function shop.by_status(status shop.status, at timestamp) returns table (id int) language sql stable
    as $$ select o.id from shop.orders o where o.status = by_status.status and o.placed >= at $$;
  create function shop.echo(a text, b jsonb, c bigint) returns table (text text, "json" jsonb, ids bigint)
    language sql immutable as $$ select $1, $2, $3 $$;
  create table shop.marks (id int);
  create function shop.write_mark() returns int language plpgsql volatile
    as $$ begin insert into shop.marks values (1); return 1; end $$;
  create function shop.failing(how text) returns table (id int) language plpgsql stable as $$
    begin
      if how = 'raise' then raise exception 'the secret of row 7'; end if;
      if how = 'state' then raise exception 'the secret of row 7' using errcode = '45000'; end if;
      if how = 'divide' then return query select 1 / 0; end if;
      if how = 'write' then return query select shop.write_mark(); end if;
      if how = 'denied' then raise exception using errcode = '42501', message = 'the secret of row 7'; end if;
      if how = 'missing' then return query execute 'select * from no_such_table'; end if;
      if how = 'forever' then loop perform pg_sleep(0.1); end loop; end if;
      return query select 1;
    end $$;
  create table shop.large (id int primary key, n int not null);
  insert into shop.large select i, i % 97 from generate_series(1, 100000) i;
  create function shop.large_of(low int) returns setof shop.large language sql stable
    as $$ select * from shop.large where id >= low $$;
  create function shop.plain() returns table (id int) language sql stable as $$ select generate_series(1, 3) $$`

interface OpenapiDocument {
  readonly components: {
    readonly parameters: { readonly [id: string]: object }
    readonly schemas: { readonly [id: string]: object }
  }
  readonly paths: { readonly [path: string]: { readonly get?: { readonly parameters: readonly object[] } } }
}

const admin = { id: "1", roles: ["admin"] }
const clerk = { id: "2", roles: ["clerk"] }
const stranger = { id: "3", roles: [] }

describe("resources over functions of the database", () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService("postgres", {
      config,
      schema,
      rows: {}
    })
  })
  afterAll(() => service.close())

  const ids = async (path: string): Promise<readonly unknown[]> => {
    const answer = await service.get(admin, path)
    expect(answer.status, answer.text).toBe(200)
    return (answer.json["items"] as unknown as ReadonlyArray<{ readonly id: unknown }>).map(({ id }) => id)
  }

  it("fits the database", async () => {
    const refusals = await Effect.runPromise(Effect.scoped(Effect.flatMap(
      makePostgres({ url: service.database!.url, readConnections: 1, statementTimeoutMs: 10_000 }),
      (postgres) => checkDatabase(service.compiled, postgres)
    )))
    expect(refusals).toEqual([])
  })

  it("are listed with arguments: given, left to null, to a default, to the default of the function", async () => {
    expect(await ids("/api/v1/orders_of?args.customer=1&order_by=id&page_size=3")).toEqual([10, 12, 14])
    expect(await ids("/api/v1/orders_of?args.customer=1&args.least=0&order_by=id&page_size=2")).toEqual([2, 4])
    expect(await ids("/api/v1/orders_of?args.customer=2&args.since=2026-02-05&args.most=370&order_by=id")).toEqual([
      35,
      37
    ])
    expect(await ids("/api/v1/by_status?args.status=done&args.at=2026-02-01T00:00:00Z")).toEqual([33, 36, 39])
    expect(await ids("/api/v1/plain")).toEqual([1, 2, 3])
  })

  it("take filters, orders, counts, expand, single records, aggregates, seeks and exports", async () => {
    const list = await service.get(
      admin,
      "/api/v1/orders_of?args.customer=1&filter=total+>+370+AND+customer.name=Ann&order_by=total+desc&count=exact&expand=customer"
    )
    expect(list.json).toMatchObject({
      total_size: 2,
      items: [{ id: 40, expand: { customer: { name: "Ann" } } }, { id: 38 }]
    })
    const one = await service.get(admin, "/api/v1/orders_of/40?args.customer=1")
    expect([one.status, one.json["total"]]).toEqual([200, "400"])
    expect((await service.get(admin, "/api/v1/orders_of/40?args.customer=2")).status).toBe(404)
    const sum = await service.get(admin, "/api/v1/orders_of:aggregate?args.customer=1&measures=count,sum(total)")
    expect(sum.text).toContain("\"4000\"")
    const posted = await service.call(admin, "POST", "/api/v1/orders_of:aggregate", {
      body: { args: { customer: 2, least: "390" }, measures: ["count"] }
    })
    expect(posted.text).toContain("\"count\":1")
    for (const path of ["facets?field=placed", "series?field=placed&range=all", "histogram?field=total"]) {
      expect((await service.get(admin, `/api/v1/orders_of:${path}&args.customer=1`)).status, path).toBe(200)
    }
    expect(await ids("/api/v1/orders_of:seek?args.customer=1&position=3&order_by=id&page_size=2")).toEqual([16, 18])
    const exported = await service.get(
      admin,
      "/api/v1/orders_of:export?args.customer=1&args.least=380&fields=id&order_by=id"
    )
    expect(exported.text).toBe("id\r\n38\r\n40\r\n")
    const search = await service.call(admin, "POST", "/api/v1/orders_of:search", {
      body: { args: { customer: 1, since: null, least: 390 }, filter: "id > 1" }
    })
    expect(search.json["items"]).toMatchObject([{ id: 40 }])
    const sizes = await service.get(admin, "/api/sizes?resources=plain,orders_of")
    expect(sizes.json["sizes"]).toEqual({ plain: { total_size_estimate: 3, total_size_accuracy: "exact" } })
  })

  it("give every row once over all pages, and tokens belong to their arguments", async () => {
    const seen: unknown[] = []
    let token = ""
    do {
      const page = await service.get(
        admin,
        `/api/v1/orders_of?args.customer=1&args.least=0&order_by=placed+desc&page_size=7&page_token=${token}`
      )
      seen.push(...(page.json["items"] as unknown as ReadonlyArray<{ readonly id: number }>).map(({ id }) => id))
      token = page.json["next_page_token"] as unknown as string
      if (token === "") break
      for (
        const other of ["args.customer=2&args.least=0", "args.customer=1", "args.customer=1&args.least=0&args.most=999"]
      ) {
        const taken = await service.get(
          admin,
          `/api/v1/orders_of?${other}&order_by=placed+desc&page_size=7&page_token=${token}`
        )
        expect([taken.status, taken.text]).toEqual([400, expect.stringContaining("does not belong")])
      }
    } while (token !== "")
    expect(seen).toEqual(Array.from({ length: 20 }, (_, i) => 40 - 2 * i))
  })

  it("never mix up counts of different arguments", async () => {
    const size = async (least: number) =>
      (await service.get(admin, `/api/v1/orders_of?args.customer=1&args.least=${least}&page_size=1`))
        .json["total_size_estimate"]
    expect([await size(0), await size(380), await size(0), await size(400)]).toEqual([20, 2, 20, 1])
  })

  it.each([
    ["orders_of", "args.customer", "The argument is required."],
    ["orders_of?args.customer=", "args.customer", "The argument is required."],
    ["orders_of?args.customer=x", "args.customer", "Expected an integer"],
    ["orders_of?args.customer=9999999999", "args.customer", ""],
    ["orders_of?args.customer=1&args.customer=1", "args.customer", "more than once"],
    ["orders_of?args.customer=1&args.since=2026-02-30", "args.since", "Expected a date"],
    ["orders_of?args.customer=1&args.nobody=1", "args.nobody", "There is no argument"],
    ["orders_of?args.customer=1&args.Least+\"total\"=1", "args.Least \"total\"", "There is no argument"],
    ["orders_of?customer=1&args.customer=1", "customer", "There is no parameter"],
    ["by_status?args.status=lost&args.at=2026-02-01T00:00:00Z", "args.status", ""],
    ["customers?args.customer=1", "args.customer", "There is no parameter"],
    ["plain?args.x=1", "args.x", "There are no arguments"],
    ["echo?args.text=a&args.json={", "args.json", "Expected JSON"]
  ])("refuse %s", async (path, parameter, message) => {
    const answer = await service.get(admin, `/api/v1/${path}`)
    expect(answer.status, answer.text).toBe(400)
    expect(answer.json["errors"]).toMatchObject([{ parameter }])
    expect(answer.text).toContain(message)
  })

  it.each([
    [[]],
    ["x"],
    [{ customer: [1] }],
    [{ customer: { "$gt": 0 } }],
    [{ customer: 1.5 }],
    [{ customer: true }],
    [{ customer: 1, __proto__: 1, constructor: 1 }],
    [{ customer: 1, "customer\u0000": 1 }]
  ])("refuse a body with args %j", async (args) => {
    const answer = await service.call(admin, "POST", "/api/v1/orders_of:search", { body: { args } })
    expect([answer.status, service.unhandled]).toEqual([400, []])
  })

  it.each([
    "'; drop table shop.orders; --",
    "\\'; select pg_sleep(10); --",
    "$1); delete from shop.orders; --",
    "}::text",
    "\" => 1) t; --",
    "%s %I $$ $x$",
    "\u2028\uFEFFÄ😀",
    "x".repeat(100_000)
  ])("give arguments to the function as they are: %j", async (text) => {
    const answer = await service.call(admin, "POST", "/api/v1/echo:search", {
      body: { args: { text, json: { text }, ids: "9223372036854775807" } }
    })
    expect(answer.json["items"]).toMatchObject([{ text, json: { text }, ids: "9223372036854775807" }])
    for (let i = 0; i < 8; i++) {
      expect((await service.get(admin, `/api/v1/echo?args.text=${encodeURIComponent(text.slice(0, 500))}`)).status)
        .toBe(200)
    }
    expect((await service.database!.rows("select count(*)::text from shop.orders"))[0]).toEqual(["40"])
  })

  it("refuse texts that PostgreSQL cannot hold, and bodies that are too large", async () => {
    const nul = await service.call(admin, "POST", "/api/v1/echo:search", { body: { args: { text: "a\u0000b" } } })
    expect(nul.status).toBe(400)
    const huge = await service.call(admin, "POST", "/api/v1/echo:search", {
      body: { args: { text: "x".repeat(3_000_000) } }
    })
    expect(huge.status).toBe(413)
  })

  it.each([["raise", 400], ["state", 400], ["divide", 400], ["write", 500], ["denied", 500], ["missing", 500]])(
    "tell nothing of what a function says when it fails: %s",
    async (how, status) => {
      for (const path of ["failing?", "failing/1?", "failing:aggregate?measures=count&", "failing:export?"]) {
        const answer = await service.get(admin, `/api/v1/${path}args.how=${how}`)
        expect([path, answer.status]).toEqual([path, status])
        expect(answer.text).not.toMatch(/secret|no_such|marks|insert|PL\/pgSQL/i)
        expect(answer.headers.get("content-type")).toContain("application/problem+json")
      }
      expect(await service.database!.rows("select count(*)::text from shop.marks")).toEqual([["0"]])
    }
  )

  it("end a function that never ends", async () => {
    const answer = await service.get(admin, "/api/v1/failing?args.how=forever")
    expect([answer.status, answer.json["type"]]).toEqual([504, "urn:service:problem:statement-timeout"])
  })

  it("are judged by the guard where their query can be seen, and use its indexes", async () => {
    const scan = await service.get(admin, "/api/v1/large?args.low=1&order_by=n+desc")
    expect([scan.status, scan.json["type"]]).toEqual([400, "urn:service:problem:expensive-query"])
    expect((await service.get(admin, "/api/v1/large?args.low=1&filter=id=77")).json["items"]).toMatchObject([{
      id: 77
    }])
    expect((await service.get(admin, "/api/v1/large?args.low=99990&order_by=n&filter=n=90")).status).toBe(200)
  })

  it("have the access of any resource: rows, fields, nothing at all; and no writes", async () => {
    expect((await service.get(stranger, "/api/v1/orders_of?args.customer=1")).status).toBe(404)
    const seen = await service.get(clerk, "/api/v1/orders_of?args.customer=1")
    expect([seen.status, seen.text.includes("secret")]).toEqual([200, false])
    const hidden = await service.get(clerk, "/api/v1/orders_of?args.customer=1&fields=secret")
    expect(hidden.status).toBe(400)
    for (const [method, path] of [["POST", "orders_of"], ["PATCH", "orders_of/40"], ["DELETE", "orders_of/40"]]) {
      const answer = await service.call(admin, method!, `/api/v1/${path}`, method === "DELETE" ? {} : { body: {} })
      expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("read-only")])
    }
  })

  it("tell clients their arguments, in the meta document and in OpenAPI", async () => {
    const meta = await service.get(clerk, "/api/meta")
    const models = meta.json["models"] as unknown as ReadonlyArray<{ name: string; arguments?: unknown }>
    expect(models.map(({ arguments: args, name }) => [name, args])).toEqual([["customers", undefined], ["orders_of", [
      { name: "customer", bits: 32, kind: "integer", optional: false },
      { name: "since", kind: "date", optional: true },
      { name: "least", kind: "decimal", default: { db: true }, optional: true },
      { name: "most", bits: 32, kind: "integer", default: { value: 1000 }, optional: true }
    ]]])
    const { json } = await service.get(clerk, "/api/openapi.json")
    const { components, paths } = json as unknown as OpenapiDocument
    expect(Object.keys(components.parameters).filter((id) => id.includes(".args."))).toEqual(
      ["customer", "since", "least", "most"].map((name) => `orders_of.args.${name}`)
    )
    expect(components.parameters["orders_of.args.customer"]).toMatchObject({
      name: "args.customer",
      in: "query",
      required: true
    })
    for (const [path, item] of Object.entries(paths)) {
      if (!path.startsWith("/api/v1/orders_of") || item.get === undefined) continue
      expect(JSON.stringify(item.get.parameters), path).toContain("orders_of.args.customer")
    }
    expect(components.schemas["orders_of.Search"]).toMatchObject({
      required: ["args"],
      properties: { args: { required: ["customer"], additionalProperties: false } }
    })
  })

  it("are typed in the client", async () => {
    const fetch = makeFetch(service.edge, Context.empty())
    const client = createClient<typeof config>({
      baseUrl: "http://service.test",
      token: tokenOf(admin),
      fetch: (url, init) => fetch(new Request(url, init))
    })
    const args = { customer: 1, least: "380" }
    const orders = client.resource("orders_of")
    const page = await orders.list({ args, fields: ["id"], order_by: "total" })
    expect(page.items.map(({ id }) => id)).toEqual([38, 40])
    expect((await orders.search({ args, filter: "id > 38" })).items.length).toBe(1)
    expect((await orders.get(40, { args: { customer: 1, since: "2026-02-01", most: 400 } })).total).toBe("400")
    expect((await orders.aggregate({ args, measures: ["sum(total)"] })).groups[0]?.measures["sum(total)"]).toBe("780")
    expect((await orders.facets({ args, field: "placed" })).facets.length).toBe(2)
    const seen: unknown[] = []
    for await (const { id } of orders.list({ args: { customer: 1, least: "0" }, page_size: 6 })) seen.push(id)
    expect(seen.length).toBe(20)
    // @ts-expect-error customer is required
    await expect(orders.list({ args: { least: "1" } })).rejects.toThrow()
    // @ts-expect-error there is no such argument
    await expect(orders.list({ args: { customer: 1, nobody: 1 } })).rejects.toThrow()
    // @ts-expect-error no arguments
    await expect(client.resource("customers").list({ args: { customer: 1 } })).rejects.toThrow()
  })

  it("are called in their own schema, whatever the search path has", async () => {
    await service.database!.execute(`
      create function public.plain() returns table (id int) language sql stable as $$ select 666 $$;
      create schema evil;
      create function evil.plain() returns table (id int) language sql stable as $$ select 667 $$;
      create domain evil.int4 as text;
      do $$ begin execute format('alter database %I set search_path = evil, public', current_database()); end $$`)
    await service.database!.disconnectAll()
    expect(await ids("/api/v1/plain")).toEqual([1, 2, 3])
    expect(await ids("/api/v1/orders_of?args.customer=1&order_by=id&page_size=1")).toEqual([10])
  })
})
