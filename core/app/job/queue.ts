/**
 * The HTTP use cases of the queue: counts, pauses, failed jobs, retry, removal, jobs that run or wait, and the drain. All but the drain are for admins. The drain takes the
 * operator's token. It enqueues nothing and runs nothing itself.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Caller } from "../../domain/access/caller.ts"
import type { AuditAct, AuditSubject } from "../../domain/audit/entry.ts"
import { isOwnJob, keptBecause } from "../../domain/compile/jobs.ts"
import { type JobModel, namePattern } from "../../domain/job/definition.ts"
import { refuseText } from "../../domain/job/enqueue.ts"
import {
  type BegunJob,
  type BegunPosition,
  type FailedJob,
  type FailedPosition,
  type JobCounts,
  type JobError,
  longestListed,
  type PendingJob,
  type PendingPosition
} from "../../domain/job/state.ts"
import { ownJson } from "../../domain/own-json.ts"
import { accessDenied, invalidParameter, notFound, Problem, problem } from "../../domain/problem.ts"
import { adminRole } from "../../domain/value/role.ts"
import type { Chosen, QueueError, QueueService, Workers } from "../../ports/queue.ts"
import type { SealService } from "../../ports/seal.ts"
import { shownPayload } from "../event/dispatch.ts"
import { note, type Notes } from "../ground/audit.ts"
import { json, readParameters, type Reply } from "../ground/call.ts"
import { queueProblem } from "../ground/refusal.ts"

/** Decoded query parameters in order. */
type Query = ReadonlyArray<readonly [name: string, value: string]>

export interface QueueApp {
  readonly list: (caller: Caller, query: Query) => Effect.Effect<Reply, Problem>
  /** The last hour minute by minute. */
  readonly activity: (caller: Caller, query: Query) => Effect.Effect<Reply, Problem>
  readonly failed: (caller: Caller, query: Query) => Effect.Effect<Reply, Problem>
  /** One failed job, with its whole payload. */
  readonly failedJob: (caller: Caller, id: string, query: Query) => Effect.Effect<Reply, Problem>
  readonly retry: (caller: Caller, id: string, query: Query) => Effect.Effect<Reply, Problem>
  readonly remove: (caller: Caller, id: string, query: Query) => Effect.Effect<Reply, Problem>
  readonly retryAll: (caller: Caller, query: Query) => Effect.Effect<Reply, Problem>
  readonly removeAll: (caller: Caller, query: Query) => Effect.Effect<Reply, Problem>
  readonly running: (caller: Caller, query: Query) => Effect.Effect<Reply, Problem>
  /** One job that runs, with its whole payload. */
  readonly runningJob: (caller: Caller, id: string, query: Query) => Effect.Effect<Reply, Problem>
  readonly pending: (caller: Caller, query: Query) => Effect.Effect<Reply, Problem>
  /** One job that waits, with its whole payload. */
  readonly pendingJob: (caller: Caller, id: string, query: Query) => Effect.Effect<Reply, Problem>
  /** Makes one that waits due now. */
  readonly hurry: (caller: Caller, id: string, query: Query) => Effect.Effect<Reply, Problem>
  /** Cancels one that waits. */
  readonly cancel: (caller: Caller, id: string, query: Query) => Effect.Effect<Reply, Problem>
  /** Pauses the jobs of a name, in every process. */
  readonly pause: (caller: Caller, query: Query) => Effect.Effect<Reply, Problem>
  /** Lets them go on. */
  readonly resume: (caller: Caller, query: Query) => Effect.Effect<Reply, Problem>
  /** Null: no token is configured, so the route does not exist. */
  readonly drain: {
    /** Whether it is the operator's token; else a 401. */
    readonly permit: (bearer: string | null) => Effect.Effect<void, Problem>
    readonly run: (query: Query) => Effect.Effect<Reply, Problem>
  } | null
}

export interface QueueParts {
  /** Null: nothing of this service needs a queue, so its database may have none. There are no jobs then. */
  readonly queue: QueueService | null
  readonly jobs: ReadonlyMap<string, JobModel>
  /** The workers of this process; null while it runs none. */
  readonly workers: () => Workers | null
  readonly seal: SealService
  /** What is noted of those who retry, run, cancel, delete and pause. */
  readonly notes: Notes
  readonly drainToken: string | null
  /** Told what became of all failed jobs of a name, or that its jobs were paused or resumed, and who said so. `count`: how many there were; null: not known. */
  readonly told?: (
    what: "jobs-retried" | "jobs-deleted" | "jobs-paused" | "jobs-resumed",
    name: string,
    count: number | null,
    caller: Caller
  ) => void
}

/** How long a drain may run: from 1 to 300 seconds, 25 by default. */
const usualSeconds = 25
const mostSeconds = 300

/** The longest text to search for, in UTF-16 units. */
const longestSearch = 200

const usualPage = 50
const largestPage = 500

/** The queue of a service that has none. */
const empty: Pick<
  QueueService,
  | "activity"
  | "counts"
  | "errors"
  | "failed"
  | "retry"
  | "remove"
  | "running"
  | "pending"
  | "hurry"
  | "withdraw"
  | "pause"
> = {
  activity: () => Effect.succeed([]),
  counts: Effect.succeed([]),
  errors: () => Effect.succeed([]),
  failed: () => Effect.succeed([]),
  retry: () => Effect.succeed(0),
  remove: () => Effect.succeed(0),
  running: () => Effect.succeed([]),
  pending: () => Effect.succeed([]),
  hurry: () => Effect.succeed(false),
  withdraw: () => Effect.succeed(false),
  pause: () => Effect.succeed(null)
}

type Named = Pick<FailedJob, "id" | "name">

/** What is noted of an act on the jobs of a name. */
const actOf = {
  "jobs-retried": "job.retried",
  "jobs-deleted": "job.deleted",
  "jobs-paused": "job.paused",
  "jobs-resumed": "job.resumed"
} as const

const jobsNamed = (name: string): AuditSubject => ({ kind: "jobs", id: name, name: null })

const ask = <A>(effect: Effect.Effect<A, QueueError>): Effect.Effect<A, Problem> =>
  Effect.mapError(effect, queueProblem)

const countsJson = (counts: readonly JobCounts[], jobs: ReadonlyMap<string, JobModel>): unknown => {
  const byName = new Map(counts.map((each) => [each.name, each]))
  const names = [...new Set([...byName.keys(), ...jobs.keys()])].toSorted()
  return {
    jobs: names.map((name) => {
      const job = jobs.get(name)
      const counts = byName.get(name)
      const { completed = 0, failed = 0, retrying = 0, running = 0, waiting = 0 } = counts ?? {}
      return {
        name,
        declared: job !== undefined || isOwnJob(name),
        waiting,
        running,
        retrying,
        failed,
        completed,
        nextDue: counts?.nextDue ?? null,
        oldestDue: counts?.oldestDue ?? null,
        ordered: job?.ordered ?? null,
        maxRunning: job?.maxRunning ?? null,
        rate: job?.rate ?? null,
        schedule: job?.schedule?.pattern ?? null,
        timezone: job?.schedule?.timezone ?? null,
        nextRun: counts?.nextRun ?? null,
        lastRun: counts?.lastRun ?? null,
        pausedAt: counts?.pausedAt ?? null
      }
    })
  }
}

/** A job as JSON text. Its payload is shown as it was stored, and that of an event without records. */
const jobJson = (
  job: BegunJob | FailedJob | PendingJob,
  more: { readonly errors?: readonly JobError[] } = {}
): string => {
  const { payload, ...rest } = job
  return `${JSON.stringify({ ...rest, ...more }).slice(0, -1)},"payload":${
    payload === null ? "null" : shownPayload(job.name, payload)
  }}`
}

const readState = (text: string | undefined): Result.Result<PendingJob["state"] | null, Problem> =>
  text === undefined || text === "waiting" || text === "retrying"
    ? Result.succeed(text ?? null)
    : Result.fail(invalidParameter("state", "Expected waiting or retrying."))

/** The searched text; null without one. */
const readSearch = (text: string | undefined): Result.Result<string | null, Problem> =>
  text === undefined || text === ""
    ? Result.succeed(null)
    : text.length > longestSearch || refuseText(JSON.stringify(text)) !== null
    ? Result.fail(invalidParameter("search", `Expected at most ${longestSearch} characters of plain text.`))
    : Result.succeed(text)

const readPageSize = (text: string | undefined): Result.Result<number, Problem> => {
  if (text === undefined) return Result.succeed(usualPage)
  if (!/^[0-9]{1,9}$/.test(text)) {
    return Result.fail(invalidParameter("page_size", "Expected a whole number, 0 or more."))
  }
  return Result.succeed(Math.min(Number(text) || usualPage, largestPage))
}

const readSeconds = (text: string | undefined): Result.Result<number, Problem> => {
  const seconds = text === undefined ? usualSeconds : /^[0-9]{1,3}$/.test(text) ? Number(text) : 0
  return seconds >= 1 && seconds <= mostSeconds
    ? Result.succeed(seconds)
    : Result.fail(invalidParameter("seconds", `Expected a whole number from 1 to ${mostSeconds}.`))
}

export const makeQueueApp = (
  { drainToken, jobs, notes, queue: given, seal, told = () => {}, workers }: QueueParts
): QueueApp => {
  const queue = given ?? empty
  const admin = <A>(caller: Caller, next: () => Effect.Effect<A, Problem>): Effect.Effect<A, Problem> =>
    caller.roles.includes(adminRole) ? Effect.suspend(next) : Effect.fail(accessDenied())

  const pageContext = (list: string, caller: Caller, ...of: ReadonlyArray<string | null>): string =>
    JSON.stringify([list, caller.id, ...of])
  const readPosition = <Position>(
    token: string | undefined,
    context: string
  ): Result.Result<Position | null, Problem> => {
    if (token === undefined || token === "") return Result.succeed(null)
    const text = seal.open(context, token)
    return text === null
      ? Result.fail(invalidParameter("page_token", "The token is not one of this list."))
      : Result.succeed(ownJson<Position>(text))
  }

  /** The answer of a page. One job more than the page was asked for, to know whether there is a next page. */
  const pageOf = <Job extends BegunJob | FailedJob | PendingJob>(
    jobs: readonly Job[],
    size: number,
    context: string,
    positionOf: (last: Job) => BegunPosition | FailedPosition | PendingPosition
  ): Reply => {
    const page = jobs.slice(0, size)
    const last = jobs.length > size ? page.at(-1) : undefined
    const next = last === undefined ? null : seal.seal(context, JSON.stringify(positionOf(last)))
    return json(
      200,
      `{"jobs":[${page.map((job) => jobJson(job)).join(",")}],"next_page_token":${JSON.stringify(next)}}`
    )
  }

  /** The first of the jobs that were found by an id, or a 404. */
  const only = <Job>(jobs: Effect.Effect<readonly Job[], QueueError>): Effect.Effect<Job, Problem> =>
    Effect.flatMap(ask(jobs), ([job]) => job === undefined ? Effect.fail(notFound()) : Effect.succeed(job))

  /** The answer for one job, with its whole payload and its last errors. */
  const whole = (
    caller: Caller,
    id: string,
    query: Query,
    jobs: () => Effect.Effect<ReadonlyArray<BegunJob | FailedJob | PendingJob>, QueueError>
  ): Effect.Effect<Reply, Problem> =>
    admin(
      caller,
      () =>
        Effect.flatMap(Effect.fromResult(readParameters(query, [])), () =>
          Effect.flatMap(only(jobs()), (job) =>
            Effect.map(ask(queue.errors(id)), (errors) =>
              json(200, jobJson(job, { errors })))))
    )

  const failed = Effect.fnUntraced(function*(caller: Caller, query: Query): Effect.fn.Return<Reply, Problem> {
    const { name, page_size, page_token, search: searched } = yield* Effect.fromResult(
      readParameters(query, ["name", "search", "page_size", "page_token"])
    )
    const search = yield* Effect.fromResult(readSearch(searched))
    const size = yield* Effect.fromResult(readPageSize(page_size))
    const context = pageContext("failed-jobs", caller, name ?? null, search)
    const after = yield* Effect.fromResult(readPosition<FailedPosition>(page_token, context))
    const jobs = yield* ask(
      queue.failed({ name: name ?? null, search, after, limit: size + 1, longest: longestListed })
    )
    return pageOf(jobs, size, context, ({ failedAt, id }): FailedPosition => ({ failedAt, id }))
  })

  const pending = Effect.fnUntraced(function*(caller: Caller, query: Query): Effect.fn.Return<Reply, Problem> {
    const { name, page_size, page_token, search: searched, state: stated } = yield* Effect.fromResult(
      readParameters(query, ["name", "state", "search", "page_size", "page_token"])
    )
    const search = yield* Effect.fromResult(readSearch(searched))
    const state = yield* Effect.fromResult(readState(stated))
    const size = yield* Effect.fromResult(readPageSize(page_size))
    const context = pageContext("pending-jobs", caller, name ?? null, state, search)
    const after = yield* Effect.fromResult(readPosition<PendingPosition>(page_token, context))
    const jobs = yield* ask(
      queue.pending({ name: name ?? null, state, search, after, limit: size + 1, longest: longestListed })
    )
    return pageOf(jobs, size, context, ({ id, runAt }): PendingPosition => ({ runAt, id }))
  })

  const running = Effect.fnUntraced(function*(caller: Caller, query: Query): Effect.fn.Return<Reply, Problem> {
    const { name, page_size, page_token, search: searched } = yield* Effect.fromResult(
      readParameters(query, ["name", "search", "page_size", "page_token"])
    )
    const search = yield* Effect.fromResult(readSearch(searched))
    const size = yield* Effect.fromResult(readPageSize(page_size))
    const context = pageContext("running-jobs", caller, name ?? null, search)
    const after = yield* Effect.fromResult(readPosition<BegunPosition>(page_token, context))
    const jobs = yield* ask(
      queue.running({ name: name ?? null, search, after, limit: size + 1, longest: longestListed })
    )
    return pageOf(jobs, size, context, ({ id, startedAt }): BegunPosition => ({ startedAt, id }))
  })

  const cancel = ({ id, name }: Named): Effect.Effect<number, Problem> => {
    const reason = keptBecause(name)
    return reason === null ? ask(Effect.map(queue.withdraw(id), Number)) : Effect.fail(problem("conflict", reason))
  }

  /** Does something to one job of a list, and notes who did it. */
  const one = (
    caller: Caller,
    query: Query,
    noted: AuditAct,
    jobs: () => Effect.Effect<readonly Named[], QueueError>,
    act: (job: Named) => Effect.Effect<number, Problem>
  ): Effect.Effect<Reply, Problem> =>
    admin(
      caller,
      Effect.fnUntraced(function*(): Effect.fn.Return<Reply, Problem> {
        yield* Effect.fromResult(readParameters(query, []))
        const job = yield* only(jobs())
        if ((yield* act(job)) === 0) return yield* Effect.fail(notFound())
        yield* note(notes, caller, [{ act: noted, subject: { kind: "job", id: job.id, name: job.name } }])
        return { status: 204, headers: {}, body: null }
      })
    )

  const all = (
    caller: Caller,
    query: Query,
    what: Parameters<NonNullable<QueueParts["told"]>>[0],
    act: (chosen: Chosen) => Effect.Effect<number, QueueError>
  ): Effect.Effect<Reply, Problem> =>
    admin(
      caller,
      () =>
        Effect.flatMap(Effect.fromResult(readParameters(query, ["name"])), ({ name }) =>
          name === undefined || name === ""
            ? Effect.fail(invalidParameter("name", "Give the name of the job."))
            : Effect.flatMap(ask(act({ name })), (count) => {
              told(what, name, count, caller)
              const noted = { act: actOf[what], subject: jobsNamed(name), details: { count } } as const
              return Effect.as(
                count === 0 ? Effect.void : note(notes, caller, [noted]),
                json(200, JSON.stringify({ count }))
              )
            }))
    )

  const pause = (caller: Caller, query: Query, paused: boolean): Effect.Effect<Reply, Problem> =>
    admin(
      caller,
      Effect.fnUntraced(function*(): Effect.fn.Return<Reply, Problem> {
        const { name } = yield* Effect.fromResult(readParameters(query, ["name"]))
        if (name === undefined || name === "") {
          return yield* Effect.fail(invalidParameter("name", "Give the name of the job."))
        }
        const held = namePattern.test(name)
          ? yield* ask(queue.pause(name, paused, jobs.get(name)?.ordered ?? null))
          : null
        if (held === null) return yield* Effect.fail(notFound())
        workers()?.hold(name, paused)
        const what = paused ? "jobs-paused" : "jobs-resumed"
        told(what, name, null, caller)
        yield* note(notes, caller, [{ act: actOf[what], subject: jobsNamed(name) }])
        return json(200, JSON.stringify({ name, pausedAt: held.pausedAt }))
      })
    )

  // Digests are compared, so that the timing reveals nothing about the token.
  const permit = (token: string) => (bearer: string | null): Effect.Effect<void, Problem> =>
    bearer !== null && seal.digest(bearer) === seal.digest(token) ? Effect.void : Effect.fail(
      problem("unauthenticated", "The drain needs the operator's token.", {}, { "www-authenticate": "Bearer" })
    )

  const drain = (query: Query): Effect.Effect<Reply, Problem> => {
    const seconds = Result.flatMap(readParameters(query, ["seconds"]), (parameters) => readSeconds(parameters.seconds))
    if (Result.isFailure(seconds)) return Effect.fail(seconds.failure)
    const running = workers()
    return running === null
      ? Effect.fail(problem("conflict", "This process runs no jobs."))
      : Effect.map(ask(running.drain(seconds.success * 1_000)), (drained) => json(200, JSON.stringify(drained)))
  }

  return {
    list: (caller, query) =>
      admin(
        caller,
        () =>
          Effect.flatMap(Effect.fromResult(readParameters(query, [])), () =>
            Effect.map(ask(queue.counts), (counts) => json(200, JSON.stringify(countsJson(counts, jobs)))))
      ),
    activity: (caller, query) =>
      admin(
        caller,
        () =>
          Effect.flatMap(Effect.fromResult(readParameters(query, ["name"])), ({ name }) =>
            Effect.map(
              ask(queue.activity(name ?? null)),
              (minutes) => json(200, JSON.stringify({ minutes }))
            ))
      ),
    failed: (caller, query) => admin(caller, () => failed(caller, query)),
    failedJob: (caller, id, query) => whole(caller, id, query, () => queue.failed({ id })),
    retry: (caller, id, query) =>
      one(
        caller,
        query,
        "job.retried",
        () => queue.failed({ id }),
        () => ask(Effect.tap(queue.retry({ id }), () => Effect.sync(() => workers()?.wakeAll())))
      ),
    remove: (caller, id, query) =>
      one(caller, query, "job.deleted", () => queue.failed({ id }), () => ask(queue.remove({ id }))),
    running: (caller, query) => admin(caller, () => running(caller, query)),
    runningJob: (caller, id, query) => whole(caller, id, query, () => queue.running({ id })),
    pending: (caller, query) => admin(caller, () => pending(caller, query)),
    pendingJob: (caller, id, query) => whole(caller, id, query, () => queue.pending({ id })),
    hurry: (caller, id, query) =>
      one(caller, query, "job.run", () => queue.pending({ id }), () => ask(Effect.map(queue.hurry(id), Number))),
    cancel: (caller, id, query) => one(caller, query, "job.cancelled", () => queue.pending({ id }), cancel),
    retryAll: (caller, query) => all(caller, query, "jobs-retried", queue.retry),
    removeAll: (caller, query) => all(caller, query, "jobs-deleted", queue.remove),
    pause: (caller, query) => pause(caller, query, true),
    resume: (caller, query) => pause(caller, query, false),
    drain: drainToken === null ? null : { permit: permit(drainToken), run: drain }
  }
}
