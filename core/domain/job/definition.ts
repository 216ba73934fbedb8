/**
 * Jobs as people declare them (`defineJob`) and as the service runs them. It holds types, defaults and limits; `core/domain/compile/jobs.ts` judges
 * declarations, and nothing here runs a job.
 */

import type { Mail } from "../mail/message.ts"
import type { Duration } from "../value/duration.ts"
import type { StandardSchema } from "../value/standard-schema.ts"
import type { Rate, RateDeclaration } from "./rate.ts"
import type { Schedule } from "./schedule.ts"

/** What a name may be: letters, digits, `_`, `-`, `.` and `/` (docs/guides/jobs.md#a-job). */
export const namePattern = /^[A-Za-z0-9_./-]{1,128}$/

/** Largest payload, in bytes of JSON. */
export const largestPayload = 256 * 1024

/** The names of jobs that have messages of other systems begin with it. No configuration declares such a job. */
export const hookPrefix = "hooks/"

/** Largest payload of these: a body of 1 MiB in base64, and its headers. */
export const largestMessage = 1_536 * 1024

/** Highest priority, and with a minus the lowest. */
export const highestPriority = 32_767

/** Defaults of a job (docs/guides/jobs.md#limits), in milliseconds where they are times. */
export const jobDefaults = {
  maxAttempts: 10,
  retryDelayMs: 2_000,
  maxRetryDelayMs: 3_600_000,
  timeoutMs: 900_000,
  concurrency: 1,
  timezone: "UTC"
} as const

/** How long `run` waits for a read-only database before it is called again. This uses no attempt. */
export const readOnlyWaitMs = 5_000

/** How often each worker asks for due jobs of each name. */
export const pollMs = 2_000

/** How long a job that was fetched is held without a word of its process. The process renews this three times as often. */
export const leaseMs = 30_000

/** How much longer than a try its lock may last, so that a worker that ends the try late still holds it. */
export const lockMarginMs = 10_000

/** The longest wait for the next try after the lease of a job has ended, whatever its retry delays. */
export const takeUpMs = 10_000

/** How long running jobs may continue after their worker stops. */
export const shutdownGraceMs = 30_000

/** A running job, as `run` sees it. `attempt` counts from 1. */
export interface RunningJob {
  readonly id: string
  readonly name: string
  readonly attempt: number
  readonly maxAttempts: number
}

/** How a transaction is told which jobs were enqueued in it: once it has committed, it wakes their workers in this process. */
export const hearsEnqueued: unique symbol = Symbol.for("resource-admin/enqueued")

/** How a database says in which schema its queue is, where that is not the usual one. */
export const queueSchema: unique symbol = Symbol.for("resource-admin/queue-schema")

/**
 * A database that jobs are enqueued in and that `run` may use: `query` runs one statement with `$1` placeholders. What a write hook gets is one, a
 * pool or client of `pg` is one too.
 */
export interface JobDatabase {
  readonly query: (
    sql: string,
    params?: readonly unknown[]
  ) => Promise<
    | ReadonlyArray<{ readonly [column: string]: unknown }>
    | { readonly rows: ReadonlyArray<{ readonly [column: string]: unknown }> }
  >
  readonly [hearsEnqueued]?: (names: readonly string[]) => void
  readonly [queueSchema]?: string
}

/** The application's own database, as `run` gets it. */
export interface OwnDatabase {
  /** Runs one statement by itself and gives its rows, of the type that the caller says they have. */
  readonly query: <Row = { readonly [column: string]: unknown }>(
    sql: string,
    params?: readonly unknown[]
  ) => Promise<readonly Row[]>
  /** Runs work in one transaction: committed when it resolves, rolled back when it rejects. */
  readonly transaction: <A>(work: (tx: Pick<OwnDatabase, "query">) => Promise<A>) => Promise<A>
}

/** What `run` gets besides its payload. `mail` is undefined where no mail server is configured. */
export interface JobContext {
  readonly db: OwnDatabase
  readonly job: RunningJob
  /** Aborts when the try has run longer than `timeout`, and when its worker stops and the grace has passed. */
  readonly signal: AbortSignal
  readonly mail: Mail | undefined
  /**
   * Tells admins how far this try is: so much of a total, such as records, and a note of at most 200 characters. It may be called as often as one likes: the
   * last call of each second is kept, and nothing waits for that. Throws for amounts that are no numbers of 0 or more.
   */
  readonly progress: (done: number, total?: number | null, note?: string | null) => void
}

/** What `defineJob` takes (docs/guides/jobs.md#a-job). */
export interface JobDeclaration<Input, Output> {
  /** Letters, digits, `_`, `-`, `.` and `/`; unique among the jobs of the configuration. */
  readonly name: string
  /** A Standard Schema; checked when the job is enqueued and again before it runs. Without it, `run` gets the JSON as it was enqueued. */
  readonly payload?: StandardSchema<Input, Output>
  /** The work. It runs at least once, so it must be safe to run twice. What it throws fails the try. */
  readonly run: (payload: Output, context: JobContext) => void | Promise<void>
  /** Tries before the job is kept as failed; 1 to 1,000, default 10. */
  readonly maxAttempts?: number
  /** Wait before the first retry; it doubles with each further one. Default 2 seconds. */
  readonly retryDelay?: Duration
  /** Longest wait before a retry, default 1 hour. */
  readonly maxRetryDelay?: Duration
  /** The waits before each retry one by one, in place of doubling; the last one repeats. */
  readonly retrySteps?: readonly Duration[]
  /** How long one try may run, default 15 minutes, at most a day. */
  readonly timeout?: Duration
  /** Jobs of this name that run at once in one worker process; 1 to 200, default 1. */
  readonly concurrency?: number
  /** Jobs of this name that run at once over all processes; 1 to 10,000. Without it there is no limit but `concurrency`. */
  readonly maxRunning?: number
  /** How many jobs of this name begin in a time at most, over all processes; each retry is one. What is held back waits and loses no try. */
  readonly rate?: RateDeclaration
  /** One job at a time for each group, in the order in which they were enqueued. */
  readonly ordered?: boolean
  /** A cron pattern of five fields, or of six with seconds first. */
  readonly schedule?: string
  /** The time zone of `schedule`, default UTC. */
  readonly timezone?: string
}

/** A job as it was declared, for `jobs` of the configuration. */
export interface DeclaredJob {
  readonly _tag: "Job"
  readonly name: string
  readonly declaration: unknown
}

/** A checked job. */
export interface JobModel {
  readonly name: string
  readonly payload: StandardSchema | null
  readonly run: (payload: unknown, context: JobContext) => void | Promise<void>
  readonly maxAttempts: number
  readonly retryDelayMs: number
  readonly maxRetryDelayMs: number
  /** Null: waits double. */
  readonly retryStepsMs: readonly number[] | null
  readonly timeoutMs: number
  readonly concurrency: number
  /** Null: as many as the processes together run. */
  readonly maxRunning: number | null
  /** Null: they begin as soon as somebody can run them. */
  readonly rate: Rate | null
  readonly ordered: boolean
  /** Null: it runs when it is enqueued. */
  readonly schedule: Schedule | null
}
