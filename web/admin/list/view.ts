/**
 * What a list shows, as its address says it: filter, order, columns, deleted records. A change of them is a change of the address. The columns are kept in
 * this browser, too, and copied from there into the address, so that the address has the whole state.
 */

import { type RefObject, useCallback, useEffect, useMemo } from "react"
import type { Column } from "../grid/columns.ts"
import type { GridHandle } from "../grid/grid.tsx"
import { keepAddress } from "../ground/last-address.ts"
import { currentPlace, setQuery, usePlace } from "../ground/location.ts"
import type { Resource } from "../model/catalogue.ts"
import { askedOf, chosenOf, columnsIn, rememberColumns, rememberedColumns, type RowsQuery } from "./asked.ts"
import { type Layout, readGroupText, readLayout } from "./layout.ts"
import { addressOfList } from "./left.ts"
import { type Choice, nextOrder, orderFor, type OrderKey, printChoices, printOrder } from "./state.ts"

export interface ListView {
  readonly filter: string
  /** Whether deleted records are shown. */
  readonly deleted: boolean
  readonly order: readonly OrderKey[]
  /** Whether the address has an order of its own. */
  readonly ordered: boolean
  readonly choices: readonly Choice[]
  readonly columns: readonly Column[]
  readonly layout: Layout
  /** The rows and fields to ask for. */
  readonly asked: RowsQuery
  readonly setFilter: (text: string) => void
  readonly setOrder: (order: readonly OrderKey[]) => void
  /** The order after a click on a header. */
  readonly sortBy: (field: string, add: boolean) => void
  /** Null: the usual columns of the view. */
  readonly setChoices: (choices: readonly Choice[] | null) => void
}

const setOrder = (order: readonly OrderKey[]): void =>
  setQuery({ order: printOrder(order) || null }, { replace: false })

/** `handle`: the grid, which shows its first row after a change of the filter. */
export const useListView = (resource: Resource, handle: RefObject<GridHandle | null>): ListView => {
  const { query } = usePlace()
  const columnsText = columnsIn(resource, query)
  const layout = useMemo(() => readLayout(query, resource), [query, resource])
  const group = layout?.of === "list" ? layout.group.map((text) => readGroupText(text).field).join() : ""
  const chosen = useMemo(() => chosenOf(resource, columnsText, group), [resource, columnsText, group])
  const asked = useMemo(() => askedOf(resource, query, chosen), [resource, query, chosen])
  const order = useMemo(() => orderFor(query.get("order"), resource), [query, resource])

  useEffect(() => {
    const columns = rememberedColumns(resource)
    if (columns !== null && currentPlace().query.get("columns") === null) setQuery({ columns })
  }, [resource])
  useEffect(() => keepAddress(resource.name, addressOfList("", query)), [resource, query])

  return {
    filter: asked.filter,
    deleted: asked.deleted,
    order,
    ordered: query.has("order"),
    choices: chosen.choices,
    columns: chosen.columns,
    layout,
    asked,
    setFilter: useCallback((text: string) => {
      setQuery({ filter: text === "" ? null : text }, { replace: false })
      handle.current?.scrollTo(0)
    }, [handle]),
    setOrder,
    sortBy: (field, add) => setOrder(nextOrder(order, field, add, resource)),
    setChoices: useCallback((next: readonly Choice[] | null) => {
      const text = next === null ? null : printChoices(next)
      rememberColumns(resource, text)
      setQuery({ columns: text })
    }, [resource])
  }
}
