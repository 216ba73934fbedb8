/**
 * The rows of several values as one statement: of each value a page or a count, or all that hangs together below them. The values are one array, and rows
 * name their value's place in it, so nothing compares texts. What to read was decided by the plan.
 */

import { BoundedMap } from "../../core/domain/bounded.ts"
import { pathOf } from "../../core/domain/filter/tree.ts"
import { identityOf } from "../../core/domain/model/model.ts"
import type { PageShape, RelatedPlan } from "../../core/domain/read/plan.ts"
import type { Cell, Row } from "../../core/domain/value/kind.ts"
import { columnOf, conditionSql, keepsBlanks, sameRows } from "./compile-filter.ts"
import { orderSql, outputs } from "./compile-page.ts"
import { joinedOrder } from "./compile-walks.ts"
import { arrayLiteral, canonicalRows, type Statement, tableOf, timestampFromText, Writer } from "./sql.ts"

/** Places of values that end in a blank, from 1. Comparisons with char(n) ignore such blanks, and the plan does not. */
const padded = ({ keys, to }: RelatedPlan): readonly string[] =>
  to.kind === "text" ? keys.flatMap((key, i) => key.endsWith(" ") ? [String(i + 1)] : []) : []

/** The cells that the statement is given. */
export const relatedValues = (plan: RelatedPlan): readonly Cell[] => {
  const blank = padded(plan)
  return blank.length === 0 ? [arrayLiteral(plan.keys)] : [arrayLiteral(plan.keys), arrayLiteral(blank)]
}

/** Makes the timestamps of an answer canonical, in place. */
export const canonicalRelated = (rows: ReadonlyArray<Cell[]>, { how, shape }: RelatedPlan): readonly Row[] => {
  if (how.of === "counts") return rows
  if (how.of === "tree" && how.from.kind === "timestamp") {
    for (const row of rows) row[row.length - 2] = timestampFromText(row.at(-2) ?? "")
  }
  return canonicalRows(rows, shape.columns)
}

/** The joins and the order of rows `t`. */
const sortedOf = ({ order }: PageShape, writer: Writer): { readonly joins: string; readonly sorted: string } =>
  pathOf(order) === null ? { joins: "", sorted: orderSql(order, "t", false) } : joinedOrder(order, writer)

/** The plan as a statement, written by the given writer. */
export const writeRelated = (plan: RelatedPlan, writer: Writer): Statement => {
  const { how, shape, to } = plan
  const { model } = shape
  const table = tableOf(model)
  // A lateral join reads for one value after the other in any plan. Of a tree, the number of values and of their rows decides how it joins.
  if (how.of === "tree") writer.stable = false
  const near = columnOf("t", to)
  // The array has the column's own type, whatever that is: the second argument is only there for its type. Beside null a domain counts as the type below
  // it: a value that breaks the rule of a domain belongs to no row.
  const values =
    `unnest(coalesce(${writer.given(0)}, (select array[${columnOf("o", to)}, null] from ${table} o where false)))` +
    " with ordinality p(id, n)"
  const pairs = `${near} = p.id` +
    (padded(plan).length === 0 ? "" : ` and (${keepsBlanks(near)} or p.n <> all(${writer.given(1)}::bigint[]))`)
  const visible = shape.where.op === "true" ? "" : ` and ${conditionSql(shape.where, "t", writer)}`
  const place = "(p.n - 1)::text"

  if (how.of === "counts") {
    return writer.finish(
      `select ${place}, x.n::text from ${values} cross join lateral ` +
        `(select count(*) as n from ${table} t where ${pairs}${visible}) x`
    )
  }
  const columns = outputs(shape, writer)
  const { joins, sorted } = sortedOf(shape, writer)
  if (how.of === "each") {
    const named = columns.map((column, i) => `${column} as c${i}`).join(", ")
    return writer.finish(
      `select ${columns.map((_, i) => `x.c${i}, `).join("")}${place} from ${values} cross join lateral ` +
        `(select ${named === "" ? "1" : named} from ${table} t${joins} where ${pairs}${visible}` +
        ` order by ${sorted} limit ${shape.limit}) x`
    )
  }

  const identity = identityOf(model)
  const keys = identity.map((field, i) => `${columnOf("t", field)} as k${i}`).join(", ")
  const from = columnOf("t", how.from)
  // Names of a `with` hide tables of the same name. No table is called like this one.
  const tree = "\"rows of the tree\""
  const first =
    `select ${place} as p, ${keys}, ${from} as f, 1 as d from ${values} join ${table} t on ${pairs}${visible}`
  // A hidden row is on no level, so nothing below it is either. Values are compared in the collation of the places, whatever collation the column has.
  const next =
    `select r.f::text collate pg_catalog."default", ${keys}, ${from}, r.d + 1 from ${tree} r join ${table} t on ${near} = r.f${visible}` +
    ` where r.d < ${how.depth}`
  const same = sameRows(model, shape.where, (_, i) => `r.k${i}`, writer)
  return writer.finish(
    `with recursive ${tree} as (${first} union ${next}) select ${
      columns.map((column) => `${column}, `).join("")
    }r.p, r.d::text` +
      ` from (select * from ${tree} limit ${shape.limit}) r join ${table} t on ${same}${joins}` +
      ` order by r.d, ${sorted}`
  )
}

const statements = new WeakMap<PageShape, BoundedMap<string, Statement>>()
const mostVariants = 12

/** The statement of a plan, compiled once for each shape and what is asked of it. */
export const relatedStatement = (plan: RelatedPlan, trigramSchema: string): Statement => {
  const { how, shape, to } = plan
  const tree = how.of === "tree" ? `${how.from.index} ${how.depth}` : ""
  const key = `${how.of} ${tree} ${to.index} ${padded(plan).length > 0} ${trigramSchema}`
  let variants = statements.get(shape)
  if (variants === undefined) statements.set(shape, variants = new BoundedMap(mostVariants))
  let statement = variants.get(key)
  if (statement === undefined) variants.set(key, statement = writeRelated(plan, new Writer(trigramSchema)))
  return statement
}
