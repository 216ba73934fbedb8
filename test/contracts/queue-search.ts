/** The queue contract: what a search finds, and what was done in the last hour. */

import { expect, it } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import { activityMinutes } from "../../core/domain/job/state.ts"
import type { QueueWords } from "./queue-words.ts"

export const searchSuite = ({ failedJobs, harness, has, held, pending, run, start }: QueueWords): void => {
  it("is found by a part of its name, key, group, error, or a direct member of its payload, and by its whole id", async () => {
    const plain = defineJob({ name: "Plain", run: () => {} })
    const group = defineJob<number>({ name: "grouped", ordered: true, run: () => {} })
    const gates = held()
    const tried = defineJob<{ n: number }>({
      name: "tried",
      maxAttempts: 1,
      concurrency: 2,
      run: async ({ n }) => {
        if (n === 1) throw new Error("Mailbox away")
        await gates.opened
      }
    })
    const later = { delay: "2 hours" } as const
    const member = await plain.enqueue(harness.db, { order: "Ä-17", lines: ["deep"], nested: { n: "deep" } }, later)
    const text = await plain.enqueue(harness.db, "whole 100%_", { delay: "3 hours" })
    const long = await plain.enqueue(harness.db, { order: "x".repeat(5_000) }, { delay: "4 hours" })
    const keyed = await plain.enqueue(harness.db, 4_711, { delay: "5 hours", key: "the key" })
    const first = await group.enqueue(harness.db, 1, { group: "customer 9", delay: "6 hours" })
    const second = await group.enqueue(harness.db, 2, { group: "customer 9", delay: "7 hours" })
    const found = async (search: string, limit = 100): Promise<readonly string[]> =>
      (await pending({ search, limit })).map(({ id }) => id)
    expect(await found("order")).toEqual([])
    expect(await found("deep")).toEqual([])
    expect(await found("xxx")).toEqual([])
    expect(await found("A-17")).toEqual([])
    expect(await found("-17")).toEqual([member])
    expect(await found("WHOLE 100%_")).toEqual([text])
    expect(await found("hole_100")).toEqual([])
    expect(await found("471")).toEqual([keyed])
    expect(await found("The Key")).toEqual([keyed])
    expect(await found("customer 9")).toEqual([first, second])
    expect(await found("plain")).toEqual([member, text, long, keyed])
    expect(await found("plain", 1)).toEqual([member])
    expect(await pending({ search: "plain", name: "grouped" })).toEqual([])
    expect(await found(long)).toContain(long)

    await start(tried)
    await tried.enqueue(harness.db, { n: 1 })
    const busy = await tried.enqueue(harness.db, { n: 2 })
    await harness.until(async () => await has("tried", "failed", 1)() && await has("tried", "running", 1)())
    const failed = (search: string) => run(harness.queue.failed({ name: null, search, after: null, limit: 9 }))
    expect(await failed("mailbox")).toEqual(await failedJobs())
    expect(await failed("tried")).toHaveLength(1)
    expect(await failed("customer")).toEqual([])
    const running = async (search: string) =>
      (await run(harness.queue.running({ name: null, search, after: null, limit: 9 }))).map(({ id }) => id)
    expect(await running("TRIED")).toEqual([busy])
    expect(await running("mailbox")).toEqual([])
    gates.open()
  })

  it("counts in the minute in which it ended, with how long it took", async () => {
    const job = defineJob<number>({
      name: "counted",
      maxAttempts: 1,
      run: (n) => {
        if (n === 2) throw new Error("no")
      }
    })
    await start(job)
    expect(await run(harness.queue.activity(null))).toHaveLength(activityMinutes)
    for (const n of [1, 1, 2]) await job.enqueue(harness.db, n)
    await harness.until(async () => await has("counted", "failed", 1)() && await has("counted", "completed", 2)())
    const minutes = await run(harness.queue.activity("counted"))
    const sum = (of: "completed" | "failed"): number => minutes.reduce((total, minute) => total + minute[of], 0)
    expect([sum("completed"), sum("failed")]).toEqual([2, 1])
    const times = minutes.map(({ at }) => Date.parse(at))
    expect(times.every((at, index) => index === 0 || at - times[index - 1]! === 60_000)).toBe(true)
    for (const { averageMs, completed, longestMs } of minutes) {
      expect([averageMs === null, longestMs === null]).toEqual([completed === 0, completed === 0])
      expect(longestMs ?? 0).toBeGreaterThanOrEqual(averageMs ?? 0)
    }
    expect((await run(harness.queue.activity("none"))).every(({ completed, failed }) => completed + failed === 0)).toBe(
      true
    )
    await harness.advance(3_600_000)
    const later = await run(harness.queue.activity(null))
    expect(later.every(({ completed, failed }) => completed + failed === 0)).toBe(true)
  })
}
