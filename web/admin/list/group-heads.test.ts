import { describe, expect, it } from "vitest"
import { related } from "../../../test/support/related.ts"
import { chosenGroups, offeredGroups } from "./group-choice.ts"
import { declaredHeads, headsOf, keeping, keysOf, partOf, sumsById, withSums } from "./group-heads.ts"

const orders = related.resources.get("orders")!
const lines = related.resources.get("lines")!

const of = (by: string, counts: ReadonlyArray<readonly [unknown, number]>) =>
  counts.map(([value, count]) => ({ group: { [by]: value }, measures: { count } }))

describe("groups", () => {
  it("of an enum stand in its order, records without a value last", () => {
    const found = headsOf(
      orders,
      keysOf(orders, ["status"]),
      of("status", [[null, 1], ["old", 2], ["paid", 3], ["draft", 4]]),
      false
    )
    expect(found.map(({ count, value }) => [value, count])).toEqual([["draft", 4], ["paid", 3], ["old", 2], [null, 1]])
    expect(found.map(({ condition }) => condition)).toEqual([
      `status = "draft"`,
      `status = "paid"`,
      `status = "old"`,
      "isNull(status)"
    ])
  })

  it("of a relation have the titles of its records, where there is room for a key more", () => {
    const [key] = keysOf(lines, ["product_id"])
    expect(key).toMatchObject({ text: "product_id", title: null })
    expect(keysOf(orders, ["customer_id", "status"]).map(({ title }) => title)).toEqual([null, null])
    expect(keysOf(orders, ["nothing", "customer.country"]).map(({ text }) => text)).toEqual(["customer.country"])
  })

  it("within others have both conditions, and are left out where some of them may be missing", () => {
    const both = [
      { group: { status: "draft", "customer.country": "NO" }, measures: { count: 2 } },
      { group: { status: "draft", "customer.country": null }, measures: { count: 3 } },
      { group: { status: "paid", "customer.country": "DE" }, measures: { count: 5 } }
    ]
    const keys = keysOf(orders, ["status", "customer.country"])
    const [draft, paid] = headsOf(orders, keys, both, false)
    expect([draft?.count, paid?.count, draft?.inner.map(({ id }) => id)]).toEqual([5, 5, ["draft/NO", "draft/!"]])
    expect(draft?.inner[1]?.condition).toBe(`(status = "draft") AND isNull(customer.country)`)
    expect(headsOf(orders, keys, both, true).map(({ id }) => id)).toEqual(["draft"])
    expect(headsOf(orders, keys, both.slice(0, 2), true).map(({ id }) => id)).toEqual(["draft"])
  })

  it("of an enum that may not be counted are its values, with estimates", () => {
    const [key] = keysOf(orders, ["status"])
    const found = declaredHeads(orders, key!, [
      ["draft", { count: 12, accuracy: "exact" }],
      ["paid", { count: 0, accuracy: "exact" }],
      [null, { count: 120_000, accuracy: "estimate" }]
    ])
    expect(found.map(({ about, condition, count, id }) => [id, count, about, condition])).toEqual([
      ["draft", 12, false, `status = "draft"`],
      ["!", 120_000, true, "isNull(status)"]
    ])
  })

  it("have names that an address can list", () => {
    const values = [null, "", "!", "*", "()", "a,b/c", "ü", 1, true]
    const names = values.map(partOf)
    expect(new Set(names).size).toBe(values.length)
    expect(names.join("")).toMatch(/^[!-+\--.0-~]+$/)
  })

  it("have sums by currency; a group of groups has those of all of them", () => {
    const keys = keysOf(orders, ["status", "note"])
    const group = (note: string, currency: string | null, value: string | null) => ({
      group: { status: "paid", note, currency },
      measures: { "sum(total)": value }
    })
    const sums = sumsById(
      keys,
      [group("a", "EUR", "1.50"), group("b", "EUR", "2.5"), group("b", "NOK", "7"), group("b", null, null)],
      ["total"],
      "currency"
    )
    expect(sums.get("paid")).toEqual([
      { field: "total", value: "4.00", currency: "EUR" },
      { field: "total", value: "7", currency: "NOK" }
    ])
    expect(sums.get("paid/a")).toEqual([{ field: "total", value: "1.50", currency: "EUR" }])
    const heads = headsOf(orders, keys, [{ group: { status: "paid", note: "a" }, measures: { count: 1 } }], false)
    expect(withSums(heads, sums)[0]?.inner[0]?.sums).toHaveLength(1)
  })

  it("stay where they were while their rows are shown, though they have no record any more", () => {
    const keys = keysOf(orders, ["status"])
    const before = headsOf(orders, keys, of("status", [["draft", 1], ["paid", 2]]), false)
    const now = headsOf(orders, keys, of("status", [["paid", 3]]), false)
    const ids = (shown: boolean) => keeping(before, now, () => shown).map(({ count, id }) => [id, count])
    expect(ids(true)).toEqual([["draft", 0], ["paid", 3]])
    expect(ids(false)).toEqual([["paid", 3]])
  })
})

describe("the choice of groups", () => {
  it("offers what several records share, also of related records", () => {
    expect(offeredGroups(orders).map(({ text }) => text)).toEqual(["status", "customer_id", "customer.country"])
  })

  it("adds a second field, takes another one in its place, and removes what was chosen", () => {
    expect(chosenGroups([], "a")).toEqual(["a"])
    expect(chosenGroups(["a"], "b")).toEqual(["a", "b"])
    expect(chosenGroups(["a", "b"], "c")).toEqual(["a", "c"])
    expect(chosenGroups(["a", "b"], "a")).toEqual(["b"])
  })
})
