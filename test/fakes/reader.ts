/**
 * The reading half of the records fake: pages, counts and checks over rows in memory. It is given the rows, whether they are those that are
 * committed or what a transaction sees.
 */

import * as Effect from "effect/Effect"
import * as crypto from "node:crypto"
import { cellIn, cellThrough, evaluate, operandCell, type RowsThrough } from "../../core/domain/filter/evaluate.ts"
import { compilePattern } from "../../core/domain/filter/pattern.ts"
import { pathOf } from "../../core/domain/filter/tree.ts"
import type { Bindings, FilterTree, OrderKey } from "../../core/domain/filter/tree.ts"
import type { Field, Model, SortKey } from "../../core/domain/model/model.ts"
import { identityOf } from "../../core/domain/model/model.ts"
import { hashedText } from "../../core/domain/read/etag.ts"
import type { PagePlan, PageShape, RelatedPlan } from "../../core/domain/read/plan.ts"
import { rowBytes } from "../../core/domain/value/bytes.ts"
import { compareCells } from "../../core/domain/value/cell.ts"
import type { Cell, Row } from "../../core/domain/value/kind.ts"
import { textsIn } from "../../core/domain/value/list.ts"
import type { RecordsError, RecordsReader } from "../../core/ports/records.ts"
import { type CellsAt, facetRows, groupRows, histogramRows, seriesRows } from "./aggregate.ts"
import { refusal } from "./constraints.ts"

export const tableName = (model: Model): string => `${model.schema ?? ""}.${model.table}`
const keyText = (parts: readonly Cell[]): string => JSON.stringify(parts)
export const cellOf = (row: Row, field: Field): Cell => cellIn(field, ({ index }) => row[index] ?? null)
export const keyOf = (model: Model, row: Row): string => keyText(identityOf(model).map((field) => cellOf(row, field)))
/** The same of a row that a caller names by its key. */
export const namedBy = (model: Model, key: readonly string[], bindings: Bindings): string =>
  keyText(
    identityOf(model).map((field, i) => key[i] ?? operandCell({ of: "caller", value: "tenant" }, field, bindings))
  )

export const compareKeys = (
  order: readonly SortKey[],
  a: (index: number) => Cell,
  b: (index: number) => Cell
): number => {
  for (const [index, { descending, field }] of order.entries()) {
    const [left, right] = [a(index), b(index)]
    if (left === right) continue
    // Ascending nulls are last; descending turns everything round.
    const ascending = left === null ? 1 : right === null ? -1 : compareCells(field, left, right)
    if (ascending !== 0) return descending ? -ascending : ascending
  }
  return 0
}

/** Refuses what the database would refuse: a pattern no engine understands. */
export const checkPatterns = (tree: FilterTree): Effect.Effect<void, RecordsError> => {
  switch (tree.op) {
    case "regex":
      return compilePattern(tree.pattern) === null ? Effect.fail(refusal("BadPattern")) : Effect.void
    case "not":
    case "some":
    case "count":
      return checkPatterns(tree.item)
    case "and":
    case "or":
      return Effect.forEach(tree.items, checkPatterns, { discard: true })
    default:
      return Effect.void
  }
}

/** Related records among those that `read` gives. */
export const relatedIn = (read: (model: Model) => readonly Row[]): RowsThrough => ({ model, to }, value) =>
  read(model).flatMap((row) => {
    const cell = cellOf(row, to)
    return cell !== null && compareCells(to, cell, value) === 0 ? [(field: Field) => cellOf(row, field)] : []
  })

export const passesTree = (tree: FilterTree, row: Row, bindings: Bindings, related: RowsThrough): boolean =>
  evaluate(tree, (field) => cellOf(row, field), bindings, related)

/** The cell that a row has for a key of an order. */
export const keyCell = (row: Row, { field, ways = [] }: OrderKey, bindings: Bindings, related: RowsThrough): Cell =>
  cellThrough(ways, field, (of) => cellOf(row, of), bindings, related)

/** A row of a page: columns, checks, hash, the cell of the order's path. */
const pageRow = (
  row: Row,
  { checks, columns, hashed = [], order }: PageShape,
  bindings: Bindings,
  related: RowsThrough
): Row => {
  const path = pathOf(order)
  return [
    ...answer(row, columns, checks, bindings, related),
    ...hashed.length === 0 ? [] : [crypto.hash("sha256", hashedText(hashed, (field) => cellOf(row, field)), "hex")],
    ...path === null ? [] : [keyCell(row, path, bindings, related)]
  ]
}

export const answer = (
  row: Row,
  columns: readonly Field[],
  checks: readonly FilterTree[],
  bindings: Bindings,
  related: RowsThrough
): Row => [
  ...columns.map((field) => cellOf(row, field)),
  ...checks.map((check) => String(passesTree(check, row, bindings, related)))
]

export const pageOf = (plan: PagePlan, rows: readonly Row[], related: RowsThrough): readonly Row[] => {
  const { bindings, shape } = plan
  const { order } = shape
  const places = new Map<Row, readonly Cell[]>()
  const place = (row: Row) => (index: number): Cell => {
    let cells = places.get(row)
    if (cells === undefined) places.set(row, cells = order.map((key) => keyCell(row, key, bindings, related)))
    return cells[index]!
  }
  let found = rows.filter((row) => passesTree(shape.where, row, bindings, related))
  if (order.length > 0) found.sort((a, b) => compareKeys(order, place(a), place(b)))
  const { after, before } = plan
  const offset = plan.offset ?? 0
  // An empty position is the beginning, or the end.
  if (after !== undefined) {
    if (after.length > 0) found = found.filter((row) => compareKeys(order, place(row), (index) => after[index]!) > 0)
  } else if (before !== undefined) {
    if (before.length > 0) found = found.filter((row) => compareKeys(order, place(row), (index) => before[index]!) < 0)
    const end = found.length - offset
    return found.slice(Math.max(0, end - shape.limit), Math.max(0, end)).map((row) =>
      pageRow(row, shape, bindings, related)
    )
  }
  const { counted } = plan
  const page = found.slice(offset, offset + shape.limit).map((row) => pageRow(row, shape, bindings, related))
  return counted === undefined ? page : page.map((row) => [...row, String(Math.min(found.length, counted))])
}

/** The rows of values, by the letter of the plan. */
export const relatedOf = (
  { bindings, how, keys, shape, to }: RelatedPlan,
  rows: readonly Row[],
  related: RowsThrough
): readonly Row[] => {
  const { order } = shape
  const place = (row: Row) => (index: number): Cell => keyCell(row, order[index]!, bindings, related)
  const plain = { ...shape, order: [] }
  const found = rows.filter((row) => passesTree(shape.where, row, bindings, related))
    .sort((a, b) => compareKeys(order, place(a), place(b)))
  const of = (key: string): readonly Row[] =>
    found.filter((row) => {
      const cell = cellOf(row, to)
      return cell !== null && compareCells(to, cell, key) === 0
    })
  if (how.of === "counts") return keys.map((key, i) => [String(i), String(of(key).length)])
  if (how.of === "each") {
    return keys.flatMap((key, i) =>
      of(key).slice(0, shape.limit).map((row) => [...pageRow(row, plain, bindings, related), String(i)])
    )
  }
  const answers: Row[] = []
  let parents: ReadonlyArray<readonly [owner: string, key: string]> = keys.map((key, i) => [String(i), key])
  for (let level = 1; level <= how.depth && parents.length > 0; level++) {
    const here = parents.flatMap(([owner, key]) => of(key).map((row) => ({ owner, row })))
      .sort((a, b) => compareKeys(order, place(a.row), place(b.row)))
    answers.push(...here.map(({ owner, row }) => [...pageRow(row, plain, bindings, related), owner, String(level)]))
    parents = [...new Set(here.flatMap(({ row }) => cellOf(row, how.from) ?? []))].map((cell) => [cell, cell])
  }
  return answers.slice(0, shape.limit)
}

export const bytesOf = (rows: readonly Row[]): number => rows.reduce((sum, row) => sum + rowBytes(row), 0)

/** The rows of a page that have at most so many bytes, and one in any case. */
export const cutRows = (rows: readonly Row[], bytes: number, fromEnd: boolean): readonly Row[] => {
  const kept: Row[] = []
  let left = bytes
  for (const row of fromEnd ? [...rows].reverse() : rows) {
    left -= rowBytes(row)
    if (left < 0 && kept.length > 0) break
    kept.push(row)
  }
  return fromEnd ? kept.reverse() : kept
}

export const makeReader = (
  read: (model: Model) => readonly Row[],
  begin: (name: string) => Effect.Effect<void, RecordsError>,
  estimate: RecordsReader["estimate"],
  answerBytes: number
): RecordsReader => {
  const related = relatedIn(read)
  const matching = (model: Model, where: FilterTree, bindings: Bindings) =>
    read(model).filter((row) => passesTree(where, row, bindings, related))
  /** The cell at the end of ways to one record, or null without one that passes. */
  const atEnd = (bindings: Bindings): CellsAt => (row, { field, ways }) =>
    cellThrough(ways, field, (each) => cellOf(row, each), bindings, related)
  const ready = (name: string, trees: readonly FilterTree[]) =>
    Effect.andThen(begin(name), Effect.forEach(trees, checkPatterns, { discard: true }))
  return {
    page: (plan) =>
      Effect.flatMap(ready("page", [plan.shape.where, ...plan.shape.checks]), () => {
        const rows = pageOf(plan, read(plan.shape.model), related)
        return bytesOf(rows) > answerBytes ? Effect.fail(refusal("TooLarge")) : Effect.succeed(rows)
      }),
    related: (plan) =>
      Effect.flatMap(ready("related", [plan.shape.where, ...plan.shape.checks]), () => {
        const rows = relatedOf(plan, read(plan.shape.model), related)
        return bytesOf(rows) > answerBytes ? Effect.fail(refusal("TooLarge")) : Effect.succeed(rows)
      }),
    count: (plan) =>
      Effect.map(ready("count", [plan.where]), () => {
        const count = matching(plan.model, plan.where, plan.bindings).length
        return String(plan.cap === null ? count : Math.min(count, plan.cap))
      }),
    holding: ({ field, model, tenant, texts }) =>
      Effect.map(begin("holding"), () => {
        const textsOf = (cell: Cell): readonly string[] =>
          cell === null ? [] : field.kind === "list" ? textsIn(cell) : [cell]
        const rows = read(model).filter((row) => tenant === undefined || row[model.tenant!.index] === tenant)
        const values = rows.flatMap((row) => textsOf(row[field.index] ?? null))
        return [...new Set(values.filter((value) => texts.includes(value.split("?", 1)[0]!)))]
      }),
    aggregate: (plan) =>
      Effect.map(ready("aggregate", [plan.where]), () => {
        const rows = matching(plan.model, plan.where, plan.bindings)
        switch (plan.of) {
          case "facets":
            return facetRows(plan, rows, cellOf, atEnd(plan.bindings))
          case "series":
            return seriesRows(plan, rows, cellOf)
          case "histogram":
            return histogramRows(plan, rows, cellOf)
          case "groups":
            return groupRows(plan, rows, cellOf, atEnd(plan.bindings))
        }
      }),
    estimate: (plan) => Effect.andThen(begin("estimate"), estimate(plan))
  }
}
