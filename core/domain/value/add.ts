/** Exact sums of stored numbers. It reads cells and texts of a body only, and never a JavaScript number. */

import * as Result from "effect/Result"
import { cellFromJson } from "./cell.ts"
import type { ValueProblem } from "./cell.ts"
import type { Shape } from "./kind.ts"

/** Most digits of a number that something is added to. Sums of more take noticeable time, and `numeric` holds 147,000. */
const mostDigits = 1_000

const finite = /^-?\d+(?:\.\d+)?$/

const placesOf = (cell: string): number => {
  const point = cell.indexOf(".")
  return point === -1 ? 0 : cell.length - point - 1
}

/** The digits of a decimal as an integer that counts units of `10^-places`. */
const units = (cell: string, places: number): bigint =>
  BigInt(cell.replace(".", "") + "0".repeat(places - placesOf(cell)))

/** The sum of two canonical cells of integers or decimals, with the fraction digits of the longer one. */
const sum = (a: string, b: string): string => {
  const places = Math.max(placesOf(a), placesOf(b))
  const total = units(a, places) + units(b, places)
  if (places === 0) return String(total)
  const digits = String(total < 0n ? -total : total).padStart(places + 1, "0")
  return `${total < 0n ? "-" : ""}${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/** The cell after an addition: exact, and a value that the field could be given; never rounded. Both are canonical cells. */
export const addCells = (
  shape: Shape & { readonly optional: boolean },
  stored: string | null,
  delta: string
): Result.Result<string, ValueProblem> => {
  const refuse = (message: string) => Result.fail<ValueProblem>({ code: "invalid", message })
  if (stored === null) return refuse("The record has no value here to add to. Send the value itself.")
  if (!finite.test(stored)) return refuse("The stored value is no finite number. Send the value itself.")
  if (stored.length + delta.length > mostDigits) {
    return refuse(`Numbers of together more than ${mostDigits} characters are not added. Send the value itself.`)
  }
  return Result.map(cellFromJson(shape, sum(stored, delta)), (cell) => cell!)
}
