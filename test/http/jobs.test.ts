// The routes of the queue: who may, what they answer, what they refuse; on the fake, and once with everything on PostgreSQL.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { defineJob, type Job } from "../../adapters/queue/define.ts"
import { queueStatements } from "../../adapters/queue/schema.ts"
import { type Admin, compileOrThrow, createAdmin } from "../../composition/create-admin.ts"
import { makeService } from "../../composition/edge.ts"
import { StartupError } from "../../composition/startup-error.ts"
import { shownPayload } from "../../core/app/event/dispatch.ts"
import { makeAttempts } from "../../core/app/job/attempt.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { FatalJobError } from "../../core/domain/job/failure.ts"
import type { Workers } from "../../core/ports/queue.ts"
import { FakeQueue } from "../fakes/queue.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import { testAuthenticator, type TestCaller, testSecret, tokenOf } from "../support/composed.ts"
import { openDatabase } from "../support/postgres.ts"
import type { TestDatabase } from "../support/postgres.ts"

const admin: TestCaller = { id: "ada", roles: ["admin"] }
const other: TestCaller = { id: "eve", roles: ["admin"] }
const sales: TestCaller = { id: "sam", roles: ["sales"] }
const drainToken = "a.token.of.sixteen.or.more"

const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  fields: { id: f.integer().dbDefault().readOnly(), text: f.text() }
})

const failing = defineJob<{ n: number }>({
  name: "mail/send",
  run: () => {
    throw new FatalJobError("the secret of the payload")
  }
})
const nightly = defineJob({ name: "nightly", schedule: "0 7 * * *", timezone: "Europe/Berlin", run: () => {} })

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

const setUp = (
  options: { readonly token?: string; readonly workers?: boolean; readonly jobs?: readonly Job<never>[] } = {}
) => {
  const compiled = compileOrThrow(
    defineConfig({ resources: [notes], jobs: [failing, nightly, ...options.jobs ?? []] as never })
  )
  const queue = new FakeQueue()
  const log: string[] = []
  let workers: Workers | null = null
  if (options.workers !== false) {
    workers = queue.start(
      compiled.jobs,
      makeAttempts(compiled.jobs, {
        db: { query: async () => [], transaction: (work) => work({ query: async () => [] }) },
        mail: undefined
      })
    )
  }
  const edge = makeService({
    compiled,
    records: makeFakeRecords().service,
    authenticator: testAuthenticator,
    secret: testSecret,
    publicUrl: "http://service.test",
    log: (line) => void log.push(line),
    jobs: { queue: queue.service, workers: () => workers },
    ...(options.token === undefined ? {} : { drainToken: options.token })
  })
  const fetch = makeFetch(edge, Context.empty())
  const call = async (caller: TestCaller | string | null, method: string, path: string): Promise<Answer> => {
    const credential = caller === null ? null : typeof caller === "string" ? caller : tokenOf(caller)
    const response = await fetch(
      new Request(`http://service.test${path}`, {
        method,
        headers: credential === null ? {} : { authorization: `Bearer ${credential}` }
      })
    )
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: text === "" ? null : JSON.parse(text) }
  }
  const fail = async (count: number, payload = (n: number) => ({ n })): Promise<readonly string[]> => {
    const ids = []
    for (let n = 1; n <= count; n++) {
      ids.push(await failing.enqueue(queue.db, payload(n)))
      await queue.advance(1_000)
    }
    return ids
  }
  return { call, fail, log, queue }
}

describe("failed deliveries", () => {
  it("are shown without the records of their events", async () => {
    const rows = { before: { id: "7", pin: "hush" }, after: { id: "7", pin: "hush again" } }
    const change = { sequence: "1", relation: "orders", ...rows }
    const payloads = {
      "webhooks.deliver": { subscription: "desk", resource: "orders", event: "updated", id: "evt_1", key: "7", change },
      "webhooks.deliver-ordered": {
        subscription: "desk",
        resource: "orders",
        key: "7",
        events: [{ id: "evt_2", event: "updated", change }]
      },
      "webhooks.dispatch-change": { change }
    }
    for (const [name, payload] of Object.entries(payloads)) {
      const shown = shownPayload(name, JSON.stringify(payload))
      expect(shown).not.toMatch(/hush|before|after/)
      expect(JSON.parse(shown)).toEqual(
        JSON.parse(
          JSON.stringify(
            payload,
            (member, value: unknown) => member === "before" || member === "after" ? undefined : value
          )
        )
      )
      expect(shown).toContain("orders")
    }
    // Jobs of the application are its own.
    const own = JSON.stringify({ before: 1, after: 2 })
    expect(shownPayload("mail/send", own)).toBe(own)
    const job = { ...failing, name: "webhooks.deliver" }
    const queue = new FakeQueue()
    const compiled = compileOrThrow(defineConfig({ resources: [notes], jobs: [failing] }))
    const jobs = new Map([["webhooks.deliver", {
      ...compileOrThrow(defineConfig({ resources: [notes], jobs: [failing] })).jobs.get("mail/send")!,
      name: job.name
    }]])
    const workers = queue.start(
      jobs,
      makeAttempts(jobs, {
        db: { query: async () => [], transaction: (work) => work({ query: async () => [] }) },
        mail: undefined
      })
    )
    const edge = makeService({
      compiled,
      records: makeFakeRecords().service,
      authenticator: testAuthenticator,
      secret: testSecret,
      publicUrl: "http://service.test",
      jobs: { queue: queue.service, workers: () => workers }
    })
    await Effect.runPromise(queue.service.enqueue([{
      name: "webhooks.deliver",
      payload: JSON.stringify(payloads["webhooks.deliver"]),
      runAt: null,
      delayMs: null,
      priority: 0,
      key: null,
      mode: "dedupe",
      group: null,
      ordered: false,
      maxAttempts: null
    }]))
    await queue.advance(1_000)
    const answer = await makeFetch(edge, Context.empty())(
      new Request("http://service.test/api/jobs/failed", { headers: { authorization: `Bearer ${tokenOf(admin)}` } })
    )
    const text = await answer.text()
    expect([answer.status, text.includes("evt_1"), text.includes("hush")]).toEqual([200, true, false])
  })
})

describe("routes of the queue", () => {
  it("are for admins, and tell nobody else whether there is anything", async () => {
    const { call } = setUp()
    for (
      const [method, path] of [
        ["GET", ""],
        ["GET", "/failed"],
        ["GET", "/failed/1"],
        ["DELETE", "/failed?name=x"],
        ["POST", "/failed:retry?name=x"],
        ["POST", "/failed/1:retry"],
        ["DELETE", "/failed/1"],
        ["GET", "/pending"],
        ["GET", "/pending/1"],
        ["GET", "/running"],
        ["GET", "/activity"],
        ["GET", "/running/1"],
        ["POST", "/pending/1:run"],
        ["DELETE", "/pending/1"],
        ["POST", ":pause?name=x"],
        ["POST", ":resume?name=x"]
      ] as const
    ) {
      expect((await call(null, method, `/api/jobs${path}`)).status).toBe(401)
      expect(await call(sales, method, `/api/jobs${path}`)).toMatchObject({
        status: 403,
        json: { type: "urn:service:problem:access-denied" }
      })
    }
    expect((await call(null, "PUT", "/api/jobs/nothing")).status).toBe(401)
  })

  it("counts each name by state, with its schedule and next time", async () => {
    const { call, fail, queue } = setUp()
    await fail(2)
    const { json, status } = await call(admin, "GET", "/api/jobs")
    expect(status).toBe(200)
    expect(json).toMatchObject({
      jobs: [
        {
          name: "mail/send",
          declared: true,
          waiting: 0,
          running: 0,
          retrying: 0,
          failed: 2,
          completed: 0,
          nextDue: null,
          oldestDue: null,
          ordered: false,
          schedule: null,
          timezone: null
        },
        {
          name: "nightly",
          waiting: 1,
          failed: 0,
          schedule: "0 7 * * *",
          timezone: "Europe/Berlin",
          nextDue: "2026-01-01T06:00:00.000000Z",
          nextRun: "2026-01-01T06:00:00.000000Z",
          lastRun: null
        }
      ]
    })
    await queue.advance(86_400_000)
    expect((await call(admin, "GET", "/api/jobs")).json).toMatchObject({
      jobs: [{ nextRun: null, lastRun: null }, {
        completed: 1,
        nextDue: "2026-01-02T06:00:00.000000Z",
        nextRun: "2026-01-02T06:00:00.000000Z",
        lastRun: { at: "2026-01-01T06:00:00.000000Z", state: "completed" }
      }]
    })
  })

  it("lists failed jobs newest first in pages whose tokens are their caller's, payload and error for admins, never in the log", async () => {
    const { call, fail, log } = setUp()
    const ids = await fail(5)
    const first = await call(admin, "GET", "/api/jobs/failed?page_size=2")
    expect(first.json).toMatchObject({
      jobs: [
        {
          id: ids[4],
          name: "mail/send",
          attempts: 1,
          error: "the secret of the payload",
          payload: { n: 5 },
          group: null,
          waitingBehind: 0
        },
        { id: ids[3], payload: { n: 4 } }
      ]
    })
    const token = (first.json as { readonly next_page_token: string }).next_page_token
    const next = `/api/jobs/failed?page_size=2&page_token=${encodeURIComponent(token)}`
    expect((await call(admin, "GET", next)).json).toMatchObject({ jobs: [{ id: ids[2] }, { id: ids[1] }] })
    expect(await call(other, "GET", next)).toMatchObject({
      status: 400,
      json: { type: "urn:service:problem:invalid-parameter" }
    })
    expect((await call(admin, "GET", `${next}&name=mail/send`)).status).toBe(400)
    const all = await call(admin, "GET", "/api/jobs/failed?name=mail/send")
    expect(all.json).toMatchObject({ next_page_token: null })
    expect((all.json as { readonly jobs: readonly unknown[] }).jobs).toHaveLength(5)
    expect((await call(admin, "GET", "/api/jobs/failed?name=other")).json).toEqual({ jobs: [], next_page_token: null })
    expect(log.join("\n")).not.toContain("secret of the payload")
    expect(log.join("\n")).not.toContain("\"n\":5")
  })

  it("leaves long payloads out of lists, and gives them with their job", async () => {
    const { call, fail } = setUp()
    const [short, long] = await fail(2, (n) => ({ n, text: "é".repeat(n === 2 ? 2_100 : 1) }))
    const listed = await call(admin, "GET", "/api/jobs/failed")
    expect(listed.json).toMatchObject({
      jobs: [{ id: long, payload: null, payloadBytes: 4_217 }, { id: short, payload: { n: 1, text: "é" } }]
    })
    expect(await call(admin, "GET", `/api/jobs/failed/${long}`)).toMatchObject({
      status: 200,
      json: { id: long, name: "mail/send", payload: { n: 2, text: "é".repeat(2_100) }, payloadBytes: 4_217 }
    })
    expect((await call(admin, "GET", `/api/jobs/failed/${long}?name=x`)).status).toBe(400)
    expect((await call(admin, "GET", "/api/jobs/failed/99")).status).toBe(404)
    expect((await call(admin, "GET", "/api/jobs/failed/none")).status).toBe(404)
  })

  it("retries and removes one, and all of a name", async () => {
    const { call, fail, log, queue } = setUp()
    const ids = await fail(3)
    const retried = await call(admin, "POST", `/api/jobs/failed/${ids[0]}:retry`)
    expect([retried.status, retried.text]).toEqual([204, ""])
    await queue.advance(1_000)
    expect((await call(admin, "GET", "/api/jobs/failed")).json).toMatchObject({
      jobs: [{ id: ids[0], attempts: 2 }, {}, {}]
    })
    expect((await call(admin, "DELETE", `/api/jobs/failed/${ids[1]}`)).status).toBe(204)
    for (const id of [ids[1], "0", "99999999999999999999", "x", "%2F"]) {
      expect([(await call(admin, "DELETE", `/api/jobs/failed/${id}`)).status, id]).toEqual([404, id])
      expect([(await call(admin, "POST", `/api/jobs/failed/${id}:retry`)).status, id]).toEqual([404, id])
    }
    expect((await call(admin, "POST", "/api/jobs/failed:retry?name=mail/send")).json).toEqual({ count: 2 })
    await queue.advance(1_000)
    expect((await call(admin, "DELETE", "/api/jobs/failed?name=mail/send")).json).toEqual({ count: 2 })
    expect((await call(admin, "DELETE", "/api/jobs/failed?name=mail/send")).json).toEqual({ count: 0 })
    const told = log.map((line) => JSON.parse(line) as { readonly event: string }).filter(({ event }) =>
      event !== "request"
    )
    const line = { level: "info", time: expect.any(String), name: "mail/send", user: admin.id }
    expect(told).toEqual([
      { ...line, event: "jobs-retried", jobs: 2 },
      { ...line, event: "jobs-deleted", jobs: 2 },
      { ...line, event: "jobs-deleted", jobs: 0 }
    ])
  })

  it("pause a name and resume it: counts, health and the log say so, and what is no name is not there", async () => {
    const { call, log, queue } = setUp()
    const paused = await call(admin, "POST", "/api/jobs:pause?name=mail/send")
    expect([paused.status, paused.json]).toEqual([200, { name: "mail/send", pausedAt: "2026-01-01T00:00:00.000000Z" }])
    await failing.enqueue(queue.db, { n: 1 })
    await queue.advance(60_000)
    expect((await call(admin, "POST", "/api/jobs:pause?name=mail/send")).json).toEqual(paused.json)
    expect((await call(admin, "GET", "/api/jobs")).json).toMatchObject({
      jobs: [
        { name: "mail/send", waiting: 1, failed: 0, pausedAt: "2026-01-01T00:00:00.000000Z" },
        { name: "nightly", pausedAt: null }
      ]
    })
    expect(await call(null, "GET", "/readyz")).toMatchObject({ status: 200, json: { status: "ok", jobs: "paused" } })
    const resumed = await call(admin, "POST", "/api/jobs:resume?name=mail/send")
    expect([resumed.status, resumed.json]).toEqual([200, { name: "mail/send", pausedAt: null }])
    await queue.advance(1_000)
    expect((await call(admin, "GET", "/api/jobs")).json).toMatchObject({ jobs: [{ failed: 1, pausedAt: null }, {}] })
    expect((await call(null, "GET", "/readyz")).json).toEqual({ status: "ok" })
    for (const name of ["none", "no name", "\0", "x".repeat(129), "%00"]) {
      const path = `/api/jobs:pause?name=${encodeURIComponent(name)}`
      expect([name, (await call(admin, "POST", path)).status]).toEqual([name, 404])
    }
    const lines = log.map((line) => JSON.parse(line) as { readonly event?: string })
    expect(lines.filter(({ event }) => event?.startsWith("jobs-"))).toMatchObject([
      { event: "jobs-paused", name: "mail/send", user: "ada" },
      { event: "jobs-paused", name: "mail/send", user: "ada" },
      { event: "jobs-resumed", name: "mail/send", user: "ada" }
    ])
  })

  it("pause a name that is declared and has no queue yet", async () => {
    const { call, queue } = setUp({ workers: false })
    expect((await call(admin, "POST", "/api/jobs:pause?name=nightly")).status).toBe(200)
    expect((await call(admin, "GET", "/api/jobs")).json).toMatchObject({
      jobs: [{ pausedAt: null }, { name: "nightly", pausedAt: expect.any(String) }]
    })
    expect(await Effect.runPromise(queue.service.nextDue)).toBeNull()
  })

  it("are searched by what they show, in pages whose tokens are those of the search", async () => {
    const { call, fail } = setUp()
    const ids = await fail(3, (n) => ({ n: n * 1_000 }))
    const first = await call(admin, "GET", "/api/jobs/failed?search=000&page_size=2")
    expect(first.json).toMatchObject({ jobs: [{ id: ids[2] }, { id: ids[1] }] })
    const token = encodeURIComponent((first.json as { readonly next_page_token: string }).next_page_token)
    const next = `page_size=2&page_token=${token}`
    expect((await call(admin, "GET", `/api/jobs/failed?search=000&${next}`)).json).toMatchObject({
      jobs: [{ id: ids[0] }]
    })
    expect((await call(admin, "GET", `/api/jobs/failed?search=00&${next}`)).status).toBe(400)
    expect((await call(admin, "GET", "/api/jobs/failed?search=2000")).json).toMatchObject({ jobs: [{ id: ids[1] }] })
    expect((await call(admin, "GET", "/api/jobs/failed?search=")).json).toMatchObject({ jobs: [{}, {}, {}] })
    for (const list of ["failed", "pending", "running"]) {
      expect((await call(admin, "GET", `/api/jobs/${list}?search=none`)).json).toEqual({
        jobs: [],
        next_page_token: null
      })
      for (const text of ["x".repeat(201), "%00", "%ED%A0%80"]) {
        expect([text, (await call(admin, "GET", `/api/jobs/${list}?search=${text}`)).status]).toEqual([text, 400])
      }
    }
  })

  it("tell of the last hour minute by minute", async () => {
    const { call, fail } = setUp()
    await fail(2)
    const { json, status } = await call(admin, "GET", "/api/jobs/activity?name=mail/send")
    const { minutes } = json as { readonly minutes: ReadonlyArray<{ readonly failed: number }> }
    expect([status, minutes.length, minutes.at(-1)!]).toEqual([200, 60, {
      at: "2026-01-01T00:00:00.000000Z",
      completed: 0,
      failed: 2,
      averageMs: null,
      longestMs: null
    }])
    expect((await call(admin, "GET", "/api/jobs/activity?names=x")).status).toBe(400)
  })

  it("lists running jobs with their progress in pages, one with its whole payload", async () => {
    const open = Promise.withResolvers<void>()
    const long = defineJob<{ n: number; text?: string }>({
      name: "long",
      concurrency: 3,
      run: async ({ n }, { progress }) => {
        if (n === 1) progress(3, 10, "third")
        await open.promise
      }
    })
    const { call, queue } = setUp({ jobs: [long] })
    const ids = []
    for (const n of [1, 2]) ids.push(await long.enqueue(queue.db, { n }))
    ids.push(await long.enqueue(queue.db, { n: 3, text: "x".repeat(5_000) }))
    const first = await call(admin, "GET", "/api/jobs/running?page_size=2")
    const { jobs, next_page_token: token } = first.json as { jobs: readonly unknown[]; next_page_token: string }
    expect(jobs).toEqual([
      {
        id: ids[0],
        name: "long",
        attempt: 1,
        maxAttempts: 10,
        startedAt: "2026-01-01T00:00:00.000000Z",
        worker: "memory",
        progress: { done: 3, total: 10, note: "third", at: "2026-01-01T00:00:00.000000Z" },
        group: null,
        enqueuedAt: "2026-01-01T00:00:00.000000Z",
        payloadBytes: 7,
        payload: { n: 1 }
      },
      expect.objectContaining({ id: ids[1], progress: null })
    ])
    const next = `/api/jobs/running?page_size=2&page_token=${encodeURIComponent(token)}`
    expect((await call(admin, "GET", next)).json).toMatchObject({
      jobs: [{ id: ids[2], payload: null }],
      next_page_token: null
    })
    expect((await call(other, "GET", next)).status).toBe(400)
    expect((await call(admin, "GET", `/api/jobs/running/${ids[2]}`)).json).toMatchObject({ payload: { n: 3 } })
    expect((await call(admin, "GET", "/api/jobs/running?name=none")).json).toMatchObject({ jobs: [] })
    open.resolve()
    await queue.advance(1_000)
    expect((await call(admin, "GET", `/api/jobs/running/${ids[2]}`)).status).toBe(404)
  })

  it("lists waiting jobs soonest first in pages, one with its whole payload", async () => {
    const { call, queue } = setUp()
    const at = (minutes: number) => ({ delay: minutes * 60_000 })
    const ids = []
    for (const n of [1, 2, 3]) ids.push(await failing.enqueue(queue.db, { n }, at(n)))
    const long = await failing.enqueue(queue.db, { n: 4, text: "x".repeat(4_200) } as never, at(4))
    const first = await call(admin, "GET", "/api/jobs/pending?page_size=2")
    const { jobs, next_page_token: token } = first.json as { jobs: readonly unknown[]; next_page_token: string }
    expect(jobs).toEqual([
      {
        id: ids[0],
        name: "mail/send",
        state: "waiting",
        attempts: 0,
        maxAttempts: 10,
        runAt: "2026-01-01T00:01:00.000000Z",
        error: "",
        group: null,
        held: false,
        enqueuedAt: "2026-01-01T00:00:00.000000Z",
        payloadBytes: 7,
        payload: { n: 1 }
      },
      expect.objectContaining({ id: ids[1] })
    ])
    const next = `/api/jobs/pending?page_size=2&page_token=${encodeURIComponent(token)}`
    expect((await call(admin, "GET", next)).json).toMatchObject({
      jobs: [{ id: ids[2] }, { id: long, payload: null, payloadBytes: 4_217 }]
    })
    expect((await call(other, "GET", next)).status).toBe(400)
    expect((await call(admin, "GET", `${next}&state=waiting`)).status).toBe(400)
    expect((await call(admin, "GET", `/api/jobs/failed?page_token=${encodeURIComponent(token)}`)).status).toBe(400)
    expect((await call(admin, "GET", "/api/jobs/pending?name=nightly")).json).toMatchObject({
      jobs: [{ name: "nightly", runAt: "2026-01-01T06:00:00.000000Z" }],
      next_page_token: null
    })
    expect((await call(admin, "GET", "/api/jobs/pending?state=retrying")).json).toMatchObject({ jobs: [] })
    expect((await call(admin, "GET", `/api/jobs/pending/${long}`)).json).toMatchObject({
      payload: { n: 4, text: "x".repeat(4_200) }
    })
    expect((await call(admin, "GET", "/api/jobs/pending/99")).status).toBe(404)
  })

  it("makes a waiting job due now, and cancels one", async () => {
    const { call, queue } = setUp()
    const [hurried, gone] = [
      await failing.enqueue(queue.db, { n: 1 }, { delay: "1 day" }),
      await failing.enqueue(queue.db, { n: 2 }, { delay: "1 day" })
    ]
    expect((await call(admin, "POST", `/api/jobs/pending/${hurried}:run`)).status).toBe(204)
    await queue.advance(1_000)
    expect((await call(admin, "GET", "/api/jobs/failed")).json).toMatchObject({ jobs: [{ id: hurried }] })
    expect((await call(admin, "DELETE", `/api/jobs/pending/${gone}`)).status).toBe(204)
    for (const id of [hurried, gone, "0", "x", "99999999999999999999"]) {
      expect([(await call(admin, "POST", `/api/jobs/pending/${id}:run`)).status, id]).toEqual([404, id])
      expect([(await call(admin, "DELETE", `/api/jobs/pending/${id}`)).status, id]).toEqual([404, id])
    }
    // A run of a schedule has its time, and the next one follows it when it is cancelled.
    const planned = async () =>
      (await call(admin, "GET", "/api/jobs/pending?name=nightly")).json as {
        readonly jobs: ReadonlyArray<{ readonly id: string; readonly runAt: string }>
      }
    const [{ id } = { id: "" }] = (await planned()).jobs
    expect(await call(admin, "POST", `/api/jobs/pending/${id}:run`)).toMatchObject({ status: 409 })
    expect((await call(admin, "DELETE", `/api/jobs/pending/${id}`)).status).toBe(204)
    expect(await planned()).toMatchObject({ jobs: [{ runAt: "2026-01-02T06:00:00.000000Z" }] })
  })

  it("cancels no job of the service's own that is the only record of something", async () => {
    const { call, queue } = setUp()
    const enqueue = async (name: string) =>
      (await Effect.runPromise(queue.service.enqueue([{
        name,
        payload: "{\"change\":{\"after\":{\"pin\":\"hush\"}}}",
        runAt: null,
        delayMs: 60_000,
        priority: 0,
        key: null,
        mode: "dedupe",
        group: null,
        ordered: false,
        maxAttempts: 3
      }])))[0]!
    for (
      const [name, status] of [
        ["tasks.run", 409],
        ["webhooks.dispatch-change", 409],
        ["accounts.sign-in-alert", 409],
        ["accounts.reset-password", 204],
        ["accounts.invite", 204],
        ["webhooks.deliver", 204]
      ] as const
    ) {
      const id = await enqueue(name)
      expect((await call(admin, "GET", "/api/jobs/pending?name=webhooks.deliver")).text).not.toContain("hush")
      expect([name, (await call(admin, "DELETE", `/api/jobs/pending/${id}`)).status]).toEqual([name, status])
    }
  })

  it("refuse what they do not know", async () => {
    const { call } = setUp()
    for (
      const [method, path] of [
        ["GET", "?x=1"],
        ["GET", "/failed?page_size=-1"],
        ["GET", "/failed?page_size=1&page_size=2"],
        ["GET", "/failed?page_token=abc"],
        ["DELETE", "/failed"],
        ["POST", "/failed:retry"],
        ["POST", "/failed:retry?name="],
        ["POST", "/failed/1:retry?name=x"],
        ["POST", ":pause"],
        ["POST", ":resume?name="],
        ["POST", ":pause?name=a&name=b"],
        ["POST", ":pause?name=a&x=1"],
        ["GET", "/pending?state=running"],
        ["GET", "/pending?page_token=abc"],
        ["GET", "/pending/1?x=1"],
        ["GET", "/running?state=x"],
        ["GET", "/running?page_token=abc"],
        ["GET", "/running/1?x=1"],
        ["POST", "/pending/1:run?x=1"],
        ["DELETE", "/pending/1?x=1"]
      ] as const
    ) expect([(await call(admin, method, `/api/jobs${path}`)).status, path]).toEqual([400, path])
    for (
      const path of [
        "/x",
        "/failed/1/2",
        "/failed/1:other",
        "/failed/1:run",
        "/pending/1:retry",
        "/running/1:retry",
        "/running/",
        "/pending/",
        "/failed/",
        "/drain",
        ":retry"
      ]
    ) {
      expect([(await call(admin, "GET", `/api/jobs${path}`)).status, path]).toEqual([404, path])
    }
    for (
      const [path, allow] of [
        ["", "GET, HEAD"],
        ["/failed", "GET, HEAD, DELETE"],
        ["/failed:retry", "POST"],
        [
          "/failed/1",
          "GET, HEAD, DELETE"
        ],
        ["/failed/1:retry", "POST"],
        [":pause", "POST"],
        [":resume", "POST"],
        ["/pending", "GET, HEAD"],
        ["/running", "GET, HEAD"],
        ["/running/1", "GET, HEAD"],
        ["/pending/1", "GET, HEAD, DELETE"],
        ["/pending/1:run", "POST"]
      ]
    ) {
      // Names of what every object has are methods like any other: none of these routes takes them.
      for (const method of ["PATCH", "constructor", "toString", "__proto__"]) {
        const answer = await call(admin, method, `/api/jobs${path}`)
        expect([method, answer.status, answer.headers.get("allow")]).toEqual([method, 405, allow])
      }
    }
  })
})

describe("the drain", () => {
  it("takes only the operator's token, before it tells anything else", async () => {
    const { call } = setUp({ token: drainToken })
    for (const credential of [null, "wrong", `${drainToken}x`, admin]) {
      for (const [method, path] of [["POST", ""], ["GET", ""], ["POST", "?seconds=0"], ["POST", "/x"]] as const) {
        const answer = await call(credential, method, `/api/jobs/drain${path}`)
        expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, "Bearer"])
      }
    }
    expect((await call(drainToken, "GET", "/api/jobs/drain")).headers.get("allow")).toBe("POST")
    expect((await call(drainToken, "POST", "/api/jobs/drain/x")).status).toBe(404)
    // It opens nothing else.
    expect((await call(drainToken, "GET", "/api/jobs")).status).toBe(401)
  })

  it("runs what is due and answers what is next", async () => {
    const { call, queue } = setUp({ token: drainToken })
    await failing.enqueue(queue.db, { n: 1 })
    expect(await call(drainToken, "POST", "/api/jobs/drain?seconds=5")).toMatchObject({
      status: 200,
      json: { drained: true, remaining: 0, nextDue: "2026-01-01T06:00:00.000000Z" }
    })
  })

  it("refuses seconds that are no number from 1 to 300", async () => {
    const { call } = setUp({ token: drainToken })
    for (const seconds of ["0", "301", "1.5", "-1", "x", "", "1e2", "1&seconds=2"]) {
      expect([(await call(drainToken, "POST", `/api/jobs/drain?seconds=${seconds}`)).status, seconds]).toEqual([
        400,
        seconds
      ])
    }
    for (const seconds of ["1", "300"]) {
      expect((await call(drainToken, "POST", `/api/jobs/drain?seconds=${seconds}`)).status).toBe(200)
    }
  })

  it("is a 409 where the process runs no jobs, and is not there without a token", async () => {
    expect(await setUp({ token: drainToken, workers: false }).call(drainToken, "POST", "/api/jobs/drain"))
      .toMatchObject({ status: 409 })
    expect((await setUp().call(drainToken, "POST", "/api/jobs/drain")).status).toBe(401)
    expect((await setUp().call(admin, "POST", "/api/jobs/drain")).status).toBe(404)
  })
})

describe("jobs of a service on PostgreSQL", () => {
  let database: TestDatabase
  let service: Admin | null = null
  const seen: unknown[] = []
  const schema = "create table notes (id integer generated always as identity primary key, text text not null);"
  const note = defineJob<{ readonly id: unknown }>({
    name: "note",
    run: async ({ id }, { db, job }) => {
      const [row] = await db.query("select text from notes where id = $1", [id])
      seen.push([job.attempt, row?.["text"]])
    }
  })
  const config = (jobs = [note]) =>
    defineConfig({
      resources: [notes],
      jobs,
      options: {
        writeHooks: [async (change) => {
          await note.enqueue(change.transaction, { id: change.after?.id })
          if (change.after?.text === "no") throw new Error("no")
        }]
      }
    })
  const open = async (of = config()): Promise<Admin> =>
    service = await createAdmin(of, {
      database: { url: database.url, writeConnections: 2, readConnections: 2 },
      authenticator: testAuthenticator,
      secret: testSecret
    })
  const post = (text: string) =>
    service!.fetch(
      new Request("http://service.test/api/v1/notes", {
        method: "POST",
        headers: { authorization: `Bearer ${tokenOf(admin)}`, "content-type": "application/json" },
        body: JSON.stringify({ text })
      })
    )
  const until = async (holds: () => boolean): Promise<void> => {
    const end = performance.now() + 60_000
    while (!holds()) {
      if (performance.now() > end) throw new Error("It did not come to that within 60 seconds.")
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  beforeAll(async () => {
    database = await openDatabase(`${queueStatements()}\n${schema}`)
  })
  afterEach(async () => {
    await service?.close()
    service = null
    seen.length = 0
  })
  afterAll(() => database.drop())

  it("run for a write that commits and for none that is rolled back; stop with the service", async () => {
    const admin = await open()
    const workers = await admin.startJobs()
    expect(await admin.startJobs()).toBe(workers)
    expect((await post("no")).status).toBe(500)
    expect((await post("yes")).status).toBe(201)
    await until(() => seen.length > 0)
    expect(seen).toEqual([[1, "yes"]])
    await note.enqueue(admin.db, { id: 0 })
    await until(() => seen.length === 2)
    expect(seen[1]).toEqual([1, undefined])
    await admin.close()
    expect(workers.isReady()).toBe(false)
  })

  it("do not start on a schema that is missing or newer, nor with an order that has changed", async () => {
    const ordered = defineJob<{ readonly id: unknown }>({ name: "note", ordered: true, run: () => {} })
    const admin = await open(config([ordered]))
    await expect(admin.startJobs()).rejects.toThrow(/"note" is ordered now[^]*select jobs\.delete_queue\('note'\)/)
    await admin.close()
    await database.execute("insert into jobs.migrations (id) values (21)")
    await expect((await open()).startJobs()).rejects.toThrow(/newer version/)
    await service!.close()
    await database.execute("delete from jobs.migrations where id = 21; drop trigger service_gone on jobs._private_jobs")
    await expect((await open()).startJobs()).rejects.toThrow(/missing or out of date[^]*service migration/)
    await service!.close()
    // Applying it again mends it, jobs and all.
    await database.execute(queueStatements())
    await (await open()).startJobs()
    await service!.close()
    await database.execute("drop schema jobs cascade")
    await expect((await open()).startJobs()).rejects.toThrow(StartupError)
  })
})
