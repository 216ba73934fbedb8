import { describe, expect, it } from "vitest"
import { linesOf } from "../list/lines.ts"
import { bottomFor, rowAbove, rowsOf, stretchesIn } from "./lines.ts"

/** Line 0: head a, 1 to 3 its rows, 4: head b, 5 and 6 its rows. */
const lines = linesOf(
  ["a", "b"].map((id) => ({ id, condition: `x = ${id}`, inner: [] }) as never),
  { all: false, ids: new Set() },
  ({ id }) => id === "a" ? 3 : 2,
  false
)
const grouped = {
  groups: {
    count: lines.count,
    stretches: (first: number, last: number) =>
      lines.stretches(first, last).map(({ first: index, head, last: end }) => ({
        line: lines.lineOfRow(head.id, index),
        count: end - index,
        index,
        condition: head.condition
      }))
  }
}

describe("the rows of a range", () => {
  it("are all its lines where there are no heads", () => {
    expect(stretchesIn({}, 3, 5)).toEqual([{ line: 3, count: 3, index: 3, condition: "" }])
    expect([rowsOf({}, { top: 3, bottom: 5 }), bottomFor({}, 3, 4), rowAbove({}, 3), rowAbove({}, 0)]).toEqual([
      3,
      6,
      2,
      -1
    ])
  })

  it("are those between the heads of groups", () => {
    expect(stretchesIn(grouped, 2, 5)).toEqual([
      { line: 2, count: 2, index: 1, condition: "x = a" },
      { line: 5, count: 1, index: 0, condition: "x = b" }
    ])
    expect([[0, 6], [0, 0], [4, 4], [2, 5]].map(([top = 0, bottom = 0]) => rowsOf(grouped, { top, bottom }))).toEqual([
      5,
      0,
      0,
      3
    ])
    expect([1, 3, 4, 5, 6].map((rows) => bottomFor(grouped, 1, rows))).toEqual([1, 3, 5, 6, 7])
    expect([1, 2, 5, 6].map((line) => rowAbove(grouped, line))).toEqual([-1, 1, 3, 5])
  })
})
