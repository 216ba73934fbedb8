/**
 * A grid over all rows of a list with one native scrollbar (WAI-ARIA grid). It requests rows when they become visible, draws the visible ones,
 * and supports the keyboard. The caller defines rows, cells and further keys. It does not depend on resources or the service.
 */

import {
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  type Ref,
  useImperativeHandle,
  useMemo,
  useRef
} from "react"
import { useActive } from "./active.ts"
import { type Column, offsetsOf, templateOf, tickWidth, totalOf } from "./columns.ts"
import style from "./grid.module.css"
import { Heading, type HeadingProps } from "./heading.tsx"
import { type Bounds, clamp, type Place, placeOf, pressed } from "./place.ts"
import { type Drawing, Row } from "./row.tsx"
import { useScrolling } from "./scroll.ts"

export type { Place } from "./place.ts"

export interface GridHandle {
  /** Focuses a cell and scrolls it into view. */
  readonly focus: (place: Partial<Place>) => void
  readonly scrollTo: (row: number) => void
  readonly place: () => Place
  /** The first and the last completely visible row. */
  readonly seen: () => readonly [first: number, last: number]
}

export interface GridProps<Row> extends Drawing<Row>, HeadingProps {
  readonly label: string
  readonly rows: number
  readonly rowAt: (index: number) => Row | undefined
  readonly keyOf: (row: Row) => string
  /** In display order, pinned ones first. */
  readonly columns: readonly Column[]
  readonly rowHeight: number
  readonly headHeight: number
  /** Pixels after the last row, for a bar that covers the grid's end. */
  readonly tail: number
  /** Increases when rows are to be drawn otherwise although their records are the same. */
  readonly version: number
  readonly editing?: Place | null
  readonly want: (first: number, last: number, moving: boolean) => void
  /** The text beside the scrollbar's thumb while it is dragged. */
  readonly placeLabel: (index: number) => string
  readonly onSeen?: (first: number, last: number) => void
  readonly onOpen?: (row: Row, index: number, event: MouseEvent | KeyboardEvent) => void
  readonly onPlace?: (place: Place) => void
  /** Handles a key on a cell. True if it is handled; otherwise the grid moves the focus. */
  readonly onKey?: (event: KeyboardEvent, place: Place, row: Row | undefined) => boolean
  readonly onCellDoubleClick?: (row: Row, column: Column, place: Place) => void
  readonly onCellContext?: (row: Row, column: Column, place: Place, event: MouseEvent) => void
  /** The initial state: the active cell, the first visible row, and whether the cell gets the focus. */
  readonly initial?: Place & { readonly top: number; readonly focus: boolean } | null
  readonly handle?: Ref<GridHandle>
}

export const Grid = <Row extends object>(props: GridProps<Row>): ReactNode => {
  const { columns, drag, editing = null, head, headHeight, label, onWidth, rowAt, rowHeight, rows, sorted, tick } =
    props
  const narrow = props.card !== undefined
  const lead = tick === undefined ? 0 : tickWidth
  const bounds: Bounds = {
    rows,
    firstColumn: tick === undefined ? 0 : -1,
    lastColumn: narrow ? 0 : columns.length - 1
  }
  const offsets = useOffsets(columns, lead)
  const { dragged, page, reveal, scroller, seen, startAt, view } = useScrolling({
    rows,
    rowHeight,
    headHeight,
    tail: props.tail,
    top: props.initial?.top ?? 0,
    want: props.want,
    onSeen: props.onSeen
  })
  const { move, onBlur, onFocus, place: active, put } = useActive(
    scroller,
    bounds,
    reveal,
    props.initial ?? null,
    props.onPlace
  )
  useImperativeHandle(props.handle, (): GridHandle => ({ focus: move, scrollTo: startAt, place: () => active, seen }))

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
      const before = active.row
      move(next)
      if (event.shiftKey && tick !== undefined && next.row !== undefined && before >= 0) {
        const target = clamp(next.row, 0, rows - 1)
        const to = rowAt(target)
        if (to !== undefined) tick.onToggle(to, target, true)
      }
      return
    }
    if (row === undefined) return
    if (event.key === " " && tick !== undefined) {
      event.preventDefault()
      tick.onToggle(row, active.row, event.shiftKey)
    } else if (event.key === "Enter") {
      event.preventDefault()
      props.onOpen?.(row, active.row, event)
    }
  }

  const onMouseDown = (event: MouseEvent): void => {
    const place = placeOf(event.target)
    if (place === null || (event.target as HTMLElement).closest("[data-editing]") !== null) return
    // A click with Shift selects rows and no text.
    if (event.shiftKey) event.preventDefault()
    put(place)
  }

  const onClick = (event: MouseEvent): void => {
    const place = placeOf(event.target)
    if (place === null) return
    const row = rowAt(place.row)
    if (row === undefined) return
    if (place.column === -1 || event.shiftKey || event.ctrlKey || event.metaKey) {
      if ((event.target as HTMLElement).closest("a") !== null && place.column !== -1) return
      tick?.onToggle(row, place.row, event.shiftKey)
      return
    }
    if (props.card !== undefined) props.onOpen?.(row, place.row, event)
  }

  // The header has menus, so it is rendered only when its content changes, and not during scrolling.
  const headed = active.row === -1 ? active.column : null
  const heading = useMemo(() =>
    narrow ? null : (
      <Heading
        active={headed}
        all={tick?.all}
        columns={columns}
        head={head}
        lead={lead}
        offsets={offsets}
        onWidth={onWidth}
        scroller={scroller}
        sorted={sorted}
      />
    ), [head, columns, offsets, tick, headed, narrow, lead])

  const { base, first, last, scale, shift } = view
  const shown: number[] = []
  for (let index = first; index < last; index++) shown.push(index)
  // The row with the focus stays in the document, because otherwise the page would get the focus.
  if (active.row >= 0 && active.row < rows && (active.row < first || active.row >= last)) shown.push(active.row)

  // The row with the focus keeps its element, wherever rows are counted from. The row whose element that would be gets another one.
  const kept = useRef({ row: active.row, key: active.row - base })
  if (kept.current.row !== active.row) kept.current = { row: active.row, key: active.row - base }
  const keyAt = (index: number): number | string =>
    index === active.row ? kept.current.key : index - base === kept.current.key ? "other" : index - base

  const dropAt = drag === undefined || drag.from === null || drag.over === null || drag.over === drag.from
    ? null
    : drag.over

  return (
    <div className={style.frame}>
      <div
        ref={scroller}
        className={style.scroller}
        style={{
          ["--columns" as string]: narrow ? "minmax(0, 1fr)" : templateOf(columns, lead),
          ["--width" as string]: narrow ? "0px" : `${totalOf(columns, lead)}px`,
          ["--row-height" as string]: `${rowHeight}px`
        }}
        tabIndex={-1}
      >
        <div
          role="grid"
          aria-label={label}
          aria-rowcount={rows + 1}
          aria-colcount={columns.length + (tick === undefined ? 0 : 1)}
          aria-multiselectable={tick === undefined ? undefined : true}
          className={style.grid}
          onKeyDown={onKeyDown}
          onFocus={onFocus}
          onBlur={onBlur}
          onMouseDown={onMouseDown}
          onClick={onClick}
          onDoubleClick={(event) => {
            const place = placeOf(event.target)
            const row = place === null ? undefined : rowAt(place.row)
            const column = place === null ? undefined : columns[place.column]
            if (row !== undefined && column !== undefined) props.onCellDoubleClick?.(row, column, place!)
          }}
          onContextMenu={(event) => {
            const place = placeOf(event.target)
            const row = place === null ? undefined : rowAt(place.row)
            const column = place === null ? undefined : columns[Math.max(0, place.column)]
            if (row !== undefined && column !== undefined) props.onCellContext?.(row, column, place!, event)
          }}
        >
          {heading}
          <div role="rowgroup" className={style.body} style={{ height: scale.physical + scale.viewport }}>
            {shown.map((index) => {
              const row = rowAt(index)
              return (
                <Row
                  key={keyAt(index)}
                  row={row as never}
                  index={index}
                  top={index * rowHeight - shift}
                  version={props.version}
                  active={active.row === index ? active.column : null}
                  selected={row !== undefined && tick !== undefined && tick.has(row, index)}
                  editing={editing !== null && editing.row === index ? editing.column : null}
                  columns={columns}
                  offsets={offsets}
                  drop={dropAt === index ? (drag!.from! < index ? "after" : "before") : undefined}
                  dragged={drag?.from === index}
                  drawing={props as never}
                />
              )
            })}
          </div>
        </div>
      </div>
      {dragged !== null && (
        <div className={style.place} style={{ top: dragged.y }} aria-hidden="true">
          {props.placeLabel(dragged.index)}
        </div>
      )}
    </div>
  )
}

/** Returns the same object while the offsets are equal, so that rows are not rendered again. */
const useOffsets = (columns: readonly Column[], lead: number): ReadonlyMap<string, number> => {
  const last = useRef<{ readonly text: string; readonly offsets: ReadonlyMap<string, number> } | null>(null)
  const offsets = offsetsOf(columns, lead)
  const text = JSON.stringify([...offsets])
  if (last.current?.text !== text) last.current = { text, offsets }
  return last.current.offsets
}
