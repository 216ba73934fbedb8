// A deep page costs what the first one costs, skipping walks the index alone, and the planner's judgement is read right: on 100,000 rows, by the blocks that
// statements touch.
import { expect, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { pageStatement } from "../../adapters/postgres/compile-page.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { bind } from "../../adapters/postgres/sql.ts"
import { always } from "../../core/domain/filter/tree.ts"
import type { Bindings, FilterTree } from "../../core/domain/filter/tree.ts"
import type { Field } from "../../core/domain/model/model.ts"
import type { PagePlan, PageShape } from "../../core/domain/read/plan.ts"
import type { RecordsService } from "../../core/ports/records.ts"
import { Connection, connectionLayer, execute, live } from "../support/layers.ts"
import { makeModel } from "../support/model.ts"

const rowCount = 100_000

const model = makeModel({
  name: "orders",
  tenant: "tenant_id",
  fields: [
    { name: "id", kind: "integer" },
    { name: "tenant_id", kind: "integer", bits: 32 },
    { name: "status", kind: "enum", values: ["draft", "paid", "lost"] },
    { name: "total", kind: "decimal", precision: 12, scale: 2 },
    { name: "note", kind: "text", optional: true },
    { name: "due", kind: "timestamp", optional: true },
    { name: "created", kind: "timestamp" }
  ]
})
const f = (name: string): Field => model.byName.get(name)!
const equals = (name: string, text: string): FilterTree => ({
  op: "compare",
  field: f(name),
  is: "=",
  value: { of: "literal", text }
})

const schema = `
create table orders (id bigint primary key, tenant_id integer not null, status text not null, total numeric(12, 2) not null, note text,
  due timestamptz, created timestamptz not null);
insert into orders select i, i % 7, (array['draft', 'paid', 'lost'])[1 + i % 3], (i * 37 % 100000) / 100.0,
  case when i % 5 > 0 then md5(i::text) end,
  case when i % 11 > 2 then timestamptz '2026-01-01' + (i * 13 % 99991) * interval '1 minute' end,
  timestamptz '2026-01-01' + i / 3 * interval '17.123457 seconds'
from generate_series(1, ${rowCount}) i;
create index on orders (created, id);
create index on orders (tenant_id, created, id);
create index on orders (due, id);
create index on orders (status, created desc, id desc);
create index on orders (due desc, id);
create index on orders using gin (note gin_trgm_ops);
`

interface Explained {
  readonly "Shared Hit Blocks": number
  readonly "Shared Read Blocks": number
}

class Records extends Context.Service<Records, RecordsService>()("test/postgres/pages/Records") {}

const bigTable = Layer.effect(Records, Effect.map(Connection, makeRecords)).pipe(
  Layer.provideMerge(Layer.effectDiscard(execute("vacuum analyze orders"))),
  Layer.provideMerge(connectionLayer(schema))
)

layer(bigTable, live)("pages of a big table", (it) => {
  const bindings: Bindings = { caller: { id: "u1", tenant: "3" }, now: 0n, params: [] }

  const shapeOf = (order: readonly string[], parts: Partial<PageShape> = {}): PageShape => ({
    model,
    columns: model.columns,
    where: always,
    order: order.map((name) =>
      name.startsWith("-") ? { field: f(name.slice(1)), descending: true } : { field: f(name), descending: false }
    ),
    limit: 51,
    checks: [],
    ...parts
  })

  /** Blocks that a page touches when it runs. */
  const blocksOf = Effect.fnUntraced(function*(plan: PagePlan) {
    const statement = pageStatement(plan, "public")
    const values = { bindings: plan.bindings, given: plan.after ?? plan.before ?? [], offset: plan.offset ?? 0 }
    const postgres = yield* Connection
    const explain = `explain (analyze, buffers, format json) ${statement.sql}`
    const rows = yield* postgres.read(explain, bind(statement, values), { prepare: false })
    const cell: unknown = rows[0]![0]
    const [{ Plan: plan_ }] = (typeof cell === "string" ? JSON.parse(cell) : cell) as readonly [
      { readonly Plan: Explained }
    ]
    return plan_["Shared Hit Blocks"] + plan_["Shared Read Blocks"]
  })

  const positionAt = Effect.fnUntraced(function*(shape: PageShape, offset: number) {
    const [row] = yield* (yield* Records).page({ shape: { ...shape, limit: 1 }, bindings, offset })
    return shape.order.map(({ field }) => row![field.index]!)
  })

  const orders = [
    ["id"],
    ["-created", "-id"],
    ["due", "id"],
    ["-due", "-id"],
    ["-due", "id"],
    ["status", "-created", "-id"]
  ]

  it.effect.each(orders.map((order) => [order.join(", "), order] as const))(
    "ordered by %s",
    ([, order]) =>
      Effect.gen(function*() {
        const shape = shapeOf(order)
        // 51 rows lie in as many blocks at most, twice over where two branches meet, and an index has few levels; walking past rows would show at once.
        const most = 150
        expect(yield* blocksOf({ shape, bindings })).toBeLessThan(most)
        // Near the end, in the middle, and where nulls begin: 3 of 11 rows have no due date.
        for (
          const at of [rowCount - 200, 50_000, Math.floor(rowCount * 8 / 11) - 20, Math.floor(rowCount * 3 / 11) - 20]
        ) {
          const position = yield* positionAt(shape, at)
          expect(yield* blocksOf({ shape, bindings, after: position }), `after row ${at}`).toBeLessThan(most)
          expect(yield* blocksOf({ shape, bindings, before: position }), `before row ${at}`).toBeLessThan(most)
        }
      })
  )

  it.effect("skips rows in the index alone", () =>
    Effect.gen(function*() {
      // The index has about 3 blocks for each 1,000 rows; reading the rows themselves would be ten times that.
      const shape = shapeOf(["created", "id"])
      expect(yield* blocksOf({ shape: { ...shape, model: { ...model, tenant: null } }, bindings, offset: 90_000 }))
        .toBeLessThan(1_000)
      // Rows are told apart by their tenant as well, which an index that serves tenants has in it.
      const own = shapeOf(["created", "id"], { where: equals("tenant_id", "3") })
      expect(yield* blocksOf({ shape: own, bindings, offset: 13_000 })).toBeLessThan(400)
    }))

  const estimate = (where: FilterTree, order: readonly string[] | null) =>
    Effect.flatMap(Records, (records) =>
      records.estimate(
        order === null ? { model, where, bindings, cap: null } : { shape: shapeOf(order, { where }), bindings }
      ))
  it.effect("tells scans of the whole table from those that an index serves or a limit ends", () =>
    Effect.gen(function*() {
      const rare = equals("total", "-1.00")
      expect((yield* estimate(rare, ["id"])).scannedRows).toBeGreaterThan(rowCount * 0.9)
      expect((yield* estimate(rare, null)).scannedRows).toBeGreaterThan(rowCount * 0.9)
      expect((yield* estimate(always, null)).cost).toBeGreaterThan(1_000)
      const common = yield* estimate(equals("tenant_id", "3"), ["id"])
      expect(common.scannedRows).toBeLessThan(2_000)
      expect(common.rows).toBeGreaterThan(rowCount / 14)
      expect(common.rows).toBeLessThan(rowCount / 3)
      expect((yield* estimate(equals("id", "77"), ["id"])).scannedRows).toBe(0)
      expect((yield* estimate(equals("status", "paid"), ["status", "-created", "-id"])).scannedRows).toBe(0)
      expect((yield* estimate({ op: "contains", field: f("note"), text: "C4CA4238A0" }, null)).scannedRows).toBe(0)
      expect(
        (yield* estimate({ op: "similar", field: f("note"), text: "c4ca4238a0b923820dcc509a6f75849b" }, null))
          .scannedRows
      ).toBe(0)
      expect((yield* estimate({ op: "contains", field: f("note"), text: "zz" }, null)).scannedRows).toBeGreaterThan(
        rowCount * 0.9
      )
    }))

  it.effect("judges an aggregate like the rows it covers", () =>
    Effect.gen(function*() {
      const facets = yield* (yield* Records).estimate({
        of: "facets",
        model,
        field: f("status"),
        where: equals("total", "-1.00"),
        limit: 5,
        bindings
      })
      expect(facets.scannedRows).toBeGreaterThan(rowCount * 0.9)
    }))
})
