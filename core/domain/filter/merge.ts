/**
 * Rewrites conditions about related records so that a database has few subqueries to plan and can join each: those of one relation become one
 * where that means the same, and negation stands directly before a subquery. It changes no meaning. Trees are two-valued, so that De Morgan's laws hold.
 */

import type { AnyRelated, AnyTree, FilterField, FilterTree, FilterWay } from "./tree.ts"
import { allOf, always, anyOf, never, not, relatedOf } from "./tree.ts"

type Some = Extract<AnyTree, { readonly op: "some" }>

const isPlain = (tree: AnyTree): boolean => relatedOf(tree).length === 0

/** The negation, moved inwards to the conditions that have relations. */
const flipped = (tree: AnyTree): AnyTree =>
  (tree.op !== "and" && tree.op !== "or") || isPlain(tree)
    ? not(tree)
    : tree.op === "and"
    ? anyOf(tree.items.map(flipped))
    : allOf(tree.items.map(flipped))

/** The conditions about one relation among conditions that must all hold: some record passes the first list, no record passes the second. */
interface Group {
  readonly first: Some
  readonly some: AnyTree[]
  readonly none: AnyTree[]
}

class Groups {
  readonly #groups = new Map<FilterWay["relation"], Map<AnyTree, Group>>()

  /** The group of a way, and whether it is new. */
  of(first: Some): readonly [group: Group, isNew: boolean] {
    const { relation, rows }: FilterWay = first.way
    let byRows = this.#groups.get(relation)
    if (byRows === undefined) this.#groups.set(relation, byRows = new Map())
    let group = byRows.get(rows)
    if (group !== undefined) return [group, false]
    byRows.set(rows, group = { first, some: [], none: [] })
    return [group, true]
  }
}

const conjunction = (trees: readonly AnyTree[]): AnyTree => {
  const all = allOf(trees)
  if (all.op !== "and") return all
  const groups = new Groups()
  const items: Array<AnyTree | Group> = []
  for (const item of all.items) {
    const denied = item.op === "not" && item.item.op === "some" ? item.item : null
    // Two conditions on several records may hold by different ones. None passes the first and none the second: none passes either.
    const one = denied ?? (item.op === "some" && !item.way.relation.many ? item : null)
    if (one === null) {
      items.push(item)
      continue
    }
    const [group, isNew] = groups.of(one)
    if (isNew) items.push(group)
    if (denied === null) group.some.push(one.item)
    else group.none.push(one.item)
  }
  return allOf(items.flatMap((each) => "op" in each ? [each] : groupTrees(each)))
}

const groupTrees = ({ first, none, some }: Group): readonly AnyTree[] => {
  const any = disjunction(none)
  return some.length > 0
    ? [{ ...first, item: conjunction([...some, flipped(any)]) }]
    : [not({ ...first, item: any })]
}

const disjunction = (trees: readonly AnyTree[]): AnyTree => flipped(conjunction(trees.map(flipped)))

/** Whether a number of records is some number that says only whether there is one. */
const presence = ({ is, number }: Extract<AnyRelated, { readonly op: "count" }>): boolean | "some" | "none" | null => {
  switch (is) {
    case ">=":
      return number === 0 ? true : number === 1 ? "some" : null
    case ">":
      return number === 0 ? "some" : null
    case "<":
      return number === 0 ? false : number === 1 ? "none" : null
    case "<=":
    case "=":
      return number === 0 ? "none" : null
  }
}

const merge = (tree: AnyTree): AnyTree => {
  switch (tree.op) {
    case "and":
      return isPlain(tree) ? tree : conjunction(tree.items.map(merge))
    case "or":
      return isPlain(tree) ? tree : disjunction(tree.items.map(merge))
    case "not":
      return isPlain(tree)
        ? tree
        : tree.item.op === "and" || tree.item.op === "or"
        ? merge(flipped(tree.item))
        : not(merge(tree.item))
    case "some":
      return { ...tree, item: merge(tree.item) }
    case "count": {
      const item = merge(tree.item)
      const means = presence(tree)
      if (means === null) return { ...tree, item }
      if (typeof means === "boolean") return means ? always : never
      const { span, way } = tree
      const some: AnyTree = { op: "some", way, item, ...(span === undefined ? {} : { span }) }
      return means === "some" ? some : not(some)
    }
    default:
      return tree
  }
}

const results = new WeakMap<AnyTree, AnyTree>()

/** The tree in the form for databases. A tree without relations stays what it is. */
export function merged<F extends FilterField, W extends FilterWay>(tree: FilterTree<F, W>): FilterTree<F, W>
export function merged(tree: AnyTree): AnyTree {
  if (isPlain(tree)) return tree
  let made = results.get(tree)
  if (made === undefined) {
    results.set(tree, made = merge(tree))
    results.set(made, made)
  }
  return made
}

/** Most trees that one is taken apart into: each says what those before it do not. */
const mostParts = 4

/**
 * Trees of which a row that passes passes just one. No plan finds the rows of an OR with a condition about related records but one that reads all: each of
 * these trees has a plan of its own. The tree alone where it has no such OR.
 */
export function partsOf<F extends FilterField, W extends FilterWay>(tree: FilterTree<F, W>): readonly FilterTree<F, W>[]
export function partsOf(tree: AnyTree): readonly AnyTree[] {
  const plan = merged(tree)
  const all = plan.op === "and" ? plan.items : [plan]
  const at = all.findIndex((item) => item.op === "or" && !isPlain(item))
  const either = all[at]
  if (either?.op !== "or") return [tree]
  const own = either.items.filter(isPlain)
  const parts = [...own.length === 0 ? [] : [anyOf(own)], ...either.items.filter((item) => !isPlain(item))]
  if (parts.length < 2 || parts.length > mostParts) return [tree]
  const rest = all.toSpliced(at, 1)
  return parts.map((part, i) => allOf([...rest, part, ...parts.slice(0, i).map(not)]))
}

/** The conditions about related records that ask for no further relation, in order. A path is one, whatever its length. */
export const relatedLeaves = (tree: AnyTree): readonly AnyRelated[] => {
  switch (tree.op) {
    case "and":
    case "or":
      return tree.items.flatMap(relatedLeaves)
    case "not":
      return relatedLeaves(tree.item)
    case "some":
    case "count": {
      const inside = relatedLeaves(tree.item)
      return inside.length === 0 ? [tree] : inside
    }
    default:
      return []
  }
}

/** The counts in a tree, in order. */
export const countsIn = (tree: AnyTree): readonly AnyRelated[] => {
  switch (tree.op) {
    case "and":
    case "or":
      return tree.items.flatMap(countsIn)
    case "not":
      return countsIn(tree.item)
    case "some":
      return countsIn(tree.item)
    case "count":
      return [tree, ...countsIn(tree.item)]
    default:
      return []
  }
}
