/**
 * Where the lists of this tab were left: the rows in sight, the active cell and the selection, by the address of the list. Whoever comes back, in whatever
 * way, finds the same. Pure, but for the memory itself.
 */

import type { CellPlace } from "../grid/place.ts"
import type { AnyRecord } from "../model/client.ts"
import type { RecordSelection } from "./selection.ts"

export interface Left {
  /** The active cell. */
  readonly place: CellPlace
  /** The first row in sight, and the number of rows in sight. */
  readonly top: number
  readonly height: number
  readonly selection: RecordSelection
  readonly picked: ReadonlyMap<string, AnyRecord>
}

/** Most lists that are remembered: those that were left last. */
const most = 50

const lists = new Map<string, Left>()

/** The address of a list, the same for an empty query and none, and whichever record is shown beside it. */
export const addressOfList = (path: string, query: URLSearchParams): string => {
  const own = new URLSearchParams(query)
  own.delete("peek")
  return own.size === 0 ? path : `${path}?${own.toString()}`
}

export const keepLeft = (address: string, left: Left): void => {
  lists.delete(address)
  lists.set(address, left)
  const [oldest] = lists.keys()
  if (lists.size > most && oldest !== undefined) lists.delete(oldest)
}

export const leftAt = (address: string): Left | undefined => lists.get(address)

/** Somebody went on to another record of the list: that row is the active one when they come back, and in sight. */
export const moveLeft = (address: string, row: number): void => {
  const left = lists.get(address)
  if (left === undefined) return
  const { height, place, top } = left
  lists.set(address, {
    ...left,
    place: { ...place, row },
    top: Math.min(row, Math.max(top, row - Math.max(0, height - 1)))
  })
}
