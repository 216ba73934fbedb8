/**
 * The port to data of the extension `webhooks` besides the visible records: sealed secrets, the time since when a subscription fails, and attempts.
 * Ids are keys of `webhook_subscriptions` as texts.
 *
 * Contract (test/contracts/webhooks.ts): of all who make a first secret, one does. A secret counts for 24 hours after a rotation. Each change of `enabled`
 * is a new version of the record, and one that changes nothing is none. Every change of a subscription gives it and all of them another stamp, and so does the end
 * of a previous secret. Of all who disable a subscription at once, one is told that it did.
 */

import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { TryResult } from "../domain/event/try.ts"
import type { RecordsError } from "./records.ts"

/** A subscription as it is kept. */
export interface KeptSubscription {
  readonly id: string
  readonly name: string
  /** Names of events, separated by spaces. */
  readonly events: string
  readonly url: string
  readonly filter: string | null
  /** JSON text. */
  readonly headers: string | null
  readonly payload: "full" | "thin"
  readonly ordered: boolean
  readonly enabled: boolean
  readonly tenant: string | null
  readonly owner: string
  /** Of the credential that made it or last said what it sends; null: not known, because it was made before they were kept. */
  readonly roles: readonly string[] | null
  /** Null: no limit. */
  readonly perMinute: number | null
  /** JSON text of a list of seconds; null: the usual ones. */
  readonly waits: string | null
  /** Sealed; null until one was made. */
  readonly secret: string | null
  /** Sealed, for 24 hours after a rotation. */
  readonly previous: string | null
  /** Whether no delivery has succeeded since one failed. */
  readonly failing: boolean
  readonly stamp: string
}

/** What an attempt sent. */
export interface KeptRequest {
  /** At most the first 8,192 characters. */
  readonly body: string
  readonly whole: boolean
  /** The roles that the subscription acted with, or null where they are not known. */
  readonly roles: readonly string[] | null
}

/** A subscription that this call has disabled. */
export type DisabledNow = Pick<KeptSubscription, "id" | "name" | "owner" | "tenant">

export interface WebhooksService {
  readonly all: Effect.Effect<readonly KeptSubscription[], RecordsError>
  /** Of all subscriptions together. It costs much less than `all`. */
  readonly stamp: Effect.Effect<string, RecordsError>
  /** Of the subscriptions that still exist. */
  readonly stamps: (ids: readonly string[]) => Effect.Effect<ReadonlyMap<string, string>, RecordsError>
  readonly find: (id: string) => Effect.Effect<KeptSubscription | null, RecordsError>
  /** Stores a first secret unless there is one already. Gives the stored one. */
  readonly firstSecret: (id: string, sealed: string) => Effect.Effect<string | null, RecordsError>
  /** Stores the roles of a subscription that has none yet. Gives the stored ones; null: there is no such subscription. */
  readonly firstRoles: (id: string, roles: readonly string[]) => Effect.Effect<readonly string[] | null, RecordsError>
  /** Puts a new secret in the place of the old one, which counts for 24 hours. */
  readonly rotate: (id: string, sealed: string) => Effect.Effect<void, RecordsError>
  /** Null: it was disabled before, or is not there. */
  readonly disable: (id: string, reason: string | null) => Effect.Effect<DisabledNow | null, RecordsError>
  readonly enable: (id: string) => Effect.Effect<void, RecordsError>
  readonly succeeded: (id: string) => Effect.Effect<void, RecordsError>
  /** Notes a failure; disables a subscription that has not succeeded for three days. Null: this failure did not. */
  readonly failed: (id: string) => Effect.Effect<DisabledNow | null, RecordsError>
  /** Retries the failed deliveries of a subscription, of events in a time range if one is given, or one delivery. Tells how many. */
  readonly resend: (
    chosen:
      | { readonly subscription: string; readonly range?: { readonly since: string; readonly until: string } }
      | { readonly delivery: string }
  ) => Effect.Effect<number, RecordsError>
  /** Whether a job that sends events of a time range again waits or runs. */
  readonly replaying: (id: string) => Effect.Effect<boolean, RecordsError>
  /** Stores an attempt. Old ones are removed. */
  readonly log: (id: string, result: TryResult) => Effect.Effect<void, RecordsError>
  /** What a stored attempt sent; null: there is no such attempt, or it sent nothing to a URL. */
  readonly sent: (attempt: string) => Effect.Effect<KeptRequest | null, RecordsError>
}

/** What the extension `webhooks` keeps. */
export class Webhooks extends Context.Service<Webhooks, WebhooksService>()("resource-admin/Webhooks") {}
