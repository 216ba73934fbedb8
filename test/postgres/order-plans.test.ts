// A page in an order through a relation costs what its rows cost, first or deep, up or down: on 60,000 orders of 6,000 customers, by the blocks that statements
// touch. What has no index is told by the estimate.
import { expect, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { pageStatement } from "../../adapters/postgres/compile-page.ts"
import { type Pledges, pledgesOf } from "../../adapters/postgres/pledges.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { bind } from "../../adapters/postgres/sql.ts"
import type { Bindings, FilterTree, OrderKey, Way } from "../../core/domain/filter/tree.ts"
import { always } from "../../core/domain/filter/tree.ts"
import type { Model } from "../../core/domain/model/model.ts"
import { isExpensive } from "../../core/domain/read/guard.ts"
import type { PagePlan, PageShape } from "../../core/domain/read/plan.ts"
import type { Cell } from "../../core/domain/value/kind.ts"
import type { RecordsService } from "../../core/ports/records.ts"
import { Connection, connectionLayer, execute, live } from "../support/layers.ts"
import { makeModel } from "../support/model.ts"

const customers = makeModel({
  name: "customers",
  fields: [
    { name: "id", kind: "integer" },
    { name: "name" },
    { name: "email" },
    { name: "gone_at", kind: "timestamp", optional: true }
  ]
})
const relation = (name: string, from: string) => ({ name, target: "customers", many: false, from, to: "id" })
const orders = makeModel({
  name: "orders",
  fields: [
    { name: "id", kind: "integer" },
    { name: "sure_id", kind: "integer" },
    { name: "loose_id", kind: "integer", optional: true },
    { name: "note" }
  ],
  relations: [relation("sure", "sure_id"), relation("loose", "loose_id")]
})

const schema = `
create table customers (id bigint primary key, name text not null, email text not null, gone_at timestamptz);
create table orders (id bigint primary key, sure_id bigint not null references customers, loose_id bigint, note text not null);
insert into customers select i, md5(i::text), md5((i + 1)::text), case when i % 1500 = 0 then now() end from generate_series(1, 6000) i;
insert into orders select i, 1 + i * 7919 % 6000, case when i % 100 > 0 then 1 + i * 7919 % 6001 end, md5(i::text) from generate_series(1, 60000) i;
create index on customers (name, id);
create index on customers (gone_at) where gone_at is not null;
create index on orders (sure_id);
create index on orders (loose_id);
`

class Records extends Context.Service<Records, RecordsService>()("test/postgres/order-plans/Records") {}

const tables = Layer.effect(Records, Effect.map(Connection, makeRecords)).pipe(
  Layer.provideMerge(Layer.effectDiscard(execute("vacuum analyze customers, orders"))),
  Layer.provideMerge(connectionLayer(schema))
)

const field = (model: Model, name: string) => model.byName.get(name)!
const notGone: FilterTree = { op: "null", field: field(customers, "gone_at") }
const wayOf = (name: string, rows: FilterTree): Way => {
  const found = orders.relations.get(name)!
  return { relation: found, model: customers, to: field(customers, "id"), rows }
}
const orderBy = (
  name: "sure" | "loose",
  column: string,
  descending: boolean,
  rows: FilterTree = always
): readonly OrderKey[] => [
  { field: field(customers, column), descending, ways: [wayOf(name, rows)] },
  { field: field(orders, "id"), descending }
]

interface Explained {
  readonly "Shared Hit Blocks": number
  readonly "Shared Read Blocks": number
}

layer(tables, live)("pages in an order through a relation", (it) => {
  const bindings: Bindings = { caller: { id: "u", tenant: null }, now: 0n, params: [] }
  const shapeOf = (order: readonly OrderKey[]): PageShape => ({
    model: orders,
    columns: orders.columns,
    where: always,
    order,
    limit: 51,
    checks: []
  })
  const known: Pledges = new WeakMap()
  const blocksOf = Effect.fnUntraced(function*(plan: PagePlan) {
    const postgres = yield* Connection
    const pledges = yield* pledgesOf(plan.shape, known, (sql) => postgres.read(sql, [], { prepare: false }))
    const statement = pageStatement(plan, "public", pledges)
    const values = { bindings: plan.bindings, given: plan.after ?? plan.before ?? [], offset: 0 }
    const explain = `explain (analyze, buffers, format json) ${statement.sql}`
    const rows = yield* postgres.read(explain, bind(statement, values), { prepare: false })
    const cell: unknown = rows[0]![0]
    const [{ Plan: root }] = (typeof cell === "string" ? JSON.parse(cell) : cell) as readonly [
      { readonly Plan: Explained }
    ]
    return root["Shared Hit Blocks"] + root["Shared Read Blocks"]
  })
  /** The position after so many rows with a value. */
  const positionAt = Effect.fnUntraced(function*(shape: PageShape, offset: number) {
    const [row] = yield* (yield* Records).page({ shape: { ...shape, limit: 1 }, bindings, offset })
    return [row!.at(-1)!, row![0]!] as readonly Cell[]
  })

  it.effect.each(
    [
      ["sure up", orderBy("sure", "name", false)],
      ["sure down", orderBy("sure", "name", true)],
      ["sure and seen, up", orderBy("sure", "name", false, notGone)],
      ["sure and seen, down", orderBy("sure", "name", true, notGone)],
      ["loose up", orderBy("loose", "name", false)]
    ] as const
  )("cost the same at the beginning and deep: %s", ([, order]) =>
    Effect.gen(function*() {
      const shape = shapeOf(order)
      const first = yield* blocksOf({ shape, bindings })
      const after = yield* positionAt(shape, 40_000)
      const deep = yield* blocksOf({ shape, bindings, after })
      const back = yield* blocksOf({ shape, bindings, before: after })
      for (const blocks of [first, deep, back]) expect(blocks).toBeLessThan(250)
    }))

  it.effect("are judged by the rows with a value: an order without an index reads the target from end to end", () =>
    Effect.gen(function*() {
      const records = yield* Records
      const judged = (order: readonly OrderKey[]) => records.estimate({ shape: shapeOf(order), bindings })
      for (
        const order of [orderBy("sure", "name", true), orderBy("loose", "name", true), orderBy("loose", "name", false)]
      ) {
        const estimate = yield* judged(order)
        expect(isExpensive(estimate, 1_000)).toBe(false)
      }
      const estimate = yield* judged(orderBy("sure", "email", false))
      expect(isExpensive(estimate, 1_000)).toBe(true)
    }))
})
