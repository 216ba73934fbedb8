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
  it.each([
    ["one for all, where they are few", [1, 0, 40, 2], 8, [["0", "3", 43, 200]]],
    ["one for each full day", [500, 3, 4, 600], 8, [["0", "0", 500, 8], ["1", "2", 7, 200], ["3", "3", 600, 8]]],
    ["none for empty days", [0, 0], 8, []],
    ["none where only counts are shown", [5, 900], 0, []]
  ])("%s", (_, counts, few, runs) => {
    expect(
      runsOf(counts.map((count, day) => [String(day), count] as const), few, 200)
        .map(({ count, from, last, limit }) => [from, last, count, limit])
    ).toEqual(runs)
  })
})
