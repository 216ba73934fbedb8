/** What keys and the pointer do on a calendar. The calendar itself decides what a move is. */

import type { DragEvent, KeyboardEvent, PointerEvent } from "react"
import { addDays, addMonths, weekday } from "../field/calendar.ts"
import type { AnyRecord } from "../model/client.ts"
import { daysFrom, type Span } from "./days.ts"

/** A record that is held: the day where it was taken, and the one that it is over. */
export interface HeldRecord {
  readonly key: string
  readonly record: AnyRecord
  readonly from: string
  readonly over: string
  readonly byKeys: boolean
}

/** The day of an element, and the record if it is one's. */
const spotAt = (target: EventTarget | null) => {
  const element = target instanceof Element ? target : null
  const chip = element?.closest<HTMLElement>("[data-key]")
  const day = element?.closest<HTMLElement>("[data-day]")?.dataset["day"]
  return day === undefined ? null : { day, key: chip?.dataset["key"] ?? null, chip: chip ?? null }
}

/** The day of a span that the pointer has taken it by. */
const dayUnder = (event: Pick<PointerEvent, "clientX">, chip: HTMLElement, day: string): string => {
  const days = Number(chip.dataset["days"] ?? 1)
  const { left, right, width } = chip.getBoundingClientRect()
  const from = getComputedStyle(chip).direction === "rtl" ? right - event.clientX : event.clientX - left
  return width === 0 ? day : addDays(day, Math.min(days - 1, Math.max(0, Math.floor(from / width * days))))
}

/** The day that a key leads to; null for other keys. */
const dayBy = (
  key: string,
  day: string,
  of: { readonly span: Span; readonly start: number; readonly forward: 1 | -1 }
): string | null => {
  const inWeek = (weekday(day) - of.start + 7) % 7
  switch (key) {
    case "ArrowRight":
      return addDays(day, of.forward)
    case "ArrowLeft":
      return addDays(day, -of.forward)
    case "ArrowDown":
      return addDays(day, 7)
    case "ArrowUp":
      return addDays(day, -7)
    case "Home":
      return addDays(day, -inWeek)
    case "End":
      return addDays(day, 6 - inWeek)
    case "PageUp":
      return of.span === "month" ? addMonths(day, -1) : addDays(day, -7)
    case "PageDown":
      return of.span === "month" ? addMonths(day, 1) : addDays(day, 7)
    default:
      return null
  }
}

interface CalendarState {
  readonly span: Span
  /** The first day of a week, 1 for Monday to 7. */
  readonly start: number
  readonly held: HeldRecord | null
  readonly setHeld: (held: HeldRecord | null) => void
  /** The record of a key, if it is known and nothing of it is under way. */
  readonly find: (key: string) => AnyRecord | undefined
  readonly canMove: (record: AnyRecord) => boolean
  readonly move: (key: string, record: AnyRecord, days: number) => void
  /** Moves the focus: to a day, or to a record on it. */
  readonly focus: (day: string, key: string | null) => void
  /** Tells screen readers. */
  readonly tell: {
    readonly taken: (held: HeldRecord) => void
    readonly over: (day: string) => void
    readonly putBack: () => void
    readonly notWritable: () => void
  }
  readonly openDay: (day: string) => void
  readonly open: (key: string, record: AnyRecord) => void
  readonly peek: (key: string, record: AnyRecord) => void
  readonly create: (day: string) => void
}

export const calendarEvents = (state: CalendarState) => {
  const { canMove, find, focus, held, move, setHeld, tell } = state

  const drop = (record: HeldRecord, over: string): void => {
    setHeld(null)
    const days = daysFrom(record.from, over)
    if (days === 0) focus(over, record.key)
    else move(record.key, record.record, days)
  }
  const take = (key: string, record: AnyRecord, day: string): void => {
    if (!canMove(record)) return tell.notWritable()
    const next: HeldRecord = { key, record, from: day, over: day, byKeys: true }
    setHeld(next)
    tell.taken(next)
    focus(day, null)
  }
  const putBack = (): void => {
    setHeld(null)
    tell.putBack()
  }
  /** Keys on the days while a record is held. False for keys of the browser; those that write are kept from the page's shortcuts. */
  const whileHeld = (record: HeldRecord, key: string, forward: 1 | -1): boolean => {
    if (key === "Escape") return putBack(), focus(record.from, record.key), true
    if (key === " " || key === "Enter") return drop(record, record.over), true
    const over = dayBy(key, record.over, { ...state, forward })
    if (over === null) return key.length === 1
    setHeld({ ...record, over })
    tell.over(over)
    focus(over, null)
    return true
  }
  /** Keys on a record. True if the key was one of them. */
  const onRecord = (pressed: string, key: string, record: AnyRecord, day: string): boolean => {
    if (pressed === " ") take(key, record, day)
    else if (pressed === "Enter") state.open(key, record)
    else if (pressed === "p") state.peek(key, record)
    else return false
    return true
  }
  /** The record before or after one among those of its day. */
  const beside = (chip: HTMLElement, step: number): HTMLElement | undefined => {
    const all = [...chip.closest("[role=gridcell]")?.querySelectorAll<HTMLElement>("[data-key]") ?? []]
    return all[all.indexOf(chip) + step]
  }
  const onChip = (
    pressed: string,
    spot: { readonly day: string; readonly key: string; readonly chip: HTMLElement }
  ): boolean => {
    const record = find(spot.key)
    if (record !== undefined && onRecord(pressed, spot.key, record, spot.day)) return true
    if (pressed === "Escape") return focus(spot.day, null), true
    if (pressed !== "ArrowDown" && pressed !== "ArrowUp") return false
    const next = beside(spot.chip, pressed === "ArrowDown" ? 1 : -1)
    focus(spot.day, next?.dataset["key"] ?? (pressed === "ArrowUp" ? null : spot.key))
    return true
  }

  return {
    drop,
    onRecord,
    onKeyDown: (event: KeyboardEvent<HTMLElement>): void => {
      const { key, target } = event
      const spot = spotAt(target)
      if (event.altKey || event.ctrlKey || event.metaKey) return
      const forward = getComputedStyle(event.currentTarget).direction === "rtl" ? -1 : 1
      if (held !== null && key !== "Tab" && key !== "Shift") {
        // Outside the days a key belongs to what has the focus: a button, a menu. Escape puts the record back from everywhere.
        if (spot === null && key !== "Escape") return putBack()
        if (!whileHeld(held, key, forward)) return
      } else if (spot === null || target instanceof HTMLButtonElement) return
      else if (
        spot.key !== null && spot.chip !== null && onChip(key, { day: spot.day, key: spot.key, chip: spot.chip })
      ) {
        // The key was the record's.
      } else if (key === "Enter" || key === " ") state.openDay(spot.day)
      else if (key === "n") state.create(spot.day)
      else {
        const day = dayBy(key, spot.day, { ...state, forward })
        if (day === null) return
        focus(day, null)
      }
      event.preventDefault()
      event.stopPropagation()
    },
    onDragStart: (
      event: DragEvent,
      at?: { readonly key: string; readonly record: AnyRecord; readonly day: string }
    ): void => {
      const spot = spotAt(event.target)
      const key = at?.key ?? spot?.key ?? null
      const record = at?.record ?? (key === null ? undefined : find(key))
      if (key === null || record === undefined || !canMove(record)) return event.preventDefault()
      const from = at?.day ?? (spot?.chip == null ? spot?.day : dayUnder(event, spot.chip, spot.day))
      if (from === undefined) return event.preventDefault()
      event.dataTransfer.effectAllowed = "move"
      setHeld({ key, record, from, over: from, byKeys: false })
    }
  }
}
