/** The mouse over a grid while its button is down: to which cell it points, and how the list scrolls beneath it. It knows cells by their attributes. */

import { type CellPlace, placeOf } from "../grid/place.ts"

/** Pixels of a frame, at most, that the list scrolls by while the mouse is beyond its edge. */
const fastest = 60

/** How fast the list scrolls for a distance from its edge, in pixels a frame. */
const speed = (beyond: number): number => Math.sign(beyond) * Math.min(fastest, Math.abs(beyond) / 3)

/** The part of a scroller in which cells are: below the headers. */
const viewOf = (scroller: HTMLElement) => {
  const box = scroller.getBoundingClientRect()
  const head = scroller.querySelector("[data-head]")?.getBoundingClientRect().height ?? 0
  const left = box.left +
    (getComputedStyle(scroller).direction === "rtl" ? scroller.offsetWidth - scroller.clientWidth : 0)
  return { left, right: left + scroller.clientWidth, top: box.top + head, bottom: box.top + scroller.clientHeight }
}

const beyond = (at: number, from: number, to: number): number => at < from ? at - from : at > to ? at - to : 0

const within = (at: number, from: number, to: number): number => Math.min(Math.max(at, from), to)

/**
 * Follows the mouse from a press until the button is let go. `tell` gets the cell that it points to, once it has left the first one; null where it came back.
 * Text is not marked meanwhile, and the click that ends it is none.
 */
export const follow = (press: MouseEvent, scroller: HTMLElement, tell: (to: CellPlace | null) => void): void => {
  const first = press.target === null ? null : placeOf(press.target)
  let pointer = { x: press.clientX, y: press.clientY }
  let began = false
  let last = first
  let frame = 0

  const look = (): void => {
    frame = requestAnimationFrame(look)
    const { bottom, left, right, top } = viewOf(scroller)
    if (began) {
      const [x, y] = [beyond(pointer.x, left, right), beyond(pointer.y, top, bottom)]
      if (x !== 0 || y !== 0) scroller.scrollBy(speed(x), speed(y))
    }
    const under = document.elementFromPoint(
      within(pointer.x, left + 1, right - 2),
      within(pointer.y, top + 1, bottom - 2)
    )
    // Heads of groups are passed.
    const to = under === null || under.closest("[data-line]") !== null ? null : placeOf(under)
    if (to === null || (to.row === last?.row && to.column === last.column)) return
    if (!began) {
      began = true
      scroller.dataset["ranging"] = ""
      window.getSelection()?.removeAllRanges()
    }
    last = to
    tell(to.row === first?.row && to.column === first.column ? null : to)
  }
  const onMove = (event: MouseEvent): void => {
    // The button was let go where no event told of it.
    if ((event.buttons & 1) === 0) return end()
    pointer = { x: event.clientX, y: event.clientY }
    if (frame === 0) look()
  }
  const end = (): void => {
    cancelAnimationFrame(frame)
    removeEventListener("mousemove", onMove)
    removeEventListener("mouseup", onUp)
    removeEventListener("blur", end)
    scroller.removeEventListener("dragstart", onDragStart)
    delete scroller.dataset["ranging"]
  }
  const onUp = (): void => {
    // Where the mouse was let go before a frame, the cell beneath it still counts.
    if (frame !== 0) {
      cancelAnimationFrame(frame)
      look()
    }
    end()
    if (!began) return
    const swallow = (event: Event): void => {
      event.preventDefault()
      event.stopPropagation()
    }
    addEventListener("click", swallow, { capture: true, once: true })
    setTimeout(() => removeEventListener("click", swallow, { capture: true }))
  }
  /** Pictures and links would be dragged in the place of the range. */
  const onDragStart = (event: Event): void => event.preventDefault()
  addEventListener("mousemove", onMove)
  addEventListener("mouseup", onUp)
  addEventListener("blur", end)
  scroller.addEventListener("dragstart", onDragStart)
}
