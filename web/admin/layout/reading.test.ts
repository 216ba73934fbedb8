import { describe, expect, it, onTestFinished, vi } from "vitest"
import { daysBetween } from "./days.ts"
import { type Calls, DayReader } from "./reading.ts"

interface Item {
  readonly key: string
  readonly day: string
}

/** A service of so many records a day, and what was asked of it. */
const service = (counts: Record<string, number>) => {
  const asked: string[] = []
  const calls: Calls<Item> = {
    count: (from, to) => {
      asked.push(`count ${from}`)
      return Promise.resolve(daysBetween(from, to).map((day) => counts[day] ?? 0))
    },
    read: ({ from, last, limit }) => {
      asked.push(`read ${from} ${last} ${limit}`)
      return Promise.resolve(
        Object.entries(counts).filter(([day]) => day >= from && day <= last)
          .flatMap(([day, count]) => Array.from({ length: count }, (_, at) => ({ key: `${day}/${at}`, day }))).slice(
            0,
            limit
          )
      )
    },
    reach: null,
    keyOf: ({ key }) => key,
    changed: () => {}
  }
  return { asked, calls, counts }
}

/** Until the reads that were begun have ended. */
const settled = (reader: DayReader<Item>) => expect.poll(() => reader.loading).toBe(false)
const november = { from: "2026-11-01", to: "2026-11-08", few: 8, around: "2026-11-03" }

describe("the records of a calendar", () => {
  it("are read for the days in sight, of full days the first ones", async () => {
    const { asked, calls } = service({ "2026-11-02": 3, "2026-11-03": 5_000, "2026-11-20": 7 })
    const reader = new DayReader(calls)
    reader.show(november)
    await settled(reader)
    expect(asked).toEqual(["count 2026-11-01", "read 2026-11-02 2026-11-02 500", "read 2026-11-03 2026-11-03 8"])
    expect([...reader.records()]).toHaveLength(11)
    expect([reader.count("2026-11-03"), reader.total("2026-11-01", "2026-11-08")]).toEqual([5_000, 5_003])
    reader.show({ ...november })
    expect(asked).toHaveLength(3)
  })

  it("are read again where a count or a known record changed, and nowhere else", async () => {
    const { asked, calls, counts } = service({ "2026-11-02": 700, "2026-11-04": 800, "2026-11-06": 900 })
    const reader = new DayReader(calls)
    reader.show(november)
    await settled(reader)
    asked.length = 0
    counts["2026-11-04"] = 801
    await reader.refresh(new Set(["2026-11-06/2"]))
    expect(asked).toEqual(["count 2026-11-01", "read 2026-11-04 2026-11-04 8", "read 2026-11-06 2026-11-06 8"])
    expect(reader.turn).toBe(2)
  })

  it("that began before a day are all known where those before it were read to their end", async () => {
    const { calls } = service({ "2026-11-02": 3, "2026-11-04": 800, "2026-11-06": 1 })
    const whole = async (reach: Calls<Item>["reach"]) => {
      const reader = new DayReader({ ...calls, reach })
      reader.show(november)
      await settled(reader)
      return ["2026-11-01", "2026-11-04", "2026-11-05", "2026-11-07"].map((day) => reader.whole(day))
    }
    expect(await whole(null)).toEqual([true, true, false, false])
    expect(await whole(() => Promise.resolve({ items: [], all: true }))).toEqual([true, true, false, false])
    expect(await whole(() => Promise.resolve({ items: [], all: false }))).toEqual([false, false, false, false])
    expect(await whole(() => Promise.reject(new Error("no")))).toEqual([false, false, false, false])
  })

  it("stay known while they are read again", async () => {
    const { calls } = service({ "2026-11-02": 3 })
    const reader = new DayReader({ ...calls, reach: () => Promise.resolve({ items: [], all: true }) })
    reader.show(november)
    await settled(reader)
    const again = reader.refresh(new Set())
    expect(reader.whole("2026-11-04")).toBe(true)
    await again
  })

  it("are forgotten when they are gone, and counted where they were moved to", async () => {
    const { calls, counts } = service({ "2026-11-02": 2 })
    const reader = new DayReader(calls)
    reader.show(november)
    await settled(reader)
    reader.recount("2026-11-02", "2026-11-05")
    expect([reader.count("2026-11-02"), reader.count("2026-11-05")]).toEqual([1, 1])
    counts["2026-11-02"] = 1
    await reader.refresh()
    expect([...reader.records()].map(({ key }) => key)).toEqual(["2026-11-02/0"])
  })

  it("stay where a read fails, and the failure of those that began earlier is another one", async () => {
    const { calls } = service({ "2026-11-02": 2 })
    let wrong = false
    const reader = new DayReader({
      ...calls,
      count: (...args) => wrong ? Promise.reject(new Error("gone")) : calls.count(...args),
      reach: () => Promise.reject(new Error("too expensive"))
    })
    reader.show(november)
    await settled(reader)
    expect([reader.failure, reader.reachFailure]).toEqual([undefined, new Error("too expensive")])
    wrong = true
    await reader.refresh()
    expect([reader.failure, [...reader.records()].length]).toEqual([new Error("gone"), 2])
  })

  it("are read to the end under steady changes of others, and again when a round's time has passed", async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { asked, calls } = service({ "2026-11-02": 700, "2026-11-04": 800 })
    const wait = () => new Promise((done) => setTimeout(done, 1_000))
    const reader = new DayReader({ ...calls, count: (...args) => wait().then(() => calls.count(...args)) })
    onTestFinished(() => reader.close())
    reader.show(november)
    for (let at = 0; at < 10; at++) {
      reader.collect("2026-11-04/2")
      await vi.advanceTimersByTimeAsync(300)
    }
    // The first round has a second, then there is a second of rest, then the next round.
    expect([reader.turn, reader.loading]).toEqual([2, false])
    expect(asked.filter((each) => each.startsWith("read")).toSorted()).toEqual([
      "read 2026-11-02 2026-11-02 8",
      "read 2026-11-04 2026-11-04 8",
      "read 2026-11-04 2026-11-04 8"
    ])
    await vi.advanceTimersByTimeAsync(10_000)
    expect([reader.turn, reader.loading]).toEqual([3, false])
  })
})
