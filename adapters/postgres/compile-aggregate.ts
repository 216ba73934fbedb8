/**
 * Facets, series, histograms and groups as statements: each is one statement, exact in integers and decimals. Which field may be aggregated, and the
 * empty buckets, are the domain's business.
 */

import { BoundedMap } from "../../core/domain/bounded.ts"
import type { FilterTree, Way } from "../../core/domain/filter/tree.ts"
import { sortText } from "../../core/domain/model/expression.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import { facetField } from "../../core/domain/model/model.ts"
import type {
  AggregatePlan,
  FacetsPlan,
  GroupKey,
  GroupMeasure,
  GroupsPlan,
  GroupsQuestion,
  HistogramPlan,
  Measure,
  SeriesPlan
} from "../../core/domain/read/plan.ts"
import { pathsOf } from "../../core/domain/read/plan.ts"
import type { Granularity } from "../../core/domain/value/instant.ts"
import { columnOf, conditionSql, joinSql, sortOf } from "./compile-filter.ts"
import { whereSql } from "./compile-page.ts"
import { cellSql, givenArguments, identifier, quoted, type Statement, Writer } from "./sql.ts"

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
    case "groups":
      return writer.finish(groups(plan, writer))
  }
}

const statements = new WeakMap<Model, WeakMap<FilterTree, BoundedMap<string, Statement>>>()

/** How many aggregates of the same rows are remembered: those of a page of charts. */
const mostAggregates = 50

/**
 * The statement of an aggregate, compiled once for each condition and question. Facets of a related field are compiled each time: their ways belong to one
 * request.
 */
export const aggregateStatement = (plan: AggregatePlan, trigramSchema: string): Statement => {
  if (plan.of === "facets" && pathsOf(plan).length > 0) {
    return writeAggregate(plan, new Writer(trigramSchema, plan.bindings.args))
  }
  const { model, where } = plan
  let trees = statements.get(model)
  if (trees === undefined) statements.set(model, trees = new WeakMap())
  let variants = trees.get(where)
  if (variants === undefined) trees.set(where, variants = new BoundedMap(mostAggregates))
  const key = `${plan.of} ${questionOf(plan)} ${givenArguments(plan.bindings)} ${trigramSchema}`
  let statement = variants.get(key)
  if (statement === undefined) {
    variants.set(key, statement = writeAggregate(plan, new Writer(trigramSchema, plan.bindings.args)))
  }
  return statement
}

const questionIds = new WeakMap<GroupsQuestion, number>()
let lastQuestion = 0

const idOf = (question: GroupsQuestion): number => {
  let id = questionIds.get(question)
  if (id === undefined) questionIds.set(question, id = ++lastQuestion)
  return id
}

const nameOf = (measure: Measure): string =>
  measure.of === "count" ? measure.of : `${measure.of} ${measure.field.index}`

/** What is written into the text of an aggregate besides its model and rows. */
const questionOf = (plan: AggregatePlan): string => {
  switch (plan.of) {
    case "facets":
      return `${plan.field.index} ${plan.limit} ${plan.measure === undefined ? "" : nameOf(plan.measure)}`
    case "series": {
      const { field, from, granularity, limit, measure, timeZone, to } = plan
      return `${field.index} ${granularity} ${timeZone} ${from} ${to} ${limit} ${nameOf(measure)}`
    }
    case "histogram":
      return `${plan.field.index} ${plan.buckets}`
    case "groups":
      return `${idOf(plan.question)} ${plan.limit}`
  }
}

/** The columns of an aggregate's rows that hold cells of a kind, for their canonical form. */
export const aggregateColumns = (plan: AggregatePlan): readonly Field[] => {
  switch (plan.of) {
    case "facets":
      return [facetField(plan.field)]
    case "groups":
      return plan.question.columns
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

/** The tables at the ends of ways, joined to the rows `t`, and the alias of each end. */
interface Joins {
  readonly sql: string
  readonly aliasOf: (ways: readonly Way[]) => string
}

/**
 * Joins what the caller sees at the end of each path. A way leads to one record, so no row comes twice; without a record its columns are null, and the
 * row stays. Paths that begin alike share what they share.
 */
const joinsOf = (paths: ReadonlyArray<readonly Way[]>, writer: Writer): Joins => {
  const aliases = new Map<string, Map<Way, string>>()
  let sql = ""
  const joined = (from: string, way: Way): string => {
    let ways = aliases.get(from)
    if (ways === undefined) aliases.set(from, ways = new Map())
    let alias = ways.get(way)
    if (alias === undefined) {
      ways.set(way, alias = writer.alias())
      sql += joinSql("left join", way, from, alias, writer)
    }
    return alias
  }
  const aliasOf = (ways: readonly Way[]): string => ways.reduce(joined, "t")
  for (const ways of paths) aliasOf(ways)
  return { sql, aliasOf }
}

const facets = (plan: FacetsPlan, writer: Writer): string => {
  const { limit, measure = { of: "count" } } = plan
  const joins = joinsOf(pathsOf(plan), writer)
  const values = columnOf(joins.aliasOf(plan.ways ?? []), plan.field)
  // A row counts once for an element that it has twice, and an element that is null is none.
  const [column, elements] = plan.field.kind === "list"
    ? ["u.e", ` cross join lateral (select distinct e from unnest(${values}) x(e) where e is not null) u`]
    : [values, ""]
  const value = measure.of === "count" ? null : measureSql(measure)
  const field = facetField(plan.field)
  return `select ${cellSql(field, column)}, count(*)::text${
    value === null || measure.of === "count" ? "" : `, ${cellSql(measure.field, value)}`
  }` +
    ` from ${writer.from(plan.model)} t${joins.sql}${elements}${whereSql(plan.where, writer)} group by ${column}` +
    ` order by ${value === null ? "count(*) desc" : `${value} desc nulls last`}, ${
      sortText(field, column)
    } limit ${limit}`
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
    : (measure.of === "sum" && measure.field.kind === "float") || measure.field.kind === "money"
    ? `${measure.of}(${exactOf(measure.field)})`
    : `${measure.of}(${columnOf("t", measure.field)})`

/** Hours are buckets of real time, so that the one that an autumn night repeats is two. */
const isInstant = (field: Field, granularity: Granularity): boolean => granularity === "hour" && field.kind !== "date"

/** The bucket of a time, by which rows are grouped: its start in the zone's local time, or as an instant. */
const bucketOf = (field: Field, granularity: Granularity, timeZone: string, column: string): string => {
  const zone = quoted(timeZone)
  // A timestamp without a zone is read as UTC, the session's zone. A date is a calendar day: its bucket starts at local midnight.
  return isInstant(field, granularity)
    ? `date_trunc('hour', ${column}::timestamptz, ${zone})`
    : field.kind === "date"
    ? `date_trunc('${granularity}', ${column}::timestamp)`
    : `date_trunc('${granularity}', ${column}::timestamptz at time zone ${zone})`
}

/** The first instant of a bucket of `bucketOf`. */
const startOf = (field: Field, granularity: Granularity, timeZone: string, bucket: string): string => {
  if (isInstant(field, granularity)) return bucket
  const zone = quoted(timeZone)
  // A local time that occurs twice, such as midnight in Havana when summer ends, means the first of both instants. The database gives the
  // second.
  const first = `((${bucket} - interval '1 day') at time zone ${zone} + interval '24 hours')`
  return `case when ${first} at time zone ${zone} = ${bucket} then ${first} else ${bucket} at time zone ${zone} end`
}

const [firstDay, endOfDays] = ["0001-01-01", "10000-01-01"]

const series = (plan: SeriesPlan, writer: Writer): string => {
  const { field, from, granularity, timeZone, to } = plan
  const column = columnOf("t", field)
  // Instants outside of the years 0001 to 9999 have no bucket, and the database cannot always give their local time. Nulls are in no range.
  const bound = (cell: string | null, otherwise: string) => cell === null ? quoted(otherwise) : writer.constant(cell)
  const tests = [`${column} >= ${bound(from, firstDay)}`, `${column} < ${bound(to, endOfDays)}`]
  if (plan.where.op !== "true") tests.push(conditionSql(plan.where, "t", writer))
  const start = startOf(field, granularity, timeZone, "s.start")
  const groups =
    `select ${bucketOf(field, granularity, timeZone, column)} as start, ${measureSql(plan.measure)} as value from ${
      writer.from(plan.model)
    } t` +
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
  if (field.kind !== "integer" && field.kind !== "money") {
    tests.push(`${column} > '-Infinity'`, `${column} < 'Infinity'`)
  }
  if (plan.where.op !== "true") tests.push(conditionSql(plan.where, "t", writer))
  const table = () => `${writer.from(plan.model)} t`
  const where = tests.join(" and ")
  // A sum of zeros has as many fraction digits as the longest of them. Columns of a declared size need no such sum.
  const digits = field.kind === "decimal" && field.precision === null ? ` + sum(${column} * 0)` : ""
  const ends = field.kind === "money" ? exact : column
  // The quotient of `div` is exact in every version, unlike that of width_bucket. The maximum goes into the last bucket.
  const bucket = `case when e.h = e.l then ${buckets - 1}` +
    ` else least(div((${exact} - e.l) * ${buckets}, e.h - e.l), ${buckets - 1}) end`
  const counts = Array.from({ length: buckets }, (_, i) => `coalesce(sum(c.n) filter (where c.bucket = ${i}), 0)::text`)
  // Names of a `with` hide tables of the same name. No table is called like these.
  const [range, edge] = ["\"range of values\"", "\"edges of buckets\""]
  return `with ${range} as materialized (select min(${ends})${digits} as low, max(${ends})${digits} as high from ${table()} where ${where}),` +
    ` ${edge} as materialized (select low::text::numeric as l, high::text::numeric as h from ${range}),` +
    ` counts as (select ${bucket} as bucket, count(*) as n from ${edge} e cross join ${table()} where ${where} group by 1)` +
    ` select (select low::text from ${range}), (select high::text from ${range}), ${counts.join(", ")} from counts c`
}

const firstInstant = "'0001-01-01 00:00:00+00'::timestamptz"

/** Times are grouped by the instant that the database takes for the start of a bucket: one call a row. */
const keySql = ({ field, granularity, ways }: GroupKey, timeZone: string, joins: Joins): string => {
  const column = columnOf(joins.aliasOf(ways), field)
  if (granularity === null) return column
  const bucket = field.kind === "date"
    ? bucketOf(field, granularity, timeZone, column)
    : `date_trunc('${granularity}', ${column}::timestamptz, ${quoted(timeZone)})`
  // Instants outside of the years 0001 to 9999 have no bucket. The database cannot always give their local time.
  return `case when ${column} >= '${firstDay}' and ${column} < '${endOfDays}' then ${bucket} end`
}

/** The first instant of the bucket in `column`. A bucket may begin before year 0001 although its rows do not. */
const keyStart = ({ field, granularity }: GroupKey, timeZone: string, column: string): string => {
  if (granularity === null) return column
  const local = field.kind === "date" || granularity === "hour"
    ? column
    : `(${column} at time zone ${quoted(timeZone)})`
  const start = startOf(field, granularity, timeZone, local)
  return `case when (${start}) < ${firstInstant} then ${firstInstant} else ${start} end`
}

/** Gives a quotient this many digits after the point at least. Without it an average of large integers would have none. */
const leastDigits = `0.${"0".repeat(16)}`

/** Sums of integers are numerics, so that a condition may compare them with any number. Averages of floats are exact, as their sums are. */
const groupMeasureSql = (measure: GroupMeasure): string => {
  if (measure.of === "count") return "count(*)"
  const { field, of } = measure
  const column = columnOf("t", field)
  const sum = `sum(${field.kind === "float" || field.kind === "money" ? exactOf(field) : column})::numeric`
  switch (of) {
    case "count_distinct":
      return `count(distinct ${column})`
    case "sum":
      return sum
    case "avg":
      return `trim_scale((${sum} + ${leastDigits}) / nullif(count(${column}), 0))`
    case "median":
      return `percentile_disc(0.5) within group (order by ${column})`
    case "p95":
      return `percentile_disc(0.95) within group (order by ${column})`
    default:
      return `${of}(${column})`
  }
}

/**
 * Groups and measures in a subquery, so that `having` and the order speak of its columns. Buckets are grouped in local time and become instants
 * once a group.
 */
const groups = (plan: GroupsPlan, writer: Writer): string => {
  const { limit, model, question, where } = plan
  const joins = joinsOf(pathsOf(plan), writer)
  const { columns, having, keys, measures, order, timeZone } = question
  const names = columns.map((column) => identifier(column.column))
  const values = [...keys.map((key) => keySql(key, timeZone, joins)), ...measures.map(groupMeasureSql)]
  const by = keys.length === 0 ? "" : ` group by ${keys.map((_, i) => i + 1).join(", ")}`
  const inner = `select ${values.map((value, i) => `${value} as ${names[i]!}`).join(", ")}` +
    ` from ${writer.from(model)} t${joins.sql}${whereSql(where, writer)}${by}`
  const starts = names.map((name, i) =>
    i < keys.length ? `${keyStart(keys[i]!, timeZone, `s.${name}`)} as ${name}` : `s.${name}`
  )
  const from = keys.some(({ granularity }) => granularity !== null)
    ? `select ${starts.join(", ")} from (${inner} offset 0) s offset 0`
    : inner
  const condition = having.op === "true" ? "" : ` where ${conditionSql(having, "a", writer)}`
  const sorts = order.map(({ descending, field }) => `${sortOf("a", field)}${descending ? " desc" : ""}`)
  return `select ${names.map((name, i) => cellSql(columns[i]!, `a.${name}`)).join(", ")} from (${from}) a${condition}` +
    `${sorts.length === 0 ? "" : ` order by ${sorts.join(", ")}`} limit ${limit}`
}
