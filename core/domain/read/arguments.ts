/**
 * The arguments of a resource that is a function of the database: `args.NAME` in a query, the members of `args` in a body. They stand apart from the
 * parameters of lists, so that no name of one is that of another. Each is checked by its kind; all that is wrong is told together.
 */

import * as Result from "effect/Result"
import type { ArgumentCells } from "../model/database-function.ts"
import type { Field, Model } from "../model/model.ts"
import { problem } from "../problem.ts"
import type { Problem, ProblemError } from "../problem.ts"
import { cellFromJson, cellFromText } from "../value/cell.ts"
import { isJsonObject } from "../value/json-kind.ts"
import type { Cell, Json } from "../value/kind.ts"

type Pairs = ReadonlyArray<readonly [name: string, value: string]>
type Read = Result.Result<Cell, { readonly message: string }>

const prefix = "args."

/** What a request gives: the arguments, and what is left for everything else. `args` undefined: the rows are of no function. */
export interface RequestArguments<Rest> {
  readonly args?: ArgumentCells
  readonly rest: Rest
}

const refusal = (errors: readonly ProblemError[]): Problem =>
  problem("invalid-parameter", errors[0]!.message, { errors: errors.slice(0, 20) })

/** The cells of all arguments: those that are given, else null, the declared default, or the default of the function. */
const fillArguments = (
  model: Model,
  given: ReadonlyMap<string, (field: Field) => Read>,
  errors: ProblemError[]
): Result.Result<ArgumentCells, Problem> => {
  const declared = model.function?.arguments ?? []
  const names = declared.map(({ field }) => field.name)
  for (const name of given.keys()) {
    if (names.includes(name)) continue
    const parameter = `${prefix}${name}`.slice(0, 100)
    errors.push({
      parameter,
      message: `There is no argument "${name.slice(0, 100)}" here.`,
      hint: names.length === 0
        ? "There are no arguments here."
        : `Use ${names.map((each) => prefix + each).join(", ")}.`
    })
  }
  const cells = declared.map(({ field }): Cell | undefined => {
    const read = given.get(field.name)?.(field) ?? absent(field)
    if (read === undefined) return undefined
    if (Result.isSuccess(read)) return read.success
    errors.push({ parameter: prefix + field.name, message: read.failure.message })
    return null
  })
  return errors.length > 0 ? Result.fail(refusal(errors)) : Result.succeed(cells)
}

const absent = (field: Field): Read | undefined => {
  if (field.default === null) {
    return field.optional ? Result.succeed(null) : Result.fail({ message: "The argument is required." })
  }
  return "db" in field.default ? undefined : cellFromJson(field, field.default.value)
}

/** A text of a query. An empty one counts as absent, as with every parameter. */
const fromText = (text: string) => (field: Field): Read =>
  field.kind === "text" ? cellFromJson(field, text) : cellFromText(field, text)

/** Takes the arguments out of a query. Of any other resource nothing is taken: there they are unknown parameters. */
export const argumentsOfQuery = (model: Model, query: Pairs): Result.Result<RequestArguments<Pairs>, Problem> => {
  if (model.function === undefined) return Result.succeed({ rest: query })
  const given = new Map<string, (field: Field) => Read>()
  const seen = new Set<string>()
  const errors: ProblemError[] = []
  const rest = query.filter(([name, value]) => {
    if (!name.startsWith(prefix)) return true
    const argument = name.slice(prefix.length)
    if (seen.has(argument)) {
      errors.push({ parameter: name.slice(0, 100), message: "The argument is given more than once." })
    } else if (value !== "") given.set(argument, fromText(value))
    seen.add(argument)
    return false
  })
  return Result.map(fillArguments(model, given, errors), (args) => ({ args, rest }))
}

/** Takes the member `args` out of a body. What is no object is left to whoever reads the rest. */
export const argumentsOfBody = (model: Model, body: Json): Result.Result<RequestArguments<Json>, Problem> => {
  if (model.function === undefined || !isJsonObject(body)) return Result.succeed({ rest: body })
  const { args = null, ...rest } = body
  if (args !== null && !isJsonObject(args)) {
    return Result.fail(refusal([{ parameter: "args", message: "The member must be an object of arguments." }]))
  }
  const given = new Map(
    Object.entries(args ?? {}).flatMap(([name, value]) =>
      value === null ? [] : [[name, (field: Field): Read => cellFromJson(field, value)] as const]
    )
  )
  return Result.map(fillArguments(model, given, []), (cells) => ({ args: cells, rest }))
}

/** What tells one call from another, for names of queries and tokens; nothing where there are no arguments. */
export const argumentsName = (args: ArgumentCells | undefined): readonly string[] =>
  args === undefined ? [] : [JSON.stringify(args.map((cell) => cell === undefined ? [] : cell))]
