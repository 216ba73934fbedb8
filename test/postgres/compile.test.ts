// Plans as SQL: what typical ones look like, what is quoted, what is bound, and which statements stay prepared.
import { describe, expect, it } from "vitest"
import { countStatement, pageStatement } from "../../adapters/postgres/compile-page.ts"
import { updateStatement } from "../../adapters/postgres/compile-write.ts"
import type { VersionStep } from "../../adapters/postgres/compile-write.ts"
import { passingRows, type PlanNode, wholeScans } from "../../adapters/postgres/estimate.ts"
import { arrayLiteral, bind, quoted, timestampFromText, valuesOf } from "../../adapters/postgres/sql.ts"
import { allOf, always, not } from "../../core/domain/filter/tree.ts"
import type { Bindings, FilterTree } from "../../core/domain/filter/tree.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import type { PageShape } from "../../core/domain/read/plan.ts"
import { makeModel } from "../support/model.ts"

const model: Model = {
  ...makeModel({
    name: "orders",
    softDelete: "deleted_at",
    version: "updated_at",
    fields: [
      { name: "id", kind: "integer" },
      { name: "tenant", kind: "integer", column: "tenant_id" },
      { name: "status", kind: "enum", values: ["paid", "it's"] },
      { name: "note", kind: "text", optional: true },
      { name: "odd", kind: "text", column: "We\"ird; drop table x", optional: true },
      { name: "deleted_at", kind: "timestamp", optional: true },
      { name: "updated_at", kind: "timestamp" }
    ]
  }),
  schema: "sh\"op"
}
const f = (name: string): Field => model.byName.get(name)!
const bindings: Bindings = { caller: { id: "u1", tenant: "7" }, now: 0n, params: ["42"] }
const values = valuesOf(bindings)
const tenant: FilterTree = { op: "compare", field: f("tenant"), is: "=", value: { of: "caller", value: "tenant" } }
const live: FilterTree = { op: "null", field: f("deleted_at") }
const shapeOf = (parts: Partial<PageShape>): PageShape => ({
  model,
  columns: [f("id"), f("status")],
  where: always,
  order: [{ field: f("id"), descending: false }],
  limit: 51,
  checks: [],
  ...parts
})
const table = "\"sh\"\"op\".\"orders\" t"

describe("compile", () => {
  it("patterns that look at some rows only, the condition of which has its parameters once", () => {
    const status: FilterTree = { op: "compare", field: f("status"), is: "=", value: { of: "literal", text: "paid" } }
    const only = allOf([tenant, status])
    const patterns = ["a", "b"].map((pattern): FilterTree => ({ op: "regex", field: f("note"), pattern, only }))
    const statement = countStatement({ model, where: allOf(patterns), bindings, cap: null }, "public")
    const note = `(case when (t."tenant_id" = $1 and t."status" = 'paid') then t."note"::text end)`
    expect(statement.sql).toContain(`where (${note} ~ $2 and ${note} ~ $3)`)
    expect(bind(statement, values)).toEqual(["7", "a", "b"])
  })

  it("a list", () => {
    const shape = shapeOf({
      where: allOf([tenant, live]),
      checks: [{ op: "compare", field: f("status"), is: "=", value: { of: "literal", text: "it's" } }]
    })
    const first = pageStatement({ shape, bindings }, "public")
    expect(first.sql).toBe(
      `select t."id"::text, t."status"::text, ((t."status" = 'it''s') is true)::text from ${table}` +
        ` where (t."tenant_id" = $1 and t."deleted_at" is null) order by t."id" limit 51`
    )
    expect(bind(first, values)).toEqual(["7"])
    expect(first.stable).toBe(true)
    // Compiled once: the same object for the same shape.
    expect(pageStatement({ shape, bindings }, "public")).toBe(first)
    const next = pageStatement({ shape, bindings, after: ["9"] }, "public")
    expect(next.sql).toContain(
      `where t."id" > $2 and (t."tenant_id" = $1 and t."deleted_at" is null) order by t."id" limit 51`
    )
    expect(bind(next, { ...values, given: ["9"] })).toEqual(["7", "9"])
    const previous = pageStatement({ shape, bindings, before: ["9"] }, "public")
    expect(previous.sql).toContain(`where t."id" < $2`)
    expect(previous.sql).toContain(`order by t."id" desc limit 51`)
  })

  it("a get by key stays prepared, a caller's own filter does not", () => {
    const key: FilterTree = { op: "compare", field: f("id"), is: "=", value: { of: "param", index: 0 } }
    const get = pageStatement({ shape: shapeOf({ where: key, order: [], limit: 1 }), bindings }, "public")
    expect(get.sql).toBe(`select t."id"::text, t."status"::text from ${table} where t."id" = $1 limit 1`)
    expect(get.stable).toBe(true)
    expect(bind(get, values)).toEqual(["42"])
    const range: FilterTree = { op: "compare", field: f("id"), is: ">", value: { of: "literal", text: "5" } }
    expect(countStatement({ model, where: range, bindings, cap: null }, "public").stable).toBe(false)
    const paid: FilterTree = {
      op: "in",
      field: f("status"),
      values: [{ of: "literal", text: "paid" }, { of: "literal", text: "it's" }]
    }
    const few = countStatement({ model, where: paid, bindings, cap: 10 }, "public")
    expect(few.sql).toBe(
      `select count(*)::text from (select 1 from ${table} where t."status" in ('paid', 'it''s') limit 10) c`
    )
    expect(few.stable).toBe(true)
  })

  it("nothing that a caller writes into the text", () => {
    const evil = "'; drop table orders; --\\ \" $1 %_"
    const trees: readonly FilterTree[] = [
      { op: "compare", field: f("odd"), is: "=", value: { of: "literal", text: evil } },
      { op: "in", field: f("odd"), values: [{ of: "literal", text: evil }, { of: "literal", text: "{" }] },
      { op: "match", field: f("odd"), parts: [evil, ""] },
      { op: "contains", field: f("odd"), text: evil },
      { op: "search", fields: [f("odd"), f("note")], text: evil },
      { op: "similar", field: f("odd"), text: evil },
      { op: "regex", field: f("odd"), pattern: evil },
      { op: "compare", field: f("status"), is: "=", value: { of: "literal", text: evil } }
    ]
    const where = not({ op: "or", items: trees })
    const statement = countStatement({ model, where, bindings, cap: null }, "public")
    expect(statement.sql).not.toContain("drop table orders")
    expect(statement.sql).toContain("t.\"We\"\"ird; drop table x\"")
    expect(statement).toMatchObject({ regex: true, trigram: true, stable: false })
    expect(bind(statement, values)).toContain(`%'; drop table orders; --\\\\ " $1 \\%\\_%`)
  })

  it("few parameters, of which a statement has room for 32,767", () => {
    const countOf = (where: FilterTree): number =>
      countStatement({ model, where, bindings, cap: null }, "public").sources.length
    const words: readonly FilterTree[] = Array.from({ length: 1_000 }, (_, i) => ({
      op: "search",
      fields: Array.from({ length: 40 }, () => f("note")),
      text: `word ${i}`
    }))
    expect(countOf(allOf(words))).toBe(1_000)
    const values = Array.from({ length: 5_000 }, (_, i) => ({ of: "literal", text: `${i} ` }) as const)
    expect(countOf({ op: "in", field: f("note"), values })).toBeLessThanOrEqual(3)
    expect(countOf({ op: "in", field: f("note"), values: [...values, { of: "literal", text: "x" }] }))
      .toBeLessThanOrEqual(3)
  })

  it("as many statements of one order as are in use, whichever cells of a position are null", () => {
    const names = Array.from({ length: 8 }, (_, i) => `f${i}`)
    const wide = makeModel({
      name: "wide",
      fields: [
        { name: "id", kind: "integer" },
        ...names.map((name) => ({ name, kind: "text", optional: true }) as const)
      ]
    })
    const order = [...names, "id"].map((name) => ({ field: wide.byName.get(name)!, descending: false }))
    const shape = shapeOf({ model: wide, columns: wide.fields, order })
    const after = (nulls: number): readonly (string | null)[] => [
      ...names.map((_, i) => (nulls >> i) % 2 === 1 ? null : "x"),
      "1"
    ]
    const statements = Array.from(
      { length: 256 },
      (_, nulls) => pageStatement({ shape, bindings, after: after(nulls) }, "public")
    )
    expect(pageStatement({ shape, bindings, after: after(255) }, "public")).toBe(statements[255])
    const first = pageStatement({ shape, bindings, after: after(0) }, "public")
    expect(first).not.toBe(statements[0])
    expect(first).toEqual(statements[0])
  })

  it("an update with a touch", () => {
    const statement = updateStatement(
      model,
      [f("note"), f("status")],
      { of: "timestamp", microseconds: 1000 },
      false,
      { columns: [f("id")], checks: [tenant], must: null },
      "public"
    )
    expect(statement.sql).toBe(
      `update ${table} set "note" = $3, "status" = $4,` +
        ` "updated_at" = greatest(clock_timestamp(), nullif(t."updated_at", 'infinity') + interval '1000 microseconds')` +
        ` where t."id" = $1 returning t."id"::text, ((t."tenant_id" = $2) is true)::text`
    )
    expect(bind(statement, { ...values, given: ["1", null, "paid"] })).toEqual(["1", "7", null, "paid"])
  })

  it("an update whose step is another one, since the column is", () => {
    const answer = { columns: [f("id")], checks: [], must: null }
    const sqlOf = (step: VersionStep) => updateStatement(model, [f("note")], step, false, answer, "public").sql
    expect(sqlOf({ of: "timestamp", microseconds: 1 })).toContain("interval '1 microseconds'")
    expect(sqlOf({ of: "timestamp", microseconds: 1_000_000 })).toContain("interval '1000000 microseconds'")
  })

  it("an update that stands alone: of the version that was read, and of no row that a rule refuses", () => {
    const answer = { columns: [f("id")], checks: [], must: tenant }
    const statement = updateStatement(model, [f("note")], null, true, answer, "public")
    expect(statement.sql).toBe(
      `update ${table} set "note" = $4 where t."id" = $1 and t.xmin = $2::xid returning t."id"::text,` +
        ` case when ((t."tenant_id" = $3) is true) then null` +
        ` else ('an access rule refuses the row' || coalesce(left(t."id"::text, 0), ''))::integer end::text`
    )
    expect(bind(statement, { ...values, given: ["1", "n", "4711"] })).toEqual(["1", "4711", "7", "n"])
    expect(statement.stable).toBe(true)
    expect(updateStatement(model, [f("note")], null, true, { ...answer, checks: [] }, "public")).toBe(statement)
  })

  it("texts", () => {
    expect(quoted("it's")).toBe("'it''s'")
    expect(quoted("a\\'b")).toBe("E'a\\\\''b'")
    expect(arrayLiteral(["a\"b\\c", null, "", "NULL", "{,}"])).toBe(`{"a\\"b\\\\c",NULL,"","NULL","{,}"}`)
  })

  it.each([
    ["2026-01-01 00:00:00+00", "2026-01-01T00:00:00Z"],
    ["2026-01-01 12:34:56.123456+00", "2026-01-01T12:34:56.123456Z"],
    ["2026-01-01 12:34:56.1", "2026-01-01T12:34:56.1Z"],
    ["10000-01-01 00:00:00+00", "10000-01-01T00:00:00Z"],
    ["0044-03-15 00:00:00+00 BC", "0044-03-15T00:00:00Z BC"],
    ["0044-03-15 00:00:00.5 BC", "0044-03-15T00:00:00.5Z BC"],
    ["infinity", "infinity"],
    ["-infinity", "-infinity"]
  ])("the timestamp %s", (text, cell) => {
    expect(timestampFromText(text)).toBe(cell)
  })
})

describe("the planner's judgement", () => {
  const node = (type: string, parts: Partial<PlanNode> = {}): PlanNode => ({
    "Node Type": type,
    "Startup Cost": 0,
    "Total Cost": 1000,
    "Plan Rows": 500,
    ...parts
  })
  const scan = (parts: Partial<PlanNode> = {}) => node("Seq Scan", { Schema: "s", "Relation Name": "r", ...parts })
  const limit = (child: PlanNode) => node("Limit", { "Total Cost": 10, Plans: [child] })
  const shares = (root: PlanNode) => wholeScans(root).map((found) => found.share)

  it("takes a LIMIT into account, unless everything below it is read first", () => {
    expect(shares(scan())).toEqual([1])
    expect(shares(limit(scan()))).toEqual([0.01])
    expect(shares(limit(node("Sort", { "Startup Cost": 1000, "Total Cost": 1001, Plans: [scan()] })))).toEqual([1])
    expect(shares(limit(node("Hash Join", { Plans: [scan(), node("Hash", { Plans: [scan()] })] })))).toEqual([0.01, 1])
  })

  it("knows whole scans through an index, in subplans, and in parallel", () => {
    const index = { Schema: "s", "Relation Name": "r" }
    expect(shares(node("Index Scan", { ...index, Filter: "(a = 1)" }))).toEqual([1])
    expect(shares(node("Index Scan", { ...index, Filter: "(a = 1)", "Index Cond": "(b = 1)" }))).toEqual([])
    expect(shares(node("Index Only Scan", index))).toEqual([])
    expect(
      shares(node("Bitmap Heap Scan", { ...index, Plans: [node("Bitmap Index Scan", { "Index Cond": "(b = 1)" })] }))
    ).toEqual([])
    expect(shares(node("Index Scan", { ...index, "Index Cond": "(b = 1)", Plans: [scan()] }))).toEqual([1])
    expect(shares(node("Gather", { "Workers Planned": 2, Plans: [scan()] }))).toEqual([1])
  })

  it("puts partitions of one table into one group", () => {
    const append = node("Append", { Plans: [scan(), scan({ "Relation Name": "r2" })] })
    expect(new Set(wholeScans(append).map((found) => found.group)).size).toBe(1)
    const join = node("Nested Loop", { Plans: [scan(), scan({ "Relation Name": "r2" })] })
    expect(new Set(wholeScans(join).map((found) => found.group)).size).toBe(2)
  })

  it("finds the rows that pass below what cuts, sorts and groups", () => {
    expect(passingRows(limit(node("Sort", { Plans: [scan({ "Plan Rows": 77 })] })))).toBe(77)
    expect(
      passingRows(
        node("Aggregate", { Plans: [node("Gather", { "Workers Planned": 2, Plans: [scan({ "Plan Rows": 10 })] })] })
      )
    ).toBe(30)
  })
})
