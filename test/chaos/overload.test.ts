// More than the service can take: it answers what it can, turns the rest away soon and honestly, stays alive, and forgets nothing it holds for
// clients that went away.
import { connect } from "node:net"
import { Client } from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openCluster } from "../support/cluster.ts"
import type { TestCluster } from "../support/cluster.ts"
import { deep } from "../support/depth.ts"
import { KeepAlive, startLoad, statuses } from "../support/load.ts"
import type { Outcome, Received, Sent } from "../support/load.ts"
import { startProcess } from "../support/process.ts"
import type { ServerProcess } from "../support/process.ts"
import {
  ask,
  clientOf,
  lives,
  pause,
  prepare,
  signOf,
  untilServing,
  untilTrue,
  untilTrueOf,
  watchMachine
} from "./fixture.ts"
import type { Ready } from "./fixture.ts"

const mebibyte = 1024 * 1024

let cluster: TestCluster
let ready: Ready
let server: ServerProcess

beforeAll(async () => {
  cluster = await openCluster()
  ready = await prepare(cluster)
  server = await startProcess(ready.env({
    SERVICE_READ_CONNECTIONS: "10",
    SERVICE_WRITE_CONNECTIONS: "4",
    SERVICE_WAIT_MS: "1000",
    SERVICE_MAX_IN_FLIGHT: "300"
  }))
  await untilServing(server.port, ready.bearer)
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await ready?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

const api = () => clientOf(ready.bearer)

/** Holds a lock while `work` runs. */
const holding = async <A>(statement: string, work: () => Promise<A>): Promise<A> => {
  const client = new Client({ connectionString: cluster.url })
  await client.connect()
  try {
    await client.query("begin")
    await client.query(statement)
    return await work()
  } finally {
    await client.query("rollback")
    await client.end()
  }
}

const blocked = async (): Promise<number> =>
  Number(
    (await cluster.rows(
      "select count(*)::text from pg_stat_activity where application_name = 'service' and wait_event_type = 'Lock'"
    ))[0]?.[0]
  )

/** Milliseconds until it says that it may be sent traffic. */
const readiness = (): Promise<number> =>
  untilTrueOf(
    [lives(server.port), signOf(cluster)],
    async () => (await ask(server.port, { method: "GET", path: "/readyz" }))?.status === 200
  )

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

const refusedHonestly = (outcomes: readonly Outcome[]): void => {
  for (const { received } of outcomes) {
    if (received?.status === 503) expect(Number(received.headers["retry-after"])).toBeGreaterThan(0)
  }
}

describe("overload", () => {
  it("answers 500 clients over 10 connections, and stays alive and small", async () => {
    const before = server.memory()
    const load = startLoad(server.port, {
      connections: 500,
      // Less patient than the Retry-After it is told.
      refusedMs: 200,
      next: (client, count) =>
        client % 10 === 9
          ? api().send("POST", "/entries", { name: `load ${client} ${count}`, amount: count })
          : api().get(
            `/entries?page_size=25&order_by=amount&filter=${encodeURIComponent(`amount > ${(client + count) % 150}`)}`
          )
    })
    const lively: number[] = []
    const end = performance.now() + (deep ? 30_000 : 1_500)
    const enough = (): boolean => {
      const { 200: read = 0, 201: made = 0 } = statuses(load.outcomes)
      return lively.length >= 10 && read > 100 && made > 5
    }
    while (performance.now() < end || !enough()) {
      const started = performance.now()
      expect((await ask(server.port, { method: "GET", path: "/livez" }))?.status).toBe(200)
      lively.push(performance.now() - started)
      await pause(100)
    }
    const peak = server.memory()
    // Nobody is forgotten: this waits for the answer of each.
    const outcomes = await load.stop()
    refusedHonestly(outcomes)
    const counts = statuses(outcomes)
    expect(Object.keys(counts).filter((status) => !["200", "201", "503"].includes(status))).toEqual([])
    expect(counts[200]).toBeGreaterThan(100)
    expect(counts[201]).toBeGreaterThan(5)
    // What needs no connection waits for none.
    const reads = outcomes.filter(({ received }) => received?.status === 200).map(({ milliseconds }) => milliseconds)
    expect(median(lively)).toBeLessThan(median(reads))
    expect(peak - before).toBeLessThan(300 * mebibyte)
    expect(await readiness()).toBeLessThan(5_000)
  })

  it("turns away who waits too long for a connection, in the order they came", async () => {
    const outcomes = await holding("lock table entries in access exclusive mode", async () => {
      const load = startLoad(server.port, {
        connections: 40,
        next: (_, count) => count === 0 ? api().get("/entries/1") : undefined
      })
      await untilTrue(async () => await blocked() >= 10)
      // What needs no table is answered, also while no connection is free.
      expect(await readiness()).toBeLessThan(5_000)
      expect(await blocked()).toBe(10)
      await untilTrue(async () => load.outcomes.length >= 30)
      return load
    })
    const all = await outcomes.stop()
    refusedHonestly(all)
    expect(statuses(all)).toEqual({ 200: 10, 503: 30 })
    for (const { milliseconds, received } of all) {
      if (received?.status === 503) expect(milliseconds).toBeGreaterThan(980)
    }
  })

  it("refuses requests past the limit at once", async () => {
    const load = await holding("lock table entries in access exclusive mode", async () => {
      const started = startLoad(server.port, {
        connections: 400,
        next: (_, count) => count === 0 ? api().get("/entries/1") : undefined
      })
      await untilTrue(async () => started.outcomes.length >= 100)
      expect(statuses(started.outcomes)[503]).toBeGreaterThanOrEqual(100)
      expect((await ask(server.port, { method: "GET", path: "/livez" }))?.status).toBe(200)
      return started
    })
    const outcomes = await load.stop()
    refusedHonestly(outcomes)
    expect(outcomes.length).toBe(400)
    expect((await ask(server.port, api().get("/entries/1")))?.status).toBe(200)
  })

  it("reads on while all connections for writes are taken", async () => {
    const writes = await holding("select from entries where id = 7 for update", async () => {
      const { headers } = (await ask(server.port, api().get("/entries/7")))!
      const change = (amount: number): Sent =>
        api().send("PATCH", "/entries/7", { amount }, { "if-match": headers["etag"] ?? "" })
      const started = startLoad(server.port, {
        connections: 8,
        next: (client, count) => count === 0 ? change(client) : undefined
      })
      await untilTrue(async () => await blocked() === 4)
      // As many as there are connections for them: none of them has to wait for one, which could be in vain.
      const reads = await startLoad(server.port, {
        connections: 10,
        next: (_, count) => count === 20 ? undefined : api().get("/entries/7")
      }).ended()
      expect(statuses(reads)).toEqual({ 200: 200 })
      await untilTrue(async () => started.outcomes.length === 4)
      return started
    })
    const outcomes = await writes.stop()
    refusedHonestly(outcomes)
    // Four waited in vain for a connection; of the others one was first, and the rest held an old version then.
    expect(statuses(outcomes)).toEqual({ 200: 1, 412: 3, 503: 4 })
  })

  it("cancels the queries of clients that go away", async () => {
    await holding("lock table entries in access exclusive mode", async () => {
      const clients = Array.from({ length: 30 }, () => new KeepAlive(server.port))
      const answers: Array<Promise<Received | null>> = clients.map((client) => client.send(api().get("/entries/1")))
      await untilTrue(async () => await blocked() === 10)
      for (const client of clients) client.close()
      const answered = await Promise.all(answers)
      // Those that were given no connection may have waited their time before that.
      const [without, turnedAway] = [answered.filter((each) => each === null), answered.filter((each) => each !== null)]
      expect(without.length).toBeGreaterThanOrEqual(10)
      expect(turnedAway.filter(({ status }) => status !== 503)).toEqual([])
      const signs = [lives(server.port), signOf(cluster)]
      expect(await untilTrueOf(signs, async () => await blocked() === 0)).toBeLessThan(2_000)
      // The connections they held serve others.
      expect((await ask(server.port, api().get("/papers")))?.status).toBe(200)
    })
    expect((await ask(server.port, api().get("/entries/1")))?.status).toBe(200)
  })

  it("cuts off clients that send their request too slowly, and keeps serving the others", async () => {
    // A server of its own: what is too slow here, any client of a machine that pauses may be.
    await using strict = await startProcess(ready.env({ SERVICE_REQUEST_TIMEOUT_MS: "800" }))
    await untilServing(strict.port, ready.bearer)
    const other = new KeepAlive(strict.port)
    // Its connection is known, so that its next request counts from its first byte on.
    await untilTrue(async () => (await other.send(api().get("/entries/1")))?.status === 200)
    await using watch = watchMachine([lives(strict.port)])
    const slow = (bytes: string): Promise<{ readonly text: string; readonly milliseconds: number }> =>
      new Promise((resolve) => {
        const started = performance.now()
        let text = ""
        const socket = connect({ host: "127.0.0.1", port: strict.port })
        socket.on("data", (chunk) => {
          text += chunk.toString()
        })
        socket.on("error", () => {})
        socket.on("close", () => resolve({ text, milliseconds: performance.now() - started }))
        socket.write(bytes)
      })
    const half =
      `POST /api/v1/entries HTTP/1.1\r\nhost: x\r\nauthorization: ${ready.bearer}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"name":`
    const waiting = Array.from(
      { length: 150 },
      (_, i) => slow(i % 2 === 0 ? half : "GET /api/v1/entries HTTP/1.1\r\nhost: x\r\nx-slow: ")
    )
    await pause(200)
    expect((await other.send(api().get("/entries/1")))?.status).toBe(200)
    const cut = await Promise.all(waiting)
    await watch.end()
    for (const { milliseconds, text } of cut) {
      expect(milliseconds - watch.stood()).toBeLessThan(5_000)
      expect(text === "" || text.startsWith("HTTP/1.1 408")).toBe(true)
    }
    expect((await other.send(api().get("/entries/1")))?.status).toBe(200)
    other.close()
    expect(strict.running()).toBe(true)
    expect(strict.stderr()).toBe("")
  })

  it("goes on after a promise that nobody waited for, and logs neither its text nor anything twice", async () => {
    server.send("reject")
    await untilTrue(async () => server.log.some((line) => line.includes("unhandled rejection")))
    const [line, ...more] = server.log.filter((each) => each.includes("unhandled rejection"))
    expect(JSON.parse(line ?? "{}")).toMatchObject({ level: "error", event: "unhandled rejection", error: "Error" })
    expect(more).toEqual([])
    expect(line).not.toContain("secret")
    expect(server.running()).toBe(true)
  })

  it("holds nothing of all that afterwards", async () => {
    const signs = [lives(server.port), signOf(cluster)]
    const settled = await untilTrueOf(signs, async () =>
      (await cluster.rows(
        "select count(*)::text from pg_stat_activity where application_name = 'service' and state <> 'idle'"
      ))[0]?.[0] === "0")
    expect(settled).toBeLessThan(5_000)
    const connections = async (): Promise<number> => {
      const [[count = ""] = []] = await cluster.rows(
        "select count(*)::text from pg_stat_activity where application_name = 'service' and backend_type = 'client backend'"
      )
      return Number(count)
    }
    // Reads, writes, accounts, and the one for readiness. Those of the strict server may take a moment to end.
    const most = 10 + 4 + 5 + 1
    await untilTrue(async () => await connections() <= most)
    expect(await connections()).toBeLessThanOrEqual(most)
    const { heapUsed } = await server.measure()
    expect(heapUsed).toBeLessThan(150 * mebibyte)
    expect(server.stderr()).toBe("")
    // A line for each request, and little else.
    expect(server.log.length).toBeLessThan(10)
  })
})
