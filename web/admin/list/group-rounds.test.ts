import { describe, expect, it, vi } from "vitest"
import { related } from "../../../test/support/related.ts"
import type { Sum } from "./adding.ts"
import { type Head, headsOf, keysOf } from "./group-heads.ts"
import type { GroupsFound } from "./group-read.ts"
import { makeRounds } from "./group-rounds.ts"

const orders = related.resources.get("orders")!

const found = (count: number): GroupsFound => ({
  heads: headsOf(orders, keysOf(orders, ["note"]), [{ group: { note: "a" }, measures: { count } }], false),
  more: false,
  total: { count, accuracy: "exact" }
})

const sum = (value: string): ReadonlyMap<string, readonly Sum[]> =>
  new Map([["a", [{ field: "number", value, currency: null }]]])

const start = () => {
  const counts: Array<PromiseWithResolvers<GroupsFound>> = []
  const sums: Array<PromiseWithResolvers<ReadonlyMap<string, readonly Sum[]> | null>> = []
  const failed = vi.fn<(error: unknown, isShown: boolean) => void>()
  let shown: GroupsFound | undefined
  const add = <T>(to: Array<PromiseWithResolvers<T>>): Promise<T> => {
    const one = Promise.withResolvers<T>()
    to.push(one)
    return one.promise
  }
  const read = makeRounds({
    groups: () => add(counts),
    sums: () => add(sums),
    before: (): readonly Head[] => shown?.heads ?? [],
    holds: () => false,
    put: (now) => void (shown = now),
    counted: () => {},
    failed
  })
  const says = () => [
    shown?.heads[0]?.count,
    shown?.heads[0]?.sums[0]?.value,
    ...(shown?.unsummed === true ? ["unsummed"] : [])
  ]
  return { counts, failed, read, says, sums }
}

describe("rounds of reading groups", () => {
  it("take nothing back that a newer one has said", async () => {
    const { counts, read, says, sums } = start()
    const older = read(true)
    const newer = read(false)
    counts[1]!.resolve(found(2))
    await newer
    counts[0]!.resolve(found(1))
    await older
    expect(says()).toEqual([2, undefined])
    expect(sums).toHaveLength(1)
  })

  it("put sums to their own groups only, and keep those of before until then", async () => {
    const { counts, read, says, sums } = start()
    const first = read(true)
    counts[0]!.resolve(found(1))
    await first
    sums[0]!.resolve(sum("10"))
    await Promise.resolve()
    expect(says()).toEqual([1, "10"])
    const second = read(false)
    counts[1]!.resolve(found(2))
    await second
    const third = read(false)
    counts[2]!.resolve(found(3))
    await third
    sums[1]!.resolve(sum("20"))
    await Promise.resolve()
    expect(says()).toEqual([3, "10"])
    sums[2]!.resolve(sum("30"))
    await Promise.resolve()
    expect(says()).toEqual([3, "30"])
  })

  it("say that sums are not whole, or were refused", async () => {
    const { counts, failed, read, says, sums } = start()
    const first = read(true)
    counts[0]!.resolve(found(1))
    await first
    sums[0]!.resolve(null)
    await Promise.resolve()
    expect(says()).toEqual([1, undefined, "unsummed"])
    const second = read(false)
    counts[1]!.resolve(found(2))
    await second
    const refused = new Error("refused")
    sums[1]!.reject(refused)
    await Promise.resolve()
    expect(says()).toEqual([2, undefined, "unsummed"])
    expect(failed.mock.calls).toEqual([[refused, false]])
  })

  it("tell of every failure, and show it where nothing is there without", async () => {
    const { counts, failed, read } = start()
    const [older, later] = [read(true), read(false)]
    const ended = new Error("ended")
    counts[1]!.reject(ended)
    await later
    counts[0]!.reject(ended)
    await older
    expect(failed.mock.calls).toEqual([[ended, false], [ended, true]])
  })
})
