/** A range of cells: two opposite corners, and the rectangle between them. It knows rows and columns by number only. Pure. */

import { type CellPlace, clamp, type GridBounds } from "./place.ts"

/** `anchor` is where the range began, `end` where it was taken to. */
export interface CellRange {
  readonly anchor: CellPlace
  readonly end: CellPlace
}

/** The cells of a range, by their first and last row and column. */
export interface Area {
  readonly top: number
  readonly bottom: number
  readonly left: number
  readonly right: number
}

export const areaOf = ({ anchor, end }: CellRange): Area => ({
  top: Math.min(anchor.row, end.row),
  bottom: Math.max(anchor.row, end.row),
  left: Math.min(anchor.column, end.column),
  right: Math.max(anchor.column, end.column)
})

export const rowsIn = ({ bottom, top }: Area): number => bottom - top + 1

export const columnsIn = ({ left, right }: Area): number => right - left + 1

export const cellsIn = (area: Area): number => rowsIn(area) * columnsIn(area)

/** The range that begins at `anchor` and is taken to a place; ticks and headers are not part of any. */
export const rangeTo = (anchor: CellPlace, { column, row }: CellPlace, bounds: GridBounds): CellRange => ({
  anchor,
  end: { row: clamp(row, 0, Math.max(0, bounds.rows - 1)), column: clamp(column, 0, bounds.lastColumn) }
})

/** The edges of the range that a cell of it lies at, as letters: top, bottom, start, end. Null outside of the range. */
export const edgesAt = ({ bottom, left, right, top }: Area, row: number, column: number): string | null =>
  row < top || row > bottom || column < left || column > right
    ? null
    : `${row === top ? "t" : ""}${row === bottom ? "b" : ""}${column === left ? "s" : ""}${column === right ? "e" : ""}`
