/** A job as a worker of this process got it, and how things that happen to jobs are logged. */

/** A row of a fetched job, as far as it is used. */
export interface Fetched {
  readonly id: string
  readonly payload: unknown
  readonly priority: number
  readonly run_at: Date
  readonly attempts: number
  readonly max_attempts: number
  readonly locked_by: string
  /** The key that it had when it was fetched. */
  readonly held_key: string | null
  /** When its lease ends at the earliest, in seconds since 1970. */
  readonly lease_ends: string
}

/** Something that happened to a job or to the workers. No payload and no error text stands in it. */
export type JobLog = (
  level: "info" | "warn" | "error",
  event: string,
  fields: { readonly [name: string]: string | number | null }
) => void
