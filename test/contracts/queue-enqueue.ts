/** The queue contract: what is enqueued: payloads, options, transactions, priorities. */

import * as Result from "effect/Result"
import { expect, it } from "vitest"
import { defineJob, type Job } from "../../adapters/queue/define.ts"
import { planEnqueue } from "../../core/domain/job/enqueue.ts"
import { days, doubled, minutes, type QueueWords, seconds } from "./queue-words.ts"

export const enqueueSuite = ({ countsOf, harness, has, run, start }: QueueWords): void => {
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
}
