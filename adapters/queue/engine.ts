/**
 * Runs jobs: one pool of the queue library for each name, over our own connections. The library gives the loop of a worker and the order of
 * its shutdown. The statements that fetch and complete jobs are ours, so that workers of one name share them. Only this file imports the
 * library.
 *
 * It relies on the following, and `test/queue/library.test.ts` notices a change. A fetch and a completion begin as `fetches` and
 * `completes` say. A failed try sets `locked_at` to null. LISTEN takes its client by the callback form of `connect`, which is never
 * answered here.
 */

import * as Effect from "effect/Effect"
import type { Job, WorkerPool } from "graphile-worker"
import { createHash } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import {
  type JobModel,
  pollMs as usualPollMs,
  readOnlyWaitMs,
  shutdownGraceMs
} from "../../core/domain/job/definition.ts"
import type { JobCounts } from "../../core/domain/job/state.ts"
import type { Drained, Outcome, QueueService, RunAttempt, Timers, Workers } from "../../core/ports/queue.ts"
import { checkSchema } from "./check.ts"
import { codeOf, type Connections, isTransient, queueError, type Rows, runOn } from "./connection.ts"

/** Something that happened to a job or to the workers. No payload and no error text stands in it. */
export type JobLog = (
  level: "info" | "warn" | "error",
  event: string,
  fields: { readonly [name: string]: string | number | null }
) => void

export interface EngineOptions {
  readonly pool: Connections
  readonly queue: QueueService
  readonly jobs: ReadonlyMap<string, JobModel>
  readonly attempt: RunAttempt
  readonly log: JobLog
  /** Counts of the queues, each minute. */
  readonly counted?: (counts: readonly JobCounts[]) => void
  readonly pollMs?: number
  readonly graceMs?: number
  /** How often the chores are looked at. Default a minute. */
  readonly choreMs?: number
  /** The clock for tries, where it is not this process's own. */
  readonly timers?: Timers
}

/** What the library sends to fetch jobs and to complete them. */
export const fetches = /^\s*with j as \(\s*select jobs\.job_queue_id/
export const completes = /^\s*delete from "jobs"\._private_jobs/

const nothing: Rows = { rows: [], rowCount: 0 }

const fetchSql = `with j as (
  select id from jobs._private_jobs where is_available and run_at <= now() and task_id = $2::integer
  order by priority, run_at, id limit $3::integer for update skip locked)
update jobs._private_jobs jobs set attempts = jobs.attempts + 1, locked_by = $1::text, locked_at = now()
from j where jobs.id = j.id returning jobs.*`

/** Only jobs that the worker still holds. A job that another worker got is completed by that one. */
const completeSql =
  `delete from jobs._private_jobs jobs using unnest($1::bigint[], $2::text[], $3::integer[]) as done(id, owner, try)
where jobs.id = done.id and jobs.locked_by = done.owner and jobs.attempts = done.try`

const fatalSql =
  "update jobs._private_jobs set max_attempts = attempts where id = $1::bigint and locked_by = $2::text and attempts = $3::integer"
const retryAtSql =
  "update jobs._private_jobs set run_at = $4::timestamptz where id = $1::bigint and locked_by = $2::text and attempts = $3::integer"

const pendingSql =
  `select count(*)::text as count from jobs._private_jobs j join jobs._private_tasks t on t.id = j.task_id
where t.identifier = any($1::text[]) and (j.locked_at is not null or (j.is_available and j.run_at <= now()))`

/** The id of a run: 63 bits of a hash of name and time, negative, so that no other job has it. */
export const runId = (name: string, time: Date): string => {
  const hash = createHash("sha256").update(`${name} ${time.toISOString()}`).digest()
  const bits = hash.readBigUInt64BE(0) >> 1n
  return String(-(bits === 0n ? 1n : bits))
}

const interval = (milliseconds: number): string => `${milliseconds} milliseconds`

const ownTimers: Timers = {
  now: () => performance.now(),
  after: (milliseconds, call) => {
    const timer = setTimeout(call, milliseconds)
    return () => clearTimeout(timer)
  }
}

/** A row of a fetched job, as far as it is used here. */
type Fetched = Job & { readonly locked_by: string }

const byTurn = (a: Fetched, b: Fetched): number =>
  a.priority - b.priority || a.run_at.getTime() - b.run_at.getTime() || (BigInt(a.id) < BigInt(b.id) ? -1 : 1)

/** The jobs of one name in this process. */
class Lane {
  readonly job: JobModel
  readonly #taskId: number
  readonly #engine: Engine
  /** Workers that wait for a job, and the pool that they belong to. */
  #waiting: Array<(rows: Rows) => void> = []
  #poolId = ""
  #fetching = false
  /** When a fetch last found nothing. Until the next poll others of this name need not ask. */
  #emptyAt = Number.NEGATIVE_INFINITY
  pool: WorkerPool | null = null
  /** An alarm for the next run of the schedule. */
  alarm: NodeJS.Timeout | undefined

  constructor(job: JobModel, taskId: number, engine: Engine) {
    this.job = job
    this.#taskId = taskId
    this.#engine = engine
  }

  wake(workers: number): void {
    this.#emptyAt = Number.NEGATIVE_INFINITY
    if (this.pool !== null && !this.#engine.stopping) this.pool.nudge(workers)
  }

  /** Answers one worker's fetch. Those that ask at the same time share a statement. */
  fetch(poolId: string): Promise<Rows> {
    if (this.#engine.stopping || performance.now() - this.#emptyAt < this.#engine.pollMs * 0.9) {
      return Promise.resolve(nothing)
    }
    this.#poolId = poolId
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#turn()
    })
  }

  #turn(): void {
    if (this.#fetching || this.#waiting.length === 0) return
    this.#fetching = true
    setImmediate(() => {
      const waiting = this.#waiting.splice(0)
      const asked = performance.now()
      const found = this.#engine.stopping
        ? Promise.resolve(nothing)
        : this.#engine.run(fetchSql, [this.#poolId, this.#taskId, waiting.length])
      found.then(
        ({ rows }) => {
          const jobs = (rows as unknown as Fetched[]).toSorted(byTurn)
          for (const [index, resolve] of waiting.entries()) {
            const job = jobs[index]
            // The library looks the name up by the id of its task.
            resolve(job === undefined ? nothing : { rows: [job as never], rowCount: 1 })
          }
          if (jobs.length < waiting.length) this.#emptyAt = asked
          // There may be more jobs, so as many idle workers as were just served look, too.
          else if (!this.#engine.stopping) this.pool?.nudge(jobs.length)
        },
        (error: unknown) => {
          this.#engine.log("error", "jobs-fetch", { name: this.job.name, code: codeOf(error) })
          for (const resolve of waiting) resolve(nothing)
        }
      ).finally(() => {
        this.#fetching = false
        this.#turn()
      })
    })
  }
}

/** What each job that was done was when its worker got it. */
interface Done {
  readonly owner: string
  readonly attempt: number
}

class Engine {
  readonly pollMs: number
  readonly log: JobLog
  stopping = false
  /** No statement is sent any more. */
  ended = false
  readonly #pool: Connections
  readonly #done = new Map<string, Done>()

  constructor(options: EngineOptions) {
    this.pollMs = options.pollMs ?? usualPollMs
    this.log = options.log
    this.#pool = options.pool
  }

  /** Runs a statement, again and again while the database or the way to it fails. After the end it is not sent. */
  async run(sql: string, params: readonly unknown[]): Promise<Rows> {
    for (let pause = 100;; pause = Math.min(pause * 2, 5_000)) {
      if (this.ended) return nothing
      try {
        return await runOn(this.#pool, sql, params)
      } catch (error) {
        if (!isTransient(error) || this.ended) throw error
        const code = codeOf(error)
        if (pause === 100) this.log("warn", "jobs-database", { code })
        await sleep(code === "25006" ? readOnlyWaitMs : pause * (0.5 + Math.random() / 2), undefined, { ref: false })
      }
    }
  }

  /** Remembers a job that may be completed. */
  finished({ attempts, id, locked_by: owner }: Fetched): void {
    this.#done.set(id, { owner, attempt: attempts })
  }

  async complete(lane: Lane, ids: readonly string[]): Promise<Rows> {
    const done = ids.map((id) => this.#done.get(id))
    for (const id of ids) this.#done.delete(id)
    const { rowCount } = await this.run(completeSql, [
      ids,
      done.map((each) => each?.owner ?? ""),
      done.map((each) => each?.attempt ?? 0)
    ])
    if (!this.ended && rowCount !== ids.length) {
      this.log("warn", "jobs-lost", { name: lane.job.name, jobs: ids.length - (rowCount ?? 0) })
    }
    // The next of the groups are due now.
    if (lane.job.ordered) lane.wake(ids.length)
    return { rows: [], rowCount }
  }

  /** What the library takes for a pool of `pg`. */
  poolOf(lane: Lane): unknown {
    const query = (asked: { readonly text: string; readonly values?: unknown[] } | string, more?: unknown[]) => {
      const { text, values = [] } = typeof asked === "string" ? { text: asked, values: more ?? [] } : asked
      if (fetches.test(text)) return lane.fetch(String(values[0]))
      if (completes.test(text)) return this.complete(lane, [values[0]].flat().map(String))
      return this.run(text, values)
    }
    const client = { query, release: () => {} }
    // A call with a callback wants to listen. It is never answered.
    return { query, connect: (callback?: unknown) => callback === undefined ? Promise.resolve(client) : undefined }
  }
}

type Run = (sql: string, params: readonly unknown[]) => Promise<Rows>

const chance = (milliseconds: number): number => milliseconds * (0.9 + Math.random() * 0.2)

/**
 * Starts the workers: checks the schema again, tells the database what jobs there are, puts the schedules in order. Rejects when the database cannot be
 * used; nothing runs then.
 */
export const startEngine = async (options: EngineOptions): Promise<Workers> => {
  const { attempt, counted, jobs, log, pool, queue, timers = ownTimers } = options
  const { Logger, runTaskList } = await import("graphile-worker")
  const engine = new Engine(options)
  const lanes = new Map<string, Lane>()
  const stopped = new AbortController()
  const graceMs = options.graceMs ?? shutdownGraceMs

  const define = async ({
    maxAttempts,
    maxRetryDelayMs,
    name,
    ordered,
    retryDelayMs,
    retryStepsMs,
    schedule,
    timeoutMs
  }: JobModel): Promise<void> => {
    await runOn(
      pool,
      "select jobs._define($1::text, $2::boolean, $3::integer, $4::interval, $5::interval, $6::text[]::interval[], $7::interval, $8::text)",
      [
        name,
        ordered,
        maxAttempts,
        interval(retryDelayMs),
        interval(maxRetryDelayMs),
        retryStepsMs?.map(interval) ?? null,
        interval(timeoutMs),
        schedule === null ? null : `${schedule.pattern} ${schedule.timezone}`
      ]
    )
  }

  /** Has the first run after an instant enqueued, and an alarm for it. */
  const enqueueRun = async (job: JobModel, after: Date, run: Run): Promise<void> => {
    const next = job.schedule?.next(after) ?? null
    if (next === null) return
    await run("select jobs._enqueue_run($1::text, $2::bigint, $3::timestamptz, $4::integer)", [
      job.name,
      runId(job.name, next),
      next.toISOString(),
      job.maxAttempts
    ])
    const lane = lanes.get(job.name)
    if (lane === undefined || engine.stopping) return
    clearTimeout(lane.alarm)
    // Timers can wait for less than 25 days. For longer times the timer is set anew each minute.
    const wait = next.getTime() - Date.now()
    if (wait < 86_400_000) lane.alarm = setTimeout(() => lane.wake(1), Math.max(0, wait) + 5).unref()
  }

  /** Drops waiting runs that no schedule names any more, and ensures that each schedule has its next run. */
  const settleSchedules = async (): Promise<void> => {
    const { rows } = await runOn(
      pool,
      `select j.id::text, t.identifier as name, j.run_at from jobs._private_jobs j join jobs._private_tasks t on t.id = j.task_id
where j.id < 0 and j.attempts = 0 and j.locked_at is null`
    )
    const gone = rows.filter((row) => jobs.get(String(row["name"]))?.schedule?.has(row["run_at"] as Date) !== true)
    if (gone.length > 0) {
      await runOn(
        pool,
        "delete from jobs._private_jobs where id = any($1::bigint[]) and attempts = 0 and locked_at is null",
        [gone.map((row) => row["id"])]
      )
    }
    for (const job of jobs.values()) {
      if (job.schedule !== null) await enqueueRun(job, new Date(), (sql, params) => runOn(pool, sql, params))
    }
  }

  const settle = async (row: Fetched, outcome: Outcome, name: string, begun: number): Promise<void> => {
    const ms = Math.round(performance.now() - begun)
    const fields = { name, id: row.id, attempt: row.attempts, ms }
    if (outcome.of === "completed") {
      engine.finished(row)
      log("info", "job-completed", fields)
      return
    }
    const { error, fatal, message, retryAt } = outcome
    const held = [row.id, row.locked_by, row.attempts]
    if (fatal) await engine.run(fatalSql, held)
    else if (retryAt !== null) await engine.run(retryAtSql, [...held, retryAt.toISOString()])
    const last = fatal || row.attempts >= row.max_attempts
    log(last ? "error" : "warn", last ? "job-failed" : "job-retry", {
      ...fields,
      error: error instanceof Error ? error.name : null,
      code: codeOf(error)
    })
    throw new Error(message)
  }

  const logger = new Logger(() => () => {})
  const begin = (lane: Lane): void => {
    const { job } = lane
    const work = async (payload: unknown, helpers: { readonly job: Job }): Promise<void> => {
      const row = helpers.job as Fetched
      const begun = performance.now()
      if (job.schedule !== null && row.id.startsWith("-")) {
        await enqueueRun(
          job,
          new Date(Math.max(Date.now(), row.run_at.getTime())),
          (sql, params) => engine.run(sql, params)
        )
      }
      const outcome = await attempt({
        id: row.id,
        name: job.name,
        payload,
        attempt: row.attempts,
        maxAttempts: row.max_attempts,
        stopped: stopped.signal,
        timers
      })
      await settle(row, outcome, job.name, begun)
    }
    const workers = runTaskList(
      {
        schema: "jobs",
        concurrency: job.concurrency,
        pollInterval: engine.pollMs,
        noPreparedStatements: true,
        noHandleSignals: true,
        logger,
        minResetLockedInterval: 2 ** 31 - 1,
        maxResetLockedInterval: 2 ** 31 - 1,
        preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } }
      } as never,
      { [job.name]: work as never },
      engine.poolOf(lane) as never
    )
    lane.pool = workers
    void workers.promise.then(() => {}, () => {}).then(async () => {
      lane.pool = null
      if (engine.stopping) return
      log("error", "jobs-restarted", { name: job.name })
      await sleep(2_000, undefined, { ref: false })
      if (!engine.stopping) begin(lane)
    })
  }

  // The library releases jobs of dead workers once a minute at a random moment, even where it is told not to. It releases them when our own
  // rule would, so that does no harm.
  for (const job of jobs.values()) await define(job)
  const { rows: tasks } = await runOn(
    pool,
    "select id, identifier from jobs._private_tasks where identifier = any($1::text[])",
    [[...jobs.keys()]]
  )
  for (const { id, identifier } of tasks) {
    const job = jobs.get(String(identifier))
    if (job !== undefined) lanes.set(job.name, new Lane(job, Number(id), engine))
  }
  await settleSchedules()

  const freeDead = async (): Promise<void> => {
    const { rows } = await runOn(pool, "select jobs._free_dead()::integer as freed")
    const freed = Number(rows[0]?.["freed"] ?? 0)
    if (freed > 0) {
      log("warn", "jobs-freed", { jobs: freed })
      for (const lane of lanes.values()) lane.wake(1)
    }
  }
  const claim = async (chore: string, since: string): Promise<boolean> => {
    const { rows } = await runOn(pool, "select jobs._claim($1::text, $2::interval) as mine", [chore, since])
    return rows[0]?.["mine"] === true
  }
  const choreMs = options.choreMs ?? 60_000
  const chores = async (): Promise<void> => {
    const level = await checkSchema(pool)
    if (level !== "current") {
      log("error", "jobs-schema-changed", { level })
      void stop()
      return
    }
    if (await claim("minute", interval(choreMs * 0.9))) {
      await freeDead()
      await settleSchedules()
      const counts = await Effect.runPromise(queue.counts)
      counted?.(counts)
      const sum = (state: "waiting" | "running" | "retrying" | "failed"): number =>
        counts.reduce((all, each) => all + each[state], 0)
      log("info", "jobs", {
        waiting: sum("waiting"),
        running: sum("running"),
        retrying: sum("retrying"),
        failed: sum("failed")
      })
    }
    if (await claim("day", "23 hours 55 minutes")) await runOn(pool, "select jobs._clean()")
  }
  let choring: Promise<void> = Promise.resolve()
  let chore: NodeJS.Timeout | undefined
  const doChores = (): void => {
    choring = chores().catch((error: unknown) => {
      if (!engine.stopping) log("warn", "jobs-chores", { code: codeOf(error) })
    }).finally(() => {
      if (!engine.stopping) chore = setTimeout(doChores, chance(choreMs)).unref()
    })
  }

  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => stopping ??= end()
  const end = async (): Promise<void> => {
    engine.stopping = true
    clearTimeout(chore)
    for (const lane of lanes.values()) clearTimeout(lane.alarm)
    const pools = [...lanes.values()].flatMap(({ pool: each }) => each === null ? [] : [each])
    const all = Promise.allSettled(
      pools.map(async (each) => {
        await each.gracefulShutdown("The worker stops.")
      })
    ).then(() => true)
    const within = async (milliseconds: number): Promise<boolean> => {
      const timer = new AbortController()
      const late = sleep(milliseconds, false, { signal: timer.signal }).catch(() => false)
      const done = await Promise.race([all, late])
      timer.abort()
      return done
    }
    if (!await within(graceMs)) {
      // Jobs that obey their signal end by themselves now. The library fails the rest, and they are retried.
      stopped.abort(new Error("The worker stops."))
      if (!await within(1_000)) {
        await Promise.allSettled(pools.map(async (each) => {
          await each.forcefulShutdown("The worker stopped while the job ran.")
        }))
      }
    }
    await choring
    engine.ended = true
  }

  for (const lane of lanes.values()) begin(lane)
  doChores()

  const pending = async (): Promise<number> => {
    const { rows } = await runOn(pool, pendingSql, [[...jobs.keys()]])
    return Number(rows[0]?.["count"] ?? 0)
  }
  const drain = async (milliseconds: number): Promise<Drained> => {
    const until = performance.now() + milliseconds
    await freeDead()
    for (let pause = 10;; pause = Math.min(pause * 2, 250)) {
      const remaining = await pending()
      const left = until - performance.now()
      if (remaining === 0 || left <= 0 || engine.stopping) {
        const { rows } = await runOn(
          pool,
          `select to_char(jobs.next_due() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as due`
        )
        return { drained: remaining === 0, remaining, nextDue: rows[0]?.["due"] as string | null }
      }
      for (const lane of lanes.values()) lane.wake(lane.job.concurrency)
      await sleep(Math.min(pause, left))
    }
  }

  return {
    jobs,
    wake: (name) => lanes.get(name)?.wake(1),
    wakeAll: () => {
      for (const lane of lanes.values()) lane.wake(1)
    },
    drain: (milliseconds) => Effect.tryPromise({ try: () => drain(milliseconds), catch: queueError }),
    isReady: () => !engine.stopping,
    stop
  }
}
