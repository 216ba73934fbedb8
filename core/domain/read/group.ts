/**
 * `:aggregate`: groups of rows and measures of them, from texts to a question against the restricted model, and its answer as JSON. A hidden field
 * is refused like an unknown one in every place. Amounts of several currencies are never added up.
 */

import * as Result from "effect/Result"
import type { Access, RestrictedModel } from "../access/access.ts"
import { type Accesses, checkedText, scopeOf as reachedFrom, type Texts } from "../access/reach.ts"
import { BoundedMap } from "../bounded.ts"
import { scan } from "../filter/lex.ts"
import { readFilter, readOrder } from "../filter/read.ts"
import type { FilterError, FilterScope } from "../filter/scope.ts"
import { nameHint, quote } from "../filter/scope.ts"
import type { FilterTree } from "../filter/tree.ts"
import { always } from "../filter/tree.ts"
import { currencyOf } from "../model/amount.ts"
import type { Field, SortKey } from "../model/model.ts"
import { invalidParameter, problem } from "../problem.ts"
import type { Problem } from "../problem.ts"
import { jsonFromCell } from "../value/cell.ts"
import { granularities } from "../value/instant.ts"
import type { Granularity } from "../value/instant.ts"
import type { Cell, Row, Shape } from "../value/kind.ts"
import { aggregateField, aggregatePlace, checkTimeZone, groupable, histogrammable, timed } from "./aggregate.ts"
import type { GroupKey, GroupMeasure, GroupsQuestion, Measure } from "./plan.ts"
import type { GroupsRequest } from "./request.ts"

/** Most fields that rows are grouped by, and most measures of a group. */
export const maxKeys = 3
export const maxMeasures = 10

type MeasureName = Exclude<GroupMeasure["of"], "count">

/** Further kinds of which a database tells the smallest and the largest value. */
const extremes: ReadonlySet<Field["kind"]> = new Set(["time", "interval", "inet", "cidr"])

const comparable = (field: Field): string | null =>
  histogrammable(field) === null || timed(field) === null || extremes.has(field.kind)
    ? null
    : `The field "${field.name}" is neither a number nor a time, an interval or an address.`

const countable = (field: Field): string | null =>
  groupable(field) === null ? null : `The values of the field "${field.name}" cannot be counted.`

/** The measures with a field, and which fields each of them takes. */
export const measurable: { readonly [of in MeasureName]: (field: Field) => string | null } = {
  count_distinct: countable,
  sum: histogrammable,
  avg: histogrammable,
  min: comparable,
  max: comparable,
  median: comparable,
  p95: comparable
}

const isGranularity = (text: string): text is Granularity => granularities.some((granularity) => granularity === text)
const isMeasure = (text: string): text is MeasureName => Object.hasOwn(measurable, text)

/** `name(argument)`, or the argument alone with an empty name. */
const calledOf = (text: string): { readonly name: string; readonly argument: string } => {
  const match = /^([a-z0-9_]+)\((.*)\)$/s.exec(text)
  return match === null ? { name: "", argument: text } : { name: match[1]!, argument: match[2]! }
}

/** Whether a field is the currency of amounts that may be measured: rows may then be grouped by it, filterable or not. */
const isCurrency = ({ fields, model }: RestrictedModel, field: Field): boolean =>
  field.kind === "currency" &&
  fields.some((amount) => amount.filterable && currencyOf(amount, model.fields) === field)

/** Whether rows may be grouped by the values of a field. */
export const isGroupable = (restricted: RestrictedModel, field: Field): boolean =>
  (field.filterable && groupable(field) === null) || isCurrency(restricted, field)

const readKey = (
  restricted: RestrictedModel,
  scope: FilterScope,
  text: string
): Result.Result<GroupKey, Problem> => {
  const { argument, name } = calledOf(text)
  if (name === "") {
    const named = restricted.byName.get(argument)
    const place = named !== undefined && isCurrency(restricted, named)
      ? Result.succeed({ field: named, ways: [] })
      : aggregatePlace(restricted, scope, "group_by", argument, groupable)
    return Result.map(place, (place) => ({ ...place, granularity: null }))
  }
  return isGranularity(name)
    ? Result.map(aggregatePlace(restricted, scope, "group_by", argument, timed), (place) => ({
      ...place,
      granularity: name
    }))
    : Result.fail(
      invalidParameter("group_by", `There is no ${quote(name)} to group by.`, `Buckets: ${granularities.join(", ")}.`)
    )
}

const readGroupMeasure = (restricted: RestrictedModel, text: string): Result.Result<GroupMeasure, Problem> => {
  if (text === "count") return Result.succeed({ of: "count" })
  const { argument, name } = calledOf(text)
  return isMeasure(name)
    ? Result.map(
      aggregateField(restricted, "measures", argument, measurable[name]),
      (field): GroupMeasure => ({ of: name, field })
    )
    : Result.fail(
      invalidParameter(
        "measures",
        `There is no measure ${quote(text)}.`,
        `Measures: count, and ${Object.keys(measurable).join(", ")} of a field, such as count_distinct(${
          restricted.fields[0]?.name ?? "id"
        }).`
      )
    )
}

const exact: Shape = { kind: "decimal", precision: null, scale: null }

const shapeOf = (measure: GroupMeasure): Shape => {
  switch (measure.of) {
    case "count":
    case "count_distinct":
      return { kind: "integer", bits: 64 }
    case "sum":
    case "avg":
      return exact
    default:
      return measure.field
  }
}

/** A column of the answer as a field, so that filters and orders can be read against it. It is no path into JSON any more. */
const columnField = (base: Field, shape: Shape, name: string, index: number): Field => {
  const { member: _, ...column }: Field = {
    ...base,
    ...shape,
    name,
    column: `c${index}`,
    index,
    relation: null,
    alias: null,
    optional: true,
    filterable: true,
    sortable: true,
    searched: false,
    file: null
  }
  return column
}

const moment: Shape = { kind: "timestamp" }

const calls = `-?(?:${[...Object.keys(measurable), ...granularities].join("|")})\\(`
const isCalled = new RegExp(`^${calls}`)

/** Where signs that end a word are put, so that the filter language reads `sum(total)` as one name. Each is one sign again, so that places stay. */
const away = 0xE000
const asWord = (name: string): string =>
  isCalled.test(name)
    ? name.replace(/[\u0000-\u0020"'(),:<=>!\\]/g, (sign) => String.fromCharCode(away + sign.charCodeAt(0)))
    : name
const fromWord = (text: string): string =>
  text.replace(/[\uE000-\uE07F]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) - away))

const called = new RegExp(
  `${calls}(?:[^\\s"'(),:<=>!]|"(?:[^"\\\\]|\\\\.)*")*\\)`,
  "y"
)

/** The text with its calls of measures and buckets as single words. */
const withWords = (text: string): string => {
  let written = ""
  let from = 0
  for (let token = scan(text, 0); token.kind !== "end" && token.kind !== "unterminated";) {
    called.lastIndex = token.start
    const end = token.kind === "word" && called.test(text) ? called.lastIndex : token.end
    if (end > token.end) {
      written += text.slice(from, token.start) + asWord(text.slice(token.start, end))
      from = end
    }
    token = scan(text, end)
  }
  return written + text.slice(from)
}

const refused =
  (parameter: "having" | "order_by", text: string, what: string, names: readonly string[]) =>
  (errors: readonly FilterError[]): Problem => {
    const told = errors.map((error) => {
      if (error.code !== "unknown-field") {
        return { ...error, message: fromWord(error.message), hint: fromWord(error.hint) }
      }
      const name = text.slice(error.span.start, error.span.end)
      const message = `There is no ${quote(name)} in this answer.`
      return { ...error, message, hint: nameHint(name, names, what) }
    })
    const slug = parameter === "having" ? "invalid-filter" : "invalid-order-by"
    return problem(slug, told[0]!.message, { parameter, errors: told })
  }

const scopeOf = (columns: readonly Field[]): FilterScope => ({
  // A measure may have the name of a field. It is then the measure that an order means.
  names: new Map(columns.map((column) => [asWord(column.name), column])),
  searched: [],
  caller: false
})

const readHaving = (text: string, measures: readonly Field[]): Result.Result<FilterTree, Problem> =>
  text.trim() === ""
    ? Result.succeed(always)
    : Result.mapError(
      readFilter(withWords(text), scopeOf(measures)),
      refused("having", text, "Measures of this request", measures.map(({ name }) => name))
    )

const readGroupOrder = (
  text: string,
  columns: readonly Field[],
  keys: number
): Result.Result<readonly SortKey[], Problem> => {
  const written = text.trim() === "" ? Result.succeed([]) : readOrder(withWords(text), scopeOf(columns))
  return Result.mapBoth(written, {
    onFailure: refused("order_by", text, "Groups and measures of this request", columns.map(({ name }) => name)),
    onSuccess: (sorts) => {
      const rest = columns.slice(0, keys).filter((column) => sorts.every(({ field }) => field !== column))
      return [...sorts, ...rest.map((field) => ({ field, descending: false }))]
    }
  })
}

const questions = new WeakMap<RestrictedModel, Texts<Result.Result<GroupsQuestion, Problem>>>()

/** Checks the texts of an `:aggregate` but for its filter. The same texts of the same accesses give the same object. */
export const readGroups = (
  accesses: Accesses,
  access: Access,
  request: GroupsRequest
): Result.Result<GroupsQuestion, Problem> => {
  const { restricted } = access
  const { groupBy, having, measures, orderBy, timeZone } = request
  const key = JSON.stringify([groupBy, measures, having, orderBy, timeZone])
  let texts = questions.get(restricted)
  if (texts === undefined) questions.set(restricted, texts = new BoundedMap(200))
  return checkedText(
    texts,
    accesses,
    access,
    key,
    (asked) => Result.gen(() => read(restricted, reachedFrom(accesses, access, asked), request))
  )
}

const read = function*(
  restricted: RestrictedModel,
  scope: FilterScope,
  request: GroupsRequest
): Generator<Result.Result<unknown, Problem>, GroupsQuestion, never> {
  if (request.groupBy.length > maxKeys) {
    return yield* Result.fail(invalidParameter("group_by", `Rows are grouped by at most ${maxKeys} fields.`))
  }
  if (request.measures.length > maxMeasures) {
    return yield* Result.fail(invalidParameter("measures", `A group has at most ${maxMeasures} measures.`))
  }
  const keys: GroupKey[] = []
  for (const text of request.groupBy) keys.push(yield* readKey(restricted, scope, text))
  const measures: GroupMeasure[] = []
  for (const text of request.measures) measures.push(yield* readGroupMeasure(restricted, text))
  const timeZone = yield* checkTimeZone(request.timeZone)
  const key = restricted.model.key[0]!
  const columns = [
    ...keys.map(({ field, granularity }, i) =>
      columnField(field, granularity === null ? field : moment, request.groupBy[i]!, i)
    ),
    ...measures.map((measure, i) =>
      columnField(
        measure.of === "count" ? key : measure.field,
        shapeOf(measure),
        request.measures[i]!,
        keys.length + i
      )
    )
  ]
  const having = yield* readHaving(request.having, columns.slice(keys.length))
  const order = yield* readGroupOrder(request.orderBy, columns, keys.length)
  return { keys, measures, columns, having, order, timeZone }
}

// ------------------------------------------------------------------------------------------------------------ currencies

/** Whether every row that passes has the same value of a field. */
const isOneValue = (filter: FilterTree, field: Field): boolean =>
  (filter.op === "compare" && filter.field === field && filter.is === "=") ||
  (filter.op === "in" && filter.field === field && filter.values.length === 1) ||
  (filter.op === "and" && filter.items.some((item) => isOneValue(item, field)))

/**
 * Refuses measures of amounts in several currencies: rows must be grouped by the currency, or the filter must choose one. `parameter` is where the
 * measures stand. A caller who cannot see the currency sees numbers without one.
 */
export const checkCurrencies = (
  restricted: RestrictedModel,
  parameter: "measure" | "measures",
  measures: ReadonlyArray<GroupMeasure | Measure>,
  groups: readonly Field[],
  filter: FilterTree
): Result.Result<void, Problem> => {
  for (const measure of measures) {
    if (measure.of === "count" || measure.of === "count_distinct") continue
    const currency = currencyOf(measure.field, restricted.model.fields)
    if (currency === null || restricted.byName.get(currency.name) !== currency) continue
    if (groups.includes(currency) || isOneValue(filter, currency)) continue
    return Result.fail(
      invalidParameter(
        parameter,
        `Amounts of several currencies cannot be added up or compared: "${measure.field.name}" has its currency in "${currency.name}".`,
        (parameter === "measures" ? `Group by ${currency.name}` : `Ask :aggregate for groups by ${currency.name}`) +
          (currency.filterable ? `, or filter for one, such as ${currency.name} = "EUR".` : ".")
      )
    )
  }
  return Result.succeed(undefined)
}

// ------------------------------------------------------------------------------------------------------------ the answer

/** Counts are numbers, as in the other aggregates; all other measures are exact texts, or null where there is no value. */
const measureJson = (measure: GroupMeasure, cell: Cell): string =>
  measure.of === "count" || measure.of === "count_distinct"
    ? cell ?? "0"
    : cell === null
    ? "null"
    : JSON.stringify(cell)

/** `{ groups: [{ group: {…}, measures: {…} }], more }`: members have the names of the request, values of keys their own wire form. */
export const groupsJson = (
  { columns, keys, measures }: GroupsQuestion,
  rows: readonly Row[],
  limit: number
): string => {
  const names = columns.map(({ name }) => JSON.stringify(name))
  const items = rows.slice(0, limit).map((row) => {
    const group = keys.map((_, i) => `${names[i]!}:${jsonFromCell(columns[i]!, row[i] ?? null)}`)
    const measured = measures.map((measure, i) => {
      const at = keys.length + i
      return `${names[at]!}:${measureJson(measure, row[at] ?? null)}`
    })
    return `{"group":{${group.join(",")}},"measures":{${measured.join(",")}}}`
  })
  return `{"groups":[${items.join(",")}],"more":${rows.length > limit}}`
}
