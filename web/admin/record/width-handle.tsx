/** The edge of the panel beside a list: it makes the panel wider or narrower, by the pointer and by the arrow keys. The width is a preference. */

import { type KeyboardEvent, type ReactNode, useRef } from "react"
import { clamp } from "../grid/place.ts"
import { useMessages } from "../messages/locale.tsx"
import { setPreferences, usePreferences } from "../messages/preferences.ts"
import style from "./record.module.css"

/** Widths in pixels. The style keeps the list in sight, whatever is asked for. */
const least = 340
const most = 1_200
const step = 24

const panelOf = (element: HTMLElement): HTMLElement => element.closest<HTMLElement>("[data-peek]") ?? element

export const WidthHandle = (): ReactNode => {
  const t = useMessages()
  const { peek: width } = usePreferences()
  const drag = useRef<{ readonly x: number; readonly width: number; readonly sign: number } | null>(null)
  const put = (element: HTMLElement, to: number): void => {
    // What the style leaves of it is what counts, so that the next key moves the edge at once.
    panelOf(element).style.setProperty("--peek", `${clamp(to, least, most)}px`)
    setPreferences({ peek: Math.round(panelOf(element).getBoundingClientRect().width) })
  }
  /** The panel stands at the end, so that its edge moves against the direction of reading. */
  const signOf = (element: HTMLElement): number => getComputedStyle(element).direction === "rtl" ? 1 : -1
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const now = panelOf(event.currentTarget).getBoundingClientRect().width
    const sign = signOf(event.currentTarget)
    const to = event.key === "ArrowRight"
      ? now + sign * step
      : event.key === "ArrowLeft"
      ? now - sign * step
      : event.key === "Home"
      ? least
      : event.key === "End"
      ? most
      : null
    if (to === null) return
    event.preventDefault()
    put(event.currentTarget, to)
  }
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={t.peek.width}
      aria-valuenow={width}
      aria-valuemin={least}
      aria-valuemax={most}
      tabIndex={0}
      className={style.edge}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.preventDefault()
        event.currentTarget.setPointerCapture(event.pointerId)
        const { width: now } = panelOf(event.currentTarget).getBoundingClientRect()
        drag.current = { x: event.clientX, width: now, sign: signOf(event.currentTarget) }
      }}
      onPointerMove={(event) => {
        if (drag.current === null) return
        const { sign, width: from, x } = drag.current
        panelOf(event.currentTarget).style.setProperty(
          "--peek",
          `${clamp(from + sign * (event.clientX - x), least, most)}px`
        )
      }}
      onPointerUp={(event) => {
        if (drag.current === null) return
        const { sign, width: from, x } = drag.current
        drag.current = null
        put(event.currentTarget, from + sign * (event.clientX - x))
      }}
      onPointerCancel={() => void (drag.current = null)}
    />
  )
}
