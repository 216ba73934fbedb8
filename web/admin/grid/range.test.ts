import { describe, expect, it } from "vitest"
import { areaOf, cellsIn, columnsIn, edgesAt, rangeTo, rowsIn } from "./range.ts"

const bounds = { rows: 100, firstColumn: -1, lastColumn: 5 }

describe("a range of cells", () => {
  it("is the same rectangle, whichever corner it began at", () => {
    const corners = [{ row: 7, column: 3 }, { row: 2, column: 4 }] as const
    const area = { top: 2, bottom: 7, left: 3, right: 4 }
    expect(areaOf({ anchor: corners[0], end: corners[1] })).toEqual(area)
    expect(areaOf({ anchor: corners[1], end: corners[0] })).toEqual(area)
    expect([rowsIn(area), columnsIn(area), cellsIn(area)]).toEqual([6, 2, 12])
  })

  it.each([
    [{ row: -3, column: -1 }, { row: 0, column: 0 }],
    [{ row: 400, column: 9 }, { row: 99, column: 5 }],
    [{ row: 4, column: 2 }, { row: 4, column: 2 }]
  ])("taken to %j ends at %j: within the rows, and at no tick", (to, end) => {
    expect(rangeTo({ row: 1, column: 1 }, to, bounds).end).toEqual(end)
  })

  it("of a list without rows ends at the first", () => {
    expect(rangeTo({ row: 0, column: 0 }, { row: 4, column: 0 }, { ...bounds, rows: 0 }).end.row).toBe(0)
  })

  it("has edges at its border, and none outside", () => {
    const area = { top: 2, bottom: 4, left: 1, right: 3 }
    expect([2, 3, 4].map((row) => [1, 2, 3].map((column) => edgesAt(area, row, column)))).toEqual([
      ["ts", "t", "te"],
      ["s", "", "e"],
      ["bs", "b", "be"]
    ])
    expect([edgesAt(area, 1, 2), edgesAt(area, 5, 2), edgesAt(area, 3, 0), edgesAt(area, 3, 4)]).toEqual(
      [null, null, null, null]
    )
    expect(edgesAt({ top: 2, bottom: 2, left: 1, right: 1 }, 2, 1)).toBe("tbse")
  })
})
