/**
 * The list of a resource: title and views, filter, chart, grid, selection and footer. The address has its state. This page only joins the parts that
 * do the work.
 */

import { ArrowDown, ArrowUp, ChevronDown, Plus, TriangleAlert } from "lucide-react"
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useId, useMemo, useRef, useState } from "react"
import type { FilterError } from "../../../core/domain/filter/read.ts"
import { ProblemError } from "../../client/index.ts"
import { FileExpiry, fileName, fileOf } from "../field/file.tsx"
import { isIdentifier, isQuantity } from "../field/kind.ts"
import { textOf } from "../field/text.ts"
import { NowProvider, useReader, Value } from "../field/value.tsx"
import { FilterBar } from "../filter/bar.tsx"
import type { Column } from "../grid/columns.ts"
import { Grid, type GridHandle, type Place } from "../grid/grid.tsx"
import { shownKeys, useShortcut } from "../ground/keys.ts"
import { keepAddress } from "../ground/last-address.ts"
import { Link } from "../ground/link.tsx"
import { currentPlace, go, remember, setQuery, usePlace } from "../ground/location.ts"
import { useNarrow } from "../ground/narrow.ts"
import { Box } from "../ground/parts.tsx"
import { copyText, Missing, Problem } from "../ground/problem.tsx"
import { useSettled } from "../ground/settled.ts"
import { useTitle } from "../ground/title.ts"
import type { LiveMarks } from "../live/marks.ts"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { aboutOf, addressOf, keyOf, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { isolated, plain, short } from "../model/plain.ts"
import shell from "../style/frame.module.css"
import { Card } from "./card.tsx"
import { useCellEditing } from "./edit.tsx"
import { ListFoot } from "./foot.tsx"
import { ListHeader } from "./header.tsx"
import style from "./list.module.css"
import { needsOf } from "./needs.ts"
import { useReorder } from "./reorder.tsx"
import { useRows } from "./rows.ts"
import { isSelected, nothing, type Selection, withKeys } from "./selection.ts"
import { makeSight } from "./sight.ts"
import {
  type Choice,
  columnsOf,
  nextOrder,
  orderFor,
  printChoices,
  printOrder,
  readChoices,
  usualChoices,
  whyUnsorted
} from "./state.ts"
import { ViewTabs } from "./tabs.tsx"

const ChartStrip = lazy(() => import("../chart/strip.tsx").then(({ ChartStrip }) => ({ default: ChartStrip })))
const ColumnMenu = lazy(() => import("./column-menu.tsx").then(({ ColumnMenu }) => ({ default: ColumnMenu })))
const loadEditor = () => import("./cell-editor.tsx").then(({ CellEditor }) => ({ default: CellEditor }))
const CellEditor = lazy(loadEditor)
const LiveList = lazy(() => import("./live.tsx").then(({ LiveList }) => ({ default: LiveList })))
const SelectionBar = lazy(() => import("./selection-bar.tsx").then(({ SelectionBar }) => ({ default: SelectionBar })))

/** The key in local storage of the columns of a view. */
const storeOf = (resource: Resource): string => `admin:columns:${resource.name}:${resource.view.name}`

const rememberedColumns = (resource: Resource): string | null => {
  try {
    return localStorage.getItem(storeOf(resource))
  } catch {
    return null
  }
}

const rowHeights: Readonly<Record<string, number>> = { normal: 34, comfortable: 40, compact: 28 }

const useRowHeight = (narrow: boolean): number => {
  const [height, setHeight] = useState(34)
  useEffect(() => {
    const read = (): void => setHeight(rowHeights[document.documentElement.dataset["density"] ?? "normal"] ?? 34)
    read()
    const observer = new MutationObserver(read)
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-density"] })
    return () => observer.disconnect()
  }, [])
  return narrow ? 64 : height
}

const filterErrors = (error: unknown): readonly FilterError[] =>
  error instanceof ProblemError && error.slug === "invalid-filter"
    ? error.errors.filter((each) => each.span !== undefined) as readonly FilterError[]
    : []

export const ListPage = ({ resource }: { readonly resource: Resource }): ReactNode =>
  resource.may.read
    ? (
      <NowProvider>
        <List resource={resource} />
      </NowProvider>
    )
    : <NoReading resource={resource} />

/** The page for callers who may create records but read none. */
const NoReading = ({ resource }: { readonly resource: Resource }): ReactNode => {
  const { t } = useLocale()
  return (
    <>
      <header className={shell.top}>
        <h1 className="grow">{resource.view.label.plural}</h1>
      </header>
      {resource.may.create
        ? (
          <div className="missing">
            <h1>{resource.view.label.plural}</h1>
            <Link to={`/${resource.name}/new`} className="btn primary">
              {t.list.newOne(resource.view.label.singular)}
            </Link>
          </div>
        )
        : <Missing />}
    </>
  )
}

const List = ({ resource }: { readonly resource: Resource }): ReactNode => {
  const { format, t } = useLocale()
  const w = useMessages().columns
  const reader = useReader()
  const { memory, query } = usePlace()
  const narrow = useNarrow()
  const rowHeight = useRowHeight(narrow)
  const settled = useSettled()
  const handle = useRef<GridHandle>(null)
  const id = useId()
  const filter = query.get("filter") ?? ""
  const deleted = query.get("deleted") === "true" && resource.model.softDelete
  const order = useMemo(() => orderFor(query.get("order"), resource), [query, resource])
  const columnsText = query.get("columns") ?? rememberedColumns(resource) ?? ""
  const choices = useMemo(() => {
    const chosen = readChoices(columnsText, resource)
    return chosen.length > 0 ? chosen : usualChoices(resource)
  }, [columnsText, resource])
  const columns = useMemo(() => columnsOf(resource, choices), [resource, choices])
  const needs = useMemo(() => needsOf(resource, choices.map(({ field }) => field)), [resource, choices])
  // Going back returns to the same rows and the same cell.
  const [begin] = useState(() => ({
    row: Number(memory["row"] ?? 0),
    column: Number(memory["column"] ?? 0),
    top: Number(memory["top"] ?? 0),
    focus: memory["row"] !== undefined
  }))
  const asked = { filter, order: printOrder(order), ...needs, deleted }
  const rows = useRows(resource, asked, begin.top)
  const [live, setLive] = useState<{ readonly turn: number; readonly marks: LiveMarks }>({ turn: 0, marks: new Map() })
  const setMarks = useCallback(
    (make: (before: LiveMarks) => LiveMarks) =>
      setLive((before) => {
        const marks = make(before.marks)
        return marks === before.marks ? before : { turn: before.turn + 1, marks }
      }),
    []
  )
  const [selection, setSelection] = useState<Selection>(nothing)
  const anchor = useRef<number | null>(null)
  const picked = useRef(new Map<string, AnyRecord>())
  // Not part of the page's state, because it changes with every row during scrolling. Only the footer shows it.
  const [sight] = useState(makeSight)
  const [menu, setMenu] = useState<string | null>(null)
  useTitle(resource.view.label.plural)

  // Stored settings are copied into the address, so that the address has the whole state.
  useEffect(() => {
    const kept = rememberedColumns(resource)
    if (kept !== null && currentPlace().query.get("columns") === null) setQuery({ columns: kept })
  }, [resource])
  // The code for editing is loaded after the rows, so that editing works without a connection.
  useEffect(() => {
    if (rows.loading) return
    Promise.all([loadEditor(), import("../field/input.tsx")]).then(
      ([, { prepareInputs }]) => prepareInputs(),
      () => undefined
    )
  }, [rows.loading])
  useEffect(() => keepAddress(resource.name, query.size === 0 ? "" : `?${query.toString()}`), [resource, query])

  const setFilter = useCallback((text: string) => {
    setQuery({ filter: text === "" ? null : text }, { replace: false })
    handle.current?.scrollTo(0)
  }, [])
  const setOrder = useCallback((field: string, add: boolean) => {
    setQuery({ order: printOrder(nextOrder(order, field, add)) || null }, { replace: false })
  }, [order])
  const setChoices = useCallback((next: readonly Choice[] | null) => {
    const text = next === null ? null : printChoices(next)
    try {
      if (text === null) localStorage.removeItem(storeOf(resource))
      else localStorage.setItem(storeOf(resource), text)
    } catch {
      // If storage is not available, the address still has the columns.
    }
    setQuery({ columns: text })
  }, [resource])

  const key = useCallback((record: AnyRecord): string => keyOf(resource, record) ?? record.etag, [resource])
  const total = rows.total?.count ?? 0
  const editing = useCellEditing(resource, columns, rows, handle)
  const reorder = useReorder(resource, order, rows, total)

  const toggle = (record: AnyRecord, index: number, range: boolean): void => {
    const from = range && anchor.current !== null ? anchor.current : index
    const into = range ? true : !isSelected(selection, key(record))
    const keys: string[] = []
    for (let at = Math.min(from, index); at <= Math.max(from, index); at++) {
      const each = rows.rowAt(at)
      if (each === undefined) continue
      keys.push(key(each))
      picked.current.set(key(each), each)
    }
    if (!range) anchor.current = index
    setSelection(withKeys(selection, keys, into))
  }
  const selectSeen = (): void => {
    const loaded = [...rows.kept()]
    for (const record of loaded) picked.current.set(key(record), record)
    setSelection(
      total <= loaded.length ? { of: "some", keys: new Set(loaded.map(key)) } : { of: "all", filter, except: new Set() }
    )
  }
  const clear = (): void => setSelection(nothing)
  const some = selection.of === "all" || selection.keys.size > 0

  const open = (
    record: AnyRecord,
    index: number,
    event?: { readonly metaKey?: boolean; readonly ctrlKey?: boolean }
  ): void => {
    const text = keyOf(resource, record)
    if (text === null) return
    remember({ row: index, column: handle.current?.place().column ?? 0, top: handle.current?.seen()[0] ?? 0 })
    if (event?.metaKey === true || event?.ctrlKey === true) {
      window.open(addressOf(resource, text), "_blank", "noreferrer")
    } else {go(addressOf(resource, text), {
        memory: { list: `${currentPlace().path}?${query.toString()}`, position: index, total }
      })}
  }

  useShortcut("n", () => resource.may.create ? go(`/${resource.name}/new`) : false)
  useShortcut("Escape", () => some ? clear() : false)
  useShortcut("j", () => handle.current?.focus({}))
  useShortcut("k", () => handle.current?.focus({}))
  useShortcut("ArrowDown", () => handle.current?.focus({}))
  useShortcut(
    "mod+a",
    (event) =>
      event.target instanceof Element && event.target.closest("input, textarea") !== null ? false : selectSeen()
  )

  const renderCell = useCallback((record: AnyRecord, column: Column): ReactNode => {
    const field = resource.fields.get(column.id)!
    return <Value resource={resource} field={field} value={record[column.id]} record={record} />
  }, [resource])

  const sortedBy = (column: Column) => order.findIndex(({ field }) => field === column.id)
  const head = (column: Column, at: number, tabIndex: 0 | -1): ReactNode => {
    const field = resource.fields.get(column.id)!
    const position = sortedBy(column)
    const descending = position >= 0 && order[position]!.descending
    const unsorted = whyUnsorted(field, w)
    return (
      <>
        <button
          type="button"
          className={style.header}
          data-column={at}
          data-end={column.end ? "" : undefined}
          data-sorted={position >= 0 ? "" : undefined}
          tabIndex={tabIndex}
          title={unsorted === null ? column.label : `${column.label}\n${unsorted}`}
          aria-describedby={unsorted === null ? undefined : `${id}-${at}`}
          onClick={(event) => unsorted === null ? setOrder(column.id, event.shiftKey) : setMenu(column.id)}
          onContextMenu={(event) => {
            event.preventDefault()
            setMenu(column.id)
          }}
          onKeyDown={(event) => {
            if (event.key !== "ContextMenu" && !(event.altKey && event.key === "ArrowDown")) return
            event.preventDefault()
            event.stopPropagation()
            setMenu(column.id)
          }}
        >
          <span className="cut">{column.label}</span>
          {position >= 0 && (descending ? <ArrowDown aria-hidden="true" /> : <ArrowUp aria-hidden="true" />)}
          {position >= 0 && order.length > 1 && <sup aria-hidden="true">{position + 1}</sup>}
        </button>
        {unsorted !== null && <span id={`${id}-${at}`} hidden>{unsorted}</span>}
        <Box
          label={column.label}
          name={`${column.label}: ${t.list.more}`}
          className="head-menu"
          tabIndex={-1}
          open={menu === column.id}
          onOpenChange={(now) => setMenu(now ? column.id : null)}
          content={(close) => (
            <ColumnMenu
              resource={resource}
              field={field}
              filter={filter}
              deleted={deleted}
              order={order}
              choices={choices}
              onOrder={(next) => setQuery({ order: printOrder(next) || null }, { replace: false })}
              onChoices={setChoices}
              onFilter={setFilter}
              onClose={close}
            />
          )}
        >
          <ChevronDown className="icon" aria-hidden="true" />
        </Box>
      </>
    )
  }

  const placeLabel = (index: number): string => {
    const record = rows.rowAt(index)
    const sort = order[0] === undefined ? undefined : resource.fields.get(order[0].field)
    const value = record === undefined || sort === undefined ? "" : textOf(resource, sort, record[sort.name], reader)
    return value === ""
      ? t.list.row(format.count(index + 1))
      : `${t.list.row(format.count(index + 1))} · ${isolated(short(value, 60))}`
  }

  const onKey = (event: React.KeyboardEvent, at: Place, record: AnyRecord | undefined): boolean => {
    if (reorder.onKey(event, at)) return true
    if (record === undefined || at.row < 0) return false
    const wide = event.ctrlKey || event.metaKey
    const column = columns[at.column]
    if (wide && event.key === "a") return selectSeen(), true
    if (
      wide && event.key === "c" && column !== undefined && (window.getSelection()?.toString() ?? "") === "" && !some
    ) {
      // As it is stored: a cell shows it in the reader's format, and a long one in part.
      const value = record[column.id]
      const files = (Array.isArray(value) ? value : [value]).map(fileOf)
      copyText(
        files.length === 0 || files.includes(null) ? plain(value) : files.map((file) => fileName(file!)).join(", "),
        t
      )
      return true
    }
    if (event.key === "F2" || (event.key === "e" && !wide && !event.altKey)) return editing.begin(record, at)
    if (
      column !== undefined && event.key.length === 1 && !wide && !event.altKey && !/^[ ejknf/?gx]$/i.test(event.key)
    ) {
      return editing.begin(record, at, event.key)
    }
    return false
  }

  const missing = rows.failure instanceof ProblemError && rows.failure.status === 404
  if (missing) return <Missing />
  const errors = filterErrors(rows.failure)
  const about = aboutOf(resource)
  const empty = rows.total !== null && total === 0 && errors.length === 0

  return (
    <FileExpiry value={rows.reload}>
      <ListHeader
        resource={resource}
        rows={rows}
        filter={filter}
        deleted={deleted}
        order={printOrder(order)}
        choices={choices}
        onChoices={setChoices}
        reorder={reorder}
      />
      {about !== null && <p dir="auto" className={`about ${style.about}`} title={about}>{about}</p>}
      <ViewTabs
        resource={resource}
        filter={filter}
        order={query.has("order") ? printOrder(order) : ""}
        columns={choices.map(({ field }) => field)}
        onFilter={setFilter}
      />
      <FilterBar resource={resource} filter={filter} onChange={setFilter} errors={errors} />
      {rows.warning !== null && (
        <p className={style.warning} role="status">
          <TriangleAlert className="icon" aria-hidden="true" /> {t.list.warning} {rows.warning}
        </p>
      )}
      {resource.view.chart !== null && !narrow && errors.length === 0 && (
        <Suspense fallback={<div className={style.strip} />}>
          {settled
            ? <ChartStrip resource={resource} filter={filter} deleted={deleted} onFilter={setFilter} />
            : <div className={style.strip} />}
        </Suspense>
      )}
      {reorder.bar}
      {rows.failure !== undefined && errors.length === 0 && <Problem error={rows.failure} onRetry={rows.retry} />}
      {(resource.model.events?.length ?? 0) > 0 && !rows.loading && (
        <Suspense fallback={null}>
          <LiveList
            resource={resource}
            rows={rows}
            query={asked}
            handle={handle}
            marks={live.marks}
            onMarks={setMarks}
          />
        </Suspense>
      )}
      {rows.loading && rows.total === null && rows.failure === undefined && (
        <div className={style.waiting} aria-hidden="true">
          <div className="late">{Array.from({ length: 12 }, (_, row) => <i key={row} />)}</div>
        </div>
      )}
      <Grid<AnyRecord>
        label={resource.view.label.plural}
        rows={total}
        rowAt={reorder.rowAt}
        keyOf={key}
        columns={columns}
        rowHeight={rowHeight}
        headHeight={narrow ? 0 : 32}
        tail={some ? 60 : narrow ? 88 : 0}
        version={reorder.version + live.turn}
        cell={renderCell}
        head={head}
        sorted={(column) => {
          const at = sortedBy(column)
          if (!resource.fields.get(column.id)!.sortable) return undefined
          return at < 0 ? "none" : order[at]!.descending ? "descending" : "ascending"
        }}
        {...(narrow ? {} : {
          tick: {
            label: t.list.select,
            has: (record) => isSelected(selection, key(record)),
            onToggle: toggle,
            all: (
              <input
                type="checkbox"
                aria-label={t.list.selectAll}
                checked={some}
                ref={(box) => {
                  if (box !== null) box.indeterminate = selection.of === "some" && some && selection.keys.size < total
                }}
                onChange={() => some ? clear() : selectSeen()}
              />
            )
          }
        })}
        editing={editing.place}
        editor={(record, column) => (
          <CellEditor
            editing={editing}
            resource={resource}
            record={record}
            column={column}
          />
        )}
        marks={(record) => ({
          deleted: (deleted && record["deleted_at"] != null) || live.marks.get(key(record)) === "gone",
          fresh: live.marks.get(key(record)) === "changed",
          saving: editing.isSaving(key(record))
        })}
        {...(reorder.drag === undefined ? {} : { drag: reorder.drag })}
        want={rows.want}
        placeLabel={placeLabel}
        onSeen={sight.put}
        onWidth={(column, width) =>
          setChoices(choices.map((choice) => choice.field === column.id ? { ...choice, width } : choice))}
        onOpen={open}
        onKey={onKey}
        onCellDoubleClick={(record, _, at) => void (editing.begin(record, at) || open(record, at.row))}
        initial={begin}
        handle={handle}
        {...(narrow
          ? { card: (record: AnyRecord) => <Card resource={resource} record={record} columns={columns} /> }
          : {})}
      />
      {empty && (
        <div className={style.empty}>
          <h2>
            {filter === "" && !deleted
              ? t.list.emptyTitle(resource.view.label.plural)
              : t.list.emptyFiltered}
          </h2>
          <p className="dim">{filter === "" ? t.list.emptyText : t.list.emptyFilteredText}</p>
          {filter !== ""
            ? <button type="button" className="btn" onClick={() => setFilter("")}>{t.list.clearFilter}</button>
            : resource.may.create && (
              <Link to={`/${resource.name}/new`} className="btn primary">
                {t.list.newOne(resource.view.label.singular)}
              </Link>
            )}
        </div>
      )}
      {errors.length > 0 && (
        <div className={style.empty}>
          <h2>{t.list.filterWrong}</h2>
          <p className="dim">{t.list.emptyFilteredText}</p>
          <button type="button" className="btn" onClick={() => setFilter("")}>{t.list.clearFilter}</button>
        </div>
      )}
      {some && (
        <Suspense fallback={null}>
          <SelectionBar
            resource={resource}
            selection={selection}
            picked={picked.current}
            columns={columns}
            rows={rows}
            deleted={deleted}
            sum={columns.map(({ id }) => resource.fields.get(id)!).find((field) =>
              isQuantity(field) && !isIdentifier(resource, field)
            )}
            onSelection={setSelection}
            onChanged={rows.reload}
          />
        </Suspense>
      )}
      {narrow && resource.may.create && !some && (
        <Link
          to={`/${resource.name}/new`}
          className={style.plus}
          aria-label={t.list.newOne(resource.view.label.singular)}
        >
          <Plus aria-hidden="true" />
        </Link>
      )}
      {editing.conflict}
      <ListFoot rows={rows} sight={sight} filter={filter} savedAt={editing.savedAt} keys={shownKeys("?").join(" ")} />
    </FileExpiry>
  )
}
