/**
 * Formats numbers, times, countries and currencies in one locale. Decimals and 64-bit integers are formatted from their exact text, never as a
 * JavaScript number. Times are in the user's time zone.
 */

export interface TimeWords {
  readonly today: string
  readonly yesterday: string
  /** A day in words with its time. */
  readonly at: (day: string, time: string) => string
  readonly now: string
  readonly minutes: (count: string) => string
}

export interface Formats {
  readonly locale: string
  /** A count. */
  readonly count: (value: number) => string
  /** A number in compact form with the digits that can be believed: 48K, 3.98M. */
  readonly short: (value: number) => string
  /** A number or an exact text, with all its fraction digits. `plain`: without digit grouping, for identifiers. */
  readonly number: (value: string | number, plain?: boolean) => string
  /**
   * A time in words for lists: "2 min ago", "today, 09:41", "3 Nov 2026, 09:41". Midnight of the reader's day is the day alone, so that a column of days has
   * no hours. Each value says that by itself: a cell is the same in every list, and stays so while other rows come into sight.
   */
  readonly moment: (iso: string, now: number) => string
  /** The full time with UTC, for a tooltip. */
  readonly exactTime: (iso: string) => string
  /** Date and time. */
  readonly dateTime: (iso: string) => string
  /** A date without a time. */
  readonly date: (iso: string) => string
  readonly day: (date: Date) => string
  readonly country: (code: string) => string
  readonly currency: (code: string) => string
  readonly list: (items: readonly string[]) => string
  /** A change, with its sign. One of more than the tenfold says no more than that. */
  readonly percent: (share: number) => string
  /** A part of a whole, without a sign. */
  readonly share: (share: number) => string
  readonly bytes: (size: number) => string
}

/** Makes something when it is first needed: the browser takes milliseconds for each format, and a page needs few of them. */
const later = <T>(make: () => T): () => T => {
  let made: T | undefined
  return () => made ??= make()
}

/** Caches the last few thousand results of a function of a text. */
const memoised = (make: (text: string) => string): (text: string) => string => {
  const answers = new Map<string, string>()
  return (text) => {
    let answer = answers.get(text)
    if (answer === undefined) {
      if (answers.size > 4_000) answers.clear()
      answers.set(text, answer = make(text))
    }
    return answer
  }
}

const day = 86_400_000

/** A calendar date as midnight in UTC, so that no time zone changes the day. */
const calendarDate = (iso: string): Date => new Date(`${iso}T00:00:00Z`)

const startOfDay = (time: number): number => new Date(time).setHours(0, 0, 0, 0)

export const makeFormats = (locale: string, t: { readonly time: TimeWords }): Formats => {
  const numbers = (options?: Intl.NumberFormatOptions) => later(() => new Intl.NumberFormat(locale, options))
  const times = (options: Intl.DateTimeFormatOptions) => later(() => new Intl.DateTimeFormat(locale, options))
  const date = { day: "numeric", month: "short", year: "numeric" } as const
  const clockTime = { hour: "2-digit", minute: "2-digit" } as const
  const integer = numbers()
  const small = numbers({ maximumFractionDigits: 1 })
  // In parts of the world a million is an "m" in English, which reads as a length or a minute.
  const short = later(() =>
    new Intl.NumberFormat(/^en(?!-IN)/.test(locale) ? "en" : locale, {
      notation: "compact",
      minimumSignificantDigits: 2,
      maximumSignificantDigits: 3
    })
  )
  const clock = times(clockTime)
  const dayOnly = times(date)
  const calendar = times({ ...date, timeZone: "UTC" })
  const full = times({ ...date, ...clockTime })
  const exact = times({ dateStyle: "full", timeStyle: "long" })
  const percents = [1, 0].map((digits) =>
    numbers({ style: "percent", maximumFractionDigits: digits, signDisplay: "exceptZero" })
  )
  const shares = numbers({ style: "percent", maximumFractionDigits: 0 })

  /** By the number of fraction digits. */
  const decimals: (() => Intl.NumberFormat)[] = []
  const grouped = memoised((text) => {
    const match = /^-?\d+(?:\.(\d+))?$/.exec(text)
    if (match === null) return text
    const places = Math.min(match[1]?.length ?? 0, 100)
    decimals[places] ??= numbers({ minimumFractionDigits: places, maximumFractionDigits: places })
    return decimals[places]().format(text as `${number}`)
  })
  const named = (type: "region" | "currency") => {
    const names = later(() => new Intl.DisplayNames(locale, { type }))
    return memoised((code) => {
      try {
        return names().of(code) ?? code
      } catch {
        // Intl refuses a code that is not well-formed. It is shown unchanged.
        return code
      }
    })
  }

  return {
    locale,
    count: (value) => integer().format(value),
    short: (value) => Math.abs(value) < 1_000 ? small().format(value) : short().format(value),
    number: (value, plain = false) => plain ? String(value) : grouped(String(value)),
    moment: (iso, now) => {
      const time = Date.parse(iso)
      if (Number.isNaN(time)) return iso
      const midnight = startOfDay(time)
      const days = Math.round((startOfDay(now) - midnight) / day)
      const named = days === 0 ? t.time.today : days === 1 ? t.time.yesterday : null
      if (time === midnight) return named ?? dayOnly().format(time)
      const ago = now - time
      if (ago >= 0 && ago < 60_000) return t.time.now
      if (ago >= 0 && ago < 3_600_000) return t.time.minutes(integer().format(Math.floor(ago / 60_000)))
      return named === null ? full().format(time) : t.time.at(named, clock().format(time))
    },
    exactTime: memoised((iso) => {
      const time = Date.parse(iso)
      return Number.isNaN(time) ? iso : `${exact().format(time)}\n${iso.replace("T", " ").replace("Z", " UTC")}`
    }),
    dateTime: memoised((iso) => Number.isNaN(Date.parse(iso)) ? iso : full().format(Date.parse(iso))),
    date: memoised((iso) => {
      const date = calendarDate(iso)
      return Number.isNaN(date.getTime()) ? iso : calendar().format(date)
    }),
    day: (date) => dayOnly().format(date),
    country: named("region"),
    currency: named("currency"),
    list: (items) => new Intl.ListFormat(locale).format(items),
    percent: (share) =>
      share > 9.99 ? `>${shares().format(9.99)}` : percents[Math.abs(share) < 0.1 ? 0 : 1]!().format(share),
    share: (share) => shares().format(share),
    bytes: (size) => {
      const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const
      const at = size < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(size) / 3))
      return new Intl.NumberFormat(locale, {
        style: "unit",
        unit: units[at]!,
        // In short there is no plural of a byte.
        unitDisplay: at === 0 ? "long" : "short",
        maximumFractionDigits: at === 0 ? 0 : 1
      }).format(size / 1000 ** at)
    }
  }
}
