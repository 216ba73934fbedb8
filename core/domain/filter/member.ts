/**
 * What a declared path finds in JSON, as a cell: the same that `valueText` finds in the database. A value of another type than the path's is none. It never
 * rounds a number.
 */

import * as Result from "effect/Result"
import { isBag } from "../bag.ts"
import { longestNumber } from "../model/expression.ts"
import type { Member } from "../model/model.ts"
import { cellFromText } from "../value/cell.ts"
import type { Cell, Kind } from "../value/kind.ts"

/** A number as it is written. */
class Written {
  readonly source: string
  constructor(source: string) {
    this.source = source
  }
}

const written = (_: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === "number" ? new Written(context?.source ?? String(value)) : value

/** Texts that PostgreSQL cannot read out of a column of the type `json`; pairs of surrogates and escaped backslashes are fine. */
const unreadable = (cell: string): boolean =>
  /\\u(?:0000|d[89a-f])/i.test(cell.replace(/\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}/gi, ""))

/** Keeps a document of many paths from being read for each of them. */
let last: { readonly cell: string; readonly value: unknown } = { cell: "null", value: null }

const parsed = (cell: string): unknown => {
  if (last.cell !== cell) last = { cell, value: JSON.parse(cell, written) }
  return last.value
}

const number = (source: string, { storage }: Member): Cell => {
  if (storage === "json" && (source.length > longestNumber || !/^[^eE]*(?:[eE][-+]?\d{1,3})?$/.test(source))) {
    return null
  }
  const cell = cellFromText({ kind: "decimal", precision: null, scale: null }, source)
  return Result.isSuccess(cell) ? cell.success : null
}

/** The cell that a path finds in JSON text; null where there is nothing, or something else than its kind says. */
export const memberCell = (kind: Kind, member: Member, cell: string): Cell => {
  if (member.storage === "json" && unreadable(cell)) return null
  let value = parsed(cell)
  for (const name of member.path) {
    if (!isBag(value) || value instanceof Written || !Object.hasOwn(value, name)) return null
    value = value[name]
  }
  return kind === "boolean"
    ? typeof value === "boolean" ? String(value) : null
    : kind === "decimal"
    ? value instanceof Written ? number(value.source, member) : null
    : typeof value === "string"
    ? value
    : null
}
