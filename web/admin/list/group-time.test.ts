import { describe, expect, it } from "vitest"
import { metaField, related } from "../../../test/support/related.ts"
import { dayNames } from "../field/day-names.ts"
import { firstInstantOf } from "../field/moment.ts"
import { chosenGroups, hasGroup, offeredGroups, withUnit } from "./group-choice.ts"
import { headsOf, keysOf, sumsById } from "./group-heads.ts"
import { groupOfStart, groupOfValue, groupsBetween, timeText, timeUnits } from "./group-time.ts"
import { readGroupText } from "./layout.ts"

const shop = related.resources.get("orders")!
const added = [metaField("due_on", "date", { optional: true }), metaField("at", "timestamp")]
const orders = {
  ...shop,
  fields: new Map([...shop.fields, ...added.map((field) => [field.name, field] as const)]),
  model: { ...shop.model, fields: [...shop.model.fields, ...added] }
}
const [monday, sunday] = [1, 7]
const timeOf = (text: string, start = monday) => {
  const time = keysOf(orders, [text], start)[0]?.time
  if (time == null) throw new Error(`${text} is no time.`)
  return time
}

describe("groups by time", () => {
  it("are those of a date or a time that the caller sees", () => {
    expect(keysOf(orders, ["month(at)", "year(due_on)", "status"]).map(({ time }) => time?.asks)).toEqual([
      "month(at)",
      "year(due_on)",
      undefined
    ])
    expect(keysOf(orders, ["month(hidden)"])).toEqual([])
    expect(["month(at)", "hour(at)", "at", "day()"].map(readGroupText)).toEqual([
      { field: "at", unit: "month" },
      { field: "hour(at)", unit: null },
      { field: "at", unit: null },
      { field: "day()", unit: null }
    ])
  })

  it.each([
    ["day", monday, "2026-11-18"],
    ["week", monday, "2026-11-16"],
    ["week", sunday, "2026-11-15"],
    ["month", monday, "2026-11-01"],
    ["year", monday, "2026-01-01"]
  ])("of a %s have its first day, weeks from day %i on", (unit, start, first) => {
    const time = timeOf(`${unit}(at)`, start)
    const noon = new Date(Date.parse(firstInstantOf("2026-11-18")) + 43_200_000).toISOString()
    expect([groupOfValue(time, noon), groupOfValue(time, "2026-11-18")]).toEqual([first, first])
    // The service says the first instant of the group, or of a day of it.
    expect(groupOfStart(time, firstInstantOf(first))).toBe(first)
    expect([groupOfValue(time, "infinity"), groupOfStart(time, null)]).toEqual([null, null])
  })

  it("have a condition like any other, without an end where nothing follows", () => {
    const conditionOf = (text: string, value: string | null, start = monday) =>
      headsOf(orders, keysOf(orders, [text], start), [{
        group: { [timeOf(text, start).asks]: value },
        measures: { count: 1 }
      }], false)[0]?.condition
    expect(conditionOf("month(due_on)", firstInstantOf("2026-12-01"))).toBe(
      `(due_on >= "2026-12-01") AND due_on < "2027-01-01"`
    )
    expect(conditionOf("week(at)", firstInstantOf("2026-11-18"), sunday)).toBe(
      `(at >= "${firstInstantOf("2026-11-15")}") AND at < "${firstInstantOf("2026-11-22")}"`
    )
    expect(conditionOf("year(due_on)", firstInstantOf("9999-01-01"))).toBe(`due_on >= "9999-01-01"`)
    expect(conditionOf("year(due_on)", null)).toBe("isNull(due_on)")
  })

  it("put weeks together of days where they do not begin on a Monday", () => {
    const keys = keysOf(orders, ["week(due_on)", "status"], sunday)
    const group = (day: string | null, status: string, count: number) => ({
      group: { "day(due_on)": day === null ? null : firstInstantOf(day), status },
      measures: { count, "sum(number)": String(count) }
    })
    const groups = [
      group(null, "paid", 9),
      group("2026-11-17", "paid", 1),
      group("2026-11-16", "paid", 2),
      group("2026-11-15", "draft", 4),
      group("2026-11-14", "paid", 8)
    ]
    const heads = headsOf(orders, keys, groups, false)
    expect(heads.map(({ count, id }) => [id, count])).toEqual([["2026-11-15", 7], ["2026-11-08", 8], ["!", 9]])
    expect(heads[0]?.inner.map(({ count, id }) => [id, count])).toEqual([
      ["2026-11-15/draft", 4],
      ["2026-11-15/paid", 3]
    ])
    const sums = sumsById(keys, groups, ["number"], null)
    expect(["2026-11-15", "2026-11-15/paid"].map((id) => sums.get(id)?.[0]?.value)).toEqual(["7", "3"])
    // The last one may have further days.
    const cut = headsOf(orders, keysOf(orders, ["week(due_on)"], sunday), groups, true)
    expect(cut.map(({ id }) => id)).toEqual(["2026-11-15", "!"])
  })

  it("are in words of the language", () => {
    const names = dayNames("en")
    const text = (unit: string) => timeText(timeOf(`${unit}(at)`), "2026-11-16", names)
    expect(timeUnits.map(text)).toEqual([
      names.whole("2026-11-16"),
      names.span("2026-11-16", "2026-11-22"),
      "November 2026",
      "2026"
    ])
  })

  it("are offered by months, and have another length on request", () => {
    expect(offeredGroups(orders).map(({ text }) => text)).toEqual([
      "status",
      "customer_id",
      "month(due_on)",
      "month(at)",
      "customer.country"
    ])
    expect([hasGroup(["year(at)"], "month(at)"), hasGroup(["at"], "month(at)"), hasGroup([], "month(at)")])
      .toEqual([true, true, false])
    expect(chosenGroups(["year(at)", "status"], "month(at)")).toEqual(["status"])
    expect(withUnit(["status", "month(at)"], "month(at)", "week")).toEqual(["status", "week(at)"])
  })

  it("that may not be counted are the nearest ones between the first and the last record", () => {
    expect(groupsBetween(timeOf("month(at)"), "2026-01-01", "2026-11-01", false, 3)).toEqual({
      days: ["2026-11-01", "2026-10-01", "2026-09-01"],
      more: true
    })
    expect(groupsBetween(timeOf("year(at)"), "2025-01-01", "2026-01-01", true, 3)).toEqual({
      days: ["2025-01-01", "2026-01-01"],
      more: false
    })
    expect(groupsBetween(timeOf("year(at)"), "9998-01-01", "9999-01-01", true, 5).days).toHaveLength(2)
  })
})
