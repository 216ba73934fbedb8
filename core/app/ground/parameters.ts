/** Parameters of a query by name, for routes that have few. Those of lists, aggregates and writes are read by the domain. */

import * as Result from "effect/Result"
import { invalidParameter } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import type { Call } from "./call.ts"

/** Each name is allowed at most once, and no others are. `unknown`: the refusal of another name. */
export const readParameters = <Name extends string>(
  query: Call["query"],
  names: readonly Name[],
  unknown: (name: string) => Problem = (name) =>
    invalidParameter(
      name,
      names.length === 0
        ? "This route takes no parameters."
        : `There is no such parameter. Use ${names.join(", ")}.`
    )
): Result.Result<{ readonly [name in Name]?: string }, Problem> => {
  const values: { [name in Name]?: string } = {}
  for (const [name, value] of query) {
    const parameter = names.find((each) => each === name)
    if (parameter === undefined) return Result.fail(unknown(name.slice(0, 100)))
    if (values[parameter] !== undefined) return Result.fail(invalidParameter(name, "The parameter is given twice."))
    values[parameter] = value
  }
  return Result.succeed(values)
}
