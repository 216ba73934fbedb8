import { expect, it } from "vitest"
import type { Resource } from "../model/catalogue.ts"
import { summaryOf } from "./summary.ts"

const fieldList = [
  { name: "id", kind: "integer" },
  { name: "total", kind: "decimal" },
  { name: "stock", kind: "integer" },
  { name: "currency", kind: "currency" },
  { name: "note", kind: "text" },
  { name: "rate", kind: "float" }
]
const orders = {
  name: "orders",
  model: { primaryKey: ["id"], fields: fieldList, relations: [] },
  fields: new Map(fieldList.map((field) => [field.name, field]))
} as unknown as Resource

const records = [
  { id: "9007199254740993", total: "0.10", currency: "EUR", stock: 1, note: "" },
  { id: "2", total: "9007199254740993.20", currency: "NOK", stock: 2, note: null },
  { id: "3", total: "0.20", currency: "EUR", stock: null, note: "x" }
]

it("adds up exactly, and amounts by their currency, that of the most cells first", () => {
  expect(summaryOf(orders, ["total"], records).added).toEqual([
    { currency: "EUR", sum: "0.30", average: "0.15" },
    { currency: "NOK", sum: "9007199254740993.20", average: "9007199254740993.20" }
  ])
})

it("counts cells with a value, and adds up no keys and no texts", () => {
  expect(summaryOf(orders, ["id", "note"], records)).toEqual({ filled: 4, added: [] })
  expect(summaryOf(orders, ["stock", "gone"], records)).toEqual({
    filled: 2,
    added: [{ currency: null, sum: "3", average: "1.50" }]
  })
  expect(summaryOf(orders, ["rate"], [{ rate: 1e21 }, { rate: 1 }])).toEqual({ filled: 2, added: [] })
})
