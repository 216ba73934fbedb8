/** What changes by others mean for the cards of a board: which ones come, go to another column, or leave. Pure. */

import { netOf, type Pending } from "../live/net.ts"
import { type Move, type Moves, withMove } from "./moved.ts"

interface Hearing<T> {
  readonly moves: Moves<T>
  readonly news: ReadonlyMap<string, Pending>
  /** Those of the records that belong to the board, as they are now. */
  readonly now: ReadonlyMap<string, T>
  readonly columnOf: (record: T) => string
  /** The column where a card stands, and its record; null: the board does not show it. */
  readonly cardOf: (key: string) => { readonly column: string; readonly record: T } | null
  /** Whether the rows of a column have a card. */
  readonly holds: (column: string, key: string) => boolean
}

export interface Heard<T> {
  readonly moves: Moves<T>
  /** The keys of cards that came or were changed, that belong to the board no more, and that were deleted. */
  readonly changed: readonly string[]
  readonly left: readonly string[]
  readonly gone: readonly string[]
}

const isNew = ({ kind, operation }: Pending): boolean =>
  kind === "entered" || operation === "create" || operation === "undelete"

/** The cards after the changes. A card whose write is under way waits for the answer of that. What the board does not show stays among the rows of its column. */
export const hear = <T extends { readonly etag: string }>(
  { cardOf, columnOf, holds, moves, news, now }: Hearing<T>
): Heard<T> => {
  let next = moves
  const changed: string[] = []
  const left: string[] = []
  const gone: string[] = []
  const put = (key: string, move: Move<T>): void => {
    const moved = new Map(next)
    moved.delete(key)
    next = moved.set(key, move)
  }
  for (const [key, pending] of news) {
    const move = moves.get(key)
    if (move?.saving === true) continue
    const card = cardOf(key)
    const record = now.get(key)
    if (record === undefined) {
      if (card === null || move?.to === null) continue
      const home = move === undefined ? card.column : move.home
      put(key, { record: card.record, home, to: null, stands: card.column, saving: false })
      const list = pending.operation === "delete" ? gone : left
      list.push(key)
      continue
    }
    if (card === null && !isNew(pending)) continue
    if (card !== null && move?.to !== null && card.record.etag === record.etag) continue
    const to = columnOf(record)
    next = withMove(next, key, { at: card?.column ?? null, to, record, saving: false })
    // Rows that were read after it had gone do not have it any more.
    if (!next.has(key) && !holds(to, key)) put(key, { record, home: null, to, stands: to, saving: false })
    changed.push(key)
  }
  return { moves: next, changed, left, gone }
}

/** The changes of cards that were moved here, or whose write ended, while records were read: what was read may be older. */
export const movedMeanwhile = <T>(
  news: ReadonlyMap<string, Pending>,
  from: Moves<T>,
  to: Moves<T>
): readonly (readonly [string, Pending])[] => [...news].filter(([key]) => from.get(key) !== to.get(key))

/** A change that is looked at again, together with the one that came after it. */
export const earlier = (change: Pending, later: Pending | undefined): Pending =>
  later === undefined ? change : netOf(change, later)

/** Present moves with the changes from some moves to others, but for cards that were moved here meanwhile. */
export const merged = <T>(now: Moves<T>, from: Moves<T>, to: Moves<T>): Moves<T> => {
  const next = new Map(now)
  for (const key of new Set([...from.keys(), ...to.keys()])) {
    const move = to.get(key)
    if (move === from.get(key) || now.get(key) !== from.get(key)) continue
    next.delete(key)
    if (move !== undefined) next.set(key, move)
  }
  return next
}

/** The moves without the cards that left the board, but for those that `stays` names. */
export const withoutLeft = <T>(moves: Moves<T>, keys: readonly string[], stays: (key: string) => boolean): Moves<T> => {
  const next = new Map(moves)
  for (const key of keys) {
    const move = next.get(key)
    if (move !== undefined && move.to === null && !stays(key)) next.set(key, { ...move, stands: null })
  }
  return next
}
