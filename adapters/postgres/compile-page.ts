/**
 * Pages and counts as statements. A page is one statement, its per-row checks included. Positions are written so that an index on the
 * order finds the first row at once: a deep page costs what the first one costs. What to read was decided by the plan.
 */

import { BoundedMap } from "../../core/domain/bounded.ts"
import { partsOf } from "../../core/domain/filter/merge.ts"
import type { FilterTree } from "../../core/domain/filter/tree.ts"
import { pathOf } from "../../core/domain/filter/tree.ts"
import type { Field, Model, SortKey } from "../../core/domain/model/model.ts"
import { identityOf } from "../../core/domain/model/model.ts"
import { cellEnd, hasTimes, isFreeText } from "../../core/domain/read/etag.ts"
import type { CountPlan, PagePlan, PageShape } from "../../core/domain/read/plan.ts"
import { columnOf, conditionSql, passing, placeOf, sameRows, sortOf, truthSql } from "./compile-filter.ts"
import { judgedWalks, type Pledge, walkStatement } from "./compile-walks.ts"
import { cellSql, givenArguments, identifier, type Statement, Writer } from "./sql.ts"

/** A column as text. Its name in the output must not be that of the column, as `order by` would then sort the texts. */
export const textColumn = (alias: string, field: Field): string => cellSql(field, columnOf(alias, field))

/** What `hashedText` writes of a field, as arguments of `concat`, to which null is an empty text. */
const hashedCell = (field: Field): string => {
  const text = textColumn("t", field)
  return isFreeText(field)
    ? `octet_length(${text}), ':', ${text}`
    : `${
      !hasTimes(field)
        ? text
        : `replace(replace(${field.kind === "range" ? `replace(${text}, '"', '')` : text}, ' ', ''), '+00', '')`
    }, chr(${cellEnd.charCodeAt(0)})`
}

/** Fields of one `concat`: a function takes at most 100 arguments. */
const concatFields = 33

/** The hash of some cells. */
const hashSql = (fields: readonly Field[]): string => {
  const parts: string[] = []
  for (let i = 0; i < fields.length; i += concatFields) {
    parts.push(`concat(${fields.slice(i, i + concatFields).map(hashedCell).join(", ")})`)
  }
  return `encode(sha256(convert_to(${parts.join(" || ")}, 'UTF8')), 'hex')`
}

/** What a row of a page is made of, as SQL. */
export const outputs = (shape: PageShape, writer: Writer): readonly string[] => {
  // The text of a rank stands in the statement, and nobody sends the same one twice.
  if (shape.order.some(({ field }) => field.rank !== undefined)) writer.stable = false
  return [
    ...shape.columns.map((field) => textColumn("t", field)),
    ...shape.checks.map((check) => `${truthSql(check, "t", writer)}::text`),
    ...(shape.hashed === undefined || shape.hashed.length === 0 ? [] : [hashSql(shape.hashed)])
  ]
}

export const orderSql = (order: readonly SortKey[], alias: string, reversed: boolean): string =>
  order.map(({ descending, field }) => `${sortOf(alias, field)}${descending !== reversed ? " desc" : ""}`).join(", ")

const reverse = (order: readonly SortKey[]): readonly SortKey[] =>
  order.map(({ descending, field }) => ({ field, descending: !descending }))

/** One way in which a row can follow a position. The branches together cover all such rows, and no row is in two. */
type Branch = readonly string[]

/**
 * The rows that follow a position in `order`, as branches. One range of an index on the order serves each branch. Nulls come last ascending
 * and first descending, also in a reversed order.
 */
const branchesAfter = (order: readonly SortKey[], nulls: readonly boolean[], writer: Writer): readonly Branch[] => {
  const columns = order.map(({ field }) => sortOf("t", field))
  const places = order.map(({ field }, index) => nulls[index] === true ? "null" : placeOf(field, writer.given(index)))
  const equal = order.map((_, index) =>
    nulls[index] === true ? `${columns[index]} is null` : `${columns[index]} = ${places[index]}`
  )
  const last = order.length - 1

  // The last keys that have one direction and known values are compared as one row. The longest such tail is taken.
  let tail = last
  while (tail > 0 && nulls[tail - 1] !== true && order[tail - 1]!.descending === order[last]!.descending) tail--
  const branches: Branch[] = []
  if (nulls[last] === true) tail = order.length
  else {
    const sign = order[last]!.descending ? "<" : ">"
    const row = (items: readonly string[]) => tail === last ? items[last]! : `(${items.slice(tail).join(", ")})`
    branches.push([...equal.slice(0, tail), `${row(columns)} ${sign} ${row(places)}`])
    // A null in the tail makes the comparison of rows unknown. That is right for rows before the position (descending), and wrong for rows
    // after it.
    for (let i = last; i >= tail && !order[last]!.descending; i--) {
      if (order[i]!.field.optional) branches.push([...equal.slice(0, i), `${columns[i]} is null`])
    }
  }
  for (let i = tail - 1; i >= 0; i--) {
    const { descending, field } = order[i]!
    const before = equal.slice(0, i)
    if (nulls[i] === true) {
      if (descending) branches.push([...before, `${columns[i]} is not null`])
    } else {
      branches.push([...before, `${columns[i]} ${descending ? "<" : ">"} ${places[i]}`])
      if (!descending && field.optional) branches.push([...before, `${columns[i]} is null`])
    }
  }
  return branches
}

/** What makes one statement of a shape differ from another: direction, skipping, and which cells of the position are null. */
interface Variant {
  readonly direction: "first" | "after" | "before"
  readonly nulls: readonly boolean[]
  readonly skips: boolean
  /** The skipped rows are counted from the beginning and walked from the end. */
  readonly fromEnd: boolean
  readonly counted: number | null
  readonly whole: boolean
}

const compile = (
  shape: PageShape,
  variant: Variant,
  writer: Writer,
  pledges: readonly Pledge[] = nothingPledged
): Statement => {
  if (pathOf(shape.order) !== null) {
    return walkStatement(
      shape,
      (own) => outputs(shape, own),
      { ...variant, reversed: variant.direction === "before", pledges },
      writer
    )
  }
  const { limit, model } = shape
  // Each mention of a function has parameters of its own.
  const table = () => writer.from(model)
  const reversed = variant.direction === "before"
  const order = reversed ? reverse(shape.order) : shape.order
  const sorted = order.length === 0 ? "" : ` order by ${orderSql(order, "t", false)}`
  // A statement has no parameter that it does not name.
  const inParts = variant.whole && variant.counted === null
  const where = inParts ? "" : conditionSql(shape.where, "t", writer)
  const columns = outputs(shape, writer)
  const list = columns.length === 0 ? "1" : columns.join(", ")
  // Without a position every row follows it: the first page, or the last one when reversed.
  const branches: readonly Branch[] = variant.nulls.length === 0 ? [[]] : branchesAfter(order, variant.nulls, writer)
  const condition = (branch: Branch): string => {
    const all = shape.where.op === "true" ? branch : [...branch, where]
    return all.length === 0 ? "" : ` where ${all.join(" and ")}`
  }

  // Only columns of the model are named, because the role may not be allowed to read others.
  const ranked = order.flatMap(({ field }) => field.rank === undefined ? [] : [`t.${identifier(field.column)}`])
  const read = [...new Set([...model.columns.map((field) => columnOf("t", field)), ...ranked])].join(", ")
  const anyOf = (all: readonly Branch[]): Branch =>
    all.length === 1 ? all[0]! : [`(${all.map((branch) => `(${branch.join(" and ")})`).join(" or ")})`]

  if (variant.counted !== null) {
    // All rows that pass are read once, for the page and for their number, but no further than the cap: the planner may have been wrong.
    const rows = `select ${read} from ${table()} t${condition([])} limit ${variant.counted}`
    return writer.finish(
      `with ${passing} as materialized (${rows}) select ${list}, (select count(*) from ${passing})::text` +
        ` from ${passing} t${sorted} limit ${limit}`
    )
  }

  if (inParts) {
    // What has an offset is planned by itself: a walk in the page's order cannot take its place.
    writer.stable = false
    const skipped = variant.skips ? ` offset ${writer.add({ of: "offset" })}::bigint` : ""
    const following = branches.every((branch) => branch.length === 0) ? [] : anyOf(branches)
    const found = partsOf(shape.where).map((part) => {
      const all = part.op === "true" ? following : [...following, conditionSql(part, "t", writer)]
      return `select ${read} from ${table()} t${all.length === 0 ? "" : ` where ${all.join(" and ")}`}`
    }).join(" union all ")
    return writer.finish(`select ${list} from (${found} offset 0) t${sorted} limit ${limit}${skipped}`)
  }

  if (variant.fromEnd) {
    writer.stable = false
    const position = `${writer.add({ of: "offset" })}::bigint`
    const identity = identityOf(model)
    const keys = identity.map((field) => columnOf("t", field)).join(", ")
    const pairs = sameRows(model, shape.where, (field) => columnOf("p", field), writer)
    // Rows and their number are of one snapshot, so a walk from the beginning finds the same page.
    const total = "\"rows in all\""
    const all = condition([])
    const back = orderSql(order, "t", true)
    return writer.finish(
      `with ${total} as materialized (select count(*) as n from ${table()} t${all})` +
        ` select ${list} from (select ${keys} from ${table()} t${condition([])} order by ${back}` +
        ` limit (select greatest(least(${limit}, n - ${position}), 0) from ${total})` +
        ` offset (select greatest(n - ${position} - ${limit}, 0) from ${total})) p join ${table()} t on ${pairs}${sorted}`
    )
  }

  if (variant.skips) {
    writer.stable = false
    const offset = writer.add({ of: "offset" })
    // Skipped rows are read in the index only. The rows of the page alone are read from the table.
    const all = anyOf(branches)
    const identity = identityOf(model)
    const keys = identity.map((field) => columnOf("t", field)).join(", ")
    const pairs = sameRows(model, shape.where, (field) => columnOf("p", field), writer)
    return writer.finish(
      `select ${list} from (select ${keys} from ${table()} t${
        condition(all)
      }${sorted} limit ${limit} offset ${offset}::bigint) p` +
        ` join ${table()} t on ${pairs}${sorted}`
    )
  }

  if (branches.length === 1) {
    return writer.finish(`select ${list} from ${table()} t${condition(branches[0]!)}${sorted} limit ${limit}`)
  }

  // Each branch stops after a page; the outer order merges them.
  const named = columns.map((column, i) => `${column} as c${i}`)
  const keys = order.map(({ field }, i) => `${sortOf("t", field)} as k${i}`)
  const parts = branches.map((branch) =>
    `(select ${[...named, ...keys].join(", ")} from ${table()} t${condition(branch)}${sorted} limit ${limit})`
  )
  const merged = order.map(({ descending }, i) => `u.k${i}${descending ? " desc" : ""}`).join(", ")
  const out = columns.length === 0 ? "1" : columns.map((_, i) => `u.c${i}`).join(", ")
  return writer.finish(`select ${out} from (${parts.join(" union all ")}) u order by ${merged} limit ${limit}`)
}

const pages = new WeakMap<PageShape, BoundedMap<string, Statement>>()

/**
 * How many statements of one shape are remembered. Which cells of a position are null depends on the rows, and many columns allow very many
 * combinations.
 */
const mostVariants = 12
const noNulls: readonly boolean[] = []
const nothingPledged: readonly Pledge[] = []

const variantOf = (plan: PagePlan): Variant => {
  const position = plan.after ?? plan.before
  return {
    direction: plan.after !== undefined ? "after" : plan.before !== undefined ? "before" : "first",
    nulls: position === undefined ? noNulls : position.map((cell) => cell === null),
    skips: (plan.offset ?? 0) > 0,
    fromEnd: plan.fromEnd === true,
    counted: plan.counted ?? null,
    whole: plan.whole === true
  }
}

/** A page as a statement, written by the given writer. With `before`, rows come back reversed. `pledges`: of each relation of the order's path. */
export const writePage = (plan: PagePlan, writer: Writer, pledges: readonly Pledge[] = nothingPledged): Statement =>
  compile(plan.shape, variantOf(plan), writer, pledges)

/** The statement of a page, compiled once for each shape and kind of position. */
export const pageStatement = (
  plan: PagePlan,
  trigramSchema: string,
  pledges: readonly Pledge[] = nothingPledged
): Statement => {
  const variant = variantOf(plan)
  const { counted, direction, fromEnd, nulls, skips, whole } = variant
  let key = `${givenArguments(plan.bindings)}${direction}${whole ? "*" : ""}${fromEnd ? "-" : skips ? "+" : " "}${
    counted ?? ""
  } ${trigramSchema} `
  for (const isNull of nulls) key += isNull ? "0" : "1"
  for (const { filled, held } of pledges) key += held ? filled ? "h" : "H" : filled ? "f" : "F"
  let variants = pages.get(plan.shape)
  if (variants === undefined) {
    variants = new BoundedMap(mostVariants)
    pages.set(plan.shape, variants)
  }
  let statement = variants.get(key)
  if (statement === undefined) {
    variants.set(key, statement = compile(plan.shape, variant, new Writer(trigramSchema, plan.bindings.args), pledges))
  }
  return statement
}

/** The statements by which a page from the beginning is judged that is read by several walks. */
export const judgedPages = (
  { bindings, shape }: PagePlan,
  trigramSchema: string,
  pledges: readonly Pledge[]
): readonly Statement[] =>
  judgedWalks(shape, (writer) => outputs(shape, writer), pledges, () => new Writer(trigramSchema, bindings.args))

/** A condition with its `where`; nothing when every row passes. */
export const whereSql = (tree: FilterTree, writer: Writer): string =>
  tree.op === "true" ? "" : ` where ${conditionSql(tree, "t", writer)}`

/** A count as a statement, written by the given writer. */
export const writeCount = ({ cap, model, where }: CountPlan, writer: Writer): Statement => {
  const from = `from ${writer.from(model)} t${whereSql(where, writer)}`
  return writer.finish(
    cap === null ? `select count(*)::text ${from}` : `select count(*)::text from (select 1 ${from} limit ${cap}) c`
  )
}

const counts = new WeakMap<Model, WeakMap<FilterTree, Map<string, Statement>>>()

/** The statement of a count, compiled once for each condition and cap. */
export const countStatement = (plan: CountPlan, trigramSchema: string): Statement => {
  const { bindings, cap, model, where } = plan
  let trees = counts.get(model)
  if (trees === undefined) counts.set(model, trees = new WeakMap())
  let caps = trees.get(where)
  if (caps === undefined) trees.set(where, caps = new Map())
  const key = `${cap} ${givenArguments(bindings)} ${trigramSchema}`
  let statement = caps.get(key)
  if (statement === undefined) caps.set(key, statement = writeCount(plan, new Writer(trigramSchema, bindings.args)))
  return statement
}
