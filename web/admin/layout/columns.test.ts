import { describe, expect, it } from "vitest"
import { metaField, related } from "../../../test/support/related.ts"
import { boardColumns, both, columnId, conditionOf, keptOrder, sumsByColumn } from "./columns.ts"

const orders = related.resources.get("orders")!
const groups = (by: string, counts: ReadonlyArray<readonly [unknown, number]>) =>
  counts.map(([value, count]) => ({ group: { [by]: value }, measures: { count } }))

describe("the columns of a board", () => {
  const status = metaField("status", "enum", { values: ["draft", "paid", "sent"] })

  it("are the declared values of an enum in their order, also without a record", () => {
    expect(boardColumns(status, null).map(({ count, id }) => [id, count])).toEqual([
      ["=draft", null],
      ["=paid", null],
      ["=sent", null]
    ])
    const found = boardColumns(status, groups("status", [["sent", 7], ["old", 1], [null, 2]]))
    expect(found.map(({ count, value }) => [value, count])).toEqual([
      [null, 2],
      ["draft", 0],
      ["paid", 0],
      ["sent", 7],
      ["old", 1]
    ])
  })

  it("begin with records without a value where a field may have none, until it is known", () => {
    const optional = metaField("status", "enum", { values: ["draft"], optional: true })
    expect(boardColumns(optional, null).map(({ id }) => id)).toEqual(["", "=draft"])
    expect(boardColumns(optional, groups("status", [["draft", 1]])).map(({ id }) => id)).toEqual(["=draft"])
  })

  it("stay where they stood when they are counted again", () => {
    const column = (id: string) => ({ id, value: id, count: 1 })
    const ids = (before: readonly string[]) => keptOrder(["c", "a", "b"].map(column), before).map(({ id }) => id)
    expect([ids([]), ids(["a", "gone", "c"])]).toEqual([["c", "a", "b"], ["a", "c", "b"]])
  })

  it("are the records that a relation leads to, as they come", () => {
    const customer = metaField("customer_id", "integer", { relation: "customers" })
    expect(boardColumns(customer, null)).toEqual([])
    const found = boardColumns(customer, groups("customer_id", [["9", 20], [null, 5], ["7", 3]]))
    expect(found.map(({ count, id }) => [id, count])).toEqual([["", 5], ["=9", 20], ["=7", 3]])
  })

  it("have a filter each, within that of the list", () => {
    expect(both("", conditionOf(orders, "status", "paid"))).toBe("status = \"paid\"")
    expect(both("a = 1 OR b = 2", conditionOf(orders, "status", null))).toBe("(a = 1 OR b = 2) AND isNull(status)")
    expect(conditionOf(orders, "customer_id", "9")).toBe("customer_id = 9")
    expect(conditionOf(orders, "customer.country", "NO")).toBe("customer.country = \"NO\"")
    expect(new Set(["", null, "null"].map(columnId)).size).toBe(3)
  })

  it("have sums by currency", () => {
    const sums = sumsByColumn(
      [
        { group: { status: "paid", currency: "EUR" }, measures: { "sum(total)": "5.00" } },
        { group: { status: "paid", currency: "NOK" }, measures: { "sum(total)": "7.00" } },
        { group: { status: "draft", currency: "EUR" }, measures: { "sum(total)": null } }
      ],
      "status",
      "sum(total)",
      "currency"
    )
    expect([...sums].map(([id, own]) => [id, [...own]])).toEqual([["=paid", [["EUR", "5.00"], ["NOK", "7.00"]]]])
  })
})
