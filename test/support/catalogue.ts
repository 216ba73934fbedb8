/** What a catalogue says of plain columns and tables, for checks of what differs from that. */

import type { ColumnFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"

/** A column of a type that takes any value but null. */
export const columnFacts = (name: string, base: string, more: Partial<ColumnFacts> = {}): ColumnFacts => ({
  name,
  type: base,
  base,
  domain: null,
  nullable: false,
  default: null,
  identity: null,
  generated: false,
  virtual: false,
  maxLength: null,
  precision: null,
  scale: null,
  fraction: null,
  values: null,
  collation: null,
  comment: null,
  privileges: { select: true, insert: true, update: true },
  ...more
})

/** A table with the key `id` and every right. */
export const tableFacts = (
  name: string,
  columns: readonly ColumnFacts[],
  more: Partial<TableFacts> = {}
): TableFacts => ({
  schema: "public",
  name,
  kind: "table",
  rows: null,
  columns,
  primaryKey: ["id"],
  uniques: [],
  foreignKeys: [],
  checks: [],
  indexes: [],
  rowSecurity: false,
  heirs: [],
  privileges: { select: true, insert: true, update: true, delete: true },
  comment: null,
  ...more
})
