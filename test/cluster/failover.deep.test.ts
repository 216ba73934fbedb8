// Machines of a cluster are lost under load, again and again: every write that was acknowledged is there, once, nothing answers 500, and reads and writes come
// back by themselves. CLUSTER_ROUNDS says how often. It prints how long each took; nothing of that is judged.
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { clientOf, pause, prepare, type Ready } from "../chaos/fixture.ts"
import { KeepAlive } from "../support/load.ts"
import { type ServerProcess, startProcess } from "../support/process.ts"
import { missing, openPatroni, type PatroniCluster, until } from "./patroni.ts"

vi.setConfig({ testTimeout: 3_600_000, hookTimeout: 300_000 })

const rounds = Number(process.env["CLUSTER_ROUNDS"] ?? "3")

describe.skipIf(missing !== null)(`a cluster${missing === null ? "" : ` (without ${missing})`}`, () => {
  let cluster: PatroniCluster
  let ready: Ready
  let servers: readonly ServerProcess[] = []
  beforeAll(async () => {
    cluster = await openPatroni()
    const url = await cluster.primaryUrl()
    ready = await prepare({ execute: cluster.execute, url, urlOf: () => cluster.urlOf("app") })
    servers = [await startProcess(ready.env()), await startProcess(ready.env())]
  })
  afterAll(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]()
    await ready?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
  })

  it(`loses its primary ${rounds} times, and nothing that was acknowledged`, async () => {
    const client = clientOf(ready.bearer)
    const acknowledged = new Set<string>()
    const statuses = new Map<string, number>()
    let lastWrite = performance.now()
    let lastRead = performance.now()
    let readGap = 0
    let going = true
    const note = (method: string, status: number | null): void => {
      const key = `${method} ${status ?? "broken"}`
      statuses.set(key, (statuses.get(key) ?? 0) + 1)
    }
    /** Writes one record after the other; each is sent with its key until its answer says that it is there. */
    const writer = async (number: number): Promise<void> => {
      const { port } = servers[number % servers.length]!
      let connection = new KeepAlive(port)
      for (let at = 0; going; at++) {
        const name = `writer ${number} record ${at}`
        for (;;) {
          const answer = await connection.send(
            client.send("POST", "/entries", { name, amount: at }, { "idempotency-key": `${number}-${at}` })
          )
          note("POST", answer?.status ?? null)
          if (answer === null) {
            connection.close()
            connection = new KeepAlive(port)
          }
          if (answer?.status === 201) {
            acknowledged.add(name)
            lastWrite = performance.now()
            break
          }
          if (!going) break
          await pause(50)
        }
        await pause(5)
      }
      connection.close()
    }
    const reader = async (number: number): Promise<void> => {
      const connection = new KeepAlive(servers[number % servers.length]!.port)
      while (going) {
        const answer = await connection.send(client.get("/entries?page_size=5"))
        note("GET", answer?.status ?? null)
        if (answer?.status === 200) {
          readGap = Math.max(readGap, performance.now() - lastRead)
          lastRead = performance.now()
        }
        await pause(10)
      }
      connection.close()
    }
    const load = Promise.all([...[0, 1, 2, 3].map(writer), ...[0, 1].map(reader)])
    const lines: string[] = []
    try {
      for (let round = 0; round < rounds; round++) {
        await pause(1_000)
        const lost = (await cluster.primary())!
        const before = acknowledged.size
        readGap = 0
        const at = performance.now()
        cluster.kill(lost)
        await until("another primary", async () => {
          const now = await cluster.primary()
          return now !== null && now !== lost
        })
        const promoted = performance.now()
        await until("writes", async () => lastWrite > promoted)
        lines.push(
          `${round + 1}: primary n${lost} lost after ${before} writes; another after ${
            Math.round(promoted - at)
          } ms, writes ${Math.round(lastWrite - promoted)} ms later, longest gap of reads ${Math.round(readGap)} ms`
        )
        cluster.revive(lost)
        await until("a whole cluster", cluster.isWhole)
      }
    } finally {
      going = false
      await load
      process.stdout.write(`${lines.join("\n")}\n${JSON.stringify(Object.fromEntries(statuses))}\n`)
    }
    expect([...statuses.keys()].filter((key) => !/ (?:200|201|503|broken)$/.test(key))).toEqual([])
    const rows = await cluster.rows("select name, count(*)::text from entries where name like 'writer %' group by name")
    const there = new Map(rows.map(([name, count]) => [name, count]))
    expect([...acknowledged].filter((name) => !there.has(name))).toEqual([])
    expect([...there].filter(([, count]) => count !== "1")).toEqual([])
    expect(acknowledged.size).toBeGreaterThan(rounds)
  })
})
