/**
 * Numbers, times and names of countries and currencies in one locale. Exact: a decimal or a 64-bit integer is formatted as the text it is, never as a
 * JavaScript number. Times are shown in the zone of whoever reads.
 */

export interface TimeWords {
  readonly today: (time: string) => string
  readonly yesterday: string
  readonly now: string
  readonly minutes: (count: string) => string
}

export interface Formats {
  readonly locale: string
  /** A count. */
  readonly count: (value: number) => string
  /** A count in few characters: 48K. */
  readonly short: (value: number) => string
  /** A number or exact text with its fraction as it stands. Integers that name something go without groups (`plain`). */
  readonly number: (value: string | number, plain?: boolean) => string
  /** A time in words for lists: "2 min ago", "today, 09:41", "3 Nov 2026". */
  readonly moment: (iso: string, now: number) => string
  /** The same in full, with UTC, for whoever points at it. */
  readonly exactTime: (iso: string) => string
  /** Date and time. */
  readonly dateTime: (iso: string) => string
  /** A date without a time. */
  readonly date: (iso: string) => string
  readonly day: (date: Date) => string
  readonly country: (code: string) => string
  readonly currency: (code: string) => string
  readonly list: (items: readonly string[]) => string
  readonly percent: (share: number) => string
  readonly bytes: (size: number) => string
}

/** Remembers the last few thousand answers of a function of a text. */
const memoised = (make: (text: string) => string): (text: string) => string => {
  const known = new Map<string, string>()
  return (text) => {
    let answer = known.get(text)
    if (answer === undefined) {
      if (known.size > 4_000) known.clear()
      known.set(text, answer = make(text))
    }
    return answer
  }
}

const day = 86_400_000

/** A date of the calendar as that day in UTC, so that no zone moves it. */
const calendarDate = (iso: string): Date => new Date(`${iso}T00:00:00Z`)

const startOfDay = (time: number): number => new Date(time).setHours(0, 0, 0, 0)

export const makeFormats = (locale: string, words: TimeWords): Formats => {
  const integer = new Intl.NumberFormat(locale)
  const short = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 })
  const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" })
  const dayOnly = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric" })
  const calendar = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" })
  const full = new Intl.DateTimeFormat(locale, {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit"
  })
  const exact = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "long" })
  const regions = new Intl.DisplayNames(locale, { type: "region" })
  const currencies = new Intl.DisplayNames(locale, { type: "currency" })
  const listing = new Intl.ListFormat(locale, { type: "conjunction" })
  const percents = new Intl.NumberFormat(locale, {
    style: "percent",
    maximumFractionDigits: 1,
    signDisplay: "exceptZero"
  })

  const grouped = memoised((text) => {
    const places = /\.(\d+)$/.exec(text)?.[1]?.length ?? 0
    if (!/^-?\d+(?:\.\d+)?$/.test(text)) return text
    return new Intl.NumberFormat(locale, {
      minimumFractionDigits: Math.min(places, 100),
      maximumFractionDigits: Math.min(places, 100)
    }).format(text as unknown as number)
  })
  const named = (names: Intl.DisplayNames) =>
    memoised((code) => {
      try {
        return names.of(code) ?? code
      } catch {
        // Not a code that Intl knows the form of: shown as it is.
        return code
      }
    })

  return {
    locale,
    count: (value) => integer.format(value),
    short: (value) => short.format(value),
    number: (value, plain = false) => plain ? String(value) : grouped(String(value)),
    moment: (iso, now) => {
      const time = Date.parse(iso)
      if (Number.isNaN(time)) return iso
      const ago = now - time
      if (ago >= 0 && ago < 60_000) return words.now
      if (ago >= 0 && ago < 3_600_000) return words.minutes(integer.format(Math.floor(ago / 60_000)))
      const days = Math.round((startOfDay(now) - startOfDay(time)) / day)
      if (days === 0) return words.today(clock.format(time))
      if (days === 1) return words.yesterday
      return dayOnly.format(time)
    },
    exactTime: memoised((iso) => {
      const time = Date.parse(iso)
      return Number.isNaN(time) ? iso : `${exact.format(time)}\n${iso.replace("T", " ").replace("Z", " UTC")}`
    }),
    dateTime: memoised((iso) => Number.isNaN(Date.parse(iso)) ? iso : full.format(Date.parse(iso))),
    date: memoised((iso) => {
      const date = calendarDate(iso)
      return Number.isNaN(date.getTime()) ? iso : calendar.format(date)
    }),
    day: (date) => dayOnly.format(date),
    country: named(regions),
    currency: named(currencies),
    list: (items) => listing.format(items),
    percent: (share) => percents.format(share),
    bytes: (size) => {
      const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const
      const at = size < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(size) / 3))
      return new Intl.NumberFormat(locale, {
        style: "unit",
        unit: units[at]!,
        unitDisplay: "short",
        maximumFractionDigits: at === 0 ? 0 : 1
      }).format(size / 1000 ** at)
    }
  }
}
