/**
 * Follows the columns of views to the tables that they come from, through views of views, and gives views the foreign keys of those columns. What a tree
 * of a query does not say stays unknown.
 */

import type { QueryTrees } from "../../adapters/postgres/facts.ts"
import type { ForeignKeyFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
import { type Origin, readViewQuery, type ViewQuery } from "./query-tree.ts"

interface QualifiedName {
  readonly schema: string
  readonly table: string
}

/** A view with its columns followed to tables. */
export interface TracedView extends QualifiedName {
  /** The tables behind it, the driving one first. */
  readonly tables: readonly QualifiedName[]
  /** By column: the column of a table that it shows; null where it is computed. */
  readonly columns: ReadonlyMap<string, (QualifiedName & { readonly column: string }) | null>
  /** The columns that tell its rows apart because it groups by them, or null. */
  readonly groups: readonly string[] | null
}

/** How many views may stand on each other. */
const deepest = 32

/** All views whose queries could be read. */
export const traceViews = ({ columns, views }: QueryTrees): readonly TracedView[] => {
  const queries = new Map<string, ViewQuery>()
  for (const { number, tree } of views) {
    const query = readViewQuery(tree)
    if (query !== null) queries.set(number, query)
  }
  const places = new Map<string, QualifiedName>()
  const names = new Map<string, string>()
  for (const { column, name, number, schema, table } of columns) {
    places.set(number, { schema, table })
    names.set(`${number} ${column}`, name)
  }
  const follow = (origin: Origin | null, depth: number): (QualifiedName & { readonly column: string }) | null => {
    const place = origin === null ? undefined : places.get(origin.table)
    const name = origin === null ? undefined : names.get(`${origin.table} ${origin.column}`)
    if (origin === null || place === undefined || name === undefined || depth > deepest) return null
    const query = queries.get(origin.table)
    return query === undefined ? { ...place, column: name } : follow(query.columns.get(name) ?? null, depth + 1)
  }
  const tablesOf = (numbers: readonly string[], depth: number): readonly QualifiedName[] =>
    depth > deepest ? [] : numbers.flatMap((number) => {
      const query = queries.get(number)
      const place = places.get(number)
      return query !== undefined ? tablesOf(query.tables, depth + 1) : place === undefined ? [] : [place]
    })
  return views.flatMap(({ number, schema, table }) => {
    const query = queries.get(number)
    if (query === undefined) return []
    const traced = new Map([...query.columns].map(([name, origin]) => [name, follow(origin, 0)]))
    const behind = [...tablesOf(query.tables, 0), ...[...traced.values()].filter((each) => each !== null)]
    return [{
      schema,
      table,
      tables: behind.filter((each, i) =>
        behind.findIndex((other) => other.schema === each.schema && other.table === each.table) === i
      ),
      columns: traced,
      groups: query.groups
    }]
  })
}

/** The view with the foreign keys that its columns have in their tables. */
export const withForeignKeys = (view: TableFacts, traced: TracedView, tables: readonly TableFacts[]): TableFacts => ({
  ...view,
  foreignKeys: [...traced.columns].flatMap(([column, origin]): readonly ForeignKeyFacts[] => {
    const table = tables.find((each) => each.schema === origin?.schema && each.name === origin.table)
    const foreign = table?.foreignKeys.find((key) => key.columns.length === 1 && key.columns[0] === origin?.column)
    return foreign === undefined ? [] : [{ ...foreign, columns: [column] }]
  })
})
