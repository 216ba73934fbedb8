/**
 * The active cell, and the focus that follows it: also to a row that comes later, and back to a cell that was drawn again under the focus. It knows
 * cells by their attributes only.
 */

import { type FocusEvent, type RefObject, useCallback, useLayoutEffect, useRef, useState } from "react"
import { type CellPlace, type GridBounds, within } from "./place.ts"

export interface Active {
  readonly place: CellPlace
  /** Makes a cell the active one, as far as there is one, and brings its row into sight. It takes the focus. */
  readonly move: (place: Partial<CellPlace>) => void
  /** As `move`, but the focus stays where it is. */
  readonly show: (place: Partial<CellPlace>) => void
  /** Makes a cell the active one that has the focus already. */
  readonly put: (place: CellPlace) => void
  readonly onFocus: () => void
  readonly onBlur: (event: FocusEvent) => void
}

/** `reveal` brings a row into sight. `begin`: the cell at the start, and whether it takes the focus. */
export const useActive = (
  scroller: RefObject<HTMLElement | null>,
  { firstColumn, lastColumn, rows }: GridBounds,
  reveal: (row: number) => void,
  begin: (CellPlace & { readonly focus: boolean }) | null,
  onPlace: ((place: CellPlace) => void) | undefined
): Active => {
  const [active, setActive] = useState<CellPlace>({ row: begin?.row ?? 0, column: begin?.column ?? 0 })
  const wantsFocus = useRef(begin?.focus === true)
  const holdsFocus = useRef(false)

  // The focus follows the active cell once it is drawn.
  useLayoutEffect(() => {
    // The focused cell was removed: its row was loaded, or another record replaced it.
    if (holdsFocus.current && document.activeElement === document.body) wantsFocus.current = true
    if (!wantsFocus.current) return
    const cell = scroller.current?.querySelector<HTMLElement>(
      active.row === -1
        ? `[data-head] [data-column="${active.column}"]`
        : `[data-index="${active.row}"] [data-column="${active.column}"], [data-index="${active.row}"][aria-busy] [data-column], [data-index="${active.row}"][data-line] [data-column]`
    )
    if (cell === null || cell === undefined) return
    wantsFocus.current = false
    cell.focus({ preventScroll: true })
    revealAcross(scroller.current!, cell)
  })

  const put = useCallback((place: CellPlace): void => {
    setActive(place)
    onPlace?.(place)
  }, [onPlace])

  const show = useCallback((place: Partial<CellPlace>): void => {
    const next = within({ firstColumn, lastColumn, rows }, { ...active, ...place })
    put(next)
    if (next.row >= 0) reveal(next.row)
  }, [active, rows, firstColumn, lastColumn, put, reveal])

  const move = useCallback((place: Partial<CellPlace>): void => {
    wantsFocus.current = true
    show(place)
  }, [show])

  return {
    place: active,
    move,
    show,
    put,
    onFocus: () => void (holdsFocus.current = true),
    onBlur: (event) => {
      // Without another element, the cell itself was removed. The focus returns with the next render.
      if (event.relatedTarget !== null || document.hasFocus() === false) {
        holdsFocus.current = event.currentTarget.contains(event.relatedTarget)
      }
    }
  }
}

/** Only pinned cells have a place of their own in a row. */
const isPinned = (cell: Element): boolean => cell instanceof HTMLElement && cell.style.insetInlineStart !== ""

/** Scrolls horizontally until the cell is not covered by pinned columns. */
const revealAcross = (scroller: HTMLElement, cell: HTMLElement): void => {
  if (isPinned(cell)) return
  const box = cell.getBoundingClientRect()
  const around = scroller.getBoundingClientRect()
  const rtl = getComputedStyle(scroller).direction === "rtl"
  let covered = 0
  for (const pinned of cell.parentElement?.children ?? []) {
    if (isPinned(pinned)) covered += pinned.getBoundingClientRect().width
  }
  const start = around.left + (rtl ? 0 : covered)
  const end = around.left + scroller.clientWidth - (rtl ? covered : 0)
  if (box.left < start) scroller.scrollLeft += box.left - start
  else if (box.right > end) scroller.scrollLeft += Math.min(box.right - end, box.left - start)
}
