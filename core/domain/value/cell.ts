/**
 * How each kind reads and writes its values: text and JSON become canonical cells, cells become wire values or JSON text, and two cells
 * compare as in PostgreSQL. Every value is checked here before a database sees it. Integers and decimals never pass through a JavaScript
 * number. It knows no names, rules or rows.
 */

import * as Result from "effect/Result"
import { countries, currencies } from "./codes.ts"
import { endOfDigits } from "./digits.ts"
import { compareInstants, isDate, timestampCell } from "./instant.ts"
import type { Cell, DecimalShape, EnumShape, IntegerShape, Json, Kind, ListShape, Shape } from "./kind.ts"
import { cellsIn, elementsOf, isNested, listCell, mostListCharacters } from "./list.ts"

/**
 * Why a value is refused. `type`: not this kind of value · `max`: text too long · `enum`: not one of the values · `required`: null ·
 * `invalid`: the right kind, but not acceptable. `message` is one sentence that never repeats the value. `at`: the element of a list, from 0, that is
 * refused.
 */
export interface ValueProblem {
  readonly code: "type" | "max" | "enum" | "invalid" | "required"
  readonly message: string
  readonly at?: number
}

type Read<A> = Result.Result<A, ValueProblem>

const refuse = (code: ValueProblem["code"], message: string): Read<never> => Result.fail({ code, message })

// ---------------------------------------------------------------------------------------------------------------- integers

const integerPattern = /^-?\d+$/
const lowest = { 16: -(2n ** 15n), 32: -(2n ** 31n), 64: -(2n ** 63n) } as const
const highest = { 16: 2n ** 15n - 1n, 32: 2n ** 31n - 1n, 64: 2n ** 63n - 1n } as const

const integerExpected = (shape: IntegerShape): string =>
  `Expected an integer from ${lowest[shape.bits]} to ${highest[shape.bits]}, such as 42.`

const withoutLeadingZeros = (digits: string): string => {
  let start = 0
  while (start < digits.length - 1 && digits.charCodeAt(start) === 48) start++
  return start === 0 ? digits : digits.slice(start)
}

const integerCell = (shape: IntegerShape, text: string): Read<string> => {
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

const decimalExpected = (shape: DecimalShape): string => {
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
const decimalCell = (shape: DecimalShape, text: string): Read<string> => {
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

const storedDecimalCell = (shape: DecimalShape, text: string): Read<string> =>
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
const compareNumerals = (a: string, b: string): number => {
  if (a === b) return 0
  const aRank = notANumberRank(a)
  const bRank = notANumberRank(b)
  if (aRank !== 0 || bRank !== 0) return aRank < bRank ? -1 : 1
  const aNegative = a.charCodeAt(0) === 45
  const bNegative = b.charCodeAt(0) === 45
  if (aNegative !== bNegative) return aNegative ? -1 : 1
  return aNegative ? compareMagnitudes(b.slice(1), a.slice(1)) : compareMagnitudes(a, b)
}

// ------------------------------------------------------------------------------------------------------------------ floats

const floatPattern = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const floatExpected = "Expected a finite number, such as 0.25."

const floatCell = (text: string): Read<string> => {
  if (text.length > 400 || !floatPattern.test(text)) return refuse("type", floatExpected)
  const value = Number(text)
  // As in the database, a number too small for a float is refused and does not become zero.
  const lost = value === 0 && /^[^eE]*[1-9]/.test(text)
  return Number.isFinite(value) && !lost ? Result.succeed(String(value)) : refuse("invalid", floatExpected)
}

/** PostgreSQL's order of float8: NaN equals itself and stands above infinity; -0 equals 0. */
const compareFloats = (a: string, b: string): number => {
  const left = Number(a)
  const right = Number(b)
  if (Number.isNaN(left) || Number.isNaN(right)) return Number(Number.isNaN(left)) - Number(Number.isNaN(right))
  return left < right ? -1 : left > right ? 1 : 0
}

// -------------------------------------------------------------------------------------------------------------------- text

const unstorable = "Text must not hold NUL characters or unpaired surrogates."

/** True when PostgreSQL can store the text: no NUL, no unpaired surrogate. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\0")

/** Characters of a text, counted in code points as fields, filters, orders and `maxLength` of JSON Schema do. */
export const codePointCount = (text: string): number => {
  let count = text.length
  for (let at = 0; at < text.length; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800) count--
  }
  return count
}

/** Where the characters past `most` begin, as a UTF-16 offset; null when there are none. */
export const pastCharacters = (text: string, most: number): number | null => {
  if (text.length <= most) return null
  let at = 0
  for (let count = 0; count < most && at < text.length; count++) at += text.codePointAt(at)! > 0xffff ? 2 : 1
  return at < text.length ? at : null
}

const plainTextCell = (text: string): Read<string> =>
  isStorable(text) ? Result.succeed(text) : refuse("invalid", unstorable)

/** Orders well-formed texts by code point, as the C collation does over UTF-8. The order of UTF-16 units differs. */
const compareCodePoints = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  let at = 0
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at++
  if (at === length) return a.length === b.length ? 0 : a.length < b.length ? -1 : 1
  const left = a.charCodeAt(at)
  const right = b.charCodeAt(at)
  // Surrogates stand for code points above U+FFFF, so they belong after U+E000 to U+FFFF.
  const leftHigh = left >= 0xd800 && left <= 0xdfff
  const rightHigh = right >= 0xd800 && right <= 0xdfff
  return leftHigh === rightHigh ? (left < right ? -1 : 1) : leftHigh ? 1 : -1
}

const uuidPattern = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/

const mostEnumValuesShown = 20

const enumExpected = ({ values }: EnumShape): string => {
  const shown = values.slice(0, mostEnumValuesShown).map((value) => JSON.stringify(value)).join(", ")
  return `Expected one of ${shown}${values.length > mostEnumValuesShown ? ", …" : ""}.`
}

// -------------------------------------------------------------------------------------------------------------------- JSON

const mostJsonLevels = 64

/** The first reason why `jsonb` would refuse or change a value, or null. Walks without recursion. */
const jsonProblem = (root: Json): string | null => {
  let level: readonly Json[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > mostJsonLevels) return `JSON must not be nested deeper than ${mostJsonLevels} levels.`
    const next: Json[] = []
    for (const value of level) {
      if (typeof value === "number" && !Number.isFinite(value)) return "A number in the JSON value is out of range."
      if (typeof value === "string" && !isStorable(value)) return unstorable
      if (typeof value !== "object" || value === null) continue
      if (Array.isArray(value)) {
        for (const item of value) next.push(item)
        continue
      }
      for (const [key, item] of Object.entries(value)) {
        if (!isStorable(key)) return unstorable
        next.push(item)
      }
    }
    level = next
  }
  return null
}

const jsonCell = (json: Json): Read<string> => {
  const found = jsonProblem(json)
  return found === null ? Result.succeed(JSON.stringify(json)) : refuse("invalid", found)
}

// ------------------------------------------------------------------------------------------------------------------- lists

const listFromJson = (shape: ListShape, json: Json): Read<string> => {
  if (!Array.isArray(json)) return refuse("type", "Expected a list, such as [\"one\", \"two\"].")
  const elements = json as readonly Json[]
  // Counted first, so that of a million elements none is read.
  if (shape.max !== null && elements.length > shape.max) {
    return refuse("max", `Expected at most ${shape.max} elements.`)
  }
  const of = { ...shape.of, optional: shape.nulls }
  const written: Json[] = []
  for (const [at, element] of elements.entries()) {
    const cell = cellFromJson(of, element)
    if (Result.isFailure(cell)) return Result.fail({ ...cell.failure, at })
    written.push(wireFromCell(of, cell.success))
  }
  const cell = listCell(written)
  return cell.length > mostListCharacters
    ? refuse("max", `Expected a list of at most ${mostListCharacters} characters as JSON.`)
    : Result.succeed(cell)
}

/** Orders two lists by their elements, and the shorter before the longer. Null stands above all values. */
const compareLists = ({ of }: ListShape, a: string, b: string): number => {
  if (a === b) return 0
  const [left, right] = [cellsIn(a), cellsIn(b)]
  for (let i = 0; i < left.length && i < right.length; i++) {
    const [one, other] = [left[i]!, right[i]!]
    const order = one === null || other === null
      ? Number(one === null) - Number(other === null)
      : compareCells(of, one, other)
    if (order !== 0) return order
  }
  // Lists of the same elements differ in how arrays stand in arrays, or not at all.
  return left.length - right.length || Number(isNested(a) || isNested(b))
}

// ------------------------------------------------------------------------------------------------------------ text to cells

const timestampExpected = (text: string): string =>
  /^\d{4}-\d{2}-\d{2}(?:[Tt ][\d:.]+)?$/.test(text.slice(0, 64))
    ? "Expected a time with a zone, such as 2026-01-31T09:30:00Z or 2026-01-31T09:30:00+01:00."
    : "Expected an RFC 3339 time from year 0001 to 9999 with a zone and at most 6 fraction digits, such as 2026-01-31T09:30:00Z."

/**
 * The canonical cell of a value given as text: a filter's literal, a part of a key, a query value. A decimal may have more fraction digits
 * than the column, and a text more characters. Comparing with them is exact (and never equal).
 */
export const cellFromText = (shape: Shape, text: string): Read<string> => {
  switch (shape.kind) {
    case "integer":
      return integerCell(shape, text)
    case "decimal":
      return decimalCell(shape, text)
    case "float":
      return floatCell(text)
    case "boolean":
      return text === "true" || text === "false" ? Result.succeed(text) : refuse("type", "Expected true or false.")
    case "timestamp": {
      const cell = timestampCell(text)
      return cell === null ? refuse("invalid", timestampExpected(text)) : Result.succeed(cell)
    }
    case "date":
      return isDate(text)
        ? Result.succeed(text)
        : refuse("invalid", "Expected a date that exists, from year 0001 to 9999, such as 2026-01-31.")
    case "uuid":
      return uuidPattern.test(text)
        ? Result.succeed(text.toLowerCase())
        : refuse("invalid", "Expected a UUID, such as 123e4567-e89b-42d3-a456-426614174000.")
    case "enum":
      return shape.values.includes(text) ? Result.succeed(text) : refuse("enum", enumExpected(shape))
    case "currency":
      return currencies.has(text)
        ? Result.succeed(text)
        : refuse("invalid", "Expected a currency code of ISO 4217 in capitals, such as EUR.")
    case "country":
      return countries.has(text)
        ? Result.succeed(text)
        : refuse("invalid", "Expected a country code of ISO 3166-1 alpha-2 in capitals, such as NO.")
    case "text":
      return plainTextCell(text)
    case "json":
    case "list": {
      let json: Json
      try {
        json = JSON.parse(text) as Json
      } catch {
        return refuse("invalid", "Expected JSON.")
      }
      return shape.kind === "list" ? listFromJson(shape, json) : jsonCell(json)
    }
  }
}

const expectedText: { readonly [kind in Kind]?: string } = {
  text: "Expected a text.",
  timestamp: "Expected a time as text, such as \"2026-01-31T09:30:00Z\".",
  date: "Expected a date as text, such as \"2026-01-31\".",
  uuid: "Expected a UUID as text.",
  currency: "Expected a currency code as text, such as \"EUR\".",
  country: "Expected a country code as text, such as \"NO\"."
}

/**
 * The canonical cell of a value of a request body. Integers of every width and decimals come as JSON number or text; a number stands for
 * its shortest decimal text. Nothing is rounded, trimmed or guessed. Null needs an optional field.
 */
export const cellFromJson = (shape: Shape & { readonly optional: boolean }, json: Json): Read<Cell> => {
  if (json === null) return shape.optional ? Result.succeed(null) : refuse("required", "A value is required.")
  switch (shape.kind) {
    case "integer":
      if (typeof json === "string") return integerCell(shape, json)
      if (typeof json !== "number" || !Number.isInteger(json)) return refuse("type", integerExpected(shape))
      return Number.isSafeInteger(json)
        ? integerCell(shape, String(json === 0 ? 0 : json))
        : refuse("invalid", "A JSON number cannot hold an integer of this size exactly. Send it as text.")
    case "decimal":
      if (typeof json === "string") return storedDecimalCell(shape, json)
      return typeof json === "number" && Number.isFinite(json)
        ? storedDecimalCell(shape, plainText(json))
        : refuse("type", decimalExpected(shape))
    case "float":
      return typeof json === "number" && Number.isFinite(json)
        ? Result.succeed(String(json))
        : refuse("type", floatExpected)
    case "boolean":
      return typeof json === "boolean"
        ? Result.succeed(json ? "true" : "false")
        : refuse("type", "Expected true or false.")
    case "json":
      return jsonCell(json)
    case "list":
      return listFromJson(shape, json)
    case "enum":
      return typeof json === "string" ? cellFromText(shape, json) : refuse("type", enumExpected(shape))
    case "text":
      if (typeof json !== "string") return refuse("type", expectedText.text!)
      return shape.max !== null && pastCharacters(json, shape.max) !== null
        ? refuse("max", `Expected at most ${shape.max} characters.`)
        : plainTextCell(json)
    default:
      return typeof json === "string"
        ? cellFromText(shape, json)
        : refuse("type", expectedText[shape.kind] ?? "Expected a text.")
  }
}

// ------------------------------------------------------------------------------------------------------------ cells to wire

/** The wire value of a cell: 64-bit integers and decimals as text, floats that JSON has no number for (`NaN`, `Infinity`) as text. */
export const wireFromCell = (shape: Shape, cell: Cell): Json => {
  if (cell === null) return null
  switch (shape.kind) {
    case "integer":
      return shape.bits === 64 ? cell : Number(cell)
    case "boolean":
      return cell === "true"
    case "float": {
      const value = Number(cell)
      return Number.isFinite(value) ? value : cell
    }
    case "json":
      return JSON.parse(cell) as Json
    case "list":
      return elementsOf(cell)
    default:
      return cell
  }
}

// Exactly the characters that JSON text must escape.
const needsEscape = /["\\\u0000-\u001f\ud800-\udfff]/

/** JSON text of a text; plain text, by far the most, costs one scan. */
const jsonText = (text: string): string => needsEscape.test(text) ? JSON.stringify(text) : `"${text}"`

const verbatim = (cell: string): string => cell
const quoted = (cell: string): string => `"${cell}"`
const floatJson = (cell: string): string => {
  const last = cell.charCodeAt(cell.length - 1)
  // NaN ends in N, Infinity in y; every number ends in a digit.
  return last >= 48 && last <= 57 ? cell : `"${cell}"`
}

/** Whether the JSON text of a field's non-null cells is the cell between quotes, with nothing to escape. */
export const isQuoted = (shape: Shape): boolean => jsonWriter(shape) === quoted

/** A function that writes the JSON text of non-null cells: choose it once per column, call it per row. It equals `wireFromCell` in JSON. */
export const jsonWriter = (shape: Shape): (cell: string) => string => {
  switch (shape.kind) {
    case "integer":
      return shape.bits === 64 ? quoted : verbatim
    case "boolean":
    case "json":
    case "list":
      return verbatim
    case "float":
      return floatJson
    case "decimal":
    case "timestamp":
    case "date":
    case "uuid":
      return quoted
    case "text":
    case "enum":
    case "currency":
    case "country":
      return jsonText
  }
}

/** The JSON text of a cell, ready to splice into a document. */
export const jsonFromCell = (shape: Shape, cell: Cell): string => cell === null ? "null" : jsonWriter(shape)(cell)

// --------------------------------------------------------------------------------------------------------------- comparison

/** The place of a value in the declared order. What a column holds besides stands after all of them. */
const rankOf = ({ values }: EnumShape, cell: string): number => {
  const rank = values.indexOf(cell)
  return rank === -1 ? values.length : rank
}

/** Orders two non-null cells of a field as PostgreSQL does: numbers by value, text by code point (C collation), false before true, ordered enums as declared. */
export const compareCells = (shape: Shape, a: string, b: string): number => {
  switch (shape.kind) {
    case "integer":
    case "decimal":
      return compareNumerals(a, b)
    case "float":
      return compareFloats(a, b)
    case "timestamp":
    case "date":
      return compareInstants(a, b)
    case "boolean":
    case "uuid":
      return a < b ? -1 : a > b ? 1 : 0
    case "enum":
      return shape.ordered === true ? rankOf(shape, a) - rankOf(shape, b) : compareCodePoints(a, b)
    case "text":
    case "currency":
    case "country":
    case "json":
      return compareCodePoints(a, b)
    case "list":
      return compareLists(shape, a, b)
  }
}
