/**
 * One attempt of a job: parses the payload again, calls `run` with its context, applies the timeout, and turns what it throws into an outcome. It
 * stores no job and knows no queue.
 */

import * as Result from "effect/Result"
import { type JobModel, type OwnDatabase, readOnlyWaitMs } from "../../domain/job/definition.ts"
import { checkStored } from "../../domain/job/enqueue.ts"
import { errorText, FatalJobError, isReadOnly, LeftToOthers, RetryAt } from "../../domain/job/failure.ts"
import { readProgress } from "../../domain/job/progress.ts"
import type { Mail } from "../../domain/mail/message.ts"
import type { Attempt, Outcome, RunAttempt, Timers } from "../../ports/queue.ts"

/** What jobs may use. */
export interface JobServices {
  readonly db: OwnDatabase
  readonly mail: Mail | undefined
}

const failed = (error: unknown, message: string, fatal: boolean): Outcome => ({
  of: "failed",
  error,
  message,
  fatal,
  retryAt: error instanceof RetryAt && Number.isFinite(error.time.getTime()) ? error.time : null,
  counts: !(error instanceof LeftToOthers)
})

/** Waits. If the signal aborts first, it rejects with the signal's reason. */
const pause = (timers: Timers, milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel()
      reject(signal.reason)
    }
    const cancel = timers.after(milliseconds, () => {
      signal.removeEventListener("abort", stop)
      resolve()
    })
    if (signal.aborted) stop()
    else signal.addEventListener("abort", stop, { once: true })
  })

/** Calls `run` again while it fails because the database takes no writes. That uses no attempt. */
const runThrough = async (
  job: JobModel,
  payload: unknown,
  { attempt, id, maxAttempts, name, progress, timers }: Attempt,
  services: JobServices,
  signal: AbortSignal
): Promise<void> => {
  for (;;) {
    try {
      await job.run(payload, {
        ...services,
        job: { id, name, attempt, maxAttempts },
        signal,
        progress: (done, total, note) => progress(readProgress(done, total, note))
      })
      return
    } catch (error) {
      if (!isReadOnly(error) || signal.aborted) throw error
      await pause(timers, readOnlyWaitMs, signal)
    }
  }
}

/** Makes the function that runs attempts, for the workers of the queue. */
export const makeAttempts =
  (jobs: ReadonlyMap<string, JobModel>, services: JobServices): RunAttempt => async (attempt) => {
    const { name, onStop, timers } = attempt
    const job = jobs.get(name)
    if (job === undefined) return failed(null, `No job "${name}" is declared here.`, false)
    const begun = timers.now()
    const checked = await checkStored(job.payload, attempt.payload)
    if (Result.isFailure(checked)) return failed(null, errorText(`The payload is refused: ${checked.failure}`), true)

    const late = new Error(`The try ran longer than its timeout of ${job.timeoutMs} ms.`)
    const controller = new AbortController()
    let end: (reason: Error) => void = () => {}
    const ended = new Promise<never>((_, reject) => {
      end = (reason) => {
        controller.abort(reason)
        reject(reason)
      }
    })
    const cancel = timers.after(job.timeoutMs, () => end(late))
    const keep = onStop(() => end(new Error("The worker stopped while the job ran.")))
    try {
      const body = runThrough(job, checked.success, attempt, services, controller.signal)
      await Promise.race([body, ended])
      // A pause of this process longer than the timeout delayed the alarm, too. The queue may have given the job to another worker
      // meanwhile.
      return timers.now() - begun > job.timeoutMs ? failed(late, late.message, false) : { of: "completed" }
    } catch (error) {
      return failed(error, errorText(error), error instanceof FatalJobError)
    } finally {
      cancel()
      keep()
    }
  }
