/** Judges declared jobs: names, settings, schedules. Everything wrong is a refusal that names the job and what to write. */

import * as Result from "effect/Result"
import { type Bag, isBag, isFunction } from "../bag.ts"
import { quoteValue, type Report } from "../declare/refusal.ts"
import { hookPrefix, jobDefaults, type JobModel, namePattern } from "../job/definition.ts"
import { longestPer, mostOfRate, type Rate, shortestPer, usualBurst } from "../job/rate.ts"
import { isTimeZone, readSchedule, type Schedule } from "../job/schedule.ts"
import { durationMs } from "../value/duration.ts"
import { isStandardSchema, type StandardSchema } from "../value/standard-schema.ts"
import { isCount, refuseUnknownKeys } from "./check.ts"

/** The options of `readTries`. */
export const triesNames = [
  "maxAttempts",
  "retryDelay",
  "maxRetryDelay",
  "retrySteps",
  "timeout",
  "concurrency",
  "maxRunning",
  "rate"
] as const

const optionNames = ["name", "payload", "run", ...triesNames, "ordered", "schedule", "timezone"] as const

/** The names of the service's own jobs: mails about accounts, files, bulk changes, deliveries of events. */
const ownNames: ReadonlySet<string> = new Set([
  "accounts.reset-password",
  "accounts.invite",
  "accounts.sign-in-alert",
  "files.derive",
  "tasks.run",
  "views.refresh",
  "webhooks.deliver",
  "webhooks.deliver-ordered",
  "webhooks.dispatch-change",
  "webhooks.replay"
])

/** Whether a name is that of a job which the service runs for itself: no configuration declares it. */
export const isOwnJob = (name: string): boolean => ownNames.has(name) || name.startsWith("views.refresh/")

/** Why a waiting job of the service's own is not to be cancelled: it is the only record of something. Null: it may be. */
export const keptBecause = (name: string): string | null => {
  switch (name) {
    case "tasks.run":
      return "The job belongs to a task. Cancel the task."
    case "webhooks.dispatch-change":
      return "The job has the only record of a change that is not delivered yet."
    case "accounts.sign-in-alert":
      return "The job tells somebody of a sign-in with an unknown browser."
    default:
      return null
  }
}

type Say = (message: string, fix: string) => void

/** Longest try, in milliseconds: a day. */
const longestTimeout = 86_400_000
/** Most jobs of a name that may run at once over all processes. */
const mostRunning = 10_000
/** Longest wait between tries: 30 days. */
const longestDelay = 30 * 86_400_000

const duration = (raw: unknown, name: string, least: number, most: number, usual: number, say: Say): number => {
  if (raw === undefined) return usual
  const ms = durationMs(raw)
  if (ms !== null && ms >= least && ms <= most) return ms
  say(
    `${name} is ${quoteValue(raw)}.`,
    "Write milliseconds, or text such as \"30 seconds\", \"5 minutes\" or \"2 hours\"; "
      + `from ${least} ms to ${most / 86_400_000} days.`
  )
  return usual
}

const count = <Usual extends number | null>(
  raw: unknown,
  name: string,
  most: number,
  usual: Usual,
  say: Say
): number | Usual => {
  if (raw === undefined) return usual
  if (isCount(raw, 1, most)) return raw
  say(`${name} is ${quoteValue(raw)}.`, `Write a whole number from 1 to ${most}.`)
  return usual
}

const rateOptions = ["jobs", "per", "burst"] as const

const readRate = (raw: unknown, say: Say): Rate | null => {
  if (raw === undefined) return null
  if (!isBag(raw)) {
    say(`rate is ${quoteValue(raw)}.`, "Write rate: { jobs: 100, per: \"1 minute\" }.")
    return null
  }
  refuseUnknownKeys(raw, rateOptions, "rate.", say)
  const jobs = count(raw["jobs"] ?? null, "rate.jobs", mostOfRate, 1, say)
  const perMs = durationMs(raw["per"])
  if (perMs === null || perMs < shortestPer || perMs > longestPer) {
    say(`rate.per is ${quoteValue(raw["per"])}.`, "Write a time from 1 second to 30 days, such as \"1 minute\".")
    return null
  }
  return { jobs, perMs, burst: count(raw["burst"], "rate.burst", jobs, usualBurst({ jobs, perMs }), say) }
}

/** A recurring job has no payload: its schema has to take nothing at all. One that answers later is asked when the job runs. */
const takesNothing = (schema: StandardSchema): boolean => {
  try {
    const answer = schema["~standard"].validate(undefined)
    if (answer instanceof Promise) {
      answer.catch(() => {})
      return true
    }
    return answer.issues === undefined
  } catch {
    return false
  }
}

const readRecurring = (
  { ordered, schedule, timezone }: Bag,
  payload: StandardSchema | null,
  say: Say
): Schedule | null => {
  if (schedule === undefined) {
    if (timezone !== undefined) say("timezone stands without schedule.", "Write a schedule, or leave timezone out.")
    return null
  }
  if (timezone !== undefined && (typeof timezone !== "string" || !isTimeZone(timezone))) {
    say(`timezone is ${quoteValue(timezone)}, which is no time zone.`, "Write an IANA name such as \"Europe/Berlin\".")
    return null
  }
  const read = typeof schedule === "string"
    ? readSchedule(schedule, timezone ?? jobDefaults.timezone)
    : Result.fail("it is no text")
  if (Result.isFailure(read)) {
    say(
      `schedule is ${quoteValue(schedule)}, which is no cron pattern: ${read.failure}.`,
      "Write five fields such as \"0 7 * * *\", or six with seconds first."
    )
    return null
  }
  if (read.success.next(new Date(0)) === null) {
    say(`schedule is ${quoteValue(schedule)}, which never comes.`, "Write a pattern of days that exist.")
  }
  if (ordered === true) say("A job with a schedule cannot be ordered.", "Leave ordered or schedule out.")
  if (payload !== null && !takesNothing(payload)) {
    say(
      "The payload schema refuses a run of the schedule, which has no payload.",
      "Make the payload optional, or leave the schema out."
    )
  }
  return read.success
}

/** How the tries of a job follow each other, how long one may run, and how many at once. */
export const readTries = (
  declared: Bag,
  say: Say
): Pick<
  JobModel,
  | "maxAttempts"
  | "retryDelayMs"
  | "maxRetryDelayMs"
  | "retryStepsMs"
  | "timeoutMs"
  | "concurrency"
  | "maxRunning"
  | "rate"
> => {
  const { retrySteps } = declared
  const retryDelayMs = duration(declared["retryDelay"], "retryDelay", 0, longestDelay, jobDefaults.retryDelayMs, say)
  const usualMost = Math.max(retryDelayMs, jobDefaults.maxRetryDelayMs)
  const maxRetryDelayMs = duration(declared["maxRetryDelay"], "maxRetryDelay", 0, longestDelay, usualMost, say)
  if (maxRetryDelayMs < retryDelayMs) {
    say("maxRetryDelay is shorter than retryDelay.", "Make it at least as long.")
  }
  let retryStepsMs: readonly number[] | null = null
  if (retrySteps !== undefined) {
    if (!Array.isArray(retrySteps) || retrySteps.length === 0 || retrySteps.length > 100) {
      say(`retrySteps is ${quoteValue(retrySteps)}.`, "Write a list of 1 to 100 waits such as [\"5 s\", \"5 m\"].")
    } else {
      retryStepsMs = retrySteps.map((step, index) => duration(step, `retrySteps[${index}]`, 0, longestDelay, 0, say))
    }
  }
  return {
    maxAttempts: count(declared["maxAttempts"], "maxAttempts", 1_000, jobDefaults.maxAttempts, say),
    retryDelayMs,
    maxRetryDelayMs,
    retryStepsMs,
    timeoutMs: duration(declared["timeout"], "timeout", 1, longestTimeout, jobDefaults.timeoutMs, say),
    concurrency: count(declared["concurrency"], "concurrency", 200, jobDefaults.concurrency, say),
    maxRunning: count(declared["maxRunning"], "maxRunning", mostRunning, null, say),
    rate: readRate(declared["rate"], say)
  }
}

const readJob = (raw: unknown, place: string, report: Report): JobModel | null => {
  const declared = isBag(raw) && raw["_tag"] === "Job" && isBag(raw["declaration"]) ? raw["declaration"] : null
  if (declared === null) {
    report(null, null, `${place} is ${quoteValue(raw)}, not a job.`, "Write jobs: [defineJob({ name, run })].")
    return null
  }
  const { name, ordered, payload, run }: Bag = declared
  const say: Say = (message, fix) =>
    report(null, null, `${place}${typeof name === "string" ? ` ("${name}")` : ""}: ${message}`, fix)
  if (typeof name !== "string" || !namePattern.test(name)) {
    say(`name is ${quoteValue(name)}.`, "Write 1 to 128 letters, digits, \"_\", \"-\", \".\" and \"/\".")
    return null
  }
  if (name.startsWith(hookPrefix)) say(`names with ${hookPrefix} are those of hooks.`, "Give it another name.")
  if (isOwnJob(name)) say("its name is that of a job of the service's own.", "Give it another name.")
  refuseUnknownKeys(declared, optionNames, "", say)
  if (!isFunction<JobModel["run"]>(run)) {
    say(`run is ${quoteValue(run)}, not a function.`, "Write run: async (payload, { db }) => { … }.")
  }
  if (payload !== undefined && !isStandardSchema(payload)) {
    say(
      `payload is ${quoteValue(payload)}, not a Standard Schema.`,
      "Give a schema of zod, valibot, arktype, effect or another library that follows it."
    )
  }
  if (ordered !== undefined && typeof ordered !== "boolean") {
    say(`ordered is ${quoteValue(ordered)}.`, "Write true or false.")
  }
  const schema = isStandardSchema(payload) ? payload : null
  return {
    name,
    payload: schema,
    // What is no function is refused: no job of it is made.
    run: isFunction<JobModel["run"]>(run) ? run : () => undefined,
    ...readTries(declared, say),
    ordered: ordered === true,
    schedule: readRecurring(declared, schema, say)
  }
}

/** The jobs of a configuration by name. */
export const compileJobs = (raw: unknown, report: Report): ReadonlyMap<string, JobModel> => {
  const jobs = new Map<string, JobModel>()
  if (raw === undefined) return jobs
  if (!Array.isArray(raw)) {
    report(null, null, `jobs is ${quoteValue(raw)}, not a list.`, "Write jobs: [defineJob({ name, run })].")
    return jobs
  }
  for (const [index, each] of raw.entries()) {
    const job = readJob(each, `jobs[${index}]`, report)
    if (job === null) continue
    if (jobs.has(job.name)) {
      report(null, null, `Two jobs have the name "${job.name}".`, "Give each job a name of its own.")
    }
    jobs.set(job.name, job)
  }
  return jobs
}
