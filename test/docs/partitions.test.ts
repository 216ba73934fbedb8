/** The guide to tables that are divided by tenant: its statements on tables in use, in order, and a service on what they make. */

import { Client } from "pg"
import { afterAll, beforeAll, expect, it } from "vitest"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import { createAdmin } from "../../composition/create-admin.ts"
import { defineConfig, defineResource, f, relation } from "../../composition/index.ts"
import { testAuthenticator, testSecret, tokenOf } from "../support/composed.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { examplesOf } from "./blocks.ts"

const blocks = examplesOf("docs/guides/partitions.md", "sql")
const made =
  `create table orders (id bigserial primary key, tenant_id integer not null, total numeric(12, 2) not null check (total >= 0));
create table lines (id bigserial primary key, tenant_id integer not null, order_id bigint not null references orders, quantity integer not null);
insert into orders (tenant_id, total) select 5 + i % 3, i from generate_series(1, 30) i;
insert into lines (tenant_id, order_id, quantity) select tenant_id, id, n from orders, generate_series(1, 2) n;`

const orders = defineResource("orders", {
  primaryKey: "id",
  tenant: f.integer().column("tenant_id"),
  fields: { id: f.integer().bits(64).readOnly().dbDefault(), total: f.decimal({ precision: 12, scale: 2 }) }
})
const lines = defineResource("lines", {
  primaryKey: "id",
  tenant: f.integer().column("tenant_id"),
  fields: { id: f.integer().bits(64).readOnly().dbDefault(), order_id: relation(orders), quantity: f.integer() }
})

let database: TestDatabase
beforeAll(async () => {
  database = await openDatabase(made)
})
afterAll(() => database?.drop())

const countIn = async (table: string): Promise<number> =>
  Number((await database.rows(`select count(*) from ${table}`))[0]![0])

it("divides tables in use, moves a tenant, and lets one go; a service works on them", async () => {
  const client = new Client(pgAddressOf(database.url))
  await client.connect()
  try {
    for (const { text } of blocks) {
      // Sent together they would be one transaction.
      for (const statement of text.split(";\n")) if (statement.trim() !== "") await client.query(statement)
      if (!text.includes("orders_8")) continue
      expect([await countIn("orders"), await countIn("orders_rest"), await countIn("lines_rest")]).toEqual([30, 30, 60])
      const admin = await createAdmin(defineConfig({ resources: [orders, lines] }), {
        database: { url: database.url },
        authenticator: testAuthenticator,
        secret: testSecret,
        log: () => {}
      })
      const authorization = `Bearer ${tokenOf({ id: "ann", roles: ["admin"], tenant: "8" })}`
      const answer = await admin.fetch(
        new Request("http://service.test/api/v1/orders", {
          method: "POST",
          headers: { authorization, "content-type": "application/json" },
          body: JSON.stringify({ total: "1.00", lines: [{ quantity: 1 }] })
        })
      )
      await admin.close()
      expect(answer.status, await answer.text()).toBe(201)
    }
  } finally {
    await client.end()
  }
  const counts = await Promise.all(["orders", "lines", "orders_8", "lines_8", "orders_rest"].map(countIn))
  expect(counts).toEqual([21, 41, 1, 1, 20])
  expect(await database.rows("select to_regclass('orders_7')")).toEqual([[null]])
})
