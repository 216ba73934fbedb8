// Filters of the kinds that only PostgreSQL has: what is printed reads back, and what `contains` and `overlaps` become.
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { tree } from "../../../test/generators/filter.ts"
import { property } from "../../../test/generators/property.ts"
import { scopeOf, withoutSpans } from "../../../test/support/filter.ts"
import { type FieldParts, makeField } from "../../../test/support/model.ts"
import { printFilter } from "./print.ts"
import { readFilter } from "./read.ts"

const parts: readonly FieldParts[] = [
  { name: "opens", kind: "time" },
  { name: "lasts", kind: "interval" },
  { name: "ip", kind: "inet" },
  { name: "net", kind: "cidr" },
  { name: "mac", kind: "macaddr" },
  { name: "content", kind: "bytes" },
  { name: "price", kind: "money" },
  { name: "seats", kind: "range", type: "integer" },
  { name: "weights", kind: "range", type: "decimal" },
  { name: "days", kind: "range", type: "date" },
  { name: "during", kind: "range", type: "timestamp" },
  { name: "place", kind: "native", type: "point" }
]
const fields = parts.map((part, at) => makeField({ optional: true, ...part }, at))
const scope = scopeOf(fields)

property(
  "trees over all of them read back as themselves",
  { made: (random) => tree(random, { fields }) },
  { cases: 2_000 },
  ({ made }) => {
    const text = printFilter(made)
    expect(withoutSpans(Result.getOrThrow(readFilter(text, scope))), text).toEqual(made)
  }
)

describe("ranges", () => {
  const printed = (text: string): string => printFilter(Result.getOrThrow(readFilter(text, scope)))

  it.each([
    ["contains(seats, 5)", "overlaps(seats, \"[5,6)\")"],
    ["seats:5", "overlaps(seats, \"[5,6)\")"],
    ["NOT seats:5", "NOT overlaps(seats, \"[5,6)\")"],
    ["contains(weights, 5.0)", "overlaps(weights, \"[5.0,5.0]\")"],
    ["contains(days, now() - 7d)", "contains(days, now() - 7d)"],
    ["during:now()", "contains(during, now())"],
    ["overlaps(days, '[2026-01-01,2026-01-31]')", "overlaps(days, \"[2026-01-01,2026-02-01)\")"],
    ["seats = '(1,5]'", "seats = \"[2,6)\""],
    ["seats:*", "seats:*"]
  ])("%s is %s", (text, canonical) => {
    expect(printed(text)).toBe(canonical)
    expect(printed(canonical)).toBe(canonical)
  })

  it.each([
    ["contains(seats, '[1,5)')", "\"[1,5)\" is not a value of the field \"seats\"."],
    ["overlaps(seats, 5)", "\"5\" is not a value of the field \"seats\"."],
    ["contains(price, 5)", "contains() does not work on the field \"price\" of the kind money."],
    ["contains(seats, now())", "The field \"seats\" is not a time."],
    ["place < 1", "The operator < does not work on the field \"place\" of the kind native."]
  ])("%s is refused", (text, message) => {
    const read = readFilter(text, scope)
    expect(Result.isFailure(read) && read.failure[0]!.message).toBe(message)
  })
})
