/**
 * Types of the client, from `typeof config` where it is given and open ones (any name, JSON values) where it is not. Types only: nothing
 * in this file exists at run time. Roles hide fields: what a caller may not read is absent from their records, whatever the type says.
 */

import type { AnyField, FieldMap, RelationWay } from "../../core/domain/declare/field.ts"
import type { CreateOf, FieldName, RecordOf, UpdateOf } from "../../core/domain/declare/record.ts"
import type { Resource } from "../../core/domain/declare/resource.ts"
import type { Json } from "../../core/domain/value/kind.ts"
import type { Filter, Now } from "./filter.ts"

export type { Json }

/** The resources of a configuration by name. Without one, any name stands for a resource of any fields. */
export type ResourcesOf<C> = C extends { readonly "~resources": infer R extends { readonly [name: string]: Resource } }
  ? R
  : { readonly [name: string]: Resource<string, FieldMap, Json, never, never> }

export type ResourceName<C> = keyof ResourcesOf<C> & string

type FieldsOf<C, Name extends ResourceName<C>> = ResourcesOf<C>[Name]["~fields"]

/** Names of the fields of a resource. */
export type FieldOf<C, Name extends ResourceName<C>> = FieldName<FieldsOf<C, Name>>

/** What a key may be given as: the key, a number or bigint where it is numeric, the parts of a composite one in order. */
export type KeyOf<C, Name extends ResourceName<C>> =
  | (ResourcesOf<C>[Name]["~key"] extends string | number ? ResourcesOf<C>[Name]["~key"] : string)
  | number
  | bigint
  | readonly (string | number | bigint)[]
  // Without a configuration a record's own value, whatever its type says.
  | (string extends ResourceName<C> ? Json : never)

/** What a user may do with one record. It informs; every write is decided again. */
export interface RecordPermissions {
  readonly update: boolean
  readonly delete: boolean
  /** Of a get: each readable field, and whether it may be changed in this record. */
  readonly fields?: { readonly [field: string]: "edit" | "read" }
}

/** What records carry besides their fields. */
export interface RecordExtras {
  /** The version, for `etag` of a write: the text of the ETag header. */
  readonly etag: string
  /** Absent where `rowPermissions` is off, and from the answers to writes. */
  readonly permissions?: RecordPermissions
}

/** A record with those of its fields that were asked for. `expand` has the related records, where some were asked for. */
export type RecordIn<C, Name extends ResourceName<C>, Field extends FieldOf<C, Name> = FieldOf<C, Name>> =
  RecordOf<FieldsOf<C, Name>> extends infer All
    ? { readonly [Each in Field & keyof All]: All[Each] } & RecordExtras & { readonly expand?: ExpandedIn<C, Name> }
    : never

// Written out by `infer`, so that editors and errors show members and not the names of these types.
/** The body of a create and of an update. */
export type CreateIn<C, Name extends ResourceName<C>> =
  CreateOf<FieldsOf<C, Name>, ResourcesOf<C>[Name]["~managed"], ResourcesOf<C>[Name]["~owner"]> extends infer Body
    ? { [Each in keyof Body]: Body[Each] }
    : never
export type UpdateIn<C, Name extends ResourceName<C>> =
  UpdateOf<FieldsOf<C, Name>, ResourcesOf<C>[Name]["~managed"]> extends infer Body
    ? { [Each in keyof Body]: Body[Each] }
    : never

type KindOf<Field extends AnyField> = Field["~field"] extends { readonly kind: infer K } ? K : unknown

type Text = string
type Numeric = string | number | bigint
type Instant = string | Date | Now

interface Presence {
  readonly isNull: () => Filter<never>
  readonly isPresent: () => Filter<never>
}

interface Equality<Value> extends Presence {
  readonly eq: (value: Value | null) => Filter<never>
  /** Also records without a value. */
  readonly ne: (value: Value | null) => Filter<never>
}

interface Choice<Value> extends Equality<Value> {
  readonly in: (values: readonly Value[]) => Filter<never>
}

interface Ordered<Value> extends Choice<Value> {
  readonly lt: (value: Value) => Filter<never>
  readonly le: (value: Value) => Filter<never>
  readonly gt: (value: Value) => Filter<never>
  readonly ge: (value: Value) => Filter<never>
}

interface Textual extends Ordered<Text> {
  /** Contains the text, in any case. */
  readonly contains: (text: Text) => Filter<never>
  /** The whole value, with stars for any text: `"Acme*"`. A star itself is `\*`. */
  readonly matches: (pattern: Text) => Filter<never>
  readonly startsWith: (text: Text) => Filter<never>
  readonly similar: (text: Text) => Filter<never>
  readonly regex: (pattern: Text) => Filter<never>
}

interface Anything extends Ordered<Json | bigint | Date | Now>, Omit<Textual, keyof Ordered<Text>> {}

/** The conditions that a field of this kind takes. */
type ConditionOf<Field extends AnyField, Kind = KindOf<Field>> = unknown extends Kind ? Anything
  : Kind extends "text" ? Textual
  : Kind extends "integer" | "decimal" | "float" ? Ordered<Numeric>
  : Kind extends "timestamp" | "date" ? Ordered<Instant>
  : Kind extends "boolean" ? Equality<boolean>
  : Kind extends "json" | "file" ? Presence
  : Choice<Field["~field"]["value"]>

/** The fields with a mark; all of them where nothing is known of their marks. */
type Marked<Fields extends FieldMap, Mark extends string> = {
  [Name in FieldName<Fields>]: Fields[Name]["~field"] extends { readonly marks: infer Marks }
    ? Mark extends Marks ? Name : never
    // Files are neither filtered nor sorted.
    : Fields[Name]["~field"] extends { readonly kind: "file" } ? never
    : Name
}[FieldName<Fields>]

/** The filterable fields, each with the conditions that its kind takes. */
export type ScopeOf<C, Name extends ResourceName<C>> = {
  readonly [Each in Marked<FieldsOf<C, Name>, "filterable">]: ConditionOf<FieldsOf<C, Name>[Each]>
}

/** A filter: its text, one that was built, or a function that builds it from the fields. */
export type FilterIn<C, Name extends ResourceName<C>> =
  | string
  | Filter<Name>
  | ((fields: ScopeOf<C, Name>) => Filter<Name>)

/** A key of an order: a sortable field, with or without a direction. Without a configuration any text. */
export type SortIn<C, Name extends ResourceName<C>> = string extends FieldOf<C, Name> ? string
  : `${Marked<FieldsOf<C, Name>, "sortable">}${"" | " asc" | " desc"}`

type WayOf<Field extends AnyField> = Field["~field"] extends { readonly way: infer Way extends RelationWay } ? Way
  : never

type Stem<Name extends string> = Name extends `${infer Rest}_id` ? Rest : Name

/** Every relation of a configuration, once: where it is declared, where it leads, and what its two ways are called. */
type EdgeOf<C> = {
  [From in ResourceName<C>]: {
    [Field in FieldOf<C, From>]: [WayOf<FieldsOf<C, From>[Field]>] extends [never] ? never
      : Edge<WayOf<FieldsOf<C, From>[Field]>, From, Field>
  }[FieldOf<C, From>]
}[ResourceName<C>]

interface Edge<Way extends RelationWay, From extends string, Field extends string> {
  readonly from: From
  readonly target: Way["target"]
  readonly forth: Way["as"] extends string ? Way["as"] : Stem<Field>
  readonly back: Way["inverse"] extends string ? Way["inverse"] : Way["inverse"] extends false ? never : From
}

type AnyEdge = { readonly from: string; readonly target: string; readonly forth: string; readonly back: string }

/** The ways that start at a resource: to one record by its own fields, and back to all records that point at it. */
type WaysOf<C, Name extends ResourceName<C>> =
  & {
    readonly [Each in Extract<EdgeOf<C>, AnyEdge & { readonly from: Name }> as Each["forth"]]: {
      readonly resource: Each["target"]
      readonly many: false
    }
  }
  & {
    readonly [Each in Extract<EdgeOf<C>, AnyEdge & { readonly target: Name }> as Each["back"]]: {
      readonly resource: Each["from"]
      readonly many: true
    }
  }

type WayName<C, Name extends ResourceName<C>> = keyof WaysOf<C, Name> & string

type Next<C, Name extends ResourceName<C>, Each extends WayName<C, Name>> = WaysOf<C, Name>[Each] extends
  { readonly resource: infer Target extends ResourceName<C> } ? Target
  : never

/** The names that `expand` takes, one or two levels deep. Without a configuration any text. */
export type ExpandIn<C, Name extends ResourceName<C>> = string extends FieldOf<C, Name> ? string
  : WayName<C, Name> | { [Each in WayName<C, Name>]: `${Each}.${WayName<C, Next<C, Name, Each>>}` }[WayName<C, Name>]

/** Related records, where they were asked for and the caller sees them. */
export type ExpandedIn<C, Name extends ResourceName<C>> = string extends FieldOf<C, Name>
  ? { readonly [way: string]: RecordIn<C, Name> & readonly RecordIn<C, Name>[] | null }
  : {
    readonly [Each in WayName<C, Name>]?: WaysOf<C, Name>[Each] extends { readonly many: true }
      ? readonly RecordIn<C, Next<C, Name, Each>>[]
      : RecordIn<C, Next<C, Name, Each>> | null
  }
