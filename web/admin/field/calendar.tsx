/** A month of days to choose from, in the language of the app. By keyboard as in the pattern of APG for dates: arrows, Home, End, Page Up and Page Down. Loaded on use. */

import { ChevronLeft, ChevronRight } from "lucide-react"
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react"
import { useLocale } from "../messages/locale.tsx"
import { addDays, addMonths, weekday, weeksOf, weekStart } from "./calendar.ts"
import style from "./input.module.css"

interface CalendarProps {
  /** The chosen day as an ISO date, or null. */
  readonly value: string | null
  /** Today in the zone of the browser. */
  readonly today: string
  readonly onChoose: (date: string) => void
}

const utc = (date: string): number => Date.parse(`${date}T00:00:00Z`)

/** The day that a key leads to; null for other keys. */
const dayOf = (event: KeyboardEvent, day: string, start: number, forward: 1 | -1): string | null => {
  switch (event.key) {
    case "ArrowRight":
      return addDays(day, forward)
    case "ArrowLeft":
      return addDays(day, -forward)
    case "ArrowDown":
      return addDays(day, 7)
    case "ArrowUp":
      return addDays(day, -7)
    case "Home":
      return addDays(day, -((weekday(day) - start + 7) % 7))
    case "End":
      return addDays(day, 6 - (weekday(day) - start + 7) % 7)
    case "PageUp":
      return addMonths(day, event.shiftKey ? -12 : -1)
    case "PageDown":
      return addMonths(day, event.shiftKey ? 12 : 1)
    default:
      return null
  }
}

export const Calendar = ({ onChoose, today, value }: CalendarProps): ReactNode => {
  const { direction, format: { locale }, t } = useLocale()
  const [day, setDay] = useState(value ?? today)
  const grid = useRef<HTMLTableElement>(null)
  /** True once a key or the opening has moved to a day: then it has the focus. */
  const moves = useRef(true)
  useEffect(() => {
    if (moves.current) grid.current?.querySelector<HTMLElement>("[tabindex=\"0\"]")?.focus()
    moves.current = false
  }, [day])
  const start = weekStart(locale)
  const weeks = weeksOf(day, start)
  const named = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...options, calendar: "gregory", timeZone: "UTC" })
  const [month, whole, number] = [
    named({ month: "long", year: "numeric" }),
    named({ dateStyle: "full" }),
    named({ day: "numeric" })
  ]
  const longDay = named({ weekday: "long" })
  // 2024-01-01 was a Monday.
  const heads = Array.from({ length: 7 }, (_, at) => utc(addDays("2024-01-01", start - 1 + at)))
  const short = heads.map((time) => named({ weekday: "short" }).format(time))
  // Some languages have no short names.
  const names = short.every((name) => name.length <= 4)
    ? short
    : heads.map((time) => named({ weekday: "narrow" }).format(time))
  const turn = (months: number, label: string, icon: ReactNode): ReactNode => (
    <button
      type="button"
      className="btn quiet bare"
      aria-label={label}
      onClick={() => setDay(addMonths(day, months))}
    >
      {icon}
    </button>
  )
  return (
    <div className={style.calendar}>
      <div className={style.month}>
        {turn(-1, t.field.monthBefore, <ChevronLeft className="icon" data-flips="" aria-hidden="true" />)}
        <h2 aria-live="polite">{month.format(utc(day))}</h2>
        {turn(1, t.field.monthAfter, <ChevronRight className="icon" data-flips="" aria-hidden="true" />)}
      </div>
      <table
        ref={grid}
        role="grid"
        aria-label={month.format(utc(day))}
        onKeyDown={(event) => {
          const next = dayOf(event, day, start, direction === "rtl" ? -1 : 1)
          if (next === null) return
          event.preventDefault()
          moves.current = true
          setDay(next)
        }}
      >
        <thead>
          <tr>
            {heads.map((time, at) => <th key={time} scope="col" abbr={longDay.format(time)}>{names[at]}</th>)}
          </tr>
        </thead>
        <tbody>
          {weeks.map((week, at) => (
            <tr key={at}>
              {week.map((each, column) =>
                each === null ?
                  <td key={column} role="gridcell" /> :
                  (
                    <td key={column} role="gridcell" aria-selected={each === value}>
                      <button
                        type="button"
                        className={style.day}
                        tabIndex={each === day ? 0 : -1}
                        aria-label={whole.format(utc(each))}
                        aria-current={each === today ? "date" : undefined}
                        aria-pressed={each === value}
                        onClick={() => onChoose(each)}
                      >
                        {number.format(utc(each))}
                      </button>
                    </td>
                  )
              )}
            </tr>
          ))}
        </tbody>
      </table>
      <button type="button" className="btn quiet" onClick={() => onChoose(today)}>{t.field.today}</button>
    </div>
  )
}
