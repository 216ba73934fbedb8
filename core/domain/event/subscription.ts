/**
 * Subscriptions: who gets which events, and how (docs/reference/events.md#subscriptions). These are the declared form and the compiled form. Nothing here checks
 * a declaration or sends anything.
 */

import type { Where } from "../access/rules.ts"
import type { FilterTree } from "../filter/tree.ts"
import type { OwnDatabase } from "../job/definition.ts"
import type { Duration } from "../value/duration.ts"
import type { EventEnvelope } from "./envelope.ts"

/** The highest limit of a subscription. */
export const mostPerMinute = 60_000

/** What `run` gets besides the event. */
export interface RunContext {
  readonly db: OwnDatabase
  /** From 1. */
  readonly attempt: number
  /** Aborts when the try takes too long, and when the process stops. */
  readonly signal: AbortSignal
}

interface Common {
  /** `<resource>.<event>`, every event of a resource (`<resource>.*`), or all (`*`). */
  readonly events: readonly string[]
  /** A filter on the record after the change, or before it for a delete. Either a text or where`…`. It must be valid for every resource covered. */
  readonly when?: string | Where
  /** Delivers what these roles may read. Without it: every record, and every field but the sensitive ones. */
  readonly as?: { readonly roles: readonly string[] }
  /** Only events of records of this tenant. */
  readonly tenant?: string | number
  /** `thin` leaves out `after` and `before`. */
  readonly payload?: "full" | "thin"
  /** One delivery at a time for each record, in the order of its changes. */
  readonly ordered?: boolean
  /** False keeps the subscription and delivers nothing. */
  readonly enabled?: boolean
  /** Deliveries that begin in a minute at most, over all processes; 1 to 60,000. They are spread evenly, and further ones wait. Default: no limit. */
  readonly maxPerMinute?: number
  /** The waits after the first, second, … failed try, in place of the usual ones: 1 to 20, each from a second to a day. */
  readonly retrySteps?: readonly Duration[]
}

interface Sent {
  /** `whsec_` followed by base64: signs requests. See `newWebhookSecret`. */
  readonly secret?: string
  /** Further headers of requests. `content-type` and names with the prefix `webhook-` are refused. */
  readonly headers?: { readonly [name: string]: string }
  /** What is sent instead of the event, as JSON. */
  readonly body?: (event: EventEnvelope) => unknown
}

/** What `subscription(name, options)` takes: one of `url`, `function` and `run`. */
export type SubscriptionDeclaration =
  & Common
  & (
    | (Sent & { readonly url: string; readonly function?: never; readonly run?: never })
    | (Sent & { readonly function: string; readonly url?: never; readonly run?: never })
    | {
      readonly run: (event: EventEnvelope, context: RunContext) => void | Promise<void>
      readonly url?: never
      readonly function?: never
    }
  )

/** A subscription as declared, for `subscriptions` of the configuration. */
export interface DeclaredSubscription {
  readonly _tag: "Subscription"
  readonly name: string
  readonly options: unknown
}

/**
 * Declares a subscription. Its name is unique in the configuration: letters, digits, `_` and `-`.
 *
 * @example
 * subscription("warehouse", { events: ["orders.created"], url: process.env.WAREHOUSE_URL ?? "", secret: process.env.WAREHOUSE_SECRET })
 */
export const subscription = (name: string, options: SubscriptionDeclaration): DeclaredSubscription => ({
  _tag: "Subscription",
  name,
  options
})

/** Where deliveries go. */
export type Target =
  /** `anyAddress`: the operator wrote the URL, so it may lead to any host. */
  | { readonly of: "url"; readonly url: string; readonly anyAddress: boolean }
  | { readonly of: "function"; readonly name: string }
  | { readonly of: "run"; readonly run: (event: EventEnvelope, context: RunContext) => void | Promise<void> }

/** Who a subscription reads as. `owner`: this person, with these roles and never more than they have now. Null: the roles are not known yet. */
export type SubscriptionReader =
  | { readonly of: "service" }
  | { readonly of: "roles"; readonly roles: readonly string[] }
  | { readonly of: "owner"; readonly id: string; readonly roles: readonly string[] | null }

/** A checked subscription. */
export interface Subscription {
  /** For a configured subscription its name. For one that a user made, its key with a prefix that no name has. */
  readonly id: string
  /** For people and logs. */
  readonly name: string
  /** By resource, the events it takes; null: all that the resource declares. */
  readonly events: ReadonlyMap<string, ReadonlySet<string> | null>
  /** By resource; a resource without an entry has no condition. */
  readonly when: ReadonlyMap<string, FilterTree>
  readonly reader: SubscriptionReader
  /** As text; null: every tenant. */
  readonly tenant: string | null
  readonly thin: boolean
  readonly ordered: boolean
  readonly enabled: boolean
  readonly target: Target
  /** Keys that sign, the newest first. */
  readonly keys: readonly Uint8Array[]
  readonly headers: { readonly [name: string]: string }
  readonly body: ((event: EventEnvelope) => unknown) | null
  /** Null: no limit. */
  readonly perMinute: number | null
  /** Its own schedule of retries, in seconds; null: the usual one. */
  readonly waits: readonly number[] | null
  /** The stored subscription; null for a declared one, which does not change. */
  readonly state: {
    /** Another one with every change. */
    readonly stamp: string
    /** Whether no delivery has succeeded since one failed. */
    readonly failing: boolean
  } | null
}

/** Milliseconds from one delivery of a subscription to the next, where it has a limit. */
export const spacingMs = (perMinute: number): number => 60_000 / perMinute

/** Whether a subscription takes an event. */
export const takes = ({ events }: Subscription, resource: string, event: string): boolean => {
  const taken = events.get(resource)
  return taken !== undefined && (taken === null || taken.has(event))
}
