/**
 * Groups by time: days, weeks, months and years of a date or a time in the browser's zone. The value of a group is the first day of it, as an ISO date. Weeks
 * begin as in the language; the service's begin on Mondays, so that other ones are put together of days. Pure.
 */

import { addDays, addMonths, weekday } from "../field/calendar.ts"
import type { DayNames } from "../field/day-names.ts"
import { firstInstantOf } from "../field/moment.ts"
import type { Resource } from "../model/catalogue.ts"
import { textOfSimple } from "../model/conditions.ts"
import { columnAt, type Path } from "../model/paths.ts"
import { isDay, readGroupText, type TimeUnit } from "./layout.ts"
import { both } from "./within.ts"

export const timeUnits: readonly TimeUnit[] = ["day", "week", "month", "year"]

/** What records are grouped by where it is time. */
export interface GroupTime {
  readonly unit: TimeUnit
  readonly path: Path
  /** What the service groups by. */
  readonly asks: string
  /** Whether several groups of the service are one here. */
  readonly merges: boolean
  /** The first day of a week, 1 for Monday to 7. */
  readonly start: number
}

const monday = 1

/** The field of a text like `month(created_at)`, or of a field's own name. `unit`: null for values as they are. */
export const groupAt = (
  resource: Resource,
  text: string
): { readonly path: Path; readonly unit: TimeUnit | null } | undefined => {
  const { field, unit } = readGroupText(text)
  const path = columnAt(resource, field)
  return path === undefined ? undefined : { path, unit: unit !== null && isDay(path.field) ? unit : null }
}

export const groupTime = (path: Path, unit: TimeUnit, start: number): GroupTime => {
  const merges = unit === "week" && start !== monday
  return { unit, path, start, merges, asks: `${merges ? "day" : unit}(${path.text})` }
}

/** Half of what is left of a day: first instants that are told by other rules of a zone are of the same day still. */
const slackMs = 6 * 3_600_000
const two = (value: number): string => String(value).padStart(2, "0")

/** The local day of an instant or a date; null where there is none. */
const dayOf = (value: unknown, slack: number): string | null => {
  const text = typeof value === "string" ? value : ""
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return text
  const time = new Date(Date.parse(text) + slack)
  const year = time.getFullYear()
  return Number.isNaN(year) || year < 1 || year > 9_999
    ? null
    : `${String(year).padStart(4, "0")}-${two(time.getMonth() + 1)}-${two(time.getDate())}`
}

const firstDay = ({ start, unit }: GroupTime, day: string): string =>
  unit === "day"
    ? day
    : unit === "week"
    ? addDays(day, -((weekday(day) - start + 7) % 7))
    : `${day.slice(0, unit === "month" ? 7 : 4)}${unit === "month" ? "-01" : "-01-01"}`

/** The first day of the next group. */
const nextGroup = ({ unit }: GroupTime, day: string): string =>
  unit === "day" ? addDays(day, 1) : unit === "week" ? addDays(day, 7) : addMonths(day, unit === "month" ? 1 : 12)

/** The first day of the group that a value of a record belongs to; null without one. */
export const groupOfValue = (time: GroupTime, value: unknown): string | null => {
  const day = dayOf(value, 0)
  return day === null ? null : firstDay(time, day)
}

/** The first day of the group that the service says the first instant of. */
export const groupOfStart = (time: GroupTime, start: unknown): string | null => {
  const day = dayOf(start, slackMs)
  return day === null ? null : firstDay(time, day)
}

/** The condition for the records from the group of a day to that of another, both included. */
export const timeCondition = (resource: Resource, time: GroupTime, first: string, last = first): string => {
  const { field, text } = time.path
  const bound = (is: "atLeast" | "under", day: string): string =>
    textOfSimple({ field: text, is, values: [field.kind === "date" ? day : firstInstantOf(day)] }, resource) ?? ""
  const end = nextGroup(time, last)
  // Nothing is after the last day of the calendar.
  return both(bound("atLeast", first), end >= "9999-12-31" ? "" : bound("under", end))
}

/** A group in words. */
export const timeText = ({ unit }: GroupTime, day: string, names: DayNames): string =>
  unit === "day"
    ? names.whole(day)
    : unit === "week"
    ? names.span(day, addDays(day, 6))
    : unit === "month"
    ? names.month(day)
    : names.year(day)

/** The groups between two days, both included, in their order; at most so many, and whether there are more. */
export const groupsBetween = (
  time: GroupTime,
  first: string,
  last: string,
  rises: boolean,
  most: number
): { readonly days: readonly string[]; readonly more: boolean } => {
  const days: string[] = []
  const before = (day: string): string =>
    time.unit === "day" ? addDays(day, -1) : time.unit === "week" ? addDays(day, -7) : addMonths(
      day,
      time.unit === "month" ? -1 : -12
    )
  let day = rises ? first : last
  while (day >= first && day <= last && days.length < most) {
    days.push(day)
    const next = rises ? nextGroup(time, day) : before(day)
    if (next === day) return { days, more: false }
    day = next
  }
  return { days, more: day >= first && day <= last }
}

/** Whether groups by time rise: as the list does, if it is sorted by the same field; else the newest come first. */
export const rises = (order: string, { path }: GroupTime): boolean => order.split(",")[0]?.trim() === path.text
