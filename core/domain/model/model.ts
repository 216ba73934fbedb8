/**
 * The compiled model: a declared resource after every name and kind has been checked. Everything behind the startup refusals works on these values
 * only. Nothing here reads a declaration, a database or a clock. Access is not part of a model: see `access/rules.ts`.
 */

import type { Json, Kind, Shape } from "../value/kind.ts"
import type { FileField } from "./file.ts"

/** What every field has, whatever its kind. */
export interface FieldBase {
  readonly name: string
  readonly column: string
  /** Position in `Model.columns`. */
  readonly index: number
  /** Name of the resource this foreign key points at, or null. */
  readonly relation: string | null
  /** `optional()`: the value may be null and may be left out of a create. */
  readonly optional: boolean
  readonly readOnly: boolean
  readonly filterable: boolean
  readonly sortable: boolean
  readonly searched: boolean
  /** No two records of a tenant have the same value, which is never null. */
  readonly unique: boolean
  readonly sensitive: boolean
  /** One more name accepted in `filter` and `order_by`. */
  readonly alias: string | null
  readonly default: { readonly value: Json } | { readonly db: true } | null
  /** A create writes the present time, or 1 in an integer. Its default is `db`: no body and no rule knows the value. */
  readonly stamped: boolean
  /** True for a system column that is not a declared field: never readable, filterable or writable by callers. */
  readonly system: boolean
  /** What people read instead of the name, or null. */
  readonly label: string | null
  /** What somebody who fills it in should know, or null. */
  readonly help: string | null
  /** Texts: whether it is made for several lines; null: by the length. */
  readonly multiline: boolean | null
  /** A column of words, which only text search asks; the configuration that made them. It is no column of `Model.columns`. */
  readonly vector?: { readonly config: string }
  /** How well the words of a vector meet a text: it is a number that lists sort by, and nothing else. */
  readonly rank?: string
  /** A path into JSON: a name of filters and orders. It has the column of the whole and stands in no record. */
  readonly member?: Member
  /** The settings of file fields (kind `text`, and `list` for several files); null for other fields. */
  readonly file: FileField | null
}

/** What makes a field a declared path into the JSON of another one. */
export interface Member {
  /** The field that holds the JSON. */
  readonly of: Field
  /** Names of members, from the outside in; at least one. */
  readonly path: readonly string[]
  /** The type of the column. */
  readonly storage: "jsonb" | "json"
}

/**
 * A declared field, or a system column (tenant, soft delete, version) that no field shows. Its `kind` says which further members it has: `bits`
 * of an integer, `max` of text, `precision` and `scale` of a decimal, `values` of an enum.
 */
export type Field = FieldBase & Shape

/** Fields of one kind. */
export type FieldOf<K extends Kind> = Extract<Field, { readonly kind: K }>

const elementFields = new WeakMap<Field, Field>()

/** A field of lists as a field of their elements, whose values are checked and compared as those of any field of that kind. The same field gives the same. */
export const elementField = (field: FieldOf<"list">): Field => {
  let made = elementFields.get(field)
  if (made === undefined) elementFields.set(field, made = { ...field, ...field.of, optional: field.nulls })
  return made
}

/** The field of which `:facets` counts values: those of a list are its elements. */
export const facetField = (field: Field): Field => field.kind === "list" ? elementField(field) : field

/** What a validate rule answers: problems of the whole record, or nothing. */
export interface FieldProblem {
  readonly field: string
  readonly message: string
}

/** A record in wire form: field name to JSON value, as responses carry it. */
export type WireRecord = { readonly [field: string]: Json }

export type ValidateRule = (record: WireRecord) => ReadonlyArray<FieldProblem> | null | undefined | void

/** An argument of a function of the database. */
export interface Argument {
  /** What requests call it: `args.NAME`. Its kind, bounds and default are those of the field, its `column` is the parameter of the function. */
  readonly field: Field
  /** The type that its value is cast to, as SQL: schema and name, quoted. */
  readonly type: string
}

/** A function of the database that gives a resource its rows, by its arguments in declared order. */
export interface FunctionSource {
  readonly arguments: readonly Argument[]
}

/** How a materialized view is refreshed. `schedule` null: only when somebody asks for it. */
export interface Materialized {
  readonly schedule: { readonly pattern: string; readonly timezone: string } | null
  readonly timeoutMs: number
}

/** A compiled resource. */
export interface Model {
  readonly name: string
  /** What its records are, for people, or null. */
  readonly description: string | null
  readonly schema: string | null
  readonly table: string
  /** The function of the database that gives its rows; `schema` and `table` are then its name. */
  readonly function?: FunctionSource
  /** The table is a materialized view that jobs refresh. */
  readonly materialized?: Materialized
  /** Nobody writes through the service, whatever the rules. */
  readonly readOnly?: true
  /** Its pages may read as many rows as an aggregate. */
  readonly readWhole?: true
  /** Declared fields in declared order; `fields[i].index === i`. */
  readonly fields: readonly Field[]
  /** Declared fields, then system columns; `columns[i].index === i`. */
  readonly columns: readonly Field[]
  /** Declared paths into JSON fields; their `index` follows those of `columns`. */
  readonly members?: readonly Field[]
  /** Declared search vectors; their `index` follows those of `members`. */
  readonly vectors?: readonly Field[]
  /** Declared fields by name (aliases are not in here). */
  readonly byName: ReadonlyMap<string, Field>
  /** The primary key's fields in key order. */
  readonly key: readonly Field[]
  readonly tenant: Field | null
  readonly owner: Field | null
  readonly softDelete: Field | null
  /** Read-only version or updated_at column that drives the ETag, or null (ETag is then a hash of the readable fields). */
  readonly version: Field | null
  readonly validate: readonly ValidateRule[]
  /** Name of the resource that keeps this one's versions (extension `history`), or null. */
  readonly history: string | null
  /** Names of declared events. */
  readonly events: readonly string[]
  /** Whether changes of its table are captured: it, or another resource over the same table, declares events. */
  readonly captured: boolean
  /**
   * For records that act after the request: whoever creates one owns it, whatever they send. `roles` keeps the roles of the credential that last wrote
   * one of the fields `by`.
   */
  readonly actsLater?: { readonly roles: Field; readonly by: ReadonlySet<Field> }
  /** Relations that `expand` can follow, by their public name: to-one by the field, to-many by the other side's field. */
  readonly relations: ReadonlyMap<string, Relation>
}

/** The columns that identify a row of the table. They include the tenant, because a key may be unique within each tenant only. */
export const identityOf = ({ key, tenant }: Model): readonly Field[] =>
  tenant === null || key.includes(tenant) ? key : [...key, tenant]

/** A way from one record to others. `from`/`to` pair up: this model's field equals the target model's field. */
export interface Relation {
  readonly name: string
  readonly target: string
  readonly many: boolean
  readonly from: Field
  /** Name of the target's field. */
  readonly to: string
}

/** All compiled resources by name, in declared order. */
export type Models = ReadonlyMap<string, Model>

/** One key of a total order. Nulls stand last ascending and first descending, as PostgreSQL's own index order has them. */
export interface SortKey<F = Field> {
  readonly field: F
  readonly descending: boolean
}

/**
 * True when no caller can ever write the field with this operation, whatever the rules. That holds for read-only fields, for the tenant,
 * soft-delete and version columns under whatever field name, for system columns, and for the primary key of an existing record.
 */
export const neverWritable = (
  model: Pick<Model, "key" | "tenant" | "softDelete" | "version">,
  field: Field,
  operation: "create" | "update"
): boolean =>
  field.readOnly || field.system ||
  field.column === model.tenant?.column ||
  field.column === model.softDelete?.column ||
  field.column === model.version?.column ||
  (operation === "update" && model.key.some((key) => key.column === field.column))

/**
 * The column of versions that lists what an update changed: the columns, each quoted, with commas between them. Null for other operations.
 * No field shows it. It serves to hide versions in which nothing changed that the caller can see.
 */
export const changedColumn = "history_changed"
