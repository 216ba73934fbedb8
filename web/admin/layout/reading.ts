/**
 * The records of the days that a calendar shows: first how many there are on each day, then the records themselves, of a full day only the first ones. After
 * changes it counts again, and reads those days whose records may be others. It knows no service: what it calls is given to it.
 */

import { addDays } from "../field/calendar.ts"
import { daysBetween } from "./days.ts"
import { type Run, runsOf } from "./placing.ts"

/** Most records of one request, most requests of the shown days, and most at a time. */
const most = { records: 500, requests: 8 }
const abreast = 6
/** Milliseconds for which changes of others are collected at least. */
const collectMs = 600

export interface Calls<T> {
  /** How many records begin on each day, from one up to and without another. */
  readonly count: (from: string, to: string, signal: AbortSignal) => Promise<readonly number[]>
  /** The first records that begin on a day from `from` to `last`. */
  readonly read: (run: Pick<Run, "from" | "last" | "limit">, signal: AbortSignal) => Promise<readonly T[]>
  /** Records that began before a day and reach into it, and whether these are all. */
  readonly reach:
    | ((day: string, signal: AbortSignal) => Promise<{ readonly items: readonly T[]; readonly all: boolean }>)
    | null
  readonly keyOf: (record: T) => string
  readonly changed: () => void
}

interface Shown {
  readonly from: string
  readonly to: string
  /** How many records of a full day are read; 0: none. */
  readonly few: number
  /** Days around this one come first. */
  readonly around: string
}

interface Kept {
  readonly run: Run
  readonly keys: readonly string[]
}

export class DayReader<T> {
  readonly #calls: Calls<T>
  #shown: Shown | null = null
  #ending = new AbortController()
  #counts = new Map<string, number>()
  #runs = new Map<string, Kept>()
  #reaching: readonly string[] = []
  /** Whether all records are known that reach into the first day. */
  #reached = false
  #records = new Map<string, T>()
  /** Records that others changed since the last round began; null: any of them may be. */
  #collected: Set<string> | null = new Set()
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Milliseconds that the last round took. */
  #took = 0
  /** Increases with each round of reads that has ended. */
  turn = 0
  loading = false
  failure: unknown = undefined
  /** Why records that began earlier are missing. */
  reachFailure: unknown = undefined

  constructor(calls: Calls<T>) {
    this.#calls = calls
  }

  /** The records that are known, of any day. */
  records(): Iterable<T> {
    return this.#records.values()
  }

  get(key: string): T | undefined {
    return this.#records.get(key)
  }

  /** How many records begin on a day; null: not counted yet. */
  count(day: string): number | null {
    return this.#counts.get(day) ?? null
  }

  /** How many records begin on the shown days; null: not counted yet. */
  total(from: string, to: string): number | null {
    let sum = 0
    for (const day of daysBetween(from, to)) {
      const count = this.#counts.get(day)
      if (count === undefined) return null
      sum += count
    }
    return sum
  }

  /** Whether all records of a day are known that began before it. */
  whole(day: string): boolean {
    if (this.#shown === null || !this.#reached) return false
    const known = new Map<string, boolean>()
    for (const { keys, run } of this.#runs.values()) {
      for (const each of daysBetween(run.from, addDays(run.last, 1))) known.set(each, keys.length >= run.count)
    }
    return daysBetween(this.#shown.from, day).every((each) => this.#counts.get(each) === 0 || known.get(each) === true)
  }

  /** Reads the days. What is known of them is kept. */
  show(shown: Shown): void {
    const before = this.#shown
    if (
      before !== null && before.from === shown.from && before.to === shown.to && before.few === shown.few &&
      before.around === shown.around
    ) return
    this.#shown = shown
    this.#runs = new Map()
    this.#reached = this.#calls.reach === null
    void this.refresh()
  }

  /** A record as it is now. */
  put(record: T): void {
    this.#records.set(this.#calls.keyOf(record), record)
    this.#calls.changed()
  }

  /** A record has gone from one day to another. */
  recount(from: string, to: string): void {
    for (const [day, by] of [[from, -1], [to, 1]] as const) {
      const count = this.#counts.get(day)
      if (count !== undefined) this.#counts.set(day, Math.max(0, count + by))
    }
  }

  /** A record that others changed, null for any of them. Such changes are read together, as rounds under steady changes would end each other. */
  collect(key: string | null): void {
    if (key === null) this.#collected = null
    else this.#collected?.add(key)
    this.#plan()
  }

  /** A round for what was collected begins after the last one has ended, and as long after it as that one took. */
  #plan(): void {
    if (this.loading || this.#timer !== undefined || this.#collected?.size === 0) return
    this.#timer = setTimeout(() => {
      void this.refresh(this.#collected)
    }, Math.max(collectMs, this.#took))
  }

  /** Counts again, and reads what may have changed. `keys`: records that did; null: any of them may have. */
  async refresh(keys: ReadonlySet<string> | null = null): Promise<void> {
    const shown = this.#shown
    if (shown === null) return
    this.#ending.abort()
    this.#ending = new AbortController()
    const { signal } = this.#ending
    this.loading = true
    const begun = performance.now()
    const collected = this.#collected
    this.#forget()
    for (const [id, run] of this.#runs) {
      if (keys === null || collected === null || run.keys.some((key) => keys.has(key) || collected.has(key))) {
        this.#runs.delete(id)
      }
    }
    this.#calls.changed()
    try {
      await Promise.all([this.#readDays(shown, signal), this.#readReaching(shown, signal)])
      if (signal.aborted) return
      this.failure = undefined
    } catch (error) {
      if (signal.aborted) return
      this.failure = error
    }
    this.loading = false
    this.turn++
    this.#took = performance.now() - begun
    this.#calls.changed()
    this.#plan()
  }

  close(): void {
    this.#ending.abort()
    this.#forget()
  }

  #forget(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#collected = new Set()
  }

  async #readDays({ around, few, from, to }: Shown, signal: AbortSignal): Promise<void> {
    const counts = await this.#calls.count(from, to, signal)
    if (signal.aborted) return
    const days = daysBetween(from, to).map((day, at) => [day, counts[at] ?? 0] as const)
    this.#counts = new Map(days)
    const runs = new Map(runsOf(days, few, most, around).map((run) => [JSON.stringify(run), run]))
    const kept = new Map([...this.#runs].filter(([id]) => runs.has(id)))
    this.#runs = kept
    this.#calls.changed()
    const waiting = [...runs].filter(([id]) => !kept.has(id))
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) {
        const [id, run] = next
        const items = await this.#calls.read(run, signal)
        if (signal.aborted) return
        const keys = this.#keep(items)
        this.#runs.set(id, { run, keys })
        this.#calls.changed()
      }
    }
    await Promise.all(Array.from({ length: abreast }, work))
    if (!signal.aborted) this.#drop()
  }

  /** Without them a calendar still has those that begin on its days: so a refusal is no failure of the page. */
  async #readReaching({ few, from }: Shown, signal: AbortSignal): Promise<void> {
    const { reach } = this.#calls
    if (reach === null || few === 0) return
    try {
      const { all, items } = await reach(from, signal)
      if (signal.aborted) return
      this.reachFailure = undefined
      this.#reached = all
      this.#reaching = this.#keep(items)
      this.#calls.changed()
    } catch (error) {
      if (signal.aborted) return
      this.reachFailure = error
      this.#reached = false
      this.#reaching = []
    }
  }

  #keep(items: readonly T[]): readonly string[] {
    return items.map((item) => {
      const key = this.#calls.keyOf(item)
      this.#records.set(key, item)
      return key
    })
  }

  /** Forgets records that no answer has any more. */
  #drop(): void {
    const wanted = new Set([...this.#reaching, ...[...this.#runs.values()].flatMap(({ keys }) => keys)])
    for (const key of this.#records.keys()) {
      if (!wanted.has(key)) this.#records.delete(key)
    }
  }
}
