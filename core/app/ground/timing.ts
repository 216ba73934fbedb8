/**
 * The named phases of a use case (`list.parse`, `list.execute`, ...). One call marks a phase for the recorder behind `Server-Timing` and
 * for the tracer. It has no clock of its own, and costs one field read when neither is there.
 */

import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Tracer from "effect/Tracer"

/** Collects the phases of one request. */
export interface TimingRecorder {
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** Called when a phase ends, whatever its outcome. A phase that runs twice is recorded twice. */
  readonly record: (phase: string, milliseconds: number) => void
}

/** The recorder of the running request; null (the default) when nobody asked. The edge provides it. */
export const Timing = Context.Reference<TimingRecorder | null>("resource-admin/app/Timing", {
  defaultValue: () => null
})

/** The fiber that works for a request: it knows the request's clock, recorder and tracer. */
export type RequestFiber = Fiber.Fiber<unknown, unknown>

/**
 * The effect as a named phase of the fiber's request. It is recorded when the request is timed, and is a span when a tracer is installed.
 * Names are HTTP tokens, because they go into `Server-Timing` as they are.
 */
export const phase = <A, E, R>(
  fiber: RequestFiber,
  name: string,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const recorder = fiber.getRef(Timing)
  const traced = isTraced(fiber) ? Effect.withSpan(effect, name, { captureStackTrace: false }) : effect
  return recorder === null ? traced : Effect.suspend(() => {
    const start = recorder.now()
    return Effect.ensuring(traced, Effect.sync(() => recorder.record(name, recorder.now() - start)))
  })
}

/** The same for a phase that waits for nothing and so needs no effect. Whatever the check throws is thrown on. */
export const during = <A, E>(
  fiber: RequestFiber,
  name: string,
  check: () => Result.Result<A, E>
): Result.Result<A, E> => {
  if (fiber.getRef(Timing) === null && !isTraced(fiber)) return check()
  const effect = phase(fiber, name, Effect.suspend(() => Effect.fromResult(check())))
  const exit = Effect.runSyncExitWith(fiber.context)(Effect.result(effect))
  if (Exit.isSuccess(exit)) return exit.value
  throw Cause.squash(exit.cause)
}

/** Whether a tracer is installed. */
export const isTraced = (fiber: RequestFiber): boolean =>
  fiber.cache.tracer !== undefined && fiber.cache.tracer !== Tracer.nativeTracer

/** The clock of the running request. */
export const clockOf = (fiber: RequestFiber): Clock.Clock => fiber.getRef(Clock.Clock)

/** Asks the clock of the running request. */
export const fromClock = <A>(ask: (clock: Clock.Clock) => A): Effect.Effect<A> =>
  Effect.withFiber((fiber) => Effect.succeed(ask(clockOf(fiber))))
