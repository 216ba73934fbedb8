import { describe, expect, it } from "vitest"
import { makeModel } from "../../../test/support/model.ts"
import { always, type FilterTree } from "../filter/tree.ts"
import type { Field } from "../model/model.ts"
import { suggestIndex } from "./guard.ts"

describe("suggestIndex", () => {
  it.each([
    ["orders", "user_id", "create index on orders (user_id)"],
    ["order", "user", "create index on \"order\" (\"user\")"],
    ["Orders", "my \"own\"", "create index on \"Orders\" (\"my \"\"own\"\"\")"]
  ])("writes names that SQL reads as names: %s, %s", (table, column, suggestion) => {
    const model = makeModel({ name: table, fields: [{ name: "id" }, { name: "x", column }] })
    const order = [{ field: model.fields[1]!, descending: false }]
    expect(suggestIndex(model, always, order, () => true)).toBe(suggestion)
  })

  it("proposes a trigram index for a pattern, unless that may look at some rows only", () => {
    const model = makeModel({ fields: [{ name: "id" }, { name: "x" }] })
    const [id, x] = model.fields as [Field, Field]
    const pattern = { op: "regex", field: x, pattern: "a" } as const
    const suggestion = (where: FilterTree) => suggestIndex(model, where, [], () => true)
    expect(suggestion(pattern)).toBe("create index on orders using gin (x gin_trgm_ops)")
    expect(suggestion({ ...pattern, only: { op: "null", field: id } })).toBe(null)
  })
})
