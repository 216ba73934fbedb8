/**
 * Statements as text, with the origins of their parameters. It decides about quoting and about how values are bound. It knows no connection
 * and runs nothing. Names are always quoted, values are always parameters or quoted constants.
 */

import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import { operandCell } from "../../core/domain/filter/evaluate.ts"
import type { Bindings, Operand } from "../../core/domain/filter/tree.ts"
import type { Field, FieldOf, Model } from "../../core/domain/model/model.ts"
import { quotedText as quoted } from "../../core/domain/model/table.ts"
import { hasTimes } from "../../core/domain/read/etag.ts"
import { isJsonList } from "../../core/domain/value/json-kind.ts"
import type { Cell, Json, Shape } from "../../core/domain/value/kind.ts"
import { elementsOf } from "../../core/domain/value/list.ts"
import { mapEnds } from "../../core/domain/value/range.ts"

/** Rows of texts, as the driver gives them. */
export type Rows = ReadonlyArray<Array<string | null>>

/** A name as SQL. */
export const identifier = (name: string): string => `"${name.replaceAll("\"", "\"\"")}"`

const usualSchemas: ReadonlySet<string> = new Set(Object.values(defaultSchemas))

/** A schema of the service's own as SQL. The usual names stand unquoted, as they always did: statements of migrations are known by their digests. */
export const ownSchema = (name: string): string => usualSchemas.has(name) ? name : identifier(name)

/** The seed of an advisory lock of a service. Services in other schemas of the same database have others, so that they do not wait for each other. */
export const lockSeed = (usual: number, schema: string): number => {
  if (schema === defaultSchemas.service) return usual
  let hash = usual
  for (const character of schema) hash = (hash * 31 + character.charCodeAt(0)) % 2_147_483_647
  return hash
}

/** A model's table as SQL. */
export const tableOf = (model: Model): string =>
  model.schema === null ? identifier(model.table) : `${identifier(model.schema)}.${identifier(model.table)}`

export { quoted }

/** Ends of ranges in JSON text of an array, as the database spells times, and as cells do: with a blank, which needs quotes, only before Christ. */
const rangeTime = String.raw`\\"(\d+-\d\d-\d\d) ([\d:.]+)(?:\+00)?`
const rangeTimes = [
  [String.raw`${rangeTime}\\"`, String.raw`\1T\2Z`],
  [String.raw`${rangeTime} BC\\"`, String.raw`\\"\1T\2Z BC\\"`]
] as const

/**
 * Arrays of bytes, which no cast writes as base64: the JSON text of an array of the same dimensions without values, and each value in its place.
 */
const bytesListText = (column: string): string =>
  `case when ${column} is not null then (select string_agg(p.part || case when p.place > cardinality(${column}) then '' ` +
  `else coalesce('"' || replace(encode(e.value, 'base64'), chr(10), '') || '"', 'null') end, '' order by p.place) ` +
  `from string_to_table(to_json(array_fill(null::text, ` +
  `array(select array_length(${column}, d) from generate_series(1, array_ndims(${column})) d)))::text, 'null') with ordinality p(part, place) ` +
  `left join unnest(${column}) with ordinality e(value, place) on e.place = p.place) end`

/**
 * An array as the cell of a list. `to_json` writes numbers and truth values as JSON has them, and all else as text. It ends times with an offset, and those
 * before Christ with an era behind it. A cast to text would write the prefix of a single address.
 */
const listText = (column: string, { file, of }: FieldOf<"list">): string => {
  // Lists of files are texts, and triggers that capture them were written so.
  if (file !== null) return `to_json(${column})::text`
  switch (of.kind) {
    case "boolean":
    case "float":
      return `to_json(${column})::text`
    case "integer":
      return of.bits === 64 ? `to_json(${column}::text[])::text` : `to_json(${column})::text`
    case "timestamp":
      return `replace(replace(to_json(${column}::timestamptz[])::text, '+00:00"', 'Z"'), '+00:00 BC"', 'Z BC"')`
    case "inet":
      return `to_json(${column})::text`
    case "money":
      return `to_json(${column}::numeric[]::text[])::text`
    case "bytes":
      return bytesListText(column)
    case "range": {
      const text = `to_json(${column}::text[])::text`
      return of.of !== "timestamp" ? text : rangeTimes.reduce(
        (inner, [found, cell]) => `regexp_replace(${inner}, ${quoted(found)}, ${quoted(cell)}, 'g')`,
        text
      )
    }
    default:
      return `to_json(${column}::text[])::text`
  }
}

/** A value of a field as its cell, in SQL. */
export const cellSql = (field: Field, value: string): string => {
  switch (field.kind) {
    case "list":
      return listText(value, field)
    // A cast would write the prefix of a single address.
    case "inet":
      return `abbrev(${value})`
    case "bytes":
      return `replace(encode(${value}, 'base64'), chr(10), '')`
    case "money":
      return `${value}::numeric::text`
    default:
      return `${value}::text`
  }
}

/** A cell of a field as a value of its type, in SQL. Most types read their cells themselves; texts of money and bytes depend on settings. */
export const valueSql = (field: Field, cell: string): string =>
  field.kind === "money" ? `${cell}::numeric::money` : field.kind === "bytes" ? `decode(${cell}, 'base64')` : cell

/** The same of an array of cells. */
export const valuesSql = (field: Field, cells: string): string =>
  field.kind === "money"
    ? `${cells}::numeric[]::money[]`
    : field.kind === "bytes"
    ? `array(select decode(v, 'base64') from unnest(${cells}::text[]) v)`
    : cells

/** Where the value of one parameter comes from when a statement runs. */
export type ValueSource =
  | { readonly of: "constant"; readonly text: string }
  | { readonly of: "operand"; readonly operand: Operand; readonly field: Field }
  /** One array literal made of several operands. */
  | { readonly of: "operands"; readonly operands: readonly Operand[]; readonly field: Field }
  /** The same as an array of the type of a column of lists. */
  | { readonly of: "elements"; readonly operands: readonly Operand[]; readonly field: Field }
  /** The cell at this index of the cells of a run: a position, a key, or values to write. Null stays null. */
  | { readonly of: "given"; readonly index: number }
  /** The same of a list, as an array literal. */
  | { readonly of: "given list"; readonly index: number; readonly elements: Shape }
  | { readonly of: "offset" }
  /** An argument of the function whose rows are read. */
  | { readonly of: "argument"; readonly index: number }
  /** Who writes, as captured changes keep it: JSON of id and roles. */
  | { readonly of: "actor" }

/** What the parameters of one run are made of. */
export interface RunValues {
  readonly bindings: Bindings
  readonly given: readonly Cell[]
  readonly offset: number
}

/** A compiled statement. The same object runs many times with different values. */
export interface Statement {
  readonly sql: string
  readonly sources: readonly ValueSource[]
  /**
   * Whether one plan is good for every value, so that the statement may be kept prepared by name. Other statements are planned again for
   * each run, because a generic plan does not know how rare a value is.
   */
  readonly stable: boolean
  /** It holds a caller's regular expression: it runs under its own short time limit. */
  readonly regex: boolean
  /** It calls pg_trgm. */
  readonly trigram: boolean
}

/**
 * Longest text worth preparing, in characters. A connection keeps hundreds of prepared statements with their plans. Longer texts come from
 * filters of callers, and nobody sends the same one twice.
 */
export const longestPrepared = 5_000

/** Collects the parameters of one statement while its text is written. */
export class Writer {
  readonly sources: ValueSource[] = []
  stable = true
  regex = false
  trigram = false
  /** Conditions by their tree that stand in the statement already. */
  readonly written = new Map<object, { readonly alias: string; readonly sql: string }>()
  /** Prefix of pg_trgm's functions and operators, for a database that keeps the extension in a schema of its own. */
  readonly trigramSchema: string
  readonly #args: Bindings["args"]

  constructor(trigramSchema = "public", args?: Bindings["args"]) {
    this.trigramSchema = trigramSchema
    this.#args = args
  }

  /**
   * What the rows of a model are read from: its table, or a call of its function with the arguments of the run, each by the name of its parameter and cast to
   * its type. Schema and name are written out, so that no search path decides what is called.
   */
  from(model: Model): string {
    const name = tableOf(model)
    if (model.function === undefined) return name
    this.stable = false
    const args = model.function.arguments.flatMap(({ field, type }, index) =>
      this.#args?.[index] === undefined
        ? []
        : [`${identifier(field.column)} => ${this.add({ of: "argument", index })}::${type}`]
    )
    return `${name}(${args.join(", ")})`
  }

  #aliases = 0

  /** A name for one more table of the statement. */
  alias(): string {
    return `r${++this.#aliases}`
  }

  /** The placeholder of a further parameter. */
  add(source: ValueSource): string {
    this.sources.push(source)
    return `$${this.sources.length}`
  }

  constant(text: string): string {
    return this.add({ of: "constant", text })
  }

  given(index: number): string {
    return this.add({ of: "given", index })
  }

  /** The value to write to a field. */
  value(field: Field, index: number): string {
    if (field.kind !== "list") return valueSql(field, this.given(index))
    return listSql(field.of, this.add({ of: "given list", index, elements: field.of }))
  }

  finish(sql: string): Statement {
    const stable = this.stable && sql.length <= longestPrepared
    return { sql, sources: this.sources, stable, regex: this.regex, trigram: this.trigram }
  }
}

/** Writes the values into the text as constants: the statement of one run, for plans that are kept. */
export class LiteralWriter extends Writer {
  readonly #values: RunValues

  constructor(values: RunValues, trigramSchema: string) {
    super(trigramSchema)
    this.#values = values
  }

  override add(source: ValueSource): string {
    const cell = valueOf(source, this.#values)
    return cell === null ? "null" : quoted(cell)
  }

  override finish(sql: string): Statement {
    this.stable = true
    return super.finish(sql)
  }
}

/** Which arguments a run gives, for what is remembered of its statement; empty where there are none. */
export const givenArguments = ({ args }: Bindings): string =>
  args === undefined ? "" : args.map((cell) => cell === undefined ? "-" : "+").join("")

const noCells: readonly Cell[] = []

/** Values of a statement that skips no rows. */
export const valuesOf = (bindings: Bindings, given: readonly Cell[] = noCells): RunValues => ({
  bindings,
  given,
  offset: 0
})

/** The parameters of one run, as texts. A null operand makes its comparison false. */
export const bind = (statement: Statement, values: RunValues): readonly Cell[] => {
  const { sources } = statement
  const cells: Cell[] = []
  for (let i = 0; i < sources.length; i++) cells.push(valueOf(sources[i]!, values))
  return cells
}

const valueOf = (source: ValueSource, values: RunValues): Cell => {
  switch (source.of) {
    case "constant":
      return source.text
    case "operand":
      return operandCell(source.operand, source.field, values.bindings)
    case "operands":
      return arrayLiteral(source.operands.map((operand) => operandCell(operand, source.field, values.bindings)))
    case "given":
      return values.given[source.index] ?? null
    case "elements":
      return listLiteral(
        source.operands.map((operand) => operandCell(operand, source.field, values.bindings)),
        source.field
      )
    case "given list": {
      const cell = values.given[source.index] ?? null
      return cell === null ? null : listLiteral(elementsOf(cell), source.elements)
    }
    case "offset":
      return String(values.offset)
    case "argument":
      return values.bindings.args?.[source.index] ?? null
    case "actor":
      return actorOf(values.bindings.caller)
  }
}

const actors = new WeakMap<Bindings["caller"], string>()

const actorOf = (caller: Bindings["caller"]): string => {
  let text = actors.get(caller)
  if (text === undefined) actors.set(caller, text = JSON.stringify({ id: caller.id, roles: caller.roles ?? [] }))
  return text
}

/**
 * Elements in wire form as the literal of an array of their type: bytes are read in hex whatever the settings, and boxes have commas of their own. Arrays in
 * arrays, which no body gives, come from the database and return to a history.
 */
export const listLiteral = (elements: readonly Json[], of: Shape): string =>
  `{${
    elements.map((element) =>
      isJsonList(element)
        ? listLiteral(element, of)
        : elementLiteral(
          of.kind === "bytes" && typeof element === "string"
            ? `\\x${Buffer.from(element, "base64").toString("hex")}`
            : element
        )
    ).join(of.kind === "native" && of.type === "box" ? ";" : ",")
  }}`

/** The literal of a list as a value for its column. */
export const listSql = ({ kind }: Shape, literal: string): string =>
  kind === "money" ? `${literal}::numeric[]::money[]` : literal

const elementLiteral = (cell: Json): string =>
  cell === null
    ? "NULL"
    : `"${(typeof cell === "string" ? cell : JSON.stringify(cell)).replaceAll("\\", "\\\\").replaceAll("\"", "\\\"")}"`

/** PostgreSQL's array input syntax. */
export const arrayLiteral = (cells: readonly Cell[]): string => {
  let text = "{"
  for (let i = 0; i < cells.length; i++) {
    if (i > 0) text += ","
    text += elementLiteral(cells[i]!)
  }
  return text + "}"
}

/**
 * PostgreSQL's text of a timestamp (DateStyle ISO, TimeZone UTC, with or without zone) as a cell. Infinite instants keep their word and
 * years before Christ their `BC`: PostgreSQL reads both back.
 */
export const timestampFromText = (text: string): string => {
  const space = text.indexOf(" ")
  if (space < 0) return text
  const era = text.endsWith(" BC")
  const end = era ? text.length - 3 : text.length
  const zone = text.charCodeAt(end - 3) === 43 /* + */ ? 3 : 0
  return `${text.slice(0, space)}T${text.slice(space + 1, end - zone)}Z${era ? " BC" : ""}`
}

/** How the database's text of a field becomes its cell; null: it is the cell. */
export const canonicalOf = (field: Field): ((text: string) => string) | null =>
  field.kind === "timestamp"
    ? timestampFromText
    : hasTimes(field)
    ? (text) => mapEnds(text, timestampFromText)
    : null

/** Makes the times in a column of an answer canonical, in place. */
export const canonicalColumn = (rows: ReadonlyArray<Cell[]>, at: number, field: Field): void => {
  const canonical = canonicalOf(field)
  if (canonical === null) return
  for (const row of rows) {
    const cell = row[at]
    if (typeof cell === "string") row[at] = canonical(cell)
  }
}

/** Makes the times among the first cells of each row canonical, in place: rows are fresh from the driver. */
export const canonicalRows = (rows: ReadonlyArray<Cell[]>, columns: readonly Field[]): ReadonlyArray<Cell[]> => {
  for (let c = 0; c < columns.length; c++) canonicalColumn(rows, c, columns[c]!)
  return rows
}
