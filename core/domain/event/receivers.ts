/**
 * Decides which subscriptions get a change, and which fields each of them sees. It applies the same access rules as the API, so nobody gets an event of
 * a record that they cannot read. It sends nothing and reads no clock.
 */

import * as Result from "effect/Result"
import type { Access } from "../access/access.ts"
import type { Caller } from "../access/caller.ts"
import type { CompiledRules, RulesByResource } from "../access/rules.ts"
import { evaluateKnown } from "../filter/evaluate.ts"
import { type Bindings, fieldsOf, type FilterTree } from "../filter/tree.ts"
import type { CompiledEvent } from "../model/event.ts"
import type { Model, Models } from "../model/model.ts"
import { tableName } from "../model/table.ts"
import type { Row } from "../value/kind.ts"
import {
  cellsOf,
  changedFields,
  judgedRow,
  matches,
  type RecordChange,
  recordChange,
  type StoredChange
} from "./change.ts"
import { envelopeJson } from "./envelope.ts"
import { type Subscription, takes } from "./subscription.ts"

/** An event of a change that happened to a resource's record. */
export interface Happened {
  readonly change: RecordChange
  readonly event: string
}

/** Code of the application that failed, and where it is declared. */
export interface EventFailure {
  readonly place: string
  readonly error: unknown
}

const textOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** A failure as it is kept with a change: `orders.large_order: match threw: …`. */
export const failureText = ({ error, place }: EventFailure): string => `${place} threw: ${textOf(error)}`

/** The declared resources and events, by table. */
export interface EventModels {
  readonly of: (relation: string) => readonly Model[]
  readonly events: ReadonlyMap<string, ReadonlyMap<string, CompiledEvent>>
}

/** Models by table, for changes. */
export const eventModels = (models: Models, events: EventModels["events"]): EventModels => {
  const byTable = new Map<string, Model[]>()
  for (const model of models.values()) {
    if (model.events.length === 0) continue
    const name = tableName(model)
    const same = byTable.get(name)
    if (same === undefined) byTable.set(name, [model])
    else same.push(model)
  }
  return { of: (relation) => byTable.get(relation) ?? [], events }
}

/** The events of a captured change, and those whose code failed. */
export const happened = (of: EventModels, stored: StoredChange): {
  readonly events: readonly Happened[]
  readonly failed: ReadonlyArray<readonly [Happened, EventFailure]>
} => {
  const events: Happened[] = []
  const failed: Array<readonly [Happened, EventFailure]> = []
  for (const model of of.of(stored.relation)) {
    const change = recordChange(model, stored)
    if (change === null) continue
    for (const event of of.events.get(model.name)?.values() ?? []) {
      try {
        if (matches(event, change)) events.push({ change, event: event.name })
      } catch (error) {
        failed.push([{ change, event: event.name }, { place: `${model.name}.${event.name}: match`, error }])
      }
    }
  }
  return { events, failed }
}

const tenantOf = ({ model, ...change }: RecordChange): string | null =>
  model.tenant === null ? null : judgedRow({ model, ...change })[model.tenant.index] ?? null

/**
 * Who a subscription reads a change as. Null: the service itself, which reads everything. `roles` are the current roles of the owner, if there is
 * an owner.
 */
export const readerOf = (subscription: Subscription, change: RecordChange, roles: readonly string[]): Caller | null => {
  const { reader } = subscription
  if (reader.of === "service") return null
  return {
    // No user has such an id.
    id: reader.of === "owner" ? reader.id : `subscription ${subscription.id}`,
    roles: reader.of === "owner" ? roles : reader.roles,
    tenant: tenantOf(change) ?? subscription.tenant
  }
}

const noRecord = new Error("There is no record.")

/** What a function in a read rule throws for this caller. A rule that asks for a record only denies, because reads have none. */
const thrownBy = (
  run: (context: { readonly caller: Caller; readonly record: never }) => unknown,
  caller: Caller
): unknown => {
  let asked = false
  const context = {
    caller,
    get record(): never {
      asked = true
      throw noRecord
    }
  }
  try {
    run(context)
    return null
  } catch (error) {
    return asked ? null : error ?? new Error("nothing")
  }
}

const failingRule = (
  rules: CompiledRules,
  caller: Caller
): { readonly rule: string; readonly error: unknown } | null => {
  if (rules.read?.of === "function") {
    const error = thrownBy(rules.read.run, caller)
    if (error !== null) return { rule: "access.read", error }
  }
  for (const [field, { read }] of rules.fields) {
    if (read?.of !== "function") continue
    const error = thrownBy(read.run, caller)
    if (error !== null) return { rule: `access.fields.${field}.read`, error }
  }
  return null
}

/** How the access of a reader is resolved. */
export interface ReaderAccess {
  readonly resolve: (caller: Caller, resource: string) => Access | null
  readonly rules: RulesByResource
}

/** The reader of an event, and the access that decides about its fields. */
export interface EventReader {
  readonly caller: Caller | null
  readonly access: Access | null
}

const service: Caller = { id: "", roles: [], tenant: null }

/** Whether a row passes; null where the condition throws, or asks for related records. */
const passes = (tree: FilterTree, row: Row, bindings: Bindings): boolean | null => {
  try {
    return evaluateKnown(tree, cellsOf(row), bindings)
  } catch {
    return null
  }
}

const seesRow = ({ access }: EventReader, row: Row, bindings: Bindings): boolean =>
  access === null || evaluateKnown(access.rows, cellsOf(row), bindings) === true

/** The reader of an event that a subscription takes. Null: whatever its reader may do, it does not get the event. */
const asked = (
  subscription: Subscription,
  { change, event }: Happened,
  roles: readonly string[],
  now: bigint
): { readonly caller: Caller | null; readonly bindings: Bindings } | null => {
  const { model } = change
  if (!takes(subscription, model.name, event)) return null
  if (subscription.tenant !== null && model.tenant !== null && tenantOf(change) !== subscription.tenant) return null
  const caller = readerOf(subscription, change, roles)
  const bindings: Bindings = { caller: caller ?? service, now, params: [] }
  const when = subscription.when.get(model.name)
  // The condition is checked first, because it is cheaper than the reader's access and excludes most subscriptions.
  return when !== undefined && passes(when, judgedRow(change), bindings) === false ? null : { caller, bindings }
}

/** Whether a subscription may get an event, as far as that can be said without the roles of its reader. */
export const concerns = (subscription: Subscription, happened: Happened, now: bigint): boolean =>
  asked(subscription, happened, [], now) !== null

/**
 * Whether a subscription gets an event, and with which access. Null: it does not. Fails when an access rule or a condition throws.
 */
export const sightOf = (
  subscription: Subscription,
  happened: Happened,
  roles: readonly string[],
  readers: ReaderAccess,
  now: bigint
): Result.Result<EventReader | null, EventFailure> => {
  const { change } = happened
  const { model } = change
  const reading = asked(subscription, happened, roles, now)
  if (reading === null) return Result.succeed(null)
  const { bindings, caller } = reading
  const row = judgedRow(change)
  const when = subscription.when.get(model.name)
  let access: Access | null = null
  if (caller !== null) {
    const rules = readers.rules.get(model.name)
    const failing = rules === undefined ? null : failingRule(rules, caller)
    if (failing !== null) {
      return Result.fail({
        place: `Subscription ${subscription.name}: ${model.name}.${failing.rule}`,
        error: failing.error
      })
    }
    access = readers.resolve(caller, model.name)
    if (access === null || access.decisions.read.of === "deny") return Result.succeed(null)
  }
  const sight = { caller, access }
  try {
    // The condition of a user may use only fields that its owner may read.
    if (when !== undefined && access !== null && subscription.reader.of === "owner") {
      for (const field of fieldsOf(when)) if (!access.restricted.byName.has(field.name)) return Result.succeed(null)
    }
    const told = seesRow(sight, row, bindings) &&
      (when === undefined || evaluateKnown(when, cellsOf(row), bindings) === true)
    return Result.succeed(told ? sight : null)
  } catch (error) {
    return Result.fail({ place: `Subscription ${subscription.name}: when`, error })
  }
}

/** The event as a subscription gets it, as JSON. */
export const eventJson = (
  subscription: Subscription,
  { change, event }: Happened,
  sight: EventReader,
  id: string,
  test: boolean,
  now: bigint
): string => {
  const { after, before, model, operation, stored } = change
  const { access, caller } = sight
  const bindings: Bindings = { caller: caller ?? service, now, params: [] }
  const readable = access?.restricted.fields ?? model.fields
  const seen = (row: Row | null): Row | null => row !== null && seesRow(sight, row, bindings) ? row : null
  return envelopeJson({
    id,
    event,
    at: stored.at,
    model,
    operation,
    before: seen(before),
    // A soft delete is judged by the row before it.
    after: operation === "delete" && seen(before) !== null ? after : seen(after),
    row: judgedRow(change),
    fields: readable.filter(({ sensitive }) => !sensitive),
    changed: changedFields(model, before, after).filter((field) => readable.includes(field)).map(({ name }) => name),
    actor: stored.actor,
    sequence: stored.sequence,
    transaction: stored.transaction,
    thin: subscription.thin,
    test
  })
}
