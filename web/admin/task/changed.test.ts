import { describe, expect, it } from "vitest"
import { metaField, related } from "../../../test/support/related.ts"
import { dataOf, formerValues, isReady, leftOf } from "./changed.ts"

const orders = related.resources.get("orders")!
const [status, note] = ["status", "note"].map((name) => orders.fields.get(name)!) as [never, never]

describe("a change of several fields", () => {
  it("sets each field once, and only those that may be written", () => {
    expect(leftOf(orders, []).map(({ name }) => name)).toEqual(["id", "status", "note", "customer_id"])
    expect(leftOf(orders, [{ field: note, draft: null }]).map(({ name }) => name)).toEqual([
      "id",
      "status",
      "customer_id"
    ])
    const readOnly = metaField("total", "decimal", { writable: { create: true, update: false } })
    expect(leftOf({ model: { ...orders.model, fields: [readOnly] } }, [])).toEqual([])
  })

  it("is one body with all of them", () => {
    expect(dataOf([{ field: status, draft: { value: "paid", problem: null } }, { field: note, draft: null }])).toEqual({
      status: "paid",
      note: null
    })
  })

  it("can be tried once every field has a value that fits, or may have none", () => {
    const paid = { field: status, draft: { value: "paid", problem: null } }
    expect(isReady([])).toBe(false)
    expect(isReady([paid])).toBe(true)
    expect(isReady([paid, { field: note, draft: null }])).toBe(true)
    expect(isReady([{ field: status, draft: null }, { field: note, draft: null }])).toBe(false)
    expect(isReady([paid, { field: note, draft: { value: undefined, problem: "Too long." } }])).toBe(false)
  })

  it("is taken back with one write for all records that had the same values", () => {
    const before = new Map([["1", { a: 1, b: "x" }], ["2", { a: 1, b: "y" }], ["3", { a: 1, b: "x" }]])
    const written = ["1", "2", "3", "4"].map((id) => ({ id }))
    expect(formerValues(["a", "b"], written, ({ id }) => before.get(id))).toEqual([
      { data: { a: 1, b: "x" }, records: [{ id: "1" }, { id: "3" }] },
      { data: { a: 1, b: "y" }, records: [{ id: "2" }] },
      { data: { a: null, b: null }, records: [{ id: "4" }] }
    ])
  })
})
