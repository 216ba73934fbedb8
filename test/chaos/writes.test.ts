/**
 * Killed in the middle of big batches: the service, and the database. Every batch is there as a whole or not at all, every acknowledged one is
 * there, and a retry with the same idempotency key makes the rest happen once.
 */

import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { afterEach, expect, it } from "vitest"
import { idempotencySchema } from "../../adapters/postgres/idempotency.ts"
import { dataBase, kill, open, running, sql, until } from "../embedded/support.ts"
import { Random } from "../generators/random.ts"
import { compileCache } from "../support/compiled.ts"
import { deep, seed } from "../support/depth.ts"
import { ann, ledgerSchema } from "../support/ledger.ts"

const rounds = deep ? 10 : 1
const program = fileURLToPath(new URL("./server.ts", import.meta.url))
const authorization = `Bearer ${Buffer.from(JSON.stringify(ann)).toString("base64url")}`

const servers: ChildProcess[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.kill("SIGKILL")
})

const startServer = async (url: string): Promise<{ readonly server: ChildProcess; readonly port: string }> => {
  const server = spawn(process.execPath, [program, url], {
    env: { ...process.env, ...compileCache },
    stdio: ["ignore", "pipe", "inherit"]
  })
  servers.push(server)
  const port = await new Promise<string>((resolve, reject) => {
    createInterface({ input: server.stdout }).once("line", resolve)
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)))
  })
  return { server, port }
}

/** Half of the operations of a batch. */
const pairs = deep ? 250 : 100
/** When something is killed, in milliseconds: early, so that a batch is under way. */
const soon = (random: Random): number => 100 + random.below(deep ? 750 : 300)

/** Notes, each created and then changed. */
const bodyOf = (name: string): string =>
  JSON.stringify({
    ops: Array.from({ length: pairs }, (_, i) => [
      { op: "create", resource: "notes", ref: `n${i}`, data: { title: `${name}:${i}` } },
      { op: "update", resource: "notes", key: { $ref: `n${i}` }, etag: "*", data: { body: "done" } }
    ]).flat()
  })

/** The status, or null when no answer came. */
const send = async (port: string, name: string): Promise<number | null> => {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1:batchWrite`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json", "idempotency-key": name },
      body: bodyOf(name)
    })
    await response.text()
    return response.status
  } catch {
    return null
  }
}

/** Whole batches by name; fails when one is there in part. */
const stored = async (url: string): Promise<ReadonlySet<string>> => {
  const rows = await sql(
    url,
    "select split_part(title, ':', 1) as name, count(*)::int as made, count(body)::int as done from ledger.notes group by 1"
  )
  const found = rows as ReadonlyArray<{ readonly name: string; readonly made: number; readonly done: number }>
  for (const { done, made, name } of found) expect([name, made, done]).toEqual([name, pairs, pairs])
  return new Set(found.map(({ name }) => name))
}

const wait = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** No transaction of a dead server is left. */
const settled = (url: string): Promise<void> =>
  until(async () => {
    const rows = await sql(
      url,
      "select 1 as one from pg_stat_activity where application_name = 'service' and state <> 'idle'"
    )
    return rows.length === 0
  }, "the end of the server's transactions")

/** Two clients that send batch after batch until they are told to stop; what became of each. */
const startClients = (port: string, prefix: string) => {
  const answers = new Map<string, number | null>()
  let on = true
  const client = async (who: number): Promise<void> => {
    for (let i = 0; on; i++) {
      const name = `${prefix}-${who}-${i}`
      const status = await send(port, name)
      answers.set(name, status)
      if (status === null) return
      if (status !== 200) await wait(200)
    }
  }
  const clients = Promise.all([client(1), client(2)])
  return {
    answers,
    stop: async () => {
      on = false
      await clients
    }
  }
}

const acknowledged = (answers: ReadonlyMap<string, number | null>): readonly string[] =>
  [...answers].filter(([, status]) => status === 200).map(([name]) => name)

it("kill -9 of the service and of the database, in the middle of batches", async () => {
  const random = new Random(seed)
  const base = dataBase()
  const database = await open(base, { linger: 300 })
  const { url } = database
  await sql(url, idempotencySchema().join(";\n"), ledgerSchema)
  const answers = new Map<string, number | null>()
  const check = async (): Promise<ReadonlySet<string>> => {
    const names = await stored(url)
    for (const name of acknowledged(answers)) expect(names, name).toContain(name)
    return names
  }

  // The service dies. It may be anywhere in a batch: reading, writing, committing, answering.
  let unanswered = 0
  // Once at least it has to be in a batch. After a pause of ours it may have answered both and be idle.
  for (let round = 0; round < rounds || (unanswered === 0 && round < rounds + 20); round++) {
    const { port, server } = await startServer(url)
    const clients = startClients(port, `s${round}`)
    await wait(soon(random))
    server.kill("SIGKILL")
    await clients.stop()
    for (const [name, status] of clients.answers) answers.set(name, status)
    unanswered += [...clients.answers.values()].filter((status) => status === null).length
    await settled(url)
    await check()
  }
  expect(unanswered).toBeGreaterThan(0)

  // The database dies under a service that lives on, and is well again by itself.
  const { port } = await startServer(url)
  for (let round = 0; round < rounds; round++) {
    const before = database.reattached
    const clients = startClients(port, `d${round}`)
    await wait(soon(random))
    kill(running(base).postmaster)
    await until(() => database.reattached > before, "the database to come back")
    await until(
      async () => await send(port, `d${round}-again-${random.below(1e9)}`) === 200,
      "the service to reach it again"
    )
    await until(() => acknowledged(clients.answers).length > 0, "a client to be told that its batch is kept")
    await clients.stop()
    for (const [name, status] of clients.answers) answers.set(name, status)
    await check()
  }
  for (const status of answers.values()) expect([null, 200, 503]).toContain(status)

  // What got no answer is sent again: afterwards everything is there, each once.
  const there = await check()
  const missing = [...answers].filter(([, status]) => status !== 200).map(([name]) => name)
  for (const name of missing) expect(await send(port, name), name).toBe(200)
  const all = await stored(url)
  for (const name of answers.keys()) expect(all, name).toContain(name)
  expect(acknowledged(answers).length).toBeGreaterThan(0)
  expect(there.size).toBeGreaterThan(0)
})
