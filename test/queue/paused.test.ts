// Pauses on PostgreSQL, with several processes: what was fetched ahead, what a fetch that is under way gets, and what the statement of earlier versions gets.
import * as Effect from "effect/Effect"
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest"
import { runOn } from "../../adapters/queue/connection.ts"
import { defineJob, type Job } from "../../adapters/queue/define.ts"
import { Lane } from "../../adapters/queue/lane.ts"
import { makeAttempts } from "../../core/app/job/attempt.ts"
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
  "returns what was fetched ahead within its second, in a process that %s, and fetches nothing until the name is resumed",
  async (how) => {
    const job = defineJob<number>({ name: "ahead", run: () => {} })
    await (await start(job)).stop()
    const [[task] = []] = await harness.database.rows(
      "select id::text from jobs._private_tasks where identifier = 'ahead'"
    )
    const lane = new Lane(modelsOf(job).get("ahead")!, Number(task), {
      schema: "jobs",
      pollMs: 100,
      who: "",
      log: () => {},
      stopping: false,
      leases: { ends: null, leaseMs: 30_000, take: () => {}, leave: () => true, release: () => {} },
      run: (sql, params) => runOn(harness.pool as never, sql, params)
    })
    lane.pool = { nudge: () => {}, gracefulShutdown: () => {}, forcefulShutdown: () => {} }
    // Short jobs show that more of them may be fetched at once.
    lane.took(0.1)
    await job.enqueueMany(harness.db, Array.from({ length: 30 }, (_, payload) => ({ payload })))
    const fetch = async () => (await lane.fetch("pool")).rows.length
    expect([await fetch(), (await countsOf("ahead"))?.running]).toEqual([1, 30])
    await pause("ahead")
    if (how === "is told of the pause") lane.hold(true)
    await harness.until(async () => (await countsOf("ahead"))?.running === 1)
    lane.wake(1)
    expect(await fetch()).toBe(0)
    // No try is lost.
    expect(
      await harness.database.rows("select attempts::text, count(*)::text from jobs._private_jobs group by 1 order by 1")
    )
      .toEqual([["0", "29"], ["1", "1"]])
    await pause("ahead", false)
    lane.wake(1)
    expect([await fetch(), (await countsOf("ahead"))?.running]).toEqual([1, 30])
    expect(lane.isPaused).toBe(false)
    await lane.finish()
  }
)

it("is known to every engine, whether it is told or finds out by itself", async () => {
  const job = defineJob({ name: "late", run: () => {} })
  const [told, other] = [await start(job), await start(job)]
  await pause("late")
  told.hold("late", true)
  expect(told.isPaused()).toBe(true)
  await harness.until(() => other.isPaused())
  await job.enqueue(harness.db)
  await pause("late", false)
  await harness.until(async () => (await countsOf("late"))?.completed === 1)
  await harness.until(() => !told.isPaused() && !other.isPaused())
})

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
