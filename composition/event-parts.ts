/**
 * Events of a service put together: captured changes, who subscribes, where deliveries go, and the loop that keeps them moving. The extension comes first,
 * as writes ask its checks, and what dispatches stands on the writes.
 */

import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import { hmac, newWebhookSecret } from "../adapters/seal/webhook.ts"
import type { App } from "../core/app/app.ts"
import type { EventLog } from "../core/app/event/delivery-attempt.ts"
import { deliveryJobs } from "../core/app/event/delivery-jobs.ts"
import { type DispatchLoop, startDispatchLoop } from "../core/app/event/dispatch-loop.ts"
import type { Dispatching } from "../core/app/event/dispatch.ts"
import { makeWatching, type Watching } from "../core/app/event/watch.ts"
import { madeSubscriptions, subscriptionCheck, type WebhooksCore, webhookVerb } from "../core/app/event/webhooks.ts"
import type { RecordCheck } from "../core/app/ground/core.ts"
import { functionsCore } from "../core/app/make-app.ts"
import { isTextList } from "../core/domain/bag.ts"
import { BoundedMap } from "../core/domain/bounded.ts"
import { type Compiled, needsQueue } from "../core/domain/compile/compile.ts"
import { subscriptionsName, type Webhooks } from "../core/domain/declare/webhooks.ts"
import { eventModels } from "../core/domain/event/receivers.ts"
import type { JobModel, OwnDatabase } from "../core/domain/job/definition.ts"
import { outageOf } from "../core/domain/outage.ts"
import type { ChangesService } from "../core/ports/changes.ts"
import type { OutboundService } from "../core/ports/outbound.ts"
import type { QueueService } from "../core/ports/queue.ts"
import type { RatesService } from "../core/ports/rates.ts"
import { RecordsError } from "../core/ports/records.ts"
import type { RolesNow, SubscriptionsService } from "../core/ports/subscriptions.ts"
import type { WebhooksService } from "../core/ports/webhooks.ts"
import { type MailOwner, makeTelling } from "./disabled.ts"
import type { Foundation } from "./foundation.ts"
import { eventLine } from "./log.ts"

/** What the extension `webhooks` is made of, where the configuration has it. */
export interface ExtensionParts {
  readonly compiled: Compiled
  /** The foundation of the use cases, without the checks that the extension brings. */
  readonly ground: Foundation
  readonly store: WebhooksService
  readonly outbound: OutboundService
  /** Takes finished JSON lines. */
  readonly log?: ((line: string) => void) | undefined
  /** The roles that an owner of a subscription has now. */
  readonly ownerRoles?: OwnerRoles | undefined
  /** Has the owner of a subscription that the service disabled get a mail. */
  readonly mailOwner?: MailOwner | undefined
  /** How long the roles of an owner are believed, in milliseconds. Default: a second. */
  readonly rolesMs?: number | undefined
}

/** What events are made of. */
export interface EventsParts {
  readonly compiled: Compiled
  /** The foundation of the use cases. */
  readonly foundation: Foundation
  /** Null: people make no subscriptions. */
  readonly extension: WebhooksExtension | null
  readonly changes: ChangesService
  readonly rates: RatesService
  readonly queue: QueueService
  readonly outbound: OutboundService
  readonly subscriptions: SubscriptionsService
  /** What `run` of a subscription may use. */
  readonly db: OwnDatabase
  /** Has the workers of this process look for jobs of a name. */
  readonly wake: (name: string) => void
  /** Takes finished JSON lines. */
  readonly log?: ((line: string) => void) | undefined
}

/** Asks for the roles that a person has now in a tenant. */
export type OwnerRoles = (id: string, tenant: string | null) => Promise<RolesNow>

/** Roles as `ownerRoles` of a configuration gives them: null is for a tenant that it does not know, an empty list for somebody without access. */
const declaredRoles = (declared: NonNullable<Webhooks["ownerRoles"]>): OwnerRoles => async (id, tenant) => {
  const roles: unknown = await declared({ id, tenant })
  if (roles === null) return "elsewhere"
  if (!isTextList(roles)) throw new TypeError("ownerRoles gave no list of roles.")
  return roles.length === 0 ? null : roles
}

/** Subscriptions that people make. */
export interface WebhooksExtension {
  readonly core: WebhooksCore
  /** Checks of records that it brings, by resource. */
  readonly checks: ReadonlyMap<string, RecordCheck>
  /** Waits until every owner has been told. */
  readonly whenIdle: () => Promise<void>
}

/** The events of one service. */
export interface EventsService {
  /** The jobs that deliveries become: they run with those of the configuration. */
  readonly jobs: ReadonlyMap<string, JobModel>
  /** Dispatches in this process from now on. */
  readonly start: () => DispatchLoop
  readonly dispatching: Dispatching
  /** The record verbs of the extension, where it is there. */
  readonly verb?: App["verb"]
  /** `:watch` of resources. */
  readonly watching: Watching
}

/** Subscriptions of the configuration, and those that people made. */
export const allSubscriptions = (
  { subscriptions }: Pick<Compiled, "subscriptions">,
  extension: WebhooksExtension | null
): SubscriptionsService => {
  const made = extension === null ? undefined : madeSubscriptions(extension.core)
  const own = new Map(subscriptions.map((each) => [each.id, each]))
  return {
    all: made === undefined
      ? Effect.succeed(subscriptions)
      : Effect.map(made.all, (more) => [...subscriptions, ...more]),
    find: (id) => {
      const subscription = own.get(id)
      return subscription !== undefined || made === undefined ? Effect.succeed(subscription ?? null) : made.find(id)
    },
    unchanged: (subscription) =>
      made === undefined || subscription.state === null ? Effect.succeed(true) : made.unchanged(subscription),
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

const usualRolesMs = 1_000

/**
 * Roles as the configuration gives them, else as the accounts do; without either, another process has to know them. A function that fails says nothing about
 * a person: it is asked again.
 */
export const rolesNow = (
  declared: Webhooks["ownerRoles"],
  accounts: OwnerRoles | undefined
): WebhooksCore["rolesOf"] => {
  const ask = declared === null ? accounts ?? (() => Promise.resolve("elsewhere")) : declaredRoles(declared)
  return (id, tenant) =>
    Effect.tryPromise({
      try: () => ask(id, tenant),
      catch: (cause) => new RecordsError({ reason: { _tag: outageOf(cause) ?? "Unavailable" }, cause })
    })
}

/** The same, kept for a moment. */
const keptRoles = (
  { ownerRoles }: Webhooks,
  accounts: OwnerRoles | undefined,
  rolesMs: number
): WebhooksCore["rolesOf"] => {
  const ask = rolesNow(ownerRoles, accounts)
  const cache = new BoundedMap<string, { readonly roles: RolesNow; readonly until: number }>(1_000)
  return (id, tenant) =>
    Effect.suspend(() => {
      const key = JSON.stringify([id, tenant])
      const entry = cache.get(key)
      if (entry !== undefined && performance.now() < entry.until) return Effect.succeed(entry.roles)
      return Effect.map(ask(id, tenant), (roles) => {
        cache.set(key, { roles, until: performance.now() + rolesMs })
        return roles
      })
    })
}

const eventLog = (log: (line: string) => void): EventLog => (level, event, fields) =>
  log(eventLine(level, event, fields))

/** Makes the extension; null: the configuration does not have it. */
export const makeExtension = (parts: ExtensionParts): WebhooksExtension | null => {
  const { compiled, ground, store, log = () => {}, mailOwner, outbound, ownerRoles, rolesMs = usualRolesMs } = parts
  const settings = compiled.webhooks
  if (settings === null) return null
  const write = eventLog(log)
  const telling = makeTelling(settings, mailOwner, write)
  const core: WebhooksCore = {
    ...ground,
    models: eventModels(compiled.models, compiled.events),
    settings,
    store,
    outbound,
    rolesOf: keptRoles(settings, ownerRoles, rolesMs),
    newSecret: newWebhookSecret,
    tell: telling.tell,
    log: write
  }
  return { core, checks: new Map([[subscriptionsName, subscriptionCheck(core)]]), whenIdle: telling.whenIdle }
}

/** Makes the events of a service. Nothing runs until it is started. */
export const makeEvents = (parts: EventsParts): EventsService => {
  const { changes, compiled, db, extension, foundation: { core, resolver }, log = () => {}, queue } = parts
  const dispatching: Dispatching = {
    changes,
    rates: parts.rates,
    queue,
    models: eventModels(compiled.models, compiled.events),
    outbound: parts.outbound,
    subscriptions: parts.subscriptions,
    functions: functionsCore(core, resolver, compiled.functions),
    readers: { resolve: resolver.resolve, rules: compiled.rules },
    seal: core.seal,
    hmac,
    db,
    log: eventLog(log),
    wake: parts.wake,
    random: Math.random
  }
  return {
    jobs: needsQueue(compiled) ? deliveryJobs(dispatching) : new Map(),
    start: () => startDispatchLoop(dispatching, randomUUID()),
    dispatching,
    ...(extension === null ? {} : { verb: webhookVerb(extension.core, () => dispatching) }),
    watching: makeWatching(changes, core)
  }
}
