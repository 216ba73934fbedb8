/** Full counts run beside the answers, a few at once, and none is left over by a request that goes away. */

import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { always, type Way } from "../../domain/filter/tree.ts"
import type { Model } from "../../domain/model/model.ts"
import type { CountPlan } from "../../domain/read/plan.ts"
import { RecordsError } from "../../ports/records.ts"
import type { Core } from "./core.ts"
import { counting, countRows, RowEstimates, uncounted } from "./estimate.ts"

const model = { name: "things" } as Model
const plan = {
  model,
  where: always,
  bindings: { caller: { id: "1", roles: [], tenant: null, claims: {} }, now: 0n, params: [] }
} as unknown as Omit<CountPlan, "cap">

/** More rows than are counted at once, and full counts that end when they are told to. */
const many = () => {
  const ends = Deferred.makeUnsafe<void>()
  const estimates = new RowEstimates()
  const full = { started: 0 }
  const count = ({ cap }: CountPlan) =>
    cap !== null ? Effect.succeed("10001") : Effect.suspend(() => {
      full.started++
      return Effect.as(Deferred.await(ends), "123456")
    })
  const core = { estimates, records: { count } } as unknown as Core
  return { ends, estimates, full, rows: (key: string) => countRows(core, key, plan) }
}

/** Lets forked fibers run. */
const others = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

describe("the estimate of a list's rows", () => {
  it.effect("is counted in full twice at once at the most, and then for others", () =>
    Effect.gen(function*() {
      const { ends, estimates, full, rows } = many()
      for (const key of ["a", "b", "c"]) expect(yield* rows(key)).toBe(counting)
      yield* others
      expect(full.started).toBe(2)
      yield* Deferred.succeed(ends, undefined)
      yield* rows("d")
      yield* others
      expect(["a", "b", "c", "d"].map((key) => estimates.entries.get(key)?.size))
        .toEqual([120_000, 120_000, counting, 120_000])
    }))

  it.effect("leaves no count behind of a request that is interrupted between any two steps", () =>
    Effect.gen(function*() {
      const { ends, estimates, full, rows } = many()
      yield* Deferred.succeed(ends, undefined)
      // A fiber gives way to others after 2,048 steps, wherever it is then.
      const after = (steps: number): Effect.Effect<unknown, unknown> =>
        Effect.suspend(() => steps === 0 ? rows("a") : after(steps - 1))
      for (let steps = 2_030; steps < 2_050; steps++) {
        yield* Fiber.interrupt(yield* Effect.forkDetach(after(steps), { startImmediately: true }))
        yield* others
      }
      expect(full.started).toBeGreaterThan(0)
      expect(estimates.running).toBe(0)
    }))
})

describe("a count that has little time", () => {
  const hurried = (rows: string, allowed: boolean) => {
    const estimates = new RowEstimates()
    const asked: Array<number | undefined> = []
    const count = ({ within }: CountPlan) =>
      Effect.suspend(() => {
        asked.push(within)
        return within === undefined
          ? Effect.succeed(rows)
          : Effect.fail(new RecordsError({ reason: { _tag: "Timeout" } }))
      })
    const core = { estimates, records: { count } } as unknown as Core
    const hurry = { within: 60, full: () => Effect.succeed(allowed) }
    return { asked, estimates, rows: countRows(core, "q", plan, hurry) }
  }

  it.effect("is made in full behind the answer, where that is no more than an aggregate costs", () =>
    Effect.gen(function*() {
      const { asked, estimates, rows } = hurried("7", true)
      expect(yield* rows).toBe(uncounted)
      yield* others
      expect([asked, estimates.entries.get("q")?.size]).toEqual([[60, undefined], 7])
    }))

  it.effect("is not made elsewhere", () =>
    Effect.gen(function*() {
      const { asked, estimates, rows } = hurried("7", false)
      expect(yield* rows).toBe(uncounted)
      yield* others
      expect([asked, estimates.entries.get("q")?.size]).toEqual([[60], uncounted])
    }))

  it("is stale once what it looked at was written", () => {
    const estimates = new RowEstimates()
    const target = { name: "lines" } as Model
    const way = { model: target, rows: always } as unknown as Way
    const through = { model, where: { op: "some", way, item: always } as const }
    estimates.touch("lines")
    expect([estimates.written(through), estimates.written(plan)]).toEqual([1, 0])
  })
})
