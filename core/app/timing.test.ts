/** Phases are recorded with the time that passes in them, on a clock that only moves when it is told to. */

import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Tracer from "effect/Tracer"
import { describe, expect, it } from "vitest"
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
    run: <A, E>(effect: Effect.Effect<A, E>) => Effect.runSyncExitWith(Context.make(Timing, recorder))(effect)
  }
}

describe("a phase", () => {
  it("that only checks is timed while it checks, whether it agrees or not", () => {
    const { recorded, run, takes } = timed()
    const check = (answer: Result.Result<string, string>) =>
      Effect.withFiber((fiber) =>
        Effect.fromResult(during(fiber, "list.parse", () => {
          takes(3)
          return answer
        }))
      )
    expect(run(check(Result.succeed("yes")))).toMatchObject({ _tag: "Success", value: "yes" })
    expect(run(check(Result.fail("no")))._tag).toBe("Failure")
    expect(recorded).toEqual([["list.parse", 3], ["list.parse", 3]])
  })

  it("that waits is timed from its start to its end", () => {
    const { recorded, run, takes } = timed()
    run(Effect.withFiber((fiber) => phase(fiber, "list.execute", Effect.sync(() => takes(5)))))
    expect(recorded).toEqual([["list.execute", 5]])
  })

  it("checks as well when nobody asked for times", () => {
    const check = Effect.withFiber((fiber) => Effect.fromResult(during(fiber, "list.parse", () => Result.succeed(1))))
    expect(Effect.runSync(check)).toBe(1)
  })

  it("lets through what its check throws, and is timed all the same", () => {
    const { recorded, run, takes } = timed()
    const broken = new Error("broken")
    const check = Effect.withFiber((fiber) =>
      Effect.fromResult(during(fiber, "list.parse", (): Result.Result<never> => {
        takes(2)
        throw broken
      }))
    )
    const exit = run(check)
    expect(exit._tag === "Failure" && Cause.squash(exit.cause)).toBe(broken)
    expect(recorded).toEqual([["list.parse", 2]])
  })

  it("is a span of the request's where there is a tracer", () => {
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
    expect(Effect.runSync(Effect.provideService(request, Tracer.Tracer, tracer))).toBe(1)
    expect(spans).toEqual([["HTTP GET", undefined], ["list.parse", "HTTP GET"]])
  })
})
