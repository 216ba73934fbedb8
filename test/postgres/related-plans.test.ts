// Conditions about related records are planned as joins, never as a subquery for each row, and the estimate of their pages says what they cost when nothing
// ends them early: on 20,000 orders with 60,000 lines.
import { expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { conditionSql } from "../../adapters/postgres/compile-filter.ts"
import { type PlanNode, wholeScans } from "../../adapters/postgres/estimate.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { bind, valuesOf, Writer } from "../../adapters/postgres/sql.ts"
import type { Bindings, FilterTree, Way } from "../../core/domain/filter/tree.ts"
import { allOf, always, anyOf, not } from "../../core/domain/filter/tree.ts"
import type { Model } from "../../core/domain/model/model.ts"
import { isExpensiveRelated, isHasty } from "../../core/domain/read/guard.ts"
import { Connection, connectionLayer, live } from "../support/layers.ts"
import { makeModel } from "../support/model.ts"

const relation = (name: string, target: string, many: boolean, from: string, to: string) => ({
  name,
  target,
  many,
  from,
  to
})
const orders = makeModel({
  name: "orders",
  fields: [{ name: "id", kind: "integer" }, { name: "customer_id", kind: "integer", optional: true }, { name: "note" }],
  relations: [
    relation("customer", "customers", false, "customer_id", "id"),
    relation("lines", "lines", true, "id", "order_id")
  ]
})
const customers = makeModel({
  name: "customers",
  fields: [{ name: "id", kind: "integer" }, { name: "name" }, { name: "country" }],
  relations: [relation("orders", "orders", true, "id", "customer_id")]
})
const lines = makeModel({
  name: "lines",
  fields: [{ name: "id", kind: "integer" }, { name: "order_id", kind: "integer" }, {
    name: "quantity",
    kind: "integer"
  }],
  relations: [relation("order", "orders", false, "order_id", "id")]
})

const schema = `
create table customers (id bigint primary key, name text not null, country text not null);
create table orders (id bigint primary key, customer_id bigint, note text not null);
create table lines (id bigint primary key, order_id bigint not null, quantity bigint not null);
insert into customers select i, 'c' || i, (array['DE', 'NO', 'FR'])[1 + i % 3] from generate_series(1, 1000) i;
insert into orders select i, case when i % 7 > 0 then i % 1000 end, 'n' || i from generate_series(1, 20000) i;
insert into lines select i, i / 3, i % 100 from generate_series(3, 60002) i;
create index on orders (customer_id);
create index on lines (order_id);
analyze customers; analyze orders; analyze lines;
`

const wayOf = (from: Model, name: string, model: Model): Way => {
  const relation = from.relations.get(name)!
  return { relation, model, to: model.byName.get(relation.to)!, rows: always }
}
const some = (way: Way, item: FilterTree = always): FilterTree => ({ op: "some", way, item })
const is = (model: Model, name: string, text: string, is: "=" | ">" | "<" = "="): FilterTree => ({
  op: "compare",
  field: model.byName.get(name)!,
  is,
  value: { of: "literal", text }
})
const customer = wayOf(orders, "customer", customers)
const line = wayOf(orders, "lines", lines)
const placed = wayOf(customers, "orders", orders)
const over = (quantity: string) => some(line, is(lines, "quantity", quantity, ">"))

const joined: ReadonlyArray<readonly [what: string, model: Model, tree: FilterTree]> = [
  ["a record that is pointed at", orders, some(customer, is(customers, "country", "DE"))],
  ["none such", orders, not(some(customer, is(customers, "country", "DE")))],
  ["some of several", orders, over("90")],
  ["none of several", orders, not(over("90"))],
  ["there is one, and a condition of its own", orders, allOf([is(orders, "note", "n7"), some(line)])],
  ["there is none by number", orders, { op: "count", way: line, item: always, is: "=", number: 0 }],
  ["one of two", orders, anyOf([over("98"), some(line, is(lines, "quantity", "1"))])],
  ["not both", orders, not(anyOf([over("98"), some(customer, is(customers, "country", "DE"))]))],
  [
    "three relations",
    customers,
    some(placed, some(line, some(wayOf(lines, "order", orders), is(orders, "note", "n7"))))
  ],
  ["one without", customers, some(placed, not(some(line)))]
]

layer(connectionLayer(schema), live)("conditions about related records", (it) => {
  const bindings: Bindings = { caller: { id: "u", tenant: null }, now: 0n, params: [] }

  it.effect.each(joined)("are joins: %s", ([, model, tree]) =>
    Effect.gen(function*() {
      const postgres = yield* Connection
      const writer = new Writer()
      const statement = writer.finish(`select t.id from ${model.table} t where ${conditionSql(tree, "t", writer)}`)
      const plan = yield* postgres.read(`explain ${statement.sql}`, bind(statement, valuesOf(bindings)), {
        prepare: false
      })
      const text = plan.map(([row]) => row).join("\n")
      expect(text).toMatch(/Join|Nested Loop/)
      expect(text).not.toMatch(/SubPlan/)
    }))

  it.effect("are planned for their values", () =>
    Effect.sync(() => {
      const stable = (tree: FilterTree) => {
        const writer = new Writer()
        conditionSql(tree, "t", writer)
        return writer.stable
      }
      const tenant: FilterTree = {
        ...is(lines, "order_id", "1"),
        value: { of: "caller", value: "tenant" }
      } as FilterTree
      expect([stable(some(line)), stable(over("1")), stable(some({ ...line, rows: tenant }))]).toEqual([
        true,
        false,
        false
      ])
    }))

  const estimated = (where: FilterTree, page: boolean) =>
    Effect.flatMap(Connection, (postgres) =>
      makeRecords(postgres).estimate(
        page
          ? {
            shape: {
              model: orders,
              columns: orders.columns,
              where,
              order: [{ field: orders.key[0]!, descending: true }],
              limit: 51,
              checks: []
            },
            bindings
          }
          : { model: orders, where, bindings, cap: null }
      ))

  it.effect("cost what they cost when nothing ends them early", () =>
    Effect.gen(function*() {
      const rows = 2_000
      const common = some(customer, is(customers, "country", "DE"))
      const none = not(some(line))
      const many: FilterTree = { op: "count", way: line, item: always, is: ">", number: 5 }
      for (const where of [common, none, many]) {
        const estimate = yield* estimated(where, true)
        expect(estimate.through).toBeGreaterThanOrEqual(estimate.cost)
        expect(isHasty(estimate, rows)).toBe(true)
      }
      expect(isHasty(yield* estimated(is(orders, "id", "7"), true), rows)).toBe(false)
      // For each order its lines are counted: no scan says what that costs.
      const counted = yield* estimated(many, false)
      expect(isExpensiveRelated({ ...counted, scannedRows: 0 }, rows)).toBe(true)
    }))

  it.effect("beside one of the record itself under an OR have a plan of their own where all rows are found first", () =>
    Effect.gen(function*() {
      const records = makeRecords(yield* Connection)
      const where = anyOf([is(orders, "id", "9"), some(customer, is(customers, "name", "c7")), over("98")])
      const order = [{ field: orders.key[0]!, descending: true }]
      const shape = { model: orders, columns: [orders.key[0]!], where, order, limit: 30, checks: [] }
      const walked = yield* records.page({ shape, bindings })
      expect(walked).toHaveLength(30)
      expect(yield* records.page({ shape, bindings, whole: true })).toEqual(walked)
      const after = walked[9]!
      const later = { shape: { ...shape, limit: 20 }, bindings, after, whole: true }
      expect(yield* records.page(later)).toEqual(walked.slice(10))
      // Both are found by their indexes, where one statement for both reads all orders.
      const rare = anyOf([is(orders, "id", "9"), some(customer, is(customers, "id", "7"))])
      const { cost } = yield* records.estimate({ shape: { ...shape, where: rare }, bindings, whole: true })
      const { cost: read } = yield* records.estimate({ model: orders, where: always, bindings, cap: null })
      expect(cost).toBeLessThan(read / 2)
    }))

  it.effect("count as scans where a join reads a whole index", () =>
    Effect.gen(function*() {
      const postgres = yield* Connection
      const settings = {
        enable_seqscan: "off",
        enable_hashjoin: "off",
        enable_nestloop: "off",
        enable_bitmapscan: "off"
      }
      const plan = yield* postgres.read(
        "explain (format json, verbose) select t.id from orders t where exists (select from lines l where l.order_id = t.id)",
        [],
        { prepare: false, settings }
      )
      const cell: unknown = plan[0]![0]
      const [{ Plan: root }] = (typeof cell === "string" ? JSON.parse(cell) : cell) as readonly [
        { readonly Plan: PlanNode }
      ]
      expect(new Map(wholeScans(root).map(({ share, table }) => [table, share]))).toEqual(
        new Map([["lines", 1], ["orders", 1]])
      )
    }))
})
