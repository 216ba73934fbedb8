/** The port to subscriptions in memory: the same contract, in one process. */

import * as Effect from "effect/Effect"
import { sharedRoles } from "../../core/domain/access/caller.ts"
import type { Subscription } from "../../core/domain/event/subscription.ts"
import type { SubscriptionsService } from "../../core/ports/subscriptions.ts"

interface Made {
  subscription: Subscription
  reason: string | null
  failingSince: number | null
}

export interface FakeSubscriptions extends SubscriptionsService {
  /** Has its owner make a subscription. */
  readonly make: (subscription: Subscription) => void
  readonly setRoles: (person: string, roles: readonly string[]) => void
  readonly stateOf: (id: string) => { readonly enabled: boolean; readonly reason: string | null }
  readonly pass: (seconds: number) => void
}

const longestFailing = 3 * 86_400

/** `configured`: those of the configuration, which nothing disables. */
export const makeFakeSubscriptions = (configured: readonly Subscription[]): FakeSubscriptions => {
  const made = new Map<string, Made>()
  const people = new Map<string, readonly string[]>()
  let clock = 0
  const disable = (each: Made, reason: string): void => {
    if (!each.subscription.enabled) return
    each.subscription = { ...each.subscription, enabled: false }
    each.reason = reason
  }
  return {
    make: (subscription) => void made.set(subscription.id, { subscription, reason: null, failingSince: null }),
    setRoles: (person, roles) => void people.set(person, roles),
    stateOf: (id) => {
      const { reason, subscription } = made.get(id)!
      return { enabled: subscription.enabled, reason }
    },
    pass: (seconds) => void (clock += seconds),
    all: Effect.sync(() => [...configured, ...[...made.values()].map(({ subscription }) => subscription)]),
    find: (id) => Effect.sync(() => configured.find((each) => each.id === id) ?? made.get(id)?.subscription ?? null),
    unchanged: (subscription) =>
      Effect.sync(() => subscription.state === null || made.get(subscription.id)?.subscription === subscription),
    rolesOf: ({ id, reader }) =>
      Effect.sync(() => {
        if (reader.of !== "owner") return []
        const now = people.get(reader.id) ?? []
        if (now.length === 0) return null
        const each = made.get(id)
        const kept = reader.roles ?? now
        if (each !== undefined) each.subscription = { ...each.subscription, reader: { ...reader, roles: kept } }
        const shared = sharedRoles(kept, now)
        return shared.length === 0 ? null : shared
      }),
    orphaned: ({ id }) =>
      Effect.sync(() => {
        const each = made.get(id)
        if (each !== undefined) disable(each, "The owner of the subscription no longer has access.")
      }),
    ended: ({ id }, { error, gone, outcome, test }) =>
      Effect.sync(() => {
        const each = made.get(id)
        if (each === undefined || test) return
        if (gone) return disable(each, error ?? "The receiver answered 410 Gone.")
        if (outcome === "delivered") each.failingSince = null
        if (outcome !== "failed") return
        each.failingSince ??= clock
        if (each.failingSince <= clock - longestFailing) disable(each, "No delivery has succeeded for three days.")
      })
  }
}
