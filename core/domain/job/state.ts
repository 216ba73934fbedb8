/** The states of a job by name, and the data shown for failed jobs and for queues. */

import type { Progress } from "./progress.ts"

/** In the API, on the page and in SQL. */
export const jobStates = ["waiting", "running", "retrying", "failed", "completed"] as const

export type JobState = typeof jobStates[number]

/** Jobs of one name, counted. */
export interface JobCounts {
  readonly name: string
  readonly waiting: number
  readonly running: number
  readonly retrying: number
  readonly failed: number
  readonly completed: number
  /** When the next one is due, as an RFC 3339 text with microseconds; null when none waits. */
  readonly nextDue: string | null
  /** When the job that has waited longest was due. Null when none is due. */
  readonly oldestDue: string | null
  /** When the waiting run of its schedule is due. Null without a schedule, and until a worker has seen it. */
  readonly nextRun: string | null
  /** The latest started run of its schedule: its state, and when it reached it. Completed runs are known for 7 days. */
  readonly lastRun: LastRun | null
  /** Since when nothing of it is begun, until it is resumed. Null: it is not paused. */
  readonly pausedAt: string | null
}

/** What became of a run. */
export interface LastRun {
  readonly at: string
  readonly state: Exclude<JobState, "waiting">
}

/** Jobs of a group behind a failed one are counted up to this number. */
export const mostBehind = 1_000

/** Longer payloads, in bytes of JSON, stand in no list. */
export const longestListed = 4_096

/** A search looks at so many jobs of a list, in its order, from where its page begins. */
export const mostSearched = 5_000

/** The minutes that activity is told of: the last hour. */
export const activityMinutes = 60

/** What was done in a minute. */
export interface ActivityMinute {
  /** When the minute began, as an RFC 3339 text with microseconds. */
  readonly at: string
  readonly completed: number
  /** Jobs that failed for good in it and are still there. */
  readonly failed: number
  /** How long the last tries of the completed ones took, in milliseconds, on average and at most; null without one. */
  readonly averageMs: number | null
  readonly longestMs: number | null
}

/** How a try of a job failed. For admins only. */
export interface JobError {
  readonly at: string
  /** Which try it was. */
  readonly attempt: number
  readonly message: string
  /** The frames of its stack, one a line; null: it had none. */
  readonly stack: string | null
}

/** A job that used up its tries or failed for good. */
export interface FailedJob {
  readonly id: string
  readonly name: string
  readonly attempts: number
  /** Its payload as JSON text, for admins only. Null: it is longer than was asked for. */
  readonly payload: string | null
  /** The length of its payload, in bytes of JSON. */
  readonly payloadBytes: number
  /** Its last error, for admins only. */
  readonly error: string
  readonly group: string | null
  /** How many jobs of its group wait for it. `mostBehind` means that many or more. */
  readonly waitingBehind: number
  readonly enqueuedAt: string
  readonly failedAt: string
}

/** A job that waits for its time, for a worker, for others of its group, or for its next try. */
export interface PendingJob {
  readonly id: string
  readonly name: string
  readonly state: "waiting" | "retrying"
  /** Tries that it has had. */
  readonly attempts: number
  readonly maxAttempts: number
  /** From when on it may run. */
  readonly runAt: string
  /** Its last error, for admins only; empty without one. */
  readonly error: string
  readonly group: string | null
  /** Whether others of its group come first. */
  readonly held: boolean
  readonly enqueuedAt: string
  /** As that of a failed job. */
  readonly payload: string | null
  readonly payloadBytes: number
}

/** A job that a worker has. */
export interface BegunJob {
  readonly id: string
  readonly name: string
  /** From 1. */
  readonly attempt: number
  readonly maxAttempts: number
  /** When a worker fetched it. */
  readonly startedAt: string
  /** The process that has it, as its host and the id of the process there. */
  readonly worker: string
  /** What this try last told of itself; null: nothing. */
  readonly progress: (Progress & { readonly at: string }) | null
  readonly group: string | null
  readonly enqueuedAt: string
  /** As that of a failed job. */
  readonly payload: string | null
  readonly payloadBytes: number
}

/** The position after which the next page of running jobs begins. */
export interface BegunPosition {
  readonly startedAt: string
  readonly id: string
}

/** The position after which the next page of waiting jobs begins. */
export interface PendingPosition {
  readonly runAt: string
  readonly id: string
}

/** The position after which the next page of failed jobs begins. */
export interface FailedPosition {
  readonly failedAt: string
  readonly id: string
}
