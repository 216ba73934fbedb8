import { expect, it } from "vitest"
import { positionOf } from "./position.ts"

const rows = { total: { count: 3, accuracy: "exact" as const } }

it("stores the position of a row in the whole list, and none for what a calendar shows", () => {
  expect(positionOf(rows, 1)).toEqual({ position: 1, total: 3, about: false })
  expect(positionOf(rows, -1)).toEqual({})
  expect(positionOf(rows, 1, true)).toEqual({})
})
