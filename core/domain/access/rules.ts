/**
 * Access rules as declared and as compiled. Without a rule, roles and defaults decide. A rule that is empty, null, malformed or throws
 * denies.
 */

import type { FilterTree } from "../filter/tree.ts"
import type { WireRecord } from "../model/model.ts"
import type { Caller } from "./caller.ts"

export type Operation = "read" | "create" | "update" | "delete"
export const operations: readonly Operation[] = ["read", "create", "update", "delete"]

/** A filter in the access-rule language: the filter language plus `caller.id` and `caller.tenant`. Made by `where`. */
export interface Where {
  readonly _tag: "Where"
  readonly text: string
}

/** What a rule may answer: yes, no, or only records that pass a filter. Anything else denies. */
export type RuleAnswer = boolean | Where

/**
 * The argument of a rule function. `record` is the stored record in wire form with every declared field; for a create, the new record. A rule that
 * reads `record` is decided per record, for writes inside the transaction. A rule of `read` never has a record: reading it throws, which denies.
 */
export interface RuleContext {
  readonly caller: Caller
  readonly record: WireRecord
}

export type RuleFunction = (context: RuleContext) => RuleAnswer

/** Thrown at a rule that asks for a column which was not read. That is no failure of the rule: it is asked again once the column is there. */
export class Unread extends Error {
  constructor() {
    super("This column was not read.")
  }
}

export type CompiledRule =
  | { readonly of: "constant"; readonly allow: boolean }
  | { readonly of: "roles"; readonly roles: readonly string[] }
  | { readonly of: "filter"; readonly tree: FilterTree }
  | { readonly of: "function"; readonly run: RuleFunction }

/** Field rules: who may read or write one field. Functions of `read` see the caller only. A filter is no answer here and denies. */
export interface CompiledFieldRules {
  readonly read: CompiledRule | null
  readonly write: CompiledRule | null
}

export type CheckText = (text: string) => FilterTree | null

/** Compiled rules of a resource; null: no explicit rule. */
export interface CompiledRules {
  readonly read: CompiledRule | null
  readonly create: CompiledRule | null
  readonly update: CompiledRule | null
  readonly delete: CompiledRule | null
  /** Of a materialized view: a yes, a no or roles. Absent: nobody. */
  readonly refresh?: CompiledRule | null
  readonly fields: ReadonlyMap<string, CompiledFieldRules>
  /** Checks a filter text that a rule function answered for a record in hand, against the full model. Null when it does not check, which denies. */
  readonly check: CheckText
  /** The same for filters that the database judges, which may go through relations. Absent: none does. */
  readonly related?: { readonly read: CheckText; readonly write: CheckText }
}

/** The compiled rules of every resource, by its name. A resource that is not in here exists for nobody. */
export type RulesByResource = ReadonlyMap<string, CompiledRules>

/**
 * Compiled roles: for each role its capabilities. `resource` and `operation` may be `*`. `fields` null means every field.
 * `own` limits to records whose owner field equals the caller's id.
 */
export interface Capability {
  readonly resource: string
  readonly operation: Operation | "*"
  readonly own: boolean
  readonly fields: readonly string[] | null
}

export type Roles = ReadonlyMap<string, readonly Capability[]>

/** How operations without an explicit rule are decided. `roles` null: no roles are declared. */
export interface AccessDefaults {
  readonly roles: Roles | null
  /** Overrides what `roles` would do; null: `deny` when roles are declared, else `allow`. */
  readonly defaultAccess: "allow" | "deny" | null
}
