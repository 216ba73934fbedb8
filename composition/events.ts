/**
 * Events of a service put together: captured changes, who subscribes, where deliveries go, and the loop that keeps them moving. Nothing is connected and
 * nothing runs until it is started.
 */

import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import { makeOutbound } from "../adapters/outbound/outbound.ts"
import { makeChanges } from "../adapters/postgres/changes.ts"
import type { Postgres } from "../adapters/postgres/connection.ts"
import { hmac } from "../adapters/seal/webhook.ts"
import type { EventLog } from "../core/app/deliver.ts"
import type { Dispatching } from "../core/app/dispatch.ts"
import { type Dispatcher, startDispatcher } from "../core/app/dispatcher.ts"
import { functionsCore } from "../core/app/make-app.ts"
import { deliveryJobs } from "../core/app/redeliver.ts"
import type { Compiled } from "../core/domain/compile/compile.ts"
import { eventModels } from "../core/domain/event/delivery.ts"
import type { JobModel, OwnDatabase } from "../core/domain/job/definition.ts"
import type { OutboundService } from "../core/ports/outbound.ts"
import type { QueueService } from "../core/ports/queue.ts"
import type { SubscriptionsService } from "../core/ports/subscriptions.ts"
import type { Foundation } from "./create-admin.ts"

export interface EventsOptions {
  readonly compiled: Compiled
  readonly postgres: Postgres
  readonly foundation: Foundation
  readonly queue: QueueService
  /** What `run` of a subscription may use. */
  readonly db: OwnDatabase
  /** Has the workers of this process look for jobs of a name. */
  readonly wake: (name: string) => void
  /** Takes finished JSON lines. */
  readonly log?: ((line: string) => void) | undefined
  /** Subscriptions beside those of the configuration. */
  readonly made?: SubscriptionsService
  readonly outbound?: OutboundService
}

/** The events of one service. */
export interface Events {
  /** The jobs that deliveries become: they run with those of the configuration. */
  readonly jobs: ReadonlyMap<string, JobModel>
  /** Changes were committed here. */
  readonly changed: () => void
  /** Dispatches in this process from now on. */
  readonly start: () => Dispatcher
  readonly dispatching: Dispatching
  /** Stops dispatching and closes connections to receivers. */
  readonly close: () => Promise<void>
}

/** Whether a service has events at all. */
export const hasEvents = ({ models }: Pick<Compiled, "models">): boolean =>
  [...models.values()].some(({ events }) => events.length > 0)

/** Subscriptions of the configuration, and those that people made. */
const allSubscriptions = (
  { subscriptions }: Pick<Compiled, "subscriptions">,
  made: SubscriptionsService | undefined
): SubscriptionsService => {
  const own = new Map(subscriptions.map((each) => [each.id, each]))
  return {
    all: made === undefined
      ? Effect.succeed(subscriptions)
      : Effect.map(made.all, (more) => [...subscriptions, ...more]),
    find: (id) => {
      const found = own.get(id)
      return found !== undefined || made === undefined ? Effect.succeed(found ?? null) : made.find(id)
    },
    rolesOf: (owner, tenant) => made === undefined ? Effect.succeed(null) : made.rolesOf(owner, tenant),
    orphaned: (subscription) => made === undefined ? Effect.void : made.orphaned(subscription),
    ended: (subscription, result) =>
      made === undefined || own.has(subscription.id) ? Effect.void : made.ended(subscription, result)
  }
}

/** Makes the events of a service. */
export const makeEvents = (options: EventsOptions): Events => {
  const { compiled, foundation: { core, resolver }, log = () => {}, postgres, queue } = options
  const outbound = options.outbound ?? makeOutbound()
  const write: EventLog = (level, event, fields) =>
    log(JSON.stringify({ level, time: new Date().toISOString(), event, ...fields }))
  const dispatching: Dispatching = {
    changes: makeChanges(postgres, compiled.models),
    queue,
    models: eventModels(compiled.models, compiled.events),
    outbound,
    subscriptions: allSubscriptions(compiled, options.made),
    functions: functionsCore(core, resolver, compiled.functions),
    readers: { resolve: resolver.resolve, rules: compiled.rules },
    seal: core.seal,
    hmac,
    db: options.db,
    log: write,
    wake: options.wake,
    random: Math.random
  }
  let dispatcher: Dispatcher | null = null
  return {
    jobs: hasEvents(compiled) ? deliveryJobs(dispatching) : new Map(),
    changed: () => dispatcher?.wake(),
    start: () => dispatcher ??= startDispatcher(dispatching, randomUUID()),
    dispatching,
    close: async () => {
      await dispatcher?.stop()
      if ("close" in outbound && typeof outbound.close === "function") (outbound.close as () => void)()
    }
  }
}
