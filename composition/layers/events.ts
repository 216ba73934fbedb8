/**
 * Events as layers: connections to receivers, the extension with subscriptions that people make, the use cases with its checks, and the dispatch. The
 * extension needs the ground, the use cases need both, and the dispatch needs the use cases. So every value exists before it is needed.
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Auth } from "../../adapters/auth/auth.ts"
import { makeOutbound } from "../../adapters/outbound/outbound.ts"
import { subscriptionsName } from "../../core/domain/declare/webhooks.ts"
import { Changes } from "../../core/ports/changes.ts"
import { Outbound } from "../../core/ports/outbound.ts"
import { Queue } from "../../core/ports/queue.ts"
import { Rates } from "../../core/ports/rates.ts"
import { Subscriptions } from "../../core/ports/subscriptions.ts"
import { Webhooks } from "../../core/ports/webhooks.ts"
import { Bell } from "../bell.ts"
import { Deployment, type DeploymentSettings } from "../deployment.ts"
import type { MailOwner } from "../disabled.ts"
import {
  allSubscriptions,
  type EventsService,
  makeEvents,
  makeExtension,
  type WebhooksExtension
} from "../event-parts.ts"
import { withChecks } from "../foundation.ts"
import { Ground, Uses } from "./core.ts"
import { JobRunner } from "./queue.ts"

/** Connections to receivers close with the scope. */
export const outbound = Layer.effect(
  Outbound,
  Effect.acquireRelease(Effect.sync(() => makeOutbound()), (opened) => Effect.sync(opened.close))
)

/** Subscriptions that people make; null: the configuration has none. */
class Extension extends Context.Service<Extension, WebhooksExtension | null>()("resource-admin/Extension") {}

/** What dispatches changes and delivers events. */
export class Events extends Context.Service<Events, EventsService>()("resource-admin/Events") {}

/** Has the owner of a disabled subscription get a mail with the address of its page. */
const mailOwnerOf = (told: DeploymentSettings): MailOwner | undefined => {
  const { accounts, compiled, tenantAuths } = told
  if (tenantAuths !== undefined) {
    const own = new Map([...tenantAuths].map(([tenant, auth]) => [tenant, mailOwnerAt(compiled, auth)]))
    // A subscription without a tenant has no owner who could be told.
    return async (disabled) => own.get(disabled.tenant ?? "")?.(disabled)
  }
  return accounts === null ? undefined : mailOwnerAt(compiled, accounts)
}

const mailOwnerAt = ({ options, tenants }: DeploymentSettings["compiled"], auth: Auth): MailOwner | undefined => {
  const { mailer, tenant, url } = auth
  if (mailer?.mails.notices !== true) return undefined
  const path = options.admin?.path ?? null
  const cut = tenants?.by === "path" ? `${tenants.prefix}/${tenant}` : ""
  const pages = path === null
    ? null
    : `${new URL(url).origin}${cut}${path === "/" ? "" : path}/${subscriptionsName}`
  return (disabled) => mailer.webhookDisabled({ ...disabled, page: pages === null ? null : `${pages}/${disabled.id}` })
}

/** The scope closes after every owner has been told which of their subscriptions was disabled. */
const extension = Layer.effect(
  Extension,
  Effect.gen(function*() {
    const told = yield* Deployment
    const store = yield* Effect.serviceOption(Webhooks)
    const made = Option.isNone(store) ? null : makeExtension({
      compiled: told.compiled,
      ground: yield* Ground,
      store: store.value,
      outbound: yield* Outbound,
      log: told.log,
      ownerRoles: told.ownerRoles,
      mailOwner: mailOwnerOf(told)
    })
    if (made !== null) yield* Effect.addFinalizer(() => Effect.promise(made.whenIdle))
    return made
  })
)

const uses = Layer.effect(
  Uses,
  Effect.gen(function*() {
    const made = yield* Extension
    return withChecks(yield* Ground, made?.checks ?? new Map())
  })
)

const subscriptions = Layer.effect(
  Subscriptions,
  Effect.gen(function*() {
    const { compiled } = yield* Deployment
    return allSubscriptions(compiled, yield* Extension)
  })
)

const dispatch = Layer.effect(
  Events,
  Effect.gen(function*() {
    const { compiled, log } = yield* Deployment
    const { db } = yield* JobRunner
    const { enqueued } = yield* Bell
    return makeEvents({
      compiled,
      foundation: yield* Uses,
      extension: yield* Extension,
      changes: yield* Changes,
      rates: yield* Rates,
      queue: yield* Queue,
      outbound: yield* Outbound,
      subscriptions: yield* Subscriptions,
      db,
      wake: enqueued,
      log
    })
  })
)

/** The use cases with the checks of the extension, and the events of the service. */
export const events = Layer.provideMerge(dispatch, Layer.merge(uses, subscriptions)).pipe(Layer.provideMerge(extension))
