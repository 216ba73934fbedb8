/**
 * The named phases of a use case (`list.parse`, `list.execute`, ...). One call marks a phase for both readers: the per-request recorder
 * behind `Server-Timing` and the tracer. It has no clock of its own and costs one field read when neither is there.
 */

import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Result from "effect/Result"
import * as Tracer from "effect/Tracer"

/** Collects the phases of one request. */
export interface TimingRecorder {
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** Called when a phase ends, however it ended; a phase that runs twice is recorded twice. */
  readonly record: (phase: string, milliseconds: number) => void
}

/** The recorder of the running request; null (the default) when nobody asked. The edge provides it. */
export const Timing = Context.Reference<TimingRecorder | null>("resource-admin/app/Timing", {
  defaultValue: () => null
})

/**
 * Runs the effect as the named phase: recorded when the request is timed, a span of that name when a tracer is installed.
 * Names are HTTP tokens, for they go into `Server-Timing` as they are.
 */
export const phase = (name: string) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => observed(fiber, name, effect))

/** The same for a phase that waits for nothing: the check runs within it. */
export const checked = (name: string) => <A, E>(check: () => Result.Result<A, E>): Effect.Effect<A, E> =>
  Effect.withFiber((fiber) =>
    fiber.getRef(Timing) === null && !isTraced(fiber)
      ? Effect.fromResult(check())
      : observed(fiber, name, Effect.suspend(() => Effect.fromResult(check())))
  )

/** Whether a tracer is installed. */
export const isTraced = ({ cache: { tracer } }: Fiber.Fiber<unknown, unknown>): boolean =>
  tracer !== undefined && tracer !== Tracer.nativeTracer

const observed = <A, E, R>(
  fiber: Fiber.Fiber<unknown, unknown>,
  name: string,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const recorder = fiber.getRef(Timing)
  const traced = isTraced(fiber) ? Effect.withSpan(effect, name, { captureStackTrace: false }) : effect
  if (recorder === null) return traced
  const start = recorder.now()
  return Effect.ensuring(traced, Effect.sync(() => recorder.record(name, recorder.now() - start)))
}

/** Asks the clock of the running request. */
export const fromClock = <A>(ask: (clock: Clock.Clock) => A): Effect.Effect<A> =>
  Effect.withFiber((fiber) => Effect.succeed(ask(fiber.getRef(Clock.Clock))))
