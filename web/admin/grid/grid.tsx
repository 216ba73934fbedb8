/**
 * A grid over all rows of a list with one native scrollbar (WAI-ARIA grid). It asks for rows as they come into sight, draws what is seen, and moves by
 * keys. What rows are, what cells show and what keys beyond movement do is told to it; it knows no resource and no service.
 */

import {
  type CSSProperties,
  type KeyboardEvent,
  memo,
  type MouseEvent,
  type ReactNode,
  type Ref,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState
} from "react"
import { flushSync } from "react-dom"
import { type Column, narrowest, offsetsOf, templateOf, tickWidth, totalOf, widest } from "./columns.ts"
import style from "./grid.module.css"
import { moved, positionFor, type Scale, scaleFor, type Span, spanAt, type Standing, toPhysical } from "./scale.ts"

/** A cell: row -1 is the header, column -1 the tick. */
export interface Place {
  readonly row: number
  readonly column: number
}

export interface GridHandle {
  /** Puts the focus on a cell and brings it into sight. */
  readonly focus: (place: Partial<Place>) => void
  readonly scrollTo: (row: number) => void
  readonly place: () => Place
  /** The first and the last row that are seen whole. */
  readonly seen: () => readonly [first: number, last: number]
}

export interface GridProps<Row> {
  readonly label: string
  readonly rows: number
  readonly rowAt: (index: number) => Row | undefined
  readonly keyOf: (row: Row) => string
  /** In the order in which they stand, pinned ones first. */
  readonly columns: readonly Column[]
  readonly rowHeight: number
  readonly headHeight: number
  /** Pixels after the last row, for what stands over the grid's end. */
  readonly tail: number
  /** Raised when rows came, went or changed. */
  readonly version: number
  readonly cell: (row: Row, column: Column) => ReactNode
  /** A header; the element with `data-column` takes the focus, with the tab index given. */
  readonly head: (column: Column, index: number, tabIndex: 0 | -1) => ReactNode
  /** `ascending`, `descending` or `none`, for the column's header. */
  readonly sorted: (column: Column) => "ascending" | "descending" | "none"
  readonly tick?: {
    readonly label: string
    readonly all: ReactNode
    readonly has: (row: Row, index: number) => boolean
    readonly onToggle: (row: Row, index: number, range: boolean) => void
  }
  readonly editing?: Place | null
  readonly editor?: (row: Row, column: Column) => ReactNode
  readonly marks?: (row: Row) => { readonly deleted?: boolean; readonly saving?: boolean }
  readonly drag?: {
    readonly from: number | null
    readonly over: number | null
    readonly onStart: (index: number) => void
    readonly onOver: (index: number) => void
    readonly onDrop: () => void
    readonly onEnd: () => void
  }
  readonly want: (first: number, last: number, moving: boolean) => void
  /** What stands beside the thumb while it is dragged. */
  readonly placeLabel: (index: number) => string
  readonly onSeen?: (first: number, last: number) => void
  readonly onWidth?: (column: Column, width: number) => void
  readonly onOpen?: (row: Row, index: number, event: MouseEvent | KeyboardEvent) => void
  readonly onPlace?: (place: Place) => void
  /** A key on a cell; true when it is dealt with. Movement comes after it. */
  readonly onKey?: (event: KeyboardEvent, place: Place, row: Row | undefined) => boolean
  readonly onCellDoubleClick?: (row: Row, column: Column, place: Place) => void
  readonly onCellContext?: (row: Row, column: Column, place: Place, event: MouseEvent) => void
  /** Where it begins: the active cell, the first row that is seen, and whether the cell takes the focus. */
  readonly initial?: Place & { readonly top: number; readonly focus: boolean } | null
  readonly handle?: Ref<GridHandle>
  /** Rows as two-line cards, for narrow screens. */
  readonly card?: (row: Row) => ReactNode
}

interface View extends Span {
  readonly scale: Scale
}

/** Rows that may be in the document at once: slots are reused, so that scrolling makes no elements. */
const slots = 64

interface RowProps<Row> {
  readonly row: Row | undefined
  readonly index: number
  readonly top: number
  readonly version: number
  readonly active: number | null
  readonly selected: boolean
  readonly editing: number | null
  readonly columns: readonly Column[]
  readonly offsets: ReadonlyMap<string, number>
  readonly drop: "before" | "after" | undefined
  readonly dragged: boolean
  readonly props: GridProps<Row>
}

const pinnedStyle = (offset: number | undefined): CSSProperties | undefined =>
  offset === undefined ? undefined : { insetInlineStart: offset }

const RowLine = <Row extends object>(
  { active, columns, drop, dragged, editing, index, offsets, props, row, selected, top }: RowProps<Row>
): ReactNode => {
  const { card, cell, drag, editor, marks, tick } = props
  const place = { transform: `translateY(${top}px)` }
  if (row === undefined) {
    // One element: during a drag of the thumb most rows are not there yet.
    return (
      <div role="row" aria-rowindex={index + 2} className={style.row} style={place} data-index={index} aria-busy="true">
        <div role="gridcell" aria-colindex={1} tabIndex={active === null ? -1 : 0} data-column={0}>
          <span className={style.gap} />
        </div>
      </div>
    )
  }
  const mark = marks?.(row) ?? {}
  const lastPinned = columns.findLastIndex(({ pinned }) => pinned)
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={tick === undefined ? undefined : selected}
      className={style.row}
      style={place}
      data-index={index}
      data-deleted={mark.deleted === true ? "" : undefined}
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

const Row = memo(
  RowLine,
  (a, b) =>
    a.row === b.row && a.index === b.index && a.top === b.top && a.version === b.version && a.active === b.active &&
    a.selected === b.selected && a.editing === b.editing && a.columns === b.columns && a.offsets === b.offsets &&
    a.drop === b.drop && a.dragged === b.dragged && (a.editing === null || a.props === b.props)
) as typeof RowLine

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most)

export const Grid = <Row extends object>(props: GridProps<Row>): ReactNode => {
  const {
    columns,
    drag,
    editing = null,
    head,
    headHeight,
    label,
    placeLabel,
    rowAt,
    rowHeight,
    rows,
    tail,
    tick,
    version,
    want
  } = props
  const scroller = useRef<HTMLDivElement>(null)
  const standing = useRef<Standing>({ top: 0, virtual: (props.initial?.top ?? 0) * rowHeight })
  const height = useRef(0)
  const settled = useRef(props.initial == null || props.initial.top === 0)
  const [view, setView] = useState<View>(() => ({
    ...spanAt(scaleFor(0, 0), standing.current, rowHeight, 0),
    scale: scaleFor(0, 0)
  }))
  const [active, setActive] = useState<Place>({ row: props.initial?.row ?? 0, column: props.initial?.column ?? 0 })
  const [dragged, setDragged] = useState<{ readonly index: number; readonly y: number } | null>(null)
  const wantsFocus = useRef(props.initial?.focus === true)
  const holdsFocus = useRef(false)
  const dragEnd = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const lead = tick === undefined ? 0 : tickWidth
  const narrow = props.card !== undefined
  const resizable = props.onWidth !== undefined
  const { sorted } = props
  const offsets = useOffsets(columns, lead)
  const least = tick === undefined ? 0 : -1
  const lastColumn = props.card === undefined ? columns.length - 1 : 0

  const measure = useCallback(
    (): Scale => scaleFor(rows * rowHeight + tail, Math.max(0, height.current - headHeight)),
    [
      rows,
      rowHeight,
      headHeight,
      tail
    ]
  )

  const show = useCallback((scale: Scale, moving: boolean): void => {
    const next = spanAt(scale, standing.current, rowHeight, rows)
    setView((before) =>
      before.first === next.first && before.last === next.last && before.shift === next.shift && before.scale === scale
        ? before
        : { ...next, scale }
    )
    want(next.first, next.last, moving)
    const first = Math.ceil(standing.current.virtual / rowHeight)
    const last = Math.min(rows, Math.floor((standing.current.virtual + scale.viewport) / rowHeight)) - 1
    props.onSeen?.(Math.min(first, Math.max(0, rows - 1)), last)
  }, [rowHeight, rows, want, props.onSeen])

  /** Puts the rows at a position, and the thumb where that belongs. */
  const jumpTo = useCallback((virtual: number): void => {
    const element = scroller.current
    if (element === null) return
    const scale = measure()
    const at = clamp(virtual, 0, scale.virtual)
    element.scrollTop = toPhysical(scale, at)
    // Browsers round: what they made of it counts.
    standing.current = { top: element.scrollTop, virtual: at }
    show(scale, false)
  }, [measure, show])

  // The size of the scroller, and of what is in it: where the rows were they stay.
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const resize = (): void => {
      height.current = element.clientHeight
      const scale = measure()
      if (rows > 0 && !settled.current) {
        settled.current = true
        flushSync(() => setView({ ...spanAt(scale, standing.current, rowHeight, rows), scale }))
        jumpTo(standing.current.virtual)
        return
      }
      standing.current = {
        ...standing.current,
        virtual: clamp(standing.current.virtual, 0, settled.current ? scale.virtual : Infinity)
      }
      show(scale, false)
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
      const { scrollTop } = element
      if (scrollTop === standing.current.top) return
      const scale = measure()
      const next = moved(scale, standing.current, scrollTop)
      standing.current = next
      // In the event itself: a task later is after the paint, and shows a frame without rows.
      flushSync(() => {
        show(scale, next.jumped)
        if (next.jumped) {
          const share = scale.physical === 0 ? 0 : scrollTop / scale.physical
          setDragged({
            index: Math.floor(next.virtual / rowHeight),
            y: headHeight + 18 + share * (height.current - headHeight - 36)
          })
          clearTimeout(dragEnd.current)
          dragEnd.current = setTimeout(() => setDragged(null), 700)
        }
      })
    }
    const onScrollEnd = (): void => {
      const scale = measure()
      const { virtual } = standing.current
      const wanted = toPhysical(scale, virtual)
      // Only at rest, and never for less than a pixel: it would end a movement.
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
  }, [measure, show, rowHeight, headHeight])

  // The focus follows the active cell once it is drawn.
  useLayoutEffect(() => {
    // The cell that had the focus is gone: its row has come, or another record took its place.
    if (holdsFocus.current && document.activeElement === document.body) wantsFocus.current = true
    if (!wantsFocus.current) return
    const cell = scroller.current?.querySelector<HTMLElement>(
      active.row === -1
        ? `[data-head] [data-column="${active.column}"]`
        : `[data-index="${active.row}"] [data-column="${active.column}"], [data-index="${active.row}"][aria-busy] [data-column]`
    )
    if (cell === null || cell === undefined) return
    wantsFocus.current = false
    cell.focus({ preventScroll: true })
    revealAcross(scroller.current!, cell)
  })

  const moveTo = useCallback((place: Partial<Place>, focus = true): void => {
    const row = clamp(place.row ?? active.row, -1, Math.max(0, rows - 1))
    const column = clamp(place.column ?? active.column, least, lastColumn)
    wantsFocus.current = focus
    setActive({ row, column })
    props.onPlace?.({ row, column })
    if (row >= 0) {
      const scale = measure()
      const at = positionFor(scale, standing.current.virtual, row, rowHeight, tail)
      if (at !== standing.current.virtual) jumpTo(at)
    }
  }, [active, rows, least, lastColumn, measure, rowHeight, tail, jumpTo, props.onPlace])

  useImperativeHandle(props.handle, (): GridHandle => ({
    focus: (place) => moveTo(place),
    scrollTo: (row) => jumpTo(row * rowHeight),
    place: () => active,
    seen: () => [
      Math.ceil(standing.current.virtual / rowHeight),
      Math.floor((standing.current.virtual + height.current - headHeight) / rowHeight) - 1
    ]
  }))

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
    const wide = event.ctrlKey || event.metaKey
    const page = Math.max(1, Math.floor((height.current - headHeight) / rowHeight) - 1)
    const forward = getComputedStyle(event.currentTarget).direction === "rtl" ? -1 : 1
    const next = ((): Partial<Place> | null => {
      switch (event.key) {
        case "ArrowDown":
          return { row: active.row + 1 }
        case "ArrowUp":
          return { row: active.row - 1 }
        case "j":
          return wide ? null : { row: active.row + 1 }
        case "k":
          return wide ? null : { row: Math.max(0, active.row - 1) }
        case "ArrowRight":
          return { column: active.column + forward }
        case "ArrowLeft":
          return { column: active.column - forward }
        case "PageDown":
          return { row: active.row + page }
        case "PageUp":
          return { row: Math.max(0, active.row - page) }
        case "Home":
          return wide ? { row: 0, column: least } : { column: least }
        case "End":
          return wide ? { row: rows - 1, column: lastColumn } : { column: lastColumn }
        default:
          return null
      }
    })()
    if (next !== null) {
      event.preventDefault()
      const before = active.row
      moveTo(next)
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

  const placeOf = (target: EventTarget): Place | null => {
    const cell = (target as HTMLElement).closest<HTMLElement>("[data-column]")
    const line = cell?.closest<HTMLElement>("[data-index]")
    if (cell == null || line == null) return null
    return { row: Number(line.dataset["index"]), column: Number(cell.dataset["column"]) }
  }

  const onMouseDown = (event: MouseEvent): void => {
    const place = placeOf(event.target)
    if (place === null || (event.target as HTMLElement).closest("[data-editing]") !== null) return
    // A click with Shift selects rows and no text.
    if (event.shiftKey) event.preventDefault()
    setActive(place)
    props.onPlace?.(place)
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

  /** While an edge is dragged only the template changes, so that no row is drawn anew. */
  const onWidth = (column: Column, width: number, done: boolean): void => {
    const changed = columns.map((each) => each.id === column.id ? { ...each, width, flexible: false } : each)
    scroller.current?.style.setProperty("--columns", templateOf(changed, lead))
    scroller.current?.style.setProperty("--width", `${totalOf(changed, lead)}px`)
    if (done) props.onWidth?.(column, width)
  }

  // The header has menus: it is made anew when it says something else, and not with every row that scrolls by.
  const headed = active.row === -1 ? active.column : null
  const heading = useMemo(() =>
    narrow ? null : (
      <div role="row" aria-rowindex={1} className={style.head} data-head="">
        {tick !== undefined && (
          <div
            role="columnheader"
            aria-colindex={1}
            data-column={-1}
            className={`${style.column} ${style.tick} ${style.pinned}`}
            style={pinnedStyle(0)}
          >
            {tick.all}
          </div>
        )}
        {columns.map((column, at) => (
          <div
            key={column.id}
            role="columnheader"
            aria-colindex={at + (tick === undefined ? 1 : 2)}
            aria-sort={sorted(column)}
            className={`${style.column} ${column.end ? style.end : ""} ${column.pinned ? style.pinned : ""}`}
            style={pinnedStyle(offsets.get(column.id))}
          >
            {head(column, at, headed === at ? 0 : -1)}
            {resizable && <Resizer column={column} onWidth={onWidth} />}
          </div>
        ))}
      </div>
    ), [head, columns, offsets, tick, headed, narrow, lead])

  const { first, last, scale, shift } = view
  const shown: number[] = []
  for (let index = first; index < last; index++) shown.push(index)
  // The row with the focus stays in the document, else the focus would fall to the page.
  if (active.row >= 0 && active.row < rows && (active.row < first || active.row >= last)) shown.push(active.row)

  const dropAt = drag === undefined || drag.from === null || drag.over === null || drag.over === drag.from
    ? null
    : drag.over

  return (
    <div className={style.frame}>
      <div
        ref={scroller}
        className={style.scroller}
        style={{
          ["--columns" as string]: props.card === undefined ? templateOf(columns, lead) : "minmax(0, 1fr)",
          ["--width" as string]: props.card === undefined ? `${totalOf(columns, lead)}px` : "0px",
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
          onFocus={() => void (holdsFocus.current = true)}
          onBlur={(event) => {
            // Without another element it is the cell itself that went: the focus comes back with the next drawing.
            if (event.relatedTarget !== null || document.hasFocus() === false) {
              holdsFocus.current = event.currentTarget.contains(event.relatedTarget)
            }
          }}
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
                  // The row with the focus keeps its element when it leaves and when it comes back: whoever would have its slot takes another.
                  key={index !== active.row && index % slots === active.row % slots ? "other" : index % slots}
                  row={row as never}
                  index={index}
                  top={index * rowHeight - shift}
                  version={version}
                  active={active.row === index ? active.column : null}
                  selected={row !== undefined && tick !== undefined && tick.has(row, index)}
                  editing={editing !== null && editing.row === index ? editing.column : null}
                  columns={columns}
                  offsets={offsets}
                  drop={dropAt === index ? (drag!.from! < index ? "after" : "before") : undefined}
                  dragged={drag?.from === index}
                  props={props as never}
                />
              )
            })}
          </div>
        </div>
      </div>
      {dragged !== null && (
        <div className={style.place} style={{ top: dragged.y }} aria-hidden="true">{placeLabel(dragged.index)}</div>
      )}
    </div>
  )
}

/** Keeps the offsets the same object while they say the same, so that rows need not be drawn anew. */
const useOffsets = (columns: readonly Column[], lead: number): ReadonlyMap<string, number> => {
  const last = useRef<{ readonly text: string; readonly offsets: ReadonlyMap<string, number> } | null>(null)
  const offsets = offsetsOf(columns, lead)
  const text = JSON.stringify([...offsets])
  if (last.current?.text !== text) last.current = { text, offsets }
  return last.current.offsets
}

/** Scrolls sideways until the cell stands beside the pinned ones. */
const revealAcross = (scroller: HTMLElement, cell: HTMLElement): void => {
  if (getComputedStyle(cell).position === "sticky") return
  const box = cell.getBoundingClientRect()
  const around = scroller.getBoundingClientRect()
  const rtl = getComputedStyle(scroller).direction === "rtl"
  let covered = 0
  for (const pinned of cell.parentElement?.children ?? []) {
    if (getComputedStyle(pinned).position === "sticky") covered += pinned.getBoundingClientRect().width
  }
  const start = around.left + (rtl ? 0 : covered)
  const end = around.left + scroller.clientWidth - (rtl ? covered : 0)
  if (box.left < start) scroller.scrollLeft += box.left - start
  else if (box.right > end) scroller.scrollLeft += Math.min(box.right - end, box.left - start)
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
