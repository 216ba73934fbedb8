/**
 * `files derive` as a job: it does pages for five seconds and enqueues another job for the rest, with its position and its counts in the payload. So a process
 * that dies costs the pages of one job, which are found again, and whoever looks at the waiting job sees how far the work is.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { isBag } from "../../domain/bag.ts"
import { jobDefaults, type JobModel } from "../../domain/job/definition.ts"
import type { EnqueuePlan } from "../../domain/job/enqueue.ts"
import { FatalJobError } from "../../domain/job/failure.ts"
import type { Problem } from "../../domain/problem.ts"
import type { Cell } from "../../domain/value/kind.ts"
import type { QueueError, QueueService } from "../../ports/queue.ts"
import type { RecordsError } from "../../ports/records.ts"
import type { Core } from "../ground/core.ts"
import type { Files } from "../ground/files.ts"
import { runJob } from "../ground/run.ts"
import { derivePage, deriveTargets, noCounts, placeOf, plus } from "./derive.ts"
import type { DeriveCounts } from "./derive.ts"

/** The job's name. */
export const deriveJobName = "files.derive"

/** How long one job goes on before the next one continues. A page more may follow: each of its images takes at most a minute in line and half a one to be made. */
const sliceMs = 5_000
const timeoutMs = 20 * 60_000
const pageSize = 20

export interface DerivePayload {
  /** `resource.field`. */
  readonly field: string
  /** Where the next page begins; null: at the first record. */
  readonly after: readonly Cell[] | null
  readonly counts: DeriveCounts
}

/** The job that goes over the files of a field. While one waits, another for the same field is the same job. */
export const deriveJobPlan = (
  field: string,
  after: readonly Cell[] | null = null,
  counts: DeriveCounts = noCounts
): EnqueuePlan => ({
  name: deriveJobName,
  payload: JSON.stringify({ field, after, counts } satisfies DerivePayload),
  runAt: null,
  delayMs: null,
  priority: 0,
  key: field,
  mode: "dedupe",
  group: null,
  ordered: false,
  maxAttempts: null
})

/** A payload that an older version or a person may have written. */
const readPayload = (raw: unknown): DerivePayload | null => {
  if (!isBag(raw) || typeof raw["field"] !== "string") return null
  const { after, counts } = raw
  const isPosition = (value: unknown): value is readonly Cell[] =>
    Array.isArray(value) && value.every((cell) => cell === null || typeof cell === "string")
  const numbers = isBag(counts) ? counts : {}
  const count = (name: keyof DeriveCounts): number => {
    const value = numbers[name]
    return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0
  }
  return {
    field: raw["field"],
    after: isPosition(after) ? after : null,
    counts: {
      records: count("records"),
      lacking: count("lacking"),
      made: count("made"),
      nothing: count("nothing"),
      left: count("left"),
      missing: count("missing"),
      failed: count("failed")
    }
  }
}

/** What the job works with. */
export interface Deriving {
  readonly core: Core
  readonly files: Files
  readonly queue: Pick<QueueService, "enqueue">
  /** Wakes the workers of this process. */
  readonly wake: () => void
}

/** Works for a while, then enqueues a job for the rest. `stopped`: this job ends with its page. */
export const deriveSlice = Effect.fnUntraced(function*(
  { core, files, queue, wake }: Deriving,
  payload: DerivePayload,
  stopped: () => boolean
): Effect.fn.Return<void, FatalJobError | Problem | QueueError | RecordsError> {
  const { field } = payload
  const target = deriveTargets(core).find((each) => placeOf(each) === field)
  if (target === undefined) {
    return yield* Effect.fail(new FatalJobError(`"${field}" makes nothing of its files any more.`))
  }
  const until = (yield* Clock.currentTimeMillis) + sliceMs
  let { after, counts } = payload
  for (;;) {
    const page = yield* derivePage(core, files, target, after, false, pageSize)
    if (page.gaveUp) return yield* Effect.die(new Error(`${field}: several files in a row failed. The log says why.`))
    counts = plus(counts, page.counts)
    after = page.next
    if (after === null) return files.report("file-derive", { field, ...counts })
    if (stopped() || (yield* Clock.currentTimeMillis) > until) {
      yield* queue.enqueue([deriveJobPlan(field, after, counts)])
      return wake()
    }
  }
})

/** The job that makes what files lack. A try begins again where its job began, and finds nothing to do where the one before had been. */
export const deriveJob = (use: Deriving): JobModel => ({
  name: deriveJobName,
  payload: null,
  maxAttempts: jobDefaults.maxAttempts,
  retryDelayMs: jobDefaults.retryDelayMs,
  maxRetryDelayMs: jobDefaults.maxRetryDelayMs,
  retryStepsMs: null,
  timeoutMs,
  concurrency: 1,
  maxRunning: null,
  rate: null,
  ordered: false,
  schedule: null,
  run: async (raw, { signal }) => {
    const payload = readPayload(raw)
    if (payload === null) throw new FatalJobError("The payload names no field.")
    await runJob(deriveSlice(use, payload, () => signal.aborted), signal)
  }
})
