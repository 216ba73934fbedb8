/**
 * Events of a service put together: captured changes, who subscribes, where deliveries go, and the loop that keeps them moving. Nothing is connected and
 * nothing runs until it is started.
 */

import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import { makeOutbound } from "../adapters/outbound/outbound.ts"
import { makeChanges } from "../adapters/postgres/changes.ts"
import type { Postgres } from "../adapters/postgres/connection.ts"
import { makeRates } from "../adapters/postgres/rates.ts"
import { makeWebhooks } from "../adapters/postgres/webhooks.ts"
import { hmac, newWebhookSecret } from "../adapters/seal/webhook.ts"
import type { App } from "../core/app/app.ts"
import type { EventLog } from "../core/app/event/deliver.ts"
import type { Dispatching } from "../core/app/event/dispatch.ts"
import { type Dispatcher, startDispatcher } from "../core/app/event/dispatcher.ts"
import { deliveryJobs } from "../core/app/event/redeliver.ts"
import { makeWatching, type Watching } from "../core/app/event/watch.ts"
import { madeSubscriptions, subscriptionCheck, type WebhooksCore, webhookVerb } from "../core/app/event/webhooks.ts"
import type { Core, RecordCheck } from "../core/app/ground/core.ts"
import { functionsCore } from "../core/app/make-app.ts"
import type { AccessResolver } from "../core/domain/access/resolve.ts"
import { isTextList } from "../core/domain/bag.ts"
import { BoundedMap } from "../core/domain/bounded.ts"
import { type Compiled, needsQueue } from "../core/domain/compile/compile.ts"
import { subscriptionsName, type Webhooks } from "../core/domain/declare/webhooks.ts"
import { eventModels } from "../core/domain/event/delivery.ts"
import type { JobModel, OwnDatabase } from "../core/domain/job/definition.ts"
import { outageOf } from "../core/domain/outage.ts"
import type { OutboundService } from "../core/ports/outbound.ts"
import type { QueueService } from "../core/ports/queue.ts"
import { RecordsError } from "../core/ports/records.ts"
import type { RolesNow, SubscriptionsService } from "../core/ports/subscriptions.ts"
import { type MailOwner, makeTelling } from "./disabled.ts"

export interface EventsOptions {
  readonly compiled: Compiled
  readonly postgres: Postgres
  /** What the use cases of the service stand on. */
  readonly foundation: { readonly core: Core; readonly resolver: AccessResolver }
  readonly queue: QueueService
  /** What `run` of a subscription may use. */
  readonly db: OwnDatabase
  /** Has the workers of this process look for jobs of a name. */
  readonly wake: (name: string) => void
  /** Takes finished JSON lines. */
  readonly log?: ((line: string) => void) | undefined
  /** The roles that an owner of a subscription has now. */
  readonly ownerRoles?: OwnerRoles | undefined
  /** Has the owner of a subscription that the service disabled get a mail. */
  readonly mailOwner?: MailOwner | undefined
  readonly outbound?: OutboundService
}

/** Asks for the roles that a person has now in a tenant. */
export type OwnerRoles = (id: string, tenant: string | null) => Promise<RolesNow>

/** Roles as `ownerRoles` of a configuration gives them: null is for a tenant that it does not know, an empty list for somebody without access. */
export const declaredRoles = (declared: NonNullable<Webhooks["ownerRoles"]>): OwnerRoles => async (id, tenant) => {
  const roles: unknown = await declared({ id, tenant })
  if (roles === null) return "elsewhere"
  if (!isTextList(roles)) throw new TypeError("ownerRoles gave no list of roles.")
  return roles.length === 0 ? null : roles
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
  /** Checks of records that the extension `webhooks` brings, by resource. */
  readonly checks: ReadonlyMap<string, RecordCheck>
  /** Its record verbs, where it is there. */
  readonly verb?: App["verb"]
  /** `:watch` of resources. */
  readonly watching: Watching
  /** Stops dispatching and closes connections to receivers. */
  readonly close: () => Promise<void>
}

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
    unchanged: (subscription) =>
      made === undefined || subscription.kept === null ? Effect.succeed(true) : made.unchanged(subscription),
    rolesOf: (subscription) =>
      subscription.reader.of !== "owner"
        ? Effect.succeed([])
        : made === undefined
        ? Effect.succeed(null)
        : made.rolesOf(subscription),
    orphaned: (subscription) => made === undefined ? Effect.void : made.orphaned(subscription),
    ended: (subscription, result) =>
      made === undefined || own.has(subscription.id) ? Effect.void : made.ended(subscription, result)
  }
}

/** How long the roles of an owner are believed, in milliseconds. */
const rolesMs = 1_000

/**
 * Roles as the option of the extension gives them, else as the accounts do; without either, another process has to know them. A function that fails says
 * nothing about a person: it is asked again.
 */
const rolesOf = ({ ownerRoles }: Webhooks, accounts: OwnerRoles | undefined): WebhooksCore["rolesOf"] => {
  const ask = ownerRoles === null ? accounts ?? (() => Promise.resolve("elsewhere")) : declaredRoles(ownerRoles)
  const known = new BoundedMap<string, { readonly roles: RolesNow; readonly until: number }>(1_000)
  return (id, tenant) =>
    Effect.suspend(() => {
      const key = JSON.stringify([id, tenant])
      const found = known.get(key)
      if (found !== undefined && performance.now() < found.until) return Effect.succeed(found.roles)
      return Effect.map(
        Effect.tryPromise({
          try: () => ask(id, tenant),
          catch: (cause) => new RecordsError({ reason: { _tag: outageOf(cause) ?? "Unavailable" }, cause })
        }),
        (roles) => {
          known.set(key, { roles, until: performance.now() + rolesMs })
          return roles
        }
      )
    })
}

/** Makes the events of a service. */
export const makeEvents = (options: EventsOptions): Events => {
  const { compiled, foundation: { core, resolver }, log = () => {}, postgres, queue } = options
  const models = eventModels(compiled.models, compiled.events)
  const outbound = options.outbound ?? makeOutbound()
  const write: EventLog = (level, event, fields) =>
    log(JSON.stringify({ level, time: new Date().toISOString(), event, ...fields }))
  const settings = compiled.webhooks
  const telling = settings === null ? null : makeTelling(settings, options.mailOwner, write)
  const webhooks: WebhooksCore | null = settings === null || telling === null ? null : {
    core,
    resolver,
    models,
    settings,
    kept: makeWebhooks(postgres, settings),
    outbound,
    rolesOf: rolesOf(settings, options.ownerRoles),
    newSecret: newWebhookSecret,
    tell: telling.tell,
    log: write
  }
  const dispatching: Dispatching = {
    changes: makeChanges(
      postgres,
      compiled.models,
      settings === null || settings.keepEventsMs === null
        ? null
        : { schema: settings.schema, keptMs: settings.keepEventsMs }
    ),
    rates: makeRates(postgres),
    queue,
    models,
    outbound,
    subscriptions: allSubscriptions(compiled, webhooks === null ? undefined : madeSubscriptions(webhooks)),
    functions: functionsCore(core, resolver, compiled.functions),
    readers: { resolve: resolver.resolve, rules: compiled.rules },
    seal: core.seal,
    hmac,
    db: options.db,
    log: write,
    wake: options.wake,
    random: Math.random
  }
  const watching = makeWatching(dispatching.changes)
  let dispatcher: Dispatcher | null = null
  return {
    jobs: needsQueue(compiled) ? deliveryJobs(dispatching) : new Map(),
    changed: () => dispatcher?.wake(),
    start: () => dispatcher ??= startDispatcher(dispatching, randomUUID()),
    dispatching,
    checks: webhooks === null ? new Map() : new Map([[subscriptionsName, subscriptionCheck(webhooks)]]),
    ...(webhooks === null ? {} : { verb: webhookVerb(webhooks, () => dispatching) }),
    watching,
    close: async () => {
      watching.close()
      await dispatcher?.stop()
      await telling?.settled()
      if ("close" in outbound && typeof outbound.close === "function") (outbound.close as () => void)()
    }
  }
}
