// Waiting jobs that somebody else has at this moment: they are neither waited for nor lost, and what was removed does not begin after all.
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import type { QueueError } from "../../core/ports/queue.ts"
import { type OpenQueue, openQueue } from "../support/queue.ts"

let harness: OpenQueue

beforeAll(async () => {
  harness = await openQueue()
})
afterAll(() => harness?.close())
beforeEach(() => harness.clear())

const ended = <A>(effect: Effect.Effect<A, QueueError>): Promise<A | string> =>
  Effect.runPromise(Effect.match(effect, { onFailure: ({ reason }) => reason._tag, onSuccess: (value) => value }))

/** Does something while another transaction has run a statement and not ended. It would never come back if it waited for that one. */
const during = async (sql: string, work: () => Promise<void>): Promise<void> => {
  const client = await harness.pool.connect()
  try {
    await client.query("begin")
    await client.query(sql)
    await work()
  } finally {
    await client.query("commit")
    client.release()
  }
}

const plain = defineJob<number>({ name: "plain", run: () => {} })
const group = defineJob<number>({ name: "grouped", ordered: true, run: () => {} })

describe("a waiting job", () => {
  it("that is being fetched is a conflict, at once", async () => {
    const id = await plain.enqueue(harness.db, 1, { delay: "1 hour" })
    await during("select from jobs._private_jobs for update", async () => {
      expect(await ended(harness.queue.hurry(id))).toBe("Conflict")
      expect(await ended(harness.queue.withdraw(id))).toBe("Conflict")
    })
    expect(await ended(harness.queue.hurry(id))).toBe(true)
    expect(await ended(harness.queue.withdraw(id))).toBe(true)
  })

  it("whose group is about to go on with it is a conflict; one whose group only grows is removed", async () => {
    const ids: string[] = []
    for (const n of [1, 2, 3, 4]) ids.push(await group.enqueue(harness.db, n, { group: "a" }))
    await during(`delete from jobs._private_jobs where id = ${ids[0]}`, async () => {
      expect(await ended(harness.queue.withdraw(ids[1]!))).toBe("Conflict")
    })
    expect(await ended(harness.queue.pending({ id: ids[1]! }))).toMatchObject([{ held: false }])
    await during("select jobs.enqueue('grouped', '5', group_key => 'a')", async () => {
      expect(await ended(harness.queue.withdraw(ids[2]!))).toBe(true)
    })
    expect(await ended(harness.queue.withdraw(ids[1]!))).toBe(true)
    expect(await ended(harness.queue.pending({ name: null, state: null, after: null, limit: 9 }))).toMatchObject([
      { id: ids[3], payload: "4", held: false },
      { payload: "5", held: true }
    ])
  })

  it("that is a run of a schedule is not made again by a worker that asked for it while it was being removed", async () => {
    await harness.database.execute(
      "select jobs._define('daily', false, 3, '1 s', '1 s', null, '1 s', null, null, null, null)"
    )
    const make = "select jobs._enqueue_run('daily', -7, now() + interval '1 hour', 3) as made"
    expect((await harness.pool.query(make)).rows).toEqual([{ made: true }])
    let again: Promise<unknown> | undefined
    // As `withdraw` does, which has not committed yet.
    const removal = `with gone as (delete from jobs._private_jobs where id = -7 returning id, task_id, run_at)
      insert into jobs.completed (id, task_id, attempts, run_at, started_at, completed_at) select id, task_id, 0, run_at, run_at, run_at from gone`
    await during(removal, async () => {
      again = harness.pool.query(make).then(({ rows }) => rows)
      await harness.until(async () =>
        (await harness.database.rows(
          "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        )).length > 0
      )
    })
    expect(await again).toEqual([{ made: false }])
    expect(await harness.database.rows("select from jobs._private_jobs")).toEqual([])
  })
})
