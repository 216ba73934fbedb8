/** What the suites of the queue contract share: the harness that an implementation brings, and the words over it. */

import * as Effect from "effect/Effect"
import type { Job } from "../../adapters/queue/define.ts"
import type { EnqueuingDatabase } from "../../adapters/queue/enqueue.ts"
import { makeAttempts } from "../../core/app/job/attempt.ts"
import { compileJobs } from "../../core/domain/compile/jobs.ts"
import type { JobModel } from "../../core/domain/job/definition.ts"
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

export const seconds = 1_000
export const minutes = 60 * seconds
export const days = 86_400 * seconds

/** A promise that somebody else resolves. */
const gate = (): { readonly opened: Promise<void>; readonly open: () => void } => {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

/** A schema that takes objects with a number `n`, and gives it doubled. */
export const doubled: StandardSchema<{ readonly n: number }, number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) => {
      const n = typeof value === "object" && value !== null && "n" in value ? value.n : null
      return typeof n === "number" ? { value: n * 2 } : { issues: [{ message: "must be a number", path: ["n"] }] }
    }
  }
}

/** What a database says that takes no writes. */
export class ReadOnlyDatabase extends Error {
  readonly code = "25006"
}

/** The compiled forms of jobs. */
export const modelsOf = (...jobs: readonly Job<never>[]): ReadonlyMap<string, JobModel> => {
  const refused: string[] = []
  const models = compileJobs(jobs, (_, __, message) => refused.push(message))
  if (refused.length > 0) throw new Error(refused.join("\n"))
  return models
}

/** The words of the suites, over a harness. */
export const makeWords = (harness: QueueHarness) => {
  const started: Workers[] = []
  const opened: Array<() => void> = []
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
  const wait = async (job: string): Promise<number> => Date.parse((await countsOf(job))!.nextDue!) - await harness.now()

  const pending = (
    page: Partial<Exclude<PendingPage, { readonly id: string }>> = {}
  ): Promise<readonly PendingJob[]> =>
    run(harness.queue.pending({ name: null, state: null, after: null, limit: 100, ...page }))
  /** Why something is refused. */
  const refusal = (work: Effect.Effect<unknown, QueueError>): Promise<string> =>
    run(Effect.match(work, { onFailure: ({ message }) => message, onSuccess: () => "done" }))
  const pause = (job: string, paused: boolean, ordered: boolean | null = null) =>
    run(harness.queue.pause(job, paused, ordered))
  /** Opens all gates and stops all workers. */
  const end = async (): Promise<void> => {
    for (const open of opened.splice(0)) open()
    await goes(Promise.all(started.splice(0).map((workers) => workers.stop())))
  }
  return { countsOf, end, failedJobs, goes, harness, has, held, pause, pending, refusal, run, start, wait }
}

export type QueueWords = ReturnType<typeof makeWords>
