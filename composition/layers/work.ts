/** What a process does besides answering, as layers: every job that there is, and what stops it. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { deriveJob, deriveJobName } from "../../core/app/file/derive-job.ts"
import { deriveTargets } from "../../core/app/file/derive.ts"
import { makeAttempts } from "../../core/app/job/attempt.ts"
import { refreshJobName, refreshJobs } from "../../core/app/refresh/refresh.ts"
import type { TaskParts } from "../../core/app/task/parts.ts"
import { taskJob } from "../../core/app/task/run.ts"
import { hasEvents, hasRefreshes, needsQueue } from "../../core/domain/compile/compile.ts"
import type { JobModel } from "../../core/domain/job/definition.ts"
import { Mail } from "../../core/ports/mail.ts"
import { Queue } from "../../core/ports/queue.ts"
import { Tasks } from "../../core/ports/tasks.ts"
import { Bell } from "../bell.ts"
import { Deployment } from "../deployment.ts"
import { makeTaskParts, taskingOn } from "../tasks.ts"
import { tenantJobs } from "../tenants.ts"
import { makeWork, type WorkService } from "../work.ts"
import { Uses } from "./core.ts"
import { Events } from "./events.ts"
import { JobRunner } from "./queue.ts"

/** What bulk changes and imports run on; null: there are none. */
export class Tasking extends Context.Service<Tasking, TaskParts | null>()("resource-admin/Tasking") {}

/** The work of this process. */
export class Work extends Context.Service<Work, WorkService>()("resource-admin/Work") {}

const tasking = Layer.effect(
  Tasking,
  Effect.gen(function*() {
    const { compiled, log, ownerRoles, tasks } = yield* Deployment
    const { enqueued } = yield* Bell
    return tasks ?? makeTaskParts({
      compiled,
      tasks: yield* Tasks,
      queue: yield* Queue,
      wake: enqueued,
      ownerRoles,
      log
    })
  })
)

/** Every job of this process: those of the configuration, deliveries, mails about accounts, tasks, and what files lack. */
const allJobs = Effect.gen(function*() {
  const { accounts, compiled, tenantAuths } = yield* Deployment
  const { jobs: deliveries } = yield* Events
  const { enqueued } = yield* Bell
  const foundation = yield* Uses
  const tasks = yield* Tasking
  const { core } = foundation
  const own: JobModel[] = []
  if (tasks !== null) own.push(taskJob(taskingOn(foundation, compiled, tasks)))
  if (core.files !== null && needsQueue(compiled) && deriveTargets(core).length > 0) {
    own.push(deriveJob({ core, files: core.files, queue: yield* Queue, wake: () => enqueued(deriveJobName) }))
  }
  if (hasRefreshes(compiled)) {
    const wake = () => enqueued(refreshJobName)
    own.push(...refreshJobs({ models: compiled.models, records: core.records, queue: yield* Queue, wake }))
  }
  return new Map([
    ...compiled.jobs,
    ...deliveries,
    ...accounts?.mailer?.jobs ?? [],
    ...(tenantAuths === undefined ? [] : tenantJobs(tenantAuths)),
    ...own.map((job) => [job.name, job] as const)
  ])
})

const begin = Layer.effect(
  Work,
  Effect.gen(function*() {
    const { compiled } = yield* Deployment
    const { start } = yield* Events
    const runner = yield* JobRunner
    const mail = yield* Effect.serviceOption(Mail)
    const jobs = yield* allJobs
    const attempt = makeAttempts(jobs, { db: runner.db, mail: Option.getOrUndefined(mail) })
    const dispatches = hasEvents(compiled)
    return makeWork({
      workers: needsQueue(compiled) || !dispatches ? () => runner.start(jobs, attempt) : null,
      dispatch: dispatches ? start : null,
      bell: yield* Bell
    })
  })
)

/** The work, which begins when somebody says so. */
export const work = Layer.provideMerge(begin, tasking)

/** Stops the work. A layer of its own, beside the one of requests: so both end at the same time. */
export const stopping = Layer.effectDiscard(
  Effect.flatMap(Work, ({ stop }) => Effect.addFinalizer(() => Effect.promise(stop)))
)
