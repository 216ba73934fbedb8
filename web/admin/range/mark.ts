/**
 * Marks the cells of a range in the rows that are drawn. It writes attributes that no row knows of, so that no row is drawn again while a range grows: for
 * readers which cells are selected, for the eye the edges of the range.
 */

import { type Area, edgesAt } from "../grid/range.ts"

/** `body` holds the rows. Null: no cell is marked. */
export const mark = (body: HTMLElement, area: Area | null): void => {
  if (area === null && body.dataset["marked"] === undefined) return
  if (area === null) delete body.dataset["marked"]
  else body.dataset["marked"] = ""
  for (const line of body.children) {
    // The head of a group has no cells.
    if (line.hasAttribute("data-line")) continue
    const row = Number(line.getAttribute("data-index"))
    for (const cell of line.children) {
      const edges = area === null ? null : edgesAt(area, row, Number(cell.getAttribute("data-column")))
      if (cell.getAttribute("data-edges") === edges) continue
      if (edges === null) {
        cell.removeAttribute("data-edges")
        cell.removeAttribute("aria-selected")
      } else {
        cell.setAttribute("data-edges", edges)
        cell.setAttribute("aria-selected", "true")
      }
    }
  }
}
