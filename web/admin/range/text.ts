/**
 * The text of a cell on the clipboard: its value as it is stored, whatever way the list shows it. Numbers have all their digits, dates and times are those of
 * ISO 8601, a related record is its key. Pure.
 */

import { isObject } from "../../client/problem.ts"
import { nameIn, uriOf } from "../field/file-list.ts"
import { isQuantity } from "../field/kind.ts"
import type { Path } from "../model/paths.ts"
import { recordAt } from "../model/paths.ts"
import { plain } from "../model/plain.ts"
import { guarded } from "./table.ts"

type Values = { readonly [field: string]: unknown }

const fileText = (value: unknown): string => {
  const name = isObject(value) ? value["name"] : undefined
  const uri = uriOf(value)
  return typeof name === "string" ? name : typeof uri === "string" ? nameIn(uri) ?? uri : plain(value)
}

/** The value of a column in a record; undefined where it did not come. */
const valueIn = (record: Values, { field, ways }: Path): unknown =>
  recordAt(record, ways.map(({ name }) => name))?.[field.name]

export const cellText = (record: Values, path: Path): string => {
  const value = valueIn(record, path)
  const { field } = path
  if (value === null || value === undefined) return ""
  if (field.kind === "boolean") return value === true ? "TRUE" : "FALSE"
  if (field.kind === "file" || field.kind === "files") {
    return guarded((Array.isArray(value) ? value : [value]).map(fileText).join(", "))
  }
  return isQuantity(field) ? plain(value) : guarded(plain(value))
}
