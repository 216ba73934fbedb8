/**
 * The times of recurring jobs: a cron pattern in a time zone, and the id of each run. The id is made from name and time, so that a run is one job
 * however many workers enqueue it. It reads no clock.
 */

import { Cron } from "croner"
import * as Result from "effect/Result"

/** A checked schedule. Times are whole seconds. */
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
 * Reads a pattern of five fields, or of six with seconds first. A time that a clock change skips runs at the next valid time. A time that a clock
 * change repeats runs once. Fails with what is wrong with the pattern.
 */
export const readSchedule = (pattern: string, timezone: string): Result.Result<Schedule, string> => {
  try {
    const cron = new Cron(pattern, { timezone, mode: "5-or-6-parts", fixedTimeRule: "no-wildcard", paused: true })
    const next = (after: Date): Date | null => cron.nextRun(after)
    return Result.succeed({
      pattern,
      timezone,
      next,
      // The pattern's own test is not used: a time that a clock change moved also counts as one of its times.
      has: (time) => next(new Date(time.getTime() - 1_000))?.getTime() === time.getTime()
    })
  } catch (error) {
    return Result.fail(error instanceof Error ? error.message : String(error))
  }
}
