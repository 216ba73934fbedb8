import { expect, it } from "vitest"
import type { Resource } from "../model/catalogue.ts"
import { byCurrency, sumsText } from "./adding.ts"

const field = (name: string, kind: string) => [name, { name, kind }] as const
const orders = {
  model: { fields: [{ name: "total", kind: "decimal" }, { name: "currency", kind: "currency" }] },
  fields: new Map([field("total", "decimal"), field("stock", "integer"), field("currency", "currency")])
} as unknown as Resource

it("adds amounts up by their currency, and other numbers as they are", () => {
  expect([...byCurrency(orders, ["total", "stock", "gone"])]).toEqual([["currency", ["total"]], [null, [
    "stock",
    "gone"
  ]]])
})

it("says sums with their currencies", () => {
  const sums = [
    { field: "total", value: "1200.00", currency: "EUR" },
    { field: "total", value: "80.00", currency: "NOK" },
    { field: "stock", value: "17", currency: null }
  ]
  expect(sumsText(sums, (name) => name.toUpperCase(), { number: String })).toBe(
    "TOTAL 1200.00 EUR, 80.00 NOK; STOCK 17"
  )
  expect(sumsText([], String, { number: String })).toBe("")
})
