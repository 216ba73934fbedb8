import { describe, expect, it } from "vitest"
import { endsOf, makeWriting, type MomentKind, rangeText } from "./moment.ts"

/** A time of the zone that the tests run in, whichever it is. */
const local = (year: number, month: number, day: number, hour = 0, minute = 0, second = 0): string => {
  const date = new Date(2000, 0, 1)
  date.setFullYear(year, month - 1, day)
  date.setHours(hour, minute, second, 0)
  return date.toISOString().replace(/\.\d+Z$/, "Z")
}

const [de, en, british, fr, ar] = ["de", "en-US", "en-GB", "fr", "ar-EG"].map(makeWriting) as [
  ReturnType<typeof makeWriting>,
  ReturnType<typeof makeWriting>,
  ReturnType<typeof makeWriting>,
  ReturnType<typeof makeWriting>,
  ReturnType<typeof makeWriting>
]

describe("a date", () => {
  it.each([
    [de, "03.12.2026"],
    [en, "12/03/2026"],
    [british, "03/12/2026"],
    [fr, "03/12/2026"],
    [ar, "03/12/2026"]
  ])("is written and read in the order of the language", (writing, text) => {
    expect(writing.text("date", "2026-12-03")).toBe(text)
    expect(writing.read("date", text, "")).toBe("2026-12-03")
  })

  it.each([
    [de, "3.12.2026", "2026-12-03"],
    [de, " 3. 12. 2026 ", "2026-12-03"],
    [de, "3-12-2026", "2026-12-03"],
    [en, "12/3/2026", "2026-12-03"],
    [de, "2026-12-03", "2026-12-03"],
    [en, "2026/12/03", "2026-12-03"],
    [ar, "٣/١٢/٢٠٢٦", "2026-12-03"],
    [de, "01.01.0007", "0007-01-01"],
    [de, "29.02.2024", "2024-02-29"],
    [de, "29.02.2026", null],
    [de, "31.12.", null],
    [de, "1.1.123", null],
    [de, "13/14/2026", null],
    [en, "31/12/2026", null],
    [de, "03.12.2026 14:30", null],
    [de, "2026-12-03 junk", null],
    [de, "morgen", null],
    [de, "", null]
  ])("is read as people type and paste it: %#", (writing, text, value) => {
    expect(writing.read("date", text, "")).toBe(value)
  })

  it("of two digits in the year is the nearest one", () => {
    const now = new Date().getFullYear()
    expect(de.read("date", `01.02.${String(now % 100).padStart(2, "0")}`, "")).toBe(`${now}-02-01`)
    expect(de.read("date", `01.02.${String((now + 30) % 100).padStart(2, "0")}`, "")).toBe(`${now + 30}-02-01`)
    expect(de.read("date", `01.02.${String((now - 30 + 100) % 100).padStart(2, "0")}`, "")).toBe(`${now - 30}-02-01`)
  })
})

describe("a time", () => {
  it.each([
    [de, "03.12.2026 14:30"],
    [en, "12/03/2026 02:30 PM"],
    [british, "03/12/2026 14:30"]
  ])("is written in the clock of the language, without seconds that are none", (writing, text) => {
    const value = local(2026, 12, 3, 14, 30)
    expect(writing.text("timestamp", value)).toBe(text)
    expect(writing.read("timestamp", text, "")).toBe(value)
  })

  it.each([
    [en, "12/3/2026 2:30 pm", local(2026, 12, 3, 14, 30)],
    [en, "12/3/2026, 2:30p.m.", null],
    [en, "12/3/2026 12 am", local(2026, 12, 3)],
    [en, "12/3/2026 14:30", local(2026, 12, 3, 14, 30)],
    [en, "12/3/2026 14:30 PM", null],
    [de, "3.12.2026, 14.30 Uhr", local(2026, 12, 3, 14, 30)],
    [de, "3.12.2026 14:30:05,5", local(2026, 12, 3, 14, 30, 5).replace("Z", ".5Z")],
    [de, "3.12.2026", local(2026, 12, 3)],
    [de, "2026-12-03T14:30", local(2026, 12, 3, 14, 30)],
    [de, "2026-12-03 14:30:05.123456", local(2026, 12, 3, 14, 30, 5).replace("Z", ".123456Z")],
    [de, "2026-12-03T14:30:00+02:00", "2026-12-03T12:30:00Z"],
    [de, "2026-12-03 14:30:00.25+02", "2026-12-03T12:30:00.25Z"],
    [de, "2026-12-03 14:30:00 UTC", "2026-12-03T14:30:00Z"],
    [de, "3.12.2026 25:00", null],
    [de, "3.12.2026 14:60", null]
  ])("is read as people type and paste it: %#", (writing, text, value) => {
    const half = text.includes("p.m.") ? local(2026, 12, 3, 14, 30) : value
    expect(writing.read("timestamp", text, "")).toBe(half)
  })

  it.each([
    ["09:30:00", "09:30"],
    ["09:30:05.123456", "09:30:05.123456"],
    ["24:00:00", "24:00:00"]
  ])("of the day is short where it can be", (value, text) => {
    expect(de.text("time", value)).toBe(text)
    expect(de.read("time", text, "")).toBe(value)
  })

  it.each([["9:30", "09:30:00"], ["9.30", "09:30:00"], ["2:30 pm", "14:30:00"], ["25:00", null], ["noon", null]])(
    "of the day is read from %s",
    (text, value) => expect(de.read("time", text, "")).toBe(value)
  )
})

it("shows how dates are written", () => {
  const letters = { day: "TT", month: "MM", year: "JJJJ" }
  expect([de.pattern("date", letters), en.pattern("timestamp", letters), de.example("timestamp")])
    .toEqual(["TT.MM.JJJJ", "MM/TT/JJJJ hh:mm", "31.12.2026 14:30"])
})

describe("a value", () => {
  /** Odd ones that a database may hold. */
  const values: readonly (readonly [MomentKind, string])[] = [
    ["date", "0001-01-01"],
    ["date", "0476-09-04"],
    ["date", "9999-12-31"],
    ["date", "12345-06-07"],
    ["date", "infinity"],
    ["date", "-infinity"],
    ["date", "0044-03-15 BC"],
    ["timestamp", "2026-11-27T23:59:59.999999Z"],
    ["timestamp", "2026-03-29T01:30:00.000001Z"],
    ["timestamp", "0001-01-01T00:00:00Z"],
    ["timestamp", "0476-09-04T12:00:00Z"],
    ["timestamp", "9999-12-31T23:59:59.5Z"],
    ["timestamp", "12345-06-07T08:09:10Z"],
    ["timestamp", "infinity"],
    ["timestamp", "1883-11-18T17:00:00.25Z"],
    ["time", "23:59:59.999999"],
    ["time", "24:00:00"]
  ]
  it.each(values)("of %s stays as it is in every language: %s", (kind, value) => {
    for (const writing of [de, en, british, fr, ar]) {
      expect(writing.read(kind, writing.text(kind, value), value)).toBe(value)
    }
  })

  it("keeps which of two equal times of a night it is", () => {
    // Each hour of a year, in the zone of the machine: where a clock is set back, two of them have one text.
    const start = Date.parse("2026-01-01T00:00:00Z")
    const wrong = Array.from({ length: 8_760 }, (_, at) => new Date(start + at * 3_600_000).toISOString())
      .map((iso) => iso.replace(/\.\d+Z$/, "Z"))
      .filter((value) => de.read("timestamp", `${de.text("timestamp", value)}:00`, value) !== value)
    expect(wrong).toEqual([])
  })
})

describe("the arrow keys", () => {
  const step = (text: string, caret: number, by: number, kind: MomentKind = "date") => {
    const found = de.step(kind, text, caret, by, "")
    return found === null ? null : [found.text, found.text.slice(found.start, found.end)]
  }
  it.each([
    ["03.12.2026", 1, 1, "04.12.2026", "04"],
    ["31.12.2026", 0, 1, "01.01.2027", "01"],
    ["31.01.2026", 4, 1, "28.02.2026", "02"],
    ["29.02.2024", 9, 1, "28.02.2025", "2025"],
    ["01.01.2026", 4, -1, "01.12.2025", "12"]
  ])("change the part at the caret of %s", (text, caret, by, next, part) => {
    expect(step(text, caret, by)).toEqual([next, part])
  })

  it("change hours, and what has no part or is no date stays", () => {
    expect(step("03.12.2026 23:30", 12, 1, "timestamp")).toEqual(["04.12.2026 00:30", "00"])
    expect(step("09:59", 4, 1, "time")).toEqual(["10:00", "00"])
    expect(en.step("timestamp", "12/03/2026 02:30 PM", 17, 1, "")?.text).toBe("12/04/2026 02:30 AM")
    expect(step("infinity", 2, 1)).toBe(null)
    expect(step("31.12.9999", 0, 1)).toBe(null)
    expect(step("", 0, 1)?.[1]).toMatch(/^\d\d$/)
  })
})

it("keeps the time on another day, and begins at midnight", () => {
  const value = local(2026, 12, 3, 14, 30).replace("Z", ".123456Z")
  expect(de.onDay("timestamp", value, "2027-01-02")).toBe(local(2027, 1, 2, 14, 30).replace("Z", ".123456Z"))
  expect(de.onDay("timestamp", "", "2027-01-02")).toBe(local(2027, 1, 2))
  expect(de.onDay("date", "infinity", "2027-01-02")).toBe("2027-01-02")
  expect(de.day("timestamp", value)).toBe("2026-12-03")
  expect(de.day("date", "infinity")).toBe(null)
})

it.each([
  ["[2026-01-01,2026-02-01)", { open: "[", low: "2026-01-01", high: "2026-02-01", close: ")" }],
  ["(,2026-02-01]", { open: "(", low: "", high: "2026-02-01", close: "]" }],
  ["[\"0044-03-15 BC\",)", { open: "[", low: "0044-03-15 BC", high: "", close: ")" }],
  ["empty", null]
])("reads the ends of %s", (range, ends) => {
  expect(endsOf(range)).toEqual(ends)
})

it("writes an open end as the database does", () => {
  expect(rangeText({ open: "[", low: "", high: "2026-02-01", close: ")" })).toBe("(,2026-02-01)")
  expect(rangeText({ open: "(", low: "0044-03-15 BC", high: "2026-02-01", close: "]" }))
    .toBe("(\"0044-03-15 BC\",2026-02-01]")
})
