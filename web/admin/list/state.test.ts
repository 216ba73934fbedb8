import { describe, expect, it } from "vitest"
import { related } from "../../../test/support/related.ts"
import { toCsv, toJson } from "./copied.ts"
import { needsOf } from "./needs.ts"
import { columnsOf, printChoices, readChoices, titleColumn } from "./state.ts"

const orders = related.resources.get("orders")!
const lines = related.resources.get("lines")!

describe("the column that opens records", () => {
  const titled = (title: string | null, columns: string) =>
    titleColumn({ ...orders, view: { ...orders.view, title } }, columnsOf(orders, readChoices(columns, orders)))

  it.each([
    ["note", "id,note", "note"],
    ["{customer_id} · {note}", "customer_id,status,note", "note"],
    ["note", "status,id", "id"],
    [null, "customer.name,status,note", "status"],
    ["customer_id", "customer_id,customer.country", null]
  ])("is that of the title %s among %s: %s", (title, columns, found) => {
    expect(titled(title, columns)).toBe(found)
  })
})

describe("columns through relations", () => {
  it("stand in the address beside those of the records, with their marks", () => {
    const text = "id.p,customer.country,customer.name.p.220,status.96"
    const choices = readChoices(text, orders)
    expect(choices).toEqual([
      { field: "id", pinned: true, width: null },
      { field: "customer.country", pinned: false, width: null },
      { field: "customer.name", pinned: true, width: 220 },
      { field: "status", pinned: false, width: 96 }
    ])
    expect(printChoices(choices)).toBe(text)
    expect(columnsOf(orders, choices).map(({ id, label, width }) => [id, label, width])).toEqual([
      ["id", "ID", 116],
      ["customer.name", "Buyer · Name", 220],
      ["customer.country", "Buyer · Country", 140],
      ["status", "Status", 96]
    ])
  })

  it("are left out where they are hidden, lead to several records, or too far", () => {
    const hidden = "lost.id,customer.secret,lines.quantity,customer.orders.id,customer,.,customer..id,id,id.p"
    expect(readChoices(hidden, orders).map(({ field }) => field)).toEqual(["id"])
    expect(readChoices(`${"order.customer.".repeat(50)}id`, lines)).toEqual([])
  })

  it("ask for their fields, and for the titles of records that they name", () => {
    expect(needsOf(orders, ["status", "customer.country"])).toEqual({
      fields: ["customer.country", "id", "status"],
      expand: []
    })
    expect(needsOf(orders, ["customer_id", "customer.country"])).toEqual({
      fields: ["customer.country", "customer_id", "id"],
      expand: ["customer"]
    })
    expect(needsOf(lines, ["order.customer_id", "order.customer.name"])).toEqual({
      fields: ["id", "order.customer.name", "order.customer_id"],
      expand: ["order.customer"]
    })
    expect(needsOf(orders, ["lost.id", "lines.quantity", "nothing"])).toEqual({ fields: ["id"], expand: [] })
  })

  it("are copied as what they show", () => {
    const record = { id: "1", etag: "", expand: { customer: { country: "NO" } } }
    expect(toCsv(["id", "customer.country"], [record])).toBe("id,customer.country\r\n1,NO\r\n")
    expect(JSON.parse(toJson(["id", "customer.country", "customer.name"], [record]))).toEqual([
      { id: "1", "customer.country": "NO", "customer.name": null }
    ])
  })
})
