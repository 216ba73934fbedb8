/** The grid of a list: what its cells show, and what its keys do. */

import {
  lazy,
  type ReactNode,
  type RefObject,
  Suspense,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState
} from "react"
import { fileName, fileOf } from "../field/file.tsx"
import { textOf } from "../field/text.ts"
import { useReader, Value } from "../field/value.tsx"
import type { Column } from "../grid/columns.ts"
import { type CellPlace, Grid, type GridHandle } from "../grid/grid.tsx"
import { part } from "../ground/part.tsx"
import { copyText } from "../ground/problem.tsx"
import type { LiveMarks } from "../live/marks.ts"
import { useLocale } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { columnAt, valueAt } from "../model/paths.ts"
import { isolated, plain, short } from "../model/plain.ts"
import type { RangeHandle } from "../range/ranges.tsx"
import { cellsOf, rowHeightNow } from "./cells.ts"
import { ColumnHead } from "./column-head.tsx"
import type { CellEditing } from "./edit.tsx"
import type { Peeking } from "./peeking.ts"
import type { Reorder } from "./reorder.tsx"
import type { ListRows } from "./rows.ts"
import { rowKey, type Selecting } from "./selecting.ts"
import { whyUnsortedBy } from "./state.ts"
import { TitleCell } from "./title-cell.tsx"
import type { ListView } from "./view.ts"

const loadEditor = () => import("./cell-editor.tsx").then(({ CellEditor }) => ({ default: CellEditor }))
const CellEditor = lazy(loadEditor)

// On a wide screen rows are no cards.
const { load: loadCard, Part: Card } = part(() => import("./card.tsx"), ({ Card }) => Card)
if (matchMedia("(max-width: 720px)").matches) loadCard().catch(() => undefined)

const Ranges = lazy(() => import("../range/ranges.tsx").then(({ Ranges }) => ({ default: Ranges })))

const useRowHeight = (narrow: boolean): number => {
  const [height, setHeight] = useState(rowHeightNow)
  useEffect(() => {
    const read = (): void => setHeight(rowHeightNow())
    read()
    const observer = new MutationObserver(read)
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-density"] })
    return () => observer.disconnect()
  }, [])
  return narrow ? 64 : height
}

/** Loads the code for editing after the rows, so that editing works without a connection. */
const usePreparedEditing = (loading: boolean): void =>
  useEffect(() => {
    if (loading) return
    Promise.all([loadEditor(), import("../field/input.tsx")]).then(
      ([, { prepareInputs }]) => prepareInputs(),
      () => undefined
    )
  }, [loading])

/** The text of a cell as it is stored: the cell shows it in the reader's format, and a long one in part. */
const copiedCell = (value: unknown): string => {
  const files = (Array.isArray(value) ? value : [value]).map(fileOf)
  return files.length === 0 || files.includes(null) ? plain(value) : files.map((file) => fileName(file!)).join(", ")
}

/** The cell and the row that a list begins with. */
export type Begin = CellPlace & { readonly top: number; readonly focus: boolean }

interface ListGridProps {
  readonly resource: Resource
  readonly view: ListView
  readonly rows: ListRows
  readonly total: number
  readonly selecting: Selecting
  readonly editing: CellEditing
  readonly reorder: Reorder
  readonly peek: Peeking
  /** The changes of others. `turn` increases with each. */
  readonly live: { readonly turn: number; readonly marks: LiveMarks }
  readonly narrow: boolean
  /** Where a range of cells is summed up. */
  readonly slot: HTMLElement | null
  readonly begin: Begin
  readonly handle: RefObject<GridHandle | null>
  readonly onSeen: (first: number, last: number) => void
  readonly onPlace: (place: CellPlace) => void
}

/** Handles a key on a cell. True if it is handled. */
const useKeys = (
  { editing, narrow, peek, reorder, rows, selecting, view }: ListGridProps,
  ranges: RefObject<RangeHandle | null>
) => {
  const { t } = useLocale()
  return (event: React.KeyboardEvent, at: CellPlace, record: AnyRecord | undefined): boolean => {
    if (reorder.onKey(event, at)) return true
    if (rows.groups?.onKey(event, at, at.column === (narrow ? 0 : -1)) === true) return true
    const ranged = ranges.current?.onKey(event)
    if (ranged !== undefined) return ranged
    if (record === undefined || at.row < 0) return false
    const wide = event.ctrlKey || event.metaKey
    const column = view.columns[at.column]
    if (wide && event.key === "a") return selecting.all(), true
    const marked = (window.getSelection()?.toString() ?? "") !== ""
    if (wide && event.key === "c" && column !== undefined && !marked && !selecting.some) {
      copyText(copiedCell(valueAt(record, column.id)), t)
      return true
    }
    // Beside an open record, E edits that.
    if (event.key === "F2" || (event.key === "e" && !wide && !event.altKey && peek.key === null)) {
      return editing.begin(record, at)
    }
    if (
      column !== undefined && event.key.length === 1 && !wide && !event.altKey && !/^[ ejknf/?gx]$/i.test(event.key)
    ) {
      return editing.begin(record, at, event.key)
    }
    return false
  }
}

/** The text beside the scrollbar's thumb: the row, and its value in the field that the list is sorted by. */
const usePlaceLabel = ({ resource, rows, view }: ListGridProps) => {
  const { format, t } = useLocale()
  const reader = useReader()
  const [first] = view.order
  return (index: number): string => {
    if (rows.groups !== undefined) return rows.groups.labelAt(index)
    const record = rows.rowAt(index)
    const sort = first === undefined ? undefined : resource.fields.get(first.field)
    const value = record === undefined || sort === undefined ? "" : textOf(resource, sort, record[sort.name], reader)
    const row = t.list.row(format.count(index + 1))
    return value === "" ? row : `${row} · ${isolated(short(value, 60))}`
  }
}

const SelectAll = ({ selecting, total }: { readonly selecting: Selecting; readonly total: number }): ReactNode => {
  const { t } = useLocale()
  const { selection, some } = selecting
  return (
    <input
      type="checkbox"
      aria-label={t.list.selectAll}
      checked={some}
      ref={(box) => {
        if (box !== null) box.indeterminate = selection.of === "some" && some && selection.keys.size < total
      }}
      onChange={() => some ? selecting.clear() : selecting.all()}
    />
  )
}

export const ListGrid = (props: ListGridProps): ReactNode => {
  const { begin, editing, handle, live, narrow, peek, reorder, resource, rows, selecting, total, view } = props
  const { t } = useLocale()
  const rowHeight = useRowHeight(narrow)
  const [menu, setMenu] = useState<string | null>(null)
  const ranges = useRef<RangeHandle>(null)
  const onKey = useKeys(props, ranges)
  const placeLabel = usePlaceLabel(props)
  usePreparedEditing(rows.loading)
  const key = useCallback((record: AnyRecord): string => rowKey(resource, record), [resource])
  // Rows are drawn again only when they change: their links ask for what opening means when they are pressed.
  const opening = useRef(peek)
  opening.current = peek
  const { columns } = view
  const cellOf = useMemo(() => cellsOf(resource, columns), [resource, columns])
  const renderCell = useCallback((record: AnyRecord, column: Column): ReactNode => {
    const { opens, shown } = cellOf(record, column)
    const value = shown === null ? null : <Value {...shown} />
    return opens === null ? value : (
      <TitleCell
        to={opens.to}
        linked={opens.linked}
        end={column.end}
        onOpen={(index) => opening.current.open(record, index)}
        onPeek={(index) => opening.current.show(record, index)}
      >
        {value}
      </TitleCell>
    )
  }, [cellOf])
  return (
    <Grid<AnyRecord>
      label={resource.view.label.plural}
      rows={rows.groups?.count ?? total}
      heads={rows.groups}
      rowAt={reorder.rowAt}
      keyOf={key}
      current={peek.key}
      columns={view.columns}
      rowHeight={rowHeight}
      headHeight={narrow ? 0 : 32}
      tail={selecting.some ? 60 : narrow ? 88 : 0}
      version={reorder.version + live.turn}
      cell={renderCell}
      head={(column, at, tabIndex) => (
        <ColumnHead
          resource={resource}
          view={view}
          column={column}
          at={at}
          tabIndex={tabIndex}
          open={menu === column.id}
          onOpen={(now) => setMenu(now ? column.id : null)}
        />
      )}
      sorted={(column) => {
        const by = view.order.find(({ field }) => field === column.id)
        if (whyUnsortedBy(columnAt(resource, column.id)!, t) !== null) return undefined
        return by === undefined ? "none" : by.descending ? "descending" : "ascending"
      }}
      {...(narrow ? {} : {
        tick: {
          label: t.list.select,
          has: selecting.has,
          onToggle: selecting.toggle,
          all: <SelectAll selecting={selecting} total={total} />
        }
      })}
      editing={editing.place}
      editor={(record, column) => <CellEditor editing={editing} resource={resource} record={record} column={column} />}
      marks={(record) => ({
        deleted: (view.deleted && record["deleted_at"] != null) || live.marks.get(key(record)) === "gone",
        fresh: live.marks.get(key(record)) === "changed",
        ...(live.marks.get(key(record)) === "left"
          ? { left: t.live.left }
          : rows.groups?.isElsewhere(record) === true
          ? { left: t.group.elsewhere }
          : {}),
        saving: editing.isSaving(key(record))
      })}
      {...(reorder.drag === undefined ? {} : { drag: reorder.drag })}
      want={rows.want}
      placeLabel={placeLabel}
      onSeen={props.onSeen}
      onPlace={props.onPlace}
      onWidth={(column, width) =>
        view.setChoices(view.choices.map((choice) => choice.field === column.id ? { ...choice, width } : choice))}
      onOpen={peek.open}
      onPeek={peek.toggle}
      onKey={onKey}
      onCellDown={(event, place) => ranges.current?.onCellDown(event, place) === true}
      {...(narrow || rows.loading || reorder.drag !== undefined ? {} : {
        layer: (within) => (
          <Suspense fallback={null}>
            <Ranges
              resource={resource}
              columns={view.columns}
              rows={rows}
              within={within}
              slot={props.slot}
              handle={ranges}
            />
          </Suspense>
        )
      })}
      onCellDoubleClick={(record, _, at) => void (editing.begin(record, at) || peek.open(record, at.row))}
      initial={begin}
      handle={handle}
      {...(narrow
        ? {
          card: (record: AnyRecord) => (
            <Suspense fallback={null}>
              <Card resource={resource} record={record} columns={view.columns} />
            </Suspense>
          )
        }
        : {})}
    />
  )
}
