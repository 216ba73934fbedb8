/**
 * The progress that running jobs tell, written for all of a process by one statement and at most once a second. Only tries that the process still holds are
 * written. It is for people: what cannot be written is told again with the next, and fails no job.
 */

import { type Progress, progressMs } from "../../core/domain/job/progress.ts"
import type { Timers } from "../../core/ports/queue.ts"
import { codeOf, type QueryAnswer } from "./connection.ts"
import type { Fetched, JobLog } from "./fetched.ts"

/** A job that another statement has locked, such as its completion, is left out, so that neither waits for the other. */
const writeSql = (s: string): string =>
  `with told as (
  select * from unnest($1::bigint[], $2::text[], $3::integer[], $4::double precision[], $5::double precision[], $6::text[]) as t(id, owner, try, done, total, note)),
held as (
  select j.id from ${s}._private_jobs j join told t on j.id = t.id and j.locked_by = t.owner and j.attempts = t.try for key share of j skip locked)
insert into ${s}.progress (id, attempt, done, total, note) select t.id, t.try, t.done, t.total, t.note from told t join held h on h.id = t.id
on conflict (id) do update set attempt = excluded.attempt, done = excluded.done, total = excluded.total, note = excluded.note, at = now()
returning id::text`

export interface ProgressOptions {
  /** The name of the queue's schema as SQL. */
  readonly s: string
  /** Runs one statement, once. */
  readonly run: (sql: string, params: readonly unknown[]) => Promise<QueryAnswer>
  /** Whether a try goes on, and is this process's own. */
  readonly holds: (row: Fetched) => boolean
  readonly timers: Timers
  readonly log: JobLog
}

export class Progresses {
  readonly #options: ProgressOptions
  readonly #sql: string
  #told = new Map<Fetched, Progress>()
  #writtenAt = Number.NEGATIVE_INFINITY
  #planned = false
  #failing = false
  #stopped = false

  constructor(options: ProgressOptions) {
    this.#options = options
    this.#sql = writeSql(options.s)
  }

  tell(row: Fetched, progress: Progress): void {
    if (this.#stopped) return
    this.#told.set(row, progress)
    this.#plan()
  }

  /** Writes nothing any more. */
  stop(): void {
    this.#stopped = true
    this.#told.clear()
  }

  #plan(): void {
    if (this.#planned || this.#told.size === 0) return
    this.#planned = true
    const { timers } = this.#options
    timers.after(Math.max(0, this.#writtenAt + progressMs - timers.now()), () => void this.#write())
  }

  async #write(): Promise<void> {
    const { holds, log, run, timers } = this.#options
    const told = [...this.#told].filter(([row]) => holds(row))
    this.#told = new Map()
    this.#writtenAt = timers.now()
    try {
      if (told.length > 0 && !this.#stopped) {
        const { rows } = await run(this.#sql, [
          told.map(([{ id }]) => id),
          told.map(([{ locked_by: owner }]) => owner),
          told.map(([{ attempts }]) => attempts),
          told.map(([, { done }]) => done),
          told.map(([, { total }]) => total),
          told.map(([, { note }]) => note)
        ])
        const written = new Set(rows.map(({ id }) => String(id)))
        this.#keep(told.filter(([{ id }]) => !written.has(id)))
      }
      this.#failing = false
    } catch (error) {
      if (!this.#failing) log("warn", "jobs-progress", { code: codeOf(error) })
      this.#failing = true
      this.#keep(told)
    } finally {
      this.#planned = false
      this.#plan()
    }
  }

  /** Keeps what was not written, unless there is something newer. */
  #keep(told: ReadonlyArray<readonly [Fetched, Progress]>): void {
    if (this.#stopped) return
    for (const [row, progress] of told) if (!this.#told.has(row)) this.#told.set(row, progress)
  }
}
