/**
 * Functions of the database as sources of rows, as people write them: a name and typed arguments. It judges nothing; `compile/database-function.ts` does.
 */

import type { AnyField, FieldMap } from "./field.ts"

/** A function of the database whose rows a resource shows. */
export interface DatabaseFunction<Arguments extends FieldMap = FieldMap> {
  readonly _tag: "DatabaseFunction"
  readonly name: string
  readonly arguments: Arguments
  readonly types?: { readonly [name: string]: string }
  /** Types only; there is no such member at run time. */
  readonly "~arguments": Arguments
}

/**
 * The rows of a function of the database (docs/guides/views-and-functions.md#functions): `from` of a resource. `name` has its schema in front; without one it is `public`.
 * Arguments are fields by the names of the function's parameters (`column(…)` where a parameter is called otherwise). One that is `optional()` is null
 * where a request leaves it out, with `default(…)` it is that value, with `dbDefault()` it is the function's own default.
 *
 * `types` names the types of parameters that no kind stands for, with their schemas: an enum of the database, `pg_catalog.timestamp`.
 *
 * @example
 * from: fn("shop.orders_of", { customer: f.integer(), since: f.date().optional() })
 */
export const fn = <Arguments extends { readonly [name: string]: AnyField }>(
  name: string,
  args: Arguments,
  more: { readonly types?: { readonly [Name in keyof Arguments & string]?: string } } = {}
): DatabaseFunction<Arguments> => {
  const made: Omit<DatabaseFunction<Arguments>, "~arguments" | "types"> & { readonly types?: unknown } = {
    _tag: "DatabaseFunction",
    name,
    arguments: args,
    ...more
  }
  return made as DatabaseFunction<Arguments>
}
