/** The names of days, weeks and months in a language. Days are ISO dates. */

export interface DayNames {
  /** "Thursday, 5 November 2026". */
  readonly whole: (day: string) => string
  /** "5". */
  readonly number: (day: string) => string
  readonly weekday: (day: string, form: "long" | "short") => string
  /** "November 2026". */
  readonly month: (day: string) => string
  /** "2026". */
  readonly year: (day: string) => string
  /** "2–8 Nov 2026". */
  readonly span: (from: string, last: string) => string
  /** The time of day of an instant, in the browser's zone. */
  readonly clock: (iso: string) => string
}

const made = new Map<string, DayNames>()

const make = (locale: string): DayNames => {
  const named = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...options, calendar: "gregory", timeZone: "UTC" })
  const [whole, number, month, year, long, short, span] = [
    named({ dateStyle: "full" }),
    named({ day: "numeric" }),
    named({ month: "long", year: "numeric" }),
    named({ year: "numeric" }),
    named({ weekday: "long" }),
    named({ weekday: "short" }),
    named({ day: "numeric", month: "short", year: "numeric" })
  ]
  const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" })
  const time = (day: string): number => Date.parse(`${day}T00:00:00Z`)
  return {
    whole: (day) => whole.format(time(day)),
    // In some languages a day of the month has a word behind it.
    number: (day) =>
      number.formatToParts(time(day)).find(({ type }) => type === "day")?.value ?? number.format(time(day)),
    weekday: (day, form) => (form === "long" ? long : short).format(time(day)),
    month: (day) => month.format(time(day)),
    year: (day) => year.format(time(day)),
    span: (from, last) => span.formatRange(time(from), time(last)),
    clock: (iso) => Number.isNaN(Date.parse(iso)) ? "" : clock.format(Date.parse(iso))
  }
}

/** The names in a language, made once. */
export const dayNames = (locale: string): DayNames => {
  const known = made.get(locale) ?? make(locale)
  made.set(locale, known)
  return known
}
