import { describe, expect, it } from "vitest"
import { type Dated, inOrder, placeWeek, runsOf } from "./placing.ts"

const week = Array.from({ length: 7 }, (_, at) => `2026-11-0${at + 2}`)
const dated = (key: string, first: string, last = first): Dated<null> => ({ key, record: null, sort: key, first, last })
const place = (records: readonly Dated<null>[], lanes: number) => placeWeek(records.toSorted(inOrder), week, lanes)

describe("records in a week", () => {
  it("stand in the first lane that is free on all their days, spans first", () => {
    const { bars } = place([
      dated("c", "2026-11-04"),
      dated("b", "2026-11-03"),
      dated("span", "2026-11-03", "2026-11-04"),
      dated("long", "2026-10-30", "2026-11-20")
    ], 3)
    expect(bars.map(({ after, at, before, days, lane, of }) => [of.key, at, days, lane, before, after])).toEqual([
      ["long", 0, 7, 0, true, true],
      ["span", 1, 2, 1, false, false],
      ["b", 1, 1, 2, false, false],
      ["c", 2, 1, 2, false, false]
    ])
  })

  it("are counted on each of their days where they have no room, and left out in other weeks", () => {
    const { bars, left } = place([
      dated("a", "2026-11-03"),
      dated("b", "2026-11-03", "2026-11-04"),
      dated("other", "2026-11-20")
    ], 1)
    expect(bars.map(({ of }) => of.key)).toEqual(["b"])
    expect(left.map((each) => each.map(({ key }) => key))).toEqual([[], ["a"], [], [], [], [], []])
  })
})

describe("the requests for days", () => {
  const most = { records: 200, requests: 4 }
  const asked = (counts: readonly number[], few: number, around = "2026-11-01") =>
    runsOf(counts.map((count, at) => [`2026-11-0${at + 1}`, count] as const), few, most, around)
      .map(({ count, from, last, limit }) => [Number(from.slice(8)), Number(last.slice(8)), count, limit])

  it.each([
    ["one for all, where they are few", [1, 0, 40, 2], 8, [[1, 4, 43, 200]]],
    ["one for neighbours that fill a page, also where each is full", [150, 40, 90, 100, 20], 8, [
      [1, 2, 190, 200],
      [3, 4, 190, 200],
      [5, 5, 20, 200]
    ]],
    ["one for each day of more than a page", [500, 3, 4, 600], 8, [[1, 1, 500, 8], [2, 3, 7, 200], [4, 4, 600, 8]]],
    ["none for empty days", [0, 0], 8, []],
    ["none where only counts are shown", [5, 900], 0, []]
  ])("%s", (_, counts, few, runs) => {
    expect(asked(counts, few)).toEqual(runs)
  })

  it("are those around a day where they would be many", () => {
    const full = Array.from({ length: 9 }, () => 900)
    expect(asked(full, 3).map(([day]) => day)).toEqual([1, 2, 3, 4])
    expect(asked(full, 3, "2026-11-07").map(([day]) => day)).toEqual([5, 6, 7, 8])
    expect(asked(full, 3, "2027-01-01").map(([day]) => day)).toEqual([6, 7, 8, 9])
  })
})
