/**
 * The records contract: what the database refuses and when, what hooks get, and what an answer may hold at most. Which columns a constraint is about is told
 * for who may read their fields.
 */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { describe, expect } from "vitest"
import { always } from "../../core/domain/filter/tree.ts"
import type { Model } from "../../core/domain/model/model.ts"
import { RecordsError } from "../../core/ports/records.ts"
import type { RecordsTransaction } from "../../core/ports/records.ts"
import {
  answerBytes,
  bindings,
  equals,
  expectReason,
  f,
  insert,
  order,
  reasonOf,
  type RecordsTest,
  remove,
  s,
  shapeOf,
  shelves,
  things,
  update,
  type Values,
  type Words
} from "./records-tables.ts"

export const constraintSuite = (test: RecordsTest): void => {
  const add = (tx: RecordsTransaction, values: Values) => insert(tx, shelves, { tenant_id: "1", ...values })
  const count = ({ records }: Words, model: Model = shelves) =>
    records.count({ model, where: always, bindings, cap: null })
  /** A thing, and a shelf with a spot, a label and that thing. */
  const filled = ({ inTransaction, store }: Words) =>
    Effect.andThen(
      store([{}, {}]),
      inTransaction((tx) => add(tx, { code: "a", spot: "1", qty: "1", thing: "1", label: "One" }))
    )
  const setSpot = (tx: RecordsTransaction, code: string, spot: string) =>
    tx.update({ model: shelves, key: [code], set: [[s("spot"), spot]], touch: true, columns: [], checks: [], bindings })

  describe("constraints", () => {
    const refused: ReadonlyArray<
      readonly [what: string, values: Values, reason: string, columns: readonly string[] | undefined]
    > = [
      ["a taken key", { code: "a" }, "Unique", ["code", "tenant_id"]],
      ["a missing value", { code: "b", tenant_id: null }, "NotNull", ["tenant_id"]],
      ["a value that breaks a rule", { code: "b", qty: "-1" }, "Check", ["qty"]],
      ["what is nowhere", { code: "b", thing: "9" }, "ForeignKey", ["thing"]],
      ["what is taken by an expression", { code: "b", label: "oNE" }, "Unique", undefined],
      ["a number that is out of range", { code: "b", qty: "2147483648" }, "BadValue", undefined],
      ["a text that is none", { code: "b", label: "a\0b" }, "BadValue", undefined]
    ]
    test.each(refused)("refuse %s in an insert, and name its columns", function*([, values, reason, columns], words) {
      yield* filled(words)
      for (const transaction of [words.inTransaction, words.alone]) {
        const error = yield* Effect.flip(transaction((tx) => add(tx, values)))
        expect(error).toBeInstanceOf(RecordsError)
        expect([error.reason._tag, error.columns?.toSorted()]).toEqual([reason, columns])
        expect(yield* count(words)).toBe("1")
      }
    })

    test.each(refused)(
      "refuse %s in a change, and name its columns",
      function*([, given, reason, columns], words) {
        yield* filled(words)
        yield* words.inTransaction((tx) => add(tx, { code: "c" }))
        const values = Object.entries(given).filter(([name]) => name !== "code")
        const moved = values.length === 0 ? [["code", "a"] as const] : values
        const set = moved.map(([name, value]) => [s(name), value] as const)
        for (const transaction of [words.inTransaction, words.alone]) {
          const error = yield* Effect.flip(
            transaction((tx) =>
              tx.update({ model: shelves, key: ["c"], set, touch: true, columns: [], checks: [], bindings })
            )
          )
          expect([error.reason._tag, error.columns?.toSorted()]).toEqual([reason, columns])
        }
      }
    )

    test("refuse to remove what another row holds, and name no columns of another table", function*(words) {
      yield* filled(words)
      for (
        const change of [
          (tx: RecordsTransaction) => remove(tx, "1"),
          (tx: RecordsTransaction) => update(tx, "1", { id: "7" })
        ]
      ) {
        const error = yield* Effect.flip(words.inTransaction(change))
        expect([error.reason._tag, error.columns]).toEqual(["ForeignKey", undefined])
      }
      yield* words.inTransaction((tx) => remove(tx, "2"))
      expect(yield* count(words, things)).toBe("1")
    })

    test("let one of two through that take the same at once", function*({ inTransaction }) {
      const make = (label: string, code: string) => reasonOf(inTransaction((tx) => add(tx, { code, label })))
      for (const [mine, theirs] of [["a", "a"], ["b", "c"]] as const) {
        const ended = yield* Effect.all([make(mine, mine), make(mine, theirs)], { concurrency: 2 })
        expect(new Set(ended)).toEqual(new Set(["Unique", "success"]))
      }
    })
  })

  describe("deferred constraints", () => {
    /** What no commit may leave behind. */
    const broken: ReadonlyArray<
      readonly [reason: string, write: (tx: RecordsTransaction) => Effect.Effect<unknown, RecordsError>]
    > = [
      ["Unique", (tx) => add(tx, { code: "b", spot: "1" })],
      ["Unique", (tx) => Effect.andThen(add(tx, { code: "b", spot: "2" }), setSpot(tx, "b", "1"))],
      ["ForeignKey", (tx) => add(tx, { code: "b", late: "9" })]
    ]

    test("are checked at the commit, which then fails and leaves nothing", function*(words) {
      yield* filled(words)
      for (const [reason, write] of broken) {
        let reached = false
        yield* expectReason(
          reason,
          words.inTransaction((tx) =>
            Effect.map(write(tx), () => {
              reached = true
            })
          )
        )
        expect(reached).toBe(true)
        expect(yield* count(words)).toBe("1")
      }
    })

    test("refuse nothing that is right at the commit", function*(words) {
      yield* filled(words)
      yield* words.inTransaction((tx) =>
        Effect.gen(function*() {
          yield* add(tx, { code: "b", spot: "1", late: "5" })
          yield* setSpot(tx, "a", "2")
          yield* insert(tx, things, { id: "5", tenant_id: "1", status: "x" })
        })
      )
      expect(yield* count(words)).toBe("2")
    })

    test("are found before the commit by who asks", function*(words) {
      yield* filled(words)
      for (const [reason, write] of broken) {
        const asked = words.inTransaction((tx) =>
          Effect.gen(function*() {
            yield* write(tx)
            expect(yield* reasonOf(tx.checkDeferred)).toBe(reason)
            return yield* Effect.fail("undone" as const)
          })
        )
        expect(yield* Effect.exit(asked)).toEqual(Exit.fail("undone"))
        // As a dry run does: nothing comes after it.
        let after = false
        yield* expectReason(
          reason,
          words.inTransaction((tx) =>
            Effect.andThen(
              Effect.andThen(write(tx), tx.checkDeferred),
              Effect.sync(() => {
                after = true
              })
            )
          )
        )
        expect([after, yield* count(words)]).toEqual([false, "1"])
      }
    })

    test("are asked for within a savepoint, which alone is undone", function*(words) {
      yield* filled(words)
      yield* words.inTransaction((tx) =>
        Effect.gen(function*() {
          for (const [reason, write] of broken) {
            expect(yield* reasonOf(tx.savepoint(Effect.andThen(write(tx), tx.checkDeferred)))).toBe(reason)
          }
          yield* tx.savepoint(Effect.andThen(add(tx, { code: "kept", spot: "3" }), tx.checkDeferred))
        })
      )
      expect(yield* count(words)).toBe("2")
    })

    test("let the transaction go on where they hold", function*(words) {
      yield* filled(words)
      yield* words.inTransaction((tx) =>
        Effect.gen(function*() {
          yield* tx.checkDeferred
          yield* add(tx, { code: "b", spot: "2" })
          yield* tx.checkDeferred
          yield* add(tx, { code: "c", spot: "3", late: "1" })
        })
      )
      expect(yield* count(words)).toBe("3")
    })

    test("are checked for a write that stands alone, which leaves nothing", function*(words) {
      yield* filled(words)
      yield* expectReason("Unique", words.alone((tx) => add(tx, { code: "b", spot: "1" })))
      yield* expectReason("ForeignKey", words.alone((tx) => add(tx, { code: "b", late: "9" })))
      expect(yield* count(words)).toBe("1")
    })
  })

  describe("the handle of a transaction", () => {
    test(
      "sees what the transaction wrote, and writes what it sees",
      function*({ byHandle, inTransaction, store, stored }) {
        yield* store([{ name: "old" }])
        yield* inTransaction((tx) =>
          Effect.gen(function*() {
            yield* update(tx, "1", { name: "new" })
            const { nameOf, rename } = byHandle(tx.handle)
            expect(yield* nameOf("1")).toBe("new")
            yield* rename("1", "by a hook")
            expect(yield* tx.passes({ model: things, key: ["1"], tree: equals(f("name"), "by a hook"), bindings }))
              .toBe(true)
            expect((yield* stored("1"))!["name"]).toBe("old")
          })
        )
        expect((yield* stored("1"))!["name"]).toBe("by a hook")
      }
    )

    test("is undone with the transaction, and with a savepoint", function*({ byHandle, inTransaction, store, stored }) {
      yield* store([{ name: "old" }])
      const rename = (tx: RecordsTransaction) => byHandle(tx.handle).rename("1", "lost")
      const undone = inTransaction((tx) => Effect.andThen(rename(tx), Effect.fail("no")))
      expect(yield* Effect.exit(undone)).toEqual(Exit.fail("no"))
      yield* inTransaction((tx) => Effect.ignore(tx.savepoint(Effect.andThen(rename(tx), Effect.fail("no")))))
      expect((yield* stored("1"))!["name"]).toBe("old")
    })

    test("ends with the transaction, however that ends", function*({ byHandle, inTransaction, store, stored }) {
      yield* store([{ name: "old" }])
      const handles: unknown[] = []
      const keep = (tx: RecordsTransaction) => Effect.sync(() => void handles.push(tx.handle))
      yield* inTransaction(keep)
      yield* Effect.exit(inTransaction((tx) => Effect.andThen(keep(tx), Effect.fail("no"))))
      for (const handle of handles) {
        expect(Exit.isFailure(yield* Effect.exit(byHandle(handle).rename("1", "late")))).toBe(true)
      }
      expect((yield* stored("1"))!["name"]).toBe("old")
    })
  })

  describe("an answer", () => {
    // Of six such cells, as two rows of three, an answer is too long; of three it is not.
    const most = Math.ceil(answerBytes / 6) + 1
    const columns = [f("name"), f("name"), f("name")]
    const long = ["a", "b"].map((letter) => letter.repeat(most))

    test("is refused where its rows are too long, and may be read in part", function*({ records, store }) {
      yield* store(long.map((name) => ({ name })))
      const shape = shapeOf(order("id"), { columns })
      yield* expectReason("TooLarge", records.page({ shape, bindings }))
      const { cut, rows } = yield* records.pageWithin({ shape, bindings }, answerBytes)
      expect([rows.map((row) => row[0]![0]), cut]).toEqual([["a"], true])
    })

    test("that is too long undoes the write that it is of", function*({ inTransaction, records }) {
      const fields = [f("tenant_id"), f("status"), f("name")]
      const rows = long.map((name) => ["1", "x", name])
      yield* expectReason(
        "TooLarge",
        inTransaction((tx) => tx.insert({ model: things, fields, rows, columns, checks: [], bindings }))
      )
      expect(yield* records.count({ model: things, where: always, bindings, cap: null })).toBe("0")
    })
  })

  describe("the planner", () => {
    test("estimates every kind of plan without running it", function*({ records, store }) {
      yield* store([{}])
      const facets = { of: "facets", model: things, field: f("name"), where: always, limit: 9, bindings } as const
      const page = { shape: shapeOf(order("id")), bindings }
      for (const plan of [page, { model: things, where: always, bindings, cap: null }, facets]) {
        const estimate = yield* records.estimate(plan)
        expect(estimate.cost).toBeGreaterThan(0)
        expect(estimate.processes).toBeGreaterThanOrEqual(1)
        for (const size of [estimate.rows, estimate.scannedRows, estimate.scannedBytes]) {
          expect(size).toBeGreaterThanOrEqual(0)
        }
      }
    })

    test("knows which columns an index begins with", function*({ records }) {
      const known = (names: readonly string[], method: "btree" | "gin" = "btree", partial = false) =>
        records.indexed({ model: things, columns: names.map(f), method, partial })
      expect(yield* known(["id"])).toBe(true)
      expect(yield* known(["status"])).toBe(true)
      expect(yield* known(["status", "qty"])).toBe(true)
      expect(yield* known(["qty"])).toBe(false)
      expect(yield* known(["qty", "status"])).toBe(false)
      expect(yield* known(["status", "qty", "id"])).toBe(false)
      expect(yield* known(["status"], "gin")).toBe(false)
      expect(yield* known(["data"], "gin")).toBe(true)
      expect(yield* known(["data"])).toBe(false)
      expect(yield* known([])).toBe(false)
      expect([yield* known(["total"]), yield* known(["total"], "btree", true)]).toEqual([false, true])
    })

    test("answers a ping", function*({ records }) {
      yield* records.ping
    })
  })
}
