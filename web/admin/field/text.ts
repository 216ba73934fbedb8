/** A value as plain text, for cells, for copies and for labels of screen readers. Exact, and in the user's language. */

import type { MetaField } from "../../client/index.ts"
import { isObject } from "../../client/problem.ts"
import type { Formats } from "../messages/formats.ts"
import type { Messages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { plain } from "../model/plain.ts"
import { elementOf, elementsOf } from "./array.ts"
import { nameIn, uriOf } from "./file-list.ts"
import { isIdentifier } from "./kind.ts"

/** The user's formats and messages, and the current time for relative times. */
export interface TextContext {
  readonly format: Formats
  readonly t: Messages
  readonly now: number
}

/** The text of an enum's value: underscores become spaces. */
export const enumText = (value: string): string => value.replaceAll("_", " ")

/** What names a file of a list: a stored one, or the ticket of one that is not saved. */
const fileText = (value: unknown): string => {
  const uri = uriOf(value)
  const name = isObject(value) ? value["name"] : undefined
  return typeof name === "string" ? name : typeof uri === "string" ? nameIn(uri) ?? "…" : "…"
}

/** The value as text. Null is empty. */
export const textOf = (
  resource: Resource,
  field: MetaField,
  value: unknown,
  { format, now, t }: TextContext
): string => {
  if (value === null || value === undefined) return ""
  switch (field.kind) {
    case "integer":
    case "decimal":
    case "float":
    case "money":
      return typeof value === "string" || typeof value === "number"
        ? format.number(value, isIdentifier(resource, field))
        : JSON.stringify(value)
    case "boolean":
      return value === true ? t.field.yes : t.field.no
    case "timestamp":
      return format.moment(plain(value), now)
    case "date":
      return format.date(plain(value))
    case "country":
      return format.country(plain(value))
    case "enum":
      return enumText(plain(value))
    case "file":
      return plain(isObject(value) ? value["name"] ?? value["uri"] : value)
    case "files":
      return Array.isArray(value) ? value.map(fileText).join(", ") : plain(value)
    case "array":
      return elementsOf(value).map((each) =>
        each === null ? t.field.empty : textOf(resource, elementOf(field), each, { format, now, t })
      ).join(", ")
    case "json":
      return JSON.stringify(value)
    default:
      return plain(value)
  }
}
