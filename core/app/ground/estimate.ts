/**
 * `total_size_estimate`: exact up to a cap, rounded beyond it, always counted under the caller's own filter, row filter and tenant. Counts
 * are kept for some seconds per query. A write of this instance to the resource makes them stale.
 */

import type { Clock } from "effect/Clock"
import * as Effect from "effect/Effect"
import { BoundedMap } from "../../domain/bounded.ts"
import { relatedOf } from "../../domain/filter/tree.ts"
import type { CountPlan } from "../../domain/read/plan.ts"
import type { RecordsError, RecordsService } from "../../ports/records.ts"
import { fromClock } from "./timing.ts"

/** Rows counted exactly. */
export const estimateCap = 10_000

interface RowEstimate {
  /** Exact up to the cap, rounded beyond it, or `counting`. */
  readonly size: number
  /** Milliseconds of the monotonic clock after which the rows are counted again. The wall clock may be set back. */
  readonly until: number
  /** The resource's write counter when it was taken. */
  readonly written: number
}

/** What estimates of one service have in common: full counts under way, and writes by resource. */
const freshWork = (): { running: number; readonly written: Map<string, number> } => ({ running: 0, written: new Map() })

export class RowEstimates {
  readonly entries: BoundedMap<string, RowEstimate>
  readonly #work: { running: number; readonly written: Map<string, number> }

  constructor(limit = 2_000, work: { running: number; readonly written: Map<string, number> } = freshWork()) {
    this.entries = new BoundedMap(limit)
    this.#work = work
  }

  /** Numbers of their own beside these, as of another server: writes, and counts under way, are those of both. */
  beside(limit?: number): RowEstimates {
    return new RowEstimates(limit, this.#work)
  }

  /** Full counts under way. More than two at once would slow down the pages. */
  get running(): number {
    return this.#work.running
  }
  set running(count: number) {
    this.#work.running = count
  }

  /** To be told of every write of this instance. */
  touch(resource: string): void {
    const { written } = this.#work
    written.set(resource, (written.get(resource) ?? 0) + 1)
  }

  /** Writes so far to the resource of a count and to all that its conditions look at. */
  written({ model, where }: Pick<CountPlan, "model" | "where">): number {
    const names = new Set([model.name, ...relatedOf(where).map(({ way }) => way.model.name)])
    let writes = 0
    for (const name of names) writes += this.#work.written.get(name) ?? 0
    return writes
  }
}

/** What counting needs of `Core`. */
export interface Counting {
  readonly estimates: RowEstimates
  readonly records: Pick<RecordsService, "count">
}

/** In place of a number of rows: there are more than the cap, and their full count is not there yet. */
export const counting = -1

/** In place of a number of rows: how many there are is not known, not even whether they are more than the cap. */
export const uncounted = -2

/** How rows are counted that may take long: the answer waits so many milliseconds, and the full count runs only where `full` says so. */
export interface Hurry {
  readonly within: number
  readonly full: (plan: CountPlan) => Effect.Effect<boolean, RecordsError>
}

const exactMs = 5_000
const roundedMs = 60_000

/** Two significant digits. That is enough for a person, and tells a prober nothing. */
const rounded = (count: number): number => {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(count)) - 1)
  return Math.round(count / unit) * unit
}

const milliseconds = (clock: Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

/** The remembered number of rows of a query, or null when it has to be counted. */
export const recallRows = (
  { estimates }: Pick<Counting, "estimates">,
  clock: Clock,
  plan: Pick<CountPlan, "model" | "where">,
  key: string
): number | null => {
  const entry = estimates.entries.get(key)
  if (entry === undefined || milliseconds(clock) >= entry.until) return null
  // Beyond the cap a few writes do not matter. Below it the count is exact.
  return entry.written === estimates.written(plan) || entry.size > estimateCap || entry.size === uncounted
    ? entry.size
    : null
}

/** Remembers an exact count, which is at most the cap, taken since `written` writes. */
export const rememberRows = (
  { estimates }: Pick<Counting, "estimates">,
  key: string,
  size: number,
  written: number
): Effect.Effect<void> =>
  fromClock((clock) => estimates.entries.set(key, { size, until: milliseconds(clock) + exactMs, written }))

/**
 * Counts the rows of a query for its estimate. Beyond the cap the number is a rounded full count, which runs in the background for at most
 * a statement timeout. Until it is there the answer is `counting`.
 */
export const countRows = (
  { estimates, records }: Counting,
  key: string,
  plan: Omit<CountPlan, "cap">,
  hurry: Hurry | null = null
): Effect.Effect<number, RecordsError> =>
  Effect.flatMap(fromClock(milliseconds), (now) => {
    const written = estimates.written(plan)
    const capped = { ...plan, cap: estimateCap + 1 }
    const counted = hurry === null ? records.count(capped) : Effect.catch(
      records.count({ ...capped, within: hurry.within }),
      (error) => error.reason._tag === "Timeout" ? Effect.succeed(null) : Effect.fail(error)
    )
    return Effect.flatMap(counted, (text) => {
      const count = text === null ? null : Number(text)
      if (count !== null && count <= estimateCap) {
        estimates.entries.set(key, { size: count, until: now + exactMs, written })
        return Effect.succeed(count)
      }
      const entry = estimates.entries.get(key)
      const least = count === null ? uncounted : counting
      const before = entry !== undefined && entry.size > estimateCap ? entry.size : least
      estimates.entries.set(key, { size: before, until: now + roundedMs, written })
      // The page neither waits for the full count nor fails with it. If it fails, the lower bound stays until the next try.
      const whole: CountPlan = { ...plan, cap: null }
      const tell = Effect.map(records.count(whole), (text) => {
        const total = Number(text)
        const size = total > estimateCap ? rounded(total) : total
        estimates.entries.set(key, { size, until: now + roundedMs, written })
      })
      const full = Effect.suspend(() => {
        if (estimates.running >= 2) return Effect.void
        estimates.running++
        const allowed = hurry === null ? tell : Effect.flatMap(hurry.full(whole), (may) => may ? tell : Effect.void)
        return Effect.ensuring(Effect.ignore(allowed), Effect.sync(() => void estimates.running--))
      })
      return Effect.as(Effect.forkDetach(full), before)
    })
  })
