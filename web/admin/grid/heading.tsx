/** The row of column headers, and the edges that columns are made wider or narrower by. */

import { type ReactNode, type RefObject, useEffect, useRef } from "react"
import { type Column, narrowest, templateOf, totalOf, widest } from "./columns.ts"
import style from "./grid.module.css"
import { clamp } from "./place.ts"
import { pinnedStyle } from "./row.tsx"
import { stubsOf, tracksOf } from "./stubs.ts"

/** How headers are drawn. */
export interface HeadingProps {
  /** A header; the element with `data-column` takes the focus, with the tab index given. */
  readonly head: (column: Column, index: number, tabIndex: 0 | -1) => ReactNode
  /** `ascending`, `descending` or `none`, for the column's header; undefined where no list can be sorted by it. */
  readonly sorted: (column: Column) => "ascending" | "descending" | "none" | undefined
  readonly onWidth?: ((column: Column, width: number) => void) | undefined
}

/** Keeps the stubs of rows that come later where the columns are. */
const useStubs = (scroller: RefObject<HTMLElement | null>, columns: readonly Column[], lead: number) => {
  const head = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const row = head.current
    if (row === null) return
    // After layout, so that the widths are there without one more.
    const observer = new ResizeObserver(() => {
      const { direction, gridTemplateColumns } = getComputedStyle(row)
      const stubs = stubsOf(tracksOf(gridTemplateColumns), columns, lead, direction === "rtl")
      scroller.current?.style.setProperty("--stubs", stubs || "none")
    })
    observer.observe(row)
    return () => observer.disconnect()
  }, [columns, lead, scroller])
  return head
}

/** `all`: the head of the column of ticks; undefined without ticks. `active`: the header with the focus. */
export const Heading = (
  { active, all, columns, head, lead, offsets, onWidth, scroller, sorted }: HeadingProps & {
    readonly active: number | null
    readonly all: ReactNode
    readonly columns: readonly Column[]
    readonly lead: number
    readonly offsets: ReadonlyMap<string, number>
    readonly scroller: RefObject<HTMLElement | null>
  }
): ReactNode => {
  const row = useStubs(scroller, columns, lead)
  /** During the drag of a column's edge only the template changes, so that no row is rendered again. */
  const resize = (column: Column, width: number, done: boolean): void => {
    const changed = columns.map((each) => each.id === column.id ? { ...each, width, flexible: false } : each)
    scroller.current?.style.setProperty("--columns", templateOf(changed, lead))
    scroller.current?.style.setProperty("--width", `${totalOf(changed, lead)}px`)
    if (done) onWidth?.(column, width)
  }
  return (
    <div ref={row} role="row" aria-rowindex={1} className={style.head} data-head="">
      {all !== undefined && (
        <div
          role="columnheader"
          aria-colindex={1}
          data-column={-1}
          className={`${style.column} ${style.tick} ${style.pinned}`}
          style={pinnedStyle(0)}
        >
          {all}
        </div>
      )}
      {columns.map((column, at) => (
        <div
          key={column.id}
          role="columnheader"
          aria-colindex={at + (all === undefined ? 1 : 2)}
          aria-sort={sorted(column)}
          className={`${style.column} ${column.end ? style.end : ""} ${column.pinned ? style.pinned : ""}`}
          style={pinnedStyle(offsets.get(column.id))}
        >
          {head(column, at, active === at ? 0 : -1)}
          {onWidth !== undefined && <Resizer column={column} onWidth={resize} />}
        </div>
      ))}
    </div>
  )
}

const Resizer = (
  { column, onWidth }: {
    readonly column: Column
    readonly onWidth: (column: Column, width: number, done: boolean) => void
  }
): ReactNode => {
  const from = useRef<{ readonly x: number; readonly width: number; readonly sign: number } | null>(null)
  return (
    <span
      className={style.resizer}
      aria-hidden="true"
      onClick={(event) => event.stopPropagation()}
      onPointerDown={(event) => {
        event.preventDefault()
        event.stopPropagation()
        event.currentTarget.setPointerCapture(event.pointerId)
        const header = event.currentTarget.parentElement!
        const sign = getComputedStyle(header).direction === "rtl" ? -1 : 1
        from.current = { x: event.clientX, width: header.getBoundingClientRect().width, sign }
      }}
      onPointerMove={(event) => {
        if (from.current === null) return
        const { sign, width, x } = from.current
        onWidth(column, Math.round(clamp(width + sign * (event.clientX - x), narrowest, widest)), false)
      }}
      onPointerUp={(event) => {
        if (from.current === null) return
        const { sign, width, x } = from.current
        from.current = null
        onWidth(column, Math.round(clamp(width + sign * (event.clientX - x), narrowest, widest)), true)
      }}
    />
  )
}
