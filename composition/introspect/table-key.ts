/**
 * The columns that name the rows of a table or view: its primary key, a unique key, or what a view may be told apart by.
 */

import type { TableFacts } from "../../core/domain/compile/catalogue.ts"
import type { TracedView } from "./trace.ts"

/** The columns that name a row: the primary key, else a unique key whose columns are never null. */
export const keyColumns = (table: TableFacts): readonly string[] | null => {
  if (table.primaryKey !== null) return table.primaryKey
  const never = new Set(table.columns.filter((column) => !column.nullable).map((column) => column.name))
  return table.uniques.find((columns) => columns.length > 0 && columns.every((name) => never.has(name))) ?? null
}

export const same = (table: TableFacts, other: { readonly schema: string; readonly table: string }): boolean =>
  table.schema === other.schema && table.name === other.table

/** A key for a view, and whether it tells the view's rows apart now; null: nobody knows. */
export interface ViewKey {
  readonly table: TableFacts
  readonly columns: readonly string[]
  readonly holds: boolean | null
}

export const isView = (table: TableFacts): boolean =>
  table.kind === "view" || table.kind === "materialized view" || table.kind === "function"

/**
 * Columns that may tell the rows of a view apart, the likeliest first: a unique index of a materialized view, the columns that it groups by, the keys of
 * the tables that it reads, the driving one first, where it shows them, a column `id`.
 */
export const viewKeys = (
  view: TableFacts,
  tables: readonly TableFacts[],
  traced: TracedView | null
): ReadonlyArray<readonly string[]> => {
  if (!isView(view)) return []
  const types = new Map(view.columns.map((column) => [column.name, column.type]))
  const ofTraced = (traced?.tables ?? []).flatMap((place) => {
    const key = keyColumns(tables.find((table) => same(table, place)) ?? view)
    const columns = key?.map((name) =>
      [...traced!.columns].find(([, origin]) =>
        origin?.schema === place.schema && origin.table === place.table && origin.column === name
      )?.[0]
    )
    return columns?.every((name) => name !== undefined) === true ? [columns] : []
  })
  const read = tables.filter((table) => view.reads?.some((each) => same(table, each)) === true)
  const ofTables = read.flatMap((table) => {
    const key = keyColumns(table)
    const whole = key?.every((name) => types.get(name) === table.columns.find((column) => column.name === name)?.type)
    return key !== null && whole === true ? [key] : []
  })
  const keys = [
    ...view.uniques.filter((key) => key.length > 0),
    ...(traced?.groups == null ? [] : [traced.groups]),
    ...ofTraced,
    ...ofTables,
    ...(types.has("id") ? [["id"]] : [])
  ]
  return keys.filter((key, i) => keys.findIndex((other) => other.join("\0") === key.join("\0")) === i)
}

export const viewNote = ({ columns, holds, table }: ViewKey): string =>
  `a ${table.kind}: ${holds === null ? "nobody has checked that" : "check that"} ${
    columns.join(", ")
  } always tells its rows apart; ${
    table.kind === "materialized view"
      ? "materialized: true instead of readOnly shows its age and refreshes it"
      : "remove readOnly where it takes writes"
  }`
