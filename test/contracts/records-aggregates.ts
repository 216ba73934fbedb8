/** The records contract: facets, series and histograms. */

import * as Result from "effect/Result"
import { describe, expect } from "vitest"
import { always } from "../../core/domain/filter/tree.ts"
import type { FilterTree } from "../../core/domain/filter/tree.ts"
import { checkTimeZone } from "../../core/domain/read/aggregate.ts"
import type { SeriesPlan } from "../../core/domain/read/plan.ts"
import type { RecordsService } from "../../core/ports/records.ts"
import { bindings, equals, f, type RecordsTest, things } from "./records-tables.ts"

export const aggregateSuite = (test: RecordsTest): void => {
  describe("aggregate", () => {
    test("facets: most frequent first, then by value, null last among equals", function*({ records, store }) {
      yield* store([{ name: "b" }, { name: "b" }, { name: "a" }, { name: null }, { name: "c", tenant_id: "2" }, {
        name: "Z"
      }])
      const facets = (limit: number, where: FilterTree = always) =>
        records.aggregate({ of: "facets", model: things, field: f("name"), where, limit, bindings })
      expect(yield* facets(50)).toEqual([["b", "2"], ["Z", "1"], ["a", "1"], ["c", "1"], [null, "1"]])
      expect(yield* facets(2)).toEqual([["b", "2"], ["Z", "1"]])
      expect(yield* facets(50, equals(f("tenant_id"), "2"))).toEqual([["c", "1"]])
      const timestamps = records.aggregate({
        of: "facets",
        model: things,
        field: f("at"),
        where: always,
        limit: 5,
        bindings
      })
      expect(yield* timestamps).toEqual([[null, "6"]])
    })

    const series = (records: RecordsService, parts: Partial<SeriesPlan>) =>
      records.aggregate({
        of: "series",
        model: things,
        field: f("at"),
        where: always,
        granularity: "day",
        timeZone: "Europe/Berlin",
        from: null,
        to: null,
        measure: { of: "count" },
        limit: 100,
        bindings,
        ...parts
      })

    test.each<readonly [zone: string, winter: string, summer: string]>([
      ["CET", "2026-01-04T23:00:00Z", "2026-07-05T22:00:00Z"],
      ["EET", "2026-01-04T22:00:00Z", "2026-07-05T21:00:00Z"],
      ["met", "2026-01-04T23:00:00Z", "2026-07-05T22:00:00Z"],
      ["WET", "2026-01-05T00:00:00Z", "2026-07-05T23:00:00Z"],
      ["EST", "2026-01-05T05:00:00Z", "2026-07-06T05:00:00Z"]
    ])("series: %s has the clock changes of its zone", function*([name, winter, summer], { records, store }) {
      yield* store([{ at: "2026-01-05T12:00:00Z" }, { at: "2026-07-06T12:00:00Z" }])
      const timeZone = Result.getOrThrow(checkTimeZone(name))
      expect(yield* series(records, { timeZone })).toEqual([[winter, "1"], [summer, "1"]])
    })

    test("series: days and months start where the time zone says, across clock changes", function*({ records, store }) {
      yield* store([
        { at: "2026-03-28T22:59:59.999999Z" },
        { at: "2026-03-28T23:00:00Z" },
        { at: "2026-03-29T21:59:59Z" },
        { at: "2026-03-29T22:00:00Z" },
        { at: "2026-10-24T22:00:00Z" },
        { at: "2026-10-25T22:59:59Z" },
        { at: "2026-10-25T23:00:00Z" },
        { at: null }
      ])
      expect(yield* series(records, {})).toEqual([
        ["2026-03-27T23:00:00Z", "1"],
        ["2026-03-28T23:00:00Z", "2"],
        ["2026-03-29T22:00:00Z", "1"],
        ["2026-10-24T22:00:00Z", "2"],
        ["2026-10-25T23:00:00Z", "1"]
      ])
      expect(yield* series(records, { granularity: "month" })).toEqual([["2026-02-28T23:00:00Z", "4"], [
        "2026-09-30T22:00:00Z",
        "3"
      ]])
      expect(yield* series(records, { granularity: "week" })).toEqual([
        ["2026-03-22T23:00:00Z", "3"],
        ["2026-03-29T22:00:00Z", "1"],
        ["2026-10-18T22:00:00Z", "2"],
        ["2026-10-25T23:00:00Z", "1"]
      ])
      expect(yield* series(records, { granularity: "quarter" })).toEqual([["2025-12-31T23:00:00Z", "4"], [
        "2026-09-30T22:00:00Z",
        "3"
      ]])
      expect(yield* series(records, { granularity: "year" })).toEqual([["2025-12-31T23:00:00Z", "7"]])
      expect(yield* series(records, { from: "2026-03-28T23:00:00Z", to: "2026-10-24T22:00:00Z" })).toEqual([
        ["2026-03-28T23:00:00Z", "2"],
        ["2026-03-29T22:00:00Z", "1"]
      ])
      expect(yield* series(records, { limit: 1 })).toHaveLength(2)
    })

    test("series: the repeated hour of an autumn night is two buckets", function*({ records, store }) {
      yield* store([{ at: "2026-10-25T00:30:00Z" }, { at: "2026-10-25T01:30:00Z" }, { at: "2026-10-25T01:59:59Z" }])
      expect(yield* series(records, { granularity: "hour" })).toEqual([["2026-10-25T00:00:00Z", "1"], [
        "2026-10-25T01:00:00Z",
        "2"
      ]])
      expect(yield* series(records, { granularity: "hour", timeZone: "Asia/Kolkata" })).toEqual([
        ["2026-10-25T00:30:00Z", "1"],
        ["2026-10-25T01:30:00Z", "2"]
      ])
    })

    test(
      "series: timestamps without a zone are UTC, dates are days of the zone's calendar",
      function*({ records, store }) {
        yield* store([{ plain: "2026-03-28T23:30:00Z", day: "2026-03-29" }, {
          plain: "2026-03-28T22:30:00Z",
          day: "2026-03-30"
        }])
        expect(yield* series(records, { field: f("plain") })).toEqual([["2026-03-27T23:00:00Z", "1"], [
          "2026-03-28T23:00:00Z",
          "1"
        ]])
        expect(yield* series(records, { field: f("day") })).toEqual([["2026-03-28T23:00:00Z", "1"], [
          "2026-03-29T22:00:00Z",
          "1"
        ]])
        expect(yield* series(records, { field: f("day"), timeZone: "America/New_York", granularity: "month" })).toEqual(
          [[
            "2026-03-01T05:00:00Z",
            "2"
          ]]
        )
        expect(yield* series(records, { field: f("day"), from: "2026-03-30", to: "2026-03-31", timeZone: "UTC" }))
          .toEqual([[
            "2026-03-30T00:00:00Z",
            "1"
          ]])
      }
    )

    test("series: measures are exact, and skip nulls", function*({ records, store }) {
      yield* store([
        { at: "2026-01-01T10:00:00Z", total: "9999999999.99", qty: "1", ratio: "0.5" },
        { at: "2026-01-01T11:00:00Z", total: "0.02", qty: "2", ratio: "0.25" },
        { at: "2026-01-01T12:00:00Z", total: null, qty: null, ratio: null },
        { at: "2026-01-03T12:00:00Z", total: null, qty: null, ratio: null }
      ])
      const of = (measure: "sum" | "avg" | "min" | "max", name: string) =>
        series(records, { timeZone: "UTC", measure: { of: measure, field: f(name) } })
      const [first, second] = ["2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"]
      expect(yield* of("sum", "total")).toEqual([[first, "10000000000.01"], [second, null]])
      expect(yield* of("sum", "qty")).toEqual([[first, "3"], [second, null]])
      expect(yield* of("avg", "qty")).toEqual([[first, "1.5000000000000000"], [second, null]])
      expect(yield* of("avg", "total")).toEqual([[first, "5000000000.00500000"], [second, null]])
      expect(yield* of("min", "total")).toEqual([[first, "0.02"], [second, null]])
      expect(yield* of("max", "at")).toEqual([[first, "2026-01-01T12:00:00Z"], [second, "2026-01-03T12:00:00Z"]])
      expect(yield* of("avg", "ratio")).toEqual([[first, "0.375"], [second, null]])
      expect(yield* of("sum", "ratio")).toEqual([[first, "0.75"], [second, null]])
    })

    test(
      "series: sums of floats are those of what everybody sees of them, in any order and of any size",
      function*({ records, store }) {
        const days = [["0.1", "0.2"], ["1e+22", "1", "-1e+22"], ["1.5e+308", "1.5e+308"], ["1", "Infinity"], [
          "-Infinity",
          "Infinity"
        ], ["9007199254740991", "0.5"]]
        yield* store(
          days.flatMap((ratios, day) => ratios.map((ratio) => ({ at: `2026-01-0${day + 1}T10:00:00Z`, ratio })))
        )
        const rows = yield* series(records, { timeZone: "UTC", measure: { of: "sum", field: f("ratio") } })
        expect(rows.map(([, sum]) => sum)).toEqual([
          "0.3",
          "1",
          `3${"0".repeat(308)}`,
          "Infinity",
          "NaN",
          "9007199254740991.5"
        ])
      }
    )

    const histogram = (records: RecordsService, name: string, buckets: number, where: FilterTree = always) =>
      records.aggregate({ of: "histogram", model: things, field: f(name), where, buckets, bindings })

    test("histogram: exact bounds, the maximum in the last bucket", function*({ records, store }) {
      yield* store(["0.00", "0.10", "0.29", "0.30", "0.59", "0.60", "0.90", "1.00"].map((total) => ({ total })))
      expect(yield* histogram(records, "total", 10)).toEqual([[
        "0.00",
        "1.00",
        "1",
        "1",
        "1",
        "1",
        "0",
        "1",
        "1",
        "0",
        "0",
        "2"
      ]])
      expect(yield* histogram(records, "total", 1)).toEqual([["0.00", "1.00", "8"]])
    })

    test(
      "histogram: ends of decimals with the digits of all values, so that no bound between them is rounded past one",
      function*({ records, store }) {
        yield* store(["0", "0.33333333", "0.6", "1.5"].map((share) => ({ share })))
        expect(yield* histogram(records, "share", 3)).toEqual([["0.00000000", "1.50000000", "2", "1", "1"]])
        expect(yield* histogram(records, "share", 1, equals(f("share"), "1.5"))).toEqual([["1.5", "1.5", "1"]])
      }
    )

    test("histogram: 64-bit edges, floats, one value, none", function*({ records, store }) {
      yield* store([
        { id: "-9223372036854775808", ratio: "0.1" },
        { id: "9223372036854775807", ratio: "0.3" },
        { id: "0", ratio: "0.2" },
        { id: "-1", ratio: null }
      ])
      expect(yield* histogram(records, "id", 2)).toEqual([["-9223372036854775808", "9223372036854775807", "2", "2"]])
      expect(yield* histogram(records, "ratio", 2)).toEqual([["0.1", "0.3", "1", "2"]])
      expect(yield* histogram(records, "ratio", 3, equals(f("id"), "0"))).toEqual([["0.2", "0.2", "0", "0", "1"]])
      expect(yield* histogram(records, "qty", 2)).toEqual([[null, null, "0", "0"]])
    })

    test("histogram: floats that differ in their last digit", function*({ records, store }) {
      const [low, middle, high] = ["0.1234567890123451", "0.1234567890123452", "0.1234567890123454"]
      yield* store([low!, middle!, high!].map((ratio) => ({ ratio })))
      expect(yield* histogram(records, "ratio", 2)).toEqual([[low, high, "2", "1"]])
    })

    test.each(["ratio", "share"])(
      "histogram: %s without what is no number or has no end",
      function*(name, { records, store }) {
        yield* store(["1", "NaN", "Infinity", "3", "-Infinity"].map((value) => ({ [name]: value })))
        expect(yield* histogram(records, name, 2)).toEqual([["1", "3", "1", "1"]])
      }
    )
  })
}
