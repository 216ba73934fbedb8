/**
 * The scan guard's judgement (docs/reference/reads.md#reads-that-are-refused): whether a plan would read too much of a big table, and which index would help. It judges the
 * planner's estimate; it never asks the database itself.
 */

import type { FilterTree } from "../filter/tree.ts"
import { indexed, indexedSort } from "../model/expression.ts"
import type { Field, Model, SortKey } from "../model/model.ts"
import { quotedName, tableName } from "../model/table.ts"

export interface ScanGuard {
  readonly mode: "reject" | "warn" | "off"
  /** Tables up to this many rows may be scanned for a page. */
  readonly seqScanRows: number
  /** The same for aggregates and exact counts, which read many rows by nature. */
  readonly aggregateRows: number
}

/** Which of the two bounds holds for a read. */
export type GuardBound = "seqScanRows" | "aggregateRows"

/** Cost of scanning one row as the planner counts it (cpu_tuple_cost plus a share of its page), used to forgive scans that stop early. */
const costPerRow = 0.02

/**
 * Whether a plan is expensive: it scans a table above the limit sequentially, and its cost is that of reading more rows than the limit. A
 * scan that stops after a page is cheap by its cost.
 */
export const isExpensive = (
  estimate: { readonly scannedRows: number; readonly cost: number },
  rows: number
): boolean => estimate.scannedRows > rows && estimate.cost > rows * costPerRow

/** How much more than such a scan an aggregate over related records may cost: its joins read as many rows again, and have time. */
const joinedShare = 5

/**
 * The same for conditions about related records. They may cost much without a scan, by looking at the related ones of each row: so the cost alone says
 * it. Of a page, see `isHasty`.
 */
export const isExpensiveRelated = (
  estimate: { readonly scannedRows: number; readonly cost: number },
  rows: number
): boolean => isExpensive(estimate, rows) || estimate.cost > rows * costPerRow * joinedShare

/**
 * Whether a page counts on stopping early. The planner supposes that the rows that pass lie evenly; through relations it cannot know. So only time
 * shows whether such a page is cheap.
 */
export const isHasty = (estimate: { readonly through: number }, rows: number): boolean =>
  estimate.through > rows * costPerRow

/** Whether all rows of a page may be found before its first: that is as much work as an aggregate's. */
export const mayFindAll = (estimate: { readonly cost: number }, aggregateRows: number): boolean =>
  estimate.cost <= aggregateRows * costPerRow

/** Milliseconds for a page that counts on stopping early, and for one that finds all rows first. */
export const hastyMs = 60
export const wholeMs = 250

/** Part of a table that is read through an index rather than from end to end, and bytes of a row from which on an index alone is much smaller. */
const selective = 0.1
const wideRow = 128

/**
 * Whether the planner would take an index for an aggregate: where few of the rows pass, or where the index has all that is asked for and its table is
 * much wider.
 */
export const isIndexable = (
  estimate: { readonly scannedRows: number; readonly scannedBytes: number; readonly rows: number }
): boolean =>
  estimate.rows <= estimate.scannedRows * selective || estimate.scannedBytes >= estimate.scannedRows * wideRow

/** The conditions that must all hold. */
const conjuncts = (tree: FilterTree): readonly FilterTree[] => tree.op === "and" ? tree.items : [tree]

/** Fields compared for equality and by range in the conditions that must all hold. */
const conditionFields = (tree: FilterTree): { readonly equal: Field[]; readonly range: Field[] } => {
  const equal: Field[] = []
  const range: Field[] = []
  for (const item of conjuncts(tree)) {
    // The values of bytes may be too long for an index.
    if ("field" in item && item.field.kind === "bytes") continue
    if (item.op === "compare") (item.is === "=" ? equal : range).push(item.field)
    else if (item.op === "in") equal.push(item.field)
  }
  return { equal, range }
}

/** An index that would serve a query. */
export interface IndexSuggestion {
  /** The statement that makes it. */
  readonly sql: string
  readonly columns: readonly Field[]
  readonly method: "btree" | "gin" | "gist"
  /** Whether it leaves out rows that are deleted. */
  readonly partial: boolean
  /** Whether it is on more than columns. */
  readonly expression: boolean
}

/**
 * An index that would serve the query, naming only columns that `mayName` allows; null when nothing nameable would help. `sorted`: rows come in the order, and
 * are not only grouped by its fields.
 */
export const suggestIndex = (
  model: Model,
  where: FilterTree,
  order: readonly SortKey[],
  mayName: (field: Field) => boolean,
  sorted = true
): IndexSuggestion | null => {
  const words = conjuncts(where).flatMap((tree) => tree.op === "words" && mayName(tree.field) ? [tree.field] : [])
  if (words.length > 0) {
    const columns = words.slice(0, 1)
    const text = columns.map(({ column }) => quotedName(column)).join(", ")
    return {
      sql: `create index on ${tableName(model)} using gin (${text})`,
      columns,
      method: "gin",
      partial: false,
      expression: false
    }
  }
  // No index has the order of a rank.
  if (order.some(({ field }) => field.rank !== undefined)) return suggestIndex(model, where, [], mayName, sorted)
  const { equal, range } = conditionFields(where)
  const columns: string[] = []
  const taken = new Set<Field>()
  const add = (field: Field, text: string, descending: boolean) => {
    if (taken.has(field) || !mayName(field)) return
    taken.add(field)
    columns.push(text + (descending ? " desc" : ""))
  }
  for (const field of equal) add(field, indexed(field), false)
  for (const { descending, field } of order) add(field, sorted ? indexedSort(field) : indexed(field), descending)
  if (order.length === 0) { for (const field of range) add(field, indexed(field), false) }
  const patterns = invertedFields(where).filter(mayName)
  const table = tableName(model)
  if (patterns.length > 0) {
    const operators = patterns.map((field) => `${indexed(field)}${field.kind === "list" ? "" : " gin_trgm_ops"}`)
      .join(", ")
    return {
      sql: `create index on ${table} using gin (${operators})`,
      columns: patterns,
      method: "gin",
      partial: false,
      expression: patterns.some((field) => field.member !== undefined)
    }
  }
  const ranges = conjuncts(where).flatMap((item) => item.op === "overlaps" && mayName(item.field) ? [item.field] : [])
  if (ranges.length > 0) {
    return {
      sql: `create index on ${table} using gist (${quotedName(ranges[0]!.column)})`,
      columns: [ranges[0]!],
      method: "gist",
      partial: false,
      expression: false
    }
  }
  const keyOnly = [...taken].every((field) => model.key.includes(field))
  if (keyOnly && range.length > 0 && order.length > 0) {
    return suggestIndex(model, where, [], mayName)
  }
  if (columns.length === 0 || keyOnly) return null
  const rows = live(model, where, mayName)
  return {
    sql: `create index on ${table} (${columns.join(", ")})${rows}`,
    columns: [...taken],
    method: "btree",
    partial: rows !== "",
    expression: columns.some((text) => text.startsWith("("))
  }
}

/** An index without the deleted rows answers by itself. An index of all rows would have to read the table for each. */
const live = ({ softDelete }: Model, where: FilterTree, mayName: (field: Field) => boolean): string =>
  softDelete !== null && mayName(softDelete) &&
    conjuncts(where).some((item) => item.op === "null" && item.field === softDelete)
    ? ` where ${quotedName(softDelete.column)} is null`
    : ""

/**
 * Fields that an inverted index serves: lists whose elements are asked for, and texts under contains, search, similar and regex conditions, by trigrams. It
 * does not serve a pattern that may look at some rows only.
 */
const invertedFields = (tree: FilterTree): Field[] => {
  switch (tree.op) {
    case "and":
    case "or":
      return [...new Set(tree.items.flatMap(invertedFields))]
    case "not":
      return invertedFields(tree.item)
    case "contains":
    case "same":
    case "similar":
    case "match":
    case "has":
      return [tree.field]
    case "regex":
      return tree.only === undefined ? [tree.field] : []
    case "search":
      return [...tree.fields]
    default:
      return []
  }
}
