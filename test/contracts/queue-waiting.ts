/** The queue contract: jobs that wait, as people see and change them. */

import { expect, it } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import { minutes, type QueueWords } from "./queue-words.ts"

export const waitingSuite = ({ countsOf, harness, has, held, pending, refusal, run, start }: QueueWords): void => {
  it("is listed while it waits, soonest first, and while it waits for its next try with its last error", async () => {
    const job = defineJob<{ n: number }>({
      name: "trying",
      maxAttempts: 3,
      retryDelay: "1 hour",
      run: () => {
        throw new Error("away")
      }
    })
    const nobody = defineJob<string>({ name: "nobody", run: () => {} })
    const group = defineJob<number>({ name: "grouped", ordered: true, run: () => {} })
    await start(job)
    const tried = await job.enqueue(harness.db, { n: 1 })
    await harness.until(has("trying", "retrying", 1))
    const late = await nobody.enqueue(harness.db, "ä", { delay: "3 hours" })
    const [head, next] = [
      await group.enqueue(harness.db, 1, { group: "a", delay: "2 hours" }),
      await group.enqueue(harness.db, 2, { group: "a", delay: "150 minutes" })
    ]
    const all = await pending()
    expect(all.map(({ id }) => id)).toEqual([tried, head, next, late])
    const of = { state: "waiting", attempts: 0, error: "", group: null, held: false }
    expect(all).toMatchObject([
      { ...of, name: "trying", state: "retrying", attempts: 1, maxAttempts: 3, error: "away", payloadBytes: 7 },
      { ...of, name: "grouped", group: "a", payload: "1" },
      { ...of, name: "grouped", group: "a", held: true, payload: "2" },
      { ...of, name: "nobody", payload: "\"ä\"", payloadBytes: 4 }
    ])
    expect(all[0]!.runAt).toBe((await countsOf("trying"))!.nextDue)
    expect(Date.parse(all[3]!.runAt) - Date.parse(all[3]!.enqueuedAt)).toBe(180 * minutes)

    expect(await pending({ name: "grouped" })).toEqual(all.slice(1, 3))
    expect(await pending({ name: "none" })).toEqual([])
    expect(await pending({ state: "waiting" })).toEqual(all.slice(1))
    expect(await pending({ state: "retrying" })).toEqual(all.slice(0, 1))
    for (const at of [0, 1, 2]) {
      expect(await pending({ limit: 1, after: all[at]! })).toEqual([all[at + 1]])
    }
    expect(await pending({ name: "nobody", longest: 3 })).toEqual([{ ...all[3]!, payload: null }])
    expect(await run(harness.queue.pending({ id: next }))).toEqual([all[2]])
    for (const id of ["0", "no id", "99999999999999999999"]) {
      expect(await run(harness.queue.pending({ id }))).toEqual([])
    }
  })

  it("is made due now while it waits: not when it runs, has ended, or has others of its group before it", async () => {
    const gates = held()
    const seen: string[] = []
    let tries = 0
    const job = defineJob<string>({
      name: "hurried",
      maxAttempts: 2,
      retryDelay: "5 hours",
      run: async (payload) => {
        if (payload === "held") await gates.opened
        if (payload === "fails" && ++tries === 1) throw new Error("no")
        seen.push(payload)
      }
    })
    const group = defineJob<string>({ name: "grouped", ordered: true, run: (payload) => void seen.push(payload) })
    await start(job, group)
    const late = await job.enqueue(harness.db, "late", { delay: "9 hours" })
    const fails = await job.enqueue(harness.db, "fails")
    await harness.until(has("hurried", "retrying", 1))
    const first = await group.enqueue(harness.db, "first", { group: "a", delay: "9 hours" })
    const second = await group.enqueue(harness.db, "second", { group: "a", delay: "9 hours" })
    expect(await refusal(harness.queue.hurry(second))).toBe("Other jobs of its group come first.")
    expect(seen).toEqual([])
    expect(await run(harness.queue.hurry(late))).toBe(true)
    await harness.until(() => seen.length === 1)
    expect(await run(harness.queue.hurry(fails))).toBe(true)
    await harness.until(() => seen.length === 2)
    expect(await run(harness.queue.hurry(first))).toBe(true)
    await harness.until(has("grouped", "completed", 1))
    expect(seen).toEqual(["late", "fails", "first"])
    // The next of the group has a time of its own, and is the first now.
    expect(await pending()).toMatchObject([{ id: second, held: false }])
    expect(await run(harness.queue.hurry(second))).toBe(true)
    await harness.until(has("grouped", "completed", 2))

    const running = await job.enqueue(harness.db, "held")
    await harness.until(has("hurried", "running", 1))
    for (const id of [running, late, "0", "no id"]) expect(await run(harness.queue.hurry(id))).toBe(false)
  })

  it("is removed while it waits, whether it was tried or not; its group goes on, and what runs is left alone", async () => {
    const gates = held()
    const seen: string[] = []
    const job = defineJob<string>({
      name: "removed",
      retryDelay: "5 hours",
      run: async (payload) => {
        if (payload === "held") await gates.opened
        if (payload === "fails") throw new Error("no")
        seen.push(payload)
      }
    })
    const group = defineJob<string>({
      name: "grouped",
      ordered: true,
      retryDelay: "5 hours",
      run: (payload) => {
        if (payload === "fails") throw new Error("no")
        seen.push(payload)
      }
    })
    await start(job, group)
    const fails = await job.enqueue(harness.db, "fails")
    await harness.until(has("removed", "retrying", 1))
    const late = await job.enqueue(harness.db, "late", { delay: "9 hours" })
    const running = await job.enqueue(harness.db, "held")
    await harness.until(has("removed", "running", 1))
    const head = await group.enqueue(harness.db, "fails", { group: "a" })
    await harness.until(has("grouped", "retrying", 1))
    const behind = await group.enqueue(harness.db, "behind", { group: "a" })
    await group.enqueue(harness.db, "last", { group: "a" })
    for (const id of [fails, late, behind, head]) {
      expect(await run(harness.queue.withdraw(id))).toBe(true)
      expect(await run(harness.queue.withdraw(id))).toBe(false)
    }
    for (const id of [running, "0", "no id"]) expect(await run(harness.queue.withdraw(id))).toBe(false)
    await harness.until(has("grouped", "completed", 1))
    expect(seen).toEqual(["last"])
    gates.open()
    await harness.until(has("removed", "completed", 1))
    expect(await pending()).toEqual([])
    // Of a group that is empty again, the next one is the first.
    const only = await group.enqueue(harness.db, "only", { group: "a", delay: "1 hour" })
    expect(await run(harness.queue.withdraw(only))).toBe(true)
    await group.enqueue(harness.db, "after", { group: "a" })
    await harness.until(has("grouped", "completed", 2))
    expect(seen).toEqual(["last", "held", "after"])
  })

  it("waits again, without tries used, as one more state would say, when it is retried by hand", async () => {
    const job = defineJob({
      name: "byhand",
      maxAttempts: 1,
      run: () => {
        throw new Error("no")
      }
    })
    const workers = await start(job)
    await job.enqueue(harness.db)
    await harness.until(has("byhand", "failed", 1))
    await workers.stop()
    await run(harness.queue.retry({ name: "byhand" }))
    expect(await countsOf("byhand")).toMatchObject({ waiting: 1, retrying: 0, failed: 0 })
  })
}
