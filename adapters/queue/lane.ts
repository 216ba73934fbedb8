/**
 * The jobs of one name in one process: how many run at once, what is fetched for them and ahead of them, and their completion. One fetch serves all free
 * places, and one completion all jobs that have ended meanwhile. It neither runs a job nor judges its outcome.
 */

import { hookPrefix, type JobModel } from "../../core/domain/job/definition.ts"
import { leastWaitMs } from "../../core/domain/job/rate.ts"
import { codeOf, type Columns, type QueryAnswer } from "./connection.ts"
import type { Fetched, JobLog } from "./fetched.ts"
import type { Leases } from "./lease.ts"
import { ownSchema } from "./sql.ts"

/** The answer to a statement that was not sent. */
export const nothing: QueryAnswer = { rows: [], rowCount: null }

/** The statements of a lane, for a schema's name as SQL. */
const laneStatements = (s: string, limited: boolean) => {
  /**
   * A lease ends with the others of this process ($4), but not before the wait in $5: the statement may have been repeated for long. It is planned anew for
   * each fetch, so it is as plain as can be. Values that all rows share stand in a query of its own, which runs once. It gives the columns of `Fetched` only:
   * each time costs a parse.
   */
  const fetch = (and = ""): string =>
    `with j as (
  select id, key as held_key from ${s}._private_jobs where is_available and run_at <= now() and task_id = $2::integer${and}
  order by priority, run_at, id limit $3::integer for update skip locked)
update ${s}._private_jobs jobs set attempts = jobs.attempts + 1, locked_by = $1::text,
  locked_at = (select greatest(to_timestamp($4::text::double precision), now() + $5::text::interval) - interval '4 hours')
from j where jobs.id = j.id returning jobs.id, jobs.payload, jobs.priority, jobs.run_at, jobs.attempts, jobs.max_attempts,
  jobs.locked_by, j.held_key, (select extract(epoch from now() + $5::text::interval)::text) as lease_ends`

  /** Fetches within the limits of the name, by a function that knows what other processes do. A row without a job says how long the rate holds others back. */
  const fetchLimited =
    `select (f.job).id, (f.job).payload, (f.job).priority, (f.job).run_at, (f.job).attempts, (f.job).max_attempts,
  (f.job).locked_by, f.held_key, f.lease_ends, f.again
from ${s}._fetch($1::text, $2::integer, $3::integer, $4::text::double precision, $5::interval) f`

  return {
    fetch: limited ? fetchLimited : fetch(),
    /**
     * The same for a name that was paused when it was last heard of. A trigger keeps jobs of paused names as they are, whoever fetches them; but this
     * statement does not lock them for nothing at each poll.
     */
    fetchPaused: limited
      ? fetchLimited
      : fetch(` and not exists (select from ${s}.definitions where task_id = $2::integer and paused_at is not null)`),
    complete:
      `delete from ${s}._private_jobs jobs using unnest($1::bigint[], $2::text[], $3::integer[]) as done(id, owner, try)
where jobs.id = done.id and jobs.locked_by = done.owner and jobs.attempts = done.try`,
    /** Returns jobs that were not begun. Their attempt does not count. They get their key back unless another job has it now, or keep one that was never taken. */
    handBack: `update ${s}._private_jobs jobs set attempts = jobs.attempts - 1, locked_at = null, locked_by = null,
  key = case when jobs.key is not null then jobs.key
    when held.first and not exists (select from ${s}._private_jobs other where other.key = held.key) then held.key end
from (select id, owner, try, key, row_number() over (partition by key order by id) = 1 as first
  from unnest($1::bigint[], $2::text[], $3::integer[], $4::text[]) as each(id, owner, try, key)) as held
where jobs.id = held.id and jobs.locked_by = held.owner and jobs.attempts = held.try`
  }
}

/** Jobs as this process holds them: ids, owners, attempts. A statement that names them does nothing to jobs that others hold. */
const heldOf = (rows: readonly Fetched[]): readonly unknown[] => [
  rows.map(({ id }) => id),
  rows.map(({ locked_by: owner }) => owner),
  rows.map(({ attempts }) => attempts)
]

/** What a lane needs of the engine. */
export interface LaneHost {
  /** The schema of the queue. */
  readonly schema: string
  readonly pollMs: number
  /** The owner of the jobs that this process fetches, as `locked_by` names it. */
  readonly owner: string
  readonly log: JobLog
  readonly stopping: boolean
  readonly leases: Pick<Leases, "ends" | "leaseMs" | "take" | "leave" | "release">
  /** Runs a statement, again and again while the database or the way to it fails. */
  readonly run: (sql: string, params: readonly unknown[]) => Promise<QueryAnswer>
  /** Runs a job. Gives true when the lane must complete it; otherwise nothing is left to do. Never rejects. */
  readonly work: (lane: Lane, row: Fetched) => Promise<boolean>
}

/** Milliseconds of work that may be fetched ahead, the most such jobs, and how long one may wait for a place before it is returned. */
const ahead = { ms: 20, jobs: 200, oldMs: 1_000 }

/** Most completions of a name that are under way at once. */
const mostFlights = 3

/** A completion of so many jobs costs each of them little. */
const leastUnsent = 20

/** Timers can wait for less than 25 days. */
const longestWaitMs = 86_400_000

const isFetched = (row: Columns): row is Columns & Fetched => row["id"] !== null

const byTurn = (a: Fetched, b: Fetched): number =>
  a.priority - b.priority || a.run_at.getTime() - b.run_at.getTime() || (BigInt(a.id) < BigInt(b.id) ? -1 : 1)

/** The jobs of one name in this process. */
export class Lane {
  readonly job: JobModel
  /** The id of its name in the library's tables. */
  readonly taskId: number
  readonly #host: LaneHost
  /** Whether its jobs are counted or timed over all processes. */
  readonly #limited: boolean
  readonly #sql: ReturnType<typeof laneStatements>
  #running = 0
  /** Jobs that were fetched ahead and wait for a place, and when they were fetched. */
  #ready: Array<{ readonly row: Fetched; readonly at: number }> = []
  /** Jobs that have ended well. One statement completes all that end while the last such statement is under way. */
  #done: Fetched[] = []
  /** Completions that are under way, and whether one is about to be sent. */
  #flights = 0
  #isLeaving = false
  #hasCompleted = false
  /** How long a job of this name takes on the average, in milliseconds; null: none has run yet. */
  #usualMs: number | null = null
  /** Whether its jobs have keys. A fetched job has none any more, so another job with the key would not find it. */
  #keyed = false
  #turning: Promise<void> | null = null
  #handingBack: Promise<void> = Promise.resolve()
  #old: NodeJS.Timeout | undefined
  #again: NodeJS.Timeout | undefined
  #poll: NodeJS.Timeout | undefined
  #begun = false
  /** Somebody knows of a job that the fetch under way may not have seen. */
  #woken = false
  #idle: (() => void) | null = null
  /** An alarm for the next run of the schedule. */
  alarm: NodeJS.Timeout | undefined
  /** Whether its name was paused when that was last asked. Nothing relies on it. */
  isPaused = false

  constructor(job: JobModel, taskId: number, host: LaneHost) {
    this.job = job
    this.taskId = taskId
    this.#host = host
    this.#limited = job.maxRunning !== null || job.rate !== null
    this.#sql = laneStatements(ownSchema(host.schema), this.#limited)
  }

  /** Begins to look for jobs, now and then at each poll. */
  begin(): void {
    this.#begun = true
    this.wake()
  }

  /** Looks for jobs now. */
  wake(): void {
    if (!this.#looks()) return
    clearTimeout(this.#poll)
    this.#poll = undefined
    this.#woken = this.#turning !== null
    this.#turn()
  }

  #looks(): boolean {
    return this.#begun && !this.#host.stopping
  }

  /** Remembers how long a job took, in milliseconds. */
  took(ms: number): void {
    this.#usualMs = this.#usualMs === null ? ms : this.#usualMs * 0.9 + ms * 0.1
  }

  /** Hears that its name was paused or resumed. */
  hold(paused: boolean): void {
    this.isPaused = paused
    if (paused) void this.handBack()
    else this.wake()
  }

  /** Fetches no more, and returns the jobs that no place of this process will take. */
  async finish(): Promise<void> {
    this.#begun = false
    for (const timer of [this.#poll, this.#again, this.#old, this.alarm]) clearTimeout(timer)
    await this.#turning
    await this.handBack()
  }

  /** Resolves when no job runs and all that have ended well are completed. */
  ended(): Promise<void> {
    return this.#isIdle() ? Promise.resolve() : new Promise((resolve) => {
      this.#idle = resolve
    })
  }

  #isIdle(): boolean {
    return this.#running === 0 && this.#done.length === 0 && this.#flights === 0
  }

  #noticeIdle(): void {
    if (this.#isIdle()) this.#idle?.()
  }

  /**
   * How many jobs of a dead process count as begun. Most jobs behind these were only fetched ahead, so `freeDead` gives the attempts of all of them back. A few
   * may have ended well without their completion (`#unsent`): they run again, and that uses up no attempt.
   */
  get mostBegun(): number {
    return 2 * this.job.concurrency
  }

  /**
   * How many jobs may have ended whose completion is not sent yet: enough that one statement serves many. Before the first completion of this process they are
   * as few as `mostBegun` allows for. So each process completes a job, or counts the attempt of the one that kills it, and none kills its processes for ever.
   */
  get #unsent(): number {
    const { concurrency } = this.job
    return this.#hasCompleted ? Math.max(concurrency, leastUnsent) : concurrency
  }

  /** How many jobs may begin. */
  #places(): number {
    return this.job.concurrency - this.#running + Math.min(0, this.#unsent - this.#done.length)
  }

  /**
   * How many jobs to fetch beside those that begin: enough for a short time, so that short jobs wait for no statement. None for an ordered name,
   * whose next jobs are due only later. None for a name with keys. None for jobs with a single attempt, because a dying process would use it up.
   * None for messages of other systems, which may be large. None where a waiting job would take the place of others.
   */
  #room(): number {
    const { concurrency, maxAttempts, name, ordered } = this.job
    if (
      ordered || name.startsWith(hookPrefix) || maxAttempts === 1 || this.#limited || this.#keyed ||
      this.#usualMs === null
    ) return 0
    return Math.min(ahead.jobs, Math.floor(concurrency * ahead.ms / Math.max(this.#usualMs, 0.1))) - this.#ready.length
  }

  /** Begins what is ready, and fetches more where there is room, unless the last fetch found that no more is due. */
  #turn(): void {
    if (!this.#looks()) return
    this.#dropOld()
    for (let places = this.#places(); places > 0 && this.#ready.length > 0; places--) {
      this.#start(this.#ready.shift()!.row)
    }
    if (this.#turning !== null || this.#poll !== undefined) return
    if (this.#places() <= 0 && (this.#room() <= 0 || this.#ready.length * 2 >= this.#room() + this.#ready.length)) {
      return
    }
    // Jobs that end at the same moment make room for one fetch.
    this.#turning = new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.#fetch()).finally(() => {
      this.#turning = null
      this.#turn()
    })
  }

  async #fetch(): Promise<void> {
    const { leases, owner, pollMs } = this.#host
    const most = Math.max(0, this.#places()) + Math.max(0, this.#room())
    if (!this.#looks() || most === 0) return
    this.#woken = false
    const asked = performance.now()
    const { ends, leaseMs } = leases
    const lease = `${ends === null ? leaseMs : leaseMs / 2} milliseconds`
    let count = 0
    try {
      const { rows } = await this.#host.run(this.isPaused ? this.#sql.fetchPaused : this.#sql.fetch, [
        owner,
        this.taskId,
        most,
        ends,
        lease
      ])
      const jobs = rows.filter(isFetched).toSorted(byTurn)
      count = jobs.length
      leases.take(jobs, owner, asked)
      if (count > 0) this.isPaused = false
      if (this.#looks()) {
        this.#waitFor(rows)
        for (const row of jobs.splice(0, Math.max(0, this.#places()))) this.#start(row)
        this.#keyed ||= jobs.some(({ held_key: key }) => key !== null)
      }
      if (this.#keyed || !this.#looks()) void this.handBack(jobs)
      else this.#keep(jobs, asked)
    } catch (error) {
      this.#host.log("error", "jobs-fetch", { name: this.job.name, code: codeOf(error) })
    }
    if (count < most && !this.#woken && this.#looks()) {
      // All names of a process poll at the same moment: fifty wake-ups apart from each other take twice the processor time.
      this.#poll = setTimeout(() => this.wake(), pollMs)
    }
  }

  #start(row: Fetched): void {
    this.#running++
    void this.#host.work(this, row).then((completes) => {
      this.#running--
      if (completes) {
        this.#done.push(row)
        this.#complete()
      }
      this.#turn()
      this.#noticeIdle()
    })
  }

  /**
   * Sends a completion if none is under way, or if it is worth a further one. Jobs that end at the same moment share it. A job of an ordered name has one of its
   * own: it waits for transactions that have enqueued into its group. With two groups, it could hold what such a transaction waits for.
   */
  #complete(): void {
    const { ordered } = this.job
    const worth = ordered || this.#flights === 0 ? 1 : this.#unsent
    if (this.#isLeaving || this.#done.length < worth || this.#flights === mostFlights) return
    this.#isLeaving = true
    setImmediate(() => {
      this.#isLeaving = false
      this.#flights++
      void this.#sendDone(this.#done.splice(0, ordered ? 1 : this.#done.length)).finally(() => {
        this.#flights--
        this.#complete()
        // The next job of the group is due now, and others of a limited name may begin.
        if (ordered || this.job.maxRunning !== null) this.wake()
        else this.#turn()
        this.#noticeIdle()
      })
      this.#complete()
      this.#turn()
    })
  }

  /** Completes jobs that this process still holds. A job that another worker got is completed by that one. */
  async #sendDone(rows: readonly Fetched[]): Promise<void> {
    try {
      const { rowCount } = await this.#host.run(this.#sql.complete, heldOf(rows))
      // No count: nothing was sent, because the process ends.
      if (rowCount !== null && rowCount > 0) this.#hasCompleted = true
      if (rowCount !== null && rowCount < rows.length) {
        this.#host.log("warn", "jobs-lost", { name: this.job.name, jobs: rows.length - rowCount })
      }
    } catch (error) {
      // Their leases end by themselves, and they run again.
      this.#host.log("error", "jobs-complete", { name: this.job.name, code: codeOf(error) })
    } finally {
      this.#host.leases.release(rows)
    }
  }

  /**
   * Returns jobs that have waited too long: all places are taken by longer jobs than usual, or the event loop was blocked. Other processes may
   * run them.
   */
  #dropOld(): void {
    const oldest = performance.now() - ahead.oldMs
    const old = this.#ready.filter(({ at }) => at < oldest)
    if (old.length === 0) return
    this.#ready = this.#ready.filter(({ at }) => at >= oldest)
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
  #waitFor(rows: QueryAnswer["rows"]): void {
    const held = rows.find(({ id }) => id === null)
    if (held === undefined) return
    clearTimeout(this.#again)
    const wait = Math.min(Math.max(Number(held["again"]) * 1_000, leastWaitMs), longestWaitMs)
    this.#again = setTimeout(() => this.wake(), Math.ceil(wait)).unref()
  }

  /** Returns jobs that no place of this process will take. Resolves when that is done, if the database can be reached. */
  handBack(rows: readonly Fetched[] = this.#ready.splice(0).map(({ row }) => row)): Promise<void> {
    if (rows.length > 0) {
      const sent = this.#sendBack(rows).catch((error: unknown) => {
        // Their leases end by themselves.
        this.#host.log("warn", "jobs-hand-back", { name: this.job.name, code: codeOf(error) })
      })
      this.#handingBack = Promise.all([this.#handingBack, sent]).then(() => {})
    }
    return this.#handingBack
  }

  async #sendBack(rows: readonly Fetched[]): Promise<void> {
    for (const row of rows) this.#host.leases.leave(row)
    const keys = rows.map(({ held_key: key }) => key)
    try {
      await this.#host.run(this.#sql.handBack, [...heldOf(rows), keys])
    } catch (error) {
      // Somebody enqueued another job with one of the keys at the same moment.
      if (codeOf(error) !== "23505") throw error
      await this.#host.run(this.#sql.handBack, [...heldOf(rows), keys.map(() => null)])
    } finally {
      this.#host.leases.release(rows)
    }
  }
}
