import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { filterField as field, filterFields, filterScope, scopeOf } from "../../../test/support/filter.ts"
import { type FilterErrorCode, readOrder } from "./read.ts"

const keys = (...names: string[]) =>
  names.map((name) => ({ field: field(name.replace("-", "")), descending: name.startsWith("-") }))

describe("readOrder", () => {
  it.each([
    ["", keys()],
    ["  ", keys()],
    ["count", keys("count")],
    ["count asc", keys("count")],
    ["count desc", keys("-count")],
    ["count desc, name", keys("-count", "name")],
    ["  count   desc ,\tname\n, total asc", keys("-count", "name", "total")],
    ["amount desc", keys("-count")],
    ["active,status,key,created_at,due", keys("active", "status", "key", "created_at", "due")]
  ])("%j", (text, expected) => {
    expect(readOrder(text, filterScope)).toEqual(Result.succeed(expected))
  })

  it.each<[string, FilterErrorCode, string, string?]>([
    ["coutn", "unknown-field", "coutn", "Did you mean count?"],
    ["zzzzzz", "unknown-field", "zzzzzz", "Fields that can be sorted: id"],
    ["plain", "not-sortable", "plain"],
    ["extra", "not-sortable", "extra"],
    ["count, name, count desc", "duplicate", "count"],
    ["count, amount", "duplicate", "amount"],
    ["count DESC", "syntax", "DESC", "Write desc in small letters."],
    ["count down", "syntax", "down"],
    ["count desc desc", "syntax", "desc", "After a name may stand asc or desc."],
    ["count name", "syntax", "name"],
    ["count,", "syntax", ""],
    [",count", "syntax", ","],
    ["count,,name", "syntax", ","],
    ["\"count\"", "syntax", "\"count\"", "such as created_at desc"],
    ["count = 1", "syntax", "="],
    ["(count)", "syntax", "("],
    ["'count", "syntax", "'count", "Close the quote"],
    ["meta.\"a, b", "syntax", "\"a, b", "Close the quote"],
    ["rank(count, \"a desc", "syntax", "\"a desc", "Close the quote"],
    ["-count", "unknown-field", "-count", "Did you mean count?"],
    ["-count", "unknown-field", "-count", "Write count desc."],
    ["-plain", "unknown-field", "-plain"],
    ["count\0", "syntax", "\0"],
    ["\ud800", "syntax", "\ud800"]
  ])("%j is %s at «%s»", (text, code, slice, hint = "") => {
    const answer = readOrder(text, filterScope)
    const errors = Result.isFailure(answer) ? answer.failure : []
    expect(errors.map((error) => [error.code, text.slice(error.span.start, error.span.end)])).toEqual([[code, slice]])
    expect(errors[0]!.hint).toContain(hint)
    expect(errors[0]!.hint).not.toBe("")
  })

  it("reports every name", () => {
    const answer = readOrder("nope, count, plain desc, count", filterScope)
    expect(Result.isFailure(answer) && answer.failure.map((error) => error.code)).toEqual([
      "unknown-field",
      "not-sortable",
      "duplicate"
    ])
  })

  it("allows twenty fields and 10,000 characters", () => {
    const text = Array.from({ length: 21 }, (_, at) => `f${at}`).join(",")
    const errors = (answer: ReturnType<typeof readOrder>) => Result.isFailure(answer) ? answer.failure : []
    expect(errors(readOrder(text, filterScope))).toMatchObject([{
      code: "limit",
      span: { start: text.length - 3, end: text.length }
    }])
    expect(errors(readOrder(`count${" ".repeat(9_995)}`, filterScope))).toEqual([])
    expect(errors(readOrder(`count${" ".repeat(9_996)}`, filterScope))).toMatchObject([{
      code: "limit",
      span: { start: 10_000, end: 10_001 }
    }])
    expect(errors(readOrder(",".repeat(1_000_000), filterScope))).toHaveLength(1)
  })

  it("answers a hidden field like an unknown one", () => {
    const scope = scopeOf(filterFields.filter((each) => each.name !== "total"))
    expect(JSON.stringify(readOrder("total", scope)).replaceAll("total", "zzzzz")).toBe(
      JSON.stringify(readOrder("zzzzz", scope))
    )
  })
})
