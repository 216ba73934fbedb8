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
    const begun: string[] = []
    const ends: Array<() => void> = []
    const lane = new Lane(modelsOf(job).get("ahead")!, Number(task), {
      schema: "jobs",
      pollMs: 100,
      owner: "w",
      log: () => {},
      stopping: false,
      leases: { ends: null, leaseMs: 30_000, take: () => {}, leave: () => true, release: () => {} },
      run: (sql, params) => runOn(harness.pool as never, sql, params),
      // A job that takes long: the others wait for its place.
      work: (_, { id }) => {
        begun.push(id)
        return new Promise((resolve) => ends.push(() => resolve(true)))
      }
    })
    // Short jobs show that more of them may be fetched at once.
    lane.took(0.1)
    await job.enqueueMany(harness.db, Array.from({ length: 30 }, (_, payload) => ({ payload })))
    const running = async () => (await countsOf("ahead"))?.running
    lane.begin()
    // The database knows it a moment before the process does.
    await harness.until(async () => (await running()) === 30 && begun.length > 0)
    expect(begun).toHaveLength(1)
    await pause("ahead")
    if (how === "is told of the pause") lane.hold(true)
    await harness.until(async () => (await running()) === 1)
    // No try is lost.
    expect(
      await harness.database.rows("select attempts::text, count(*)::text from jobs._private_jobs group by 1 order by 1")
    )
      .toEqual([["0", "29"], ["1", "1"]])
    // The one that runs goes on to its end, and no other begins.
    ends[0]!()
    await harness.until(async () => (await countsOf("ahead"))?.completed === 1)
    lane.wake()
    await harness.until(async () => (await running()) === 0)
    expect(begun).toHaveLength(1)
    await pause("ahead", false)
    lane.wake()
    await harness.until(async () => (await running()) === 29 && begun.length > 1)
    expect([begun.length, lane.isPaused]).toEqual([2, false])
    const finished = lane.finish()
    ends[1]!()
    await finished
    await lane.ended()
    expect([(await countsOf("ahead"))?.completed, (await countsOf("ahead"))?.waiting]).toEqual([2, 28])
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

it("gives what it held back as long as any other job to begin after it", async () => {
  const job = defineJob({ name: "held", run: () => {} })
  const grouped = defineJob<number>({ name: "grouped", ordered: true, run: () => {} })
  const left = async () => {
    await harness.database.execute("select jobs._clean()")
    return await harness.database.rows(
      "select (select count(*) from jobs._private_jobs)::text, (select count(*) from jobs.group_waiting)::text"
    )
  }
  await job.enqueue(harness.db)
  for (const payload of [1, 2]) await grouped.enqueue(harness.db, payload, { group: "g" })
  for (const name of ["held", "grouped"]) await pause(name)
  await harness.database.execute(`update jobs._private_jobs set run_at = run_at - interval '15 days';
    update jobs.group_waiting set run_at = run_at - interval '15 days'`)
  expect(await left()).toEqual([["2", "1"]])
  for (const name of ["held", "grouped"]) await pause(name, false)
  expect(await left()).toEqual([["2", "1"]])
  // To resume what is not paused gives no more time.
  await harness.database.execute("update jobs.definitions set resumed_at = resumed_at - interval '15 days'")
  for (const name of ["held", "grouped"]) await pause(name, false)
  expect(await left()).toEqual([["0", "0"]])
})
