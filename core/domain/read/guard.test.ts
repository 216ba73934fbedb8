import { describe, expect, it } from "vitest"
import { makeModel } from "../../../test/support/model.ts"
import { always, type FilterTree } from "../filter/tree.ts"
import type { Field, FieldOf } from "../model/model.ts"
import { isExpensive, isIndexable, suggestIndex } from "./guard.ts"

describe("isExpensive", () => {
  // A row costs 0.02: reading 10,000 of them 200.
  it.each([
    [10_001, 200.1, true],
    [10_000, 1_000_000, false],
    [1_000_000, 200, false],
    [0, 1_000_000, false]
  ])("a scan of a table of %i rows at a cost of %d, above 10,000 rows: %s", (scannedRows, cost, expected) => {
    expect(isExpensive({ scannedRows, cost }, 10_000)).toBe(expected)
  })
})

describe("isIndexable", () => {
  it.each([
    ["few rows of narrow ones pass", { scannedRows: 1_000, scannedBytes: 40_000, rows: 100 }, true],
    ["most do", { scannedRows: 1_000, scannedBytes: 40_000, rows: 500 }, false],
    ["all of wide ones do", { scannedRows: 1_000, scannedBytes: 400_000, rows: 1_000 }, true]
  ])("%s", (_, estimate, expected) => expect(isIndexable(estimate)).toBe(expected))
})

describe("suggestIndex", () => {
  it.each([
    ["orders", "user_id", "create index on orders (user_id)"],
    ["order", "user", "create index on \"order\" (\"user\")"],
    ["Orders", "my \"own\"", "create index on \"Orders\" (\"my \"\"own\"\"\")"]
  ])("writes names that SQL reads as names: %s, %s", (table, column, suggestion) => {
    const model = makeModel({ name: table, fields: [{ name: "id" }, { name: "x", column }] })
    const order = [{ field: model.fields[1]!, descending: false }]
    expect(suggestIndex(model, always, order, () => true)?.sql).toBe(suggestion)
  })

  it("puts equality before the order, ranges only without one, and names nothing hidden", () => {
    const model = makeModel({ fields: [{ name: "id" }, { name: "x" }, { name: "y" }, { name: "z" }] })
    const [id, x, y, z] = model.fields as [Field, Field, Field, Field]
    const compare = (field: Field, is: "=" | ">"): FilterTree => ({
      op: "compare",
      field,
      is,
      value: { of: "literal", text: "1" }
    })
    const where: FilterTree = { op: "and", items: [compare(x, ">"), compare(y, "=")] }
    const order = [{ field: z, descending: true }, { field: id, descending: false }]
    expect(suggestIndex(model, where, order, () => true)?.sql).toBe("create index on orders (y, z desc, id)")
    expect(suggestIndex(model, where, [], () => true)?.sql).toBe("create index on orders (y, x)")
    expect(suggestIndex(model, where, order, (field) => field !== y)?.sql).toBe("create index on orders (z desc, id)")
    expect(suggestIndex(model, compare(y, "="), [], (field) => field !== y)).toBe(null)
    // The key has its index already.
    expect(suggestIndex(model, always, order.slice(1), () => true)).toBe(null)
    expect(suggestIndex(model, compare(x, ">"), order.slice(1), () => true)?.sql).toBe("create index on orders (x)")
  })

  it("proposes an inverted index for elements of a list, one for lists and texts", () => {
    const model = makeModel({ fields: [{ name: "id" }, { name: "x" }, { name: "tags", kind: "list" }] })
    const [, x, tags] = model.fields as [Field, Field, FieldOf<"list">]
    const has: FilterTree = { op: "has", field: tags, values: [{ of: "literal", text: "a" }] }
    const suggestion = (where: FilterTree, mayName: (field: Field) => boolean = () => true) =>
      suggestIndex(model, where, [], mayName)?.sql
    expect(suggestion(has)).toBe("create index on orders using gin (tags)")
    expect(suggestion({ op: "or", items: [has, { op: "contains", field: x, text: "a" }] })).toBe(
      "create index on orders using gin (tags, x gin_trgm_ops)"
    )
    expect(suggestion(has, (field) => field !== tags)).toBeUndefined()
    expect(suggestion({ op: "length", field: tags, is: ">", number: 1 })).toBeUndefined()
  })

  it("proposes an index of ranges where one is asked what it holds, and none for bytes", () => {
    const model = makeModel({
      fields: [{ name: "id" }, { name: "x", kind: "range", type: "date" }, { name: "y", kind: "bytes" }]
    })
    const [, x, y] = model.fields as [Field, FieldOf<"range">, Field]
    const value = { of: "literal", text: "[2026-01-01,2026-02-01)" } as const
    const overlap: FilterTree = { op: "overlaps", field: x, value }
    expect(suggestIndex(model, overlap, [], () => true)?.sql).toBe("create index on orders using gist (x)")
    expect(suggestIndex(model, overlap, [], () => false)).toBeNull()
    const equal: FilterTree = { op: "compare", field: y, is: "=", value: { of: "literal", text: "AA==" } }
    expect(suggestIndex(model, equal, [], () => true)).toBeNull()
  })

  it("proposes a trigram index for a pattern, unless that may look at some rows only", () => {
    const model = makeModel({ fields: [{ name: "id" }, { name: "x" }] })
    const [id, x] = model.fields as [Field, Field]
    const pattern = { op: "regex", field: x, pattern: "a" } as const
    const suggestion = (where: FilterTree) => suggestIndex(model, where, [], () => true)?.sql
    expect(suggestion(pattern)).toBe("create index on orders using gin (x gin_trgm_ops)")
    expect(suggestion({ ...pattern, only: { op: "null", field: id } })).toBeUndefined()
    const words = { op: "words", field: { ...x, vector: { config: "english" } }, text: "a" } as const
    expect(suggestion({ op: "and", items: [pattern, words] })).toBe("create index on orders using gin (x)")
    for (const whole of [true, false]) {
      expect(suggestion({ op: "same", field: x, text: "a", whole })).toBe(
        "create index on orders using gin (x gin_trgm_ops)"
      )
    }
  })
})
