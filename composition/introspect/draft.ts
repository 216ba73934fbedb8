/**
 * Turns the facts of tables into drafts of resources: keys, kinds, bounds, enums, defaults, relations, and what may be filtered, sorted and
 * searched. It guesses only what cannot do harm when it is wrong; the rest becomes a comment. The same facts always give the same drafts.
 */

import type { ColumnFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
import { checkedValues, declarationOf, enumText } from "../../core/domain/compile/facts.ts"
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
  /** Whether the database would refuse every create through the service. */
  readonly closedToCreates: boolean
  readonly fields: readonly DraftedField[]
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
  const values = checkedValues(table, column.name)
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

const versionOf = (columns: readonly ColumnFacts[], key: readonly string[]): ColumnFacts | null =>
  versionNames.map((name) => columns.find((column) => column.name === name)).find((column) =>
    column !== undefined && !column.nullable && !column.generated && column.identity === null &&
    !key.includes(column.name) &&
    (column.name.endsWith("_version") ? isInteger(column) : isTimestamp(column))
  ) ?? null

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

/** Drafts resources for all tables that have a key. Partitions are left to the table they are part of. */
export const draftResources = (tables: readonly TableFacts[]): Drafts => {
  const left: string[] = []
  const found: Array<{ readonly table: TableFacts; readonly key: readonly string[] }> = []
  for (const table of tables) {
    if (table.kind === "partition") continue
    const full = tableText(table.schema, table.name)
    const key = keyOf(table)
    if (table.kind !== "table" && table.kind !== "partitioned") {
      const kind = table.kind === "foreign" ? "foreign table" : table.kind
      left.push(`${full}: a ${kind} has no key; declare it yourself and name columns that tell its rows apart`)
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
    found.push({ table, key })
  }
  const names = resourceNames(found.map(({ table: { name, schema } }) => ({
    schema,
    table: name,
    ambiguous: tables.some((other) => other.schema !== schema && other.name === name && other.kind !== "partition")
  })))
  const places = found.map(({ key, table }, i): Place => {
    const columns = table.columns.map((column) => column.name)
    const fields = fieldNames(columns)
    return {
      table,
      key,
      name: names[i]!,
      names: new Map(columns.map((column, at) => [column, fields[at]!])),
      notes: []
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

const draftResource = (
  place: Place,
  pointers: ReadonlyMap<string, { readonly target: string; readonly modifiers: readonly string[] }>
): DraftedResource => {
  const { key, name, names, notes, table } = place
  const fields: DraftedField[] = []
  const indexed = indexedFirst(table)
  const softDelete = softDeleteOf(table.columns)
  const version = versionOf(table.columns, key)
  let closedToCreates = false
  for (const column of table.columns) {
    const reason = leftOut(column, key)
    if (reason !== null) {
      const needed = !column.nullable && !hasDefault(column)
      closedToCreates ||= needed
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
    closedToCreates,
    fields,
    notes
  }
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
      ? { of: "kind", text: values === null ? declarationOf(column)! : enumText(values) }
      : { of: "relation", target: pointer.target },
    modifiers
  }
}
