/**
 * How a try fails: the errors that `run` throws to say more than "once more", and the text that a failed job keeps. The time of the next try is computed in
 * the database (the trigger `service_lock` in `adapters/queue/schema.ts`), because workers may die.
 */

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

/** An error as it is kept with the job: its message, without what a database cannot hold. */
export const errorText = (error: unknown): string => {
  const text = error instanceof Error ? error.message === "" ? error.name : error.message : String(error)
  const clean = text.replaceAll("\0", "").toWellFormed()
  return clean === "" ? "The job failed without a message." : clean.slice(0, longestError).toWellFormed()
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
