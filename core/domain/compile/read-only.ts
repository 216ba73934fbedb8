/** Resources that nobody writes through the service: what says so, and what then cannot be said. It decides no access of reads. */

import * as Result from "effect/Result"
import type { CompiledRules, Operation } from "../access/rules.ts"
import { type Bag, isBag } from "../bag.ts"
import { quoteValue, type Report } from "../declare/refusal.ts"
import { isTimeZone, readSchedule } from "../job/schedule.ts"
import type { Materialized } from "../model/model.ts"
import { durationMs } from "../value/duration.ts"
import { refuseUnknownKeys } from "./check.ts"

const writes: readonly Operation[] = ["create", "update", "delete"]

/** Reads `readOnly`. */
export const readReadOnly = (resource: string, { readOnly }: Bag, report: Report): boolean => {
  if (readOnly !== undefined && typeof readOnly !== "boolean") {
    report(resource, null, `readOnly is ${quoteValue(readOnly)}, not true or false.`, "Write readOnly: true.")
  }
  return readOnly === true
}

/** The rules of a read-only resource. One that could allow a write contradicts it. */
export const closed = (resource: string, rules: CompiledRules, report: Report): CompiledRules => {
  const never = { of: "constant", allow: false } as const
  for (const operation of writes) {
    const rule = rules[operation]
    if (rule === null || (rule.of === "constant" && !rule.allow)) continue
    report(
      resource,
      null,
      `access.${operation} allows a write, and the resource is read-only.`,
      `Remove access.${operation}, or readOnly.`
    )
  }
  return { ...rules, create: never, update: never, delete: never }
}

/** How long one refresh may take, in milliseconds: usually, and at most. */
const usualTimeout = 600_000
const longestTimeout = 86_400_000

/** Reads `materialized`; null where the resource is over no materialized view. */
export const readMaterialized = (resource: string, declaration: Bag, report: Report): Materialized | null => {
  const raw = declaration["materialized"]
  const say = (message: string, fix: string): void => report(resource, null, message, fix)
  if (raw === undefined || raw === false) {
    const { access } = declaration
    if (isBag(access) && access["refresh"] !== undefined) {
      say(
        "access.refresh is a rule of materialized views, and this is none.",
        "Add materialized: true, or remove access.refresh."
      )
    }
    return null
  }
  if (raw !== true && !isBag(raw)) {
    say(`materialized is ${quoteValue(raw)}.`, "Write materialized: true, or { schedule: \"0 * * * *\" }.")
    return null
  }
  if (declaration["from"] !== undefined) {
    say("The resource shows the rows of a function, which is no materialized view.", "Remove materialized.")
  }
  if (declaration["readOnly"] === false) {
    say("A materialized view cannot be written, and readOnly is false.", "Remove readOnly.")
  }
  const settings: Bag = raw === true ? {} : raw
  const { schedule, timeout, timezone = "UTC" } = settings
  if (raw !== true) refuseUnknownKeys(raw, ["schedule", "timezone", "timeout"], "materialized", say)
  const timeoutMs = timeout === undefined ? usualTimeout : durationMs(timeout)
  if (timeoutMs === null || timeoutMs < 1_000 || timeoutMs > longestTimeout) {
    say(
      `materialized.timeout is ${quoteValue(timeout)}.`,
      "Write a time from 1 second to 1 day, such as \"10 minutes\"."
    )
  }
  const zone = typeof timezone === "string" && isTimeZone(timezone) ? timezone : null
  if (zone === null) {
    say(
      `materialized.timezone is ${quoteValue(timezone)}, which is no time zone.`,
      "Write an IANA name such as \"Europe/Berlin\"."
    )
  }
  let pattern: string | null = null
  if (schedule !== undefined) {
    const read = typeof schedule === "string" ? readSchedule(schedule, zone ?? "UTC") : Result.fail("it is no text")
    if (Result.isFailure(read)) {
      say(
        `materialized.schedule is ${quoteValue(schedule)}, which is no cron pattern: ${read.failure}.`,
        "Write five fields such as \"0 * * * *\", or six with seconds first."
      )
    } else pattern = read.success.pattern
  }
  return {
    schedule: pattern === null ? null : { pattern, timezone: zone ?? "UTC" },
    timeoutMs: timeoutMs ?? usualTimeout
  }
}
