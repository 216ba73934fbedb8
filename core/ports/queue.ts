/**
 * The port to the queue of jobs. Every process has a `QueueService`, which enqueues and lists jobs. A process that runs jobs also has `Workers`. The
 * domain defines jobs and judges tries; the adapter stores jobs, times and locks.
 *
 * Contract (test/contracts/queue.ts runs it against the fake and PostgreSQL):
 * - A job that is enqueued within a transaction exists when the transaction commits, and never did when it rolls back.
 * - A job is run at least once. A job whose worker died comes back when its lease has ended, whatever its timeout and its retry delays.
 * - A worker that lost a job cannot complete it later.
 * - No worker fetches jobs of a paused name; its jobs and the runs of its schedule wait.
 * - At most one job of a key waits. Of a key that is kept while its job runs, at most one job has not ended. The jobs of a group run one after the
 *   other, in the order of enqueuing, and a failed job holds the later ones back.
 */

import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { JobDatabase, JobModel } from "../domain/job/definition.ts"
import type { EnqueuePlan } from "../domain/job/enqueue.ts"
import type { Progress } from "../domain/job/progress.ts"
import type {
  ActivityMinute,
  BegunJob,
  BegunPosition,
  FailedJob,
  FailedPosition,
  JobCounts,
  JobError,
  PendingJob,
  PendingPosition
} from "../domain/job/state.ts"
import type { Outage } from "../domain/outage.ts"

/** Why the queue did not do it. */
export type QueueReason =
  /** What was asked for cannot be (a key on an ordered job, a payload too large): `message` says why. */
  | { readonly _tag: "Refused"; readonly message: string }
  /** The database does nothing now, or takes no writes. */
  | { readonly _tag: Outage }
  /** Two transactions got in each other's way; try again. */
  | { readonly _tag: "Conflict" }

export class QueueError extends Data.TaggedError("QueueError")<{
  readonly reason: QueueReason
  readonly cause?: unknown
}> {
  override get message(): string {
    return this.reason._tag === "Refused" ? this.reason.message : this.reason._tag
  }
}

/** Some failed jobs: one by its id, or all of a name. */
export type Chosen = { readonly id: string } | { readonly name: string }

/** Jobs that are asked for: a page of a list in its order, or one of them. */
export type JobPage<Position, More = unknown> =
  | More & {
    readonly name: string | null
    /** Only jobs that have this text, see `mostSearched`. */
    readonly search?: string | null
    readonly after: Position | null
    readonly limit: number
    /** The longest payloads to read, in bytes of JSON. Without it, all of them are read. */
    readonly longest?: number
  }
  | { readonly id: string }

export type FailedPage = JobPage<FailedPosition>
export type RunningPage = JobPage<BegunPosition>
/** Jobs that wait, or wait for their next try. */
export type PendingPage = JobPage<PendingPosition, { readonly state: PendingJob["state"] | null }>

export interface QueueService {
  /**
   * Enqueues jobs in one statement and gives their ids in the same order; for a key that a job has already, the id of that one. Without
   * `within` they are committed at once and wake the workers of this process.
   */
  readonly enqueue: (
    plans: readonly EnqueuePlan[],
    within?: JobDatabase
  ) => Effect.Effect<readonly string[], QueueError>
  /** Counts of every name that has jobs or was ever started, in order of names. */
  readonly counts: Effect.Effect<readonly JobCounts[], QueueError>
  /** The last hour minute by minute, the oldest first, of all jobs or those of a name. At most a million completed ones are read. */
  readonly activity: (name: string | null) => Effect.Effect<readonly ActivityMinute[], QueueError>
  /**
   * Failed jobs, newest first, or one of them. A search finds a part of the name, the key, the group, the error, or of a text or number that is the payload or
   * a direct member of it, ignoring case; or the whole id. It looks into payloads of at most `longestListed` bytes, and at `mostSearched` jobs.
   */
  readonly failed: (page: FailedPage) => Effect.Effect<readonly FailedJob[], QueueError>
  /** The last errors of a job, the newest first, at most `mostErrors`. They go with the job. */
  readonly errors: (id: string) => Effect.Effect<readonly JobError[], QueueError>
  /** Gives failed jobs one more try, from now. Tells how many. */
  readonly retry: (chosen: Chosen) => Effect.Effect<number, QueueError>
  /** Removes failed jobs; what they held back in their groups goes on. Tells how many. */
  readonly remove: (chosen: Chosen) => Effect.Effect<number, QueueError>
  /** Returns jobs to their queues whose leases have ended, as workers do by themselves every 15 seconds. Tells how many. */
  readonly freeDead: Effect.Effect<number, QueueError>
  /** Jobs that workers have, the longest running first, or one of them. */
  readonly running: (page: RunningPage) => Effect.Effect<readonly BegunJob[], QueueError>
  /** Jobs that wait, or wait for their next try, soonest first, or one of them. */
  readonly pending: (page: PendingPage) => Effect.Effect<readonly PendingJob[], QueueError>
  /**
   * Makes a job that waits due now. False: none that waits has this id. `Refused` where others of its group come first, and for a run of a schedule that
   * has not begun; `Conflict` where somebody else has it at this moment. It waits for nobody.
   */
  readonly hurry: (id: string) => Effect.Effect<boolean, QueueError>
  /**
   * Removes a job that waits, whether it has had tries or not; its group goes on with the next. A run of a schedule is made for the next time instead.
   * False: none that waits has this id. `Conflict` where somebody else has it at this moment.
   */
  readonly withdraw: (id: string) => Effect.Effect<boolean, QueueError>
  /**
   * Pauses a name for every process, or resumes it: nothing of it is fetched after the answer, and what runs goes on. A job that a worker has fetched ahead
   * begins within a second or goes back. `ordered` is the setting of a name that is declared here, and null for others. Gives the time of the pause; null: there
   * is no such name. Pausing again changes nothing.
   */
  readonly pause: (
    name: string,
    paused: boolean,
    ordered: boolean | null
  ) => Effect.Effect<{ readonly pausedAt: string | null } | null, QueueError>
  /** Removes jobs that wait and were never started; others are left. */
  readonly cancel: (ids: readonly string[]) => Effect.Effect<void, QueueError>
  /** When the next job is due that some worker has known, that is not paused and that its rate lets begin, or the lease of a running one ends; null when there is none. RFC 3339. */
  readonly nextDue: Effect.Effect<string | null, QueueError>
}

/** One try of a job, as a worker hands it to the use case. */
export interface Attempt {
  readonly id: string
  readonly name: string
  /** The payload as it was stored, parsed. */
  readonly payload: unknown
  /** From 1. */
  readonly attempt: number
  readonly maxAttempts: number
  /**
   * Registers a function to call once the try must end: because its worker stops and waits no longer, or because it has lost the job. Returns a
   * function that removes it.
   */
  readonly onStop: (call: () => void) => () => void
  readonly timers: Timers
  /** Keeps how far the try is, as long as it has its job. It waits for nothing. */
  readonly progress: (progress: Progress) => void
}

/** The clock and the alarms that tries are timed by. */
export interface Timers {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
  /** Calls once after so many milliseconds; gives what takes that back. */
  readonly after: (milliseconds: number, call: () => void) => () => void
}

/** The result of an attempt. `fatal`: there is no further one; `retryAt`: the next one is at this time. `counts`: whether it uses up a try; what does not has a `retryAt`. `message` is stored with the job. */
export type Outcome =
  | { readonly of: "completed" }
  | {
    readonly of: "failed"
    readonly message: string
    readonly error: unknown
    readonly fatal: boolean
    readonly retryAt: Date | null
    readonly counts: boolean
  }

/** Runs one try. Never rejects. */
export type RunAttempt = (attempt: Attempt) => Promise<Outcome>

/** The result of a drain (docs/guides/jobs.md#workers). */
export interface Drained {
  /** Whether nothing was due or running at the end. */
  readonly drained: boolean
  /** Jobs that were due or running at the end. */
  readonly remaining: number
  readonly nextDue: string | null
}

/** The workers of this process. */
export interface Workers {
  readonly jobs: ReadonlyMap<string, JobModel>
  /** Looks for due jobs of a name now, before the next poll. */
  readonly wake: (name: string) => void
  /** The same for every name. */
  readonly wakeAll: () => void
  /** Tells them at once that a name was paused or resumed. Without it, they find out by themselves. */
  readonly hold: (name: string, paused: boolean) => void
  /** Whether one of their names is paused, as they last saw it. */
  readonly isPaused: () => boolean
  /** Runs due jobs until none is due or running, or the milliseconds have passed. Paused names are left out, but for what of them runs. */
  readonly drain: (milliseconds: number) => Effect.Effect<Drained, QueueError>
  /** Whether they take jobs: false once they are stopping, or where the schema was changed under them. */
  readonly isReady: () => boolean
  /** Takes no more jobs, gives running ones the grace, then fails them, to be retried. May be called again. */
  readonly stop: () => Promise<void>
}

/** The queue of jobs. */
export class Queue extends Context.Service<Queue, QueueService>()("resource-admin/Queue") {}
