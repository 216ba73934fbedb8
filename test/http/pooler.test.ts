// The reading half of the service through PgBouncer in transaction mode: the same scenarios as without it, and that the pooler is really shared.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { at, expectProblem, inTime, pluck, quickly } from "../support/answer.ts"
import { startService } from "../support/composed.ts"
import type { Fixture, TestService } from "../support/composed.ts"
import { findPooler, openPooler } from "../support/pooler.ts"
import { callers, shop } from "../support/shop.ts"
import { aggregateScenarios } from "./reads/aggregates.ts"
import { expandScenarios } from "./reads/expands.ts"
import { getScenarios } from "./reads/gets.ts"
import { listScenarios } from "./reads/lists.ts"
import { relationScenarios } from "./reads/relations.ts"
import { tokenScenarios } from "./reads/tokens.ts"

const program = findPooler()
const missing = "PgBouncer is not installed (Debian: apt-get install pgbouncer)"

/** The service of a fixture behind a pooler of its own. */
const startPooled = (fixture: Fixture): Promise<TestService> =>
  startService("postgres", fixture, { through: (database) => openPooler(program ?? "pgbouncer", database) })

const { admin } = callers

const slow: Fixture = {
  config: defineConfig({
    resources: [
      defineResource("slow", {
        table: "slow",
        primaryKey: "id",
        fields: { id: f.integer().filterable(), label: f.text().filterable() }
      }),
      defineResource("quick", { table: "quick", primaryKey: "id", fields: { id: f.integer() } })
    ],
    options: { statementTimeoutMs: 250 }
  }),
  schema: `
    create table quick (id integer primary key);
    create function slowly(id integer) returns text language plpgsql as $$ begin perform pg_sleep(600); return 'x' || id; end $$;
    create view slow as select id, slowly(id) as label from quick;
  `,
  rows: { quick: [{ id: 1 }] }
}

if (program === null && process.env["CI"] === "true") {
  it("has its pooler", () => expect.fail(missing))
} else {
  describe.skipIf(program === null)(
    program === null ? `reads through a pooler: ${missing}` : "reads through a pooler",
    () => {
      let service: TestService
      beforeAll(async () => {
        service = await startPooled(shop())
      })
      afterAll(async () => {
        expect(service.unhandled).toEqual([])
        await service.close()
      })
      listScenarios(() => service)
      relationScenarios(() => service)
      tokenScenarios(() => service)
      getScenarios(() => service)
      aggregateScenarios(() => service)
      expandScenarios(() => service)

      it("shares few server connections among many requests, and leaves them as they were", async () => {
        const paths = [
          "orders",
          "orders?filter=smile&order_by=qty",
          "orders/7",
          "orders:facets?field=status",
          "customers?expand=orders",
          "orders?filter=regex(note,'a')"
        ]
        const ask = async (i: number) =>
          (await quickly(() => service.get(admin, `/api/v1/${paths[i % paths.length]!}`))).status
        const statuses = await Promise.all(Array.from({ length: 60 }, (_, i) => ask(i)))
        expect(new Set(statuses)).toEqual(new Set([200]))
        // Connections of the service, not those of this test: they came through the pooler.
        const rows = await service.database!.rows(
          "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
        )
        expect(rows.length).toBeGreaterThan(0)
        expect(rows.length).toBeLessThanOrEqual(3)
      })
    }
  )

  describe.skipIf(program === null)("timeouts through a pooler", () => {
    it("end statements in time and stay with their transaction", async () => {
      const service = await startPooled(slow)
      try {
        for (let round = 0; round < 4; round++) {
          const [late, pattern] = await Promise.all([
            service.get(admin, at("slow")),
            service.get(admin, at("slow", { filter: "regex(label, 'x')" }))
          ])
          expectProblem(late, "statement-timeout", "/api/v1/slow")
          expect(pattern.json["errors"]).toMatchObject([{ code: "slow-pattern", span: { start: 0, end: 17 } }])
          expect(pluck(await inTime(() => service.get(admin, at("quick"))), "id")).toEqual([1])
        }
        expect(service.unhandled).toEqual([])
      } finally {
        await service.close()
      }
    })
  })
}
