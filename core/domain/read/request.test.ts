import * as Result from "effect/Result"
import { expect, it } from "vitest"
import {
  facetsRequest,
  getRequest,
  groupsBodyRequest,
  groupsRequest,
  histogramRequest,
  listRequest,
  searchRequest,
  seekRequest,
  seriesRequest
} from "./request.ts"

type Pairs = ReadonlyArray<readonly [string, string]>

const given: ReadonlyArray<
  readonly [what: string, read: (query: Pairs) => Result.Result<unknown, unknown>, needed: Pairs, names: string]
> = [
  ["a list", listRequest, [], "filter order_by page_size page_token fields count show_deleted expand"],
  ["a seek", seekRequest, [["position", "3"]], "filter order_by page_size fields show_deleted expand"],
  ["a get", getRequest, [], "fields show_deleted expand"],
  ["facets", facetsRequest, [["field", "x"]], "filter limit measure show_deleted"],
  ["groups", groupsRequest, [], "group_by measures filter having order_by time_zone limit show_deleted"],
  ["a series", seriesRequest, [["field", "x"]], "range from to granularity time_zone filter measure show_deleted"],
  ["a histogram", histogramRequest, [["field", "x"]], "buckets filter show_deleted"]
]

it.each(given)("takes empty parameters of %s for absent ones", (_, read, needed, names) => {
  const empty = names.split(" ").map((name) => [name, ""] as const)
  expect(read([...needed, ...empty])).toEqual(read(needed))
  // Twice is twice, and unknown is unknown, with a value or without.
  expect(Result.isFailure(read([...needed, ...empty, empty[0]!]))).toBe(true)
  expect(Result.isFailure(read([...needed, ["nope", ""]]))).toBe(true)
})

it("takes empty members of a search for absent ones, and required ones that are empty for missing", () => {
  expect(searchRequest({ filter: "", order_by: "", page_token: "", count: "", fields: [], expand: [] })).toEqual(
    searchRequest({})
  )
  expect(Result.isFailure(facetsRequest([["field", ""]]))).toBe(true)
  expect(Result.isFailure(seekRequest([["position", ""]]))).toBe(true)
})

it("takes groups in a body as in a query, with lists as arrays", () => {
  const body = { group_by: ["status", "month(at)"], measures: ["count", "sum(total)"], having: "count > 1", limit: 7 }
  const query = [["group_by", "status,month(at)"], ["measures", "count,sum(total)"], ["having", "count > 1"], [
    "limit",
    "7"
  ]] as const
  expect(groupsBodyRequest(body)).toEqual(groupsRequest(query))
  expect(groupsBodyRequest({ group_by: null, measures: [], time_zone: "", show_deleted: false })).toEqual(
    groupsRequest([])
  )
  expect(Result.getOrThrow(groupsRequest([["limit", "5000"]]))).toMatchObject({ limit: 1_000, measures: ["count"] })
})

it.each<readonly [body: unknown, parameter: string]>([
  [[], ""],
  [{ group_by: "status" }, "group_by"],
  [{ group_by: [["status"]] }, "group_by"],
  [{ measures: ["count,sum(total)"] }, "measures"],
  [{ group_by: ["meta.\"a", "b\""] }, "group_by"],
  [{ measures: [""] }, "measures"],
  [{ limit: "5" }, "limit"],
  [{ page_size: 5 }, "page_size"],
  [{ having: 5 }, "having"]
])("refuses the body %j of groups", (body, parameter) => {
  const problem = Result.getOrThrow(Result.flip(groupsBodyRequest(body as never)))
  expect(problem.members.errors?.[0]).toMatchObject({ parameter })
})

it("says where a condition of groups that is too long fits", () => {
  const having = "count > 1".padEnd(10_001)
  const problem = Result.getOrThrow(Result.flip(groupsRequest([["having", having]])))
  expect([problem.slug, problem.members["parameter"], problem.members.errors?.[0]?.hint]).toEqual([
    "invalid-filter",
    "having",
    "Send it in the body of a POST to :aggregate (up to 200000)."
  ])
  expect(Result.isSuccess(groupsBodyRequest({ having }))).toBe(true)
})

it("reads each element of a search's expand by itself", () => {
  const errors = (expand: readonly string[]) => {
    const read = searchRequest({ expand })
    return Result.isSuccess(read) ? [...read.success.expand.keys()] : read.failure.members.errors
  }
  expect(errors(["a(fields: \"x,y\")", "b"])).toEqual(["a", "b"])
  expect(errors(["a,b"])).toEqual([{ parameter: "expand", message: "A name has no comma." }])
  expect(errors(["a(count),b"])).toEqual([{ parameter: "expand", message: "A name has no comma." }])
  expect(errors(["a", " "])).toEqual([{ parameter: "expand", message: "A name is empty." }])
  const message = "The text of filter has no closing quote."
  expect(errors(["a(filter: \"x", "y\")"])).toEqual([{ parameter: "expand", message, span: { start: 10, end: 12 } }])
})
