/**
 * Records as cards in the columns of an enum, or of the records that they lead to. Cards are moved by the pointer and by keys: Space takes a card, arrows choose
 * a column, Space or Enter puts it down, Escape puts it back.
 */

import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState
} from "react"
import type { Layout } from "../../../core/domain/model/layout.ts"
import type { MetaField } from "../../client/index.ts"
import { enumText } from "../field/text.ts"
import { useTitles } from "../field/titles.ts"
import { firstPageIsThere } from "../ground/first-page.ts"
import type { RowsQuery } from "../list/asked.ts"
import { cardFields } from "../list/card.tsx"
import { needsOf } from "../list/needs.ts"
import type { Total } from "../list/total.ts"
import type { ListView } from "../list/view.ts"
import type { LiveMarks } from "../live/marks.ts"
import type { Formats } from "../messages/formats.ts"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { plain, short } from "../model/plain.ts"
import type { ColumnHandle } from "./column.tsx"
import { type BoardColumn, boardColumns, type Group, keptOrder } from "./columns.ts"
import { boardEvents, cardAt, type Held } from "./events.ts"
import { LayoutFrame } from "./frame.tsx"
import { type Summed, summedBy, useCounts, useSums } from "./groups.ts"
import { BoardLane } from "./lane.tsx"
import style from "./layout.module.css"
import { countAfter, type Moves, sumsAfter } from "./moved.ts"
import { type Moving, useMoves } from "./moves.ts"
import { useHeard } from "./use-heard.ts"

/** Columns of a relation at first, how many more a press adds, and the most. */
const fewColumns = 20
const mostColumns = 60

type BoardLayout = Extract<Layout, { of: "board" }>

interface BoardProps {
  readonly resource: Resource
  readonly view: ListView
  readonly layout: BoardLayout
}

export const Board = ({ layout, resource, view }: BoardProps): ReactNode => {
  const [turn, setTurn] = useState(0)
  const [most, setMost] = useState(fewColumns)
  const { by } = layout
  const related = resource.fields.get(by)?.relation !== undefined
  // Another filter or order is another board: cards that were moved stand where their order has them.
  const board = JSON.stringify([turn, view.asked.filter, view.asked.order, view.deleted])
  const stands = useRef<{ readonly board: string; readonly moves: Moves<AnyRecord> }>({ board, moves: new Map() })
  const base = (): Moves<AnyRecord> => stands.current.board === board ? stands.current.moves : new Map()
  const counts = useCounts({ resource, query: view.asked, by, most: related ? most : 1_000, board, base })
  const groups = counts.data?.groups ?? null
  const total = groups === null || counts.data?.more === true
    ? null
    : groups.reduce((sum, { measures }) => sum + Number(measures["count"]), 0)
  const shown: Total | null = total === null ? null : { count: total, accuracy: "exact" }
  return (
    <LayoutFrame
      resource={resource}
      view={view}
      total={shown}
      failure={counts.data === undefined ? counts.error : null}
      onReload={() => setTurn(turn + 1)}
    >
      <Lanes
        key={board}
        resource={resource}
        view={view}
        layout={layout}
        groups={groups}
        counted={counts.data?.base ?? unmoved}
        board={board}
        stands={stands}
        recount={counts.data === undefined ? null : counts.refetch}
        onMore={related && counts.data?.more === true && most < mostColumns ? () => setMost(most + fewColumns) : null}
      />
    </LayoutFrame>
  )
}

interface LanesProps extends BoardProps {
  readonly groups: readonly Group[] | null
  /** The moves that the counts have. */
  readonly counted: Moves<AnyRecord>
  readonly board: string
  /** Where the board keeps its moves for the counts. */
  readonly stands: RefObject<{ readonly board: string; readonly moves: Moves<AnyRecord> }>
  /** Counts again; null where that is refused, or not done yet. */
  readonly recount: (() => Promise<unknown>) | null
  /** Shows more columns; null: there are no more. */
  readonly onMore: (() => void) | null
}

/** What the columns are called. */
const useLabels = (resource: Resource, by: string, columns: readonly BoardColumn[]) => {
  const { t } = useLocale()
  const field = resource.fields.get(by)
  const way = resource.related(by)
  const titles = useTitles(
    way?.target,
    way === undefined ? [] : columns.map(({ value }) => plain(value)),
    way?.targetField
  )
  return useCallback((id: string): string => {
    if (id === "") return t.layout.noValue(field === undefined ? by : fieldLabel(resource, by))
    const text = id.slice(1)
    return field?.relation === undefined ? short(enumText(text), 200) : titles.get(text) ?? `#${text}`
  }, [t, field, by, resource, titles])
}

const unmoved: Moves<AnyRecord> = new Map()

/** The columns, which stay where they stand when they are counted again. */
const useColumns = (field: MetaField | undefined, groups: readonly Group[] | null): readonly BoardColumn[] => {
  const known = useRef<readonly string[]>([])
  const columns = useMemo(() => field === undefined ? [] : keptOrder(boardColumns(field, groups), known.current), [
    field,
    groups
  ])
  useLayoutEffect(() => {
    if (groups !== null) known.current = columns.map(({ id }) => id)
  }, [columns, groups])
  return columns
}

/** Reads columns again that have other records than is known here. */
const useTruth = (
  columns: readonly BoardColumn[],
  counted: Moves<AnyRecord>,
  handles: ReadonlyMap<string, ColumnHandle>
): void => {
  const before = useRef({ columns, counted })
  useEffect(() => {
    const last = before.current
    before.current = { columns, counted }
    if (last.columns === columns && last.counted === counted) return
    for (const { count, id } of columns) {
      const known = last.columns.find((each) => each.id === id)?.count ?? null
      if (known !== null && count !== null && countAfter(known, counted, id, last.counted) !== count) {
        handles.get(id)?.reload()
      }
    }
  }, [columns, counted, handles])
}

/** The sums of a column as texts, one a currency. */
const sumsOf = (
  { base, sums }: Summed,
  moves: Moves<AnyRecord>,
  column: string,
  summed: NonNullable<ReturnType<typeof summedBy>>,
  format: Formats
): readonly string[] =>
  sums.size === 0
    ? []
    : [...sumsAfter(sums.get(column) ?? new Map<string, string>(), moves, column, { ...summed, base })]
      .map(([code, sum]) => `${format.number(sum)}${code === "" ? "" : ` ${code}`}`)

const useCanMove = (resource: Resource, by: string): (record: AnyRecord) => boolean => {
  const field = resource.fields.get(by)
  return useCallback(
    (record) =>
      resource.may.update && field?.writable.update === true && record.permissions?.update !== false &&
      record.permissions?.fields?.[by] !== "read",
    [resource, field, by]
  )
}

/** The focus follows the card that was moved, and the active one. */
const useFollowing = (
  wantsFocus: { current: string | null },
  board: RefObject<HTMLElement | null>
): void => {
  useLayoutEffect(() => {
    const key = wantsFocus.current
    if (key === null) return
    const card = [...board.current?.querySelectorAll<HTMLElement>("[data-key]") ?? []].find(({ dataset }) =>
      dataset["key"] === key
    )
    if (card === undefined) return
    wantsFocus.current = null
    card.focus({ preventScroll: true })
    card.closest("[data-column]")?.scrollIntoView({ block: "nearest", inline: "nearest" })
  })
}

interface OthersProps extends Pick<LanesProps, "resource" | "layout" | "stands" | "counted" | "recount"> {
  readonly columns: readonly BoardColumn[]
  readonly sums: ReturnType<typeof useSums>
  readonly handles: ReadonlyMap<string, ColumnHandle>
  readonly board: RefObject<HTMLElement | null>
  readonly name: string
  readonly query: RowsQuery
  readonly moves: Moves<AnyRecord>
  readonly setMoves: Moving["setMoves"]
  /** `focused`: the card that has the focus, and keeps it. `count`: how many cards others changed. */
  readonly onHeard: (focused: string | undefined, count: number) => void
}

/** What others change: the cards, which it marks, and what is counted. */
const useOthers = (props: OthersProps): LiveMarks => {
  const { board, columns, counted, handles, layout, moves, name, recount, stands, sums } = props
  useLayoutEffect(() => {
    stands.current = { board: name, moves }
  })
  useTruth(columns, counted, handles)
  return useHeard({
    resource: props.resource,
    query: props.query,
    by: layout.by,
    handles,
    moves,
    setMoves: props.setMoves,
    board,
    onHeard: ({ changed, gone, left }) => {
      const focused = document.activeElement === null ? undefined : cardAt(document.activeElement)?.key
      const count = changed.length + gone.length + left.length
      if (count > 0) props.onHeard(focused, count)
    },
    recount: async () => {
      await recount?.()
      await sums.again?.()
    }
  })
}

const Lanes = (props: LanesProps): ReactNode => {
  const { counted, groups, layout, onMore, resource, stands, view } = props
  const { format, t } = useLocale()
  const w = t.layout
  const { by } = layout
  const hint = useId()
  const field = resource.fields.get(by)
  const columns = useColumns(field, groups)
  const labelOf = useLabels(resource, by, columns)
  const sums = useSums({
    resource,
    query: view.asked,
    by,
    groups,
    board: props.board,
    base: () => stands.current.moves
  })
  const summed = summedBy(resource)
  const shown = useMemo(() => view.columns.filter(({ id }) => id !== by), [view.columns, by])
  const needs = useMemo(
    () => needsOf(resource, [by, ...cardFields(resource, shown).map(({ name }) => name)]),
    [resource, by, shown]
  )
  const handles = useRef(new Map<string, ColumnHandle>())
  const board = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState<{ readonly column: string; readonly index: number } | null>(null)
  const [held, setHeld] = useState<Held | null>(null)
  const [said, setSaid] = useState("")
  const wantsFocus = useRef<string | null>(null)
  const register = useCallback((id: string, handle: ColumnHandle | null): void => {
    if (handle === null) handles.current.delete(id)
    else handles.current.set(id, handle)
  }, [])
  const { move, moves, setMoves } = useMoves({
    resource,
    by,
    fields: needs.fields,
    expand: needs.expand,
    labelOf,
    onWritten: (key, record) => {
      for (const handle of handles.current.values()) handle.replace(key, record)
    },
    onPlaced: (key) => {
      if (document.activeElement === document.body || board.current?.contains(document.activeElement) === true) {
        wantsFocus.current = key
      }
    }
  })

  const marks = useOthers({
    ...props,
    columns,
    sums,
    handles: handles.current,
    board,
    name: props.board,
    query: { ...view.asked, ...needs },
    moves,
    setMoves,
    onHeard: (focused, count) => {
      if (focused !== undefined) wantsFocus.current = focused
      setSaid(w.heard(count, format.count(count)))
    }
  })

  useFollowing(wantsFocus, board)
  useLayoutEffect(firstPageIsThere, [])

  const canMove = useCanMove(resource, by)

  const events = boardEvents({
    resource,
    t,
    columns,
    handles: handles.current,
    board,
    labelOf,
    canMove,
    held,
    setHeld,
    say: setSaid,
    isSaving: (key) => moves.get(key)?.saving === true,
    move,
    onCard: (column, index, key) => {
      setActive({ column, index })
      wantsFocus.current = key
    }
  })
  const first = active?.column ?? columns.find(({ count }) => count !== 0)?.id

  return (
    <>
      <p id={hint} hidden>{w.hint}</p>
      <p className="hush" role="status">{said}</p>
      <div
        ref={board}
        role="group"
        aria-label={w.boardBy(fieldLabel(resource, by))}
        className={style.board}
        data-holding={held === null ? undefined : ""}
        onKeyDown={events.onKeyDown}
        onDragStart={events.onDragStart}
        onDragEnd={() => setHeld(null)}
        onFocus={(event) => {
          const now = cardAt(event.target)
          wantsFocus.current = null
          if (now !== null) setActive({ column: now.column, index: now.index })
        }}
      >
        {columns.map((column) => (
          <BoardLane
            key={column.id}
            resource={resource}
            id={column.id}
            value={column.value}
            label={labelOf(column.id)}
            count={column.count === null ? null : countAfter(column.count, moves, column.id, counted)}
            counted={column.count}
            sums={summed === null ? [] : sumsOf(sums, moves, column.id, summed, format)}
            layout={layout}
            query={{ ...view.asked, ...needs }}
            columns={shown}
            moves={moves}
            marks={marks}
            active={first === column.id ? active?.index ?? 0 : null}
            held={held?.key ?? null}
            over={held !== null && held.over === column.id && held.from !== column.id}
            hint={hint}
            canMove={canMove}
            register={register}
            onOver={() => held !== null && held.over !== column.id && setHeld({ ...held, over: column.id })}
            onDrop={() => held !== null && events.drop(held, column.id)}
          />
        ))}
        {onMore !== null && (
          <button type="button" className={`btn ${style.more}`} onClick={onMore}>{w.moreColumns}</button>
        )}
      </div>
    </>
  )
}
