/**
 * Turns the facts of tables into drafts of resources: keys, kinds, bounds, enums, defaults, relations, and what may be filtered, sorted and
 * searched. It guesses only what cannot do harm when it is wrong; the rest becomes a comment. The same facts always give the same drafts.
 */

import type { ColumnFacts, FunctionFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
import { boundsOf, checkedValues, filledColumns } from "../../core/domain/compile/constraint.ts"
import type { Bounds } from "../../core/domain/compile/constraint.ts"
import { elementColumn, enumText } from "../../core/domain/compile/facts.ts"
import { canBeKey, hasOrder } from "../../core/domain/value/traits.ts"
import {
  awaitsValue,
  hasDefault,
  isCreation,
  isInteger,
  isShownOnly,
  isText,
  kindName,
  kindText,
  leftOut,
  looksLikeFile,
  looksSecret,
  severalLines,
  softDeleteOf,
  versionOf
} from "./column.ts"
import { descriptionOf, wordsOf } from "./comment.ts"
import { draftFunctions } from "./function.ts"
import { fieldNames, fieldReason, resourceNames, resourceReason, tableText } from "./names.ts"
import { type DraftedView, type TitledField, viewOf } from "./presentation.ts"
import { drawPointers, type Pointer, type ResourceTable } from "./relation.ts"
import type { Selected } from "./select.ts"
import { isView, keyColumns, type ViewKey, viewNote } from "./table-key.ts"

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
  /** Instead of a table: `from`, as source text. */
  readonly from?: string
  readonly description: string | null
  readonly key: readonly string[]
  readonly softDelete: string | null
  readonly version: string | null
  /** Of views: nobody writes. */
  readonly readOnly: boolean
  /** The operations that the database would refuse through the service. */
  readonly closed: readonly string[]
  readonly fields: readonly DraftedField[]
  /** Expressions of `record` that say what is wrong with it, by field: `[condition, field, message]`. */
  readonly bounds: ReadonlyArray<readonly [wrong: string, field: string, message: string]>
  /** What a person should know: columns left out, guesses not made. */
  readonly notes: readonly string[]
  readonly view: DraftedView | null
}

export interface Drafts {
  readonly resources: readonly DraftedResource[]
  /** Tables that no resource was made of, with the reason. */
  readonly left: readonly string[]
  /** Views and functions about which somebody has to decide something: they stand in comments, each with the reason. */
  readonly keyless?: ReadonlyArray<{ readonly resource: DraftedResource; readonly reason: string }>
  /** Tables that frameworks keep for themselves. */
  readonly frameworks?: Selected["frameworks"]
}

/** Whether a column alone tells rows apart, in a kind that a field may be unique in. */
const isUnique = (table: TableFacts, column: ColumnFacts): boolean =>
  !column.nullable && column.base !== "bool" && canBeKey(kindName(column)) &&
  table.uniques.some((columns) => columns.length === 1 && columns[0] === column.name)

/** The values a check allows a text column, where each could be an enum value. */
const enumOf = (table: TableFacts, column: ColumnFacts): readonly string[] | null => {
  if (!isText(column)) return null
  const values = checkedValues(table, column)
  if (values === null || values.length === 0 || values.includes("") || new Set(values).size < values.length) return null
  return values
}

/** Columns that an index can sort by on its own. */
const indexedFirst = (table: TableFacts): ReadonlySet<string> =>
  new Set(table.indexes.flatMap((index) => {
    const first = index.columns[0]?.name ?? null
    return index.valid && index.method === "btree" && index.predicate === null && first !== null ? [first] : []
  }))

/** Drafts resources for all tables that have a key, and for views with a given one. Partitions are left to the table they are part of. */
export const draftResources = (
  tables: readonly TableFacts[],
  views: readonly ViewKey[] | null = null,
  functions: readonly FunctionFacts[] = []
): Drafts => {
  const called = draftFunctions(functions, tables)
  const left: string[] = []
  const keyless: Array<{ readonly table: TableFacts; readonly key: readonly string[]; readonly reason: string }> = []
  const keyed: Array<{ readonly table: TableFacts; readonly key: readonly string[]; readonly notes: string[] }> = []
  for (const table of tables) {
    if (table.kind === "partition") continue
    const full = tableText(table.schema, table.name)
    const view = views?.find((each) => each.table === table)
    const key = view?.columns ?? keyColumns(table)
    if (table.kind !== "table" && table.kind !== "partitioned" && view === undefined) {
      const kind = table.kind === "foreign" ? "foreign table" : table.kind
      // Who asked for views was told of every one whose rows something tells apart.
      if (isView(table) && views !== null && table.privileges.select) {
        keyless.push({ table, key: [], reason: "Nothing tells the rows of this view apart" })
      }
      const advice = isView(table) && views === null ? "run with --views, or " : ""
      left.push(
        isView(table) && views !== null
          ? `${full}: nothing tells the rows of this ${kind} apart; declare it yourself and name columns that do`
          : `${full}: a ${kind} has no key; ${advice}declare it yourself and name columns that tell its rows apart`
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
      (leftOut(column, key) !== null || !canBeKey(kindName(column)))
    )
    if (unfit !== undefined) {
      left.push(`${full}: ${unfit.name} (${unfit.type}) cannot be part of a key`)
      continue
    }
    const secret = key.find(looksSecret)
    if (secret !== undefined) {
      left.push(
        `${full}: its key ${secret} looks like a secret, and keys stand in addresses; declare it yourself if it is none`
      )
      continue
    }
    keyed.push({ table, key, notes: view === undefined ? [] : [viewNote(view)] })
  }
  left.push(...called.left)
  const froms = new Map(called.drafts.map(({ from, table }) => [table, from]))
  for (const { key, note, reason, table } of called.drafts) {
    const unfitKey = table.columns.some((column) => key.includes(column.name) && leftOut(column, key) !== null)
    if (reason === null && !unfitKey) keyed.push({ table, key, notes: [note] })
    else keyless.push({ table, key, reason: reason ?? "Its key cannot be one here" })
  }
  // What stands in comments comes last, so that it takes no name away.
  const names = resourceNames(
    [...keyed.map(({ table }) => table), ...keyless.map(({ table }) => table)].map(({ name, schema }) => ({
      schema,
      table: name,
      ambiguous: tables.some((other) => other.schema !== schema && other.name === name && other.kind !== "partition")
    }))
  )
  const place = (
    { key, notes, table }: (typeof keyed)[number],
    i: number
  ): ResourceTable => {
    const columns = table.columns.map((column) => column.name)
    const fields = fieldNames(columns)
    const reasons = columns.map((column, at) => fieldReason(column, fields[at]!))
    return {
      table,
      key,
      name: names[i]!,
      names: new Map(columns.map((column, at) => [column, fields[at]!])),
      notes: [...notes, ...[resourceReason(table.name, names[i]!), ...reasons].filter((reason) => reason !== null)]
    }
  }
  const places = keyed.map(place)

  const pointers = drawPointers(places, tables)
  const grouped = new Set(places.map(({ table }) => table.schema)).size > 1
  return {
    resources: places.map((each) => draftResource(each, pointers.get(each.name) ?? new Map(), grouped, froms)),
    left,
    keyless: keyless.map(({ key, reason, table }, i) => ({
      reason,
      resource: draftResource(place({ table, key, notes: [] }, keyed.length + i), new Map(), grouped, froms)
    }))
  }
}

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
  place: ResourceTable,
  pointers: ReadonlyMap<string, Pointer>,
  grouped: boolean,
  froms: ReadonlyMap<TableFacts, string>
): DraftedResource => {
  const { key, name, names, notes, table } = place
  const fields: DraftedField[] = []
  const indexed = indexedFirst(table)
  const filled = filledColumns(table.fills ?? [])
  const softDelete = softDeleteOf(table.columns, key)
  // The service fills in what points at no other record.
  const plain = { ...table, columns: table.columns.filter((column) => !pointers.has(column.name)) }
  const version = versionOf(plain, key)
  const readOnly = isView(table)
  const closed = new Set<string>()
  const bounds: Array<readonly [string, string, string]> = []
  for (const column of table.columns) {
    const vector = column.base === "tsvector" && column.domain === null && column.privileges.select
    const reason = vector ? null : leftOut(column, key)
    const needed = !column.nullable && !hasDefault(column) && !filled.has(column.name)
    if (needed && !readOnly && (vector || reason !== null)) closed.add("create")
    if (vector) {
      fields.push(draftVector(place, column))
      if (column.config == null) {
        notes.push(`${column.name}: name the config that makes its words, such as { config: "english" }`)
      }
      continue
    }
    if (reason !== null) {
      notes.push(
        `${column.name} is left out: ${reason}${
          needed && !readOnly ? "; it is required, so records cannot be created here" : ""
        }`
      )
      continue
    }
    if (isShownOnly(column) && !column.nullable && !hasDefault(column) && !filled.has(column.name)) {
      closed.add("create")
      notes.push(`${column.name} is required and can only be read, so records cannot be created here`)
    }
    fields.push(draftField(place, column, pointers.get(column.name) ?? null, {
      sortable: indexed.has(column.name),
      softDelete: column === softDelete,
      filledBy: filledBy(plain, column, column === version, filled),
      readOnly: column === softDelete || column === version ||
        (isCreation(column, table) &&
          (column.nullable || hasDefault(column) || filledBy(plain, column, false, filled) !== null))
    }))
    const limits = boundsOf(table, column)
    const own = names.get(column.name)!
    const wrong = !isView(table) && isNumber(column) && !pointers.has(column.name) && column !== version
      ? wrongNumber(column, own, limits.bounds)
      : null
    if (wrong !== null) bounds.push(wrong)
    for (const other of limits.others) {
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
    const rest = key.flatMap((name) => name === column.name ? [] : names.get(name) ?? [])
    if (
      /^(?:tenant|organi[sz]ation|workspace|account|company)_id$/.test(column.name) && !column.nullable &&
      (rest.length === key.length || rest.length > 0)
    ) {
      const short = rest.length === key.length
        ? ""
        : `, and primaryKey: ${JSON.stringify(rest.length === 1 ? rest[0] : rest)} is enough within it`
      notes.push(`tenant: ${JSON.stringify(own)} would limit callers to their own tenant's records${short}`)
    }
    if (looksLikeFile(column) && leftOut(column, key) === null && !pointers.has(column.name)) {
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
  const keyFields = key.map((column) => names.get(column)!)
  const from = froms.get(table)
  return {
    view: viewOf({ name, key: keyFields }, table, fields.map(titled), grouped),
    name,
    table: full === name || from !== undefined ? null : full,
    ...(from === undefined ? {} : { from }),
    description: descriptionOf(table.comment),
    key: keyFields,
    softDelete: field(softDelete),
    version: field(version),
    readOnly: readOnly && from === undefined,
    closed: [...closed],
    fields,
    bounds,
    notes
  }
}

/** What gives a column that awaits one its value in a create: a trigger, the service, or null: whoever creates the record. */
const filledBy = (
  table: TableFacts,
  column: ColumnFacts,
  isVersion: boolean,
  filled: ReadonlySet<string>
): "service" | "trigger" | null => {
  if (!awaitsValue(column, table) || !table.columns.includes(column)) return null
  if (filled.has(column.name)) return "trigger"
  return isVersion || isCreation(column, table) ? "service" : null
}

/** A field as a title sees it. */
const titled = ({ column, kind, modifiers, name }: DraftedField): TitledField => {
  const text = kind.of === "kind" && kind.text.startsWith("f.text()")
  const max = text ? /\.max\((\d+)\)/.exec(kind.text)?.[1] : undefined
  return {
    name,
    column,
    kind: text ? "text" : "other",
    relation: kind.of === "relation" ? kind.target : null,
    optional: modifiers.includes("optional()"),
    searched: modifiers.includes("searched()"),
    sensitive: false,
    file: null,
    max: max === undefined ? null : Number(max)
  }
}

/** The kind of a column, with the length that a check allows where the type has none. */
const kindOf = (table: TableFacts, column: ColumnFacts): string => {
  const kind = kindText(column)!.replace(".readOnly()", "")
  const longest = Math.floor(boundsOf(table, column).bounds.maxLength ?? 0)
  return kind === "f.text()" && longest > 0 && longest <= 1_000_000_000 ? `f.text().max(${longest})` : kind
}

const draftVector = ({ names }: ResourceTable, column: ColumnFacts): DraftedField => {
  const name = names.get(column.name)!
  return {
    name,
    column: column.name,
    kind: {
      of: "kind",
      text: column.config == null ? "f.searchVector()" : `f.searchVector({ config: ${JSON.stringify(column.config)} })`
    },
    modifiers: name === column.name ? [] : [`column(${JSON.stringify(column.name)})`]
  }
}

const draftField = (
  { key, names, table }: ResourceTable,
  column: ColumnFacts,
  pointer: Pointer | null,
  traits: {
    readonly sortable: boolean
    readonly softDelete: boolean
    readonly readOnly: boolean
    readonly filledBy: "service" | "trigger" | null
  }
): DraftedField => {
  const name = names.get(column.name)!
  const list = elementColumn(column) !== null
  const values = pointer === null && !list ? enumOf(table, column) : null
  const inKey = key.includes(column.name)
  const byDatabase = hasDefault(column)
  const json = column.base === "json" || column.base === "jsonb"
  const text = isText(column) && values === null && pointer === null
  const code = text && (column.maxLength ?? 4) < 4
  const readOnly = column.generated || column.identity === "always" || (inKey && byDatabase) || traits.readOnly ||
    isShownOnly(column)
  const { help, label } = wordsOf(column.comment)
  const kind = values === null ? kindOf(table, column) : enumText(values)
  const length = /\.max\((\d+)\)/.exec(kind)?.[1]
  const several = text && !inKey && !column.generated
    ? severalLines(column, length === undefined ? null : Number(length))
    : null
  const modifiers = [
    ...(pointer?.modifiers ?? []),
    ...(name === column.name ? [] : [`column(${JSON.stringify(column.name)})`]),
    ...(column.nullable && !inKey ? ["optional()"] : []),
    ...(traits.filledBy === "service" ? ["stamped()"] : readOnly ? ["readOnly()"] : []),
    ...(byDatabase || traits.filledBy === "trigger" ? ["dbDefault()"] : []),
    ...(isUnique(table, column) && !inKey && !list ? ["unique()"] : []),
    ...(column.values !== null && !list && pointer === null ? ["ordered(\"type\")"] : []),
    ...(json ? [] : ["filterable()"]),
    // What no index serves is sorted where the table is small. Where it is not, the scan guard refuses, and names the index.
    ...(hasOrder(kindName(column)) && !traits.softDelete &&
        (traits.sortable || (column.base !== "bool" && column.base !== "uuid" && pointer === null))
      ? ["sortable()"]
      : []),
    ...(text && !code && !inKey && !/_(?:id|url|uri|hash|code|key)$/.test(column.name) ? ["searched()"] : []),
    ...(several === null ? [] : [several ? "multiline()" : "multiline(false)"]),
    ...(label === null ? [] : [`label(${JSON.stringify(label)})`]),
    ...(help === null ? [] : [`help(${JSON.stringify(help)})`])
  ]
  return {
    name,
    column: column.name,
    kind: pointer === null
      ? { of: "kind", text: kind }
      : { of: "relation", target: pointer.target },
    modifiers
  }
}
