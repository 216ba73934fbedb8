/** The records contract: where a key may be unique within each tenant only, it names a row of the caller's tenant. */

import * as Effect from "effect/Effect"
import { describe, expect } from "vitest"
import { always } from "../../core/domain/filter/tree.ts"
import type { Bindings } from "../../core/domain/filter/tree.ts"
import { bindings, equals, insert, reasonOf, type RecordsTest, s, shelves, type Words } from "./records-tables.ts"

const one = bindings
const two: Bindings = { ...bindings, caller: { id: "u2", tenant: "2" } }
const nobody: Bindings = { ...bindings, caller: { id: "u3", tenant: null } }

export const tenantSuite = (test: RecordsTest): void => {
  const filled = ({ inTransaction }: Words) =>
    inTransaction((tx) =>
      Effect.all([
        insert(tx, shelves, { code: "a", tenant_id: "1", qty: "1" }, one),
        insert(tx, shelves, { code: "a", tenant_id: "2", qty: "2" }, two),
        insert(tx, shelves, { code: "b", tenant_id: "2", qty: "3" }, two)
      ])
    )
  /** All rows: tenant, code and quantity. */
  const rows = ({ records }: Words) =>
    records.page({
      shape: {
        model: shelves,
        columns: [s("tenant_id"), s("code"), s("qty")],
        where: always,
        order: [{ field: s("tenant_id"), descending: false }, { field: s("code"), descending: false }],
        limit: 9,
        checks: []
      },
      bindings
    })

  describe("keys within a tenant", () => {
    test("are unique in it only", function*(words) {
      yield* filled(words)
      expect(yield* rows(words)).toEqual([["1", "a", "1"], ["2", "a", "2"], ["2", "b", "3"]])
      expect(yield* reasonOf(words.inTransaction((tx) => insert(tx, shelves, { code: "a", tenant_id: "2" }, two))))
        .toBe(
          "Unique"
        )
    })

    test("name the caller's row in a lock and a check, and none for who has no tenant", function*(words) {
      yield* filled(words)
      yield* words.inTransaction((tx) =>
        Effect.gen(function*() {
          for (const [by, qty] of [[one, "1"], [two, "2"], [nobody, null]] as const) {
            const target = { model: shelves, key: ["a"], bindings: by }
            const row = yield* tx.lock({ ...target, where: always, columns: [s("qty")], checks: [] })
            expect(row).toEqual(qty === null ? null : [qty])
            expect(yield* tx.passes({ ...target, tree: equals(s("qty"), qty ?? "1") })).toBe(qty !== null)
          }
          expect(yield* tx.passes({ model: shelves, key: ["b"], tree: always, bindings: one })).toBe(false)
        })
      )
    })

    test("name the caller's row in changes of one and of many", function*(words) {
      yield* filled(words)
      yield* words.inTransaction((tx) =>
        Effect.gen(function*() {
          const change = { model: shelves, touch: true, columns: [s("tenant_id")], checks: [] }
          const set = [[s("qty"), "10"]] as const
          expect(yield* tx.update({ ...change, key: ["a"], set, bindings: one })).toEqual(["1"])
          expect(yield* tx.update({ ...change, key: ["a"], set: [[s("qty"), "20"]], bindings: two })).toEqual(["2"])
        })
      )
      expect(yield* rows(words)).toEqual([["1", "a", "10"], ["2", "a", "20"], ["2", "b", "3"]])
      yield* words.inTransaction((tx) =>
        tx.updateAll({
          model: shelves,
          keys: [["b"], ["a"]],
          fields: [s("qty")],
          rows: [["30"], ["40"]],
          columns: [],
          checks: [],
          bindings: two
        })
      )
      expect(yield* rows(words)).toEqual([["1", "a", "10"], ["2", "a", "40"], ["2", "b", "30"]])
    })

    test("name the caller's row in removals of one and of many", function*(words) {
      yield* filled(words)
      yield* words.inTransaction((tx) => tx.remove({ model: shelves, key: ["a"], bindings: two }))
      expect(yield* rows(words)).toEqual([["1", "a", "1"], ["2", "b", "3"]])
      const foreign = words.inTransaction((tx) => tx.remove({ model: shelves, key: ["b"], bindings: one }))
      expect(yield* reasonOf(foreign)).not.toBe("success")
      yield* words.inTransaction((tx) => insert(tx, shelves, { code: "a", tenant_id: "2" }, two))
      yield* words.inTransaction((tx) => tx.removeAll({ model: shelves, keys: [["a"], ["b"]], bindings: two }))
      expect(yield* rows(words)).toEqual([["1", "a", "1"]])
    })
  })
}
