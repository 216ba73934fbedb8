import { describe, expect, it } from "vitest"
import { related } from "../../../test/support/related.ts"
import { columnAt, columnLabel, fieldAt, pathLabels, pathsFrom, valueAt } from "./paths.ts"

const orders = related.resources.get("orders")!

describe("paths to fields of related records", () => {
  it("lead through what the caller sees, and nowhere else", () => {
    expect(fieldAt(orders, "status")).toMatchObject({ ways: [], many: false, resource: { name: "orders" } })
    expect(fieldAt(orders, "customer.country")).toMatchObject({ many: false, resource: { name: "customers" } })
    expect(fieldAt(orders, "lines.product.name")).toMatchObject({ many: true, resource: { name: "products" } })
    for (
      const nothing of ["", "lost.id", "customer", "customer.", "customer.secret", ".id", "customer..id", "nothing"]
    ) {
      expect(fieldAt(orders, nothing)).toBeUndefined()
    }
  })

  it("are columns where they lead to one record", () => {
    expect(columnAt(orders, "customer.country")?.field.name).toBe("country")
    expect(columnAt(orders, "lines.quantity")).toBeUndefined()
  })

  it("are called as people call the foreign key and the field", () => {
    expect(columnLabel(orders, fieldAt(orders, "customer.country")!)).toBe("Buyer · Country")
    expect(pathLabels(orders, fieldAt(orders, "lines.product.name")!)).toEqual(["Lines", "Product", "Called"])
    expect(pathLabels(orders, fieldAt(orders, "lines.order.customer.name")!)).toEqual([
      "Lines",
      "Order",
      "Buyer",
      "Name"
    ])
  })

  it("are offered so far, and not back to where they come from", () => {
    const texts = (most: number, one = false) =>
      pathsFrom(orders, most, one ? ({ many }) => !many : undefined).map(({ text }) => text)
    expect(texts(1)).toEqual([
      "customer.id",
      "customer.name",
      "customer.country",
      "customer.photo",
      "lines.id",
      "lines.order_id",
      "lines.product_id",
      "lines.quantity"
    ])
    expect(texts(2)).toContain("lines.product.name")
    expect(texts(2).filter((text) => /customer\.orders|lines\.order\./.test(text))).toEqual([])
    expect(texts(2, true)).toEqual(["customer.id", "customer.name", "customer.country", "customer.photo"])
  })

  it.each([
    [{ status: "paid" }, "status", "paid"],
    [{ expand: { customer: { country: "NO" } } }, "customer.country", "NO"],
    [{ expand: { customer: { expand: { region: { name: "North" } } } } }, "customer.region.name", "North"],
    [{ expand: { customer: null } }, "customer.country", undefined],
    [{ expand: { customer: [] } }, "customer.country", undefined],
    [{ customer: { country: "NO" } }, "customer.country", undefined],
    [{ expand: "x" }, "customer.country", undefined],
    [{}, "customer.country", undefined]
  ])("have the value that came with the record: %#", (record, text, value) => {
    expect(valueAt(record as { readonly [field: string]: unknown }, text)).toEqual(value)
  })
})
