import { expect, it } from "vitest"
import { addDays, addMonths, weekday, weeksOf, weekStart } from "./calendar.ts"

it.each([
  ["2026-12-31", 1, "2027-01-01"],
  ["2024-03-01", -1, "2024-02-29"],
  ["0001-01-01", -1, "0001-01-01"],
  ["9999-12-31", 7, "9999-12-31"],
  ["0099-12-31", 1, "0100-01-01"]
])("of %s the day %i later is there", (date, days, after) => expect(addDays(date, days)).toBe(after))

it.each([
  ["2026-01-31", 1, "2026-02-28"],
  ["2024-02-29", 12, "2025-02-28"],
  ["2026-01-15", -1, "2025-12-15"],
  ["0001-01-15", -1, "0001-01-01"],
  ["9999-12-15", 1, "9999-12-31"]
])("of %s the month %i later has a day, too", (date, months, after) => expect(addMonths(date, months)).toBe(after))

it("has the weeks of a month, from the day that weeks begin with", () => {
  expect(weekday("2026-12-31")).toBe(4)
  const monday = weeksOf("2026-12-03", 1)
  expect(monday[0]).toEqual([null, "2026-12-01", "2026-12-02", "2026-12-03", "2026-12-04", "2026-12-05", "2026-12-06"])
  expect(monday.at(-1)).toEqual(["2026-12-28", "2026-12-29", "2026-12-30", "2026-12-31", null, null, null])
  expect(weeksOf("2026-02-10", 7)[0]![0]).toBe("2026-02-01")
  expect(weeksOf("0001-01-10", 1).flat().filter((day) => day !== null)).toHaveLength(31)
  expect(weeksOf("9999-12-10", 7).flat().filter((day) => day !== null)).toHaveLength(31)
})

it.each([["de", 1], ["en-US", 7], ["ar-EG", 6]])("in %s weeks begin with day %i", (locale, day) => {
  expect(weekStart(locale)).toBe(day)
})
