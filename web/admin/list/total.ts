/** The number of rows of a list: what pages say of it, and its words, which also say how exact it is. Pure. */

import type { Bound } from "../grid/pages.ts"
import type { Formats } from "../messages/formats.ts"
import type { Messages } from "../messages/locale.tsx"
import type { AnyPage } from "../model/client.ts"

export interface Total {
  readonly count: number
  readonly accuracy: "exact" | "estimate" | "counting"
}

/** The value of the estimate while the service still counts. */
const countingAt = 10_000

/** The number of rows as an answer tells it. */
export const totalOf = (page: AnyPage): Total => {
  if (page.total_size !== undefined) return { count: page.total_size, accuracy: "exact" }
  const count = page.total_size_estimate
  return {
    count,
    accuracy: page.total_size_accuracy ??
      (count < countingAt ? "exact" : count === countingAt ? "counting" : "estimate")
  }
}

/** A total that leaves `room` after rows that are known to have others behind them. */
export const atLeast = (total: Total, rows: number, room: number): Total =>
  total.accuracy === "exact" || total.count > rows ? total : { ...total, count: rows + room }

/** The total after a page has said what it knows. A list does not end at its estimate, and an empty page proves no exact number. */
export const totalAfter = (total: Total, rows: number, bound: Bound, room: number): Total => {
  if (total.accuracy === "exact") return total
  switch (bound) {
    case "exact":
      return { count: rows, accuracy: "exact" }
    case "more":
      return atLeast(total, rows, room)
    case "most":
      return total.count > rows ? { ...total, count: rows } : total
  }
}

export const totalText = ({ accuracy, count }: Total, t: Messages, format: Formats): string =>
  accuracy === "exact"
    ? format.count(count)
    : accuracy === "estimate"
    ? t.list.about(format.count(count))
    : `${format.count(count)}+, ${t.list.counting}`
