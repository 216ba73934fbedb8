import { expect, it, vi } from "vitest"
import { related } from "../../../test/support/related.ts"
import type { PageStart } from "../grid/pages.ts"
import { headsOf, keysOf } from "./group-heads.ts"
import { GroupSource } from "./group-source.ts"
import { readFolds } from "./lines.ts"

const orders = related.resources.get("orders")!

const start = (
  counts: Readonly<Record<string, number>>,
  real = counts,
  most = 60
) => {
  const asked: string[] = []
  const miscounted = vi.fn<() => void>()
  const source = new GroupSource<string>({
    size: 10,
    most,
    keyOf: (item) => item,
    changed: () => {},
    miscounted,
    load: async (condition, from: PageStart, size) => {
      const [, note = ""] = /"(\w+)"/.exec(condition)!
      const first = "token" in from ? Number(from.token) : from.position
      asked.push(`${note} ${first}`)
      const last = Math.min(real[note]!, first + size)
      const items = Array.from({ length: Math.max(0, last - first) }, (_, at) => `${note}${first + at}`)
      return { items, next: last < real[note]! ? String(last) : "", previous: null }
    }
  })
  const heads = headsOf(
    orders,
    keysOf(orders, ["note"]),
    Object.entries(counts).map(([note, count]) => ({ group: { note }, measures: { count } })),
    false
  )
  const show = (folded: readonly string[] = []) => source.arrange(heads, readFolds(folded), false)
  /** Shows other counts, which are estimates. */
  const estimate = (now: Readonly<Record<string, number>>) =>
    source.arrange(heads.map((head) => ({ ...head, count: now[head.id] ?? 0, about: true })), readFolds([]), false)
  return { source, asked, estimate, miscounted, show }
}

const settled = () => new Promise((done) => setTimeout(done))

it("reads the rows in sight, and nothing of folded groups", async () => {
  const { asked, show, source } = start({ a: 3, b: 100, c: 5 })
  show(["a"])
  source.want(0, 6, false)
  await settled()
  expect(asked).toEqual(["b 0"])
  expect([source.row(0), source.row(1), source.row(2), source.row(5)]).toEqual([undefined, undefined, "b0", "b3"])
  expect(source.indexOf("b3")).toBe(5)
  show(["a", "b"])
  expect([source.indexOf("b3"), source.lines.count]).toEqual([-1, 8])
  source.want(0, 8, false)
  await settled()
  expect(asked).toEqual(["b 0", "c 0"])
  expect([...source.rows()]).toHaveLength(15)
})

it("ends a group at its last row, and has groups counted again that have more", async () => {
  const fewer = start({ a: 5, b: 1 }, { a: 3, b: 1 })
  fewer.show()
  fewer.source.want(0, 8, false)
  await settled()
  expect([fewer.source.lines.count, fewer.miscounted.mock.calls.length]).toEqual([6, 0])
  const more = start({ a: 5, b: 1 }, { a: 50, b: 1 })
  more.show()
  more.source.want(0, 8, false)
  await settled()
  expect(more.miscounted).toHaveBeenCalledOnce()
  expect(more.source.lines.lineOf("b")).toBeGreaterThan(11)
})

it("keeps a limited number of pages in all groups together", async () => {
  const counts = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`g${at}`, 10]))
  const { show, source } = start(counts, counts, 3)
  show()
  for (let at = 0; at < 8; at++) {
    source.want(at * 11, at * 11 + 5, false)
    await settled()
  }
  expect([...source.rows()].length).toBeLessThanOrEqual(40)
  expect(source.row(7 * 11 + 1)).toBe("g70")
  expect(source.row(1)).toBeUndefined()
})

it("asks at a pace while the thumb moves, also over many groups", async () => {
  const counts = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`g${at}`, 10]))
  const { asked, show, source } = start(counts)
  show()
  for (let at = 0; at < 40; at++) source.want(at * 11, at * 11 + 11, true)
  await settled()
  expect(asked).toHaveLength(1)
  source.close()
})

it("replaces rows by key and tells their group, and forgets what is out of sight", async () => {
  const { show, source } = start({ a: 30, b: 30 })
  show()
  source.want(0, 5, false)
  await settled()
  const told: string[] = []
  source.replaceAll((item, key, head) => {
    if (key === "a1") told.push(head)
    return key === "a1" ? `${item} new` : undefined
  })
  expect([source.row(2), told]).toEqual(["a1 new", ["a"]])
  expect(source.forget("a2")).toBe(false)
  source.want(35, 40, false)
  await settled()
  expect(source.forget("a2")).toBe(true)
  expect(source.row(1)).toBeUndefined()
})

it("goes on as far as an estimate says, unless the end was seen", async () => {
  const { estimate, source } = start({ a: 15, b: 5 })
  estimate({ a: 15, b: 8 })
  source.want(0, 5, false)
  source.want(16, 20, false)
  await settled()
  expect(source.lines.count).toBe(22)
  expect(estimate({ a: 1_000, b: 9 }).count).toBe(1_007)
})
