/**
 * Compares resources over functions of the database with the functions that are there. Only one that is declared STABLE or IMMUTABLE is called: PostgreSQL keeps
 * such a one from writing, and a read may run at any time and any number of times. The columns of its rows are checked as those of views are.
 */

import { didYouMean } from "../declare/refusal.ts"
import type { Argument, Model } from "../model/model.ts"
import { quotedName, tableName } from "../model/table.ts"
import type { ColumnFacts, FunctionFacts, TableFacts } from "./catalogue.ts"
import type { Say } from "./check.ts"

type Parameter = FunctionFacts["parameters"][number]

/** How a column of such a type is declared, or null. */
type DeclarationOf = (column: ColumnFacts) => string | null

/** The name with which PostgreSQL finds one of several functions. */
const signed = (facts: FunctionFacts): string =>
  `${quotedName(facts.schema)}.${quotedName(facts.name)}(${facts.signature})`

/** Whether a call with these arguments, by name, is a call of this function. */
const takes = (facts: FunctionFacts, args: readonly Argument[]): boolean =>
  args.every(({ field }) => facts.parameters.some(({ name }) => name === field.column)) &&
  facts.parameters.every(({ name, optional }) => optional || args.some(({ field }) => field.column === name))

/** The function of a resource among those of its name; null: none, or several. */
export const functionOf = (model: Model, overloads: readonly FunctionFacts[]): FunctionFacts | null => {
  const [only, ...more] = overloads
  if (only !== undefined && more.length === 0) return only
  const taking = overloads.filter((each) => takes(each, model.function?.arguments ?? []))
  return taking.length === 1 ? taking[0]! : null
}

/** What a function gives, as a table that nobody writes. */
export const rowsOf = ({ columns, executable, name, schema }: FunctionFacts): TableFacts => ({
  schema,
  name,
  kind: "function",
  rows: null,
  columns,
  primaryKey: null,
  uniques: [],
  foreignKeys: [],
  checks: [],
  indexes: [],
  rowSecurity: false,
  heirs: [],
  privileges: { select: executable, insert: false, update: false, delete: false },
  comment: null
})

/** Types that PostgreSQL finds a function of another type by. */
const alike: { readonly [type: string]: readonly string[] } = {
  text: ["text", "varchar", "bpchar", "name"],
  timestamptz: ["timestamptz"],
  int2: ["int2"],
  int4: ["int4"],
  int8: ["int8"]
}

const ownType = /^"pg_catalog"\."([^"]+)"$/

const sqlName = (type: Parameter): string => `"${type.schema}"."${type.domain ?? type.base}"`

const checkArgument = (
  { field, type }: Argument,
  parameter: Parameter,
  declarationOf: DeclarationOf,
  say: Say
): void => {
  const own = ownType.exec(type)?.[1] ?? null
  // PostgreSQL takes values of its own types for a domain over them; an enum has to be named.
  const plain = parameter.values === null && (parameter.schema === "pg_catalog" || parameter.domain !== null)
  const fits = type === sqlName(parameter) || (own !== null && plain && (alike[own] ?? [own]).includes(parameter.base))
  if (!fits) {
    const kind = declarationOf(parameter)
    say(
      `The argument "${field.name}" is sent as ${type.replaceAll("\"", "")}, and the parameter is ${parameter.type}.`,
      `Write ${
        kind ?? "a kind whose texts PostgreSQL takes for it"
      }, or name its type: types: { ${field.name}: "${parameter.schema}.${parameter.domain ?? parameter.base}" }.`
    )
  }
  if (field.default !== null && "db" in field.default && !parameter.optional) {
    say(
      `The argument "${field.name}" says dbDefault(), and the parameter has no default.`,
      "Remove dbDefault(), or write optional() or default(…)."
    )
  }
}

/** What does not fit about the function of a resource itself. */
export const checkFunction = (
  model: Model,
  overloads: readonly FunctionFacts[],
  declarationOf: DeclarationOf,
  say: Say
): void => {
  const args = model.function?.arguments ?? []
  const name = tableName(model)
  if (overloads.length === 0) {
    return say(
      `There is no function ${name}, or the database role cannot see it.`,
      `Make it: create function ${name}(…) returns table (…) stable language sql as $$ … $$;`
    )
  }
  const one = functionOf(model, overloads)
  if (one === null) {
    return say(
      `There are ${overloads.length} functions ${name}, and the declared arguments do not say which one is meant.`,
      `Declare the arguments of one of them: ${overloads.map(signed).join(", ")}.`
    )
  }
  if (one.kind !== "function") say(`${signed(one)} is no function but ${one.kind}.`, "Name a function that gives rows.")
  if (!one.set) {
    say(`${signed(one)} gives no set of rows.`, "Make it a function that returns table (…), or setof a table.")
  }
  if (one.set && one.columns.length === 0) {
    say(
      `The rows of ${signed(one)} have no named columns.`,
      "Make it a function that returns table (…), or setof a table."
    )
  }
  if (one.volatility === "volatile") {
    say(
      `${signed(one)} is VOLATILE: it may change data, and reads must not.`,
      `If it changes nothing, run: alter function ${signed(one)} stable; otherwise make it an API function or a job.`
    )
  }
  if (!one.executable) {
    say("The database role may not call the function.", `Run: grant execute on function ${signed(one)} to <role>;`)
  }
  for (const argument of args) {
    const { column, name: called } = argument.field
    const parameter = one.parameters.find((each) => each.name === column)
    if (parameter === undefined) {
      const near = didYouMean(column, one.parameters.map((each) => each.name))
      say(`${signed(one)} has no parameter "${column}", which the argument "${called}" stands for.`, near)
    } else checkArgument(argument, parameter, declarationOf, say)
  }
  for (const parameter of one.parameters) {
    if (parameter.optional || args.some(({ field }) => field.column === parameter.name)) continue
    say(
      parameter.name === ""
        ? `${signed(one)} has a parameter without a name, and arguments are passed by name.`
        : `${signed(one)} needs the parameter "${parameter.name}", which no argument stands for.`,
      parameter.name === ""
        ? "Give its parameters names."
        : `Add the argument ${parameter.name}: ${declarationOf(parameter) ?? "…"}.`
    )
  }
}
