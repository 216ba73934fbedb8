/**
 * Checks what an enqueue asks for: payload as JSON text, time, key, group, priority. It decides everything that needs no queue. Only the queue
 * knows whether a name is ordered there.
 */

import * as Result from "effect/Result"
import { type Bag, isBag } from "../bag.ts"
import { type Duration, durationMs } from "../value/duration.ts"
import { issuesText, type StandardSchema } from "../value/standard-schema.ts"
import { highestPriority, largestPayload } from "./definition.ts"

/** Options of an enqueue (docs/guides/jobs.md#enqueuing). */
export interface EnqueueOptions {
  /** When it may start; a time in the past is now. Not together with `delay`. */
  readonly runAt?: Date
  /** How long from now until it may start: milliseconds, or text such as `5 minutes`. */
  readonly delay?: Duration
  /** Higher runs first; from -32,767 to 32,767, default 0. */
  readonly priority?: number
  /** At most one waiting job of this name has this key. */
  readonly key?: string
  /** What happens when a job with this key already waits: `dedupe` (default) keeps it, `replace` gives it this payload and these options. */
  readonly mode?: "dedupe" | "replace"
  /**
   * Until when the job keeps its `key`: `waiting` (default) until it begins, `running` until it is done or has failed for good, its retries included. Keys of
   * one kind do not meet those of the other. Not together with `replace`: a job that runs takes no other payload.
   */
  readonly unique?: "waiting" | "running"
  /** Required for ordered jobs, refused for others. */
  readonly group?: string
}

/** A job to enqueue, checked. */
export interface EnqueuePlan {
  readonly name: string
  /** JSON. */
  readonly payload: string
  readonly runAt: Date | null
  readonly delayMs: number | null
  readonly priority: number
  readonly key: string | null
  /** What an enqueue does that meets its key. `running`: dedupe, with a key that is kept until the job has ended. */
  readonly mode: "dedupe" | "replace" | "running"
  readonly group: string | null
  /** As declared where it is enqueued; null: unknown there. */
  readonly ordered: boolean | null
  readonly maxAttempts: number | null
}

/** An enqueue that is refused; its message says what to write instead. */
export class EnqueueError extends Error {
  override readonly name = "EnqueueError"
}

/** Why a payload is refused that JSON can hold and the database cannot. */
export const unstorableText =
  "The payload of a job has no NUL character and no half of a surrogate pair (such as half an emoji)."

const longestText = 1_000

const optionNames = new Set(["runAt", "delay", "priority", "key", "mode", "unique", "group"])

const refused = <A>(message: string): Result.Result<A, string> => Result.fail(message)

/** A key or group: not empty, of at most 1,000 characters, and such that the database can hold it. */
const isText = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= longestText && !value.includes("\0") &&
  value.isWellFormed()

const isPriority = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && Math.abs(value) <= highestPriority

/** Checks options against what is known of the job. Fails with a sentence. */
export const planEnqueue = (
  job: { readonly name: string; readonly ordered: boolean | null; readonly maxAttempts: number | null },
  payload: string,
  options: EnqueueOptions | undefined
): Result.Result<EnqueuePlan, string> => {
  if (options !== undefined && !isBag(options)) return refused("The options of enqueue are not an object.")
  const { delay, group, key, mode, priority, runAt, unique }: Bag = options ?? {}
  const unknown = Object.keys(options ?? {}).find((name) => !optionNames.has(name))
  if (unknown !== undefined) {
    return refused(`enqueue has no option "${unknown}". Use runAt, delay, priority, key, mode, unique or group.`)
  }
  if (runAt !== undefined && delay !== undefined) return refused("Give runAt or delay, not both.")
  if (runAt !== undefined && !(runAt instanceof Date && Number.isFinite(runAt.getTime()))) {
    return refused("runAt is not a valid Date.")
  }
  const delayMs = delay === undefined ? null : durationMs(delay)
  if (delay !== undefined && delayMs === null) {
    return refused("delay is not a duration. Write milliseconds, or text such as \"5 minutes\".")
  }
  if (priority !== undefined && !isPriority(priority)) {
    return refused(`priority is not a whole number from -${highestPriority} to ${highestPriority}.`)
  }
  if (key !== undefined && !isText(key)) return refused(`key is not a text of 1 to ${longestText} characters.`)
  if (group !== undefined && !isText(group)) return refused(`group is not a text of 1 to ${longestText} characters.`)
  if (mode !== undefined && mode !== "dedupe" && mode !== "replace") {
    return refused("mode is neither \"dedupe\" nor \"replace\".")
  }
  if (mode !== undefined && key === undefined) return refused("mode needs a key.")
  if (unique !== undefined && unique !== "waiting" && unique !== "running") {
    return refused("unique is neither \"waiting\" nor \"running\".")
  }
  if (unique !== undefined && key === undefined) return refused("unique needs a key.")
  if (unique === "running" && mode === "replace") {
    return refused("unique: \"running\" takes no mode \"replace\": a job that runs takes no other payload.")
  }
  if (job.ordered === true && key !== undefined) return refused(`The job "${job.name}" is ordered: it takes no key.`)
  if (job.ordered === true && group === undefined) return refused(`The job "${job.name}" is ordered: it needs a group.`)
  if (job.ordered === false && group !== undefined) {
    return refused(`The job "${job.name}" is not ordered: it takes no group.`)
  }
  return Result.succeed({
    name: job.name,
    payload,
    runAt: runAt ?? null,
    delayMs,
    priority: priority ?? 0,
    key: key ?? null,
    mode: unique === "running" ? "running" : mode ?? "dedupe",
    group: group ?? null,
    ordered: job.ordered,
    maxAttempts: job.maxAttempts
  })
}

const encoder = new TextEncoder()

/** How JSON writes what the database cannot hold: NUL, and halves of surrogate pairs. Whole pairs and a backslash before a `u` look like it. */
const suspicious = /\\u(?:0000|d[89a-f])/i

const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed()

/** Where a value has a text that the database cannot hold, as names from the outside in; null: nowhere. */
const unstorableIn = (value: unknown): readonly string[] | null => {
  if (typeof value === "string") return isStorable(value) ? null : []
  if (typeof value !== "object" || value === null) return null
  for (const [name, each] of Object.entries(value)) {
    const path = isStorable(name) ? unstorableIn(each) : []
    if (path !== null) return [isStorable(name) ? name : "a name", ...path]
  }
  return null
}

/** Why the database cannot hold a payload, as a sentence; null: it can. */
export const refuseText = (json: string): string | null => {
  const path = suspicious.test(json) ? unstorableIn(JSON.parse(json)) : null
  const place = path === null || path.length === 0 ? "" : ` It stands in ${path.join(".")}.`
  return path === null ? null : `${unstorableText}${place}`
}

/** A payload as JSON text of at most 256 KiB, or so many bytes. `undefined` becomes `null`. Fails with a sentence. */
export const encodePayload = (payload: unknown, most: number = largestPayload): Result.Result<string, string> => {
  let text: string | undefined
  try {
    text = payload === undefined ? "null" : JSON.stringify(payload)
  } catch (error) {
    return Result.fail(`The payload is not JSON: ${error instanceof Error ? error.message : String(error)}.`)
  }
  if (text === undefined) return Result.fail("The payload is not JSON: a function or a symbol has none.")
  const unstorable = refuseText(text)
  if (unstorable !== null) return Result.fail(unstorable)
  const bytes = encoder.encode(text).length
  return bytes <= most
    ? Result.succeed(text)
    : Result.fail(`The payload has ${bytes} bytes of JSON; at most ${most} are taken. Enqueue a reference to the data.`)
}

/** Validates a payload. If a schema throws or rejects, that counts as a refusal. */
export const checkPayload = async (
  schema: StandardSchema | null,
  payload: unknown
): Promise<Result.Result<unknown, string>> => {
  if (schema === null) return Result.succeed(payload)
  try {
    const checked = await schema["~standard"].validate(payload)
    return checked.issues === undefined ? Result.succeed(checked.value) : Result.fail(issuesText(checked.issues))
  } catch (error) {
    return Result.fail(error instanceof Error ? error.message : String(error))
  }
}

/** Validates what was stored. JSON's null is read as `undefined`, unless the schema accepts null itself. */
export const checkStored = async (
  schema: StandardSchema | null,
  stored: unknown
): Promise<Result.Result<unknown, string>> => {
  if (stored !== null) return checkPayload(schema, stored)
  const absent = await checkPayload(schema, undefined)
  if (Result.isSuccess(absent)) return absent
  const given = await checkPayload(schema, null)
  return Result.isSuccess(given) ? given : absent
}
