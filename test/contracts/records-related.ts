/** The records contract: rows of several values at once. */

import * as Effect from "effect/Effect"
import { describe, expect } from "vitest"
import { allOf, always, not } from "../../core/domain/filter/tree.ts"
import type { FilterTree } from "../../core/domain/filter/tree.ts"
import type { PageShape, RelatedPlan } from "../../core/domain/read/plan.ts"
import type { Row } from "../../core/domain/value/kind.ts"
import { relatedOf } from "../fakes/reader.ts"
import { Random } from "../generators/random.ts"
import { cases, seed } from "../support/depth.ts"
import { bindings, equals, f, order, reasonOf, type RecordsTest, shapeOf, things } from "./records-tables.ts"

const each = { of: "each" } as const
const counts = { of: "counts" } as const

/** Answers whose rows come in any order are compared sorted. */
const byText = (a: readonly unknown[], b: readonly unknown[]): number => String(a).localeCompare(String(b))

export const relatedSuite = (test: RecordsTest): void => {
  describe("related", () => {
    const plan = (keys: readonly string[], how: RelatedPlan["how"], parts: Partial<PageShape> = {}): RelatedPlan => ({
      shape: shapeOf(order("id"), { columns: [f("id")], ...parts }),
      to: f("qty"),
      keys,
      how,
      bindings
    })
    const children = (depth: number): RelatedPlan["how"] => ({ of: "tree", from: f("id"), depth })
    const rows = [
      { qty: null, name: "root" },
      { qty: "1", name: "a" },
      { qty: "1", name: "b" },
      { qty: "1", name: "c" },
      { qty: "2", name: "d" },
      { qty: "5", name: "e" },
      { qty: "7", name: "itself" },
      { qty: "9", name: "one of two" },
      { qty: "8", name: "the other" }
    ]

    test("gives the first rows of each value, with the place of the value", function*({ records, store }) {
      yield* store(rows)
      const answer = yield* records.related(plan(["2", "1", "99"], each, { limit: 2, order: order("-name", "id") }))
      expect(answer.toSorted((a, b) => Number(a[1]) - Number(b[1]))).toEqual([["5", "0"], ["4", "1"], ["3", "1"]])
      const some = plan(["2", "1"], each, { where: not(equals(f("name"), "c")), order: order("-name", "id"), limit: 1 })
      expect((yield* records.related(some)).toSorted(byText)).toEqual([["3", "1"], ["5", "0"]])
    })

    test("adds checks and the hash to the row, before the place", function*({ records, store }) {
      yield* store(rows)
      const shape = { columns: [f("id"), f("updated_at")], checks: [equals(f("name"), "a")], hashed: [f("name")] }
      const [page, answer] = yield* Effect.all([
        records.page({ shape: shapeOf(order("id"), { ...shape, where: equals(f("qty"), "1") }), bindings }),
        records.related(plan(["1"], each, shape))
      ])
      expect(answer).toEqual(page.map((row) => [...row, "0"]))
    })

    test("counts the rows of each value, also where there are none", function*({ records, store }) {
      yield* store(rows)
      const answer = yield* records.related(plan(["1", "99", "2"], counts))
      expect(answer.toSorted(byText)).toEqual([["0", "3"], ["1", "0"], ["2", "1"]])
      const some = plan(["1"], counts, { where: not(equals(f("name"), "c")) })
      expect(yield* records.related(some)).toEqual([["0", "2"]])
    })

    test("pairs by the value and not by its text", function*({ records, store }) {
      yield* store([{ total: "1.50" }, { total: "2.00" }, { name: "a " }, { name: "a" }, { name: "A" }])
      const totals = { ...plan(["1.5", "1.50", "2"], each), to: f("total") }
      expect((yield* records.related(totals)).toSorted(byText)).toEqual([["1", "0"], ["1", "1"], ["2", "2"]])
      const names = { ...plan(["a ", "a", "\"{,\\'"], each), to: f("name") }
      expect((yield* records.related(names)).toSorted(byText)).toEqual([["3", "0"], ["4", "1"]])
    })

    test("walks down a tree, level by level", function*({ records, store }) {
      yield* store(rows)
      const answer = yield* records.related(plan(["1"], children(3), { limit: 100 }))
      expect(answer).toEqual([
        ["2", "0", "1"],
        ["3", "0", "1"],
        ["4", "0", "1"],
        ["5", "2", "2"],
        ["6", "5", "3"]
      ])
      expect(yield* records.related(plan(["1"], children(1), { limit: 100 }))).toEqual(answer.slice(0, 3))
      expect(yield* records.related(plan(["1"], children(3), { limit: 4 }))).toHaveLength(4)
    })

    test("walks up a tree, and meets an ancestor of several once", function*({ records, store }) {
      yield* store(rows)
      const up = { ...plan(["5", "6", "2"], { of: "tree", from: f("qty"), depth: 9 }, { limit: 100 }), to: f("id") }
      expect(yield* records.related(up)).toEqual([
        ["2", "2", "1"],
        ["5", "0", "1"],
        ["6", "1", "1"],
        ["1", "1", "2"],
        ["2", "2", "2"],
        ["5", "5", "2"],
        ["1", "1", "3"],
        ["2", "2", "3"],
        ["1", "1", "4"]
      ])
    })

    test("ends in a circle, where each row comes once a level", function*({ records, store }) {
      yield* store(rows)
      const answer = yield* records.related(plan(["7", "8"], children(4), { limit: 100 }))
      const found = answer.map(([id, , level]) => `${id}:${level}`)
      expect(found).toEqual(["7:1", "9:1", "7:2", "8:2", "7:3", "9:3", "7:4", "8:4"])
    })

    test("finds nothing below a row that does not pass", function*({ records, store }) {
      yield* store(rows)
      const where = not(equals(f("name"), "d"))
      const answer = yield* records.related(plan(["1"], children(9), { limit: 100, where }))
      expect(answer.map(([id]) => id)).toEqual(["2", "3", "4"])
    })

    test("judges without running, and fails where the rows are too large", function*({ records, store }) {
      yield* store(Array.from({ length: 12 }, () => ({ qty: "1", name: "x".repeat(1_100_000) })))
      for (const how of [each, counts, children(3)]) {
        expect((yield* records.estimate(plan(["1", "2"], how))).cost).toBeGreaterThanOrEqual(0)
      }
      const large = plan(["1"], each, { columns: [f("name")], limit: 100 })
      expect(yield* reasonOf(records.related(large))).toBe("TooLarge")
    })

    const wheres: readonly FilterTree[] = [
      always,
      equals(f("status"), "new"),
      not(equals(f("status"), "new")),
      { op: "null", field: f("name") },
      allOf([not({ op: "null", field: f("name") }), not(equals(f("name"), "a"))])
    ]
    const orders = ["id", "-id", "name,id", "-name,-id", "status,-name,id"].map((names) => order(...names.split(",")))

    const few = Array.from({ length: cases(200) }, (_, i) => seed * 1_000 + i)
    test.each(few)("gives what rows in memory give, seed %i", function*(each, { records, store }) {
      const random = new Random(each)
      const ids = Array.from({ length: random.below(25) }, (_, i) => String(i + 1))
      const maybe = (choices: readonly string[]) => random.chance(4) ? null : random.pick(choices)
      yield* store(ids.map((id) => ({
        id,
        qty: maybe([...ids, "99"]),
        name: maybe(["a", "b", ""]),
        status: random.pick(["new", "paid"])
      })))
      const stored = yield* records.page({
        shape: shapeOf(order("id"), { columns: things.columns, limit: 100 }),
        bindings
      })
      for (let i = 0; i < 8; i++) {
        const asked: RelatedPlan = {
          ...plan(
            random.some([...ids, "0", "99"]),
            random.one<RelatedPlan["how"]>(
              () => ({ of: "each" }),
              () => counts,
              () => children(1 + random.below(5)),
              () => ({ of: "tree", from: f("qty"), depth: 1 + random.below(5) })
            ),
            {
              columns: [f("id"), f("name"), f("updated_at")],
              where: random.pick(wheres),
              order: random.pick(orders)
            }
          ),
          to: random.one(() => f("qty"), () => f("id"))
        }
        const limit = asked.how.of === "tree" ? 5_000 : 1 + random.below(4)
        const wanted = { ...asked, shape: { ...asked.shape, limit } }
        // Rows of one value, or of one level below one row, come in order; the others in any.
        const grouped = (answer: readonly Row[]) =>
          Object.entries(Object.groupBy(answer, (row) =>
            wanted.how.of === "counts"
              ? row[0]!
              : wanted.how.of === "each"
              ? row.at(-1)!
              : row.slice(-2).join(" "))).toSorted(byText)
        const expected = grouped(relatedOf(wanted, stored, () => []))
        // What is asked again and again may be answered by another plan.
        for (let again = 0; again < (i === 0 ? 8 : 1); again++) {
          expect(grouped(yield* records.related(wanted))).toEqual(expected)
        }
      }
    })
  })
}
