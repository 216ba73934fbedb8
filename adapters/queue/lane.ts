/**
 * The jobs of one name in one process: one fetch serves all workers that ask at the same time, and short jobs are fetched ahead. It neither runs
 * nor completes a job.
 */

import { hookPrefix, type JobModel } from "../../core/domain/job/definition.ts"
import { leastWaitMs } from "../../core/domain/job/rate.ts"
import { codeOf, type Rows } from "./connection.ts"
import type { Fetched, JobLog } from "./fetched.ts"
import type { Leases } from "./lease.ts"
import { ownSchema } from "./sql.ts"

/** The answer to a fetch that found nothing. */
export const nothing: Rows = { rows: [], rowCount: 0 }

/**
 * A lease ends with the others of this process ($4), but not before the wait in $5: the statement may have been repeated for long. It is planned anew for
 * each fetch, so it is as plain as can be. What is the same for all rows stands in a query of its own, which runs once. It gives the columns that the library
 * and `Fetched` need: each time costs a parse.
 */
const fetchSql = (s: string, and = ""): string =>
  `with j as (
  select id, key as held_key from ${s}._private_jobs where is_available and run_at <= now() and task_id = $2::integer${and}
  order by priority, run_at, id limit $3::integer for update skip locked)
update ${s}._private_jobs jobs set attempts = jobs.attempts + 1, locked_by = $1::text,
  locked_at = (select greatest(to_timestamp($4::text::double precision), now() + $5::text::interval) - interval '4 hours')
from j where jobs.id = j.id returning jobs.id, jobs.job_queue_id, jobs.task_id, jobs.payload, jobs.priority, jobs.run_at, jobs.attempts, jobs.max_attempts,
  jobs.locked_by, j.held_key, (select extract(epoch from now() + $5::text::interval)::text) as lease_ends`

/**
 * The same for a name that was paused when it was last heard of. A trigger keeps jobs of paused names as they are, whoever fetches them; but this one does not
 * lock them for nothing at each poll.
 */
const fetchPausedSql = (s: string): string =>
  fetchSql(s, ` and not exists (select from ${s}.definitions where task_id = $2::integer and paused_at is not null)`)

/** Fetches within the limits of the name, by a function that knows what other processes do. A row without a job says how long the rate holds others back. */
const fetchLimitedSql = (s: string): string =>
  `select (f.job).id, (f.job).job_queue_id, (f.job).task_id, (f.job).payload, (f.job).priority, (f.job).run_at, (f.job).attempts, (f.job).max_attempts,
  (f.job).locked_by, f.held_key, f.lease_ends, f.again
from ${s}._fetch($1::text, $2::integer, $3::integer, $4::text::double precision, $5::interval) f`

/** Returns jobs that no worker began. Their attempt does not count. They get their key back unless another job has it now, or keep what was never taken. */
const handBackSql = (s: string): string =>
  `update ${s}._private_jobs jobs set attempts = jobs.attempts - 1, locked_at = null, locked_by = null,
  key = case when jobs.key is not null then jobs.key
    when held.first and not exists (select from ${s}._private_jobs other where other.key = held.key) then held.key end
from (select id, owner, try, key, row_number() over (partition by key order by id) = 1 as first
  from unnest($1::bigint[], $2::text[], $3::integer[], $4::text[]) as each(id, owner, try, key)) as held
where jobs.id = held.id and jobs.locked_by = held.owner and jobs.attempts = held.try`

/** What is used of the library's pool of workers. */
export interface LanePool {
  /** Has as many idle workers ask at once. */
  readonly nudge: (workers: number) => void
  readonly gracefulShutdown: (message: string) => unknown
  readonly forcefulShutdown: (message: string) => unknown
}

/** What a lane needs of the engine. */
export interface LaneHost {
  /** The schema of the queue. */
  readonly schema: string
  readonly pollMs: number
  /** What stands before the name of an owner: which process it is. */
  readonly who: string
  readonly log: JobLog
  readonly stopping: boolean
  readonly leases: Pick<Leases, "ends" | "leaseMs" | "take" | "leave" | "release">
  /** Runs a statement, again and again while the database or the way to it fails. */
  readonly run: (sql: string, params: readonly unknown[]) => Promise<Rows>
}

/** Milliseconds of work that may be fetched ahead, the most such jobs, and how long one may wait for a worker before it is returned. */
const ahead = { ms: 20, jobs: 200, oldMs: 1_000 }

/** Timers can wait for less than 25 days. */
const longestWaitMs = 86_400_000

const byTurn = (a: Fetched, b: Fetched): number =>
  a.priority - b.priority || a.run_at.getTime() - b.run_at.getTime() || (BigInt(a.id) < BigInt(b.id) ? -1 : 1)

/** A fetch's answer. The library finds the name by the id of its task. */
const rowsOf = (row: Fetched): Rows => ({ rows: [row as never], rowCount: 1 })

/** The jobs of one name in this process. */
export class Lane {
  readonly job: JobModel
  /** The id of its name in the library's tables. */
  readonly taskId: number
  readonly #engine: LaneHost
  readonly #fetchSql: string
  /** Whether its jobs are counted or timed over all processes. */
  readonly #limited: boolean
  readonly #fetchPausedSql: string
  readonly #handBackSql: string
  /** Workers that wait for a job, and the pool that they belong to. */
  #waiting: Array<(rows: Rows) => void> = []
  #poolId = ""
  #fetching = false
  /** Jobs that were fetched ahead and wait for a worker of this process, and when they were fetched. */
  #ready: Array<{ readonly row: Fetched; readonly at: number }> = []
  /** How long a job of this name takes on the average, in milliseconds; null: none has run yet. */
  #usualMs: number | null = null
  /** Whether its jobs have keys. What is fetched has none any more, so another job with the key would not find it. */
  #keyed = false
  #turning: Promise<void> = Promise.resolve()
  #handingBack: Promise<unknown> = Promise.resolve()
  #old: NodeJS.Timeout | undefined
  #again: NodeJS.Timeout | undefined
  /** When a fetch last found nothing. Until the next poll, other workers of this name need not ask. */
  #emptyAt = Number.NEGATIVE_INFINITY
  pool: LanePool | null = null
  /** An alarm for the next run of the schedule. */
  alarm: NodeJS.Timeout | undefined
  /** Whether its name was paused when that was last asked. Nothing relies on it. */
  isPaused = false

  constructor(job: JobModel, taskId: number, engine: LaneHost) {
    this.job = job
    this.taskId = taskId
    this.#engine = engine
    const s = ownSchema(engine.schema)
    this.#limited = job.maxRunning !== null || job.rate !== null
    this.#fetchSql = this.#limited ? fetchLimitedSql(s) : fetchSql(s)
    this.#fetchPausedSql = this.#limited ? this.#fetchSql : fetchPausedSql(s)
    this.#handBackSql = handBackSql(s)
  }

  wake(workers: number): void {
    this.#emptyAt = Number.NEGATIVE_INFINITY
    if (this.pool !== null && !this.#engine.stopping) this.pool.nudge(workers)
  }

  /** Hears that its name was paused or resumed. */
  hold(paused: boolean): void {
    this.isPaused = paused
    if (paused) void this.handBack()
    else this.wake(this.job.concurrency)
  }

  /** Remembers how long a job took. */
  took(milliseconds: number): void {
    this.#usualMs = this.#usualMs === null ? milliseconds : this.#usualMs * 0.9 + milliseconds * 0.1
  }

  /**
   * How many jobs to fetch beside the requested ones: enough for a short time, so that short jobs wait for no statement. None for an ordered name,
   * whose next jobs are due only later. None for a name with keys. None for jobs with a single attempt, because a dying process would use it up.
   * None for messages of other systems, which may be large. None where what waits here would take the place of others.
   */
  #room(): number {
    const { concurrency, maxAttempts, name, ordered } = this.job
    if (
      ordered || name.startsWith(hookPrefix) || maxAttempts === 1 || this.#limited || this.#keyed ||
      this.#usualMs === null
    ) return 0
    return Math.min(ahead.jobs, Math.floor(concurrency * ahead.ms / Math.max(this.#usualMs, 0.1))) - this.#ready.length
  }

  /**
   * Returns jobs that have waited too long: all workers are busy with longer jobs than usual, or the event loop was blocked. Other processes may
   * run them.
   */
  #dropOld(): void {
    const oldest = performance.now() - ahead.oldMs
    const old = this.#ready.filter(({ at }) => at < oldest)
    if (old.length === 0) return
    this.#ready = this.#ready.filter(({ at }) => at >= oldest)
    this.#emptyAt = Number.NEGATIVE_INFINITY
    void this.handBack(old.map(({ row }) => row))
  }

  #keep(rows: readonly Fetched[], at: number): void {
    for (const row of rows) this.#ready.push({ row, at })
    if (this.#ready.length === 0 || this.#old !== undefined) return
    this.#old = setTimeout(() => {
      this.#old = undefined
      this.#dropOld()
      this.#keep([], 0)
    }, ahead.oldMs + 10).unref()
  }

  /** The rate holds jobs back for so many seconds: then look again, and not before. */
  #waitFor(rows: Rows["rows"]): void {
    const held = rows.find(({ id }) => id === null)
    if (held === undefined) return
    clearTimeout(this.#again)
    const wait = Math.min(Math.max(Number(held["again"]) * 1_000, leastWaitMs), longestWaitMs)
    this.#again = setTimeout(() => this.wake(this.job.concurrency), Math.ceil(wait)).unref()
  }

  /** Waits for a running fetch, and returns the jobs that were fetched ahead. */
  async finish(): Promise<void> {
    await this.#turning
    clearTimeout(this.#again)
    await this.handBack()
  }

  /** Returns jobs that no worker of this process will begin. Resolves when that is done, if the database can be reached. */
  handBack(rows: readonly Fetched[] = this.#ready.splice(0).map(({ row }) => row)): Promise<unknown> {
    if (rows.length > 0) {
      const sent = this.#send(rows).catch((error: unknown) => {
        // Their locks end by themselves.
        this.#engine.log("warn", "jobs-hand-back", { name: this.job.name, code: codeOf(error) })
      })
      this.#handingBack = Promise.all([this.#handingBack, sent])
    }
    return this.#handingBack
  }

  async #send(rows: readonly Fetched[]): Promise<void> {
    for (const row of rows) this.#engine.leases.leave(row)
    const keys = rows.map(({ held_key: key }) => key)
    const held = [rows.map(({ id }) => id), rows.map(({ locked_by: owner }) => owner), rows.map((row) => row.attempts)]
    try {
      await this.#engine.run(this.#handBackSql, [...held, keys])
    } catch (error) {
      // Somebody enqueued another job with one of the keys at the same moment.
      if (codeOf(error) !== "23505") throw error
      await this.#engine.run(this.#handBackSql, [...held, keys.map(() => null)])
    } finally {
      this.#engine.leases.release(rows)
    }
  }

  /** Answers one worker's fetch. Those that ask at the same time share a statement. */
  fetch(poolId: string): Promise<Rows> {
    if (this.#engine.stopping) return Promise.resolve(nothing)
    this.#dropOld()
    const next = this.#ready.shift()
    if (next !== undefined) {
      if (this.#ready.length * 2 < this.#room() + this.#ready.length && !this.#isEmpty()) this.#turn(true)
      return Promise.resolve(rowsOf(next.row))
    }
    if (this.#isEmpty()) return Promise.resolve(nothing)
    this.#poolId = poolId
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#turn()
    })
  }

  #isEmpty(): boolean {
    return performance.now() - this.#emptyAt < this.#engine.pollMs * 0.9
  }

  #turn(refill = false): void {
    if (this.#fetching || (this.#waiting.length === 0 && !refill)) return
    this.#fetching = true
    setImmediate(() => {
      const waiting = this.#waiting.splice(0)
      const asked = performance.now()
      const most = waiting.length + Math.max(0, this.#room())
      const { leases } = this.#engine
      const { ends, leaseMs } = leases
      const owner = `${this.#engine.who}${this.#poolId}`
      const found = this.#engine.stopping || most === 0
        ? Promise.resolve(nothing)
        : this.#engine.run(this.isPaused ? this.#fetchPausedSql : this.#fetchSql, [
          owner,
          this.taskId,
          most,
          ends,
          `${ends === null ? leaseMs : leaseMs / 2} milliseconds`
        ])
      this.#turning = found.then(
        ({ rows }) => {
          const jobs = (rows as unknown as Fetched[]).filter(({ id }) => id !== null).toSorted(byTurn)
          leases.take(jobs, owner, asked)
          if (jobs.length > 0) this.isPaused = false
          if (!this.#engine.stopping) this.#waitFor(rows)
          for (const [index, resolve] of waiting.entries()) {
            const job = jobs[index]
            resolve(job === undefined ? nothing : rowsOf(job))
          }
          const rest = jobs.slice(waiting.length)
          this.#keyed ||= rest.some(({ held_key: key }) => key !== null)
          if (this.#engine.stopping || this.pool === null || this.#keyed) void this.handBack(rest)
          else this.#keep(rest, asked)
          if (jobs.length < most) this.#emptyAt = asked
          // There may be more jobs, so as many idle workers as were just served look, too.
          else if (!this.#engine.stopping) this.pool?.nudge(jobs.length)
          // Workers that asked meanwhile get the jobs that were fetched ahead.
          for (const resolve of this.#waiting.splice(0, this.#ready.length)) resolve(rowsOf(this.#ready.shift()!.row))
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
