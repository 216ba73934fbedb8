// A page that no way through its relations gives in time, straight and through a pooler: it is refused soon, and its connection serves others.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f, relation } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { at, expectProblem, pluck } from "../../support/answer.ts"
import { startService } from "../../support/composed.ts"
import type { Fixture, TestService } from "../../support/composed.ts"
import { findPooler, openPooler } from "../../support/pooler.ts"
import type { TestDatabase } from "../../support/postgres.ts"
import { callers } from "../../support/shop.ts"

const orders = defineResource("orders", { primaryKey: "id", fields: { id: f.integer().filterable() } })
const lines = defineResource("lines", {
  table: "lines",
  primaryKey: "id",
  fields: { id: f.integer(), order_id: relation(orders), quantity: f.integer().filterable() }
})

/** Reading the lines of an order takes ten minutes. */
const slow: Fixture = {
  config: defineConfig({
    resources: [orders, lines],
    options: { statementTimeoutMs: 700, scanGuard: { seqScanRows: 100 } }
  }),
  schema: `
    create table orders (id integer primary key);
    create table stored (id integer primary key, order_id integer not null, quantity integer not null);
    insert into stored values (1, 1, 1), (2, 2, 2);
    create function slowly(value integer) returns integer language plpgsql as
      $$ begin perform pg_sleep(case when value < 0 then 0 else 600 end); return value; end $$;
    create view lines as select id, slowly(order_id) as order_id, quantity from stored;
  `,
  rows: { orders: [{ id: 1 }, { id: 2 }, { id: 3 }] }
}

const program = findPooler()
const missing = program === null && process.env["CI"] !== "true"

describe.each([false, true])("a page through slow relations, pooled: %s", (pooled) => {
  const skipped = pooled && missing
  let service: TestService
  beforeAll(async () => {
    if (skipped) return
    const through = (database: TestDatabase) => openPooler(program ?? "pgbouncer", database)
    service = await startService("postgres", slow, pooled ? { through } : {})
  })
  afterAll(async () => {
    if (skipped) return
    expect(service.unhandled).toEqual([])
    await service.close()
  })

  it("is refused once neither way ends in time, and leaves no limit behind", async ({ skip }) => {
    if (skipped) skip("PgBouncer is not installed (Debian: apt-get install pgbouncer)")
    const detail = "The query would look at too many related records."
    for (const filter of ["lines.quantity = 2", "NOT has(lines)", "count(lines) > 1"]) {
      const answer = await service.get(callers.admin, at("orders", { filter }))
      expectProblem(answer, "expensive-query", "/api/v1/orders", {
        // A view takes no index.
        errors: [{
          code: "related-records",
          message: detail,
          hint:
            "Narrow the filter by fields of the record itself, or raise options.scanGuard.seqScanRows, which is 100."
        }]
      }, detail)
    }
    // Longer than either way had: limits are those of a statement, not of its connection.
    const own = await service.get(callers.admin, "/api/v1/lines/2")
    expect(own.status).toBe(504)
    expect(pluck(await service.get(callers.admin, at("orders")), "id")).toEqual([1, 2, 3])
  })
})
