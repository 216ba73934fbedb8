/**
 * The queue in memory, with a clock of its own: nothing happens until somebody lets time pass (`advance`). It keeps the same rules as the schema `jobs` on
 * PostgreSQL; the contract in test/contracts/queue.ts runs on both.
 */

import * as Effect from "effect/Effect"
import { enqueuesItself } from "../../adapters/queue/enqueue.ts"
import type { EnqueuingDatabase } from "../../adapters/queue/enqueue.ts"
import {
  type JobModel,
  leaseMs,
  lockMarginMs,
  pollMs,
  shutdownGraceMs,
  takeUpMs
} from "../../core/domain/job/definition.ts"
import { type EnqueuePlan, refuseText } from "../../core/domain/job/enqueue.ts"
import { errorStack, mostErrors } from "../../core/domain/job/failure.ts"
import { type Progress, progressMs } from "../../core/domain/job/progress.ts"
import { apartUs, leastWaitMs } from "../../core/domain/job/rate.ts"
import {
  type ActivityMinute,
  activityMinutes,
  type BegunJob,
  type FailedJob,
  type JobCounts,
  type JobError,
  type LastRun,
  longestListed,
  mostBehind,
  mostSearched,
  type PendingJob
} from "../../core/domain/job/state.ts"
import {
  type Chosen,
  type FailedPage,
  type Outcome,
  type PendingPage,
  QueueError,
  type QueueService,
  type RunAttempt,
  type RunningPage,
  type Timers,
  type Workers
} from "../../core/ports/queue.ts"

/** Milliseconds until the next try after `attempt` failed ones. `random` is from 0 to 1: waits that double shrink by up to a quarter, steps grow by up to a tenth. */
const retryDelayMs = (
  { maxRetryDelayMs, retryDelayMs: first, retryStepsMs }: Pick<
    JobModel,
    "retryDelayMs" | "maxRetryDelayMs" | "retryStepsMs"
  >,
  attempt: number,
  random: number
): number => {
  if (retryStepsMs !== null) {
    const step = retryStepsMs[Math.min(attempt, retryStepsMs.length) - 1] ?? 0
    return step * (1 + 0.1 * random)
  }
  return Math.min(maxRetryDelayMs, first * 2 ** Math.min(Math.max(attempt - 1, 0), 30)) * (0.75 + 0.25 * random)
}

interface Stored {
  readonly id: string
  readonly name: string
  payload: string
  runAt: number
  priority: number
  maxAttempts: number
  attempts: number
  key: string | null
  /** Whether it keeps its key until it has ended. */
  readonly keeps: boolean
  readonly group: string | null
  /** Whether a worker has it, until when, and how far that may be moved. */
  owner: object | null
  lockedUntil: number
  triedUntil: number
  error: string | null
  errors: readonly JobError[]
  readonly createdAt: number
  updatedAt: number
  readonly scheduled: boolean
  done: boolean
  /** How long its last try took, in milliseconds. */
  took: number
  progress: BegunJob["progress"]
  /** When that may be written again. */
  progressAt: number
}

interface Definition {
  readonly ordered: boolean
  model: JobModel | null
  pausedAt: number | null
  /** When its last pause ended. */
  resumedAt?: number
  /** When the next start is due, and whether an alarm is set for what the rate holds back. */
  nextStart: number
  held: boolean
}

const day = 86_400_000

const iso = (time: number): string => new Date(time).toISOString().replace("Z", "000Z")

const isBegun = ({ attempts, done, owner }: Stored): boolean => done || owner !== null || attempts > 0

const refuse = (message: string): QueueError => new QueueError({ reason: { _tag: "Refused", message } })

export class FakeQueue {
  #now: number
  #lastId = 0
  #jobs: Stored[] = []
  readonly #definitions = new Map<string, Definition>()
  #alarms: Array<{ readonly at: number; readonly call: () => void }> = []
  readonly #workers = new Set<FakeWorkers>()
  readonly #runs = new Set<string>()
  #choresAt: number
  #dayAt = Number.NEGATIVE_INFINITY

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now
    this.#choresAt = now
  }

  get now(): number {
    return this.#now
  }

  readonly timers: Timers = {
    now: () => this.#now,
    after: (milliseconds, call) => {
      const alarm = { at: this.#now + milliseconds, call }
      this.#alarms.push(alarm)
      return () => void (this.#alarms = this.#alarms.filter((each) => each !== alarm))
    }
  }

  /** Lets promises that wait for nothing but each other go on. */
  async settle(): Promise<void> {
    for (let i = 0; i < 12; i++) await new Promise<void>((resolve) => setImmediate(resolve))
  }

  /** Lets time pass: alarms ring in their order, and workers look for jobs at every poll. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds
    await this.settle()
    while (this.#now < end) {
      const next = Math.min(
        end,
        this.#choresAt,
        ...this.#alarms.map(({ at }) => at),
        ...(this.#hasDue() ? [...this.#workers].map((workers) => workers.pollAt) : []),
        ...this.#jobs.filter((job) => this.isAvailable(job) && job.runAt > this.#now).map((job) => job.runAt)
      )
      this.#now = Math.max(this.#now, next)
      const due = this.#alarms.filter(({ at }) => at <= this.#now)
      this.#alarms = this.#alarms.filter(({ at }) => at > this.#now)
      for (const { call } of due) call()
      if (this.#now >= this.#choresAt) this.#chores()
      const polls = this.#hasDue()
      for (const workers of this.#workers) if (polls && workers.pollAt <= this.#now) workers.poll()
      if (polls || due.length > 0) await this.settle()
    }
  }

  #hasDue(): boolean {
    return this.#jobs.some((job) =>
      job.runAt <= this.#now && [...this.#workers].some(({ jobs }) => jobs.has(job.name)) && this.isAvailable(job) &&
      !this.isPaused(job.name)
    )
  }

  #chores(): void {
    this.#choresAt = this.#now + 15_000
    if (this.#workers.size === 0) return
    for (const job of this.#jobs) {
      if ([...this.#workers].some((workers) => workers === job.owner)) this.#lease(job)
    }
    this.#freeDead()
    if (this.#now - this.#dayAt < day - 300_000) return
    this.#dayAt = this.#now
    const old = (job: Stored): boolean =>
      job.done || (job.attempts >= job.maxAttempts && job.owner === null)
        ? job.updatedAt < this.#now - 7 * day
        : job.owner === null && job.attempts === 0 && job.runAt < this.#now - 14 * day &&
          !this.isPaused(job.name) && (this.#definitions.get(job.name)?.resumedAt ?? 0) < this.#now - 14 * day
    this.#jobs = this.#jobs.filter((job) => !old(job))
  }

  #lease(job: Stored): void {
    job.lockedUntil = Math.min(this.#now + leaseMs, job.triedUntil)
  }

  #freeDead(): number {
    const ended = this.#jobs.filter((job) => !job.done && job.owner !== null && job.lockedUntil < this.#now)
    for (const job of ended) {
      const message = "The try ran past its timeout, or its worker died."
      this.fail(job, job.owner!, { error: null, message, fatal: false, retryAt: null, counts: true })
      if (job.attempts < job.maxAttempts) job.runAt = Math.min(job.runAt, this.#now + takeUpMs)
    }
    return ended.length
  }

  /** Whether a job may start: not locked, tries left, and the first of its group. */
  isAvailable(job: Stored): boolean {
    return !job.done && job.owner === null && job.attempts < job.maxAttempts && this.#isHead(job)
  }

  #isHead(job: Stored): boolean {
    return job.group === null ||
      this.#jobs.find((each) => !each.done && each.name === job.name && each.group === job.group) === job
  }

  isPaused(name: string): boolean {
    return (this.#definitions.get(name)?.pausedAt ?? null) !== null
  }

  fetch(name: string, owner: object): Stored | null {
    if (this.isPaused(name)) return null
    const most = this.#definitions.get(name)?.model?.maxRunning ?? Infinity
    if (this.#jobs.filter((job) => job.name === name && job.owner !== null).length >= most) return null
    const [job] = this.#jobs.filter((each) => each.name === name && this.isAvailable(each) && each.runAt <= this.#now)
      .toSorted((a, b) => b.priority - a.priority || a.runAt - b.runAt || Number(a.id) - Number(b.id))
    if (job === undefined) return null
    const definition = this.#definitions.get(name)!
    const { model } = definition
    if (!this.#mayStart(name, definition)) return null
    job.owner = owner
    job.attempts++
    if (!job.keeps) job.key = null
    job.progress = null
    job.progressAt = 0
    job.updatedAt = this.#now
    job.triedUntil = this.#now + (model?.timeoutMs ?? 4 * 3_600_000) + lockMarginMs
    this.#lease(job)
    return job
  }

  /** When the rate of a name lets the next one begin, if it has one. */
  #startOf({ model, nextStart }: Definition): number {
    const rate = model?.rate ?? null
    return rate === null ? 0 : nextStart - apartUs(rate) / 1_000 * (rate.burst - 1)
  }

  /** Takes one of the starts that the rate of a name allows. */
  #mayStart(name: string, definition: Definition): boolean {
    const rate = definition.model?.rate ?? null
    if (rate === null) return true
    const apart = apartUs(rate) / 1_000
    const next = Math.min(Math.max(definition.nextStart, this.#now), this.#now + apart * rate.burst)
    const wait = next - apart * (rate.burst - 1) - this.#now
    if (wait <= 0) {
      definition.nextStart = next + apart
      return true
    }
    if (!definition.held) {
      definition.held = true
      this.timers.after(Math.max(leastWaitMs, Math.ceil(wait)), () => {
        definition.held = false
        this.#wake(name)
      })
    }
    return false
  }

  complete(job: Stored, owner: object, attempt: number): void {
    if (job.owner !== owner || job.attempts !== attempt) return
    job.done = true
    job.took = this.#now - job.updatedAt
    job.owner = null
    job.updatedAt = this.#now
  }

  #keepError(job: Stored, message: string, stack: string | null): void {
    job.error = message
    job.errors = [{ at: iso(this.#now), attempt: job.attempts, message, stack }, ...job.errors].slice(0, mostErrors)
  }

  fail(
    job: Stored,
    owner: object,
    { counts, error, fatal, message, retryAt }: Omit<Extract<Outcome, { readonly of: "failed" }>, "of">
  ): void {
    if (job.owner !== owner) return
    if (!counts) job.attempts--
    job.owner = null
    this.#keepError(job, message, errorStack(error))
    job.updatedAt = this.#now
    if (fatal) job.maxAttempts = job.attempts
    const { model } = this.#definitions.get(job.name)!
    if (job.attempts >= job.maxAttempts) {
      job.key = null
      return
    }
    job.runAt = retryAt !== null && retryAt.getTime() > this.#now
      ? retryAt.getTime()
      : this.#now + (model === null ? 1_000 : retryDelayMs(model, job.attempts, Math.random()))
  }

  #enqueue(plan: EnqueuePlan): string {
    const unstorable = refuseText(plan.payload)
    if (unstorable !== null) throw refuse(unstorable)
    let definition = this.#definitions.get(plan.name)
    if (definition === undefined) {
      definition = {
        ordered: plan.ordered ?? plan.group !== null,
        model: null,
        pausedAt: null,
        nextStart: 0,
        held: false
      }
      this.#definitions.set(plan.name, definition)
    }
    const { model, ordered } = definition
    if (ordered && plan.key !== null) throw refuse(`The job "${plan.name}" is ordered: it takes no key.`)
    if (ordered && plan.group === null) throw refuse(`The job "${plan.name}" is ordered: it needs a group.`)
    if (!ordered && plan.group !== null) throw refuse(`The job "${plan.name}" is not ordered: it takes no group.`)
    const runAt = Math.max(this.#now, plan.runAt?.getTime() ?? this.#now + (plan.delayMs ?? 0))
    const maxAttempts = plan.maxAttempts ?? model?.maxAttempts ?? 25
    const waiting = plan.key === null
      ? undefined
      : this.#jobs.find((job) =>
        job.name === plan.name && job.key === plan.key && job.keeps === (plan.mode === "running") && !job.done &&
        (job.keeps || job.owner === null)
      )
    if (waiting !== undefined) {
      if (plan.mode === "replace") {
        Object.assign(waiting, { payload: plan.payload, runAt, priority: plan.priority, maxAttempts })
      }
      return waiting.id
    }
    return this.#add(String(++this.#lastId), plan, runAt, maxAttempts, false)
  }

  #add(
    id: string,
    { group, key, mode, name, payload, priority }: Pick<
      EnqueuePlan,
      "name" | "payload" | "priority" | "key" | "mode" | "group"
    >,
    runAt: number,
    maxAttempts: number,
    scheduled: boolean
  ): string {
    this.#jobs.push({
      id,
      name,
      payload,
      runAt,
      priority,
      maxAttempts,
      attempts: 0,
      key,
      keeps: mode === "running",
      group,
      owner: null,
      lockedUntil: 0,
      triedUntil: 0,
      error: null,
      errors: [],
      createdAt: this.#now,
      updatedAt: this.#now,
      scheduled,
      done: false,
      took: 0,
      progress: null,
      progressAt: 0
    })
    return id
  }

  enqueueRun(job: JobModel, after: number): void {
    const next = job.schedule?.next(new Date(after))
    if (next === undefined || next === null) return
    const id = `-${this.#runs.size + 1}`
    const run = `${job.name} ${next.toISOString()}`
    if (this.#runs.has(run)) return
    const waits = (each: Stored): boolean =>
      each.name === job.name && each.scheduled && !isBegun(each) && each.runAt <= this.#now
    if (this.isPaused(job.name) && this.#jobs.some(waits)) return
    this.#runs.add(run)
    this.#add(
      id,
      { name: job.name, payload: "null", priority: 0, key: null, mode: "dedupe", group: null },
      next.getTime(),
      job.maxAttempts,
      true
    )
  }

  /** Starts workers. Several may run at once. */
  start(jobs: ReadonlyMap<string, JobModel>, attempt: RunAttempt): Workers {
    for (const model of jobs.values()) {
      const known = this.#definitions.get(model.name)
      if (known === undefined) {
        this.#definitions.set(model.name, { ordered: model.ordered, model, pausedAt: null, nextStart: 0, held: false })
      } else known.model = model
    }
    const waits = (job: Stored): boolean => job.scheduled && job.attempts === 0 && job.owner === null && !job.done
    this.#jobs = this.#jobs.filter((job) => {
      const keep = !waits(job) || jobs.get(job.name)?.schedule?.has(new Date(job.runAt)) === true
      if (!keep) this.#runs.delete(`${job.name} ${new Date(job.runAt).toISOString()}`)
      return keep
    })
    for (const model of jobs.values()) this.enqueueRun(model, this.#now)
    const workers = new FakeWorkers(this, jobs, attempt, () => void this.#workers.delete(workers))
    this.#workers.add(workers)
    workers.poll()
    return workers
  }

  /** What runs jobs has gone without a word: locks stay. */
  loseWorkers(): void {
    for (const job of this.#jobs) if (job.owner !== null) job.owner = { lost: true }
  }

  pending(names: ReadonlySet<string>): number {
    return this.#jobs.filter((job) =>
      names.has(job.name) && !job.done &&
      (job.owner !== null || (this.isAvailable(job) && job.runAt <= this.#now && !this.isPaused(job.name)))
    ).length
  }

  get nextDue(): string | null {
    const times = this.#jobs.flatMap((job) =>
      job.done
        ? []
        : job.owner !== null
        ? [job.lockedUntil]
        : this.isAvailable(job) && this.#definitions.get(job.name)!.model !== null && !this.isPaused(job.name)
        ? [Math.max(job.runAt, this.#startOf(this.#definitions.get(job.name)!))]
        : []
    )
    return times.length === 0 ? null : iso(Math.min(...times))
  }

  #counts(): readonly JobCounts[] {
    return [...this.#definitions.keys()].toSorted().map((name) => {
      const jobs = this.#jobs.filter((job) => job.name === name)
      const open = jobs.filter((job) => !job.done && job.owner === null && job.attempts < job.maxAttempts)
      const next = open.length === 0 ? null : Math.min(...open.map(({ runAt }) => runAt))
      return {
        name,
        waiting: open.filter(({ error }) => error === null).length,
        running: jobs.filter(({ owner }) => owner !== null).length,
        retrying: open.filter(({ error }) => error !== null).length,
        failed: jobs.filter((job) => this.#hasFailed(job)).length,
        completed: jobs.filter(({ done }) => done).length,
        nextDue: next === null ? null : iso(next),
        oldestDue: next === null || next > this.#now ? null : iso(next),
        nextRun: this.#nextRun(jobs),
        lastRun: this.#lastRun(jobs),
        pausedAt: this.isPaused(name) ? iso(this.#definitions.get(name)!.pausedAt!) : null
      }
    })
  }

  #nextRun(jobs: readonly Stored[]): string | null {
    const times = jobs.flatMap((job) => job.scheduled && !isBegun(job) ? [job.runAt] : [])
    return times.length === 0 ? null : iso(Math.min(...times))
  }

  #lastRun(jobs: readonly Stored[]): LastRun | null {
    const last = jobs.filter((job) => job.scheduled && isBegun(job)).toSorted((a, b) => b.updatedAt - a.updatedAt)[0]
    if (last === undefined) return null
    const state = last.done
      ? "completed"
      : last.owner !== null
      ? "running"
      : this.#hasFailed(last)
      ? "failed"
      : "retrying"
    return { at: iso(last.updatedAt), state }
  }

  #behind(job: Stored): number {
    const waiting = (each: Stored): boolean =>
      each !== job && !each.done && each.name === job.name && each.group === job.group
    return job.group === null ? 0 : Math.min(mostBehind, this.#jobs.filter(waiting).length)
  }

  #activity(name: string | null): readonly ActivityMinute[] {
    const minute = 60_000
    const last = Math.floor(this.#now / minute) * minute
    return Array.from({ length: activityMinutes }, (_, index) => {
      const at = last - (activityMinutes - 1 - index) * minute
      const jobs = this.#jobs.filter((job) =>
        (name === null || job.name === name) && job.updatedAt >= at && job.updatedAt < at + minute
      )
      const took = jobs.flatMap((job) => job.done ? [job.took] : [])
      return {
        at: iso(at),
        completed: took.length,
        failed: jobs.filter((job) => this.#hasFailed(job)).length,
        averageMs: took.length === 0 ? null : Math.round(took.reduce((sum, each) => sum + each) / took.length),
        longestMs: took.length === 0 ? null : Math.max(...took)
      }
    })
  }

  /** Those of the first jobs that a search finds. */
  #found<Job extends Pick<Stored, "id">>(jobs: readonly Job[], search: string | null | undefined): readonly Job[] {
    if (search === null || search === undefined) return jobs
    const text = search.toLowerCase()
    const has = (value: unknown): boolean =>
      (typeof value === "string" || typeof value === "number") && String(value).toLowerCase().includes(text)
    return jobs.slice(0, mostSearched).filter(({ id }) => {
      const job = this.#jobs.find((each) => each.id === id)!
      const payload: unknown = Buffer.byteLength(job.payload) > longestListed ? null : JSON.parse(job.payload)
      const members = typeof payload === "object" && payload !== null && !Array.isArray(payload)
        ? Object.values(payload)
        : [payload]
      return id === search || [job.name, job.key, job.group, job.error, ...members].some(has)
    })
  }

  #hasFailed(job: Stored): boolean {
    return !job.done && job.owner === null && job.attempts >= job.maxAttempts
  }

  #failed(page: FailedPage): readonly FailedJob[] {
    const { after, limit, longest = Infinity, name } = "id" in page ? { after: null, limit: 1, name: null } : page
    const jobs = this.#jobs.filter((job) =>
      this.#hasFailed(job) && (name === null || job.name === name) && (!("id" in page) || job.id === page.id)
    )
      .toSorted((a, b) => b.updatedAt - a.updatedAt || Number(b.id) - Number(a.id))
      .map((job) => ({
        id: job.id,
        name: job.name,
        attempts: job.attempts,
        payload: Buffer.byteLength(job.payload) > longest ? null : job.payload,
        payloadBytes: Buffer.byteLength(job.payload),
        error: job.error ?? "",
        group: job.group,
        waitingBehind: this.#behind(job),
        enqueuedAt: iso(job.createdAt),
        failedAt: iso(job.updatedAt)
      }))
      .filter((job) =>
        after === null || job.failedAt < after.failedAt ||
        (job.failedAt === after.failedAt && Number(job.id) < Number(after.id))
      )
    return this.#found(jobs, "id" in page ? null : page.search).slice(0, limit)
  }

  /** Jobs that neither run nor have ended, those behind others of their groups included. */
  #open(): readonly Stored[] {
    return this.#jobs.filter((job) => !job.done && job.owner === null && job.attempts < job.maxAttempts)
  }

  #pending(page: PendingPage): readonly PendingJob[] {
    const { after, limit, longest = Infinity, name, state } = "id" in page
      ? { after: null, limit: 1, name: null, state: null }
      : page
    const jobs = this.#open()
      .filter((job) => (name === null || job.name === name) && (!("id" in page) || job.id === page.id))
      .toSorted((a, b) => a.runAt - b.runAt || Number(a.id) - Number(b.id))
      .map((job): PendingJob => ({
        id: job.id,
        name: job.name,
        state: job.error === null ? "waiting" : "retrying",
        attempts: job.attempts,
        maxAttempts: job.maxAttempts,
        runAt: iso(job.runAt),
        error: job.error ?? "",
        group: job.group,
        held: !this.#isHead(job),
        enqueuedAt: iso(job.createdAt),
        payload: Buffer.byteLength(job.payload) > longest ? null : job.payload,
        payloadBytes: Buffer.byteLength(job.payload)
      }))
      .filter((job) =>
        (state === null || job.state === state) &&
        (after === null || job.runAt > after.runAt || (job.runAt === after.runAt && Number(job.id) > Number(after.id)))
      )
    return this.#found(jobs, "id" in page ? null : page.search).slice(0, limit)
  }

  #begun(page: RunningPage): readonly BegunJob[] {
    const { after, limit, longest = Infinity, name } = "id" in page ? { after: null, limit: 1, name: null } : page
    const jobs = this.#jobs
      .filter((job) =>
        job.owner !== null && (name === null || job.name === name) && (!("id" in page) || job.id === page.id)
      )
      .toSorted((a, b) => a.updatedAt - b.updatedAt || Number(a.id) - Number(b.id))
      .map((job) => ({
        id: job.id,
        name: job.name,
        attempt: job.attempts,
        maxAttempts: job.maxAttempts,
        startedAt: iso(job.updatedAt),
        worker: "memory",
        progress: job.progress,
        group: job.group,
        enqueuedAt: iso(job.createdAt),
        payload: Buffer.byteLength(job.payload) > longest ? null : job.payload,
        payloadBytes: Buffer.byteLength(job.payload)
      }))
      .filter((job) =>
        after === null || job.startedAt > after.startedAt ||
        (job.startedAt === after.startedAt && Number(job.id) > Number(after.id))
      )
    return this.#found(jobs, "id" in page ? null : page.search).slice(0, limit)
  }

  /** Keeps the progress of a try that has its job: at once, and then the last of each second. */
  tell(job: Stored, owner: object, attempt: number, progress: Progress): void {
    const write = (): void => {
      if (job.owner === owner && job.attempts === attempt) job.progress = { ...progress, at: iso(this.#now) }
    }
    const wait = job.progressAt - this.#now
    if (wait > 0) this.timers.after(wait, write)
    else {
      job.progressAt = this.#now + progressMs
      write()
    }
  }

  #chosen(chosen: Chosen): readonly Stored[] {
    return this.#jobs.filter((job) =>
      this.#hasFailed(job) && ("id" in chosen ? job.id === chosen.id : job.name === chosen.name)
    )
  }

  #wake(name: string): void {
    for (const workers of this.#workers) workers.wake(name)
  }

  readonly service: QueueService = {
    enqueue: (plans, within) =>
      Effect.tryPromise({
        try: async () => {
          const own = (within as EnqueuingDatabase | undefined)?.[enqueuesItself]
          if (own !== undefined) return own(plans)
          const ids = plans.map((plan) => this.#enqueue(plan))
          for (const { name } of plans) this.#wake(name)
          return ids
        },
        catch: (error) => {
          if (error instanceof QueueError) return error
          throw error
        }
      }),
    counts: Effect.sync(() => this.#counts()),
    activity: (name) => Effect.sync(() => this.#activity(name)),
    failed: (page) => Effect.sync(() => this.#failed(page)),
    errors: (id) => Effect.sync(() => this.#jobs.find((job) => job.id === id && !job.done)?.errors ?? []),
    retry: (chosen) =>
      Effect.sync(() => {
        const jobs = this.#chosen(chosen)
        for (const job of jobs) {
          Object.assign(job, { maxAttempts: job.attempts + 1, runAt: this.#now, error: null, updatedAt: this.#now })
          this.#wake(job.name)
        }
        return jobs.length
      }),
    remove: (chosen) =>
      Effect.sync(() => {
        const jobs = new Set(this.#chosen(chosen))
        this.#jobs = this.#jobs.filter((job) => !jobs.has(job))
        return jobs.size
      }),
    running: (page) => Effect.sync(() => this.#begun(page)),
    pending: (page) => Effect.sync(() => this.#pending(page)),
    hurry: (id) =>
      Effect.suspend(() => {
        const job = this.#open().find((each) => each.id === id)
        if (job === undefined) return Effect.succeed(false)
        if (!this.#isHead(job)) return Effect.fail(refuse("Other jobs of its group come first."))
        if (job.scheduled && !isBegun(job)) {
          return Effect.fail(refuse("A run of a schedule begins at its time. Enqueue the job to have it run now."))
        }
        job.runAt = Math.min(job.runAt, this.#now)
        this.#wake(job.name)
        return Effect.succeed(true)
      }),
    withdraw: (id) =>
      Effect.sync(() => {
        const job = this.#open().find((each) => each.id === id)
        if (job === undefined) return false
        this.#jobs = this.#jobs.filter((each) => each !== job)
        const { model } = this.#definitions.get(job.name)!
        if (job.scheduled && !isBegun(job) && model !== null) this.enqueueRun(model, Math.max(this.#now, job.runAt))
        return true
      }),
    pause: (name, paused, ordered) =>
      Effect.sync(() => {
        const found = this.#definitions.get(name)
        if (found === undefined && ordered === null) return null
        const definition = found ??
          { ordered: ordered === true, model: null, pausedAt: null, nextStart: 0, held: false }
        this.#definitions.set(name, definition)
        if (!paused && definition.pausedAt !== null) definition.resumedAt = this.#now
        definition.pausedAt = paused ? definition.pausedAt ?? this.#now : null
        return { pausedAt: definition.pausedAt === null ? null : iso(definition.pausedAt) }
      }),
    freeDead: Effect.sync(() => this.#freeDead()),
    cancel: (ids) =>
      Effect.sync(() => {
        this.#jobs = this.#jobs.filter((job) => !ids.includes(job.id) || job.attempts > 0 || job.owner !== null)
      }),
    nextDue: Effect.sync(() => this.nextDue)
  }

  /** A database that enqueues at once. */
  readonly db: EnqueuingDatabase = {
    query: () => Promise.reject(new Error("there is no SQL in memory")),
    [enqueuesItself]: async (plans) => Effect.runPromise(this.service.enqueue(plans))
  }

  /** A transaction: what it enqueues is there when the work resolves. */
  async transaction(work: (tx: EnqueuingDatabase) => Promise<void>): Promise<void> {
    const before = this.#jobs.map((job) => ({ ...job }))
    try {
      await work({ ...this.db, [enqueuesItself]: async (plans) => plans.map((plan) => this.#enqueue(plan)) })
    } catch (error) {
      this.#jobs = before
      throw error
    }
  }
}

class FakeWorkers implements Workers {
  readonly jobs: ReadonlyMap<string, JobModel>
  readonly #queue: FakeQueue
  readonly #attempt: RunAttempt
  readonly #left: () => void
  readonly #running = new Map<string, number>()
  readonly #tries = new Set<Promise<void>>()
  readonly #stopped = new AbortController()
  #stopping: Promise<void> | null = null
  pollAt = 0

  constructor(queue: FakeQueue, jobs: ReadonlyMap<string, JobModel>, attempt: RunAttempt, left: () => void) {
    this.#queue = queue
    this.jobs = jobs
    this.#attempt = attempt
    this.#left = left
  }

  poll(): void {
    this.pollAt = this.#queue.now + pollMs
    for (const name of this.jobs.keys()) this.wake(name)
  }

  readonly wake = (name: string): void => {
    const job = this.jobs.get(name)
    if (job === undefined || this.#stopping !== null) return
    while ((this.#running.get(name) ?? 0) < job.concurrency) {
      const stored = this.#queue.fetch(name, this)
      if (stored === null) return
      this.#running.set(name, (this.#running.get(name) ?? 0) + 1)
      if (stored.scheduled) this.#queue.enqueueRun(job, Math.max(this.#queue.now, stored.runAt))
      const attempt = stored.attempts
      const running = this.#attempt({
        id: stored.id,
        name,
        payload: JSON.parse(stored.payload),
        attempt,
        maxAttempts: stored.maxAttempts,
        onStop: (call) => {
          const { signal } = this.#stopped
          if (signal.aborted) call()
          else signal.addEventListener("abort", call, { once: true })
          return () => signal.removeEventListener("abort", call)
        },
        timers: this.#queue.timers,
        progress: (progress) => this.#queue.tell(stored, this, attempt, progress)
      }).then((outcome) => {
        if (outcome.of === "completed") this.#queue.complete(stored, this, attempt)
        else if (stored.attempts === attempt) {
          this.#queue.fail(stored, this, outcome)
        }
        this.#running.set(name, this.#running.get(name)! - 1)
        this.#tries.delete(running)
        this.wake(name)
      })
      this.#tries.add(running)
    }
  }

  readonly wakeAll = (): void => {
    for (const name of this.jobs.keys()) this.wake(name)
  }

  readonly drain: Workers["drain"] = (milliseconds) =>
    Effect.promise(async () => {
      const names = new Set(this.jobs.keys())
      const until = this.#queue.now + milliseconds
      while (this.#queue.pending(names) > 0 && this.#queue.now < until) {
        this.poll()
        await this.#queue.advance(Math.min(100, until - this.#queue.now))
      }
      const remaining = this.#queue.pending(names)
      return { drained: remaining === 0, remaining, nextDue: this.#queue.nextDue }
    })

  readonly hold: Workers["hold"] = (name, paused) => {
    if (!paused) this.wake(name)
  }

  readonly isPaused = (): boolean => [...this.jobs.keys()].some((name) => this.#queue.isPaused(name))

  readonly isReady = (): boolean => this.#stopping === null

  readonly stop = (): Promise<void> =>
    this.#stopping ??= (async () => {
      const cancel = this.#queue.timers.after(
        shutdownGraceMs,
        () => this.#stopped.abort(new Error("The worker stops."))
      )
      await Promise.all(this.#tries)
      cancel()
      this.#left()
    })()
}
