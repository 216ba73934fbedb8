import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { makeModel } from "../../../test/support/model.ts"
import type { Access } from "../access/access.ts"
import { readableBit, restrictModel } from "../access/restrict.ts"
import { evaluate } from "../filter/evaluate.ts"
import type { FilterTree } from "../filter/tree.ts"
import { always } from "../filter/tree.ts"
import type { Problem } from "../problem.ts"
import { checkCurrencies, groupsJson, readGroups } from "./group.ts"
import { checkFilter } from "./list.ts"
import { groupsRequest } from "./request.ts"

const orders = makeModel({
  fields: [
    { name: "id", kind: "integer" },
    { name: "status", kind: "text" },
    { name: "total", kind: "decimal", precision: 12, scale: 2 },
    { name: "weight", kind: "decimal", precision: 12, scale: 2 },
    { name: "currency", kind: "currency" },
    { name: "qty", kind: "integer", bits: 32 },
    { name: "ratio", kind: "float" },
    { name: "at", kind: "timestamp" },
    { name: "due_on", kind: "date" },
    { name: "data", kind: "json" },
    { name: "marks", kind: "list" },
    { name: "shop_id", kind: "integer", relation: "shops" },
    { name: "closed", kind: "text", filterable: false },
    { name: "count", kind: "integer" },
    { name: "secret", kind: "integer" }
  ]
})
const seen = orders.fields.map(({ name }) => name === "secret" ? 0 : readableBit)
const restricted = restrictModel(orders, seen, true)
const withoutCurrency = restrictModel(
  orders,
  orders.fields.map(({ name }) => name === "currency" ? 0 : readableBit),
  true
)

type Query = { readonly [name: string]: string }
const ask = (query: Query) =>
  Result.flatMap(
    groupsRequest(Object.entries(query)),
    (request) => readGroups(() => null, { model: restricted.model, restricted } as Access, request)
  )
const question = (query: Query) => Result.getOrThrow(ask(query))
const refusal = (query: Query): Problem => Result.getOrThrow(Result.flip(ask(query)))

describe("readGroups", () => {
  it("reads groups, buckets, measures and their order", () => {
    const { columns, keys, measures, order, timeZone } = question({
      group_by: "status, month(at), day(due_on)",
      measures: "count,count_distinct(shop_id),sum(total),avg(qty),min(at),max(due_on),median(qty),p95(ratio)",
      order_by: "sum(total) desc, month(at)",
      time_zone: "Europe/Berlin"
    })
    expect(keys.map(({ field, granularity }) => [field.name, granularity])).toEqual([
      ["status", null],
      ["at", "month"],
      ["due_on", "day"]
    ])
    expect(measures.map((measure) => [measure.of, "field" in measure ? measure.field.name : null])).toEqual([
      ["count", null],
      ["count_distinct", "shop_id"],
      ["sum", "total"],
      ["avg", "qty"],
      ["min", "at"],
      ["max", "due_on"],
      ["median", "qty"],
      ["p95", "ratio"]
    ])
    expect(columns.map(({ kind }) => kind)).toEqual([
      "text",
      "timestamp",
      "timestamp",
      "integer",
      "integer",
      "decimal",
      "decimal",
      "timestamp",
      "date",
      "integer",
      "float"
    ])
    columns.forEach((column, i) => expect(column.index).toBe(i))
    // Every key is in the order, so that no two groups are equal in it.
    expect(order.map(({ descending, field }) => [field.name, descending])).toEqual([
      ["sum(total)", true],
      ["month(at)", false],
      ["status", false],
      ["day(due_on)", false]
    ])
    expect(timeZone).toBe("Europe/Berlin")
  })

  it("counts rows of all together where nothing else is asked", () => {
    const { columns, having, keys, measures, order } = question({})
    expect([keys, measures, order, having]).toEqual([[], [{ of: "count" }], [], always])
    expect(columns.map(({ name }) => name)).toEqual(["count"])
  })

  it("is one object for the same texts", () => {
    expect(question({ group_by: "status", having: "count > 1" })).toBe(
      question({ group_by: "status", having: "count > 1" })
    )
    expect(question({ group_by: "status" })).not.toBe(question({ group_by: "status", having: "count > 1" }))
  })

  it.each<readonly [having: string, cells: readonly (string | null)[], passes: boolean]>([
    ["count >= 3", ["3", "9", null], true],
    ["count>=4", ["3", "9", null], false],
    ["sum(total) > 8.999 AND count < 5", ["3", "9", null], true],
    ["NOT sum(total)>8.999", ["3", "9", null], false],
    ["-sum(total) > 100", ["3", "9", null], true],
    ["(sum(total) = 9)", ["3", "9.00", null], true],
    ["sum(total) > 9007199254740993.5", ["3", "9007199254740993.51", null], true],
    ["in(sum(total), 1, 9)", ["3", "9", null], true],
    ["isNull(min(at)) OR count = 0", ["3", "9", null], true],
    ["min(at):*", ["3", "9", null], false],
    ["min(at) > \"2026-01-01T00:00:00.000001Z\"", ["3", "9", "2026-01-01T00:00:00.000002Z"], true],
    ["min(at) < now() - 7d", ["3", "9", "2025-12-01T00:00:00Z"], true],
    ["count != 3", ["3", "9", null], false]
  ])("having %s", (having, cells, passes) => {
    const { having: tree } = question({ measures: "count,sum(total),min(at)", having })
    const bindings = { caller: { id: "u", tenant: null }, now: 1_767_225_600_000_000n, params: [] }
    expect(evaluate(tree, (field) => cells[field.index] ?? null, bindings)).toBe(passes)
  })

  it("takes the measure where a group has the same name", () => {
    const { order } = question({ group_by: "count", order_by: "count desc" })
    expect(order.map(({ descending, field }) => [field.index, descending])).toEqual([[1, true], [0, false]])
  })

  const places: ReadonlyArray<readonly [where: string, query: (name: string) => Query]> = [
    ["group_by", (name) => ({ group_by: name })],
    ["group_by of three", (name) => ({ group_by: `status,qty,${name}` })],
    ["a bucket", (name) => ({ group_by: `month(${name})` })],
    ...["count_distinct", "sum", "avg", "min", "max", "median", "p95"].map((of) =>
      [of, (name: string) => ({ measures: `count,${of}(${name})` })] as const
    ),
    ["having", (name) => ({ having: `${name} > 1` })],
    ["a measure in having", (name) => ({ having: `count > 1 AND NOT sum(${name}) > 1` })],
    ["in()", (name) => ({ having: `in(max(${name}), 1)` })],
    ["order_by", (name) => ({ order_by: name })],
    ["a measure in order_by", (name) => ({ order_by: `count, avg(${name}) desc` })]
  ]
  it.each(places)("refuses a hidden field in %s like an unknown one", (_, query) => {
    const [hidden, unknown] = [refusal(query("secret")), refusal(query("zzzret"))]
    expect(JSON.stringify(hidden).replaceAll("secret", "zzzret")).toBe(JSON.stringify(unknown))
    expect(JSON.stringify(hidden)).not.toContain("\uE000")
  })

  it.each<readonly [query: Query, parameter: string, message: string]>([
    [{ group_by: "status,qty,at,total" }, "group_by", "Rows are grouped by at most 3 fields."],
    [{ group_by: "closed" }, "group_by", "The field \"closed\" is not filterable."],
    [{ group_by: "data" }, "group_by", "The field \"data\" has no facets."],
    [
      { group_by: "marks" },
      "group_by",
      "The field \"marks\" is a list: rows are not grouped by it, and :facets counts its elements."
    ],
    [{ group_by: "decade(at)" }, "group_by", "There is no \"decade\" to group by."],
    [{ group_by: "month(status)" }, "group_by", "The field \"status\" is neither a timestamp nor a date."],
    [{ group_by: "month(day(at))" }, "group_by", "There is no field \"day(at)\"."],
    [{ measures: "sum" }, "measures", "There is no measure \"sum\"."],
    [{ measures: "sum:total" }, "measures", "There is no measure \"sum:total\"."],
    [{ measures: "count(id)" }, "measures", "There is no measure \"count(id)\"."],
    [{ measures: "constructor(id)" }, "measures", "There is no measure \"constructor(id)\"."],
    [{ measures: "sum(status)" }, "measures", "The field \"status\" is not a number."],
    [{ measures: "sum(at)" }, "measures", "The field \"at\" is not a number."],
    [{ measures: "sum(shop_id)" }, "measures", "The field \"shop_id\" is not a number."],
    [
      { measures: "min(status)" },
      "measures",
      "The field \"status\" is neither a number nor a time, an interval or an address."
    ],
    [{ measures: "count_distinct(data)" }, "measures", "The values of the field \"data\" cannot be counted."],
    [{ measures: "sum(closed)" }, "measures", "The field \"closed\" is not filterable."],
    [{ measures: "p95()" }, "measures", "There is no field \"\"."],
    [
      { measures: Array.from({ length: 11 }, (_, i) => i === 0 ? "count" : `sum(f${i})`).join() },
      "measures",
      "A group has at most 10 measures."
    ],
    [
      { group_by: "month(at)", time_zone: "+02:00" },
      "time_zone",
      "The parameter must be an IANA time zone such as Europe/Berlin."
    ],
    [{ limit: "-1" }, "limit", "The parameter must be a whole number of at least 0."]
  ])("refuses %j", (query, parameter, message) => {
    const problem = refusal(query)
    expect([problem.slug, problem.members.errors?.[0]]).toMatchObject(["invalid-parameter", { parameter, message }])
  })

  it.each<readonly [query: Query, error: object]>([
    [
      { measures: "count,sum(total)", having: "count > 1 AND sum(qty) > 2" },
      {
        code: "unknown-field",
        message: "There is no \"sum(qty)\" in this answer.",
        hint: "Measures of this request: count, sum(total).",
        span: { start: 14, end: 22 }
      }
    ],
    [
      { measures: "sum(total)", having: "sum(total) > many" },
      { code: "value", message: "\"many\" is not a value of the field \"sum(total)\".", span: { start: 13, end: 17 } }
    ],
    [{ having: "count > 1.5" }, { code: "value", message: "\"1.5\" is not a value of the field \"count\"." }],
    [{ group_by: "status", having: "status = paid" }, { code: "unknown-field", span: { start: 0, end: 6 } }],
    [{ having: "paid" }, { code: "not-searchable" }],
    [{ having: "regex(count, 'a+')" }, { code: "operator" }],
    [{ measures: "max(total)", having: "max(total):\"1\" max(total)" }, { code: "not-searchable" }],
    [{ having: `${"(".repeat(33)}count > 1${")".repeat(33)}` }, { code: "limit" }],
    [{ having: Array.from({ length: 1_001 }, () => "count>1").join(" ") }, { code: "limit" }],
    [{ having: "sum(total" }, { code: "syntax" }]
  ])("refuses the condition of %j", (query, error) => {
    const problem = refusal(query)
    expect([problem.slug, problem.members["parameter"]]).toEqual(["invalid-filter", "having"])
    expect(problem.members.errors?.[0]).toMatchObject(error)
    expect(JSON.stringify(problem)).not.toMatch(/[\uE000\uE001]/)
  })

  it.each<readonly [query: Query, error: object]>([
    [{ group_by: "status", order_by: "qty" }, {
      code: "unknown-field",
      message: "There is no \"qty\" in this answer.",
      hint: "Groups and measures of this request: status, count."
    }],
    [{ group_by: "status", order_by: "sum(total) desc" }, { code: "unknown-field", span: { start: 0, end: 10 } }],
    [{ order_by: "count up" }, { code: "syntax" }],
    [{ order_by: "count, count" }, { code: "duplicate" }]
  ])("refuses the order of %j", (query, error) => {
    const problem = refusal(query)
    expect([problem.slug, problem.members["parameter"]]).toEqual(["invalid-order-by", "order_by"])
    expect(problem.members.errors?.[0]).toMatchObject(error)
  })
})

describe("checkCurrencies", () => {
  const check = (query: Query, filter: FilterTree = always, by = restricted) => {
    const { keys, measures } = question(query)
    return checkCurrencies(by, "measures", measures, keys.map(({ field }) => field), filter)
  }
  const filtered = (text: string) => Result.getOrThrow(checkFilter(() => null, { restricted } as Access, text))

  it.each(["sum", "avg", "min", "max", "median", "p95"])("refuses %s of amounts in several currencies", (of) => {
    const problem = Result.getOrThrow(Result.flip(check({ group_by: "status", measures: `count,${of}(total)` })))
    expect(problem.members.errors).toEqual([{
      parameter: "measures",
      message:
        "Amounts of several currencies cannot be added up or compared: \"total\" has its currency in \"currency\".",
      hint: "Group by currency, or filter for one, such as currency = \"EUR\"."
    }])
  })

  it.each<readonly [query: Query, filter: string]>([
    [{ group_by: "status,currency", measures: "sum(total)" }, ""],
    [{ measures: "sum(total)" }, "currency = EUR"],
    [{ measures: "sum(total)" }, "status = paid AND currency = EUR"],
    [{ measures: "sum(total)" }, "in(currency, EUR)"],
    [{ measures: "count_distinct(total),count" }, ""],
    [{ measures: "sum(weight)" }, ""],
    [{ measures: "sum(qty)" }, ""]
  ])("takes %j where %s", (query, filter) => {
    expect(Result.isSuccess(check(query, filtered(filter)))).toBe(true)
  })

  it.each(["currency != EUR", "status = paid OR currency = EUR", "in(currency, EUR, USD)", "NOT currency = EUR"])(
    "%s does not choose one currency",
    (filter) => {
      expect(Result.isFailure(check({ measures: "sum(total)" }, filtered(filter)))).toBe(true)
    }
  )

  it("lets rows be grouped by the currency of an amount, filterable or not, and by no other field that is not", () => {
    const model = makeModel({
      fields: [
        { name: "id", kind: "integer" },
        { name: "total", kind: "decimal" },
        { name: "currency", kind: "currency", filterable: false },
        { name: "country", kind: "country", filterable: false }
      ]
    })
    const all = restrictModel(model, [1, 1, 1, 1], true)
    const read = (by: string, access = all) =>
      Result.flatMap(
        groupsRequest([["group_by", by]]),
        (request) => readGroups(() => null, { model: access.model, restricted: access } as Access, request)
      )
    expect(Result.isSuccess(read("currency"))).toBe(true)
    expect(Result.isFailure(read("country"))).toBe(true)
    expect(Result.isFailure(read("currency", restrictModel(model, [1, 0, 1, 1], true)))).toBe(true)
    const hidden = restrictModel(model, [1, 1, 0, 1], true)
    const [currency, unknown] = ["currency", "zurrency"].map((name) => JSON.stringify(read(name, hidden)))
    expect(currency!.replaceAll("currency", "zurrency")).toBe(unknown)
    const total = model.byName.get("total")!
    const problem = (parameter: "measure" | "measures") =>
      Result.getOrThrow(Result.flip(checkCurrencies(all, parameter, [{ of: "sum", field: total }], [], always)))
    expect(problem("measures").members.errors?.[0]?.hint).toBe("Group by currency.")
    expect(problem("measure").members.errors?.[0]?.hint).toBe("Ask :aggregate for groups by currency.")
  })

  it("says nothing of a currency that the caller cannot see", () => {
    expect(Result.isSuccess(check({ measures: "sum(total)" }, always, withoutCurrency))).toBe(true)
  })
})

describe("groupsJson", () => {
  it("writes keys in their own form, counts as numbers and other measures as exact texts", () => {
    const asked = question({ group_by: "qty,status", measures: "count,sum(total),max(qty),p95(ratio)" })
    const rows = [
      ["7", "a\"b", "2", "9007199254740993.10", "7", "0.1"],
      [null, null, "1", null, null, "Infinity"],
      ["1", "x", "1", "1", "1", "1"]
    ]
    expect(groupsJson(asked, rows, 2)).toBe(
      "{\"groups\":[" +
        "{\"group\":{\"qty\":7,\"status\":\"a\\\"b\"},\"measures\":" +
        "{\"count\":2,\"sum(total)\":\"9007199254740993.10\",\"max(qty)\":\"7\",\"p95(ratio)\":\"0.1\"}}," +
        "{\"group\":{\"qty\":null,\"status\":null},\"measures\":" +
        "{\"count\":1,\"sum(total)\":null,\"max(qty)\":null,\"p95(ratio)\":\"Infinity\"}}" +
        "],\"more\":true}"
    )
    expect(groupsJson(question({}), [["0"]], 50)).toBe(
      "{\"groups\":[{\"group\":{},\"measures\":{\"count\":0}}],\"more\":false}"
    )
  })
})
