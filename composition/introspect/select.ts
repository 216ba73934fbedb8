/**
 * Which tables are read: those asked for, without those excluded, and without the tables that frameworks keep for themselves unless they are
 * asked for by name.
 */

import type { TableFacts } from "../../core/domain/compile/catalogue.ts"
import { frameworkOf } from "./framework.ts"
import { tableText } from "./names.ts"

/** Which tables were asked for; empty lists: all of `public`. */
export interface TableSelection {
  readonly schemas: readonly string[]
  /** Names with or without a schema; `*` stands for any characters. */
  readonly tables: readonly string[]
  /** Of those, what is left out. */
  readonly exclude: readonly string[]
  /** Whether views were asked for, too. */
  readonly views: boolean
}

export interface Selected {
  readonly tables: readonly TableFacts[]
  /** Tables of frameworks that nobody asked for by name. */
  readonly frameworks: ReadonlyArray<{ readonly table: string; readonly of: string }>
  /** What was asked for and is not there. */
  readonly missing: readonly string[]
}

const full = ({ name, schema }: TableFacts): string => `${schema}.${name}`

/** A pattern with a dot is about schema and table; one without about the table. A name that has a dot itself is found, too. */
const matches = (pattern: string): (table: TableFacts) => boolean => {
  if (!pattern.includes("*")) return (table) => table.name === pattern || full(table) === pattern
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
  const expression = new RegExp(`^${parts.join(".*")}$`, "s")
  return (table) => expression.test(table.name) || (pattern.includes(".") && expression.test(full(table)))
}

/** Chooses among the tables that were found. A misspelt name must not show a table that was to be left out, so it is missing. */
export const select = (all: readonly TableFacts[], { exclude, tables }: TableSelection): Selected => {
  const any = (patterns: readonly string[]) => {
    const tests = patterns.map(matches)
    return (table: TableFacts): boolean => tests.some((test) => test(table))
  }
  const asked = any(tables)
  const named = any(tables.filter((pattern) => !pattern.includes("*")))
  const excluded = any(exclude)
  const chosen = all.filter((table) => (tables.length === 0 || asked(table)) && !excluded(table))
  const frameworks = chosen.flatMap((table) => {
    const of = named(table) ? null : frameworkOf(table)
    return of === null ? [] : [{ table, of }]
  })
  const theirs = new Set(frameworks.map(({ table }) => table))
  return {
    tables: chosen.filter((table) => !theirs.has(table)),
    frameworks: frameworks.map(({ of, table }) => ({ table: tableText(table.schema, table.name), of })),
    missing: [...tables, ...exclude.filter((pattern) => !pattern.includes("*"))]
      .filter((pattern) => !all.some(matches(pattern)))
  }
}
