/**
 * Access as one value: resolved once per request and resource, and the only thing later steps ask. It holds the restricted model,
 * so what the caller may not read does not exist for the parser, the planner or the presenter.
 */

import type { FilterTree } from "../filter/tree.ts"
import type { Field, Model, WireRecord } from "../model/model.ts"
import type { Caller } from "./caller.ts"
import type { Operation } from "./rules.ts"

/**
 * What one operation of a caller may do. `deny`: nothing · `allow`: every row · `filter`: only rows that pass `tree`, decided in the
 * database · `record`: `decide` answers for one record.
 *
 * `decide` answers deny, allow or a filter. The database checks such a filter against the row as written. A throw denies.
 */
export type Decision =
  | { readonly of: "deny" }
  | { readonly of: "allow" }
  | { readonly of: "filter"; readonly tree: FilterTree }
  | { readonly of: "record"; readonly decide: (record: WireRecord) => Exclude<Decision, { of: "record" }> }

/** The part of a model that a caller can see. Built from readable fields only; cached per model and field set. */
export interface RestrictedModel {
  readonly model: Model
  /** Stable text naming this restriction: equal texts mean the same readable and writable sets. Safe as a cache key, never shown. */
  readonly id: string
  /** Readable fields in declared order. */
  readonly fields: readonly Field[]
  /** Readable fields by name. */
  readonly byName: ReadonlyMap<string, Field>
  /** Names and aliases that `filter` and `order_by` know. The field itself says whether they take it. Empty where read is denied. */
  readonly names: ReadonlyMap<string, Field>
  /** Search vectors that the caller may ask, by name. */
  readonly vectors: ReadonlyMap<string, Field>
  /** Readable searched fields. */
  readonly searched: readonly Field[]
  /** Names of readable fields the caller may write in a create and in an update (never read-only, tenant or hidden ones). */
  readonly creatable: ReadonlySet<string>
  readonly updatable: ReadonlySet<string>
}

/** What one caller may do with one resource. */
export interface Access {
  readonly caller: Caller
  readonly model: Model
  readonly restricted: RestrictedModel
  readonly decisions: { readonly [operation in Operation]: Decision }
  /** Whether the caller may refresh the materialized view behind it. Absent where it is none. */
  readonly mayRefresh?: boolean
  /** True when a create is limited to the caller's own rows. The owner field is then set to the caller, unless the body gives it. */
  readonly createOwn: boolean
  /**
   * Rows this caller can see at all: the tenant and the row filter of `read`. Soft delete is added by the plan. `never` when read is
   * denied, or when a tenant-scoped resource meets a caller without a tenant.
   */
  readonly rows: FilterTree
  /** True when the resource is tenant-scoped and the caller has no tenant. Every operation is then a 403 `tenant-required`. */
  readonly tenantMissing: boolean
  /**
   * False when the caller can do nothing with the resource: it then does not exist for them (404 everywhere). A caller who can neither read
   * nor create can do nothing, as they know no record to update or delete.
   */
  readonly visible: boolean
  /**
   * Write rules of fields that ask for the record: for each such field, whether this record's field may be written. An update passes the
   * stored record, a create the record that is to be written.
   */
  readonly fieldWritable: ReadonlyMap<string, (record: WireRecord) => boolean>
}
