/**
 * Dates and times as people of one locale write them, from wire form and back. Whatever a form of writing cannot hold is shown as it is, and stays so while
 * nobody changes it. Times are in the browser's zone. It draws nothing.
 */

import { isDate, timestampCell } from "../../../core/domain/value/instant.ts"
import { timeCell } from "../../../core/domain/value/time.ts"

export type MomentKind = "date" | "timestamp" | "time"

/** A part of a moment that the arrow keys change. */
type Part = "year" | "month" | "day" | "hour" | "minute" | "second" | "period" | "fraction"

/** A time on a clock of the wall. `fraction`: digits after the second, as many as are known. */
interface Wall {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly fraction: string
}

/** A text with the part of it that a key has changed, and its value. */
export interface Stepped {
  readonly text: string
  readonly value: string
  readonly start: number
  readonly end: number
}

/** What stands for the parts of a date in a language. */
export type Letters = Readonly<Record<"day" | "month" | "year", string>>

export interface Writing {
  /** A value as one writes it: the last day of a year, which shows the order of its parts. */
  readonly example: (kind: MomentKind) => string
  /** The same with letters in the place of numbers. */
  readonly pattern: (kind: MomentKind, letters: Letters) => string
  /** The text of a value that can be edited. */
  readonly text: (kind: MomentKind, value: string) => string
  /**
   * The value of a text in this way of writing, or in ISO's; null if it is none. `held`: the value before, which stays where the text says the same, and
   * decides between the two times of an hour that comes twice.
   */
  readonly read: (kind: MomentKind, text: string, held: string) => string | null
  /** The text after the part at the caret was raised or lowered; null if there is nothing to change. */
  readonly step: (kind: MomentKind, text: string, caret: number, by: number, held: string) => Stepped | null
  /** The day of a value as an ISO date, in the browser's zone; null where it has none. */
  readonly day: (kind: MomentKind, value: string) => string | null
  /** The value on another day, at the same time; at midnight where there was none. Null: there is no such time. */
  readonly onDay: (kind: MomentKind, value: string, day: string) => string | null
  /** The short name of the browser's zone, as it is called at that time. */
  readonly zone: (value: string) => string
}

const two = (value: number): string => String(value).padStart(2, "0")
const four = (value: number): string => String(value).padStart(4, "0")
const dateText = ({ day, month, year }: Pick<Wall, "year" | "month" | "day">): string =>
  `${four(year)}-${two(month)}-${two(day)}`

/** Years before 100 are years, too, which the constructor of dates does not know. */
const utcOf = ({ day, hour, minute, month, second, year }: Wall): number => {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.setUTCHours(hour, minute, second, 0)
}

const wallOfUtc = (time: number, fraction: string): Wall => {
  const date = new Date(time)
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    fraction
  }
}

const wallOfLocal = (time: number, fraction: string): Wall => {
  const date = new Date(time)
  return {
    year: date.getFullYear(),
    month: date.getMonth() + 1,
    day: date.getDate(),
    hour: date.getHours(),
    minute: date.getMinutes(),
    second: date.getSeconds(),
    fraction
  }
}

/** Whether such a day and such a time exist, in any zone. */
const exists = (wall: Wall): boolean => {
  const found = wallOfUtc(utcOf(wall), wall.fraction)
  return found.day === wall.day && found.month === wall.month && found.hour === wall.hour &&
    found.minute === wall.minute && found.second === wall.second
}

const hour = 3_600_000

/** The instant of a time on the wall. Of an hour that comes twice, the one whose offset the value before has; of one that is left out, the next. */
const instantOf = (wall: Wall, held: string): string | null => {
  const date = new Date(0)
  date.setFullYear(wall.year, wall.month - 1, wall.day)
  const first = date.setHours(wall.hour, wall.minute, wall.second, 0)
  const offset = (time: number): number => new Date(time).getTimezoneOffset()
  const same = (time: number): boolean => utcOf(wallOfLocal(time, "")) === utcOf(wall)
  const before = Date.parse(held)
  const found =
    [first - hour, first - hour / 2, first + hour / 2, first + hour].find((time) =>
      same(time) && offset(time) === offset(before)
    ) ?? first
  const text = new Date(found).toISOString().replace(/\.\d+Z$/, `${wall.fraction === "" ? "" : `.${wall.fraction}`}Z`)
  return timestampCell(text)
}

const canonicalTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,6}))?Z$/

/** The parts of a value; null if it has none: `infinity`, a year that ISO does not write in four digits. */
const wallOf = (kind: MomentKind, value: string): Wall | null => {
  if (kind === "date") return isDate(value) ? wallOfUtc(Date.parse(`${value}T00:00:00Z`), "") : null
  if (kind === "time") {
    const [, h, m, s, fraction = ""] = /^(\d\d):(\d\d):(\d\d)(?:\.(\d+))?$/.exec(timeCell(value) ?? "") ?? []
    return h === undefined || h === "24"
      ? null
      : { year: 2000, month: 1, day: 1, hour: Number(h), minute: Number(m), second: Number(s), fraction }
  }
  const cell = timestampCell(value)
  const found = cell === null ? null : canonicalTime.exec(cell)
  return found === null ? null : wallOfLocal(Date.parse(`${cell!.slice(0, 19)}Z`), found[1] ?? "")
}

const valueOf = (kind: MomentKind, wall: Wall, held: string): string | null => {
  if (!exists(wall)) return null
  if (kind === "timestamp") return instantOf(wall, held)
  if (kind === "date") return isDate(dateText(wall)) ? dateText(wall) : null
  const { fraction, hour: h, minute, second } = wall
  return timeCell(`${two(h)}:${two(minute)}:${two(second)}${fraction === "" ? "" : `.${fraction}`}`)
}

/** Digits of any script as those of ASCII, and no marks of direction. */
const simplified = (text: string): string =>
  text.trim().replaceAll(/[\u200e\u200f\u061c]/g, "").replaceAll(/[^\P{Nd}0-9]/gu, (digit) => {
    const code = digit.codePointAt(0)!
    let zero = code
    while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
    return String((code - zero) % 10)
  })

const letters = (text: string): string => text.replaceAll(/[^\p{L}]/gu, "").toLowerCase()

/** The year of two digits that is nearest to now. */
const wholeYear = (digits: string): number | null => {
  if (digits.length >= 4) return Number(digits)
  if (digits.length !== 2) return null
  const now = new Date().getFullYear()
  const century = now - now % 100 + Number(digits)
  return [century - 100, century, century + 100].reduce((best, year) =>
    Math.abs(year - now) < Math.abs(best - now) ? year : best
  )
}

/** A time of a zone that it names itself, as ISO and PostgreSQL write it. */
const zoned = (text: string): string | null =>
  timestampCell(
    text.replace(/^(\S+) +(?=\d)/, "$1T").replace(/ ?(?:UTC|GMT)$/i, "Z").replace(/([+-]\d\d)(?:(\d\d))?$/, "$1:$2")
      .replace(/:$/, ":00")
  )

const clockPattern = /^(\d{1,2})(?:[:.h](\d{2})(?:[:.](\d{2})(?:[.,](\d{1,6}))?)?)?(?:\s*(\D+))?$/
const datePattern = /^(\d{1,5})[^\d:]{1,4}(\d{1,2})[^\d:]{1,4}(\d{1,5})[^\d\p{L}]*(?:T(?=\d))?/u

/** How a locale writes: the parts of a date in their order, and the halves of a day where its hours are twelve. */
interface Form {
  readonly parts: readonly { readonly type: string; readonly value: string }[]
  readonly order: readonly ("day" | "month" | "year")[]
  readonly halves: readonly string[] | null
}

const formOf = (locale: string): Form => {
  const gregorian = { calendar: "gregory", numberingSystem: "latn" } as const
  const parts = new Intl.DateTimeFormat(locale, { ...gregorian, day: "2-digit", month: "2-digit", year: "numeric" })
    .formatToParts(new Date(2026, 11, 31)).map((part) => ({ ...part, value: simplified(part.value) }))
  const order = parts.flatMap(({ type }) => type === "day" || type === "month" || type === "year" ? [type] : [])
  const clock = new Intl.DateTimeFormat(locale, { ...gregorian, hour: "numeric" })
  const halves = clock.resolvedOptions().hour12 === true
    ? [1, 13].map((at) =>
      clock.formatToParts(new Date(2026, 0, 1, at)).find(({ type }) => type === "dayPeriod")?.value ?? ""
    )
    : null
  return { parts, order, halves }
}

/** The text of a time on the wall. */
const write = ({ halves, parts }: Form, kind: MomentKind, wall: Wall): string => {
  const dateOf = (wall: Wall): string =>
    parts.map(({ type, value }) =>
      type === "day" || type === "month" ? two(wall[type]) : type === "year" ? four(wall.year) : value
    ).join("")
  const rest = ({ fraction, second }: Wall): string =>
    second === 0 && fraction === "" ? "" : `:${two(second)}${fraction === "" ? "" : `.${fraction}`}`
  const clockOf = (wall: Wall): string =>
    halves === null
      ? `${two(wall.hour)}:${two(wall.minute)}${rest(wall)}`
      : `${two(wall.hour % 12 || 12)}:${two(wall.minute)}${rest(wall)} ${halves[wall.hour < 12 ? 0 : 1]!}`
  return kind === "date"
    ? dateOf(wall)
    : kind === "timestamp"
    ? `${dateOf(wall)} ${clockOf(wall)}`
    : `${two(wall.hour)}:${two(wall.minute)}${rest(wall)}`
}

/** Hour to fraction of a text; null if it is no time. */
const readClock = ({ halves }: Form, typed: string): Pick<Wall, "hour" | "minute" | "second" | "fraction"> | null => {
  const [, h, minute = "0", second = "0", fraction = "", said = ""] = clockPattern.exec(typed) ?? []
  if (h === undefined) return null
  const word = letters(said)
  const half = ["am", ...(halves === null ? [] : [letters(halves[0]!)])].includes(word)
    ? 0
    : ["pm", ...(halves === null ? [] : [letters(halves[1]!)])].includes(word)
    ? 1
    : null
  if (half === null && word !== "" && word !== "uhr" && word !== "h") return null
  const twelve = half !== null && Number(h) <= 12
  if (half !== null && (Number(h) > 12 || h === "0" || h === "00")) return null
  return {
    hour: twelve ? Number(h) % 12 + 12 * half! : Number(h),
    minute: Number(minute),
    second: Number(second),
    fraction
  }
}

/** The time on the wall that a text says; null if it says none. */
const readWall = (form: Form, kind: MomentKind, typed: string): Wall | null => {
  const midnight = { hour: 0, minute: 0, second: 0, fraction: "" }
  if (kind === "time") {
    const found = readClock(form, typed)
    return found === null ? null : { year: 2000, month: 1, day: 1, ...found }
  }
  const [whole, ...numbers] = datePattern.exec(typed) ?? []
  if (whole === undefined) return null
  const sorted: readonly (keyof Letters)[] = numbers[0]!.length > 2 ? ["year", "month", "day"] : form.order
  const at = (part: keyof Letters): string => numbers[sorted.indexOf(part)]!
  const year = wholeYear(at("year"))
  const left = typed.slice(whole.length).trim()
  const time = left === "" ? midnight : kind === "date" ? null : readClock(form, left)
  if (year === null || time === null || at("day").length > 2 || at("month").length > 2) return null
  return { year, month: Number(at("month")), day: Number(at("day")), ...time }
}

/** The numbers and words of a text, in order, and what each of them is. */
const tokensOf = ({ order }: Form, kind: MomentKind, typed: string) => {
  const days = kind === "time" ? [] : /^\d{4,}-/.test(typed) ? ["year", "month", "day"] as const : order
  const numbers: readonly Part[] = [...days, "hour", "minute", "second", "fraction"]
  let at = 0
  return [...typed.matchAll(/\d+|\p{L}[\p{L}.\s]*$/gu)].map((found) => ({
    part: /^\d/.test(found[0]) ? numbers[at++] : "period" as const,
    start: found.index,
    end: found.index + found[0].length
  }))
}

const moved = (wall: Wall, part: Part, by: number): Wall => {
  if (part === "month" || part === "year") {
    const months = wall.year * 12 + wall.month - 1 + by * (part === "year" ? 12 : 1)
    const first = { ...wall, year: Math.floor(months / 12), month: months % 12 + 1, day: 1 }
    const last = wallOfUtc(utcOf({ ...first, month: first.month + 1, day: 0 }), "").day
    return { ...first, day: Math.min(wall.day, last) }
  }
  const size = { day: 24 * hour, period: 12 * hour, hour, minute: 60_000, second: 1_000, fraction: 0 }[part]
  return wallOfUtc(utcOf(wall) + size * by, wall.fraction)
}

export const makeWriting = (locale: string): Writing => {
  const form = formOf(locale)
  const text: Writing["text"] = (kind, value) => {
    const wall = wallOf(kind, value)
    return wall === null ? value : write(form, kind, wall)
  }

  const read: Writing["read"] = (kind, typed, held) => {
    // What nobody has changed is the value itself: it may hold more than its text.
    if (held !== "" && typed.trim() === text(kind, held).trim()) return held
    const plain = simplified(typed)
    if (kind === "timestamp") {
      const instant = zoned(plain)
      if (instant !== null) return instant
    }
    if (kind === "time" && timeCell(plain) !== null) return timeCell(plain)
    const wall = readWall(form, kind, plain)
    return wall === null ? null : valueOf(kind, wall, held)
  }

  const step: Writing["step"] = (kind, typed, caret, by, held) => {
    const shown = (wall: Wall, part: Part): Stepped | null => {
      const value = valueOf(kind, wall, held)
      if (value === null) return null
      const next = text(kind, value)
      const token = tokensOf(form, kind, next).find((each) => each.part === part)
      return { text: next, value, start: token?.start ?? next.length, end: token?.end ?? next.length }
    }
    if (typed.trim() === "") {
      const now = wallOfLocal(Date.now(), "")
      return shown({ ...now, second: 0 }, kind === "time" ? "hour" : "day")
    }
    const value = read(kind, typed, held)
    const wall = value === null ? null : wallOf(kind, value)
    const part = tokensOf(form, kind, typed).findLast(({ start }) => start <= caret)?.part
    return wall === null || part === undefined ? null : shown(moved(wall, part, by), part)
  }

  return {
    example: (kind) =>
      write(form, kind, { year: 2026, month: 12, day: 31, hour: 14, minute: 30, second: 0, fraction: "" }),
    pattern: (kind, letters) => {
      const date = form.parts.map(({ type, value }) =>
        type === "day" || type === "month" || type === "year" ? letters[type] : value
      ).join("")
      return kind === "date" ? date : kind === "time" ? "hh:mm" : `${date} hh:mm`
    },
    text,
    read,
    step,
    day: (kind, value) => {
      const wall = wallOf(kind, value)
      return wall === null ? null : dateText(wall)
    },
    onDay: (kind, value, day) => {
      const [year = 0, month = 0, date = 0] = day.split("-").map(Number)
      const time = wallOf(kind, value) ?? { hour: 0, minute: 0, second: 0, fraction: "" }
      return valueOf(kind, { ...time, year, month, day: date }, value)
    },
    zone: (value) => {
      const time = Date.parse(value)
      return new Intl.DateTimeFormat(locale, { timeZoneName: "short" })
        .formatToParts(Number.isNaN(time) ? Date.now() : time)
        .find(({ type }) => type === "timeZoneName")?.value ?? ""
    }
  }
}

const made = new Map<string, Writing>()

/** The way of writing of a locale, made once. */
export const writingOf = (locale: string): Writing => {
  const known = made.get(locale) ?? makeWriting(locale)
  made.set(locale, known)
  return known
}

/** The day that it is now in the browser's zone. */
export const today = (): string => dateText(wallOfLocal(Date.now(), ""))

const rangePattern = /^([[(])("[^"]*"|[^",]*),("[^"]*"|[^",]*)([\])])$/

/** The ends of a range with its brackets, as the database writes it; null for a range without values and for other texts. */
export interface Ends {
  readonly open: string
  readonly low: string
  readonly high: string
  readonly close: string
}

export const endsOf = (range: string): Ends | null => {
  const [, open, low, high, close] = rangePattern.exec(range) ?? []
  return open === undefined
    ? null
    : { open, low: low!.replaceAll("\"", ""), high: high!.replaceAll("\"", ""), close: close! }
}

/** The text of a range. An end without a value is open, as the database writes it. */
export const rangeText = ({ close, high, low, open }: Ends): string => {
  const [from, to] = [low, high].map((end) => end.includes(" ") ? `"${end}"` : end)
  return `${low === "" ? "(" : open}${from},${to}${high === "" ? ")" : close}`
}

/** The first instant of a day in the browser's zone. */
export const firstInstantOf = (day: string): string => {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number)
  const time = new Date(0)
  time.setFullYear(year, month - 1, date)
  time.setHours(0, 0, 0, 0)
  return time.toISOString()
}
