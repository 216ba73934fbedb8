/** The queue contract: keys: which job counts as there already, and until when. */

import { expect, it } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import { FatalJobError } from "../../core/domain/job/failure.ts"
import { minutes, type QueueWords, seconds } from "./queue-words.ts"

export const keysSuite = ({ countsOf, harness, has, held, run, start }: QueueWords): void => {
  it("keeps one waiting job per key: the first, or with replace the last", async () => {
    const seen: string[] = []
    const job = defineJob<string>({ name: "keyed", run: (payload) => void seen.push(payload) })
    const other = defineJob<string>({ name: "other", run: () => {} })
    const first = await job.enqueue(harness.db, "a1", { key: "a", delay: "1 hour" })
    expect(await job.enqueue(harness.db, "a2", { key: "a" })).toBe(first)
    const second = await job.enqueue(harness.db, "b1", { key: "b", delay: "1 hour" })
    expect(await job.enqueue(harness.db, "b2", { key: "b", mode: "replace" })).toBe(second)
    expect(await other.enqueue(harness.db, "x", { key: "a" })).not.toBe(first)
    const long = "k".repeat(900)
    expect(await job.enqueue(harness.db, "c1", { key: `${long}1`, delay: "1 hour" }))
      .not.toBe(await job.enqueue(harness.db, "c2", { key: `${long}2`, delay: "1 hour" }))
    expect(await countsOf("keyed")).toMatchObject({ waiting: 4 })
    await start(job)
    await harness.until(has("keyed", "completed", 1))
    expect(seen).toEqual(["b2"])
    await harness.advance(61 * minutes)
    await harness.until(has("keyed", "completed", 4))
    expect(seen.toSorted()).toEqual(["a1", "b2", "c1", "c2"])
  })

  it("does not count a running job, nor one that waits for its retry, as waiting for a key", async () => {
    const gates = held()
    let tries = 0
    const job = defineJob<string>({
      name: "keyed",
      retryDelay: "1 hour",
      run: async () => {
        if (++tries === 1) {
          await gates.opened
          throw new Error("no")
        }
      }
    })
    await start(job)
    const first = await job.enqueue(harness.db, "a", { key: "k" })
    await harness.until(() => tries === 1)
    const second = await job.enqueue(harness.db, "b", { key: "k" })
    expect(second).not.toBe(first)
    expect(await job.enqueue(harness.db, "c", { key: "k" })).toBe(second)
    gates.open()
    await harness.until(async () => {
      const counts = await countsOf("keyed")
      return counts?.retrying === 1 && counts.completed === 1
    })
    expect(await job.enqueue(harness.db, "d", { key: "k", delay: "2 hours" })).not.toBe(first)
  })

  it("keeps a key until its job has ended where that is asked for: while it runs and between its tries, until it is done, failed or removed", async () => {
    const gates = [held(), held()]
    let tries = 0
    const job = defineJob<string>({
      name: "kept",
      maxAttempts: 2,
      retryDelay: "1 hour",
      // The second try begins up to a quarter of an hour early, and runs for as long as the clock goes on.
      timeout: "3 hours",
      concurrency: 2,
      run: async (payload) => {
        if (payload === "fails") throw new FatalJobError("no")
        const at = tries++
        await gates[at]?.opened
        if (at === 0) throw new Error("no")
      }
    })
    await start(job)
    const enqueue = (payload: string, more: object = {}) =>
      job.enqueue(harness.db, payload, { key: "k", unique: "running", ...more })
    const first = await enqueue("a")
    await harness.until(() => tries === 1)
    // It runs, waits for its next try, runs again.
    expect(await enqueue("b")).toBe(first)
    gates[0]!.open()
    await harness.until(has("kept", "retrying", 1))
    expect(await enqueue("c")).toBe(first)
    // A key that counts waiting jobs is another one, and so is that of another name.
    const plain = await job.enqueue(harness.db, "plain", { key: "k", delay: "5 hours" })
    expect(plain).not.toBe(first)
    const namesake = defineJob<string>({ name: "kept/other", run: () => {} })
    expect(await namesake.enqueue(harness.db, "x", { key: "k", unique: "running", delay: "5 hours" })).not.toBe(first)
    await harness.advance(61 * minutes)
    await harness.until(() => tries === 2)
    expect(await enqueue("d")).toBe(first)
    expect(await countsOf("kept")).toMatchObject({ waiting: 1, running: 1 })
    gates[1]!.open()
    await harness.until(has("kept", "completed", 1))
    // Done: the key is free. What is removed while it waits frees it, and so does what failed for good.
    const second = await enqueue("e", { delay: "5 hours" })
    expect(second).not.toBe(first)
    expect(await enqueue("f")).toBe(second)
    expect(await run(harness.queue.withdraw(second))).toBe(true)
    const third = await enqueue("fails")
    expect(third).not.toBe(second)
    await harness.until(has("kept", "failed", 1))
    const fourth = await enqueue("g")
    expect(fourth).not.toBe(third)
    await harness.until(has("kept", "completed", 2))
    // Retried by hand, the failed one has no key any more.
    await run(harness.queue.retry({ id: third }))
    await harness.until(has("kept", "failed", 1))

    for (
      const [options, text] of [
        [{ unique: "running" }, /unique needs a key/],
        [{ key: "k", unique: "always" }, /unique is neither/],
        [{ key: "k", unique: "running", mode: "replace" }, /a job that runs takes no other payload/]
      ] as const
    ) await expect(job.enqueue(harness.db, "x", options as never)).rejects.toThrow(text)
  })

  it("keeps such a key for a job whose worker has died", async () => {
    const gates = held()
    const job = defineJob({ name: "kept", timeout: "1 day", run: () => gates.opened })
    await start(job)
    const first = await job.enqueue(harness.db, undefined, { key: "k", unique: "running" })
    await harness.until(has("kept", "running", 1))
    await harness.loseWorkers()
    await harness.advance(31 * seconds)
    await harness.until(has("kept", "retrying", 1))
    expect(await job.enqueue(harness.db, undefined, { key: "k", unique: "running" })).toBe(first)
  })
}
