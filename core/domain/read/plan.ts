/**
 * Read plans: what to read, decided completely by the domain. A plan has no SQL; adapters turn it into statements. The shape of a plan is
 * separate from its values, so that adapters compile a shape once (by object identity) and run it many times.
 */

import type { Bindings, FilterTree, OrderKey, Way } from "../filter/tree.ts"
import type { Field, Model, SortKey } from "../model/model.ts"
import type { Granularity } from "../value/instant.ts"
import type { Cell } from "../value/kind.ts"

/** The cacheable part of a page: everything but values. */
export interface PageShape {
  readonly model: Model
  /** Columns to read, in the order of the row's cells. */
  readonly columns: readonly Field[]
  /** The whole condition: caller's filter, row filter, tenant and soft delete in one tree. */
  readonly where: FilterTree
  /** Total order (its last keys are the primary key), or empty for a get by key. */
  readonly order: readonly OrderKey[]
  /** Most rows to return. Ask for one more than the page to learn whether another page follows. */
  readonly limit: number
  /** Per-row conditions; their cells follow the columns in each row. */
  readonly checks: readonly FilterTree[]
  /** Fields whose cells are hashed where the row is (`hashedText`): SHA-256 in hexadecimal. Where there are any, the hash follows the checks. */
  readonly hashed?: readonly Field[]
}

/** Where each row of a page has the cell of the order's key through relations: it follows columns, checks and hash. */
export const pathCellOf = (
  { checks, columns, hashed = [] }: Pick<PageShape, "columns" | "checks" | "hashed">
): number => columns.length + checks.length + (hashed.length > 0 ? 1 : 0)

/**
 * One page of rows.
 *
 * `after`: the rows that follow this position in the order; its cells pair with `shape.order`. An empty position means the first rows.
 * `before`: the rows that precede it, in the shape's order. An empty position means the last rows. `offset` rows are skipped.
 *
 * `counted`, for a page without a position: rows that pass are counted up to this number on the way, and the count follows the checks of
 * each row. When that number is reached, the rows may be any that pass.
 */
export interface PagePlan {
  readonly shape: PageShape
  readonly bindings: Bindings
  readonly after?: readonly Cell[]
  readonly before?: readonly Cell[]
  readonly offset?: number
  /** The rows at `offset`, found from the end: for a page without a position that is nearer to it. It gives the same rows, and counts all to do so. */
  readonly fromEnd?: boolean
  readonly counted?: number
  /** All rows that pass are found before the first is given: for conditions of which a planner wrongly expects that a walk in order soon meets enough. */
  readonly whole?: boolean
  /** Most milliseconds, if fewer than of every read: past them it fails with `Timeout`. */
  readonly within?: number
}

/**
 * The rows that belong to each of several values: those whose field `to` equals it. Values are cells of a field of the same kind, each once.
 *
 * `each`: the first `shape.limit` rows of each value, in the shape's order; rows of one value come in order, values in any. The cells of a row are
 * followed by its value's place among `keys` · `counts`: rows `[place, count]`, one a value · `tree`: rows whose `to` equals a value are on level 1, and
 * those whose `to` equals the field `from` of a row on one level are on the next, down to `depth`. Rows come by levels, then in the shape's order, at
 * most `shape.limit` of all; where there are more, they may be any of them. The cells of a row are followed by what it belongs to (the place of a value on level 1, else the cell of `from`) and
 * its level. A row that is met on several levels, or below several cells, comes once for each. No row has the cell of the order's path.
 */
export interface RelatedPlan {
  readonly shape: PageShape
  readonly to: Field
  readonly keys: readonly string[]
  readonly how:
    | { readonly of: "each" }
    | { readonly of: "counts" }
    | { readonly of: "tree"; readonly from: Field; readonly depth: number }
  readonly bindings: Bindings
}

/** Counts rows that pass. Stops at `cap` when given; the answer is then `cap`. */
export interface CountPlan {
  readonly model: Model
  readonly where: FilterTree
  readonly bindings: Bindings
  readonly cap: number | null
  /** As of a page. */
  readonly within?: number
}

/**
 * `GET :facets`: the most frequent values first, then by value; null is a value. Rows: `[value, count]`. With a measure they are `[value, count,
 * measure]`, the largest measure first and values without one last. `ways`: as of `GroupKey`.
 */
export interface FacetsPlan {
  readonly of: "facets"
  readonly model: Model
  readonly field: Field
  readonly ways?: readonly Way[]
  readonly where: FilterTree
  readonly limit: number
  readonly measure?: Measure
  readonly bindings: Bindings
}

export type Measure =
  | { readonly of: "count" }
  | { readonly of: "sum" | "avg" | "min" | "max"; readonly field: Field }

/**
 * `GET :series`: rows `[start, value]`. `start` is a timestamp cell, the bucket's first instant in UTC. Only buckets with rows come; the
 * domain adds the empty ones. Weeks start on Monday. `from` is inclusive, `to` exclusive, null is open.
 */
export interface SeriesPlan {
  readonly of: "series"
  readonly model: Model
  readonly field: Field
  readonly where: FilterTree
  readonly granularity: Granularity
  /** IANA time zone name as `checkTimeZone` gives it. */
  readonly timeZone: string
  readonly from: string | null
  readonly to: string | null
  readonly measure: Measure
  /** Most buckets the answer may have; one more is read to notice. */
  readonly limit: number
  readonly bindings: Bindings
}

/**
 * `GET :histogram`: one row `[min, max, count…]`, with `buckets` counts of equal width between the smallest and the largest value. The
 * maximum is in the last bucket. Min and max are null when no row has a value. The arithmetic is exact (numeric). Min and max of decimals
 * have as many fraction digits as any of the values, so that bounds between them differ from every value.
 */
export interface HistogramPlan {
  readonly of: "histogram"
  readonly model: Model
  readonly field: Field
  readonly where: FilterTree
  readonly buckets: number
  readonly bindings: Bindings
}

/** What rows are grouped by: the value of a field, or the bucket of time that the value falls into, as those of `:series`. */
export interface GroupKey {
  readonly field: Field
  /** The relations to one record that lead to the field; none for a field of the rows. Without a record at their end the value is null. */
  readonly ways: readonly Way[]
  /** Null: the value itself. */
  readonly granularity: Granularity | null
}

/**
 * What is told of a group. Nulls do not count, but for `count`. Sums are exact. An average is rounded half away from zero, to 16 digits after the
 * point, or as many more as 16 significant digits or the values need; zeros at its end are left out. `median` and `p95` are values of the column: the first one that at least half, or
 * 95 %, of the values do not exceed (`percentile_disc`).
 */
export type GroupMeasure =
  | { readonly of: "count" }
  | { readonly of: "count_distinct" | "sum" | "avg" | "min" | "max" | "median" | "p95"; readonly field: Field }

/** The paths through relations of an aggregate, each to one record. */
export const pathsOf = (plan: AggregatePlan): ReadonlyArray<readonly Way[]> => {
  const paths = plan.of === "groups" ? plan.question.keys : plan.of === "facets" ? [plan] : []
  return paths.flatMap(({ ways = [] }) => ways.length === 0 ? [] : [ways])
}

/** The part of an `:aggregate` that depends neither on rows nor on the instant. The same question is the same object. */
export interface GroupsQuestion {
  readonly keys: readonly GroupKey[]
  readonly measures: readonly GroupMeasure[]
  /**
   * The answer's columns as fields, `columns[i].index === i`: the keys, then the measures. Their `column` is a name of the statement's own. `having`
   * and `order` speak of them.
   */
  readonly columns: readonly Field[]
  readonly having: FilterTree
  /** Total: all keys are in it. */
  readonly order: readonly SortKey[]
  /** IANA time zone name as `checkTimeZone` gives it. */
  readonly timeZone: string
}

/**
 * `:aggregate`: rows are the cells of `question.columns`. Null is a value of a key. A bucket is its first instant; null where there is no time, or
 * one outside of the years 0001 to 9999. Without keys there is one group, also of no rows.
 */
export interface GroupsPlan {
  readonly of: "groups"
  readonly model: Model
  readonly question: GroupsQuestion
  readonly where: FilterTree
  /** Most groups to return. Ask for one more than are shown to learn whether there are more. */
  readonly limit: number
  readonly bindings: Bindings
}

export type AggregatePlan = FacetsPlan | SeriesPlan | HistogramPlan | GroupsPlan
