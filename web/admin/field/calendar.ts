/** Days and months of the Gregorian calendar, as ISO dates, from 0001-01-01 to 9999-12-31. It knows no time zone. Pure. */

const dayMs = 86_400_000
const first = "0001-01-01"
const last = "9999-12-31"

const timeOf = (date: string): number => Date.parse(`${date}T00:00:00Z`)
const dateOf = (time: number): string =>
  time < timeOf(first) ? first : time > timeOf(last) ? last : new Date(time).toISOString().slice(0, 10)

/** The date so many days later. */
export const addDays = (date: string, days: number): string => dateOf(timeOf(date) + days * dayMs)

/** The date so many months later: the same day, or the last one of a shorter month. */
export const addMonths = (date: string, months: number): string => {
  const all = Number(date.slice(0, 4)) * 12 + Number(date.slice(5, 7)) - 1 + months
  if (all < 12) return first
  if (all >= 120_000) return last
  const start = `${String(Math.floor(all / 12)).padStart(4, "0")}-${String(all % 12 + 1).padStart(2, "0")}-01`
  const end = new Date(timeOf(start))
  end.setUTCMonth(end.getUTCMonth() + 1, 0)
  return `${start.slice(0, 8)}${String(Math.min(Number(date.slice(8)), end.getUTCDate())).padStart(2, "0")}`
}

/** The day of the week, 1 for Monday to 7 for Sunday. */
export const weekday = (date: string): number => new Date(timeOf(date)).getUTCDay() || 7

/** The weeks that a month lies in, each as seven dates; null for days of other months. `start`: the first day of a week, 1 for Monday to 7. */
export const weeksOf = (date: string, start: number): readonly (readonly (string | null)[])[] => {
  const month = date.slice(0, 7)
  const begin = timeOf(`${month}-01`) - (weekday(`${month}-01`) - start + 7) % 7 * dayMs
  return Array.from({ length: 6 }, (_, week) =>
    Array.from({ length: 7 }, (_, day) => {
      const each = new Date(begin + (week * 7 + day) * dayMs)
      const text = Number.isNaN(each.getTime()) ? "" : each.toISOString().slice(0, 10)
      return text.startsWith(month) ? text : null
    })).filter((week) => week.some((day) => day !== null))
}

interface Weeks {
  readonly getWeekInfo: () => { readonly firstDay: number }
}

/** Not every browser knows how weeks are. */
const hasWeeks = (locale: object): locale is Weeks => "getWeekInfo" in locale

/** The first day of a week in a locale, 1 for Monday to 7; Monday where the browser does not know. */
export const weekStart = (locale: string): number => {
  const known: object = new Intl.Locale(locale)
  return hasWeeks(known) ? known.getWeekInfo().firstDay : 1
}
