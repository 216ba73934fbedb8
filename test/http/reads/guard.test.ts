// The scan guard over HTTP, on PostgreSQL: what is refused, what is only marked, what passes, and whom the suggestion tells which columns.
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { listen } from "../../../adapters/http/node.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f, relation } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { at, expectProblem } from "../../support/answer.ts"
import type { Query } from "../../support/answer.ts"
import { startService, tokenOf } from "../../support/composed.ts"
import type { Answer, Fixture, TestCaller, TestService } from "../../support/composed.ts"
import { callers, shop } from "../../support/shop.ts"
import { askPort } from "../edge-app.ts"
import { on } from "../writes/scenes.ts"

const { admin, auditor, sampler } = callers

describe("scan guard", () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService("postgres", shop({ scanGuard: { aggregateRows: 10_000 } }))
  })
  afterAll(async () => {
    expect(service.unhandled).toEqual([])
    await service.close()
  })
  const ask = (path: string, query: Query = {}, caller: TestCaller = admin): Promise<Answer> =>
    service.get(caller, at(path, query))
  const orRaise = {
    page: "Filter or order by indexed fields, or raise options.scanGuard.seqScanRows, which is 10000.",
    aggregate: "Narrow the filter, or raise options.scanGuard.aggregateRows, which is 10000."
  }
  const expectExpensive = (answer: Answer, path: string, advice: string): void =>
    expectProblem(answer, "expensive-query", `/api/v1/${path}`, {
      errors: [{
        code: "sequential-scan",
        message: "The query would scan a big table from end to end.",
        hint: advice
      }],
      ...(advice.startsWith("create") ? { suggestion: advice } : {})
    }, "The query would scan a big table from end to end.")

  it.each<readonly [path: string, query: Query]>([
    ["samples", {}],
    ["samples", { order_by: "id desc", page_size: 500 }],
    ["samples", { filter: "ranked = 77" }],
    ["samples", { filter: "ranked > 12000", count: "exact" }],
    ["samples", { order_by: "ranked desc" }],
    // A tenth of the rows pass, so a page is full soon.
    ["samples", { filter: "bucket = 3" }],
    ["samples:seek", { position: 12_000 }],
    ["samples:facets", { field: "bucket", filter: "ranked < 100" }],
    ["samples:histogram", { field: "ranked", filter: "ranked < 100" }],
    ["samples:aggregate", { group_by: "bucket", measures: "count,p95(ranked)", filter: "ranked < 100" }],
    // Small tables may be scanned.
    ["orders", { filter: "note:nothing", order_by: "note desc", count: "exact" }],
    ["orders:facets", { field: "note" }]
  ])("lets %s %j pass", async (path, query) => {
    const answer = await ask(path, query)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.headers.get("x-service-warning")).toBeNull()
  })

  it.each<readonly [path: string, query: Query, advice: string]>([
    ["samples", { filter: "bucket = 99" }, "create index on shop.samples (bucket, id)"],
    ["samples", { filter: "zq_weight = 1" }, "create index on shop.samples (zq_weight, id)"],
    ["samples", { order_by: "zq_weight desc" }, "create index on shop.samples (zq_weight desc, id desc)"],
    ["samples", { filter: "bucket > 98" }, "create index on shop.samples (bucket)"],
    ["samples", { count: "exact" }, orRaise.aggregate],
    // A range of the key, where an index on it is there already and does not help.
    ["samples", { filter: "id > 0", count: "exact" }, orRaise.aggregate],
    ["samples:facets", { field: "id", filter: "id > 0" }, orRaise.aggregate],
    ["samples:seek", { position: 0, filter: "bucket = 99" }, "create index on shop.samples (bucket, id)"],
    // All rows pass, and they are narrow: the planner would take no index.
    ["samples:facets", { field: "bucket" }, orRaise.aggregate],
    [
      "samples:facets",
      { field: "bucket", filter: "zq_weight = 1" },
      "create index on shop.samples (zq_weight, bucket)"
    ],
    ["samples:histogram", { field: "bucket" }, orRaise.aggregate],
    ["samples:aggregate", { group_by: "bucket", having: "count < 0" }, orRaise.aggregate],
    ["samples:aggregate", { measures: "sum(ranked)", limit: 1 }, orRaise.aggregate],
    [
      "samples:aggregate",
      { group_by: "bucket", measures: "sum(ranked)", filter: "zq_weight = 99" },
      "create index on shop.samples (zq_weight, bucket, ranked)"
    ]
  ])("refuses %s %j", async (path, query, advice) => {
    expectExpensive(await ask(path, query), path, advice)
  })

  it("suggests no index that is there, and that the planner does not take", async () => {
    const query = { filter: "bucket = 95" }
    const suggestion = "create index on shop.samples (bucket, id)"
    expectExpensive(await ask("samples", query), "samples", suggestion)
    // Nobody but a partial index's own rows is served by it.
    await service.database!.execute("create index samples_some on shop.samples (bucket, id) where zq_weight = 1")
    expectExpensive(await ask("samples", query), "samples", suggestion)
    await service.database!.execute(
      "drop index shop.samples_some; create index samples_bucket on shop.samples (bucket, id);" +
        " alter database " + service.database!.name + " set enable_indexscan = off;" +
        " alter database " + service.database!.name + " set enable_bitmapscan = off;" +
        " alter database " + service.database!.name + " set enable_indexonlyscan = off"
    )
    await service.database!.disconnectAll()
    await vi.waitFor(async () =>
      expectExpensive(
        await ask("samples", query),
        "samples",
        "An index for this exists, but the planner does not use it: analyze the table, narrow the filter, or raise options.scanGuard.seqScanRows, which is 10000."
      ), { timeout: 60_000 })
    await service.database!.execute(
      "drop index shop.samples_bucket;" +
        ["indexscan", "bitmapscan", "indexonlyscan"].map((name) =>
          ` alter database ${service.database!.name} reset enable_${name};`
        ).join("")
    )
    await service.database!.disconnectAll()
    await vi.waitFor(async () => expect((await ask("orders")).status).toBe(200), { timeout: 60_000 })
  })

  it("covers :search, and each new value", async () => {
    expect((await ask("samples", { filter: "bucket = 4" })).status).toBe(200)
    const body = { filter: "bucket = 98" }
    expectExpensive(
      await service.call(admin, "POST", at("samples:search"), { body }),
      "samples:search",
      "create index on shop.samples (bucket, id)"
    )
  })

  it("names columns to who may read them, and all to admins", async () => {
    expectExpensive(await ask("samples", {}, sampler), "samples", orRaise.page)
    expectExpensive(
      await ask("samples", { filter: "bucket = 97" }, sampler),
      "samples",
      "create index on shop.samples (bucket, id)"
    )
    expectExpensive(
      await ask("samples", { filter: "bucket = 97" }, auditor),
      "samples",
      "create index on shop.samples (bucket, id)"
    )
    const both = { ...admin, roles: ["admin", "sampler"] }
    const answer = await ask("samples", { filter: "bucket = 97" }, both)
    expectExpensive(answer, "samples", "create index on shop.samples (bucket, id)")
  })

  it("forgets a refusal once the index is there", async () => {
    const query = { filter: "bucket = 96", order_by: "bucket" }
    expect((await ask("samples", query)).status).toBe(400)
    await service.database!.execute("create index samples_bucket on shop.samples (bucket, id); analyze shop.samples")
    expect((await ask("samples", query)).status).toBe(200)
    await service.database!.execute("drop index shop.samples_bucket")
  })
})

describe("scan guard by default", () => {
  it("lets aggregates and counts read up to a million rows", async () => {
    const service = await startService("postgres", shop())
    try {
      for (
        const path of [
          "samples?count=exact",
          "samples:facets?field=bucket",
          "samples:histogram?field=bucket"
        ]
      ) {
        const answer = await service.get(admin, `/api/v1/${path}`)
        expect([path, answer.status, answer.headers.get("x-service-warning")]).toEqual([path, 200, null])
      }
      expect((await service.get(admin, at("samples", { filter: "bucket = 99" }))).status).toBe(400)
    } finally {
      await service.close()
    }
  })
})

describe("a series over a whole table", () => {
  it("of 10,000 rows is answered by default, without an index", async () => {
    const service = await startService("postgres", {
      config: defineConfig({
        resources: [defineResource("visits", {
          primaryKey: "id",
          fields: { id: f.integer(), at: f.timestamp().filterable().sortable() }
        })]
      }),
      schema: `create table visits (id integer primary key, at timestamptz not null);
        insert into visits select i, timestamptz '2026-01-01' + i * interval '1 hour' from generate_series(0, 9999) i;
        analyze visits`,
      rows: {}
    })
    try {
      const query = { field: "at", range: "all", granularity: "month" }
      const answer = await service.get(admin, at("visits:series", query))
      expect([answer.status, answer.headers.get("x-service-warning")]).toEqual([200, null])
      const points = answer.json["points"] as unknown as ReadonlyArray<{ readonly count: number }>
      expect(points.reduce((sum, { count }) => sum + Number(count), 0)).toBe(10_000)
    } finally {
      await service.close()
    }
  })
})

describe("scan guard with other modes", () => {
  it("marks in mode warn", async () => {
    const service = await startService("postgres", shop({ scanGuard: { mode: "warn", aggregateRows: 10_000 } }))
    try {
      for (
        const path of [
          "samples?filter=bucket+=+99",
          "samples:facets?field=bucket&filter=bucket+=+99",
          "samples:seek?position=0&filter=bucket+=+99"
        ]
      ) {
        const answer = await service.get(admin, `/api/v1/${path}`)
        expect([answer.status, answer.headers.get("x-service-warning")]).toEqual([
          200,
          `expensive-query; create index on shop.samples (${path.includes("facets") ? "bucket" : "bucket, id"})`
        ])
      }
      const counted = await service.get(admin, at("samples", { count: "exact" }))
      expect([counted.json["total_size"], counted.headers.get("x-service-warning")]).toEqual([
        12_345,
        "expensive-query"
      ])
      expect((await service.get(admin, at("samples"))).headers.get("x-service-warning")).toBeNull()
      expect((await service.get(sampler, at("samples"))).headers.get("x-service-warning")).toBe("expensive-query")
    } finally {
      await service.close()
    }
  })

  it("is silent in mode off, and below the limit", async () => {
    for (const scanGuard of [{ mode: "off" }, { seqScanRows: 20_000 }] as const) {
      const service = await startService("postgres", shop({ scanGuard }))
      try {
        const answer = await service.get(admin, at("samples", { filter: "bucket = 99", count: "exact" }))
        expect([answer.status, answer.headers.get("x-service-warning"), answer.json["total_size"]]).toEqual([
          200,
          null,
          0
        ])
      } finally {
        await service.close()
      }
    }
  })
})

/** A big table whose names no header can carry as they are, and one that it points at. */
const stations = defineResource("stations", {
  table: "stations",
  primaryKey: "id",
  fields: { id: f.integer().filterable().sortable(), name: f.text().filterable().sortable() }
})
const readings = defineResource("readings", {
  table: "readings",
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    station: relation(stations).column("größe %\r\n温度").filterable().inverse("readings"),
    spare: relation(stations).optional().inverse("spares"),
    heat: f.integer().filterable().sortable()
  }
})
const oddNames: Fixture = {
  config: defineConfig({
    resources: [stations, readings],
    options: { scanGuard: { mode: "warn", seqScanRows: 100, aggregateRows: 100 } }
  }),
  schema: `
    create table stations (id integer primary key, name text not null);
    create table readings (id integer primary key, "größe %\r\n温度" integer not null, spare integer, heat integer not null);
    create index on readings (spare);
  `,
  rows: {
    stations: [{ id: 1, name: "one" }, { id: 2, name: "two" }],
    readings: Array.from({ length: 1_000 }, (_, id) => ({ id, station: 1 + id % 2, heat: id }))
  }
}
const oddColumn = "\"gr%C3%B6%C3%9Fe %25%0D%0A%E6%B8%A9%E5%BA%A6\""

on("postgres", "warnings of the scan guard", () => oddNames, (use) => {
  const warningOf = (answer: Answer): string | null => {
    expect(answer.status, answer.text).toBe(200)
    return answer.headers.get("x-service-warning")
  }

  it("go through a socket, whatever the names are", async () => {
    const listener = await listen(use().edge, { port: 0 })
    try {
      const answer = await askPort(listener.port)({
        target: at("readings", { filter: "station = 3" }),
        token: tokenOf(admin)
      })
      expect([answer.status, answer.headers.get("x-service-warning")]).toEqual([
        200,
        `expensive-query; create index on readings (${oddColumn}, id)`
      ])
    } finally {
      await listener.close()
    }
  })

  it("tell of related tables, too", async () => {
    const related = `expensive-query; create index on readings (${oddColumn}, id)`
    // One way to a table is cheap, the other is not.
    expect(warningOf(await use().get(admin, at("stations", { expand: "spares" })))).toBeNull()
    expect(warningOf(await use().get(admin, at("stations", { expand: "readings" })))).toBe(related)
    expect(warningOf(await use().get(admin, at("stations:seek", { position: 0, expand: "readings" })))).toBe(related)
    expect(warningOf(await use().get(admin, at("stations/1", { expand: "readings" })))).toBe(related)
    expect(warningOf(await use().get(admin, at("stations", { expand: "readings(page_size: 2)" })))).toBe(related)
    expect(warningOf(await use().get(admin, at("stations", { expand: "readings(page_size: 2, order_by: \"heat\")" }))))
      .toBe(`expensive-query; create index on readings (${oddColumn}, heat, id)`)
    expect(warningOf(await use().get(admin, at("stations", { expand: "readings(count)" }))))
      .toBe(`expensive-query; create index on readings (${oddColumn})`)
    expect(warningOf(await use().get(admin, at("stations", { expand: "spares(page_size: 2)" })))).toBeNull()
    expect(warningOf(await use().get(admin, at("stations/1")))).toBeNull()
    expect(warningOf(await use().get(admin, at("readings", { page_size: 1, expand: "station" })))).toBeNull()
  })

  it("are each said once", async () => {
    const own = "expensive-query; create index on readings (heat desc, id desc)"
    const related = `expensive-query; create index on readings (${oddColumn}, id)`
    const ask = (query: Query): Promise<Answer> => use().get(admin, at("readings", query))
    const query = { order_by: "heat desc", page_size: 1 }
    expect(warningOf(await ask(query))).toBe(own)
    expect(warningOf(await ask({ ...query, expand: "station.readings" }))).toBe(`${own}, ${related}`)
    // The count needs no order, and knows no index.
    expect(warningOf(await ask({ ...query, count: "exact" }))).toBe(`${own}, expensive-query`)
    const same = { filter: "station = 1", page_size: 500 }
    expect(warningOf(await ask(same))).toBe(related)
    expect(warningOf(await ask({ ...same, expand: "station.readings" }))).toBe(related)
  })
})

const parcels = defineResource("parcels", {
  primaryKey: "id",
  softDelete: "gone_at",
  fields: { id: f.integer().filterable(), zone: f.integer().filterable().sortable() }
})
const deletions: Fixture = {
  config: defineConfig({
    resources: [parcels],
    options: { scanGuard: { mode: "reject", seqScanRows: 100, aggregateRows: 100 } }
  }),
  // Of narrow rows an index is no smaller than the table.
  schema: `create table parcels (
    id integer primary key, zone integer not null, gone_at timestamptz, note text not null default repeat('x', 400)
  )`,
  rows: { parcels: Array.from({ length: 5_000 }, (_, id) => ({ id, zone: id % 9 })) }
}

on("postgres", "scan guard of soft deletes", () => deletions, (use) => {
  it("suggests indexes that help, as they leave out what is deleted", async () => {
    for (const [path, columns] of [["parcels:facets?field=zone", "zone"], ["parcels?order_by=zone", "zone, id"]]) {
      const refused = await use().get(admin, `/api/v1/${path}`)
      const suggestion = `create index on parcels (${columns}) where gone_at is null`
      expect([refused.status, refused.json["suggestion"]]).toEqual([400, suggestion])
      await use().database!.execute(suggestion)
      // A vacuum passes over rows that a connection on its way out could still see as new.
      await expect.poll(async () => {
        await use().database!.execute("vacuum analyze parcels")
        return use().database!.rows("select relallvisible > 0 from pg_class where relname = 'parcels'")
      }).toEqual([["t"]])
      expect((await use().get(admin, `/api/v1/${path}`)).status).toBe(200)
      await use().database!.execute(`drop index parcels_${columns!.replace(", ", "_")}_idx`)
    }
    // Whoever sees deleted records needs the whole, and who may not see the column is not told of it.
    const all = await use().get(admin, "/api/v1/parcels?order_by=zone&show_deleted=true")
    expect(all.json["suggestion"]).toBe("create index on parcels (zone, id)")
    const other = await use().get(auditor, "/api/v1/parcels?order_by=zone+desc")
    expect(other.json["suggestion"]).toBe("create index on parcels (zone desc, id desc)")
  })

  it("judges again within a minute what was cheap before its table grew", async () => {
    const path = at("parcels", { filter: "zone = 99", count: "exact" })
    await use().database!.execute(
      "create table kept as table parcels; delete from parcels where id > 50; analyze parcels"
    )
    expect((await use().get(admin, path)).status).toBe(200)
    await use().database!.execute(
      "insert into parcels select * from kept where id > 50; drop table kept; analyze parcels"
    )
    const later = Date.now() + 61_000
    vi.useFakeTimers({ toFake: ["Date"], now: later })
    try {
      expect((await use().get(admin, path)).status).toBe(400)
    } finally {
      vi.useRealTimers()
    }
  })
})

const letters = defineResource("letters", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable(),
    zone: f.integer().filterable().sortable(),
    sent_at: f.timestamp().filterable().sortable()
  }
})
const sent: Fixture = {
  config: defineConfig({
    resources: [letters],
    options: { scanGuard: { mode: "reject", seqScanRows: 100, aggregateRows: 100 } }
  }),
  schema: `create table letters (
    id integer primary key, zone integer not null, sent_at timestamptz not null, note text not null default repeat('x', 400)
  ); create index on letters (sent_at)`,
  rows: {
    letters: Array.from({ length: 5_000 }, (_, id) => ({
      id,
      zone: id % 9,
      sent_at: new Date(Date.UTC(2026, 0, 1, 0, id)).toISOString()
    }))
  }
}

on("postgres", "scan guard of neighbours", () => sent, (use) => {
  it("judges a long page, though a short one of the same filter was cheap", async () => {
    const ask = async (zone: number, page_size: number): Promise<number> =>
      (await use().get(admin, at("letters", { filter: `zone = ${zone}`, page_size }))).status
    expect(await ask(4, 500)).toBe(400)
    expect([await ask(5, 1), await ask(5, 500), await ask(5, 1)]).toEqual([200, 400, 200])
  })

  it("judges again when the clock is set back: what counts for a minute must not count for an hour", async () => {
    const path = at("letters", { filter: "zone = 99" })
    await use().database!.execute(
      "create table kept as table letters; delete from letters where id > 50; analyze letters"
    )
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 })
    try {
      expect((await use().get(admin, path)).status).toBe(200)
    } finally {
      vi.useRealTimers()
    }
    await use().database!.execute(
      "insert into letters select * from kept where id > 50; drop table kept; analyze letters"
    )
    expect((await use().get(admin, path)).status).toBe(400)
  })

  it("judges a measure that needs the table, though the count took the index alone", async () => {
    // A vacuum passes over rows that a connection on its way out could still see as new.
    await expect.poll(async () => {
      await use().database!.execute("vacuum analyze letters")
      return use().database!.rows("select relallvisible > 0 from pg_class where relname = 'letters'")
    }).toEqual([["t"]])
    const ask = async (measure: string): Promise<number> => {
      const range = { from: "2025-12-01T00:00:00Z", to: "2026-02-01T00:00:00Z" }
      const query = { field: "sent_at", granularity: "week", measure, ...range }
      return (await use().get(admin, at("letters:series", query))).status
    }
    expect([await ask("count"), await ask("max:zone"), await ask("count")]).toEqual([200, 400, 200])
  })
})

const entries = defineResource("entries", {
  primaryKey: "id",
  fields: { id: f.integer().filterable().sortable(), zone: f.integer().filterable() }
})
const partitioned: Fixture = {
  config: defineConfig({
    resources: [entries],
    options: { scanGuard: { mode: "reject", seqScanRows: 1_000, aggregateRows: 1_000 } }
  }),
  schema:
    `create table entries (id integer primary key, zone integer not null, note text not null default repeat('x', 400))
    partition by hash (id);
    ${
      [0, 1, 2, 3].map((i) =>
        `create table entries_${i} partition of entries for values with (modulus 4, remainder ${i});`
      ).join("\n")
    }`,
  rows: { entries: Array.from({ length: 3_000 }, (_, id) => ({ id, zone: id % 9 })) }
}

on("postgres", "scan guard of partitions", () => partitioned, (use) => {
  it("takes them together for the table that they are", async () => {
    const ask = async (query: Query): Promise<number> => (await use().get(admin, at("entries", query))).status
    expect(await ask({ filter: "zone = 99", count: "exact" })).toBe(400)
    expect(await ask({ filter: "id = 7", count: "exact" })).toBe(200)
  })
})

const moves = defineResource("moves", {
  primaryKey: "id",
  fields: { id: f.integer().filterable().sortable(), day: f.integer(), zone: f.integer().filterable().sortable() }
})
/** Many small partitions: the planner reads each whole rather than through its index. */
const small: Fixture = {
  config: defineConfig({ resources: [moves], options: { scanGuard: { mode: "reject", seqScanRows: 1_000 } } }),
  schema:
    `create table moves (id integer, day integer, zone integer not null, primary key (day, id)) partition by range (day);
    ${
      Array.from({ length: 60 }, (_, i) =>
        `create table moves_${i} partition of moves for values from (${i}) to (${i + 1});`).join("\n")
    }`,
  rows: { moves: Array.from({ length: 6_000 }, (_, id) => ({ id, day: id % 60, zone: id % 3_000 })) }
}

on("postgres", "scan guard of small partitions", () => small, (use) => {
  it("asks for an index once: with it, they are read as the planner likes", async () => {
    const ask = () => use().get(admin, at("moves", { filter: "zone = 7", order_by: "zone" }))
    const refused = await ask()
    expect([refused.status, refused.json["suggestion"]]).toEqual([400, "create index on moves (zone, id)"])
    await use().database!.execute("create index on moves (zone, id); analyze moves")
    const [[plan]] = await use().database!.rows("explain (format json) select id from moves where zone = 7") as [
      [string]
    ]
    expect(plan).toContain("Seq Scan")
    expect((await ask()).status).toBe(200)
  })
})
