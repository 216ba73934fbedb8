/** Scenarios of lists and `:search`: defaults, parameters, order, filters, counts. For any backend. */

import { describe, expect, it } from "vitest"
import { at, expectParameter, expectProblem, pluck, quickly } from "../../support/answer.ts"
import type { Query } from "../../support/answer.ts"
import type { Answer, TestCaller, TestService } from "../../support/composed.ts"
import { callers, foreign, homeless, orderCount, sampleCount, shop } from "../../support/shop.ts"

type Order = { readonly [field: string]: string | number | boolean | null }

/** The live orders of tenant 1 as the fixture has them, by key. */
const orders: readonly Order[] = (shop().rows["orders"] as readonly Order[])
  .filter((row) => row["zq_tenant"] === 1 && row["zq_deleted_at"] === null)
const everyId = orders.map((row) => row["id"])

const compareText = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
const compareValue = (a: unknown, b: unknown): number =>
  typeof a === "number" && typeof b === "number"
    ? a - b
    : /^-?\d+$/.test(String(a)) && /^-?\d+$/.test(String(b))
    ? Number(BigInt(String(a)) - BigInt(String(b)) > 0n) - Number(BigInt(String(a)) - BigInt(String(b)) < 0n)
    : compareText(String(a), String(b))

/** Ids in an order, by a sort of its own: nulls last ascending, first descending, ties by key in the last direction. */
const sorted = (...keys: ReadonlyArray<readonly [field: string, descending: boolean]>): readonly unknown[] => {
  const all = [...keys, ["id", keys.at(-1)?.[1] ?? false] as const]
  return [...orders].sort((a, b) => {
    for (const [field, descending] of all) {
      const [x, y] = [a[field] ?? null, b[field] ?? null]
      if (x === y) continue
      const ascending = x === null ? 1 : y === null ? -1 : compareValue(x, y)
      if (ascending !== 0) return descending ? -ascending : ascending
    }
    return 0
  }).map((row) => row["id"])
}

export const listScenarios = (service: () => TestService): void => {
  const { admin, auditor, clerk, sales } = callers
  const list = (query: Query = {}, caller: TestCaller = admin, resource = "orders"): Promise<Answer> =>
    quickly(() => service().get(caller, at(resource, query)))
  const search = (body: unknown, caller: TestCaller = admin, resource = "orders"): Promise<Answer> =>
    quickly(() => service().call(caller, "POST", at(`${resource}:search`), { body }))
  const ids = async (query: Query, caller: TestCaller = admin): Promise<readonly unknown[]> =>
    pluck(await list({ page_size: 500, ...query }, caller), "id")

  describe("list", () => {
    it("answers 50 records by key, a token and an estimate, and nothing else", async () => {
      const answer = await list()
      expect(answer.status).toBe(200)
      expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8")
      expect(answer.headers.get("cache-control")).toBe("no-store")
      expect(answer.headers.get("x-meta-version")).not.toBeNull()
      expect(Object.keys(answer.json)).toEqual([
        "items",
        "next_page_token",
        "total_size_estimate",
        "total_size_accuracy"
      ])
      expect(pluck(answer, "id")).toEqual(everyId.slice(0, 50))
      expect([answer.json["total_size_estimate"], answer.json["total_size_accuracy"]]).toEqual([orderCount, "exact"])
      expect(answer.json["next_page_token"]).toMatch(/^[\w-]{20,}$/)
    })

    it("writes every value exactly: 64 bits, decimals, microseconds, nulls, floats", async () => {
      const answer = await list({ filter: "id >= 9007199254740993", page_size: 1 })
      const row = orders.find((order) => order["id"] === "9007199254740993")!
      const { zq_tenant: _, zq_deleted_at: __, ...shown } = row
      expect(answer.json["items"]![0]).toEqual({
        ...shown,
        placed_at: (row["placed_at"] as string).replace(/\.?0+Z$/, "Z"),
        etag: expect.stringMatching(/^"[\w-]{22}"$/),
        permissions: { update: true, delete: false }
      })
      expect(Object.keys(answer.json["items"]![0]!)).toEqual([...Object.keys(shown), "etag", "permissions"])
    })

    it.each([
      ["0 is the default", "0", 50],
      ["empty is the default", "", 50],
      ["1", "1", 1],
      ["500", "500", 500],
      ["501 is cut", "501", 500],
      ["a huge one is cut", "99999999999999999999999", 500]
    ])("page_size: %s", async (_, size, length) => {
      expect(pluck(await list({ page_size: size, fields: "id" }, admin, "samples"), "id")).toHaveLength(length)
    })

    it.each(["-1", "1.5", "1e2", "ten", " 5", "0x10", "٣", "-99999999999999999999"])(
      "page_size: %s is refused",
      async (size) => {
        expectParameter(await list({ page_size: size }), "/api/v1/orders", "page_size")
      }
    )

    it("restricts fields, in declared order, and keeps etag and permissions", async () => {
      const whole = await list({ page_size: 3 })
      const answer = await list({ page_size: 3, fields: "total, number,total" })
      expect(answer.json["items"]).toEqual(
        (whole.json["items"] as unknown as readonly Order[]).map(({ etag, number, permissions, total }) => ({
          number,
          total,
          etag,
          permissions
        }))
      )
      expect(Object.keys(answer.json["items"]![0]!)).toEqual(["number", "total", "etag", "permissions"])
      expect(await list({ page_size: 3, fields: "" })).toMatchObject({ text: expect.stringContaining("\"zq_margin\"") })
    })

    it.each(["nope", "id,nope", "etag", "permissions", "zq_tenant", "customer"])(
      "fields=%s is refused",
      async (fields) => {
        const name = fields.split(",").at(-1)!
        expectParameter(await list({ fields }), "/api/v1/orders", "fields", `There is no field "${name}".`)
      }
    )

    it("names every unknown field, and refuses an empty name", async () => {
      const answer = await list({ fields: "a,id,b" })
      expect(answer.json["errors"]).toEqual(
        ["a", "b"].map((name) => ({ parameter: "fields", message: `There is no field "${name}".` }))
      )
      expectParameter(await list({ fields: "id,,number" }), "/api/v1/orders", "fields")
    })

    it("counts exactly when asked, and only then", async () => {
      const answer = await list({ count: "exact", page_size: 1, filter: "status = paid" })
      const paid = orders.filter((order) => order["status"] === "paid").length
      expect(Object.keys(answer.json)).toEqual([
        "items",
        "next_page_token",
        "total_size_estimate",
        "total_size_accuracy",
        "total_size"
      ])
      expect([answer.json["total_size"], answer.json["total_size_estimate"]]).toEqual([paid, paid])
      expectParameter(await list({ count: "yes" }), "/api/v1/orders", "count")
      expect(Object.keys((await list({ count: "" })).json)).not.toContain("total_size")
    })

    it("estimates exactly up to the cap, under the caller's own rows and filter", async () => {
      const size = async (query: Query, caller: TestCaller) =>
        (await list({ page_size: 1, ...query }, caller)).json["total_size_estimate"]
      expect(await size({}, admin)).toBe(orderCount)
      expect(await size({}, sales)).toBe(orders.filter((order) => order["owner_id"] === "u-sales").length)
      expect(await size({ filter: "qty = 2" }, sales)).toBe(
        orders.filter((order) => order["owner_id"] === "u-sales" && order["qty"] === 2).length
      )
      expect(await size({ filter: "number = \"none\"" }, admin)).toBe(0)
      expect(await size({}, foreign)).toBe(3)
    })

    it("estimates 10,000 past the cap, then the rounded size", async () => {
      const size = async () =>
        (await list({ page_size: 1, fields: "id" }, admin, "samples")).json["total_size_estimate"] as unknown as number
      const seen = new Set<number>()
      for (const begin = performance.now(); !seen.has(12_000) && performance.now() - begin < 60_000;) {
        seen.add(await size())
        // The full count runs beside the requests; let it.
        await new Promise(setImmediate)
      }
      expect([...seen].at(-1)).toBe(12_000)
      expect(sampleCount).not.toBe(12_000)
      for (const each of seen) expect([10_000, 12_000]).toContain(each)
    })

    it("counts few rows while it reads them, and many rows beside them", async () => {
      const { fake } = service()
      if (fake === null) return
      const asked = async (query: Query, resource?: string): Promise<readonly [string, unknown]> => {
        const before = fake.calls.length
        const { json } = await list({ page_size: 1, ...query }, admin, resource)
        return [fake.calls.slice(before).filter((name) => name !== "estimate").join(), json["total_size_estimate"]]
      }
      const paid = orders.filter((order) => order["status"] === "paid").length
      const filter = "status = paid AND id > 0"
      expect(await asked({ filter })).toEqual(["page", paid])
      expect(await asked({ filter })).toEqual(["page", paid])
      expect(await asked({ filter: `${filter} AND id > -1`, count: "exact" })).toEqual(["page", paid])
      fake.expectRows(1_000_000)
      expect(await asked({ filter: `${filter} AND id > -2` })).toEqual(["page,count", paid])
      // The planner was wrong: what was read of too many rows is not answered, nor the number where reading stopped.
      fake.expectRows(1)
      const query = { page_size: 3, order_by: "id desc" }
      const ids = await list(query, admin, "samples")
      const exact = await list({ ...query, count: "exact" }, admin, "samples")
      fake.expectRows(null)
      const last = [0, 1, 2].map((i) => String(sampleCount - i))
      expect([pluck(ids, "id"), pluck(exact, "id")]).toEqual([last, last])
      expect(Number(ids.json["total_size_estimate"])).toBeGreaterThanOrEqual(10_000)
      expect(exact.json["total_size"]).toBe(sampleCount)
    })

    it("estimates no fewer rows than a page has, and no more than a last page shows, whatever it knew before", async () => {
      const { database } = service()
      if (database === null) return
      const size = async (): Promise<unknown> => {
        const answer = await list({ filter: "id >= 70000", page_size: 2 }, admin, "steps")
        return [pluck(answer, "id").length, answer.json["total_size_estimate"]]
      }
      // Nobody tells this instance of what others write.
      await database.execute("insert into shop.steps (id) values (70001)")
      expect(await size()).toEqual([1, 1])
      await database.execute("insert into shop.steps (id) values (70002), (70003)")
      expect(await size()).toEqual([2, 2])
      await database.execute("delete from shop.steps where id >= 70000")
      expect(await size()).toEqual([0, 0])
    })

    it("hides deleted records unless asked for", async () => {
      expect(await ids({})).toEqual(everyId)
      expect(await ids({ show_deleted: false })).toEqual(everyId)
      const shown = await ids({ show_deleted: true })
      expect(new Set(shown)).toEqual(new Set([...everyId, "200", "201"]))
      expect(shown).toHaveLength(everyId.length + 2)
      const one = await list({ show_deleted: true, filter: "id = 200" })
      expect(one.json["items"]![0]!["permissions"]).toEqual({ update: false, delete: false })
      expectParameter(await list({ show_deleted: "1" }), "/api/v1/orders", "show_deleted")
      expectParameter(await list({ show_deleted: "TRUE" }), "/api/v1/orders", "show_deleted")
      for (const resource of ["lines", "tags", "meta", "accounts"]) {
        expectParameter(
          await list({ show_deleted: "true" }, admin, resource),
          `/api/v1/${resource}`,
          "show_deleted",
          "This resource has no soft delete."
        )
        expect((await list({ show_deleted: "false" }, admin, resource)).status).toBe(200)
      }
    })

    it("keeps tenants apart, and needs one", async () => {
      expect(await ids({}, foreign)).toEqual(["300", "301", "302"])
      expect(pluck(await list({ page_size: 500 }, foreign, "customers"), "id")).toEqual(["6", "12", "18", "24"])
      expect(await ids({ filter: "id = 1 OR id = 300" }, foreign)).toEqual(["300"])
      expect(await ids({ filter: "NOT id = 300" }, foreign)).toEqual(["301", "302"])
      for (const resource of ["orders", "customers"]) {
        expectProblem(await list({}, homeless, resource), "tenant-required", `/api/v1/${resource}`)
      }
      expect((await list({}, homeless, "tags")).status).toBe(200)
      const odd = { ...admin, tenant: "1 or 1=1" }
      expect(await ids({}, odd)).toEqual([])
    })

    it("shows only own rows under an own-rows capability, and rows of a rule's filter", async () => {
      expect(await ids({}, sales)).toEqual(
        orders.filter((order) => order["owner_id"] === "u-sales").map((order) => order["id"])
      )
      expect(await ids({ filter: "NOT owner_id = \"u-sales\"" }, sales)).toEqual([])
      expect(pluck(await list({}, callers.regional, "accounts"), "id")).toEqual([1, 3])
      expect(pluck(await list({}, admin, "accounts"), "id")).toEqual([1, 2, 3])
    })

    it("shows only readable fields", async () => {
      expect(Object.keys((await list({ page_size: 1 }, clerk)).json["items"]![0]!)).toEqual([
        "id",
        "number",
        "customer_id",
        "status",
        "placed_at",
        "etag",
        "permissions"
      ])
      expect(Object.keys((await list({ page_size: 1 }, callers.blind)).json["items"]![0]!)).toEqual([
        "status",
        "qty",
        "etag",
        "permissions"
      ])
      expect(Object.keys((await list({ page_size: 1 }, auditor)).json["items"]![0]!)).toContain("zq_margin")
    })

    it("says per row what may be done with it", async () => {
      const items = (await list({ page_size: 500 }, sales)).json["items"] as unknown as ReadonlyArray<
        { readonly status: string; readonly permissions: unknown }
      >
      for (const { permissions, status } of items) {
        expect(permissions).toEqual({ update: status === "draft", delete: status === "draft" })
      }
      expect(new Set(items.map(({ status }) => status))).toEqual(new Set(["draft", "paid", "shipped"]))
    })
  })

  describe("order_by", () => {
    const cases: ReadonlyArray<{ readonly text: string; readonly keys: ReadonlyArray<readonly [string, boolean]> }> = ([
      [""],
      ["id desc", ["id", true]],
      ["number", ["number", false]],
      ["qty", ["qty", false]],
      ["qty desc", ["qty", true]],
      ["qty desc, number", ["qty", true], ["number", false]],
      ["qty asc,number desc", ["qty", false], ["number", true]],
      ["status, qty desc, huge", ["status", false], ["qty", true], ["huge", false]],
      ["huge desc", ["huge", true]],
      ["note", ["note", false]],
      ["note desc, due", ["note", true], ["due", false]],
      ["due desc, paid, weight desc", ["due", true], ["paid", false], ["weight", true]],
      ["paid desc, id", ["paid", true], ["id", false]],
      ["placed_at desc", ["placed_at", true]],
      ["weight, customer_id desc", ["weight", false], ["customer_id", true]]
    ] as ReadonlyArray<readonly [string, ...ReadonlyArray<readonly [string, boolean]>]>).map(([text, ...keys]) => ({
      text,
      keys
    }))
    it.each(cases)("$text", async ({ keys, text }) => {
      const whole = sorted(...keys)
      expect(await ids({ order_by: text })).toEqual(whole)
      // The same row by row through pages.
      const walked: unknown[] = []
      let token = ""
      do {
        const page = await list({ order_by: text, page_size: 7, page_token: token, fields: "id" })
        walked.push(...pluck(page, "id"))
        token = page.json["next_page_token"] as unknown as string
      } while (token !== "")
      expect(walked).toEqual(whole)
    })

    it("takes aliases and orders texts by code point", async () => {
      const names = pluck(await list({ order_by: "title" }, admin, "customers"), "name") as readonly string[]
      expect(names).toEqual([...names].sort(compareText))
      expect(names).toEqual(pluck(await list({ order_by: "name" }, admin, "customers"), "name"))
    })

    it.each([
      ["nope", "unknown-field", 0, 4],
      ["number, nope desc", "unknown-field", 8, 12],
      ["owner_id", "not-sortable", 0, 8],
      ["number,", "syntax", 7, 7],
      ["number sideways", "syntax", 7, 15],
      ["number, number desc", "duplicate", 8, 14],
      ["zq_tenant", "unknown-field", 0, 9]
    ])("%s is %s", async (text, code, start, end) => {
      expectProblem(await list({ order_by: text }), "invalid-order-by", "/api/v1/orders", {
        parameter: "order_by",
        errors: [{ code, message: expect.any(String), hint: expect.any(String), span: { start, end } }]
      })
    })
  })

  describe("long orders", () => {
    it("characters are code points", async () => {
      const answer = await list({ order_by: "😀".repeat(10_000) })
      expect([answer.status, answer.json["errors"]![0]!["code"]]).toEqual([400, "unknown-field"])
    })

    it.each([[10_000, "unknown-field", 9_996], [10_001, "limit", 10_000]])(
      "%i characters: %s",
      async (length, code, start) => {
        expectProblem(await list({ order_by: "nope".padStart(length) }), "invalid-order-by", "/api/v1/orders", {
          parameter: "order_by",
          errors: [expect.objectContaining({ code, span: { start, end: length } })]
        })
      }
    )
  })

  describe("filter", () => {
    const cases: ReadonlyArray<readonly [filter: string, passes: (order: Order) => boolean]> = [
      ["", () => true],
      ["   ", () => true],
      ["status = paid", (o) => o["status"] === "paid"],
      ["status != paid", (o) => o["status"] !== "paid"],
      ["qty != 1", (o) => o["qty"] !== 1],
      ["NOT qty = 1", (o) => o["qty"] !== 1],
      ["-qty = 1", (o) => o["qty"] !== 1],
      ["qty >= 1", (o) => o["qty"] !== null && (o["qty"] as number) >= 1],
      ["NOT qty >= 1", (o) => o["qty"] === null || (o["qty"] as number) < 1],
      ["isNull(qty)", (o) => o["qty"] === null],
      ["qty:*", (o) => o["qty"] !== null],
      ["qty = null OR qty = 2", (o) => o["qty"] === null || o["qty"] === 2],
      // OR binds tighter than AND.
      ["status = paid AND qty = 1 OR qty = 2", (o) => o["status"] === "paid" && (o["qty"] === 1 || o["qty"] === 2)],
      ["status = paid (qty = 1 OR qty = 2)", (o) => o["status"] === "paid" && (o["qty"] === 1 || o["qty"] === 2)],
      [
        "in(status, paid, draft) AND NOT in(qty, 0, 1)",
        (o) => o["status"] !== "shipped" && o["qty"] !== 0 && o["qty"] !== 1
      ],
      ["id = 9007199254740993", (o) => o["id"] === "9007199254740993"],
      ["id > 9007199254740992", (o) => BigInt(o["id"] as string) > 9007199254740992n],
      ["huge = 9007199254740993", (o) => o["huge"] === "9007199254740993"],
      ["huge = -9223372036854775808", (o) => o["huge"] === "-9223372036854775808"],
      ["huge < 9223372036854775807", (o) => o["huge"] !== null && o["huge"] !== "9223372036854775807"],
      ["total = 80801700.00", (o) => o["total"] === "80801700.00"],
      ["total = 80801700", (o) => o["total"] === "80801700.00"],
      ["total = 80801700.000", (o) => o["total"] === "80801700.00"],
      ["total = 80801700.001", () => false],
      ["total >= 80801710", (o) => Number(o["total"]) >= 80801710],
      ["weight = 0.25", (o) => o["weight"] === 0.25],
      ["paid = true", (o) => o["paid"] === true],
      ["paid != true", (o) => o["paid"] !== true],
      ["number = \"N-00*\"", (o) => (o["number"] as string).startsWith("N-00")],
      ["number = \"*7\"", (o) => (o["number"] as string).endsWith("7")],
      ["note:\"ÉMILE\"", (o) => String(o["note"] ?? "").includes("Émile")],
      ["note:\"100%\"", (o) => String(o["note"] ?? "").includes("100%")],
      ["note:\"slash_\"", (o) => String(o["note"] ?? "").includes("slash_")],
      ["note:\"\\\\\"", (o) => String(o["note"] ?? "").includes("\\")],
      ["note = \"\"", (o) => o["note"] === ""],
      ["smile", (o) => String(o["note"] ?? "").includes("smile")],
      ["-smile", (o) => !String(o["note"] ?? "").includes("smile")],
      ["NOT search('goods')", (o) => !String(o["note"] ?? "").includes("goods")],
      ["\"fragile goods\" status = draft", (o) => o["note"] === "fragile goods" && o["status"] === "draft"],
      ["regex(note, '^[fE]')", (o) => /^[fÉE]/.test(String(o["note"] ?? "")) && !String(o["note"]).startsWith("É")],
      ["NOT regex(note, 'goods$')", (o) => !String(o["note"] ?? "").endsWith("goods")],
      ["similar(note, 'fragile good')", (o) => o["note"] === "fragile goods"],
      ["placed_at = 2026-01-02T10:30:00.016383Z", (o) => o["id"] === "2"],
      ["placed_at = \"2026-01-02T11:30:00.016383+01:00\"", (o) => o["id"] === "2"],
      ["placed_at > 2026-01-02T10:30:00.016383Z AND placed_at < 2026-01-03T10:30:00.032767Z", (o) => o["id"] === "3"],
      ["placed_at < now() - 1d", () => true],
      ["due = 2026-03-01", (o) => o["due"] === "2026-03-01"],
      ["due > 2026-03-05", (o) => o["due"] !== null && (o["due"] as string) > "2026-03-05"],
      ["customer_id = 1", (o) => o["customer_id"] === "1"],
      ["zq_code_alias = \"ZQCODE-0007\"", (o) => o["zq_code"] === "ZQCODE-0007"],
      ["owner_id = \"u-sales\" AND qty:*", (o) => o["owner_id"] === "u-sales" && o["qty"] !== null]
    ]
    it.each(cases)("%s", async (filter, passes) => {
      const expected = orders.filter(passes).map((order) => order["id"])
      expect(await ids({ filter })).toEqual(expected)
      const searched = await search({ filter, page_size: 500, count: "exact", fields: ["id"] })
      expect(pluck(searched, "id")).toEqual(expected)
      expect(searched.json["total_size"]).toBe(expected.length)
    })

    it.each([
      ["nope = 1", "unknown-field", 0, 4],
      ["status = nope", "value", 9, 13],
      ["qty > \"a\"", "value", 6, 9],
      ["total = NaN", "value", 8, 11],
      ["placed_at > yesterday", "value", 12, 21],
      ["placed_at > 2026-01-01", "value", 12, 22],
      ["due = 2026-02-30", "value", 6, 16],
      ["qty = 2147483648", "value", 6, 16],
      ["huge = 9223372036854775808", "value", 7, 26],
      ["paid = t", "value", 7, 8],
      ["number = \"\u0000\"", "syntax", 10, 11],
      ["updated_at > now()", "not-filterable", 0, 10],
      ["number >", "syntax", 8, 8],
      ["(number = 1", "syntax", null, null],
      ["zq_tenant = 1", "unknown-field", 0, 9],
      ["caller.id = 1", "unknown-field", 0, 9],
      ["owner_id = caller.id AND nope = 1", "unknown-field", 25, 29],
      ["regex(note, '(')", "invalid-pattern", 0, 16],
      ["qty = 1 AND NOT regex(note, '(') ", "invalid-pattern", 16, 32],
      ["regex(note, 'a') regex(number, '*a')", "invalid-pattern", 17, 36]
    ])("%s is %s", async (filter, code, start, end) => {
      const expected = {
        parameter: "filter",
        errors: [{
          code,
          message: expect.any(String),
          hint: expect.any(String),
          span: start === null ? { start: expect.any(Number), end: expect.any(Number) } : { start, end }
        }]
      }
      expectProblem(await list({ filter }), "invalid-filter", "/api/v1/orders", expected)
      expectProblem(await search({ filter }), "invalid-filter", "/api/v1/orders:search", expected)
      for (
        const verb of [
          "facets?field=status",
          "histogram?field=qty",
          "series?field=placed_at&range=all",
          "seek?position=0"
        ]
      ) {
        const [name = "", query = ""] = verb.split("?")
        const answer = await service().get(
          admin,
          `/api/v1/orders:${name}?${query}&filter=${encodeURIComponent(filter)}`
        )
        expectProblem(answer, "invalid-filter", `/api/v1/orders:${name}`, expected)
      }
    })

    it("tells a field that is only shown from one that is not there", async () => {
      for (
        const [parameter, text, slug, code] of [
          ["filter", "remark = a", "invalid-filter", "not-filterable"],
          ["filter", "remarks = a", "invalid-filter", "unknown-field"],
          ["order_by", "remark", "invalid-order-by", "not-sortable"],
          ["order_by", "remarks", "invalid-order-by", "unknown-field"]
        ] as const
      ) {
        expectProblem(await list({ [parameter]: text }, admin, "lines"), slug, "/api/v1/lines", {
          parameter,
          errors: [expect.objectContaining({ code })]
        })
      }
    })

    it("does not take a caller's value for what it says", async () => {
      // Outside of rules, `caller.id` is just a text.
      expect(await ids({ filter: "owner_id = caller.id" }, sales)).toEqual([])
    })

    it("works with 10,000 characters in a query, also when each is encoded as nine or twelve", async () => {
      const fill = (text: string, length: number) => text + " ".repeat(length - text.length)
      expect(await ids({ filter: fill("id = 7", 10_000) })).toEqual(["7"])
      const wide = `note:"${"日".repeat(9_993)}"`
      expect(wide.length).toBe(10_000 - 0)
      expect(await ids({ filter: wide })).toEqual([])
      expect(await ids({ filter: `note="${"😀".repeat(9_993)}"` })).toEqual([])
      expectProblem(await list({ filter: `note="${"😀".repeat(9_994)}"` }), "invalid-filter", "/api/v1/orders", {
        parameter: "filter",
        errors: [{
          code: "limit",
          message: "The filter has 10001 characters; 10000 are allowed here.",
          hint: expect.any(String),
          span: { start: 6 + 2 * 9_994, end: 7 + 2 * 9_994 }
        }]
      })
      expectProblem(await list({ filter: fill("id = 7", 10_001) }), "invalid-filter", "/api/v1/orders", {
        parameter: "filter",
        errors: [{
          code: "limit",
          message: expect.any(String),
          hint: expect.stringContaining(":search"),
          span: { start: 10_000, end: 10_001 }
        }]
      })
      expect(pluck(await search({ filter: fill("id = 7", 200_000) }), "id")).toEqual(["7"])
      expectProblem(await search({ filter: fill("id = 7", 200_001) }), "invalid-filter", "/api/v1/orders:search", {
        parameter: "filter",
        errors: [{
          code: "limit",
          message: expect.any(String),
          hint: expect.any(String),
          span: { start: 200_000, end: 200_001 }
        }]
      })
    })

    it("takes 5,000 values and 1,000 conditions", async () => {
      const values = Array.from({ length: 5_000 }, (_, i) => String(i * 3 + 1))
      const expected = everyId.filter((id) => values.includes(String(id)))
      expect(pluck(await search({ filter: `in(id, ${values.join(", ")})`, page_size: 500 }), "id")).toEqual(expected)
      const terms = Array.from({ length: 1_000 }, (_, i) => `id = ${i * 3 + 1}`).join(" OR ")
      expect(pluck(await search({ filter: terms, page_size: 500 }), "id")).toEqual(expected)
    })
  })

  describe(":search", () => {
    const cases: ReadonlyArray<readonly [query: Query, body: object]> = [
      [{}, {}],
      [{ page_size: 3 }, { page_size: 3 }],
      [{ page_size: 0 }, { page_size: 0 }],
      [{ page_size: 501 }, { page_size: 501 }],
      [{ page_size: 500 }, { page_size: 1e30 }],
      [{ filter: "status = paid", order_by: "number desc", page_size: 4 }, {
        filter: "status = paid",
        order_by: "number desc",
        page_size: 4
      }],
      [{ fields: "id,number", count: "exact" }, { fields: ["id", "number"], count: "exact" }],
      [{ fields: "id,number", count: "", order_by: "" }, { fields: ["id", "number"], count: "", order_by: "" }],
      [{ show_deleted: true, order_by: "id desc", page_size: 2 }, {
        show_deleted: true,
        order_by: "id desc",
        page_size: 2
      }],
      [{ fields: "", page_size: 2 }, { fields: [], page_size: 2 }],
      [{ expand: "customer", page_size: 2 }, { expand: ["customer"], page_size: 2, filter: null }]
    ]
    it.each(cases)("equals the list for %j", async (query, body) => {
      const [listed, found] = [await list(query), await search(body)]
      const { next_page_token: one, ...left } = listed.json as unknown as { next_page_token: string }
      const { next_page_token: two, ...right } = found.json as unknown as { next_page_token: string }
      expect(found.status).toBe(200)
      expect(right).toEqual(left)
      expect(two === "").toBe(one === "")
      // A token of one continues the other.
      if (one !== "") {
        expect((await search({ ...body, page_token: one })).json["items"]).toEqual(
          (await list({ ...query, page_token: two })).json["items"]
        )
      }
    })

    const wrong: Array<[body: object, parameter: string, message?: string]> = [
      [{ filter: 1 }, "filter", "The member must be a text."],
      [{ page_size: "5" }, "page_size", "The member must be a number."],
      [{ page_size: 1.5 }, "page_size"],
      [{ page_size: -1 }, "page_size"],
      [{ show_deleted: "true" }, "show_deleted", "The member must be true or false."],
      [{ fields: [1] }, "fields", "The member must be a list of names."],
      [{ fields: "id,number" }, "fields", "The member must be a list of names."],
      [{ expand: "customer" }, "expand", "The member must be a list of names."],
      [{ fields: ["id,number"] }, "fields"],
      [{ fields: [""] }, "fields"],
      [{ count: true }, "count"],
      [{ position: "1" }, "position"],
      [{ nope: 1 }, "nope"],
      [{ nope: null }, "nope"]
    ]
    it.each<[object, string, string?]>(wrong)("%j is refused", async (body, parameter, message) => {
      expectParameter(await search(body), "/api/v1/orders:search", parameter, message)
    })

    it("takes a JSON object in the body and nothing in the query", async () => {
      for (const body of ["[]", "null", "1", "\"a\""]) {
        expectParameter(await search(body), "/api/v1/orders:search", "")
      }
      for (
        const body of [
          "",
          "{",
          "{\"filter\":\"a\",\"filter\":\"b\"}",
          "{\"__proto__\":{}}",
          "[".repeat(70) + "]".repeat(70)
        ]
      ) {
        expectProblem(await search(body), "malformed-json", "/api/v1/orders:search")
      }
      const answer = await service().call(admin, "POST", "/api/v1/orders:search?page_size=1", { body: {} })
      expectParameter(answer, "/api/v1/orders:search", "page_size")
      const form = await service().call(admin, "POST", "/api/v1/orders:search", {
        body: "{}",
        headers: { "content-type": "text/plain" }
      })
      expectProblem(form, "unsupported-media-type", "/api/v1/orders:search")
    })
  })
}
