import { describe, expect, it } from "vitest"
import { metaField, related } from "../../../test/support/related.ts"
import { firstInstantOf, makeWriting } from "../field/moment.ts"
import { beginsWithin, dayIn, daysOf, lieOn, movedBy, reachesInto, shownDays } from "./days.ts"

const date = (name: string) => metaField(name, "date")
const time = (name: string) => metaField(name, "timestamp")
const shop = related.resources.get("orders")!
const fields = new Map([...shop.fields, ["due", date("due")], ["at", time("at")], ["until", time("until")]] as const)
const orders = { ...shop, fields, model: { ...shop.model, fields: [...fields.values()] } }
const writing = makeWriting("en-GB")

describe("the days of a calendar", () => {
  it.each(
    [
      ["2026-11-18", "month", 1, "2026-10-26", "2026-12-07", 6],
      ["2026-11-18", "month", 7, "2026-11-01", "2026-12-06", 5],
      ["2026-11-18", "week", 1, "2026-11-16", "2026-11-23", 1],
      ["2026-11-18", "week", 6, "2026-11-14", "2026-11-21", 1],
      ["2027-02-01", "month", 1, "2027-02-01", "2027-03-01", 4]
    ] as const
  )("are the whole weeks around %s by %s from day %i", (day, span, start, from, to, weeks) => {
    const shown = shownDays(day, span, start)
    expect([shown.from, shown.to, shown.weeks.length]).toEqual([from, to, weeks])
    expect(shown.weeks.flat()).toHaveLength(weeks * 7)
  })

  it.each([
    ["2026-11", "2026-11-01"],
    ["2026-11-09", "2026-11-09"],
    ["2026-02-31", "2026-03-03"],
    ["2026-13", "today"],
    ["0001-01", "today"],
    ["9999-12", "today"],
    ["", "today"],
    [null, "today"]
  ])("begin where the address says %s", (text, day) => expect(dayIn(text, "today")).toBe(day))
})

describe("the filter of days", () => {
  it("compares dates by their days, and times by the instants of the reader's days", () => {
    expect(beginsWithin(orders, { start: date("due"), end: null }, "2026-11-01", "2026-11-02"))
      .toBe("(due >= \"2026-11-01\") AND due < \"2026-11-02\"")
    const of = beginsWithin(orders, { start: time("at"), end: null }, "2026-11-01", "2026-11-02")
    expect(of).toContain(firstInstantOf("2026-11-01"))
    expect(new Date(firstInstantOf("2026-11-01")).getHours()).toBe(0)
  })

  it("has records that reach into a day, where they have an end", () => {
    expect(reachesInto(orders, { start: date("due"), end: null }, "2026-11-01")).toBeNull()
    expect(lieOn(orders, { start: date("due"), end: time("until") }, "2026-11-01"))
      .toBe(
        `(((due >= "2026-11-01") AND due < "2026-11-02") OR ((due < "2026-11-01") AND until >= "${
          firstInstantOf("2026-11-01")
        }"))`
      )
  })
})

describe("the days of a record", () => {
  const local = (day: number, hour: number) => new Date(2026, 10, day, hour, 30).toISOString()
  const of = { start: time("at"), end: time("until") }

  it("reach from its start to its end", () => {
    expect(daysOf({ at: local(4, 23), until: local(6, 0) }, of, writing.day)).toEqual({
      first: "2026-11-04",
      last: "2026-11-06"
    })
    expect(daysOf({ at: local(4, 9), until: firstInstantOf("2026-11-06") }, of, writing.day)?.last).toBe("2026-11-05")
    expect(daysOf({ at: local(4, 9), until: null }, of, writing.day)?.last).toBe("2026-11-04")
    expect(daysOf({ at: local(4, 9), until: local(2, 9) }, of, writing.day)?.last).toBe("2026-11-04")
    expect(daysOf({ at: null, until: local(2, 9) }, of, writing.day)).toBeNull()
    expect(daysOf({ due: "2026-11-05" }, { start: date("due"), end: null }, writing.day)?.first).toBe("2026-11-05")
  })

  it("move together, and keep their time of day", () => {
    const moved = movedBy({ at: local(4, 23), until: local(6, 1) }, of, 30, writing)!
    expect(
      [new Date(moved["at"]!), new Date(moved["until"]!)].map((
        each
      ) => [each.getMonth(), each.getDate(), each.getHours(), each.getMinutes()])
    )
      .toEqual([[11, 4, 23, 30], [11, 6, 1, 30]])
    expect(movedBy({ due: "2026-11-30" }, { start: date("due"), end: null }, 2, writing)).toEqual({ due: "2026-12-02" })
    expect(movedBy({ due: "2026-11-30", until: null }, { start: date("due"), end: time("until") }, 1, writing)).toEqual(
      { due: "2026-12-01" }
    )
  })
})
