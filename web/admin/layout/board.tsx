/**
 * Records as cards in the columns of an enum, or of the records that they lead to. Cards are moved by the pointer and by keys: Space takes a card, arrows choose
 * a column, Space or Enter puts it down, Escape puts it back.
 */

import { type ReactNode, useCallback, useId, useLayoutEffect, useMemo, useRef, useState } from "react"
import type { Layout } from "../../../core/domain/model/layout.ts"
import { enumText } from "../field/text.ts"
import { useTitles } from "../field/titles.ts"
import { firstPageIsThere } from "../ground/first-page.ts"
import { cardFields } from "../list/card.tsx"
import { needsOf } from "../list/needs.ts"
import type { Total } from "../list/total.ts"
import type { ListView } from "../list/view.ts"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { plain, short } from "../model/plain.ts"
import type { ColumnHandle } from "./column.tsx"
import { type BoardColumn, boardColumns, type Group } from "./columns.ts"
import { boardEvents, cardAt, type Held } from "./events.ts"
import { LayoutFrame } from "./frame.tsx"
import { summedBy, useCounts, useSums } from "./groups.ts"
import { BoardLane } from "./lane.tsx"
import style from "./layout.module.css"
import { countAfter, sumsAfter } from "./moved.ts"
import { useMoves } from "./moves.ts"

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
  const counts = useCounts({ resource, query: view.asked, by, most: related ? most : 1_000, turn })
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
      failure={counts.error}
      onReload={() => setTurn(turn + 1)}
    >
      {/* Another filter or order is another board: cards that were moved stand where their order has them. */}
      <Lanes
        key={JSON.stringify([turn, view.asked.filter, view.asked.order, view.deleted])}
        resource={resource}
        view={view}
        layout={layout}
        groups={groups}
        turn={turn}
        onMore={related && counts.data?.more === true && most < mostColumns ? () => setMost(most + fewColumns) : null}
      />
    </LayoutFrame>
  )
}

interface LanesProps extends BoardProps {
  readonly groups: readonly Group[] | null
  readonly turn: number
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

const Lanes = ({ groups, layout, onMore, resource, turn, view }: LanesProps): ReactNode => {
  const { format, t } = useLocale()
  const w = t.layout
  const { by } = layout
  const hint = useId()
  const field = resource.fields.get(by)
  const columns = useMemo(() => field === undefined ? [] : boardColumns(field, groups), [field, groups])
  const labelOf = useLabels(resource, by, columns)
  const sums = useSums({ resource, query: view.asked, by, groups, turn })
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
  const { move, moves } = useMoves({
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

  // The focus follows the card that was moved, and the active one.
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
  useLayoutEffect(firstPageIsThere, [])

  const canMove = useCallback(
    (record: AnyRecord): boolean =>
      resource.may.update && field?.writable.update === true && record.permissions?.update !== false &&
      record.permissions?.fields?.[by] !== "read",
    [resource, field, by]
  )

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
            count={column.count === null ? null : countAfter(column.count, moves, column.id)}
            counted={column.count}
            sums={summed === null || sums.size === 0
              ? []
              : [...sumsAfter(sums.get(column.id) ?? new Map<string, string>(), moves, column.id, summed)]
                .map(([code, sum]) => `${format.number(sum)}${code === "" ? "" : ` ${code}`}`)}
            layout={layout}
            query={{ ...view.asked, ...needs }}
            columns={shown}
            moves={moves}
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
