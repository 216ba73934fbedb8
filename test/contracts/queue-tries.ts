/** The queue contract: tries: waits between them, how they end, what a try tells, what becomes of failed jobs. */

import * as Result from "effect/Result"
import { expect, it } from "vitest"
import { defineJob } from "../../adapters/queue/define.ts"
import { planEnqueue } from "../../core/domain/job/enqueue.ts"
import { FatalJobError, LeftToOthers, RetryAt } from "../../core/domain/job/failure.ts"
import { days, doubled, minutes, type QueueWords, ReadOnlyDatabase, seconds } from "./queue-words.ts"

export const triesSuite = ({ countsOf, failedJobs, harness, has, held, run, start, wait }: QueueWords): void => {
  it("retries with waits that double up to the ceiling, then keeps it as failed", async () => {
    let tries = 0
    const job = defineJob<{ n: number }>({
      name: "failing",
      maxAttempts: 4,
      retryDelay: "1 minute",
      maxRetryDelay: "3 minutes",
      run: () => {
        throw new Error(`no ${++tries}\u0000\ud800`)
      }
    })
    await start(job)
    const id = await job.enqueue(harness.db, { n: 1 })
    for (const [index, most] of [1, 2, 3].entries()) {
      await harness.until(async () => tries === index + 1 && (await countsOf("failing"))?.retrying === 1)
      const left = await wait("failing")
      expect(left).toBeLessThanOrEqual(most * minutes)
      expect(left).toBeGreaterThan(most * minutes * 0.75 - 20 * seconds)
      await harness.advance(left + 1)
    }
    await harness.until(has("failing", "failed", 1))
    expect(tries).toBe(4)
    const [failed] = await failedJobs()
    expect(failed).toMatchObject({ id, name: "failing", attempts: 4, error: "no 4\ufffd", group: null })
    expect(JSON.parse(failed!.payload!)).toEqual({ n: 1 })
  })

  it("keeps the last five errors of a job with their stacks, also over another try by hand, until it is gone", async () => {
    let tries = 0
    const job = defineJob({
      name: "remembered",
      maxAttempts: 6,
      retryDelay: 0,
      run: function failingTry() {
        if (++tries <= 6) throw new Error(`no ${tries}\u001e`, { cause: new TypeError("deeper") })
        return Promise.resolve()
      }
    })
    await start(job)
    const id = await job.enqueue(harness.db)
    await harness.until(async () => {
      await harness.advance(1 * seconds)
      return await has("remembered", "failed", 1)()
    })
    const errors = await run(harness.queue.errors(id))
    expect(errors.map(({ attempt, message }) => [attempt, message])).toEqual(
      [6, 5, 4, 3, 2].map((attempt) => [attempt, `no ${attempt}`])
    )
    for (const { at, stack } of errors) {
      expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
      expect(stack).toMatch(/^at .*failingTry/)
      expect(stack).toContain("\nCaused by TypeError\nat ")
      expect(stack).not.toContain("Error: no")
    }
    expect((await failedJobs())[0]).toMatchObject({ id, error: "no 6" })
    expect(await run(harness.queue.errors("none"))).toEqual([])
    await run(harness.queue.pause("remembered", true, false))
    await run(harness.queue.retry({ id }))
    expect((await run(harness.queue.errors(id))).length).toBe(5)
    await run(harness.queue.pause("remembered", false, false))
    await harness.until(has("remembered", "completed", 1))
    expect(await run(harness.queue.errors(id))).toEqual([])
  })

  it("forgets the error of a job that failed at its first try, and was cancelled before the next one by hand", async () => {
    const job = defineJob({
      name: "cancelled",
      maxAttempts: 1,
      run: () => {
        throw new Error("no")
      }
    })
    await start(job)
    const id = await job.enqueue(harness.db)
    await harness.until(has("cancelled", "failed", 1))
    expect(await run(harness.queue.errors(id))).toHaveLength(1)
    await run(harness.queue.pause("cancelled", true, false))
    await run(harness.queue.retry({ id }))
    expect(await run(harness.queue.withdraw(id))).toBe(true)
    expect(await run(harness.queue.errors(id))).toEqual([])
  })

  it("takes waits one by one where they are given, and the time that a try asks for", async () => {
    let tries = 0
    const at = await harness.now() + 40 * minutes
    const job = defineJob({
      name: "stepped",
      retrySteps: ["5 m", "30 m"],
      run: () => {
        if (++tries === 3) throw new RetryAt(new Date(at + 6 * 3_600 * seconds), "later")
        throw new Error("no")
      }
    })
    await start(job)
    await job.enqueue(harness.db)
    await harness.until(async () => tries === 1 && await has("stepped", "retrying", 1)())
    const first = await wait("stepped")
    expect(first).toBeGreaterThan(4.5 * minutes)
    expect(first).toBeLessThan(5.6 * minutes)
    await harness.advance(5.6 * minutes)
    await harness.until(async () => tries === 2 && await has("stepped", "retrying", 1)())
    expect(await wait("stepped")).toBeGreaterThan(29 * minutes)
    await harness.advance(33.1 * minutes)
    await harness.until(async () => tries === 3 && await has("stepped", "retrying", 1)())
    expect(await wait("stepped")).toBeGreaterThan(5 * 3_600 * seconds)
  })

  it("counts no try that was left to others, however few there are", async () => {
    let tries = 0
    const attempts: number[] = []
    const job = defineJob({
      name: "left",
      maxAttempts: 2,
      retryDelay: 0,
      run: async (_, { job: { attempt } }) => {
        attempts.push(attempt)
        if (++tries < 4) throw new LeftToOthers(new Date(await harness.now() + 60 * seconds), "not here")
        throw new Error("here")
      }
    })
    await start(job)
    await job.enqueue(harness.db)
    for (let left = 1; left < 4; left++) {
      await harness.until(async () => tries === left && await wait("left") > 50 * seconds)
      await harness.advance(61 * seconds)
    }
    await harness.until(has("left", "failed", 1))
    expect(attempts).toEqual([1, 1, 1, 1, 2])
  })

  it("fails at once for FatalJobError and for a payload that is refused when it runs", async () => {
    const fatal = defineJob({
      name: "fatal",
      run: () => {
        throw new FatalJobError("for good")
      }
    })
    const number = defineJob({ name: "number", payload: doubled, run: () => {} })
    await start(fatal, number)
    await fatal.enqueue(harness.db)
    await run(harness.queue.enqueue([
      Result.getOrThrow(planEnqueue({ name: "number", ordered: null, maxAttempts: null }, "{\"n\":\"x\"}", {}))
    ]))
    await harness.until(async () => (await failedJobs()).length === 2)
    const errors = (await failedJobs()).map(({ attempts, error, name: of }) => `${of} ${attempts} ${error}`)
      .toSorted()
    expect(errors).toEqual(["fatal 1 for good", "number 1 The payload is refused: n: must be a number"])
  })

  it("gives a failed job one more try, deletes one, and does both for all of a name", async () => {
    let fails = true
    const job = defineJob<number>({
      name: "again",
      maxAttempts: 2,
      retryDelay: 0,
      run: () => {
        if (fails) throw new Error("no")
      }
    })
    await start(job)
    const ids = await job.enqueueMany(harness.db, [1, 2, 3].map((payload) => ({ payload })))
    await harness.until(has("again", "failed", 3))
    expect(await failedJobs("other")).toEqual([])
    const [first] = await run(harness.queue.failed({ name: "again", after: null, limit: 1 }))
    const rest = await run(harness.queue.failed({ name: "again", after: first!, limit: 10 }))
    expect([first!, ...rest].map(({ id }) => id).toSorted()).toEqual([...ids].toSorted())
    // Payloads that are too long for who asks stay where they are.
    for (const [longest, payload] of [[0, null], [1, first!.payload]] as const) {
      expect(await run(harness.queue.failed({ name: "again", after: null, limit: 1, longest }))).toEqual([
        { ...first!, payload, payloadBytes: 1 }
      ])
    }
    expect(await run(harness.queue.failed({ id: first!.id }))).toEqual([first!])
    expect(await run(harness.queue.failed({ id: "no id" }))).toEqual([])

    expect(await run(harness.queue.retry({ id: ids[0]! }))).toBe(1)
    await harness.until(async () => (await failedJobs()).some(({ attempts, id }) => id === ids[0] && attempts === 3))
    expect(await run(harness.queue.remove({ id: ids[1]! }))).toBe(1)
    expect(await run(harness.queue.remove({ id: ids[1]! }))).toBe(0)
    expect(await run(harness.queue.remove({ id: "no id" }))).toBe(0)
    fails = false
    expect(await run(harness.queue.retry({ name: "again" }))).toBe(2)
    await harness.until(has("again", "completed", 2))
    expect(await run(harness.queue.remove({ name: "again" }))).toBe(0)
  })

  it("keeps failed jobs for 7 days, and deletes what has waited for 14", async () => {
    const job = defineJob({
      name: "old",
      maxAttempts: 1,
      run: () => {
        throw new Error("no")
      }
    })
    await start(job)
    await job.enqueue(harness.db)
    await harness.until(has("old", "failed", 1))
    const nobody = defineJob({ name: "nobody", run: () => {} })
    await nobody.enqueue(harness.db)
    await nobody.enqueue(harness.db, undefined, { delay: "10 days" })
    await harness.advance(6.9 * days)
    expect(await countsOf("old")).toMatchObject({ failed: 1 })
    await harness.advance(1.3 * days)
    await harness.until(has("old", "failed", 0))
    expect(await countsOf("nobody")).toMatchObject({ waiting: 2 })
    await harness.advance(7 * days)
    await harness.until(has("nobody", "waiting", 1))
  })

  it("counts a try past its timeout as failed, and tells the job", async () => {
    const reasons: string[] = []
    const never = held()
    const job = defineJob({
      name: "slow",
      timeout: "10 seconds",
      maxAttempts: 1,
      run: async (_, { signal }) => {
        signal.addEventListener("abort", () => reasons.push((signal.reason as Error).message))
        await never.opened
      }
    })
    await start(job)
    await job.enqueue(harness.db)
    await harness.until(has("slow", "failed", 1))
    expect(reasons).toEqual(["The try ran longer than its timeout of 10000 ms."])
    expect((await failedJobs())[0]!.error).toBe(reasons[0])
  })

  it("runs again without using up a try while the database takes no writes", async () => {
    let calls = 0
    const attempts: number[] = []
    const job = defineJob({
      name: "readonly",
      run: (_, { job: { attempt } }) => {
        attempts.push(attempt)
        if (++calls < 4) throw new Error("wrapped", { cause: new ReadOnlyDatabase("read-only") })
      }
    })
    await start(job)
    await job.enqueue(harness.db)
    await harness.until(has("readonly", "completed", 1))
    expect(attempts).toEqual([1, 1, 1, 1])
  })

  it("ends the wait for writes with the timeout of the try", async () => {
    const job = defineJob({
      name: "readonly",
      timeout: "12 seconds",
      maxAttempts: 1,
      run: () => {
        throw new ReadOnlyDatabase("read-only")
      }
    })
    await start(job)
    await job.enqueue(harness.db)
    await harness.until(has("readonly", "failed", 1))
    expect((await failedJobs())[0]!.error).toContain("timeout")
  })

  it("tells who runs, since when, and what the try told of itself: the last of a second, and nothing of earlier tries or lost ones", async () => {
    const gates = [held(), held(), held()]
    const steps: Array<(done: number, total?: number | null, note?: string | null) => void> = []
    const job = defineJob<string>({
      name: "long",
      retryDelay: 0,
      timeout: "1 day",
      maxAttempts: 3,
      run: async (_, { progress }) => {
        const at = steps.push(progress) - 1
        progress(at, 10, `try ${at}\0 \ud800${"x".repeat(300)}`)
        await gates[at]?.opened
        if (at === 0) throw new Error("no")
      }
    })
    const running = (only: string | null = null) => run(harness.queue.running({ name: only, after: null, limit: 10 }))
    const told = async () => (await running())[0]?.progress ?? null
    await start(job)
    const id = await job.enqueue(harness.db, "ä")
    await harness.until(async () => (await told())?.done === 0)
    const [first] = await running("long")
    expect(first).toMatchObject({
      id,
      attempt: 1,
      maxAttempts: 3,
      group: null,
      payload: "\"ä\"",
      payloadBytes: 4,
      progress: { total: 10, note: expect.stringMatching(/^try 0 \ufffdx{180,}$/) }
    })
    expect(Math.abs(Date.parse(first!.startedAt) - await harness.now())).toBeLessThan(30 * seconds)
    expect(await run(harness.queue.running({ id }))).toMatchObject([{ id }])
    expect(await run(harness.queue.running({ id: "no id" }))).toEqual([])
    expect(await running("none")).toEqual([])
    expect(await run(harness.queue.running({ name: null, after: first!, limit: 10 }))).toEqual([])
    for (let done = 1; done <= 7; done++) steps[0]!(done)
    await harness.until(async () => (await told())?.done === 7)
    expect(await told()).toMatchObject({ total: null, note: null })
    for (const wrong of [[NaN], [-1], [1, -1], [1, 2, 3], ["1"]]) {
      expect(() => (steps[0] as (...all: readonly unknown[]) => void)(...wrong)).toThrow(TypeError)
    }
    // Another try begins with nothing, and one that has ended says nothing more.
    gates[0]!.open()
    await harness.until(async () => steps.length === 2 && (await told())?.done === 1)
    steps[0]!(9)
    await harness.advance(5 * seconds)
    expect(await told()).toMatchObject({ done: 1 })
    // Who lost the job writes nothing about it.
    await harness.loseWorkers()
    await start(job)
    await harness.advance(31 * seconds)
    await harness.until(async () => steps.length === 3 && (await told())?.done === 2)
    steps[1]!(8)
    await harness.advance(5 * seconds)
    expect(await told()).toMatchObject({ done: 2 })
    for (const each of gates) each.open()
    await harness.until(has("long", "completed", 1))
    expect(await running()).toEqual([])
  })
}
