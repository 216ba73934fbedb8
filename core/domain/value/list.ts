/**
 * Lists as cells: JSON text of an array in wire form without blanks. Texts come in the same form from `to_json` of PostgreSQL. A database may hold what no
 * body can give: nulls where none are declared, and arrays in arrays. They are read, and never written.
 */

import { isJsonList } from "./json-kind.ts"
import type { Cell, Json } from "./kind.ts"

/** Most elements of a list that says nothing of it, and most that it can say. */
export const defaultElements = 1_000
export const mostElements = 100_000

/** Most characters of a list's JSON text. */
export const mostListCharacters = 1_000_000

/** The cell of some elements in wire form. */
export const listCell = (elements: readonly Json[]): string => JSON.stringify(elements)

/** The elements of a list's cell in wire form, and in arrays of a database also arrays of these. */
export const elementsOf = (cell: string): readonly Json[] => JSON.parse(cell)

/** A list's cell with another text in place of one, wherever that stands. */
export const withText = (cell: string, text: string, next: string): string =>
  JSON.stringify(elementsOf(cell), (_, element: Json) => element === text ? next : element)

/** The elements of a list's cell as cells of their own kind, in their order: also those in arrays within it, as `unnest` of PostgreSQL gives them. */
export const cellsIn = (cell: string): readonly Cell[] => {
  const cells: Cell[] = []
  const add = (elements: readonly Json[]): void => {
    for (const element of elements) {
      // PostgreSQL's arrays have at most six dimensions.
      if (isJsonList(element)) add(element)
      else cells.push(element === null || typeof element === "string" ? element : JSON.stringify(element))
    }
  }
  add(elementsOf(cell))
  return cells
}

/** All texts in a list of texts, without its nulls. */
export const textsIn = (cell: string): readonly string[] => cellsIn(cell).filter((each) => each !== null)

/** Whether arrays stand in a list's array. */
export const isNested = (cell: string): boolean => elementsOf(cell).some((each) => Array.isArray(each))
