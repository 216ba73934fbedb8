/**
 * Functions of the database as sources of resources: what is written of their arguments, and which of them become resources at once. One that may change data,
 * or whose rows no columns are known to tell apart, is left to people.
 */

import type { FunctionFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
import { neverArguments } from "../../core/domain/compile/database-function.ts"
import { declarationOf } from "../../core/domain/compile/facts.ts"
import { rowsOf } from "../../core/domain/compile/function-facts.ts"
import { quotedName } from "../../core/domain/model/table.ts"
import { kindName } from "./column.ts"
import { fieldNames, tableText } from "./names.ts"
import { keyColumns, same } from "./table-key.ts"

/** A function that a resource can be made of. */
export interface FunctionDraft {
  /** Its rows. */
  readonly table: TableFacts
  /** The columns that tell them apart; empty where nobody knows. */
  readonly key: readonly string[]
  /** `from` of the resource, as source text. */
  readonly from: string
  readonly note: string
  /** Why it stands in comments; null: it does not. */
  readonly reason: string | null
}

/** Types that no kind is sent as: they are named. */
const named: readonly string[] = ["timestamp", "float4", "json"]

const argumentsOf = ({ parameters }: FunctionFacts): string => {
  const names = fieldNames(parameters.map(({ name }) => name))
  const fields = parameters.map((parameter, i) =>
    `${names[i]!}: ${
      [
        declarationOf(parameter)!,
        ...(names[i] === parameter.name ? [] : [`column(${JSON.stringify(parameter.name)})`]),
        ...(parameter.optional ? ["dbDefault()"] : [])
      ].join(".")
    }`
  )
  const types = parameters.flatMap((parameter, i) =>
    parameter.values !== null || named.includes(parameter.base)
      ? [`${names[i]!}: ${
        JSON.stringify(
          parameter.schema === "pg_catalog"
            ? `pg_catalog.${parameter.base}`
            : `"${parameter.schema.replaceAll("\"", "\"\"")}"."${
              (parameter.domain ?? parameter.base).replaceAll("\"", "\"\"")
            }"`
        )
      }`]
      : []
  )
  return `{${fields.length === 0 ? "" : ` ${fields.join(", ")} `}}${
    types.length === 0 ? "" : `, { types: { ${types.join(", ")} } }`
  }`
}

/** Why no resource can be made of a function at all, or null. */
const unfit = (facts: FunctionFacts, all: readonly FunctionFacts[]): string | null => {
  if (!facts.executable) return "the database role may not call it"
  if (facts.columns.length === 0) return "its rows have no named columns"
  if (all.some((other) => other !== facts && other.name === facts.name && other.schema === facts.schema)) {
    return "several functions have this name; declare it yourself"
  }
  const strange = facts.parameters.find((each) => each.name === "" || neverArguments.has(kindName(each) || "native"))
  if (strange === undefined) return null
  return strange.name === ""
    ? "its parameters have no names"
    : `no kind fits its parameter ${strange.name} (${strange.type})`
}

/** The functions that resources can be made of, and why not of the others. */
export const draftFunctions = (
  functions: readonly FunctionFacts[],
  tables: readonly TableFacts[]
): { readonly drafts: readonly FunctionDraft[]; readonly left: readonly string[] } => {
  const drafts: FunctionDraft[] = []
  const left: string[] = []
  for (const facts of functions) {
    const name = tableText(facts.schema, facts.name)
    const reason = unfit(facts, functions)
    if (reason !== null) {
      left.push(`${name}(${facts.signature}): ${reason}`)
      continue
    }
    const rows = tables.find((table) => facts.rowType !== null && same(table, facts.rowType))
    const key = rows === undefined ? null : keyColumns(rows)
    drafts.push({
      table: rowsOf(facts),
      key: key ?? [],
      from: `fn(${JSON.stringify(name)}, ${argumentsOf(facts)})`,
      note: `a function: check that ${key === null ? "its key" : key.join(", ")} always tells its rows apart`,
      reason: facts.volatility === "volatile"
        ? `VOLATILE functions may change data, so none is read. If this one changes nothing: alter function ${
          quotedName(facts.schema)
        }.${quotedName(facts.name)}(${facts.signature}) stable`
        : key === null
        ? "Nothing says which columns tell the rows of this function apart"
        : null
    })
  }
  return { drafts, left }
}
