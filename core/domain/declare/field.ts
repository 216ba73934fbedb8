/**
 * Field declarations: `f` and the modifiers that people chain on a field. A builder only records what was written and carries the
 * value's type; it never judges. Whether a declaration makes sense is decided at startup by `compile/compile.ts`.
 */

import type { Json, RangeElement, ScalarKind } from "../value/kind.ts"
import { FileBuilder } from "./file.ts"
import type { FileSpec } from "./file.ts"

/** What a declaration says about one field, exactly as written. Plain-JavaScript configs may put anything in here. */
export interface FieldSpec {
  readonly kind: ScalarKind | "relation" | "file" | "files" | "array" | "searchVector"
  readonly bits: 16 | 32 | 64
  /** Texts: most characters. Bytes: most bytes. Lists of files: most files. Arrays: most elements. */
  readonly max: number | null
  /** Arrays: what was given as the declaration of their elements. */
  readonly element: unknown
  readonly precision: number | null
  readonly scale: number | null
  readonly values: readonly string[] | null
  /** JSON: declared paths into it by their names, such as `size.width`. */
  readonly paths: { readonly [path: string]: AnyField } | null
  /** JSON: the type of the column. */
  readonly storage: "jsonb" | "json"
  /** Search vectors: the configuration of text search that their words were made with. */
  readonly config: string
  /** Enums: the values have the order in which they are declared. `type`: those of the column's enum type have it, too. */
  readonly ordered: boolean | "type"
  /** Ranges: the kind of their ends. Native fields: the type in PostgreSQL. */
  readonly type: string | null
  /** Relations: name of the resource pointed at. */
  readonly target: string | null
  /** Relations: `as("customer")`, the public name of the way to the target. */
  readonly as: string | null
  /** Relations: `inverse("lines")`, the public name of the way back; false: there is none. */
  readonly inverse: string | false | null
  readonly optional: boolean
  readonly readOnly: boolean
  readonly filterable: boolean
  readonly sortable: boolean
  readonly searched: boolean
  /** No two records of a tenant have the same value. */
  readonly unique: boolean
  readonly sensitive: boolean
  readonly alias: string | null
  readonly column: string | null
  readonly default: { readonly value: Json } | null
  readonly dbDefault: boolean
  /** The service writes the time of a create, or 1 where it is an integer. */
  readonly stamped: boolean
  /** What people read instead of the name. */
  readonly label: string | null
  /** A sentence below the field in forms. */
  readonly help: string | null
  /** Texts: whether forms show a box for several lines; null: by the length. */
  readonly multiline: boolean | null
  /** The settings of a file field. */
  readonly file: FileSpec | null
}

/** What the type system knows of a field. */
export interface FieldType {
  readonly value: Json
  readonly optional: boolean
  readonly readOnly: boolean
  readonly generated: boolean
  /** What a body gives, where that is not the value. */
  readonly input?: Json
}

/** Any field declaration, whatever its kind. */
export interface AnyField {
  readonly _tag: "Field"
  readonly spec: FieldSpec
  /** Types only; there is no such member at run time. */
  readonly "~field": FieldType
}

/** The fields of a resource by name, in declared order. */
export interface FieldMap {
  readonly [name: string]: AnyField
}

/** Something that a relation may point at besides a name: a resource, whose key then gives the relation its type. */
export interface RelationTarget {
  readonly name: string
  readonly "~key": Json
}

/** Wire type of an integer of this width: 64 bits travel as text (docs/reference/resources.md#kinds). */
export type IntegerOf<Bits extends 16 | 32 | 64> = Bits extends 64 ? string : number

type AnyKind = ScalarKind | "relation" | "array"

/** A field of which nothing is said yet. */
export const blankField: FieldSpec = {
  kind: "text",
  bits: 32,
  max: null,
  element: null,
  precision: null,
  scale: null,
  values: null,
  paths: null,
  storage: "jsonb",
  config: "simple",
  ordered: false,
  type: null,
  target: null,
  as: null,
  inverse: null,
  optional: false,
  readOnly: false,
  filterable: false,
  sortable: false,
  searched: false,
  unique: false,
  sensitive: false,
  alias: null,
  column: null,
  default: null,
  dbDefault: false,
  stamped: false,
  label: null,
  help: null,
  multiline: null,
  file: null
}

/** The target of a relation and the names of its two ways; null: the name follows the rule (`docs/reference/resources.md`, Relations). Types only. */
export interface RelationWay {
  readonly target: string
  readonly as: string | null
  readonly inverse: string | false | null
}

type Renamed<Way extends RelationWay, As, Inverse> = {
  readonly target: Way["target"]
  readonly as: As extends string | null ? As : null
  readonly inverse: Inverse extends string | false | null ? Inverse : null
}

/**
 * A field under declaration. Every modifier gives a new builder. `Value` is the value in wire form, `Optional` adds null, `ReadOnly` keeps it
 * out of request bodies, `Generated` (a default) lets a create leave it out, `Marks` says what lists take it for, `Way` where a relation leads.
 */
export class FieldBuilder<
  K extends AnyKind,
  Value extends Json,
  Optional extends boolean = false,
  ReadOnly extends boolean = false,
  Generated extends boolean = false,
  Marks extends string = never,
  Way extends RelationWay = never
> implements AnyField {
  readonly _tag = "Field"
  readonly spec: FieldSpec
  declare readonly "~field": {
    readonly kind: K
    readonly value: Value
    readonly optional: Optional
    readonly readOnly: ReadOnly
    readonly generated: Generated
    readonly marks: Marks
    readonly way: Way
  }

  constructor(spec: FieldSpec) {
    this.spec = spec
  }

  /** The value may be null, and a create may leave it out. */
  optional(): FieldBuilder<K, Value, true, ReadOnly, Generated, Marks, Way> {
    return new FieldBuilder({ ...this.spec, optional: true })
  }

  /** Never accepted in a request body. */
  readOnly(): FieldBuilder<K, Value, Optional, true, Generated, Marks, Way> {
    return new FieldBuilder({ ...this.spec, readOnly: true })
  }

  /** Accepted in `filter`. */
  filterable(): FieldBuilder<K, Value, Optional, ReadOnly, Generated, Marks | "filterable", Way> {
    return new FieldBuilder({ ...this.spec, filterable: true })
  }

  /** Accepted in `order_by`. */
  sortable(): FieldBuilder<K, Value, Optional, ReadOnly, Generated, Marks | "sortable", Way> {
    return new FieldBuilder({ ...this.spec, sortable: true })
  }

  /** The value that a create without this field gets, written by the service. */
  default(value: Value): FieldBuilder<K, Value, Optional, ReadOnly, true, Marks, Way> {
    return new FieldBuilder({ ...this.spec, default: { value } })
  }

  /** The column has a default, an identity or is generated: a create without this field leaves the value to the database. */
  dbDefault(): FieldBuilder<K, Value, Optional, ReadOnly, true, Marks, Way> {
    return new FieldBuilder({ ...this.spec, dbDefault: true })
  }

  /**
   * Timestamps, and versions that are integers: a create writes the present time, or 1. For columns that are required and have no default, as frameworks
   * make them that fill in `created_at` and `updated_at` themselves. Nobody can write the field.
   */
  stamped(
    this: FieldBuilder<"timestamp" | "integer", Value, Optional, ReadOnly, Generated, Marks, Way>
  ): FieldBuilder<K, Value, Optional, true, true, Marks, Way> {
    return new FieldBuilder({ ...this.spec, readOnly: true, stamped: true })
  }

  /**
   * No two records have the same value, within a tenant at least: a PATCH can name a record by it (`match`). The database must have a unique index. Not for
   * optional fields, because nulls are never equal.
   */
  unique(
    this: FieldBuilder<K, Value, false, ReadOnly, Generated, Marks, Way>
  ): FieldBuilder<K, Value, false, ReadOnly, Generated, Marks, Way> {
    return new FieldBuilder({ ...this.spec, unique: true })
  }

  /** The value never appears in logs or change history. */
  sensitive(): FieldBuilder<K, Value, Optional, ReadOnly, Generated, Marks | "sensitive", Way> {
    return new FieldBuilder({ ...this.spec, sensitive: true })
  }

  /** One more name accepted in `filter` and `order_by`; records keep the field's own name. */
  alias(name: string): FieldBuilder<K, Value, Optional, ReadOnly, Generated, Marks, Way> {
    return new FieldBuilder({ ...this.spec, alias: name })
  }

  /** What people read instead of the name, in lists, forms and headers of imports: at most 200 characters. */
  label(text: string): FieldBuilder<K, Value, Optional, ReadOnly, Generated, Marks, Way> {
    return new FieldBuilder({ ...this.spec, label: text })
  }

  /** What somebody who fills the field in should know: plain text of at most 1,000 characters. */
  help(text: string): FieldBuilder<K, Value, Optional, ReadOnly, Generated, Marks, Way> {
    return new FieldBuilder({ ...this.spec, help: text })
  }

  /** The column's name where it differs from the field's. */
  column(name: string): FieldBuilder<K, Value, Optional, ReadOnly, Generated, Marks, Way> {
    return new FieldBuilder({ ...this.spec, column: name })
  }

  /** Integers: the column's width. 16 and 32 travel as JSON numbers, 64 as text. */
  bits<Bits extends 16 | 32 | 64>(
    this: FieldBuilder<"integer", number | string, Optional, ReadOnly, Generated, Marks, Way>,
    bits: Bits
  ): FieldBuilder<"integer", IntegerOf<Bits>, Optional, ReadOnly, Generated, Marks, Way> {
    return new FieldBuilder({ ...this.spec, bits })
  }

  /** Texts: most characters (Unicode code points). Arrays: most elements, 1,000 unless it says so. */
  max(
    this: FieldBuilder<Extract<K, "text" | "array">, Value, Optional, ReadOnly, Generated, Marks, Way>,
    most: number
  ): FieldBuilder<K, Value, Optional, ReadOnly, Generated, Marks, Way> {
    return new FieldBuilder({ ...this.spec, max: most })
  }

  /**
   * Texts: forms show a box for several lines that grows; `false`: a single line. Without it, texts of at most 320 characters are a single
   * line. Values may have line breaks either way.
   */
  multiline(
    this: FieldBuilder<"text", string, Optional, ReadOnly, Generated, Marks, Way>,
    several = true
  ): FieldBuilder<"text", string, Optional, ReadOnly, Generated, Marks, Way> {
    return new FieldBuilder({ ...this.spec, multiline: several })
  }

  /** Texts: bare words, quoted phrases and `search('…')` look into this field. */
  searched(
    this: FieldBuilder<"text", string, Optional, ReadOnly, Generated, Marks, Way>
  ): FieldBuilder<"text", string, Optional, ReadOnly, Generated, Marks, Way> {
    return new FieldBuilder({ ...this.spec, searched: true })
  }

  /**
   * Enums: values compare (`<`, `>=`) and sort in the order in which they are declared. `by` says that the column is of an enum type with the same order: an
   * index on the column serves sorted lists then. The service does not start where the type has another order.
   */
  ordered(
    this: FieldBuilder<"enum", Value, Optional, ReadOnly, Generated, Marks, Way>,
    by?: "type"
  ): FieldBuilder<"enum", Value, Optional, ReadOnly, Generated, Marks | "ordered", Way> {
    return new FieldBuilder({ ...this.spec, ordered: by ?? true })
  }

  /** Relations: the name under which `expand` follows this field. Without it: the field's name without a trailing `_id`. */
  as<const Name extends string>(
    this: FieldBuilder<"relation", Value, Optional, ReadOnly, Generated, Marks, Way>,
    name: Name
  ): FieldBuilder<"relation", Value, Optional, ReadOnly, Generated, Marks, Renamed<Way, Name, Way["inverse"]>> {
    return new FieldBuilder({ ...this.spec, as: name })
  }

  /**
   * Relations: the name under which `expand` on the target comes back to these records. Without it: the name of the resource that
   * declares the field. `false`: the target has no way back.
   */
  inverse<const Name extends string | false>(
    this: FieldBuilder<"relation", Value, Optional, ReadOnly, Generated, Marks, Way>,
    name: Name
  ): FieldBuilder<"relation", Value, Optional, ReadOnly, Generated, Marks, Renamed<Way, Way["as"], Name>> {
    return new FieldBuilder({ ...this.spec, inverse: name })
  }
}

/** Total digits and digits after the point, as in `numeric(precision, scale)`. */
export interface DecimalSize {
  readonly precision: number
  readonly scale: number
}

/**
 * A column of the type `tsvector` under declaration: `search(words, "text")` looks into it, and `rank(words, "text")` sorts by it. No record shows it and no body
 * gives it.
 */
class SearchVector implements AnyField {
  readonly _tag = "Field"
  readonly spec: FieldSpec
  declare readonly "~field": {
    readonly kind: "searchVector"
    readonly value: never
    readonly optional: false
    readonly readOnly: true
    readonly generated: true
    readonly marks: never
  }

  constructor(spec: FieldSpec) {
    this.spec = spec
  }

  /** The column's name where it differs from the field's. */
  column(name: string): SearchVector {
    return new SearchVector({ ...this.spec, column: name })
  }
}

/** What a declaration says of the JSON in a column. */
export interface JsonOptions {
  /** Paths by names of members with periods between them; texts, decimals, booleans and enums. */
  readonly paths?: { readonly [path: string]: AnyField }
  /** The column's type, where paths are declared: `jsonb` if nothing is said. */
  readonly type?: "jsonb" | "json"
}

type RelationTo<Value extends Json, Name extends string> = FieldBuilder<
  "relation",
  Value,
  false,
  false,
  false,
  never,
  { readonly target: Name; readonly as: null; readonly inverse: null }
>

/**
 * A foreign key to another resource's single-column primary key, whose kind it takes. Given the resource itself its type is known exactly;
 * given a name it is `string | number`.
 */
export const relation: {
  <Target extends RelationTarget>(target: Target): RelationTo<Target["~key"], Target["name"]>
  <const Name extends string>(target: Name): RelationTo<string | number, Name>
} = (target: string | RelationTarget): RelationTo<string | number, never> =>
  new FieldBuilder({
    ...blankField,
    kind: "relation",
    target: typeof target === "object" && target !== null ? target.name : target
  })

/** An element of an array: a value of a kind, which may be null where `optional()` says so. Everything else is said of the array. */
type Element<Value extends Json, Optional extends boolean> = FieldBuilder<ScalarKind, Value, Optional>

const plain = <K extends ScalarKind, Value extends Json>(kind: K): FieldBuilder<K, Value> =>
  new FieldBuilder({ ...blankField, kind })

/** The kinds of fields (docs/reference/resources.md#kinds). */
export const f = {
  /** A whole number; 32 bits unless `.bits(16)` or `.bits(64)`. */
  integer: () => plain<"integer", number>("integer"),
  /** Text without NUL; `.max(n)` bounds its length. */
  text: () => plain<"text", string>("text"),
  boolean: () => plain<"boolean", boolean>("boolean"),
  /** An instant with microseconds: `2026-11-21T07:50:00.123456Z`. */
  timestamp: () => plain<"timestamp", string>("timestamp"),
  /** A calendar day: `2026-11-21`. */
  date: () => plain<"date", string>("date"),
  /** An exact decimal, as text; without a size it is unconstrained. */
  decimal: (size?: DecimalSize): FieldBuilder<"decimal", string> =>
    new FieldBuilder({
      ...blankField,
      kind: "decimal",
      precision: size == null ? null : size.precision,
      scale: size == null ? null : size.scale
    }),
  /** An IEEE 754 double, as a JSON number. For money and quantities use `decimal`. */
  float: () => plain<"float", number>("float"),
  /** One of the given texts, in this order. */
  enum: <const Values extends readonly string[]>(values: Values): FieldBuilder<"enum", Values[number]> =>
    new FieldBuilder({ ...blankField, kind: "enum", values }),
  uuid: () => plain<"uuid", string>("uuid"),
  /** Any JSON value (`json` or `jsonb` columns). Its declared paths can be filtered and sorted by, as `meta.size.width`. */
  json: ({ paths, type }: JsonOptions = {}): FieldBuilder<"json", Json> =>
    new FieldBuilder({ ...blankField, kind: "json", paths: paths ?? null, storage: type ?? "jsonb" }),
  /** An ISO 4217 currency code: `EUR`. */
  currency: () => plain<"currency", string>("currency"),
  /** An ISO 3166-1 alpha-2 country code: `CH`. */
  country: () => plain<"country", string>("country"),
  /**
   * An array of the database: `f.array(f.text().max(40))`. `.max(n)` bounds how many elements, 1,000 unless it says so. An element that is `optional()` may
   * be null.
   */
  array: <Value extends Json, Optional extends boolean = false>(
    element: Element<Value, Optional>
  ): FieldBuilder<"array", ReadonlyArray<Optional extends true ? Value | null : Value>> =>
    new FieldBuilder({ ...blankField, kind: "array", element }),
  /** A time of day without a zone: `09:30:00`. */
  time: () => plain<"time", string>("time"),
  /** Months, days and microseconds as an ISO 8601 duration: `P1Y2M3DT4H5M6.7S`. */
  interval: () => plain<"interval", string>("interval"),
  /** An IP address with or without a prefix (`inet`): `192.0.2.1`, `2001:db8::/32`. */
  inet: () => plain<"inet", string>("inet"),
  /** A network (`cidr`): `192.0.2.0/24`. */
  cidr: () => plain<"cidr", string>("cidr"),
  /** A MAC address: `08:00:2b:01:02:03`. */
  macaddr: () => plain<"macaddr", string>("macaddr"),
  /** Bytes (`bytea`) as base64, at most 65,536 unless `max` says so. What is larger, or is a document, is a file. */
  bytes: (size?: { readonly max: number }): FieldBuilder<"bytes", string> =>
    new FieldBuilder({ ...blankField, kind: "bytes", max: size == null ? null : size.max }),
  /** An amount in a `money` column, as an exact decimal. `scale`: digits after the point, 2 unless the database's `lc_monetary` has others. */
  money: (size?: { readonly scale: number }): FieldBuilder<"money", string> =>
    new FieldBuilder({ ...blankField, kind: "money", scale: size == null ? null : size.scale }),
  /** A range of such values: `[1,10)`, `[2026-01-01,)`, `empty`. */
  range: (of: RangeElement): FieldBuilder<"range", string> =>
    new FieldBuilder({ ...blankField, kind: "range", type: of }),
  /** A value of a type of PostgreSQL that has no kind, such as `point`: its text as the database prints it. */
  native: (type: string): FieldBuilder<"native", string> => new FieldBuilder({ ...blankField, kind: "native", type }),
  /** A document or an image: its stored value is a URI in a text column (`docs/guides/files.md`). */
  file: () => new FileBuilder<FieldSpec>({ ...blankField, kind: "file", file: {} }),
  /** An ordered list of documents or images: their URIs in a `text[]` column. `.max(n)` bounds how many, 20 unless it says so. */
  files: () => new FileBuilder<FieldSpec, false, false, true>({ ...blankField, kind: "files", file: {} }),
  /** Words of texts, in a `tsvector` column. `config`: the configuration that made them, such as `english`; `simple` if nothing is said. */
  searchVector: ({ config = "simple" }: { readonly config?: string } = {}): SearchVector =>
    new SearchVector({ ...blankField, kind: "searchVector", config, readOnly: true, optional: true }),
  relation
} as const
