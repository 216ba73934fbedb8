// Nothing lost, nothing made up, nothing reordered: processes that are killed between any two steps, several instances, a pooler, big transactions.
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Client } from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pgAddressOf } from "../../adapters/postgres/socket.ts"
import { compileCache } from "../support/compiled.ts"
import { deep } from "../support/depth.ts"
import { openEvents, openReceiver } from "../support/events.ts"
import type { EventService, TestReceiver } from "../support/events.ts"
import { findPooler } from "../support/pooler.ts"
import { eventsConfig, eventsSchema } from "./events-stage.ts"
import { untilTrueOf } from "./fixture.ts"

const worker = fileURLToPath(new URL("events-worker.ts", import.meta.url))

let receiver: TestReceiver
let ordered: TestReceiver
beforeAll(async () => {
  receiver = await openReceiver()
  ordered = await openReceiver()
})
afterAll(async () => {
  await receiver?.close()
  await ordered?.close()
})

const settings = () => ({
  url: receiver.url,
  secret: receiver.secret,
  orderedUrl: ordered.url,
  orderedSecret: ordered.secret
})

const startWorker = async (url: string): Promise<ChildProcess> => {
  const child = spawn(process.execPath, ["--conditions=source", worker], {
    env: { ...process.env, ...compileCache, WORKER: JSON.stringify({ ...settings(), database: url }) },
    stdio: ["ignore", "pipe", "inherit"]
  })
  await once(child.stdout!, "data")
  return child
}

/** What was committed: for each record its values in order. */
const write = async (
  service: EventService,
  writers: number,
  rounds: number,
  first = 1
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const committed = new Map<string, string[]>()
  await Promise.all(Array.from({ length: writers }, async (_, w) => {
    const client = new Client(pgAddressOf(service.database.url))
    await client.connect()
    for (let i = 0; i < rounds; i++) {
      const id = String(first + (w + i) % 5)
      await client.query("begin")
      const { rows } = await client.query<{ count: number }>(
        "update counters set count = count + 1 where id = $1 returning count",
        [id]
      )
      if (i % 7 === 6) await client.query("rollback")
      else {
        // The row's lock is held until here, so this is the order of commits.
        const known = committed.get(id) ?? []
        committed.set(id, [...known, String(rows[0]!.count)])
        await client.query("commit")
      }
    }
    await client.end()
  }))
  return committed
}

const seen = (of: TestReceiver): ReadonlyMap<string, readonly string[]> => {
  const values = new Map<string, string[]>()
  for (const { event } of of.received) {
    values.set(event.data.key, [...values.get(event.data.key) ?? [], JSON.stringify(event.data.after!["count"])])
  }
  return values
}

const isComplete = (committed: ReadonlyMap<string, readonly string[]>, of: TestReceiver): boolean => {
  const got = seen(of)
  return [...committed].every(([key, values]) => values.every((value) => got.get(key)?.includes(value) === true))
}

describe("events", () => {
  it("are each delivered at least once, and in order where that is asked for, while workers are killed", async () => {
    receiver.received.length = ordered.received.length = 0
    const service = await openEvents({ config: eventsConfig(settings()), schema: eventsSchema, runs: false })
    let child: ChildProcess | null = null
    try {
      let writing = true
      const killing = (async () => {
        for (let i = 0; writing; i++) {
          child = await startWorker(service.database.url)
          await new Promise((resolve) => setTimeout(resolve, 300 + (i * 137) % 500))
          child.kill("SIGKILL")
          await once(child, "exit")
          // Nobody waits for leases and locks of the dead here.
          await service.database.execute(`update service.dispatcher set until = '-infinity';
            begin; set session_replication_role = replica; update jobs._private_jobs set locked_at = null, locked_by = null where locked_at is not null; commit`)
        }
      })()
      const committed = await write(service, 8, deep ? 40 : 12)
      writing = false
      await killing
      child = await startWorker(service.database.url)
      while (!isComplete(committed, receiver) || !isComplete(committed, ordered)) {
        await service.database.execute(
          "begin; set session_replication_role = replica; update jobs._private_jobs set run_at = now() where locked_at is null; commit"
        )
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
      for (const  of of[receiver, ordered]) {
        for (const [key, values] of seen(of)) {
          for (const value of values) expect(committed.get(key)).toContain(value)
        }
      }
      // A retry sends again what went through before, but a first sight is never ahead of an earlier one.
      for (const [key, values] of seen(ordered)) {
        const first = [...new Set(values)]
        expect(first, `record ${key}`).toEqual([...first].sort((a, b) => Number(a) - Number(b)))
      }
      const ids = new Map<string, string>()
      for (const { event } of receiver.received) {
        const what = `${event.data.key} ${event.data.sequence}`
        expect(ids.get(what) ?? event.id).toBe(event.id)
        ids.set(what, event.id)
      }
    } finally {
      child?.kill("SIGKILL")
      await service.close()
    }
  })

  // A lease lasts 30 seconds, is looked for every 17 at the latest, and the next try begins within 10. Nobody helps.
  it.runIf(deep)("go on by themselves within a minute of twenty kills, each record in its order", async () => {
    receiver.received.length = ordered.received.length = 0
    const service = await openEvents({ config: eventsConfig(settings()), schema: eventsSchema, runs: false })
    let child: ChildProcess | null = null
    try {
      const committed = new Map<string, readonly string[]>()
      let held = 0
      for (let i = 0; i < 20; i++) {
        child = await startWorker(service.database.url)
        const before = ordered.received.length
        // Records of its own: those of the round before may be held by a lease.
        const first = 100 * (i + 1)
        await service.database.execute(
          `insert into counters select i, 0 from generate_series(${first}, ${first + 4}) i`
        )
        for (const [key, values] of await write(service, 4, 5, first)) committed.set(key, values)
        while (ordered.received.length < before + 2) await new Promise((resolve) => setTimeout(resolve, 1))
        child.kill("SIGKILL")
        await once(child, "exit")
        held += (await service.database.rows("select 1 from jobs._private_jobs where locked_at is not null")).length
      }
      expect(held, "jobs that a kill left held").toBeGreaterThan(0)
      child = await startWorker(service.database.url)
      const took = await untilTrueOf(
        [() => service.database.rows("select 1")],
        async () => isComplete(committed, receiver) && isComplete(committed, ordered),
        600_000
      )
      expect(took, "milliseconds for which a record stood still").toBeLessThan(60_000)
      for (const [key, values] of seen(ordered)) {
        const first = [...new Set(values)]
        expect(first, `record ${key}`).toEqual([...first].sort((a, b) => Number(a) - Number(b)))
      }
    } finally {
      child?.kill("SIGKILL")
      await service.close()
    }
  })

  it("of two instances and a worker process are delivered once each when nothing fails", async () => {
    receiver.received.length = ordered.received.length = 0
    const config = eventsConfig(settings())
    const one = await openEvents({ config, schema: eventsSchema })
    const two = await openEvents({ config, schema: eventsSchema, database: one.database })
    const child = await startWorker(one.database.url)
    try {
      const committed = await write(one, 4, 20)
      await one.until(() => isComplete(committed, receiver) && isComplete(committed, ordered), "all events")
      await one.settled()
      const total = [...committed.values()].reduce((sum, values) => sum + values.length, 0)
      expect(receiver.received).toHaveLength(total)
      expect(ordered.received).toHaveLength(total)
    } finally {
      const ended = once(child, "exit")
      child.kill("SIGKILL")
      await ended
      await two.close()
      await one.close()
    }
  })

  it.skipIf(findPooler() === null)("go through a transaction-mode pooler", async () => {
    receiver.received.length = ordered.received.length = 0
    const service = await openEvents({ config: eventsConfig(settings()), schema: eventsSchema, pooler: findPooler()! })
    try {
      const answer = await service.call({ id: "ann", roles: [] }, "POST", "/api/v1/counters", { id: 77, count: 1 })
      expect(answer.status, answer.text).toBe(201)
      await service.until(() => receiver.received.length === 1 && ordered.received.length === 1, "both")
      expect(receiver.received[0]!.event.data.actor).toEqual({ id: "ann", roles: [] })
    } finally {
      await service.close()
    }
  })

  // A batch of dispatch is 200 changes.
  const rows = deep ? 10_000 : 1_500
  it(`of a transaction with ${rows} rows are all delivered, while others go on`, async () => {
    receiver.received.length = ordered.received.length = 0
    const service = await openEvents({
      config: eventsConfig({ ...settings(), orderedUrl: null }),
      schema: eventsSchema
    })
    try {
      await service.database.execute(
        `insert into counters (id, count) select i, 1 from generate_series(1000, 999 + ${rows}) i`
      )
      const keys = new Set<string>()
      let read = 0
      while (keys.size < rows) {
        await new Promise((resolve) => setTimeout(resolve, 50))
        for (; read < receiver.received.length; read++) keys.add(receiver.received[read]!.event.data.key)
      }
      expect(keys.size).toBe(rows)
      await service.settled()
    } finally {
      await service.close()
    }
  })
})
