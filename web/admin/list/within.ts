/** Filters of a part of a list: the records that have a value in a field. Pure. */

import type { Resource } from "../model/catalogue.ts"
import { textOfSimple } from "../model/conditions.ts"
import { plain } from "../model/plain.ts"

export { both } from "../model/conditions.ts"

/** A group of `:aggregate`. */
export interface Group {
  readonly group: { readonly [field: string]: unknown }
  readonly measures: { readonly [measure: string]: unknown }
}

/** The condition for the records whose field, or the field at the end of a path, has a value. */
export const conditionOf = (resource: Resource, text: string, value: unknown): string =>
  textOfSimple(
    value === null || value === undefined
      ? { field: text, is: "empty", values: [] }
      : { field: text, is: "is", values: [plain(value)] },
    resource
  ) ?? ""
