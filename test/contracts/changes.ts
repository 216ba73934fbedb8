/** The contract of the port to captured changes, for the fake and for PostgreSQL. */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { beforeEach, expect, it } from "vitest"
import type { Transaction } from "../../core/domain/declare/config.ts"
import type { StoredChange } from "../../core/domain/event/change.ts"
import { type ChangesService, leaseSeconds, Taken } from "../../core/ports/changes.ts"
import { RecordsError } from "../../core/ports/records.ts"

/** What the contract needs besides the port: a table `things` with `id` and `name`, and one `others` alike, whose changes are captured. */
export interface ChangesStage {
  readonly changes: ChangesService
  readonly clear: () => Promise<void>
  readonly begin: () => Promise<{
    readonly insert: (table: "things" | "others", id: number, name: string) => Promise<void>
    readonly rename: (id: number, name: string) => Promise<void>
    readonly commit: () => Promise<void>
    readonly rollback: () => Promise<void>
  }>
  /** Lets so much time pass for leases, watchers and what is kept. */
  readonly pass: (seconds: number) => Promise<void>
  /** Leaves a note within the transaction of `settle`. */
  readonly note: (transaction: Transaction, text: string) => Promise<void>
  readonly notes: () => Promise<readonly string[]>
}

export const changesContract = (use: () => ChangesStage): void => {
  const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)
  const insert = async (id: number, name: string, table: "things" | "others" = "things"): Promise<void> => {
    const transaction = await use().begin()
    await transaction.insert(table, id, name)
    await transaction.commit()
  }
  const take = async (holder = "a", limit = 100): Promise<readonly StoredChange[]> =>
    (await run(use().changes.take(holder, limit)))!
  const namesOf = (changes: readonly StoredChange[]) => changes.map(({ after }) => after?.["name"])
  const settle = (changes: readonly StoredChange[], text = "done") =>
    run(Effect.result(
      use().changes.settle(changes, (transaction) => Effect.promise(() => use().note(transaction, text)))
    ))

  beforeEach(() => use().clear())

  it("has a change once its transaction has committed, and never one that rolled back", async () => {
    const open = await use().begin()
    await open.insert("things", 1, "open")
    const lost = await use().begin()
    await lost.insert("things", 2, "lost")
    await lost.rollback()
    expect(await run(use().changes.waiting)).toBe(false)
    expect(await take()).toEqual([])
    await open.commit()
    expect(await run(use().changes.waiting)).toBe(true)
    expect(await take()).toMatchObject([{
      operation: "insert",
      before: null,
      after: { id: "1", name: "open" },
      actor: null
    }])
  })

  it("numbers the changes of a record in their order, and tells transactions apart", async () => {
    await insert(1, "a")
    for (const name of ["b", "c", "d"]) {
      const transaction = await use().begin()
      await transaction.rename(1, name)
      await transaction.commit()
    }
    const all = await take()
    expect(namesOf(all)).toEqual(["a", "b", "c", "d"])
    expect(all.map(({ before }) => before?.["name"])).toEqual([undefined, "a", "b", "c"])
    const numbers = all.map(({ sequence }) => BigInt(sequence))
    expect(numbers.every((each, at) => at === 0 || each > numbers[at - 1]!)).toBe(true)
    expect(new Set(all.map(({ transaction }) => transaction)).size).toBe(4)
  })

  it("shows one that commits late although its number is lower", async () => {
    const late = await use().begin()
    await late.insert("things", 1, "late")
    await insert(2, "early")
    const first = await take()
    expect(namesOf(first)).toEqual(["early"])
    expect(Result.isSuccess(await settle(first))).toBe(true)
    await late.commit()
    const second = await take()
    expect(namesOf(second)).toEqual(["late"])
    expect(BigInt(second[0]!.sequence)).toBeLessThan(BigInt(first[0]!.sequence))
  })

  it("gives the oldest first, no more than asked for", async () => {
    for (let id = 1; id <= 5; id++) await insert(id, `n${id}`)
    expect(namesOf(await take("a", 3))).toEqual(["n1", "n2", "n3"])
    expect(namesOf(await take("a", 100))).toEqual(["n1", "n2", "n3", "n4", "n5"])
  })

  it("has one holder at a time, who renews or gives back", async () => {
    await insert(1, "a")
    expect(await take("a")).toHaveLength(1)
    expect(await run(use().changes.take("b", 10))).toBeNull()
    await use().pass(leaseSeconds - 2)
    expect(await take("a")).toHaveLength(1)
    await use().pass(leaseSeconds - 2)
    expect(await run(use().changes.take("b", 10))).toBeNull()
    // Only its holder gives it back.
    await run(use().changes.release("b"))
    expect(await run(use().changes.take("b", 10))).toBeNull()
    await run(use().changes.release("a"))
    expect(await take("b")).toHaveLength(1)
  })

  it("has a holder no longer than a lease, when the clock goes back that it was taken by", async () => {
    await insert(1, "a")
    expect(await take("a")).toHaveLength(1)
    await use().pass(-3_600)
    expect(await take("b")).toHaveLength(1)
    expect(await run(use().changes.take("a", 10))).toBeNull()
  })

  it("takes the lease from who is silent for too long", async () => {
    await insert(1, "a")
    await take("a")
    await use().pass(leaseSeconds + 1)
    expect(await take("b")).toHaveLength(1)
    expect(await run(use().changes.take("a", 10))).toBeNull()
  })

  it("settles changes and does what belongs to it as one", async () => {
    await insert(1, "a")
    await insert(2, "b")
    const [first, second] = await take()
    expect(Result.isSuccess(await settle([first!], "first"))).toBe(true)
    expect(namesOf(await take())).toEqual(["b"])
    expect(await use().notes()).toEqual(["first"])
    const failed = await run(Effect.result(
      use().changes.settle([second!], (transaction) =>
        Effect.andThen(
          Effect.promise(() => use().note(transaction, "never")),
          Effect.fail(new RecordsError({ reason: { _tag: "Unavailable" } }))
        ))
    ))
    expect(Result.isFailure(failed)).toBe(true)
    expect(namesOf(await take())).toEqual(["b"])
    expect(await use().notes()).toEqual(["first"])
  })

  it("settles nothing once another has settled a part of it", async () => {
    await insert(1, "a")
    await insert(2, "b")
    const all = await take()
    await settle([all[0]!], "by another")
    const late = await settle(all, "too late")
    expect(Result.isFailure(late) && late.failure).toBeInstanceOf(Taken)
    expect(namesOf(await take())).toEqual(["b"])
    expect(await use().notes()).toEqual(["by another"])
  })

  it("keeps settled changes of what is watched, in the order in which they were settled", async () => {
    const things = (await (await insert(9, "unwatched"), take()))[0]!.relation
    await settle(await take())
    await run(use().changes.watch([things]))
    const { position } = await run(use().changes.last)
    expect(await run(use().changes.since([things], position, 10))).toEqual([])
    await insert(1, "a")
    await insert(2, "elsewhere", "others")
    await insert(3, "c")
    const [a, elsewhere, c] = await take()
    await settle([c!])
    await settle([a!, elsewhere!])
    const found = await run(use().changes.since([things], position, 10))
    expect(namesOf(found.map(({ change }) => change))).toEqual(["c", "a"])
    expect(found.map(({ change }) => change)).toEqual([c, a])
    const [first] = found
    expect((await run(use().changes.since([things], first!.position, 10))).map(({ change }) => change)).toEqual([a])
    expect(await run(use().changes.since([things], position, 1))).toHaveLength(1)
    expect(await run(use().changes.since([elsewhere!.relation], position, 10))).toEqual([])
    expect((await run(use().changes.last)).position).toBe(found[1]!.position)
  })

  it("keeps what was settled for an hour, from a time on and before another, in pages", async () => {
    const { changes } = use()
    expect(await run(changes.keptSince)).toBeNull()
    for (const [i, name] of ["a", "b", "c"].entries()) {
      await insert(i + 1, name, i === 1 ? "others" : "things")
      await use().pass(10)
    }
    const all = await take()
    const [a, b, c] = all as [StoredChange, StoredChange, StoredChange]
    const whole = { since: "0001-01-01T00:00:00Z", until: "2999-01-01T00:00:00Z", after: null }
    expect(await run(changes.between(whole, 10))).toEqual([])
    await settle([c, a])
    const failed = await run(
      Effect.result(changes.settle([b], () => Effect.fail(new RecordsError({ reason: { _tag: "Unavailable" } }))))
    )
    expect(Result.isFailure(failed)).toBe(true)
    expect(namesOf(await run(changes.between(whole, 10)))).toEqual(["a", "c"])
    await settle([b])
    expect(await run(changes.between(whole, 10))).toEqual([a, b, c])
    expect(await run(changes.keptSince)).toBe(a.at)
    expect(await run(changes.between({ ...whole, since: b.at }, 10))).toEqual([b, c])
    expect(await run(changes.between({ ...whole, since: a.at, until: c.at }, 10))).toEqual([a, b])
    expect(await run(changes.between(whole, 1))).toEqual([a])
    expect(await run(changes.between({ ...whole, after: { at: a.at, sequence: a.sequence } }, 1))).toEqual([b])
    expect(await run(changes.between({ ...whole, after: { at: c.at, sequence: c.sequence } }, 1))).toEqual([])
    await use().pass(3_700)
    await run(changes.forget)
    expect(await run(changes.keptSince)).toBeNull()
  })

  it("forgets what is older than ten minutes, and who has not said for twelve that they watch", async () => {
    await insert(1, "a")
    const [{ relation }] = await take() as [StoredChange]
    await run(use().changes.watch([relation]))
    const before = await run(use().changes.last)
    await settle(await take())
    await use().pass(590)
    await run(use().changes.forget)
    expect(await run(use().changes.since([relation], before.position, 10))).toHaveLength(1)
    await use().pass(20)
    await run(use().changes.forget)
    expect(await run(use().changes.since([relation], before.position, 10))).toEqual([])
    await use().pass(120)
    await run(use().changes.forget)
    await insert(2, "b")
    await settle(await take("z"))
    expect(await run(use().changes.since([relation], before.position, 10))).toEqual([])
  })
}
