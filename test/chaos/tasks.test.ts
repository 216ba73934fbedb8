// Exports, bulk changes and imports of many rows on a server and a worker that are killed in the middle: memory stays where it is, no batch is done
// twice, none is half done, and the report names what was refused. TASK_ROWS says how many rows; figures of a million stand in docs/performance.md.
// With TASK_WAIT the lock of a dead worker ends by itself.
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, it } from "vitest"
import { taskSchema } from "../../adapters/postgres/tasks.ts"
import { queueStatements } from "../../adapters/queue/schema.ts"
import { leash, openCluster } from "../support/cluster.ts"
import type { TestCluster } from "../support/cluster.ts"
import { compileCache } from "../support/compiled.ts"
import { tokenOf } from "../support/composed.ts"
import { deep } from "../support/depth.ts"

const rows = Number(process.env["TASK_ROWS"] ?? (deep ? 20_000 : 5_000))
const waits = process.env["TASK_WAIT"] !== undefined
/** Every so many rows one is refused. The report keeps 10,000. */
const each = Math.max(100, rows / 5_000)
const megabyte = 1024 * 1024

let cluster: TestCluster
const children = new Set<ChildProcess>()

beforeAll(async () => {
  cluster = await openCluster()
  await cluster.execute(
    `${queueStatements()}; ${
      taskSchema().join(";")
    }; create table things (id bigint primary key, name text not null, note text, version integer not null default 1);
    insert into things (id, name, note) select i, 'thing ' || i, case when i % ${each} = 0 then 'locked' else repeat('x', 50) end
      from generate_series(1, ${rows}) i; analyze`
  )
})
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL")
  await cluster?.[Symbol.asyncDispose]()
})

interface Service {
  readonly base: string
  readonly kill: () => Promise<void>
  /** The largest memory since it was last asked, in MB, and CPU seconds since the start. */
  readonly peak: () => Promise<{ readonly rss: number; readonly cpu: number }>
}

const start = (role: "serve" | "work"): Promise<Service> => {
  const [program, ...args] = [
    ...leash,
    process.execPath,
    "--conditions=source",
    fileURLToPath(new URL("tasks-server.ts", import.meta.url))
  ]
  const child = spawn(program!, args, {
    env: { ...process.env, ...compileCache, DATABASE_URL: cluster.url, TASK_ROLE: role },
    stdio: ["pipe", "pipe", "inherit"]
  })
  children.add(child)
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  let told = (_line: string): void => {}
  return new Promise((resolve, reject) => {
    child.once("exit", () => reject(new Error("the service ended")))
    createInterface({ input: child.stdout! }).on("line", (line) => {
      const [word, first, second] = line.split(" ")
      if (word === "peak") return told(`${first} ${second}`)
      if (word !== "port") return
      resolve({
        base: `http://127.0.0.1:${first}`,
        kill: async () => {
          child.kill("SIGKILL")
          await ended
          children.delete(child)
        },
        peak: () =>
          new Promise((answered) => {
            told = (text) => {
              const [rss, cpu] = text.split(" ").map(Number)
              answered({ rss: rss! / megabyte, cpu: cpu! / 1e6 })
            }
            child.stdin!.write("?\n")
          })
      })
    })
  })
}

/** The server of the tests so far, where it lives on. */
let serving: Service | null = null

/** The server of the test before, or another. */
const served = async (): Promise<Service> => serving ??= await start("serve")

const authorization = `Bearer ${tokenOf({ id: "bob", roles: ["boss"] })}`

const call = async (service: Service, method: string, path: string, body?: unknown) => {
  const response = await fetch(service.base + path, {
    method,
    headers: { authorization, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  expect(response.status, path).toBeLessThan(300)
  return await response.json() as { readonly [name: string]: never }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const one = async (sql: string): Promise<number> => Number((await cluster.rows(sql))[0]?.[0])

/** Waits until the lock of a dead worker has ended, or ends it as the queue would then. */
const outlive = async (): Promise<void> => {
  if (waits) return
  await cluster.execute(
    "begin; set local session_replication_role = replica; update jobs._private_jobs set locked_at = null, locked_by = null where locked_at is not null; commit"
  )
}

type Found = { readonly [name: string]: unknown }

const until = async (service: Service, id: string, done: (task: Found) => boolean): Promise<Found> => {
  for (;;) {
    const task = await call(service, "GET", `/api/tasks/${id}`)
    if (done(task)) return task
    await pause(25)
  }
}

/** Waits for progress as the database has it, whoever serves. */
const progress = async (id: string, least: number): Promise<number> => {
  for (;;) {
    const done = await one(`select done from service.task where id = '${id}'`)
    if (done >= least) return done
    await pause(25)
  }
}

/**
 * Follows a task to its end while its worker is killed after a fifth, and the server after half, with which the worker goes on. `written` counts what
 * the table says: after each kill exactly the batches that the task counts are there.
 */
const through = async (name: string, id: string, first: Service, written: () => Promise<number>) => {
  let server = first
  let worker = await start("work")
  const began = performance.now()
  const before = await worker.peak()
  const peaks: number[] = []
  await until(server, id, ({ done }) => Number(done) >= rows / 5)
  peaks.push((await worker.peak()).rss)
  await worker.kill()
  expect(await written()).toBe(await one(`select written from service.task where id = '${id}'`))
  const killed = performance.now()
  await outlive()
  worker = await start("work")
  const at = await one(`select done from service.task where id = '${id}'`)
  await progress(id, at + 1)
  const recovered = (performance.now() - killed) / 1_000
  const resumed = performance.now()
  await progress(id, Math.min(rows, rows / 2))
  peaks.push((await worker.peak()).rss)
  await server.kill()
  await progress(id, Math.min(rows, rows * 0.6))
  const starting = start("serve")
  while (await one(`select count(*) from service.task where id = '${id}' and state = 'running'`) > 0) await pause(25)
  const end = performance.now()
  serving = server = await starting
  const task = await call(server, "GET", `/api/tasks/${id}`) as Found
  const after = await worker.peak()
  peaks.push(after.rss)
  const rate = (rows - at) / ((end - resumed) / 1_000)
  const memory = peaks.map((each) => each.toFixed(0)).join(", ")
  console.log(
    `${name}: ${rows} in ${((end - began) / 1_000).toFixed(1)} s with both kills, ${
      rate.toFixed(0)
    }/s after them, going on ${recovered.toFixed(1)} s after the kill; worker: CPU ${
      after.cpu.toFixed(1)
    } s of the second, RSS ${before.rss.toFixed(0)} MB -> peaks ${memory} MB`
  )
  // The heap grows until the collector keeps pace with the batches, and then no more.
  expect(Math.max(...peaks) - before.rss).toBeLessThan(256)
  await worker.kill()
  return { server, task }
}

/** The lines of a report, without its head. */
const report = async (service: Service, id: string): Promise<ReadonlyArray<readonly string[]>> => {
  const answer = await fetch(`${service.base}/api/tasks/${id}:report`, { headers: { authorization } })
  return (await answer.text()).trimEnd().split("\r\n").slice(1).map((line) => line.split(","))
}

/** Uploads a table of so many lines as it is made. Gives the task's id. */
const uploadLines = async (service: Service, head: string, lineOf: (at: number) => string): Promise<string> => {
  const encoder = new TextEncoder()
  let at = 0
  const file = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      let text = at === 0 ? `${head}\r\n` : ""
      const end = Math.min(rows, at + 1_000)
      for (; at < end; at++) text += `${lineOf(at)}\r\n`
      controller.enqueue(encoder.encode(text))
      if (at >= rows) controller.close()
    }
  })
  const before = await service.peak()
  const began = performance.now()
  const uploaded = await fetch(`${service.base}/api/v1/things:import`, {
    method: "POST",
    headers: { authorization, "content-type": "text/csv" },
    body: file,
    duplex: "half"
  } as RequestInit)
  expect(uploaded.status).toBe(201)
  const { id } = await uploaded.json() as { readonly id: string }
  const after = await service.peak()
  console.log(
    `upload: ${rows} lines in ${((performance.now() - began) / 1_000).toFixed(1)} s, RSS ${
      before.rss.toFixed(0)
    } -> peak ${after.rss.toFixed(0)} MB`
  )
  // As of the worker: the heap grows until the collector keeps pace.
  expect(after.rss - before.rss).toBeLessThan(256)
  return id
}

it.each(deep ? ["csv", "ndjson"] : ["csv"])(
  "exports all rows as %s in the memory of a few pages, and stops when the client leaves",
  async (format) => {
    const service = await served()
    await (await fetch(`${service.base}/api/v1/things:export?filter=id<2000`, { headers: { authorization } })).text()
    const before = await service.peak()
    const began = performance.now()
    const path = `${service.base}/api/v1/things:export?format=${format}`
    const response = await fetch(path, { headers: { authorization } })
    let lines = 0
    let bytes = 0
    for await (const chunk of response.body!) {
      bytes += chunk.length
      for (const byte of chunk) if (byte === 10) lines++
    }
    const seconds = (performance.now() - began) / 1_000
    const after = await service.peak()
    expect(lines).toBe(format === "csv" ? rows + 1 : rows)
    console.log(
      `export as ${format}: ${rows} rows, ${(bytes / 1e6).toFixed(0)} MB in ${seconds.toFixed(1)} s, CPU ${
        (after.cpu - before.cpu).toFixed(1)
      } s, RSS ${before.rss.toFixed(0)} -> peak ${after.rss.toFixed(0)} MB`
    )
    expect(after.rss - before.rss).toBeLessThan(150)

    // Whoever leaves in the middle leaves nothing running.
    const controller = new AbortController()
    const leaving = (await fetch(path, { headers: { authorization }, signal: controller.signal })).body!.getReader()
    let read = 0
    while (read < bytes / 3) read += (await leaving.read()).value!.length
    controller.abort()
    const left = performance.now()
    const { cpu } = await service.peak()
    const busy =
      "select count(*) from pg_stat_activity where state = 'active' and query like '%things%' and pid <> pg_backend_pid()"
    await expect.poll(() => one(busy)).toBe(0)
    await pause(1_000)
    expect(await one(busy)).toBe(0)
    const later = await service.peak()
    console.log(
      `left after a third: CPU ${(later.cpu - cpu).toFixed(2)} s in the ${
        ((performance.now() - left) / 1_000).toFixed(1)
      } s after it, peak ${later.rss.toFixed(0)} MB`
    )
  }
)

it("changes all rows, each once, through kill -9", async () => {
  const first = await served()
  const refused = Math.floor(rows / each)
  const { id } = await call(first, "POST", "/api/v1/things:bulk", {
    op: "update",
    filter: "",
    data: { name: "changed" }
  })
  const { server, task } = await through(
    "bulk",
    id!,
    first,
    () => one("select count(*) from things where name = 'changed'")
  )
  expect(task).toMatchObject({ state: "completed", total: rows, done: rows, written: rows - refused, refused })
  expect(await one("select count(*) from things where version = 2 and name = 'changed'")).toBe(rows - refused)
  expect(await one("select count(*) from things where version = 1 and note = 'locked'")).toBe(refused)
  expect(await one("select count(*) from things")).toBe(rows)
  const lines = await report(server, id!)
  expect(lines.map(([, , key, field, slug]) => [key, field, slug])).toEqual(
    Array.from({ length: refused }, (_, i) => [String((i + 1) * each), "note", "invalid-record"])
  )
})

// A quick run has the mode that updates and creates, below.
if (deep) {
  it("updates all rows from a file, each once and to its own value, through kill -9", async () => {
    const first = await served()
    const refused = await one("select count(*) from things where note = 'locked'")
    const versions = await one("select sum(version) from things")
    const id = await uploadLines(first, "id,name", (at) => `${at + 1},own ${at + 1}`)
    await call(first, "POST", `/api/tasks/${id}:start`, { mode: "update", errors: "skip" })
    const { task } = await through(
      "update import",
      id,
      first,
      () => one("select count(*) from things where name = 'own ' || id")
    )
    expect(task).toMatchObject({ state: "completed", total: rows, done: rows, written: rows - refused, refused })
    expect(await one("select count(*) from things where name = 'own ' || id")).toBe(rows - refused)
    expect(await one("select sum(version) from things")).toBe(versions + rows - refused)
  })
}

it("updates every other row and creates as many, each once, through kill -9", async () => {
  const first = await served()
  const refused = await one(`select count(*) from things where note = 'locked' and id <= ${rows / 2}`)
  const ids = (at: number): number => at % 2 === 0 ? at / 2 + 1 : rows + (at + 1) / 2
  const id = await uploadLines(first, "id,name", (at) => `${ids(at)},mixed ${ids(at)}`)
  await call(first, "POST", `/api/tasks/${id}:start`, { mode: "upsert", errors: "skip" })
  const mixed = () => one("select count(*) from things where name = 'mixed ' || id")
  const { task } = await through("upsert import", id, first, mixed)
  expect(task).toMatchObject({ state: "completed", total: rows, done: rows, written: rows - refused, refused })
  expect(await mixed()).toBe(rows - refused)
  expect(await one(`select count(*) from things where id > ${rows} and version = 1`)).toBe(rows / 2)
  expect(await one("select count(*) from things")).toBe(rows * 1.5)
  expect(await one("select count(*) from service.task_part")).toBe(0)
  await cluster.execute(`delete from things where id > ${rows}`)
})

// A quick run has the mode that does both, above.
if (deep) {
  it("imports all lines, each once, through kill -9", async () => {
    const first = await served()
    const refused = Math.floor(rows / each)
    const id = await uploadLines(first, "id,name,note", (at) => {
      const note = (at + 1) % each === 0 ? "locked" : "\"a \"\"note\"\", with a comma\""
      return `${rows + 1 + at},imported ${at},${note}`
    })
    await call(first, "POST", `/api/tasks/${id}:start`, { errors: "skip" })
    const written = () => one(`select count(*) from things where id > ${rows}`)
    const { server, task } = await through("import", id, first, written)
    expect(task).toMatchObject({ state: "completed", total: rows, done: rows, written: rows - refused, refused })
    expect(await written()).toBe(rows - refused)
    expect(await one(`select count(distinct name) from things where id > ${rows}`)).toBe(rows - refused)
    expect(await one("select count(*) from service.task_part")).toBe(0)
    const lines = await report(server, id)
    expect(lines.map(([line, column]) => [line, column])).toEqual(
      Array.from({ length: refused }, (_, i) => [String((i + 1) * each + 1), "note"])
    )
    await cluster.execute(`delete from things where id > ${rows}`)
  })
}

it("cancels in the middle, and does no batch after that", async () => {
  const server = await served()
  const many = 20_000
  await cluster.execute(
    `insert into things (id, name) select ${rows} + i, 'more ' || i from generate_series(1, ${many}) i`
  )
  const worker = await start("work")
  const { id } = await call(server, "POST", "/api/v1/things:bulk", { op: "delete", filter: `id > ${rows}` })
  await until(server, id!, ({ done }) => Number(done) >= 500)
  const cancelled = await call(server, "POST", `/api/tasks/${String(id)}:cancel`)
  expect(cancelled).toMatchObject({ state: "cancelled" })
  const left = await one(`select count(*) from things where id > ${rows}`)
  expect(left).toBe(many - Number(cancelled["done"]))
  await pause(500)
  expect(await one(`select count(*) from things where id > ${rows}`)).toBe(left)
  await worker.kill()
})
