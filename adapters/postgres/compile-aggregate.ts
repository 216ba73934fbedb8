/**
 * Facets, series and histograms as statements: each is one statement, exact in integers and decimals. Which field may be aggregated, and the
 * empty buckets, are the domain's business.
 */

import { BoundedMap } from "../../core/domain/bounded.ts"
import type { FilterTree } from "../../core/domain/filter/tree.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import type { AggregatePlan, FacetsPlan, HistogramPlan, Measure, SeriesPlan } from "../../core/domain/read/plan.ts"
import { columnOf, conditionSql } from "./compile-filter.ts"
import { whereSql } from "./compile-page.ts"
import { quoted, type Statement, tableOf, Writer } from "./sql.ts"

/** An aggregate as a statement, written by the given writer. */
export const writeAggregate = (plan: AggregatePlan, writer: Writer): Statement => {
  // Aggregates read many rows, so planning them with their values always pays.
  writer.stable = false
  switch (plan.of) {
    case "facets":
      return writer.finish(facets(plan, writer))
    case "series":
      return writer.finish(series(plan, writer))
    case "histogram":
      return writer.finish(histogram(plan, writer))
  }
}

const statements = new WeakMap<Model, WeakMap<FilterTree, BoundedMap<string, Statement>>>()

/** How many aggregates of the same rows are remembered: those of a page of charts. */
const mostAggregates = 50

/** The statement of an aggregate, compiled once for each condition and question. */
export const aggregateStatement = (plan: AggregatePlan, trigramSchema: string): Statement => {
  const { model, where } = plan
  let trees = statements.get(model)
  if (trees === undefined) statements.set(model, trees = new WeakMap())
  let known = trees.get(where)
  if (known === undefined) trees.set(where, known = new BoundedMap(mostAggregates))
  const key = `${plan.of} ${plan.field.index} ${questionOf(plan)} ${trigramSchema}`
  let statement = known.get(key)
  if (statement === undefined) known.set(key, statement = writeAggregate(plan, new Writer(trigramSchema)))
  return statement
}

/** What is written into the text of an aggregate besides its model, field and rows. */
const questionOf = (plan: AggregatePlan): string => {
  switch (plan.of) {
    case "facets":
      return String(plan.limit)
    case "series": {
      const { from, granularity, limit, measure, timeZone, to } = plan
      return `${granularity} ${timeZone} ${from} ${to} ${limit} ${measure.of} ${
        measure.of === "count" ? "" : measure.field.index
      }`
    }
    case "histogram":
      return String(plan.buckets)
  }
}

/** The columns of an aggregate's rows that hold cells of a kind, for their canonical form. */
export const aggregateColumns = (plan: AggregatePlan): readonly Field[] => {
  switch (plan.of) {
    case "facets":
      return [plan.field]
    case "series":
      // The start of a bucket is always an instant, whatever the field.
      return plan.measure.of === "min" || plan.measure.of === "max"
        ? [asTimestamp(plan.field), plan.measure.field]
        : [asTimestamp(plan.field)]
    case "histogram":
      return [plan.field, plan.field]
  }
}

const asTimestamp = (field: Field): Field => field.kind === "timestamp" ? field : { ...field, kind: "timestamp" }

const facets = (plan: FacetsPlan, writer: Writer): string => {
  const column = columnOf("t", plan.field)
  return `select ${column}::text, count(*)::text from ${tableOf(plan.model)} t${whereSql(plan.where, writer)}` +
    ` group by ${column} order by count(*) desc, ${column} limit ${plan.limit}`
}

/** The exact decimal value of a double would be long. People see its shortest text, so that is what is counted. */
const exactOf = (field: Field): string => `${columnOf("t", field)}${field.kind === "float" ? "::text" : ""}::numeric`

/**
 * A sum of floats would depend on their order, and one in single precision would lose small values beside big ones. So floats are added as
 * exact decimals.
 */
const measureSql = (measure: Measure): string =>
  measure.of === "count"
    ? "count(*)"
    : measure.of === "sum" && measure.field.kind === "float"
    ? `sum(${exactOf(measure.field)})`
    : `${measure.of}(${columnOf("t", measure.field)})`

const series = (plan: SeriesPlan, writer: Writer): string => {
  const { field, from, granularity, timeZone, to } = plan
  const column = columnOf("t", field)
  // Instants outside of the years 0001 to 9999 have no bucket, and the database cannot always give their local time. Nulls are in no range.
  const bound = (cell: string | null, otherwise: string) => cell === null ? quoted(otherwise) : writer.constant(cell)
  const tests = [`${column} >= ${bound(from, "0001-01-01")}`, `${column} < ${bound(to, "10000-01-01")}`]
  if (plan.where.op !== "true") tests.push(conditionSql(plan.where, "t", writer))
  const zone = quoted(timeZone)
  const instants = granularity === "hour" && field.kind !== "date"
  // A timestamp without a zone is read as UTC, the session's zone. A date is a calendar day: its bucket starts at local midnight.
  const group = instants
    ? `date_trunc('hour', ${column}::timestamptz, ${zone})`
    : field.kind === "date"
    ? `date_trunc('${granularity}', ${column}::timestamp)`
    : `date_trunc('${granularity}', ${column}::timestamptz at time zone ${zone})`
  // A local time that occurs twice, such as midnight in Havana when summer ends, means the first of both instants. The database gives the
  // second.
  const first = `((s.start - interval '1 day') at time zone ${zone} + interval '24 hours')`
  const start = instants
    ? "s.start"
    : `case when ${first} at time zone ${zone} = s.start then ${first} else s.start at time zone ${zone} end`
  const groups = `select ${group} as start, ${measureSql(plan.measure)} as value from ${tableOf(plan.model)} t` +
    ` where ${tests.join(" and ")} group by 1 offset 0`
  return `select b.start::text, b.value::text from (select ${start} as start, s.value from (${groups}) s offset 0) b` +
    // A bucket may begin before year 0001 although its rows do not. The comparison of offsets spares most rows this.
    ` where b.start >= '0001-01-01 00:00:00+00' and b.start < '10000-01-01 00:00:00+00'` +
    ` order by b.start limit ${plan.limit + 1}`
}

const histogram = (plan: HistogramPlan, writer: Writer): string => {
  const { buckets, field } = plan
  const column = columnOf("t", field)
  const exact = exactOf(field)
  const tests = [`${column} is not null`]
  if (field.kind !== "integer") tests.push(`${column} > '-Infinity'`, `${column} < 'Infinity'`)
  if (plan.where.op !== "true") tests.push(conditionSql(plan.where, "t", writer))
  const table = `${tableOf(plan.model)} t`
  const where = tests.join(" and ")
  // A sum of zeros has as many fraction digits as the longest of them. Columns of a declared size need no such sum.
  const digits = field.kind === "decimal" && field.precision === null ? ` + sum(${column} * 0)` : ""
  // The quotient of `div` is exact in every version, unlike that of width_bucket. The maximum goes into the last bucket.
  const bucket = `case when e.h = e.l then ${buckets - 1}` +
    ` else least(div((${exact} - e.l) * ${buckets}, e.h - e.l), ${buckets - 1}) end`
  const counts = Array.from({ length: buckets }, (_, i) => `coalesce(sum(c.n) filter (where c.bucket = ${i}), 0)::text`)
  // Names of a `with` hide tables of the same name. No table is called like these.
  const [range, edge] = ["\"range of values\"", "\"edges of buckets\""]
  return `with ${range} as materialized (select min(${column})${digits} as low, max(${column})${digits} as high from ${table} where ${where}),` +
    ` ${edge} as materialized (select low::text::numeric as l, high::text::numeric as h from ${range}),` +
    ` counts as (select ${bucket} as bucket, count(*) as n from ${edge} e cross join ${table} where ${where} group by 1)` +
    ` select (select low::text from ${range}), (select high::text from ${range}), ${counts.join(", ")} from counts c`
}
