/** How a list opens the record of one of its rows as a page. */

import type { RefObject } from "react"
import type { GridHandle } from "../grid/grid.tsx"
import { currentPlace, go, remember } from "../ground/location.ts"
import { addressOf, type Resource } from "../model/catalogue.ts"
import { addressOfList } from "./left.ts"
import { positionOf } from "./position.ts"
import type { ListRows } from "./rows.ts"

/** The list that opens a record. */
export interface Opening {
  readonly resource: Resource
  readonly rows: Pick<ListRows, "rowAt" | "indexOf" | "total" | "groups" | "replace" | "renew" | "reload">
  readonly handle: RefObject<Pick<GridHandle, "focus" | "show" | "place" | "seen"> | null>
  /** True where the rows are not those of the whole list in its order. Then the page of a record has no neighbours. */
  readonly partial?: true
}

/** The keys that were held when a row was opened. */
export type Pressed = { readonly metaKey?: boolean; readonly ctrlKey?: boolean }

/** Remembers in the history's entry where the list stands. */
export const rememberPlace = ({ handle }: Opening, row: number): void =>
  remember({ row, column: handle.current?.place().column ?? 0, top: handle.current?.seen()[0] ?? 0 })

/**
 * Opens a record, here or in a tab of its own. `index`: its row, or -1 where the list has not read it. `force`: no guard is asked, because the page goes on with
 * what was typed.
 */
export const openRecord = (of: Opening, key: string, index: number, event?: Pressed, force = false): void => {
  const { resource, rows } = of
  if (index >= 0) rememberPlace(of, index)
  if (event?.metaKey === true || event?.ctrlKey === true) {
    window.open(addressOf(resource, key), "_blank", "noreferrer")
    return
  }
  const { path, query } = currentPlace()
  const list = addressOfList(path, query)
  go(addressOf(resource, key), { memory: { list, ...positionOf(rows, index, of.partial) }, force })
}
