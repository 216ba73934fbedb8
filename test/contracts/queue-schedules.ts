/** The queue contract: schedules. */

import { expect, it } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import { modelsOf, type QueueWords, seconds } from "./queue-words.ts"

export const schedulesSuite = ({ countsOf, harness, has, pending, refusal, run, start }: QueueWords): void => {
  it("runs a recurring job at each of its times, once however many workers there are", async () => {
    const seen: string[] = []
    const job = defineJob({
      name: "tick",
      schedule: "* * * * * *",
      run: (payload, { job: { id } }) => {
        expect(payload).toBeUndefined()
        seen.push(id)
      }
    })
    await start(job)
    await start(job)
    await start(job)
    await harness.until(() => seen.length >= 2)
    expect(new Set(seen).size).toBe(seen.length)
    expect(await countsOf("tick")).toMatchObject({ failed: 0 })
  })

  it("says when a schedule runs next, and what became of its latest run; jobs made by hand are none", async () => {
    const job = defineJob({
      name: "told",
      schedule: "* * * * * *",
      maxAttempts: 1,
      concurrency: 2,
      run: (payload) => {
        if (payload === undefined) throw new Error("no")
      }
    })
    const daily = defineJob({ name: "calm", schedule: "0 7 * * *", run: () => {} })
    expect(await countsOf("told")).toBeUndefined()
    await start(job as never, daily as never)
    await daily.enqueue(harness.db)
    await harness.until(has("calm", "completed", 1))
    const calm = await countsOf("calm")
    expect(calm).toMatchObject({ lastRun: null })
    expect(calm!.nextRun!.slice(11)).toBe("07:00:00.000000Z")
    await harness.until(has("told", "failed", 1))
    const told = await countsOf("told")
    expect(told!.lastRun!.state).toBe("failed")
    expect(Math.abs(Date.parse(told!.lastRun!.at) - await harness.now())).toBeLessThan(30 * seconds)
    expect(Date.parse(told!.nextRun!)).toBeGreaterThan(Date.parse(told!.lastRun!.at) - 2 * seconds)
  })

  it("drops the waiting run of a schedule that changed, and of a job that lost its schedule", async () => {
    const daily = defineJob({ name: "daily", schedule: "0 7 * * *", timezone: "Europe/Berlin", run: () => {} })
    const other = defineJob({ name: "daily", schedule: "30 19 * * *", run: () => {} })
    const none = defineJob({ name: "daily", run: () => {} })
    const more = defineJob({ name: "more", run: () => {} })
    const hour = async () => new Date((await countsOf("daily"))!.nextDue!).toISOString().slice(11, 16)
    await (await start(daily)).stop()
    expect(["05:00", "06:00"]).toContain(await hour())
    await (await start(daily)).stop()
    expect(await countsOf("daily")).toMatchObject({ waiting: 1 })
    await (await start(other)).stop()
    expect(await hour()).toBe("19:30")
    expect(await countsOf("daily")).toMatchObject({ waiting: 1 })
    await (await start(none)).stop()
    expect(await countsOf("daily")).toMatchObject({ waiting: 0 })
    await (await start(daily)).stop()
    await (await start(more)).stop()
    expect(await countsOf("daily")).toMatchObject({ waiting: 0 })
  })

  it("is not begun before its time when it is a run of a schedule, and is left out for good when that is removed", async () => {
    const daily = defineJob({ name: "daily", schedule: "0 7 * * *", timezone: "Europe/Berlin", run: () => {} })
    const { schedule } = modelsOf(daily).get("daily")!
    await start(daily)
    const [first] = await pending()
    expect(first).toMatchObject({ name: "daily", payload: "null", held: false })
    expect(await refusal(harness.queue.hurry(first!.id))).toContain("begins at its time")
    expect(await run(harness.queue.withdraw(first!.id))).toBe(true)
    const next = async () => (await pending()).map(({ runAt }) => Date.parse(runAt))
    const later = [schedule!.next(new Date(first!.runAt))!.getTime()]
    expect(await next()).toEqual(later)
    // Another worker that starts makes the next one only if it is missing, and never the removed one.
    await (await start(daily)).stop()
    expect(await next()).toEqual(later)
    expect(await countsOf("daily")).toMatchObject({ waiting: 1, completed: 0, lastRun: null })
    expect(Date.parse((await countsOf("daily"))!.nextRun!)).toBe(later[0])
  })
}
