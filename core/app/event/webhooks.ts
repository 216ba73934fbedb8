/**
 * Subscriptions that people make (extension `webhooks`): the checks of a save, the record verbs, and the form that dispatch takes, with the access
 * of the owner. Access to the records follows the same rules as for any resource.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type Caller, coversRoles, sharedRoles } from "../../domain/access/caller.ts"
import type { AccessResolver } from "../../domain/access/resolve.ts"
import type { AuditAct, AuditDetails } from "../../domain/audit/entry.ts"
import { isTextList } from "../../domain/bag.ts"
import { readEventNames, readHeaders } from "../../domain/compile/subscription.ts"
import {
  attemptsName,
  deliveriesName,
  directing,
  type DisabledReason,
  type DisabledSubscription,
  readVerbs,
  subscriptionsName,
  type Webhooks
} from "../../domain/declare/webhooks.ts"
import type { EventModels, Happened } from "../../domain/event/receivers.ts"
import { readReplay } from "../../domain/event/replay.ts"
import { isWaits, mostWaits } from "../../domain/event/retry.ts"
import { readSecret } from "../../domain/event/signature.ts"
import { mostPerMinute, type Subscription } from "../../domain/event/subscription.ts"
import { evaluateKnown } from "../../domain/filter/evaluate.ts"
import { type FilterScope, readFilter } from "../../domain/filter/read.ts"
import type { FilterTree } from "../../domain/filter/tree.ts"
import { always, both } from "../../domain/filter/tree.ts"
import { LeftToOthers } from "../../domain/job/failure.ts"
import type { Model, WireRecord } from "../../domain/model/model.ts"
import { isOwnName } from "../../domain/own-name.ts"
import { accessDenied, notFound, problem } from "../../domain/problem.ts"
import type { Problem, ProblemError } from "../../domain/problem.ts"
import { keyCondition, readKey } from "../../domain/read/key.ts"
import { wireRecord } from "../../domain/read/record.ts"
import { microsFromCell, timestampFromMicros } from "../../domain/value/instant.ts"
import type { Json, Row } from "../../domain/value/kind.ts"
import { adminRole } from "../../domain/value/role.ts"
import type { OutboundService } from "../../ports/outbound.ts"
import type { RecordsError } from "../../ports/records.ts"
import type { RolesNow, SubscriptionsService } from "../../ports/subscriptions.ts"
import type { DisabledNow, KeptSubscription, WebhooksService } from "../../ports/webhooks.ts"
import { note, type Noted, noteWithin } from "../ground/audit.ts"
import { json, readJson } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import { permitted } from "../ground/core.ts"
import type { Core, RecordCheck } from "../ground/core.ts"
import { queueProblem, recordsProblem } from "../ground/refusal.ts"
import { verdictFor } from "../write/judge.ts"
import { type EventLog, SubscriptionEnded, tryDelivery } from "./delivery-attempt.ts"
import type { Dispatching } from "./dispatch.ts"
import { replayPlan } from "./replay.ts"
import { askTogether } from "./together.ts"

/** The dependencies of the extension. */
export interface WebhooksCore {
  readonly core: Core
  readonly resolver: AccessResolver
  readonly models: EventModels
  readonly settings: Webhooks
  readonly store: WebhooksService
  readonly outbound: OutboundService
  /** The roles that a person has now in a tenant. */
  readonly rolesOf: (id: string, tenant: string | null) => Effect.Effect<RolesNow, RecordsError>
  readonly newSecret: () => string
  /** Begins to tell whom it concerns. Resolves once a delivery may go on, and never rejects. */
  readonly tell: (disabled: DisabledSubscription) => Promise<void>
  readonly log: EventLog
}

/** How such subscriptions are named in jobs; names of the configuration have no colon. */
const prefix = "made:"

/** What the secret of a subscription is sealed for. */
export const sealContext = (id: string): string => `webhook secret ${id}`

const signingKey = (core: Core, id: string, sealed: string | null): Uint8Array | null => {
  const secret = sealed === null ? null : core.seal.open(sealContext(id), sealed)
  const key = secret === null ? null : readSecret(secret)
  return key !== null && Result.isSuccess(key) ? key.success : null
}

/** The secret of a subscription, made when it is first needed. Null where it cannot be decrypted. */
const secretOf = (use: WebhooksCore, { id, secret }: KeptSubscription): Effect.Effect<string | null, RecordsError> =>
  Effect.map(
    secret === null
      ? use.store.firstSecret(id, use.core.seal.seal(sealContext(id), use.newSecret()))
      : Effect.succeed(secret),
    (sealed) => sealed === null ? null : use.core.seal.open(sealContext(id), sealed)
  )

const ignore = (): void => {}

/** Fields that a filter of people may name: the given ones, without the fields about who people are. */
const scopeOf = (fields: Model["fields"]): FilterScope => ({
  names: new Map(
    fields.flatMap((field) =>
      field.alias === null
        ? [[field.name, field] as const]
        : [[field.alias, field] as const, [field.name, field] as const]
    )
  ),
  searched: fields.filter(({ searched }) => searched),
  caller: false
})

const conditionsOf = (
  text: string | null,
  events: Subscription["events"],
  core: Core
): ReadonlyMap<string, FilterTree> | null => {
  const trees = new Map<string, FilterTree>()
  if (text === null || text.trim() === "") return trees
  for (const resource of events.keys()) {
    const tree = readFilter(text, scopeOf(core.models.get(resource)?.fields ?? []))
    // A resource may have lost a field since. Then nothing of it is sent, rather than every event.
    if (Result.isFailure(tree)) return null
    trees.set(resource, tree.success)
  }
  return trees
}

/** A schedule that somebody wrote by SQL, and that is none, is the usual one. */
const waitsOf = (text: string | null): readonly number[] | null => {
  const waits: unknown = text === null ? null : JSON.parse(text)
  return isWaits(waits) ? waits : null
}

/** A stored subscription in the form that dispatch takes. */
const subscriptionOf = (
  use: WebhooksCore,
  each: KeptSubscription
): Effect.Effect<Subscription, RecordsError> => {
  const { core } = use
  const events = readEventNames(each.events.split(/\s+/).filter((name) => name !== ""), core.models, ignore)
  const when = conditionsOf(each.filter, events, core)
  const subscription = (keys: ReadonlyArray<Uint8Array | null>): Subscription => ({
    id: prefix + each.id,
    name: `${each.name} (${each.id})`,
    events: when === null ? new Map() : events,
    when: when ?? new Map(),
    reader: { of: "owner", id: each.owner, roles: each.roles },
    tenant: each.tenant,
    thin: each.payload === "thin",
    ordered: each.ordered,
    enabled: each.enabled,
    target: { of: "url", url: each.url, anyAddress: use.settings.allowPrivateAddresses },
    keys: keys.filter((key) => key !== null),
    headers: readHeaders(each.headers === null ? undefined : JSON.parse(each.headers), ignore),
    body: null,
    perMinute: each.perMinute,
    waits: waitsOf(each.waits),
    state: { stamp: each.stamp, failing: each.failing }
  })
  const previous = signingKey(core, each.id, each.previous)
  return each.secret === null
    ? Effect.map(secretOf(use, each), (secret) => {
      const key = secret === null ? null : readSecret(secret)
      return subscription([key !== null && Result.isSuccess(key) ? key.success : null, previous])
    })
    : Effect.succeed(subscription([signingKey(core, each.id, each.secret), previous]))
}

/**
 * The roles that a subscription acts with now. A subscription without stored roles is older than the storing of roles. It gets the roles that its
 * owner has now, once, and never more from then on.
 */
const actingRoles = Effect.fnUntraced(function*(
  use: WebhooksCore,
  { id, owner, roles, tenant }: Pick<KeptSubscription, "id" | "owner" | "roles" | "tenant">
): Effect.fn.Return<RolesNow, RecordsError> {
  const now = yield* use.rolesOf(owner, tenant)
  if (now === null || now === "elsewhere") return now
  const shared = sharedRoles(roles ?? (yield* use.store.firstRoles(id, now)) ?? [], now)
  return shared.length === 0 ? null : shared
})

/** The service disables a subscription. Who does it tells of it: between the commit and that, nothing interrupts. */
const disabling = (
  use: WebhooksCore,
  disable: Effect.Effect<DisabledNow | null, RecordsError>,
  reason: DisabledReason
): Effect.Effect<boolean, RecordsError> =>
  Effect.flatMap(
    Effect.uninterruptible(Effect.map(disable, (disabled) => {
      if (disabled === null) return null
      use.log("warn", "webhook-disabled", { subscription: disabled.id, owner: disabled.owner, reason })
      return use.tell({ ...disabled, reason })
    })),
    (told) => told === null ? Effect.succeed(false) : Effect.as(Effect.promise(() => told), true)
  )

const idOf = ({ id }: Subscription): string => id.slice(prefix.length)

/** The subscriptions that people made, for dispatch and deliveries. */
export const madeSubscriptions = (use: WebhooksCore): SubscriptionsService => {
  let read: { readonly all: readonly Subscription[]; readonly stamp: string } | null = null
  /** The compiled form of each subscription, cached until it changes. Parsing filters and decrypting secrets takes long for a thousand of them. */
  let made = new Map<string, { readonly text: string; readonly subscription: Subscription }>()
  const makeAll = Effect.fnUntraced(function*(
    rows: readonly KeptSubscription[]
  ): Effect.fn.Return<readonly Subscription[], RecordsError> {
    const next: typeof made = new Map()
    for (const each of rows) {
      const text = JSON.stringify({ ...each, stamp: "", failing: false })
      const last = made.get(each.id)
      const subscription = last?.text === text
        ? { ...last.subscription, state: { stamp: each.stamp, failing: each.failing } }
        : yield* subscriptionOf(use, each)
      // A subscription without a secret gets one now, and is read again with it.
      next.set(each.id, { text: each.secret === null ? "" : text, subscription })
    }
    made = next
    return [...next.values()].map(({ subscription }) => subscription)
  })
  const all = Effect.gen(function*() {
    const stamp = yield* use.store.stamp
    if (read?.stamp === stamp) return read.all
    // What is read now is as new as the stamp, or newer. Then the next stamp is another one.
    const all = yield* makeAll(yield* use.store.all)
    read = { all, stamp }
    return all
  })
  const stampOf = askTogether(use.store.stamps)
  return {
    all,
    find: (id) =>
      !id.startsWith(prefix) || !/^\d{1,18}$/.test(id.slice(prefix.length))
        ? Effect.succeed(null)
        : Effect.flatMap(
          use.store.find(id.slice(prefix.length)),
          (row): Effect.Effect<Subscription | null, RecordsError> =>
            row === null ? Effect.succeed(null) : subscriptionOf(use, row)
        ),
    rolesOf: (subscription) => {
      const { reader, tenant } = subscription
      return reader.of === "owner"
        ? actingRoles(use, { id: idOf(subscription), owner: reader.id, roles: reader.roles, tenant })
        : Effect.succeed([])
    },
    unchanged: (subscription) =>
      Effect.map(stampOf(idOf(subscription)), (stamp) => stamp === subscription.state?.stamp),
    orphaned: (subscription) =>
      Effect.asVoid(disabling(
        use,
        use.store.disable(idOf(subscription), "The owner of the subscription no longer has access."),
        "no-access"
      )),
    ended: (subscription, result) => {
      if (result.test) return Effect.void
      const id = idOf(subscription)
      const noted = result.gone
        ? disabling(use, use.store.disable(id, result.error ?? "The receiver answered 410 Gone."), "gone")
        : result.outcome === "failed"
        ? disabling(use, use.store.failed(id), "failing")
        : result.outcome === "delivered" && subscription.state?.failing !== false
        ? use.store.succeeded(id)
        : Effect.void
      return use.settings.deliveryLog ? Effect.andThen(noted, use.store.log(id, result)) : noted
    }
  }
}

const invalid = (field: string, message: string, hint?: string): ProblemError => ({
  field,
  code: "invalid",
  message,
  ...(hint === undefined ? {} : { hint })
})

/** For admins alone: how a service is configured is nobody else's. */
const privateHint = "webhooks({ allowPrivateAddresses: true }) in the configuration allows it."

/** The models that a caller sees, with only what events need. */
const visibleModels = ({ core, resolver }: WebhooksCore, caller: Caller): ReadonlyMap<string, Model> =>
  new Map([...core.models].filter(([name]) => {
    const access = resolver.resolve(caller, name)
    return access !== null && access.decisions.read.of !== "deny"
  }))

/**
 * Whether somebody decides where the requests of a subscription go, and sees what it sends: its owner, and admins. It sends what its owner may read, so
 * anybody else who may change subscriptions could read with the owner's rights.
 */
const directs = (caller: Caller, owner: unknown): boolean => owner === caller.id || caller.roles.includes(adminRole)

/**
 * Why the owner of a subscription may not change or use it with this credential; null: they may. It acts with the roles of the credential that made it, so a
 * credential with fewer of them, such as an API key, would get what it may not read.
 */
const tooFew = (caller: Caller, owner: unknown, roles: readonly string[] | null): Problem | null => {
  if (owner !== caller.id || coversRoles(caller.roles, roles ?? [adminRole])) return null
  const missing = roles?.filter((role) => !coversRoles(caller.roles, [role])).join(", ")
  return problem(
    "access-denied",
    missing === undefined
      ? "It is not known yet which roles this subscription acts with. Enable it first."
      : `This subscription acts with roles that your credential does not have: ${missing}.`
  )
}

/**
 * Whether a save changes where the requests of a subscription go, or what they tell. By its filter alone, whoever sees which deliveries there are could ask for
 * values of records that only its owner may read.
 */
const redirects = (before: WireRecord, after: WireRecord): boolean =>
  directing.some((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))

/** Checks a subscription when it is saved: events and filter against what the caller sees, and the URL against the allowed addresses. */
export const subscriptionCheck = (use: WebhooksCore): RecordCheck => (caller, before, after, within) =>
  Effect.flatMap(
    judgeSubscription(use, caller, before, after),
    () => noteWithin(use.core, caller, savedNotes(before, after), within)
  )

/** What a save did, for the audit: of a change, the names of the fields. A save that changed none did nothing. */
const savedNotes = (before: WireRecord | null, after: WireRecord | null): readonly Noted[] => {
  const { id, name } = after ?? before ?? {}
  const subject = {
    kind: "subscription",
    id: typeof id === "string" || typeof id === "number" ? String(id) : "",
    name: typeof name === "string" ? name : null
  } as const
  if (before === null) return [{ act: "webhook.created", subject }]
  if (after === null) return [{ act: "webhook.deleted", subject }]
  const fields = Object.keys(after).filter((field) =>
    field !== "updated_at" && JSON.stringify(before[field]) !== JSON.stringify(after[field])
  )
  return fields.length === 0 ? [] : [{ act: "webhook.changed", subject, details: { fields } }]
}

const judgeSubscription = (
  use: WebhooksCore,
  caller: Caller,
  before: WireRecord | null,
  after: WireRecord | null
): Effect.Effect<void, Problem> => {
  if (after === null) return Effect.void
  if (before !== null) {
    const { owner_id: owner, roles } = before
    const refusal = tooFew(caller, owner, isTextList(roles) ? roles : null)
    if (refusal !== null) return Effect.fail(refusal)
    if (redirects(before, after) && !directs(caller, owner)) return Effect.fail(accessDenied())
  }
  const errors: ProblemError[] = []
  const models = visibleModels(use, caller)
  const { events: named, filter, headers, max_per_minute: limit, name, retry_steps: steps, url } = after
  if (typeof name !== "string" || !isOwnName(name)) {
    errors.push(
      invalid("name", "The name must be one line of at most 200 characters, without any that turn its direction.")
    )
  }
  const names = (typeof named === "string" ? named : "").split(/\s+/).filter((name) => name !== "")
  if (names.length === 0) errors.push(invalid("events", "Name at least one event."))
  const events = readEventNames(names, models, (message, fix) => errors.push(invalid("events", message, fix)))
  if (typeof filter === "string" && filter.trim() !== "") {
    for (const resource of events.keys()) {
      const fields = use.resolver.resolve(caller, resource)?.restricted.fields ?? []
      const tree = readFilter(filter, scopeOf(fields))
      if (Result.isSuccess(tree)) continue
      const [first] = tree.failure
      errors.push(
        invalid(
          "filter",
          `The filter is not valid for ${resource}: ${first?.message ?? "it is no filter"}`,
          first?.hint
        )
      )
      break
    }
  }
  if (typeof limit === "number" && (limit < 1 || limit > mostPerMinute)) {
    errors.push(invalid("max_per_minute", `The limit must be from 1 to ${mostPerMinute}.`))
  }
  if (steps !== undefined && steps !== null && !isWaits(steps)) {
    errors.push(
      invalid("retry_steps", `The waits must be a list of 1 to ${mostWaits} whole seconds, each from 1 to 86400.`)
    )
  }
  readHeaders(headers ?? undefined, (message, fix) => errors.push(invalid("headers", message, fix)))
  // A URL is parsed without its line breaks, so the shown URL and the called URL would differ.
  const judged = typeof url === "string" && /\p{Cc}/u.test(url)
    ? Effect.sync(() =>
      void errors.push(invalid("url", "The URL cannot be used: it has a line break or another control character."))
    )
    : use.settings.allowPrivateAddresses
    ? Effect.sync(() => {
      if (typeof url !== "string" || !/^https?:\/\/./i.test(url) || !URL.canParse(url)) {
        errors.push(invalid("url", "The URL cannot be used: it is not an http(s) URL."))
      }
    })
    : Effect.matchEffect(use.outbound.check(typeof url === "string" ? url : ""), {
      onFailure: ({ message, reason }) =>
        Effect.sync(() =>
          void errors.push(
            invalid("url", message, reason === "address" && caller.roles.includes(adminRole) ? privateHint : undefined)
          )
        ),
      onSuccess: () => Effect.void
    })
  return Effect.flatMap(judged, () =>
    errors.length === 0
      ? Effect.void
      : Effect.fail(problem("invalid-record", errors[0]!.message, { errors })))
}

/** The record of a verb, which the caller has to see and for which they have the permission: its key, and the id of its subscription. */
const permittedRecord = Effect.fnUntraced(function*(
  use: WebhooksCore,
  call: Call,
  resource: string,
  segment: string,
  operation: "read" | "update"
): Effect.fn.Return<{ readonly id: string; readonly subscription: string }, Problem> {
  const access = yield* Effect.fromResult(permitted(call, resource, operation))
  const key = yield* Effect.fromResult(readKey(access.model, segment))
  const { model } = access
  const now = yield* Clock.currentTimeMillis
  const bindings = { caller: call.caller, now: BigInt(now) * 1000n, params: key }
  const where = both(access.rows, keyCondition(model))
  const shape = { model, columns: model.columns, where, order: [], limit: 1, checks: [] }
  const [row] = yield* Effect.catch(use.core.records.page({ shape, bindings }), recordsProblem)
  if (row === undefined) return yield* Effect.fail(notFound())
  const cell = (field: Model["columns"][number]) => row[field.index] ?? null
  const verdict = verdictFor(access.decisions[operation], () => wireRecord(model, cell))
  const passes = verdict.of === "allow" ||
    (verdict.of === "filter" && evaluateKnown(verdict.tree, cell, bindings) === true)
  if (!passes) return yield* Effect.fail(accessDenied())
  const of = model.byName.get("subscription_id")
  return { id: key[0]!, subscription: (of === undefined ? null : cell(of)) ?? key[0]! }
})

const nothing: Reply = { status: 204, headers: {}, body: null }

/** The newest record that the owner may read, of the first resource that the subscription takes and that has one. */
const newest = Effect.fnUntraced(function*(
  use: WebhooksCore,
  subscription: Subscription,
  roles: readonly string[]
): Effect.fn.Return<Happened | null, RecordsError> {
  const now = yield* Clock.currentTimeMillis
  for (const [resource, names] of subscription.events) {
    const model = use.core.models.get(resource)
    const declared = use.models.events.get(resource)
    // In the order of the subscription, else in declared order.
    const [first] = names ?? declared?.keys() ?? []
    const event = first === undefined ? undefined : declared?.get(first)
    if (model === undefined || event === undefined || subscription.reader.of !== "owner") continue
    const caller: Caller = { id: subscription.reader.id, roles, tenant: subscription.tenant }
    const access = use.resolver.resolve(caller, resource)
    if (access === null || access.decisions.read.of === "deny") continue
    const bindings = { caller, now: BigInt(now) * 1000n, params: [] }
    const live = model.softDelete === null ? always : { op: "null", field: model.softDelete } as const
    const order = model.key.map((field) => ({ field, descending: true }))
    const shape = { model, columns: model.columns, where: both(access.rows, live), order, limit: 1, checks: [] }
    const [row] = yield* use.core.records.page({ shape, bindings })
    if (row === undefined) continue
    return madeUp(model, event.name, [...event.on][0] ?? "update", row, now)
  }
  return null
})

const madeUp = (
  model: Model,
  event: string,
  operation: Happened["change"]["operation"],
  row: Row,
  now: number
): Happened => ({
  event,
  change: {
    model,
    operation,
    before: operation === "create" || operation === "undelete" ? null : row,
    after: operation === "delete" ? null : row,
    stored: {
      sequence: "0",
      transaction: "0",
      at: timestampFromMicros(BigInt(now) * 1000n),
      relation: "",
      operation: "update",
      before: null,
      after: null,
      actor: null
    }
  }
})

/** `:replay`: failed deliveries of a time range are retried now, kept events of one are sent by a job. */
const replay = Effect.fnUntraced(function*(
  use: WebhooksCore,
  dispatching: Dispatching,
  { enabled, id }: KeptSubscription,
  body: Uint8Array
): Effect.fn.Return<{ readonly reply: Reply; readonly details: AuditDetails }, Problem> {
  const now = BigInt(yield* Clock.currentTimeMillis) * 1000n
  const { failedOnly, ...range } = yield* Effect.fromResult(
    Result.flatMap(readJson(body), (read) => readReplay(read, now))
  )
  if (failedOnly) {
    const resent = yield* Effect.catch(use.store.resend({ subscription: id, range }), recordsProblem)
    return { reply: json(200, JSON.stringify({ resent })), details: { ...range, count: resent } }
  }
  const conflict = (message: string, more: { readonly [member: string]: Json } = {}) =>
    Effect.fail(problem("conflict", message, more))
  if (use.settings.keepEventsMs === null) {
    return yield* conflict("Delivered events are not kept here. With failedOnly, failed deliveries are sent again.")
  }
  if (!enabled) return yield* conflict("The subscription is disabled.")
  const since = yield* Effect.catch(dispatching.changes.keptSince, recordsProblem)
  if (since === null) return yield* conflict("No event is kept.", { kept_since: null })
  if (microsFromCell(range.since) < microsFromCell(since)) {
    return yield* conflict(`Events are kept since ${since}.`, { kept_since: since })
  }
  if (yield* Effect.catch(use.store.replaying(id), recordsProblem)) {
    return yield* conflict("A replay of this subscription is under way.")
  }
  yield* Effect.mapError(
    dispatching.queue.enqueue([replayPlan({ subscription: prefix + id, ...range, after: null })]),
    queueProblem
  )
  return { reply: json(202, JSON.stringify({ resent: null })), details: { ...range } }
})

/** The record verbs. */
export const webhookVerb = (use: WebhooksCore, delivering: () => Dispatching) =>
  Effect.fnUntraced(function*(
    call: Call,
    resource: string,
    segment: string,
    verb: string,
    body: Uint8Array | null
  ): Effect.fn.Return<Reply, Problem> {
    const operation = readVerbs.has(verb) ? "read" : "update"
    const { id, subscription: of } = yield* permittedRecord(use, call, resource, segment, operation)
    const asked = <A>(effect: Effect.Effect<A, RecordsError>): Effect.Effect<A, Problem> =>
      Effect.catch(effect, recordsProblem)
    const row = yield* asked(use.store.find(of))
    if (row === null) return yield* Effect.fail(notFound())
    if (resource === attemptsName) {
      // It holds what the owner could read then.
      if (!directs(call.caller, row.owner)) return yield* Effect.fail(accessDenied())
      const sent = yield* asked(use.store.sent(id))
      if (sent === null) return yield* Effect.fail(problem("conflict", "The payload of this try is not kept."))
      const refusal = tooFew(call.caller, row.owner, sent.roles)
      return refusal === null
        ? json(200, JSON.stringify({ body: sent.body, whole: sent.whole }))
        : yield* Effect.fail(refusal)
    }
    const now = yield* asked(actingRoles(use, row))
    const roles = now === "elsewhere" ? null : now
    const refusal = tooFew(call.caller, row.owner, roles ?? row.roles)
    if (refusal !== null) return yield* Effect.fail(refusal)
    if (resource === deliveriesName) {
      const count = yield* asked(use.store.resend({ delivery: id }))
      if (count === 0) return yield* Effect.fail(problem("conflict", "Only a failed delivery can be sent again."))
      const subject = { kind: "delivery", id, name: row.name } as const
      yield* note(use.core, call.caller, [{ act: "webhook.resent", subject, details: { subscription: row.id } }])
      return json(200, JSON.stringify({ resent: count }))
    }
    if (resource !== subscriptionsName) return yield* Effect.fail(notFound())
    const tell = (event: string): void => use.log("info", event, { subscription: id, user: call.caller.id })
    const noted = (act: AuditAct, details: AuditDetails = {}): Effect.Effect<void> =>
      note(use.core, call.caller, [{ act, subject: { kind: "subscription", id, name: row.name }, details }])
    switch (verb) {
      case "disable":
        if ((yield* asked(use.store.disable(id, null))) !== null) yield* noted("webhook.disabled")
        return nothing
      case "enable":
        yield* asked(use.store.enable(id))
        if (!row.enabled) yield* noted("webhook.enabled")
        return nothing
      case "rotateSecret":
        yield* asked(secretOf(use, row))
        yield* asked(use.store.rotate(id, use.core.seal.seal(sealContext(id), use.newSecret())))
        tell("webhook-secret-rotated")
        yield* noted("webhook.secret-rotated")
        return nothing
      case "revealSecret": {
        const secret = yield* asked(secretOf(use, row))
        if (secret === null) {
          return yield* Effect.fail(problem("conflict", "The secret was sealed with another AUTH_SECRET. Rotate it."))
        }
        tell("webhook-secret-revealed")
        yield* noted("webhook.secret-revealed")
        return json(200, JSON.stringify({ secret }))
      }
      case "resendFailed": {
        const resent = yield* asked(use.store.resend({ subscription: id }))
        yield* noted("webhook.resent", { count: resent })
        return json(200, JSON.stringify({ resent }))
      }
      case "replay": {
        const { details, reply } = yield* replay(use, delivering(), row, body ?? new Uint8Array())
        yield* noted("webhook.replayed", details)
        return reply
      }
      case "test": {
        if (!directs(call.caller, row.owner)) return yield* Effect.fail(accessDenied())
        const subscription = yield* asked(subscriptionOf(use, row))
        const happened = roles === null ? null : yield* asked(newest(use, subscription, roles))
        if (happened === null) {
          return yield* Effect.fail(
            problem(
              "conflict",
              "The owner of the subscription may read no record, so there is no record for a test event."
            )
          )
        }
        // The test event is made of a record as it is. The filter is not applied.
        const tried = tryDelivery(delivering(), {
          subscription: { ...subscription, when: new Map() },
          happened,
          test: true
        }, 1)
        const result = yield* Effect.catch(
          tried,
          (error) =>
            "place" in error
              ? Effect.die(error.error)
              : error instanceof LeftToOthers || error instanceof SubscriptionEnded
              ? Effect.fail(problem("conflict", error.message))
              : recordsProblem(error)
        )
        yield* noted("webhook.tested", { event: result.event, outcome: result.outcome })
        return json(
          200,
          JSON.stringify({
            event_id: result.eventId,
            event: result.event,
            outcome: result.outcome,
            status: result.status,
            error: result.error,
            request: result.request,
            answer: result.answer,
            headers: result.headers,
            duration_ms: result.milliseconds
          })
        )
      }
      default:
        return yield* Effect.fail(notFound())
    }
  })
