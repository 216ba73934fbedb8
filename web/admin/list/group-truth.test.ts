import { describe, expect, it, vi } from "vitest"
import { metaField, related } from "../../../test/support/related.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { readRows } from "../range/records.ts"
import { type Head, headsOf, keysOf, sumsOfHead, titleOfHead, untitledOf } from "./group-heads.ts"
import { readGroups, readSums } from "./group-read.ts"
import { placeAmong, positionOf } from "./position.ts"

vi.mock("../model/client.ts", () => ({ resourceClient: vi.fn<() => unknown>() }))

const orders = related.resources.get("orders")!
const lines = related.resources.get("lines")!
const { signal } = new AbortController()

const answers = (with_: object): void => void vi.mocked(resourceClient).mockReturnValue(with_ as never)

describe("heads of groups", () => {
  it("have the title of a record of their own resource", () => {
    const keys = keysOf(lines, ["order_id", "product_id"])
    const heads = headsOf(
      lines,
      keys.map((key) => ({ ...key, title: null })),
      [{ group: { order_id: 17, product_id: 17 }, measures: { count: 1 } }],
      false
    )
    expect(
      ([1, 2] as const).map((level) => untitledOf(lines, heads, level)).map(({ values, way }) => [
        way?.target.name,
        values
      ])
    ).toEqual([["orders", ["17"]], ["products", ["17"]]])
    const titles = { 1: new Map([["17", "Order"]]), 2: new Map<string, string>() }
    const [outer] = heads
    expect([titleOfHead(lines, outer!, titles), titleOfHead(lines, outer!.inner[0]!, titles)]).toEqual(["Order", null])
  })

  it("call sums by fields of the list", () => {
    const [head] = headsOf(
      orders,
      keysOf(orders, ["customer.country"]),
      [{ group: { "customer.country": "NO" }, measures: { count: 1 } }],
      false
    )
    const fields = new Map([...orders.fields, ["number", { ...orders.fields.get("number")!, label: "Owed" }]])
    const summed = { ...head!, sums: [{ field: "number", value: "1", currency: null }] }
    expect(sumsOfHead({ ...orders, fields }, summed, { number: String })).toBe("Owed 1")
  })
})

describe("what was not read to its end", () => {
  const keys = keysOf(orders, ["status", "note"])
  const groups = [
    { group: { status: "paid", note: "a" }, measures: { count: 2, "sum(number)": "5" } },
    { group: { status: "paid", note: "b" }, measures: { count: 3, "sum(number)": "6" } }
  ]
  const asked = { resource: orders, query: { filter: "", deleted: false, order: "" }, keys }
  const heads = (): readonly Head[] => headsOf(orders, keys, groups, false)

  it("has no sums", async () => {
    answers({ aggregate: () => Promise.resolve({ groups, more: true }) })
    expect(await readSums(asked, heads(), false, ["number"], signal)).toBeNull()
    answers({ aggregate: () => Promise.resolve({ groups, more: false }) })
    expect((await readSums(asked, heads(), false, ["number"], signal))?.get("paid")?.[0]?.value).toBe("11")
  })

  it("has the count of the list where one group fills the answer", async () => {
    const aggregate = () => Promise.resolve({ groups, more: true })
    const count = async (page: object) => {
      answers({ aggregate, search: () => Promise.resolve({ items: [], ...page }) })
      const [head] = (await readGroups(asked, 2, signal)).heads
      return [head?.count, head?.about]
    }
    expect(await count({ total_size: 9 })).toEqual([9, false])
    expect(await count({ total_size_estimate: 20_000, total_size_accuracy: "estimate" })).toEqual([20_000, true])
    expect(await count({ total_size_estimate: 1, total_size_accuracy: "estimate" })).toEqual([5, true])
  })
})

describe("the place of a row in a group", () => {
  const rows = (about: boolean) => ({
    total: { count: 50, accuracy: "estimate" as const },
    groups: {
      placeAt: (line: number) => line === 0 ? null : { condition: "a = 1", index: line - 1, count: 7, about }
    } as never
  })

  it("says whether the number of records is an estimate", () => {
    expect(positionOf(rows(true), 3)).toEqual({ position: 2, total: 7, about: true, within: "a = 1", lines: 1 })
    expect(positionOf(rows(false), 3)).toMatchObject({ about: false })
    expect(placeAmong(rows(true), 3)).toMatchObject({ index: 2, count: 7, about: true })
  })

  it("is that in the list where no row is", () => {
    expect(positionOf(rows(false), 0)).toEqual({})
    expect(placeAmong(rows(false), 0)).toEqual({ index: 0, count: 50, about: true })
    expect(positionOf({ total: { count: 5, accuracy: "exact" }, groups: undefined } as never, 1)).toEqual({
      position: 1,
      total: 5,
      about: false
    })
  })
})

describe("groups by time", () => {
  const at = metaField("at", "timestamp")
  const timed = {
    ...orders,
    fields: new Map([...orders.fields, ["at", at]]),
    model: { ...orders.model, fields: [...orders.model.fields, at] }
  }

  it("are read in the zone of the browser, the newest first unless the list rises by them", async () => {
    const aggregate = vi.fn<(query: { readonly order_by: unknown }) => Promise<unknown>>(() =>
      Promise.resolve({ groups: [], more: false })
    )
    answers({ aggregate })
    const read = async (order: string) => {
      const query = { filter: "", deleted: false, order }
      await readGroups({ resource: timed, query, keys: keysOf(timed, ["month(at)"]) }, 200, signal)
      return aggregate.mock.lastCall?.[0]
    }
    expect(await read("id")).toMatchObject({
      group_by: ["month(at)"],
      order_by: ["month(at) desc"],
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone
    })
    expect((await read("at,id"))?.order_by).toEqual(["month(at)"])
    expect((await read("at desc"))?.order_by).toEqual(["month(at) desc"])
  })
})

describe("the rows of a range", () => {
  it("are read where they are not there, those of each group by its condition", async () => {
    const record = (id: string): AnyRecord => ({ id, etag: id }) as AnyRecord
    const seek = vi.fn<(position: number, query: object) => Promise<unknown>>((position) =>
      Promise.resolve({ items: [record(`r${position}`), record("more")] })
    )
    answers({ seek })
    const source = {
      groups: {
        count: 7,
        stretches: () => [
          { line: 2, count: 2, index: 1, condition: "x = a" },
          { line: 5, count: 1, index: 0, condition: "x = b" }
        ]
      },
      rowAt: (line: number) => line === 2 ? record("held") : undefined,
      parameters: { filter: "y = 1", order_by: "id" }
    }
    const progress = vi.fn<(read: number) => void>()
    const read = await readRows(orders, source, 2, 5, progress, signal)
    expect(read.map(({ id }) => id)).toEqual(["held", "r2", "r0"])
    expect(seek.mock.calls.map(([position, query]) => [position, query])).toEqual([
      [2, { filter: "(y = 1) AND x = a", order_by: "id", page_size: 1 }],
      [0, { filter: "(y = 1) AND x = b", order_by: "id", page_size: 1 }]
    ])
    expect(progress.mock.calls).toEqual([[2], [3]])
  })
})
