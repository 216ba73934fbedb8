/**
 * Types of the client. With `typeof config` they are exact; without it, any name and any JSON value is allowed. Nothing in this file exists at run time.
 * A field that the caller may not read is absent from their records, whatever the type says.
 */

import type { AnyField, FieldMap, RelationWay } from "../../core/domain/declare/field.ts"
import type { CreateOf, FieldName, RecordOf, UpdateOf } from "../../core/domain/declare/record.ts"
import type { Resource } from "../../core/domain/declare/resource.ts"
import type { Json } from "../../core/domain/value/kind.ts"
import type { Filter, Now } from "./filter.ts"

export type { Json }

/** The resources of a configuration by name. Without a configuration, any name is a resource with any fields. */
export type ResourcesOf<C> = C extends { readonly "~resources": infer R extends { readonly [name: string]: Resource } }
  ? R
  : { readonly [name: string]: Resource<string, FieldMap, Json, never, never> }

export type ResourceName<C> = keyof ResourcesOf<C> & string

type FieldsOf<C, Name extends ResourceName<C>> = ResourcesOf<C>[Name]["~fields"]

/** Names of the fields of a resource. */
export type FieldOf<C, Name extends ResourceName<C>> = FieldsOf<C, Name> extends infer Fields extends FieldMap
  ? keyof Fields & string
  : never

/** Names of the file fields of a resource. */
export type FileFieldOf<C, Name extends ResourceName<C>> = FieldsOf<C, Name> extends infer Fields extends FieldMap ? {
    [Each in keyof Fields & string]: string extends Each ? Each
      : Fields[Each]["~field"] extends { readonly kind: "file" | "files" } ? Each
      : never
  }[keyof Fields & string]
  : never

/** The forms of a key: its text, a number or bigint if it is numeric, or the parts of a composite key in order. */
export type KeyOf<C, Name extends ResourceName<C>> =
  | (ResourcesOf<C>[Name]["~key"] extends string | number ? ResourcesOf<C>[Name]["~key"] : string)
  | number
  | bigint
  | readonly (string | number | bigint)[]
  // Without a configuration: any value of a record.
  | (string extends ResourceName<C> ? Json : never)

/** What a user may do with one record. For information only: the service checks every write again. */
export interface RecordPermissions {
  readonly update: boolean
  readonly delete: boolean
  /** In the answer of a get: each readable field, and whether it may be changed in this record. */
  readonly fields?: { readonly [field: string]: "edit" | "read" }
}

/** Members of records besides their fields. */
export interface RecordExtras {
  /** The version, for `etag` of a write: the text of the ETag header. */
  readonly etag: string
  /** Absent if `rowPermissions` is off, and in answers to writes. */
  readonly permissions?: RecordPermissions
}

/** A record with the requested fields. `expand` has the requested related records, in the forms that the paths of the request give them. */
export type RecordIn<
  C,
  Name extends ResourceName<C>,
  Field extends FieldIn<C, Name> = FieldOf<C, Name>,
  Path extends string = never
> = RecordOf<FieldsOf<C, Name>> extends infer All ?
    & { readonly [Each in Field & keyof All]: All[Each] }
    & RecordExtras
    & { readonly expand?: ExpandedIn<C, Name, Path> }
  : never

/** The arguments of a function of the database. Those that are optional or have a default may be left out. */
export type ArgumentsIn<C, Name extends ResourceName<C>> = ResourcesOf<C>[Name]["~arguments"] extends
  infer Arguments extends FieldMap
  ? string extends keyof Arguments ? { readonly [name: string]: [Arguments[string]] extends [never] ? never : Json }
  :
    & { readonly [Each in keyof Arguments as Left<Arguments[Each], false, Each>]: Arguments[Each]["~field"]["value"] }
    & {
      readonly [Each in keyof Arguments as Left<Arguments[Each], true, Each>]?:
        | Arguments[Each]["~field"]["value"]
        | null
    }
  : never

/** The name, if its argument may be left out, or if it may not. */
type Left<Field extends AnyField, Wanted extends boolean, Name> =
  (true extends Field["~field"]["optional"] | Field["~field"]["generated"] ? true : false) extends Wanted ? Name : never

// `infer` resolves these types, so that editors and errors show members and not type names.
/** The body of a create and of an update. */
export type CreateIn<C, Name extends ResourceName<C>> =
  CreateOf<FieldsOf<C, Name>, ResourcesOf<C>[Name]["~managed"], ResourcesOf<C>[Name]["~owner"]> extends infer Body
    ? { [Each in keyof Body]: Body[Each] }
    : never
/** In an update, instead of the value of an integer or a decimal: the amount to add to the stored value, exactly. */
export interface Addition {
  readonly $add: string | number
}

type AdditionTo<Field> = Field extends AnyField ? KindOf<Field> extends "integer" | "decimal" ? Addition : never : never

export type UpdateIn<C, Name extends ResourceName<C>> = FieldsOf<C, Name> extends infer Fields extends FieldMap
  ? UpdateOf<Fields, ResourcesOf<C>[Name]["~managed"]> extends infer Body
    ? { [Each in keyof Body]: Body[Each] | AdditionTo<Fields[Each & keyof Fields]> }
  : never
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
  /** Not equal. Also matches records without a value. */
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
  /** Matches the whole value. A star means any text: `"Acme*"`. Write `\*` for a star itself. */
  readonly matches: (pattern: Text) => Filter<never>
  readonly startsWith: (text: Text) => Filter<never>
  readonly similar: (text: Text) => Filter<never>
  readonly regex: (pattern: Text) => Filter<never>
}

/** The number of elements of a list. */
interface Length {
  readonly eq: (count: number) => Filter<never>
  readonly ne: (count: number) => Filter<never>
  readonly lt: (count: number) => Filter<never>
  readonly le: (count: number) => Filter<never>
  readonly gt: (count: number) => Filter<never>
  readonly ge: (count: number) => Filter<never>
}

interface Listed<Element> extends Presence {
  /** Has the element. */
  readonly contains: (element: Element) => Filter<never>
  /** Has one of the elements. */
  readonly in: (elements: readonly Element[]) => Filter<never>
  readonly length: Length
}

/** What has a value in common with another range is asked as text: `filterText('overlaps(during, "[1,5)")')`. */
interface Ranged extends Ordered<Text> {
  /** The value is in the range. */
  readonly contains: (value: Text) => Filter<never>
}

interface Anything extends Ordered<Json | bigint | Date | Now>, Omit<Textual, keyof Ordered<Text>> {}

/** An element of a list as filters take it. A number may be any of its forms. */
type ElementOf<Value> = Value extends ReadonlyArray<infer Element>
  ? NonNullable<Element> extends number ? Numeric : NonNullable<Element> | Date
  : never

/** The conditions of a field of this kind. */
type ConditionOf<Field extends AnyField, Kind = KindOf<Field>> = unknown extends Kind ? Anything
  : Kind extends "text" ? Textual
  : Kind extends "integer" | "decimal" | "float" ? Ordered<Numeric>
  : Kind extends "timestamp" | "date" ? Ordered<Instant>
  : Kind extends "boolean" ? Equality<boolean>
  : Kind extends "money" ? Ordered<Numeric>
  : Kind extends "time" | "interval" | "inet" | "cidr" | "macaddr" ? Ordered<Text>
  : Kind extends "range" ? Ranged
  : Kind extends "json" | "file" | "files" | "native" ? Presence
  : Kind extends "array" ? Listed<ElementOf<Field["~field"]["value"]>>
  : Field["~field"] extends { readonly marks: infer Marks }
    ? "ordered" extends Marks ? Ordered<Field["~field"]["value"]> : Choice<Field["~field"]["value"]>
  : Choice<Field["~field"]["value"]>

/** The fields with a mark, such as filterable. All fields if their marks are unknown. */
type Marked<Fields extends FieldMap, Mark extends string> = {
  [Name in FieldName<Fields>]: Fields[Name]["~field"] extends { readonly marks: infer Marks }
    ? Mark extends Marks ? Name : never
    // Files are neither filtered nor sorted.
    : Fields[Name]["~field"] extends { readonly kind: "file" | "files" } ? never
    : Name
}[FieldName<Fields>]

/** The filterable fields, each with the conditions of its kind. */
export type ScopeOf<C, Name extends ResourceName<C>> = FieldsOf<C, Name> extends infer Fields extends FieldMap
  ? { readonly [Each in Marked<Fields, "filterable">]: ConditionOf<Fields[Each]> }
  : never

/** A filter: a text, a built filter, or a function that builds one from the fields. */
export type FilterIn<C, Name extends ResourceName<C>> =
  | string
  | Filter<Name>
  | ((fields: ScopeOf<C, Name>) => Filter<Name>)

type Documents<Fields extends FieldMap> = {
  [Name in FieldName<Fields>]: Fields[Name]["~field"] extends { readonly kind: "json" } ? Name : never
}[FieldName<Fields>]

/**
 * A key of an order, with or without a direction: a sortable field, a path to one of a record that is pointed at, a path into JSON, or the rank of a search
 * vector. Without a configuration any text.
 */
export type SortIn<C, Name extends ResourceName<C>> = string extends FieldOf<C, Name> ? string
  :
    | `${Marked<FieldsOf<C, Name>, "sortable">}${"" | " asc" | " desc"}`
    | `${EdgesFrom<C, Name>["forth"] | Documents<FieldsOf<C, Name>>}.${string}`
    | `rank(${string}`

type WayOf<Field extends AnyField> = Field["~field"] extends { readonly way: infer Way extends RelationWay } ? Way
  : never

type Stem<Name extends string> = Name extends `${infer Rest}_id` ? Rest : Name

/** The relations of a configuration: the declaring resource, the target, and the names of both directions. */
type EdgeOf<C> = { [From in ResourceName<C>]: EdgesFrom<C, From> }[ResourceName<C>]

type EdgesFrom<C, From extends ResourceName<C>> = {
  [Field in FieldOf<C, From>]: [WayOf<FieldsOf<C, From>[Field]>] extends [never] ? never
    : Edge<WayOf<FieldsOf<C, From>[Field]>, From, Field>
}[FieldOf<C, From>]

interface Edge<Way extends RelationWay, From extends string, Field extends string> {
  readonly from: From
  readonly by: Field
  readonly target: Way["target"]
  readonly forth: Way["as"] extends string ? Way["as"] : Stem<Field>
  readonly back: Way["inverse"] extends string ? Way["inverse"] : Way["inverse"] extends false ? never : From
}

type AnyEdge = {
  readonly from: string
  readonly by: string
  readonly target: string
  readonly forth: string
  readonly back: string
}

/** The relations of a resource: to one record by its own fields, and to all records that point at it. */
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
      readonly by: Each["by"]
      readonly many: true
    }
  }

/** Lists of records below a new one, by the names of their relations. The field that has its key is left out. */
export type ListsIn<C, Name extends ResourceName<C>> = string extends FieldOf<C, Name> ? unknown : {
  readonly [
    Each in keyof WaysOf<C, Name> as WaysOf<C, Name>[Each] extends { readonly many: true } ? Each : never
  ]?: WaysOf<C, Name>[Each] extends
    { readonly resource: infer Below extends ResourceName<C>; readonly by: infer By extends string }
    ? readonly Omit<CreateIn<C, Below>, By>[]
    : never
}

type WayName<C, Name extends ResourceName<C>> = keyof WaysOf<C, Name> & string

type Next<C, Name extends ResourceName<C>, Each extends WayName<C, Name>> = WaysOf<C, Name>[Each] extends
  { readonly resource: infer Target extends ResourceName<C> } ? Target
  : never

/** The field of versions whose accounts `expand` names. */
type MakerOf<C, Name extends ResourceName<C>> = Extract<FieldOf<C, Name>, "history_by">

/** A relation and a shape, or more relations, after it. Names are checked two levels deep. */
type Onwards<Way extends string> = Way | `${Way}${"(" | "."}${string}`

/** The paths that `expand` takes. Without a configuration any text. */
export type ExpandIn<C, Name extends ResourceName<C>> = string extends FieldOf<C, Name> ? string
  :
    | MakerOf<C, Name>
    | WayName<C, Name>
    | `${WayName<C, Name>}(${string}`
    | { [Each in WayName<C, Name>]: `${Each}.${Onwards<WayName<C, Next<C, Name, Each>>>}` }[WayName<C, Name>]

/** The names that `fields` takes: fields, and paths to those of related records, which come in `expand`. */
export type FieldIn<C, Name extends ResourceName<C>> = FieldOf<C, Name> | `${WayName<C, Name>}.${string}`

/** What the paths say after a relation. */
type Below<Path extends string, Way extends string> = Path extends `${Way}.${infer Rest}` ? Rest
  : Path extends `${Way}(${string}).${infer Rest}` ? Rest
  : never

/** The records of a relation to several, as the paths ask for them. */
type Several<Path extends string, Way extends string, Item> = [Extract<Path, `${Way}(${string}`>] extends [infer Shaped]
  ? [Shaped] extends [never] ? readonly Item[]
  : [Shaped] extends [`${Way}(count${string}`] ? { readonly count: number }
  : [Shaped] extends [`${Way}(${string}page_size:${string}`]
    ? { readonly items: readonly Item[]; readonly more: boolean }
  : readonly Item[]
  : never

/** Related records and names of makers, if they were requested and the caller sees them. */
export type ExpandedIn<C, Name extends ResourceName<C>, Path extends string = never> = string extends FieldOf<C, Name> ?
  { readonly [way: string]: RecordIn<C, Name> & readonly RecordIn<C, Name>[] | null }
  :
    & {
      readonly [Each in WayName<C, Name>]?: WaysOf<C, Name>[Each] extends { readonly many: true }
        ? Several<Path, Each, RecordIn<C, Next<C, Name, Each>, FieldOf<C, Next<C, Name, Each>>, Below<Path, Each>>>
        : RecordIn<C, Next<C, Name, Each>, FieldOf<C, Next<C, Name, Each>>, Below<Path, Each>> | null
    }
    & { readonly [Each in MakerOf<C, Name>]?: { readonly name: string } | null }
