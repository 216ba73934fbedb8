/**
 * The contract of the queue port, one suite for every implementation: the states and options of docs/guides/jobs.md. Times are those of the harness: in memory
 * they pass at once, on PostgreSQL what is stored is moved into the past.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { defineJob, type Job } from "../../adapters/queue/define.ts"
import type { EnqueuingDatabase } from "../../adapters/queue/enqueue.ts"
import { makeAttempts } from "../../core/app/job/attempt.ts"
import { compileJobs } from "../../core/domain/compile/jobs.ts"
import type { JobModel } from "../../core/domain/job/definition.ts"
import { planEnqueue } from "../../core/domain/job/enqueue.ts"
import { FatalJobError, LeftToOthers, RetryAt } from "../../core/domain/job/failure.ts"
import type { FailedJob, JobCounts, PendingJob } from "../../core/domain/job/state.ts"
import type { StandardSchema } from "../../core/domain/value/standard-schema.ts"
import type { PendingPage, QueueError, QueueService, RunAttempt, Workers } from "../../core/ports/queue.ts"

export interface QueueHarness {
  readonly queue: QueueService
  /** Enqueues at once. */
  readonly db: EnqueuingDatabase
  readonly transaction: (work: (tx: EnqueuingDatabase) => Promise<void>) => Promise<void>
  readonly start: (jobs: ReadonlyMap<string, JobModel>, attempt: RunAttempt) => Promise<Workers>
  /** Lets time pass for what is stored. */
  readonly advance: (milliseconds: number) => Promise<void>
  /** Lets workers go on until something holds; fails when it does not. */
  readonly until: (holds: () => boolean | Promise<boolean>) => Promise<void>
  /** The time now, in milliseconds. */
  readonly now: () => Promise<number>
  /** Whoever runs jobs now is as good as dead: their locks stay, what they do later must not count. */
  readonly loseWorkers: () => Promise<void>
  /** Removes all jobs and definitions. */
  readonly clear: () => Promise<void>
  readonly close: () => Promise<void>
}

const seconds = 1_000
const minutes = 60 * seconds
const days = 86_400 * seconds

/** A promise that somebody else resolves. */
const gate = (): { readonly opened: Promise<void>; readonly open: () => void } => {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

/** A schema that takes objects with a number `n`, and gives it doubled. */
const doubled: StandardSchema<{ readonly n: number }, number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) => {
      const n = typeof value === "object" && value !== null && "n" in value ? value.n : null
      return typeof n === "number" ? { value: n * 2 } : { issues: [{ message: "must be a number", path: ["n"] }] }
    }
  }
}

class ReadOnlyDatabase extends Error {
  readonly code = "25006"
}

/** The compiled forms of jobs. */
export const modelsOf = (...jobs: readonly Job<never>[]): ReadonlyMap<string, JobModel> => {
  const refused: string[] = []
  const models = compileJobs(jobs, (_, __, message) => refused.push(message))
  if (refused.length > 0) throw new Error(refused.join("\n"))
  return models
}

/** Runs the suite. `make` is called once. */
export const queueContract = (name: string, make: () => Promise<QueueHarness>): void => {
  describe(`queue: ${name}`, () => {
    let harness: QueueHarness
    const started: Workers[] = []
    const opened: Array<() => void> = []

    beforeAll(async () => {
      harness = await make()
    })
    afterAll(() => harness?.close())
    beforeEach(() => harness.clear())
    afterEach(async () => {
      for (const open of opened.splice(0)) open()
      await goes(Promise.all(started.splice(0).map((workers) => workers.stop())))
    })

    const start = async (...jobs: readonly Job<never>[]): Promise<Workers> => {
      const models = modelsOf(...jobs)
      const attempt = makeAttempts(models, {
        db: { query: async () => [], transaction: (work) => work({ query: async () => [] }) },
        mail: undefined
      })
      const workers = await harness.start(models, attempt)
      started.push(workers)
      return workers
    }
    /** Lets time pass until a promise has settled. */
    const goes = async (work: Promise<unknown>): Promise<void> => {
      let done = false
      const settled = work.finally(() => done = true)
      await harness.until(() => done)
      await settled
    }
    const held = () => {
      const made = gate()
      opened.push(made.open)
      return made
    }
    const run = <A>(effect: Effect.Effect<A, QueueError>): Promise<A> => Effect.runPromise(effect)
    const countsOf = async (job: string): Promise<JobCounts | undefined> =>
      (await run(harness.queue.counts)).find((each) => each.name === job)
    const has =
      (job: string, state: "waiting" | "running" | "retrying" | "failed" | "completed", count: number) => async () =>
        (await countsOf(job))?.[state] === count
    const failedJobs = (only: string | null = null): Promise<readonly FailedJob[]> =>
      run(harness.queue.failed({ name: only, after: null, limit: 100 }))
    /** Milliseconds until the next job of a name is due. */
    const wait = async (job: string): Promise<number> =>
      Date.parse((await countsOf(job))!.nextDue!) - await harness.now()

    it("runs a job with its payload, and keeps it as completed for 7 days", async () => {
      const seen: unknown[] = []
      const job = defineJob({ name: "plain", run: (payload, { job: running }) => void seen.push([payload, running]) })
      await start(job)
      const payload = { text: "ä 🚲 \\u0000 \\ud800 \u0001", list: [1, null], n: 1e21 }
      const id = await job.enqueue(harness.db, payload)
      await harness.until(has("plain", "completed", 1))
      expect(seen).toEqual([[payload, {
        id,
        name: "plain",
        attempt: 1,
        maxAttempts: 10
      }]])
      await harness.advance(6.9 * days)
      expect(await countsOf("plain")).toMatchObject({ completed: 1 })
      await harness.advance(1.2 * days)
      await harness.until(has("plain", "completed", 0))
    })

    it("gives `run` what the schema makes of the payload, and nothing at all as undefined", async () => {
      const seen: unknown[] = []
      const number = defineJob({ name: "number", payload: doubled, run: (payload) => void seen.push(payload) })
      const bare = defineJob({ name: "bare", run: (payload) => void seen.push(payload) })
      await start(number, bare)
      await number.enqueue(harness.db, { n: 21 })
      await harness.until(() => seen.length === 1)
      await bare.enqueue(harness.db)
      await harness.until(() => seen.length === 2)
      expect(seen).toEqual([42, undefined])
    })

    it("refuses at enqueue what cannot be, and keeps nothing of it", async () => {
      const number = defineJob({ name: "number", payload: doubled, run: () => {} })
      const ordered = defineJob<{ n: number }>({ name: "ordered", ordered: true, run: () => {} })
      await start(number, ordered)
      const refused = (work: Promise<unknown>, text: RegExp) => expect(work).rejects.toThrow(text)
      await refused(number.enqueue(harness.db, { n: "x" } as never), /"number" is refused: n: must be a number/)
      await refused(number.enqueue(harness.db, { n: 1 }, { group: "a" }), /not ordered: it takes no group/)
      await refused(ordered.enqueue(harness.db, { n: 1 }), /ordered: it needs a group/)
      await refused(ordered.enqueue(harness.db, { n: 1 }, { group: "a", key: "k" }), /ordered: it takes no key/)
      await refused(number.enqueue(harness.db, { n: 1 }, { runAt: new Date(), delay: 1 }), /not both/)
      await refused(number.enqueue(harness.db, { n: 1 }, { priority: 40_000 }), /priority/)
      await refused(
        ordered.enqueue(harness.db, { n: 1, more: "x".repeat(262_144) } as never, { group: "a" }),
        /at most 262144/
      )
      await refused(number.enqueue(harness.db, { n: 1 }, { runat: new Date() } as never), /no option "runat"/)
      // The queue itself refuses them, too: others enqueue by SQL.
      const plan = (options: object, as: Job<never>) =>
        run(
          harness.queue.enqueue([
            Result.getOrThrow(planEnqueue({ name: as.name, ordered: null, maxAttempts: null }, "null", options))
          ])
        )
      await refused(plan({}, ordered), /needs a group/)
      await refused(plan({ group: "a", key: "k" }, ordered), /takes no key/)
      await refused(plan({ group: "a" }, number as never), /takes no group/)
      for (const each of await run(harness.queue.counts)) {
        expect(each).toMatchObject({ waiting: 0, running: 0, completed: 0 })
      }
    })

    it("refuses NUL and half an emoji at enqueue, in code with their place, and takes what only looks like them", async () => {
      const job = defineJob<unknown>({ name: "texts", run: () => {} })
      await start(job)
      const plan = (payload: string) =>
        run(harness.queue.enqueue([
          Result.getOrThrow(planEnqueue({ name: "texts", ordered: null, maxAttempts: null }, payload, {}))
        ]))
      for (const bad of ["\0", "a\ud83d", "\udeb2b"]) {
        await expect(job.enqueue(harness.db, { order: [{ note: bad }] })).rejects.toThrow(/no NUL.*order\.0\.note/)
        await expect(job.enqueue(harness.db, { [bad]: 1 })).rejects.toThrow(/no NUL.*a name/)
        await expect(job.enqueue(harness.db, bad)).rejects.toThrow(/no NUL/)
        await expect(plan(JSON.stringify({ note: bad }))).rejects.toThrow(/no NUL character and no half/)
      }
      await plan("{\"note\":\"\\ud83d\\udeb2 \\\\u0000\"}")
      await harness.until(has("texts", "completed", 1))
      expect(await countsOf("texts")).toMatchObject({ waiting: 0, failed: 0 })
    })

    it("is there when its transaction commits, and never was when that rolls back", async () => {
      const seen: unknown[] = []
      const job = defineJob<string>({ name: "within", run: (payload) => void seen.push(payload) })
      await start(job)
      await expect(harness.transaction(async (tx) => {
        await job.enqueue(tx, "rolled back")
        throw new Error("no")
      })).rejects.toThrow("no")
      await harness.transaction(async (tx) => void await job.enqueue(tx, "committed"))
      await harness.until(() => seen.length > 0)
      await harness.until(has("within", "completed", 1))
      expect(seen).toEqual(["committed"])
      expect(await countsOf("within")).toMatchObject({ waiting: 0, running: 0 })
    })

    it("enqueues many in one statement", async () => {
      const job = defineJob<number>({ name: "many", run: () => {} })
      const ids = await job.enqueueMany(
        harness.db,
        [1, 2, 3].map((payload) => ({ payload, options: { delay: "1 hour" } }))
      )
      expect(new Set(ids).size).toBe(3)
      expect(await countsOf("many")).toMatchObject({ waiting: 3 })
    })

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

    it("is taken back while nobody has started it", async () => {
      const job = defineJob({ name: "back", run: () => {} })
      const plans = [1, 2].map((delayMs) => ({
        name: "back",
        payload: "1",
        runAt: null,
        delayMs: delayMs * 3_600_000,
        priority: 0,
        key: null,
        mode: "dedupe" as const,
        group: null,
        ordered: false,
        maxAttempts: 1
      }))
      const ids = await run(harness.queue.enqueue(plans))
      await run(harness.queue.cancel([ids[0]!]))
      await run(harness.queue.cancel([ids[0]!]))
      const waiting = (await run(harness.queue.counts)).find(({ name }) => name === job.name)
      expect(waiting).toMatchObject({ waiting: 1, failed: 0, completed: 0 })
    })

    const pending = (
      page: Partial<Exclude<PendingPage, { readonly id: string }>> = {}
    ): Promise<readonly PendingJob[]> =>
      run(harness.queue.pending({ name: null, state: null, after: null, limit: 100, ...page }))
    const refusal = (work: Effect.Effect<unknown, QueueError>): Promise<string> =>
      run(Effect.match(work, { onFailure: ({ message }) => message, onSuccess: () => "done" }))

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
        timeout: "30 seconds",
        maxAttempts: 1,
        run: async (_, { signal }) => {
          signal.addEventListener("abort", () => reasons.push((signal.reason as Error).message))
          await never.opened
        }
      })
      await start(job)
      await job.enqueue(harness.db)
      await harness.until(has("slow", "failed", 1))
      expect(reasons).toEqual(["The try ran longer than its timeout of 30000 ms."])
      expect((await failedJobs())[0]!.error).toBe(reasons[0])
    })

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

    it("runs higher priorities first, and nothing before its time", async () => {
      const seen: string[] = []
      const job = defineJob<string>({ name: "turns", run: (payload) => void seen.push(payload) })
      const now = await harness.now()
      await job.enqueue(harness.db, "usual 1")
      await job.enqueue(harness.db, "usual 2")
      await job.enqueue(harness.db, "low", { priority: -5 })
      await job.enqueue(harness.db, "high", { priority: 7 })
      await job.enqueue(harness.db, "past", { priority: 6, runAt: new Date(now - days) })
      await job.enqueue(harness.db, "later", { priority: 9, delay: "1 hour" })
      await job.enqueue(harness.db, "much later", { runAt: new Date(now + 2 * 3_600 * seconds) })
      await start(job)
      await harness.until(has("turns", "completed", 5))
      expect(seen).toEqual(["high", "past", "usual 1", "usual 2", "low"])
      await harness.advance(61 * minutes)
      await harness.until(has("turns", "completed", 6))
      expect(seen.at(-1)).toBe("later")
    })

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
        // One each fifth of a second.
        rate: { jobs: 10, per: "2 seconds", burst: 1 },
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
      expect(Math.max(...starts) - begun).toBeGreaterThanOrEqual(14 * 200)
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
      await harness.until(() => seen.length >= 3)
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
      expect(await run(workers.drain(500))).toMatchObject({ drained: false, remaining: 1 })
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

    const pause = (job: string, paused: boolean, ordered: boolean | null = null) =>
      run(harness.queue.pause(job, paused, ordered))

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
  })
}
