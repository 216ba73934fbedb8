/**
 * How kinds are read that are one exact text: amounts of money, bytes, ranges, times of day, intervals, addresses. Values of bodies and of filters become
 * canonical cells, or a sentence says why not.
 */

import * as Result from "effect/Result"
import { bytesOfBase64 } from "./binary.ts"
import { endOfDigits } from "./digits.ts"
import { compareInstants, dayAfter, isDate, timestampCell } from "./instant.ts"
import { intervalCell } from "./interval.ts"
import type { BytesShape, DecimalShape, MoneyShape, RangeElement, RangeShape, Shape } from "./kind.ts"
import { cidrCell, inetCell, macaddrCell } from "./network.ts"
import { compareNumerals, decimalCell, highest, integerCell } from "./numeral.ts"
import { compareRanges as compareWith, type Ends, rangeCell, rangeOfValue, rangesOverlap } from "./range.ts"
import { type Read, refuse } from "./refused.ts"
import { timeCell } from "./time.ts"

// ------------------------------------------------------------------------------------------------------------------- money

const anyDecimal: DecimalShape = { kind: "decimal", precision: null, scale: null }

/** What is said of other values than amounts. */
export const moneyExpected = ({ scale }: MoneyShape): string =>
  `Expected an amount with ${
    scale === 0 ? "no digits" : `at most ${scale} ${scale === 1 ? "digit" : "digits"}`
  } after the point, within 64 bits.`

/** The canonical text of an amount to compare with. Further fraction digits are kept, as those of decimals are. */
export const moneyCell = (shape: MoneyShape, text: string): Read<string> => {
  const read = decimalCell(anyDecimal, text)
  if (Result.isFailure(read)) return refuse(read.failure.code, moneyExpected(shape))
  const point = read.success.indexOf(".")
  const [whole, fraction] = point === -1
    ? [read.success, ""]
    : [read.success.slice(0, point), read.success.slice(point + 1)]
  const places = fraction.slice(0, endOfDigits(fraction, shape.scale)).padEnd(shape.scale, "0")
  const cell = places === "" ? whole : `${whole}.${places}`
  return Result.succeed(/[1-9]/.test(cell) ? cell : cell.replace("-", ""))
}

/** Whether a column of money holds exactly this amount, in canonical text. */
export const fitsMoney = ({ scale }: MoneyShape, cell: string): boolean => {
  const digits = cell.replace(".", "")
  const places = cell.includes(".") ? cell.length - cell.indexOf(".") - 1 : 0
  return places === scale && digits.length <= 21 && BigInt.asIntN(64, BigInt(digits)) === BigInt(digits)
}

/** The canonical text of an amount to store. */
export const storedMoneyCell = (shape: MoneyShape, text: string): Read<string> =>
  Result.flatMap(
    moneyCell(shape, text),
    (cell) => fitsMoney(shape, cell) ? Result.succeed(cell) : refuse("invalid", moneyExpected(shape))
  )

// ------------------------------------------------------------------------------------------------------------------- bytes

/** What is said of other values than base64. */
export const bytesExpected = "Expected bytes as base64, such as \"aGVsbG8=\"."

/** Base64 of any length. */
export const bytesCell = (text: string): Read<string> =>
  bytesOfBase64(text) === null ? refuse("invalid", bytesExpected) : Result.succeed(text)

/** Base64 of bytes to store. */
export const storedBytesCell = ({ max }: BytesShape, text: string): Read<string> => {
  const count = bytesOfBase64(text)
  if (count === null) return refuse("invalid", bytesExpected)
  return count > max ? refuse("max", `Expected at most ${max} bytes.`) : Result.succeed(text)
}

// ------------------------------------------------------------------------------------------------------------------ ranges

const cellOrNull = (read: Read<string>): string | null => Result.isSuccess(read) ? read.success : null

const integerEnds = (bits: 32 | 64): Ends => ({
  cell: (text) => cellOrNull(integerCell({ kind: "integer", bits }, text)),
  compare: (a, b) => compareNumerals(a, b),
  next: (cell) => BigInt(cell) === highest[bits] ? null : String(BigInt(cell) + 1n)
})

/** Behind the last day that a body can give. Ranges that end with that day end before this one. */
const afterDays = "10000-01-01"

const ends: { readonly [of in RangeElement]: Ends } = {
  integer: integerEnds(32),
  bigint: integerEnds(64),
  decimal: {
    cell: (text) => cellOrNull(decimalCell(anyDecimal, text)),
    compare: (a, b) => compareNumerals(a, b),
    next: null
  },
  date: {
    cell: (text) => isDate(text) || text === afterDays ? text : null,
    compare: compareInstants,
    next: (cell) => cell === afterDays ? null : dayAfter(cell)
  },
  timestamp: { cell: timestampCell, compare: compareInstants, next: null }
}

/** Whether ranges go over values of this name. */
export const isRangeElement = (of: unknown): of is RangeElement => typeof of === "string" && Object.hasOwn(ends, of)

const rangeExamples: { readonly [of in RangeElement]: string } = {
  integer: "[1,10)",
  bigint: "[1,10)",
  decimal: "[1.5,10)",
  date: "[2026-01-01,2026-02-01)",
  timestamp: "[2026-01-01T00:00:00Z,2026-02-01T00:00:00Z)"
}

/** A range as people write it. */
export const rangeExample = (of: RangeElement): string => rangeExamples[of]

/** The canonical text of a range. */
export const rangeRead = ({ of }: RangeShape, text: string): Read<string> => {
  const cell = rangeCell(text, ends[of])
  return cell === null
    ? refuse(
      "invalid",
      `Expected a range whose lower end is not above the upper, such as ${rangeExamples[of]}, or empty.`
    )
    : Result.succeed(cell)
}

/** What a range of this kind holds: the shape of its values. */
export const elementOf = ({ of }: RangeShape): Shape =>
  of === "integer"
    ? { kind: "integer", bits: 32 }
    : of === "bigint"
    ? { kind: "integer", bits: 64 }
    : of === "decimal"
    ? anyDecimal
    : { kind: of }

/** The range that holds the value of a canonical cell and nothing else. */
export const rangeAround = ({ of }: RangeShape, cell: string): string => rangeOfValue(cell, ends[of])

/** Whether two ranges have a value in common. */
export const overlaps = ({ of }: RangeShape, a: string, b: string): boolean => rangesOverlap(a, b, ends[of])

/** Orders two ranges as PostgreSQL does. */
export const compareRanges = ({ of }: RangeShape, a: string, b: string): number => compareWith(a, b, ends[of])

/** Most characters of a text that the database is to read as a value of a type of its own. */
export const longestNative = 100_000

// ------------------------------------------------------------------------------------------------------------- exact texts

/** How values of kinds that are one exact text are read, and what is said of other texts. */
const exactTexts: {
  readonly [kind in "time" | "interval" | "inet" | "cidr" | "macaddr"]: {
    readonly cell: (text: string) => string | null
    readonly expected: string
  }
} = {
  time: {
    cell: timeCell,
    expected: "Expected a time of day without a zone and with at most 6 fraction digits, such as 09:30:00."
  },
  interval: {
    cell: intervalCell,
    expected: "Expected an ISO 8601 duration that the database can hold, such as P1Y2M3DT4H5M6.7S."
  },
  inet: {
    cell: inetCell,
    expected: "Expected an IP address with or without a prefix, such as 192.0.2.1 or 2001:db8::/32."
  },
  cidr: {
    cell: cidrCell,
    expected: "Expected a network without bits beyond its prefix, such as 192.0.2.0/24 or 2001:db8::/32."
  },
  macaddr: { cell: macaddrCell, expected: "Expected a MAC address, such as 08:00:2b:01:02:03." }
}

/** The canonical text of a value of these kinds. */
export const exactCell = (kind: keyof typeof exactTexts, text: string): Read<string> => {
  const { cell, expected } = exactTexts[kind]
  const read = cell(text)
  return read === null ? refuse("invalid", expected) : Result.succeed(read)
}
