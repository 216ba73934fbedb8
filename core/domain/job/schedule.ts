/**
 * The times of recurring jobs: a cron pattern in a time zone, and the id of each run, which is made from name and time so that a run is one job however
 * many workers enqueue it. It asks no clock.
 */

import { Cron } from "croner"
import * as Result from "effect/Result"

/** A schedule that holds. Times are whole seconds. */
export interface Schedule {
  readonly pattern: string
  readonly timezone: string
  /** The first time after an instant; null when there is none (a pattern such as 30 February). */
  readonly next: (after: Date) => Date | null
  /** Whether an instant is one of its times. */
  readonly has: (time: Date) => boolean
}

/** Whether the runtime knows a time zone by this name. */
export const isTimeZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name })
    return true
  } catch {
    return false
  }
}

/**
 * Reads a pattern of five fields, or of six with seconds first. A time that a clock change skips comes at the next valid one, and one that it repeats
 * comes once. Fails with what is wrong with it.
 */
export const readSchedule = (pattern: string, timezone: string): Result.Result<Schedule, string> => {
  try {
    const cron = new Cron(pattern, { timezone, mode: "5-or-6-parts", fixedTimeRule: "no-wildcard", paused: true })
    const next = (after: Date): Date | null => cron.nextRun(after)
    return Result.succeed({
      pattern,
      timezone,
      next,
      // Not the pattern's own test: a time that was moved by a clock change is one of its times, too.
      has: (time) => next(new Date(time.getTime() - 1_000))?.getTime() === time.getTime()
    })
  } catch (error) {
    return Result.fail(error instanceof Error ? error.message : String(error))
  }
}
