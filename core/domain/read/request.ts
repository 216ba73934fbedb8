/**
 * Request parameters, from query pairs or from a `:search` body, into typed requests. It knows names, forms and
 * limits; it knows no model. Every bad parameter is reported, all together.
 */

import * as Result from "effect/Result"
import { isTextList } from "../bag.ts"
import { maxCharacters } from "../filter/parse.ts"
import { partsBetween } from "../model/path.ts"
import { problem } from "../problem.ts"
import type { Problem, ProblemError } from "../problem.ts"
import { codePointCount, pastCharacters, plainText } from "../value/cell.ts"
import { granularities, seriesRanges } from "../value/instant.ts"
import type { Granularity } from "../value/instant.ts"
import type { Json } from "../value/kind.ts"
import { isOnePath, isPath, namesIn, noSteps, readExpand } from "./expand.ts"
import type { Steps } from "./expand.ts"

export const defaultPageSize = 50
export const maxPageSize = 500
/** Most characters of a filter in a query string and in a `:search` body. A body takes all that the language allows (docs/reference/filter.md#limits). */
export const maxQueryFilter = 10_000
export const maxBodyFilter = maxCharacters
/** Groups of an `:aggregate` that are given without a limit, and at most. */
export const defaultGroups = 50
export const maxGroups = 1_000

/** Parameters of a list, `:search` or `:seek`, as sent: texts are not checked against a model yet. */
export interface ListRequest {
  readonly filter: string
  readonly orderBy: string
  readonly pageSize: number
  readonly pageToken: string
  /** Names asked for and paths through relations, or null: all readable fields. */
  readonly fields: readonly string[] | null
  readonly exactCount: boolean
  readonly showDeleted: boolean
  /** The relations to follow, those on the paths of `fields` included. */
  readonly expand: Steps
  /** `:seek` only: the 0-based row number. */
  readonly position: string
}

/** How values are separated in a table as text. */
export const delimiters = ["comma", "semicolon", "tab"] as const
export type Delimiter = typeof delimiters[number]
/** `escape`: texts that a spreadsheet would take for a formula are marked; `raw`: they are left as they are. */
export const formulaModes = ["escape", "raw"] as const
export type Formulas = typeof formulaModes[number]

/** Parameters of `:export`. */
export interface ExportRequest {
  readonly list: ListRequest
  readonly format: "csv" | "ndjson"
  readonly delimiter: Delimiter
  readonly formulas: Formulas
  /** Whether each file has a column with its absolute address. */
  readonly fileLinks: boolean
}

/** Parameters of a get. */
export interface GetRequest {
  readonly fields: readonly string[] | null
  readonly showDeleted: boolean
  /** The relations to follow, those on the paths of `fields` included. */
  readonly expand: Steps
}

/** Parameters of `:facets`. */
export interface FacetsRequest {
  readonly field: string
  readonly filter: string
  readonly limit: number
  readonly measure: string
  readonly showDeleted: boolean
}

/** Parameters of `:aggregate`; texts that are not given are empty. */
export interface GroupsRequest {
  readonly groupBy: readonly string[]
  readonly measures: readonly string[]
  readonly filter: string
  readonly having: string
  readonly orderBy: string
  readonly timeZone: string
  readonly limit: number
  readonly showDeleted: boolean
}

/** Parameters of `:series`; texts that are not given are empty. */
export interface SeriesRequest {
  readonly field: string
  readonly filter: string
  readonly range: string
  readonly from: string
  readonly to: string
  readonly granularity: Granularity
  readonly timeZone: string
  readonly measure: string
  readonly showDeleted: boolean
}

/** Parameters of `:histogram`. */
export interface HistogramRequest {
  readonly field: string
  readonly filter: string
  readonly buckets: number
  readonly showDeleted: boolean
}

export type Pairs = ReadonlyArray<readonly [name: string, value: string]>

/** Reads parameters one by one and collects what is wrong with them. */
export class Parameters {
  readonly values = new Map<string, string>()
  readonly errors: ProblemError[] = []

  constructor(pairs: Pairs, names: readonly string[]) {
    const given = new Set<string>()
    for (const [name, value] of pairs) {
      if (!names.includes(name)) {
        this.refuse(name, `There is no parameter "${name.slice(0, 100)}" here.`, `Use ${names.join(", ")}.`)
      } else if (given.has(name)) this.refuse(name, "The parameter is given more than once.")
      // An empty parameter says nothing, as a form sends it: it counts as absent.
      else if (value !== "") this.values.set(name, value)
      given.add(name)
    }
  }

  refuse(parameter: string, message: string, hint?: string): void {
    this.errors.push({ parameter: parameter.slice(0, 100), message, ...(hint === undefined ? {} : { hint }) })
  }

  text(name: string): string {
    return this.values.get(name) ?? ""
  }

  required(name: string): string {
    const value = this.values.get(name) ?? ""
    if (value === "") this.refuse(name, "The parameter is required.")
    return value
  }

  /**
   * A whole number within bounds. Above `max` it is cut, below `min` it is refused. When it is absent, the default holds; 0 counts as
   * absent where `min` is 0.
   */
  integer(name: string, fallback: number, min: number, max: number): number {
    const text = this.values.get(name)
    if (text === undefined) return fallback
    if (!/^-?[0-9]+$/.test(text) || Number(text) < min) {
      this.refuse(name, `The parameter must be a whole number of at least ${min}.`)
      return fallback
    }
    const value = Number(text)
    return value === 0 && min === 0 ? fallback : Math.min(value, max)
  }

  boolean(name: string): boolean {
    const text = this.values.get(name)
    if (text === undefined || text === "false") return false
    if (text !== "true") this.refuse(name, "The parameter must be true or false.")
    return text === "true"
  }

  choice<A extends string>(name: string, choices: readonly A[], fallback: A): A {
    const text = this.values.get(name)
    if (text === undefined) return fallback
    const choice = choices.find((choice) => choice === text)
    if (choice === undefined) {
      this.refuse(name, `The parameter must be one of ${choices.filter((choice) => choice !== "").join(", ")}.`)
    }
    return choice ?? fallback
  }

  names(name: string): readonly string[] | null {
    const text = this.values.get(name)
    if (text === undefined || text.trim() === "") return null
    const names = namesIn(text)
    if (names === null) this.refuse(name, "The parameter must be a comma-separated list of names.")
    else if (names.length > 200) this.refuse(name, "The parameter names too many fields (200 at most).")
    return names
  }

  /** `expand`, and the paths among the names of `fields`. */
  steps(fields: readonly string[] | null): Steps {
    const text = this.text("expand")
    if (text === "" && fields?.some(isPath) !== true) return noSteps
    const read = readExpand(text, fields ?? [])
    if (Result.isSuccess(read)) return read.success
    this.errors.push(read.failure)
    return noSteps
  }

  /** A filter, or a text in the same language under another name. `body`: where longer ones fit. */
  filter(limit: number, name = "filter", body = ":search"): string {
    const filter = this.text(name)
    const start = pastCharacters(filter, limit)
    if (start !== null) this.tooLong ??= filterTooLong(name, filter, start, limit, body)
    return filter
  }

  tooLong: Problem | null = null

  done<A>(request: A): Result.Result<A, Problem> {
    if (this.errors.length > 0) {
      return Result.fail(problem("invalid-parameter", this.errors[0]!.message, { errors: this.errors.slice(0, 20) }))
    }
    if (this.tooLong !== null) return Result.fail(this.tooLong)
    return Result.succeed(request)
  }
}

const filterTooLong = (parameter: string, filter: string, start: number, limit: number, body: string): Problem => {
  const message = `The filter has ${codePointCount(filter)} characters; ${limit} are allowed here.`
  const hint = limit === maxQueryFilter
    ? `Send it in the body of a POST to ${body} (up to ${maxBodyFilter}).`
    : "Shorten the filter."
  return problem("invalid-filter", message, {
    parameter,
    errors: [{ code: "limit", message, hint, span: { start, end: filter.length } }]
  })
}

const listNames = ["filter", "order_by", "page_size", "page_token", "fields", "count", "show_deleted", "expand"]

const readList = (parameters: Parameters, filterLimit: number): Result.Result<ListRequest, Problem> => {
  const filter = parameters.filter(filterLimit)
  const count = parameters.values.get("count")
  if (count !== undefined && count !== "exact") parameters.refuse("count", "The parameter must be exact.")
  const fields = parameters.names("fields")
  return parameters.done({
    filter,
    orderBy: parameters.text("order_by"),
    pageSize: parameters.integer("page_size", defaultPageSize, 0, maxPageSize),
    pageToken: parameters.text("page_token"),
    fields,
    exactCount: count === "exact",
    showDeleted: parameters.boolean("show_deleted"),
    expand: parameters.steps(fields),
    position: ""
  })
}

export const listRequest = (query: Pairs): Result.Result<ListRequest, Problem> =>
  readList(new Parameters(query, listNames), maxQueryFilter)

/** Members of a body that are no texts: what each of them is. */
type MemberTypes = { readonly [name: string]: "a number" | "true or false" | "a list of names" }

const searchTypes: MemberTypes = {
  page_size: "a number",
  show_deleted: "true or false",
  fields: "a list of names",
  expand: "a list of names"
}

/** What is wrong with an element of a list of names, which is read by itself: no text of one may end in the next. */
const elementError = (parameter: string, text: string): ProblemError | null => {
  if (text.trim() === "") return { parameter, message: "A name is empty." }
  const shaped = parameter === "expand" && text.includes("(")
  const read = shaped ? readExpand(text, []) : null
  if (read !== null && Result.isFailure(read)) return read.failure
  // A quote without an end would go on in the next name.
  const isOne = shaped ? isOnePath(text) : partsBetween(`${text},`, ",").length === 2
  return isOne ? null : { parameter, message: "A name has no comma." }
}

/** The parameters of a body: the members of a JSON object. */
const bodyParameters = (
  body: Json,
  names: readonly string[],
  types: MemberTypes
): Result.Result<Parameters, Problem> => {
  if (body === null || typeof body !== "object" || Array.isArray(body)) {
    return Result.fail(problem("invalid-parameter", "The body must be a JSON object.", {
      errors: [{ parameter: "", message: "The body must be a JSON object." }]
    }))
  }
  const pairs: Array<readonly [string, string]> = []
  const wrong: ProblemError[] = []
  for (const [name, value] of Object.entries(body)) {
    if (value === null && names.includes(name)) continue
    const type = Object.hasOwn(types, name) ? types[name] : undefined
    if (type === "a list of names" && isTextList(value)) {
      const listed = value.flatMap((text) => elementError(name, text) ?? [])
      if (listed.length > 0) wrong.push(listed[0]!)
      else pairs.push([name, value.join(",")])
    } else if (typeof value === "string" && type === undefined) pairs.push([name, value])
    else if (typeof value === "number" && type === "a number") pairs.push([name, plainText(value)])
    else if (typeof value === "boolean" && type === "true or false") pairs.push([name, String(value)])
    else if (names.includes(name)) {
      wrong.push({ parameter: name, message: `The member must be ${type ?? "a text"}.` })
    } else pairs.push([name, ""])
  }
  const parameters = new Parameters(pairs, names)
  parameters.errors.push(...wrong)
  return Result.succeed(parameters)
}

/** A `:search` body: the list's parameters as JSON members; `fields` and `expand` are arrays (docs/reference/reads.md#lists). */
export const searchRequest = (body: Json): Result.Result<ListRequest, Problem> =>
  Result.flatMap(
    bodyParameters(body, listNames, searchTypes),
    (parameters) => readList(parameters, maxBodyFilter)
  )

/** The filter of a `:watch`; empty where there is none. */
export const watchRequest = (query: Pairs): Result.Result<string, Problem> => {
  const parameters = new Parameters(query, ["filter"])
  const filter = parameters.filter(maxQueryFilter)
  return parameters.done(filter)
}

export const seekRequest = (query: Pairs): Result.Result<ListRequest, Problem> => {
  const parameters = new Parameters(query, [
    "position",
    "order_by",
    "filter",
    "page_size",
    "fields",
    "show_deleted",
    "expand"
  ])
  const written = parameters.required("position")
  if (written !== "" && !/^[0-9]+$/.test(written)) {
    parameters.refuse("position", "The parameter must be a row number of at least 0.")
  }
  // No table has more rows. Beyond this a number would not be exact, and the database would not take it.
  const position = String(Math.min(Number(written), Number.MAX_SAFE_INTEGER))
  return Result.map(readList(parameters, maxQueryFilter), (request) => ({ ...request, position }))
}

/** Rows that an export reads at once. */
const exportedAtOnce = 500

export const exportRequest = (query: Pairs): Result.Result<ExportRequest, Problem> => {
  const parameters = new Parameters(query, [
    "format",
    "filter",
    "order_by",
    "fields",
    "show_deleted",
    "delimiter",
    "formulas",
    "file_links"
  ])
  const format = parameters.choice("format", ["csv", "ndjson"], "csv")
  const delimiter = parameters.choice("delimiter", delimiters, "comma")
  const formulas = parameters.choice("formulas", formulaModes, "escape")
  const fileLinks = parameters.choice("file_links", ["false", "true"], "false") === "true"
  if (format === "ndjson") {
    for (const name of ["delimiter", "formulas", "file_links"]) {
      if (parameters.values.has(name)) parameters.refuse(name, "The parameter is for the format csv.")
    }
  }
  return Result.map(readList(parameters, maxQueryFilter), (list) => ({
    list: { ...list, pageSize: exportedAtOnce },
    format,
    delimiter,
    formulas,
    fileLinks
  }))
}

export const getRequest = (query: Pairs): Result.Result<GetRequest, Problem> => {
  if (query.length === 0) return Result.succeed(plainGet)
  const parameters = new Parameters(query, ["fields", "show_deleted", "expand"])
  const fields = parameters.names("fields")
  return parameters.done({
    fields,
    showDeleted: parameters.boolean("show_deleted"),
    expand: parameters.steps(fields)
  })
}

const plainGet: GetRequest = { fields: null, showDeleted: false, expand: noSteps }

export const facetsRequest = (query: Pairs): Result.Result<FacetsRequest, Problem> => {
  const parameters = new Parameters(query, ["field", "filter", "limit", "measure", "show_deleted"])
  return parameters.done({
    field: parameters.required("field"),
    filter: parameters.filter(maxQueryFilter),
    limit: parameters.integer("limit", 50, 0, 500),
    measure: parameters.values.get("measure") ?? "count",
    showDeleted: parameters.boolean("show_deleted")
  })
}

const groupNames = ["group_by", "measures", "filter", "having", "order_by", "time_zone", "limit", "show_deleted"]

const groupTypes: MemberTypes = {
  group_by: "a list of names",
  measures: "a list of names",
  limit: "a number",
  show_deleted: "true or false"
}

const readGroups = (parameters: Parameters, filterLimit: number): Result.Result<GroupsRequest, Problem> => {
  const body = ":aggregate"
  return parameters.done({
    groupBy: parameters.names("group_by") ?? [],
    measures: parameters.names("measures") ?? ["count"],
    filter: parameters.filter(filterLimit, "filter", body),
    having: parameters.filter(filterLimit, "having", body),
    orderBy: parameters.text("order_by"),
    timeZone: parameters.values.get("time_zone") ?? "UTC",
    limit: parameters.integer("limit", defaultGroups, 0, maxGroups),
    showDeleted: parameters.boolean("show_deleted")
  })
}

/** An `:aggregate` in a query string. */
export const groupsRequest = (query: Pairs): Result.Result<GroupsRequest, Problem> =>
  readGroups(new Parameters(query, groupNames), maxQueryFilter)

/** The same in a body, where longer filters fit: `group_by` and `measures` are arrays. */
export const groupsBodyRequest = (body: Json): Result.Result<GroupsRequest, Problem> =>
  Result.flatMap(
    bodyParameters(body, groupNames, groupTypes),
    (parameters) => readGroups(parameters, maxBodyFilter)
  )

const ranges = [...seriesRanges, ""] as const

export const seriesRequest = (query: Pairs): Result.Result<SeriesRequest, Problem> => {
  const parameters = new Parameters(query, [
    "field",
    "range",
    "from",
    "to",
    "granularity",
    "time_zone",
    "filter",
    "measure",
    "show_deleted"
  ])
  const from = parameters.text("from")
  const to = parameters.text("to")
  const range = parameters.choice("range", ranges, "")
  if (range !== "" && (from !== "" || to !== "")) parameters.refuse("range", "Give a range or from and to, not both.")
  if (range === "" && (from === "") !== (to === "")) {
    parameters.refuse(from === "" ? "from" : "to", "The parameters from and to go together.")
  }
  return parameters.done({
    field: parameters.required("field"),
    filter: parameters.filter(maxQueryFilter),
    range: range === "" && from === "" ? "30d" : range,
    from,
    to,
    granularity: parameters.choice("granularity", granularities, "day"),
    timeZone: parameters.values.get("time_zone") ?? "UTC",
    measure: parameters.values.get("measure") ?? "count",
    showDeleted: parameters.boolean("show_deleted")
  })
}

export const histogramRequest = (query: Pairs): Result.Result<HistogramRequest, Problem> => {
  const parameters = new Parameters(query, ["field", "buckets", "filter", "show_deleted"])
  const buckets = parameters.integer("buckets", 10, 1, 1_000)
  if (buckets > 100) parameters.refuse("buckets", "The parameter must be at most 100.")
  return parameters.done({
    field: parameters.required("field"),
    buckets,
    filter: parameters.filter(maxQueryFilter),
    showDeleted: parameters.boolean("show_deleted")
  })
}
