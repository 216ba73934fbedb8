/** `:seek` goes the way that the planner finds shorter, and asks it now and then. */

import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { always } from "../../domain/filter/tree.ts"
import type { Model } from "../../domain/model/model.ts"
import type { CountPlan, PagePlan } from "../../domain/read/plan.ts"
import type { Core } from "../ground/core.ts"
import { makeJudgements } from "../ground/guard.ts"
import { planSeek } from "./seek.ts"

const first = (now = 0n): PagePlan => ({
  shape: { model: { name: "things" } as Model, columns: [], where: always, order: [], limit: 51, checks: [] },
  bindings: { caller: { id: "1", tenant: null }, now, params: [] }
})

/** A table of a million rows: what it costs to walk one of them, and to count them all. */
const table = (perRow: number, count: number, workers = 0) => {
  const judgements = makeJudgements()
  judgements.set("q", {
    rows: 1_000_000,
    scannedRows: 0,
    scannedBytes: 0,
    cost: 1,
    through: 1,
    processes: 1,
    at: 0n,
    limit: 51,
    way: null
  })
  const asked: Array<PagePlan | CountPlan> = []
  const estimate = (plan: PagePlan | CountPlan) =>
    Effect.sync(() => {
      asked.push(plan)
      const cost = "shape" in plan ? (plan.offset ?? 0) * perRow : count
      const processes = "shape" in plan ? 1 : 1 + workers
      return { cost, through: cost, processes, rows: 1, scannedRows: 0, scannedBytes: 0 }
    })
  const core = { judgements, records: { estimate } } as unknown as Core
  return { asked, ask: (offset: number, now = 0n) => planSeek(core, "q", first(now), offset) }
}

it.effect("walks from the nearer end where counting costs less than it saves", () =>
  Effect.gen(function*() {
    const { ask } = table(1, 100_000)
    expect(yield* ask(900_000)).toMatchObject({ offset: 900_000, fromEnd: true })
    expect((yield* ask(999_990)).fromEnd).toBe(true)
    for (const offset of [0, 1, 9_999, 100_000, 499_999, 1_000_000, 5_000_000]) {
      expect([offset, (yield* ask(offset)).fromEnd]).toEqual([offset, undefined])
    }
    // An index that has all that is asked for is walked faster than its rows are counted.
    expect((yield* table(0.01, 100_000).ask(900_000)).fromEnd).toBeUndefined()
    // Three processes that count at once work three times as much as their time says.
    expect((yield* table(0.5, 200_000).ask(900_000)).fromEnd).toBe(true)
    expect((yield* table(0.5, 200_000, 2).ask(900_000)).fromEnd).toBeUndefined()
  }))

it.effect("asks the planner once a minute for each part of the rows", () =>
  Effect.gen(function*() {
    const { ask, asked } = table(1, 100_000)
    for (const offset of [900_000, 900_050, 950_000]) yield* ask(offset)
    expect(asked).toHaveLength(3)
    expect(asked[2]).toMatchObject({ before: [], offset: 1_000_000 - 900_000 - 51 })
    yield* ask(700_000)
    yield* ask(900_000, 59_000_000n)
    expect(asked).toHaveLength(6)
    yield* ask(900_000, 61_000_000n)
    expect(asked).toHaveLength(9)
  }))
