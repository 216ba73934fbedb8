/** Phases are recorded with the time that passes in them, on a clock that only moves when it is told to. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { checked, phase, Timing } from "./timing.ts"

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
      checked("list.parse")(() => {
        takes(3)
        return answer
      })
    expect(run(check(Result.succeed("yes")))).toMatchObject({ _tag: "Success", value: "yes" })
    expect(run(check(Result.fail("no")))._tag).toBe("Failure")
    expect(recorded).toEqual([["list.parse", 3], ["list.parse", 3]])
  })

  it("that waits is timed from its start to its end", () => {
    const { recorded, run, takes } = timed()
    run(phase("list.execute")(Effect.sync(() => takes(5))))
    expect(recorded).toEqual([["list.execute", 5]])
  })

  it("checks as well when nobody asked for times", () => {
    expect(Effect.runSync(checked("list.parse")(() => Result.succeed(1)))).toBe(1)
  })
})
