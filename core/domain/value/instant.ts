/**
 * Dates and instants as exact text: checks what callers write, converts between text and microseconds, and compares. It never reads a
 * clock, and never uses a JavaScript Date, whose milliseconds would lose digits.
 */

import { endOfDigits } from "./digits.ts"

const datePattern = /^(\d{4})-(\d{2})-(\d{2})$/
const timestampPattern =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?(?:([Zz])|([+-])(\d{2}):(\d{2}))$/
const longestTimestamp = 32

const secondsPerDay = 86_400
const microsPerSecond = 1_000_000n
const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)

const isDay = (year: number, month: number, day: number): boolean =>
  year >= 1 && month >= 1 && month <= 12 && day >= 1 &&
  (day <= monthDays[month - 1]! || (month === 2 && day === 29 && isLeap(year)))

/** Days from 1970-01-01 in the proleptic Gregorian calendar (the calendar PostgreSQL uses). */
const daysOf = (year: number, month: number, day: number): number => {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  return era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
}

const two = (value: number): string => value < 10 ? `0${value}` : String(value)

const dateOfDays = (days: number): string => {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`
}

const firstSecond = daysOf(1, 1, 1) * secondsPerDay
const lastSecond = daysOf(9999, 12, 31) * secondsPerDay + secondsPerDay - 1

const textOfSecond = (second: number, fraction: string): string => {
  const days = Math.floor(second / secondsPerDay)
  const rest = second - days * secondsPerDay
  const time = `${two(Math.floor(rest / 3600))}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)}`
  return `${dateOfDays(days)}T${time}${fraction === "" ? "" : `.${fraction}`}Z`
}

const withoutTrailingZeros = (digits: string): string => digits.slice(0, endOfDigits(digits))

/** A date as callers write it: `YYYY-MM-DD`, a day that exists, years 0001 to 9999. */
export const isDate = (text: string): boolean => {
  const match = text.length === 10 ? datePattern.exec(text) : null
  return match !== null && isDay(Number(match[1]), Number(match[2]), Number(match[3]))
}

/** The day after one. Of `9999-12-31` that is `10000-01-01`, which ends ranges. */
export const dayAfter = (date: string): string =>
  dateOfDays(daysOf(Number(date.slice(0, 4)), Number(date.slice(5, 7)), Number(date.slice(8, 10))) + 1)

/**
 * The canonical cell of an RFC 3339 time with a zone (`Z` or `±hh:mm`), at most six fraction digits, and a year from 0001 to 9999 in UTC.
 * Null for anything else: no zone, a day or time that does not exist, a leap second.
 */
export const timestampCell = (text: string): string | null => {
  const match = text.length <= longestTimestamp ? timestampPattern.exec(text) : null
  if (match === null) return null
  const [year, month, day, hour, minute] = [
    Number(match[1]),
    Number(match[2]),
    Number(match[3]),
    Number(match[4]),
    Number(match[5])
  ]
  const second = match[6] === undefined ? 0 : Number(match[6])
  if (!isDay(year, month, day) || hour > 23 || minute > 59 || second > 59) return null
  let offset = 0
  if (match[8] === undefined) {
    const [hours, minutes] = [Number(match[10]), Number(match[11])]
    if (hours > 23 || minutes > 59) return null
    offset = (hours * 3600 + minutes * 60) * (match[9] === "-" ? -1 : 1)
  }
  const instant = daysOf(year, month, day) * secondsPerDay + hour * 3600 + minute * 60 + second - offset
  if (instant < firstSecond || instant > lastSecond) return null
  return textOfSecond(instant, withoutTrailingZeros(match[7] ?? ""))
}

const firstMicro = BigInt(firstSecond) * microsPerSecond
const lastMicro = BigInt(lastSecond) * microsPerSecond + microsPerSecond - 1n

/** The canonical timestamp cell of microseconds since 1970-01-01T00:00:00Z; instants outside years 0001 to 9999 become the nearest inside. */
export const timestampFromMicros = (micros: bigint): string => {
  const inside = micros < firstMicro ? firstMicro : micros > lastMicro ? lastMicro : micros
  let second = inside / microsPerSecond
  let rest = inside % microsPerSecond
  if (rest < 0n) {
    rest += microsPerSecond
    second -= 1n
  }
  return textOfSecond(Number(second), rest === 0n ? "" : withoutTrailingZeros(String(rest).padStart(6, "0")))
}

/** Microseconds since 1970-01-01T00:00:00Z of a canonical timestamp cell, or of a date cell (its first instant in UTC). */
export const microsFromCell = (cell: string): bigint => {
  const date = BigInt(
    daysOf(Number(cell.slice(0, 4)), Number(cell.slice(5, 7)), Number(cell.slice(8, 10))) * secondsPerDay
  )
  if (cell.length === 10) return date * microsPerSecond
  const time = Number(cell.slice(11, 13)) * 3600 + Number(cell.slice(14, 16)) * 60 + Number(cell.slice(17, 19))
  const fraction = cell.length > 20 ? BigInt(cell.slice(20, -1).padEnd(6, "0")) : 0n
  return (date + BigInt(time)) * microsPerSecond + fraction
}

/** Rank of texts outside the canonical years (`infinity`, `-infinity`, BC, five-digit years), which a database may hold. */
const rankOf = (cell: string): readonly [number, string] => {
  if (cell === "infinity") return [Infinity, ""]
  if (cell === "-infinity") return [-Infinity, ""]
  const dash = cell.indexOf("-", 1)
  const before = cell.endsWith(" BC")
  const rest = cell.slice(dash).replace(/Z?(?: BC)?$/, "")
  return [before ? 1 - Number(cell.slice(0, dash)) : Number(cell.slice(0, dash)), rest]
}

const isOrdinary = (cell: string): boolean =>
  cell.charCodeAt(4) === 45 && !cell.endsWith("C") && cell.charCodeAt(0) !== 45

/** Orders two date cells or two timestamp cells as PostgreSQL does. */
export const compareInstants = (a: string, b: string): number => {
  if (a === b) return 0
  if (isOrdinary(a) && isOrdinary(b)) {
    // "…00Z" would sort after "…00.5Z"; without the Z the shorter text is the earlier instant.
    const left = a.endsWith("Z") ? a.slice(0, -1) : a
    const right = b.endsWith("Z") ? b.slice(0, -1) : b
    return left < right ? -1 : left > right ? 1 : 0
  }
  const [left, leftRest] = rankOf(a)
  const [right, rightRest] = rankOf(b)
  return left !== right ? (left < right ? -1 : 1) : leftRest < rightRest ? -1 : leftRest > rightRest ? 1 : 0
}

/** The units that `:series` counts in. */
export type Granularity = "hour" | "day" | "week" | "month" | "quarter" | "year"
export const granularities: readonly Granularity[] = ["hour", "day", "week", "month", "quarter", "year"]

/** What `:series` answers by default: `7d`, `30d`, `90d`, `1y` or `all`. */
export type SeriesRange = "7d" | "30d" | "90d" | "1y" | "all"
export const seriesRanges: readonly SeriesRange[] = ["7d", "30d", "90d", "1y", "all"]
