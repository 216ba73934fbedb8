/**
 * Access as one value: resolved once per request and resource, and the only thing later steps ask. It holds the restricted model,
 * so what the caller may not read does not exist for the parser, the planner or the presenter.
 */

import type { FilterTree } from "../filter/tree.ts"
import type { Field, Model, WireRecord } from "../model/model.ts"
import type { Caller } from "./caller.ts"
import type { Operation } from "./rules.ts"

/**
 * One operation's decision.
 *
 * `deny` · `allow` every row · `filter`: only rows that pass `tree` (decided in the database) · `record`: decided per record by
 * `decide`, which answers deny, allow or a further filter to be checked in the database against the row as written; a throw denies.
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
  /** Names and aliases that `filter` and `order_by` know; whether they take the field is said by the field. Empty where read is denied. */
  readonly names: ReadonlyMap<string, Field>
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
  /** True when a create is limited to the caller's own rows: the owner field is set to the caller unless given. */
  readonly createOwn: boolean
  /**
   * Rows this caller can see at all: tenant and row filter of `read` (soft delete is the plan's business). `never` when read is denied
   * or the resource is tenant-scoped and the caller has no tenant.
   */
  readonly rows: FilterTree
  /** Tenant-scoped resource and a caller without tenant: every operation is 403 `tenant-required`. */
  readonly tenantMissing: boolean
  /**
   * False: the caller can do nothing with the resource, which then does not exist for them (404 everywhere). Who can neither read nor create
   * can do nothing, since there is no record they could update or delete.
   */
  readonly visible: boolean
  /**
   * Per-record write rules of fields: for each creatable or updatable field with a record-level rule, whether this record's field may be
   * written. For an update the stored record, for a create the record as it is to be written.
   */
  readonly fieldWritable: ReadonlyMap<string, (record: WireRecord) => boolean>
}
