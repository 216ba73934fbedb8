/** One row of the grid: its cells or one card, and how it is dragged. A row whose record is not loaded yet is one element. */

import { type CSSProperties, memo, type ReactNode } from "react"
import type { Column } from "./columns.ts"
import style from "./grid.module.css"

/** How rows are drawn. */
export interface Drawing<Row> {
  readonly cell: (row: Row, column: Column) => ReactNode
  /** Rows as two-line cards, for narrow screens. */
  readonly card?: (row: Row) => ReactNode
  readonly editor?: (row: Row, column: Column) => ReactNode
  /** `left`: that the row belongs to the list no more, in words. */
  readonly marks?: (
    row: Row
  ) => { readonly deleted?: boolean; readonly saving?: boolean; readonly fresh?: boolean; readonly left?: string }
  readonly tick?: {
    readonly label: string
    readonly all: ReactNode
    readonly has: (row: Row, index: number) => boolean
    readonly onToggle: (row: Row, index: number, range: boolean) => void
  }
  readonly drag?: {
    readonly from: number | null
    readonly over: number | null
    readonly onStart: (index: number) => void
    readonly onOver: (index: number) => void
    readonly onDrop: () => void
    readonly onEnd: () => void
  }
}

/** The distance of a pinned cell from the start of its row. */
export const pinnedStyle = (offset: number | undefined): CSSProperties | undefined =>
  offset === undefined ? undefined : { insetInlineStart: offset }

interface RowProps<Row> {
  readonly row: Row | undefined
  readonly index: number
  readonly top: number
  readonly version: number
  /** How deep the row stands in a tree. */
  readonly level: number | undefined
  readonly active: number | null
  readonly selected: boolean
  readonly current: boolean
  readonly editing: number | null
  readonly columns: readonly Column[]
  readonly offsets: ReadonlyMap<string, number>
  readonly drop: "before" | "after" | undefined
  readonly dragged: boolean
  readonly drawing: Drawing<Row>
}

const RowLine = <Row extends object>(
  { active, columns, current, dragged, drawing, drop, editing, index, level, offsets, row, selected, top }: RowProps<
    Row
  >
): ReactNode => {
  const { card, cell, drag, editor, marks, tick } = drawing
  const place = { transform: `translateY(${top}px)` }
  if (row === undefined) {
    // A single element, because most rows are not loaded during a drag of the thumb. Its background has the stubs.
    return (
      <div
        role="row"
        aria-rowindex={index + 2}
        aria-level={level}
        className={style.row}
        style={place}
        data-index={index}
        aria-busy="true"
      >
        {/* The key: otherwise this element, and the focus in it, would become the first cell of the record. */}
        <div
          key="gap"
          role="gridcell"
          aria-colindex={1}
          tabIndex={active === null ? -1 : 0}
          className={style.gap}
          data-column={0}
        />
      </div>
    )
  }
  const mark = marks?.(row) ?? {}
  const lastPinned = columns.findLastIndex(({ pinned }) => pinned)
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-level={level}
      aria-selected={tick === undefined ? undefined : selected}
      aria-current={current ? true : undefined}
      className={style.row}
      style={place}
      data-index={index}
      data-deleted={mark.deleted === true ? "" : undefined}
      data-fresh={mark.fresh === true ? "" : undefined}
      data-left={mark.left === undefined ? undefined : ""}
      title={mark.left}
      data-drop={drop}
      data-drag={dragged ? "" : undefined}
      draggable={drag === undefined ? undefined : true}
      onDragStart={drag && ((event) => {
        event.dataTransfer.effectAllowed = "move"
        drag.onStart(index)
      })}
      onDragOver={drag && ((event) => {
        event.preventDefault()
        drag.onOver(index)
      })}
      onDrop={drag && ((event) => {
        event.preventDefault()
        drag.onDrop()
      })}
      onDragEnd={drag?.onEnd}
    >
      {tick !== undefined && (
        <div
          role="gridcell"
          aria-colindex={1}
          data-column={-1}
          tabIndex={active === -1 ? 0 : -1}
          className={`${style.cell} ${style.tick} ${style.pinned}`}
          style={pinnedStyle(0)}
        >
          <input type="checkbox" tabIndex={-1} aria-label={tick.label} checked={selected} readOnly />
        </div>
      )}
      {card === undefined
        ? columns.map((column, at) => (
          <div
            key={column.id}
            role="gridcell"
            aria-colindex={at + (tick === undefined ? 1 : 2)}
            data-column={at}
            data-editing={editing === at ? "" : undefined}
            data-saving={mark.saving === true ? "" : undefined}
            tabIndex={active === at ? 0 : -1}
            className={`${style.cell} ${column.end ? style.end : ""} ${column.pinned ? style.pinned : ""} ${
              at === lastPinned ? style["last-pinned"] : ""
            }`}
            style={pinnedStyle(offsets.get(column.id))}
          >
            {editing === at && editor !== undefined ? editor(row, column) : cell(row, column)}
          </div>
        ))
        : (
          <div
            role="gridcell"
            aria-colindex={1}
            data-column={0}
            tabIndex={active === 0 ? 0 : -1}
            className={style.cell}
          >
            {card(row)}
          </div>
        )}
    </div>
  )
}

/**
 * A row. It is drawn again only when its record or one of its own properties changes. A new `drawing` alone draws no row again, unless rows become cards
 * or a cell of this row is edited.
 */
export const Row = memo(
  RowLine,
  (a, b) =>
    a.row === b.row && a.index === b.index && a.top === b.top && a.version === b.version && a.level === b.level &&
    a.active === b.active &&
    a.selected === b.selected && a.current === b.current && a.editing === b.editing && a.columns === b.columns &&
    a.offsets === b.offsets &&
    a.drop === b.drop && a.dragged === b.dragged &&
    (a.drawing.card === undefined) === (b.drawing.card === undefined) && (a.editing === null || a.drawing === b.drawing)
) as typeof RowLine
