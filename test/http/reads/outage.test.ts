// Reads when the database is slow, refuses connections, or loses them, on PostgreSQL: the right refusal, and recovery without help.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeFetch } from "../../../adapters/http/fetch.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { at, expectProblem, inTime, pluck } from "../../support/answer.ts"
import { startService, tokenOf } from "../../support/composed.ts"
import type { TestService } from "../../support/composed.ts"
import { openDatabase } from "../../support/postgres.ts"

const admin = { id: "u1", roles: ["admin"] }

/** Reading `label` of the view takes far longer than a statement may, and than a test. */
const slow = defineResource("slow", {
  table: "slow",
  primaryKey: "id",
  fields: { id: f.integer().filterable().sortable(), label: f.text().filterable(), flag: f.boolean().filterable() }
})
const quick = defineResource("quick", {
  table: "quick",
  primaryKey: "id",
  fields: { id: f.integer().filterable().sortable(), note: f.text().optional().filterable() }
})

const fixture = {
  config: defineConfig({ resources: [slow, quick], options: { statementTimeoutMs: 250 } }),
  schema: `
    create table quick (id integer primary key, note text);
    create function slowly(id integer) returns text language plpgsql as $$ begin perform pg_sleep(600); return 'x' || id; end $$;
    create view slow as select id, slowly(id) as label, id > 1 as flag from quick;
  `,
  rows: { quick: [1, 2, 3].map((id) => ({ id, note: `${"a".repeat(60)}${id}` })) }
}

describe("a slow or absent database", () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService("postgres", fixture)
  })
  afterAll(async () => {
    expect(service.unhandled).toEqual([])
    await service.close()
  })
  const quickIds = async (): Promise<readonly unknown[]> =>
    pluck(await inTime(() => service.get(admin, at("quick"))), "id")

  it.each([
    "slow",
    "slow/1",
    "slow:facets?field=label",
    "slow?fields=id&filter=label+=+x1",
    "slow:seek?position=1",
    "slow?filter=flag+=+true&count=exact"
  ])("ends %s with a 504 in time", async (path) => {
    expectProblem(
      await service.get(admin, `/api/v1/${path}`),
      "statement-timeout",
      `/api/v1/${path.split("?")[0]}`,
      {},
      "The database did not finish in time. Narrow the filter or ask for fewer rows."
    )
    expect(await quickIds()).toEqual([1, 2, 3])
  })

  it("ends a pattern that takes too long with its place in the filter", async () => {
    const filter = "flag = true AND NOT (id > 9 OR regex(label, 'x+'))"
    const error = {
      code: "slow-pattern",
      message: expect.any(String),
      hint: expect.any(String),
      span: { start: 31, end: 49 }
    }
    expect(filter.slice(31, 49)).toBe("regex(label, 'x+')")
    // However often it is asked for: the plans of other statements are kept after some runs.
    for (let run = 1; run <= 7; run++) {
      const answer = await service.get(admin, at("slow", { filter }))
      expectProblem(answer, "invalid-filter", "/api/v1/slow", { parameter: "filter", errors: [error] })
    }
  })

  it("cancels the statement of a client that went away", async () => {
    const patient = await startService("postgres", { ...fixture, config: { ...fixture.config, options: {} } })
    try {
      const running = async () =>
        (await patient.database!.rows(
          "select pid from pg_stat_activity where datname = current_database() and state = 'active' and query like '%\"slow\"%' and pid <> pg_backend_pid()"
        )).length
      const controller = new AbortController()
      const answer = makeFetch(patient.edge)(
        new Request("http://service.test/api/v1/slow", {
          headers: { authorization: `Bearer ${tokenOf(admin)}` },
          signal: controller.signal
        })
      ).then(() => "answered", (error: unknown) => error)
      await expect.poll(running, { interval: 10 }).toBeGreaterThan(0)
      controller.abort("gone")
      expect(await answer).toBe("gone")
      await expect.poll(running, { interval: 10 }).toBe(0)
    } finally {
      await patient.close()
    }
  })

  it("answers 503 with Retry-After while no connection is allowed, and recovers", async () => {
    const { database } = service
    const other = await openDatabase()
    try {
      expect(await quickIds()).toEqual([1, 2, 3])
      await other.execute(`alter database ${database!.name} with allow_connections false`)
      await database!.disconnectAll()
      for (
        const path of ["quick", "quick/1", "quick:facets?field=note", "quick:seek?position=1", "quick?count=exact"]
      ) {
        const answer = await inTime(() => service.get(admin, `/api/v1/${path}`))
        expectProblem(
          answer,
          "unavailable",
          `/api/v1/${path.split("?")[0]}`,
          {},
          "The database cannot be reached at the moment."
        )
        expect(answer.headers.get("retry-after")).toBe("2")
      }
      await expect.poll(async () => (await service.get(null, "/readyz")).status, { interval: 20 })
        .toBe(
          503
        )
      expect((await service.get(null, "/livez")).status).toBe(200)
      // What needs no database goes on.
      expect((await service.get(admin, "/api/meta")).status).toBe(200)
      await other.execute(`alter database ${database!.name} with allow_connections true`)
      await expect.poll(async () => (await service.get(admin, at("quick"))).status, { interval: 20 })
        .toBe(200)
      expect(await quickIds()).toEqual([1, 2, 3])
      // Readiness is asked of the database now and then, not for every probe.
      await expect.poll(async () => (await service.get(null, "/readyz")).status, { interval: 20 })
        .toBe(
          200
        )
    } finally {
      await other.execute(`alter database ${database!.name} with allow_connections true`)
      await other.drop()
    }
  })

  it("survives the loss of its connections", async () => {
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 4 }, quickIds))
      await service.database!.disconnectAll()
      // At most the requests that met a dead connection fail, and they say so.
      const statuses = new Set<number>()
      await expect.poll(async () => {
        const { status } = await inTime(() => service.get(admin, at("quick")))
        statuses.add(status)
        return status
      }, { interval: 20 }).toBe(200)
      for (const status of statuses) expect([200, 503]).toContain(status)
    }
  })
})

const ended = defineResource("ended", {
  primaryKey: "id",
  fields: { id: f.integer().filterable().sortable(), text: f.text().filterable() }
})

describe("a standby that breaks reads off, for the changes of its primary", () => {
  it("is asked once more, and then the answer is a 503 that says so", async () => {
    const service = await startService("postgres", {
      config: defineConfig({ resources: [ended] }),
      // The lock tells a connection's first read from its next one; it outlives the transaction of both.
      schema: `
        create table rows (id integer primary key, text text not null);
        insert into rows values (1, 'once'), (2, 'always');
        create function read(text text) returns text language plpgsql as $$ begin
          if text = 'always' or not exists (select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) then
            perform pg_advisory_lock(pg_backend_pid());
            raise exception 'canceling statement due to conflict with recovery' using errcode = '40001';
          end if;
          return text; end $$;
        create view ended as select id, read(text) as text from rows;
      `,
      rows: {}
    })
    try {
      const once = await service.get(admin, "/api/v1/ended/1")
      expect([once.status, once.json["text"]]).toEqual([200, "once"])
      for (const path of ["/api/v1/ended/2", "/api/v1/ended", "/api/v1/ended:facets?field=text"]) {
        const answer = await service.get(admin, path)
        expectProblem(
          answer,
          "unavailable",
          path.split("?")[0]!,
          {},
          "The database broke this off for other work. Try again."
        )
        expect(answer.headers.get("retry-after")).toBe("1")
      }
      expect(service.unhandled).toEqual([])
    } finally {
      await service.close()
    }
  })
})

const views = defineResource("views", {
  primaryKey: "id",
  fields: { id: f.integer().filterable().sortable(), seen: f.integer() }
})

describe("a view whose function writes", () => {
  it("is an error that the operator sees, and not a moment in which nothing can be changed", async () => {
    const service = await startService("postgres", {
      config: defineConfig({ resources: [views] }),
      schema: `
        create table visits (id integer primary key, seen integer not null);
        insert into visits values (1, 0);
        create function visited(visit integer) returns integer language sql as $$
          update visits set seen = seen + 1 where id = visit returning seen $$;
        create view views as select id, visited(id) as seen from visits;
      `,
      rows: {}
    })
    try {
      expectProblem(await service.get(admin, "/api/v1/views"), "internal-error", "/api/v1/views")
      expectProblem(await service.get(admin, "/api/v1/views/1"), "internal-error", "/api/v1/views/1")
      expect(service.unhandled).toHaveLength(2)
      expect(service.unhandled).toMatchObject([{ reason: { cause: { code: "25006" } } }, {
        reason: { cause: { code: "25006" } }
      }])
    } finally {
      await service.close()
    }
  })
})
