// `:aggregate` and `:facets` with a measure over HTTP: exact answers over exactly the rows of a list, as GET and POST, and what is refused to whom.
import { expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { defineRoles } from "../../../core/domain/declare/roles.ts"
import { at, expectParameter, expectProblem } from "../../support/answer.ts"
import type { Query } from "../../support/answer.ts"
import type { Answer, TestCaller } from "../../support/composed.ts"
import { onBoth } from "../writes/scenes.ts"

const sales = defineResource("sales", {
  primaryKey: "id",
  tenant: f.integer().column("tenant_id"),
  owner: "owner_id",
  softDelete: "deleted_at",
  fields: {
    id: f.integer().bits(64).filterable().sortable(),
    owner_id: f.text().filterable(),
    status: f.enum(["draft", "paid"]).optional().filterable(),
    total: f.decimal({ precision: 20, scale: 2 }).optional().filterable(),
    currency: f.currency().filterable(),
    qty: f.integer().optional().filterable(),
    huge: f.integer().bits(64).optional().filterable(),
    placed_at: f.timestamp().optional().filterable(),
    data: f.json().optional().filterable(),
    closed: f.text().optional(),
    margin: f.decimal().optional().filterable(),
    deleted_at: f.timestamp().optional().filterable()
  },
  access: { fields: { margin: { read: ["admin"] } } }
})

const row = (id: number, values: object) => ({
  id: String(id),
  tenant_id: 1,
  owner_id: "ann",
  status: null,
  total: null,
  currency: "EUR",
  qty: null,
  huge: null,
  placed_at: null,
  data: null,
  closed: null,
  margin: null,
  deleted_at: null,
  ...values
})

const fixture = {
  config: defineConfig({
    resources: [sales],
    roles: defineRoles({ admin: ["*"], clerk: ["sales.read"], seller: ["sales.read.own"] })
  }),
  schema: `create table sales (id bigint primary key, tenant_id integer not null, owner_id text not null, status text,
    total numeric(20,2), currency char(3) not null, qty integer, huge bigint, placed_at timestamptz, data jsonb, closed text,
    margin numeric, deleted_at timestamptz)`,
  rows: {
    sales: [
      row(1, { status: "paid", total: "10.50", qty: 1, placed_at: "2026-01-31T22:59:59.999999Z", margin: "1" }),
      row(2, { status: "paid", total: "999999999999999999.99", qty: 2, placed_at: "2026-01-31T23:00:00Z" }),
      row(3, { status: "paid", total: "7.00", currency: "USD", qty: 3, placed_at: "2026-02-15T00:00:00Z" }),
      row(4, { status: "draft", total: "1.00", huge: "9223372036854775807", owner_id: "bob" }),
      row(5, { total: null, huge: "9223372036854775807", owner_id: "bob", currency: "USD" }),
      row(6, { status: "paid", total: "5.00", deleted_at: "2026-03-01T00:00:00Z" }),
      row(7, { status: "paid", total: "3.00", tenant_id: 2, currency: "CHF" })
    ]
  }
}

const admin = { id: "root", roles: ["admin"], tenant: "1" }
const clerk = { id: "cleo", roles: ["clerk"], tenant: "1" }
const seller = { id: "bob", roles: ["seller"], tenant: "1" }
const path = "/api/v1/sales:aggregate"

onBoth("groups", () => fixture, (use) => {
  const ask = (query: Query, caller: TestCaller = clerk): Promise<Answer> =>
    use().get(caller, at("sales:aggregate", query))
  const post = (body: unknown, caller: TestCaller = clerk): Promise<Answer> =>
    use().call(caller, "POST", path, { body: body as object })
  const groups = async (query: Query, caller: TestCaller = clerk) => {
    const answer = await ask(query, caller)
    expect(answer.status, answer.text).toBe(200)
    return answer.json["groups"] as unknown as ReadonlyArray<{ readonly group: object; readonly measures: object }>
  }

  it("answers one text, keys in their own form, other measures as exact texts", async () => {
    const query = {
      group_by: "currency,month(placed_at)",
      measures: "count,sum(total),avg(qty),max(placed_at)",
      order_by: "sum(total) desc",
      time_zone: "Europe/Berlin"
    }
    const answer = await ask({ ...query, filter: "placed_at:*" })
    expect(answer.text).toBe(
      "{\"groups\":[" +
        "{\"group\":{\"currency\":\"EUR\",\"month(placed_at)\":\"2026-01-31T23:00:00Z\"},\"measures\":{\"count\":1," +
        "\"sum(total)\":\"999999999999999999.99\",\"avg(qty)\":\"2\"," +
        "\"max(placed_at)\":\"2026-01-31T23:00:00Z\"}}," +
        "{\"group\":{\"currency\":\"EUR\",\"month(placed_at)\":\"2025-12-31T23:00:00Z\"},\"measures\":{\"count\":1," +
        "\"sum(total)\":\"10.50\",\"avg(qty)\":\"1\"," +
        "\"max(placed_at)\":\"2026-01-31T22:59:59.999999Z\"}}," +
        "{\"group\":{\"currency\":\"USD\",\"month(placed_at)\":\"2026-01-31T23:00:00Z\"},\"measures\":{\"count\":1," +
        "\"sum(total)\":\"7.00\",\"avg(qty)\":\"3\"," +
        "\"max(placed_at)\":\"2026-02-15T00:00:00Z\"}}" +
        "],\"more\":false}"
    )
    const { filter, group_by, measures, ...rest } = { ...query, filter: "placed_at:*" }
    const posted = await post({ ...rest, filter, group_by: group_by.split(","), measures: measures.split(",") })
    expect(posted.text).toBe(answer.text)
  })

  it("covers the rows of a list: filter, tenant, own rows and deleted ones", async () => {
    const counts = async (query: Query, caller: TestCaller) =>
      (await groups({ group_by: "status", ...query }, caller)).map(({ group, measures }) => [
        Object.values(group)[0],
        Object.values(measures)[0]
      ])
    expect(await counts({}, clerk)).toEqual([["draft", 1], ["paid", 3], [null, 1]])
    expect(await counts({ show_deleted: true }, clerk)).toEqual([["draft", 1], ["paid", 4], [null, 1]])
    expect(await counts({ filter: "currency = USD" }, clerk)).toEqual([["paid", 1], [null, 1]])
    expect(await counts({}, seller)).toEqual([["draft", 1], [null, 1]])
    expect(await counts({}, { ...clerk, tenant: "2" })).toEqual([["paid", 1]])
    expect(await counts({}, { ...clerk, tenant: "3" })).toEqual([])
  })

  it("without groups is one row, also of no records", async () => {
    expect(await groups({})).toEqual([{ group: {}, measures: { count: 5 } }])
    const query = { measures: "count,count_distinct(currency),sum(huge),median(huge)", filter: "id = 99" }
    expect(await groups(query)).toEqual([{
      group: {},
      measures: { count: 0, "count_distinct(currency)": 0, "sum(huge)": null, "median(huge)": null }
    }])
    expect(await groups({ measures: "sum(huge),p95(huge)" })).toEqual([{
      group: {},
      measures: { "sum(huge)": "18446744073709551614", "p95(huge)": "9223372036854775807" }
    }])
  })

  it("says whether there are more groups", async () => {
    const page = async (limit: string) => {
      const { json } = await ask({ group_by: "id", limit })
      return [(json["groups"] as readonly unknown[]).length, json["more"]]
    }
    expect(await page("4")).toEqual([4, true])
    expect(await page("5")).toEqual([5, false])
    expect(await page("0")).toEqual([5, false])
    expect(await page("99999999999999999999")).toEqual([5, false])
  })

  it("answers conditions over measures, nulls included", async () => {
    const query = { group_by: "currency", measures: "count,sum(huge)" }
    const kept = async (having: string) => (await groups({ ...query, having })).map(({ group }) => Object.values(group))
    expect(await kept("count >= 3")).toEqual([["EUR"]])
    expect(await kept("sum(huge) > 9223372036854775806.5")).toEqual([["EUR"], ["USD"]])
    expect(await kept("NOT sum(huge) = 9223372036854775807 OR count = 2")).toEqual([["USD"]])
    expect(await kept("-count:3")).toEqual([["USD"]])
  })

  it("never adds up amounts of several currencies", async () => {
    const message =
      "Amounts of several currencies cannot be added up or compared: \"total\" has its currency in \"currency\"."
    for (const measure of ["sum(total)", "avg(total)", "median(total)"]) {
      for (
        const answer of [await ask({ measures: measure }), await post({ measures: [measure], group_by: ["status"] })]
      ) {
        expectProblem(answer, "invalid-parameter", path, {
          errors: [{
            parameter: "measures",
            message,
            hint: "Group by currency, or filter for one, such as currency = \"EUR\"."
          }]
        })
      }
    }
    expect(await groups({ measures: "sum(total)", filter: "currency = USD" })).toEqual([{
      group: {},
      measures: { "sum(total)": "7.00" }
    }])
    expect(await groups({ measures: "sum(total)", group_by: "currency" })).toEqual([
      { group: { currency: "EUR" }, measures: { "sum(total)": "1000000000000000011.49" } },
      { group: { currency: "USD" }, measures: { "sum(total)": "7.00" } }
    ])
    const facets = (query: Query) => use().get(clerk, at("sales:facets", query))
    const mixed = await facets({ field: "status", measure: "sum:total" })
    expect([mixed.status, mixed.json["errors"]?.[0]?.["parameter"], mixed.json["detail"]]).toEqual([
      400,
      "measure",
      message
    ])
    const series = (query: Query) =>
      use().get(clerk, at("sales:series", { field: "placed_at", range: "all", ...query }))
    for (const measure of ["sum:total", "avg:total", "max:total"]) {
      expectProblem(await series({ measure }), "invalid-parameter", "/api/v1/sales:series", {
        errors: [{
          parameter: "measure",
          message,
          hint: "Ask :aggregate for groups by currency, or filter for one, such as currency = \"EUR\"."
        }]
      })
    }
    const dollars = await series({ measure: "sum:total", granularity: "year", filter: "currency = USD" })
    expect(dollars.json["points"]).toEqual([{ start: "2026-01-01T00:00:00Z", value: "7.00" }])
    expect((await series({ measure: "sum:qty" })).status).toBe(200)
    expect((await facets({ field: "currency", measure: "sum:total" })).text).toBe(
      "{\"field\":\"currency\",\"measure\":\"sum:total\",\"facets\":[" +
        "{\"value\":\"EUR\",\"count\":3,\"measure\":\"1000000000000000011.49\"}," +
        "{\"value\":\"USD\",\"count\":2,\"measure\":\"7.00\"}]}"
    )
    expect((await facets({ field: "status", measure: "max:qty", limit: 1 })).json["facets"]).toEqual([
      { value: "paid", count: 3, measure: "3" }
    ])
  })

  it("refuses hidden fields like unknown ones, in every place and byte for byte", async () => {
    const queries: ReadonlyArray<(name: string) => Query> = [
      (name) => ({ group_by: name }),
      (name) => ({ group_by: `status,day(${name})` }),
      ...["count_distinct", "sum", "avg", "min", "max", "median", "p95"].map((of) => (name: string) => ({
        measures: `count,${of}(${name})`
      })),
      (name) => ({ having: `${name} > 1` }),
      (name) => ({ measures: "sum(qty)", having: `sum(${name}) > 1` }),
      (name) => ({ order_by: name }),
      (name) => ({ measures: "sum(qty)", order_by: `sum(${name}) desc` }),
      (name) => ({ filter: `${name} > 1` })
    ]
    for (const query of queries) {
      const [hidden, unknown] = [await ask(query("margin")), await ask(query("nargin"))]
      expect([hidden.status, hidden.text.replaceAll("margin", "nargin")], JSON.stringify(query("…"))).toEqual([
        400,
        unknown.text
      ])
    }
    expect(await groups({ measures: "sum(margin)", group_by: "currency" }, admin)).toEqual([
      { group: { currency: "EUR" }, measures: { "sum(margin)": "1" } },
      { group: { currency: "USD" }, measures: { "sum(margin)": null } }
    ])
  })

  it.each<readonly [query: Query, parameter: string]>([
    [{ group_by: "status,currency,qty,id" }, "group_by"],
    [{ group_by: "status,,qty" }, "group_by"],
    [{ group_by: "closed" }, "group_by"],
    [{ group_by: "data" }, "group_by"],
    [{ group_by: "month(status)" }, "group_by"],
    [{ group_by: "month(placed_at)", time_zone: "Mars/Olympus" }, "time_zone"],
    [{ measures: "count_distinct(data)" }, "measures"],
    [{ measures: "sum(currency)" }, "measures"],
    [{ limit: "-1" }, "limit"],
    [{ page_size: "5" }, "page_size"],
    [{ field: "status" }, "field"]
  ])("refuses %j", async (query, parameter) => {
    expectParameter(await ask(query), path, parameter)
  })

  it("names the measures there are", async () => {
    expectProblem(await ask({ measures: "stddev(qty)" }), "invalid-parameter", path, {
      errors: [{
        parameter: "measures",
        message: "There is no measure \"stddev(qty)\".",
        hint:
          "Measures: count, and count_distinct, sum, avg, min, max, median, p95 of a field, such as count_distinct(id)."
      }]
    })
  })

  it("points at what is wrong in a condition or an order", async () => {
    expectProblem(
      await ask({ measures: "sum(qty)", having: "sum(qty) > 1 AND sum(total) > 2" }),
      "invalid-filter",
      path,
      {
        parameter: "having",
        errors: [{
          code: "unknown-field",
          message: "There is no \"sum(total)\" in this answer.",
          hint: "Measures of this request: sum(qty).",
          span: { start: 17, end: 27 }
        }]
      }
    )
    expectProblem(await ask({ group_by: "status", order_by: "count desc, qty" }), "invalid-order-by", path, {
      parameter: "order_by",
      errors: [{
        code: "unknown-field",
        message: "There is no \"qty\" in this answer.",
        hint: "Groups and measures of this request: status, count.",
        span: { start: 12, end: 15 }
      }]
    })
    const deep = `${"NOT (".repeat(40)}count > 1${")".repeat(40)}`
    expectProblem(await ask({ having: deep }), "invalid-filter", path, {
      parameter: "having",
      errors: [expect.anything()]
    })
  })

  it("takes longer conditions in a body, and parameters in one place", async () => {
    const having = "count > 0".padEnd(10_001)
    expectProblem(await ask({ having }), "invalid-filter", path, { parameter: "having", errors: [expect.anything()] })
    expect((await post({ having, filter: "id > 0".padEnd(10_001) })).json["more"]).toBe(false)
    expectParameter(
      await use().call(clerk, "POST", `${path}?limit=3`, { body: {} }),
      path,
      "limit",
      "With a body, all parameters stand in it."
    )
    expectParameter(await post({ group_by: "status" }), path, "group_by", "The member must be a list of names.")
    expectParameter(await post([]), path, "", "The body must be a JSON object.")
  })

  it("needs what a list needs", async () => {
    expectProblem(await ask({}, { id: "x", roles: ["clerk"] }), "tenant-required", path)
    expectProblem(await ask({}, { id: "x", roles: [], tenant: "1" }), "not-found", path)
    expect((await use().call(null, "GET", path, {})).status).toBe(401)
  })
})
