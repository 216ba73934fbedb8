/**
 * Startup refusals: what is wrong with a configuration, where, and what to write instead. The service starts only without any, and all are
 * reported together. This file words and collects them; it decides nothing about a configuration.
 */

import { nearest } from "../filter/scope.ts"

/** One thing that is wrong. `resource` and `field` are names as declared; null where the problem belongs to neither. */
export interface Refusal {
  readonly resource: string | null
  readonly field: string | null
  /** What is wrong, as a sentence. */
  readonly message: string
  /** What to do about it, as a sentence. */
  readonly fix: string
}

/** Where problems are reported while a configuration is read. */
export type Report = (resource: string | null, field: string | null, message: string, fix: string) => void

/** `Did you mean "x"?`, or the list of what there is. */
export const didYouMean = (name: unknown, choices: Iterable<string>): string => {
  const names = [...choices]
  const near = typeof name === "string" ? nearest(name, names) : null
  if (near !== null) return `Did you mean "${near}"?`
  if (names.length === 0) return "There is none to choose from."
  const first = names.slice(0, 12)
  return `Use one of ${first.join(", ")}${names.length > first.length ? ", …" : ""}.`
}

/** A value in a message: short, on one line, and never a crash. */
export const quoteValue = (value: unknown): string => {
  if (value === undefined) return "undefined"
  if (typeof value === "function") return "a function"
  // JSON would write null for a number that is none.
  if (typeof value === "symbol" || typeof value === "bigint" || typeof value === "number") return String(value)
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch {
    text = undefined
  }
  if (text === undefined) return Array.isArray(value) ? "a list" : "an object"
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}

/** An address in a message: without the name and password it may hold. */
export const shownAddress = (value: unknown): string =>
  typeof value === "string" ? quoteValue(value.replace(/\/\/[^/?#]*@/, "//…@")) : quoteValue(value)

/**
 * All refusals as text for people: grouped by resource in order of first appearance, each with its fix.
 *
 * @example
 * The configuration has 2 problems.
 *
 * orders
 *   total: The scale 4 is larger than the precision 2.
 *     → Write f.decimal({ precision, scale }) with scale at most precision.
 */
export const printRefusals = (refusals: readonly Refusal[]): string => {
  if (refusals.length === 0) return "The configuration has no problems."
  const groups = new Map<string | null, Refusal[]>()
  for (const refusal of refusals) {
    const group = groups.get(refusal.resource)
    if (group === undefined) groups.set(refusal.resource, [refusal])
    else group.push(refusal)
  }
  const lines = [
    refusals.length === 1 ? "The configuration has a problem." : `The configuration has ${refusals.length} problems.`
  ]
  for (const [resource, group] of groups) {
    lines.push("", resource ?? "(configuration)")
    for (const { field, message, fix } of group) {
      lines.push(`  ${field === null ? "" : `${field}: `}${message}`, `    → ${fix}`)
    }
  }
  return `${lines.join("\n")}\n`
}
