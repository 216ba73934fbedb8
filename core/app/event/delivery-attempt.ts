/**
 * One delivery attempt: the event as its subscription may see it now, signed, and sent to a URL, an API function or code. It fails only with the
 * database. A receiver's failure is its result. Other modules decide when to try again.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { isBag } from "../../domain/bag.ts"
import { judgedRow } from "../../domain/event/change.ts"
import {
  type EventFailure,
  eventJson,
  type EventReader,
  type Happened,
  type ReaderAccess,
  readerOf,
  sightOf
} from "../../domain/event/receivers.ts"
import { signatureHeader, signedContent } from "../../domain/event/signature.ts"
import type { Subscription } from "../../domain/event/subscription.ts"
import { judgeAnswer, type SentRequest, type TryResult } from "../../domain/event/try.ts"
import type { OwnDatabase } from "../../domain/job/definition.ts"
import { FatalJobError, LeftToOthers, leftToOthers } from "../../domain/job/failure.ts"
import { ownJson } from "../../domain/own-json.ts"
import { writeKey } from "../../domain/read/key.ts"
import type { OutboundService } from "../../ports/outbound.ts"
import { RecordsError } from "../../ports/records.ts"
import type { SealService } from "../../ports/seal.ts"
import type { RolesNow, SubscriptionsService } from "../../ports/subscriptions.ts"
import type { FunctionsCore } from "../function/function.ts"
import { runFunction } from "../function/function.ts"

/** How long a receiver may take, in milliseconds. */
export const receiverMs = 15_000

/** A line of the log about something that happened outside of any request. */
export type EventLog = (
  level: "info" | "warn" | "error",
  event: string,
  fields: { readonly [name: string]: string | number | null }
) => void

/** The dependencies of deliveries. */
export interface Delivering {
  readonly outbound: OutboundService
  readonly subscriptions: SubscriptionsService
  readonly functions: FunctionsCore
  readonly readers: ReaderAccess
  readonly seal: SealService
  /** HMAC-SHA256 in base64. */
  readonly hmac: (key: Uint8Array, text: string) => string
  readonly db: OwnDatabase
  readonly log: EventLog
}

/** One event for one subscription. */
export interface Delivery {
  readonly subscription: Subscription
  readonly happened: Happened
  readonly test: boolean
  /** The id of the event, where a job has kept it: with another secret it would be another one. */
  readonly id?: string
}

/** The same for every copy of an event, for all receivers and all attempts. */
export const eventId = (seal: SealService, { change: { model, stored }, event }: Happened): string =>
  `evt_${seal.digest(JSON.stringify([stored.sequence, stored.transaction, stored.at, model.name, event]))}`

/** The key of the record that an event is about, as addresses write it. */
export const changedKey = ({ change }: Happened): string => {
  const row = judgedRow(change)
  return writeKey(change.model.key.map(({ index }) => row[index] ?? null))
}

type Sent = Pick<TryResult, "outcome" | "status" | "error" | "answer" | "headers" | "request" | "gone" | "asked">

const delivered: Sent = {
  outcome: "delivered",
  status: null,
  error: null,
  answer: null,
  headers: null,
  request: null,
  gone: false,
  asked: null
}
const skipped: Sent = { ...delivered, outcome: "skipped" }
const failed = (error: string): Sent => ({ ...delivered, outcome: "failed", error })

/** Errors of the application's code go to its log and its failed jobs, so they are cut to a short text. */
const codeFailed = (place: string, error: unknown): Sent =>
  failed(`${place} threw: ${(error instanceof Error ? error.message : String(error)).slice(0, 1_000)}`)

const bodyOf = (subscription: Subscription, json: string): Effect.Effect<string, unknown> => {
  const { body } = subscription
  return body === null ? Effect.succeed(json) : Effect.tryPromise({
    try: async () => {
      const made: string | undefined = JSON.stringify(await body(ownJson(json)))
      if (made === undefined) throw new TypeError("body answered nothing that JSON has")
      return made
    },
    catch: (error) => error
  })
}

const headersOf = (
  use: Delivering,
  { headers, keys }: Subscription,
  id: string,
  body: string,
  seconds: number
): { readonly [name: string]: string } => ({
  "user-agent": "resource-admin-webhooks",
  ...headers,
  "content-type": "application/json",
  "webhook-id": id,
  "webhook-timestamp": String(seconds),
  ...(keys.length === 0
    ? {}
    : { "webhook-signature": signatureHeader(keys.map((key) => use.hmac(key, signedContent(id, seconds, body)))) })
})

const toUrl = (
  use: Delivering,
  request: SentRequest,
  anyAddress: boolean,
  now: number
): Effect.Effect<Sent> =>
  Effect.match(use.outbound.post({ ...request, anyAddress, timeoutMs: receiverMs }), {
    onFailure: ({ message }) => ({ ...failed(message), request }),
    onSuccess: (answer) => ({ ...judgeAnswer(answer, now), request })
  })

const late = failed(`It took longer than ${receiverMs / 1_000} seconds.`)

const inTime = (sent: Effect.Effect<Sent>): Effect.Effect<Sent> =>
  Effect.timeoutOrElse(sent, { duration: receiverMs, orElse: () => Effect.succeed(late) })

const toFunction = (
  use: Delivering,
  name: string,
  caller: Parameters<typeof runFunction>[2],
  headers: { readonly [name: string]: string },
  body: string
): Effect.Effect<Sent> => {
  const of = use.functions.functions.get(name)
  if (of === undefined) return Effect.succeed(failed(`There is no API function "${name}".`))
  const request = { headers: { get: (header: string) => headers[header.toLowerCase()] ?? null }, body }
  const run = runFunction(use.functions, of, caller, request, ownJson(body))
  return inTime(Effect.matchCause(run, {
    onFailure: (cause) => codeFailed(`The function ${name}`, firstError(cause)),
    onSuccess: () => delivered
  }))
}

const interrupted = (): Error => new Error("interrupted")

const firstError = (cause: { readonly reasons: ReadonlyArray<unknown> }): unknown => {
  const [reason] = cause.reasons
  return isBag(reason) ? reason["error"] ?? reason["defect"] ?? interrupted() : interrupted()
}

const toCode = (
  use: Delivering,
  run: Extract<Subscription["target"], { of: "run" }>["run"],
  json: string,
  attempt: number
): Effect.Effect<Sent> =>
  inTime(Effect.match(
    Effect.tryPromise({
      try: async (signal) => {
        await run(ownJson(json), { db: use.db, attempt, signal })
      },
      catch: (error) => error
    }),
    { onFailure: (error) => codeFailed("run", error), onSuccess: () => delivered }
  ))

const send = Effect.fnUntraced(function*(
  use: Delivering,
  { happened, subscription, test }: Delivery,
  sight: EventReader,
  id: string,
  attempt: number,
  now: number
): Effect.fn.Return<Sent> {
  const { target } = subscription
  const json = eventJson(subscription, happened, sight, id, test, BigInt(now) * 1000n)
  if (target.of === "run") return yield* toCode(use, target.run, json, attempt)
  const made = yield* Effect.result(bodyOf(subscription, json))
  if (Result.isFailure(made)) return codeFailed("body", made.failure)
  const body = made.success
  const headers = headersOf(use, subscription, id, body, Math.floor(now / 1_000))
  if (target.of === "url") return yield* toUrl(use, { url: target.url, headers, body }, target.anyAddress, now)
  const caller = readerOf(subscription, happened.change, [])
  return yield* toFunction(
    use,
    target.name,
    caller ?? { id: `subscription ${subscription.id}`, roles: [], tenant: subscription.tenant },
    headers,
    body
  )
})

/** A subscription that was removed or disabled: nothing is sent to it any more. */
export class SubscriptionEnded extends FatalJobError {
  readonly removed: boolean
  constructor(removed: boolean) {
    super(removed ? "The subscription no longer exists." : "The subscription is disabled.")
    this.removed = removed
  }
}

/** An enabled subscription as it is now. */
export const enabledNow = (
  use: Pick<Delivering, "subscriptions">,
  id: string
): Effect.Effect<Subscription, SubscriptionEnded | RecordsError> =>
  Effect.flatMap(
    use.subscriptions.find(id),
    (subscription): Effect.Effect<Subscription, SubscriptionEnded> =>
      subscription?.enabled === true
        ? Effect.succeed(subscription)
        : Effect.fail(new SubscriptionEnded(subscription === null))
  )

/** How often a subscription is read again for one attempt, when it changes meanwhile. */
const mostReads = 5

/**
 * Makes one delivery attempt. It checks again what the subscription may see, because an owner may have lost a role since, and then whether the subscription is
 * still as it was read: what was answered to whoever changed it counts from then on. Every outcome is logged. Fails when an access rule of its roles throws, where
 * another process has to make it, and when the subscription has ended.
 */
export const tryDelivery = Effect.fnUntraced(function*(
  use: Delivering,
  delivery: Delivery,
  attempt: number
): Effect.fn.Return<TryResult, RecordsError | EventFailure | LeftToOthers | SubscriptionEnded> {
  const { happened, test } = delivery
  let { subscription } = delivery
  const id = delivery.id ?? eventId(use.seal, happened)
  const now = yield* Clock.currentTimeMillis
  let roles: RolesNow
  let sight: EventReader | null = null
  for (let reads = 0;; reads++) {
    roles = yield* use.subscriptions.rolesOf(subscription)
    if (roles === "elsewhere") {
      const why = "This process does not know the tenant of the subscription."
      return yield* Effect.fail(leftToOthers(now, Date.parse(happened.change.stored.at), why))
    }
    if (roles !== null) {
      const judged = sightOf(subscription, happened, roles, use.readers, BigInt(now) * 1000n)
      if (Result.isFailure(judged)) return yield* Effect.fail(judged.failure)
      sight = judged.success
    }
    // A person asks for a test of what they see.
    if (test || (yield* use.subscriptions.unchanged(subscription))) break
    if (reads === mostReads) return yield* Effect.fail(new RecordsError({ reason: { _tag: "Contended" } }))
    subscription = yield* enabledNow(use, subscription.id)
  }
  let sent: Sent
  if (roles === null) {
    yield* use.subscriptions.orphaned(subscription)
    sent = { ...failed("The owner of the subscription no longer has access."), gone: true }
  } else sent = sight === null ? skipped : yield* send(use, { ...delivery, subscription }, sight, id, attempt, now)
  const { change: { model }, event } = happened
  const result: TryResult = {
    ...sent,
    eventId: id,
    event: `${model.name}.${event}`,
    resource: model.name,
    key: changedKey(happened),
    roles: subscription.reader.of === "owner" ? roles : null,
    attempt,
    milliseconds: (yield* Clock.currentTimeMillis) - now,
    test
  }
  use.log(result.outcome === "failed" ? "warn" : "info", "delivery", {
    subscription: subscription.name,
    type: result.event,
    eventId: id,
    outcome: result.outcome,
    status: result.status,
    attempt,
    ms: result.milliseconds
  })
  yield* use.subscriptions.ended(subscription, result)
  // Results wait for each other; bodies would take the memory of all of them.
  return test ? result : { ...result, request: null }
})
