// Keys that a job keeps while it runs, on PostgreSQL: in transactions, by SQL, when many enqueue at once, and when it is handed back.
import * as Effect from "effect/Effect"
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest"
import { defineJob, type Job } from "../../adapters/queue/define.ts"
import { makeAttempts } from "../../core/app/job/attempt.ts"
import type { Workers } from "../../core/ports/queue.ts"
import { modelsOf } from "../contracts/queue.ts"
import { type OpenQueue, openQueue } from "../support/queue.ts"

let harness: OpenQueue
const started: Workers[] = []
const opened: Array<() => void> = []

beforeAll(async () => {
  harness = await openQueue()
})
afterAll(() => harness?.close())
beforeEach(() => harness.clear())
afterEach(async () => {
  for (const open of opened.splice(0)) open()
  await Promise.all(started.splice(0).map((workers) => workers.stop()))
})

const start = async (job: Job<never>): Promise<Workers> => {
  const jobs = modelsOf(job)
  const attempt = makeAttempts(jobs, {
    db: { query: async () => [], transaction: (work) => work({ query: async () => [] }) },
    mail: undefined
  })
  const workers = await harness.start(jobs, attempt)
  started.push(workers)
  return workers
}
const gate = () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  opened.push(resolve)
  return { opened: promise, open: resolve }
}
const only = { key: "k", unique: "running" } as const
const rows = (sql: string) => harness.database.rows(sql)
const running = async (): Promise<boolean> =>
  (await rows("select from jobs._private_jobs where locked_at is not null")).length > 0

it("is one job when many enqueue at once, whether it waits, runs or ends meanwhile", async () => {
  let inside = 0
  let most = 0
  let total = 0
  const job = defineJob<number>({
    name: "one",
    concurrency: 8,
    run: async () => {
      most = Math.max(most, ++inside)
      await new Promise((resolve) => setImmediate(resolve))
      inside--
      total++
    }
  })
  await start(job)
  const ids = new Set<string>()
  for (let round = 0; round < 20; round++) {
    const found = await Promise.all(Array.from({ length: 8 }, (_, n) => job.enqueue(harness.db, n, only)))
    for (const id of found) ids.add(id)
  }
  await harness.until(() => total === ids.size)
  expect([most, inside]).toEqual([1, 0])
  expect(ids.size).toBeGreaterThan(1)
})

it("is completed while a transaction that met its key is open", async () => {
  const gates = gate()
  const job = defineJob({ name: "one", run: () => gates.opened })
  await start(job)
  const first = await job.enqueue(harness.db, undefined, only)
  await harness.until(running)
  await harness.transaction(async (tx) => {
    expect(await job.enqueue(tx, undefined, only)).toBe(first)
    gates.open()
    await harness.until(async () => (await rows("select from jobs.completed")).length === 1)
  })
})

it("does not begin before the transaction ends that met it while it waited", async () => {
  const seen: string[] = []
  const job = defineJob<string>({ name: "one", run: (payload) => void seen.push(payload) })
  const first = await job.enqueue(harness.db, "a", only)
  await harness.transaction(async (tx) => {
    expect(await job.enqueue(tx, "b", only)).toBe(first)
    const workers = await start(job)
    expect(await Effect.runPromise(workers.drain(300))).toMatchObject({ drained: false, remaining: 1 })
    expect(seen).toEqual([])
  })
  await harness.until(() => seen.length === 1)
})

it("is asked for by SQL, too; callers without it get what they always got", async () => {
  const gates = gate()
  const job = defineJob({ name: "one", run: () => gates.opened })
  await start(job)
  const enqueue = async (more: string): Promise<string> =>
    (await rows(`select jobs.enqueue('one', ${more})::text`))[0]![0]!
  const first = await enqueue("key => 'k', unique_while => 'running'")
  await harness.until(running)
  expect(await enqueue("key => 'k', unique_while => 'running'")).toBe(first)
  expect(await job.enqueue(harness.db, undefined, only)).toBe(first)
  const second = await enqueue("key => 'k', run_at => now() + interval '1 hour'")
  expect(second).not.toBe(first)
  expect(await enqueue("null, null, 'k', null, 0, 'waiting'")).toBe(second)
  expect(await enqueue("null, null, 'k', null, 0, null")).toBe(second)
  await expect(enqueue("key => 'k', unique_while => 'always'")).rejects.toThrow(/neither "waiting" nor "running"/)
  await expect(enqueue("unique_while => 'running'")).rejects.toThrow(/unique_while needs a key/)
  // A key may hold what separates names from keys.
  const odd = await enqueue("key => 'a!b c', unique_while => 'running', run_at => now() + interval '1 hour'")
  expect(await enqueue("key => 'a!b c', unique_while => 'running'")).toBe(odd)
  expect(await enqueue("key => 'a!b c'")).not.toBe(odd)
})

it("keeps its key when it is handed back, and frees one that only waiting jobs have", async () => {
  const job = defineJob<number>({ name: "one", run: () => {} })
  const ids = [
    await job.enqueue(harness.db, 1, only),
    await job.enqueue(harness.db, 2, { key: "a!b" }),
    await job.enqueue(harness.db, 3, { key: `${"x".repeat(900)}!`, unique: "running" })
  ]
  await harness.database.execute(
    "update jobs._private_jobs set attempts = attempts + 1, locked_by = 'w', locked_at = now()"
  )
  const keys = async () => (await rows("select left(key, 5), length(key)::text from jobs._private_jobs order by id"))
  expect(await keys()).toEqual([["one!k", "5"], [null, null], ["one!x", "505"]])
  await harness.database.execute(
    "update jobs._private_jobs set attempts = attempts - 1, locked_by = null, locked_at = null"
  )
  expect(await keys()).toEqual([["one!k", "5"], [null, null], ["one!x", "505"]])
  expect(await job.enqueue(harness.db, 4, only)).toBe(ids[0])
})
