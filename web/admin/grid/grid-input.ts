/** Keys and the mouse in a grid, as far as the caller does not handle them. */

import type { KeyboardEvent, MouseEvent } from "react"
import type { Column } from "./columns.ts"
import { type CellPlace, type GridBounds, isWithin, placeOf, pressed } from "./place.ts"
import type { Drawing } from "./row.tsx"

/** The rows of a grid, and what its caller does with events. */
export interface Handled<Row> {
  readonly rows: number
  readonly rowAt: (index: number) => Row | undefined
  /** In display order, pinned ones first. */
  readonly columns: readonly Column[]
  readonly editing?: CellPlace | null
  readonly onOpen?: (row: Row, index: number, event: MouseEvent | KeyboardEvent) => void
  /** Shows a row beside the grid, or no more. */
  readonly onPeek?: (row: Row, index: number) => void
  /** A press on a cell. True if it is handled, and the cell does not take the focus. */
  readonly onCellDown?: (event: MouseEvent, place: CellPlace) => boolean
  /** Handles a key on a cell. True if it is handled; otherwise the grid moves the focus. */
  readonly onKey?: (event: KeyboardEvent, place: CellPlace, row: Row | undefined) => boolean
  readonly onCellDoubleClick?: (row: Row, column: Column, place: CellPlace) => void
  readonly onCellContext?: (row: Row, column: Column, place: CellPlace, event: MouseEvent) => void
}

interface GridState {
  readonly active: CellPlace
  readonly bounds: GridBounds
  /** Rows of a page. */
  readonly page: () => number
  /** Moves the focus and scrolls to it. */
  readonly move: (place: Partial<CellPlace>) => void
  /** Puts the focus to where it is seen already. */
  readonly put: (place: CellPlace) => void
}

/** Whether a key ticks the active row: X, Space with Shift as in spreadsheets, or Space on the tick itself. X with Shift ticks all rows up to this one. */
const ticks = ({ ctrlKey, key, metaKey, shiftKey }: KeyboardEvent, active: CellPlace): boolean =>
  key === " " ? shiftKey || active.column === -1 : /^x$/i.test(key) && !ctrlKey && !metaKey

export const eventsOf = <Row extends object>(
  props: Handled<Row> & Pick<Drawing<Row>, "card" | "tick">,
  state: GridState
) => {
  const { columns, editing = null, rowAt, tick } = props
  const { active, bounds, move, page, put } = state

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    if (event.target instanceof HTMLElement && editing !== null && event.target.closest("[data-editing]") !== null) {
      return
    }
    const row = active.row >= 0 ? rowAt(active.row) : undefined
    if (props.onKey?.(event, active, row) === true) {
      event.preventDefault()
      event.stopPropagation()
      return
    }
    if (event.altKey) return
    const forward = getComputedStyle(event.currentTarget).direction === "rtl" ? -1 : 1
    const next = pressed(event, active, bounds, page(), forward)
    if (next !== null) {
      event.preventDefault()
      move(next)
      return
    }
    if (row === undefined) return
    if (tick !== undefined && ticks(event, active)) {
      event.preventDefault()
      tick.onToggle(row, active.row, event.shiftKey && event.key !== " ")
    } else if (event.key === " ") {
      event.preventDefault()
      props.onPeek?.(row, active.row)
    } else if (event.key === "Enter") {
      event.preventDefault()
      props.onOpen?.(row, active.row, event)
    }
  }

  const onMouseDown = (event: MouseEvent): void => {
    const place = placeOf(event.target)
    if (place === null || isWithin(event.target, "[data-editing]")) return
    // A click with Shift selects cells or rows and no text.
    if (event.shiftKey) event.preventDefault()
    if (props.onCellDown?.(event, place) !== true) put(place)
  }

  const onClick = (event: MouseEvent): void => {
    const place = placeOf(event.target)
    if (place === null) return
    const row = rowAt(place.row)
    if (row === undefined) return
    if (event.shiftKey && place.column !== -1) return
    if (place.column === -1 || event.ctrlKey || event.metaKey) {
      if (isWithin(event.target, "a") && place.column !== -1) return
      tick?.onToggle(row, place.row, event.shiftKey)
      return
    }
    if (props.card !== undefined) props.onOpen?.(row, place.row, event)
  }

  /** The row and the column of an event. */
  const cellOf = (event: MouseEvent) => {
    const place = placeOf(event.target)
    return place === null ? null : { place, row: rowAt(place.row), column: columns[Math.max(0, place.column)] }
  }
  return {
    onKeyDown,
    onMouseDown,
    onClick,
    onDoubleClick: (event: MouseEvent): void => {
      const at = cellOf(event)
      if (at?.row === undefined || at.column === undefined || at.place.column < 0) return
      props.onCellDoubleClick?.(at.row, at.column, at.place)
    },
    onContextMenu: (event: MouseEvent): void => {
      const at = cellOf(event)
      if (at?.row !== undefined && at.column !== undefined) props.onCellContext?.(at.row, at.column, at.place, event)
    }
  }
}
