// Thousands of jobs on workers that are killed and a database that is: each runs at least once, none is lost, groups stay in order, and nobody restarts
// anything by hand but the processes that were killed.
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Pool } from "pg"
import { afterAll, beforeAll, expect, it } from "vitest"
import { queueStatements } from "../../adapters/queue/schema.ts"
import { leash, openCluster } from "../support/cluster.ts"
import type { TestCluster } from "../support/cluster.ts"
import { compileCache } from "../support/compiled.ts"
import { deep } from "../support/depth.ts"
import { grouped, plain } from "./jobs.ts"

const many = deep ? 8_000 : 1_000
const groups = Array.from({ length: 20 }, (_, index) => `g${index}`)
const each = deep ? 100 : 15
/** How many workers there are, how often one is killed, and how long it runs before, in milliseconds. */
const [workers, kills, runMs] = deep ? [5, 20, 700] : [3, 2, 100]

let cluster: TestCluster
const children = new Set<ChildProcess>()
/** When each worker can be told to stop. Before that, a signal ends it as it ends any program. */
const up = new Map<ChildProcess, Promise<unknown>>()

beforeAll(async () => {
  cluster = await openCluster()
  await cluster.execute(
    `${queueStatements()}; create table marks (id bigint generated always as identity, grp text not null, n integer not null, at timestamptz default clock_timestamp())`
  )
})
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL")
  await cluster?.[Symbol.asyncDispose]()
})

const startWorker = (): ChildProcess => {
  const [program, ...args] = [
    ...leash,
    process.execPath,
    "--conditions=source",
    fileURLToPath(new URL("job-worker.ts", import.meta.url))
  ]
  const child = spawn(program!, args, {
    env: { ...process.env, ...compileCache, DATABASE_URL: cluster.url },
    stdio: ["ignore", "pipe", "inherit"]
  })
  children.add(child)
  up.set(child, once(child.stdout!, "data"))
  child.once("exit", () => children.delete(child))
  return child
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** A number of the database, or null while it is away. */
const ask = async (sql: string): Promise<number | null> => {
  try {
    return Number((await cluster.rows(sql))[0]?.[0])
  } catch {
    return null
  }
}

const open = "select (select count(*) from jobs._private_jobs) + (select count(*) from jobs.group_waiting)"

it("survives kill -9 of its workers and of its database", async () => {
  const pool = new Pool({ connectionString: cluster.url, max: 4 })
  pool.on("error", () => {})
  const db = { query: (sql: string, params: readonly unknown[] = []) => pool.query(sql, [...params]) }
  for (let from = 0; from < many; from += 1_000) {
    await plain.enqueueMany(db, Array.from({ length: 1_000 }, (_, index) => ({ payload: from + index })))
  }
  for (let n = 0; n < each; n++) {
    await grouped.enqueueMany(db, groups.map((g) => ({ payload: { g, n }, options: { group: g } })))
  }
  await pool.end()

  const kept = new Set(Array.from({ length: workers }, startWorker))
  for (let round = 0; round < kills; round++) {
    const [victim] = kept
    await up.get(victim!)
    await pause(runMs)
    victim!.kill("SIGKILL")
    kept.delete(victim!)
    kept.add(startWorker())
    if (round % 3 === 1) {
      await cluster.stop(round === 1 ? "kill" : "immediate")
      await pause(500)
      await cluster.start()
    }
  }
  const end = performance.now() + 300_000
  let left: number | null = null
  while (left !== 0) {
    if (performance.now() > end) throw new Error(`There are ${String(left)} jobs left.`)
    await pause(50)
    left = await ask(open)
  }
  await Promise.all([...kept].map((child) => up.get(child)!))
  const ended = [...kept].map((child) =>
    new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)))
  )
  for (const child of kept) child.kill("SIGTERM")
  expect(await Promise.all(ended)).toEqual([...kept].map(() => 0))

  expect(await ask("select count(distinct n) from marks where grp = ''")).toBe(many)
  expect(await ask("select count(distinct (grp, n)) from marks where grp <> ''")).toBe(groups.length * each)
  // What ran twice did so before its next began, or while a dead worker's last statement was still on its way.
  const disorder =
    "select count(*) from (select n, max(n) over (partition by grp order by id rows between unbounded preceding and 1 preceding) as before from marks where grp <> '') m"
  expect(await ask(`${disorder} where before > n`)).toBe(0)
  expect(await ask("select count(*) from jobs.failed")).toBe(0)
  expect(await ask("select count(*) from jobs.completed")).toBe(many + groups.length * each)
})
