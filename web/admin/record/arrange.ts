/** The order of rows within a record: the field that numbers them, and the numbers after a move. Pure. */

import type { MetaField } from "../../client/index.ts"
import type { Resource } from "../model/catalogue.ts"

/** The number by which a view sorts its records upwards, where people may write it. */
export const positionField = ({ fields, view }: Resource): MetaField | null => {
  const [first = ""] = view.sort.split(",")
  const [name = "", direction = "asc"] = first.trim().split(/\s+/)
  const field = fields.get(name)
  return field !== undefined && direction.toLowerCase() === "asc" && field.kind === "integer" &&
      field.relation === undefined && field.writable.update
    ? field
    : null
}

/** Rows in a new order: one stands at the place of another, and those between move up or down. */
export const moveTo = <T>(rows: readonly T[], from: number, to: number): readonly T[] =>
  from === to || rows[from] === undefined || to < 0 || to >= rows.length
    ? rows
    : rows.toSpliced(from, 1).toSpliced(to, 0, rows[from])

/** The numbers of rows in their order. Those that are there are dealt out again, so that few rows change; without a whole set of them, rows are numbered from 1. */
export const numbered = (before: readonly unknown[]): readonly number[] => {
  const numbers = before.map(Number)
  const whole = before.every((each) => each !== null && each !== undefined && each !== "") &&
    numbers.every(Number.isSafeInteger) && new Set(numbers).size === numbers.length
  return whole ? numbers.toSorted((a, b) => a - b) : numbers.map((_, at) => at + 1)
}
