/**
 * Resource declarations: `defineResource` and the types that let rules, validations and events see records of the declared fields. It
 * keeps what was written and judges nothing; `compile/compile.ts` does, for TypeScript and plain-JavaScript configs alike.
 */

import type { Caller } from "../access/caller.ts"
import type { RuleAnswer, Where } from "../access/rules.ts"
import { builtInEvents, type ChangeOperation } from "../model/event.ts"
import type { FieldProblem } from "../model/model.ts"
import type { Duration } from "../value/duration.ts"
import type { Json } from "../value/kind.ts"
import type { DatabaseFunction } from "./database-function.ts"
import type { AnyField, FieldBuilder, FieldMap } from "./field.ts"
import type { FieldName, RecordOf } from "./record.ts"

/** A rule over given arguments: yes or no for everybody, the roles it holds for (`admin` is not implied), a filter, or a function of the arguments. */
export type RuleOf<Arguments> = boolean | readonly string[] | Where | ((context: Arguments) => RuleAnswer)

/** A rule of one field: like a resource's rule, but without filters. */
export type FieldRuleOf<Arguments> = boolean | readonly string[] | ((context: Arguments) => boolean)

/** What rules of `read` get: the caller. They see no record, because a filter decides which rows may be read. */
export interface ReadContext {
  readonly caller: Caller
}

/** The argument of rules of writes: the stored record; for a create, the new record. */
export interface WriteContext<Fields extends FieldMap> {
  readonly caller: Caller
  readonly record: RecordOf<Fields>
}

/** Access rules of a resource (docs/guides/access.md#rules-of-a-resource). An operation without a rule is decided by roles and `defaultAccess`. */
export interface AccessDeclaration<Fields extends FieldMap> {
  readonly read?: RuleOf<ReadContext>
  readonly create?: RuleOf<WriteContext<Fields>>
  readonly update?: RuleOf<WriteContext<Fields>>
  readonly delete?: RuleOf<WriteContext<Fields>>
  /** Of a materialized view: who may refresh it. Without it nobody may. */
  readonly refresh?: boolean | readonly string[]
  /** Rules of single fields: a field the caller may not read does not exist for them. */
  readonly fields?: {
    readonly [Name in FieldName<Fields>]?: {
      readonly read?: FieldRuleOf<ReadContext>
      readonly write?: FieldRuleOf<WriteContext<Fields>>
    }
  }
}

/** A change as `match` sees it: `before` is null on create, `after` is null when the row was removed. */
export interface EventContext<Fields extends FieldMap> {
  readonly operation: ChangeOperation
  readonly before: RecordOf<Fields> | null
  readonly after: RecordOf<Fields> | null
}

/** An event of its own: on these operations, when `match` (if any) says so. */
export interface EventDeclaration<Fields extends FieldMap> {
  readonly on: readonly ChangeOperation[]
  readonly match?: (change: EventContext<Fields>) => boolean
}

/** `created`, `updated`, `deleted` and `undeleted` may be `true`; every other name needs `on`. */
export type EventsDeclaration<Fields extends FieldMap> =
  & { readonly [Name in keyof typeof builtInEvents]?: true | EventDeclaration<Fields> }
  & { readonly [name: string]: true | EventDeclaration<Fields> }

/** How a materialized view is refreshed (docs/guides/views-and-functions.md#materialized-views). */
export interface MaterializedDeclaration {
  /** When it is refreshed besides: a cron pattern of five fields, or of six with seconds first. */
  readonly schedule?: string
  /** The time zone of `schedule`, default UTC. */
  readonly timezone?: string
  /** How long one refresh may take, default 10 minutes, at most a day. */
  readonly timeout?: Duration
}

/**
 * A column that the service uses itself: the name of a declared field, the name of a column without a field, or a field declaration for
 * such a column (`f.integer().column("tenant_id")`) when its kind is not the usual one.
 */
export type SystemColumn<Fields extends FieldMap> =
  | FieldName<Fields>
  | (string & {})
  | FieldBuilder<"integer", number | string, boolean, boolean, boolean, string>
  | FieldBuilder<"text" | "uuid" | "timestamp", string, boolean, boolean, boolean, string>

/** A resource as declared (docs/reference/resources.md#properties). */
export interface ResourceDeclaration<
  Fields extends FieldMap,
  Key extends FieldName<Fields> | readonly FieldName<Fields>[],
  Tenant extends SystemColumn<Fields> = SystemColumn<Fields>,
  SoftDelete extends SystemColumn<Fields> = SystemColumn<Fields>,
  Version extends SystemColumn<Fields> = SystemColumn<Fields>,
  Owner extends FieldName<Fields> = FieldName<Fields>,
  Arguments extends FieldMap = FieldMap
> {
  /** What its records are, for people: plain text of at most 2,000 characters. */
  readonly description?: string
  /** The table, `schema.table` allowed; the resource's name when left out. */
  readonly table?: string
  /** Instead of a table: a function of the database whose rows it shows, `fn("shop.orders_of", { customer: f.integer() })`. It is read-only. */
  readonly from?: DatabaseFunction<Arguments>
  /** The table is a materialized view: lists tell how old its data is, and who `access.refresh` names may refresh it. It is read-only. */
  readonly materialized?: boolean | MaterializedDeclaration
  /** Nobody creates, changes or deletes records through the service: for views, and for tables that something else fills. */
  readonly readOnly?: boolean
  readonly fields: Fields
  /** One field, or several in the order in which they stand in URLs. */
  readonly primaryKey: Key
  /** Makes the resource tenant-scoped. A bare column name stands for a text column. */
  readonly tenant?: Tenant
  /** The field that `.own` compares with the caller's id; it must store that id. */
  readonly owner?: Owner
  /** An optional timestamp: set by a delete, cleared by `:undelete`. */
  readonly softDelete?: SoftDelete
  /** A timestamp or integer that every update raises; it drives the ETag and cannot be written by callers. */
  readonly version?: Version
  /** Rules over the whole record, run after each value was checked by itself. */
  readonly validate?: ReadonlyArray<(record: RecordOf<Fields>) => ReadonlyArray<FieldProblem> | null | undefined | void>
  readonly access?: AccessDeclaration<Fields>
  /** What others may be told of: subscriptions name them as `<resource>.<event>`. */
  readonly events?: EventsDeclaration<Fields>
}

type KeyOf<Fields extends FieldMap, Key> = Key extends FieldName<Fields> ? Fields[Key]["~field"]["value"]
  : Key extends readonly [infer Only extends FieldName<Fields>] ? Fields[Only]["~field"]["value"]
  : string

type KeyField<Fields extends FieldMap, Key> = Key extends readonly (infer Each extends FieldName<Fields>)[] ? Each
  : Extract<Key, FieldName<Fields>>

/** Of a resource over a table. */
export type NoArguments = { readonly [name: string]: never }

/** A declared resource. Its declaration is read at startup only, so a mistake in it is a refusal and not a crash. */
export interface Resource<
  Name extends string = string,
  Fields extends FieldMap = FieldMap,
  Key extends Json = Json,
  Managed extends string = string,
  Owner extends string = string,
  KeyField extends string = string,
  Arguments extends FieldMap = FieldMap
> {
  readonly _tag: "Resource"
  readonly name: Name
  readonly declaration: unknown
  /** Types only; there are no such members at run time. */
  readonly "~fields": Fields
  readonly "~key": Key
  /** Fields that the service sets itself (tenant, soft delete, version), and the owner field, which it may fill in. */
  readonly "~managed": Managed
  readonly "~owner": Owner
  /** Names of the fields of the key. */
  readonly "~keyField": KeyField
  /** Arguments of the function that gives its rows. */
  readonly "~arguments": Arguments
}

/** The record type of a resource: `RecordFrom<typeof orders>`. */
export type RecordFrom<R extends Resource> = RecordOf<R["~fields"]>

/**
 * Declares a resource. `name` is the `{resource}` segment of its paths. The record type follows from `fields`.
 *
 * @example
 * const orders = defineResource("orders", {
 *   table: "shop.orders",
 *   primaryKey: "id",
 *   fields: { id: f.integer().bits(64).readOnly().dbDefault(), status: f.enum(["draft", "paid"]).filterable() }
 * })
 */
export const defineResource = <
  const Name extends string,
  Fields extends { readonly [name: string]: AnyField },
  const Key extends FieldName<Fields> | readonly FieldName<Fields>[],
  const Tenant extends SystemColumn<Fields> = never,
  const SoftDelete extends SystemColumn<Fields> = never,
  const Version extends SystemColumn<Fields> = never,
  const Owner extends FieldName<Fields> = never,
  Arguments extends FieldMap = NoArguments
>(
  name: Name,
  declaration: ResourceDeclaration<Fields, Key, Tenant, SoftDelete, Version, Owner, Arguments>
): Resource<
  Name,
  Fields,
  KeyOf<Fields, Key>,
  Extract<Tenant | SoftDelete | Version, FieldName<Fields>>,
  Owner,
  KeyField<Fields, Key>,
  Arguments
> => {
  const resource: Pick<Resource<Name>, "_tag" | "name" | "declaration"> = { _tag: "Resource", name, declaration }
  return resource as Resource<
    Name,
    Fields,
    KeyOf<Fields, Key>,
    Extract<Tenant | SoftDelete | Version, FieldName<Fields>>,
    Owner,
    KeyField<Fields, Key>,
    Arguments
  >
}
