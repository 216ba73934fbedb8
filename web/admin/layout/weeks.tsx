/** The weeks of a calendar: a grid of days, with records as bars in them. */

import { Plus } from "lucide-react"
import { type ReactNode, type RefObject, useEffect, useState } from "react"
import { addDays } from "../field/calendar.ts"
import { dayNames } from "../field/day-names.ts"
import { isState, toneOf } from "../field/kind.ts"
import { Link } from "../ground/link.tsx"
import { useLocale } from "../messages/locale.tsx"
import { addressOf, type Resource, titlesOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { plain } from "../model/plain.ts"
import style from "./calendar.module.css"
import type { HeldRecord } from "./days-events.ts"
import type { DayFields, ShownDays } from "./days.ts"
import { type Bar, type Dated, type PlacedWeek, placeWeek } from "./placing.ts"

/** Heights in pixels: of the head of the weeks, of a day's number, of a record, and of the line below. */
const headHeight = 28
const numberHeight = 26
const barHeight = 26
const footHeight = 26

/** How many records fit on a day, from the height of the grid; 0: there is only room for their number. */
export const useLanes = (
  grid: RefObject<HTMLElement | null>,
  weeks: number,
  compact: boolean,
  most: number
): number => {
  const [lanes, setLanes] = useState(3)
  useEffect(() => {
    const element = grid.current
    if (element === null) return
    const measure = (): void => {
      const room = (element.clientHeight - headHeight) / weeks - numberHeight - footHeight
      setLanes(Math.min(most, Math.max(1, Math.floor(room / barHeight))))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [grid, weeks, most])
  return compact ? 0 : lanes
}

export interface WeeksProps {
  readonly resource: Resource
  readonly fields: DayFields
  readonly shown: ShownDays
  readonly grid: RefObject<HTMLDivElement | null>
  readonly label: string
  /** The month whose days are not dimmed; null: none is. */
  readonly month: string | null
  readonly today: string
  readonly active: { readonly day: string; readonly key: string | null }
  /** The day whose records are listed. */
  readonly open: string | null
  readonly held: HeldRecord | null
  readonly hint: string
  readonly lanes: number
  /** The records in order. */
  readonly records: readonly Dated<AnyRecord>[]
  readonly count: (day: string) => number | null
  /** Whether all records are known that began before a day and may reach into it. */
  readonly whole: (day: string) => boolean
  readonly isSaving: (key: string) => boolean
  readonly canMove: (record: AnyRecord) => boolean
  /** The address of a new record on a day; null where none may be created. */
  readonly newAt: (day: string) => string | null
  readonly onDay: (day: string) => void
  readonly onShow: (record: AnyRecord, key: string) => void
  readonly onOver: (day: string) => void
  readonly onDrop: (day: string) => void
}

const Chip = ({ bar, day, props }: {
  readonly bar: Bar<AnyRecord>
  readonly day: string
  readonly props: WeeksProps
}): ReactNode => {
  const { active, canMove, fields, held, hint, isSaving, onShow, resource } = props
  const { format } = useLocale()
  const { after, before, days, lane, of } = bar
  const saving = isSaving(of.key)
  const movable = !saving && canMove(of.record)
  const state = resource.model.fields.find((field) => isState(field) && of.record[field.name] != null)
  const start = of.record[fields.start.name]
  return (
    <Link
      to={addressOf(resource, of.key)}
      className={style.chip}
      style={{ inlineSize: `calc(${days} * (100% + 1px) - 7px)`, insetBlockStart: numberHeight + lane * barHeight }}
      data-key={of.key}
      data-days={days}
      data-before={before ? "" : undefined}
      data-after={after ? "" : undefined}
      data-held={held?.key === of.key ? "" : undefined}
      data-saving={saving ? "" : undefined}
      data-tone={state === undefined ? "plain" : toneOf(plain(of.record[state.name]))}
      draggable={movable}
      aria-describedby={movable ? hint : undefined}
      tabIndex={active.day === day ? 0 : -1}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
        event.preventDefault()
        onShow(of.record, of.key)
      }}
    >
      {fields.start.kind === "timestamp" && !before && typeof start === "string" && (
        <span className="num">{dayNames(format.locale).clock(start)}</span>
      )}
      <span dir="auto" className="cut">{titlesOf(resource, of.record).join(" · ")}</span>
    </Link>
  )
}

interface DayProps {
  readonly props: WeeksProps
  readonly day: string
  readonly at: number
  readonly placed: PlacedWeek<AnyRecord>
}

const Day = ({ at, day, placed, props }: DayProps): ReactNode => {
  const { active, count, held, lanes, month, newAt, onDay, onDrop, onOver, open, records, today, whole } = props
  const { format, t } = useLocale()
  const w = t.calendar
  const began = count(day)
  // What began here and is not known, and what is known but has no room. Spans that are known count on each of their days.
  const known = records.filter(({ first, last }) => first <= day && last >= day)
  const all = began === null
    ? null
    : Math.max(0, began - known.filter(({ first }) => first === day).length) + known.length
  const seen = known.length - (placed.left[at]?.length ?? 0)
  const more = lanes === 0 || all === null ? 0 : all - seen
  const least = all !== null && !whole(day)
  const names = dayNames(format.locale)
  const name = names.whole(day)
  const createAt = newAt(day)
  return (
    <div
      role="gridcell"
      aria-current={day === today ? "date" : undefined}
      aria-selected={open === day}
      className={style.cell}
      data-day={day}
      data-other={month !== null && !day.startsWith(month) ? "" : undefined}
      data-over={held?.over === day ? "" : undefined}
      tabIndex={active.day === day && active.key === null ? 0 : -1}
      onDragOver={(event) => {
        if (held === null) return
        event.preventDefault()
        onOver(day)
      }}
      onDrop={(event) => {
        event.preventDefault()
        onDrop(day)
      }}
      onClick={(event) => {
        if (lanes === 0 && !event.defaultPrevented) onDay(day)
      }}
    >
      <span className="hush">
        {all === null
          ? name
          : least
          ? w.dayWithAtLeast(name, format.count(all))
          : w.dayWith(name, all, format.count(all))}
      </span>
      <span className={style.top}>
        <button
          type="button"
          tabIndex={-1}
          className={style.number}
          aria-label={w.open(name)}
          onClick={() => onDay(day)}
        >
          <time dateTime={day}>{names.number(day)}</time>
        </button>
        {createAt !== null && lanes > 0 && (
          <Link to={createAt} tabIndex={-1} className={style.add} aria-label={w.newOn(name)} title={w.newOn(name)}>
            <Plus className="icon" aria-hidden="true" />
          </Link>
        )}
      </span>
      {placed.bars.filter((bar) => bar.at === at).map((bar) => (
        <Chip key={bar.of.key} bar={bar} day={day} props={props} />
      ))}
      {more > 0 && (
        <button
          type="button"
          className={style.more}
          data-more=""
          tabIndex={active.day === day ? 0 : -1}
          aria-label={least ? w.moreOnAtLeast(format.count(more), name) : w.moreOn(more, format.count(more), name)}
          onClick={() => onDay(day)}
        >
          {least
            ? w.moreAtLeast(format.count(more))
            : seen === 0
            ? w.count(more, format.count(more))
            : w.more(format.count(more))}
        </button>
      )}
      {lanes === 0 && all !== null && all > 0 && <span className={style.few}>{format.short(all)}{least && "+"}</span>}
    </div>
  )
}

export const Weeks = (props: WeeksProps): ReactNode => {
  const { grid, label, lanes, records, shown } = props
  const names = dayNames(useLocale().format.locale)
  const [first = ""] = shown.weeks[0] ?? []
  return (
    <div ref={grid} role="grid" aria-label={label} className={style.grid} data-compact={lanes === 0 ? "" : undefined}>
      <div role="row" className={style.heads}>
        {Array.from({ length: 7 }, (_, at) =>
          addDays(first, at)).map((day) => (
            <div key={day} role="columnheader" aria-label={names.weekday(day, "long")}>
              {names.weekday(day, "short")}
            </div>
          ))}
      </div>
      {shown.weeks.map((week) => {
        const placed = placeWeek(records, week, lanes)
        return (
          <div key={week[0]} role="row" className={style.week}>
            {week.map((day, at) => <Day key={day} props={props} day={day} at={at} placed={placed} />)}
          </div>
        )
      })}
    </div>
  )
}
