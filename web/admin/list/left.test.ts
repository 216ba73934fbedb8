import { expect, it } from "vitest"
import { addressOfList, keepLeft, type Left, leftAt, moveLeft } from "./left.ts"
import { nothing } from "./selection.ts"

const at = (row: number, top: number): Left => ({
  place: { row, column: 3 },
  top,
  height: 20,
  selection: nothing,
  picked: new Map()
})

it("gives a list back as it was left, by its address", () => {
  const address = addressOfList("/orders", new URLSearchParams("order=total"))
  keepLeft(address, at(512, 500))
  expect(leftAt("/orders?order=total")).toEqual(at(512, 500))
  expect(leftAt(addressOfList("/orders", new URLSearchParams()))).toBeUndefined()
})

it.each([
  ["in sight", 505, 500],
  ["below", 530, 511],
  ["above", 490, 490]
])("follows to a record that is %s", (_, row, top) => {
  keepLeft("/orders", at(512, 500))
  moveLeft("/orders", row)
  expect(leftAt("/orders")).toEqual(at(row, top))
  // A list that was never seen has no place.
  moveLeft("/customers", row)
  expect(leftAt("/customers")).toBeUndefined()
})

it("forgets the lists that were left longest ago", () => {
  keepLeft("/first", at(1, 0))
  for (let list = 0; list < 50; list++) keepLeft(`/list-${list}`, at(1, 0))
  expect([leftAt("/first"), leftAt("/list-0")?.top]).toEqual([undefined, 0])
})
