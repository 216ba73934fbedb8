/** Phases are recorded with the time that passes in them, on a clock that only moves when it is told to. */

import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Tracer from "effect/Tracer"
import { during, phase, Timing } from "./timing.ts"

const timed = () => {
  let now = 0
  const recorded: Array<readonly [string, number]> = []
  const recorder = { now: () => now, record: (name: string, ms: number) => void recorded.push([name, ms]) }
  return {
    recorded,
    takes: (ms: number) => {
      now += ms
    },
    run: <A, E>(effect: Effect.Effect<A, E>) => Effect.exit(Effect.provideService(effect, Timing, recorder))
  }
}

describe("a phase", () => {
  it.effect("that only checks is timed while it checks, whether it agrees or not", () =>
    Effect.gen(function*() {
      const { recorded, run, takes } = timed()
      const check = (answer: Result.Result<string, string>) =>
        Effect.withFiber((fiber) =>
          Effect.fromResult(during(fiber, "list.parse", () => {
            takes(3)
            return answer
          }))
        )
      expect(yield* run(check(Result.succeed("yes")))).toMatchObject({ _tag: "Success", value: "yes" })
      expect((yield* run(check(Result.fail("no"))))._tag).toBe("Failure")
      expect(recorded).toEqual([["list.parse", 3], ["list.parse", 3]])
    }))

  it.effect("that waits is timed from its start to its end", () =>
    Effect.gen(function*() {
      const { recorded, run, takes } = timed()
      yield* run(Effect.withFiber((fiber) => phase(fiber, "list.execute", Effect.sync(() => takes(5)))))
      expect(recorded).toEqual([["list.execute", 5]])
    }))

  it.effect("checks as well when nobody asked for times", () =>
    Effect.gen(function*() {
      const check = Effect.withFiber((fiber) => Effect.fromResult(during(fiber, "list.parse", () => Result.succeed(1))))
      expect(yield* check).toBe(1)
    }))

  it.effect("lets through what its check throws, and is timed all the same", () =>
    Effect.gen(function*() {
      const { recorded, run, takes } = timed()
      const broken = new Error("broken")
      const check = Effect.withFiber((fiber) =>
        Effect.fromResult(during(fiber, "list.parse", (): Result.Result<never> => {
          takes(2)
          throw broken
        }))
      )
      const exit = yield* run(check)
      expect(exit._tag === "Failure" && Cause.squash(exit.cause)).toBe(broken)
      expect(recorded).toEqual([["list.parse", 2]])
    }))

  it.effect("is a span of the request's where there is a tracer", () =>
    Effect.gen(function*() {
      const spans: Array<readonly [name: string, parent: string | undefined]> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          const parent = Option.getOrUndefined(options.parent)
          spans.push([options.name, parent?._tag === "Span" ? parent.name : undefined])
          return span
        }
      })
      const check = Effect.withFiber((fiber) => Effect.fromResult(during(fiber, "list.parse", () => Result.succeed(1))))
      const request = Effect.withSpan(check, "HTTP GET")
      expect(yield* Effect.provideService(request, Tracer.Tracer, tracer)).toBe(1)
      expect(spans).toEqual([["HTTP GET", undefined], ["list.parse", "HTTP GET"]])
    }))
})
