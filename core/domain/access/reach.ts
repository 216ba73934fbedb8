/**
 * What a caller reaches through relations: a relation is followed when both of its ends are readable and the target may be read. What is beyond is the
 * target as the caller sees it. Whatever cannot be followed does not exist.
 */

import type { BoundedMap } from "../bounded.ts"
import type { FilterScope, Step } from "../filter/read.ts"
import type { FilterTree } from "../filter/tree.ts"
import { always, both } from "../filter/tree.ts"
import type { Field, Model, Relation } from "../model/model.ts"
import type { Access } from "./access.ts"

/**
 * What one caller may do with a resource, by its name. Null: there is no such resource, or none for them. Each resource is resolved once
 * per request, so a rule function cannot answer in two ways within one (docs/guides/access.md#rules-of-a-resource).
 */
export type Accesses = (resource: string) => Access | null

/** A relation that a caller can follow, and the access to its target. */
export interface Reached {
  readonly relation: Relation
  readonly target: Access
  /** The target's field that pairs with `relation.from`. */
  readonly to: Field
}

/** The relation as this caller can follow it. Null when there is none, or when one of its ends is hidden. */
export const reach = (accesses: Accesses, access: Access, name: string): Reached | null => {
  const relation = access.model.relations.get(name)
  if (relation === undefined || !access.restricted.byName.has(relation.from.name)) return null
  const target = accesses(relation.target)
  if (target === null || target.tenantMissing || target.decisions.read.of === "deny") return null
  const to = target.restricted.byName.get(relation.to)
  return to === undefined ? null : { relation, target, to }
}

const conditions = new WeakMap<Model, FilterTree>()

/** The condition "not soft-deleted"; every row when the model has no soft delete. */
export const liveOnly = (model: Model): FilterTree => {
  if (model.softDelete === null) return always
  let tree = conditions.get(model)
  if (tree === undefined) conditions.set(model, tree = { op: "null", field: model.softDelete })
  return tree
}

/** The rows of a resource that exist for a caller who does not ask for deleted ones. */
export const seenRows = (access: Access): FilterTree => both(access.rows, liveOnly(access.model))

/** One question about a relation that a check asked, and what the answer depends on. */
interface RelationQuestion {
  /** The relations that lead to it, itself included. */
  readonly path: readonly string[]
  readonly target: Pick<Access, "restricted" | "rows"> | null
}

/** What a check depends on besides its own resource. */
export type Dependencies = readonly RelationQuestion[]

/**
 * The names that a filter of a caller may use. `asked` gets what the check of a filter comes to depend on: who gets other answers to these questions
 * needs another check.
 */
export const scopeOf = (accesses: Accesses, access: Access, asked: RelationQuestion[]): FilterScope =>
  scopeAt(accesses, access, asked, [])

const scopeAt = (accesses: Accesses, access: Access, asked: RelationQuestion[], at: readonly string[]): FilterScope => {
  const { model, restricted } = access
  const steps = new Map<string, Step | null>()
  const step = (name: string): Step | null => {
    const before = steps.get(name)
    if (before !== undefined) return before
    const reached = reach(accesses, access, name)
    const path = [...at, name]
    // What is no relation of the model is none for anybody.
    if (model.relations.has(name)) asked.push({ path, target: reached?.target ?? null })
    const step = reached === null ? null : {
      way: { relation: reached.relation, model: reached.target.model, to: reached.to, rows: seenRows(reached.target) },
      scope: scopeAt(accesses, reached.target, asked, path)
    }
    steps.set(name, step)
    return step
  }
  return {
    names: restricted.names,
    searched: restricted.searched,
    vectors: restricted.vectors,
    caller: false,
    relations: { names: () => [...model.relations.keys()].filter((name) => step(name) !== null), step }
  }
}

/** Whether the answers that a check depends on are the same for this caller. They hold no caller; operands bind later. */
const sameAnswers = (dependencies: Dependencies, accesses: Accesses, access: Access): boolean =>
  dependencies.every(({ target, path }) => {
    let at: Access | null = access
    for (const name of path) at = at === null ? null : reach(accesses, at, name)?.target ?? null
    return at === null || target === null
      ? at === target
      : at.restricted === target.restricted && at.rows === target.rows
  })

/** What texts were checked to, each for those who see the same through their relations. */
export type Texts<A> = BoundedMap<string, ReadonlyArray<{ readonly dependencies: Dependencies; readonly checked: A }>>

/** Longer texts are not worth keeping. */
export const cachedText = 4_000

/** How many callers' results are kept for one text. */
const mostVariants = 8

/** Checks a text, or takes what it was checked to for whoever sees the same: then it is the same object. */
export const checkedText = <A>(
  cache: Texts<A>,
  accesses: Accesses,
  access: Access,
  text: string,
  check: (asked: RelationQuestion[]) => A
): A => {
  const entries = cache.get(text) ?? []
  let entry = entries.find(({ dependencies }) => sameAnswers(dependencies, accesses, access))
  if (entry === undefined) {
    const dependencies: RelationQuestion[] = []
    entry = { dependencies, checked: check(dependencies) }
    if (text.length <= cachedText) cache.set(text, [entry, ...entries.slice(0, mostVariants - 1)])
  }
  return entry.checked
}
