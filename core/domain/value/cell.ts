/**
 * How each kind reads and writes its values: text and JSON become canonical cells, cells become wire values or JSON text, and two cells
 * compare as in PostgreSQL. Every value is checked here before a database sees it. Integers and decimals never pass through a JavaScript
 * number. It knows no names, rules or rows.
 */

import * as Result from "effect/Result"
import { countries, currencies } from "./codes.ts"
import {
  bytesCell,
  bytesExpected,
  compareRanges,
  exactCell,
  longestNative,
  moneyCell,
  moneyExpected,
  rangeRead,
  storedBytesCell,
  storedMoneyCell
} from "./exact.ts"
import { compareInstants, isDate, timestampCell } from "./instant.ts"
import { compareIntervals } from "./interval.ts"
import { isJsonList } from "./json-kind.ts"
import type { Cell, EnumShape, Json, Kind, ListShape, Shape } from "./kind.ts"
import { cellsIn, elementsOf, isNested, listCell, mostListCharacters } from "./list.ts"
import { compareNetworks } from "./network.ts"
import {
  compareNumerals,
  decimalCell,
  decimalExpected,
  integerCell,
  integerExpected,
  plainText,
  storedDecimalCell
} from "./numeral.ts"
import { type Read, refuse } from "./refused.ts"

export { plainText } from "./numeral.ts"
export type { ValueProblem } from "./refused.ts"

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
  const first = values.slice(0, mostEnumValuesShown).map((value) => JSON.stringify(value)).join(", ")
  return `Expected one of ${first}${values.length > mostEnumValuesShown ? ", …" : ""}.`
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
  const reason = jsonProblem(json)
  return reason === null ? Result.succeed(JSON.stringify(json)) : refuse("invalid", reason)
}

// ------------------------------------------------------------------------------------------------------------------- lists

const listFromJson = (shape: ListShape, json: Json): Read<string> => {
  if (!isJsonList(json)) return refuse("type", "Expected a list, such as [\"one\", \"two\"].")
  const elements = json
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
    case "native":
      return plainTextCell(text)
    case "time":
    case "interval":
    case "inet":
    case "cidr":
    case "macaddr":
      return exactCell(shape.kind, text)
    case "bytes":
      return bytesCell(text)
    case "money":
      return moneyCell(shape, text)
    case "range":
      return rangeRead(shape, text)
    case "json":
    case "list": {
      let json: Json
      try {
        json = JSON.parse(text)
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
  country: "Expected a country code as text, such as \"NO\".",
  time: "Expected a time of day as text, such as \"09:30:00\".",
  interval: "Expected an ISO 8601 duration as text, such as \"P1DT2H\".",
  inet: "Expected an IP address as text, such as \"192.0.2.1\".",
  cidr: "Expected a network as text, such as \"192.0.2.0/24\".",
  macaddr: "Expected a MAC address as text, such as \"08:00:2b:01:02:03\".",
  range: "Expected a range as text, such as \"[1,10)\"."
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
    case "money":
      if (typeof json === "string") return storedMoneyCell(shape, json)
      return typeof json === "number" && Number.isFinite(json)
        ? storedMoneyCell(shape, plainText(json))
        : refuse("type", moneyExpected(shape))
    case "bytes":
      return typeof json === "string" ? storedBytesCell(shape, json) : refuse("type", bytesExpected)
    case "native":
      if (typeof json !== "string") return refuse("type", expectedText.text!)
      return json.length > longestNative
        ? refuse("max", `Expected at most ${longestNative} characters.`)
        : plainTextCell(json)
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
      return JSON.parse(cell)
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
    case "time":
    case "interval":
    case "inet":
    case "cidr":
    case "macaddr":
    case "bytes":
    case "money":
      return quoted
    // The ends of some ranges stand in quotes.
    case "range":
    case "native":
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
    case "time":
    case "macaddr":
      return a < b ? -1 : a > b ? 1 : 0
    case "money":
      return compareNumerals(a, b)
    case "interval":
      return compareIntervals(a, b)
    case "inet":
    case "cidr":
      return compareNetworks(a, b)
    case "range":
      return compareRanges(shape, a, b)
    case "enum":
      return shape.ordered === true ? rankOf(shape, a) - rankOf(shape, b) : compareCodePoints(a, b)
    case "text":
    case "currency":
    case "country":
    case "json":
    case "bytes":
    case "native":
      return compareCodePoints(a, b)
    case "list":
      return compareLists(shape, a, b)
  }
}
