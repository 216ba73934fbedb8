import { describe, expect, it } from "vitest"
import { type Bound, type LoadedPage, Pages, type PageStart } from "./pages.ts"

/** A list of numbers whose answers are given by hand. */
const stage = (rows: number, most = 60) => {
  const calls: Array<
    { start: PageStart; signal: AbortSignal; answer: (page?: LoadedPage<number>) => void; fail: () => void }
  > = []
  let changes = 0
  const said: Array<readonly [rows: number, bound: Bound]> = []
  const pageFrom = (from: number): LoadedPage<number> => ({
    items: Array.from({ length: Math.max(0, Math.min(10, rows - from)) }, (_, at) => from + at),
    next: from + 10 >= rows ? "" : `n${from + 10}`,
    previous: from === 0 ? "" : `p${from - 10}`
  })
  const fromOf = (start: PageStart) => "position" in start ? start.position : Number(start.token.slice(1))
  const pages = new Pages<number>({
    size: 10,
    most,
    keyOf: String,
    pace: { moving: 10_000, rest: 5_000 },
    changed: () => changes++,
    reached: (count, bound) => said.push([count, bound]),
    load: (start, _, signal) =>
      new Promise((resolve, reject) => {
        calls.push({
          start,
          signal,
          answer: (page) => resolve(page ?? pageFrom(fromOf(start))),
          fail: () => reject(new Error("no"))
        })
      })
  })
  const settled = () => new Promise<void>((done) => setImmediate(done))
  return { calls, pages, settled, changes: () => changes, said }
}

describe("pages of rows", () => {
  it("asks by position, then by the tokens of neighbours on either side", async () => {
    const { calls, pages, settled } = stage(1000)
    pages.want(500, 510, false)
    expect(calls.map(({ start }) => start)).toEqual([{ position: 500 }])
    calls[0]!.answer()
    await settled()
    expect([pages.row(500), pages.row(509), pages.row(510)]).toEqual([500, 509, undefined])
    pages.want(495, 515, false)
    expect(calls.slice(1).map(({ start }) => start)).toEqual([{ token: "p490" }, { token: "n510" }])
  })

  it("ends requests for rows that went out of sight, and takes no late answer of them", async () => {
    const { calls, pages, settled } = stage(1000)
    pages.want(0, 10, false)
    pages.want(700, 710, false)
    expect(calls[0]!.signal.aborted).toBe(true)
    calls[0]!.answer()
    await settled()
    expect(pages.row(0)).toBeUndefined()
  })

  it("asks once in a while during a drag", () => {
    const { calls, pages } = stage(100_000)
    for (let row = 0; row < 50_000; row += 500) pages.want(row, row + 10, true)
    expect(calls).toHaveLength(1)
    pages.close()
  })

  it("keeps a bounded number of pages, those used last", async () => {
    const { calls, pages, settled } = stage(1000, 3)
    for (const row of [0, 100, 200, 300]) {
      pages.want(row, row + 10, false)
      calls.at(-1)!.answer()
      await settled()
      pages.row(0)
    }
    expect([0, 100, 200, 300].map((row) => pages.row(row))).toEqual([0, undefined, 200, 300])
  })

  it("shows a record once where a page by token and one by position overlap", async () => {
    const { calls, pages, settled } = stage(1000)
    pages.want(0, 10, false)
    calls[0]!.answer()
    await settled()
    pages.want(10, 20, false)
    calls[1]!.answer({ items: [9, 10, 11], next: "n", previous: "p" })
    await settled()
    expect(pages.row(10)).toBe(10)
  })

  it("says how many rows there are once it meets the last page", async () => {
    const { calls, pages, said, settled } = stage(995)
    pages.want(990, 1000, false)
    calls[0]!.answer()
    await settled()
    expect(said).toEqual([[995, "exact"]])
  })

  it("says that more follow a page, and that an empty page lies beyond the end", async () => {
    const { calls, pages, said, settled } = stage(995)
    pages.want(500, 510, false)
    calls[0]!.answer()
    await settled()
    pages.want(1200, 1210, false)
    calls[1]!.answer()
    await settled()
    expect(said).toEqual([[510, "more"], [1200, "most"]])
  })

  it("keeps a failure with its rows until it is told to try again", async () => {
    const { calls, pages, settled } = stage(1000)
    pages.want(0, 10, false)
    calls[0]!.fail()
    await settled()
    expect(pages.failureAt(3)).toBeInstanceOf(Error)
    pages.want(0, 10, false)
    expect(calls).toHaveLength(1)
    pages.retry()
    expect(calls).toHaveLength(2)
  })

  it("replaces a record in place", async () => {
    const { calls, pages, settled, changes } = stage(1000)
    pages.want(0, 10, false)
    calls[0]!.answer()
    await settled()
    const before = changes()
    pages.replace("4", () => 44)
    expect([pages.row(4), pages.indexOf("44"), changes() - before]).toEqual([44, 4, 1])
  })
})
