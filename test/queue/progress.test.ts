// Progress on PostgreSQL: few statements however often it is told, none that waits for a job's end or holds it up, and none of a try that has lost its job.
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest"
import type { QueryAnswer } from "../../adapters/queue/connection.ts"
import { runOn } from "../../adapters/queue/connection.ts"
import { defineJob } from "../../adapters/queue/define.ts"
import type { Fetched } from "../../adapters/queue/fetched.ts"
import { Progresses } from "../../adapters/queue/progress.ts"
import { type OpenQueue, openQueue } from "../support/queue.ts"

let harness: OpenQueue
let progresses: Progresses
const asked: number[] = []
const logged: string[] = []
let now = 0
let alarms: Array<{ readonly at: number; readonly call: () => void }> = []
let breaks = false
let held = true
/** The statements that are under way. */
let sent: Promise<unknown> = Promise.resolve()

beforeAll(async () => {
  harness = await openQueue()
})
afterAll(() => harness?.close())
beforeEach(async () => {
  await harness.clear()
  await harness.database.execute("delete from jobs.progress")
  asked.splice(0)
  logged.splice(0)
  now = 0
  alarms = []
  breaks = false
  held = true
  progresses = new Progresses({
    s: "jobs",
    run: (sql, params) => {
      asked.push(now)
      const answer: Promise<QueryAnswer> = breaks
        ? Promise.reject(Object.assign(new Error("away"), { code: "57P01" }))
        : runOn(harness.pool as never, sql, params)
      sent = answer.then(() => {}, () => {})
      return answer
    },
    holds: () => held,
    timers: {
      now: () => now,
      after: (milliseconds, call) => {
        alarms.push({ at: now + milliseconds, call })
        return () => {}
      }
    },
    log: (_, event) => void logged.push(event)
  })
})
afterEach(() => progresses.stop())

/** Lets so many milliseconds pass, and what is written then be written. */
const pass = async (milliseconds: number): Promise<void> => {
  const end = now + milliseconds
  for (;;) {
    const [next] = alarms.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)
    if (next === undefined) break
    alarms = alarms.filter((each) => each !== next)
    now = Math.max(now, next.at)
    next.call()
    await sent
    await new Promise((resolve) => setImmediate(resolve))
  }
  now = end
}

const job = defineJob<number>({ name: "long", run: () => {} })

const begin = async (): Promise<Fetched> => {
  const id = await job.enqueue(harness.db, 1)
  await harness.database.execute(
    `update jobs._private_jobs set attempts = 1, locked_by = 'w', locked_at = now() where id = ${id}`
  )
  return { id, locked_by: "w", attempts: 1 } as unknown as Fetched
}
const rows = () =>
  harness.database.rows("select id::text, attempt::text, done::text, note from jobs.progress order by id")

it("writes all jobs of a process together, the first call at once and then the last of each second", async () => {
  const [a, b] = [await begin(), await begin()]
  for (let done = 0; done < 1_000; done++) {
    progresses.tell(a, { done, total: 1_000, note: null })
    progresses.tell(b, { done: 2 * done, total: null, note: "b" })
    if (done % 100 === 0) await pass(100)
  }
  await pass(5_000)
  expect(asked).toEqual([0, 1_000, 2_000])
  expect(await rows()).toEqual([[a.id, "1", "999", null], [b.id, "1", "1998", "b"]])
})

it("writes nothing of a try that is not its job's any more, or that its process has given up", async () => {
  const [lost, again, gone, left] = [await begin(), await begin(), await begin(), await begin()]
  await harness.database.execute(`update jobs._private_jobs set locked_by = 'other' where id = ${lost.id};
    update jobs._private_jobs set attempts = 2 where id = ${again.id}; delete from jobs._private_jobs where id = ${gone.id}`)
  for (const row of [lost, again, gone]) progresses.tell(row, { done: 1, total: null, note: null })
  await pass(3_000)
  expect(await rows()).toEqual([])
  held = false
  progresses.tell(left, { done: 1, total: null, note: null })
  const before = asked.length
  await pass(3_000)
  expect([asked.length, await rows()]).toEqual([before, []])
})

it("goes with its job, and waits for no statement that has the job's row: it is written after that", async () => {
  const row = await begin()
  const client = await harness.pool.connect()
  try {
    await client.query("begin")
    await client.query(`select from jobs._private_jobs where id = ${row.id} for update`)
    progresses.tell(row, { done: 1, total: null, note: null })
    await pass(0)
    expect([asked.length, await rows()]).toEqual([1, []])
    await client.query("commit")
  } finally {
    client.release()
  }
  await pass(1_000)
  expect(await rows()).toEqual([[row.id, "1", "1", null]])
  await harness.database.execute(`delete from jobs._private_jobs where id = ${row.id}`)
  expect(await rows()).toEqual([])
})

it("is told again once the database is back, and logged once", async () => {
  const row = await begin()
  breaks = true
  progresses.tell(row, { done: 1, total: null, note: null })
  await pass(2_500)
  progresses.tell(row, { done: 2, total: null, note: null })
  await pass(500)
  expect([asked, logged]).toEqual([[0, 1_000, 2_000, 3_000], ["jobs-progress"]])
  breaks = false
  await pass(1_000)
  expect([await rows(), logged]).toEqual([[[row.id, "1", "2", null]], ["jobs-progress"]])
})
