/**
 * Compares compiled models with a live database and refuses what does not fit: missing tables and columns, types, enum values, nullability,
 * keys, generated columns, relation targets. The facts arrive as data; nothing here asks a database. What only makes the service slower, or
 * some writes fail, is advice and belongs to the doctor.
 */

import { didYouMean, type Refusal } from "../declare/refusal.ts"
import type { Field, Model, Models } from "../model/model.ts"
import { elementField } from "../model/model.ts"
import { quotedName, tableName } from "../model/table.ts"
import type { Kind, RangeElement } from "../value/kind.ts"
import { isNative, isWritableNative } from "../value/native.ts"
import type { ColumnFacts, FunctionFacts, ServerFacts, TableFacts } from "./catalogue.ts"
import type { Say } from "./check.ts"
import { checkedValues } from "./constraint.ts"
import { checkFunction, functionOf, rowsOf } from "./function-facts.ts"

const textLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`

const texts: readonly string[] = ["text", "varchar", "bpchar", "citext", "name"]

/** The range types of PostgreSQL by what they go over, the one to make a column with first. */
const rangeTypes: { readonly [of in RangeElement]: readonly string[] } = {
  integer: ["int4range"],
  bigint: ["int8range"],
  decimal: ["numrange"],
  date: ["daterange"],
  timestamp: ["tstzrange", "tsrange"]
}

/** The types whose values a kind stands for (integers: by width). */
const basesOf = (field: Field): readonly string[] => {
  switch (field.kind) {
    case "integer":
      return [`int${field.bits / 8}`]
    case "text":
    case "currency":
    case "country":
    case "enum":
      return texts
    case "boolean":
      return ["bool"]
    case "timestamp":
      return ["timestamptz", "timestamp"]
    case "date":
      return ["date"]
    case "decimal":
      return ["numeric"]
    case "float":
      return ["float8", "float4"]
    case "uuid":
      return ["uuid"]
    case "json":
      return ["jsonb", "json"]
    case "list":
      // Judged by the type of its elements, see checkList.
      return []
    case "bytes":
      return ["bytea"]
    case "range":
      return rangeTypes[field.of]
    case "native":
      return [field.type]
    case "time":
    case "interval":
    case "inet":
    case "cidr":
    case "macaddr":
    case "money":
      return [field.kind]
  }
}

/** The type that a column of this field is best made with. */
const sqlTypeOf = (field: Field): string => {
  switch (field.kind) {
    case "integer":
      return field.bits === 64 ? "bigint" : field.bits === 16 ? "smallint" : "integer"
    case "text":
      return field.max === null ? "text" : `varchar(${field.max})`
    case "currency":
    case "country":
    case "enum":
      return "text"
    case "timestamp":
      return "timestamptz"
    case "decimal":
      return field.precision === null ? "numeric" : `numeric(${field.precision},${field.scale})`
    case "float":
      return "double precision"
    case "json":
      return "jsonb"
    case "list":
      return `${sqlTypeOf(elementField(field))}[]`
    case "bytes":
      return "bytea"
    case "range":
      return rangeTypes[field.of][0]!
    case "native":
      return field.type
    case "boolean":
    case "date":
    case "uuid":
    case "time":
    case "interval":
    case "inet":
    case "cidr":
    case "macaddr":
    case "money":
      return field.kind
  }
}

/** A declaration of an enum. */
export const enumText = (values: readonly string[]): string =>
  `f.enum([${values.map((value) => JSON.stringify(value)).join(", ")}])`

/** A declaration of a field that shows a type's own text. */
export const nativeText = (type: string): string => `f.native("${type}")${isWritableNative(type) ? "" : ".readOnly()"}`

/** How a column of arrays is declared. JSON in arrays, and names that would be cut when they are written, are shown as their texts. */
const listText = (element: ColumnFacts): string | null => {
  const of = element.base === "name" || element.base === "json" || element.base === "jsonb"
    ? nativeText(element.base)
    : declarationOf(element)
  const shown = ".readOnly()"
  return of === null ? null : of.endsWith(shown) ? `f.array(${of.slice(0, -shown.length)})${shown}` : `f.array(${of})`
}

/** How a column of this type is declared, or null when no kind fits. */
export const declarationOf = (column: ColumnFacts): string | null => {
  const element = elementColumn(column)
  if (element !== null) return listText(element)
  if (column.values !== null) return column.domain === null ? enumText(column.values) : null
  const sized = column.precision !== null && column.scale !== null && column.scale >= 0 &&
    column.scale <= column.precision
  const kinds: { readonly [base: string]: string } = {
    int2: "f.integer().bits(16)",
    int4: "f.integer()",
    int8: "f.integer().bits(64)",
    bool: "f.boolean()",
    timestamptz: "f.timestamp()",
    timestamp: "f.timestamp()",
    date: "f.date()",
    numeric: sized ? `f.decimal({ precision: ${column.precision}, scale: ${column.scale} })` : "f.decimal()",
    float4: "f.float()",
    float8: "f.float()",
    uuid: "f.uuid()",
    json: "f.json()",
    jsonb: "f.json()",
    time: "f.time()",
    interval: "f.interval()",
    inet: "f.inet()",
    cidr: "f.cidr()",
    macaddr: "f.macaddr()",
    bytea: "f.bytes()",
    money: column.scale === null || column.scale === 2 ? "f.money()" : `f.money({ scale: ${column.scale} })`,
    ...Object.fromEntries(
      Object.entries(rangeTypes).flatMap(([of, types]) => types.map((type) => [type, `f.range("${of}")`]))
    )
  }
  if (texts.includes(column.base)) return column.maxLength === null ? "f.text()" : `f.text().max(${column.maxLength})`
  return Object.hasOwn(kinds, column.base)
    ? kinds[column.base]!
    : isNative(column.base)
    ? nativeText(column.base)
    : null
}

/** A column of arrays as one of their elements, or null for another column. */
export const elementColumn = (column: ColumnFacts): ColumnFacts | null =>
  column.element === undefined || column.element === null ? null : { ...column, ...column.element, element: null }

const isView = (table: TableFacts): boolean =>
  table.kind === "view" || table.kind === "materialized view" || table.kind === "function"

const article = (kind: Kind): string =>
  kind === "list"
    ? "a list"
    : kind === "bytes"
    ? "of bytes"
    : kind === "native"
    ? "of another type"
    : kind === "money"
    ? "an amount of money"
    : kind === "cidr"
    ? "a network"
    : kind === "integer" || kind === "enum" || kind === "interval" || kind === "inet"
    ? `an ${kind}`
    : `a ${kind}`

/** What a field holds, with its article. */
const whatOf = (field: Field): string => {
  if (field.kind === "list") return `a list of ${elementField(field).kind} values`
  return field.kind === "integer" ? `an integer of ${field.bits} bits` : article(field.kind)
}

/** `whole`: the field and column of arrays, where those given are their elements. They are judged as a column of their own would be. */
const checkType = (
  field: Field,
  column: ColumnFacts,
  table: string,
  say: Say,
  whole: { readonly field: Field; readonly column: ColumnFacts } = { field, column }
): void => {
  const element = elementColumn(column)
  if (field.kind === "list" && element !== null) {
    checkType(elementField(field), element, table, say, whole)
    return
  }
  const named = column.domain === null ? column.type : `${column.type} (a domain over ${column.base})`
  // A domain over an enum has no operators of its own, and PostgreSQL does not find those of the enum for it.
  if (column.values !== null && column.domain !== null) {
    say(
      `The column is of type ${named}, and PostgreSQL compares no values of a domain over an enum type.`,
      whole.column === column
        ? `Leave the column out, or run: alter table ${table} alter column ${quotedName(column.name)} type ${
          quotedName(column.base)
        };`
        : "Leave the column out."
    )
    return
  }
  if (column.values !== null) {
    if (field.kind !== "enum") {
      say(
        `The column is of the enum type ${named}, and the field is ${whatOf(whole.field)}.`,
        `Write ${declarationOf(whole.column)}.`
      )
      return
    }
    const declared = field.values ?? []
    const missing = declared.filter((value) => !column.values!.includes(value))
    const extra = column.values.filter((value) => !declared.includes(value))
    const enumType = whole.column === column ? column.type : quotedName(column.base)
    if (missing.length > 0) {
      say(
        `The enum type ${enumType} has no ${missing.map((value) => JSON.stringify(value)).join(", ")}.`,
        `Remove the value, or run: ${
          missing.map((value) => `alter type ${enumType} add value ${textLiteral(value)};`).join(" ")
        }`
      )
    }
    if (extra.length > 0) {
      say(
        `The enum type ${enumType} also has ${
          extra.map((value) => JSON.stringify(value)).join(", ")
        }, which the field does not list.`,
        `Write ${declarationOf(whole.column)}.`
      )
    }
    const other = missing.length + extra.length === 0 && declared.some((value, i) => value !== column.values![i])
    if (field.typed === true && other) {
      say(
        `The values of the enum type ${enumType} have another order than those of the field.`,
        `Write ${enumText(column.values)}.ordered("type"), or ordered() without "type".`
      )
    }
    return
  }
  if (field.kind === "enum" && field.typed === true) {
    say(`The column is of type ${named}, and no enum type.`, "Write ordered() without \"type\".")
    return
  }
  if (!basesOf(field).includes(column.base)) {
    const declaration = declarationOf(whole.column)
    const type = sqlTypeOf(whole.field)
    say(
      `The column is of type ${named}, and the field is ${whatOf(whole.field)}.`,
      declaration === null
        ? `No kind of field fits ${
          column.domain === null ? column.type : column.base
        }: leave the column out, or change it: alter table ${table} alter column ${
          quotedName(column.name)
        } type ${type} using ${quotedName(column.name)}::${type};`
        : `Write ${declaration}, or change the column to ${type}.`
    )
    return
  }
  if (field.kind === "money" && column.scale !== null && column.scale !== field.scale) {
    say(
      `The database gives amounts of money ${column.scale} digits after the point (lc_monetary), and the field ${field.scale}.`,
      `Write ${declarationOf(whole.column)}.`
    )
  }
  if (field.kind === "decimal" && column.scale !== null && column.precision !== null) {
    const digits = column.precision - column.scale
    if (
      field.precision === null || field.scale === null || field.scale > column.scale ||
      field.precision - field.scale > digits
    ) {
      say(
        `The column is of type ${named}, which ${
          field.scale !== null && field.scale <= column.scale ? "is too narrow for" : "would round"
        } values that the field allows.`,
        `Write ${
          declarationOf(whole.column) ?? `f.decimal({ precision: ${column.precision}, scale: ${column.scale} })`
        }.`
      )
    }
  }
  const shortest = field.kind === "currency" ? 3 : field.kind === "country" ? 2 : field.kind === "enum"
    ? Math.max(0, ...(field.values ?? []).map((value) => Array.from(value).length))
    : 0
  if (column.maxLength !== null && column.maxLength < shortest) {
    say(
      `The column holds at most ${column.maxLength} characters, and values of the field have up to ${shortest}.`,
      `Run: alter table ${table} alter column ${quotedName(column.name)} type ${
        whole.column === column ? "text" : "text[]"
      };`
    )
  }
}

const hasDefault = (column: ColumnFacts): boolean =>
  column.default !== null || column.identity !== null || column.generated

/** Whether the role may read nothing of a table. */
const isClosed = (table: TableFacts): boolean =>
  !table.privileges.select && table.columns.every(({ privileges }) => !privileges.select)

const checkColumn = (model: Model, field: Field, column: ColumnFacts, table: TableFacts, say: Say): void => {
  const name = tableName(model)
  const alter = `alter table ${name} alter column ${quotedName(column.name)}`
  const readOnly = field.readOnly || model.readOnly === true
  checkType(field, column, name, say)
  if (field.kind === "enum" && column.values === null) {
    const allowed = checkedValues(table, column)
    const refused = allowed === null ? [] : (field.values ?? []).filter((value) => !allowed.includes(value))
    if (allowed !== null && refused.length > 0) {
      say(
        `A check constraint of the table does not allow ${refused.map((value) => JSON.stringify(value)).join(", ")}.`,
        `Write ${enumText(allowed)}, or change the constraint.`
      )
    }
  }
  const path = model.members?.find(({ member }) => member!.of === field)?.member
  if (path !== undefined && (column.base === "json") !== (path.storage === "json")) {
    say(
      `The column is of type ${column.base}, and the paths of the field are declared for ${path.storage}.`,
      column.base === "json" ? "Write f.json({ type: \"json\", paths: … })." : "Remove type: \"json\"."
    )
  }
  // Where it may read nothing of the table, that is said once.
  if (!column.privileges.select && !isClosed(table)) {
    say("The database role may not read the column.", `Run: grant select on ${name} to <role>;`)
  }
  if (!isView(table)) {
    if (column.nullable && !field.optional) {
      say(
        "The column may be null, and the field is not optional.",
        `${field.system || model.key.includes(field) ? "Run: " : "Add optional(), or run: "}${alter} set not null;`
      )
    } else if (!column.nullable && field.optional && (!readOnly || field === model.softDelete)) {
      say(
        "The column is NOT NULL, and the field is optional.",
        field === model.softDelete
          ? `Run: ${alter} drop not null;`
          : `Remove optional(), or run: ${alter} drop not null;`
      )
    }
    const byDatabase = field.default !== null && "db" in field.default && !field.stamped
    // A trigger before each insert may fill it as well.
    if (byDatabase && model.readOnly !== true && table.fillsRows !== true && !hasDefault(column)) {
      say(
        "The column has no default, and the field says dbDefault().",
        `Remove dbDefault(), or run: ${alter} set default …;`
      )
    }
  }
  // PostgreSQL cuts a value that is compared with a `name`, too. So two long ids of tenants or owners could look the same.
  const { base } = elementColumn(column) ?? column
  if (base === "name" && (field === model.tenant || field === model.owner)) {
    say(
      "The column is of type name, which cuts longer texts off, and it says whose a row is.",
      isView(table) ? "Cast it to text in the view." : `Run: ${alter} type text;`
    )
  } else if (base === "name" && !readOnly && !isView(table)) {
    say(
      "The column is of type name, which cuts longer texts off, and the field can be written.",
      `Add readOnly(), or run: ${alter} type ${field.kind === "list" ? "text[]" : "text"};`
    )
  }
  if (model.readOnly === true) return
  const written = field === model.softDelete || field === model.version || field === model.tenant
  if (column.generated && (!readOnly || written)) {
    say(
      "The database computes the column, and the field can be written.",
      written ? "Name another column." : "Add readOnly().dbDefault()."
    )
  } else if (column.identity === "always" && !readOnly) {
    say(
      "The column is GENERATED ALWAYS AS IDENTITY, and the field can be written.",
      `Add readOnly().dbDefault(), or run: ${alter} set generated by default;`
    )
  }
}

/** A search vector is a column of the type `tsvector`, made with a configuration that the database has. */
const checkVector = (model: Model, vector: Field, table: TableFacts, { textSearch }: ServerFacts, say: Say): void => {
  const column = table.columns.find(({ name }) => name === vector.column)
  if (column === undefined || column.base !== "tsvector") {
    say(
      column === undefined
        ? `The table ${tableName(model)} has no column "${vector.column}".`
        : `The column is of type ${column.type}, and the field is a search vector.`,
      `Run: alter table ${tableName(model)} add column … tsvector generated always as (to_tsvector(${
        textLiteral(vector.vector!.config)
      }, …)) stored;`
    )
    return
  }
  if (!column.privileges.select && !isClosed(table)) {
    say("The database role may not read the column.", `Run: grant select on ${tableName(model)} to <role>;`)
  }
  if (textSearch !== undefined && !textSearch.includes(vector.vector!.config)) {
    say(
      `The database has no configuration ${JSON.stringify(vector.vector!.config)} of text search.`,
      didYouMean(vector.vector!.config, textSearch)
    )
  }
}

/** Whether these columns identify a row: some unique key consists of them or of some of them. */
const isUnique = (table: TableFacts, columns: ReadonlySet<string>): boolean =>
  [table.primaryKey, ...table.uniques].some((key) =>
    key !== null && key.length > 0 && key.every((name) => columns.has(name))
  )

const checkKey = (model: Model, table: TableFacts, say: Say): void => {
  if (isView(table) || table.kind === "foreign") return
  const columns = new Set(model.key.map((field) => field.column))
  // Every statement names the tenant, so a key that is unique within each tenant is enough.
  if (model.tenant !== null) columns.add(model.tenant.column)
  if (isUnique(table, columns)) return
  const own = model.key.map((field) => field.name).join(", ")
  const parts = (table.partitions?.columns ?? []).filter((name) => name !== null && !columns.has(name))
  if (parts.length > 0) {
    say(
      `primaryKey is (${own}), and the table is divided by ${
        parts.join(", ")
      }: nothing in the database can keep it unique.`,
      table.primaryKey === null
        ? `Declare a key that has ${parts.join(", ")}, too.`
        : `Declare the table's primary key (${table.primaryKey.join(", ")}).`
    )
    return
  }
  const names = model.key.map((field) => quotedName(field.column)).join(", ")
  const index = `create unique index on ${tableName(model)} (${
    model.tenant === null || model.key.some((field) => field.column === model.tenant?.column)
      ? ""
      : `${quotedName(model.tenant.column)}, `
  }${names});`
  say(
    `primaryKey is (${own}), and nothing in the database keeps it unique.`,
    table.primaryKey === null
      ? `Run: alter table ${tableName(model)} add primary key (${names});`
      : `Declare the table's primary key (${table.primaryKey.join(", ")}), or run: ${index}`
  )
}

/** Whether a unique index of the live rows consists of these columns or of some of them. */
const isUniqueAmongLive = (model: Model, table: TableFacts, columns: ReadonlySet<string>): boolean =>
  model.softDelete !== null &&
  table.indexes.some((index) =>
    index.unique && index.valid && index.predicate === `(${quotedName(model.softDelete!.column)} IS NULL)` &&
    index.columns.length > 0 && index.columns.every(({ name }) => name !== null && columns.has(name))
  )

/** A field that is unique must be so in the database: of two creates at once nobody else refuses one. */
const checkUnique = (model: Model, field: Field, table: TableFacts, say: Say): void => {
  if (!field.unique || isView(table) || table.kind === "foreign") return
  const columns = [...(model.tenant === null ? [] : [model.tenant.column]), field.column]
  const named = new Set(columns)
  if (isUnique(table, named) || isUniqueAmongLive(model, table, named)) return
  say(
    "The field is unique(), and nothing in the database keeps it so.",
    `Remove unique(), or run: create unique index on ${tableName(model)} (${columns.map(quotedName).join(", ")});`
  )
}

const checkRelation = (
  field: Field,
  table: TableFacts,
  models: Models,
  tables: ReadonlyMap<string, TableFacts | null>,
  say: Say
): void => {
  if (field.relation === null) return
  const target = models.get(field.relation)
  const targetTable = tables.get(field.relation)
  if (target === undefined || targetTable === undefined || targetTable === null) return
  const own = table.foreignKeys.filter((key) => key.columns.length === 1 && key.columns[0] === field.column)
  if (own.length === 0) return
  const column = target.key[0]?.column
  const fits = own.some((key) =>
    key.target.schema === targetTable.schema && key.target.table === targetTable.name &&
    key.target.columns[0] === column
  )
  if (fits) return
  const { target: real } = own[0]!
  const there = [...tables].find(([, each]) => each?.schema === real.schema && each.name === real.table)?.[0]
  say(
    `The relation points at "${field.relation}" (${targetTable.name}.${
      column ?? "?"
    }), and the foreign key at ${real.table}.${real.columns.join(", ")}.`,
    there !== undefined && there !== field.relation
      ? `Write relation("${there}").`
      : "Declare the field with its own kind, or point the foreign key at the resource's key."
  )
}

/** The default of a version column: creates leave it to the database. */
const firstVersion = (field: Field): string => field.kind === "timestamp" ? " default now()" : " default 1"

/** The default of a column of lists that are required: rows that are there begin with none. */
const firstList = (field: Field): string => field.kind === "list" && !field.optional ? " default '{}'" : ""

/** The statement that makes a model's table, for one that is not there. */
export const createTableSql = (model: Model): string => {
  const lines = model.columns.map((field) => {
    const identity = field.kind === "integer" && field.default !== null && "db" in field.default &&
      model.key.includes(field)
    const made = field.default !== null && "db" in field.default
      ? identity
        ? " generated by default as identity"
        : field.kind === "timestamp"
        ? " default now()"
        : field.kind === "uuid"
        ? " default gen_random_uuid()"
        : ""
      : field === model.version
      ? firstVersion(field)
      : firstList(field)
    return `${quotedName(field.column)} ${sqlTypeOf(field)}${field.optional ? "" : " not null"}${made}`
  })
  const key = `primary key (${model.key.map((field) => quotedName(field.column)).join(", ")})`
  return `create table ${tableName(model)} (${[...lines, key].join(", ")});`
}

/**
 * The refusal for a table that exists but that the role cannot reach. Its fix is a grant, as making the table again would only make a
 * second one.
 */
const unreached = (model: Pick<Model, "name" | "schema" | "table">): Refusal => {
  const schema = model.schema ?? "public"
  const grant = `grant usage on schema ${quotedName(schema)} to <role>;`
  const there = `There is a table ${tableName({ schema, table: model.table })}, and the database role`
  return {
    resource: model.name,
    field: null,
    ...model.schema === null
      ? {
        message: `${there} does not find it on its search path.`,
        fix: `Name the schema (table: "${schema}.${model.table}"), or put it on the search path and run: ${grant}`
      }
      : { message: `${there} may not use its schema.`, fix: `Run: ${grant}` }
  }
}

/** SQL that adds a column to a table with rows: a required one without a first value is filled before it is required. */
const addColumnSql = (model: Model, field: Field): string => {
  const alter = `alter table ${tableName(model)}`
  const name = quotedName(field.column)
  const add = `${alter} add column ${name} ${sqlTypeOf(field)}`
  if (field.optional) return `${add};`
  if (field === model.version) return `${add} not null${firstVersion(field)};`
  if (field.kind === "list") return `${add} not null${firstList(field)};`
  return `${add}; update ${tableName(model)} set ${name} = …; ${alter} alter column ${name} set not null;`
}

/**
 * Everything in the models that does not fit the database, in declared order. `tables` holds the facts of each resource's table by the
 * resource's name, or null where there is no such table. `names` are names of tables that exist, for suggestions.
 */
export const checkFacts = (
  models: Models,
  facts: {
    readonly server: ServerFacts
    readonly tables: ReadonlyMap<string, TableFacts | null>
    readonly names?: readonly string[]
    /** The functions of each name, by resource, for resources over functions of the database. */
    readonly functions?: ReadonlyMap<string, readonly FunctionFacts[]>
  }
): readonly Refusal[] => {
  const refusals: Refusal[] = []
  const { server, tables } = facts
  if (server.version < 150_000) {
    refusals.push({
      resource: null,
      field: null,
      message: `The database server is PostgreSQL ${Math.floor(server.version / 10_000)}.`,
      fix: "Use PostgreSQL 15 or newer."
    })
  }
  if (server.encoding !== "UTF8") {
    refusals.push({
      resource: null,
      field: null,
      message: `The database's encoding is ${server.encoding}.`,
      fix: "Use a database made with encoding 'UTF8'."
    })
  }
  const trackedBy = new Map([...models.values()].map((model) => [model.history, model.name]))
  /** Tables of which the role may read nothing: a role without grants is one refusal, not one for each column. */
  const closed: string[] = []
  for (const model of models.values()) {
    const overloads = model.function === undefined ? null : facts.functions?.get(model.name) ?? []
    const called = overloads === null ? null : functionOf(model, overloads)
    const table = called === null ? tables.get(model.name) ?? null : rowsOf(called)
    if (overloads !== null) {
      checkFunction(
        model,
        overloads,
        declarationOf,
        (message, fix) => refusals.push({ resource: model.name, field: null, message, fix })
      )
      if (table === null || !table.privileges.select || table.columns.length === 0) continue
    }
    const tracked = trackedBy.get(model.name)
    // Tables of versions are made and kept current by a migration. So a column that they lack is no refusal here.
    if (tracked !== undefined) {
      if ((tables.get(tracked) ?? null) !== null && table?.privileges.select !== true) {
        refusals.push({
          resource: model.name,
          field: null,
          message: `There is no table ${tableName(model)}, or the database role may not read it.`,
          fix: `Run: service migration --apply, and grant usage on schema ${
            quotedName(model.schema ?? "history")
          } to <role>; grant select, insert on ${tableName(model)} to <role>;`
        })
      }
      continue
    }
    if (table === null) {
      const written = model.schema === null ? model.table : `${model.schema}.${model.table}`
      if (facts.names?.includes(model.schema === "public" ? model.table : written)) {
        refusals.push(unreached(model))
        continue
      }
      const near = didYouMean(written, facts.names ?? [])
      refusals.push({
        resource: model.name,
        field: null,
        message: `There is no table ${tableName(model)}, or the database role cannot see it.`,
        fix: `${
          near.startsWith("Did you mean") ? `${near} ` : ""
        }If a file in db/migrations makes it, run: service migration --apply. Otherwise run: ${createTableSql(model)}`
      })
      continue
    }
    const sayTable: Say = (message, fix) => refusals.push({ resource: model.name, field: null, message, fix })
    if (isClosed(table)) closed.push(tableName(model))
    else if (!table.privileges.select) {
      sayTable("The database role may not read the table.", `Run: grant select on ${tableName(model)} to <role>;`)
    }
    if (model.materialized !== undefined && table.kind !== "materialized view") {
      sayTable(
        `It is declared as materialized, and ${tableName(model)} is a ${table.kind}.`,
        "Remove materialized; readOnly: true closes it to writes."
      )
    }
    if (model.events.length > 0 && isView(table)) {
      sayTable(
        "It declares events, but is over a view: what happens to the rows behind it is not seen.",
        "Declare the events on a resource over the table, or remove them."
      )
    }
    for (const field of model.columns) {
      const role = field === model.tenant
        ? "tenant"
        : field === model.softDelete
        ? "softDelete"
        : field === model.version
        ? "version"
        : null
      const say: Say = (message, fix) => {
        refusals.push(
          field.system
            ? { resource: model.name, field: null, message: `${role ?? "column"} ("${field.column}"): ${message}`, fix }
            : { resource: model.name, field: field.name, message, fix }
        )
      }
      const column = table.columns.find((each) => each.name === field.column)
      if (column === undefined) {
        const names = table.columns.map((each) => each.name)
        const near = didYouMean(field.column, names)
        say(
          `The ${table.kind === "function" ? "function" : "table"} ${
            tableName(model)
          } has no column "${field.column}".`,
          `${near.startsWith("Did you mean") ? `${near} ` : ""}Run service introspect again${
            isView(table) ? `, or name its column with column("…").` : `, or add it: ${addColumnSql(model, field)}`
          }`
        )
        continue
      }
      checkColumn(model, field, column, table, say)
      checkUnique(model, field, table, say)
      checkRelation(field, table, models, tables, say)
    }
    for (const vector of model.vectors ?? []) {
      checkVector(model, vector, table, server, (message, fix) => {
        refusals.push({ resource: model.name, field: vector.name, message, fix })
      })
    }
    if (model.key.every((field) => table.columns.some((column) => column.name === field.column))) {
      checkKey(model, table, sayTable)
    }
  }
  if (closed.length > 0) {
    const names = [...new Set(closed)]
    refusals.push({
      resource: null,
      field: null,
      message: names.length === 1
        ? `The database role may read nothing of the table ${names[0]}.`
        : `The database role may read nothing of ${names.length} tables: ${names.join(", ")}.`,
      fix: `Run: grant select on ${names.join(", ")} to <role>;`
    })
  }
  return refusals
}
