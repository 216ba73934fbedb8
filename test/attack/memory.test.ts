/**
 * Small requests for what does not fit into memory, several at once, against a process with a small heap: each of them once ended it. It
 * refuses or cuts them, and goes on.
 */

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { compileCache } from "../support/compiled.ts"
import { tokenOf } from "../support/composed.ts"
import { openDatabase } from "../support/postgres.ts"
import type { TestDatabase } from "../support/postgres.ts"
import { schema, sizes } from "./memory-stage.ts"

// In a deep run gigabytes pass through here, on a machine that may be busy.

const script = fileURLToPath(new URL("memory-server.ts", import.meta.url))

let database: TestDatabase
let server: ChildProcess
let origin = ""
let complaints = ""

beforeAll(async () => {
  database = await openDatabase(schema)
  server = spawn(
    process.execPath,
    ["--conditions=source", `--max-old-space-size=${sizes.heapMegabytes}`, script, database.url],
    { env: { ...process.env, ...compileCache }, stdio: ["ignore", "pipe", "pipe", "ipc"] }
  )
  server.stderr!.on("data", (text: Buffer) => {
    complaints = (complaints + text.toString()).slice(-4_000)
  })
  const [port] = await once(server.stdout!, "data") as [Buffer]
  origin = `http://127.0.0.1:${port.toString().trim()}`
})
afterAll(async () => {
  if (server.exitCode === null) {
    server.kill("SIGKILL")
    await once(server, "exit")
  }
  await database.drop()
})
afterEach(async () => {
  expect([server.exitCode, server.signalCode], complaints).toEqual([null, null])
  expect((await fetch(`${origin}/livez`)).status).toBe(200)
})

const authorization = `Bearer ${tokenOf({ id: "ann", roles: ["admin"] })}`

const send = (method: string, path: string, body?: unknown, headers: { readonly [name: string]: string } = {}) =>
  fetch(`${origin}/api/v1${path}`, {
    method,
    headers: { authorization, ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })

/** Sends the same several times at once, and gives the problems. */
const refusals = (times: number, request: () => Promise<Response>) =>
  Promise.all(Array.from({ length: times }, async () => {
    const response = await request()
    const { type } = await response.json() as { readonly type: string }
    return `${response.status} ${type.split(":").at(-1)}`
  }))

const { bigBytes, maxAnswerBytes } = sizes
/** As many big records as an answer has room for. */
const room = Math.floor(maxAnswerBytes / bigBytes)
/** More than an answer has room for. */
const tooMany = room + 15

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

describe("batches", () => {
  const batch = (ops: readonly unknown[], headers = {}) => () => send("POST", ":batchWrite", { ops }, headers)
  const tooLarge = Array.from({ length: 4 }, () => "413 payload-too-large")
  const minimal = { prefer: "return=minimal" }

  it("of 500 updates of one big record", async () => {
    const update = (place: number) => ({ op: "update", resource: "papers", key: 1, etag: "*", data: { place } })
    const ops = numbers(500).map(update)
    expect(await refusals(4, batch(ops, minimal))).toEqual(tooLarge)
    // With the records in it, the answer reaches its own bound before.
    expect(await refusals(4, batch(ops))).toEqual(tooLarge.map(() => "400 answer-too-large"))
  })

  it("of 500 updates of big records", async () => {
    const update = (key: number) => ({ op: "update", resource: "papers", key, etag: "*", data: { place: 0 } })
    expect(await refusals(4, batch(numbers(500).map(update), minimal))).toEqual(tooLarge)
  })

  it("of 100 deletes, and of 500 updates of which versions are kept", async () => {
    const remove = (key: number) => ({ op: "delete", resource: "papers", key })
    expect(await refusals(4, batch(numbers(100).map(remove)))).toEqual(tooLarge)
    const update = (i: number) => ({
      op: "update",
      resource: "tracked",
      key: 1 + i % 100,
      etag: "*",
      data: { place: -i }
    })
    expect(await refusals(4, batch(numbers(500).map(update), minimal))).toEqual(tooLarge)
  })

  it("that copy one value 499 times", async () => {
    const source = { op: "create", resource: "papers", ref: "big", data: { id: 1_000, text: "x".repeat(bigBytes) } }
    const copy = (i: number) => ({
      op: "create",
      resource: "papers",
      data: { id: 1_000 + i, text: { $ref: "big", field: "text" } }
    })
    const named = numbers(499).map((i) => ({ ...copy(i), ref: `copy-${i}` }))
    expect(await refusals(4, batch([source, ...named], minimal))).toEqual(tooLarge)
  })

  it("that put 500 big records into another order", async () => {
    const keys = numbers(500).reverse()
    const reorder = {
      op: "reorder",
      resource: "papers",
      field: "place",
      keys,
      etags: Object.fromEntries(keys.map((key) => [key, "*"]))
    }
    expect(await refusals(4, batch([reorder]))).toEqual(tooLarge)
  })
})

describe("answers", () => {
  /** Sends the same several times at once. Those that wait too long for one of the few connections for long answers are told so. */
  const expectParts = async (path: string, times = 4): Promise<void> => {
    let answered = 0
    await Promise.all(Array.from({ length: times }, async () => {
      const response = await send("GET", path)
      const text = await response.text()
      if (response.status === 503) return
      answered++
      expect(response.status, text.slice(0, 500)).toBe(200)
      expect(text.length).toBeLessThanOrEqual(maxAnswerBytes)
      const { items, next_page_token } = JSON.parse(text) as {
        readonly items: unknown[]
        readonly next_page_token: string
      }
      expect([items.length, next_page_token !== ""]).toEqual([room, true])
    }))
    expect(answered).toBeGreaterThan(0)
  }

  it("of 500 big records, as they are, and of fields whose ETags are made of the rest", async () => {
    await expectParts("/papers?page_size=500", 10)
    const ids = await Promise.all(
      numbers(4).map(async () => {
        const response = await send("GET", "/papers?page_size=500&fields=id")
        return (await response.json() as { readonly items: readonly unknown[] }).items.length
      })
    )
    expect(ids).toEqual([500, 500, 500, 500])
    await expectParts("/papers:seek?page_size=500&position=400")
  })

  it("of versions", async () => {
    for (let i = 0; i < tooMany; i++) {
      await send("PATCH", `/tracked/${1 + i}`, { place: 1_000 + i }, { "if-match": "*", prefer: "return=minimal" })
    }
    await expectParts("/tracked_history?page_size=500")
  })

  it("of records beside others, and of values: what cannot end early is refused", async () => {
    const refused = Array.from({ length: 4 }, () => "400 answer-too-large")
    expect(await refusals(4, () => send("GET", "/links?page_size=500&expand=paper"))).toEqual(refused)
    await database.execute(`update papers set text = id || text where id <= ${tooMany}`)
    const values = `/papers:facets?field=text&limit=500&filter=${encodeURIComponent(`id <= ${tooMany}`)}`
    expect(await refusals(4, () => send("GET", values))).toEqual(refused)
  })
})
