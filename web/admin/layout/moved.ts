/**
 * The cards of a board's columns after people have moved some of them. A moved card stands at the top of its new column, where it can be seen, until the
 * board is read again; the rows of its old column close up. So no move reads a column again. Pure.
 */

import { sumOf } from "../field/decimal.ts"
import { plain } from "../model/plain.ts"

type Values = { readonly [field: string]: unknown }

/** A card in another column than its row. */
export interface Move<T> {
  readonly record: T
  /** The column whose rows have the card; null: it is among no rows that were read. */
  readonly home: string | null
  /** The column that it belongs to; null: it belongs to the board no more. */
  readonly to: string | null
  /** The column where it is drawn. A card that leaves the board is shown for a moment where it was. */
  readonly stands: string | null
  /** Whether the write is under way. */
  readonly saving: boolean
}

/** By the keys of records; the card that was moved last stands last. */
export type Moves<T> = ReadonlyMap<string, Move<T>>

/** The moves after one more: `at` is the column where the card stands now. A card that comes home is no move any more. */
export const withMove = <T>(
  moves: Moves<T>,
  key: string,
  { at, record, saving, to }: {
    readonly at: string | null
    readonly record: T
    readonly saving: boolean
    readonly to: string
  }
): Moves<T> => {
  const before = moves.get(key)
  const home = before === undefined ? at : before.home
  const next = new Map(moves)
  next.delete(key)
  if (home !== to) next.set(key, { record, home, to, stands: to, saving })
  return next
}

/** The rows of a column, as far as they are loaded. */
export interface ColumnRows<T> {
  readonly count: number
  readonly rowAt: (index: number) => T | undefined
  /** The row of a key, or -1. */
  readonly indexOf: (key: string) => number
}

/** The cards of a column from top to bottom. */
export interface Arranged<T> {
  readonly count: number
  readonly at: (index: number) => T | undefined
  /** The number of the row that a card is, counted without moves; less than 0 for one that was moved here. */
  readonly row: (index: number) => number
  /** Where the card of a key stands, or -1. */
  readonly find: (key: string) => number
}

export const arrange = <T>(rows: ColumnRows<T>, moves: Moves<T>, column: string): Arranged<T> => {
  const elsewhere = [...moves].filter(([, { home, stands }]) => home !== stands)
  const arrived = elsewhere.filter(([, { stands }]) => stands === column).toReversed()
  const gaps: number[] = []
  for (const [key, { home, stands }] of elsewhere) {
    // A card that was moved here may be among rows that were read after its write.
    const index = home === column || stands === column ? rows.indexOf(key) : -1
    if (index >= 0) gaps.push(index)
  }
  gaps.sort((a, b) => a - b)
  const row = (index: number): number => {
    let at = index - arrived.length
    if (at < 0) return at
    for (const gap of gaps) if (gap <= at) at++
    return at
  }
  return {
    count: Math.max(0, rows.count - gaps.length) + arrived.length,
    at: (index) => index < arrived.length ? arrived[index]?.[1].record : rows.rowAt(row(index)),
    row,
    find: (key) => {
      const moved = arrived.findIndex(([each]) => each === key)
      if (moved >= 0) return moved
      const index = elsewhere.some(([each]) => each === key) ? -1 : rows.indexOf(key)
      return index < 0 ? -1 : index - gaps.filter((gap) => gap < index).length + arrived.length
    }
  }
}

/** A card that belongs to another column than when its column was counted. */
interface Step<T> {
  readonly from: string | null
  readonly to: string | null
  readonly before: T
  readonly now: T
}

/** What has happened since some moves were there. */
function* stepsSince<T>(moves: Moves<T>, base: Moves<T>): Generator<Step<T>> {
  for (const key of new Set([...base.keys(), ...moves.keys()])) {
    const [before, now] = [base.get(key), moves.get(key)]
    const one = now ?? before
    if (one === undefined) continue
    const step = {
      from: before === undefined ? one.home : before.to,
      to: now === undefined ? one.home : now.to,
      before: (before ?? one).record,
      now: one.record
    }
    if (step.from !== step.to) yield step
  }
}

/** A number of cards after the moves. `base`: the moves that were there when it was counted. */
export const countAfter = <T>(count: number, moves: Moves<T>, column: string, base: Moves<T>): number => {
  let now = count
  for (const { from, to } of stepsSince(moves, base)) now += to === column ? 1 : from === column ? -1 : 0
  return Math.max(0, now)
}

const negative = (text: string): string => text.startsWith("-") ? text.slice(1) : `-${text}`

/** Sums by currency after the moves. `base`: the moves that were there when they were made. `""` stands for no currency. */
export const sumsAfter = <T extends Values>(
  sums: ReadonlyMap<string, string>,
  moves: Moves<T>,
  column: string,
  { base, currency, field }: { readonly field: string; readonly currency: string | null; readonly base: Moves<T> }
): ReadonlyMap<string, string> => {
  const now = new Map(sums)
  for (const step of stepsSince(moves, base)) {
    const record = step.to === column ? step.now : step.before
    const value = record[field]
    if ((step.from !== column && step.to !== column) || value === null || value === undefined) continue
    const code = currency === null ? "" : plain(record[currency])
    const text = plain(value)
    const sum = sumOf([now.get(code) ?? "0", step.to === column ? text : negative(text)])
    if (sum !== null) now.set(code, sum)
  }
  return now
}
