/**
 * Ranges of cells in a grid: made by the mouse and by Shift with a key, marked in the rows that are drawn, summed up at the foot of the list, copied as a table.
 * What changes records begins here, and is done in `dialog.tsx`. Loaded after the first rows.
 */

import {
  type KeyboardEvent,
  lazy,
  type MouseEvent,
  type ReactNode,
  type Ref,
  Suspense,
  useDeferredValue,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState
} from "react"
import { createPortal } from "react-dom"
import type { GridLayer } from "../grid/grid.tsx"
import { type CellPlace, pressed } from "../grid/place.ts"
import { type Area, areaOf, type CellRange, columnsIn, rangeTo } from "../grid/range.ts"
import { sayProblem } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { columnAt } from "../model/paths.ts"
import type { Change, RangeRows } from "./change.ts"
import { follow } from "./drag.ts"
import type { Refusal } from "./edits.ts"
import { heldIn, rowsOf } from "./lines.ts"
import { mark } from "./mark.ts"
import { RangeStatus, type Reading } from "./status.tsx"
import { mostCells, readClipboard, type Table, toHtml, toTsv } from "./table.ts"
import { cellText } from "./text.ts"

const loadDialog = () => import("./dialog.tsx")
const CellsDialog = lazy(() => loadDialog().then(({ CellsDialog }) => ({ default: CellsDialog })))
const LeftDialog = lazy(() => loadDialog().then(({ LeftDialog }) => ({ default: LeftDialog })))

/** What the list tells its ranges of. */
export interface RangeHandle {
  /** True: the key is handled. False: it is the browser's. Undefined: it is not for ranges. */
  readonly onKey: (event: KeyboardEvent) => boolean | undefined
  /** True: the press is handled, and gives no cell the focus. */
  readonly onCellDown: (event: MouseEvent, place: CellPlace) => boolean
}

interface RangesProps {
  readonly resource: Resource
  /** The columns as they stand. */
  readonly columns: readonly { readonly id: string; readonly label: string }[]
  readonly rows: RangeRows
  readonly within: GridLayer
  /** Where the range is summed up. */
  readonly slot: HTMLElement | null
  readonly handle: Ref<RangeHandle>
}

/** The texts of an area, a list of rows. */
const tableOf = (resource: Resource, columns: readonly string[], records: readonly AnyRecord[]): Table => {
  const paths = columns.map((column) => columnAt(resource, column))
  return records.map((record) => paths.map((path) => path === undefined ? "" : cellText(record, path)))
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  target.closest("input:not([type=checkbox]), textarea, [contenteditable], [data-editing]") !== null

/** Writes to the clipboard what has to be read first. */
const copyLater = async (
  { columns, resource, rows }: RangesProps,
  area: Area,
  tell: (reading: Reading | null) => void
) => {
  const { readRows } = await import("./records.ts")
  const all = rowsOf(rows, area)
  tell({ done: 0, all })
  const records = await readRows(
    resource,
    rows,
    area.top,
    area.bottom,
    (done) => tell({ done, all }),
    new AbortController().signal
  )
  const table = tableOf(resource, columns.slice(area.left, area.right + 1).map(({ id }) => id), records)
  const blob = (type: string, text: string): Blob => new Blob([text], { type })
  await navigator.clipboard.write([
    new ClipboardItem({
      "text/plain": blob("text/plain", toTsv(table)),
      "text/html": blob("text/html", toHtml(table))
    })
  ])
}

/** The range of a grid, and how it is made. */
const useRange = ({ active, bounds, move, page, scroller }: GridLayer, columns: unknown, source: unknown) => {
  const [range, setRange] = useState<CellRange | null>(null)
  /** The active cell as the range knows it. Once another one is, the range is over. */
  const own = useRef<CellPlace | null>(null)
  useLayoutEffect(() => {
    if (own.current?.row !== active.row || own.current.column !== active.column) setRange(null)
  }, [active])
  useLayoutEffect(() => setRange(null), [columns, source])
  const bounded = useRef(bounds)
  bounded.current = bounds

  /** Takes the range to a place, and the focus with it. */
  const stretch = (to: CellPlace): void => {
    const anchor = range?.anchor ?? active
    if (anchor.row < 0 || anchor.column < 0) return
    const next = rangeTo(anchor, to, bounds)
    own.current = next.end
    setRange(next)
    move(next.end)
  }
  return {
    range,
    clear: () => setRange(null),
    /** Where Shift and a key lead, and whether they lead anywhere. */
    onStretch: (event: KeyboardEvent): boolean => {
      const from = range?.end ?? active
      if (active.row < 0 || from.column < 0 || !event.shiftKey || event.altKey || event.key.length === 1) return false
      const forward = getComputedStyle(event.currentTarget).direction === "rtl" ? -1 : 1
      const next = pressed(event, from, bounds, page(), forward)
      if (next === null) return false
      stretch({ ...from, ...next })
      return true
    },
    onCellDown: (event: MouseEvent, place: CellPlace): boolean => {
      if (event.button !== 0 || place.column < 0 || event.ctrlKey || event.metaKey || event.altKey) return false
      if (event.shiftKey) {
        stretch(place)
        return true
      }
      own.current = place
      setRange(null)
      const element = scroller.current
      if (element !== null) {
        follow(event.nativeEvent, element, (to) => setRange(to === null ? null : rangeTo(place, to, bounded.current)))
      }
      return false
    }
  }
}

export const Ranges = (props: RangesProps): ReactNode => {
  const { columns, handle, resource, rows, slot, within } = props
  const { active, body, scroller } = within
  const { format, t } = useLocale()
  const { clear, onCellDown, onStretch, range } = useRange(within, columns, rows.source)
  const [change, setChange] = useState<{ readonly change: Change; readonly area: Area } | null>(null)
  const [reading, setReading] = useState<Reading | null>(null)
  /** What an undo could not take back. */
  const [left, setLeft] = useState<readonly Refusal[] | null>(null)
  const area = useMemo(() => {
    const found = range === null ? null : areaOf(range)
    return found === null || rowsOf(rows, found) * columnsIn(found) < 2 ? null : found
  }, [range, rows.source])
  const shown = useDeferredValue(area)
  /** What a paste and the keys are about: the range, or the active cell. */
  const target = area ?? (active.row < 0 || active.column < 0
    ? null
    : { top: active.row, bottom: active.row, left: active.column, right: active.column })

  // After every render of the grid: rows come into sight without the marks, and elements are used again for others.
  useLayoutEffect(() => {
    if (body.current !== null) mark(body.current, area)
  })

  const begin = (change: Change): boolean => {
    // The head of a group has no cells.
    if (target === null || rowsOf(rows, target) === 0) return false
    setChange({ change, area: target })
    return true
  }
  const onCopy = (event: ClipboardEvent): void => {
    if (area === null || isTyping(event.target) || (window.getSelection()?.toString() ?? "") !== "") return
    event.preventDefault()
    if (rowsOf(rows, area) * columnsIn(area) > mostCells) {
      return void say(t.range.tooLarge(format.count(mostCells)), { tone: "bad" })
    }
    const held = heldIn(rows, area)
    if (held === null) {
      void copyLater(props, area, setReading).then(() => say(t.shell.copied), (error: unknown) => sayProblem(error, t))
        .finally(() => setReading(null))
      return
    }
    const table = tableOf(resource, columns.slice(area.left, area.right + 1).map(({ id }) => id), held)
    event.clipboardData?.setData("text/plain", toTsv(table))
    event.clipboardData?.setData("text/html", toHtml(table))
    say(t.shell.copied)
  }
  const onPaste = (event: ClipboardEvent): void => {
    const data = event.clipboardData
    if (data === null || isTyping(event.target) || target === null) return
    const pasted = readClipboard(data.getData("text/plain"), data.getData("text/html"))
    if ("refused" in pasted && pasted.refused === "empty") return
    event.preventDefault()
    if ("refused" in pasted) say(t.range.tooLarge(format.count(mostCells)), { tone: "bad" })
    else begin({ of: "paste", table: pasted.table })
  }
  const latest = useRef({ onCopy, onPaste })
  latest.current = { onCopy, onPaste }
  useEffect(() => {
    const element = scroller.current
    if (element === null) return
    const copy = (event: ClipboardEvent): void => latest.current.onCopy(event)
    const paste = (event: ClipboardEvent): void => latest.current.onPaste(event)
    element.addEventListener("copy", copy)
    element.addEventListener("paste", paste)
    element.dataset["ranges"] = ""
    return () => {
      element.removeEventListener("copy", copy)
      element.removeEventListener("paste", paste)
      delete element.dataset["ranges"]
    }
  }, [scroller])

  useImperativeHandle(handle, (): RangeHandle => ({
    onCellDown,
    onKey: (event) => {
      if (onStretch(event)) return true
      const wide = event.ctrlKey || event.metaKey
      if (event.shiftKey || event.altKey) return undefined
      if (wide) {
        if (event.key === "d") return begin({ of: "fill" })
        return event.key === "c" && area !== null ? false : undefined
      }
      if (event.key === "Delete" || event.key === "Backspace") return begin({ of: "clear" })
      if (event.key !== "Escape" || area === null) return undefined
      clear()
      return true
    }
  }))

  return (
    <>
      {slot !== null && createPortal(
        <RangeStatus resource={resource} columns={columns} rows={rows} area={shown} reading={reading} />,
        slot
      )}
      {change !== null && (
        <Suspense fallback={null}>
          <CellsDialog
            resource={resource}
            columns={columns}
            rows={rows}
            change={change.change}
            area={change.area}
            onLeft={setLeft}
            onClose={() => {
              setChange(null)
              within.move({})
            }}
          />
        </Suspense>
      )}
      {left !== null && (
        <Suspense fallback={null}>
          <LeftDialog
            resource={resource}
            refused={left}
            onClose={() => {
              setLeft(null)
              within.move({})
            }}
          />
        </Suspense>
      )}
    </>
  )
}
