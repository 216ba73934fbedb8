import { expect, it } from "vitest"
import { moveTo, numbered } from "./arrange.ts"

it.each([[0, 2, "bcad"], [3, 0, "dabc"], [1, 1, "abcd"], [0, 4, "abcd"], [9, 0, "abcd"]])(
  "moves the row %i to place %i",
  (from, to, rows) => expect(moveTo(["a", "b", "c", "d"], from, to).join("")).toBe(rows)
)

it.each([
  [[2, 1, 3], [1, 2, 3]],
  [[30, "10", 20], [10, 20, 30]],
  [[1, 1, 2], [1, 2, 3]],
  [[5, null, 7], [1, 2, 3]]
])("deals out the numbers of %j again", (before, after) => expect(numbered(before)).toEqual(after))
