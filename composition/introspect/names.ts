/**
 * Names for what a database names by rules of its own. Resources, fields, relations and constants get names that declarations allow, each
 * unique where it must be. The same database always gives the same names.
 */

import { addressName, isName, objectName } from "../../core/domain/compile/check.ts"
import { takenBy } from "../../core/domain/compile/field.ts"

/** Words that no constant can be named, and those that a generated file uses itself. */
const reserved = new Set(
  ("arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for function "
    + "if implements import in instanceof interface let new null package private protected public return static super switch this throw true "
    + "try typeof undefined var void while with yield defineResource f fn relation resources views").split(" ")
)

/** A database's name in lower case with underscores: `OrderItems` and `order items` are `order_items`. */
export const snakeCase = (name: string): string => {
  const words = name
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase()
    .replaceAll(/^_+|_+$/g, "")
  const safe = /^[a-z]/.test(words) ? words : `x_${words}`
  return safe.slice(0, 60).replace(/_+$/, "")
}

const longestName = 63

/** `name`, or with the first number that makes it unlike all of `taken`; adds it to them. Either is cut to what a name may have. */
export const unique = (name: string, taken: Set<string>): string => {
  const cut = (end: string): string => `${name.slice(0, longestName - end.length).replace(/_+$/, "")}${end}`
  let free = name.length > longestName ? cut("") : name
  for (let i = 2; taken.has(free); i++) free = cut(`_${i}`)
  taken.add(free)
  return free
}

/** Keeps names that are allowed as they are. Other names are made, different from these and from each other. */
const named = <A>(
  of: readonly A[],
  ownName: (each: A) => string | null,
  made: (each: A) => string
): readonly string[] => {
  const taken = new Set(of.flatMap((each) => ownName(each) ?? []))
  return of.map((each) => ownName(each) ?? unique(made(each), taken))
}

/** The names of a table's columns as fields': unchanged where the rules allow it. */
export const fieldNames = (columns: readonly string[]): readonly string[] =>
  named(
    columns,
    (column) => isName(column) && takenBy(column) === null ? column : null,
    (column) => {
      const name = isName(column) ? column : snakeCase(column)
      return takenBy(name) === null ? name : `${name}_value`
    }
  )

/** Why a resource cannot have a name, or null. */
const resourceTaken = (name: string): string | null => objectName(name) ?? addressName(name)

const plainName = (name: string): string => isName(name) ? name : snakeCase(name)

/** The names of tables as resources'. `ambiguous`: another schema has a table of that name. */
export const resourceNames = (
  tables: ReadonlyArray<{ readonly schema: string; readonly table: string; readonly ambiguous: boolean }>
): readonly string[] => {
  const prefixed = (each: { readonly schema: string; readonly ambiguous: boolean }): boolean =>
    each.ambiguous && each.schema !== "public"
  return named(
    tables,
    (each) => prefixed(each) || !isName(each.table) || resourceTaken(each.table) !== null ? null : each.table,
    (each) => {
      const plain = plainName(each.table)
      const name = prefixed(each) ? `${snakeCase(each.schema)}_${plain}`.slice(0, 60) : plain
      return resourceTaken(name) === null ? name : `${name}_table`
    }
  )
}

const because = (from: string, to: string, reason: string | null): string | null =>
  reason === null ? null : `${from} is called ${to} here: ${reason}`

/** Why a table's resource has another name, where that is more than the way of writing; else null. */
export const resourceReason = (table: string, name: string): string | null =>
  name.startsWith(`${plainName(table)}_table`) ? because(table, name, resourceTaken(plainName(table))) : null

/** The same of a column's field. */
export const fieldReason = (column: string, name: string): string | null =>
  because(column, name, takenBy(plainName(column)))

/** The constant that holds a resource in a generated file, another for each: `class_` is that of `class`, so `class_` has `class__`. */
export const constantName = (resource: string): string =>
  reserved.has(resource.replace(/_+$/, "")) ? `${resource}_` : resource

/** A table's name as a declaration takes it: parts with anything unusual are quoted. */
export const tableText = (schema: string, table: string): string => {
  const part = (name: string): string => /^[^".\s]+$/.test(name) ? name : `"${name.replaceAll("\"", "\"\"")}"`
  return schema === "public" ? part(table) : `${part(schema)}.${part(table)}`
}
