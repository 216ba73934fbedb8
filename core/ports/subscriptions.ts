/**
 * The port to subscriptions, declared and made by people, in their present state over all processes. Only the roles of an owner may be up to a second
 * old.
 *
 * Contract (test/contracts/subscriptions.ts): `all` has each subscription once, disabled ones too, with every change that was committed before the
 * call. `unchanged` is false for a subscription that was changed or deleted before the call. `rolesOf` gives the roles that a subscription acts with
 * now: its stored roles, as far as its owner still has them in its tenant. Null: its owner may not act any more, because they are banned, deleted, or
 * without any of these roles.
 */

import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Subscription } from "../domain/event/subscription.ts"
import type { TryResult } from "../domain/event/try.ts"
import type { RecordsError } from "./records.ts"

/** Roles that somebody has now. Null: none, they may not act any more. `"elsewhere"`: this process does not know their tenant, and another one may. */
export type RolesNow = readonly string[] | null | "elsewhere"

export interface SubscriptionsService {
  readonly all: Effect.Effect<readonly Subscription[], RecordsError>
  /** By id, as it is now; null: there is none any more. */
  readonly find: (id: string) => Effect.Effect<Subscription | null, RecordsError>
  /** Whether it is still as it was read. Those who ask at the same time share a statement. */
  readonly unchanged: (subscription: Subscription) => Effect.Effect<boolean, RecordsError>
  readonly rolesOf: (subscription: Subscription) => Effect.Effect<RolesNow, RecordsError>
  /** The owner may not act any more: the subscription is disabled for that reason. */
  readonly orphaned: (subscription: Subscription) => Effect.Effect<void, RecordsError>
  readonly ended: (subscription: Subscription, result: TryResult) => Effect.Effect<void, RecordsError>
}

/** Who is told of events. */
export class Subscriptions
  extends Context.Service<Subscriptions, SubscriptionsService>()("resource-admin/Subscriptions")
{}
