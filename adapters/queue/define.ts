/** `defineJob`: a declaration, and the way to enqueue it. It checks payload and options, and leaves the rest to the queue. */

import * as Result from "effect/Result"
import {
  type DeclaredJob,
  type JobDatabase,
  type JobDeclaration,
  queueSchema
} from "../../core/domain/job/definition.ts"
import {
  checkPayload,
  encodePayload,
  EnqueueError,
  type EnqueueOptions,
  planEnqueue
} from "../../core/domain/job/enqueue.ts"
import type { EnqueuePlan } from "../../core/domain/job/enqueue.ts"
import { enqueueOn, type EnqueuingDatabase } from "./enqueue.ts"

/** A pool or client of the application as a database whose queue is in a schema of another name: `job.enqueue(queueIn(pool, "admin_jobs"), …)`. */
export const queueIn = (db: JobDatabase, schema: string): JobDatabase => ({
  query: (sql, params) => db.query(sql, params),
  [queueSchema]: schema
})

/** A job: listed in `jobs` of the configuration, and enqueued from anywhere. */
export interface Job<Input = unknown> extends DeclaredJob {
  /**
   * Enqueues the job and gives its id. When `db` is the transaction of a write hook or function, the job exists once that commits. Rejects
   * with `EnqueueError` when payload or options are refused, and as `db` does when the statement fails.
   */
  readonly enqueue: (
    db: EnqueuingDatabase,
    ...rest: undefined extends Input ? [payload?: Input, options?: EnqueueOptions]
      : [payload: Input, options?: EnqueueOptions]
  ) => Promise<string>
  /** The same for many at once, in one statement; gives the ids in order. */
  readonly enqueueMany: (
    db: EnqueuingDatabase,
    jobs: ReadonlyArray<{ readonly payload: Input; readonly options?: EnqueueOptions }>
  ) => Promise<readonly string[]>
}

/** The plan of one enqueue. Throws `EnqueueError`. */
const planOf = async (
  declaration: Pick<JobDeclaration<unknown, unknown>, "name" | "payload" | "ordered" | "maxAttempts">,
  payload: unknown,
  options: EnqueueOptions | undefined
): Promise<EnqueuePlan> => {
  const checked = await checkPayload(declaration.payload ?? null, payload)
  if (Result.isFailure(checked)) {
    throw new EnqueueError(`The payload of "${declaration.name}" is refused: ${checked.failure}.`)
  }
  // The payload is kept as it was given. `run` gets what the schema makes of it at that time.
  const plan = Result.flatMap(encodePayload(payload), (text) =>
    planEnqueue(
      {
        name: declaration.name,
        ordered: declaration.ordered === true,
        maxAttempts: declaration.maxAttempts ?? null
      },
      text,
      options
    ))
  if (Result.isFailure(plan)) throw new EnqueueError(plan.failure)
  return plan.success
}

/**
 * Declares a job. Mistakes that types do not catch are refused when the service starts.
 *
 * @example
 * const sendReceipt = defineJob({
 *   name: "send-receipt",
 *   payload: z.object({ order: z.string() }),
 *   run: async ({ order }, { db, mail }) => { … }
 * })
 * // in a write hook: await sendReceipt.enqueue(change.transaction, { order: "17" })
 */
export const defineJob = <Input = unknown, Output = Input>(declaration: JobDeclaration<Input, Output>): Job<Input> => ({
  _tag: "Job",
  name: declaration.name,
  declaration,
  enqueue: async (db, ...[payload, options]) => {
    const plan = await planOf(declaration, payload, options)
    const [id] = await enqueueOn(db, [plan])
    return id!
  },
  enqueueMany: async (db, jobs) =>
    enqueueOn(
      db,
      await Promise.all(jobs.map(({ options, payload }) => planOf(declaration, payload, options)))
    )
})
