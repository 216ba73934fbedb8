/**
 * Lists of texts as cells: JSON text of an array without blanks, which `to_json` of PostgreSQL writes in the same form. A database may hold what no body
 * can give: nulls, and arrays in arrays. They are read, and never written.
 */

import type { Json } from "./kind.ts"

/** The cell of some texts. */
export const listCell = (texts: readonly string[]): string => JSON.stringify(texts)

/** The elements of a list's cell: texts, and in arrays of a database also nulls and arrays of these. */
export const elementsOf = (cell: string): readonly Json[] => JSON.parse(cell) as readonly Json[]

/** A list's cell with another text in place of one, wherever that stands. */
export const withText = (cell: string, text: string, next: string): string =>
  JSON.stringify(elementsOf(cell), (_, element: Json) => element === text ? next : element)

/** All texts in a list's cell in their order, also those in arrays within it. */
export const textsIn = (cell: string): readonly string[] => {
  const texts: string[] = []
  const add = (elements: readonly Json[]): void => {
    for (const element of elements) {
      if (typeof element === "string") texts.push(element)
      // PostgreSQL's arrays have at most six dimensions.
      else if (Array.isArray(element)) add(element as readonly Json[])
    }
  }
  add(elementsOf(cell))
  return texts
}
