/**
 * The delivery jobs: an attempt of one event, the events of a record in their order, and a change whose code failed. It decides what the result of
 * an attempt means for the job. The queue stores jobs and times.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { recordChange, type StoredChange } from "../../domain/event/change.ts"
import type { EventFailure, Happened } from "../../domain/event/receivers.ts"
import { retryWait } from "../../domain/event/retry.ts"
import { spacingMs, type Subscription } from "../../domain/event/subscription.ts"
import type { TryResult } from "../../domain/event/try.ts"
import { jobDefaults, type JobModel } from "../../domain/job/definition.ts"
import { FatalJobError, LeftToOthers, RetryAt } from "../../domain/job/failure.ts"
import type { RecordsError } from "../../ports/records.ts"
import { runJob } from "../ground/run.ts"
import { enabledNow, receiverMs, tryDelivery } from "./delivery-attempt.ts"
import {
  changeName,
  type ChangePayload,
  deliverName,
  type DeliverPayload,
  type Dispatching,
  orderedName,
  type OrderedPayload,
  redispatch
} from "./dispatch.ts"
import { replayBatch, replayName, type ReplayPayload } from "./replay.ts"

const fatal = (message: string): Effect.Effect<never, FatalJobError> => Effect.fail(new FatalJobError(message))

const happenedOf = (
  use: Dispatching,
  resource: string,
  event: string,
  stored: StoredChange
): Effect.Effect<Happened, FatalJobError> => {
  const model = use.models.of(stored.relation).find(({ name }) => name === resource)
  const change = model === undefined ? null : recordChange(model, stored)
  return change === null
    ? fatal(`The resource "${resource}" no longer declares this event.`)
    : Effect.succeed({ change, event })
}

/** A failed attempt as an error for the queue: with the time of the next one, or without a next one. */
const refused = (
  use: Dispatching,
  { ordered, waits }: Subscription,
  result: TryResult,
  tries: number
): Effect.Effect<never, Error> =>
  Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<never, Error> => {
    const message = result.error ?? "It failed."
    const wait = result.gone
      ? null
      : retryWait({ tries, ordered, waits, asked: result.asked, random: use.random() })
    // The job may have tries left from a schedule that was longer.
    return wait === null ? fatal(message) : Effect.fail(new RetryAt(new Date(now + wait), message))
  })

/** How long a job waits for its turn in this process. Workers look for jobs every two seconds, so due jobs arrive in groups. */
const longestTurnMs = 2_500
/** Jobs of one kind that wait so at once in this process, so that the workers of others are left. */
const mostWaiting = { deliver: 24, ordered: 12 }

/** Waits until a subscription with a limit has its turn. A job whose turn is not soon is there again at its place in the line, and its try does not count. */
const makeTurns = () => {
  let waiting = 0
  return Effect.fnUntraced(function*(
    use: Dispatching,
    { id, perMinute }: Subscription,
    most: number
  ): Effect.fn.Return<void, RecordsError | LeftToOthers> {
    if (perMinute === null) return
    const turn = yield* use.rates.take(id, spacingMs(perMinute), waiting < most ? longestTurnMs : 0)
    if (!turn.granted) {
      const now = yield* Clock.currentTimeMillis
      return yield* Effect.fail(new LeftToOthers(new Date(now + turn.waitMs), "It waits for its turn."))
    }
    if (turn.waitMs === 0) return
    waiting++
    yield* Effect.ensuring(Effect.sleep(turn.waitMs), Effect.sync(() => void waiting--))
  })
}
type Turns = ReturnType<typeof makeTurns>

const deliver = Effect.fnUntraced(function*(
  use: Dispatching,
  turn: Turns,
  payload: DeliverPayload,
  attempt: number
): Effect.fn.Return<void, Error | RecordsError | EventFailure> {
  if (payload.failed !== undefined && attempt === 1) return yield* fatal(payload.failed)
  const subscription = yield* enabledNow(use, payload.subscription)
  const happened = yield* happenedOf(use, payload.resource, payload.event, payload.change)
  yield* turn(use, subscription, mostWaiting.deliver)
  const tries = payload.tried + attempt
  const { id, test = false } = payload
  const result = yield* tryDelivery(use, { subscription, happened, test, id }, tries)
  if (result.outcome === "failed") yield* refused(use, subscription, result, tries)
})

const deliverOrdered = Effect.fnUntraced(function*(
  use: Dispatching,
  turn: Turns,
  payload: OrderedPayload,
  attempt: number
): Effect.fn.Return<void, Error | RecordsError | EventFailure> {
  for (const [index, { change, event, id }] of payload.events.entries()) {
    const subscription = yield* enabledNow(use, payload.subscription)
    const happened = yield* happenedOf(use, payload.resource, event, change)
    // A job with several events is older than the limit. To begin anew between them would send the first ones again.
    if (index === 0) yield* turn(use, subscription, mostWaiting.ordered)
    const result = yield* tryDelivery(use, { subscription, happened, test: false, id }, attempt)
    if (result.outcome === "failed") yield* refused(use, subscription, result, attempt)
  }
})

const defaults = {
  payload: null,
  retryDelayMs: jobDefaults.retryDelayMs,
  maxRetryDelayMs: jobDefaults.maxRetryDelayMs,
  maxRunning: null,
  rate: null,
  retryStepsMs: null,
  schedule: null
} as const

/** The jobs of deliveries, by name. */
export const deliveryJobs = (use: Dispatching): ReadonlyMap<string, JobModel> => {
  const turns = { deliver: makeTurns(), ordered: makeTurns() }
  const jobs: readonly JobModel[] = [
    {
      ...defaults,
      name: deliverName,
      maxAttempts: 10,
      timeoutMs: receiverMs * 2,
      concurrency: 32,
      ordered: false,
      run: (payload, { job, signal }) =>
        runJob(deliver(use, turns.deliver, payload as DeliverPayload, job.attempt), signal)
    },
    {
      ...defaults,
      name: orderedName,
      maxAttempts: 10,
      // Its events are sent one after the other, each with its own timeout.
      timeoutMs: 3_600_000,
      concurrency: 16,
      ordered: true,
      run: (payload, { job, signal }) =>
        runJob(deliverOrdered(use, turns.ordered, payload as OrderedPayload, job.attempt), signal)
    },
    {
      ...defaults,
      name: changeName,
      maxAttempts: 1,
      timeoutMs: 60_000,
      concurrency: 1,
      ordered: false,
      run: (payload, { signal }) => runJob(redispatch(use, payload as ChangePayload), signal)
    },
    {
      ...defaults,
      name: replayName,
      maxAttempts: 10,
      timeoutMs: 60_000,
      concurrency: 2,
      ordered: false,
      run: (payload, { signal }) => runJob(replayBatch(use, payload as ReplayPayload), signal)
    }
  ]
  return new Map(jobs.map((job) => [job.name, job]))
}
