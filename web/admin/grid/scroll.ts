/**
 * How the grid scrolls: which rows are in the window, and where. It listens to the scroller itself and draws within the event. It says which rows are
 * wanted and seen, and draws nothing.
 */

import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react"
import { flushSync } from "react-dom"
import { clamp } from "./place.ts"
import { moved, positionFor, type Scale, scaleFor, type Span, spanAt, type Standing, toPhysical } from "./scale.ts"

/** The sizes that the visible rows follow from. Lengths are pixels. */
export interface ScrollSizes {
  readonly rows: number
  readonly rowHeight: number
  /** The height of the head over the first rows, and the room after the last row. */
  readonly headHeight: number
  readonly tail: number
  /** The row to begin at. */
  readonly top: number
  /** The rows to draw: they are needed. `moving`: the thumb is being dragged. */
  readonly want: (first: number, last: number, moving: boolean) => void
  /** The rows that are seen whole. */
  readonly onSeen: ((first: number, last: number) => void) | undefined
}

/** The rows to draw, and the scale from row numbers to pixels. */
export interface View extends Span {
  readonly scale: Scale
  /** The row that elements are counted from. It changes when none of the rows before is left: the new ones then take their elements. */
  readonly base: number
}

export interface Scrolling {
  /** To be put on the element that scrolls, and on that of all rows within it. */
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly body: RefObject<HTMLDivElement | null>
  readonly view: View
  /** While the thumb is dragged: its row, and the place of the label. */
  readonly dragged: { readonly index: number; readonly y: number } | null
  /** Puts a row at the top. */
  readonly startAt: (row: number) => void
  /** Brings a row into sight, moving as little as can be. */
  readonly reveal: (row: number) => void
  /** The first and the last row that are seen whole. */
  readonly seen: () => readonly [first: number, last: number]
  /** ScrollSizes that a page holds, at least one: one row stays in sight. */
  readonly page: () => number
}

/** How long the label stays after the thumb was let go, in milliseconds. */
const labelMs = 700
/** Not all browsers tell when a scroll ends. There, the label goes after a pause. */
const endsAreTold = "onscrollend" in window

export const useScrolling = ({ headHeight, onSeen, rowHeight, rows, tail, top, want }: ScrollSizes): Scrolling => {
  const scroller = useRef<HTMLDivElement>(null)
  const body = useRef<HTMLDivElement>(null)
  const standing = useRef<Standing>({ top: 0, virtual: top * rowHeight })
  const height = useRef(0)
  const arrived = useRef(top === 0)
  const [view, setView] = useState<View>(() => ({
    ...spanAt(scaleFor(0, 0), standing.current, rowHeight, 0),
    scale: scaleFor(0, 0),
    base: 0
  }))
  const [dragged, setDragged] = useState<Scrolling["dragged"]>(null)
  const dragEnd = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  /** From the first event of a scroll until its end, which for a thumb is when it is let go; and whether this one is of the thumb. */
  const moving = useRef(false)
  const held = useRef(false)

  const measure = useCallback(
    (): Scale => scaleFor(rows * rowHeight + tail, Math.max(0, height.current - headHeight)),
    [rows, rowHeight, headHeight, tail]
  )

  const show = useCallback((scale: Scale, moving: boolean): void => {
    const next = spanAt(scale, standing.current, rowHeight, rows, moving)
    setView((before) =>
      before.first === next.first && before.last === next.last && before.shift === next.shift && before.scale === scale
        ? before
        : { ...next, scale, base: next.first >= before.last || next.last <= before.first ? next.first : before.base }
    )
    want(next.first, next.last, moving)
    const first = Math.ceil(standing.current.virtual / rowHeight)
    const last = Math.min(rows, Math.floor((standing.current.virtual + scale.viewport) / rowHeight)) - 1
    onSeen?.(Math.min(first, Math.max(0, rows - 1)), last)
  }, [rowHeight, rows, want, onSeen])

  /** Scrolls the rows to a position, and sets the thumb accordingly. */
  const jumpTo = useCallback((virtual: number): void => {
    const element = scroller.current
    if (element === null) return
    const scale = measure()
    const at = clamp(virtual, 0, scale.virtual)
    // Not only once it is drawn: a scroller takes no position beyond its content.
    if (body.current !== null) body.current.style.height = `${scale.physical + scale.viewport}px`
    element.scrollTop = toPhysical(scale, at)
    // Browsers round the position, so the actual value is used.
    standing.current = { top: element.scrollTop, virtual: at }
    show(scale, false)
  }, [measure, show])

  // When the size of the scroller or of its content changes, the rows keep their position.
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const resize = (): void => {
      height.current = element.clientHeight
      const scale = measure()
      const begins = rows > 0 && !arrived.current
      arrived.current ||= begins
      const virtual = clamp(standing.current.virtual, 0, arrived.current ? scale.virtual : Infinity)
      standing.current = { ...standing.current, virtual }
      // Where there are more rows than before, or fewer, the thumb stands elsewhere: at once, or when it rests.
      const stands = moving.current || Math.abs(toPhysical(scale, virtual) - standing.current.top) < 1
      if (begins || (arrived.current && !stands)) jumpTo(virtual)
      else show(scale, false)
    }
    resize()
    const observer = new ResizeObserver(resize)
    observer.observe(element)
    return () => observer.disconnect()
  }, [measure, show, jumpTo, rows, rowHeight])

  useEffect(() => {
    const element = scroller.current
    if (element === null) return
    const onScroll = (): void => {
      const { scrollLeft, scrollTop } = element
      element.toggleAttribute("data-across", scrollLeft !== 0)
      if (scrollTop === standing.current.top) return
      const scale = measure()
      const next = moved(scale, standing.current, scrollTop)
      standing.current = next
      moving.current = endsAreTold
      held.current ||= next.jumped
      // During the event: a later task would run after the paint and show a frame without rows.
      flushSync(() => {
        show(scale, next.jumped)
        if (held.current) {
          const share = scale.physical === 0 ? 0 : scrollTop / scale.physical
          setDragged({
            index: clamp(Math.ceil(next.virtual / rowHeight), 0, Math.max(0, rows - 1)),
            y: headHeight + 18 + share * (height.current - headHeight - 36)
          })
          clearTimeout(dragEnd.current)
          if (!endsAreTold) dragEnd.current = setTimeout(letGo, labelMs)
        }
      })
    }
    const letGo = (): void => {
      held.current = false
      setDragged(null)
    }
    const onScrollEnd = (): void => {
      moving.current = false
      if (held.current) {
        held.current = false
        dragEnd.current = setTimeout(letGo, labelMs)
      }
      const scale = measure()
      const { virtual } = standing.current
      const wanted = toPhysical(scale, virtual)
      // Only at rest, and only for at least a pixel, because it would stop a running scroll.
      if (Math.abs(wanted - element.scrollTop) >= 1) {
        element.scrollTop = wanted
        standing.current = { top: element.scrollTop, virtual }
      }
      show(scale, false)
    }
    element.addEventListener("scroll", onScroll, { passive: true })
    element.addEventListener("scrollend", onScrollEnd)
    return () => {
      element.removeEventListener("scroll", onScroll)
      element.removeEventListener("scrollend", onScrollEnd)
    }
  }, [measure, show, rowHeight, headHeight, rows])

  return {
    scroller,
    body,
    view,
    dragged,
    startAt: (row) => jumpTo(row * rowHeight),
    reveal: useCallback((row: number) => {
      const at = positionFor(measure(), standing.current.virtual, row, rowHeight, tail)
      if (at !== standing.current.virtual) jumpTo(at)
    }, [measure, rowHeight, tail, jumpTo]),
    seen: () => [
      Math.ceil(standing.current.virtual / rowHeight),
      Math.floor((standing.current.virtual + height.current - headHeight) / rowHeight) - 1
    ],
    page: () => Math.max(1, Math.floor((height.current - headHeight) / rowHeight) - 1)
  }
}
