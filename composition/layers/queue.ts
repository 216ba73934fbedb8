/** The queue of jobs and its workers on PostgreSQL, on two pools that end with the scope: one for the queue itself, one for what jobs do. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { makeQueue } from "../../adapters/queue/queue.ts"
import type { JobModel } from "../../core/domain/job/definition.ts"
import { Queue, type RunAttempt, type Workers } from "../../core/ports/queue.ts"
import { Bell } from "../bell.ts"
import { queueConnections, usualSizes } from "../connections.ts"
import { type LazyPool, openPool } from "../database.ts"
import { Deployment } from "../deployment.ts"
import { type AdminDatabase, makeDatabase, startWorkers } from "../job-queue.ts"
import { Database } from "./postgres.ts"

/** What runs jobs. */
export interface JobRunnerService {
  /** The application's database, as jobs get it. */
  readonly db: AdminDatabase
  /** Starts workers for these jobs in this process. Rejects with `StartupError` where the queue is not as they need it. */
  readonly start: (jobs: ReadonlyMap<string, JobModel>, attempt: RunAttempt) => Promise<Workers>
}

/** Runs the jobs of a queue in this process. */
export class JobRunner extends Context.Service<JobRunner, JobRunnerService>()("resource-admin/JobRunner") {}

const pool = (url: string, connections: number): Effect.Effect<LazyPool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => openPool(url, connections)),
    (opened) => Effect.promise(opened.end)
  )

/** The queue, and who runs its jobs. */
export const queue = Layer.effectContext(Effect.gen(function*() {
  const { compiled, jobsConnections = usualSizes.jobs, log, onJobCounts } = yield* Deployment
  const { url } = yield* Database
  const { enqueued } = yield* Bell
  const schema = compiled.schemas.jobs
  const own = yield* pool(url, queueConnections)
  const service = makeQueue(own, enqueued, schema)
  return Context.make(Queue, service).pipe(Context.add(JobRunner, {
    db: makeDatabase(yield* pool(url, jobsConnections), enqueued, schema),
    start: (jobs, attempt) =>
      startWorkers({ schema, url, pool: own, queue: service, jobs, attempt, log, counted: onJobCounts })
  }))
}))
