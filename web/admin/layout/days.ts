/** The days of a calendar: which weeks are shown, which records lie on a day, and the filters for them. Days are ISO dates, of the browser's zone where a field has times. Pure. */

import type { MetaField } from "../../client/index.ts"
import { addDays, addMonths, weekday } from "../field/calendar.ts"
import { firstInstantOf } from "../field/moment.ts"
import type { Resource } from "../model/catalogue.ts"
import { textOfSimple } from "../model/conditions.ts"
import { both } from "./columns.ts"

export type Span = "month" | "week"

export interface ShownDays {
  readonly from: string
  /** The day after the last one. */
  readonly to: string
  readonly weeks: readonly (readonly string[])[]
}

const dayPattern = /^\d{4}-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?$/

/** The day of an address: `2026-11` or `2026-11-09`. Today where the text says none, or one at the ends of the calendar. */
export const dayIn = (text: string | null, today: string): string => {
  if (text === null || !dayPattern.test(text)) return today
  const year = Number(text.slice(0, 4))
  const day = addDays(text.length === 7 ? `${text}-01` : text, 0)
  return year < 2 || year > 9_998 ? today : day
}

/** The whole weeks that a month, or the week of a day, lies in. `start`: the first day of a week, 1 for Monday to 7. */
export const shownDays = (day: string, span: Span, start: number): ShownDays => {
  const begin = span === "month" ? `${day.slice(0, 7)}-01` : day
  const from = addDays(begin, -((weekday(begin) - start + 7) % 7))
  const end = span === "month" ? addMonths(begin, 1) : addDays(from, 7)
  const weeks: string[][] = []
  for (let first = from; first < end; first = addDays(first, 7)) {
    weeks.push(Array.from({ length: 7 }, (_, at) => addDays(first, at)))
  }
  return { from, to: addDays(from, weeks.length * 7), weeks }
}

/** The days from one up to and without another. */
export const daysBetween = (from: string, to: string): readonly string[] => {
  const days: string[] = []
  for (let day = from; day < to; day = addDays(day, 1)) days.push(day)
  return days
}

/** How many days a day lies behind another. */
export const daysFrom = (from: string, to: string): number =>
  Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / 86_400_000)

/** A condition that a field is at or after a day, or before it. */
const bound = (resource: Resource, field: MetaField, is: "atLeast" | "under", day: string): string =>
  textOfSimple({ field: field.name, is, values: [field.kind === "date" ? day : firstInstantOf(day)] }, resource) ?? ""

/** The fields of a calendar. */
export interface DayFields {
  readonly start: MetaField
  readonly end: MetaField | null
}

/** The filter for records that begin on a day from `from` up to and without `to`. */
export const beginsWithin = (resource: Resource, { start }: DayFields, from: string, to: string): string =>
  both(bound(resource, start, "atLeast", from), bound(resource, start, "under", to))

/** The filter for records that began before a day and reach into it; null where records have no end. */
export const reachesInto = (resource: Resource, { end, start }: DayFields, day: string): string | null =>
  end === null ? null : both(bound(resource, start, "under", day), bound(resource, end, "atLeast", day))

/** The filter for all records of a day. */
export const lieOn = (resource: Resource, fields: DayFields, day: string): string => {
  const begins = beginsWithin(resource, fields, day, addDays(day, 1))
  const reaches = reachesInto(resource, fields, day)
  return reaches === null ? begins : `((${begins}) OR (${reaches}))`
}

/** The first and the last day of a record. */
export interface Days {
  readonly first: string
  readonly last: string
}

type DayOf = (kind: "date" | "timestamp", value: string) => string | null

const kindOf = ({ kind }: MetaField): "date" | "timestamp" => kind === "date" ? "date" : "timestamp"

/** The value of an end that never comes. */
const endless = "infinity"
/** A day after all that a calendar shows. */
const afterAll = "9999-12-31"

/**
 * The days of a record; null without a start. An end before the start counts for nothing. An end at midnight belongs to the day before, as in every
 * calendar.
 */
export const daysOf = (
  record: { readonly [field: string]: unknown },
  { end, start }: DayFields,
  dayOf: DayOf
): Days | null => {
  const from = record[start.name]
  const first = typeof from === "string" ? dayOf(kindOf(start), from) : null
  if (first === null) return null
  const to = end === null ? null : record[end.name]
  if (end === null || typeof to !== "string") return { first, last: first }
  if (to === endless) return { first, last: afterAll }
  const last = dayOf(kindOf(end), to)
  if (last === null || last <= first) return { first, last: first }
  const midnight = end.kind !== "date" && Date.parse(to) === Date.parse(firstInstantOf(last))
  return { first, last: midnight ? addDays(last, -1) : last }
}

/** The values of a record so many days later: the time of day stays, and a span moves as a whole. Null where there is no such day. */
export const movedBy = (
  record: { readonly [field: string]: unknown },
  { end, start }: DayFields,
  days: number,
  writing: {
    readonly day: DayOf
    readonly onDay: (kind: "date" | "timestamp", value: string, day: string) => string | null
  }
): { readonly [field: string]: string } | null => {
  const values: { [field: string]: string } = {}
  for (const field of end === null ? [start] : [start, end]) {
    const value = record[field.name]
    // A span without an end has none on other days either.
    if (typeof value !== "string" || value === endless) continue
    const day = writing.day(kindOf(field), value)
    const next = day === null ? null : writing.onDay(kindOf(field), value, addDays(day, days))
    if (next === null) return null
    values[field.name] = next
  }
  return values
}

/** The former values of what a move writes. Moved back by days they would be others where a time of day is left out. */
export const formerOf = (
  record: { readonly [field: string]: unknown },
  values: { readonly [field: string]: unknown }
): { readonly [field: string]: unknown } => Object.fromEntries(Object.keys(values).map((name) => [name, record[name]]))
