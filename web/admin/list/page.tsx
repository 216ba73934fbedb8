/**
 * The list of a resource: title and views, filter, chart, grid, selection and footer. The address has its state. This page only joins the parts that
 * do the work.
 */

import { Plus, TriangleAlert } from "lucide-react"
import { lazy, type ReactNode, type RefObject, Suspense, useCallback, useLayoutEffect, useRef, useState } from "react"
import type { FilterError } from "../../../core/domain/filter/read.ts"
import { ProblemError } from "../../client/index.ts"
import { isMeasure } from "../field/kind.ts"
import { NowProvider } from "../field/value.tsx"
import { FilterBar } from "../filter/bar.tsx"
import type { CellPlace, GridHandle } from "../grid/grid.tsx"
import { useFirstPage } from "../ground/first-page.ts"
import { shownKeys, useShortcut } from "../ground/keys.ts"
import { Link } from "../ground/link.tsx"
import { currentPlace, go, usePlace } from "../ground/location.ts"
import { useNarrow } from "../ground/narrow.ts"
import { endPlain } from "../ground/plain-rows.ts"
import { Missing, Problem } from "../ground/problem.tsx"
import { useTitle } from "../ground/title.ts"
import type { LiveMarks, OnMarks } from "../live/marks.ts"
import { useLocale } from "../messages/locale.tsx"
import { useToggle } from "../messages/preferences.ts"
import { aboutOf, type Resource } from "../model/catalogue.ts"
import shell from "../style/frame.module.css"
import { argumentsIn, lacksArguments } from "./asked.ts"
import { WithPanel } from "./beside.tsx"
import { useCellEditing } from "./edit.tsx"
import { ListFoot } from "./foot.tsx"
import { ListHeader } from "./header.tsx"
import { addressOfList, keepLeft, type Left, leftAt } from "./left.ts"
import { type Begin, ListGrid } from "./list-grid.tsx"
import style from "./list.module.css"
import { type Panel, type Peeking, usePeek } from "./peeking.ts"
import { useReorder } from "./reorder.tsx"
import { type ListRows, useRows } from "./rows.ts"
import { type Selecting, useSelecting } from "./selecting.ts"
import { makeSight, type Sight } from "./sight.ts"
import { printOrder } from "./state.ts"
import { ViewTabs } from "./tabs.tsx"
import { type ListView, useListView } from "./view.ts"

const Arguments = lazy(() => import("./arguments.tsx").then(({ Arguments }) => ({ default: Arguments })))
const ChartStrip = lazy(() => import("../chart/strip.tsx").then(({ ChartStrip }) => ({ default: ChartStrip })))
const LiveList = lazy(() => import("./live.tsx").then(({ LiveList }) => ({ default: LiveList })))
const GroupedRows = lazy(() => import("./grouped.tsx").then(({ GroupedRows }) => ({ default: GroupedRows })))
const SelectionBar = lazy(() => import("./selection-bar.tsx").then(({ SelectionBar }) => ({ default: SelectionBar })))

const filterErrors = (error: unknown): readonly FilterError[] =>
  error instanceof ProblemError && error.slug === "invalid-filter"
    ? error.errors.filter((each): each is FilterError => each.span !== undefined)
    : []

interface ListPageProps {
  readonly resource: Resource
  /** Shows a record beside the list. */
  readonly panel: Panel
}

export const ListPage = ({ panel, resource }: ListPageProps): ReactNode =>
  resource.may.read
    ? (
      <NowProvider>
        <WithArguments resource={resource} panel={panel} />
      </NowProvider>
    )
    : <NoReading resource={resource} />

/** Rows of a function are read once it has the arguments that it needs. */
const WithArguments = ({ panel, resource }: ListPageProps): ReactNode => {
  const { query } = usePlace()
  const { t } = useLocale()
  const given = argumentsIn(resource, query)
  if (given === null || !lacksArguments(resource, given)) return <List resource={resource} panel={panel} />
  return (
    <>
      <header className={shell.top}>
        <h1 className="grow">{resource.view.label.plural}</h1>
      </header>
      <GivenArguments resource={resource} />
      <p className={`dim ${style.about}`}>{t.list.argumentsNeeded}</p>
    </>
  )
}

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

/** Where the list begins: as it was left in this tab, else as the entry of the history has it after the page was loaded again. */
const useBegin = (): { readonly begin: Begin; readonly left: Left | undefined } => {
  const [known] = useState(() => {
    const { back, memory, path, query } = currentPlace()
    const left = leftAt(addressOfList(path, query))
    const number = (name: string): number => Number(memory[name] ?? 0)
    const place = left?.place ?? { row: number("row"), column: number("column") }
    // A link elsewhere on the page keeps the focus.
    const focus = back && (left !== undefined || memory["row"] !== undefined)
    return { left, begin: { ...place, top: left?.top ?? number("top"), focus } }
  })
  return known
}

/** Remembers the list as it is left. Gives the function that is told of the active cell. */
const useLeaving = (
  begin: Begin,
  sight: Sight,
  selecting: Selecting,
  shown: boolean,
  peek: Peeking
): (place: CellPlace) => void => {
  const { path, query } = usePlace()
  const place = useRef<CellPlace>(begin)
  const latest = useRef<() => void>(() => {})
  useLayoutEffect(() => {
    const { picked, selection } = selecting
    latest.current = () => {
      const [top, last] = sight.now()
      const { column, row } = place.current
      // A list whose rows never came stays remembered as it was before.
      if (shown) {
        keepLeft(addressOfList(path, query), { place: { row, column }, top, height: last - top + 1, selection, picked })
      }
    }
  })
  useLayoutEffect(() => () => latest.current(), [])
  return (now) => {
    place.current = now
    peek.follow(now)
  }
}

/** The marks of rows that others changed. `turn` increases with each change of them. */
const useMarks = () => {
  const [live, setLive] = useState<{ readonly turn: number; readonly marks: LiveMarks }>({ turn: 0, marks: new Map() })
  const onMarks: OnMarks = useCallback((make) =>
    setLive((before) => {
      const marks = make(before.marks)
      return marks === before.marks ? before : { turn: before.turn + 1, marks }
    }), [])
  return { live, onMarks }
}

const useListKeys = (
  resource: Resource,
  selecting: Selecting,
  handle: { readonly current: GridHandle | null }
): void => {
  const focus = (): void => handle.current?.focus({})
  useShortcut("n", () => resource.may.create ? go(`/${resource.name}/new`) : false)
  useShortcut("Escape", () => selecting.some ? selecting.clear() : false)
  useShortcut("j", focus)
  useShortcut("k", focus)
  // In the panel, it scrolls.
  useShortcut("ArrowDown", () => document.activeElement?.closest("[data-peek]") == null ? focus() : false)
  useShortcut(
    "mod+a",
    (event) =>
      event.target instanceof Element && event.target.closest("input, textarea") !== null ? false : selecting.all()
  )
}

/** The note of a list without rows: nothing matches, nothing is there yet, or the filter cannot be read. */
const NoRows = (
  { resource, view, wrong }: { readonly resource: Resource; readonly view: ListView; readonly wrong: boolean }
): ReactNode => {
  const { t } = useLocale()
  const { deleted, filter, setFilter } = view
  const title = wrong
    ? t.list.filterWrong
    : filter === "" && !deleted
    ? t.list.emptyTitle(resource.view.label.plural)
    : t.list.emptyFiltered
  return (
    <div className={style.empty}>
      <h2>{title}</h2>
      <p className="dim">{filter === "" && !wrong ? t.list.emptyText : t.list.emptyFilteredText}</p>
      {filter !== "" || wrong
        ? <button type="button" className="btn" onClick={() => setFilter("")}>{t.list.clearFilter}</button>
        : resource.may.create && (
          <Link to={`/${resource.name}/new`} className="btn primary">
            {t.list.newOne(resource.view.label.singular)}
          </Link>
        )}
    </div>
  )
}

/** The chart above the rows. It is drawn after them, and its space is there before. */
const Chart = ({ resource, view }: { readonly resource: Resource; readonly view: ListView }): ReactNode => {
  const hasFirstPage = useFirstPage()
  const [folded] = useToggle(`chart:${resource.name}`)
  const space = <div className={style.strip} data-folded={folded ? "" : undefined} />
  return (
    <div className={style.chart}>
      <Suspense fallback={space}>
        {hasFirstPage
          ? <ChartStrip resource={resource} filter={view.filter} deleted={view.deleted} onFilter={view.setFilter} />
          : space}
      </Suspense>
    </div>
  )
}

/** Few lists have them. */
const GivenArguments = ({ resource }: { readonly resource: Resource }): ReactNode => (
  <Suspense fallback={null}>
    <Arguments resource={resource} />
  </Suspense>
)

/** Once the list has rows, or a reason for none, those that stood there before go in the same frame. */
const usePlainEnd = (ends: boolean): void =>
  useLayoutEffect(() => {
    if (ends) endPlain()
  }, [ends])

const List = ({ panel, resource }: ListPageProps): ReactNode => {
  const handle = useRef<GridHandle>(null)
  const view = useListView(resource, handle)
  const { layout } = view
  const of = { resource, panel, view, handle }
  return layout?.of === "list"
    ? (
      <Suspense fallback={null}>
        <GroupedRows key={layout.group.join()} resource={resource} view={view} layout={layout} handle={handle}>
          {(rows) => <GroupedList {...of} rows={rows} />}
        </GroupedRows>
      </Suspense>
    )
    : <PlainList {...of} />
}

interface ListProps extends ListPageProps {
  readonly view: ListView
  readonly handle: RefObject<GridHandle | null>
}

const PlainList = (props: ListProps): ReactNode => {
  const known = useBegin()
  const rows = useRows(props.resource, props.view.asked, known.begin.top)
  return <ListBody {...props} {...known} rows={rows} />
}

const GroupedList = (props: ListProps & { readonly rows: ListRows }): ReactNode => (
  <ListBody {...props} {...useBegin()} />
)

/** The list around its rows. Rows in groups are lines, and their heads are lines among them. */
const ListBody = (
  { begin, handle, left, panel, resource, rows, view }: ListProps & ReturnType<typeof useBegin> & {
    readonly rows: ListRows
  }
): ReactNode => {
  const { t } = useLocale()
  const narrow = useNarrow()
  const { live, onMarks } = useMarks()
  // Not part of the page's state, because it changes with every row during scrolling. Only the footer shows it.
  const [sight] = useState(makeSight)
  const total = rows.total?.count ?? 0
  const [slot, setSlot] = useState<HTMLElement | null>(null)
  const { columns, deleted, filter, order } = view
  const selecting = useSelecting(resource, rows, total, filter, left)
  const peek = usePeek({ resource, rows, handle })
  const onPlace = useLeaving(begin, sight, selecting, rows.total !== null, peek)
  const editing = useCellEditing(resource, columns, rows, handle)
  const reorder = useReorder(resource, order, rows, rows.groups === undefined ? total : 0)
  useTitle(resource.view.label.plural)
  usePlainEnd(rows.total !== null || rows.failure !== undefined)
  useListKeys(resource, selecting, handle)

  if (rows.failure instanceof ProblemError && rows.failure.status === 404) return <Missing />
  const errors = filterErrors(rows.failure)
  const wrong = errors.length > 0
  const about = aboutOf(resource)
  return (
    <WithPanel
      resource={resource}
      rows={rows}
      handle={handle}
      peek={peek}
      panel={panel}
      savedAt={editing.savedAt}
    >
      <div className={style.head}>
        <ListHeader
          resource={resource}
          rows={rows}
          filter={filter}
          deleted={deleted}
          order={printOrder(order)}
          args={view.asked.args}
          choices={view.choices}
          onChoices={view.setChoices}
          reorder={reorder}
          layout={view.layout}
          news={(resource.model.events?.length ?? 0) > 0 && !rows.loading && (
            <Suspense fallback={null}>
              <LiveList
                resource={resource}
                rows={rows}
                query={view.asked}
                handle={handle}
                marks={live.marks}
                onMarks={onMarks}
              />
            </Suspense>
          )}
        />
      </div>
      {about !== null && <p dir="auto" className={`about ${style.about}`} title={about}>{about}</p>}
      {resource.model.arguments !== undefined && <GivenArguments resource={resource} />}
      <ViewTabs
        resource={resource}
        filter={filter}
        order={view.ordered ? printOrder(order) : ""}
        columns={view.choices.map(({ field }) => field)}
        layout={view.layout}
        onFilter={view.setFilter}
      />
      <FilterBar resource={resource} filter={filter} onChange={view.setFilter} errors={errors} />
      {rows.warning !== null && (
        <p className={style.warning} role="status">
          <TriangleAlert className="icon" aria-hidden="true" /> {t.list.warning} {rows.warning}
        </p>
      )}
      {resource.view.chart !== null && resource.model.arguments === undefined && !narrow && !wrong && (
        <Chart resource={resource} view={view} />
      )}
      {reorder.bar}
      {rows.groups?.bar}
      {rows.failure !== undefined && !wrong && (
        <Problem error={rows.failure} onRetry={rows.retry}>{rows.total === null && rows.groups?.help}</Problem>
      )}
      {rows.loading && rows.total === null && rows.failure === undefined && (
        <div className={style.waiting} aria-hidden="true">
          <div className="late">{Array.from({ length: 12 }, (_, row) => <i key={row} />)}</div>
        </div>
      )}
      <ListGrid
        resource={resource}
        view={view}
        rows={rows}
        total={total}
        selecting={selecting}
        editing={editing}
        reorder={reorder}
        peek={peek}
        live={live}
        narrow={narrow}
        slot={slot}
        begin={begin}
        handle={handle}
        onSeen={sight.put}
        onPlace={onPlace}
      />
      {(wrong || (rows.total !== null && total === 0)) && <NoRows resource={resource} view={view} wrong={wrong} />}
      {selecting.some && (
        <Suspense fallback={null}>
          <SelectionBar
            resource={resource}
            selection={selecting.selection}
            picked={selecting.picked}
            columns={columns}
            rows={rows}
            deleted={deleted}
            sum={columns.flatMap(({ id }) => resource.fields.get(id) ?? []).find((field) => isMeasure(resource, field))}
            onSelection={selecting.set}
            onChanged={rows.reload}
          />
        </Suspense>
      )}
      {narrow && resource.may.create && !selecting.some && (
        <Link
          to={`/${resource.name}/new`}
          className={style.plus}
          aria-label={t.list.newOne(resource.view.label.singular)}
        >
          <Plus aria-hidden="true" />
        </Link>
      )}
      {editing.conflict}
      <ListFoot
        resource={resource}
        columns={columns}
        query={view.asked}
        rows={rows}
        sight={sight}
        slot={setSlot}
        filter={filter}
        savedAt={editing.savedAt}
        keys={shownKeys("?").join(" ")}
      />
    </WithPanel>
  )
}
