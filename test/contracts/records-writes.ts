/** The records contract: what a transaction promises. */

import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { describe, expect, it } from "vitest"
import { always, not } from "../../core/domain/filter/tree.ts"
import type { FilterTree } from "../../core/domain/filter/tree.ts"
import type { Field } from "../../core/domain/model/model.ts"
import type { Cell } from "../../core/domain/value/kind.ts"
import { RecordsError } from "../../core/ports/records.ts"
import type { RecordsTransaction } from "../../core/ports/records.ts"
import { bindings, equals, f, literal, order, pairs, reasonOf, shapeOf, things, type Words } from "./records-tables.ts"

export const writeSuite = ({ inTransaction, lock, records, run, store, stored, update }: Words): void => {
  const increment = (tx: RecordsTransaction) =>
    Effect.gen(function*() {
      const row = (yield* lock(tx, "1"))!
      yield* Effect.yieldNow
      yield* update(tx, "1", { qty: String(Number(row[f("qty").index]) + 1) })
    })
  /** Eight at once, each of which adds one to the row of none. */
  const incrementsEight = async <E>(one: Effect.Effect<void, E>): Promise<void> => {
    await run(Effect.all(Array.from({ length: 8 }, () => one), { concurrency: "unbounded" }))
    expect((await stored("1"))!["qty"]).toBe("8")
  }

  describe("transaction", () => {
    it("inserts in order, fills in what is not given, and judges checks on the rows as written", async () => {
      const big: FilterTree = { op: "compare", field: f("qty"), is: ">", value: literal("5") }
      const rows = await run(inTransaction((tx) =>
        tx.insert({
          model: things,
          fields: [f("tenant_id"), f("status"), f("qty")],
          rows: [["1", "a", "9"], ["1", "b", null], ["1", "c", "2"]],
          columns: [f("status"), f("qty"), f("id"), f("updated_at")],
          checks: [big],
          bindings
        })
      ))
      expect(rows.map((row) => [row[0], row[1], row[4]])).toEqual([["a", "9", "true"], ["b", null, "false"], [
        "c",
        "2",
        "false"
      ]])
      const given = rows.map((row) => BigInt(row[2]!))
      expect(given[1]! > given[0]! && given[2]! > given[1]!).toBe(true)
      expect(rows[0]![3]).toMatch(/Z$/)
    })

    it("inserts no rows, and refuses rows without what has no default", async () => {
      const insert = (rows: ReadonlyArray<readonly Cell[]>) =>
        inTransaction((tx) =>
          tx.insert({ model: pairs, fields: [], rows, columns: pairs.columns, checks: [], bindings })
        )
      expect(await run(insert([]))).toEqual([])
      expect(await run(reasonOf(insert([[], []])))).toMatch(/^(NotNull|Unique)$/)
    })

    it("lets many share a lock, and one have it alone once they have ended", async () => {
      const events: string[] = []
      const shared = (name: string, gate: Deferred.Deferred<void>, entered: Deferred.Deferred<void>) =>
        inTransaction((tx) =>
          Effect.gen(function*() {
            yield* tx.hold("a lock of the tests", "shared")
            events.push(`${name} in`)
            yield* Deferred.succeed(entered, undefined)
            yield* Deferred.await(gate)
            events.push(`${name} out`)
          })
        )
      await run(Effect.gen(function*() {
        const gate = yield* Deferred.make<void>()
        const [one, two] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const sharing = [
          yield* Effect.forkChild(shared("one", gate, one)),
          yield* Effect.forkChild(shared("two", gate, two))
        ]
        yield* Deferred.await(one)
        yield* Deferred.await(two)
        const alone = yield* Effect.forkChild(inTransaction((tx) =>
          Effect.gen(function*() {
            yield* tx.hold("a lock of the tests", "alone")
            events.push("alone")
          })
        ))
        // Another name is another lock.
        yield* inTransaction((tx) => tx.hold("another lock of the tests", "alone"))
        expect(events).not.toContain("alone")
        yield* Deferred.succeed(gate, undefined)
        for (const fiber of [...sharing, alone]) yield* Fiber.join(fiber)
      }))
      expect(events.at(-1)).toBe("alone")
      expect(events.slice(0, 2).toSorted()).toEqual(["one in", "two in"])
    })

    it("lets go of a lock with a transaction that fails, and knows what waits alone from what shares", async () => {
      await run(
        Effect.exit(
          inTransaction((tx) => Effect.andThen(tx.hold("a lock of the tests", "alone"), Effect.fail("undone" as const)))
        )
      )
      const order: string[] = []
      const alone = (name: string) =>
        inTransaction((tx) =>
          Effect.gen(function*() {
            yield* tx.hold("a lock of the tests", "alone")
            order.push(`${name} in`)
            yield* Effect.yieldNow
            order.push(`${name} out`)
          })
        )
      await run(Effect.all([alone("a"), alone("b"), alone("c")], { concurrency: "unbounded" }))
      expect(order.map((each) => each.split(" ")[1])).toEqual(["in", "out", "in", "out", "in", "out"])
      for (let i = 0; i < 6; i += 2) expect(order[i]!.split(" ")[0]).toBe(order[i + 1]!.split(" ")[0])
    })

    it("says which texts a column holds up to their first question mark, of every tenant, deleted or not", async () => {
      await store([
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
      const held = await run(inTransaction((tx) => tx.holding({ model: things, field: f("name"), texts })))
      expect(held.toSorted()).toEqual([
        "private:1/a.pdf",
        "private:1/gone.pdf",
        "private:1/plain.pdf",
        "private:2/b.pdf"
      ])
      expect(await run(inTransaction((tx) => tx.holding({ model: things, field: f("name"), texts: [] })))).toEqual([])
    })

    it("locks a row within a condition and judges checks", async () => {
      await store([{ qty: "1" }])
      const result = await run(inTransaction((tx) =>
        Effect.gen(function*() {
          const found = yield* tx.lock({
            model: things,
            key: ["1"],
            where: equals(f("qty"), "1"),
            columns: [f("id"), f("qty")],
            checks: [equals(f("qty"), "2")],
            bindings
          })
          return [found, yield* lock(tx, "1", equals(f("qty"), "2")), yield* lock(tx, "99")] as const
        })
      ))
      expect(result).toEqual([["1", "1", "false"], null, null])
    })

    it("updates, and moves a timestamp version beyond the stored one even if that lies ahead", async () => {
      await store([{ qty: "1", updated_at: "2100-01-01T00:00:00.999999Z" }, {
        qty: "2",
        updated_at: "2001-01-01T00:00:00Z"
      }])
      const [ahead, now, still] = await run(inTransaction((tx) =>
        Effect.gen(function*() {
          yield* lock(tx, "1")
          yield* lock(tx, "2")
          return [
            yield* update(tx, "1", { qty: "5", name: null }),
            yield* update(tx, "2", { qty: "6" }),
            yield* update(tx, "2", { name: "x" }, false)
          ] as const
        })
      ))
      const version = f("updated_at").index
      expect(ahead[version]).toBe("2100-01-01T00:00:01Z")
      expect(now[version]! > "2020-01-01").toBe(true)
      expect(still[version]).toBe(now[version])
      expect(still[f("name").index]).toBe("x")
      expect((await stored("1"))!["qty"]).toBe("5")
      expect((await stored("2"))!["qty"]).toBe("6")
    })

    it("updates with a touch only, with checks, and moves an integer version by one", async () => {
      const [a, b, note, version] = pairs.fields as [Field, Field, Field, Field]
      const rows = await run(inTransaction((tx) =>
        Effect.gen(function*() {
          yield* tx.insert({ model: pairs, fields: [a, b], rows: [["1", "x,y"]], columns: [], checks: [], bindings })
          const change = { model: pairs, key: ["1", "x,y"], columns: [version], bindings }
          return [
            yield* tx.update({ ...change, set: [], touch: true, checks: [] }),
            yield* tx.update({ ...change, set: [[note, "n"]], touch: true, checks: [equals(note, "n")] }),
            yield* tx.update({ ...change, set: [], touch: false, checks: [equals(note, "n")] })
          ]
        })
      ))
      expect(rows).toEqual([["2"], ["3", "true"], ["3", "true"]])
    })

    it("removes, and sees its own writes", async () => {
      await store([{ qty: "1" }, { qty: "2" }])
      const seen = await run(inTransaction((tx) =>
        Effect.gen(function*() {
          yield* lock(tx, "1")
          yield* tx.remove({ model: things, key: ["1"], bindings })
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
      ))
      expect(seen).toEqual([[["2", "7"]], "1", true, false, true, false])
      expect(await stored("1")).toBeNull()
    })

    it("updates and removes many as it does one, and answers in the order of the keys", async () => {
      await store([{ qty: "1" }, { qty: "2", updated_at: "2100-01-01T00:00:00.999999Z" }, { qty: "3" }, { qty: "4" }])
      const big: FilterTree = { op: "compare", field: f("qty"), is: ">", value: literal("5") }
      const rows = await run(inTransaction((tx) =>
        tx.updateAll({
          model: things,
          keys: [["3"], ["2"], ["1"]],
          fields: [f("qty"), f("name")],
          rows: [["7", null], ["7", null], ["7", null]],
          columns: [f("id"), f("qty"), f("updated_at")],
          checks: [big, not(big)],
          bindings
        })
      ))
      expect(rows.map(([id, qty, , one, other]) => [id, qty, one, other])).toEqual([
        ["3", "7", "true", "false"],
        ["2", "7", "true", "false"],
        ["1", "7", "true", "false"]
      ])
      expect(rows[1]![2]).toBe("2100-01-01T00:00:01Z")
      expect((await stored("4"))!["qty"]).toBe("4")
      const gone = inTransaction((tx) => tx.removeAll({ model: things, keys: [["1"], ["99"]], bindings }))
      expect(Exit.isFailure(await run(Effect.exit(gone)))).toBe(true)
      expect(await stored("1")).not.toBeNull()
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
      expect(Exit.isFailure(await run(Effect.exit(missing)))).toBe(true)
      expect((await stored("1"))!["qty"]).toBe("7")
      await run(inTransaction((tx) => tx.removeAll({ model: things, keys: [["4"], ["1"]], bindings })))
      expect([await stored("1"), await stored("4")]).toEqual([null, null])
      expect((await stored("3"))!["qty"]).toBe("7")
    })

    it("updates and removes many by keys of several parts", async () => {
      const [a, b, note, version] = pairs.fields as [Field, Field, Field, Field]
      const seen = await run(inTransaction((tx) =>
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
      ))
      expect(seen[0]).toEqual([["n", "2"], ["n", "2"]])
      expect(Number(seen[1]) - Number(seen[2])).toBe(1)
    })

    it("updates many to values of their own, of every kind, exactly", async () => {
      await store(Array.from({ length: 4 }, () => ({ qty: "1", name: "as it was" })))
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
      const rows = await run(inTransaction((tx) =>
        tx.updateAll({
          model: things,
          keys: [["2"], ["1"], ["4"]],
          fields,
          rows: [one, two, none],
          columns: [f("id"), ...fields, f("name")],
          checks: [equals(f("qty"), "-1")],
          bindings
        })
      ))
      expect(rows.map((row) => row[0])).toEqual(["2", "1", "4"])
      expect(rows.map((row) => row.at(-1))).toEqual(["false", "true", "false"])
      const single = async (id: string, cells: readonly Cell[]) => {
        const row = await run(
          inTransaction((tx) => update(tx, id, Object.fromEntries(fields.map((field, i) => [field.name, cells[i]!]))))
        )
        return fields.map((field) => row[field.index])
      }
      for (const [at, cells] of [one, two, none].entries()) {
        expect(rows[at]!.slice(1, 1 + fields.length)).toEqual(await single("3", cells))
      }
      expect((await stored("3"))!["name"]).toBe("as it was")
    })

    it("updates more rows than one statement takes", async () => {
      const [a, b, note] = pairs.fields as [Field, Field, Field, Field]
      const keys = Array.from({ length: 10_100 }, (_, i) => [String(100_000 + i), "many"])
      const updated = await run(inTransaction((tx) =>
        Effect.gen(function*() {
          yield* tx.insert({ model: pairs, fields: [a, b], rows: keys, columns: [], checks: [], bindings })
          const rows = yield* tx.updateAll({
            model: pairs,
            keys,
            fields: [note],
            rows: keys.map((_, i) => [`n${i}`]),
            columns: [note],
            checks: [],
            bindings
          })
          yield* tx.removeAll({ model: pairs, keys, bindings })
          return rows
        })
      ))
      expect(updated).toEqual(keys.map((_, i) => [`n${i}`]))
    })

    it("updates keys one after the other, so that what is free then can be taken", async () => {
      await store([{}, {}, {}])
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
      expect(await run(moved(["1", "7"], ["2", "1"], ["3", "2"]))).toEqual([["7"], ["1"], ["2"]])
      for (let i = 0; i < 3; i++) expect(await run(reasonOf(moved(["7", "2"], ["2", "3"])))).toBe("Unique")
    })

    it("rolls back on failure, defect and interruption", async () => {
      await store([{ qty: "1" }])
      const attempt = <E>(end: Effect.Effect<never, E>) =>
        inTransaction((tx) => Effect.andThen(update(tx, "1", { qty: "2" }), end))
      expect(await run(Effect.exit(attempt(Effect.fail("no"))))).toEqual(Exit.fail("no"))
      expect(Exit.isFailure(await run(Effect.exit(attempt(Effect.die("bug")))))).toBe(true)
      const interrupted = await run(Effect.gen(function*() {
        const inside = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkChild(
          attempt(Effect.andThen(Deferred.succeed(inside, undefined), Effect.never))
        )
        yield* Deferred.await(inside)
        yield* Fiber.interrupt(fiber)
        return yield* Fiber.await(fiber)
      }))
      expect(Exit.isFailure(interrupted)).toBe(true)
      expect((await stored("1"))!["qty"]).toBe("1")
      // Nothing is left locked.
      await run(inTransaction((tx) => update(tx, "1", { qty: "3" })))
      expect((await stored("1"))!["qty"]).toBe("3")
    })

    it("undoes a failed savepoint only", async () => {
      await store([{ qty: "1" }])
      await run(inTransaction((tx) =>
        Effect.gen(function*() {
          yield* update(tx, "1", { qty: "2" })
          const inner = yield* Effect.exit(
            tx.savepoint(Effect.andThen(update(tx, "1", { qty: "3", name: "x" }), Effect.fail("no")))
          )
          expect(inner).toEqual(Exit.fail("no"))
          const twin = tx.insert({
            model: things,
            fields: [f("id"), f("tenant_id"), f("status")],
            rows: [["1", "1", "x"]],
            columns: [],
            checks: [],
            bindings
          })
          expect(yield* reasonOf(tx.savepoint(twin))).toBe("Unique")
          yield* tx.savepoint(tx.savepoint(update(tx, "1", { status: "kept" })))
        })
      ))
      expect(await stored("1")).toMatchObject({ qty: "2", name: null, status: "kept" })
    })

    it("refuses a taken key and a missing value", async () => {
      await store([{}])
      const insert = (fields: readonly Field[], row: readonly Cell[]) =>
        run(
          reasonOf(
            inTransaction((tx) => tx.insert({ model: things, fields, rows: [row], columns: [], checks: [], bindings }))
          )
        )
      expect(await insert([f("id"), f("tenant_id"), f("status")], ["1", "1", "x"])).toBe("Unique")
      expect(await insert([f("id"), f("tenant_id")], ["2", "1"])).toBe("NotNull")
      expect(await run(reasonOf(inTransaction((tx) => update(tx, "1", { status: null }))))).toBe("NotNull")
    })

    it("waits for a lock and then sees what the other wrote: no update is lost", async () => {
      await store([{ qty: "0" }])
      await incrementsEight(inTransaction(increment))
    })

    it("locks all rows that pass, and leaves out what is not there", async () => {
      await store([{ qty: "0" }, { qty: "0" }, { status: "old" }])
      const where: FilterTree = {
        op: "and",
        items: [{ op: "in", field: f("id"), values: ["3", "99", "1"].map(literal) }, equals(f("status"), "new")]
      }
      // Whoever has the lock is the only one who adds: nothing is lost.
      await incrementsEight(inTransaction((tx) =>
        Effect.andThen(
          tx.lockAll({ model: things, where, bindings }),
          Effect.flatMap(tx.page({ shape: { ...shapeOf(order("id")), columns: things.columns }, bindings }), (rows) =>
            Effect.andThen(
              Effect.yieldNow,
              update(tx, "1", { qty: String(Number(rows[0]![f("qty").index]) + 1) })
            ))
        )
      ))
      await run(inTransaction((tx) => tx.lockAll({ model: things, where: equals(f("id"), "99"), bindings })))
    })

    it("hides its writes from others until it commits", async () => {
      await store([{ qty: "1" }])
      const seen = await run(inTransaction((tx) =>
        Effect.gen(function*() {
          yield* update(tx, "1", { qty: "2" })
          return yield* records.count({ model: things, where: equals(f("qty"), "2"), bindings, cap: null })
        })
      ))
      expect(seen).toBe("0")
    })

    it("ends a deadlock with a conflict for one of the two", async () => {
      await store([{ qty: "1" }, { qty: "1" }])
      const outcomes = await run(Effect.gen(function*() {
        const first = yield* Deferred.make<void>()
        const second = yield* Deferred.make<void>()
        const both = (mine: string, theirs: string, here: Deferred.Deferred<void>, there: Deferred.Deferred<void>) =>
          inTransaction((tx) =>
            Effect.gen(function*() {
              yield* lock(tx, mine)
              yield* Deferred.succeed(here, undefined)
              yield* Deferred.await(there)
              yield* lock(tx, theirs)
            })
          )
        return yield* Effect.all([reasonOf(both("1", "2", first, second)), reasonOf(both("2", "1", second, first))], {
          concurrency: 2
        })
      }))
      expect(new Set(outcomes)).toEqual(new Set(["Conflict", "success"]))
    })

    describe("that stands alone", () => {
      const alone = <A, E>(body: (tx: RecordsTransaction) => Effect.Effect<A, E>) => records.transaction(body, true)
      /** As a use case does: what cannot be done without a lock or a rollback is done with them. */
      const tried = <A, E>(body: (tx: RecordsTransaction) => Effect.Effect<A, E>) =>
        Effect.catch(
          alone(body),
          (error) =>
            error instanceof RecordsError && error.reason._tag === "Contended"
              ? inTransaction(body)
              : Effect.fail(error)
        )

      it("writes what it read", async () => {
        await store([{ qty: "1" }])
        const row = await run(alone((tx) => Effect.andThen(lock(tx, "1"), update(tx, "1", { qty: "2" }))))
        expect(row).toHaveLength(things.columns.length)
        expect((await stored("1"))!["qty"]).toBe("2")
        expect(await run(alone((tx) => lock(tx, "1", equals(f("qty"), "1"))))).toBeNull()
        await run(alone((tx) => Effect.andThen(lock(tx, "1"), tx.remove({ model: things, key: ["1"], bindings }))))
        expect(await stored("1")).toBeNull()
      })

      it("loses no update", async () => {
        await store([{ qty: "0" }])
        await incrementsEight(tried(increment))
      })

      it("neither changes nor removes a row that has changed since it was read", async () => {
        for (const write of ["update", "remove"] as const) {
          await run(Effect.exit(inTransaction((tx) => tx.remove({ model: things, key: ["1"], bindings }))))
          await store([{ qty: "1" }])
          const between = await run(Effect.gen(function*() {
            const read = yield* Deferred.make<void>()
            const other = yield* Effect.forkChild(
              Effect.andThen(Deferred.await(read), inTransaction((tx) => update(tx, "1", { qty: "2" })))
            )
            const outcome = yield* reasonOf(alone((tx) =>
              Effect.gen(function*() {
                yield* lock(tx, "1")
                yield* Deferred.succeed(read, undefined)
                // With a lock the other waits for the end of this; without one it need not.
                yield* Effect.timeoutOption(Fiber.await(other), 200)
                if (write === "update") yield* update(tx, "1", { qty: "3" })
                else yield* tx.remove({ model: things, key: ["1"], bindings })
              })
            ))
            yield* Fiber.await(other)
            return outcome
          }))
          const left = await stored("1")
          if (between === "Contended") expect(left!["qty"]).toBe("2")
          else {
            expect(between).toBe("success")
            expect(left?.["qty"]).toBe(write === "update" ? "2" : undefined)
          }
        }
      })

      it("leaves no row behind that must not be", async () => {
        await store([{ qty: "1" }])
        const small: FilterTree = { op: "compare", field: f("qty"), is: "<", value: literal("5") }
        const insert = (qty: string) => (tx: RecordsTransaction) =>
          Effect.flatMap(
            tx.insert({
              model: things,
              fields: [f("id"), f("tenant_id"), f("status"), f("qty")],
              rows: [["2", "1", "x", qty]],
              columns: [f("id")],
              checks: [small],
              must: small,
              bindings
            }),
            ([row]) => row![1] === "true" ? Effect.succeed(row) : Effect.fail("refused")
          )
        expect(await run(Effect.exit(tried(insert("9"))))).toEqual(Exit.fail("refused"))
        expect(await stored("2")).toBeNull()
        expect((await run(tried(insert("4"))))!.slice(0, 2)).toEqual(["2", "true"])
        const raise = (qty: string) => (tx: RecordsTransaction) =>
          Effect.gen(function*() {
            yield* lock(tx, "2")
            const row = yield* tx.update({
              model: things,
              key: ["2"],
              set: [[f("qty"), qty]],
              touch: true,
              columns: [f("qty")],
              checks: [small],
              must: small,
              bindings
            })
            if (row[1] !== "true") yield* Effect.fail("refused")
          })
        expect(await run(Effect.exit(tried(raise("9"))))).toEqual(Exit.fail("refused"))
        expect((await stored("2"))!["qty"]).toBe("4")
        await run(tried(raise("3")))
        expect((await stored("2"))!["qty"]).toBe("3")
        // What the database has against the values is told as ever.
        expect(await run(reasonOf(alone(insert("3"))))).toBe("Unique")
      })
    })

    it("keeps answers for idempotency keys a day, one holder at a time", async () => {
      const scope = `create things ${Math.random()}`
      const now = bindings.now
      const claim = (tx: RecordsTransaction, at = now) => tx.claimKey({ scope, key: "k1", now: at })
      const answer = (tx: RecordsTransaction, text: string, at = now) =>
        tx.storeKey({ scope, key: "k1", request: "digest", answer: text, now: at })
      expect(await run(inTransaction((tx) => claim(tx)))).toEqual({ of: "new" })
      // Rolled back: nothing is stored.
      await run(
        Effect.exit(
          inTransaction((tx) => Effect.andThen(Effect.andThen(claim(tx), answer(tx, "lost")), Effect.fail("no")))
        )
      )
      expect(await run(inTransaction((tx) => Effect.andThen(claim(tx), claim(tx))))).toEqual({ of: "new" })
      const twin = await run(inTransaction((tx) =>
        Effect.gen(function*() {
          yield* claim(tx)
          yield* answer(tx, "first")
          return yield* inTransaction((other) => claim(other))
        })
      ))
      expect(twin).toEqual({ of: "busy" })
      expect(await run(inTransaction((tx) => claim(tx)))).toEqual({ of: "stored", request: "digest", answer: "first" })
      const tomorrow = now + 86_400_000_001n
      expect(await run(inTransaction((tx) => claim(tx, tomorrow)))).toEqual({ of: "new" })
      await run(inTransaction((tx) => Effect.andThen(claim(tx, tomorrow), answer(tx, "second", tomorrow))))
      expect(await run(inTransaction((tx) => claim(tx, tomorrow)))).toMatchObject({ of: "stored", answer: "second" })
    })
  })
}
