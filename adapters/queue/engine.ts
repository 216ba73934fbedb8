/**
 * Runs jobs: a lane for each name, the try of a job and its outcome, schedules, chores, and an end in order. The table of jobs is graphile-worker's
 * (schema.ts); the loop over it is ours, because its statements complete jobs that the process no longer holds, and send one completion a job.
 */

import * as Effect from "effect/Effect"
import { createHash, randomBytes } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import {
  type JobModel,
  leaseMs as usualLeaseMs,
  pollMs as usualPollMs,
  readOnlyWaitMs,
  shutdownGraceMs
} from "../../core/domain/job/definition.ts"
import { errorMark, errorStack, errorText } from "../../core/domain/job/failure.ts"
import { apartUs } from "../../core/domain/job/rate.ts"
import type { JobCounts } from "../../core/domain/job/state.ts"
import type { Drained, Outcome, QueueService, RunAttempt, Timers, Workers } from "../../core/ports/queue.ts"
import { checkSchema } from "./check.ts"
import {
  codeOf,
  type Columns,
  type Connections,
  isTransient,
  type QueryAnswer,
  queueError,
  runOn
} from "./connection.ts"
import type { Fetched, JobLog } from "./fetched.ts"
import { Lane, type LaneHost, nothing } from "./lane.ts"
import { Leases, type OpenGuard } from "./lease.ts"
import { Progresses } from "./progress.ts"
import { ownSchema } from "./sql.ts"

export interface EngineOptions {
  /** The schema of the queue. */
  readonly schema?: string
  readonly pool: Connections
  readonly queue: QueueService
  readonly jobs: ReadonlyMap<string, JobModel>
  readonly attempt: RunAttempt
  readonly log: JobLog
  /** Counts of the queues, each minute. */
  readonly counted?: (counts: readonly JobCounts[]) => void
  /** Which process this is, for people; without spaces. */
  readonly who?: string
  readonly pollMs?: number
  readonly graceMs?: number
  /** Default `choreMs`. */
  readonly choreMs?: number
  /** How long jobs are held without a word of this process. Default half a minute. */
  readonly leaseMs?: number
  /** Renews the leases while a job blocks the event loop; left out, nobody does. */
  readonly guard?: OpenGuard
  /** The clock for tries, where it is not this process's own. */
  readonly timers?: Timers
}

/** How often the chores are done, and four times as often jobs of dead workers are freed. */
export const choreMs = 60_000

/** The statements of the engine, for a schema's name as SQL. */
const engineStatements = (s: string) => {
  /** A failed try, if this process still holds it. The trigger sets the time of the next one, except for a name that no worker has defined. */
  const failSql =
    `update ${s}._private_jobs set last_error = $4::text, run_at = greatest(now(), run_at) + exp(least(attempts, 10)) * interval '1 second',
  locked_by = null, locked_at = null where id = $1::bigint and locked_by = $2::text and attempts = $3::integer`

  /**
   * Frees jobs whose leases have ended: their workers are dead. Each worker began its jobs in turn. The first of them ($2, by the ids of the
   * names in $1) count as begun. The attempts of the others do not count, because most of those were only fetched ahead. A job with a single attempt is never fetched ahead.
   */
  const freeDeadSql = `with dead as (
  select j.id, j.locked_at < now() - interval '4 hours' as ended,
    row_number() over (partition by j.task_id, j.locked_by order by j.updated_at, j.priority, j.run_at, j.id) > n.begun
    and j.max_attempts > 1 as unstarted
  from ${s}._private_jobs j left join unnest($1::integer[], $2::integer[]) as n(task, begun) on n.task = j.task_id
  where j.locked_at is not null and j.locked_by in (
    select locked_by from ${s}._private_jobs where locked_at < now() - interval '4 hours'))
update ${s}._private_jobs jobs set locked_at = null, locked_by = null, attempts = attempts - case when dead.unstarted then 1 else 0 end
from dead where jobs.id = dead.id and dead.ended and jobs.locked_at < now() - interval '4 hours'`

  const fatalSql =
    `update ${s}._private_jobs set max_attempts = attempts where id = $1::bigint and locked_by = $2::text and attempts = $3::integer`
  const retryAtSql =
    `update ${s}._private_jobs set run_at = $4::timestamptz, attempts = attempts - case when $5::boolean then 0 else 1 end where id = $1::bigint and locked_by = $2::text and attempts = $3::integer`

  const pendingSql =
    `select count(*)::text as count from ${s}._private_jobs j join ${s}._private_tasks t on t.id = j.task_id join ${s}.definitions d on d.task_id = t.id
where t.identifier = any($1::text[]) and (j.locked_at is not null or (d.paused_at is null and j.is_available and j.run_at <= now()))`

  const pausedSql = `select task_id from ${s}.definitions where paused_at is not null`

  return { failSql, fatalSql, freeDeadSql, pausedSql, pendingSql, retryAtSql }
}

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

/** A running try, which can be told to end. An `AbortController` costs a short job more than its own work. */
class Try {
  readonly row: Fetched
  /** The process gave it up, and its job with it. */
  isGivenUp = false
  #ended = false
  #call: (() => void) | null = null

  constructor(row: Fetched) {
    this.row = row
  }

  readonly end = (): void => {
    this.#ended = true
    this.#call?.()
  }

  readonly onStop = (call: () => void): () => void => {
    this.#call = call
    if (this.#ended) call()
    return () => {
      this.#call = null
    }
  }
}

class Engine {
  readonly schema: string
  readonly statements: ReturnType<typeof engineStatements>
  readonly leases: Leases
  readonly pollMs: number
  readonly owner: string
  readonly log: JobLog
  readonly work: LaneHost["work"]
  stopping = false
  /** No statement is sent any more. */
  ended = false
  readonly #pool: Connections

  constructor(options: EngineOptions, work: LaneHost["work"]) {
    this.schema = options.schema ?? defaultSchemas.jobs
    this.statements = engineStatements(ownSchema(this.schema))
    this.pollMs = options.pollMs ?? usualPollMs
    this.owner = `${options.who === undefined ? "" : `${options.who} `}${randomBytes(9).toString("hex")}`
    this.log = options.log
    this.work = work
    this.#pool = options.pool
    this.leases = new Leases({
      schema: this.schema,
      leaseMs: options.leaseMs ?? usualLeaseMs,
      pool: options.pool,
      log: options.log,
      guard: options.guard
    })
  }

  /** Runs a statement, and repeats it while the database or the connection fails. After the end it sends nothing. */
  async run(sql: string, params: readonly unknown[]): Promise<QueryAnswer> {
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
}

type Run = (sql: string, params: readonly unknown[]) => Promise<QueryAnswer>

const chance = (milliseconds: number): number => milliseconds * (0.9 + Math.random() * 0.2)

/**
 * Starts the workers: checks the schema again, registers the jobs in the database, updates the schedules. Rejects when the database cannot be used;
 * nothing runs then.
 */
export const startEngine = async (options: EngineOptions): Promise<Workers> => {
  const { attempt, counted, jobs, log, pool, queue, timers = ownTimers } = options
  const engine = new Engine(options, (lane, row) => work(lane, row))
  const s = ownSchema(engine.schema)
  const { failSql, fatalSql, freeDeadSql, pausedSql, pendingSql, retryAtSql } = engine.statements
  const lanes = new Map<string, Lane>()
  const progresses = new Progresses({
    s,
    run: (sql, params) => runOn(pool, sql, params),
    holds: (row) => engine.leases.holds(row),
    timers,
    log
  })
  /** The running tries. */
  const tries = new Map<Try, Lane>()
  const graceMs = options.graceMs ?? shutdownGraceMs

  const define = async ({
    maxAttempts,
    maxRetryDelayMs,
    maxRunning,
    name,
    ordered,
    rate,
    retryDelayMs,
    retryStepsMs,
    schedule,
    timeoutMs
  }: JobModel): Promise<void> => {
    await runOn(
      pool,
      `select ${s}._define($1::text, $2::boolean, $3::integer, $4::interval, $5::interval, $6::text[]::interval[], $7::interval, $8::text, $9::integer, $10::interval, $11::integer)`,
      [
        name,
        ordered,
        maxAttempts,
        interval(retryDelayMs),
        interval(maxRetryDelayMs),
        retryStepsMs?.map(interval) ?? null,
        interval(timeoutMs),
        schedule === null ? null : `${schedule.pattern} ${schedule.timezone}`,
        maxRunning,
        rate === null ? null : `${apartUs(rate)} microseconds`,
        rate?.burst ?? null
      ]
    )
  }

  /**
   * Enqueues the first run that is after now and after a given run, and sets an alarm for it. "Now" is the database's time: with a slow clock of
   * this machine, every completed run would seem to be in the future.
   */
  const enqueueRun = async (job: JobModel, last: Date | null, run: Run): Promise<void> => {
    const { rows } = await run("select (extract(epoch from clock_timestamp()) * 1000)::text as now", [])
    // Nothing is sent any more.
    if (rows.length === 0) return
    const now = Math.floor(Number(rows[0]!["now"]))
    const next = job.schedule?.next(new Date(Math.max(now, last?.getTime() ?? now))) ?? null
    if (next === null) return
    await run(`select ${s}._enqueue_run($1::text, $2::bigint, $3::timestamptz, $4::integer)`, [
      job.name,
      runId(job.name, next),
      next.toISOString(),
      job.maxAttempts
    ])
    const lane = lanes.get(job.name)
    if (lane === undefined || engine.stopping) return
    clearTimeout(lane.alarm)
    // Timers can wait for less than 25 days. For longer times the timer is set again each minute.
    const wait = next.getTime() - now
    if (wait < 86_400_000) lane.alarm = setTimeout(() => lane.wake(), Math.max(0, wait) + 5).unref()
  }

  /** Drops waiting runs that no schedule names any more, and ensures that each schedule has its next run. */
  const alignSchedules = async (): Promise<void> => {
    const { rows } = await runOn<Columns & { readonly run_at: Date }>(
      pool,
      `select j.id::text, t.identifier as name, j.run_at from ${s}._private_jobs j join ${s}._private_tasks t on t.id = j.task_id
where j.id < 0 and j.attempts = 0 and j.locked_at is null`
    )
    const gone = rows.filter((row) => jobs.get(String(row["name"]))?.schedule?.has(row.run_at) !== true)
    if (gone.length > 0) {
      await runOn(
        pool,
        `delete from ${s}._private_jobs where id = any($1::bigint[]) and attempts = 0 and locked_at is null`,
        [gone.map((row) => row["id"])]
      )
    }
    for (const job of jobs.values()) {
      if (job.schedule !== null) await enqueueRun(job, null, (sql, params) => runOn(pool, sql, params))
    }
  }

  /** Ends a failed try, if this process still has the job. `attempt`: the count of attempts that the job has by now. */
  const fail = async (
    lane: Lane,
    row: Fetched,
    attempt: number,
    message: string,
    stack: string | null = null
  ): Promise<void> => {
    try {
      const text = stack === null ? message : `${message}${errorMark}${stack}`
      await engine.run(failSql, [row.id, row.locked_by, attempt, text])
    } finally {
      engine.leases.release([row])
    }
    if (lane.job.maxRunning !== null) lane.wake()
  }

  /** Handles the outcome of a try: fails the job, or gives true so that its lane completes it. */
  const keepOutcome = async (lane: Lane, row: Fetched, outcome: Outcome, begun: number): Promise<boolean> => {
    const fields = { name: lane.job.name, id: row.id, attempt: row.attempts, ms: Math.round(performance.now() - begun) }
    if (outcome.of === "completed") {
      log("info", "job-completed", fields)
      return true
    }
    const { counts, error, fatal, message, retryAt } = outcome
    const held = [row.id, row.locked_by, row.attempts]
    if (fatal) await engine.run(fatalSql, held)
    else if (retryAt !== null) await engine.run(retryAtSql, [...held, retryAt.toISOString(), counts])
    const last = fatal || (counts && row.attempts >= row.max_attempts)
    log(last ? "error" : "warn", last ? "job-failed" : "job-retry", {
      ...fields,
      error: error instanceof Error ? error.constructor.name : null,
      code: codeOf(error)
    })
    // A try that does not count has given its attempt back.
    const attempt = counts || fatal || retryAt === null ? row.attempts : row.attempts - 1
    await fail(lane, row, attempt, message, errorStack(error))
    return false
  }

  const lost = (lane: Lane): boolean => {
    log("warn", "jobs-lost", { name: lane.job.name, jobs: 1 })
    return false
  }

  /** Runs one job, and keeps its outcome unless another worker has got the job. */
  const perform = async (lane: Lane, row: Fetched, running: Try): Promise<boolean> => {
    const { job } = lane
    const begun = performance.now()
    if (!engine.leases.begin(row, running.end)) return lost(lane)
    if (job.schedule !== null && row.id.startsWith("-")) {
      await enqueueRun(job, row.run_at, (sql, params) => engine.run(sql, params))
    }
    const outcome = await attempt({
      id: row.id,
      name: job.name,
      payload: row.payload,
      attempt: row.attempts,
      maxAttempts: row.max_attempts,
      onStop: running.onStop,
      timers,
      progress: (progress) => progresses.tell(row, progress)
    })
    lane.took(performance.now() - begun)
    if (running.isGivenUp) return false
    return engine.leases.leave(row) ? await keepOutcome(lane, row, outcome, begun) : lost(lane)
  }

  const work = async (lane: Lane, row: Fetched): Promise<boolean> => {
    const running = new Try(row)
    tries.set(running, lane)
    try {
      return await perform(lane, row, running)
    } catch (error) {
      // Its outcome could not be kept, or the next run of its schedule. The lease of a job that cannot be failed either ends by itself.
      log("error", "jobs-work", { name: lane.job.name, code: codeOf(error) })
      if (engine.leases.leave(row)) {
        await fail(lane, row, row.attempts, errorText(error), errorStack(error)).catch(() => {})
      }
      return false
    } finally {
      tries.delete(running)
    }
  }

  for (const job of jobs.values()) await define(job)
  const { rows: tasks } = await runOn(
    pool,
    `select id, identifier from ${s}._private_tasks where identifier = any($1::text[])`,
    [[...jobs.keys()]]
  )
  for (const { id, identifier } of tasks) {
    const job = jobs.get(String(identifier))
    if (job !== undefined) lanes.set(job.name, new Lane(job, Number(id), engine))
  }
  await alignSchedules()

  const freeDead = async (): Promise<void> => {
    const names = [...lanes.values()]
    const { rowCount } = await runOn(pool, freeDeadSql, [
      names.map(({ taskId }) => taskId),
      names.map(({ mostBegun }) => mostBegun)
    ])
    const freed = rowCount ?? 0
    if (freed > 0) {
      log("warn", "jobs-freed", { jobs: freed })
      for (const lane of lanes.values()) lane.wake()
    }
  }
  const findPaused = async (): Promise<void> => {
    const { rows } = await runOn(pool, pausedSql)
    const paused = new Set(rows.map((row) => Number(row["task_id"])))
    for (const lane of lanes.values()) lane.isPaused = paused.has(lane.taskId)
  }
  const claim = async (chore: string, since: string): Promise<boolean> => {
    const { rows } = await runOn(pool, `select ${s}._claim($1::text, $2::interval) as mine`, [chore, since])
    return rows[0]?.["mine"] === true
  }
  const every = options.choreMs ?? choreMs
  const chores = async (): Promise<void> => {
    const level = await checkSchema(pool, engine.schema)
    if (level !== "current" && level !== "ahead") {
      log("error", "jobs-schema-changed", { level })
      void stop()
      return
    }
    await freeDead()
    await findPaused()
    if (await claim("minute", interval(every * 0.9))) {
      await alignSchedules()
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
    if (await claim("day", "23 hours 55 minutes")) await runOn(pool, `select ${s}._clean()`)
  }
  let choring: Promise<void> = Promise.resolve()
  let chore: NodeJS.Timeout | undefined
  const doChores = (): void => {
    choring = chores().catch((error: unknown) => {
      if (!engine.stopping) log("warn", "jobs-chores", { code: codeOf(error) })
    }).finally(() => {
      if (!engine.stopping) chore = setTimeout(doChores, chance(every / 4)).unref()
    })
  }

  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => stopping ??= end()
  const end = async (): Promise<void> => {
    engine.stopping = true
    clearTimeout(chore)
    const handed = [...lanes.values()].map((lane) => lane.finish())
    const all = Promise.all([...lanes.values()].map((lane) => lane.ended())).then(() => true)
    const within = async (milliseconds: number): Promise<boolean> => {
      const timer = new AbortController()
      const late = sleep(milliseconds, false, { signal: timer.signal }).catch(() => false)
      const done = await Promise.race([all, late])
      timer.abort()
      return done
    }
    // A statement is repeated while the database is away. What is not sent by then is left to the leases.
    const briefly = (): Promise<void> => sleep(1_000, undefined, { ref: false })
    if (!await within(graceMs)) {
      // Jobs that obey their signal end by themselves now. The rest fail here, and are retried.
      for (const each of tries.keys()) each.end()
      if (!await within(1_000)) {
        const failed = Promise.allSettled([...tries].map(async ([each, lane]) => {
          each.isGivenUp = true
          if (engine.leases.leave(each.row)) {
            await fail(lane, each.row, each.row.attempts, "The worker stopped while the job ran.")
          }
        }))
        await Promise.race([failed, briefly()])
      }
    }
    await Promise.race([Promise.all([choring, ...handed]), briefly()])
    engine.ended = true
    progresses.stop()
    await engine.leases.stop()
    clearInterval(alive)
  }

  // While the database is away, every timer of the loop may be one that keeps no process alive.
  const alive = setInterval(() => {}, 2 ** 31 - 1)
  for (const lane of lanes.values()) lane.begin()
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
        const { rows } = await runOn<{ readonly due: string | null }>(
          pool,
          `select to_char(${s}.next_due() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as due`
        )
        return { drained: remaining === 0, remaining, nextDue: rows[0]?.due ?? null }
      }
      for (const lane of lanes.values()) lane.wake()
      await sleep(Math.min(pause, left))
    }
  }

  return {
    jobs,
    wake: (name) => lanes.get(name)?.wake(),
    wakeAll: () => {
      for (const lane of lanes.values()) lane.wake()
    },
    drain: (milliseconds) => Effect.tryPromise({ try: () => drain(milliseconds), catch: queueError }),
    hold: (name, paused) => lanes.get(name)?.hold(paused),
    isPaused: () => [...lanes.values()].some((lane) => lane.isPaused),
    isReady: () => !engine.stopping,
    stop
  }
}
