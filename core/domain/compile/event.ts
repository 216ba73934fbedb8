/**
 * Compiles the events of one resource. A malformed event is refused, so that none is sent for the wrong changes.
 */

import { type Bag, isBag, isFunction } from "../bag.ts"
import { didYouMean, quoteValue } from "../declare/refusal.ts"
import { builtInEvents, type ChangeOperation, changeOperations, type CompiledEvent } from "../model/event.ts"
import { isKeyOf } from "../value/table.ts"
import { isAsync, isName, nameRule, refuseUnknownKeys } from "./check.ts"
import type { RuleScope } from "./rule.ts"

const builtIn = (name: string): ChangeOperation | null => isKeyOf(builtInEvents, name) ? builtInEvents[name] : null

const compileEvent = (name: string, raw: unknown, of: RuleScope): CompiledEvent | null => {
  const say = (message: string, fix: string): void => of.report(of.resource, null, message, fix)
  const path = `events.${name}`
  if (!isName(name)) {
    say(`${quoteValue(name)} is not an event name.`, nameRule)
    return null
  }
  const own = builtIn(name)
  const never = (operation: unknown): boolean => {
    if (operation !== "undelete" || of.softDelete) return false
    say(`${path} can never happen: the resource has no softDelete.`, "Declare softDelete, or remove the event.")
    return true
  }
  if (raw === true && own !== null) return never(own) ? null : { name, on: new Set([own]), match: null }
  const fix = `Write ${name}: { on: ["create"], match: ({ after }) => … }.`
  if (!isBag(raw)) {
    say(
      `${path} is ${quoteValue(raw)}${raw === true ? ", but the event is not a built-in one" : ", not an event"}.`,
      raw === true
        ? `Built-in are ${Object.keys(builtInEvents).join(", ")}. ${fix}`
        : own === null
        ? fix
        : `Write ${name}: true.`
    )
    return null
  }
  refuseUnknownKeys(raw, ["on", "match"], path, say)
  const on = new Set<ChangeOperation>()
  if (!Array.isArray(raw["on"]) || raw["on"].length === 0) {
    say(`${path} says no operation it happens on.`, fix)
  } else {
    for (const operation of raw["on"]) {
      const match = changeOperations.find((each) => each === operation)
      if (match === undefined) {
        say(
          `${path}.on has ${quoteValue(operation)}, which is not an operation.`,
          didYouMean(operation, changeOperations)
        )
      } else if (own !== null && match !== own) {
        say(`${path} cannot happen on ${match}: its name means ${own}.`, "Give the event another name.")
      } else if (!never(match)) on.add(match)
    }
  }
  const match = raw["match"]
  if (match === undefined) return { name, on, match: null }
  if (!isFunction<NonNullable<CompiledEvent["match"]>>(match)) {
    say(`${path}.match is ${quoteValue(match)}, not a function.`, fix)
  } else if (isAsync(match)) {
    say(`${path}.match is an async function; its answer would always count as yes.`, "Decide without waiting.")
  } else return { name, on, match }
  return null
}

/** Compiles `events`, by name in declared order. */
export const compileEvents = (raw: unknown, of: RuleScope): ReadonlyMap<string, CompiledEvent> => {
  const events = new Map<string, CompiledEvent>()
  if (raw === undefined) return events
  if (!isBag(raw)) {
    of.report(of.resource, null, `events is ${quoteValue(raw)}, not an object.`, "Write events: { created: true }.")
    return events
  }
  const bag: Bag = raw
  for (const name of Object.keys(bag)) {
    const event = compileEvent(name, bag[name], of)
    if (event !== null) events.set(name, event)
  }
  return events
}
