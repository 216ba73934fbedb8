/**
 * Integers and decimals as exact text: how they are read, and how two of them compare. No value passes through a JavaScript number.
 */

import * as Result from "effect/Result"
import { endOfDigits } from "./digits.ts"
import type { DecimalShape, IntegerShape } from "./kind.ts"
import { type Read, refuse } from "./refused.ts"

// ---------------------------------------------------------------------------------------------------------------- integers

const integerPattern = /^-?\d+$/
const lowest = { 16: -(2n ** 15n), 32: -(2n ** 31n), 64: -(2n ** 63n) } as const
/** The largest integer of each width. */
export const highest = { 16: 2n ** 15n - 1n, 32: 2n ** 31n - 1n, 64: 2n ** 63n - 1n } as const

/** What is said of other values than integers of a width. */
export const integerExpected = (shape: IntegerShape): string =>
  `Expected an integer from ${lowest[shape.bits]} to ${highest[shape.bits]}, such as 42.`

const withoutLeadingZeros = (digits: string): string => {
  let start = 0
  while (start < digits.length - 1 && digits.charCodeAt(start) === 48) start++
  return start === 0 ? digits : digits.slice(start)
}

/** The canonical text of an integer. */
export const integerCell = (shape: IntegerShape, text: string): Read<string> => {
  if (!integerPattern.test(text)) return refuse("type", integerExpected(shape))
  const negative = text.charCodeAt(0) === 45
  const digits = withoutLeadingZeros(negative ? text.slice(1) : text)
  // The length is checked first, so that a text of many digits never becomes a BigInt.
  if (digits.length > 19) return refuse("invalid", integerExpected(shape))
  const value = negative ? -BigInt(digits) : BigInt(digits)
  return value < lowest[shape.bits] || value > highest[shape.bits]
    ? refuse("invalid", integerExpected(shape))
    : Result.succeed(negative && digits !== "0" ? `-${digits}` : digits)
}

// ---------------------------------------------------------------------------------------------------------------- decimals

const decimalPattern = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,6}))?$/
// What `numeric` can hold at all, PostgreSQL "Numeric Types".
const mostIntegerDigits = 131_072
const mostFractionDigits = 16_383

/** What is said of other values than decimals of a size. */
export const decimalExpected = (shape: DecimalShape): string => {
  if (shape.precision === null) return "Expected a decimal number, such as 12.5."
  const scale = shape.scale ?? 0
  const whole = Math.max(shape.precision - scale, 0)
  return `Expected a decimal number with at most ${whole} digits before the point` +
    (scale > 0 ? ` and ${scale} after it.` : " and none after it.")
}

interface Digits {
  readonly negative: boolean
  readonly whole: string
  readonly fraction: string
}

/** The digits of a decimal without its exponent. Null when the text is none, or `numeric` can hold no such number: its zeros are not written out then. */
const decimalDigits = (text: string): Digits | null => {
  const match = decimalPattern.exec(text)
  if (match === null) return null
  const negative = match[1] === "-"
  const whole = match[2]!
  const fraction = match[3] ?? ""
  const exponent = Number(match[4] ?? 0)
  if (exponent === 0) return { negative, whole, fraction }
  const point = whole.length + exponent
  const places = fraction.length - exponent
  if (point > mostIntegerDigits || places > mostFractionDigits) return null
  const digits = whole + fraction
  return point > 0
    ? { negative, whole: digits.slice(0, point).padEnd(point, "0"), fraction: digits.slice(point) }
    : { negative, whole: "0", fraction: digits.padStart(places, "0") }
}

/**
 * Plain notation with the column's scale. Further fraction digits are kept unless they are zero: comparing with them is exact. Only a
 * stored value must not have them.
 */
export const decimalCell = (shape: DecimalShape, text: string): Read<string> => {
  const read = decimalDigits(text)
  if (read === null) return refuse(decimalPattern.test(text) ? "invalid" : "type", decimalExpected(shape))
  const { negative } = read
  const whole = withoutLeadingZeros(read.whole)
  let { fraction } = read
  if (shape.precision !== null) {
    const scale = shape.scale ?? 0
    const room = shape.precision - scale
    const fits = room > 0
      ? whole.length <= room || whole === "0"
      : whole === "0" && /^0*$/.test(fraction.slice(0, -room))
    if (!fits) return refuse("invalid", decimalExpected(shape))
    const places = Math.max(scale, 0)
    fraction = fraction.slice(0, endOfDigits(fraction, places)).padEnd(places, "0")
  }
  if (whole.length > mostIntegerDigits || fraction.length > mostFractionDigits) {
    return refuse("invalid", decimalExpected(shape))
  }
  const digits = fraction === "" ? whole : `${whole}.${fraction}`
  return Result.succeed(negative && /[1-9]/.test(digits) ? `-${digits}` : digits)
}

/** The same of a value to store, which must not be rounded. */
export const storedDecimalCell = (shape: DecimalShape, text: string): Read<string> =>
  Result.flatMap(decimalCell(shape, text), (cell) => {
    if (shape.precision === null) return Result.succeed(cell)
    const scale = shape.scale ?? 0
    const point = cell.indexOf(".")
    const places = point === -1 ? 0 : cell.length - point - 1
    const rounded = places > Math.max(scale, 0) ||
      (scale < 0 && !/^-?0$/.test(cell) && !cell.endsWith("0".repeat(-scale)))
    return rounded ? refuse("invalid", decimalExpected(shape)) : Result.succeed(cell)
  })

/** A finite number's shortest digits, without an exponent. */
export const plainText = (value: number): string => {
  const text = String(value)
  const read = decimalDigits(text)
  return read === null || !text.includes("e")
    ? text
    : `${read.negative ? "-" : ""}${read.whole}${read.fraction === "" ? "" : `.${read.fraction}`}`
}

const notANumberRank = (text: string): number =>
  text === "NaN" ? 2 : text === "Infinity" ? 1 : text === "-Infinity" ? -1 : 0

const compareMagnitudes = (a: string, b: string): number => {
  const aPoint = a.indexOf(".")
  const bPoint = b.indexOf(".")
  const aWhole = aPoint === -1 ? a : a.slice(0, aPoint)
  const bWhole = bPoint === -1 ? b : b.slice(0, bPoint)
  if (aWhole.length !== bWhole.length) return aWhole.length < bWhole.length ? -1 : 1
  if (aWhole !== bWhole) return aWhole < bWhole ? -1 : 1
  const aFraction = aPoint === -1 ? "" : a.slice(aPoint + 1)
  const bFraction = bPoint === -1 ? "" : b.slice(bPoint + 1)
  const places = Math.max(aFraction.length, bFraction.length)
  const left = aFraction.padEnd(places, "0")
  const right = bFraction.padEnd(places, "0")
  return left < right ? -1 : left > right ? 1 : 0
}

/** Orders canonical integers and decimals exactly, digit by digit. NaN stands above everything, as in PostgreSQL. */
export const compareNumerals = (a: string, b: string): number => {
  if (a === b) return 0
  const aRank = notANumberRank(a)
  const bRank = notANumberRank(b)
  if (aRank !== 0 || bRank !== 0) return aRank < bRank ? -1 : 1
  const aNegative = a.charCodeAt(0) === 45
  const bNegative = b.charCodeAt(0) === 45
  if (aNegative !== bNegative) return aNegative ? -1 : 1
  return aNegative ? compareMagnitudes(b.slice(1), a.slice(1)) : compareMagnitudes(a, b)
}
