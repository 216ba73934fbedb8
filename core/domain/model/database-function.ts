/** Arguments of functions of the database that give resources their rows, as requests have them. */

import type { FunctionSource } from "./model.ts"

/** The arguments of one call, as cells in declared order. Undefined: left to the default of the function. */
export type ArgumentCells = ReadonlyArray<string | null | undefined>

/** Whether nothing can be read without arguments: one of them is neither optional nor has a default. */
export const needsArguments = ({ function: called }: { readonly function?: FunctionSource }): boolean =>
  called?.arguments.some(({ field }) => !field.optional && field.default === null) === true
