/** Scenarios of `:facets`, `:series` and `:histogram`: over exactly the rows a list gives, exact values, their own parameters. For any backend. */

import { describe, expect, it } from "vitest"
import { at, expectParameter, expectProblem, pluck } from "../../support/answer.ts"
import type { Query } from "../../support/answer.ts"
import type { Answer, TestCaller, TestService } from "../../support/composed.ts"
import { callers, foreign, homeless } from "../../support/shop.ts"

interface Facet {
  readonly value: unknown
  readonly count: number
}

interface Point {
  readonly start: string
  readonly count?: number
  readonly value?: string | null
}

interface Bucket {
  readonly from: unknown
  readonly to: unknown
  readonly count: number
}

export const aggregateScenarios = (service: () => TestService): void => {
  const { admin, auditor, clerk, sales } = callers
  const ask = (verb: string, query: Query, caller: TestCaller = admin, resource = "orders"): Promise<Answer> =>
    service().get(caller, at(`${resource}:${verb}`, query))
  const values = async (
    field: string,
    query: Query = {},
    caller: TestCaller = admin,
    resource = "orders"
  ): Promise<readonly unknown[]> =>
    pluck(await service().get(caller, at(resource, { ...query, page_size: 500 })), field)
  const counted = (cells: readonly unknown[]): ReadonlyMap<unknown, number> =>
    cells.reduce<Map<unknown, number>>((counts, cell) => counts.set(cell, (counts.get(cell) ?? 0) + 1), new Map())
  const facetsOf = (answer: Answer): readonly Facet[] => {
    expect(answer.status, answer.text).toBe(200)
    return answer.json["facets"] as unknown as readonly Facet[]
  }

  describe(":facets", () => {
    const counts: ReadonlyArray<readonly [field: string, query: Query]> = [
      ["status", {}],
      ["status", { filter: "qty >= 1" }],
      ["qty", {}],
      ["huge", {}],
      ["paid", {}],
      ["due", { filter: "status != draft" }],
      ["weight", {}],
      ["total", {}],
      ["note", {}],
      ["customer_id", { show_deleted: true }],
      ["zq_margin", {}]
    ]
    it.each(counts)("counts %s with %j as a list has them", async (field, query) => {
      for (const caller of [admin, sales]) {
        if (caller === sales && field === "zq_margin") continue
        const facets = facetsOf(await ask("facets", { field, limit: 500, ...query }, caller))
        const expected = counted(await values(field, query, caller))
        expect(new Map(facets.map(({ count, value }) => [value, count]))).toEqual(expected)
        expect(facets.length).toBe(expected.size)
        // Most frequent first, nulls after values that are as frequent.
        const counts = facets.map(({ count }) => count)
        expect(counts).toEqual([...counts].sort((a, b) => b - a))
        facets.forEach(({ count, value }, i) => {
          if (value === null && facets[i + 1] !== undefined) expect(facets[i + 1]!.count).toBeLessThan(count)
        })
      }
    })

    it("answers field and facets, ties by value", async () => {
      const answer = await ask("facets", { field: "qty" })
      expect(Object.keys(answer.json)).toEqual(["field", "facets"])
      expect(answer.text).toMatch(/^\{"field":"qty","facets":\[\{"value":\d,"count":\d+\}/)
      const numbers = facetsOf(await ask("facets", { field: "number", limit: 5 })).map(({ value }) => value)
      expect(numbers).toEqual(["N-000", "N-001", "N-002", "N-003", "N-004"])
      expect((await ask("facets", { field: "huge" })).text).toContain("{\"value\":\"-9223372036854775808\"")
    })

    it.each([["", 50], ["0", 50], ["1", 1], ["500", 60], ["501", 60], ["99999", 60]])(
      "limit=%s gives %i",
      async (limit, length) => {
        expect(facetsOf(await ask("facets", { field: "number", limit }))).toHaveLength(length)
      }
    )

    it.each([["", 50], ["500", 500], ["501", 500], ["99999999999999999999", 500]])(
      "limit=%s of 600 values gives %i",
      async (limit, length) => {
        const samples = (query: Query) => values("id", { order_by: "id", ...query }, admin, "samples")
        const last = String((await samples({})).at(-1))
        const beyond = String((await samples({ filter: `id > ${last}` }))[99])
        const query = { field: "id", filter: `id <= ${beyond}`, limit }
        expect(facetsOf(await ask("facets", query, admin, "samples"))).toHaveLength(length)
      }
    )

    it("is an empty list when no row passes", async () => {
      expect((await ask("facets", { field: "status", filter: "number = \"none\"" })).json).toEqual({
        field: "status",
        facets: []
      })
    })

    const refused: ReadonlyArray<{ readonly query: Query; readonly parameter: string; readonly message?: string }> = ([
      [{}, "field", "The parameter is required."],
      [{ field: "" }, "field", "The parameter is required."],
      [{ field: "nope" }, "field", "There is no field \"nope\"."],
      [{ field: "zq_code_alias" }, "field", "There is no field \"zq_code_alias\"."],
      [{ field: "zq_tenant" }, "field", "There is no field \"zq_tenant\"."],
      [{ field: "updated_at" }, "field", "The field \"updated_at\" is not filterable."],
      [{ field: "status", limit: "-1" }, "limit"],
      [{ field: "status", limit: "x" }, "limit"],
      [{ field: "status", page_size: "5" }, "page_size", "There is no parameter \"page_size\" here."]
    ] as ReadonlyArray<readonly [Query, string, string?]>)
      .map(([query, parameter, message]) =>
        message === undefined ? { query, parameter } : { query, parameter, message }
      )
    it.each(refused)("refuses $query", async ({ message, parameter, query }) => {
      expectParameter(await ask("facets", query), "/api/v1/orders:facets", parameter, message)
    })

    it("has none for JSON", async () => {
      expectParameter(
        await ask("facets", { field: "contents" }, admin, "meta"),
        "/api/v1/meta:facets",
        "field",
        "The field \"contents\" has no facets."
      )
    })
  })

  describe(":histogram", () => {
    const bucketsOf = (answer: Answer): readonly Bucket[] => {
      expect(answer.status, answer.text).toBe(200)
      return answer.json["buckets"] as unknown as readonly Bucket[]
    }

    it("has equal buckets, the maximum in the last, exact bounds", async () => {
      const answer = await ask("histogram", { field: "total", buckets: 4 })
      expect(Object.keys(answer.json)).toEqual(["field", "buckets"])
      const buckets = bucketsOf(answer)
      const totals = (await values("total")).map((total) => BigInt(String(total).replace(".", "")))
      const [low, high] = [totals.reduce((a, b) => a < b ? a : b), totals.reduce((a, b) => a > b ? a : b)]
      const counts = [0, 0, 0, 0]
      for (const total of totals) counts[Math.min(3, Number(((total - low) * 4n) / (high - low)))]!++
      expect(buckets.map(({ count }) => count)).toEqual(counts)
      expect(buckets.length).toBe(4)
      expect([buckets[0]!.from, buckets[3]!.to].map((bound) => BigInt(Math.round(Number(bound) * 100)))).toEqual([
        low,
        high
      ])
      buckets.slice(1).forEach((bucket, i) => expect(bucket.from).toBe(buckets[i]!.to))
    })

    it.each(["qty", "weight", "huge", "id"])(
      "counts every %s once, texts where numbers are not exact",
      async (field) => {
        const buckets = bucketsOf(await ask("histogram", { field }))
        expect(buckets).toHaveLength(10)
        const present = (await values(field)).filter((value) => value !== null)
        expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(present.length)
        expect(typeof buckets[0]!.from).toBe(field === "huge" || field === "id" ? "string" : "number")
        if (field === "huge") {
          expect([buckets[0]!.from, buckets[9]!.to]).toEqual([
            "-9223372036854775808",
            "9223372036854775807"
          ])
        }
      }
    )

    it.each([["1", 1], ["100", 100]])("buckets=%s gives %i", async (buckets, length) => {
      expect(bucketsOf(await ask("histogram", { field: "qty", buckets }))).toHaveLength(length)
    })

    it("respects filter, tenant and own rows; is empty without values", async () => {
      const sum = async (query: Query, caller: TestCaller) =>
        bucketsOf(await ask("histogram", { field: "qty", ...query }, caller)).reduce(
          (total, { count }) => total + count,
          0
        )
      expect(await sum({}, sales)).toBe((await values("qty", {}, sales)).filter((qty) => qty !== null).length)
      expect(await sum({ filter: "status = paid AND qty:*" }, admin)).toBe(
        (await values("qty", { filter: "status = paid AND qty:*" })).length
      )
      expect((await ask("histogram", { field: "qty" }, foreign)).json).toEqual({ field: "qty", buckets: [] })
      const one = bucketsOf(await ask("histogram", { field: "qty", buckets: 3, filter: "qty = 2" }))
      expect(one.map(({ from, to }) => [from, to])).toEqual([[2, 2], [2, 2], [2, 2]])
      expect(one.map(({ count }) => count)).toEqual([0, 0, (await values("qty", { filter: "qty = 2" })).length])
    })

    it.each<readonly [query: Query, parameter: string]>([
      [{}, "field"],
      [{ field: "nope" }, "field"],
      [{ field: "status" }, "field"],
      [{ field: "placed_at" }, "field"],
      [{ field: "customer_id" }, "field"],
      [{ field: "qty", buckets: "0" }, "buckets"],
      [{ field: "qty", buckets: "101" }, "buckets"],
      [{ field: "qty", buckets: "1.5" }, "buckets"],
      [{ field: "qty", limit: "1" }, "limit"]
    ])("refuses %j", async (query, parameter) => {
      expectParameter(await ask("histogram", query), "/api/v1/orders:histogram", parameter)
    })
  })

  it.each<readonly [verb: string, query: Query]>([
    ["facets", { field: "status" }],
    ["histogram", { field: "qty" }],
    ["series", { field: "placed_at", range: "all" }],
    ["seek", { position: 0 }]
  ])(":%s takes filters of 10,000 characters, and no longer ones", async (verb, query) => {
    const filter = "id = 7".padEnd(10_000)
    expect((await ask(verb, { ...query, filter })).status).toBe(200)
    expectProblem(await ask(verb, { ...query, filter: `${filter} ` }), "invalid-filter", `/api/v1/orders:${verb}`, {
      parameter: "filter",
      errors: [expect.anything()]
    })
  })

  describe(":series", () => {
    const pointsOf = (answer: Answer): readonly Point[] => {
      expect(answer.status, answer.text).toBe(200)
      return answer.json["points"] as unknown as readonly Point[]
    }

    it("counts by day with empty buckets, over the rows of the list", async () => {
      const answer = await ask("series", { field: "placed_at", from: "2026-01-01", to: "2026-02-28" })
      expect(Object.keys(answer.json)).toEqual(["field", "granularity", "time_zone", "points"])
      expect([answer.json["field"], answer.json["granularity"], answer.json["time_zone"]]).toEqual([
        "placed_at",
        "day",
        "UTC"
      ])
      const points = pointsOf(answer)
      expect(points).toHaveLength(59)
      expect(Object.keys(points[0]!)).toEqual(["start", "count"])
      const days = counted((await values("placed_at")).map((time) => `${String(time).slice(0, 10)}T00:00:00Z`))
      expect(points.map(({ count, start }) => [start, count])).toEqual(
        points.map(({ start }) => [start, days.get(start) ?? 0])
      )
      expect(points.reduce((sum, { count }) => sum + count!, 0)).toBe(
        [...days].filter(([day]) => String(day) < "2026-03").reduce((sum, [, n]) => sum + n, 0)
      )
      expect(points.slice(28, 31).map(({ count }) => count)).toEqual([0, 0, 0])
    })

    it.each([
      ["hour", 24],
      ["day", 1],
      ["week", 1],
      ["month", 1],
      ["quarter", 1],
      ["year", 1]
    ])("steps by %s", async (granularity, points) => {
      const found = pointsOf(
        await ask("series", { field: "placed_at", from: "2026-01-05", to: "2026-01-05", granularity })
      )
      expect(found).toHaveLength(points)
      const start = { week: "2026-01-05", day: "2026-01-05", hour: "2026-01-05" }[granularity] ?? "2026-01-01"
      expect(found[0]!.start).toBe(`${start}T00:00:00Z`)
      expect(found.reduce((sum, { count }) => sum + count!, 0)).toBe(1)
    })

    it("keeps to the time zone, also across its clock changes", async () => {
      const zone = { field: "placed_at", time_zone: "Europe/Berlin", granularity: "month" }
      expect(pointsOf(await ask("series", { ...zone, from: "2026-01-01", to: "2026-04-30" })).map(({ start }) => start))
        .toEqual([
          "2025-12-31T23:00:00Z",
          "2026-01-31T23:00:00Z",
          "2026-02-28T23:00:00Z",
          "2026-03-31T22:00:00Z"
        ])
      // 29 March 2026 has 23 hours there, 25 October 25.
      expect(pointsOf(await ask("series", { ...zone, granularity: "hour", from: "2026-03-29", to: "2026-03-29" })))
        .toHaveLength(23)
      expect(pointsOf(await ask("series", { ...zone, granularity: "hour", from: "2026-10-25", to: "2026-10-25" })))
        .toHaveLength(25)
    })

    it("measures exactly", async () => {
      const query = { field: "placed_at", from: "2026-01-01", to: "2026-12-31", granularity: "year" }
      const cents = (await values("total")).map((total) => BigInt(String(total).replace(".", "")))
      const sum = cents.reduce((a, b) => a + b)
      const point = async (measure: string) => {
        const answer = await ask("series", { ...query, measure })
        expect(answer.json["measure"]).toBe(measure)
        expect(Object.keys(pointsOf(answer)[0]!)).toEqual(["start", "value"])
        return pointsOf(answer)[0]!.value
      }
      expect(await point("sum:total")).toBe(`${sum / 100n}.${String(sum % 100n).padStart(2, "0")}`)
      expect(await point("min:total")).toBe("80801700.00")
      expect(await point("max:huge")).toBe("9223372036854775807")
      const huge = (await values("huge")).filter((value) => value !== null).reduce(
        (a: bigint, b) => a + BigInt(b as string),
        0n
      )
      expect(await point("sum:huge")).toBe(String(huge))
      expect(Number(await point("avg:total"))).toBeCloseTo(Number(sum) / cents.length / 100, 6)
      const empty = pointsOf(
        await ask("series", { ...query, from: "2020-01-01", to: "2020-12-31", measure: "avg:total" })
      )
      expect(empty).toEqual([{ start: "2020-01-01T00:00:00Z", value: null }])
    })

    it("takes ranges that end today, dates, and everything", async () => {
      for (const [range, length] of [["7d", 7], ["30d", 30], ["90d", 90], ["1y", 365]] as const) {
        expect(pointsOf(await ask("series", { field: "placed_at", range }))).toHaveLength(length)
      }
      expect(pointsOf(await ask("series", { field: "placed_at" }))).toHaveLength(30)
      const all = pointsOf(await ask("series", { field: "placed_at", range: "all", granularity: "month" }))
      expect(all.map(({ start }) => start.slice(0, 7))).toEqual(["2026-01", "2026-02", "2026-03"])
      const due = pointsOf(await ask("series", { field: "due", range: "all" }))
      expect(due.reduce((sum, { count }) => sum + count!, 0)).toBe(
        (await values("due")).filter((day) => day !== null).length
      )
      expect(due[0]!.start).toBe("2026-03-01T00:00:00Z")
      expect((await ask("series", { field: "placed_at", range: "all", filter: "number = \"none\"" })).json["points"])
        .toEqual([])
    })

    it("stays within tenant, own rows and filter", async () => {
      const sum = async (query: Query, caller: TestCaller) =>
        pointsOf(await ask("series", { field: "placed_at", range: "all", ...query }, caller)).reduce(
          (total, { count }) => total + count!,
          0
        )
      expect(await sum({}, foreign)).toBe(3)
      expect(await sum({}, sales)).toBe((await values("id", {}, sales)).length)
      expect(await sum({ filter: "qty = 1" }, admin)).toBe((await values("id", { filter: "qty = 1" })).length)
      expect(await sum({ show_deleted: true }, admin)).toBe(62)
    })

    it.each<readonly [query: Query, parameter: string]>([
      [{}, "field"],
      [{ field: "nope" }, "field"],
      [{ field: "qty" }, "field"],
      [{ field: "updated_at" }, "field"],
      [{ field: "placed_at", range: "2w" }, "range"],
      [{ field: "placed_at", range: "7d", from: "2026-01-01", to: "2026-01-02" }, "range"],
      [{ field: "placed_at", from: "2026-01-01" }, "to"],
      [{ field: "placed_at", to: "2026-01-01" }, "from"],
      [{ field: "placed_at", from: "2026-02-30", to: "2026-03-01" }, "from"],
      [{ field: "placed_at", from: "yesterday", to: "2026-03-01" }, "from"],
      [{ field: "placed_at", from: "2026-03-02", to: "2026-03-01" }, "to"],
      [{ field: "placed_at", granularity: "decade" }, "granularity"],
      [{ field: "placed_at", granularity: "hour", from: "2020-01-01", to: "2026-01-01" }, "granularity"],
      [{ field: "placed_at", time_zone: "Mars/Olympus" }, "time_zone"],
      [{ field: "placed_at", time_zone: "+02:00" }, "time_zone"],
      [{ field: "placed_at", time_zone: "PST" }, "time_zone"],
      [{ field: "placed_at", measure: "sum" }, "measure"],
      [{ field: "placed_at", measure: "sum:nope" }, "measure"],
      [{ field: "placed_at", measure: "sum:status" }, "measure"],
      [{ field: "placed_at", measure: "median:total" }, "measure"],
      [{ field: "placed_at", buckets: "3" }, "buckets"]
    ])("refuses %j", async (query, parameter) => {
      expectParameter(await ask("series", query), "/api/v1/orders:series", parameter)
    })
  })

  describe("aggregates", () => {
    it.each([["facets", "status"], ["histogram", "qty"], ["series", "placed_at"]])(
      ":%s checks fields, filter and access as lists do",
      async (verb, field) => {
        const path = `/api/v1/orders:${verb}`
        const hidden = await ask(verb, { field: "zq_code" }, auditor)
        const unknown = await ask(verb, { field: "zk_code" }, auditor)
        expectParameter(hidden, path, "field", "There is no field \"zq_code\".")
        expect(hidden.text.replaceAll("zq_code", "zk_code")).toBe(unknown.text)
        expectParameter(await ask(verb, { field: "total" }, clerk), path, "field", "There is no field \"total\".")
        expectProblem(await ask(verb, { field }, homeless), "tenant-required", path)
        expectProblem(await ask(verb, { field }, callers.nobody), "not-found", path)
        expectParameter(
          await ask(verb, { field, show_deleted: true }, admin, "lines"),
          `/api/v1/lines:${verb}`,
          verb === "facets" ? "field" : "field"
        )
      }
    )

    it("refuse show_deleted where nothing is soft-deleted", async () => {
      expectParameter(
        await ask("facets", { field: "sku", show_deleted: true }, admin, "lines"),
        "/api/v1/lines:facets",
        "show_deleted"
      )
      expectParameter(
        await ask("histogram", { field: "quantity", show_deleted: true }, admin, "lines"),
        "/api/v1/lines:histogram",
        "show_deleted"
      )
    })
  })
}
