/**
 * The delivery jobs: an attempt of one event, the events of a record in their order, and a change whose code failed. It decides what the result of
 * an attempt means for the job. The queue stores jobs and times.
 */

import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { recordChange, type StoredChange } from "../domain/event/change.ts"
import { type EventFailure, failureText, type Happened } from "../domain/event/delivery.ts"
import { retryWait } from "../domain/event/retry.ts"
import type { Subscription } from "../domain/event/subscription.ts"
import type { TryResult } from "../domain/event/try.ts"
import { jobDefaults, type JobModel } from "../domain/job/definition.ts"
import { FatalJobError, RetryAt } from "../domain/job/retry.ts"
import type { RecordsError } from "../ports/records.ts"
import { receiverMs, tryDelivery } from "./deliver.ts"
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

const fatal = (message: string): Effect.Effect<never, FatalJobError> => Effect.fail(new FatalJobError(message))

/** The current subscription of a job. If it was removed or disabled, the jobs that wait for it fail. */
const subscriptionOf = (use: Dispatching, id: string): Effect.Effect<Subscription, FatalJobError | RecordsError> =>
  Effect.flatMap(use.subscriptions.find(id), (found): Effect.Effect<Subscription, FatalJobError> =>
    found === null
      ? fatal("The subscription no longer exists.")
      : found.enabled
      ? Effect.succeed(found)
      : fatal("The subscription is disabled."))

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
const refused = (use: Dispatching, result: TryResult, tries: number, ordered: boolean): Effect.Effect<never, Error> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const message = result.error ?? "It failed."
    if (result.gone) return fatal(message)
    const wait = retryWait({ tries, ordered, asked: result.asked, random: use.random() })
    return Effect.fail(wait === null ? new Error(message) : new RetryAt(new Date(now + wait), message))
  })

const deliver = Effect.fnUntraced(function*(
  use: Dispatching,
  payload: DeliverPayload,
  attempt: number
): Effect.fn.Return<void, Error | RecordsError | EventFailure> {
  if (payload.failed !== undefined && attempt === 1) return yield* fatal(payload.failed)
  const subscription = yield* subscriptionOf(use, payload.subscription)
  const happened = yield* happenedOf(use, payload.resource, payload.event, payload.change)
  const tries = payload.tried + attempt
  const result = yield* tryDelivery(use, { subscription, happened, test: payload.test === true }, tries)
  if (result.outcome === "failed") yield* refused(use, result, tries, false)
})

const deliverOrdered = Effect.fnUntraced(function*(
  use: Dispatching,
  payload: OrderedPayload,
  attempt: number
): Effect.fn.Return<void, Error | RecordsError | EventFailure> {
  for (const { change, event } of payload.events) {
    const subscription = yield* subscriptionOf(use, payload.subscription)
    const happened = yield* happenedOf(use, payload.resource, event, change)
    const result = yield* tryDelivery(use, { subscription, happened, test: false }, attempt)
    if (result.outcome === "failed") yield* refused(use, result, attempt, true)
  }
})

const isFailure = (error: unknown): error is EventFailure =>
  typeof error === "object" && error !== null && "place" in error && "error" in error

/** Runs an effect for a job: resolves, or rejects with an error that the queue understands. */
export const runJob = async (effect: Effect.Effect<unknown, unknown>, signal: AbortSignal): Promise<void> => {
  const exit = await Effect.runPromiseExit(effect, { signal })
  if (Exit.isSuccess(exit)) return
  const error = Cause.squash(exit.cause)
  if (isFailure(error)) throw new Error(failureText(error))
  if (typeof error === "string") throw new FatalJobError(error)
  throw error
}

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
  const jobs: readonly JobModel[] = [
    {
      ...defaults,
      name: deliverName,
      maxAttempts: 10,
      timeoutMs: receiverMs * 2,
      concurrency: 32,
      ordered: false,
      run: (payload, { job, signal }) => runJob(deliver(use, payload as DeliverPayload, job.attempt), signal)
    },
    {
      ...defaults,
      name: orderedName,
      maxAttempts: 10,
      // Its events are sent one after the other, each with its own timeout.
      timeoutMs: 3_600_000,
      concurrency: 16,
      ordered: true,
      run: (payload, { job, signal }) => runJob(deliverOrdered(use, payload as OrderedPayload, job.attempt), signal)
    },
    {
      ...defaults,
      name: changeName,
      maxAttempts: 1,
      timeoutMs: 60_000,
      concurrency: 1,
      ordered: false,
      run: (payload, { signal }) => runJob(redispatch(use, payload as ChangePayload), signal)
    }
  ]
  return new Map(jobs.map((job) => [job.name, job]))
}
