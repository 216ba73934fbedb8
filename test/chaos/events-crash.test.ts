// Services and the database killed while eight write: what was committed is delivered, what was not never is, and each record's order holds.
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Client } from "pg"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { freePort, leash, openCluster } from "../support/cluster.ts"
import type { TestCluster } from "../support/cluster.ts"
import { compileCache } from "../support/compiled.ts"
import { deep } from "../support/depth.ts"
import { eventStatements, openReceiver } from "../support/events.ts"
import type { TestReceiver } from "../support/events.ts"
import { eventsConfig, eventsSchema } from "./events-stage.ts"

const worker = fileURLToPath(new URL("events-worker.ts", import.meta.url))
/** Each ends another way: killed from outside, by itself before a request, by itself after the answer. */
const allEndings = [null, { when: "after", at: 5 }, { when: "before", at: 9 }, null, { when: "after", at: 1 }, {
  when: "before",
  at: 1
}] as const
const endings = deep ? allEndings : allEndings.slice(0, 3)
/** How many creates one answers before it is killed from outside. */
const work = deep ? 100 : 25

let cluster: TestCluster
let receiver: TestReceiver
let ordered: TestReceiver
const children = new Set<ChildProcess>()

beforeAll(async () => {
  receiver = await openReceiver()
  ordered = await openReceiver()
  cluster = await openCluster()
  await cluster.execute(eventStatements(compileOrThrow(eventsConfig(settings())), eventsSchema))
})
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL")
  await cluster?.[Symbol.asyncDispose]()
  await receiver?.close()
  await ordered?.close()
})

const settings = () => ({
  url: receiver.url,
  secret: receiver.secret,
  orderedUrl: ordered.url,
  orderedSecret: ordered.secret
})

/** A process that serves and delivers; null: it ended before it was ready. */
const start = async (port: number, dies: typeof endings[number]): Promise<ChildProcess | null> => {
  const [program, ...args] = [...leash, process.execPath, "--conditions=source", worker]
  const child = spawn(program!, args, {
    env: {
      ...process.env,
      ...compileCache,
      WORKER: JSON.stringify({ ...settings(), database: cluster.url, port, dies })
    },
    stdio: ["ignore", "pipe", "ignore"]
  })
  children.add(child)
  const ended = once(child, "exit").then(() => null)
  void ended.then(() => children.delete(child))
  return Promise.race([once(child.stdout!, "data").then(() => child), ended])
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Creates records through the API. What nobody answered for may be there or not. */
const createAll = async (
  port: number,
  from: number,
  going: () => boolean,
  told: () => void
): Promise<ReadonlySet<string>> => {
  const acknowledged = new Set<string>()
  for (let id = from; going(); id++) {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/counters`, {
        method: "POST",
        body: JSON.stringify({ id, count: 0 }),
        signal: AbortSignal.timeout(5_000)
      })
      if (answer.status === 201) {
        acknowledged.add(String(id))
        told()
      }
      await answer.body?.cancel()
    } catch {
      await pause(50)
    }
    await pause(10)
  }
  return acknowledged
}

/** Counts up by SQL, with transactions that are rolled back and some that stay open for a while. */
const countUp = async (writer: number, going: () => boolean): Promise<void> => {
  let client: Client | null = null
  for (let i = 0; going(); i++) {
    try {
      if (client === null) {
        client = new Client({ connectionString: cluster.url })
        client.on("error", () => {})
        await client.connect()
      }
      await client.query("begin")
      await client.query("update counters set count = count + 1 where id = $1", [1 + (writer + i) % 5])
      if (i % 11 === 10) await pause(150)
      await client.query(i % 7 === 6 ? "rollback" : "commit")
      await pause(15)
    } catch {
      client?.end().catch(() => undefined)
      client = null
      await pause(100)
    }
  }
  await client?.end().catch(() => undefined)
}

/** Nobody waits here for leases and locks of the dead. */
const free = `update service.dispatcher set until = '-infinity';
  begin; set session_replication_role = replica; update jobs._private_jobs set locked_at = null, locked_by = null where locked_at is not null;
  update jobs._private_jobs set run_at = now() where attempts < max_attempts; commit`

const values = (of: TestReceiver, type: string): ReadonlyMap<string, readonly number[]> => {
  const found = new Map<string, number[]>()
  for (const { event } of of.received) {
    if (event.type !== `counters.${type}`) continue
    const known = found.get(event.data.key)
    if (known === undefined) found.set(event.data.key, [Number(event.data.after!["count"])])
    else known.push(Number(event.data.after!["count"]))
  }
  return found
}

it("loses nothing and makes nothing up when services and the database are killed", async () => {
  const port = await freePort()
  let writing = true
  const going = () => writing
  let answered = 0
  const told = () => void answered++
  const writers = [
    ...Array.from({ length: 4 }, (_, w) => createAll(port, 1_000_000 * (w + 1), going, told)),
    ...Array.from({ length: 4 }, (_, w) => countUp(w, going))
  ] as const
  let ended = 0
  for (const [round, dies] of endings.entries()) {
    const child = await start(port, dies)
    if (child === null) {
      ended++
      continue
    }
    const exit = once(child, "exit")
    const enough = answered + work
    if (dies === null) await Promise.race([exit, vi.waitUntil(() => answered >= enough, { timeout: 60_000 })])
    else await Promise.race([exit, pause(6_000)])
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL")
    ended++
    if (round % 3 === 0) {
      await cluster.stop("kill")
      await pause(200)
      await cluster.start()
    }
    await cluster.execute(free)
  }
  writing = false
  const acknowledged = (await Promise.all(writers.slice(0, 4))).flatMap((set) => [...set as ReadonlySet<string>])
  await Promise.all(writers.slice(4))
  expect(ended).toBe(endings.length)
  expect(acknowledged.length).toBeGreaterThan(20)

  const rows = await cluster.rows("select id::text, count::text from counters order by id")
  const created = rows.flatMap(([id]) => Number(id) >= 1_000_000 ? [id!] : [])
  const counted = rows.flatMap(([id, count]) => Number(id) <= 5 ? [[id!, Number(count)] as const] : [])
  expect(counted.reduce((sum, [, count]) => sum + count, 0)).toBeGreaterThan(50)
  // What was acknowledged is there.
  expect(acknowledged.filter((id) => !created.includes(id))).toEqual([])

  await start(port, null)
  const complete = (of: TestReceiver): boolean => {
    const [made, changed] = [values(of, "created"), values(of, "updated")]
    return created.every((id) => made.has(id)) &&
      counted.every(([id, count]) => new Set(changed.get(id)).size >= count)
  }
  const end = performance.now() + 240_000
  while (!complete(receiver) || !complete(ordered)) {
    if (performance.now() > end) throw new Error("not everything was delivered")
    await cluster.execute(free.slice(free.indexOf("update jobs._private_jobs set run_at"), -"; commit".length))
      .catch(() => undefined)
    await pause(50)
  }
  for (const  of of[receiver, ordered]) {
    expect([...values(of, "created").keys()].toSorted()).toEqual(created.toSorted())
    for (const [id, count] of counted) {
      const seen = [...new Set(values(of, "updated").get(id))]
      expect(seen.toSorted((a, b) => a - b), `record ${id}`).toEqual(Array.from({ length: count }, (_, at) => at + 1))
      // A retry sends again what went through before, but a first sight is never ahead of an earlier one.
      if (of === ordered) expect(seen, `order of record ${id}`).toEqual(seen.toSorted((a, b) => a - b))
    }
  }
  // One event has one id, however often it came.
  const ids = new Map<string, string>()
  for (const { event } of [...receiver.received, ...ordered.received]) {
    const what = `${event.data.key} ${event.data.sequence} ${event.type}`
    expect(ids.get(what) ?? event.id).toBe(event.id)
    ids.set(what, event.id)
  }
})
