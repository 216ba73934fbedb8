/**
 * Names for what a database calls by names of its own: resources, fields, relations and constants that the rules of declarations allow, each
 * unique where it must be. The same database always gives the same names.
 */

import { isName, takenBy } from "../../core/domain/model/compile-field.ts"

/** Words that no constant can be named, and those that a generated file uses itself. */
const reserved = new Set(
  ("arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for function "
    + "if implements import in instanceof interface let new null package private protected public return static super switch this throw true "
    + "try typeof undefined var void while with yield defineResource f relation resources").split(" ")
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

/** `name`, or with the first number that makes it unlike all of `taken`; adds it to them. */
export const unique = (name: string, taken: Set<string>): string => {
  let found = name
  for (let i = 2; taken.has(found); i++) found = `${name}_${i}`
  taken.add(found)
  return found
}

/** A column's name as a field's: unchanged where the rules allow it. */
export const fieldName = (column: string, taken: Set<string>): string => {
  const name = isName(column) ? column : snakeCase(column)
  return unique(takenBy(name) === null ? name : `${name}_value`, taken)
}

/** A table's name as a resource's. `ambiguous`: another schema has a table of that name. */
export const resourceName = (schema: string, table: string, ambiguous: boolean, taken: Set<string>): string => {
  const plain = isName(table) ? table : snakeCase(table)
  const name = ambiguous && schema !== "public" ? `${snakeCase(schema)}_${plain}`.slice(0, 60) : plain
  return unique(name in {} ? `${name}_table` : name, taken)
}

/** The constant that holds a resource in a generated file. */
export const constantName = (resource: string): string => reserved.has(resource) ? `${resource}_` : resource

/** A table's name as a declaration takes it: parts with anything unusual are quoted. */
export const tableText = (schema: string, table: string): string => {
  const part = (name: string): string => /^[^".\s]+$/.test(name) ? name : `"${name.replaceAll("\"", "\"\"")}"`
  return schema === "public" ? part(table) : `${part(schema)}.${part(table)}`
}
