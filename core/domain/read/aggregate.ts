/**
 * Facets, series and histograms (docs/reference/reads.md#counts-and-charts; AIP-136): which fields and measures they accept, which buckets an answer has, and
 * its JSON. Time zones are IANA names; buckets begin at local midnight, hour and so on, also across clock changes.
 */

import * as Result from "effect/Result"
import type { RestrictedModel } from "../access/access.ts"
import { BoundedMap } from "../bounded.ts"
import { maxRelationDepth, relationSteps } from "../filter/path.ts"
import type { FilterScope } from "../filter/scope.ts"
import { quote } from "../filter/scope.ts"
import type { Way } from "../filter/tree.ts"
import type { Field } from "../model/model.ts"
import { facetField } from "../model/model.ts"
import { pathParts } from "../model/path.ts"
import { invalidParameter } from "../problem.ts"
import type { Problem } from "../problem.ts"
import { cellFromText, jsonFromCell, plainText } from "../value/cell.ts"
import { endOfDigits } from "../value/digits.ts"
import { compareInstants } from "../value/instant.ts"
import type { Granularity } from "../value/instant.ts"
import type { Cell, Row } from "../value/kind.ts"
import { hasOrder } from "../value/traits.ts"
import { unknownField } from "./list.ts"
import type { Measure } from "./plan.ts"

/** Most points of a series. */
export const maxPoints = 10_000

/**
 * A readable field by name, for a parameter of an aggregate. Hidden and unknown fields are refused alike, and so are unfilterable ones
 * where the field must be filterable.
 */
export const aggregateField = (
  restricted: RestrictedModel,
  parameter: string,
  name: string,
  accepts: (field: Field) => string | null
): Result.Result<Field, Problem> => {
  const field = restricted.byName.get(name) ?? memberOf(restricted.names, name)
  if (field === undefined) return Result.fail(invalidParameter(parameter, unknownField(name)))
  const refusal = field.filterable ? accepts(field) : `The field "${name}" is not filterable.`
  return refusal === null ? Result.succeed(field) : Result.fail(invalidParameter(parameter, refusal))
}

/** A declared path into JSON, by its name. */
const memberOf = (names: ReadonlyMap<string, Field>, name: string): Field | undefined => {
  const field = names.get(name)
  return field?.member === undefined ? undefined : field
}

/** A field, or one at the end of relations to one record. */
export interface GroupField {
  readonly field: Field
  readonly ways: readonly Way[]
}

/**
 * What `aggregateField` gives for a name, also for a path such as `customer.country`. A related record is what the caller sees of it, so all that is hidden
 * on the way is refused like an unknown name.
 */
export const aggregatePlace = (
  restricted: RestrictedModel,
  scope: FilterScope,
  parameter: string,
  name: string,
  accepts: (field: Field) => string | null
): Result.Result<GroupField, Problem> => {
  if (!name.includes(".") || memberOf(restricted.names, name) !== undefined) {
    return Result.map(aggregateField(restricted, parameter, name, accepts), (field) => ({ field, ways: [] }))
  }
  const refuse = (message: string) => Result.fail(invalidParameter(parameter, message))
  const words = pathParts(name)
  const steps = words.slice(0, relationSteps(scope, words))
  const last = words.slice(steps.length).join(".")
  if (steps.length > maxRelationDepth) return refuse(`A path goes through at most ${maxRelationDepth} relations.`)
  const ways: Way[] = []
  let at = scope
  for (const step of steps) {
    const next = at.relations?.step(step) ?? null
    if (next === null) return refuse(unknownField(name))
    ways.push(next.way)
    at = next.scope
  }
  const field = at.names.get(last)
  if (field === undefined || field.name !== last) return refuse(unknownField(name))
  if (ways.some(({ relation }) => relation.many)) {
    return refuse(`The path ${quote(name)} leads to several records of each.`)
  }
  const refusal = field.filterable ? accepts(field) : `The field ${quote(name)} is not filterable.`
  return refusal === null ? Result.succeed({ field, ways }) : refuse(refusal)
}

const isNumeric = (field: Field): boolean =>
  field.relation === null &&
  (field.kind === "integer" || field.kind === "decimal" || field.kind === "float" || field.kind === "money")

export const facetable = (field: Field): string | null =>
  (field.kind === "list" ? field.file !== null || !hasOrder(field.of.kind) : !hasOrder(field.kind))
    ? `The field "${field.name}" has no facets.`
    : null

/** Fields whose values rows are grouped by. A row would be in a group for each of its elements. */
export const groupable = (field: Field): string | null =>
  field.kind === "list"
    ? `The field "${field.name}" is a list: rows are not grouped by it, and :facets counts its elements.`
    : facetable(field)

export const histogrammable = (field: Field): string | null =>
  isNumeric(field) ? null : `The field "${field.name}" is not a number.`

export const timed = (field: Field): string | null =>
  field.kind === "timestamp" || field.kind === "date"
    ? null
    : `The field "${field.name}" is neither a timestamp nor a date.`

const measuresOfFields = ["sum", "avg", "min", "max"] as const

/** `count`, `sum:<field>`, `avg:<field>`, `min:<field>`, `max:<field>` of a numeric field. */
export const readMeasure = (restricted: RestrictedModel, text: string): Result.Result<Measure, Problem> => {
  if (text === "count") return Result.succeed({ of: "count" })
  const match = /^(\w+):(.+)$/s.exec(text)
  const of = measuresOfFields.find((name) => name === match?.[1])
  if (match === null || of === undefined) {
    return Result.fail(
      invalidParameter("measure", "The parameter must be count, or sum:, avg:, min: or max: with a field.")
    )
  }
  return Result.map(
    aggregateField(restricted, "measure", match[2]!, histogrammable),
    (field): Measure => ({ of, field })
  )
}

/**
 * IANA zones with three letters, by a name that PostgreSQL reads as the same zone. PostgreSQL looks for an abbreviation first: `CET` is one
 * there, an offset without clock changes. Other abbreviations are refused. This runtime knows some (`PST`, `IST`), but for other zones.
 */
const shortNames: ReadonlyMap<string, string> = new Map([
  ["CET", "Europe/Brussels"],
  ["EET", "Europe/Athens"],
  ["MET", "Europe/Brussels"],
  ["WET", "Europe/Lisbon"],
  ["EST", "America/Panama"],
  ["HST", "Pacific/Honolulu"],
  ["MST", "America/Phoenix"],
  ...["GMT", "PRC", "ROC", "ROK", "UCT", "UTC"].map((name) => [name, name] as const)
])

/** An IANA time zone that this runtime knows, under a name that the database reads the same way. Offsets such as `+02:00` are no names. */
export const checkTimeZone = (written: string): Result.Result<string, Problem> => {
  const refused = Result.fail(
    invalidParameter("time_zone", "The parameter must be an IANA time zone such as Europe/Berlin.")
  )
  const name = written.length === 3 ? shortNames.get(written.toUpperCase()) : written
  if (name === undefined || !/^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/.test(name)) return refused
  try {
    formatOf(name)
    return Result.succeed(name)
  } catch {
    return refused
  }
}

const dayMs = 86_400_000
const hourMs = 3_600_000
const rangeDays: { readonly [range: string]: number } = { "7d": 7, "30d": 30, "90d": 90, "1y": 365 }

/** Before this instant zones differ only by their local mean time, and the formatter writes years before Christ like those after. */
const earliest = Date.UTC(1000, 0, 1)

/** Local wall-clock time as if it were UTC, in milliseconds. */
const localTime = (instant: number, timeZone: string): number => {
  if (timeZone === "UTC") return instant
  if (instant < earliest) return instant + localTime(earliest, timeZone) - earliest
  const { format, order } = formatOf(timeZone)
  // `format` and a pattern are four times as fast as `formatToParts`, and a series may ask twenty thousand times.
  const digits = format.format(instant).match(/\d+/g)!
  const part = (name: Part): number => Number(digits[order.indexOf(name)])
  const at = new Date(0)
  at.setUTCFullYear(part("year"), part("month") - 1, part("day"))
  at.setUTCHours(part("hour") % 24, part("minute"), part("second"))
  return at.getTime() + (((instant % 1000) + 1000) % 1000)
}

type Part = "year" | "month" | "day" | "hour" | "minute" | "second"

/** A zone's format, and the order in which it writes its numbers. */
interface Format {
  readonly format: Intl.DateTimeFormat
  readonly order: readonly string[]
}

const formats = new Map<string, Format>()

const formatOf = (timeZone: string): Format => {
  let entry = formats.get(timeZone)
  if (entry === undefined) {
    if (formats.size > 600) formats.clear()
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "iso8601",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric"
    })
    entry = { format, order: format.formatToParts(0).flatMap(({ type }) => type === "literal" ? [] : [type]) }
    formats.set(timeZone, entry)
  }
  return entry
}

/**
 * The instant of a local wall-clock time. A time that occurs twice gives the first instant. A time that a clock change skips is read with
 * the offset before the change, as PostgreSQL does.
 */
const findInstant = (local: number, timeZone: string): number => {
  const before = local - dayMs
  const offset = localTime(before, timeZone) - before
  const candidate = local - offset
  if (localTime(candidate, timeZone) === local) return candidate
  const after = local + dayMs
  const later = local - (localTime(after, timeZone) - after)
  return localTime(later, timeZone) === local ? later : candidate
}

/**
 * Instants that were found before. Charts ask for the same midnights again and again, and each search costs several looks into the zone's
 * table.
 */
const instants = new BoundedMap<string, BoundedMap<number, number>>(50)
const instantsPerZone = 2_000

const instantOf = (local: number, timeZone: string): number => {
  if (timeZone === "UTC") return local
  let byLocal = instants.get(timeZone)
  if (byLocal === undefined) instants.set(timeZone, byLocal = new BoundedMap(instantsPerZone))
  let instant = byLocal.get(local)
  if (instant === undefined) byLocal.set(local, instant = findInstant(local, timeZone))
  return instant
}

/** The local start of the bucket that a local time falls into. */
const floorLocal = (local: number, granularity: Granularity): number => {
  const at = new Date(local)
  if (granularity === "hour") {
    at.setUTCMinutes(0, 0, 0)
    return at.getTime()
  }
  at.setUTCHours(0, 0, 0, 0)
  if (granularity === "week") at.setUTCDate(at.getUTCDate() - ((at.getUTCDay() + 6) % 7))
  else if (granularity === "month") at.setUTCDate(1)
  else if (granularity === "quarter") at.setUTCMonth(at.getUTCMonth() - (at.getUTCMonth() % 3), 1)
  else if (granularity === "year") at.setUTCMonth(0, 1)
  return at.getTime()
}

const nextLocal = (local: number, granularity: Granularity): number => {
  const at = new Date(local)
  if (granularity === "day") at.setUTCDate(at.getUTCDate() + 1)
  else if (granularity === "week") at.setUTCDate(at.getUTCDate() + 7)
  else if (granularity === "month") at.setUTCMonth(at.getUTCMonth() + 1)
  else if (granularity === "quarter") at.setUTCMonth(at.getUTCMonth() + 3)
  else at.setUTCFullYear(at.getUTCFullYear() + 1)
  return at.getTime()
}

/** The bucket starts, as instants, from the bucket of `from` up to and without `to`; at most `limit + 1`. */
export const bucketStarts = (
  from: number,
  to: number,
  granularity: Granularity,
  timeZone: string,
  limit: number
): readonly number[] => {
  const starts: number[] = []
  let local = floorLocal(localTime(from, timeZone), granularity)
  if (granularity === "hour") {
    // Hours advance in real time: the repeated hour of an autumn night is two buckets. Where the clock changes by a part of an hour,
    // buckets begin on the hour again after it.
    const sinceHour = (at: number): number => (((localTime(at, timeZone) % hourMs) + hourMs) % hourMs)
    let at = local - (localTime(from, timeZone) - from)
    let even = at
    while (at < to && starts.length <= limit) {
      starts.push(at)
      at += hourMs
      if (at <= even) continue
      at -= sinceHour(at)
      // One look covers a whole day, as most days have no clock change.
      if (sinceHour(at + dayMs) === 0) even = at + dayMs
    }
    return starts
  }
  // The offset is usually that of a week before. Of two equal local times the earlier offset gives the first instant.
  const close = granularity === "day" || granularity === "week"
  let at = instantOf(local, timeZone)
  while (at < to && starts.length <= limit) {
    // Where a zone skipped a day, as at the date line, the day begins where the next one does.
    if (at !== starts.at(-1)) starts.push(at)
    const next = nextLocal(local, granularity)
    const guess = next - (local - at)
    at = close && localTime(guess, timeZone) === next ? guess : instantOf(next, timeZone)
    local = next
  }
  return starts
}

const firstInstant = Date.parse("0001-01-01T00:00:00Z")
const lastInstant = Date.parse("9999-12-31T23:59:59.999Z")

const toIso = (instant: number): string => {
  const text = new Date(instant).toISOString()
  return instant % 1000 === 0 ? `${text.slice(0, -5)}Z` : text.replace(/0*Z$/, "Z")
}

/** The bounds of a series. */
export interface SeriesBounds {
  /** Inclusive and exclusive bounds as cells of the field's kind; null: open. */
  readonly from: string | null
  readonly to: string | null
  /** The same bounds as instants in whole milliseconds, rounded outwards, for the empty buckets. */
  readonly start: number | null
  readonly end: number | null
}

/** A bound as it was written: its milliseconds (rounded outwards), its local time, and its exact text. */
interface Bound {
  readonly instant: number
  readonly local: number
  readonly text: string
}

const midnight = (local: number, timeZone: string): Bound => {
  const instant = instantOf(local, timeZone)
  return { instant, local, text: toIso(instant) }
}

/** Length of a canonical timestamp with milliseconds. Longer texts have digits that a number of milliseconds would lose. */
const millisecondText = 24

/** ISO dates or timestamps for `from` and `to`; dates are local midnights of the time zone, `to` as a date is that whole day. */
const readBound = (
  parameter: "from" | "to",
  text: string,
  timeZone: string,
  timestampField: Field
): Result.Result<Bound, Problem> => {
  const date = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text)
  if (date !== null) {
    const local = Date.parse(`${text}T00:00:00Z`)
    if (!Number.isNaN(local) && new Date(local).toISOString().startsWith(text)) {
      return Result.succeed(midnight(parameter === "to" ? local + dayMs : local, timeZone))
    }
  } else {
    const cell = cellFromText(timestampField, text)
    if (Result.isSuccess(cell)) {
      const text = cell.success
      const up = parameter === "to" && text.length > millisecondText ? 1 : 0
      const instant = Date.parse(text) + up
      return Result.succeed({ instant, local: localTime(instant, timeZone), text })
    }
  }
  return Result.fail(invalidParameter(parameter, "The parameter must be an ISO 8601 date or timestamp with a zone."))
}

/** The bounds of a series. `now` is the request's instant in milliseconds; ranges end with the current bucket and cover whole days. */
export const seriesRange = (
  request: { readonly range: string; readonly from: string; readonly to: string },
  field: Field,
  timeZone: string,
  now: number
): Result.Result<SeriesBounds, Problem> => {
  // A date column is compared with local calendar days, and a bound covers the whole day it falls into. A bound that no cell can express is
  // left out: series end with the years 0001 and 9999 anyway.
  const cell = ({ instant, local, text }: Bound): string | null => {
    const at = field.kind === "timestamp" ? instant : local
    return at < firstInstant || at > lastInstant ? null : field.kind === "timestamp" ? text : toIso(at).slice(0, 10)
  }
  const day = (local: number, round: (days: number) => number): Bound =>
    midnight(round(local / dayMs) * dayMs, timeZone)
  const bounds = (first: Bound, last: Bound): SeriesBounds => {
    const isDate = field.kind === "date"
    const from = isDate ? day(first.local, Math.floor) : first
    const to = isDate ? day(last.local, Math.ceil) : last
    return { from: cell(from), to: cell(to), start: from.instant, end: to.instant }
  }
  if (request.from !== "") {
    const timestampField: Field = { ...field, kind: "timestamp" }
    const from = readBound("from", request.from, timeZone, timestampField)
    if (Result.isFailure(from)) return Result.fail(from.failure)
    const to = readBound("to", request.to, timeZone, timestampField)
    if (Result.isFailure(to)) return Result.fail(to.failure)
    return compareInstants(from.success.text, to.success.text) < 0
      ? Result.succeed(bounds(from.success, to.success))
      : Result.fail(invalidParameter("to", "The parameter must be later than from."))
  }
  if (request.range === "all") return Result.succeed({ from: null, to: null, start: null, end: null })
  const today = floorLocal(localTime(now, timeZone), "day")
  const first = today - (rangeDays[request.range]! - 1) * dayMs
  return Result.succeed(bounds(midnight(first, timeZone), midnight(today + dayMs, timeZone)))
}

/**
 * The points of a series: every bucket of the range, those without values with 0 (`null` for avg, min and max). Rows are `[start, value]` in
 * order of start; null when there are more than `maxPoints`.
 */
export const seriesPoints = (
  rows: readonly Row[],
  range: SeriesBounds,
  granularity: Granularity,
  timeZone: string,
  measure: Measure
): ReadonlyArray<readonly [start: string, value: Cell]> | null => {
  const last = rows.at(-1)
  const from = range.start ?? (last === undefined ? undefined : Date.parse(rows[0]![0]!))
  const end = range.end ?? (last === undefined ? undefined : Date.parse(last[0]!) + 1)
  if (from === undefined || end === undefined) return []
  const empty: Cell = measure.of === "count" || measure.of === "sum" ? "0" : null
  // The database gives no sum for rows without a value.
  const pointOf = (row: Row): readonly [start: string, value: Cell] => [row[0]!, row[1] ?? empty]
  // Both lists are sorted. Texts of whole seconds in years of four digits sort like their instants.
  const points: Array<readonly [string, Cell]> = []
  let next = 0
  for (const at of bucketStarts(from, end, granularity, timeZone, maxPoints)) {
    const start = toIso(at)
    // Nothing that the database counted is dropped, even where its time zone table differs from the one here.
    while (next < rows.length && rows[next]![0]! < start) points.push(pointOf(rows[next++]!))
    points.push(rows[next]?.[0] === start ? pointOf(rows[next++]!) : [start, empty])
  }
  while (next < rows.length) points.push(pointOf(rows[next++]!))
  return points.length > maxPoints ? null : points
}

/** `{ field, granularity, time_zone, points: [{ start, count }] }`; with a measure the member is `value`, a number or exact text. */
export const seriesJson = (
  field: Field,
  granularity: Granularity,
  timeZone: string,
  measure: Measure,
  points: ReadonlyArray<readonly [start: string, value: Cell]>
): string => {
  const items = points.map(([start, value]) => {
    const member = measure.of === "count" ? "count" : "value"
    const text = value === null ? "null" : measure.of === "count" ? value : JSON.stringify(value)
    return `{"start":"${start}","${member}":${text}}`
  })
  return `{"field":${JSON.stringify(field.name)},"granularity":"${granularity}","time_zone":${
    JSON.stringify(timeZone)
  },` +
    measureMember(measure) +
    `"points":[${items.join(",")}]}`
}

/**
 * `{ field, facets: [{ value, count }] }`; with a measure the answer names it, and each facet has it as exact text, or null without a value. `name`: the field
 * as the request named it.
 */
export const facetsJson = (
  field: Field,
  rows: readonly Row[],
  measure: Measure = { of: "count" },
  name: string = field.name
): string => {
  const measured = measure.of === "count"
    ? () => ""
    : (cell: Cell) => `,"measure":${cell === null ? "null" : JSON.stringify(cell)}`
  const facets = rows.map(([value, count, cell]) =>
    `{"value":${jsonFromCell(facetField(field), value ?? null)},"count":${count}${measured(cell ?? null)}}`
  )
  return `{"field":${JSON.stringify(name)},${measureMember(measure)}"facets":[${facets.join(",")}]}`
}

/** The member that names a measure other than the number of rows. */
const measureMember = (measure: Measure): string =>
  measure.of === "count" ? "" : `"measure":${JSON.stringify(`${measure.of}:${measure.field.name}`)},`

/** Exact decimal texts scaled to integers, so that bucket bounds are exact. */
const scaled = (text: string, scale: number): bigint => {
  const [whole = "0", fraction = ""] = text.split(".")
  return BigInt(whole + fraction.padEnd(scale, "0"))
}

const unscaled = (value: bigint, scale: number): string => {
  if (scale === 0) return String(value)
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, "0")
  const point = digits.length - scale
  const fraction = digits.slice(point, endOfDigits(digits, point))
  return `${value < 0n ? "-" : ""}${digits.slice(0, point)}${fraction === "" ? "" : `.${fraction}`}`
}

/** Most characters of a smallest and a largest value: twice as many digits take four times as long to divide. */
const longestEdge = 20_000

/** Whether the values of a histogram row have more digits than can be divided into buckets in reasonable time. */
export const isIndivisible = ([min, max]: Row): boolean => Math.max(min?.length ?? 0, max?.length ?? 0) > longestEdge

/** Digits that bounds get beyond those of the data. */
const boundDigits = 6

/**
 * `{ field, buckets: [{ from, to, count }] }` of a histogram row `[min, max, count…]`. Bounds are exact for integers and decimals (rounded
 * at six digits past the data's own), texts for decimals and 64-bit integers, numbers otherwise.
 */
export const histogramJson = (field: Field, row: Row | undefined, buckets: number): string => {
  const head = `{"field":${JSON.stringify(field.name)},"buckets":[`
  const min = row?.[0] ?? null
  const max = row?.[1] ?? null
  if (row === undefined || min === null || max === null) return `${head}]}`
  const asText = field.kind === "decimal" || field.kind === "money" || (field.kind === "integer" && field.bits === 64)
  const bound = field.kind === "float" ? floatBound(Number(min), Number(max), buckets) : exactBound(min, max, buckets)
  const bounds = Array.from({ length: buckets + 1 }, (_, i) => asText ? `"${bound(i)}"` : bound(i))
  const items: string[] = []
  for (let i = 0; i < buckets; i++) {
    items.push(`{"from":${bounds[i]!},"to":${bounds[i + 1]!},"count":${row[i + 2] ?? "0"}}`)
  }
  return `${head}${items.join(",")}]}`
}

/** Digits of the bounds of floats. More digits would not name another double. */
const floatDigits = 20

/** Doubles are divided by their shortest decimal text, as the database does when it counts. */
const floatBound = (min: number, max: number, buckets: number): (i: number) => string => {
  const bound = exactBound(plainText(min), plainText(max), buckets, floatDigits)
  return (i) => String(Number(bound(i)))
}

const exactBound = (min: string, max: string, buckets: number, more = boundDigits): (i: number) => string => {
  const digits = Math.max(min.split(".")[1]?.length ?? 0, max.split(".")[1]?.length ?? 0)
  const scale = digits + more
  const low = scaled(min, scale)
  const width = scaled(max, scale) - low
  return (i) => unscaled(low + (width * BigInt(i)) / BigInt(buckets), scale)
}
