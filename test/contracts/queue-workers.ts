/** The queue contract: workers: their death, their end, and draining. */

import { expect, it } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import { minutes, type QueueWords, seconds } from "./queue-words.ts"

export const workersSuite = ({ countsOf, goes, harness, has, held, run, start, wait }: QueueWords): void => {
  it.each(["completes", "fails"])(
    "gives a dead worker's job to another when its lease has ended, whatever timeout and delays; when the dead one later %s, that counts for nothing",
    async (end) => {
      const gates = [held(), held()]
      const attempts: number[] = []
      const job = defineJob<number>({
        name: "dead",
        timeout: "1 day",
        concurrency: 2,
        ordered: true,
        retryDelay: "1 hour",
        run: async (n, { job: { attempt } }) => {
          attempts.push(attempt)
          if (n > 0) return
          await gates[attempt - 1]!.opened
          if (attempt === 1 && end === "fails") throw new Error("late")
        }
      })
      await start(job)
      for (let n = 0; n < 2; n++) await job.enqueue(harness.db, n, { group: "a" })
      await harness.until(() => attempts.length === 1)
      const leaseEnds = Date.parse((await run(harness.queue.nextDue))!) - await harness.now()
      expect(leaseEnds).toBeGreaterThan(0)
      expect(leaseEnds).toBeLessThanOrEqual(30 * seconds)
      await harness.loseWorkers()
      await harness.advance(31 * seconds)
      await harness.until(has("dead", "retrying", 1))
      expect(await wait("dead")).toBeLessThanOrEqual(10 * seconds)
      await harness.advance(10 * seconds)
      await harness.until(() => attempts.length === 2)
      gates[0]!.open()
      await harness.until(has("dead", "running", 1))
      await harness.advance(5 * seconds)
      expect(await countsOf("dead")).toMatchObject({ waiting: 1, running: 1, retrying: 0, completed: 0 })
      gates[1]!.open()
      await harness.until(has("dead", "completed", 2))
      expect(attempts).toEqual([1, 2, 1])
    }
  )

  it("frees jobs whose leases have ended when it is told to, and no others", async () => {
    const stays = held()
    const job = defineJob({ name: "freed", retryDelay: "1 hour", run: () => stays.opened })
    const workers = await start(job)
    await job.enqueue(harness.db)
    await harness.until(has("freed", "running", 1))
    await harness.loseWorkers()
    const stopped = workers.stop()
    stays.open()
    await goes(stopped)
    expect(await run(harness.queue.freeDead)).toBe(0)
    await harness.advance(31 * seconds)
    expect(await countsOf("freed")).toMatchObject({ running: 1 })
    expect(await run(harness.queue.freeDead)).toBe(1)
    expect(await countsOf("freed")).toMatchObject({ running: 0, retrying: 1 })
    expect(await wait("freed")).toBeLessThanOrEqual(10 * seconds)
  })

  it("drains what is due, and says what is due next", async () => {
    const seen: number[] = []
    const gates = held()
    const job = defineJob<number>({
      name: "drained",
      run: async (n) => {
        if (n === 9) await gates.opened
        seen.push(n)
      }
    })
    await job.enqueueMany(harness.db, [1, 2, 3].map((payload) => ({ payload })))
    await job.enqueue(harness.db, 4, { delay: "1 hour" })
    const workers = await start(job)
    const drained = await run(workers.drain(20 * seconds))
    expect(drained).toMatchObject({ drained: true, remaining: 0 })
    expect(seen).toEqual([1, 2, 3])
    expect(Math.abs(Date.parse(drained.nextDue!) - await harness.now() - 60 * minutes)).toBeLessThan(2 * minutes)
    await job.enqueue(harness.db, 9)
    expect(await run(workers.drain(100))).toMatchObject({ drained: false, remaining: 1 })
  })

  it("says null when nothing is due ever, and for names that no worker has known", async () => {
    expect(await run(harness.queue.nextDue)).toBeNull()
    const unknown = defineJob({ name: "unknown", run: () => {} })
    const known = defineJob({ name: "known", run: () => {} })
    await unknown.enqueue(harness.db)
    await known.enqueue(harness.db, undefined, { delay: "1 hour" })
    expect(await run(harness.queue.nextDue)).toBeNull()
    await (await start(known)).stop()
    expect(Date.parse((await run(harness.queue.nextDue))!) - await harness.now()).toBeGreaterThan(59 * minutes)
  })

  it("lets running jobs finish when it stops, and takes no more", async () => {
    const gates = held()
    const seen: number[] = []
    const job = defineJob<number>({
      name: "last",
      run: async (n) => {
        seen.push(n)
        await gates.opened
      }
    })
    const workers = await start(job)
    await job.enqueueMany(harness.db, [{ payload: 1 }, { payload: 2 }])
    await harness.until(() => seen.length === 1)
    const stopped = workers.stop()
    expect(workers.isReady()).toBe(false)
    gates.open()
    await stopped
    expect(seen).toEqual([1])
    expect(await countsOf("last")).toMatchObject({ waiting: 1, running: 0, completed: 1 })
  })

  it("fails what still runs after the grace, to be retried", async () => {
    const never = held()
    let aborted = false
    const job = defineJob({
      name: "deaf",
      run: async (_, { signal }) => {
        signal.addEventListener("abort", () => void (aborted = true))
        await never.opened
      }
    })
    const workers = await start(job)
    await job.enqueue(harness.db)
    await harness.until(has("deaf", "running", 1))
    const stopped = workers.stop()
    await goes(stopped)
    expect(aborted).toBe(true)
    expect(await countsOf("deaf")).toMatchObject({ retrying: 1, running: 0 })
  })
}
