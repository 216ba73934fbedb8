/**
 * Records on the days of a month or a week, by one date or from one to another. Records are moved by the pointer and by keys: Space takes one, arrows choose a
 * day, Space or Enter puts it down, Escape puts it back. The address has the month, or the day of the week.
 */

import { type ReactNode, type RefObject, useCallback, useId, useLayoutEffect, useMemo, useRef, useState } from "react"
import type { Layout } from "../../../core/domain/model/layout.ts"
import { addDays, addMonths, weekStart } from "../field/calendar.ts"
import { dayNames } from "../field/day-names.ts"
import { isState } from "../field/kind.ts"
import { firstInstantOf, today as todayNow, writingOf } from "../field/moment.ts"
import type { GridHandle } from "../grid/grid.tsx"
import { firstPageIsThere } from "../ground/first-page.ts"
import { useShortcut } from "../ground/keys.ts"
import { go, setQuery, usePlace } from "../ground/location.ts"
import { useNarrow } from "../ground/narrow.ts"
import { problemText } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { WithPanel } from "../list/beside.tsx"
import { cardFields } from "../list/card.tsx"
import { needsOf } from "../list/needs.ts"
import type { Opening } from "../list/open.ts"
import { type Panel, usePeek } from "../list/peeking.ts"
import type { ListView } from "../list/view.ts"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel, keyOf, keyPartsOf, mostExpanded, recentNeeds, type Resource, titleOf } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { isolated } from "../model/plain.ts"
import { CalendarTools } from "./calendar-tools.tsx"
import style from "./calendar.module.css"
import type { ColumnHandle } from "./column.tsx"
import { both } from "./columns.ts"
import { DayList } from "./day-list.tsx"
import { calendarEvents, type HeldRecord } from "./days-events.ts"
import { type DayFields, dayIn, daysOf, lieOn, shownDays, type Span } from "./days.ts"
import { LayoutFrame } from "./frame.tsx"
import { type Dated, inOrder } from "./placing.ts"
import type { DayReader } from "./reading.ts"
import { canReschedule, useReschedule } from "./reschedule.ts"
import { useDays } from "./use-days.ts"
import { useLanes, Weeks } from "./weeks.tsx"

/** How many records of a full day are read, in a month and in a week. */
const fewIn = { month: 8, week: 40 } as const

export type CalendarLayout = Extract<Layout, { of: "calendar" }>

interface CalendarProps {
  readonly resource: Resource
  readonly view: ListView
  readonly layout: CalendarLayout
  readonly panel: Panel
}

/** What is asked of each record: its days, its title, and what a card of the day's list has. */
const useNeeds = (resource: Resource, view: ListView, { end, start }: DayFields) =>
  useMemo(() => {
    const states = resource.model.fields.filter(isState).slice(0, 1)
    const dates = [start, ...(end === null ? [] : [end])]
    const named = recentNeeds(resource)
    const own = needsOf(resource, [...dates, ...states, ...cardFields(resource, view.columns)].map(({ name }) => name))
    return {
      fields: [...new Set([...own.fields, ...named.fields])].toSorted(),
      expand: [...new Set([...named.expand ?? [], ...own.expand])].slice(0, mostExpanded).toSorted()
    }
  }, [resource, view.columns, start, end])

/** The known records of the shown days, in order; those on their way stand where they go. */
const useDated = (
  resource: Resource,
  reader: DayReader<AnyRecord>,
  fields: DayFields,
  moves: ReadonlyMap<string, AnyRecord>,
  { from, to }: { readonly from: string; readonly to: string }
): readonly Dated<AnyRecord>[] => {
  const { format: { locale } } = useLocale()
  const writing = writingOf(locale)
  const found: Dated<AnyRecord>[] = []
  // One that is on its way into sight may be known to nothing else.
  const known = new Map(Array.from(reader.records(), (record) => [keyOf(resource, record), record]))
  for (const [key, record] of [...known, ...moves]) {
    if (key === null || (record !== moves.get(key) && moves.has(key))) continue
    const days = daysOf(record, fields, writing.day)
    if (days === null || days.first >= to || days.last < from) continue
    found.push({ ...days, key, record, sort: String(record[fields.start.name]) })
  }
  return found.sort(inOrder)
}

/** The list that a record beside the calendar is walked in: that of the open day, else all records in sight. */
const useOpening = (
  resource: Resource,
  reader: DayReader<AnyRecord>,
  needs: ReturnType<typeof useNeeds>,
  records: readonly Dated<AnyRecord>[],
  listed: RefObject<ColumnHandle | null>,
  focus: (day: string, key: string | null, only?: "active") => void,
  activeKey: string | null
): Opening => {
  const rows: Opening["rows"] = {
    rowAt: (index) => listed.current === null ? records[index]?.record : listed.current.at(index),
    indexOf: (key) =>
      listed.current === null ? records.findIndex((each) => each.key === key) : listed.current.find(key),
    total: { count: listed.current === null ? records.length : listed.current.count(), accuracy: "exact" },
    replace: (key, record) => {
      const before = reader.get(key)
      if (before !== undefined) reader.put({ ...before, ...record })
      listed.current?.replace(key, record)
    },
    renew: async (key) => {
      const record = await resourceClient(resource.name).get(keyPartsOf(key), needs)
      if (reader.get(key) !== undefined) reader.put(record)
      listed.current?.replace(key, record)
    },
    reload: () => void reader.refresh()
  }
  const show = ({ row }: { readonly row?: number }, only?: "active"): void => {
    const of = row === undefined ? undefined : records[row]
    if (listed.current !== null) {
      if (row !== undefined) listed.current.reveal(row)
    } else if (of !== undefined) focus(of.first, of.key, only)
    else if (row === undefined) focus("", activeKey, only)
  }
  const handle = useRef<Pick<GridHandle, "focus" | "show" | "place" | "seen"> | null>(null)
  handle.current = {
    focus: (place) => show(place),
    show: (place) => show(place, "active"),
    place: () => ({ row: Math.max(0, records.findIndex(({ key }) => key === activeKey)), column: 0 }),
    seen: () => [0, 0]
  }
  return { resource, rows, handle, partial: true }
}

/** The day and the record with the focus. An empty day stands for the active one. */
const useFocus = (box: RefObject<HTMLElement | null>, begin: string) => {
  const [active, setActive] = useState<{ readonly day: string; readonly key: string | null }>({ day: begin, key: null })
  const wanted = useRef<{ readonly day: string; readonly key: string | null } | null>(null)
  const [, again] = useState(0)
  useLayoutEffect(() => {
    const to = wanted.current
    if (to === null) return
    const cells = [...box.current?.querySelectorAll<HTMLElement>("[role=gridcell]") ?? []]
    const chips = [...box.current?.querySelectorAll<HTMLElement>("[role=gridcell] [data-key]") ?? []]
    const found = chips.find(({ dataset }) => dataset["key"] === to.key) ??
      cells.find(({ dataset }) => dataset["day"] === to.day)
    if (found === undefined) return
    wanted.current = null
    found.focus()
  })
  const focus = useCallback((day: string, key: string | null, only?: "active"): void => {
    setActive((before) => {
      const next = { day: day === "" ? before.day : day, key }
      if (only === undefined) wanted.current = next
      return next
    })
    again((turn) => turn + 1)
  }, [])
  return { active, setActive, focus }
}

/** Whether the focus is in something beside the days that scrolls. */
const isListed = (): boolean => document.activeElement?.closest("[data-panel], [data-peek]") != null

export const Calendar = (props: CalendarProps): ReactNode => {
  const { layout, panel, resource, view } = props
  const fields = useMemo((): DayFields | null => {
    const [start, end] = layout.by.map((name) => resource.fields.get(name))
    return start === undefined ? null : { start, end: end ?? null }
  }, [resource, layout.by.join()])
  return fields === null
    ? null
    : <Mounted resource={resource} view={view} layout={layout} panel={panel} fields={fields} />
}

/** What the address shows. */
const useShown = (layout: CalendarLayout) => {
  const { format: { locale } } = useLocale()
  const { query } = usePlace()
  const narrow = useNarrow()
  const span: Span = layout.span ?? "month"
  const start = weekStart(locale)
  const today = todayNow()
  const day = dayIn(query.get("at"), today)
  const shown = useMemo(() => shownDays(day, span, start), [day, span, start])
  const listed = query.get("day") ?? (narrow ? day : null)
  const names = dayNames(locale)
  return {
    span,
    start,
    today,
    day,
    shown,
    narrow,
    names,
    /** The day whose records are listed. */
    openDay: listed === null ? null : dayIn(listed, today),
    period: span === "month" ? names.month(day) : names.span(shown.from, addDays(shown.to, -1))
  }
}

/** The address of a new record on a day; null where none may be created. */
const newAddress = (resource: Resource, { start }: DayFields, day: string): string | null => {
  if (!resource.may.create || !start.writable.create) return null
  const value = start.kind === "date" ? day : firstInstantOf(day)
  return `/${resource.name}/new?${String(new URLSearchParams({ [start.name]: value }))}`
}

type MountedProps = CalendarProps & { readonly fields: DayFields }

/** What the calendar shows and does; what is drawn of it stands below. */
const useCalendar = ({ fields, layout, resource, view }: MountedProps) => {
  const { format, t } = useLocale()
  const on = useShown(layout)
  const { day, names, narrow, shown, span, start, today } = on
  const box = useRef<HTMLDivElement>(null)
  const grid = useRef<HTMLDivElement>(null)
  const listed = useRef<ColumnHandle>(null)
  const [said, setSaid] = useState("")
  const [held, setHeld] = useState<HeldRecord | null>(null)
  const needs = useNeeds(resource, view, fields)
  const few = narrow ? 0 : fewIn[span]
  // Of a full month the days around this one are read: its first ones, where today is elsewhere.
  const around = today >= shown.from && today < shown.to ? today : addDays(day, 3)
  const reader = useDays({ resource, query: { ...view.asked, ...needs }, fields, shown, few, around })
  const lanes = useLanes(grid, shown.weeks.length, narrow, few)
  const { active, focus: focusOn, setActive } = useFocus(box, day)
  useLayoutEffect(firstPageIsThere, [])

  /** The days around one come into sight. */
  const showDay = (to: string): void =>
    setQuery({ at: span === "month" ? to.slice(0, 7) : to, ...(narrow ? { day: to } : {}) })
  const focus = useCallback((to: string, key: string | null, only?: "active"): void => {
    const outside = to !== "" && (to < shown.from || to >= shown.to)
    if (outside) showDay(to)
    focusOn(to, key, only)
  }, [shown, span, narrow, focusOn])
  const step = (by: 1 | -1): void => {
    const at = span === "month" ? addMonths(`${day.slice(0, 7)}-01`, by) : addDays(day, 7 * by)
    showDay(at)
    focusOn(at, null, grid.current?.contains(document.activeElement) === true ? undefined : "active")
  }
  const { move, moves } = useReschedule({
    resource,
    fields,
    reader,
    needs,
    onPlaced: (key, to) => {
      const within = document.activeElement === document.body || grid.current?.contains(document.activeElement) === true
      if (within && to >= shown.from && to < shown.to) focusOn(to, key)
    }
  })
  const records = useDated(resource, reader, fields, moves, shown)
  const opening = useOpening(resource, reader, needs, records, listed, focus, active.key)
  const peek = usePeek(opening)
  const canMove = useCallback((record: AnyRecord) => canReschedule(resource, fields, record), [resource, fields])
  const indexOf = (key: string): number => opening.rows.indexOf(key)
  const events = calendarEvents({
    span,
    start,
    held,
    setHeld,
    find: (key) => moves.has(key) ? undefined : reader.get(key),
    canMove,
    move,
    focus,
    tell: {
      taken: ({ from, record }) =>
        setSaid(t.calendar.taken(isolated(titleOf(resource, record)), isolated(format.date(from)))),
      over: (to) => setSaid(t.layout.over(isolated(names.whole(to)))),
      putBack: () => setSaid(t.layout.putBack),
      notWritable: () => void say(t.list.notWritable)
    },
    openDay: (to) => {
      setQuery({ day: to })
      requestAnimationFrame(() => box.current?.querySelector<HTMLElement>("[data-panel]")?.focus())
    },
    open: (key, record) => peek.open(record, indexOf(key)),
    peek: (key, record) => peek.toggle(record, indexOf(key)),
    create: (to) => {
      const address = newAddress(resource, fields, to)
      if (address !== null) go(address)
    }
  })
  useShortcut("PageUp", () => isListed() ? false : step(-1))
  useShortcut("PageDown", () => isListed() ? false : step(1))
  useShortcut("t", () => focus(today, null))
  return {
    ...on,
    box,
    grid,
    listed,
    said,
    held,
    setHeld,
    needs,
    reader,
    lanes,
    active: active.day >= shown.from && active.day < shown.to ? active : { day, key: null },
    setActive,
    focus,
    step,
    moves,
    records,
    opening,
    peek,
    canMove,
    events,
    newAt: (to: string): string | null => newAddress(resource, fields, to),
    show: (record: AnyRecord, key: string): void => peek.show(record, indexOf(key))
  }
}

const Mounted = (props: MountedProps): ReactNode => {
  const { fields, layout, panel, resource, view } = props
  const { t } = useLocale()
  const hint = useId()
  const of = useCalendar(props)
  const { box, canMove, day, events, focus, held, listed, narrow, needs, newAt, openDay, period, reader, setHeld } = of
  const { active, shown, span } = of
  return (
    <WithPanel {...of.opening} peek={of.peek} panel={panel} savedAt={null}>
      <LayoutFrame
        resource={resource}
        view={view}
        total={null}
        failure={reader.failure}
        onReload={() => void reader.refresh()}
      >
        <p id={hint} hidden>{t.calendar.hint}</p>
        <p className="hush" role="status">{of.said}</p>
        <div
          ref={box}
          className={style.calendar}
          data-calendar=""
          onKeyDown={events.onKeyDown}
          onDragStart={(event) => {
            const card = event.target instanceof Element
              ? event.target.closest<HTMLElement>("[data-panel] [data-key]")
              : null
            const key = card?.dataset["key"]
            const record = key === undefined ? undefined : listed.current?.at(listed.current.find(key))
            if (key === undefined || record === undefined || openDay === null) events.onDragStart(event)
            else events.onDragStart(event, { key, record, day: openDay })
          }}
          onDragEnd={() => setHeld(null)}
          onFocus={({ target }) => {
            const cell = target.closest<HTMLElement>("[data-day]")?.dataset["day"]
            const key = target.closest<HTMLElement>("[data-key]")?.dataset["key"] ?? null
            if (cell !== undefined && (cell !== active.day || key !== active.key)) of.setActive({ day: cell, key })
          }}
        >
          <CalendarTools
            resource={resource}
            view={view}
            layout={layout}
            fields={fields}
            period={period}
            total={reader.total(shown.from, shown.to)}
            turn={reader.turn}
            onStep={of.step}
            onToday={() => focus(of.today, null, "active")}
          />
          {reader.reachFailure !== undefined && (
            <p className={style.note} role="status">{t.calendar.earlierLeft} {problemText(reader.reachFailure, t)}</p>
          )}
          <div className={style.area} data-compact={narrow ? "" : undefined}>
            <Weeks
              resource={resource}
              fields={fields}
              shown={shown}
              grid={of.grid}
              label={t.calendar.named(fieldLabel(resource, fields.start.name), period)}
              month={span === "month" ? day.slice(0, 7) : null}
              today={of.today}
              active={active}
              open={openDay}
              held={held}
              hint={hint}
              lanes={of.lanes}
              records={of.records}
              count={(on) => reader.count(on)}
              whole={(on) => fields.end === null || reader.whole(on)}
              isSaving={(key) => of.moves.has(key)}
              canMove={canMove}
              newAt={newAt}
              onDay={(on) => setQuery({ day: on, ...(narrow ? { at: span === "month" ? on.slice(0, 7) : on } : {}) })}
              onShow={of.show}
              onOver={(over) => held !== null && held.over !== over && setHeld({ ...held, over })}
              onDrop={(over) => held !== null && events.drop(held, over)}
            />
            {openDay !== null && (
              <DayList
                resource={resource}
                day={openDay}
                title={of.names.whole(openDay)}
                query={{
                  ...view.asked,
                  ...needs,
                  order: fields.start.name,
                  filter: both(view.filter, lieOn(resource, fields, openDay))
                }}
                columns={view.columns}
                count={fields.end === null ? reader.count(openDay) : null}
                turn={reader.turn}
                handle={listed}
                held={held?.key ?? null}
                hint={hint}
                canMove={canMove}
                newAt={newAt(openDay)}
                onClose={narrow ? null : () => {
                  setQuery({ day: null })
                  focus(openDay, null)
                }}
                onKey={(event, key, record) => events.onRecord(event.key, key, record, openDay)}
                onShow={of.peek.show}
              />
            )}
          </div>
        </div>
      </LayoutFrame>
    </WithPanel>
  )
}
