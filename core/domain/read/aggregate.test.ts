import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { makeField } from "../../../test/support/model.ts"
import type { FieldParts } from "../../../test/support/model.ts"
import type { Field } from "../model/model.ts"
import { bucketStarts, checkTimeZone, histogramJson, seriesPoints, seriesRange } from "./aggregate.ts"

const field = (kind: Field["kind"], more: Partial<FieldParts> = {}): Field =>
  makeField({ name: "x", kind, bits: 32, ...more })

const iso = (at: readonly number[]) => at.map((instant) => new Date(instant).toISOString().replace(".000Z", "Z"))

describe("bucketStarts", () => {
  it("begins days at local midnight across the change to summer time", () => {
    const starts = bucketStarts(
      Date.parse("2026-03-28T10:00:00Z"),
      Date.parse("2026-03-31T00:00:00Z"),
      "day",
      "Europe/Berlin",
      100
    )
    expect(iso(starts)).toEqual([
      "2026-03-27T23:00:00Z",
      "2026-03-28T23:00:00Z",
      "2026-03-29T22:00:00Z",
      "2026-03-30T22:00:00Z"
    ])
  })

  it("gives the repeated hour of an autumn night two buckets", () => {
    const starts = bucketStarts(
      Date.parse("2026-10-24T23:30:00Z"),
      Date.parse("2026-10-25T03:00:00Z"),
      "hour",
      "Europe/Berlin",
      100
    )
    expect(iso(starts)).toEqual([
      "2026-10-24T23:00:00Z",
      "2026-10-25T00:00:00Z",
      "2026-10-25T01:00:00Z",
      "2026-10-25T02:00:00Z"
    ])
  })

  it("begins hours on the clock again where it changes by half an hour", () => {
    const hours = (from: string, to: string) =>
      iso(bucketStarts(Date.parse(from), Date.parse(to), "hour", "Australia/Lord_Howe", 1_000)).map((at) =>
        at.slice(8, 16)
      )
    // At 15:00Z the clock goes back from 02:00 to 01:30, half a year later at 15:30Z from 02:00 on to 02:30.
    expect(hours("2026-04-04T13:10:00Z", "2026-04-04T17:00:00Z"))
      .toEqual(["04T13:00", "04T14:00", "04T14:30", "04T15:30", "04T16:30"])
    expect(hours("2026-10-03T13:40:00Z", "2026-10-03T17:30:00Z"))
      .toEqual(["03T13:30", "03T14:30", "03T15:00", "03T16:00", "03T17:00"])
    expect(hours("2026-04-01T00:00:00Z", "2026-04-07T00:00:00Z").at(-1)).toBe("06T23:30")
  })

  it("has one bucket where a zone left out a day", () => {
    const starts = bucketStarts(
      Date.parse("2011-12-29T12:00:00Z"),
      Date.parse("2012-01-01T00:00:00Z"),
      "day",
      "Pacific/Apia",
      100
    )
    expect(iso(starts)).toEqual(["2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"])
  })

  it("moves a midnight that does not exist to the first instant after it", () => {
    // Beirut skips 00:00 to 01:00 on 2026-03-29.
    const starts = bucketStarts(
      Date.parse("2026-03-28T12:00:00Z"),
      Date.parse("2026-03-30T12:00:00Z"),
      "day",
      "Asia/Beirut",
      100
    )
    expect(iso(starts)).toEqual(["2026-03-27T22:00:00Z", "2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"])
  })

  it("begins weeks on Monday, quarters and years on their first day, with offsets of half hours", () => {
    const at = Date.parse("2026-08-12T10:00:00Z")
    expect(iso(bucketStarts(at, at + 1, "week", "Asia/Kolkata", 10))).toEqual(["2026-08-09T18:30:00Z"])
    expect(iso(bucketStarts(at, at + 1, "quarter", "UTC", 10))).toEqual(["2026-07-01T00:00:00Z"])
    expect(iso(bucketStarts(at, at + 1, "year", "America/New_York", 10))).toEqual(["2026-01-01T05:00:00Z"])
  })

  it("stops one past the limit", () => {
    expect(bucketStarts(0, Number.MAX_SAFE_INTEGER, "hour", "UTC", 24)).toHaveLength(25)
  })
})

describe("seriesRange and seriesPoints", () => {
  const now = Date.parse("2026-11-21T08:00:00Z")
  const timestamp = field("timestamp")

  it("covers seven whole local days for 7d, empty ones included", () => {
    const range = Result.getOrThrow(seriesRange({ range: "7d", from: "", to: "" }, timestamp, "Europe/Berlin", now))
    expect(range).toMatchObject({ from: "2026-11-14T23:00:00Z", to: "2026-11-21T23:00:00Z" })
    const points = seriesPoints([["2026-11-19T23:00:00Z", "3"]], range, "day", "Europe/Berlin", { of: "count" })
    expect(points?.map(([, count]) => count)).toEqual(["0", "0", "0", "0", "0", "3", "0"])
  })

  it("takes dates as local midnights, and to as that whole day", () => {
    const range = seriesRange({ range: "", from: "2026-03-29", to: "2026-03-29" }, timestamp, "Europe/Berlin", now)
    expect(Result.getOrThrow(range)).toMatchObject({ from: "2026-03-28T23:00:00Z", to: "2026-03-29T22:00:00Z" })
  })

  it("compares date fields with calendar days", () => {
    const range = seriesRange({ range: "", from: "2026-03-29", to: "2026-03-30" }, field("date"), "Europe/Berlin", now)
    expect(Result.getOrThrow(range)).toMatchObject({ from: "2026-03-29", to: "2026-03-31" })
  })

  it("holds of a date field the whole of the days that times as bounds fall into", () => {
    const between = (from: string, to: string, zone: string) => {
      const range = Result.getOrThrow(seriesRange({ range: "", from, to }, field("date"), zone, now))
      return [range.from, range.to]
    }
    expect(between("2026-03-29T12:00:00Z", "2026-03-30T00:00:00.000001Z", "UTC")).toEqual(["2026-03-29", "2026-03-31"])
    expect(between("2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z", "UTC")).toEqual(["2026-03-29", "2026-03-30"])
    expect(between("2026-03-28T23:00:00Z", "2026-03-30T00:00:00Z", "Europe/Berlin")).toEqual([
      "2026-03-29",
      "2026-03-31"
    ])
    // The next day began at 01:00: clocks went forward at midnight.
    expect(between("2018-11-03", "2018-11-03", "America/Sao_Paulo")).toEqual(["2018-11-03", "2018-11-04"])
  })

  it("has every hour of the days that a series of a date field holds", () => {
    const day = { range: "", from: "2026-03-29T10:00:00Z", to: "2026-03-29T11:00:00Z" }
    const range = Result.getOrThrow(seriesRange(day, field("date"), "Europe/Berlin", now))
    const points = seriesPoints([["2026-03-28T23:00:00Z", "2"]], range, "hour", "Europe/Berlin", { of: "count" })!
    // Clocks went forward: the day had 23 hours.
    expect(points).toHaveLength(23)
    expect(points.slice(0, 2)).toEqual([["2026-03-28T23:00:00Z", "2"], ["2026-03-29T00:00:00Z", "0"]])
    expect(points.at(-1)).toEqual(["2026-03-29T21:00:00Z", "0"])
  })

  it.each([
    ["2026-02-30", "2026-03-01"],
    ["2026-03-02", "2026-03-01"],
    ["yesterday", "2026-03-01"],
    ["2026-03-01T00:00:00", "2026-03-02"]
  ])("refuses from=%s to=%s", (from, to) => {
    expect(Result.isFailure(seriesRange({ range: "", from, to }, timestamp, "UTC", now))).toBe(true)
  })

  it("has 0 for the sum of no values, whether there are rows or not", () => {
    const day = { range: "", from: "2026-01-01", to: "2026-01-02" }
    const range = Result.getOrThrow(seriesRange(day, timestamp, "UTC", now))
    const points = (of: "sum" | "avg") =>
      seriesPoints([["2026-01-01T00:00:00Z", null]], range, "day", "UTC", { of, field: field("integer") })
    expect(points("sum")?.map(([, value]) => value)).toEqual(["0", "0"])
    expect(points("avg")?.map(([, value]) => value)).toEqual([null, null])
  })

  it("is null past the most points", () => {
    const range = Result.getOrThrow(
      seriesRange({ range: "", from: "2000-01-01", to: "2026-01-01" }, timestamp, "UTC", now)
    )
    expect(seriesPoints([], range, "hour", "UTC", { of: "count" })).toBeNull()
  })

  it("keeps the microseconds of bounds, and their order", () => {
    const between = (from: string, to: string) =>
      seriesRange(
        { range: "", from: `2026-01-01T00:00:${from}Z`, to: `2026-01-01T00:00:${to}Z` },
        timestamp,
        "UTC",
        now
      )
    expect(Result.getOrThrow(between("00.000001", "00.000002"))).toEqual({
      from: "2026-01-01T00:00:00.000001Z",
      to: "2026-01-01T00:00:00.000002Z",
      start: Date.UTC(2026, 0, 1),
      end: Date.UTC(2026, 0, 1) + 1
    })
    expect(Result.getOrThrow(between("00.000", "00.001"))).toMatchObject({
      to: "2026-01-01T00:00:00.001Z",
      end: Date.UTC(2026, 0, 1) + 1
    })
    for (const [from, to] of [["00.000002", "00.000001"], ["00.000001", "00.000001"], ["00.5", "00"]] as const) {
      expect(Result.isFailure(between(from, to)), from).toBe(true)
    }
  })

  it("keeps what the database counted even in a bucket it does not expect", () => {
    const range = Result.getOrThrow(
      seriesRange({ range: "", from: "2026-01-01", to: "2026-01-01" }, timestamp, "UTC", now)
    )
    const points = seriesPoints([["2026-01-01T00:20:00Z", "5"]], range, "day", "UTC", { of: "count" })
    expect(points).toEqual([["2026-01-01T00:00:00Z", "0"], ["2026-01-01T00:20:00Z", "5"]])
  })
})

describe("checkTimeZone", () => {
  it.each(["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"])("accepts %s", (name) => {
    expect(checkTimeZone(name)).toEqual(Result.succeed(name))
  })
  it.each([["CET", "Europe/Brussels"], ["wet", "Europe/Lisbon"], ["MST", "America/Phoenix"], ["utc", "UTC"], [
    "ROK",
    "ROK"
  ]])(
    "takes %s for %s",
    (name, full) => {
      expect(checkTimeZone(name)).toEqual(Result.succeed(full))
    }
  )
  // Abbreviations: this runtime and the database each take them for a zone, and not for the same one.
  it.each(["PST", "IST", "bst", "JST", "AET"])("refuses %s, which is no zone's name", (name) => {
    expect(Result.isFailure(checkTimeZone(name))).toBe(true)
  })
  it.each(["+02:00", "Mars/Base", "", "Europe/Berlin'; --", "x".repeat(100)])("refuses %j", (name) => {
    expect(Result.isFailure(checkTimeZone(name))).toBe(true)
  })
})

describe("histogramJson", () => {
  it("has exact bounds for 64-bit integers beyond a double", () => {
    const text = histogramJson(field("integer", { bits: 64 }), ["9007199254740993", "9007199254740997", "1", "2"], 2)
    expect(JSON.parse(text).buckets).toEqual([
      { from: "9007199254740993", to: "9007199254740995", count: 1 },
      { from: "9007199254740995", to: "9007199254740997", count: 2 }
    ])
  })

  it("has the bounds of floats that the database counts by, of any size", () => {
    const froms = (min: string, max: string, buckets: number) => {
      const row = [min, max, ...Array.from({ length: buckets }, () => "1")]
      const { buckets: found } = JSON.parse(histogramJson(field("float"), row, buckets)) as {
        readonly buckets: ReadonlyArray<{ readonly from: number; readonly to: number }>
      }
      return [...found.map(({ from }) => from), found.at(-1)!.to]
    }
    // A tenth three times over is more than 0.3, which is in the bucket that begins there.
    expect(froms("0", "1", 10)).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1])
    expect(froms("0", "1", 3)).toEqual([0, 1 / 3, 2 / 3, 1])
    expect(froms("-1.5e+308", "1.5e+308", 2)).toEqual([-1.5e308, 0, 1.5e308])
    expect(froms("-0", "1e-323", 2)).toEqual([0, 5e-324, 1e-323])
  })

  it("has texts for decimals, numbers for 32-bit integers, and no buckets without rows", () => {
    expect(JSON.parse(histogramJson(field("decimal"), ["-0.05", "0.05", "1", "1"], 2)).buckets[0]).toEqual({
      from: "-0.05",
      to: "0",
      count: 1
    })
    expect(JSON.parse(histogramJson(field("integer"), ["1", "2", "1", "1"], 2)).buckets[0]).toEqual({
      from: 1,
      to: 1.5,
      count: 1
    })
    expect(JSON.parse(histogramJson(field("integer"), [null, null, "0"], 1)).buckets).toEqual([])
  })
})
