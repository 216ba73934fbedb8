/**
 * Read plans: what to read, decided completely by the domain. A plan has no SQL; adapters turn it into statements. The shape of a
 * plan is kept apart from its values, so that adapters can compile a shape once (by object identity) and run it many times.
 */

import type { Bindings, FilterTree } from "../filter/tree.ts"
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
  readonly order: readonly SortKey[]
  /** Most rows to return. Ask for one more than the page to learn whether another page follows. */
  readonly limit: number
  /** Per-row conditions; their cells follow the columns in each row. */
  readonly checks: readonly FilterTree[]
}

/**
 * One page of rows. With `after` the rows that follow that position in the order (the position's cells pair with `shape.order`);
 * with `before` the rows that precede it, nearest last (already put back into the shape's order). An empty `after` is the beginning: the first rows;
 * an empty `before` the end: the last rows. `offset` rows are skipped. `counted`, for a page without a position: up to so many rows that pass are counted on the way,
 * and their number follows the checks of each row; where it is reached, the rows are any that pass.
 */
export interface PagePlan {
  readonly shape: PageShape
  readonly bindings: Bindings
  readonly after?: readonly Cell[]
  readonly before?: readonly Cell[]
  readonly offset?: number
  readonly counted?: number
}

/** Counts rows that pass; stops at `cap` when given (the answer is then `cap`). */
export interface CountPlan {
  readonly model: Model
  readonly where: FilterTree
  readonly bindings: Bindings
  readonly cap: number | null
}

/** `GET :facets`: the most frequent values first, then by value; null is a value. Rows: `[value, count]`. */
export interface FacetsPlan {
  readonly of: "facets"
  readonly model: Model
  readonly field: Field
  readonly where: FilterTree
  readonly limit: number
  readonly bindings: Bindings
}
export type Measure =
  | { readonly of: "count" }
  | { readonly of: "sum" | "avg" | "min" | "max"; readonly field: Field }

/**
 * `GET :series`: rows `[start, value]`, `start` a timestamp cell (the bucket's first instant, in UTC), only buckets that have rows; the
 * domain adds the empty ones. Weeks start on Monday. `from` inclusive, `to` exclusive, null: open.
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
 * `GET :histogram`: one row `[min, max, count…]` with `buckets` equal-width counts between the smallest and largest value, the maximum in
 * the last bucket; min and max null when no row has a value. Exact: numeric arithmetic. Min and max of decimals are written with as many fraction digits
 * as any of the values has, so that bounds between them can be told from every value.
 */
export interface HistogramPlan {
  readonly of: "histogram"
  readonly model: Model
  readonly field: Field
  readonly where: FilterTree
  readonly buckets: number
  readonly bindings: Bindings
}

export type AggregatePlan = FacetsPlan | SeriesPlan | HistogramPlan
