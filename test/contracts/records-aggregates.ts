/** The records contract: facets, series, histograms and groups. */

import * as Result from "effect/Result"
import { describe, expect } from "vitest"
import type { Access } from "../../core/domain/access/access.ts"
import { readableBit, restrictModel } from "../../core/domain/access/restrict.ts"
import { always } from "../../core/domain/filter/tree.ts"
import type { FilterTree } from "../../core/domain/filter/tree.ts"
import { checkTimeZone } from "../../core/domain/read/aggregate.ts"
import { readGroups } from "../../core/domain/read/group.ts"
import type { Measure, SeriesPlan } from "../../core/domain/read/plan.ts"
import { groupsRequest } from "../../core/domain/read/request.ts"
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

    test("facets of a list: rows that have the element, once each", function*({ records, store }) {
      yield* store([
        { marks: "[\"a\",\"b\",\"a\"]", total: "1.00" },
        { marks: "[\"b\",null]", total: "9.00" },
        { marks: "[[\"c\",\"b\"],[\"a\",\"a\"]]", total: "5.00" },
        { marks: "[]", total: "7.00" },
        { marks: null, total: "7.00" }
      ])
      const facets = (measure: Measure = { of: "count" }) =>
        records.aggregate({
          of: "facets",
          model: things,
          field: f("marks"),
          where: always,
          limit: 9,
          measure,
          bindings
        })
      expect(yield* facets()).toEqual([["b", "3"], ["a", "2"], ["c", "1"]])
      expect(yield* facets({ of: "sum", field: f("total") })).toEqual([
        ["b", "3", "15.00"],
        ["a", "2", "6.00"],
        ["c", "1", "5.00"]
      ])
    })

    test("facets: by a measure, largest first, values without one last", function*({ records, store }) {
      yield* store([
        { name: "a", total: "1.00" },
        { name: "b", total: "9.00" },
        { name: "b", total: "-20.00" },
        { name: "c", total: null },
        { name: null, total: "5.00" },
        { name: "d", total: "5.00" }
      ])
      const facets = (measure: Measure, limit = 50) =>
        records.aggregate({ of: "facets", model: things, field: f("name"), where: always, limit, measure, bindings })
      expect(yield* facets({ of: "sum", field: f("total") })).toEqual([
        ["d", "1", "5.00"],
        [null, "1", "5.00"],
        ["a", "1", "1.00"],
        ["b", "2", "-11.00"],
        ["c", "1", null]
      ])
      expect(yield* facets({ of: "max", field: f("total") }, 1)).toEqual([["b", "2", "9.00"]])
      expect(yield* facets({ of: "count" }, 1)).toEqual([["b", "2"]])
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

    const everything = restrictModel(things, things.fields.map(() => readableBit), true)
    const groups = (
      records: RecordsService,
      query: { readonly [name: string]: string },
      where: FilterTree = always
    ) => {
      const request = Result.getOrThrow(groupsRequest(Object.entries(query)))
      const question = Result.getOrThrow(
        readGroups(() => null, { model: everything.model, restricted: everything } as Access, request)
      )
      return records.aggregate({ of: "groups", model: things, question, where, limit: request.limit, bindings })
    }

    test("groups: all measures are exact, and skip nulls", function*({ records, store }) {
      yield* store([
        { status: "a", total: "9999999999.99", qty: "2147483647", ratio: "0.1", at: "2026-01-01T10:00:00.000001Z" },
        { status: "a", total: "0.02", qty: "2147483647", ratio: "0.2", at: "2026-01-01T10:00:00.000002Z" },
        { status: "a", total: "0.02", qty: null, ratio: null, at: null },
        { status: "b", total: null, qty: null, ratio: null, at: null }
      ])
      const of = (name: string) =>
        groups(records, {
          group_by: "status",
          measures: [
            "count",
            ...["count_distinct", "sum", "avg", "min", "max", "median", "p95"].map((word) => `${word}(${name})`)
          ].join()
        })
      const none = [null, null, null, null, null, null]
      expect(yield* of("total")).toEqual([
        [
          "a",
          "3",
          "2",
          "10000000000.03",
          "3333333333.3433333333333333",
          "0.02",
          "9999999999.99",
          "0.02",
          "9999999999.99"
        ],
        ["b", "1", "0", ...none]
      ])
      expect(yield* of("qty")).toEqual([
        ["a", "3", "1", "4294967294", "2147483647", ...Array.from({ length: 4 }, () => "2147483647")],
        ["b", "1", "0", ...none]
      ])
      expect(yield* of("ratio")).toEqual([
        ["a", "3", "2", "0.3", "0.15", "0.1", "0.2", "0.1", "0.2"],
        ["b", "1", "0", ...none]
      ])
      const [early, late] = ["2026-01-01T10:00:00.000001Z", "2026-01-01T10:00:00.000002Z"]
      const times = { group_by: "status", measures: "min(at),max(at),median(at),p95(at)" }
      expect(yield* groups(records, times)).toEqual([["a", early, late, early, late], ["b", null, null, null, null]])
    })

    test("groups: sums and averages of 64-bit integers do not overflow", function*({ records, store }) {
      yield* store([{ id: "9223372036854775807" }, { id: "9223372036854775806" }])
      expect(yield* groups(records, { measures: "sum(id),avg(id),max(id),p95(id)" })).toEqual([
        ["18446744073709551613", "9223372036854775806.5", "9223372036854775807", "9223372036854775807"]
      ])
    })

    test(
      "groups: median and 95th percentile are values of the column, by nearest rank",
      function*({ records, store }) {
        yield* store(Array.from({ length: 40 }, (_, i) => ({ qty: String(40 - i), day: i < 21 ? "2026-01-02" : null })))
        expect(yield* groups(records, { measures: "median(qty),p95(qty),median(day)" })).toEqual([
          ["20", "38", "2026-01-02"]
        ])
      }
    )

    test("groups: without keys there is one group, also of no rows", function*({ records, store }) {
      yield* store([{ qty: "1" }])
      const measures = "count,sum(qty),avg(qty),median(qty),count_distinct(qty)"
      const none = equals(f("qty"), "7")
      expect(yield* groups(records, { measures }, none)).toEqual([["0", null, null, null, "0"]])
      expect(yield* groups(records, { measures, group_by: "status" }, none)).toEqual([])
      expect(yield* groups(records, { measures, having: "count > 0" }, none)).toEqual([])
      expect(yield* groups(records, { measures, having: "isNull(sum(qty))", order_by: "count" }, none)).toHaveLength(1)
    })

    test("groups: up to three keys, nulls among their values, ordered as asked and then by key", function*(
      { records, store }
    ) {
      yield* store([
        { status: "a", name: null, flag: "true", qty: "1" },
        { status: "a", name: null, flag: "true", qty: "2" },
        { status: "a", name: "x", flag: null, qty: null },
        { status: "b", name: "x", flag: "false", qty: "3" }
      ])
      const query = { group_by: "status,name,flag", measures: "count,sum(qty)" }
      const [first, second, third] = [["a", "x", null, "1", null], ["a", null, "true", "2", "3"], [
        "b",
        "x",
        "false",
        "1",
        "3"
      ]]
      expect(yield* groups(records, query)).toEqual([first, second, third])
      // Nulls are last ascending and first descending, as in lists.
      expect(yield* groups(records, { ...query, order_by: "sum(qty) desc" })).toEqual([first, second, third])
      expect(yield* groups(records, { ...query, order_by: "sum(qty), status desc" })).toEqual([third, second, first])
      expect(yield* groups(records, { ...query, order_by: "count desc", limit: "1" })).toEqual([second])
      expect(yield* groups(records, { ...query, having: "count > 1 OR sum(qty) != 3" })).toEqual([first, second])
      expect(yield* groups(records, { ...query, having: "NOT sum(qty) >= 2.5" })).toEqual([first])
    })

    test("groups: conditions compare exactly, with values of any size", function*({ records, store }) {
      yield* store([
        { status: "a", id: "9007199254740993", total: "0.10", ratio: "0.1", at: "2026-01-01T00:00:00.000001Z" },
        { status: "b", id: "9007199254740992", total: "0.11", ratio: "0.3", at: "2026-01-01T00:00:00.000002Z" }
      ])
      const passing = function*(having: string, measures = having.slice(0, having.indexOf(" "))) {
        return (yield* groups(records, { group_by: "status", measures, having })).map(([status]) => status)
      }
      expect(yield* passing("sum(id) > 9007199254740992")).toEqual(["a"])
      expect(yield* passing("sum(id) > 9007199254740992.5")).toEqual(["a"])
      expect(yield* passing("sum(id) < 99999999999999999999999999")).toEqual(["a", "b"])
      expect(yield* passing("avg(total) = 0.1")).toEqual(["a"])
      expect(yield* passing("avg(total) != 0.1000")).toEqual(["b"])
      expect(yield* passing("sum(ratio) = 0.1")).toEqual(["a"])
      expect(yield* passing("max(at) <= \"2026-01-01T00:00:00.000001Z\"")).toEqual(["a"])
      expect(yield* passing("in(count, 1, 2)", "count")).toEqual(["a", "b"])
      expect(yield* passing("count = 9223372036854775807")).toEqual([])
    })

    test("groups: buckets of time are those of a series, and a row without a time has none", function*(
      { records, store }
    ) {
      yield* store([
        { at: "2026-03-28T22:59:59.999999Z", day: "2026-03-29" },
        { at: "2026-03-28T23:00:00Z", day: "2026-03-29" },
        { at: "2026-10-24T22:00:00Z", day: null },
        { at: null, day: "2026-10-25" },
        { at: "2026-10-25T22:59:59Z", day: "0001-01-01" }
      ])
      const by = (group_by: string) => groups(records, { group_by, time_zone: "Europe/Berlin" })
      expect(yield* by("day(at)")).toEqual([
        ["2026-03-27T23:00:00Z", "1"],
        ["2026-03-28T23:00:00Z", "1"],
        ["2026-10-24T22:00:00Z", "2"],
        [null, "1"]
      ])
      expect(yield* by("year(at),month(day)")).toEqual([
        ["2025-12-31T23:00:00Z", "0001-01-01T00:00:00Z", "1"],
        ["2025-12-31T23:00:00Z", "2026-02-28T23:00:00Z", "2"],
        ["2025-12-31T23:00:00Z", null, "1"],
        [null, "2026-09-30T22:00:00Z", "1"]
      ])
      expect(yield* by("hour(plain)")).toEqual([[null, "5"]])
    })

    test("groups: times that are infinite or out of reach have no bucket", function*({ records, store }) {
      yield* store([{ at: "infinity" }, { at: "-infinity" }, { at: "2026-01-05T12:00:00Z" }])
      const query = { group_by: "month(at)", measures: "count", time_zone: "Europe/Berlin" }
      expect(yield* groups(records, query)).toEqual([["2025-12-31T23:00:00Z", "1"], [null, "2"]])
    })

    test("groups: the repeated hour of an autumn night is two, a doubled midnight the first of both", function*(
      { records, store }
    ) {
      yield* store([
        { at: "2026-10-25T00:30:00Z", plain: "2026-11-01T04:30:00Z" },
        { at: "2026-10-25T01:30:00Z", plain: "2026-11-01T05:30:00Z" }
      ])
      expect(yield* groups(records, { group_by: "hour(at)", time_zone: "Europe/Berlin" })).toEqual([
        ["2026-10-25T00:00:00Z", "1"],
        ["2026-10-25T01:00:00Z", "1"]
      ])
      expect(yield* groups(records, { group_by: "day(plain)", time_zone: "America/Havana" })).toEqual([[
        "2026-11-01T04:00:00Z",
        "2"
      ]])
    })

    test("groups: equal values of a key are one group, and one value for count_distinct", function*(
      { records, store }
    ) {
      yield* store([{ share: "1.0" }, { share: "1.00" }, { share: "10" }, { share: "NaN" }, { share: "NaN" }])
      expect((yield* groups(records, { group_by: "share" })).map(([, count]) => count)).toEqual(["2", "1", "2"])
      expect(yield* groups(records, { measures: "count_distinct(share)" })).toEqual([["3"]])
    })

    test("groups: only of the rows that pass", function*({ records, store }) {
      yield* store([{ qty: "1", tenant_id: "1" }, { qty: "2", tenant_id: "2" }, { qty: "3", tenant_id: "2" }])
      const query = { group_by: "tenant_id", measures: "sum(qty)" }
      expect(yield* groups(records, query, equals(f("tenant_id"), "2"))).toEqual([["2", "5"]])
    })
  })
}
