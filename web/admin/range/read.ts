/**
 * The value that a text from a spreadsheet has in a field: as the field's input takes it, and as the app shows it. Related records are named by their key or
 * by their title, which somebody has to look up first. Pure.
 */

import type { MetaField } from "../../client/index.ts"
import { codeIn, codesOf } from "../field/codes.ts"
import { parseField } from "../field/exact.ts"
import { writingOf } from "../field/moment.ts"
import type { Draft } from "../field/parse.ts"
import { enumText } from "../field/text.ts"
import type { Locale } from "../messages/locale.tsx"
import { plain } from "../model/plain.ts"
import { unguarded } from "./table.ts"

/** The key that a text names, of one field that leads to another record; `several` where more than one record is called so. */
export type Found = ReadonlyMap<string, unknown>
export const several = Symbol("several")

/** Known relations by the field's name. A field whose records cannot be looked up is absent: a text is a key then. */
export type Lookups = ReadonlyMap<string, Found>

const fine = (value: unknown): Draft => ({ value, problem: null })
const wrong = (problem: string): Draft => ({ value: undefined, problem })

/** Without accents and case, so that an export of another program still fits. */
const folded = (text: string): string => text.trim().normalize("NFC").toLowerCase()

const oneOf = (values: readonly string[], text: string): string | null => {
  const exact = values.find((value) => value === text.trim())
  if (exact !== undefined) return exact
  const alike = values.filter((value) => folded(value) === folded(text) || folded(enumText(value)) === folded(text))
  const [only, ...others] = alike
  return only === undefined || others.length > 0 ? null : only
}

/** The text that a related record is looked up by. */
export const lookedUp = (text: string): string => unguarded(text).trim()

type Reading = Pick<Locale, "t" | "format">

/** What a text says in a field. `held`: the value that the cell has. */
export const readCell = (
  field: MetaField,
  given: string,
  held: unknown,
  lookups: Lookups,
  { format, t }: Reading
): Draft => {
  const text = unguarded(given)
  const typed = text.trim()
  if (text.includes("\0")) return wrong(t.range.unreadable)
  if (typed === "" && field.kind !== "text") return parseField(field, "", t)
  const found = field.relation === undefined ? undefined : lookups.get(field.name)
  if (found !== undefined) {
    const key = found.get(lookedUp(given))
    return key === undefined ? wrong(t.range.noRecord) : key === several ? wrong(t.range.severalRecords) : fine(key)
  }
  switch (field.kind) {
    case "boolean": {
      const word = folded(typed)
      const has = (...words: readonly string[]): boolean => words.some((each) => folded(each) === word)
      if (has("true", "1", t.field.yes, t.range.spreadsheetTrue)) return fine(true)
      return has("false", "0", t.field.no, t.range.spreadsheetFalse) ? fine(false) : wrong(t.range.notBoolean)
    }
    case "enum": {
      const value = oneOf(field.values ?? [], typed)
      return value === null ? wrong(t.field.notListed) : fine(value)
    }
    case "country":
    case "currency": {
      const code = codeIn(codesOf(field.kind, format), typed)
      return code === null ? wrong(t.field.notListed) : fine(code)
    }
    case "date":
    case "timestamp":
    case "time": {
      const value = writingOf(format.locale).read(field.kind, typed, plain(held))
      return value === null ? parseField(field, typed, t) : fine(value)
    }
    default:
      return parseField(field, text, t)
  }
}
