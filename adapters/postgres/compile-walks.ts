/**
 * Pages in an order through relations, as statements. A sort of a whole join would read every row, so a page is a sequence of walks, each of which an
 * index can serve: rows with a value at the end of the path are joined with it, rows without one are found by an anti join. A walk begins only when those
 * before it did not fill the page. What to read was decided by the plan.
 */

import type { FilterTree, OrderKey, Way } from "../../core/domain/filter/tree.ts"
import { always, anyOf, not, pathOf } from "../../core/domain/filter/tree.ts"
import { sortText } from "../../core/domain/model/expression.ts"
import { identityOf } from "../../core/domain/model/model.ts"
import type { PageShape } from "../../core/domain/read/plan.ts"
import { columnOf, conditionSql, joinSql, passing, placeOf, sameRows, sortOf, writtenOnce } from "./compile-filter.ts"
import { cellSql, identifier, type Statement, tableOf, type Writer } from "./sql.ts"

/**
 * What the database pledges of a relation: a value of the near column that is not null has a row on the far side, and whether the near column is never
 * null. Null: it pledges nothing.
 */
export interface Pledge {
  readonly held: boolean
  readonly filled: boolean
}

/** Which rows a walk goes through: those with a value at the end of the path, or those without. */
type Side = "with" | "without"

/** A part of the rows that follow a position; `side` null: rows of both sides, in one order. */
interface Step {
  readonly conditions: readonly string[]
  readonly side: Side | null
}

/** The order of a page, with its columns as SQL. */
interface Walked {
  readonly order: readonly OrderKey[]
  /** The place of the path among the keys. */
  readonly at: number
  readonly columns: readonly string[]
}

/** The name of the path's value among the columns of a table. No column of a model has it. */
const pathName = "\"value of the path\""

const opposite: { readonly [side in Side]: Side } = { with: "without", without: "with" }

/** The steps of a walk from the beginning. */
const firstSteps = ({ at, order }: Walked): readonly Step[] => {
  if (at > 0) return [{ conditions: [], side: null }]
  // Nulls stand last ascending and first descending.
  const first: Side = order[at]!.descending ? "without" : "with"
  return [{ conditions: [], side: first }, { conditions: [], side: opposite[first] }]
}

/** The steps of a walk from a position: each is one range, and all rows of one precede those of the next. */
const stepsAfter = (walked: Walked, nulls: readonly boolean[], writer: Writer): readonly Step[] => {
  const { at, columns, order } = walked
  const last = order.length - 1
  const places = order.map(({ field }, i) => nulls[i] === true ? "null" : placeOf(field, writer.given(i)))
  const equal = order.map((_, i) =>
    nulls[i] !== true ? [`${columns[i]} = ${places[i]}`] : i === at ? [] : [`${columns[i]} is null`]
  )
  const side: Side = nulls[at] === true ? "without" : "with"
  const optional = (i: number): boolean => i === at || order[i]!.field.optional
  // Own columns at the end that have one direction and no nulls are compared as one row. No index serves a row of two tables.
  let tail = last
  while (
    tail > at + 1 && nulls[tail - 1] !== true && order[tail - 1]!.descending === order[last]!.descending &&
    !optional(tail) && !optional(tail - 1)
  ) tail--
  const row = (items: readonly string[]) => `(${items.slice(tail).join(", ")})`
  const steps: Step[] = []
  for (let i = last; i >= 0; i--) {
    if (i > tail) continue
    const { descending } = order[i]!
    const before = equal.slice(0, i).flat()
    const sideOf = (own: Side): Side | null => i > at ? side : i === at ? own : null
    if (nulls[i] === true) {
      if (!descending) continue
      steps.push({ conditions: i === at ? before : [...before, `${columns[i]} is not null`], side: sideOf("with") })
      continue
    }
    const sign = descending ? "<" : ">"
    const beyond = i === tail && tail < last
      ? `${row(columns)} ${sign} ${row(places)}`
      : `${columns[i]} ${sign} ${places[i]}`
    steps.push({ conditions: [...before, beyond], side: sideOf("with") })
    if (!descending && optional(i)) {
      steps.push({ conditions: i === at ? before : [...before, `${columns[i]} is null`], side: sideOf("without") })
    }
  }
  return steps
}

const conjunctsOf = (tree: FilterTree): readonly FilterTree[] => tree.op === "and" ? tree.items : [tree]

/** The condition that a record at the end of the ways, as it is seen, passes a tree. */
const through = (ways: readonly Way[], tree: FilterTree): FilterTree =>
  ways.reduceRight<FilterTree>((item, way) => ({ op: "some", way, item }), tree)

/** Conditions of which a record without a value at the end of the path passes just one; none where the database promises that each has a value. */
const withoutTrees = (
  { field, ways }: Required<OrderKey>,
  pledges: readonly Pledge[]
): readonly FilterTree[] => {
  const empty: FilterTree = { op: "null", field }
  if (pledges.length < ways.length || !pledges.every((each) => each.held)) {
    return [not(through(ways, field.optional ? not(empty) : always))]
  }
  // Each is driven from the few records at which the path ends early, where an anti join would go through all at which it does not.
  const ends = ways.flatMap((way, i): readonly FilterTree[] => [
    ...pledges[i]!.filled ? [] : [through(ways.slice(0, i), { op: "null", field: way.relation.from })],
    ...way.rows.op === "true"
      ? []
      : [through([...ways.slice(0, i), { ...way, rows: always }], anyOf(conjunctsOf(way.rows).map(not)))]
  ])
  return field.optional ? [...ends, through(ways, empty)] : ends
}

/** The joins of the path, whose tables have these names. */
const joinsOf = (
  ways: readonly Way[],
  names: readonly string[],
  kind: "join" | "left join",
  writer: Writer
): string => ways.map((way, i) => joinSql(kind, way, i === 0 ? "t" : names[i - 1]!, names[i]!, writer)).join("")

/** An order through relations of rows `t` that are few: what is joined to each row, and the order as SQL. */
export const joinedOrder = (
  order: readonly OrderKey[],
  writer: Writer
): { readonly joins: string; readonly sorted: string } => {
  const { field: last, ways: path } = pathOf(order)!
  const names = path.map(() => writer.alias())
  const joins = joinsOf(path, names, "left join", writer)
  const value = sortText(last, columnOf(names.at(-1)!, last))
  const columns = order.map(({ field, ways }) => ways === undefined ? sortOf("t", field) : value)
  return { joins, sorted: listOf(columns, order) }
}

/** What makes one statement of a shape differ from another. */
export interface WalkVariant {
  readonly reversed: boolean
  /** Which cells of the position are null; empty: from the beginning. */
  readonly nulls: readonly boolean[]
  readonly skips: boolean
  readonly counted: number | null
  readonly whole: boolean
  readonly pledges: readonly Pledge[]
}

/** The parts of a statement that all forms share. */
interface Page {
  readonly shape: PageShape
  readonly order: readonly OrderKey[]
  readonly path: Required<OrderKey>
  readonly at: number
  readonly outputsOf: (writer: Writer) => readonly string[]
}

const textOf = (column: string, { field }: OrderKey): string => cellSql(field, column)

const listOf = (columns: readonly string[], order: readonly OrderKey[]): string =>
  columns.map((column, i) => `${column}${order[i]!.descending ? " desc" : ""}`).join(", ")

const sortedBy = (columns: readonly string[], order: readonly OrderKey[]): string =>
  ` order by ${listOf(columns, order)}`

const whereOf = (conditions: readonly string[]): string =>
  conditions.length === 0 ? "" : ` where ${conditions.join(" and ")}`

/** The page with its path joined to every row that passes: for few rows, or where walks do not end soon. */
const joined = (page: Page, variant: WalkVariant, writer: Writer): Statement => {
  const { at, order, outputsOf, path, shape } = page
  writer.stable = false
  const { counted, nulls, pledges, skips } = variant
  const alone = withoutTrees(path, pledges).length === 0
  const names = path.ways.map(() => writer.alias())
  const joins = joinsOf(path.ways, names, alone ? "join" : "left join", writer)
  const value = columnOf(names.at(-1)!, path.field)
  const near = order.map(({ field, ways }) => ways === undefined ? sortOf("t", field) : sortText(field, value))
  const sidesOf: { readonly [side in Side]: string } = { with: `${value} is not null`, without: `${value} is null` }
  const following = nulls.length === 0 ?
    [] :
    stepsAfter({ order, at, columns: near }, nulls, writer).map((step) =>
      `(${[...step.conditions, ...step.side === null ? [] : [sidesOf[step.side]]].join(" and ")})`
    )
  const conditions = [
    ...shape.where.op === "true" ? [] : [conditionSql(shape.where, "t", writer)],
    ...following.length === 0 ? [] : [`(${following.join(" or ")})`]
  ]
  const list = [...outputsOf(writer), textOf(`t.${pathName}`, path)].join(", ")
  const sorted = sortedBy(
    order.map(({ field, ways }) => ways === undefined ? sortOf("t", field) : sortText(field, `t.${pathName}`)),
    order
  )
  const from = ` from ${writer.from(shape.model)} t${joins}${whereOf(conditions)}`
  // Only columns of the model are named, because the role may not be allowed to read others.
  const ranked = order.flatMap(({ field }) => field.rank === undefined ? [] : [`t.${identifier(field.column)}`])
  const read = [...new Set([...shape.model.columns.map((field) => columnOf("t", field)), ...ranked])].join(", ")
  const rows = `select ${read}, ${value} as ${pathName}${from}`
  if (counted !== null) {
    return writer.finish(
      `with ${passing} as materialized (${rows} limit ${counted})` +
        ` select ${list}, (select count(*) from ${passing})::text from ${passing} t${sorted} limit ${shape.limit}`
    )
  }
  const skipped = skips ? ` offset ${writer.add({ of: "offset" })}::bigint` : ""
  // What has an offset is planned by itself: a walk in the page's order cannot take its place.
  return writer.finish(`select ${list} from (${rows} offset 0) t${sorted} limit ${shape.limit}${skipped}`)
}

/** What the rows of walks are made of, and how many of them are needed, as SQL. */
interface WalkOutput {
  readonly outputs: readonly string[]
  readonly limit: string
}

/** The walks of a page, each as a query by itself, in the order in which they are needed. `only`: those of one side from the beginning. */
const walksOf = (
  page: Page,
  variant: WalkVariant,
  { limit, outputs }: WalkOutput,
  writer: Writer,
  only?: Side
): readonly string[] => {
  const { at, order, path, shape } = page
  const names = path.ways.map(() => writer.alias())
  // A value decides which rows come first, so no plan is good for every value.
  writer.stable = false
  const value = columnOf(names.at(-1)!, path.field)
  const columns = order.map(({ field, ways }) => ways === undefined ? sortOf("t", field) : sortText(field, value))
  const walked = { order, at, columns }
  const without = withoutTrees(path, variant.pledges)
  const steps = only !== undefined
    ? [{ conditions: [], side: only }]
    : variant.nulls.length === 0
    ? firstSteps(walked)
    : stepsAfter(walked, variant.nulls, writer)
  // A null has a type, and a collation, as the values beside it have them.
  const last = path.ways.at(-1)!
  const nothing = `(select ${columnOf("n", path.field)} from ${tableOf(last.model)} n where false)`
  const named = outputs.map((column, i) => `${column} as c${i}`)
  const ends = (own: string): string =>
    [
      ...named,
      `${textOf(own, path)} as p`,
      ...order.map((_, i) => `${i === at ? sortText(path.field, own) : columns[i]} as k${i}`)
    ].join(", ")
  const where = shape.where.op === "true" ? [] : [writtenOnce(shape.where, "t", writer)]
  const limited = ` limit ${limit}`
  // Written where it is first used: a statement has no parameter that it does not name.
  let joins: string | null = null
  const parts = (side: Side, conditions: readonly string[]): readonly string[] => {
    if (side === "with") {
      joins ??= joinsOf(path.ways, names, "join", writer)
      const all = [...where, ...path.field.optional ? [`${value} is not null`] : [], ...conditions]
      return [
        `select ${ends(value)} from ${writer.from(shape.model)} t${joins}${whereOf(all)}${
          sortedBy(columns, order)
        }${limited}`
      ]
    }
    const own = order.filter((_, i) => i !== at)
    const sorted = sortedBy(columns.filter((_, i) => i !== at), own)
    return without.map((tree) => {
      const all = [...where, writtenOnce(tree, "t", writer), ...conditions]
      return `select ${ends(nothing)} from ${writer.from(shape.model)} t${whereOf(all)}${sorted}${limited}`
    })
  }
  const keys = order.map((_, i) => `k${i}`)
  return steps.flatMap(({ conditions, side }) => {
    const all = side === null
      ? [...parts("with", conditions), ...parts("without", conditions)]
      : parts(side, conditions)
    return all.length < 2
      ? all
      : [`select * from (${all.map((part) => `(${part})`).join(" union all ")}) y${sortedBy(keys, order)}${limited}`]
  })
}

const pageOf = (shape: PageShape, reversed: boolean, outputsOf: Page["outputsOf"]): Page => {
  const order = reversed ? shape.order.map((key) => ({ ...key, descending: !key.descending })) : shape.order
  const path = pathOf(order)!
  return { shape, order, path, at: order.indexOf(path), outputsOf }
}

/** A page in an order through relations. `outputsOf` says what a row is made of; the cell of the path follows. */
export const walkStatement = (
  shape: PageShape,
  outputsOf: Page["outputsOf"],
  variant: WalkVariant,
  writer: Writer
): Statement => {
  const page = pageOf(shape, variant.reversed, outputsOf)
  const { at, order, path } = page
  // A position of a row without a value, of which there are none now: no walk leads on from there.
  const lost = variant.nulls[at] === true && withoutTrees(path, variant.pledges).length === 0
  if (variant.counted !== null || variant.whole || lost) return joined(page, variant, writer)
  const { skips } = variant
  const identity = identityOf(shape.model)
  const own = outputsOf(writer)
  // Of rows that are skipped, or sorted and left out, only the keys are read: what else a row is made of may cost much.
  const offset = skips ? `${writer.add({ of: "offset" })}::bigint` : null
  const narrow = skips || shape.checks.length > 0 || (shape.hashed ?? []).length > 0
  const wanted: WalkOutput = {
    outputs: narrow ? identity.map((field) => columnOf("t", field)) : own,
    limit: offset === null ? String(shape.limit) : `(${offset} + ${shape.limit})`
  }
  const walks = walksOf(page, variant, wanted, writer)
  const sorted = sortedBy(order.map((_, i) => `u.k${i}`), order)
  const finish = (head: string, rows: string): Statement => {
    if (!narrow) {
      const list = [...own.map((_, i) => `u.c${i}`), "u.p"].join(", ")
      return writer.finish(`${head}select ${list} from ${rows} u${sorted} limit ${shape.limit}`)
    }
    const pairs = sameRows(page.shape.model, page.shape.where, (_, i) => `u.c${i}`, writer)
    return writer.finish(
      `${head}select ${[...own, "u.p"].join(", ")} from (select * from ${rows} u${sorted} limit ${shape.limit}` +
        `${offset === null ? "" : ` offset ${offset}`}) u join ${writer.from(page.shape.model)} t on ${pairs}${sorted}`
    )
  }
  if (walks.length < 2) return finish("", `(${walks[0]!})`)
  const walked: string[] = []
  const named = walks.map((walk, i) => {
    const before = walked.map((name) => ` - (select count(*) from ${name})`).join("")
    // Names of a `with` hide tables of the same name. No table is called like these.
    const name = `"walk ${i}"`
    walked.push(name)
    // The inner limit tells the planner to expect few rows; the outer one reads none where the page is full.
    return i === 0
      ? `${name} as materialized (${walk})`
      : `${name} as materialized (select * from (${walk}) x limit (select greatest(${wanted.limit}${before}, 0)))`
  })
  return finish(`with ${named.join(", ")} `, `(${walked.map((name) => `select * from ${name}`).join(" union all ")})`)
}

/** The walks from the beginning, each as a page by itself, for the judgement of their costs: of rows with a value, then of those without. */
export const judgedWalks = (
  shape: PageShape,
  outputsOf: Page["outputsOf"],
  pledges: readonly Pledge[],
  make: () => Writer
): readonly Statement[] => {
  const page = pageOf(shape, false, outputsOf)
  const variant: WalkVariant = { reversed: false, nulls: [], skips: false, counted: null, whole: false, pledges }
  const sides: ReadonlyArray<Side | undefined> = page.at === 0 ? ["with", "without"] : [undefined]
  return sides.flatMap((side) => {
    const writer = make()
    const wanted: WalkOutput = { outputs: outputsOf(writer), limit: String(shape.limit) }
    return walksOf(page, variant, wanted, writer, side).map((walk) => writer.finish(walk))
  })
}
