/**
 * Dispatch: takes captured changes, finds their receivers, makes the first attempts in parallel, and creates jobs for the deliveries that are left.
 * One process of the cluster does it at a time. The transaction that enqueues the jobs of a change removes the change, so each is delivered at
 * least once.
 */

import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import type { StoredChange } from "../../domain/event/change.ts"
import {
  concerns,
  type EventFailure,
  type EventModels,
  failureText,
  type Happened,
  happened,
  sightOf
} from "../../domain/event/receivers.ts"
import { retryWait, triesOf } from "../../domain/event/retry.ts"
import { spacingMs, type Subscription } from "../../domain/event/subscription.ts"
import type { TryResult } from "../../domain/event/try.ts"
import type { EnqueuePlan } from "../../domain/job/enqueue.ts"
import { classOf } from "../../domain/thrown.ts"
import type { ChangesService, Taken } from "../../ports/changes.ts"
import type { QueueError, QueueService } from "../../ports/queue.ts"
import type { RatesService } from "../../ports/rates.ts"
import { RecordsError } from "../../ports/records.ts"
import type { RolesNow } from "../../ports/subscriptions.ts"
import {
  changedKey,
  type Delivering,
  type Delivery,
  eventId,
  receiverMs,
  SubscriptionEnded,
  tryDelivery
} from "./delivery-attempt.ts"

/** Names of the jobs that deliveries become. */
export const deliverName = "webhooks.deliver"
export const orderedName = "webhooks.deliver-ordered"
export const changeName = "webhooks.dispatch-change"

/** Payload of a `webhooks.deliver` job. `tried`: attempts made before the job. */
export interface DeliverPayload {
  readonly subscription: string
  readonly resource: string
  readonly event: string
  readonly change: StoredChange
  /** The id of the event and the key of its record, for people who look at the queue. */
  readonly id: string
  readonly key: string
  readonly tried: number
  /** The result of the first attempt. */
  readonly status?: number
  readonly error?: string
  readonly test?: boolean
  /** It failed permanently, and why. The job exists so that people can see and retry it. */
  readonly failed?: string
}

/** Payload of a `webhooks.deliver-ordered` job: events of one record in their order. */
export interface OrderedPayload {
  readonly subscription: string
  readonly resource: string
  readonly key: string
  readonly events: ReadonlyArray<{ readonly id: string; readonly event: string; readonly change: StoredChange }>
}

/** What code that threw left undone: an event such as `orders.large`, for one subscription or for all. */
interface Undone {
  readonly event: string
  readonly subscription?: string
}

/** Payload of a `webhooks.dispatch-change` job. */
export interface ChangePayload {
  readonly change: StoredChange
  /** Absent in jobs of earlier versions: everything. */
  readonly undone?: readonly Undone[]
}

const eventJobs: ReadonlySet<string> = new Set([deliverName, orderedName, changeName])

/**
 * The payload of a job as it is shown to people, as JSON text. Events are shown without rows, because rows hold sensitive fields and records of
 * every tenant.
 */
export const shownPayload = (name: string, payload: string): string =>
  eventJobs.has(name)
    ? JSON.stringify(JSON.parse(payload), (member, value: unknown) =>
      member === "before" || member === "after" ? undefined : value)
    : payload

/** Changes that are taken in one batch. */
export const mostChanges = 200
/** Most first attempts that run at once, for one subscription and for all. */
const mostOfOne = 32
const mostTriesAtOnce = 128
/** How long a batch waits for its first attempts. Longer attempts continue without the batch. */
const patienceMs = 1_000
/** When the job of a delivery that is left to another process is due: not at once, because this process would take it. */
const leftMs = 500
/** When the job of a continuing attempt starts, unless the attempt succeeds first. */
const takeOverMs = receiverMs + 5_000

/** The dependencies of dispatch. */
export interface Dispatching extends Delivering {
  readonly changes: ChangesService
  readonly rates: RatesService
  readonly queue: QueueService
  readonly models: EventModels
  /** Makes the workers of this process look for jobs of a name. */
  readonly wake: (name: string) => void
  /** From 0 to 1, for jitter. */
  readonly random: () => number
}

/** A delivery to make. */
interface DeliveryPlan extends Delivery {
  readonly key: string
  /** Whether another process has to decide about it. */
  readonly left: boolean
}

interface Plan {
  readonly deliveries: readonly DeliveryPlan[]
  /** Changes some code of which failed. */
  readonly failing: ReadonlyArray<{
    readonly change: StoredChange
    /** The first of the failures. */
    readonly failure: EventFailure
    readonly undone: readonly Undone[]
  }>
}

const plan = (
  name: string,
  payload: unknown,
  more: Partial<Pick<EnqueuePlan, "group" | "ordered" | "delayMs" | "maxAttempts">> = {}
): EnqueuePlan => ({
  name,
  payload: JSON.stringify(payload),
  runAt: null,
  delayMs: null,
  priority: 0,
  key: null,
  mode: "dedupe",
  group: null,
  ordered: false,
  maxAttempts: null,
  ...more
})

/** A job that delivers an event. `tried`: attempts made so far; `last`: the result of the last one. */
const deliverPlan = (
  { seal }: Pick<Dispatching, "seal">,
  { happened, id, subscription, test }: Delivery,
  tried: number,
  delayMs: number,
  last: Partial<Pick<TryResult, "status" | "error" | "gone">> = {}
): EnqueuePlan => {
  const { change, event } = happened
  const { error = null, gone = false, status = null } = last
  const payload: DeliverPayload = {
    subscription: subscription.id,
    resource: change.model.name,
    event,
    id: id ?? eventId(seal, happened),
    key: changedKey(happened),
    tried,
    ...(status === null ? {} : { status }),
    ...(error === null ? {} : { error }),
    ...(test ? { test } : {}),
    ...(gone ? { failed: error ?? "" } : {}),
    change: change.stored
  }
  return plan(deliverName, payload, { delayMs, maxAttempts: Math.max(1, triesOf(subscription.waits) - tried) })
}

/** Jobs for the deliveries of ordered subscriptions: one for each record and subscription. */
const orderedPlans = (use: Dispatching, deliveries: readonly DeliveryPlan[]): readonly EnqueuePlan[] => {
  const groups = new Map<string, DeliveryPlan[]>()
  for (const each of deliveries) {
    const group = JSON.stringify([each.subscription.id, each.happened.change.model.name, each.key])
    const same = groups.get(group)
    if (same === undefined) groups.set(group, [each])
    else same.push(each)
  }
  // A job that waits for its turn begins anew. So each event of a subscription with a limit gets a job of its own, in the same order.
  const jobs = [...groups].flatMap(([group, all]): ReadonlyArray<readonly [string, readonly DeliveryPlan[]]> =>
    all[0]!.subscription.perMinute === null ? [[group, all]] : all.map((each) => [group, [each]])
  )
  return jobs.map(([group, each]) => {
    const payload: OrderedPayload = {
      subscription: each[0]!.subscription.id,
      resource: each[0]!.happened.change.model.name,
      key: each[0]!.key,
      events: each.map(({ happened }) => ({
        id: eventId(use.seal, happened),
        event: happened.event,
        change: happened.change.stored
      }))
    }
    return plan(orderedName, payload, { group, ordered: true, maxAttempts: triesOf(each[0]!.subscription.waits) })
  })
}

/** Jobs for the deliveries of subscriptions with a limit: each at its place in the line. Those of an ordered one wait behind each other anyway. */
const linedPlans = Effect.fnUntraced(function*(
  use: Dispatching,
  deliveries: readonly DeliveryPlan[]
): Effect.fn.Return<readonly EnqueuePlan[], RecordsError> {
  const lined = deliveries.filter(({ subscription }) => !subscription.ordered && subscription.perMinute !== null)
  const plans: EnqueuePlan[] = []
  for (const own of Map.groupBy(lined, ({ subscription }) => subscription.id).values()) {
    const { subscription } = own[0]!
    const spacing = spacingMs(subscription.perMinute!)
    const wait = yield* use.rates.line(subscription.id, spacing, own.length)
    for (const [index, each] of own.entries()) {
      const due = Math.floor(wait + index * spacing)
      plans.push(deliverPlan(use, each, 0, each.left ? Math.max(due, leftMs) : due))
    }
  }
  return plans
})

/** A group is a text of at most 1,000 characters. Longer ones are replaced by a digest. */
const shortGroup = (use: Dispatching, each: EnqueuePlan): EnqueuePlan =>
  each.group !== null && each.group.length > 500 ? { ...each, group: use.seal.digest(each.group) } : each

const planned = (subscription: Subscription, happened: Happened, left: boolean): DeliveryPlan => ({
  subscription,
  happened,
  test: false,
  key: changedKey(happened),
  left
})

const eventOf = ({ change, event }: Happened): string => `${change.model.name}.${event}`

/** Whether an event is still to be dispatched, for a subscription or for any. Null: everything is. */
const isUndone = (undone: readonly Undone[] | null, happened: Happened, subscription?: Subscription): boolean =>
  undone === null || undone.some((each) =>
    each.event === eventOf(happened) &&
    (each.subscription === undefined || subscription === undefined || each.subscription === subscription.id)
  )

/**
 * Finds the deliveries of changes. Code that throws costs what it decides about: a match its event, a condition or a rule its subscription. These are kept
 * for people to look at, and the others get the change.
 */
const planChanges = Effect.fnUntraced(function*(
  use: Dispatching,
  changes: readonly StoredChange[],
  left: readonly Undone[] | null = null
): Effect.fn.Return<Plan, RecordsError> {
  const subscriptions = (yield* use.subscriptions.all).filter(({ enabled }) => enabled)
  const now = BigInt(yield* Clock.currentTimeMillis) * 1000n
  const roles = new Map<Subscription, RolesNow>()
  const deliveries: DeliveryPlan[] = []
  const failing: Array<Plan["failing"][number]> = []
  for (const stored of changes) {
    if (stored.operation === "truncate") {
      use.log("warn", "truncated", { table: stored.relation, transaction: stored.transaction })
      continue
    }
    const { failed, events } = happened(use.models, stored)
    const failures = failed.flatMap(([event, failure]): Array<readonly [Undone, EventFailure]> =>
      isUndone(left, event) ? [[{ event: eventOf(event) }, failure]] : []
    )
    // With many subscriptions a batch takes long. It must not block requests for all of that time.
    if (subscriptions.length > 20) yield* Effect.yieldNow
    for (const each of events) {
      for (const subscription of subscriptions) {
        if (!isUndone(left, each, subscription)) continue
        let held = roles.get(subscription)
        if (held === undefined) {
          held = yield* use.subscriptions.rolesOf(subscription)
          roles.set(subscription, held)
          if (held === null) yield* use.subscriptions.orphaned(subscription)
        }
        if (held === null) continue
        if (held === "elsewhere") {
          if (concerns(subscription, each, now)) deliveries.push(planned(subscription, each, true))
          continue
        }
        const sight = sightOf(subscription, each, held, use.readers, now)
        if (Result.isFailure(sight)) {
          failures.push([{ event: eventOf(each), subscription: subscription.id }, sight.failure])
        } else if (sight.success !== null) deliveries.push(planned(subscription, each, false))
      }
    }
    const [first] = failures
    if (first !== undefined) failing.push({ change: stored, failure: first[1], undone: failures.map(([each]) => each) })
  }
  return { deliveries, failing }
})

/** Slots of subscriptions. An attempt keeps its slot until it ends. */
export class Lanes {
  readonly #all = Semaphore.makeUnsafe(mostTriesAtOnce)
  readonly #running = new Map<string, number>()

  /** Whether another attempt of the subscription may begin. Attempts beyond the limit become jobs. */
  enter(id: string): boolean {
    const running = this.#running.get(id) ?? 0
    if (running >= mostOfOne) return false
    this.#running.set(id, running + 1)
    return true
  }

  leave(id: string): void {
    const left = (this.#running.get(id) ?? 1) - 1
    if (left === 0) this.#running.delete(id)
    else this.#running.set(id, left)
  }

  run<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return this.#all.withPermit(effect)
  }
}

const asRecordsError = (error: QueueError): RecordsError =>
  new RecordsError({
    reason: { _tag: error.reason._tag === "Refused" ? "Unavailable" : error.reason._tag },
    cause: error
  })

/** The job that follows a first attempt, or null where none is needed. */
const followUp = (use: Dispatching, delivery: DeliveryPlan, result: TryResult): EnqueuePlan | null => {
  if (result.outcome !== "failed") return null
  const wait = result.gone
    ? 0
    : retryWait({
      tries: 1,
      ordered: false,
      waits: delivery.subscription.waits,
      asked: result.asked,
      random: use.random()
    })
  // The job of one that is gone makes no attempt. It fails at once, and this counts as the attempt that was made.
  return deliverPlan(use, delivery, result.gone ? 0 : 1, wait ?? 0, result)
}

/** The job that follows a first attempt that could not be made. A subscription that was disabled meanwhile keeps what it did not get, as one that waits does. */
const afterFailure = (use: Dispatching, delivery: DeliveryPlan, cause: Cause.Cause<unknown>): EnqueuePlan | null => {
  const error = Cause.squash(cause)
  if (!(error instanceof SubscriptionEnded)) return deliverPlan(use, delivery, 1, 5_000)
  return error.removed ? null : deliverPlan(use, delivery, 0, 0, { error: error.message, gone: true })
}

/**
 * Removes the job of an attempt that was still running when the job was made: the result of the attempt decides. The follow-up job is enqueued
 * first, so that no delivery is lost in between.
 */
const takeBack = Effect.fnUntraced(function*(
  use: Dispatching,
  delivery: DeliveryPlan,
  exit: Exit.Exit<TryResult, unknown>,
  job: string
): Effect.fn.Return<void, QueueError> {
  if (Exit.isFailure(exit)) return
  const next = followUp(use, delivery, exit.value)
  if (next !== null) yield* use.queue.enqueue([next])
  yield* use.queue.cancel([job])
})

/**
 * Dispatches some changes. First attempts run in parallel for a short time. Failed attempts, running attempts and deliveries without a slot become
 * jobs, committed together with the removal of the changes. A running attempt that succeeds later removes its job.
 */
export const dispatchChanges = Effect.fnUntraced(function*(
  use: Dispatching,
  lanes: Lanes,
  changes: readonly StoredChange[]
): Effect.fn.Return<void, RecordsError | Taken> {
  const { deliveries, failing } = yield* planChanges(use, changes)
  const first = deliveries.filter(({ left, subscription }) =>
    !subscription.ordered && !left && subscription.perMinute === null
  )
  const ended = new Map<DeliveryPlan, Exit.Exit<TryResult, unknown>>()
  const begun = new Set<DeliveryPlan>()
  /** Committed jobs of attempts that are still running. */
  const jobs = new Map<DeliveryPlan, string>()
  let settled = false
  const bySubscription = Map.groupBy(first, ({ subscription }) => subscription.id)
  const tries = Effect.forEach(
    bySubscription.values(),
    (own) =>
      Effect.forEach(
        own,
        (delivery) =>
          Effect.suspend(() => {
            // Once the changes are settled, the jobs make all attempts that have not begun.
            if (settled || !lanes.enter(delivery.subscription.id)) return Effect.void
            begun.add(delivery)
            return Effect.ignore(Effect.onExit(lanes.run(tryDelivery(use, delivery, 1)), (exit) =>
              Effect.suspend(() => {
                lanes.leave(delivery.subscription.id)
                ended.set(delivery, exit)
                const job = jobs.get(delivery)
                return job === undefined ? Effect.void : Effect.ignore(takeBack(use, delivery, exit, job))
              })))
          }),
        { concurrency: mostOfOne, discard: true }
      ),
    { concurrency: "unbounded", discard: true }
  )
  const fiber = yield* Effect.forkDetach(tries)
  yield* Effect.timeoutOrElse(Effect.asVoid(Fiber.await(fiber)), { duration: patienceMs, orElse: () => Effect.void })
  settled = true
  const plans: Array<readonly [DeliveryPlan | null, EnqueuePlan]> = []
  for (const delivery of first) {
    const exit = ended.get(delivery)
    if (exit === undefined) {
      plans.push([
        delivery,
        begun.has(delivery) ? deliverPlan(use, delivery, 1, takeOverMs) : deliverPlan(use, delivery, 0, 0)
      ])
    } else if (Exit.isFailure(exit)) {
      const next = afterFailure(use, delivery, exit.cause)
      if (next !== null) plans.push([null, next])
    } else {
      const next = followUp(use, delivery, exit.value)
      if (next !== null) plans.push([null, next])
    }
  }
  for (const each of deliveries) {
    const { ordered, perMinute } = each.subscription
    if (each.left && !ordered && perMinute === null) plans.push([null, deliverPlan(use, each, 0, leftMs)])
  }
  for (const each of yield* linedPlans(use, deliveries)) plans.push([null, each])
  const ordered = orderedPlans(use, deliveries.filter(({ subscription }) => subscription.ordered))
  for (const each of ordered) plans.push([null, shortGroup(use, each)])
  for (const { change, failure, undone } of failing) {
    use.log("error", "dispatch-change", {
      sequence: change.sequence,
      table: change.relation,
      place: failure.place,
      error: classOf(failure.error)
    })
    plans.push([null, plan(changeName, { change, undone } satisfies ChangePayload, { maxAttempts: 1 })])
  }
  let ids: readonly string[] = []
  yield* use.changes.settle(changes, (transaction) =>
    plans.length === 0 ? Effect.void : Effect.mapError(
      Effect.map(use.queue.enqueue(plans.map(([, each]) => each), transaction), (made) => void (ids = made)),
      asRecordsError
    ))
  // An attempt may have ended between this check and the commit of its job.
  const late: Array<Effect.Effect<void, QueueError>> = []
  for (const [index, [delivery]] of plans.entries()) {
    if (delivery === null) continue
    const exit = ended.get(delivery)
    if (exit === undefined) jobs.set(delivery, ids[index]!)
    else late.push(takeBack(use, delivery, exit, ids[index]!))
  }
  for (const each of late) yield* Effect.ignore(each)
  if (ordered.length > 0) use.wake(orderedName)
  if (failing.length > 0) use.wake(changeName)
  if (plans.some(([, { delayMs, name }]) => name === deliverName && delayMs === 0)) use.wake(deliverName)
})

/** The deliveries of changes to one subscription, as jobs, and what its code failed for. */
export const plansFor = Effect.fnUntraced(function*(
  use: Dispatching,
  subscription: Subscription,
  changes: readonly StoredChange[]
): Effect.fn.Return<readonly EnqueuePlan[], RecordsError> {
  const only = { ...use, subscriptions: { ...use.subscriptions, all: Effect.succeed([subscription]) } }
  const { deliveries, failing } = yield* planChanges(only, changes)
  return [
    ...(yield* jobsOf(use, deliveries)),
    ...failing.map(({ change, undone }) =>
      plan(
        changeName,
        {
          change,
          undone: undone.map(({ event }) => ({ event, subscription: subscription.id }))
        } satisfies ChangePayload,
        { maxAttempts: 1 }
      )
    )
  ]
})

/** Deliveries as jobs, each in its order. */
const jobsOf = Effect.fnUntraced(function*(
  use: Dispatching,
  deliveries: readonly DeliveryPlan[]
): Effect.fn.Return<readonly EnqueuePlan[], RecordsError> {
  return [
    ...deliveries.flatMap((each) =>
      each.subscription.ordered || each.subscription.perMinute !== null ? [] : [deliverPlan(use, each, 0, 0)]
    ),
    ...yield* linedPlans(use, deliveries),
    ...orderedPlans(use, deliveries.filter(({ subscription }) => subscription.ordered)).map((each) =>
      shortGroup(use, each)
    )
  ]
})

/**
 * The work of a `webhooks.dispatch-change` job: enqueues the deliveries that are left of one change. It fails with the error of the configuration's
 * code, and then delivers nothing.
 */
export const redispatch = Effect.fnUntraced(function*(
  use: Dispatching,
  { change, undone = null }: { readonly change: StoredChange; readonly undone?: readonly Undone[] | null }
): Effect.fn.Return<void, RecordsError | QueueError | string> {
  const { deliveries, failing } = yield* planChanges(use, [change], undone)
  if (failing[0] !== undefined) return yield* Effect.fail(failureText(failing[0].failure))
  const plans = yield* jobsOf(use, deliveries)
  if (plans.length > 0) yield* use.queue.enqueue(plans)
})
