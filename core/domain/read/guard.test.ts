import { describe, expect, it } from "vitest"
import { makeModel } from "../../../test/support/model.ts"
import { always } from "../filter/tree.ts"
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
})
