/** Compiles `functions` of a configuration: names, who may call, and what they take. A function without a rule is refused, as nobody could say who calls it. */

import { isBag, isFunction, isTextList } from "../bag.ts"
import { quoteValue, type Report } from "../declare/refusal.ts"
import type { ApiFunction, Functions } from "../function/declaration.ts"
import { isStandardSchema } from "../value/standard-schema.ts"
import { isAsync, refuseUnknownKeys, type Say } from "./check.ts"
import { type KnownRoles, refuseUnknownRoles } from "./roles.ts"

/** What stands in the path of a route: the name of a function or hook. */
export const routeName = /^[A-Za-z][A-Za-z0-9_-]{0,62}$/

type RolesRule = Extract<ApiFunction["roles"], (...context: never) => unknown>

const example = "defineFunction({ roles: [\"admin\"], run: (input, context) => … })"

const compileFunction = (name: string, raw: unknown, roles: KnownRoles, say: Say): ApiFunction | null => {
  const path = `functions.${name}`
  if (!routeName.test(name)) {
    say(`${quoteValue(name)} is no name of a function.`, "Use letters, digits, - and _, beginning with a letter.")
    return null
  }
  const declaration = isBag(raw) && raw["_tag"] === "Function" ? raw["declaration"] : undefined
  if (!isBag(declaration)) {
    say(`${path} is ${quoteValue(raw)}, not a function of defineFunction.`, `Write ${name}: ${example}.`)
    return null
  }
  refuseUnknownKeys(declaration, ["input", "roles", "run", "description"], path, say)
  const { description, input, roles: who, run } = declaration
  if (input !== undefined && !isStandardSchema(input)) {
    say(
      `${path}.input is ${quoteValue(input)}, not a Standard Schema.`,
      "Use a schema of Effect, Zod, Valibot or ArkType, or leave it out."
    )
  }
  if (!isFunction<ApiFunction["run"]>(run)) {
    say(`${path}.run is ${quoteValue(run)}, not a function.`, `Write ${name}: ${example}.`)
  }
  if (description !== undefined && typeof description !== "string") {
    say(`${path}.description is ${quoteValue(description)}, not a text.`, "Write one sentence.")
  }
  if (isTextList(who)) refuseUnknownRoles(who, roles, `${path}.roles`, say)
  else if (isFunction(who) && isAsync(who)) {
    say(`${path}.roles is an async function, which could only deny.`, "Decide from the caller, without waiting.")
  } else if (who !== true && !isFunction(who)) {
    say(
      `${path}.roles is ${quoteValue(who)}: nothing says who may call it.`,
      "List roles, or write true for everybody with a credential."
    )
  }
  return {
    name,
    input: isStandardSchema(input) ? input : null,
    roles: who === true || isFunction<RolesRule>(who) || isTextList(who) ? who : [],
    run: isFunction<ApiFunction["run"]>(run) ? run : () => undefined,
    description: typeof description === "string" ? description : null
  }
}

/** Compiles all functions, by name in declared order. */
export const compileFunctions = (raw: unknown, roles: KnownRoles, report: Report): Functions => {
  const functions = new Map<string, ApiFunction>()
  if (raw === undefined) return functions
  const say: Say = (message, fix) => report(null, null, message, fix)
  if (!isBag(raw)) {
    say(`functions is ${quoteValue(raw)}, not an object.`, `Write functions: { ship: ${example} }.`)
    return functions
  }
  for (const [name, each] of Object.entries(raw)) {
    const compiled = compileFunction(name, each, roles, say)
    if (compiled !== null) functions.set(name, compiled)
  }
  return functions
}
