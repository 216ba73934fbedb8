/** The queue contract: pauses. */

import { expect, it } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import { days, type QueueWords, seconds } from "./queue-words.ts"

export const pausesSuite = ({ countsOf, harness, has, held, pause, pending, run, start }: QueueWords): void => {
  it("begins nothing of a paused name, on no worker, until it is resumed; what runs goes on, and other names do", async () => {
    const gates = held()
    const seen: string[] = []
    const job = defineJob<string>({
      name: "paused",
      run: async (payload) => {
        if (payload === "held") await gates.opened
        seen.push(payload)
      }
    })
    const other = defineJob<string>({ name: "other", run: (payload) => void seen.push(payload) })
    await start(job, other)
    await job.enqueue(harness.db, "held")
    await harness.until(has("paused", "running", 1))
    expect(await pause("none", true)).toBeNull()
    expect((await countsOf("paused"))!.pausedAt).toBeNull()
    const since = (await pause("paused", true))!.pausedAt
    expect(Math.abs(Date.parse(since!) - await harness.now())).toBeLessThan(30 * seconds)
    // Again, it is paused since then.
    expect(await pause("paused", true)).toEqual({ pausedAt: since })
    const late = await job.enqueue(harness.db, "late", { delay: "1 hour" })
    await job.enqueue(harness.db, "waits")
    gates.open()
    await harness.until(has("paused", "completed", 1))
    expect(await run(harness.queue.nextDue)).toBeNull()
    // A worker that starts now knows it, too.
    const more = await start(job)
    expect(await run(more.drain(20 * seconds))).toEqual({ drained: true, remaining: 0, nextDue: null })
    expect(await run(harness.queue.hurry(late))).toBe(true)
    await harness.advance(10 * seconds)
    await other.enqueue(harness.db, "other")
    await harness.until(has("other", "completed", 1))
    expect(await countsOf("paused")).toMatchObject({ waiting: 2, running: 0, completed: 1, pausedAt: since })
    expect(seen).toEqual(["held", "other"])
    expect(await pause("paused", false)).toEqual({ pausedAt: null })
    await harness.until(has("paused", "completed", 3))
    expect(seen.toSorted()).toEqual(["held", "late", "other", "waits"])
    expect((await countsOf("paused"))!.pausedAt).toBeNull()
  })

  it("keeps what a pause holds back, however long, with one run of a schedule; retries wait, too", async () => {
    let fails = true
    const seen: string[] = []
    const tick = defineJob({ name: "tick", schedule: "* * * * * *", run: () => void seen.push("tick") })
    const failing = defineJob<string>({
      name: "failing",
      retryDelay: "1 minute",
      run: (payload) => {
        if (fails) throw new Error("no")
        seen.push(payload)
      }
    })
    // A name that is declared, and has no queue yet.
    expect(await pause("tick", true, false)).toMatchObject({ pausedAt: expect.any(String) })
    await start(tick as never, failing)
    await failing.enqueue(harness.db, "failing")
    await harness.until(has("failing", "retrying", 1))
    await pause("failing", true)
    fails = false
    await harness.advance(20 * days)
    const [due] = await pending({ name: "tick" })
    expect(await countsOf("tick")).toMatchObject({ waiting: 1, completed: 0 })
    // It can be left out while the name is paused: the schedule has its next run all the same.
    expect(await run(harness.queue.withdraw(due!.id))).toBe(true)
    await harness.until(has("tick", "waiting", 1))
    await harness.advance(3 * seconds)
    expect(await countsOf("tick")).toMatchObject({ waiting: 1, completed: 0 })
    expect(seen).toEqual([])
    await pause("failing", false)
    await pause("tick", false)
    await harness.until(has("failing", "completed", 1))
    await harness.until(async () => (await countsOf("tick"))!.completed > 0)
  })
}
