/**
 * The records contract: transactions that stand alone. Nobody looks at what such a write answers before it counts, and no lock need be held between what it read
 * and what it writes. So the write itself refuses a row that has changed meanwhile, and one that must not be.
 */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { describe, expect } from "vitest"
import type { Bindings, FilterTree } from "../../core/domain/filter/tree.ts"
import type { Field } from "../../core/domain/model/model.ts"
import { RecordsError } from "../../core/ports/records.ts"
import type { RecordsTransaction } from "../../core/ports/records.ts"
import { addsEight, increment } from "./records-locks.ts"
import {
  bindings,
  equals,
  expectReason,
  f,
  insert,
  inTime,
  literal,
  lock,
  pairs,
  reasonOf,
  type RecordsTest,
  remove,
  things,
  update,
  type Values,
  type Words
} from "./records-tables.ts"

const small: FilterTree = { op: "compare", field: f("qty"), is: "<", value: literal("5") }
const own: FilterTree = { op: "compare", field: f("tenant_id"), is: "=", value: { of: "caller", value: "tenant" } }

/** What a write must pass besides its values, and who writes. */
interface Rule {
  readonly must: FilterTree
  readonly by?: Bindings
}

/** Inserts rows of things that must pass. */
const create = (tx: RecordsTransaction, rows: readonly Values[], { by = bindings, must }: Rule) =>
  tx.insert({
    model: things,
    fields: ["id", "tenant_id", "status", ...Object.keys(rows[0]!)].map(f),
    rows: rows.map((values, at) => [String(at + 1), "1", "new", ...Object.values(values)]),
    columns: [f("id"), f("qty")],
    checks: [must],
    must,
    bindings: by
  })

/** Changes the first row of things, which must pass then. */
const change = (tx: RecordsTransaction, set: Values, { by = bindings, must }: Rule) =>
  tx.update({
    model: things,
    key: ["1"],
    set: Object.entries(set).map(([name, value]) => [f(name), value] as const),
    touch: true,
    columns: [f("id"), f("qty")],
    checks: [must],
    must,
    bindings: by
  })

/** As a use case does: what cannot be done without a lock or a rollback is done with them. */
const tried = <A, E>({ alone, inTransaction }: Words, body: (tx: RecordsTransaction) => Effect.Effect<A, E>) =>
  Effect.catch(
    alone(body),
    (error) =>
      error instanceof RecordsError && error.reason._tag === "Contended" ? inTransaction(body) : Effect.fail(error)
  )

export const aloneSuite = (test: RecordsTest): void => {
  describe("a transaction that stands alone", () => {
    test("writes what it read", function*({ alone, store, stored }) {
      yield* store([{ qty: "1" }])
      const row = yield* alone((tx) => Effect.andThen(lock(tx, "1"), update(tx, "1", { qty: "2" })))
      expect(row).toHaveLength(things.columns.length)
      expect((yield* stored("1"))!["qty"]).toBe("2")
      expect(yield* alone((tx) => lock(tx, "1", equals(f("qty"), "1")))).toBeNull()
      yield* alone((tx) => Effect.andThen(lock(tx, "1"), remove(tx, "1")))
      expect(yield* stored("1")).toBeNull()
    })

    test("writes what it need not read", function*({ alone, stored }) {
      yield* alone((tx) => insert(tx, things, { id: "1", tenant_id: "1", status: "x", qty: "1" }))
      yield* alone((tx) => update(tx, "1", { qty: "2" }))
      expect((yield* stored("1"))!["qty"]).toBe("2")
      yield* alone((tx) => remove(tx, "1"))
      expect(yield* stored("1")).toBeNull()
    })

    test("has done nothing when it fails before it writes", function*({ alone, store, stored }) {
      yield* store([{ qty: "1" }])
      const refused = alone((tx) => Effect.andThen(lock(tx, "1"), Effect.fail("refused")))
      expect(yield* Effect.exit(refused)).toEqual(Exit.fail("refused"))
      expect(yield* inTime(alone((tx) => update(tx, "1", { qty: "2" })))).not.toBeNull()
      expect((yield* stored("1"))!["qty"]).toBe("2")
    })

    test("loses no update", function*(words) {
      yield* words.store([{ qty: "0" }])
      yield* addsEight(words, tried(words, increment))
    })

    const writes = [
      ["update", (tx: RecordsTransaction) => Effect.asVoid(update(tx, "1", { qty: "3" }))],
      ["remove", (tx: RecordsTransaction) => remove(tx, "1")]
    ] as const
    const others = [
      ["changed", (tx: RecordsTransaction) => Effect.asVoid(update(tx, "1", { qty: "2" }))],
      ["removed", (tx: RecordsTransaction) => remove(tx, "1")]
    ] as const
    const meetings = writes.flatMap(([write, mine]) =>
      others.map(([other, theirs]) => [write, other, mine, theirs] as const)
    )

    test.each(meetings)(
      "does not %s a row that was %s since it was read",
      function*([write, other, mine, theirs], words) {
        const { alone, aloneLock, inTransaction, store, stored, waits } = words
        yield* store([{ qty: "1" }])
        const forked: Array<Fiber.Fiber<unknown, unknown>> = []
        const outcome = yield* inTime(reasonOf(alone((tx) =>
          Effect.gen(function*() {
            expect(yield* lock(tx, "1")).not.toBeNull()
            const fiber = yield* Effect.forkDetach(inTransaction(theirs))
            forked.push(fiber)
            // Where nothing is locked, the other goes on; else it comes after.
            if (aloneLock === "reads") yield* inTime(Fiber.join(fiber))
            else yield* waits(1)
            yield* mine(tx)
          })
        )))
        yield* inTime(Fiber.await(forked[0]!))
        const left = (yield* stored("1"))?.["qty"]
        if (aloneLock === "reads") expect([outcome, left]).toEqual(["Contended", other === "changed" ? "2" : undefined])
        else expect([outcome, left]).toEqual(["success", write === "update" && other === "changed" ? "2" : undefined])
      }
    )

    test("is run again, not alone, after what it cannot do", function*(words) {
      yield* words.store([{ qty: "1", name: "abc" }])
      const read: Array<string | null> = []
      yield* tried(words, (tx) =>
        Effect.gen(function*() {
          // A pattern has a time limit of its own, and so needs a transaction.
          const row = yield* lock(tx, "1", { op: "regex", field: f("name"), pattern: "^a" })
          read.push(row![f("qty").index]!)
          yield* update(tx, "1", { qty: "2" })
        }))
      expect(read.at(-1)).toBe("1")
      expect((yield* words.stored("1"))!["qty"]).toBe("2")
    })

    test("is told what the database has against the values as ever", function*({ alone, store, stored }) {
      yield* store([{ qty: "1" }])
      yield* expectReason("Unique", alone((tx) => create(tx, [{ qty: "2" }], { must: small })))
      yield* expectReason("NotNull", alone((tx) => change(tx, { status: null }, { must: small })))
      yield* expectReason("BadValue", alone((tx) => change(tx, { qty: "2147483648" }, { must: small })))
      expect((yield* stored("1"))!["qty"]).toBe("1")
    })
  })

  describe("a row that must pass", () => {
    const rows: ReadonlyArray<readonly [what: string, rows: readonly Values[], rule: Rule]> = [
      ["that breaks the rule", [{ qty: "9" }], { must: small }],
      ["without a value to judge", [{ qty: null }], { must: small }],
      ["among others", [{ qty: "1" }, { qty: "2" }, { qty: "9" }], { must: small }],
      ["that nothing passes", [{ qty: "1" }], { must: { op: "false" } }],
      ["of another tenant", [{ qty: "1" }], { must: own, by: { ...bindings, caller: { id: "u2", tenant: "2" } } }],
      ["of who has no tenant", [{ qty: "1" }], { must: own, by: { ...bindings, caller: { id: "u3", tenant: null } } }]
    ]

    test.each(rows)("is not inserted alone where it is one %s", function*([, values, rule], { alone, stored }) {
      yield* expectReason("Contended", alone((tx) => create(tx, values, rule)))
      for (const at of values.keys()) expect(yield* stored(String(at + 1))).toBeNull()
    })

    test.each(rows.filter(([, values]) => values.length === 1))(
      "is not changed alone to one %s",
      function*([, [values], rule], { alone, store, stored }) {
        yield* store([{ qty: "3" }])
        const before = yield* stored("1")
        yield* expectReason("Contended", alone((tx) => Effect.andThen(lock(tx, "1"), change(tx, values!, rule))))
        yield* expectReason("Contended", alone((tx) => change(tx, values!, rule)))
        expect(yield* stored("1")).toEqual(before)
      }
    )

    test("is written alone where it passes", function*({ alone, stored }) {
      const made = yield* alone((tx) => create(tx, [{ qty: "4" }, { qty: "-1" }], { must: small }))
      expect(made).toEqual([["1", "4", "true"], ["2", "-1", "true"]])
      const changed = alone((tx) =>
        Effect.andThen(lock(tx, "1"), change(tx, { qty: "3" }, { must: { op: "and", items: [small, own] } }))
      )
      expect(yield* changed).toEqual(["1", "3", "true"])
      expect([(yield* stored("1"))!["qty"], (yield* stored("2"))!["qty"]]).toEqual(["3", "-1"])
    })

    test("is judged as written, with what the database fills in", function*({ alone, records }) {
      const [a, b, , version] = pairs.fields as [Field, Field, Field, Field]
      const add = (must: FilterTree) =>
        alone((tx) =>
          tx.insert({
            model: pairs,
            fields: [a, b],
            rows: [["1", "x"]],
            columns: [version],
            checks: [],
            must,
            bindings
          })
        )
      yield* expectReason("Contended", add(equals(version, "2")))
      expect(yield* add(equals(version, "1"))).toEqual([["1"]])
      const touch = (must: FilterTree) =>
        alone((tx) =>
          tx.update({
            model: pairs,
            key: ["1", "x"],
            set: [],
            touch: true,
            columns: [version],
            checks: [],
            must,
            bindings
          })
        )
      yield* expectReason("Contended", touch(equals(version, "1")))
      expect(yield* touch(equals(version, "2"))).toEqual(["2"])
      const where = equals(version, "2")
      expect(yield* records.count({ model: pairs, where, bindings, cap: null })).toBe("1")
    })

    test(
      "is not judged where it is not alone: checks tell who can still undo it",
      function*({ inTransaction, stored }) {
        const made = yield* inTransaction((tx) => create(tx, [{ qty: "9" }], { must: small }))
        expect(made).toEqual([["1", "9", "false"]])
        expect(yield* inTransaction((tx) => change(tx, { qty: "8" }, { must: small }))).toEqual(["1", "8", "false"])
        expect((yield* stored("1"))!["qty"]).toBe("8")
      }
    )

    test("is judged again where it can be undone, and is refused or stands", function*(words) {
      const { stored } = words
      const judged = (row: readonly (string | null)[] | undefined) =>
        row?.at(-1) === "true" ? Effect.void : Effect.fail("refused")
      const insertOf = (qty: string) =>
        tried(words, (tx) => Effect.flatMap(create(tx, [{ qty }], { must: small }), ([row]) => judged(row)))
      const changeTo = (qty: string) =>
        tried(
          words,
          (tx) => Effect.andThen(lock(tx, "1"), Effect.flatMap(change(tx, { qty }, { must: small }), judged))
        )
      expect(yield* Effect.exit(insertOf("9"))).toEqual(Exit.fail("refused"))
      expect(yield* stored("1")).toBeNull()
      yield* insertOf("4")
      expect(yield* Effect.exit(changeTo("9"))).toEqual(Exit.fail("refused"))
      expect((yield* stored("1"))!["qty"]).toBe("4")
      yield* changeTo("3")
      expect((yield* stored("1"))!["qty"]).toBe("3")
    })
  })
}
