/**
 * When a delivery is tried again: the schedules (docs/reference/events.md#a-try) and what a receiver's `Retry-After` adds to them (RFC 9110,
 * 10.2.3). It computes waits; it keeps no clock and no state.
 */

/** Tries of one delivery, the first included. */
export const mostTries = 10

/** Longest wait that a receiver may ask for, in seconds: a day. */
const longestAsked = 86_400

/** Waits after the first, second, … failed try, in seconds. */
const schedule = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]

/** Waits of ordered deliveries double from the first to the longest, in seconds. */
const orderedFirst = 5
const orderedLongest = 86_400

/** Limits of a schedule of a subscription's own: how many waits, and the longest in seconds. */
export const mostWaits = 20
const longestWait = 86_400

/** Tries of one delivery of a subscription, the first included. `waits`: its own schedule, in seconds; null: the usual one. */
export const triesOf = (waits: readonly number[] | null): number => waits === null ? mostTries : waits.length + 1

/** Whether a value is a schedule: 1 to 20 whole seconds, each from 1 to 86,400. */
export const isWaits = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.length > 0 && value.length <= mostWaits &&
  value.every((each: unknown) => typeof each === "number" && Number.isInteger(each) && each >= 1 && each <= longestWait)

/** How a wait is chosen. */
export interface Waiting {
  /** Tries that were made, 1 or more. */
  readonly tries: number
  readonly ordered: boolean
  /** The subscription's own schedule, in seconds; null: the usual one. */
  readonly waits: readonly number[] | null
  /** What the receiver asked for, in seconds; null when it asked for nothing. */
  readonly asked: number | null
  /** From 0 (no jitter) to 1 (all of it). */
  readonly random: number
}

/** Milliseconds until the next try; null when there is none. Jitter is up to 10 %; what the receiver asks for only lengthens a wait. */
export const retryWait = ({ asked, ordered, random, tries, waits }: Waiting): number | null => {
  if (tries >= triesOf(waits)) return null
  const seconds = ordered
    ? waits?.[tries - 1] ?? Math.min(orderedFirst * 2 ** (tries - 1), orderedLongest)
    : (waits ?? schedule)[tries - 1]! * (1 + 0.1 * random)
  return Math.round(Math.max(seconds, Math.min(asked ?? 0, longestAsked)) * 1_000)
}

const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ")

const dateForms: readonly RegExp[] = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<h>\d{2}):(?<m>\d{2}):(?<s>\d{2}) GMT$/,
  // Sunday, 06-Nov-94 08:49:37 GMT
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<h>\d{2}):(?<m>\d{2}):(?<s>\d{2}) GMT$/,
  // Sun Nov  6 08:49:37 1994
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<h>\d{2}):(?<m>\d{2}):(?<s>\d{2}) (?<year>\d{4})$/
]

/** The instant of an HTTP date in milliseconds (RFC 9110, 5.6.7), or null. Years of two digits are of the century around `now`. */
const httpDate = (text: string, now: number): number | null => {
  for (const form of dateForms) {
    const parts = form.exec(text)?.groups
    if (parts === undefined) continue
    const month = months.indexOf(parts["month"]!)
    let year = Number(parts["year"])
    if (year < 100) {
      const present = new Date(now).getUTCFullYear()
      year += present - present % 100
      if (year > present + 50) year -= 100
    }
    const number = (name: string): number => Number(parts[name])
    const [day, h, m, s] = [number("day"), number("h"), number("m"), number("s")]
    if (month < 0 || day < 1 || day > 31 || h > 23 || m > 59 || s > 60) return null
    return Date.UTC(year, month, day, h, m, s)
  }
  return null
}

/** Seconds from `now` (milliseconds) that a `Retry-After` asks to wait; null for none and for what is neither a number nor a date. */
export const readRetryAfter = (header: string | null, now: number): number | null => {
  const text = header?.trim() ?? ""
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const date = httpDate(text, now)
  return date === null ? null : Math.max(0, Math.ceil((date - now) / 1_000))
}
