import { describe, expect, it } from "vitest"
import { related } from "../../../test/support/related.ts"
import { en } from "../messages/en.ts"
import { columnAt } from "../model/paths.ts"
import { toCsv, toJson } from "./copied.ts"
import { needsOf } from "./needs.ts"
import {
  columnsOf,
  nextOrder,
  orderFor,
  printChoices,
  printOrder,
  readChoices,
  titleColumn,
  whyUnsortedBy
} from "./state.ts"

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

describe("a press on a head", () => {
  const keysOf = (text: string) =>
    text.split(", ").filter((key) => key !== "").map((key) => ({
      field: key.split(" ")[0]!,
      descending: key.endsWith(" desc")
    }))
  const order = (text: string, field: string, add: boolean) => printOrder(nextOrder(keysOf(text), field, add, orders))

  it.each([
    ["", "status", false, "status"],
    ["status", "status", false, "status desc"],
    ["status desc", "status", false, ""],
    ["status", "note", false, "note"],
    ["status desc", "note", true, "status desc, note"],
    ["status, note", "status", true, "status desc, note"],
    ["status desc, note", "status", true, "note"]
  ])("makes of the order %j by %s (further: %s) the order %j", (before, field, add, after) => {
    expect(order(before, field, add)).toBe(after)
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

describe("orders", () => {
  const shown = (text: string, resource = orders) => printOrder(orderFor(text, resource))

  it("go through relations to one record, and into JSON where that is declared", () => {
    expect(shown("customer.name desc,id")).toBe("customer.name desc, id")
    expect(shown("order.customer.name", lines)).toBe("order.customer.name")
    const [meta] = [{ ...orders.fields.get("note")!, name: "meta", kind: "json" as const, sortable: false }]
    const paths = ["size.width", "made"].map((path) => ({
      path,
      kind: "decimal" as const,
      filterable: true,
      sortable: path !== "made"
    }))
    const field = { ...meta, paths }
    const resource = {
      ...orders,
      model: { ...orders.model, fields: [...orders.model.fields, field] },
      fields: new Map([...orders.fields, ["meta", field]])
    }
    expect(shown("meta.size.width desc, meta.made, meta, id", resource)).toBe("meta.size.width desc, id")
  })

  it("leave out what the service would refuse", () => {
    const hidden = "lost.id, customer.secret, customer, lines.quantity, customer..id, customer.photo, .id, id, id desc"
    expect(shown(hidden)).toBe("id")
    expect(shown("status, customer.name, customer.country desc, id")).toBe("status, customer.name, id")
    const many = {
      ...orders,
      fields: new Map(["a", "b", "c", "d", "e"].map((name) => [name, orders.fields.get("id")!]))
    }
    expect(shown("a, b, c, d, e, customer.name", many)).toBe("a, b, c, d, e")
    many.fields.set("customer_id", orders.fields.get("customer_id")!)
    expect(shown("a, b, c, d, e, customer.name", many)).toBe("a, b, c, d, customer.name")
    expect(shown("customer.name, a, b, c, d, e", many)).toBe("customer.name, a, b, c, d")
  })

  it("have one field through relations, the one that was clicked last", () => {
    const next = (text: string, field: string, add: boolean) =>
      printOrder(nextOrder(orderFor(text, orders), field, add, orders))
    expect(next("status", "customer.name", true)).toBe("status, customer.name")
    expect(next("status, customer.name", "customer.country", true)).toBe("status, customer.country")
    expect(next("status, customer.name", "customer.name", true)).toBe("status, customer.name desc")
    expect(next("status, customer.name desc", "customer.name", true)).toBe("status")
    expect(next("customer.name", "id", false)).toBe("id")
  })

  it("are not offered where there is none, with the reason", () => {
    const why = (text: string) => whyUnsortedBy(columnAt(orders, text)!, en)
    expect([why("status"), why("customer.name")]).toEqual([null, null])
    expect(why("customer.photo")).toBe(en.columns.noOrder)
    const { resource, ...path } = columnAt(orders, "customer.name")!
    const unsorted = { ...path, resource, field: { ...path.field, sortable: false } }
    expect(whyUnsortedBy(unsorted, en)).toBe(en.paths.notSorted)
  })
})
