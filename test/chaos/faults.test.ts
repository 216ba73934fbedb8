// Faults of the database under traffic: no acknowledged write is lost, no batch is half done, no answer is wrong, and the service works again
// by itself within five seconds of the cause's end. A deep run repeats each of them.
import { spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startServer } from "../../composition/server.ts"
import type { Server } from "../../composition/server.ts"
import { openCluster } from "../support/cluster.ts"
import type { TestCluster } from "../support/cluster.ts"
import { deep } from "../support/depth.ts"
import { startLoad } from "../support/load.ts"
import type { Sent } from "../support/load.ts"
import { startProcess } from "../support/process.ts"
import type { ServerProcess } from "../support/process.ts"
import {
  ask,
  clientOf,
  config,
  hasPooler,
  lives,
  openPooler,
  pause,
  prepare,
  signOf,
  untilServing,
  untilTrue,
  untilTrueOf
} from "./fixture.ts"
import type { Pooler, Ready } from "./fixture.ts"
import { recovery, recoveryMs, startTraffic } from "./traffic.ts"
import type { Traffic } from "./traffic.ts"

const rounds = deep ? 5 : 1
/** How long a fault lasts, in milliseconds. */
const while_ = deep ? 3_000 : 300

const limits = {
  SERVICE_READ_CONNECTIONS: "6",
  SERVICE_WRITE_CONNECTIONS: "6",
  SERVICE_AUTH_CONNECTIONS: "3",
  SERVICE_WAIT_MS: "1000",
  CHAOS_STATEMENT_MS: "3000"
}

/** Where an answer is wanted also from a database that takes its time. */
const patient = { ...limits, SERVICE_WAIT_MS: "60000", CHAOS_STATEMENT_MS: "60000" }

let cluster: TestCluster
let ready: Ready

beforeAll(async () => {
  cluster = await openCluster()
  ready = await prepare(cluster)
})
afterAll(async () => {
  await ready?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

/** How many connections a role has. */
const backends = async (role: string): Promise<number> =>
  (await cluster.rows(`select 1 from pg_stat_activity where usename = '${role}'`)).length

describe.each([["direct", true], ["behind PgBouncer in transaction mode", hasPooler]] as const)(
  "%s",
  (name, possible) => {
    if (!possible) {
      it.skip("needs pgbouncer, which this machine has not")
      return
    }
    const direct = name === "direct"
    let pooler: Pooler | null = null
    let server: ServerProcess

    beforeAll(async () => {
      if (!direct) pooler = await openPooler(cluster)
      server = await startProcess(ready.env({ ...limits, ...(pooler === null ? {} : { url: pooler.url }) }))
      await untilServing(server.port, ready.bearer)
    })
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]()
      await pooler?.[Symbol.asyncDispose]()
    })

    /** Of the service, and of what it needs. */
    const signs = () => [lives(server.port), signOf(cluster), ...(pooler === null ? [] : [pooler.sign])]

    /** Waits for an answer that the fault at hand does not keep the service from, though a moment's pause may. */
    const answered = (sent: Sent): Promise<number> =>
      untilTrueOf(signs(), async () => (await ask(server.port, sent))?.status === 200)

    /** Causes a fault under traffic and waits for its end; then everything has to work again and to be there. */
    const survives = async (fault: (traffic: Traffic) => Promise<void>): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        const traffic = startTraffic(server.port, cluster, ready.bearer)
        await untilTrue(async () => traffic.done() > 50)
        await fault(traffic)
        const took = await recovery(server.port, ready.bearer, signs())
        const before = traffic.done()
        await untilTrue(async () => traffic.done() > before + 20)
        await traffic.finish()
        expect(took).toBeLessThan(recoveryMs)
        expect(server.running()).toBe(true)
      }
    }

    it("survives connections that are ended one by one", () =>
      survives(async () => {
        const end = performance.now() + while_
        do {
          await cluster.rows(
            `select pg_terminate_backend(pid) from pg_stat_activity where ${
              direct ? "application_name = 'service'" : "pid <> pg_backend_pid() and backend_type = 'client backend'"
            } order by random() limit 1`
          )
          await pause(10)
        } while (performance.now() < end)
      }))

    it("survives a restart of the database", () =>
      survives(async () => {
        await cluster.stop("fast")
        expect((await ask(server.port, { method: "GET", path: "/livez" }))?.status).toBe(200)
        await pause(while_)
        expect((await ask(server.port, { method: "GET", path: "/readyz" }))?.status).toBe(503)
        await cluster.start()
      }))

    it("survives the sudden death of the database", () =>
      survives(async () => {
        await cluster.stop("kill")
        await pause(while_)
        await cluster.start()
      }))

    it("reads on while the database is read-only", () =>
      survives(async () => {
        await cluster.set("default_transaction_read_only", "on")
        const { get, send } = clientOf(ready.bearer)
        const refused = await untilTrueOf(signs(), async () =>
          (await ask(server.port, send("POST", "/entries", { name: `read-only ${Math.random()}`, amount: 1 })))
            ?.status === 503)
        expect(refused).toBeLessThan(3_000)
        expect(await answered(get("/entries/1"))).toBeLessThan(recoveryMs)
        // Load balancers prefer an instance that can write.
        const unready = await untilTrueOf(
          signs(),
          async () =>
            (await ask(server.port, { method: "GET", path: "/readyz" }))?.status === 503
        )
        expect(unready).toBeLessThan(recoveryMs)
        await pause(while_)
        await cluster.set("default_transaction_read_only", null)
      }))

    it("survives a database that stands still", () =>
      survives(async () => {
        cluster.freeze()
        try {
          // Sooner than any question to the database would be given up. A pause of the machine may delay some of them, such a question all.
          const took: number[] = []
          while (took.length < 10 && !took.some((each) => each < 1_500)) {
            const asked = performance.now()
            expect((await ask(server.port, { method: "GET", path: "/livez" }))?.status).toBe(200)
            took.push(performance.now() - asked)
          }
          expect(Math.min(...took)).toBeLessThan(1_500)
          const noticed = await untilTrueOf(
            [lives(server.port)],
            async () => (await ask(server.port, { method: "GET", path: "/readyz" }))?.status === 503
          )
          expect(noticed).toBeLessThan(4_000)
        } finally {
          cluster.thaw()
        }
      }))

    if (!direct) {
      it("survives the sudden death of the pooler", () =>
        survives(async () => {
          await pooler?.kill()
          await pause(while_)
          await pooler?.start()
        }))
      return
    }

    it("answers with what connections there are when the database allows too few", () =>
      survives(async (traffic) => {
        await cluster.stop("fast")
        await cluster.start({ max_connections: "8", superuser_reserved_connections: "3", max_wal_senders: "0" })
        const before = traffic.done()
        await pause(2 * while_)
        expect(await untilTrueOf(signs(), async () => traffic.done() > before)).toBeLessThan(recoveryMs)
        await cluster.stop("fast")
        await cluster.start()
      }))

    it("finishes what is under way and then ends when it is told to", async () => {
      const leaving = await startProcess(ready.env(patient))
      await untilServing(leaving.port, ready.bearer)
      const broken: string[] = []
      let stopping = false
      const { get, send } = clientOf(ready.bearer)
      const load = startLoad(leaving.port, {
        connections: 8,
        next: (client, count) =>
          stopping && count > 0 && leaving.running() === false
            ? undefined
            : count % 3 === 2
            ? send("POST", "/entries", { name: `leaving ${process.pid} ${client} ${count}`, amount: 1 })
            : get("/entries/1"),
        heard: ({ received }) => {
          if (received !== null && ![200, 201].includes(received.status)) {
            broken.push(`${received.status} ${received.body}`)
          }
        }
      })
      await untilTrue(async () => load.outcomes.length > 100)
      stopping = true
      leaving.kill("SIGTERM")
      expect(await leaving.ended).toBe(0)
      const outcomes = await load.stop()
      expect(broken).toEqual([])
      const acknowledged =
        outcomes.filter(({ received, sent }) => sent.method === "POST" && received?.status === 201).length
      const [[stored = "0"] = []] = await cluster.rows(
        `select count(*)::text from entries where name like 'leaving ${process.pid} %'`
      )
      // A write whose answer was cut off may be there as well.
      expect(Number(stored)).toBeGreaterThanOrEqual(acknowledged)
      expect(Number(stored)).toBeLessThanOrEqual(acknowledged + 8)
    })

    it("loses nothing that it acknowledged when it is killed itself", async () => {
      const traffic = startTraffic(server.port, cluster, ready.bearer)
      await untilTrue(async () => traffic.done() > 100)
      // Nobody else uses its role here.
      expect(await backends("app")).not.toBe(0)
      server.kill("SIGKILL")
      expect(await server.ended).toBe("SIGKILL")
      await traffic.finish()
      // Nothing of it is left behind on the server but for a moment.
      const gone = await untilTrueOf([signOf(cluster)], async () => await backends("app") === 0)
      expect(gone).toBeLessThan(recoveryMs)
    })
  }
)

/** Whether a small disk of our own can be had: root, and a system that lets it mount. */
const mounted = (folder: string): boolean =>
  process.getuid?.() === 0 &&
  spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m,mode=0777", "tmpfs", folder]).status === 0

const canMount = (() => {
  const folder = mkdtempSync(join(tmpdir(), "chaos-disk-"))
  const possible = mounted(folder)
  if (possible) spawnSync("umount", [folder])
  rmSync(folder, { recursive: true, force: true })
  return possible
})()

describe("a disk that is full", () => {
  if (!canMount) {
    it.skip("needs root and the right to mount a small disk")
    return
  }
  let folder = ""
  let server: Server

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "chaos-disk-"))
    chmodSync(folder, 0o755)
    mounted(folder)
    const place = join(folder, "space")
    mkdirSync(place)
    chmodSync(place, 0o777)
    spawnSync("chown", [`--reference=${cluster.data}`, place])
    await cluster.execute(`create tablespace small location '${place}'`)
    await cluster.execute("alter table papers set tablespace small")
    server = await startServer(config, { env: ready.env(patient), port: 0, log: () => {} })
    await untilServing(server.port, ready.bearer)
  })
  afterAll(async () => {
    await server?.close()
    await cluster.execute("drop table papers")
    await cluster.execute("drop tablespace small")
    spawnSync("umount", ["-l", folder])
    rmSync(folder, { recursive: true, force: true })
  })

  it("refuses what does not fit, keeps what did, and goes on once there is room", async () => {
    const { get, send } = clientOf(ready.bearer)
    const filler = join(folder, "filler")
    writeFileSync(filler, Buffer.alloc(12 * 1024 * 1024))
    const kept: string[] = []
    const statuses: number[] = []
    for (let i = 0; i < 40 && !statuses.includes(503); i++) {
      const written = await ask(server.port, send("POST", "/papers", { text: `${i} ${"x".repeat(1_000_000)}` }))
      statuses.push(written?.status ?? 0)
      if (written?.status === 201) kept.push(String((JSON.parse(written.body) as { readonly id: unknown }).id))
      else {
        expect(written?.headers["retry-after"]).toBeDefined()
        expect(written?.body).toContain("The disk of the database is full.")
      }
    }
    expect(statuses.at(-1)).toBe(503)
    expect(kept.length).toBeGreaterThan(0)
    // What needs no room works on.
    expect((await ask(server.port, get(`/papers/${kept[0]}`)))?.status).toBe(200)
    expect((await ask(server.port, send("POST", "/entries", { name: `elsewhere ${process.pid}`, amount: 1 })))?.status)
      .toBe(201)
    rmSync(filler)
    const took = await untilTrueOf(
      [lives(server.port), signOf(cluster)],
      async () => (await ask(server.port, send("POST", "/papers", { text: "y".repeat(1_000_000) })))?.status === 201
    )
    expect(took).toBeLessThan(recoveryMs)
    for (const id of kept) expect((await ask(server.port, get(`/papers/${id}`)))?.status).toBe(200)
  })
})
