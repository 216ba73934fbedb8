/**
 * A grid over all rows of a list with one native scrollbar (WAI-ARIA grid). It requests rows when they become visible, draws the visible ones,
 * and supports the keyboard. The caller defines rows, cells and further keys. It does not depend on resources or the service.
 */

import { type ReactNode, type Ref, type RefObject, useImperativeHandle, useMemo, useRef } from "react"
import { useActive } from "./active.ts"
import { type Column, offsetsOf, templateOf, tickWidth, totalOf } from "./columns.ts"
import { eventsOf, type Handled } from "./grid-input.ts"
import style from "./grid.module.css"
import { type GridHeads, HeadLine } from "./head-line.tsx"
import { Heading, type HeadingProps } from "./heading.tsx"
import type { CellPlace, GridBounds } from "./place.ts"
import { type Drawing, Row } from "./row.tsx"
import { useScrolling } from "./scroll.ts"

export type { CellPlace } from "./place.ts"

export interface GridHandle {
  /** Focuses a cell and scrolls it into view. */
  readonly focus: (place: Partial<CellPlace>) => void
  /** Makes a cell the active one and scrolls it into view. The focus stays where it is. */
  readonly show: (place: Partial<CellPlace>) => void
  readonly scrollTo: (row: number) => void
  readonly place: () => CellPlace
  /** The first and the last completely visible row. */
  readonly seen: () => readonly [first: number, last: number]
}

/** What a layer over the grid stands on. It is drawn after each drawing of the rows. */
export interface GridLayer {
  readonly active: CellPlace
  readonly bounds: GridBounds
  /** Makes a cell the active one and brings its row into sight. */
  readonly move: (place: Partial<CellPlace>) => void
  /** Rows of a page. */
  readonly page: () => number
  readonly scroller: RefObject<HTMLElement | null>
  /** The element whose children are the rows. */
  readonly body: RefObject<HTMLElement | null>
}

export interface GridProps<Row> extends Drawing<Row>, HeadingProps, Handled<Row> {
  readonly label: string
  readonly keyOf: (row: Row) => string
  readonly rowHeight: number
  readonly headHeight: number
  /** The key of the row that is shown elsewhere on the page. */
  readonly current?: string | null
  /** Pixels after the last row, for a bar that covers the grid's end. */
  readonly tail: number
  /** Increases when rows have to be drawn again although their records are the same. */
  readonly version: number
  readonly want: (first: number, last: number, moving: boolean) => void
  /** The text beside the scrollbar's thumb while it is dragged. */
  readonly placeLabel: (index: number) => string
  readonly onSeen?: (first: number, last: number) => void
  readonly onPlace?: (place: CellPlace) => void
  /** The initial state: the active cell, the first visible row, and whether the cell gets the focus. */
  readonly initial?: CellPlace & { readonly top: number; readonly focus: boolean } | null
  readonly handle?: Ref<GridHandle>
  readonly layer?: (within: GridLayer) => ReactNode
  /** The rows stand in groups, whose heads are lines among them. */
  readonly heads?: GridHeads | undefined
}

export const Grid = <Row extends object>(props: GridProps<Row>): ReactNode => {
  const { columns, current = null, drag, editing = null, head, headHeight, label, onWidth, rowAt, rowHeight, rows } =
    props
  const { sorted, tick } = props
  const narrow = props.card !== undefined
  const lead = tick === undefined ? 0 : tickWidth
  const bounds: GridBounds = {
    rows,
    firstColumn: tick === undefined ? 0 : -1,
    lastColumn: narrow ? 0 : columns.length - 1
  }
  const offsets = useOffsets(columns, lead)
  const { body, dragged, page, reveal, scroller, seen, startAt, view } = useScrolling({
    rows,
    rowHeight,
    headHeight,
    tail: props.tail,
    top: props.initial?.top ?? 0,
    want: props.want,
    onSeen: props.onSeen
  })
  const { move, onBlur, onFocus, place: active, put, show } = useActive(
    scroller,
    bounds,
    reveal,
    props.initial ?? null,
    props.onPlace
  )
  useImperativeHandle(
    props.handle,
    (): GridHandle => ({ focus: move, show, scrollTo: startAt, place: () => active, seen })
  )

  const events = eventsOf(props, { active, bounds, move, page, put })

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
  const indexes: number[] = []
  for (let index = first; index < last; index++) indexes.push(index)
  // The row with the focus stays in the document, because otherwise the page would get the focus.
  if (active.row >= 0 && active.row < rows && (active.row < first || active.row >= last)) indexes.push(active.row)

  const keyAt = useRowKeys(active.row, base)
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
          role={props.heads === undefined ? "grid" : "treegrid"}
          aria-label={label}
          aria-rowcount={rows + 1}
          aria-colcount={columns.length + (tick === undefined ? 0 : 1)}
          aria-multiselectable={tick === undefined ? undefined : true}
          className={style.grid}
          onKeyDown={events.onKeyDown}
          onFocus={onFocus}
          onBlur={onBlur}
          onMouseDown={events.onMouseDown}
          onClick={events.onClick}
          onDoubleClick={events.onDoubleClick}
          onContextMenu={events.onContextMenu}
        >
          {heading}
          <div ref={body} role="rowgroup" className={style.body} style={{ height: scale.physical + scale.viewport }}>
            {indexes.map((index) => {
              const line = props.heads?.headAt(index) ?? null
              if (line !== null) {
                return (
                  <HeadLine
                    key={keyAt(index)}
                    head={line}
                    index={index}
                    top={index * rowHeight - shift}
                    active={active.row === index}
                    span={bounds.lastColumn - bounds.firstColumn + 1}
                  />
                )
              }
              const row = rowAt(index)
              return (
                <Row
                  key={keyAt(index)}
                  row={row}
                  index={index}
                  top={index * rowHeight - shift}
                  version={props.version}
                  level={props.heads?.level}
                  active={active.row === index ? active.column : null}
                  selected={row !== undefined && tick !== undefined && tick.has(row, index)}
                  current={row !== undefined && current !== null && props.keyOf(row) === current}
                  editing={editing !== null && editing.row === index ? editing.column : null}
                  columns={columns}
                  offsets={offsets}
                  drop={dropAt === index ? (drag!.from! < index ? "after" : "before") : undefined}
                  dragged={drag?.from === index}
                  drawing={props}
                />
              )
            })}
          </div>
        </div>
      </div>
      {props.layer?.({ active, bounds, move, page, scroller, body })}
      {dragged !== null && (
        <div className={style.place} style={{ top: dragged.y }} aria-hidden="true">
          {props.placeLabel(dragged.index)}
        </div>
      )}
    </div>
  )
}

/** The keys of rows' elements: counted from `base`, but for a few rows. */
interface RowKeys {
  readonly base: number
  readonly others: ReadonlyMap<number, number | "other">
}

/**
 * The keys of the rows' elements. The row with the focus keeps its element, wherever rows are counted from; the row of that key gets another one. A row keeps
 * its key for as long as rows are counted from there, whichever row has the focus: a click is lost if its element moves while the button is down.
 */
const useRowKeys = (active: number, base: number) => {
  const kept = useRef<RowKeys>({ base, others: new Map() })
  const keyIn = ({ base, others }: RowKeys, index: number) => others.get(index) ?? index - base
  if (kept.current.base !== base) {
    const key = keyIn(kept.current, active)
    const others = new Map<number, number | "other">([[active, key]])
    if (typeof key === "number" && base + key !== active) others.set(base + key, "other")
    kept.current = { base, others }
  }
  return (index: number): number | string => keyIn(kept.current, index)
}

/** Returns the same object while the offsets are equal, so that rows are not rendered again. */
const useOffsets = (columns: readonly Column[], lead: number): ReadonlyMap<string, number> => {
  const last = useRef<{ readonly text: string; readonly offsets: ReadonlyMap<string, number> } | null>(null)
  const offsets = offsetsOf(columns, lead)
  const text = JSON.stringify([...offsets])
  if (last.current?.text !== text) last.current = { text, offsets }
  return last.current.offsets
}
