/**
 * What columns look: secrets, files, versions, marks of deleted rows, times of creation. It judges by type and name alone, and decides nothing
 * about a resource.
 */

import type { ColumnFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
import { renewedColumns } from "../../core/domain/compile/constraint.ts"
import { declarationOf, elementColumn, nativeText } from "../../core/domain/compile/facts.ts"
import { snakeCase } from "./names.ts"
import { isView } from "./table-key.ts"

export const isText = (column: ColumnFacts): boolean =>
  column.values === null && ["text", "varchar", "bpchar", "citext"].includes(column.base)

const isTimestamp = (column: ColumnFacts): boolean => column.base === "timestamptz" || column.base === "timestamp"

export const isInteger = (column: ColumnFacts): boolean => ["int2", "int4", "int8"].includes(column.base)

export const hasDefault = (column: ColumnFacts): boolean =>
  column.default !== null || column.identity !== null || column.generated

const secretName =
  /(?:^|_)(?:passwords?|passwd|pwd|secrets?|(?:private|api|access|signing|encryption)_key|(?:access|refresh|session|reset|auth)_token|token$|totp|otp|salt|(?:password|token|remember|reset|activation)_?(?:hash|digest)|(?:security|concurrency)_stamp|(?:recovery|backup)_codes?)(?:_|$)/i

/** However its words are separated: `access_token`, `accessToken`. */
export const looksSecret = (name: string): boolean => secretName.test(name) || secretName.test(snakeCase(name))

const fileName =
  /(?:^|_)(?:avatar|photo|image|img|picture|thumbnail|logo|icon|banner|scan|attachment|upload|file|pdf|video|audio)(?:_(?:path|url|uri|file|key|src))?$/

const longName =
  /(?:^|_)(?:descriptions?|notes?|remarks?|body|bio|biography|contents?|comments?|messages?|summary|text|texts|details|instructions|abstract|html|markdown|reasons?|excerpt)$/

/** The longest varchar that is a single line whatever its name says. */
const shortLine = 200

/**
 * Whether forms show a text in several lines: its name says so, and it has room. Null: the service says the same by the length. Statistics are not asked:
 * the same tables must give the same file wherever they stand.
 */
export const severalLines = (column: ColumnFacts, most: number | null): boolean | null => {
  const long = longName.test(snakeCase(column.name)) && (most ?? Infinity) > shortLine
  const byLength = (most ?? Infinity) > 320
  return long === byLength ? null : long
}

/** Columns by whose name a person would expect a file. */
export const looksLikeFile = (column: ColumnFacts): boolean => isText(column) && fileName.test(snakeCase(column.name))

/** A scale below zero or above the precision, as in numeric(3,-2), is none that a decimal can have. */
const isOddScale = (column: ColumnFacts): boolean =>
  column.base === "numeric" && column.precision !== null && declarationOf(column) === "f.decimal()"

/** How the kind of a column's field is written, or null when no field can stand for it. */
export const kindText = (column: ColumnFacts): string | null => {
  const declaration = declarationOf(column)
  const element = elementColumn(column)
  if (element !== null) {
    return isOddScale(element) ? `f.array(f.native("${element.base}")).readOnly()` : declaration
  }
  // Texts that are compared with a `name` are cut, too, so such a column is shown and not asked for.
  const isCut = column.base === "name"
  return isCut || isOddScale(column) ? nativeText(column.base) : declaration
}

/** The kind of a column's field, such as `text`; empty when no field can stand for it. */
export const kindName = (column: ColumnFacts): string => /^f\.(\w+)/.exec(kindText(column) ?? "")?.[1] ?? ""

/** Whether values of the column are shown only, because its type takes none that a caller may send. */
export const isShownOnly = (column: ColumnFacts): boolean => kindText(column)?.endsWith(".readOnly()") === true

/** Why no field stands for a column, or null when one does. */
export const leftOut = (column: ColumnFacts, key: readonly string[]): string | null => {
  if (!column.privileges.select) return "the database role may not read it"
  if (kindText(column) === null) return `no kind of field fits ${column.type}`
  const value = elementColumn(column) ?? column
  if (value.values?.length === 0) return "its enum type has no values"
  if (value.values?.includes("") === true) return "its enum type has an empty value"
  if (value !== column && key.includes(column.name)) return "a list is no key"
  if (looksSecret(column.name) && !key.includes(column.name)) {
    return "it looks like a secret; declare it yourself if it is none"
  }
  return null
}

/**
 * Whether writers of a table have to give a column its value: it is required and has no default, or it is one of the two times that Laravel fills although they
 * may be null. Laravel makes these in whole seconds, which nothing else does with such a pair. In any other column null may mean something.
 */
export const awaitsValue = (column: ColumnFacts, table: TableFacts): boolean => {
  if (isView(table) || hasDefault(column)) return false
  const times = table.columns.filter((each) =>
    (each.name === "created_at" || each.name === "updated_at") && isTimestamp(each) && each.fraction === 0 &&
    each.nullable && !hasDefault(each)
  )
  return !column.nullable || (times.length === 2 && times.includes(column))
}

/** Columns that change with their row. The service raises them itself; a trigger that does so, too, is none in the way. */
const versionNames = [
  "updated_at",
  "modified_at",
  "last_update",
  "last_updated",
  "last_modified",
  "updated_on",
  "modified_on",
  "modified",
  "updated",
  "lock_version",
  "row_version"
]

const canBeVersion = (column: ColumnFacts, table: TableFacts, key: readonly string[]): boolean =>
  leftOut(column, key) === null && (!column.nullable || awaitsValue(column, table)) && !column.generated &&
  column.identity === null && !key.includes(column.name)

/** A column that triggers renew, whatever its name is; else one whose name says so. */
export const versionOf = (table: TableFacts, key: readonly string[]): ColumnFacts | null => {
  const { columns, triggers = [] } = table
  const renewed = renewedColumns(triggers)
  const byTrigger = columns.filter((column) =>
    renewed.has(column.name) && canBeVersion(column, table, key) && (isTimestamp(column) || isInteger(column))
  )
  const byName = versionNames.flatMap((name) => columns.filter((column) => snakeCase(column.name) === name)).filter((
    column
  ) =>
    canBeVersion(column, table, key) &&
    (snakeCase(column.name).endsWith("_version") ? isInteger(column) : isTimestamp(column))
  )
  return byTrigger.find((column) => byName.includes(column)) ?? byTrigger[0] ?? byName[0] ?? null
}

export const softDeleteOf = (columns: readonly ColumnFacts[], key: readonly string[]): ColumnFacts | null =>
  columns.find((column) =>
    snakeCase(column.name) === "deleted_at" && column.nullable && isTimestamp(column) && !hasDefault(column) &&
    !key.includes(column.name) && leftOut(column, key) === null
  ) ?? null

/** The time a row was made. The database sets it, or the service where nothing else does, and nothing changes it later. */
export const isCreation = (column: ColumnFacts, table: TableFacts): boolean =>
  /^(?:(?:created|inserted)(?:_(?:at|on))?|date_joined)$/.test(snakeCase(column.name)) &&
  (/^(?:now\(\)|CURRENT_TIMESTAMP|transaction_timestamp\(\))/.test(column.default ?? "") ||
    (isTimestamp(column) && awaitsValue(column, table)))
