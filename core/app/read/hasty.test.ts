import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { describe } from "vitest"
import { makeModel } from "../../../test/support/model.ts"
import type { Access } from "../../domain/access/access.ts"
import type { FilterTree } from "../../domain/filter/tree.ts"
import { always } from "../../domain/filter/tree.ts"
import type { ScanGuard } from "../../domain/read/guard.ts"
import type { PagePlan } from "../../domain/read/plan.ts"
import type { PlanEstimate } from "../../ports/records.ts"
import { RecordsError } from "../../ports/records.ts"
import { guardPlan, makeJudgements } from "../ground/guard.ts"
import { judgedPage, laterPage } from "./hasty.ts"

const orders = makeModel({ name: "orders", fields: [{ name: "id", kind: "integer" }] })
const lines = makeModel({
  name: "lines",
  tenant: "tenant_id",
  fields: [{ name: "order_id", kind: "integer" }, { name: "quantity", kind: "integer" }]
})
const relation = { name: "lines", target: "lines", many: true, from: orders.key[0]!, to: "order_id" }
const some: FilterTree = {
  op: "some",
  way: { relation, model: lines, to: lines.byName.get("order_id")!, rows: always },
  item: always
}

/** A database whose walks and whole reads end in time or not. */
const database = (
  { costs = {}, held = false, indexed = true, mode = "reject", slow }: {
    readonly slow: ReadonlyArray<"walk" | "whole">
    readonly costs?: { readonly walk?: number; readonly whole?: number; readonly through?: number }
    /** Whether it does not even plan the whole read in time. */
    readonly held?: boolean
    readonly indexed?: boolean
    readonly mode?: ScanGuard["mode"]
  }
) => {
  const asked: string[] = []
  const { through = 1_000_000, walk = 10, whole = 5_000 } = costs
  const cut = new RecordsError({ reason: { _tag: "Timeout" } })
  const records = {
    estimate: (plan: object): Effect.Effect<PlanEstimate, RecordsError> =>
      held && "whole" in plan ? Effect.fail(cut) : Effect.succeed({
        cost: "whole" in plan ? whole : walk,
        through,
        rows: 5,
        scannedRows: 0,
        scannedBytes: 0,
        processes: 1
      }),
    indexed: () => Effect.succeed(indexed),
    page: (plan: PagePlan) =>
      Effect.suspend(() => {
        const way = plan.whole === true ? "whole" : "walk"
        asked.push(plan.within === undefined ? `${way}, unlimited` : way)
        return slow.includes(way) && plan.within !== undefined ? Effect.fail(cut) : Effect.succeed([["1"]])
      })
  }
  const core = {
    judgements: makeJudgements(),
    options: { scanGuard: { mode, seqScanRows: 10_000, aggregateRows: 1_000_000 } },
    records
  }
  const access = (roles: readonly string[]) =>
    ({
      caller: { id: "u", roles, tenant: "1" },
      model: orders,
      restricted: { fields: orders.fields }
    }) as unknown as Access
  const list = (filter: FilterTree = some, now = 0n, roles: readonly string[] = ["sales"]) => {
    const plan: PagePlan = {
      shape: { model: orders, columns: [], where: filter, order: [], limit: 51, checks: [] },
      bindings: { caller: { id: "u", tenant: "1" }, now, params: [] }
    }
    return Effect.flatMap(
      guardPlan(core, access(roles), "q", plan, filter, true),
      (warning) => Effect.map(judgedPage(core, access(roles), "q", plan, filter), (rows) => ({ rows, warning }))
    )
  }
  const ask = (...args: Parameters<typeof list>) =>
    Effect.map(Effect.result(list(...args)), (answer) => ({ answer, asked: asked.splice(0) }))
  const later = () => {
    const plan = { shape: { model: orders, where: some, limit: 51 }, after: ["1"] } as unknown as PagePlan
    return Effect.map(laterPage(core, "q", plan), (rows) => ({ rows, asked: asked.splice(0) }))
  }
  return { ask, later }
}

describe("a page through relations", () => {
  it.effect("is walked within little time", () =>
    Effect.gen(function*() {
      const { ask } = database({ slow: [] })
      expect((yield* ask()).asked).toEqual(["walk"])
    }))

  it.effect("is found whole where the walk is cut, and from then on", () =>
    Effect.gen(function*() {
      const { ask } = database({ slow: ["walk"] })
      const first = yield* ask()
      expect(first).toMatchObject({ answer: { success: { rows: [["1"]] } }, asked: ["walk", "whole"] })
      expect((yield* ask()).asked).toEqual(["whole"])
      // Also once the judgement is made again.
      expect((yield* ask(some, 120_000_000n)).asked).toEqual(["whole"])
    }))

  it.effect("has all time once its answer has begun", () =>
    Effect.gen(function*() {
      const { ask, later } = database({ slow: ["walk"] })
      expect((yield* later()).asked).toEqual(["walk, unlimited"])
      yield* ask()
      expect((yield* later()).asked).toEqual(["whole, unlimited"])
    }))

  it.effect("is refused where neither ends in time, or all rows would be too many", () =>
    Effect.gen(function*() {
      const refusal = (hint: string, suggestion?: string) => ({
        answer: {
          failure: {
            slug: "expensive-query",
            members: {
              errors: [{ code: "related-records", message: "The query would look at too many related records.", hint }],
              ...(suggestion === undefined ? {} : { suggestion })
            }
          }
        }
      })
      const narrow =
        "Narrow the filter by fields of the record itself, or raise options.scanGuard.seqScanRows, which is 10000."
      const slow = yield* database({ slow: ["walk", "whole"] }).ask()
      expect(slow).toMatchObject(refusal(narrow))
      expect(slow.asked).toEqual(["walk", "whole"])
      const costly = yield* database({ slow: ["walk"], costs: { whole: 20_001 } }).ask()
      expect(costly).toMatchObject(refusal(narrow))
      expect(costly.asked).toEqual(["walk"])
      const index = "create index on lines (order_id)"
      expect(yield* database({ slow: ["walk", "whole"], indexed: false }).ask()).toMatchObject(refusal(index, index))
      const whole = "create index on lines (order_id, tenant_id)"
      expect(yield* database({ slow: ["walk", "whole"], indexed: false }).ask(some, 0n, ["admin"]))
        .toMatchObject(refusal(whole, whole))
    }))

  it.effect("is not blamed where the database is held up", () =>
    Effect.gen(function*() {
      const { answer, asked } = yield* database({ slow: ["walk"], held: true }).ask()
      expect(answer).toMatchObject({ failure: { slug: "statement-timeout" } })
      expect(asked).toEqual(["walk"])
    }))

  it.effect("has all time where it is cheap to its end, where it goes through none, and where nothing is refused", () =>
    Effect.gen(function*() {
      const cheap = database({ slow: ["walk", "whole"], costs: { through: 200 } })
      expect((yield* cheap.ask()).asked).toEqual(["walk, unlimited"])
      expect((yield* database({ slow: ["walk"] }).ask(always)).asked).toEqual(["walk, unlimited"])
      const warned = yield* database({ slow: ["walk"], mode: "warn", costs: { walk: 1_001 } }).ask()
      expect(warned.asked).toEqual(["walk, unlimited"])
      expect(warned.answer).toMatchObject({ success: { warning: { "x-service-warning": "expensive-query" } } })
      expect((yield* database({ slow: ["walk"], mode: "off" }).ask()).asked).toEqual(["walk, unlimited"])
    }))
})

it.effect("an aggregate through relations is judged by its cost alone", () =>
  Effect.gen(function*() {
    const judged = (cost: number, where: FilterTree) => {
      const estimate = { cost, through: cost, rows: 5, scannedRows: 0, scannedBytes: 0, processes: 1 }
      const core = {
        judgements: makeJudgements(),
        options: { scanGuard: { mode: "reject", seqScanRows: 10_000, aggregateRows: 1_000_000 } as const },
        records: { estimate: () => Effect.succeed(estimate), indexed: () => Effect.succeed(false) }
      }
      const access = { caller: { id: "u", roles: [], tenant: "1" }, model: orders, restricted: { fields: [] } }
      const plan = {
        model: orders,
        where,
        bindings: { caller: { id: "u", tenant: "1" }, now: 0n, params: [] },
        cap: null
      }
      return Effect.result(guardPlan(core, access as unknown as Access, "q", plan, where))
    }
    expect(yield* judged(100_000, some)).toMatchObject({ _tag: "Success" })
    expect(yield* judged(100_001, some)).toMatchObject({ failure: { slug: "expensive-query" } })
    expect(yield* judged(100_001, always)).toMatchObject({ _tag: "Success" })
  }))
