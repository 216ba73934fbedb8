// Pauses on PostgreSQL, with several processes: what was fetched ahead, what a fetch that is under way gets, and what the statement of earlier versions gets.
import * as Effect from "effect/Effect"
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest"
import { defineJob, type Job } from "../../adapters/queue/define.ts"
import { makeAttempts } from "../../core/app/jobs.ts"
import type { Workers } from "../../core/ports/queue.ts"
import { modelsOf } from "../contracts/queue.ts"
import { type OpenQueue, openQueue } from "../support/queue.ts"

let harness: OpenQueue
const started: Workers[] = []

beforeAll(async () => {
  harness = await openQueue()
})
afterAll(() => harness?.close())
beforeEach(() => harness.clear())
afterEach(async () => {
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

const pause = (name: string, paused = true) => Effect.runPromise(harness.queue.pause(name, paused, null))
const countsOf = async (name: string) =>
  (await Effect.runPromise(harness.queue.counts)).find((each) => each.name === name)

it.each(["is told of the pause", "finds out by itself"])(
  "begins nothing of what was fetched ahead once its second has passed, in a process that %s",
  async (how) => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    const seen: number[] = []
    const job = defineJob<number>({
      name: "ahead",
      run: async (n) => {
        seen.push(n)
        if (n === 100) await opened
      }
    })
    const workers = await start(job)
    const enqueue = (first: number, count: number) =>
      job.enqueueMany(harness.db, Array.from({ length: count }, (_, n) => ({ payload: first + n })))
    // Short jobs show that more of them may be fetched at once.
    await enqueue(0, 20)
    await harness.until(() => seen.length === 20)
    await enqueue(100, 30)
    await harness.until(async () => ((await countsOf("ahead"))?.running ?? 0) > 10)
    await pause("ahead")
    if (how === "is told of the pause") {
      workers.hold("ahead", true)
      expect(workers.isPaused()).toBe(true)
    } else await harness.until(() => workers.isPaused())
    // Only what has begun is left: the rest was returned, without a try lost, and nobody takes it again.
    await harness.until(async () => (await countsOf("ahead"))?.running === 1)
    open()
    await harness.until(async () => (await countsOf("ahead"))?.running === 0)
    await harness.advance(1_000)
    expect([seen.length, await countsOf("ahead")]).toMatchObject([21, { waiting: 29, completed: 21 }])
    expect(await harness.database.rows("select max(attempts)::text from jobs._private_jobs")).toEqual([["0"]])
    await pause("ahead", false)
    await harness.until(() => seen.length === 50)
    expect([workers.isPaused(), new Set(seen).size]).toEqual([false, 50])
  }
)

it("gives nothing to a fetch that was sent before the pause and waited, nor to one of an earlier version", async () => {
  const job = defineJob({ name: "late", run: () => {} })
  await job.enqueue(harness.db)
  const fetch = `update jobs._private_jobs set attempts = attempts + 1, locked_by = 'w', locked_at = now() returning id`
  const other = await harness.pool.connect()
  try {
    await other.query("begin")
    await other.query("update jobs._private_jobs set priority = 1")
    const waiting = harness.pool.query(fetch)
    await harness.until(async () =>
      (await harness.database.rows(
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
      )).length > 0
    )
    await pause("late")
    await other.query("commit")
    expect((await waiting).rows).toEqual([])
  } finally {
    other.release()
  }
  expect((await harness.pool.query(fetch)).rows).toEqual([])
  expect(await countsOf("late")).toMatchObject({ waiting: 1, running: 0 })
  await pause("late", false)
  expect((await harness.pool.query(fetch)).rows).toHaveLength(1)
})
