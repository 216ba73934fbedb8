/** Materialized views on PostgreSQL: their age in lists, `:refresh` by a job, and what is refused and told when it fails (docs/guides/views-and-functions.md#materialized-views). */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { Client } from "pg"
import { createClient } from "resource-admin/client"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { refreshesSchema } from "../../adapters/postgres/refreshes.ts"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import { queueStatements } from "../../adapters/queue/schema.ts"
import { type Admin, compileOrThrow, createAdmin } from "../../composition/create-admin.ts"
import { makeService } from "../../composition/edge.ts"
import { refreshMigrations } from "../../composition/migrations.ts"
import { refreshJobs } from "../../core/app/refresh/refresh.ts"
import { compileModels } from "../../core/domain/compile/compile.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import type { Workers } from "../../core/ports/queue.ts"
import { FakeQueue } from "../fakes/queue.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import { testAuthenticator, type TestCaller, testSecret, tokenOf } from "../support/composed.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"

const fields = { id: f.integer().filterable(), n: f.integer().bits(64).optional() }
const totals = defineResource("totals", {
  table: "shop.totals",
  materialized: { schedule: "0 3 * * *", timezone: "Europe/Oslo", timeout: "1 second" },
  primaryKey: "id",
  fields,
  access: { read: true, refresh: ["clerk"] }
})
const slow = defineResource("slow", {
  table: "shop.slow",
  materialized: { timeout: "1 second" },
  primaryKey: "id",
  fields,
  access: { read: true, refresh: true }
})
const closed = defineResource("closed", {
  table: "shop.totals",
  materialized: true,
  primaryKey: "id",
  fields,
  access: { read: true }
})
const plain = defineResource("plain", { table: "shop.things", primaryKey: "id", fields: { id: f.integer() } })
const hidden = defineResource("hidden", {
  table: "shop.totals",
  materialized: true,
  primaryKey: "id",
  fields,
  access: { read: false, refresh: true }
})
const config = defineConfig({
  resources: [totals, slow, closed, plain, hidden],
  roles: defineRoles({ admin: ["*"], clerk: [] }),
  options: { tasks: false }
})

const clerk = { id: "c", roles: ["clerk"] }
const admin = { id: "a", roles: ["admin"] }

describe("materialized views", () => {
  let database: TestDatabase
  let service: Admin
  let workers: Workers

  beforeAll(async () => {
    database = await openDatabase(`${queueStatements()}
      ${refreshesSchema("service").join(";\n")};
      create schema shop;
      create table shop.things (id int primary key);
      insert into shop.things values (1), (2);
      create materialized view shop.totals as select id, 1::bigint as n from shop.things;
      create unique index on shop.totals (id);
      create materialized view shop.slow as select id, (case when pg_sleep(3) is null then 1 end)::bigint as n from shop.things where id > 0 with no data;
    `)
    service = await createAdmin(config, {
      database: { url: database.url, writeConnections: 2, readConnections: 2 },
      authenticator: testAuthenticator,
      secret: testSecret
    })
    workers = await service.startJobs()
  })
  afterAll(async () => {
    await service?.close()
    await database?.drop()
  })

  const call = async (caller: TestCaller, method: string, path: string) => {
    const response = await service.fetch(
      new Request(`http://service.test${path}`, { method, headers: { authorization: `Bearer ${tokenOf(caller)}` } })
    )
    const text = await response.text()
    return { status: response.status, text, json: JSON.parse(text) as { readonly [member: string]: unknown } }
  }
  const drained = () => Effect.runPromise(workers.drain(60_000))

  it("have no known age until the service has refreshed them; then lists show new rows and the time", async () => {
    const before = await call(clerk, "GET", "/api/v1/totals")
    expect(before.json).toMatchObject({ refreshed_at: null, refresh_failed_at: null })
    await database.execute("insert into shop.things values (3)")
    const from = new Date()
    const accepted = await call(clerk, "POST", "/api/v1/totals:refresh")
    expect([accepted.status, accepted.json]).toEqual([202, { job: expect.any(String) as string }])
    await drained()
    const after = await call(clerk, "GET", "/api/v1/totals")
    expect((after.json["items"] as readonly unknown[]).length).toBe(3)
    expect(Date.parse(String(after.json["refreshed_at"]))).toBeGreaterThanOrEqual(from.getTime() - 1_000)
    // Another resource over the same view tells the same.
    expect((await call(clerk, "GET", "/api/v1/closed")).json["refreshed_at"]).toBe(after.json["refreshed_at"])
  })

  it("are refreshed once for requests that come together", async () => {
    const ids = await Promise.all(
      Array.from({ length: 5 }, async () => (await call(clerk, "POST", "/api/v1/totals:refresh")).json["job"])
    )
    await drained()
    expect(ids.every((id) => typeof id === "string")).toBe(true)
    const jobs = await call(admin, "GET", "/api/jobs/failed")
    expect(jobs.text).not.toContain("views.refresh")
  })

  it("are refreshed by the typed client, which tells the job and what is refused", async () => {
    const clientOf = (caller: TestCaller) =>
      createClient<typeof config>({
        baseUrl: "http://service.test",
        token: tokenOf(caller),
        fetch: (url, init) => service.fetch(new Request(url, init))
      })
    expect(await clientOf(clerk).resource("totals").refresh()).toEqual({ job: expect.any(String) as string })
    await drained()
    await expect(clientOf(admin).resource("totals").refresh()).rejects.toMatchObject({ status: 403 })
    await expect(clientOf(clerk).resource("plain").refresh()).rejects.toMatchObject({ status: 404 })
  })

  it("do not keep readers away where a unique index allows it", async () => {
    const before = (await call(clerk, "GET", "/api/v1/totals")).json["refreshed_at"]
    const reader = new Client(pgAddressOf(database.url))
    await reader.connect()
    try {
      await reader.query("begin")
      await reader.query("select from shop.totals")
      await call(clerk, "POST", "/api/v1/totals:refresh")
      await drained()
      // A lock that readers wait for would have waited for this one, until the time limit.
      const { json } = await call(clerk, "GET", "/api/v1/totals")
      expect([json["refreshed_at"] === before, json["refresh_failed_at"]]).toEqual([false, null])
    } finally {
      await reader.end()
    }
  })

  it.each([
    [admin, "totals", 403],
    [admin, "closed", 403],
    [clerk, "plain", 404],
    [clerk, "hidden", 404],
    [clerk, "nobody", 404],
    [clerk, "totals:refresh?concurrently=true", 400]
  ])("refuse %j for %s", async (caller, name, status) => {
    const path = name.includes(":") ? name : `${name}:refresh`
    expect((await call(caller, "POST", `/api/v1/${path}`)).status).toBe(status)
    expect((await call(caller, "GET", `/api/v1/${path.split("?")[0]!}`)).status).toBe(status === 404 ? 404 : 405)
  })

  it("are all that can be refreshed: a table cannot, whoever sees it", async () => {
    expect((await call(admin, "POST", "/api/v1/plain:refresh")).status).toBe(404)
  })

  it("tell in their permissions who may", async () => {
    const permissions = async (caller: TestCaller) =>
      Object.fromEntries(
        Object.entries((await call(caller, "GET", "/api/meta")).json["permissions"] as object)
          .map(([name, each]: [string, { readonly refresh?: boolean }]) => [name, each.refresh])
      )
    expect(await permissions(clerk)).toEqual({ totals: true, slow: true, closed: false })
    expect(await permissions(admin)).toEqual({ totals: false, slow: true, closed: false, plain: undefined })
    const document = await call(clerk, "GET", "/api/openapi.json")
    expect(Object.keys(document.json["paths"] as object).filter((path) => path.endsWith(":refresh"))).toEqual([
      "/api/v1/totals:refresh",
      "/api/v1/slow:refresh"
    ])
  })

  it("end a refresh that takes too long, and tell that it failed", async () => {
    expect((await call(clerk, "POST", "/api/v1/slow:refresh")).status).toBe(202)
    await drained()
    const [[at, failed]] = (await database.rows(
      "select (refreshed_at is null)::text, (failed_at is not null)::text from service.refresh where view like '%slow%'"
    )) as unknown as [[string, string]]
    expect([String(at), String(failed)]).toEqual(["true", "true"])
    const jobs = await call(admin, "GET", "/api/jobs/failed")
    expect(jobs.text).toContain("views.refresh")
    // A view without data is the same to readers as any other failure: nothing of the database is told.
    expect((await call(clerk, "GET", "/api/v1/slow")).text).not.toMatch(/populated|shop\.slow/)
  })
})

it("a schedule enqueues the same job as a request, and an unknown view is no retry", async () => {
  const queue = new FakeQueue()
  const refreshed: string[] = []
  const { models } = Result.getOrThrow(compileModels(config))
  const jobs = refreshJobs({
    models,
    queue: queue.service,
    records: { refresh: (_, { name }) => Promise.resolve(void refreshed.push(name)) },
    wake: () => {}
  })
  expect(jobs.map(({ name, schedule }) => [name, schedule?.pattern])).toEqual([
    ["views.refresh", undefined],
    ["views.refresh/totals", "0 3 * * *"]
  ])
  const context = { db: {}, signal: new AbortController().signal } as never
  await jobs[1]!.run(null, context)
  await jobs[1]!.run(null, context)
  const waiting = await Effect.runPromise(queue.service.pending({ name: null, state: null, after: null, limit: 10 }))
  expect(waiting.map(({ name, payload }) => [name, payload])).toEqual([[
    "views.refresh",
    JSON.stringify({ resource: "totals" })
  ]])
  await jobs[0]!.run({ resource: "totals" }, context)
  expect(refreshed).toEqual(["totals"])
  for (const payload of [null, {}, { resource: "plain" }, { resource: "__proto__" }, { resource: 1 }]) {
    await expect(Promise.resolve().then(() => jobs[0]!.run(payload, context))).rejects.toThrow("no materialized view")
  }
  expect(refreshMigrations({ models }).map(({ name }) => name)).toEqual(["refreshes"])
})

it("of one view are one, whichever of its resources asks", async () => {
  const over = (name: string) =>
    defineResource(name, { table: "shop.totals", materialized: { schedule: "0 3 * * *" }, primaryKey: "id", fields })
  const { models } = Result.getOrThrow(compileModels(defineConfig({ resources: [over("ours"), over("theirs")] })))
  const queue = new FakeQueue()
  const records = { refresh: () => Promise.resolve() }
  const [, ...scheduled] = refreshJobs({ models, queue: queue.service, records, wake: () => {} })
  for (const { run } of scheduled) await run(null, { db: {}, signal: new AbortController().signal } as never)
  const waiting = await Effect.runPromise(queue.service.pending({ name: null, state: null, after: null, limit: 10 }))
  expect([scheduled.length, waiting.length]).toEqual([2, 1])
})

it("a refresh between two reads of a list never makes its rows younger than they are", async () => {
  const fake = makeFakeRecords()
  const compiled = compileOrThrow(config)
  fake.seed(compiled.models.get("totals")!, [["1", "1"]])
  let at = "2026-01-01T00:00:00.000000Z"
  const fetch = makeFetch(makeService({
    compiled,
    records: {
      ...fake.service,
      page: (plan) =>
        Effect.tap(fake.service.page(plan), () =>
          Effect.sync(() => {
            at = "2026-01-02T00:00:00.000000Z"
          })),
      refreshed: () => Effect.sync(() => ({ at, failedAt: null }))
    },
    authenticator: testAuthenticator,
    secret: testSecret,
    publicUrl: "http://service.test"
  }))
  const read = async () => {
    const headers = { authorization: `Bearer ${tokenOf(clerk)}` }
    const response = await fetch(new Request("http://service.test/api/v1/totals", { headers }))
    return (await response.json() as { readonly refreshed_at: string }).refreshed_at
  }
  expect([await read(), await read()].map((each) => each.slice(0, 10))).toEqual(["2026-01-01", "2026-01-02"])
})

it("are tried again where their process died, and not where the database refused", async () => {
  const { models } = Result.getOrThrow(compileModels(config))
  const cause = new Error("must be owner of materialized view totals")
  const records = { refresh: () => Promise.reject(cause) }
  const [job] = refreshJobs({ models, queue: new FakeQueue().service, records, wake: () => {} })
  expect(job!.maxAttempts).toBe(2)
  const run = job!.run({ resource: "totals" }, { db: {}, signal: new AbortController().signal } as never)
  await expect(run).rejects.toMatchObject({ name: "FatalJobError", message: cause.message, cause })
})
