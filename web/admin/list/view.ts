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
import { argumentsIn } from "./arguments.tsx"
import { type Layout, readLayout } from "./layout.ts"
import { addressOfList } from "./left.ts"
import { needsOf } from "./needs.ts"
import type { RowsQuery } from "./rows.ts"
import {
  type Choice,
  columnsOf,
  nextOrder,
  orderFor,
  type OrderKey,
  printChoices,
  printOrder,
  readChoices,
  usualChoices
} from "./state.ts"

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

/** The key in local storage of the columns of a view. */
const storeOf = (resource: Resource): string => `admin:columns:${resource.name}:${resource.view.name}`

const rememberedColumns = (resource: Resource): string | null => {
  try {
    return localStorage.getItem(storeOf(resource))
  } catch {
    return null
  }
}

const rememberColumns = (resource: Resource, text: string | null): void => {
  try {
    if (text === null) localStorage.removeItem(storeOf(resource))
    else localStorage.setItem(storeOf(resource), text)
  } catch {
    // If storage is not available, the address still has the columns.
  }
}

/** The arguments of a function as members of a body; null where the resource is none. What is no value of its kind stays as it is: the service says so. */
const argumentValues = (resource: Resource, query: URLSearchParams): RowsQuery["args"] | null => {
  const given = argumentsIn(resource, query)
  if (given === null) return null
  const kinds = new Map(resource.model.arguments?.map(({ kind, name }) => [name, kind]))
  return Object.fromEntries(Object.entries(given).map(([name, text]) => [name, valueOf(kinds.get(name), text)]))
}

const valueOf = (kind: string | undefined, text: string): unknown => {
  if (kind === "boolean") return text === "true" ? true : text === "false" ? false : text
  if (kind !== "float" && kind !== "json") return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const setOrder = (order: readonly OrderKey[]): void =>
  setQuery({ order: printOrder(order) || null }, { replace: false })

/** `handle`: the grid, which shows its first row after a change of the filter. */
export const useListView = (resource: Resource, handle: RefObject<GridHandle | null>): ListView => {
  const { query } = usePlace()
  const filter = query.get("filter") ?? ""
  const deleted = query.get("deleted") === "true" && resource.model.softDelete
  const args = useMemo(() => argumentValues(resource, query), [resource, query])
  const order = useMemo(() => orderFor(query.get("order"), resource), [query, resource])
  const columnsText = query.get("columns") ?? rememberedColumns(resource) ?? ""
  const choices = useMemo(() => {
    const chosen = readChoices(columnsText, resource)
    return chosen.length > 0 ? chosen : usualChoices(resource)
  }, [columnsText, resource])
  const layout = useMemo(() => readLayout(query, resource), [query, resource])
  const columns = useMemo(() => columnsOf(resource, choices), [resource, choices])
  // Whether a row stands in the right group is seen by its own values.
  const group = layout?.of === "list" ? layout.group.join() : ""
  const needs = useMemo(
    () => needsOf(resource, [...choices.map(({ field }) => field), ...group.split(",")]),
    [resource, choices, group]
  )

  useEffect(() => {
    const columns = rememberedColumns(resource)
    if (columns !== null && currentPlace().query.get("columns") === null) setQuery({ columns })
  }, [resource])
  useEffect(() => keepAddress(resource.name, addressOfList("", query)), [resource, query])

  return {
    filter,
    deleted,
    order,
    ordered: query.has("order"),
    choices,
    columns,
    layout,
    asked: { filter, order: printOrder(order), ...needs, deleted, ...(args === null ? {} : { args }) },
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
