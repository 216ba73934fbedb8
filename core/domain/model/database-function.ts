/** A function of the database that gives a resource its rows, compiled. The model has its schema and name where others have those of a table. */

import type { Field } from "./model.ts"

/** One argument. */
export interface Argument {
  /** What requests call it: `args.NAME`. Its kind, bounds and default are those of the field, its `column` is the parameter of the function. */
  readonly field: Field
  /** The type that its value is cast to, as SQL: schema and name, quoted. */
  readonly type: string
}

/** The arguments of a function, in declared order. */
export interface FunctionSource {
  readonly arguments: readonly Argument[]
}

/** The arguments of one call, as cells in declared order. Undefined: left to the default of the function. */
export type ArgumentCells = ReadonlyArray<string | null | undefined>

/** Whether nothing can be read without arguments: one of them is neither optional nor has a default. */
export const needsArguments = ({ function: called }: { readonly function?: FunctionSource }): boolean =>
  called?.arguments.some(({ field }) => !field.optional && field.default === null) === true
