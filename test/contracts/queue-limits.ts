/** The queue contract: how many run at once, how many begin in a time, and groups. */

import { expect, it } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import { minutes, type QueueWords, seconds } from "./queue-words.ts"

export const limitsSuite = ({ countsOf, failedJobs, harness, has, held, run, start }: QueueWords): void => {
  it("runs as many of a name at once as its concurrency", async () => {
    const gates = held()
    let running = 0
    let most = 0
    const job = defineJob<number>({
      name: "wide",
      concurrency: 3,
      run: async () => {
        most = Math.max(most, ++running)
        await gates.opened
        running--
      }
    })
    await start(job)
    await job.enqueueMany(harness.db, Array.from({ length: 8 }, (_, payload) => ({ payload })))
    await harness.until(() => running === 3)
    await harness.advance(5 * seconds)
    expect(running).toBe(3)
    gates.open()
    await harness.until(has("wide", "completed", 8))
    expect(most).toBe(3)
  })

  it("runs so many of a name at once over all workers, retries included; what a dead worker has counts until it is freed", async () => {
    let running = 0
    let most = 0
    let total = 0
    let fails = 5
    let gates = held()
    const job = defineJob<number>({
      name: "few",
      concurrency: 4,
      maxRunning: 3,
      timeout: "1 day",
      retryDelay: 0,
      run: async () => {
        most = Math.max(most, ++running)
        try {
          await gates.opened
          if (fails-- > 0) throw new Error("no")
          total++
        } finally {
          running--
        }
      }
    })
    const wide = defineJob<number>({ name: "few/others", concurrency: 5, run: () => gates.opened })
    for (let n = 0; n < 3; n++) await start(job, wide)
    await job.enqueueMany(harness.db, Array.from({ length: 20 }, (_, payload) => ({ payload })))
    await wide.enqueueMany(harness.db, Array.from({ length: 5 }, (_, payload) => ({ payload })))
    await harness.until(async () => running === 3 && await has("few/others", "running", 5)())
    await harness.advance(5 * seconds)
    expect([running, await countsOf("few")]).toMatchObject([3, { running: 3, waiting: 17 }])
    gates.open()
    await harness.until(has("few", "completed", 20))
    expect([most, running, total]).toEqual([3, 0, 20])

    gates = held()
    await job.enqueueMany(harness.db, Array.from({ length: 5 }, (_, payload) => ({ payload })))
    await harness.until(has("few", "running", 3))
    await harness.loseWorkers()
    await start(job)
    await harness.advance(10 * seconds)
    expect(await countsOf("few")).toMatchObject({ running: 3, waiting: 2 })
    await harness.advance(21 * seconds)
    await harness.until(async () => total === 20 && running > 3)
    expect(await countsOf("few")).toMatchObject({ running: 3 })
    gates.open()
    await harness.advance(10 * seconds)
    await harness.until(has("few", "completed", 25))
  })

  it("lets so many of a name begin in a time over all workers, evenly; retries count, and what is held back loses no try", async () => {
    const starts: number[] = []
    const attempts: number[] = []
    const job = defineJob<number>({
      name: "rated",
      concurrency: 4,
      // One each tenth of a second.
      rate: { jobs: 10, per: "1 second", burst: 1 },
      maxAttempts: 2,
      retryDelay: 0,
      run: async (n, { job: { attempt } }) => {
        starts.push(await harness.now())
        attempts.push(attempt)
        if (n < 3 && attempt === 1) throw new Error("no")
      }
    })
    const others = defineJob<number>({ name: "rated/others", concurrency: 5, run: () => {} })
    for (let n = 0; n < 3; n++) await start(job, others)
    const begun = await harness.now()
    await job.enqueueMany(harness.db, Array.from({ length: 12 }, (_, payload) => ({ payload })))
    await others.enqueueMany(harness.db, Array.from({ length: 20 }, (_, payload) => ({ payload })))
    await harness.until(has("rated/others", "completed", 20))
    await harness.until(has("rated", "completed", 12))
    // Twelve jobs and three retries are fifteen starts, and fourteen times between them.
    expect([starts.length, attempts.filter((attempt) => attempt === 2).length]).toEqual([15, 3])
    expect(Math.max(...starts) - begun).toBeGreaterThanOrEqual(14 * 100)
    expect(await countsOf("rated")).toMatchObject({ failed: 0, waiting: 0 })
  })

  it("runs an ordered group one by one in order of enqueuing, groups beside each other, on two workers", async () => {
    const seen = new Map<string, number[]>()
    const inside = new Set<string>()
    let overlaps = 0
    const job = defineJob<{ g: string; n: number }>({
      name: "ordered",
      ordered: true,
      concurrency: 4,
      run: async ({ g, n }) => {
        if (inside.has(g)) overlaps++
        inside.add(g)
        await new Promise((resolve) => setImmediate(resolve))
        seen.set(g, [...seen.get(g) ?? [], n])
        inside.delete(g)
      }
    })
    for (let n = 0; n < 12; n++) {
      // Priority orders names, not the members of a group.
      for (const g of ["a", "b", "c"]) await job.enqueue(harness.db, { g, n }, { group: g, priority: n })
    }
    await start(job)
    await start(job)
    await harness.until(has("ordered", "completed", 36))
    const order = Array.from({ length: 12 }, (_, n) => n)
    expect(Object.fromEntries(seen)).toEqual({ a: order, b: order, c: order })
    expect(overlaps).toBe(0)
  })

  it("holds a group back while its first waits for a retry or has failed, until it succeeds, is retried or deleted", async () => {
    const seen: string[] = []
    let fails = 3
    const job = defineJob<{ g: string; n: number }>({
      name: "held",
      ordered: true,
      maxAttempts: 2,
      retryDelay: "1 hour",
      concurrency: 2,
      run: ({ g, n }) => {
        if (g === "a" && n === 1 && fails-- > 0) throw new Error("no")
        seen.push(`${g}${n}`)
      }
    })
    await start(job)
    for (const n of [1, 2, 3]) {
      await job.enqueue(harness.db, { g: "a", n }, { group: "a" })
      await job.enqueue(harness.db, { g: "b", n }, { group: "b" })
    }
    await harness.until(async () => seen.length === 3 && await has("held", "retrying", 1)())
    expect(seen).toEqual(["b1", "b2", "b3"])
    await harness.advance(61 * minutes)
    await harness.until(has("held", "failed", 1))
    const [failed] = await failedJobs()
    expect(failed).toMatchObject({ group: "a", error: "no", waitingBehind: 2 })
    await harness.advance(10 * seconds)
    expect(await countsOf("held")).toMatchObject({ waiting: 2, failed: 1, completed: 3 })
    await run(harness.queue.retry({ id: failed!.id }))
    await harness.until(async () => (await failedJobs())[0]?.attempts === 3)
    await run(harness.queue.remove({ id: failed!.id }))
    await harness.advance(5 * seconds)
    await harness.until(has("held", "completed", 5))
    expect(seen).toEqual(["b1", "b2", "b3", "a2", "a3"])
  })
}
