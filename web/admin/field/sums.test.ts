import { expect, it } from "vitest"
import type { MetaField } from "../../client/index.ts"
import type { Resource } from "../model/catalogue.ts"
import { isMeasure } from "./kind.ts"
import { isAddable, sumsOf } from "./sums.ts"

const fieldOf = (name: string, kind: string, more: object = {}): MetaField =>
  ({ name, kind, ...more }) as unknown as MetaField
const total = fieldOf("total", "decimal")
const quantity = fieldOf("quantity", "integer")
const fields = [total, quantity, fieldOf("currency", "currency")]
const lines = { model: { primaryKey: ["count"], fields } } as unknown as Resource

it.each([
  [total, true, true],
  [quantity, true, true],
  [fieldOf("net_weight", "float"), true, true],
  // Of these a sum is possible, and means nothing.
  [fieldOf("unit_price", "decimal"), true, false],
  [fieldOf("position", "integer"), true, false],
  // The name says it only as a whole word.
  [fieldOf("discount", "decimal"), true, false],
  [fieldOf("account_hoursed", "integer"), true, false],
  // Keys are no measures, whatever their names are.
  [fieldOf("count", "integer"), false, false],
  [fieldOf("amount", "integer", { relation: "amounts" }), false, false],
  [fieldOf("total", "text"), false, false]
])("takes %o for a measure: %s, and adds it up unasked: %s", (field, measures, adds) => {
  expect([isMeasure(lines, field), isAddable(lines, field)]).toEqual([measures, adds])
})

const format = { number: String }

it("adds up exactly, and amounts by their currencies, the most frequent one first", () => {
  const records = [
    { total: "0.10", quantity: 1, currency: "NOK" },
    { total: "9007199254740993.10", quantity: 2, currency: "EUR" },
    { total: "0.2", quantity: null, currency: "EUR" }
  ]
  expect(sumsOf(lines, total, records, format)).toEqual(["9007199254740993.30 EUR", "0.10 NOK"])
  expect(sumsOf(lines, quantity, records, format)).toEqual(["3"])
})

it("names no currency where a record has none, and has no sum of what is no number", () => {
  expect(
    sumsOf(lines, total, [{ total: "1" }, { total: "2", currency: null }, { total: "5", currency: "EUR" }], format)
  )
    .toEqual(["3", "5 EUR"])
  expect(sumsOf(lines, total, [{ total: "much", currency: "EUR" }, { total: "1", currency: "NOK" }], format))
    .toEqual(["1 NOK"])
  expect(sumsOf(lines, total, [], format)).toEqual([])
  expect(sumsOf(lines, total, [{ total: null, currency: "EUR" }], format)).toEqual([])
})
