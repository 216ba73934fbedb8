/**
 * Saved views of lists: parsing their bodies, and hiding parts of shared views. A view grants nothing. Its names are checked against the access of the
 * person who saves it, and again for each person who reads it.
 */

import * as Result from "effect/Result"
import type { Access, RestrictedModel } from "../access/access.ts"
import type { Caller } from "../access/caller.ts"
import { type Accesses, reach, type Reached } from "../access/reach.ts"
import { type Bag, isBag } from "../bag.ts"
import type { Layout } from "../model/layout.ts"
import { isOwnName, ownNameMax } from "../own-name.ts"
import { isProblem, problem } from "../problem.ts"
import type { Problem, ProblemError } from "../problem.ts"
import { aggregateField, facetable, histogrammable, readMeasure, timed } from "../read/aggregate.ts"
import { maxExpandDepth } from "../read/expand.ts"
import { checkFilter, checkOrder } from "../read/list.ts"
import { granularities, seriesRanges } from "../value/instant.ts"
import type { Json } from "../value/kind.ts"
import { adminRole } from "../value/role.ts"
import { checkLayout } from "./layout.ts"

/** The parts of a view that a person sets. */
export interface SavedViewBody {
  readonly name: string
  readonly filter: string
  readonly orderBy: string
  readonly columns: readonly string[]
  readonly chart: Json
  readonly layout: Layout
  /** Users with one of these roles see the view. Null: only its owner does. */
  readonly sharedWith: readonly string[] | null
}

/** A view as a caller sees it. */
export interface ShownView extends SavedViewBody {
  /** True if a part was left out, because the caller may not see it. */
  readonly incomplete: boolean
}

const mostFilter = 10_000
const mostOrder = 1_000
const mostColumns = 200
const mostRoles = 20

type Read<A> = Result.Result<A, ProblemError | Problem>

const wrong = (field: string, message: string): Result.Result<never, ProblemError> =>
  Result.fail({ field, code: "invalid", message })

const readName = (raw: unknown): Read<string> =>
  typeof raw === "string" && isOwnName(raw)
    ? Result.succeed(raw.trim())
    : wrong("name", `The name must be a text of 1 to ${ownNameMax} characters.`)

const readText = (field: string, raw: unknown, most: number): Read<string> =>
  typeof raw === "string" && raw.length <= most && !raw.includes("\0") && raw.isWellFormed()
    ? Result.succeed(raw)
    : wrong(field, `The value must be a text of at most ${most} characters.`)

const readFilterText = (raw: unknown, access: Access, accesses: Accesses): Read<string> =>
  Result.flatMap(
    readText("filter", raw, mostFilter),
    (text): Read<string> => Result.map(checkFilter(accesses, access, text), () => text)
  )

const readOrderText = (raw: unknown, access: Access, accesses: Accesses): Read<string> =>
  Result.flatMap(
    readText("order_by", raw, mostOrder),
    (text): Read<string> => Result.map(checkOrder(accesses, access, text), () => text)
  )

/** Whether the caller sees a column: a field, or a path through relations to one record. */
const isColumn = (name: unknown, access: Access, accesses: Accesses): name is string => {
  if (typeof name !== "string") return false
  const way = name.split(".")
  const field = way.pop()!
  if (way.length > maxExpandDepth) return false
  let at: Access | null = access
  for (const step of way) {
    const next: Reached | null = at === null ? null : reach(accesses, at, step)
    at = next === null || next.relation.many ? null : next.target
  }
  return at?.restricted.byName.has(field) === true
}

const readColumns = (raw: unknown, access: Access, accesses: Accesses): Read<readonly string[]> => {
  if (!Array.isArray(raw) || raw.length > mostColumns || new Set(raw).size < raw.length) {
    return wrong("columns", `The columns must be a list of at most ${mostColumns} fields, each once.`)
  }
  const columns = raw.filter((name) => isColumn(name, access, accesses))
  if (columns.length === raw.length) return Result.succeed(columns)
  const unknown: unknown = raw.find((name) => !isColumn(name, access, accesses))
  return wrong("columns", `There is no field ${JSON.stringify(unknown)?.slice(0, 100)}.`)
}

const counts = { histogram: ["buckets", 100], facets: ["limit", 500] } as const

/** A chart that the aggregate routes would answer for the caller. */
const checkChart = (raw: unknown, restricted: RestrictedModel): Result.Result<Json, string> => {
  if (raw === null) return Result.succeed(null)
  const of = isBag(raw) ? raw["of"] : undefined
  if (!isBag(raw) || (of !== "series" && of !== "histogram" && of !== "facets")) {
    return Result.fail("The chart must be null or { of, field }, where of is series, histogram or facets.")
  }
  const field = aggregateField(
    restricted,
    "field",
    String(raw["field"]),
    { series: timed, histogram: histogrammable, facets: facetable }[of]
  )
  if (Result.isFailure(field)) return Result.fail(field.failure.detail)
  const members = of === "series" ? ["granularity", "range", "measure"] : [counts[of][0]]
  const extra = Object.keys(raw).find((name) => name !== "of" && name !== "field" && !members.includes(name))
  if (extra !== undefined) return Result.fail(`The chart has no member ${JSON.stringify(extra.slice(0, 100))}.`)
  if (of !== "series") {
    const [name, most] = counts[of]
    const { [name]: count = 10 } = raw
    return typeof count === "number" && Number.isInteger(count) && count >= 1 && count <= most
      ? Result.succeed({ of, field: field.success.name, [name]: count })
      : Result.fail(`${name} must be a whole number from 1 to ${most}.`)
  }
  const { granularity = "day", measure = "count", range = "30d" } = raw
  const counted = readMeasure(restricted, String(measure))
  if (Result.isFailure(counted)) return Result.fail(counted.failure.detail)
  const step = granularities.find((each) => each === granularity)
  const span = seriesRanges.find((each) => each === range)
  return step === undefined || span === undefined
    ? Result.fail("granularity or range is not one of :series.")
    : Result.succeed({ of, field: field.success.name, granularity: step, range: span, measure: String(measure) })
}

const readChart = (raw: unknown, { restricted }: Access): Read<Json> =>
  Result.mapError(checkChart(raw, restricted), (message) => ({ field: "chart", code: "invalid", message }))

const readLayout = (raw: unknown, access: Access, accesses: Accesses): Read<Layout> =>
  Result.mapError(checkLayout(raw, access, accesses), (message) => ({ field: "layout", code: "invalid", message }))

/** A person can share with the roles that they hold. Admins can share with any role. */
const readShared = (raw: unknown, caller: Caller): Read<readonly string[] | null> => {
  if (raw === "me") return Result.succeed(null)
  const isRole = (each: unknown): each is string => typeof each === "string" && each !== "" && each.length <= 100
  if (!Array.isArray(raw) || raw.length === 0 || raw.length > mostRoles || !raw.every(isRole)) {
    return wrong("shared_with", `Send "me", or a list of 1 to ${mostRoles} roles.`)
  }
  const foreign = caller.roles.includes(adminRole) ? undefined : raw.find((role) => !caller.roles.includes(role))
  return foreign === undefined
    ? Result.succeed([...new Set(raw)])
    : wrong("shared_with", "A view can be shared with roles that you have.")
}

const members = ["name", "filter", "order_by", "columns", "chart", "layout", "shared_with"] as const

const readers: {
  readonly [member in typeof members[number]]: (
    raw: unknown,
    access: Access,
    accesses: Accesses,
    caller: Caller
  ) => Read<unknown>
} = {
  name: (raw) => readName(raw),
  filter: readFilterText,
  order_by: readOrderText,
  columns: readColumns,
  chart: readChart,
  layout: readLayout,
  shared_with: (raw, _, __, caller) => readShared(raw, caller)
}

const bodyName = {
  name: "name",
  filter: "filter",
  order_by: "orderBy",
  columns: "columns",
  chart: "chart",
  layout: "layout",
  shared_with: "sharedWith"
} as const satisfies { readonly [member in typeof members[number]]: keyof SavedViewBody }

const refusal = (errors: readonly ProblemError[]): Problem =>
  problem("invalid-record", errors.length === 1 ? errors[0]!.message : `${errors.length} members are not valid.`, {
    errors
  })

/** The body of a view as an object; `resource` may stand in it beside the members that are checked here. */
export const viewBag = (body: unknown): Result.Result<Bag, Problem> =>
  isBag(body)
    ? Result.succeed(body)
    : Result.fail(refusal([{ code: "type", message: "The body must be a JSON object." }]))

const emptyBody: SavedViewBody = {
  name: "",
  filter: "",
  orderBy: "",
  columns: [],
  chart: null,
  layout: null,
  sharedWith: null
}

/** The parts that a body sets, over the stored ones: for an update the stored view, for a new view nothing. A new view needs a name. */
export const readViewBody = (
  bag: Bag,
  stands: SavedViewBody | null,
  access: Access,
  accesses: Accesses,
  caller: Caller
): Result.Result<SavedViewBody, Problem> => {
  const errors: ProblemError[] = []
  const values: { -readonly [name in keyof SavedViewBody]: unknown } = { ...stands ?? emptyBody }
  for (const [name, raw] of Object.entries(bag)) {
    const member = members.find((each) => each === name)
    if (member === undefined) {
      if (name === "resource" && stands === null) continue
      errors.push({ field: name.slice(0, 100), code: "unknown", message: "A saved view has no such member." })
      if (errors.length >= 20) break
      continue
    }
    const read = readers[member](raw, access, accesses, caller)
    if (Result.isSuccess(read)) values[bodyName[member]] = read.success
    // An invalid filter or order has a refusal of its own, with the positions in the text.
    else if (isProblem(read.failure)) return Result.fail(read.failure)
    else errors.push(read.failure)
  }
  if (stands === null && !Object.hasOwn(bag, "name")) {
    errors.push({ field: "name", code: "required", message: "A saved view needs a name." })
  }
  return errors.length > 0 ? Result.fail(refusal(errors)) : Result.succeed(values as SavedViewBody)
}

/** A view as the caller may see it: parts that name something hidden are left out. */
export const showView = (view: SavedViewBody, access: Access, accesses: Accesses): ShownView => {
  const { restricted } = access
  const columns = view.columns.filter((name) => isColumn(name, access, accesses))
  const filter = Result.isSuccess(checkFilter(accesses, access, view.filter)) ? view.filter : ""
  const orderBy = Result.isSuccess(checkOrder(accesses, access, view.orderBy)) ? view.orderBy : ""
  const chart = Result.getOrElse(checkChart(view.chart, restricted), () => null)
  const layout = Result.getOrElse(checkLayout(view.layout, access, accesses), () => null)
  return {
    name: view.name,
    filter,
    orderBy,
    columns,
    chart,
    layout,
    sharedWith: view.sharedWith,
    incomplete: filter !== view.filter || orderBy !== view.orderBy || columns.length < view.columns.length ||
      (chart === null && view.chart !== null) || (layout === null && view.layout !== null)
  }
}
