/**
 * Refreshes of materialized views: who may have one, and the jobs that do it. A request only enqueues; of one view one job waits or runs, so that two refreshes never
 * wait for each other in the database.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { jobDefaults, type JobModel } from "../../domain/job/definition.ts"
import type { EnqueuePlan } from "../../domain/job/enqueue.ts"
import { FatalJobError } from "../../domain/job/failure.ts"
import { readSchedule } from "../../domain/job/schedule.ts"
import type { Model, Models } from "../../domain/model/model.ts"
import { accessDenied } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { invalidParameter, notFound } from "../../domain/problem.ts"
import type { QueueService } from "../../ports/queue.ts"
import type { RecordsService } from "../../ports/records.ts"
import { json } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import { permitted } from "../ground/core.ts"
import { queueProblem } from "../ground/refusal.ts"

export const refreshJobName = "views.refresh"

/** Refreshes that run at once in one process. */
const atOnce = 2

/** Tries of a refresh: what failed is seen at once, and the next person, or the next time of a schedule, comes soon enough. */
const mostTries = 1

const planOf = (resource: string): EnqueuePlan => ({
  name: refreshJobName,
  payload: JSON.stringify({ resource }),
  runAt: null,
  delayMs: null,
  priority: 0,
  key: resource,
  // The key is kept until the job has ended.
  mode: "running",
  group: null,
  ordered: false,
  maxAttempts: null
})

/** `POST /{resource}:refresh` (docs/guides/views-and-functions.md#materialized-views): a 202 with the id of the job, that of another request where one has begun. */
export const refresh = (
  queue: Pick<QueueService, "enqueue">,
  wake: () => void,
  call: Call,
  resource: string
): Effect.Effect<Reply, Problem> =>
  Effect.gen(function*() {
    const access = yield* Effect.fromResult(permitted(call, resource, "read"))
    if (access.model.materialized === undefined) return yield* Effect.fail(notFound())
    if (access.mayRefresh !== true) return yield* Effect.fail(accessDenied())
    const [parameter] = call.query
    if (parameter !== undefined) {
      return yield* Effect.fail(invalidParameter(parameter[0], "A refresh takes no parameters."))
    }
    const [id] = yield* Effect.mapError(queue.enqueue([planOf(resource)]), queueProblem)
    wake()
    return json(202, JSON.stringify({ job: id }))
  })

const resourceOf = (payload: unknown): string | null =>
  typeof payload === "object" && payload !== null && "resource" in payload && typeof payload.resource === "string"
    ? payload.resource
    : null

const jobOf = (
  name: string,
  timeoutMs: number,
  run: JobModel["run"],
  schedule: JobModel["schedule"] = null
): JobModel => ({
  name,
  payload: null,
  maxAttempts: mostTries,
  retryDelayMs: jobDefaults.retryDelayMs,
  maxRetryDelayMs: jobDefaults.maxRetryDelayMs,
  retryStepsMs: null,
  timeoutMs,
  concurrency: atOnce,
  maxRunning: null,
  rate: null,
  ordered: false,
  schedule,
  run
})

/** How long a try may last beyond its refresh, which ends by itself. */
const marginMs = 30_000

/** The jobs of a service's materialized views: the one that refreshes, and one for each schedule, which enqueues the former. */
export const refreshJobs = (
  { models, queue, records, wake }: {
    readonly models: Models
    readonly records: Pick<RecordsService, "refresh">
    readonly queue: Pick<QueueService, "enqueue">
    readonly wake: () => void
  }
): readonly JobModel[] => {
  const views = [...models.values()].filter((model): model is Model & Required<Pick<Model, "materialized">> =>
    model.materialized !== undefined
  )
  if (views.length === 0) return []
  const longest = Math.max(...views.map(({ materialized }) => materialized.timeoutMs))
  return [
    jobOf(refreshJobName, longest + marginMs, async (payload, { db }) => {
      const resource = resourceOf(payload)
      const model = views.find(({ name }) => name === resource)
      if (model === undefined) throw new FatalJobError("The payload names no materialized view.")
      await records.refresh(db, model, model.materialized.timeoutMs)
    }),
    ...views.flatMap(({ materialized: { schedule }, name }) =>
      schedule === null ? [] : [
        jobOf(
          `${refreshJobName}/${name}`,
          jobDefaults.timeoutMs,
          async () => {
            await Effect.runPromise(queue.enqueue([planOf(name)]))
            wake()
          },
          Result.getOrThrow(readSchedule(schedule.pattern, schedule.timezone))
        )
      ]
    )
  ]
}
