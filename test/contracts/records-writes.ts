/** The records contract: what a transaction writes, sees and undoes. */

import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { describe, expect } from "vitest"
import { always, not } from "../../core/domain/filter/tree.ts"
import type { FilterTree } from "../../core/domain/filter/tree.ts"
import type { Field } from "../../core/domain/model/model.ts"
import type { Cell } from "../../core/domain/value/kind.ts"
import type { RecordsTransaction } from "../../core/ports/records.ts"
import {
  bindings,
  equals,
  f,
  insert,
  literal,
  lock,
  order,
  pairs,
  reasonOf,
  type RecordsTest,
  remove,
  shapeOf,
  things,
  update
} from "./records-tables.ts"

export const writeSuite = (test: RecordsTest): void => {
  describe("transaction", () => {
    test(
      "inserts in order, fills in what is not given, and judges checks on the rows as written",
      function*({ inTransaction }) {
        const big: FilterTree = { op: "compare", field: f("qty"), is: ">", value: literal("5") }
        const rows = yield* inTransaction((tx) =>
          tx.insert({
            model: things,
            fields: [f("tenant_id"), f("status"), f("qty")],
            rows: [["1", "a", "9"], ["1", "b", null], ["1", "c", "2"]],
            columns: [f("status"), f("qty"), f("id"), f("updated_at")],
            checks: [big],
            bindings
          })
        )
        expect(rows.map((row) => [row[0], row[1], row[4]])).toEqual([["a", "9", "true"], ["b", null, "false"], [
          "c",
          "2",
          "false"
        ]])
        const given = rows.map((row) => BigInt(row[2]!))
        expect(given[1]! > given[0]! && given[2]! > given[1]!).toBe(true)
        expect(rows[0]![3]).toMatch(/Z$/)
      }
    )

    test("inserts no rows, and refuses rows without what has no default", function*({ inTransaction }) {
      const insertAll = (rows: ReadonlyArray<readonly Cell[]>) =>
        inTransaction((tx) =>
          tx.insert({ model: pairs, fields: [], rows, columns: pairs.columns, checks: [], bindings })
        )
      expect(yield* insertAll([])).toEqual([])
      expect(yield* reasonOf(insertAll([[], []]))).toMatch(/^(NotNull|Unique)$/)
    })

    test(
      "says which texts a column holds up to their first question mark, of every tenant, deleted or not",
      function*({ inTransaction, store }) {
        yield* store([
          { name: "private:1/a.pdf?name=a.pdf&size=1", tenant_id: "1" },
          { name: "private:2/b.pdf?name=b.pdf&size=1", tenant_id: "2" },
          { name: "private:1/gone.pdf?name=g.pdf&size=1", deleted_at: "2026-01-01T00:00:00.000000Z" },
          { name: "private:1/plain.pdf" },
          { name: "private:1/a_pdf.pdf?name=x" },
          { name: "other:1/c.pdf?name=private:1/d.pdf" },
          { name: null }
        ])
        const texts = [
          "private:1/a.pdf",
          "private:2/b.pdf",
          "private:1/gone.pdf",
          "private:1/plain.pdf",
          "private:1/a%",
          "private:1/a_pdf",
          "private:1/d.pdf",
          "private:1/a.pd",
          "PRIVATE:1/A.PDF",
          ""
        ]
        const held = yield* inTransaction((tx) => tx.holding({ model: things, field: f("name"), texts }))
        expect(held.toSorted()).toEqual([
          "private:1/a.pdf?name=a.pdf&size=1",
          "private:1/gone.pdf?name=g.pdf&size=1",
          "private:1/plain.pdf",
          "private:2/b.pdf?name=b.pdf&size=1"
        ])
        expect(yield* inTransaction((tx) => tx.holding({ model: things, field: f("name"), texts: [] }))).toEqual([])
      }
    )

    test(
      "gives the whole texts of lists that are asked for, and takes and gives lists as they are",
      function*({ inTransaction, store, stored }) {
        const odd = JSON.stringify(["private:1/a.pdf?name=x", "quote\" back\\ {,} NULL \u0001", "", "private:1/b.pdf"])
        const twice = JSON.stringify(["c", "private:1/a.pdf?name=y", "c"])
        yield* store([{ marks: odd }, { marks: "[]" }, { marks: null }, { marks: "[null,\"c\"]" }, { marks: twice }])
        expect((yield* stored("1"))?.["marks"]).toBe(odd)
        expect((yield* stored("2"))?.["marks"]).toBe("[]")
        expect((yield* stored("3"))?.["marks"]).toBeNull()
        expect((yield* stored("4"))?.["marks"]).toBe("[null,\"c\"]")
        const texts = ["private:1/a.pdf", "private:1/b.pdf", "c", "NULL", "null", "private:1/a", "x"]
        const ask = (tx: Parameters<Parameters<typeof inTransaction>[0]>[0]) =>
          tx.holding({ model: things, field: f("marks"), texts })
        expect((yield* inTransaction(ask)).toSorted()).toEqual([
          "c",
          "private:1/a.pdf?name=x",
          "private:1/a.pdf?name=y",
          "private:1/b.pdf"
        ])
        const held = yield* inTransaction((tx) =>
          Effect.gen(function*() {
            yield* update(tx, "1", { marks: "[\"x\"]" })
            yield* update(tx, "4", { marks: null })
            yield* update(tx, "5", { marks: "[]" })
            return yield* ask(tx)
          })
        )
        expect(held).toEqual(["x"])
        expect((yield* stored("1"))?.["marks"]).toBe("[\"x\"]")
      }
    )

    test(
      "updates, and moves a timestamp version beyond the stored one even if that lies ahead",
      function*({ inTransaction, store, stored }) {
        yield* store([{ qty: "1", updated_at: "2100-01-01T00:00:00.999999Z" }, {
          qty: "2",
          updated_at: "2001-01-01T00:00:00Z"
        }])
        const [ahead, now, still] = yield* inTransaction((tx) =>
          Effect.gen(function*() {
            yield* lock(tx, "1")
            yield* lock(tx, "2")
            return [
              yield* update(tx, "1", { qty: "5", name: null }),
              yield* update(tx, "2", { qty: "6" }),
              yield* update(tx, "2", { name: "x" }, false)
            ] as const
          })
        )
        const version = f("updated_at").index
        expect(ahead[version]).toBe("2100-01-01T00:00:01Z")
        expect(now[version]! > "2020-01-01").toBe(true)
        expect(still[version]).toBe(now[version])
        expect(still[f("name").index]).toBe("x")
        expect((yield* stored("1"))!["qty"]).toBe("5")
        expect((yield* stored("2"))!["qty"]).toBe("6")
      }
    )

    test("updates with a touch only, with checks, and moves an integer version by one", function*({ inTransaction }) {
      const [a, b, note, version] = pairs.fields as [Field, Field, Field, Field]
      const rows = yield* inTransaction((tx) =>
        Effect.gen(function*() {
          yield* tx.insert({ model: pairs, fields: [a, b], rows: [["1", "x,y"]], columns: [], checks: [], bindings })
          const change = { model: pairs, key: ["1", "x,y"], columns: [version], bindings }
          return [
            yield* tx.update({ ...change, set: [], touch: true, checks: [] }),
            yield* tx.update({ ...change, set: [[note, "n"]], touch: true, checks: [equals(note, "n")] }),
            yield* tx.update({ ...change, set: [], touch: false, checks: [equals(note, "n")] })
          ]
        })
      )
      expect(rows).toEqual([["2"], ["3", "true"], ["3", "true"]])
    })

    test("removes, and sees its own writes", function*({ inTransaction, store, stored }) {
      yield* store([{ qty: "1" }, { qty: "2" }])
      const seen = yield* inTransaction((tx) =>
        Effect.gen(function*() {
          yield* lock(tx, "1")
          yield* remove(tx, "1")
          yield* update(tx, "2", { qty: "7" })
          const page = yield* tx.page({ shape: shapeOf(order("id"), { columns: [f("id"), f("qty")] }), bindings })
          const count = yield* tx.count({ model: things, where: always, bindings, cap: null })
          const passes = (tree: FilterTree, id = "2") => tx.passes({ model: things, key: [id], tree, bindings })
          return [
            page,
            count,
            yield* passes(equals(f("qty"), "7")),
            yield* passes(equals(f("name"), "7")),
            yield* passes(not(equals(f("name"), "7"))),
            yield* passes(always, "1")
          ]
        })
      )
      expect(seen).toEqual([[["2", "7"]], "1", true, false, true, false])
      expect(yield* stored("1")).toBeNull()
    })

    test("reads what it wrote by every way of reading", function*({ inTransaction, store }) {
      yield* store([{ name: "old" }, { name: "gone" }])
      yield* inTransaction((tx) =>
        Effect.gen(function*() {
          yield* update(tx, "1", { name: "new" })
          yield* remove(tx, "2")
          yield* insert(tx, things, { id: "3", tenant_id: "1", status: "x", name: "more" })
          const shape = shapeOf(order("id"), { columns: [f("name")] })
          expect(yield* tx.page({ shape, bindings })).toEqual([["new"], ["more"]])
          expect(yield* tx.count({ model: things, where: equals(f("name"), "gone"), bindings, cap: null })).toBe("0")
          expect(yield* tx.holding({ model: things, field: f("name"), texts: ["old", "gone", "more", "new"] })).toEqual(
            expect.arrayContaining(["more", "new"])
          )
          const facets = { of: "facets", model: things, field: f("name"), where: always, limit: 9, bindings } as const
          expect(yield* tx.aggregate(facets)).toEqual([["more", "1"], ["new", "1"]])
          for (const plan of [{ shape, bindings }, { model: things, where: always, bindings, cap: null }, facets]) {
            expect((yield* tx.estimate(plan)).cost).toBeGreaterThan(0)
          }
        })
      )
    })

    test("takes a change of what is not there for a defect", function*({ inTransaction, store, stored }) {
      yield* store([{ qty: "1" }])
      for (
        const change of [
          (tx: RecordsTransaction) => update(tx, "9", { qty: "2" }),
          (tx: RecordsTransaction) => remove(tx, "9")
        ]
      ) {
        const exit = yield* Effect.exit(
          inTransaction((tx) => Effect.andThen(update(tx, "1", { qty: "3" }), change(tx)))
        )
        expect(Exit.hasDies(exit)).toBe(true)
        expect((yield* stored("1"))!["qty"]).toBe("1")
      }
    })

    test("writes the same with a note of what the change is", function*({ inTransaction, store, stored }) {
      yield* store([{ qty: "1" }])
      const change = { model: things, key: ["1"], touch: false, columns: [f("qty")], checks: [], bindings }
      for (
        const [note, qty] of [[{ of: "nothing" }, "2"], [{ of: "reorder", began: [[f("qty"), "1"]] }, "3"]] as const
      ) {
        const row = yield* inTransaction((tx) => tx.update({ ...change, set: [[f("qty"), qty]], note }))
        expect([row, (yield* stored("1"))!["qty"]]).toEqual([[qty], qty])
      }
    })

    test(
      "updates and removes many as it does one, and answers in the order of the keys",
      function*({ inTransaction, store, stored }) {
        yield* store([{ qty: "1" }, { qty: "2", updated_at: "2100-01-01T00:00:00.999999Z" }, { qty: "3" }, {
          qty: "4"
        }])
        const big: FilterTree = { op: "compare", field: f("qty"), is: ">", value: literal("5") }
        const rows = yield* inTransaction((tx) =>
          tx.updateAll({
            model: things,
            keys: [["3"], ["2"], ["1"]],
            fields: [f("qty"), f("name")],
            rows: [["7", null], ["7", null], ["7", null]],
            columns: [f("id"), f("qty"), f("updated_at")],
            checks: [big, not(big)],
            bindings
          })
        )
        expect(rows.map(([id, qty, , one, other]) => [id, qty, one, other])).toEqual([
          ["3", "7", "true", "false"],
          ["2", "7", "true", "false"],
          ["1", "7", "true", "false"]
        ])
        expect(rows[1]![2]).toBe("2100-01-01T00:00:01Z")
        expect((yield* stored("4"))!["qty"]).toBe("4")
        const gone = inTransaction((tx) => tx.removeAll({ model: things, keys: [["1"], ["99"]], bindings }))
        expect(Exit.isFailure(yield* Effect.exit(gone))).toBe(true)
        expect(yield* stored("1")).not.toBeNull()
        const missing = inTransaction((tx) =>
          tx.updateAll({
            model: things,
            keys: [["1"], ["99"]],
            fields: [f("qty")],
            rows: [["8"], ["8"]],
            columns: [],
            checks: [],
            bindings
          })
        )
        expect(Exit.isFailure(yield* Effect.exit(missing))).toBe(true)
        expect((yield* stored("1"))!["qty"]).toBe("7")
        yield* inTransaction((tx) => tx.removeAll({ model: things, keys: [["4"], ["1"]], bindings }))
        expect([yield* stored("1"), yield* stored("4")]).toEqual([null, null])
        expect((yield* stored("3"))!["qty"]).toBe("7")
      }
    )

    test("updates and removes many by keys of several parts", function*({ inTransaction }) {
      const [a, b, note, version] = pairs.fields as [Field, Field, Field, Field]
      const seen = yield* inTransaction((tx) =>
        Effect.gen(function*() {
          const rows = [["11", "x,y"], ["11", "z"], ["12", "z"]]
          yield* tx.insert({ model: pairs, fields: [a, b], rows, columns: [], checks: [], bindings })
          const updated = yield* tx.updateAll({
            model: pairs,
            keys: [["12", "z"], ["11", "x,y"]],
            fields: [note],
            rows: [["n"], ["n"]],
            columns: [note, version],
            checks: [],
            bindings
          })
          yield* tx.removeAll({ model: pairs, keys: [["11", "z"], ["12", "z"]], bindings })
          const left = yield* tx.count({ model: pairs, where: always, bindings, cap: null })
          yield* tx.remove({ model: pairs, key: ["11", "x,y"], bindings })
          return [updated, left, yield* tx.count({ model: pairs, where: always, bindings, cap: null })] as const
        })
      )
      expect(seen[0]).toEqual([["n", "2"], ["n", "2"]])
      expect(Number(seen[1]) - Number(seen[2])).toBe(1)
    })

    test("updates many to values of their own, of every kind, exactly", function*({ inTransaction, store, stored }) {
      yield* store(Array.from({ length: 4 }, () => ({ qty: "1", name: "as it was" })))
      const fields = ["status", "total", "share", "ratio", "day", "at", "plain", "qty", "flag", "data", "ref"].map(f)
      const one = [
        "it's \\ \"one\"",
        "9999999999.99",
        "0.10000000000000000000000001",
        "0.1",
        "2024-02-29",
        "2024-02-29T12:00:00.123456Z",
        "2024-02-29T12:00:00.000001Z",
        "2147483647",
        "true",
        "{\"a\": [1, 9007199254740993]}",
        "00000000-0000-4000-8000-000000000001"
      ]
      const two = ["", "-0.01", "1E-3", "-1.5", "0001-01-01", null, null, "-1", "false", "null", null]
      const none = ["none", ...one.slice(1).map(() => null)]
      const rows = yield* inTransaction((tx) =>
        tx.updateAll({
          model: things,
          keys: [["2"], ["1"], ["4"]],
          fields,
          rows: [one, two, none],
          columns: [f("id"), ...fields, f("name")],
          checks: [equals(f("qty"), "-1")],
          bindings
        })
      )
      expect(rows.map((row) => row[0])).toEqual(["2", "1", "4"])
      expect(rows.map((row) => row.at(-1))).toEqual(["false", "true", "false"])
      const single = (id: string, cells: readonly Cell[]) =>
        Effect.gen(function*() {
          const row = yield* inTransaction((tx) =>
            update(tx, id, Object.fromEntries(fields.map((field, i) => [field.name, cells[i]!])))
          )
          return fields.map((field) => row[field.index])
        })
      for (const [at, cells] of [one, two, none].entries()) {
        expect(rows[at]!.slice(1, 1 + fields.length)).toEqual(yield* single("3", cells))
      }
      expect((yield* stored("3"))!["name"]).toBe("as it was")
    })

    test("writes more rows than one statement takes", function*({ inTransaction, records }) {
      const names = ["status", "name", "total", "share", "ratio", "qty"]
      // Each row has values of its own, and a statement takes 32,767 of them.
      const keys = Array.from({ length: 4_300 }, (_, i) => [String(i + 1)])
      const cells = (at: number) => [`s${at}`, `n${at}`, `${at}.50`, `0.${at}1`, `0.${at}5`, String(at)]
      const fields = names.map(f)
      const many = { model: things, columns: [f("id"), ...fields], checks: [], bindings }
      yield* inTransaction((tx) =>
        Effect.gen(function*() {
          const rows = keys.map((key, i) => [...key, "1", ...cells(i)])
          const inserted = yield* tx.insert({ ...many, fields: [f("id"), f("tenant_id"), ...fields], rows })
          expect(inserted).toEqual(keys.map((key, i) => [...key, ...cells(i)]))
          const updated = yield* tx.updateAll({ ...many, keys, fields, rows: keys.map((_, i) => cells(i + 1)) })
          expect(updated).toEqual(keys.map((key, i) => [...key, ...cells(i + 1)]))
          yield* tx.removeAll({ model: things, keys: keys.slice(1), bindings })
        })
      )
      expect(yield* records.count({ model: things, where: always, bindings, cap: null })).toBe("1")
    })

    test(
      "updates keys one after the other, so that what is free then can be taken",
      function*({ inTransaction, store }) {
        yield* store([{}, {}, {}])
        const moved = (...keys: ReadonlyArray<readonly [string, string]>) =>
          inTransaction((tx) =>
            tx.updateAll({
              model: things,
              keys: keys.map(([from]) => [from]),
              fields: [f("id")],
              rows: keys.map(([, to]) => [to]),
              columns: [f("id")],
              checks: [],
              bindings
            })
          )
        expect(yield* moved(["1", "7"], ["2", "1"], ["3", "2"])).toEqual([["7"], ["1"], ["2"]])
        for (let i = 0; i < 3; i++) expect(yield* reasonOf(moved(["7", "2"], ["2", "3"]))).toBe("Unique")
      }
    )

    test("rolls back on failure, defect and interruption", function*({ inTransaction, store, stored }) {
      yield* store([{ qty: "1" }])
      const attempt = <E>(end: Effect.Effect<never, E>) =>
        inTransaction((tx) => Effect.andThen(update(tx, "1", { qty: "2" }), end))
      expect(yield* Effect.exit(attempt(Effect.fail("no")))).toEqual(Exit.fail("no"))
      expect(Exit.isFailure(yield* Effect.exit(attempt(Effect.die("bug"))))).toBe(true)
      const interrupted = yield* Effect.gen(function*() {
        const inside = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkChild(
          attempt(Effect.andThen(Deferred.succeed(inside, undefined), Effect.never))
        )
        yield* Deferred.await(inside)
        yield* Fiber.interrupt(fiber)
        return yield* Fiber.await(fiber)
      })
      expect(Exit.isFailure(interrupted)).toBe(true)
      expect((yield* stored("1"))!["qty"]).toBe("1")
      // Nothing is left locked.
      yield* inTransaction((tx) => update(tx, "1", { qty: "3" }))
      expect((yield* stored("1"))!["qty"]).toBe("3")
    })

    test("undoes a failed savepoint only", function*({ inTransaction, store, stored }) {
      yield* store([{ qty: "1" }])
      yield* inTransaction((tx) =>
        Effect.gen(function*() {
          yield* update(tx, "1", { qty: "2" })
          const inner = yield* Effect.exit(
            tx.savepoint(Effect.andThen(update(tx, "1", { qty: "3", name: "x" }), Effect.fail("no")))
          )
          expect(inner).toEqual(Exit.fail("no"))
          const twin = insert(tx, things, { id: "1", tenant_id: "1", status: "x" })
          expect(yield* reasonOf(tx.savepoint(twin))).toBe("Unique")
          yield* tx.savepoint(tx.savepoint(update(tx, "1", { status: "kept" })))
        })
      )
      expect(yield* stored("1")).toMatchObject({ qty: "2", name: null, status: "kept" })
    })

    test("does not commit what went on after a statement had failed", function*({ inTransaction, store, stored }) {
      yield* store([{ qty: "1" }])
      const ended = yield* Effect.exit(inTransaction((tx) =>
        Effect.gen(function*() {
          yield* update(tx, "1", { qty: "2" })
          expect(yield* reasonOf(insert(tx, things, { id: "1", tenant_id: "1", status: "x" }))).toBe("Unique")
          expect(Exit.hasDies(yield* Effect.exit(update(tx, "1", { qty: "3" })))).toBe(true)
        })
      ))
      expect(Exit.hasDies(ended)).toBe(true)
      expect((yield* stored("1"))!["qty"]).toBe("1")
    })

    test("hides its writes from others until it commits", function*({ inTransaction, records, store }) {
      yield* store([{ qty: "1" }])
      const seen = yield* inTransaction((tx) =>
        Effect.gen(function*() {
          yield* update(tx, "1", { qty: "2" })
          return yield* records.count({ model: things, where: equals(f("qty"), "2"), bindings, cap: null })
        })
      )
      expect(seen).toBe("0")
    })
  })
}
