/**
 * Facets, series, histograms and groups over rows in memory, exact as the database's: integers and decimals never become JavaScript numbers.
 */

import { evaluate } from "../../core/domain/filter/evaluate.ts"
import type { Field, SortKey } from "../../core/domain/model/model.ts"
import { facetField } from "../../core/domain/model/model.ts"
import type { GroupField } from "../../core/domain/read/aggregate.ts"
import { bucketStarts } from "../../core/domain/read/aggregate.ts"
import type {
  FacetsPlan,
  GroupKey,
  GroupMeasure,
  GroupsPlan,
  HistogramPlan,
  Measure,
  SeriesPlan
} from "../../core/domain/read/plan.ts"
import { compareCells } from "../../core/domain/value/cell.ts"
import type { Granularity } from "../../core/domain/value/instant.ts"
import { intervalLength } from "../../core/domain/value/interval.ts"
import type { Cell, Row } from "../../core/domain/value/kind.ts"
import { cellsIn } from "../../core/domain/value/list.ts"

export type CellsOf = (row: Row, field: Field) => Cell

/** The cell of a field that may be one of a related record. */
export type CellsAt = (row: Row, place: GroupField) => Cell

/** A decimal text as an integer and its number of fraction digits. Understands exponents, as floats have them. */
interface Numeral {
  readonly digits: bigint
  readonly scale: number
}

const numeral = (text: string): Numeral => {
  const [mantissa = "0", exponent = "0"] = text.split(/e/i)
  const [whole = "0", fraction = ""] = mantissa.split(".")
  const shift = Number(exponent)
  const scale = fraction.length - shift
  const digits = BigInt(whole + fraction)
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale }
}

const scaledTo = ({ digits, scale }: Numeral, to: number): bigint => digits * 10n ** BigInt(to - scale)

const plain = ({ digits, scale }: Numeral): string => {
  const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, "0")
  const sign = digits < 0n ? "-" : ""
  return scale === 0 ? sign + text : `${sign}${text.slice(0, -scale)}.${text.slice(-scale)}`
}

const add = (a: Numeral, b: Numeral): Numeral => {
  const scale = Math.max(a.scale, b.scale)
  return { digits: scaledTo(a, scale) + scaledTo(b, scale), scale }
}

/** Position of the first group of four digits, and that group, as PostgreSQL's numeric stores them. */
const leading = ({ digits, scale }: Numeral): { readonly weight: number; readonly first: number } => {
  const text = String(digits < 0n ? -digits : digits)
  if (text === "0") return { weight: 0, first: 0 }
  const power = text.length - scale - 1
  const weight = Math.floor(power / 4)
  return { weight, first: Number(text.slice(0, power - weight * 4 + 1).padEnd(power - weight * 4 + 1, "0")) }
}

/** Division with the number of digits PostgreSQL gives it (select_div_scale: 16 significant), rounded half away from zero. */
const divide = (a: Numeral, by: bigint): Numeral => {
  const [left, right] = [leading(a), leading({ digits: by, scale: 0 })]
  const weight = left.weight - right.weight - (left.first <= right.first ? 1 : 0)
  const scale = Math.max(16 - weight * 4, a.scale, 0)
  const numerator =
    scaledTo({ digits: a.digits < 0n ? -a.digits : a.digits, scale: a.scale }, Math.max(scale, a.scale)) * 2n + by
  const quotient = numerator / (by * 2n)
  return { digits: a.digits < 0n ? -quotient : quotient, scale }
}

const exactSum = (cells: readonly string[]): Numeral => cells.map(numeral).reduce(add, { digits: 0n, scale: 0 })

const measured = (measure: Measure, rows: readonly Row[], cellOf: CellsOf): Cell => {
  if (measure.of === "count") return String(rows.length)
  const { field } = measure
  const cells = rows.map((row) => cellOf(row, field)).filter((cell) => cell !== null)
  if (cells.length === 0) return null
  switch (measure.of) {
    case "sum":
      return cells.every((cell) => /\d$/.test(cell))
        ? plain(exactSum(cells))
        : String(cells.reduce((sum, cell) => sum + Number(cell), 0))
    case "avg":
      return field.kind === "float"
        ? String(cells.reduce((sum, cell) => sum + Number(cell), 0) / cells.length)
        : plain(divide(exactSum(cells), BigInt(cells.length)))
    case "min":
      return cells.reduce((low, cell) => compareCells(field, cell, low) < 0 ? cell : low)
    case "max":
      return cells.reduce((high, cell) => compareCells(field, cell, high) > 0 ? cell : high)
  }
}

/** Groups rows by a text that names the group. */
const grouped = <K>(rows: readonly Row[], keyOf: (row: Row) => K): Map<K, Row[]> => {
  const groups = new Map<K, Row[]>()
  for (const row of rows) {
    const key = keyOf(row)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  return groups
}

export const facetRows = (
  plan: FacetsPlan,
  rows: readonly Row[],
  cellOf: CellsOf,
  cellAt: CellsAt
): readonly Row[] => {
  const { limit, measure = { of: "count" } } = plan
  const field = facetField(plan.field)
  const valuesOf = (cell: Cell): Iterable<Cell> =>
    plan.field.kind !== "list" ? [cell] : cell === null ? [] : new Set(cellsIn(cell).filter((each) => each !== null))
  const valued = rows.flatMap((row) =>
    [...valuesOf(cellAt(row, { field: plan.field, ways: plan.ways ?? [] }))].map((value) => ({ value, row }))
  )
  const exact: Field = { ...field, kind: "decimal", precision: null, scale: null }
  const sorted = measure.of === "min" || measure.of === "max" ? measure.field : exact
  return [...Map.groupBy(valued, ({ value }) => value)]
    .map(([value, group]) => ({
      value,
      count: group.length,
      measured: measured(measure, group.map(({ row }) => row), cellOf)
    }))
    .sort((a, b) =>
      compareWithNulls(sorted, b.measured, a.measured, -1) || compareWithNulls(field, a.value, b.value, 1)
    )
    .slice(0, limit)
    .map(({ count, measured, value }) => [value, String(count), ...(measure.of === "count" ? [] : [measured])])
}

/** `nulls`: 1 where they are greater than all values, -1 where they are less. */
const compareWithNulls = (field: Field, a: Cell, b: Cell, nulls: 1 | -1): number =>
  a === b ? 0 : a === null ? nulls : b === null ? -nulls : compareCells(field, a, b)

const isoOf = (instant: number): string => new Date(instant).toISOString().replace(/\.?0*Z$/, "Z")

export const seriesRows = (plan: SeriesPlan, rows: readonly Row[], cellOf: CellsOf): readonly Row[] => {
  const { field, from, to } = plan
  const within = rows.filter((row) => {
    const cell = cellOf(row, field)
    return cell !== null && !cell.endsWith("infinity") && (from === null || compareCells(field, cell, from) >= 0) &&
      (to === null || compareCells(field, cell, to) < 0)
  })
  return [...grouped(within, (row) => startOf(field, cellOf(row, field)!, plan.granularity, plan.timeZone))]
    .sort(([a], [b]) => a - b)
    .slice(0, plan.limit + 1)
    .map(([start, group]) => [isoOf(start), measured(plan.measure, group, cellOf)])
}

/** The first instant of the bucket of a time. */
const startOf = (field: Field, cell: string, granularity: Granularity, timeZone: string): number => {
  // A date is a day of the zone's calendar: the bucket of its noon there, give or take the zone's offset.
  if (field.kind === "date") {
    const noon = Date.parse(`${cell}T12:00:00Z`)
    const starts = bucketStarts(noon - 86_400_000, noon + 86_400_000, "day", timeZone, 10)
    const day = starts.find((at) => dayIn(at, timeZone) === cell) ?? noon
    return bucketStarts(day, day + 1, granularity, timeZone, 1)[0]!
  }
  const instant = Math.floor(Date.parse(cell.replace(/(\.\d{3})\d*Z$/, "$1Z")))
  return bucketStarts(instant, instant + 1, granularity, timeZone, 1)[0]!
}

const dayIn = (instant: number, timeZone: string): string =>
  new Intl.DateTimeFormat("en-CA", {
    timeZone,
    calendar: "iso8601",
    year: "numeric",
    month: "2-digit",
    day: "2-digit"
  }).format(instant).padStart(10, "0")

export const histogramRows = (plan: HistogramPlan, rows: readonly Row[], cellOf: CellsOf): readonly Row[] => {
  const { buckets, field } = plan
  const cells = rows.map((row) => cellOf(row, field)).filter((cell) =>
    cell !== null && /\d$/.test(cell)
  ) as readonly string[]
  const counts = Array.from({ length: buckets }, () => 0)
  if (cells.length === 0) return [[null, null, ...counts.map(String)]]
  const low = cells.reduce((least, cell) => compareCells(field, cell, least) < 0 ? cell : least)
  const high = cells.reduce((most, cell) => compareCells(field, cell, most) > 0 ? cell : most)
  const scale = cells.reduce((most, cell) => Math.max(most, numeral(cell).scale), 0)
  const from = scaledTo(numeral(low), scale)
  const width = scaledTo(numeral(high), scale) - from
  for (const cell of cells) {
    const at = width === 0n ? buckets - 1 : Number(((scaledTo(numeral(cell), scale) - from) * BigInt(buckets)) / width)
    counts[Math.min(at, buckets - 1)]!++
  }
  const end = (cell: string): string =>
    field.kind === "decimal" ? plain({ digits: scaledTo(numeral(cell), scale), scale }) : cell
  return [[end(low), end(high), ...counts.map(String)]]
}

const firstInstant = Date.parse("0001-01-01T00:00:00Z")

const keyCell = ({ field, granularity }: GroupKey, cell: Cell, timeZone: string): Cell =>
  cell === null || granularity === null
    ? cell
    : /^\d{4}-.*[\dZ]$/.test(cell)
    ? isoOf(Math.max(startOf(field, cell, granularity, timeZone), firstInstant))
    : null

const trimmed = (decimal: string): string => decimal.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "")

/** A text that equal values share: 1.0 and 1.00 are equal, and so are both zeros of floats, a month and 30 days. */
const identityOf = (field: Field, cell: Cell): Cell =>
  cell === null
    ? cell
    : field.kind === "interval"
    ? String(intervalLength(cell))
    : !/\d$/.test(cell)
    ? cell
    : field.kind === "decimal"
    ? trimmed(cell)
    : field.kind === "float"
    ? String(Number(cell) + 0)
    : cell

const groupMeasured = (measure: GroupMeasure, rows: readonly Row[], cellOf: CellsOf): Cell => {
  if (measure.of === "count") return String(rows.length)
  const { field, of } = measure
  const cells = rows.map((row) => cellOf(row, field)).filter((cell) => cell !== null)
  const ranked = (part: number): Cell =>
    [...cells].sort((a, b) => compareCells(field, a, b))[Math.ceil(part * cells.length) - 1] ?? null
  switch (of) {
    case "count_distinct":
      return String(new Set(cells.map((cell) => identityOf(field, cell))).size)
    case "median":
      return ranked(0.5)
    case "p95":
      return ranked(0.95)
    case "avg":
      return cells.length > 0 && cells.every((cell) => /\d$/.test(cell))
        ? trimmed(plain(divide(add(exactSum(cells), { digits: 0n, scale: 16 }), BigInt(cells.length))))
        // No average of these differs from their sum: it is infinite, or no number.
        : measured({ of: "sum", field }, rows, cellOf)
    default:
      return measured({ of, field }, rows, cellOf)
  }
}

export const groupRows = (
  { bindings, limit, question: { having, keys, measures, order, timeZone } }: GroupsPlan,
  rows: readonly Row[],
  cellOf: CellsOf,
  cellAt: CellsAt
): readonly Row[] => {
  const keysOf = (row: Row) => keys.map((key) => keyCell(key, cellAt(row, key), timeZone))
  const found = grouped(
    rows,
    (row) => JSON.stringify(keysOf(row).map((cell, i) => identityOf(keys[i]!.field, cell)))
  )
  if (keys.length === 0 && rows.length === 0) found.set("", [])
  return [...found.values()]
    .map((group): Row => [
      ...(group.length === 0 ? [] : keysOf(group[0]!)),
      ...measures.map((measure) => groupMeasured(measure, group, cellOf))
    ])
    .filter((row) => evaluate(having, (field) => row[field.index] ?? null, bindings))
    .sort((a, b) => compareRows(order, a, b))
    .slice(0, limit)
}

const compareRows = (order: readonly SortKey[], a: Row, b: Row): number => {
  for (const { descending, field } of order) {
    const ascending = compareWithNulls(field, a[field.index] ?? null, b[field.index] ?? null, 1)
    if (ascending !== 0) return descending ? -ascending : ascending
  }
  return 0
}
