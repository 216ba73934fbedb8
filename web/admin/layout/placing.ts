/** Where records stand in the weeks of a calendar: in which lane, over how many days, and which ones have no room. Pure. */

import { type Days, daysFrom } from "./days.ts"

/** A record and its days. */
export interface Dated<T> extends Days {
  readonly key: string
  readonly record: T
  /** What records of one day are sorted by. */
  readonly sort: string
}

/** A record in one week. */
export interface Bar<T> {
  readonly of: Dated<T>
  /** The day in the week that it begins on, 0 to 6, and over how many days it goes there. */
  readonly at: number
  readonly days: number
  readonly lane: number
  /** Whether it began in a week before, and whether it goes on in the next. */
  readonly before: boolean
  readonly after: boolean
}

export interface PlacedWeek<T> {
  readonly bars: readonly Bar<T>[]
  /** For each day the records that have no room. */
  readonly left: readonly (readonly Dated<T>[])[]
}

/** Earlier ones first, and longer ones before shorter ones, so that spans stand on top. */
export const inOrder = <T>(a: Dated<T>, b: Dated<T>): number =>
  a.first < b.first ? -1 : a.first > b.first ?
    1
    : a.last > b.last ?
    -1 :
    a.last < b.last ?
    1
    : a.sort < b.sort ?
    -1 :
    a.sort > b.sort ?
    1
    : a.key < b.key
    ? -1
    : a.key > b.key
    ? 1
    : 0

/** Places records, which are in order, into a week of seven days with so many lanes. */
export const placeWeek = <T>(records: readonly Dated<T>[], week: readonly string[], lanes: number): PlacedWeek<T> => {
  const [first = "", last = first] = [week[0], week.at(-1)]
  const taken = week.map(() => new Set<number>())
  const left = week.map((): Dated<T>[] => [])
  const bars: Bar<T>[] = []
  for (const of of records) {
    if (of.first > last || of.last < first) continue
    const at = Math.max(0, daysFrom(first, of.first))
    const until = Math.min(week.length - 1, daysFrom(first, of.last))
    const covered = taken.slice(at, until + 1)
    let lane = 0
    while (lane < lanes && covered.some((day) => day.has(lane))) lane++
    if (lane === lanes) {
      for (const day of left.slice(at, until + 1)) day.push(of)
      continue
    }
    for (const day of covered) day.add(lane)
    bars.push({ of, at, days: until - at + 1, lane, before: of.first < first, after: of.last > last })
  }
  return { bars, left }
}

/** Days whose first records are read in one request. */
export interface Run {
  readonly from: string
  /** The last day. */
  readonly last: string
  /** How many records were counted. */
  readonly count: number
  readonly limit: number
}

/** Days between two days. */
const distance = (a: string, b: string): number => Math.abs(daysFrom(a, b))

/**
 * The requests for the records of days, by their counts: one for all where they are few, else one for neighbours that fill a page together, and one for each day
 * that has more than a page, of which the first ones are read. Days without records are not asked for. Of so many full days that this would be many requests, those
 * around a day are asked for; the others have their counts. `few`: how many of a full day are read; 0: none at all.
 */
export const runsOf = (
  counts: readonly (readonly [day: string, count: number])[],
  few: number,
  most: { readonly records: number; readonly requests: number },
  around: string
): readonly Run[] => {
  const runs: Run[] = []
  for (const [day, count] of few === 0 ? [] : counts) {
    if (count === 0) continue
    const before = runs.at(-1)
    if (before !== undefined && before.limit === most.records && before.count + count <= most.records) {
      runs[runs.length - 1] = { ...before, last: day, count: before.count + count }
    } else runs.push({ from: day, last: day, count, limit: count > most.records ? few : most.records })
  }
  const away = ({ from, last }: Run): number =>
    around >= from && around <= last ? 0 : Math.min(distance(from, around), distance(last, around))
  const near = new Set(runs.toSorted((a, b) => away(a) - away(b)).slice(0, most.requests))
  return runs.filter((run) => near.has(run))
}
