/**
 * Paths through relations: `customer.country` becomes the field at its end and the ways that lead there. Every failure on the way is the one "There is no
 * field", so that a hidden target, a hidden field and a name that never was look alike. Hints list only what can be reached.
 */

import { pathParts } from "../model/path.ts"
import type { Span } from "../problem.ts"
import type { Checking } from "./literal.ts"
import { fieldOf, filterableFields, mayFilter } from "./literal.ts"
import type { Word } from "./parse.ts"
import type { AnyScope } from "./scope.ts"
import { nameHint, namesOf, nearest, quote } from "./scope.ts"
import type { AnyTree, FilterField, FilterWay } from "./tree.ts"
import { confined, not } from "./tree.ts"

/** Most relations from a record to what a condition asks of. */
export const maxRelationDepth = 3

/** A field, or one at the end of a path. */
export interface PathField {
  readonly field: FilterField
  /** Its name with those of the relations. */
  readonly name: string
  readonly ways: readonly FilterWay[]
  readonly span: Span
}

/** The end of a path of relations. */
export interface End {
  readonly ways: readonly FilterWay[]
  readonly scope: AnyScope
}

/** Where a path begins, and where its errors go. */
export type PathStart = Pick<Checking, "depth" | "findings" | "scope">

/** What goes along a path: how a text is refused that goes too far, or where no path leads. */
export interface Traveller {
  readonly what: "condition" | "order"
  readonly otherwise: string
}

const asCondition: Traveller = { what: "condition", otherwise: "Ask for fields of the record itself." }

const nowhere = ({ findings }: PathStart, name: Word, { otherwise, what }: Traveller): null =>
  findings.add("unknown-field", `No ${what} can go through relations here.`, otherwise, name)

/** Follows relations. `missing` says how an unknown name is refused. */
export const follow = (
  checking: PathStart,
  name: Word,
  steps: readonly string[],
  missing: (hint: string) => null,
  traveller: Traveller = asCondition
): End | null => {
  let { scope } = checking
  const ways: FilterWay[] = []
  for (const step of steps) {
    const { relations } = scope
    if (relations === undefined) return nowhere(checking, name, traveller)
    if (checking.depth + ways.length === maxRelationDepth) {
      return checking.findings.add(
        "limit",
        `${
          traveller.what === "order" ? "An order" : "A condition"
        } goes through at most ${maxRelationDepth} relations.`,
        "Ask a resource that is nearer.",
        name
      )
    }
    const next = relations.step(step)
    if (next === null) {
      return missing(hintFor(step, steps.slice(0, ways.length), relations.names(), "The relations here"))
    }
    ways.push(next.way)
    scope = next.scope
  }
  return { ways, scope }
}

/** A hint about a name at some place of a path. */
export const hintFor = (text: string, before: readonly string[], names: readonly string[], what: string): string => {
  const near = nearest(text, names)
  return near === null ? nameHint(text, names, what) : `Did you mean ${[...before, near].join(".")}?`
}

/** Refuses a path with an empty part. */
export const isWhole = ({ findings }: PathStart, name: Word, parts: readonly string[]): boolean => {
  if (!parts.includes("")) return true
  findings.add("syntax", "A path has an empty part.", "Write it as customer.country.", name)
  return false
}

/** How many words of a path are relations: the rest is a field there, or a declared path into one. */
export const relationSteps = (scope: AnyScope, words: readonly string[]): number => {
  let at: AnyScope | undefined = scope
  for (let steps = 1; steps < words.length - 1 && steps <= maxRelationDepth; steps++) {
    at = at.relations?.step(words[steps - 1]!)?.scope
    if (at === undefined) break
    if (at.names.has(words.slice(steps).join("."))) return steps
  }
  return words.length - 1
}

/** The field that a name or a path stands for, or null after reporting. `usage` as of `fieldOf`. */
export const placeOf = (checking: Checking, name: Word, usage?: string): PathField | null => {
  const { findings, scope } = checking
  const span = findings.span(name)
  if (!name.text.includes(".") || scope.names.has(name.text)) {
    const field = fieldOf(checking, name, usage)
    return field === null ? null : { field, name: field.name, ways: [], span }
  }
  const words = pathParts(name.text)
  if (!isWhole(checking, name, words)) return null
  const steps = relationSteps(scope, words)
  const parts = words.slice(0, steps)
  const last = words.slice(steps).join(".")
  const missing = (hint: string): null =>
    findings.add("unknown-field", `There is no field ${quote(name.text)}.`, hint, name)
  const inside = namesOf(scope, mayFilter(scope)).filter((each) => each.startsWith(`${parts[0]!}.`))
  if (inside.length > 0) return missing(nameHint(name.text, inside, "Paths that can be filtered"))
  const end = follow(checking, name, parts, missing)
  if (end === null) return null
  const field = end.scope.names.get(last)
  const may = mayFilter(end.scope)
  if (field !== undefined && may(field)) {
    return { field, name: [...parts, field.name].join("."), ways: end.ways, span }
  }
  const hint = hintFor(last, parts, namesOf(end.scope, may), filterableFields)
  return field === undefined
    ? missing(hint)
    : findings.add("not-filterable", `The field ${quote(name.text)} cannot be filtered.`, hint, name)
}

/** The search vector at the end of a path, or null after reporting. */
export const vectorOf = (checking: Checking, name: Word): PathField | null => {
  const { findings } = checking
  const parts = [...pathParts(name.text)]
  if (!isWhole(checking, name, parts)) return null
  const last = parts.pop()!
  const missing = (hint: string): null =>
    findings.add("unknown-field", `There is no search vector ${quote(name.text)}.`, hint, name)
  const end = follow(checking, name, parts, missing)
  if (end === null) return null
  const { vectors } = end.scope
  if (vectors === undefined) {
    return findings.add(
      "not-searchable",
      "Words are looked for in lists only: here conditions are decided without the database, too.",
      "Compare fields, or write search('text').",
      name
    )
  }
  const field = vectors.get(last)
  if (field === undefined) return missing(hintFor(last, parts, [...vectors.keys()], "Search vectors"))
  return { field, name: [...parts, field.name].join("."), ways: end.ways, span: findings.span(name) }
}

/** The end of a path that has relations only, or null after reporting. */
export const endOf = (checking: Checking, name: Word): End | null => {
  const parts = [...pathParts(name.text)]
  if (!isWhole(checking, name, parts)) return null
  return follow(
    checking,
    name,
    parts,
    (hint) => checking.findings.add("unknown-field", `There is no relation ${quote(name.text)}.`, hint, name)
  )
}

/** The condition that something at the end of the ways passes a tree. */
export const through = (ways: readonly FilterWay[], tree: AnyTree, span: Span): AnyTree =>
  ways.reduceRight<AnyTree>((item, way) => ({ op: "some", way, item: confined(item, way.rows), span }), tree)

/** The condition that a place has a value. */
export const presentAt = ({ field, span, ways }: PathField): AnyTree => through(ways, not({ op: "null", field }), span)
