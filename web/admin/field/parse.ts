/**
 * Converts typed text into a value in wire form, by the field's kind. Exact numbers stay texts. It refuses what the service would refuse, so that
 * people see errors before they save. The service checks again. Pure.
 */

import type { MetaField } from "../../client/index.ts"
import type { Messages } from "../messages/locale.tsx"

/** The texts of problems: those of the app, or those of the public form. */
export interface ParseMessages {
  readonly field: Pick<
    Messages["field"],
    | "required"
    | "notNumber"
    | "notWhole"
    | "outOfRange"
    | "places"
    | "digits"
    | "tooLong"
    | "notDate"
    | "notTime"
    | "notUuid"
    | "notJson"
  >
}

/** A value that can be sent, or the problem. `value` is undefined if there is nothing to send. */
export interface Draft {
  readonly value: unknown
  readonly problem: string | null
  /** The typed text, if it is not a valid value. It is shown again. */
  readonly text?: string
  /** True while a file is on its way: the form cannot be saved yet, but nothing is wrong. `problem` says so. */
  readonly waits?: boolean
}

const fine = (value: unknown): Draft => ({ value, problem: null })
const wrong = (problem: string): Draft => ({ value: undefined, problem })

const bounds: Readonly<Record<16 | 32 | 64, readonly [least: bigint, most: bigint]>> = {
  16: [-(2n ** 15n), 2n ** 15n - 1n],
  32: [-(2n ** 31n), 2n ** 31n - 1n],
  64: [-(2n ** 63n), 2n ** 63n - 1n]
}

/** Normalises a typed number: removes spaces and group separators, and turns a decimal comma into a point. */
export const plainNumber = (text: string): string => {
  const bare = text.trim().replaceAll(/[\s'’_\u00a0\u202f]/g, "")
  const comma = bare.lastIndexOf(",")
  const point = bare.lastIndexOf(".")
  if (comma === -1) return bare
  // With two different separators, the last one is the decimal separator. A single comma is one unless three digits follow it.
  if (point !== -1) return comma > point ? bare.replaceAll(".", "").replace(",", ".") : bare.replaceAll(",", "")
  return bare.indexOf(",") === comma && !/^-?\d{1,3},\d{3}$/.test(bare)
    ? bare.replace(",", ".")
    : bare.replaceAll(",", "")
}

const integer = (text: string, bits: 16 | 32 | 64, t: ParseMessages): Draft => {
  const bare = plainNumber(text).replace(/^\+/, "")
  if (!/^-?\d{1,40}$/.test(bare)) return wrong(t.field.notWhole)
  const value = BigInt(bare)
  const [least, most] = bounds[bits]
  if (value < least || value > most) return wrong(t.field.outOfRange(String(least), String(most)))
  return fine(bits === 64 ? value.toString() : Number(value))
}

const decimal = (text: string, { precision, scale }: MetaField, t: ParseMessages): Draft => {
  const bare = plainNumber(text).replace(/^\+/, "")
  const [, sign, whole, fraction = ""] = /^(-?)(\d*)(?:\.(\d*))?$/.exec(bare) ?? []
  if (whole === undefined || (whole === "" && fraction === "")) return wrong(t.field.notNumber)
  const decimals = fraction.replace(/0+$/, "")
  if (scale !== undefined && decimals.length > scale) return wrong(t.field.places(scale))
  const digits = whole.replace(/^0+(?=\d)/, "") || "0"
  if (precision !== undefined && scale !== undefined && digits !== "0" && digits.length > precision - scale) {
    return wrong(t.field.digits(precision - scale))
  }
  const padded = scale === undefined ? decimals : decimals.padEnd(scale, "0")
  const text2 = padded === "" ? digits : `${digits}.${padded}`
  return fine(sign === "-" && /[1-9]/.test(text2) ? `-${text2}` : text2)
}

const isDate = (text: string): boolean => {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
  if (year === undefined) return false
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day)
}

/** A list that is written as JSON, or null. */
const listIn = (text: string): readonly unknown[] | null => {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : null
  } catch {
    return null
  }
}

/** Parses the typed text of a field. Empty text becomes null if the field is optional; a required text field keeps it. */
export const parseText = (field: MetaField, text: string, t: ParseMessages): Draft => {
  const draft = parsed(field, text, t)
  return draft.problem === null ? draft : { ...draft, text }
}

const parsed = (field: MetaField, text: string, t: ParseMessages): Draft => {
  const empty = text.trim() === ""
  if (empty && (field.kind !== "text" || (text === "" && field.optional))) {
    return field.optional ? fine(null) : wrong(t.field.required)
  }
  switch (field.kind) {
    case "integer":
      return integer(text, field.bits ?? 32, t)
    case "decimal":
    case "money":
      return decimal(text, field, t)
    case "float": {
      const value = Number(plainNumber(text))
      return Number.isFinite(value) ? fine(value) : wrong(t.field.notNumber)
    }
    case "text": {
      const most = field.max
      return most !== undefined && Array.from(text).length > most ? wrong(t.field.tooLong(String(most))) : fine(text)
    }
    case "date":
      return isDate(text.trim()) ? fine(text.trim()) : wrong(t.field.notDate)
    case "timestamp":
      return /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)$/.test(text.trim()) &&
          !Number.isNaN(Date.parse(text))
        ? fine(text.trim())
        : wrong(t.field.notTime)
    case "uuid":
      return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text.trim())
        ? fine(text.trim().toLowerCase())
        : wrong(t.field.notUuid)
    case "array": {
      const list = listIn(text)
      return list === null ? wrong(t.field.notJson) : fine(list)
    }
    case "json":
      try {
        return fine(JSON.parse(text))
      } catch {
        return wrong(t.field.notJson)
      }
    case "boolean":
      return fine(text === "true")
    case "currency":
    case "country":
      return fine(text.trim().toUpperCase())
    default:
      return fine(text)
  }
}

/** The text of a value in an input: exact and without digit grouping, so that it can be edited. */
export const editText = (field: MetaField, value: unknown): string => {
  if (value === null || value === undefined) return ""
  if (field.kind === "json") return JSON.stringify(value, null, 2)
  if (field.kind === "array") return JSON.stringify(value)
  return typeof value === "string" ? value : JSON.stringify(value)
}
