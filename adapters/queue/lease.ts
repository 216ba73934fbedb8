/**
 * Leases: a job that was fetched is held for half a minute, and its process renews that with one statement for all its jobs, so that a killed process
 * holds nothing for long. All leases of a process end at the same time. A process without jobs sends nothing. It frees and completes no job.
 *
 * A job may block its event loop longer than a lease. Then a guard renews, which stands outside of the loop (composition/lease-guard.ts). It looks into
 * memory that it shares with the loop, and works only while the loop is silent.
 */

import { codeOf, type Columns, type Connections, runOn } from "./connection.ts"
import type { Fetched, JobLog } from "./fetched.ts"
import { partsOf, renewSql, viewsOf } from "./renewal.ts"
import { ownSchema } from "./sql.ts"

/** What a guard needs to know. */
export interface Guarded {
  /** The schema of the queue. */
  readonly schema: string
  readonly leaseMs: number
  /** What `look` reads. */
  readonly memory: SharedArrayBuffer
  readonly log: JobLog
}

/** Renews the leases of a process whose event loop is blocked. */
export interface Guard {
  /** Who has fetched jobs in this process, as `locked_by` names them. */
  readonly tell: (owners: readonly string[]) => void
  readonly stop: () => Promise<void>
}

/** Starts a guard. It must not wait for the event loop of who calls. */
export type OpenGuard = (guarded: Guarded) => Guard

export interface LeaseOptions {
  readonly schema: string
  readonly leaseMs: number
  readonly pool: Connections
  readonly log: JobLog
  readonly guard: OpenGuard | undefined
}

interface Held {
  /** Called when another worker has got the job. */
  lose: (() => void) | null
  /** Its completion, failure or return is under way: its row may be gone or changed already. */
  leaving: boolean
}

const nameOf = (id: unknown, attempt: unknown): string => `${String(id)} ${String(attempt)}`

/** The jobs that a process holds, and the timer that renews them. */
export class Leases {
  readonly leaseMs: number
  readonly #options: LeaseOptions
  readonly #renewSql: string
  readonly #held = new Map<Fetched, Held>()
  readonly #owners = new Set<string>()
  readonly #memory = new SharedArrayBuffer(16)
  readonly #views = viewsOf(this.#memory)
  #guard: Guard | null = null
  #timer: NodeJS.Timeout | undefined
  /** When all leases end, in seconds by the database's clock, and when that was asked for. */
  #ends: { readonly at: string; readonly asked: number } | null = null
  #failing = false
  #stopped = false

  constructor(options: LeaseOptions) {
    this.#options = options
    this.leaseMs = options.leaseMs
    this.#renewSql = renewSql(ownSchema(options.schema))
  }

  /** When the leases of all held jobs end, in seconds, so that newly fetched jobs end with them. Null: new jobs get a lease from now. */
  get ends(): string | null {
    return this.#ends === null || performance.now() - this.#ends.asked > partsOf(this.leaseMs).silentMs
      ? null
      : this.#ends.at
  }

  /** Holds jobs that were fetched for an owner by a statement that was sent at `asked`. */
  take(rows: readonly Fetched[], owner: string, asked: number): void {
    if (rows.length === 0 || this.#stopped) return
    // The statement had no end to go by, so what it gave is the end for all.
    if (this.ends === null) this.#ends = { at: rows[0]!.lease_ends, asked }
    if (this.#timer === undefined) {
      this.#beat()
      this.#wait(partsOf(this.leaseMs).renewMs)
    }
    for (const row of rows) this.#held.set(row, { lose: null, leaving: false })
    this.#count()
    const { guard, log, schema } = this.#options
    if (guard === undefined || this.#owners.has(owner)) return
    this.#owners.add(owner)
    this.#guard ??= guard({ schema, leaseMs: this.leaseMs, memory: this.#memory, log })
    this.#guard.tell([...this.#owners])
  }

  /** A try of a job begins. `lose` is called when another worker has got the job. False: that is so already. */
  begin(row: Fetched, lose: () => void): boolean {
    const held = this.#held.get(row)
    if (held === undefined) return false
    held.lose = lose
    return true
  }

  /** Whether a job is this process's own, and neither completed, failed nor returned yet. */
  holds(row: Fetched): boolean {
    return this.#held.get(row)?.leaving === false
  }

  /** The statement that completes, fails or returns a job is about to be sent. False: another worker has got the job. */
  leave(row: Fetched): boolean {
    const held = this.#held.get(row)
    if (held === undefined) return false
    held.leaving = true
    return true
  }

  /** These are completed, failed or returned. */
  release(rows: readonly Fetched[]): void {
    for (const row of rows) this.#held.delete(row)
    this.#count()
  }

  /** Renews nothing any more. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    this.release([...this.#held.keys()])
    await this.#guard?.stop()
  }

  #beat(): void {
    Atomics.store(this.#views.beat, 0, process.hrtime.bigint())
  }

  #count(): void {
    Atomics.store(this.#views.held, 0, this.#held.size)
  }

  #wait(milliseconds: number): void {
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#renew(), milliseconds).unref()
  }

  async #renew(): Promise<void> {
    const { againMs, renewMs } = partsOf(this.leaseMs)
    if (this.#held.size === 0) {
      // The next fetch begins anew.
      this.#timer = undefined
      this.#ends = null
      return
    }
    try {
      await this.#send()
      this.#failing = false
      this.#beat()
      this.#wait(renewMs)
    } catch (error) {
      if (!this.#failing && !this.#stopped) this.#options.log("warn", "jobs-lease", { code: codeOf(error) })
      this.#failing = true
      this.#wait(againMs)
    }
  }

  async #send(): Promise<void> {
    const rows = [...this.#held.keys()]
    const asked = performance.now()
    const { rows: renewed } = await runOn<Columns & { readonly ends: string }>(this.#options.pool, this.#renewSql, [
      `${this.leaseMs} milliseconds`,
      rows.map(({ id }) => id),
      rows.map(({ locked_by: owner }) => owner),
      rows.map(({ attempts }) => attempts)
    ])
    const ends = renewed[0]?.ends
    this.#ends = ends === undefined ? null : { at: ends, asked }
    const ours = new Set(renewed.map(({ attempts, id }) => nameOf(id, attempts)))
    this.#drop(rows.filter((row) => !ours.has(nameOf(row.id, row.attempts)) && this.#held.has(row)))
  }

  /** Drops what is not ours any more. Frozen or cut off for longer than a lease, this process has lost it: another worker may have begun. */
  #drop(rows: readonly Fetched[]): void {
    const lost = rows.map((row) => this.#held.get(row)!).filter(({ leaving }) => !leaving)
    this.release(rows)
    if (lost.length === 0) return
    this.#options.log("warn", "jobs-lease-lost", { jobs: lost.length })
    for (const { lose } of lost) lose?.()
  }
}
