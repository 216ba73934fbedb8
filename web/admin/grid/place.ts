/** A cell's place in the grid, what a click hits, and where a key leads from there. It knows rows and columns by number only. */

/** A cell. Row -1 is the header, column -1 the checkbox. */
export interface CellPlace {
  readonly row: number
  readonly column: number
}

/** How far places reach. */
export interface GridBounds {
  readonly rows: number
  /** -1 where there are ticks, else 0. */
  readonly firstColumn: number
  readonly lastColumn: number
}

export const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most)

/** The nearest place that there is. */
export const within = ({ firstColumn, lastColumn, rows }: GridBounds, { column, row }: CellPlace): CellPlace => ({
  row: clamp(row, -1, Math.max(0, rows - 1)),
  column: clamp(column, firstColumn, lastColumn)
})

/** Whether an event met an element that fits a selector, or something in it. */
export const isWithin = (target: EventTarget, selector: string): boolean =>
  target instanceof Element && target.closest(selector) !== null

/** The cell around an element, or null outside of the rows. */
export const placeOf = (target: EventTarget): CellPlace | null => {
  const cell = target instanceof Element ? target.closest<HTMLElement>("[data-column]") : null
  const line = cell?.closest<HTMLElement>("[data-index]")
  if (cell == null || line == null) return null
  return { row: Number(line.dataset["index"]), column: Number(cell.dataset["column"]) }
}

/** The members of a keyboard event that movement depends on. */
export interface Press {
  readonly key: string
  readonly ctrlKey: boolean
  readonly metaKey: boolean
}

/**
 * Where a key leads, or null for a key that moves nothing. It may lead past the bounds. `page`: rows that a page holds. `forward`: 1, or -1 where columns run
 * from the right.
 */
export const pressed = (
  { ctrlKey, key, metaKey }: Press,
  { column, row }: CellPlace,
  { firstColumn, lastColumn, rows }: GridBounds,
  page: number,
  forward: 1 | -1
): Partial<CellPlace> | null => {
  const wide = ctrlKey || metaKey
  switch (key) {
    case "ArrowDown":
      return { row: row + 1 }
    case "ArrowUp":
      return { row: row - 1 }
    case "j":
      return wide ? null : { row: row + 1 }
    case "k":
      return wide ? null : { row: Math.max(0, row - 1) }
    case "ArrowRight":
      return { column: column + forward }
    case "ArrowLeft":
      return { column: column - forward }
    case "PageDown":
      return { row: row + page }
    case "PageUp":
      return { row: Math.max(0, row - page) }
    case "Home":
      return wide ? { row: 0, column: firstColumn } : { column: firstColumn }
    case "End":
      return wide ? { row: rows - 1, column: lastColumn } : { column: lastColumn }
    default:
      return null
  }
}
