/**
 * How a try fails: the errors that `run` throws to say more than "once more", and the text that a failed job keeps. The time of the next try is computed in
 * the database (the trigger `service_lock` in `adapters/queue/schema.ts`), because workers may die.
 */

import { classOf, framesOf } from "../thrown.ts"

/** Thrown by `run`: the job fails for good, whatever tries are left. */
export class FatalJobError extends Error {
  override readonly name = "FatalJobError"
}

/** Thrown by `run`: this try failed, and the next one is at `time` and not when the job's own delays say. It uses up a try like any failure. */
export class RetryAt extends Error {
  override readonly name: string = "RetryAt"
  readonly time: Date
  constructor(time: Date, message: string, options?: ErrorOptions) {
    super(message, options)
    this.time = time
  }
}

/** Thrown by `run`: this process cannot do the job, and another one may. The job is there again at `time`. Its try does not count. */
export class LeftToOthers extends RetryAt {
  override readonly name = "LeftToOthers"
}

/**
 * Leaves a job to others for 5 seconds to 5 minutes: the longer it has waited for one of them since `since`, the longer. Times are milliseconds since
 * 1970.
 */
export const leftToOthers = (now: number, since: number, message: string): LeftToOthers =>
  new LeftToOthers(new Date(now + Math.min(Math.max((now - since) / 20, 5_000), 300_000)), message)

/** Longest error text that is kept, in characters. */
const longestError = 2_000

/** Most errors of a job that are kept: the last ones. */
export const mostErrors = 5

/** Longest stack that is kept, in characters. */
const longestStack = 4_000

/** A character that stands between a message and its stack, where both are one text. Neither has it. */
export const errorMark = "\u001e"

const storable = (text: string): string => text.replaceAll("\0", "").replaceAll(errorMark, "").toWellFormed()

/** An error as it is kept with the job: its message, without what a database cannot hold. */
export const errorText = (error: unknown): string => {
  const text = error instanceof Error ? error.message === "" ? error.name : error.message : String(error)
  const clean = storable(text)
  return clean === "" ? "The job failed without a message." : clean.slice(0, longestError).toWellFormed()
}

/**
 * The frames of an error, and the classes and frames of what caused it, as they are kept with the job; null: there are none. Messages of causes are left out,
 * as they may quote addresses with keys or bodies.
 */
export const errorStack = (error: unknown): string | null => {
  const lines: string[] = []
  const seen = new Set<unknown>()
  for (let at = error; at instanceof Error && !seen.has(at) && seen.size < 5; at = at.cause) {
    if (seen.size > 0) lines.push(`Caused by ${classOf(at)}`)
    lines.push(...framesOf(at))
    seen.add(at)
  }
  const text = storable(lines.join("\n"))
  return text === "" ? null : text.slice(0, longestStack).toWellFormed()
}

/** Whether an error is the database's refusal of writes (SQLSTATE 25006), however deep it was wrapped. */
export const isReadOnly = (error: unknown): boolean => {
  let at = error
  for (let depth = 0; depth < 8 && typeof at === "object" && at !== null; depth++) {
    if ("code" in at && at.code === "25006") return true
    at = "cause" in at ? at.cause : "reason" in at ? at.reason : null
  }
  return false
}
