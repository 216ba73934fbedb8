/** The records contract: who waits for whom, and what is seen after a wait. */

import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { describe, expect } from "vitest"
import type { FilterTree } from "../../core/domain/filter/tree.ts"
import type { RecordsTransaction } from "../../core/ports/records.ts"
import {
  bindings,
  equals,
  f,
  insert,
  inTime,
  literal,
  lock,
  order,
  reasonOf,
  type RecordsTest,
  shapeOf,
  shelves,
  things,
  update,
  type Words
} from "./records-tables.ts"

/** Adds one to the row of none, after it has locked the row. */
export const increment = (tx: RecordsTransaction) =>
  Effect.gen(function*() {
    const row = (yield* lock(tx, "1"))!
    yield* Effect.yieldNow
    yield* update(tx, "1", { qty: String(Number(row[f("qty").index]) + 1) })
  })

/** Runs eight at once, each of which adds one to the row of none: nothing is lost. */
export const addsEight = <E>({ stored }: Words, one: Effect.Effect<void, E>) =>
  Effect.gen(function*() {
    yield* Effect.all(Array.from({ length: 8 }, () => one), { concurrency: "unbounded" })
    expect((yield* stored("1"))!["qty"]).toBe("8")
  })

/** Two rows by their keys, and no other. */
const among = (...keys: readonly string[]): FilterTree => ({ op: "in", field: f("id"), values: keys.map(literal) })

const name = "a lock of the tests"

export const lockSuite = (test: RecordsTest): void => {
  /** A transaction that does something, says so, and ends when it is told. */
  const pausing = Effect.fnUntraced(function*<E>(
    { inTransaction }: Words,
    first: (tx: RecordsTransaction) => Effect.Effect<unknown, E>
  ) {
    const did = yield* Deferred.make<void>()
    const goesOn = yield* Deferred.make<void>()
    const fiber = yield* Effect.forkChild(inTransaction((tx) =>
      Effect.gen(function*() {
        yield* first(tx)
        yield* Deferred.succeed(did, undefined)
        yield* Deferred.await(goesOn)
      })
    ))
    yield* inTime(Effect.raceFirst(Deferred.await(did), Effect.asVoid(Fiber.join(fiber))))
    return Effect.andThen(Deferred.succeed(goesOn, undefined), inTime(Fiber.join(fiber)))
  })

  describe("locks of rows", () => {
    test("are taken within a condition, with judged checks", function*({ inTransaction, store }) {
      yield* store([{ qty: "1" }])
      const result = yield* inTransaction((tx) =>
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
      )
      expect(result).toEqual([["1", "1", "false"], null, null])
    })

    test("wait, and then show what the other wrote: no update is lost", function*(words) {
      yield* words.store([{ qty: "0" }])
      yield* addsEight(words, words.inTransaction(increment))
    })

    test("find no row that has left the condition while they waited", function*(words) {
      yield* words.store([{ qty: "1" }, { qty: "1" }])
      const end = yield* pausing(words, (tx) => update(tx, "1", { qty: "2" }))
      const late = yield* Effect.forkChild(words.inTransaction((tx) => lock(tx, "1", equals(f("qty"), "1"))))
      yield* words.waits(1)
      // Nobody waits for another row.
      expect(yield* inTime(words.inTransaction((tx) => lock(tx, "2", equals(f("qty"), "1"))))).not.toBeNull()
      yield* end
      expect(yield* inTime(Fiber.join(late))).toBeNull()
    })

    test("keep a value that is unique for who writes it first, until that one ends", function*(words) {
      const shelf = (code: string, label: string) => (tx: RecordsTransaction) =>
        insert(tx, shelves, { code, tenant_id: "1", label })
      const end = yield* pausing(words, shelf("a", "One"))
      const twin = yield* Effect.forkChild(reasonOf(words.inTransaction(shelf("b", "one"))))
      yield* words.waits(1)
      yield* inTime(words.inTransaction(shelf("c", "two")))
      yield* end
      expect(yield* inTime(Fiber.join(twin))).toBe("Unique")
    })

    test("are not waited for by who is interrupted, and then not taken", function*(words) {
      yield* words.store([{ qty: "1" }])
      const end = yield* pausing(words, (tx) => lock(tx, "1"))
      const late = yield* Effect.forkChild(words.inTransaction((tx) => lock(tx, "1")))
      yield* words.waits(1)
      yield* inTime(Fiber.interrupt(late))
      yield* words.waits(0)
      yield* end
      expect(yield* inTime(words.inTransaction((tx) => update(tx, "1", { qty: "2" })))).not.toBeNull()
    })

    test("are taken of all rows that pass, and of none that is not there", function*(words) {
      const { inTransaction, store } = words
      yield* store([{ qty: "0" }, { qty: "0" }, { status: "old" }])
      const where: FilterTree = { op: "and", items: [among("3", "99", "1"), equals(f("status"), "new")] }
      // Whoever has the lock is the only one who adds: nothing is lost.
      yield* addsEight(
        words,
        inTransaction((tx) =>
          Effect.gen(function*() {
            yield* tx.lockAll({ model: things, where, bindings })
            const [row] = yield* tx.page({ shape: shapeOf(order("id"), { columns: [f("qty")] }), bindings })
            yield* Effect.yieldNow
            yield* update(tx, "1", { qty: String(Number(row![0]) + 1) })
          })
        )
      )
      yield* inTransaction((tx) => tx.lockAll({ model: things, where: among("99"), bindings }))
    })

    test("are taken of many in the order of their keys, so that two of those do not deadlock", function*(words) {
      yield* words.store([{ id: "3" }, { id: "2" }, { id: "1" }])
      let late: Fiber.Fiber<void, unknown> | undefined
      yield* inTime(words.inTransaction((tx) =>
        Effect.gen(function*() {
          yield* lock(tx, "1")
          late = yield* Effect.forkDetach(
            words.inTransaction((other) => other.lockAll({ model: things, where: among("3", "1", "2"), bindings }))
          )
          yield* words.waits(1)
          // Who waits for the first has none of the others yet.
          yield* lock(tx, "3")
        })
      ))
      yield* inTime(Fiber.join(late!))
    })

    test("end a deadlock with a conflict for one of the two", function*({ inTransaction, store }) {
      yield* store([{ qty: "1" }, { qty: "1" }])
      const first = yield* Deferred.make<void>()
      const second = yield* Deferred.make<void>()
      const both = (mine: string, theirs: string, here: Deferred.Deferred<void>, there: Deferred.Deferred<void>) =>
        reasonOf(inTransaction((tx) =>
          Effect.gen(function*() {
            yield* lock(tx, mine)
            yield* Deferred.succeed(here, undefined)
            yield* Deferred.await(there)
            yield* lock(tx, theirs)
          })
        ))
      const outcomes = yield* Effect.all([both("1", "2", first, second), both("2", "1", second, first)], {
        concurrency: 2
      })
      expect(new Set(outcomes)).toEqual(new Set(["Conflict", "success"]))
    })
  })

  describe("locks of names", () => {
    test("are shared by many, and had alone by one once they have ended", function*(words) {
      const ends = [
        yield* pausing(words, (tx) => tx.hold(name, "shared")),
        yield* pausing(words, (tx) => tx.hold(name, "shared"))
      ]
      const alone = yield* Effect.forkChild(words.inTransaction((tx) => tx.hold(name, "alone")))
      yield* words.waits(1)
      // Another name is another lock.
      yield* inTime(words.inTransaction((tx) => tx.hold("another lock of the tests", "alone")))
      yield* ends[0]!
      yield* words.waits(1)
      yield* ends[1]!
      yield* inTime(Fiber.join(alone))
    })

    test("are waited for by who shares while one has it alone, and again held by who holds them", function*(words) {
      const end = yield* pausing(words, (tx) => Effect.andThen(tx.hold(name, "alone"), tx.hold(name, "shared")))
      const sharing = yield* Effect.forkChild(words.inTransaction((tx) => tx.hold(name, "shared")))
      yield* words.waits(1)
      yield* end
      yield* inTime(Fiber.join(sharing))
    })

    test("end with a transaction that fails, and let those who wait in one by one", function*({ inTransaction }) {
      yield* Effect.exit(
        inTransaction((tx) => Effect.andThen(tx.hold(name, "alone"), Effect.fail("undone" as const)))
      )
      const events: string[] = []
      const entering = (who: string) =>
        inTransaction((tx) =>
          Effect.gen(function*() {
            yield* tx.hold(name, "alone")
            events.push(`${who} in`)
            yield* Effect.yieldNow
            events.push(`${who} out`)
          })
        )
      yield* inTime(Effect.all([entering("a"), entering("b"), entering("c")], { concurrency: "unbounded" }))
      expect(events.map((each) => each.split(" ")[1])).toEqual(["in", "out", "in", "out", "in", "out"])
      for (let i = 0; i < 6; i += 2) expect(events[i]!.split(" ")[0]).toBe(events[i + 1]!.split(" ")[0])
    })

    test("are left to the others by one who is interrupted while waiting", function*(words) {
      const end = yield* pausing(words, (tx) => tx.hold(name, "shared"))
      const alone = yield* Effect.forkChild(words.inTransaction((tx) => tx.hold(name, "alone")))
      yield* words.waits(1)
      yield* inTime(Fiber.interrupt(alone))
      yield* words.waits(0)
      yield* inTime(words.inTransaction((tx) => tx.hold(name, "shared")))
      yield* end
    })
  })

  test("keeps answers for idempotency keys a day, one holder at a time", function*({ inTransaction }) {
    const scope = "create things"
    const now = bindings.now
    const claim = (tx: RecordsTransaction, at = now) => tx.claimKey({ scope, key: "k1", now: at })
    const answer = (tx: RecordsTransaction, text: string, at = now) =>
      tx.storeKey({ scope, key: "k1", request: "digest", answer: text, now: at })
    expect(yield* inTransaction((tx) => claim(tx))).toEqual({ of: "new" })
    // Rolled back: nothing is stored.
    const undone = inTransaction((tx) =>
      Effect.andThen(Effect.andThen(claim(tx), answer(tx, "lost")), Effect.fail("no"))
    )
    expect(yield* Effect.exit(undone)).toEqual(Exit.fail("no"))
    expect(yield* inTransaction((tx) => Effect.andThen(claim(tx), claim(tx)))).toEqual({ of: "new" })
    const twin = yield* inTransaction((tx) =>
      Effect.gen(function*() {
        yield* claim(tx)
        yield* answer(tx, "first")
        return yield* inTransaction((other) => claim(other))
      })
    )
    expect(twin).toEqual({ of: "busy" })
    expect(yield* inTransaction((tx) => claim(tx))).toEqual({ of: "stored", request: "digest", answer: "first" })
    const other = { scope: "create pairs", key: "k1", now }
    expect(yield* inTransaction((tx) => tx.claimKey(other))).toEqual({ of: "new" })
    const tomorrow = now + 86_400_000_001n
    expect(yield* inTransaction((tx) => claim(tx, tomorrow))).toEqual({ of: "new" })
    yield* inTransaction((tx) => Effect.andThen(claim(tx, tomorrow), answer(tx, "second", tomorrow)))
    expect(yield* inTransaction((tx) => claim(tx, tomorrow))).toMatchObject({ of: "stored", answer: "second" })
  })
}
