/**
 * Turns the facts of tables into drafts of resources: keys, kinds, bounds, enums, defaults, relations, and what may be filtered, sorted and
 * searched. It guesses only what cannot do harm when it is wrong; the rest becomes a comment. The same facts always give the same drafts.
 */

import type { ColumnFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
import { boundsOf, checkedValues, renewedColumns } from "../../core/domain/compile/constraint.ts"
import type { Bounds } from "../../core/domain/compile/constraint.ts"
import { declarationOf, enumText } from "../../core/domain/compile/facts.ts"
import { fieldNames, resourceNames, snakeCase, tableText, unique } from "./names.ts"

export interface DraftedField {
  readonly name: string
  readonly column: string
  /** How the field's kind is written, or the resource a relation points at. */
  readonly kind: { readonly of: "kind"; readonly text: string } | { readonly of: "relation"; readonly target: string }
  /** Modifiers in order, as written: `optional()`. */
  readonly modifiers: readonly string[]
}

export interface DraftedResource {
  readonly name: string
  /** The table as a declaration takes it; null when it is the resource's name. */
  readonly table: string | null
  readonly comment: string | null
  readonly key: readonly string[]
  readonly softDelete: string | null
  readonly version: string | null
  /** The operations that the database would refuse through the service. */
  readonly closed: readonly string[]
  readonly fields: readonly DraftedField[]
  /** Expressions of `record` that say what is wrong with it, by field: `[condition, field, message]`. */
  readonly bounds: ReadonlyArray<readonly [wrong: string, field: string, message: string]>
  /** What a person should know: columns left out, guesses not made. */
  readonly notes: readonly string[]
}

export interface Drafts {
  readonly resources: readonly DraftedResource[]
  /** Tables that no resource was made of, with the reason. */
  readonly left: readonly string[]
}

const isText = (column: ColumnFacts): boolean =>
  column.values === null && ["text", "varchar", "bpchar", "citext"].includes(column.base)

const isTimestamp = (column: ColumnFacts): boolean => column.base === "timestamptz" || column.base === "timestamp"

const isInteger = (column: ColumnFacts): boolean => ["int2", "int4", "int8"].includes(column.base)

const hasDefault = (column: ColumnFacts): boolean =>
  column.default !== null || column.identity !== null || column.generated

const secretName =
  /(?:^|_)(?:passwords?|passwd|pwd|secrets?|(?:private|api|access|signing|encryption)_key|(?:access|refresh|session|reset|auth)_token|token$|totp|otp|salt|(?:password|token)_?hash|(?:recovery|backup)_codes?)(?:_|$)/i

/** However its words are separated: `access_token`, `accessToken`. */
const looksSecret = (name: string): boolean => secretName.test(name) || secretName.test(snakeCase(name))

const fileName =
  /(?:^|_)(?:avatar|photo|image|img|picture|thumbnail|logo|icon|banner|scan|attachment|upload|file|pdf|video|audio)(?:_(?:path|url|uri|file|key|src))?$/

/** Columns by whose name a person would expect a file. */
const looksLikeFile = (column: ColumnFacts): boolean => isText(column) && fileName.test(snakeCase(column.name))

/** The columns that name a row: the primary key, else a unique key whose columns are never null. */
const keyOf = (table: TableFacts): readonly string[] | null => {
  if (table.primaryKey !== null) return table.primaryKey
  const never = new Set(table.columns.filter((column) => !column.nullable).map((column) => column.name))
  return table.uniques.find((columns) => columns.length > 0 && columns.every((name) => never.has(name))) ?? null
}

/** Why no field stands for a column, or null when one does. */
const leftOut = (column: ColumnFacts, key: readonly string[]): string | null => {
  if (!column.privileges.select) return "the database role may not read it"
  if (column.base === "name") return "the type name cuts longer texts off"
  const declaration = declarationOf(column)
  // A scale below zero or above the precision, as in numeric(3,-2), is none that a field can have.
  const oddScale = column.base === "numeric" && column.precision !== null && declaration === "f.decimal()"
  if (declaration === null || oddScale) return `no kind of field fits ${column.type}`
  if (column.values?.includes("") === true) return "its enum type has an empty value"
  if (looksSecret(column.name) && !key.includes(column.name)) {
    return "it looks like a secret; declare it yourself if it is none"
  }
  return null
}

/** The values a check allows a text column, where each could be an enum value. */
const enumOf = (table: TableFacts, column: ColumnFacts): readonly string[] | null => {
  if (!isText(column)) return null
  const values = checkedValues(table, column)
  if (values === null || values.length === 0 || values.includes("") || new Set(values).size < values.length) return null
  return values
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
  "lock_version",
  "row_version"
]

const canBeVersion = (column: ColumnFacts, key: readonly string[]): boolean =>
  !column.nullable && !column.generated && column.identity === null && !key.includes(column.name)

/** A column that triggers renew, whatever its name is; else one whose name says so. */
const versionOf = ({ columns, triggers = [] }: TableFacts, key: readonly string[]): ColumnFacts | null => {
  const renewed = renewedColumns(triggers)
  const byTrigger = columns.filter((column) =>
    renewed.has(column.name) && canBeVersion(column, key) && (isTimestamp(column) || isInteger(column))
  )
  const byName = versionNames.flatMap((name) => columns.filter((column) => column.name === name)).filter((column) =>
    canBeVersion(column, key) && (column.name.endsWith("_version") ? isInteger(column) : isTimestamp(column))
  )
  return byTrigger.find((column) => byName.includes(column)) ?? byTrigger[0] ?? byName[0] ?? null
}

const softDeleteOf = (columns: readonly ColumnFacts[]): ColumnFacts | null =>
  columns.find((column) =>
    column.name === "deleted_at" && column.nullable && isTimestamp(column) && !hasDefault(column)
  ) ?? null

/** The time a row was made. The database sets it, and nothing changes it later. */
const isCreation = (column: ColumnFacts): boolean =>
  /^(?:created|inserted)_(?:at|on)$/.test(column.name) &&
  /^(?:now\(\)|CURRENT_TIMESTAMP|transaction_timestamp\(\))/.test(column.default ?? "")

/** Columns that an index can sort by on its own. */
const indexedFirst = (table: TableFacts): ReadonlySet<string> =>
  new Set(table.indexes.flatMap((index) => {
    const first = index.columns[0]?.name ?? null
    return index.valid && index.method === "btree" && index.predicate === null && first !== null ? [first] : []
  }))

const longestSorted = 255

interface Place {
  readonly table: TableFacts
  readonly name: string
  readonly key: readonly string[]
  /** Field names by column. */
  readonly names: ReadonlyMap<string, string>
  /** What a person should know about it. */
  readonly notes: string[]
}

const same = (table: TableFacts, other: { readonly schema: string; readonly table: string }): boolean =>
  table.schema === other.schema && table.name === other.table

/** The resource a column points at: by a foreign key of this column alone to a resource's whole key. */
const pointedAt = (place: Place, column: string, places: readonly Place[]): Place | null => {
  for (const foreign of place.table.foreignKeys) {
    if (foreign.columns.length !== 1 || foreign.columns[0] !== column) continue
    const target = places.find(({ table }) => same(table, foreign.target))
    if (target !== undefined && target.key.length === 1 && target.key[0] === foreign.target.columns[0]) return target
  }
  return null
}

const columnOf = ({ table }: Place, name: string): ColumnFacts => table.columns.find((column) => column.name === name)!

/**
 * The resource that a column is a relation to. A relation has the kind of the key it points at, so their types must be equal, except for
 * the length of a text.
 */
const targetOf = (place: Place, column: string, places: readonly Place[]): Place | null => {
  const target = pointedAt(place, column, places)
  if (target === null) return null
  const [own, key] = [columnOf(place, column), columnOf(target, target.key[0]!)].map((each) =>
    declarationOf(each)?.replace(/\.max\(\d+\)$/, "")
  )
  return own === key ? target : null
}

/** Whether a key's kind can be found by following its relations: they must not lead in a circle. */
const grounded = (place: Place, places: readonly Place[]): boolean => {
  const seen = new Set<Place>()
  for (let at: Place | null = place; at !== null; at = targetOf(at, at.key[0]!, places)) {
    if (seen.has(at)) return false
    seen.add(at)
    if (at.key.length > 1) return true
  }
  return true
}

/** Names of relations, unique on both ends. Names that differ from the default are written down. */
class Ways {
  readonly #taken = new Map<string, Set<string>>()
  #of(resource: string): Set<string> {
    const known = this.#taken.get(resource)
    if (known !== undefined) return known
    const made = new Set<string>()
    this.#taken.set(resource, made)
    return made
  }
  forward(resource: string, field: string): string {
    return unique(field.replace(/_id$/, ""), this.#of(resource))
  }
  back(target: string, source: string, as: string): string {
    const taken = this.#of(target)
    return taken.has(source) ? unique(`${source}_by_${as}`, taken) : unique(source, taken)
  }
}

interface Pointer {
  readonly place: Place
  readonly column: string
  readonly target: Place
  readonly as: string
}

/** A key for a view, and whether it tells the view's rows apart now; null: nobody knows. */
export interface ViewKey {
  readonly table: TableFacts
  readonly columns: readonly string[]
  readonly holds: boolean | null
}

const isView = (table: TableFacts): boolean => table.kind === "view" || table.kind === "materialized view"

/**
 * Columns that may tell the rows of a view apart, the likeliest first: a unique index of a materialized view, the keys of the tables that it
 * reads, where it shows them, a column `id`.
 */
export const viewKeys = (view: TableFacts, tables: readonly TableFacts[]): ReadonlyArray<readonly string[]> => {
  if (!isView(view)) return []
  const shown = new Map(view.columns.map((column) => [column.name, column.type]))
  const read = tables.filter((table) => view.reads?.some((each) => same(table, each)) === true)
  const ofTables = read.flatMap((table) => {
    const key = keyOf(table)
    const whole = key?.every((name) => shown.get(name) === table.columns.find((column) => column.name === name)?.type)
    return key !== null && whole === true ? [key] : []
  })
  const keys = [...view.uniques.filter((key) => key.length > 0), ...ofTables, ...(shown.has("id") ? [["id"]] : [])]
  return keys.filter((key, i) => keys.findIndex((other) => other.join("\0") === key.join("\0")) === i)
}

/** Drafts resources for all tables that have a key, and for views with a given one. Partitions are left to the table they are part of. */
export const draftResources = (tables: readonly TableFacts[], views: readonly ViewKey[] = []): Drafts => {
  const left: string[] = []
  const found: Array<{ readonly table: TableFacts; readonly key: readonly string[]; readonly notes: string[] }> = []
  for (const table of tables) {
    if (table.kind === "partition") continue
    const full = tableText(table.schema, table.name)
    const view = views.find((each) => each.table === table)
    const key = view?.columns ?? keyOf(table)
    if (table.kind !== "table" && table.kind !== "partitioned" && view === undefined) {
      const kind = table.kind === "foreign" ? "foreign table" : table.kind
      left.push(
        `${full}: a ${kind} has no key; ${
          isView(table) ? "run with --views, or " : ""
        }declare it yourself and name columns that tell its rows apart`
      )
      continue
    }
    if (!table.privileges.select) {
      left.push(`${full}: the database role may not read it`)
      continue
    }
    if (key === null) {
      left.push(`${full}: it has no primary key, and no unique key whose columns are never null`)
      continue
    }
    const unfit = table.columns.find((column) =>
      key.includes(column.name) &&
      (leftOut(column, key) !== null || ["json", "jsonb", "float4", "float8"].includes(column.base))
    )
    if (unfit !== undefined) {
      left.push(`${full}: ${unfit.name} (${unfit.type}) cannot be part of a key`)
      continue
    }
    found.push({ table, key, notes: view === undefined ? [] : [viewNote(view)] })
  }
  const names = resourceNames(found.map(({ table: { name, schema } }) => ({
    schema,
    table: name,
    ambiguous: tables.some((other) => other.schema !== schema && other.name === name && other.kind !== "partition")
  })))
  const places = found.map(({ key, notes, table }, i): Place => {
    const columns = table.columns.map((column) => column.name)
    const fields = fieldNames(columns)
    return {
      table,
      key,
      name: names[i]!,
      names: new Map(columns.map((column, at) => [column, fields[at]!])),
      notes
    }
  })

  const ways = new Ways()
  const pointers: Pointer[] = []
  for (const place of places) {
    for (const column of place.table.columns) {
      if (leftOut(column, place.key) !== null) continue
      const target = targetOf(place, column.name, places)
      const other = target === null ? pointedAt(place, column.name, places) : null
      if (other !== null) {
        const key = columnOf(other, other.key[0]!)
        place.notes.push(
          `${column.name} is no relation: it is ${column.type}, and ${other.table.name}.${key.name} is ${key.type}`
        )
      }
      const part = place.table.foreignKeys.find(({ columns }) => columns.length === 1 && columns[0] === column.name)
        ?.target
      if (part !== undefined && tables.some((table) => table.kind === "partition" && same(table, part))) {
        place.notes.push(
          `${column.name} is no relation: it points at ${
            tableText(part.schema, part.table)
          }, a partition, and resources are of whole tables`
        )
      }
      if (target === null || (place.key.length === 1 && place.key[0] === column.name && !grounded(place, places))) {
        continue
      }
      pointers.push({ place, column: column.name, target, as: ways.forward(place.name, place.names.get(column.name)!) })
    }
  }
  const written = new Map(pointers.map((pointer) => {
    const field = pointer.place.names.get(pointer.column)!
    const back = ways.back(pointer.target.name, pointer.place.name, pointer.as)
    const modifiers = [
      ...(pointer.as === field.replace(/_id$/, "") ? [] : [`as(${JSON.stringify(pointer.as)})`]),
      ...(back === pointer.place.name ? [] : [`inverse(${JSON.stringify(back)})`])
    ]
    return [`${pointer.place.name}\0${pointer.column}`, { target: pointer.target.name, modifiers }] as const
  }))
  return { resources: places.map((place) => draftResource(place, written)), left }
}

const viewNote = ({ columns, holds, table }: ViewKey): string =>
  `a ${table.kind}: ${holds === null ? "nobody has checked that" : "check that"} ${
    columns.join(", ")
  } always tells its rows apart; remove the access rules where it takes writes`

/** Whole numbers that JavaScript compares exactly; other numbers travel as texts. */
const isSmall = (column: ColumnFacts): boolean => column.base === "int2" || column.base === "int4"

/**
 * Whether a value that JavaScript may have rounded stands on the same side of a bound as before. No number rounds to zero but a numeric with hundreds of
 * fraction digits.
 */
const holdsRounded = (column: ColumnFacts, bound: string): boolean =>
  isSmall(column) ||
  (Number(bound) === 0 && (column.base !== "numeric" || (column.scale !== null && column.scale <= 300)))

/**
 * Bounds of a number as a condition under which it is wrong. A text is rounded when it is compared, so a bound that is no value itself is left to
 * the database there, unless it is zero.
 */
const wrongNumber = (
  column: ColumnFacts,
  name: string,
  { above, below, from, to }: Bounds
): readonly [wrong: string, field: string, message: string] | null => {
  const value = isSmall(column) ? `record.${name}` : `Number(record.${name})`
  const [low, high] = [from ?? above, to ?? below]
  if (low === undefined && high === undefined) return null
  const tests = [
    ...(low === undefined ? [] : [`${value} ${from === undefined && holdsRounded(column, low) ? "<=" : "<"} ${low}`]),
    ...(high === undefined ? [] : [`${value} ${to === undefined && holdsRounded(column, high) ? ">=" : ">"} ${high}`])
  ]
  const words = [
    ...(from === undefined ? [] : [`at least ${from}`]),
    ...(from !== undefined || above === undefined ? [] : [`more than ${above}`]),
    ...(to === undefined ? [] : [`at most ${to}`]),
    ...(to !== undefined || below === undefined ? [] : [`less than ${below}`])
  ]
  const any = tests.join(" || ")
  const wrong = column.nullable ? `record.${name} !== null && ${tests.length > 1 ? `(${any})` : any}` : any
  return [wrong, name, `Must be ${words.join(" and ")}.`]
}

const isNumber = (column: ColumnFacts): boolean =>
  isInteger(column) || ["numeric", "float4", "float8"].includes(column.base)

const draftResource = (
  place: Place,
  pointers: ReadonlyMap<string, { readonly target: string; readonly modifiers: readonly string[] }>
): DraftedResource => {
  const { key, name, names, notes, table } = place
  const fields: DraftedField[] = []
  const indexed = indexedFirst(table)
  const softDelete = softDeleteOf(table.columns)
  const version = versionOf(table, key)
  const closed = new Set(isView(table) ? ["create", "update", "delete"] : [])
  const bounds: Array<readonly [string, string, string]> = []
  for (const column of table.columns) {
    const reason = leftOut(column, key)
    if (reason !== null) {
      const needed = !column.nullable && !hasDefault(column)
      if (needed) closed.add("create")
      notes.push(
        `${column.name} is left out: ${reason}${needed ? "; it is required, so records cannot be created here" : ""}`
      )
      continue
    }
    fields.push(draftField(place, column, pointers.get(`${name}\0${column.name}`) ?? null, {
      sortable: indexed.has(column.name),
      softDelete: column === softDelete,
      readOnly: column === softDelete || column === version || isCreation(column)
    }))
    const found = boundsOf(table, column)
    const own = names.get(column.name)!
    const wrong = !isView(table) && isNumber(column) && !pointers.has(`${name}\0${column.name}`) && column !== version
      ? wrongNumber(column, own, found.bounds)
      : null
    if (wrong !== null) bounds.push(wrong)
    for (const other of found.others) {
      notes.push(`${column.name} (domain ${column.domain}): the database takes only values that pass ${other}`)
    }
  }
  if (table.heirs.length > 0) {
    notes.push(
      `rows of ${table.heirs.join(", ")} are among its own, by inheritance, and may have the same keys: ask the doctor`
    )
  }
  const field = (column: ColumnFacts | null): string | null => column === null ? null : names.get(column.name)!
  for (const column of table.columns) {
    const own = names.get(column.name)!
    if (
      /^(?:tenant|organi[sz]ation|workspace|account|company)_id$/.test(column.name) && !column.nullable &&
      !key.includes(column.name)
    ) {
      notes.push(`tenant: ${JSON.stringify(own)} would limit callers to their own tenant's records`)
    }
    if (looksLikeFile(column) && leftOut(column, key) === null && !pointers.has(`${name}\0${column.name}`)) {
      const room = column.maxLength !== null && column.maxLength < 500
        ? "; widen the column first, values are long"
        : ""
      notes.push(
        `${column.name} looks like a file: ${own}: f.file()${
          column.nullable ? ".optional()" : ""
        } takes uploads, and f.file().externalUrls() https URLs, too${room}`
      )
    }
    if (/^(?:owner|user|author|creator)_id$|^created_by$/.test(column.name) && !key.includes(column.name)) {
      notes.push(
        `owner: ${JSON.stringify(own)} would allow capabilities with .own, if it holds ids of this service's accounts`
      )
    }
  }
  const full = tableText(table.schema, table.name)
  return {
    name,
    table: full === name ? null : full,
    comment: table.comment,
    key: key.map((column) => names.get(column)!),
    softDelete: field(softDelete),
    version: field(version),
    closed: [...closed],
    fields,
    bounds,
    notes
  }
}

/** The kind of a column, with the length that a check allows where the type has none. */
const kindOf = (table: TableFacts, column: ColumnFacts): string => {
  const kind = declarationOf(column)!
  const { maxLength } = boundsOf(table, column).bounds
  return kind === "f.text()" && maxLength !== undefined && maxLength > 0 ? `f.text().max(${maxLength})` : kind
}

const draftField = (
  { key, names, table }: Place,
  column: ColumnFacts,
  pointer: { readonly target: string; readonly modifiers: readonly string[] } | null,
  known: { readonly sortable: boolean; readonly softDelete: boolean; readonly readOnly: boolean }
): DraftedField => {
  const name = names.get(column.name)!
  const values = pointer === null ? enumOf(table, column) : null
  const inKey = key.includes(column.name)
  const byDatabase = hasDefault(column)
  const json = column.base === "json" || column.base === "jsonb"
  const text = isText(column) && values === null && pointer === null
  const short = !text || (column.maxLength ?? Number.POSITIVE_INFINITY) <= longestSorted
  const code = text && (column.maxLength ?? 4) < 4
  const readOnly = column.generated || column.identity === "always" || (inKey && byDatabase) || known.readOnly
  const modifiers = [
    ...(pointer?.modifiers ?? []),
    ...(name === column.name ? [] : [`column(${JSON.stringify(column.name)})`]),
    ...(column.nullable && !inKey ? ["optional()"] : []),
    ...(readOnly ? ["readOnly()"] : []),
    ...(byDatabase ? ["dbDefault()"] : []),
    ...(json ? [] : ["filterable()"]),
    ...(!json && !known.softDelete &&
        (known.sortable || (short && column.base !== "bool" && column.base !== "uuid" && pointer === null))
      ? ["sortable()"]
      : []),
    ...(text && !code && !inKey && !/_(?:id|url|uri|hash|code|key)$/.test(column.name) ? ["searched()"] : [])
  ]
  return {
    name,
    column: column.name,
    kind: pointer === null
      ? { of: "kind", text: values === null ? kindOf(table, column) : enumText(values) }
      : { of: "relation", target: pointer.target },
    modifiers
  }
}
