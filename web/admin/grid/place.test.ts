import { describe, expect, it } from "vitest"
import { type CellPlace, type GridBounds, type Press, pressed, within } from "./place.ts"

const bounds: GridBounds = { rows: 100, firstColumn: -1, lastColumn: 4 }
const at: CellPlace = { row: 10, column: 2 }
const press = (key: string, held: Partial<Press> = {}): Press => ({ key, ctrlKey: false, metaKey: false, ...held })

describe("where a key leads", () => {
  it.each<[string, Partial<Press>, Partial<CellPlace> | null]>([
    ["ArrowDown", {}, { row: 11 }],
    ["ArrowUp", {}, { row: 9 }],
    ["j", {}, { row: 11 }],
    ["k", {}, { row: 9 }],
    ["j", { ctrlKey: true }, null],
    ["k", { metaKey: true }, null],
    ["ArrowRight", {}, { column: 3 }],
    ["ArrowLeft", {}, { column: 1 }],
    ["PageDown", {}, { row: 30 }],
    ["PageUp", {}, { row: 0 }],
    ["Home", {}, { column: -1 }],
    ["End", {}, { column: 4 }],
    ["Home", { ctrlKey: true }, { row: 0, column: -1 }],
    ["End", { metaKey: true }, { row: 99, column: 4 }],
    ["x", {}, null],
    ["Enter", {}, null]
  ])("%s %j: %j", (key, held, to) => {
    expect(pressed(press(key, held), at, bounds, 20, 1)).toEqual(to)
  })

  it("turns left and right round where columns run from the right", () => {
    expect(pressed(press("ArrowRight"), at, bounds, 20, -1)).toEqual({ column: 1 })
    expect(pressed(press("ArrowLeft"), at, bounds, 20, -1)).toEqual({ column: 3 })
  })

  it("leads from the first row to the header by the arrow, and by no other key", () => {
    const first = { row: 0, column: 0 }
    expect(pressed(press("ArrowUp"), first, bounds, 20, 1)).toEqual({ row: -1 })
    expect(pressed(press("k"), first, bounds, 20, 1)).toEqual({ row: 0 })
    expect(pressed(press("PageUp"), first, bounds, 20, 1)).toEqual({ row: 0 })
  })
})

describe("the nearest place", () => {
  it.each<[CellPlace, CellPlace]>([
    [at, at],
    [{ row: -9, column: -9 }, { row: -1, column: -1 }],
    [{ row: 100, column: 5 }, { row: 99, column: 4 }]
  ])("of %j is %j", (place, nearest) => {
    expect(within(bounds, place)).toEqual(nearest)
  })

  it("is the first row's where there are none", () => {
    expect(within({ ...bounds, rows: 0 }, at)).toEqual({ row: 0, column: 2 })
  })
})
