/**
 * The checked filter tree: what a filter, an access rule and a row filter become once they are checked. The SQL compiler and the in-memory
 * evaluator both read this shape. It is two-valued everywhere: a null never makes a condition unknown.
 */

import type { Field, Model, Relation, SortKey } from "../model/model.ts"
import type { Span } from "../problem.ts"
import type { Shape } from "../value/kind.ts"

/** All that the language asks of a field. Fields of a model have more, which is the business of whoever reads a tree. */
export type FilterField = Shape & {
  readonly name: string
  readonly filterable: boolean
  readonly sortable: boolean
  /** Not null: its values are addresses of files, which no condition compares. */
  readonly file: object | null
  /** It is a path into the JSON of another field. */
  readonly member?: object
  /** The text by which a search vector ranks records: the language makes such a field of the vector. */
  readonly rank?: string
}

/** All that the language asks of a relation that somebody can follow. */
export interface FilterWay {
  readonly relation: Pick<Relation, "name" | "many">
  /** Which records of the target exist for them. */
  readonly rows: AnyTree
}

/** A tree over whatever fields. */
export type AnyTree = FilterTree<FilterField, FilterWay>

/**
 * A value on the right side of a condition.
 *
 * `literal` is canonical text of the field's kind (see `Cell`). It carries its place in the text where only the database knows whether the
 * column can hold it: columns of floats have two widths. `param` is taken from the plan's `params` by index. `now` is the request's instant
 * plus `offset` microseconds. `caller` is a value of the verified caller, in access rules only. A missing caller value (no tenant) equals
 * nothing.
 */
export type Operand =
  | { readonly of: "literal"; readonly text: string; readonly span?: Span }
  | { readonly of: "param"; readonly index: number }
  | { readonly of: "now"; readonly offset: bigint }
  | { readonly of: "caller"; readonly value: "id" | "tenant" }

export type Comparison = "=" | "<" | "<=" | ">" | ">="

/** A relation as somebody can follow it. `rows`: which records of the target exist for them. Whoever makes a `Way` has decided that. */
export interface Way extends FilterWay {
  readonly relation: Relation
  /** The target, and its field that pairs with `relation.from`. */
  readonly model: Model
  readonly to: Field
  readonly rows: FilterTree
}

/**
 * A key of an order of records. With `ways` the field is the target's at the end of these relations, each to one record: a record that leads to none that
 * is seen has a null there.
 */
export interface OrderKey<F extends FilterField = Field, W extends FilterWay = Way> extends SortKey<F> {
  readonly ways?: readonly W[]
}

/** An order's key through relations, if it has one. There is one at most. */
export const pathOf = (order: readonly OrderKey[]): Required<OrderKey> | null =>
  order.find((key): key is Required<OrderKey> => key.ways !== undefined) ?? null

/** The relations that an order goes through, as paths. */
export const pathsIn = (order: readonly OrderKey[]): ReadonlyArray<readonly Way[]> => {
  const path = pathOf(order)
  return path === null ? [] : [path.ways]
}

/** The keys that are fields of the record itself. */
export const ownKeys = (order: readonly OrderKey[]): readonly SortKey[] =>
  pathOf(order) === null ? order : order.filter(({ ways }) => ways === undefined)

/**
 * Two-valued: `compare`, `pair`, `in`, `match`, `contains`, `same`, `search`, `similar`, `regex`, `has` and `length` are false on a null. `not` is plain negation, so
 * `not(status = "paid")` holds for a null status. `!=` is `not(=)`.
 */
export type FilterTree<F extends FilterField = Field, W extends FilterWay = Way> =
  | { readonly op: "true" }
  | { readonly op: "false" }
  | { readonly op: "and" | "or"; readonly items: readonly FilterTree<F, W>[] }
  | { readonly op: "not"; readonly item: FilterTree<F, W> }
  | { readonly op: "compare"; readonly field: F; readonly is: Comparison; readonly value: Operand }
  /** Two fields of one record, which both have a value. Texts compare by code point, whatever the collations of their columns. */
  | { readonly op: "pair"; readonly field: F; readonly is: Comparison; readonly other: F }
  | { readonly op: "in"; readonly field: F; readonly values: readonly Operand[] }
  | { readonly op: "null"; readonly field: F }
  /** The range has a value in common with another. A value of its own kind stands for the range that holds nothing else. */
  | { readonly op: "overlaps"; readonly field: Extract<F, { readonly kind: "range" }>; readonly value: Operand }
  /** Text `=` with wildcards: literal parts between which anything may stand. `["a", ""]` is `a*`. Case-sensitive, whole value. */
  | { readonly op: "match"; readonly field: F; readonly parts: readonly string[] }
  /** Text `:`: contains, ignoring case (simple case folding: both sides lower-cased as PostgreSQL's C.UTF-8 `lower` does). */
  | { readonly op: "contains"; readonly field: F; readonly text: string }
  /** Text, ignoring case as `contains` does: the whole value, or its beginning. */
  | { readonly op: "same"; readonly field: F; readonly text: string; readonly whole: boolean }
  /** Bare words, phrases, `search('…')`: some field of `fields` contains the text, ignoring case. */
  | { readonly op: "search"; readonly fields: readonly F[]; readonly text: string }
  /** A search vector has words of the text, by `websearch_to_tsquery` with the configuration of the vector. Only the database decides it. */
  | { readonly op: "words"; readonly field: F; readonly text: string }
  /** pg_trgm similarity at or above 0.3. `span`: the call's place in the text it was read from; it says nothing about rows. */
  | { readonly op: "similar"; readonly field: F; readonly text: string; readonly span?: Span }
  /**
   * PostgreSQL regular expression (case-sensitive, partial match). `span` as above. `only`: the rows that the pattern may look at. Without
   * it the database would choose what runs first, and the time that a pattern takes tells something about the text.
   */
  | {
    readonly op: "regex"
    readonly field: F
    readonly pattern: string
    readonly span?: Span
    readonly only?: FilterTree<F, W>
  }
  /** Some element of the list equals one of the values, which are of the kind of the elements. */
  | { readonly op: "has"; readonly field: Extract<F, { readonly kind: "list" }>; readonly values: readonly Operand[] }
  /** The number of the list's elements, compared with `number`. Nulls count, and elements of arrays in the array. */
  | {
    readonly op: "length"
    readonly field: Extract<F, { readonly kind: "list" }>
    readonly is: Comparison
    readonly number: number
  }
  /**
   * At least one record at the end of the way passes `item`, a tree over the target. A record without related ones has none. `span`: the place of
   * the condition in the text.
   */
  | { readonly op: "some"; readonly way: W; readonly item: FilterTree<F, W>; readonly span?: Span }
  /** The number of records at the end of the way that pass `item`, compared with `number`. */
  | {
    readonly op: "count"
    readonly way: W
    readonly item: FilterTree<F, W>
    readonly is: Comparison
    readonly number: number
    readonly span?: Span
  }

/** Conditions about related records. */
export type RelatedTree<F extends FilterField = Field, W extends FilterWay = Way> = Extract<
  FilterTree<F, W>,
  { readonly op: "some" | "count" }
>

export const always: { readonly op: "true" } = { op: "true" }
export const never: { readonly op: "false" } = { op: "false" }

/** The conjunction of trees, flattened, with constants folded. */
export const allOf = <F extends FilterField = Field, W extends FilterWay = Way>(
  trees: readonly FilterTree<F, W>[]
): FilterTree<F, W> => {
  const items: FilterTree<F, W>[] = []
  for (const tree of trees) {
    if (tree.op === "false") return never
    if (tree.op === "true") continue
    if (tree.op === "and") items.push(...tree.items)
    else items.push(tree)
  }
  return items.length === 0 ? always : items.length === 1 ? items[0]! : { op: "and", items }
}

const pairs = new WeakMap<FilterTree, WeakMap<FilterTree, FilterTree>>()

/** The conjunction of two trees. The same two trees give the same object, so that what is compiled from it can be cached. */
export const both = (left: FilterTree, right: FilterTree): FilterTree => {
  if (left.op === "true") return right
  if (right.op === "true") return left
  let byRight = pairs.get(left)
  if (byRight === undefined) pairs.set(left, byRight = new WeakMap())
  let tree = byRight.get(right)
  if (tree === undefined) byRight.set(right, tree = allOf([left, right]))
  return tree
}

/** The disjunction of trees, flattened, with constants folded. */
export const anyOf = <F extends FilterField = Field, W extends FilterWay = Way>(
  trees: readonly FilterTree<F, W>[]
): FilterTree<F, W> => {
  const items: FilterTree<F, W>[] = []
  for (const tree of trees) {
    if (tree.op === "true") return always
    if (tree.op === "false") continue
    if (tree.op === "or") items.push(...tree.items)
    else items.push(tree)
  }
  return items.length === 0 ? never : items.length === 1 ? items[0]! : { op: "or", items }
}

/** The conditions of a kind in a tree, those on related records included, in the order in which they stand in the text. */
export const conditionsOf = <O extends FilterTree["op"], F extends FilterField = Field, W extends FilterWay = Way>(
  tree: FilterTree<F, W>,
  op: O
): ReadonlyArray<Extract<FilterTree<F, W>, { readonly op: O }>> =>
  tree.op === op
    ? [tree as Extract<FilterTree<F, W>, { readonly op: O }>]
    : tree.op === "and" || tree.op === "or"
    ? tree.items.flatMap((item) => conditionsOf(item, op))
    : tree.op === "not" || tree.op === "some" || tree.op === "count"
    ? conditionsOf(tree.item, op)
    : []

/** All values that the conditions of a tree compare with, those on related records included. */
export const operandsOf = (tree: AnyTree): readonly Operand[] => {
  switch (tree.op) {
    case "and":
    case "or":
      return tree.items.flatMap(operandsOf)
    case "not":
    case "some":
    case "count":
      return operandsOf(tree.item)
    default:
      // Whatever a condition is: its values have these names.
      return "values" in tree ? tree.values : "value" in tree ? [tree.value] : []
  }
}

const confinements = new WeakMap<AnyTree, WeakMap<AnyTree, AnyTree>>()

/**
 * The tree, with its patterns confined to `rows`. The same two trees give the same object. For conditions that are asked together with `rows`. Patterns on
 * related records were confined when their way was made.
 */
export function confined<F extends FilterField = Field, W extends FilterWay = Way>(
  tree: FilterTree<F, W>,
  rows: FilterTree<F, W>
): FilterTree<F, W>
export function confined(tree: AnyTree, rows: AnyTree): AnyTree {
  if (rows.op === "true" || conditionsOf(tree, "regex").length === 0) return tree
  let byTree = confinements.get(rows)
  if (byTree === undefined) confinements.set(rows, byTree = new WeakMap())
  let made = byTree.get(tree)
  if (made === undefined) byTree.set(tree, made = confine(tree, rows))
  return made
}

const confine = (tree: AnyTree, rows: AnyTree): AnyTree => {
  switch (tree.op) {
    case "and":
    case "or":
      return { op: tree.op, items: tree.items.map((item) => confine(item, rows)) }
    case "not":
      return { op: "not", item: confine(tree.item, rows) }
    case "regex":
      return { ...tree, only: rows }
    default:
      return tree
  }
}

/** The negation of a tree; constants and double negations fold. */
export const not = <F extends FilterField = Field, W extends FilterWay = Way>(
  tree: FilterTree<F, W>
): FilterTree<F, W> =>
  tree.op === "true" ? never : tree.op === "false" ? always : tree.op === "not" ? tree.item : { op: "not", item: tree }

/** Values that operands refer to. `now` is microseconds since 1970-01-01T00:00:00Z. */
export interface Bindings {
  readonly caller: { readonly id: string; readonly tenant: string | null; readonly roles?: readonly string[] }
  readonly now: bigint
  /** Canonical texts for `param` operands. */
  readonly params: readonly string[]
  /** Of a function of the database: the cells of its arguments. Undefined: left to the function's own default. */
  readonly args?: ReadonlyArray<string | null | undefined>
}

/** A condition about related records, over whatever fields. */
export type AnyRelated = RelatedTree<FilterField, FilterWay>

const relatedTrees = new WeakMap<AnyTree, readonly AnyRelated[]>()

const relatedIn = (tree: AnyTree): readonly AnyRelated[] => {
  switch (tree.op) {
    case "and":
    case "or":
      return tree.items.flatMap(relatedIn)
    case "not":
      return relatedIn(tree.item)
    case "some":
    case "count":
      return [tree, ...relatedIn(tree.way.rows), ...relatedIn(tree.item)]
    default:
      return nothingRelated
  }
}

const nothingRelated: readonly AnyRelated[] = []

/** All conditions about related records in a tree, also those inside others and in the rows that they see. */
export function relatedOf<F extends FilterField = Field, W extends FilterWay = Way>(
  tree: FilterTree<F, W>
): readonly RelatedTree<F, W>[]
export function relatedOf(tree: AnyTree): readonly AnyRelated[] {
  let related = relatedTrees.get(tree)
  if (related === undefined) relatedTrees.set(tree, related = relatedIn(tree))
  return related
}

/** Whether a tree asks for related records, so that only the database can judge it. */
export const goesThrough = (tree: AnyTree): boolean => relatedOf(tree).length > 0

/** The field of a record that a field of a filter is, or is a part of. */
const wholeOf = (field: Field): Field => field.member?.of ?? field

/** The fields of the record itself that a filter asks for; of a relation that is its near side, of a path into JSON the whole. */
export const fieldsOf = (tree: FilterTree, into: Set<Field> = new Set()): ReadonlySet<Field> => {
  switch (tree.op) {
    case "true":
    case "false":
      break
    case "and":
    case "or":
      for (const item of tree.items) fieldsOf(item, into)
      break
    case "not":
      fieldsOf(tree.item, into)
      break
    case "search":
      for (const field of tree.fields) into.add(field)
      break
    case "pair":
      into.add(wholeOf(tree.field)).add(wholeOf(tree.other))
      break
    case "some":
    case "count":
      into.add(tree.way.relation.from)
      break
    default:
      into.add(wholeOf(tree.field))
  }
  return into
}
