/** The states of a job by name, and what is told about jobs that failed and about queues as a whole. */

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
  /** When the one that waits longest was due; null when none is due. */
  readonly oldestDue: string | null
}

/** A job that used up its tries or failed for good. */
export interface FailedJob {
  readonly id: string
  readonly name: string
  readonly attempts: number
  /** Its payload as JSON text, and its last error: for admins only. */
  readonly payload: string
  readonly error: string
  readonly group: string | null
  readonly enqueuedAt: string
  readonly failedAt: string
}

/** Where a page of failed jobs goes on: behind this one. */
export interface FailedPosition {
  readonly failedAt: string
  readonly id: string
}
