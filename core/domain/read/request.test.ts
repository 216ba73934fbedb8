import * as Result from "effect/Result"
import { expect, it } from "vitest"
import {
  dryRunRequest,
  facetsRequest,
  getRequest,
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
  ["facets", facetsRequest, [["field", "x"]], "filter limit show_deleted"],
  ["a series", seriesRequest, [["field", "x"]], "range from to granularity time_zone filter measure show_deleted"],
  ["a histogram", histogramRequest, [["field", "x"]], "buckets filter show_deleted"],
  ["a write", dryRunRequest, [], "dry_run validate_only"]
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
