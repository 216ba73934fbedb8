/** A column of a board: its head, and its cards in one scroller over all its records. Records are read when they come into sight. */

import {
  memo,
  type ReactNode,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState
} from "react"
import type { Column } from "../grid/columns.ts"
import { useScrolling } from "../grid/scroll.ts"
import { Link } from "../ground/link.tsx"
import { Problem } from "../ground/problem.tsx"
import type { RowsQuery } from "../list/asked.ts"
import { Card } from "../list/card.tsx"
import { useRows } from "../list/rows.ts"
import type { LiveMark, LiveMarks } from "../live/marks.ts"
import { useLocale } from "../messages/locale.tsx"
import { addressOf, keyOf, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import style from "./layout.module.css"
import { arrange, type Moves } from "./moved.ts"

/** The height of a card with the room below it, in pixels. */
const cardHeight = 80

/** What the board asks a column for. */
export interface ColumnHandle {
  readonly count: () => number
  readonly at: (index: number) => AnyRecord | undefined
  readonly find: (key: string) => number
  readonly reveal: (index: number) => void
  readonly replace: (key: string, record: AnyRecord) => void
  readonly replaceAll: (records: ReadonlyMap<string, AnyRecord>) => void
  /** Whether the rows have a card, wherever it is drawn. */
  readonly holds: (key: string) => boolean
  /** The cards that are seen. */
  readonly inSight: () => readonly AnyRecord[]
  /** Reads the records again. */
  readonly reload: () => void
}

export interface CardsProps {
  readonly resource: Resource
  readonly id: string
  readonly label: string
  readonly query: RowsQuery
  /** How many records there are; null: not known. */
  readonly count: number | null
  readonly columns: readonly Column[]
  readonly moves: Moves<AnyRecord>
  /** Cards that others changed. */
  readonly marks: LiveMarks
  /** The number of the active card, or null where another column has it. */
  readonly active: number | null
  /** The key of the card that is held. */
  readonly held: string | null
  readonly hint: string
  readonly canMove: (record: AnyRecord) => boolean
  readonly register: (id: string, handle: ColumnHandle | null) => void
}

interface CardLineProps {
  readonly resource: Resource
  readonly record: AnyRecord | undefined
  readonly columns: readonly Column[]
  readonly index: number
  readonly count: number
  readonly top: number
  readonly active: boolean
  readonly held: boolean
  readonly saving: boolean
  readonly movable: boolean
  readonly mark: LiveMark | undefined
  readonly hint: string
}

const CardLine = memo((props: CardLineProps): ReactNode => {
  const { t } = useLocale()
  const { active, columns, count, held, hint, index, mark, movable, record, resource, saving, top } = props
  const key = record === undefined ? null : keyOf(resource, record)
  const card = record === undefined ? null : <Card resource={resource} record={record} columns={columns} />
  const shared = {
    className: style.card,
    "data-index": index,
    "data-key": key ?? undefined,
    "data-held": held ? "" : undefined,
    "data-saving": saving ? "" : undefined,
    "data-mark": mark,
    title: mark === "left" ? t.live.left : mark === "gone" ? t.layout.gone : undefined,
    tabIndex: active ? 0 : -1
  }
  return (
    <div
      role="listitem"
      aria-posinset={index + 1}
      aria-setsize={count}
      aria-busy={record === undefined ? true : undefined}
      className={style.place}
      style={{ transform: `translateY(${top}px)` }}
    >
      {key === null
        ? <div {...shared}>{card}</div>
        : (
          <Link
            {...shared}
            to={addressOf(resource, key)}
            draggable={movable}
            aria-describedby={movable ? hint : undefined}
          >
            {card}
          </Link>
        )}
    </div>
  )
})

const useMountedColumn = (props: CardsProps) => {
  const { count, id, moves, query, register, resource } = props
  const rows = useRows(resource, query, 0)
  const known = rows.total?.count ?? 0
  // A page knows the end of its rows. An estimate is less than what was counted.
  const all = rows.total?.accuracy === "exact" ? known : Math.max(known, count ?? 0)
  const cards = arrange({ count: rows.total === null ? 0 : all, rowAt: rows.rowAt, indexOf: rows.indexOf }, moves, id)
  const latest = useRef({ cards, rows })
  latest.current = { cards, rows }
  const want = useCallback((first: number, last: number, moving: boolean): void => {
    const { cards, rows } = latest.current
    if (last > first) rows.want(Math.max(0, cards.row(first)), cards.row(last - 1) + 1, moving)
  }, [])
  const scrolling = useScrolling({
    rows: cards.count,
    rowHeight: cardHeight,
    headHeight: 0,
    tail: 8,
    top: 0,
    want,
    onSeen: undefined
  })
  const own = useRef<ColumnHandle>(null)
  useImperativeHandle(own, () => ({
    count: () => latest.current.cards.count,
    at: (index) => latest.current.cards.at(index),
    find: (key) => latest.current.cards.find(key),
    reveal: scrolling.reveal,
    replace: (key, record) => latest.current.rows.replace(key, record),
    replaceAll: (records) => latest.current.rows.replaceAll(records),
    holds: (key) => latest.current.rows.indexOf(key) >= 0,
    inSight: () => {
      const { cards } = latest.current
      const [first, last] = scrolling.seen()
      const seen: AnyRecord[] = []
      for (let index = first; index <= Math.min(last, cards.count - 1); index++) {
        const record = cards.at(index)
        if (record !== undefined) seen.push(record)
      }
      return seen
    },
    reload: () => latest.current.rows.reload()
  }))
  useLayoutEffect(() => {
    register(id, own.current)
    return () => register(id, null)
  }, [id, register])
  return { cards, rows, scrolling }
}

export const Cards = (props: CardsProps): ReactNode => {
  const { active, canMove, columns, held, hint, label, marks, moves, resource } = props
  const { t } = useLocale()
  const { cards, rows, scrolling } = useMountedColumn(props)
  const { body, scroller, view } = scrolling
  const indexes: number[] = []
  for (let index = view.first; index < Math.min(view.last, cards.count); index++) indexes.push(index)
  // The card with the focus stays in the document, because otherwise the page would get the focus.
  if (active !== null && active < cards.count && (active < view.first || active >= view.last)) indexes.push(active)
  return (
    <div ref={scroller} className={style.cards} data-cards="">
      {rows.failure !== undefined && <Problem error={rows.failure} onRetry={rows.retry} />}
      {rows.total !== null && cards.count === 0 && <p className={`dim ${style.none}`}>{t.layout.none}</p>}
      <div
        ref={body}
        role={cards.count === 0 ? undefined : "list"}
        aria-label={cards.count === 0 ? undefined : label}
        className={style.body}
        style={{ height: view.scale.physical + view.scale.viewport }}
      >
        {indexes.map((index) => {
          const record = cards.at(index)
          const key = record === undefined ? null : keyOf(resource, record)
          const saving = key !== null && moves.get(key)?.saving === true
          return (
            <CardLine
              key={index}
              resource={resource}
              record={record}
              columns={columns}
              index={index}
              count={cards.count}
              top={index * cardHeight - view.shift}
              active={active === index}
              held={key !== null && held === key}
              saving={saving}
              mark={key === null ? undefined : marks.get(key)}
              movable={record !== undefined && !saving && canMove(record)}
              hint={hint}
            />
          )
        })}
      </div>
    </div>
  )
}

/** True once the element was in sight, so that a column far to the side reads nothing. */
export const useWasSeen = () => {
  const ref = useRef<HTMLElement>(null)
  const [seen, setSeen] = useState(false)
  useEffect(() => {
    const element = ref.current
    if (element === null || seen) return
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true)
    }, { rootMargin: "0px 300px" })
    observer.observe(element)
    return () => observer.disconnect()
  }, [seen])
  return { ref, seen }
}
