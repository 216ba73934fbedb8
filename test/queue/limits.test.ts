// Limits over all processes, on PostgreSQL: many engines that fetch at the same moment, engines that never poll, and fetches behind another one's lock.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { Connections } from "../../adapters/queue/connection.ts"
import { defineJob, type Job } from "../../adapters/queue/define.ts"
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

const start = async (job: Job<never>, pollMs = 100, pool?: Connections): Promise<Workers> => {
  const jobs = modelsOf(job)
  const attempt = makeAttempts(jobs, {
    db: { query: async () => [], transaction: (work) => work({ query: async () => [] }) },
    mail: undefined
  })
  const workers = await harness.startWith({ jobs, attempt, pollMs, ...(pool === undefined ? {} : { pool }) })
  started.push(workers)
  return workers
}

const many = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }))
const taskOf = async (name: string): Promise<string> =>
  (await harness.database.rows(`select id::text from jobs._private_tasks where identifier = '${name}'`))[0]![0]!
const fetchSql = "select (job).id, again from jobs._fetch('me', $1, $2, null, '30 seconds')"

describe("a rate", () => {
  it("is kept by engines that never poll: they look again when the next start is due, and no more often", async () => {
    let asked = 0
    const counted = {
      connect: async () => {
        const connection = await harness.pool.connect()
        return {
          query: (text: string, values: unknown[] = []) => {
            if (text.includes("._fetch(")) asked++
            return connection.query(text, values)
          },
          release: (failure?: Error | boolean) => connection.release(failure)
        }
      }
    }
    let total = 0
    const job = defineJob<number>({
      name: "rated",
      concurrency: 3,
      rate: { jobs: 20, per: "1 second", burst: 5 },
      run: () => void total++
    })
    const engines = [await start(job, 1_000_000, counted), await start(job, 1_000_000, counted)]
    await job.enqueueMany(harness.db, many(40))
    const begun = performance.now()
    for (const engine of engines) engine.wake("rated")
    await harness.until(() => total === 40)
    // All but a burst are a sixteenth of a second apart.
    expect(performance.now() - begun).toBeGreaterThan(35 * 62.5)
    expect(asked).toBeLessThan(400)
  })

  it("says how long it holds back, heals from a clock that went back, and counts what others take meanwhile", async () => {
    const job = defineJob<number>({ name: "slow", rate: { jobs: 61, per: "1 hour", burst: 2 }, run: () => {} })
    await (await start(job)).stop()
    await job.enqueueMany(harness.db, many(9))
    const task = await taskOf("slow")
    const fetch = async () => {
      const { rows } = await harness.pool.query<{ id: string | null; again: number | null }>(fetchSql, [task, 5])
      return [rows.filter(({ id }) => id !== null).length, rows.find(({ id }) => id === null)?.again]
    }
    const apart = 60
    const [first, again] = await fetch()
    expect([first, again]).toEqual([2, apart])
    expect(await fetch()).toMatchObject([0, expect.toSatisfy((wait: number) => wait <= apart && wait > apart - 30)])
    await harness.database.execute("update jobs.definitions set next_start = next_start - interval '61 seconds'")
    expect(await fetch()).toMatchObject([1, expect.toSatisfy((wait: number) => wait <= apart && wait > apart - 30)])
    // A clock that goes back leaves the next start far away, but not further than a burst.
    await harness.database.execute("update jobs.definitions set next_start = now() + interval '1 year'")
    expect(await fetch()).toMatchObject([0, expect.toSatisfy((wait: number) => wait <= apart && wait > apart - 30)])
    // Nothing is due: nobody needs to look again.
    await harness.database.execute("delete from jobs._private_jobs; update jobs.definitions set next_start = null")
    expect(await fetch()).toEqual([0, undefined])
  })
})

describe("maxRunning", () => {
  it("is never passed by engines that fetch short jobs at the same moment", async () => {
    let running = 0
    let most = 0
    let total = 0
    const job = defineJob<number>({
      name: "few",
      concurrency: 4,
      maxRunning: 5,
      run: async () => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setImmediate(resolve))
        running--
        total++
      }
    })
    for (let n = 0; n < 4; n++) await start(job, 5)
    await job.enqueueMany(harness.db, many(400))
    await harness.until(() => total === 400)
    expect(most).toBeLessThanOrEqual(5)
    expect(most).toBeGreaterThan(1)
  })

  it("lets the next begin when one has ended, and does not wait for a poll", async () => {
    let total = 0
    let fails = 3
    const job = defineJob<number>({
      name: "few",
      concurrency: 8,
      maxRunning: 2,
      retryDelay: 0,
      run: async () => {
        await new Promise((resolve) => setImmediate(resolve))
        if (fails-- > 0) throw new Error("no")
        total++
      }
    })
    const workers = await start(job, 1_000_000)
    await job.enqueueMany(harness.db, many(40))
    workers.wake("few")
    await harness.until(() => total === 40)
  })

  it("counts what another fetch of the name has taken while this one waited for it", async () => {
    const job = defineJob<number>({ name: "few", maxRunning: 3, run: () => {} })
    await (await start(job)).stop()
    await job.enqueueMany(harness.db, many(10))
    const task = await taskOf("few")
    const other = await harness.pool.connect()
    try {
      await other.query("begin")
      expect((await other.query(fetchSql, [task, 2])).rows).toHaveLength(2)
      const waiting = harness.pool.query(fetchSql, [task, 5])
      await harness.until(async () =>
        (await harness.database.rows(
          "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        )).length > 0
      )
      await other.query("commit")
      expect((await waiting).rows).toHaveLength(1)
    } finally {
      other.release()
    }
    expect((await harness.pool.query(fetchSql, [task, 5])).rows).toEqual([])
  })
})
