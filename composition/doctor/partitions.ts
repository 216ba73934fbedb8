/**
 * Whether the table of a resource with tenants is divided by tenant, and what keeps it from being so. Pure: models and facts in, findings out. The page of the
 * docs is docs/guides/partitions.md#before-you-begin.
 */

import type { PartitionFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import { quotedName, tableName } from "../../core/domain/model/table.ts"
import type { Finding } from "./finding.ts"

const guide = "docs/guides/partitions.md"

/** How many times as many rows as a large table a table has before partitions are worth a word. */
const worth = 100

/** Columns as they stand in SQL. */
const listed = (columns: readonly string[]): string => columns.map(quotedName).join(", ")

/** A partitioned table. */
const ofPartitioned = (
  table: TableFacts,
  { below = [], by, columns, count, rest }: PartitionFacts,
  tenant: Field,
  note: (message: string, fix: string) => Finding
): readonly Finding[] => {
  if (!columns.includes(tenant.column) && !below.includes(tenant.column)) {
    return [
      note(
        `The table is divided by ${
          columns.map((column) => column ?? "an expression").join(", ")
        } and not by its tenant (${tenant.column}): a statement about one tenant looks into each of its ${count} partitions, unless it also asks for what they are divided by.`,
        `Divide it by ${tenant.column}, or each partition by it: ${guide} says how.`
      )
    ]
  }
  return by !== "list" || rest || columns[0] !== tenant.column ? [] : [
    note(
      "A tenant without a partition can have no records: each of its creates is refused.",
      `Make the partition of a tenant before its first record, or one for the rest: create table … partition of ${
        tableName({ schema: table.schema, table: table.name })
      } default;`
    )
  ]
}

/** What the database refuses on a table that is divided by tenant, by what it is called. */
const hindrances = (
  table: TableFacts,
  tenant: Field,
  others: Iterable<TableFacts | null>
): readonly string[] => {
  const found: string[] = []
  for (const { columns, name, primary, unique } of table.indexes) {
    if (!unique || columns.some((column) => column.name === tenant.column)) continue
    const named = columns.map((column) => column.name ?? "an expression").join(", ")
    found.push(`the ${primary ? "primary key" : "unique index"} ${name} (${named})`)
  }
  for (const other of others) {
    if (other === null) continue
    for (const { name, target } of other.foreignKeys) {
      if (target.schema !== table.schema || target.table !== table.name) continue
      if (!target.columns.includes(tenant.column)) found.push(`the foreign key ${name} of ${other.name}`)
    }
  }
  return [...new Set(found)]
}

/** Findings about the partitions of one table. `tables` are those of all resources. */
export const checkPartitions = (
  model: Model,
  table: TableFacts,
  tables: Iterable<TableFacts | null>,
  { large }: { readonly large: number }
): readonly Finding[] => {
  const { tenant } = model
  if (tenant === null) return []
  const note = (message: string, fix: string | null, sql: readonly string[] = []): Finding => ({
    level: "note",
    check: "partitions",
    resource: model.name,
    field: null,
    message,
    fix,
    sql
  })
  if (table.kind === "partitioned" && table.partitions != null) {
    return ofPartitioned(table, table.partitions, tenant, note)
  }
  if (table.kind !== "table" || (table.rows ?? 0) <= large * worth) return []
  const found = hindrances(table, tenant, tables)
  if (found.length === 0) return []
  const key = [tenant.column, ...model.key.map(({ column }) => column).filter((column) => column !== tenant.column)]
  const has = table.indexes.some(({ columns, unique }) =>
    unique && columns.length === key.length && columns.every(({ name }, at) => name === key[at])
  )
  return [
    note(
      `The table is large, and could not be divided by its tenant as it is: ${tenant.column} is missing in ${
        found.join(", ")
      }.`,
      `Nothing is wrong. ${guide} says when and how to divide it. The new key comes first.`,
      has ? [] : [`create unique index concurrently on ${tableName(model)} (${listed(key)});`]
    )
  ]
}
