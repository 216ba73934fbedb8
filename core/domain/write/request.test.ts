import * as Result from "effect/Result"
import { expect, it } from "vitest"
import { asksUpsert, dryRunRequest, filteredRequest, upsertRequest } from "./request.ts"

type Pairs = ReadonlyArray<readonly [string, string]>

const given: ReadonlyArray<
  readonly [what: string, read: (query: Pairs) => Result.Result<unknown, unknown>, needed: Pairs, names: string]
> = [
  ["a write", dryRunRequest, [], "dry_run validate_only"],
  ["an upsert", upsertRequest, [], "allow_missing match dry_run validate_only"],
  ["a change of what passes a filter", filteredRequest, [["filter", "id:*"]], "expected_count dry_run validate_only"]
]

it.each(given)("knows the parameters of %s, each of them once", (_, read, needed, names) => {
  const empty = names.split(" ").map((name) => [name, ""] as const)
  expect(Result.isSuccess(read([...needed, ...empty]))).toBe(true)
  expect(Result.isFailure(read([...needed, ...empty, empty[0]!]))).toBe(true)
  expect(Result.isFailure(read([...needed, ["nope", ""]]))).toBe(true)
})

it("leaves the parameters of every write for the write", () => {
  const dry = ["dry_run", "true"] as const
  expect(upsertRequest([["allow_missing", "true"], dry])).toEqual(
    Result.succeed({ request: { allowMissing: true, match: "" }, rest: [dry] })
  )
  expect(filteredRequest([["filter", "id:*"], dry, ["expected_count", "3"]])).toEqual(
    Result.succeed({ request: { filter: "id:*", expectedCount: 3 }, rest: [dry] })
  )
})

it("asks for an upsert by the name of a parameter, whatever its value", () => {
  expect(asksUpsert([["dry_run", "true"]])).toBe(false)
  expect(asksUpsert([["match", ""]])).toBe(true)
})
