/**
 * Sends kept events of a time range to one subscription again, in a job: a batch of changes becomes deliveries, and the next batch another job, in one statement.
 * Each delivery is judged as any other when it is sent. An event has the id that it had at first, so receivers know it again.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { spacingMs } from "../../domain/event/subscription.ts"
import type { EnqueuePlan } from "../../domain/job/enqueue.ts"
import type { FatalJobError } from "../../domain/job/failure.ts"
import type { KeptPosition } from "../../ports/changes.ts"
import type { QueueError } from "../../ports/queue.ts"
import type { RecordsError } from "../../ports/records.ts"
import { enabledNow } from "./delivery-attempt.ts"
import { type Dispatching, plansFor } from "./dispatch.ts"

export const replayName = "webhooks.replay"

/** Changes of one batch. */
const mostAtOnce = 200
/** How soon the next batch follows. So new events of the subscription are not held up behind all of the old ones. */
const pauseMs = 1_000
/** What is due for others comes first: a receiver that answers slowly holds up its own replay. */
const priority = -1

/** Payload of a `webhooks.replay` job. */
export interface ReplayPayload {
  readonly subscription: string
  /** Canonical timestamps: from `since` on, before `until`. */
  readonly since: string
  readonly until: string
  /** The last change that was sent; null: none yet. */
  readonly after: KeptPosition | null
}

/** One waits for each range of a subscription at a time: another range that was asked for at the same moment is a job of its own. */
export const replayPlan = (payload: ReplayPayload, delayMs = 0): EnqueuePlan => ({
  name: replayName,
  payload: JSON.stringify(payload),
  runAt: null,
  delayMs,
  priority: 0,
  key: `${payload.subscription} ${payload.since} ${payload.until}`,
  mode: "dedupe",
  group: null,
  ordered: false,
  maxAttempts: null
})

/** Does one batch. Nothing is left to do for a subscription that was removed. */
export const replayBatch = Effect.fnUntraced(function*(
  use: Dispatching,
  payload: ReplayPayload
): Effect.fn.Return<void, RecordsError | QueueError | FatalJobError> {
  const lookup = yield* Effect.result(enabledNow(use, payload.subscription))
  if (Result.isFailure(lookup)) {
    if ("removed" in lookup.failure && lookup.failure.removed) return
    return yield* Effect.fail(lookup.failure)
  }
  const subscription = lookup.success
  const changes = yield* use.changes.between(payload, mostAtOnce)
  const last = changes.at(-1)
  if (last === undefined) return
  const plans = yield* plansFor(use, subscription, changes)
  const pause = subscription.perMinute === null
    ? pauseMs
    : Math.max(pauseMs, Math.ceil(plans.length * spacingMs(subscription.perMinute)))
  const next = replayPlan({ ...payload, after: { at: last.at, sequence: last.sequence } }, pause)
  yield* use.queue.enqueue([...plans.map((each) => ({ ...each, priority })), next])
})
