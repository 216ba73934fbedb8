/** What a condition is about: a field, a field of related records, or their number; and how a tree says that. Pure. */

import type { AnyScope } from "../../../core/domain/filter/read.ts"
import { type AnyTree, type FilterField, type FilterWay, not } from "../../../core/domain/filter/tree.ts"
import type { MetaField } from "../../client/index.ts"
import type { Resource } from "./catalogue.ts"
import { fieldAt, type Path, waysOf } from "./paths.ts"

/** A condition on related records: the names of the relations with periods, and the condition on the record at their end. */
export const farOf = (tree: Some): { readonly at: string; readonly end: AnyTree } => {
  let at = ""
  let end: AnyTree = tree
  while (end.op === "some") {
    at += `${end.way.relation.name}.`
    end = end.item
  }
  return { at, end }
}

type Some = Extract<AnyTree, { readonly op: "some" }>

/** A condition on a field, asked of the records at the end of ways. What is denied is denied of all of them. */
export const through = (ways: readonly FilterWay[], tree: AnyTree): AnyTree => {
  if (ways.length === 0) return tree
  const some = (item: AnyTree): AnyTree =>
    ways.reduceRight<AnyTree>((inner, way) => ({ op: "some", way, item: inner }), item)
  // A path is empty where no record at its end has a value, also where no record is.
  if (tree.op === "null") return not(some(not(tree)))
  return tree.op === "not" && tree.item.op !== "null" ? not(some(tree.item)) : some(tree)
}

/** The relation whose records a condition counts. */
export const countedBy = (field: string): string | undefined => /^count\((\w+)\)$/.exec(field)?.[1]

/** What a condition is about: a field, a path, or the number of related records. Undefined if the caller does not see it. */
export const subjectAt = (resource: Resource, text: string): Path | undefined => {
  const counted = countedBy(text)
  if (counted === undefined) return fieldAt(resource, text)
  const way = waysOf(resource).find(({ relation }) => relation.name === counted)
  return way === undefined
    ? undefined
    : { text, ways: [], resource, field: { ...numberField, name: text }, many: false }
}

const numberField: MetaField = {
  name: "",
  kind: "integer",
  optional: true,
  readOnly: true,
  writable: { create: false, update: false },
  filterable: true,
  sortable: false,
  searched: false,
  sensitive: false
}

/** The field at the end of a path, and the ways that lead there. */
export const placeIn = (
  scope: AnyScope,
  text: string
): { readonly field: FilterField; readonly ways: readonly FilterWay[] } | null => {
  const own = scope.names.get(text)
  if (own !== undefined) return { field: own, ways: [] }
  const names = text.split(".")
  const last = names.pop()!
  const ways: FilterWay[] = []
  let at = scope
  for (const name of names) {
    const step = at.relations?.step(name) ?? null
    if (step === null) return null
    ways.push(step.way)
    at = step.scope
  }
  const field = at.names.get(last)
  return field === undefined ? null : { field, ways }
}
