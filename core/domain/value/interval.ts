/**
 * Intervals of PostgreSQL as ISO 8601 durations: months, days and microseconds side by side, each with its own sign, exact and in the form that the
 * database prints under `IntervalStyle = iso_8601`. Two of them compare as the database does: a month has 30 days, a day 24 hours.
 */

import { endOfDigits } from "./digits.ts"

/** What an interval is made of. */
interface Parts {
  readonly months: bigint
  readonly days: bigint
  readonly micros: bigint
}

const pattern =
  /^P(?=[-\dT])(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?(?:T(?=[-\d])(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?)(\d+)(?:\.(\d{1,6}))?S)?)?$/
/** Longer than any that the database can hold, with some room for zeros in front. */
const longest = 120

const [microsPerSecond, microsPerDay] = [1_000_000n, 86_400_000_000n]
const isInt = (value: bigint, bits: 32 | 64): boolean => BigInt.asIntN(bits, value) === value
const [mostInt, mostMicros] = [2n ** 31n - 1n, 2n ** 63n - 1n]

const number = (digits: string | undefined): bigint => digits === undefined ? 0n : BigInt(digits)

const partsOf = (text: string): Parts | null => {
  const match = text.length <= longest ? pattern.exec(text) : null
  if (match === null) return null
  const [, years, months, weeks, days, hours, minutes, sign, seconds, fraction = ""] = match
  const inSecond = number(seconds) * microsPerSecond + BigInt(fraction.padEnd(6, "0"))
  return {
    months: number(years) * 12n + number(months),
    days: number(weeks) * 7n + number(days),
    micros: (number(hours) * 3600n + number(minutes) * 60n) * microsPerSecond + (sign === "-" ? -inSecond : inSecond)
  }
}

const part = (value: bigint, unit: string): string => value === 0n ? "" : `${value}${unit}`

const textOf = ({ days, micros, months }: Parts): string => {
  const date = part(months / 12n, "Y") + part(months % 12n, "M") + part(days, "D")
  const [minutes, rest] = [micros / 60_000_000n, micros % 60_000_000n]
  const left = rest < 0n ? -rest : rest
  const digits = String(left % microsPerSecond).padStart(6, "0")
  const fraction = digits.slice(0, endOfDigits(digits))
  const seconds = rest === 0n
    ? ""
    : `${rest < 0n ? "-" : ""}${left / microsPerSecond}${fraction === "" ? "" : `.${fraction}`}S`
  const time = part(minutes / 60n, "H") + part(minutes % 60n, "M") + seconds
  return date === "" && time === "" ? "PT0S" : `P${date}${time === "" ? "" : `T${time}`}`
}

/**
 * The canonical text of an ISO 8601 duration, such as `P1Y2M3DT4H5M6.7S`. Each number may have a sign of its own, and only seconds have a fraction.
 * Null for anything else, and for what the database cannot hold: months and days of more than 32 bits, microseconds of more than 64.
 */
export const intervalCell = (text: string): string | null => {
  const parts = partsOf(text)
  if (parts === null || !isInt(parts.months, 32) || !isInt(parts.days, 32) || !isInt(parts.micros, 64)) return null
  const { days, micros, months } = parts
  // With all three at their ends these are the infinite intervals of PostgreSQL 17.
  const ends = (months === mostInt && days === mostInt && micros === mostMicros) ||
    (months === -mostInt - 1n && days === -mostInt - 1n && micros === -mostMicros - 1n)
  return ends ? null : textOf(parts)
}

/** The length in microseconds by which the database compares. Its infinite intervals are longer than any other. */
export const intervalLength = (cell: string): bigint => {
  const parts = partsOf(cell)
  if (parts === null) return (cell.startsWith("-") ? -1n : 1n) * 2n ** 100n
  return (parts.months * 30n + parts.days) * microsPerDay + parts.micros
}

/** Orders two intervals as PostgreSQL does: `P1M` equals `P30D`. */
export const compareIntervals = (a: string, b: string): number => {
  if (a === b) return 0
  const [left, right] = [intervalLength(a), intervalLength(b)]
  return left < right ? -1 : left > right ? 1 : 0
}
