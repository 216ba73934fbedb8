/** All records of a day, beside or below the calendar, in one scroller. */

import { Plus, X } from "lucide-react"
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState
} from "react"
import { Link } from "../ground/link.tsx"
import type { LiveMarks } from "../live/marks.ts"
import { useLocale } from "../messages/locale.tsx"
import { keyOf, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import style from "./calendar.module.css"
import { Cards, type CardsProps, type ColumnHandle } from "./column.tsx"
import { nextIndex } from "./events.ts"
import type { Moves } from "./moved.ts"

const unmoved: Moves<AnyRecord> = new Map()
const unmarked: LiveMarks = new Map()

interface DayListProps extends Pick<CardsProps, "query" | "columns" | "held" | "hint" | "canMove"> {
  readonly resource: Resource
  readonly day: string
  readonly title: string
  /** How many records begin on the day; null: not known, or not all there are. */
  readonly count: number | null
  /** Increases when the records may be others. */
  readonly turn: number
  readonly handle: RefObject<ColumnHandle | null>
  /** The address of a new record on the day; null where none may be created. */
  readonly newAt: string | null
  /** Null: the list is always there. */
  readonly onClose: (() => void) | null
  readonly onKey: (event: KeyboardEvent, key: string, record: AnyRecord, index: number) => boolean
  readonly onShow: (record: AnyRecord, index: number) => void
}

export const DayList = (props: DayListProps): ReactNode => {
  const {
    canMove,
    columns,
    count,
    day,
    handle,
    held,
    hint,
    newAt,
    onClose,
    onKey,
    onShow,
    query,
    resource,
    title,
    turn
  } = props
  const { t } = useLocale()
  const name = useId()
  const box = useRef<HTMLElement>(null)
  const [active, setActive] = useState(0)
  const wanted = useRef<number | null>(null)
  const register = useCallback((_: string, own: ColumnHandle | null) => void (handle.current = own), [handle])
  const first = useRef(turn)
  useEffect(() => {
    if (turn !== first.current) handle.current?.reload()
    first.current = turn
  }, [turn, handle])
  useLayoutEffect(() => {
    if (wanted.current === null) return
    const card = box.current?.querySelector<HTMLElement>(`[data-index="${wanted.current}"]`)
    if (card == null) return
    wanted.current = null
    card.focus({ preventScroll: true })
  })

  const walk = (to: number): void => {
    const all = handle.current?.count() ?? 0
    if (all === 0) return
    const next = Math.min(Math.max(0, to), all - 1)
    wanted.current = next
    handle.current?.reveal(next)
    setActive(next)
    // It is drawn already, and this draws nothing again.
    const card = box.current?.querySelector<HTMLElement>(`[data-index="${next}"]`)
    if (next === active && card != null) card.focus({ preventScroll: true })
  }
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target instanceof HTMLButtonElement) return
    const card = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-index]") : null
    const index = card === null ? -1 : Number(card.dataset["index"])
    const record = index < 0 ? undefined : handle.current?.at(index)
    const key = record === undefined ? null : keyOf(resource, record)
    const to = nextIndex(event.key, index)
    if (to !== undefined) walk(to)
    else if (event.key === "Escape" && onClose !== null) onClose()
    else if (record === undefined || key === null || !onKey(event, key, record, index)) return
    event.preventDefault()
    event.stopPropagation()
  }

  return (
    <section
      ref={box}
      aria-labelledby={name}
      className={style.day}
      data-panel=""
      tabIndex={-1}
      onKeyDown={onKeyDown}
      onClickCapture={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
        const card = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-index]") : null
        const index = Number(card?.dataset["index"] ?? -1)
        const record = handle.current?.at(index)
        if (record === undefined) return
        event.preventDefault()
        onShow(record, index)
      }}
    >
      <header>
        <h2 id={name} className="grow cut">{title}</h2>
        {newAt !== null && (
          <Link
            to={newAt}
            className="btn quiet bare"
            aria-label={t.calendar.newOn(title)}
            title={t.calendar.newOn(title)}
          >
            <Plus className="icon" aria-hidden="true" />
          </Link>
        )}
        {onClose !== null && (
          <button type="button" className="btn quiet bare" aria-label={t.peek.close} onClick={onClose}>
            <X className="icon" aria-hidden="true" />
          </button>
        )}
      </header>
      <Cards
        key={day}
        resource={resource}
        id={day}
        label={title}
        query={query}
        count={count}
        columns={columns}
        moves={unmoved}
        marks={unmarked}
        active={active}
        held={held}
        hint={hint}
        canMove={canMove}
        register={register}
      />
    </section>
  )
}
