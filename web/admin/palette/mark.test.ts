import { expect, it } from "vitest"
import { markedOf } from "./mark.ts"

const filter = { id: "filter" }
const page = { id: "go customers" }
const early = { id: "orders/5", found: false }
const order = { id: "orders/7", found: true }
const customer = { id: "customers/3", found: true }

it("marks no entry that a record may push down, so that Enter does not run it", () => {
  expect(markedOf([filter, page], "ada", null, true)).toBeUndefined()
  expect(markedOf([filter, page], "ada", null, false)).toBe(filter)
  expect(markedOf([], "ada", null, false)).toBeUndefined()
})

it("marks no record that was found for an earlier text", () => {
  expect(markedOf([early, filter], "ada", null, true)).toBeUndefined()
  expect(markedOf([early, customer, filter], "ada", null, true)).toBe(customer)
})

it("keeps the mark when records come that stand before it, and drops it with the text that it was made for", () => {
  const held = { asked: "ada", id: customer.id }
  expect(markedOf([order, customer, filter], "ada", held, true)).toBe(customer)
  expect(markedOf([order, customer, filter], "ada l", held, true)).toBe(order)
  expect(markedOf([order, filter], "ada", held, false)).toBe(order)
})

it("marks what was chosen by hand, whatever is still searched", () => {
  expect(markedOf([early, filter, page], "ada", { asked: "ada", id: page.id }, true)).toBe(page)
})
