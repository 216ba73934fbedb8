import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeFacts } from "../../adapters/postgres/facts.ts"
import { openDatabase, type TestDatabase } from "../../test/support/postgres.ts"
import { withPostgres } from "../startup.ts"
import { readViewQuery } from "./query-tree.ts"
import { same, viewKeys } from "./table-key.ts"
import { traceViews, withForeignKeys } from "./trace.ts"

it.each(["", "(", ")))", "({QUERY :targetList", "<>", "{OTHER :x 1}", "({QUERY :rtable <> :targetList <>})", "\\"])(
  "reads nothing wrong out of %j",
  (tree) => {
    expect([null, 0]).toContain(readViewQuery(tree)?.columns.size ?? null)
  }
)

it("reads conditions of any depth", () => {
  const deep = `${"{BOOLEXPR :args (".repeat(50_000)}${")}".repeat(50_000)}`
  const tree =
    `({QUERY :jointree {FROMEXPR :fromlist <> :quals ${deep}} :targetList ({TARGETENTRY :resname a :resorigtbl 5 :resorigcol 1})})`
  expect([...readViewQuery(tree)!.columns]).toEqual([["a", { table: "5", column: 1 }]])
})

describe("views of a database", () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openDatabase()
    await database.execute(`
      create table customers (id int primary key, name text, "Odd (name)" text unique);
      create table orders (number int primary key, customer_id int references customers, seller int references customers, total numeric);
      create table lines (order_number int references orders, place int, product text, primary key (order_number, place));
      create view plain as select number as n, total, customer_id as buyer from orders where total > 0;
      create view outer_join as select c.name, o.number, o.seller from customers c right join orders o on o.customer_id = c.id;
      create view driven as select o.number, c.id as customer, c.name from orders o join customers c on c.id = o.customer_id;
      create view listed as select l.order_number as o, l.place as p, c.name from lines l, orders o, customers c
        where o.number = l.order_number and c.id = o.customer_id;
      create view totals as select customer_id as who, sum(total) as total from orders group by customer_id;
      create view months as select extract(year from now())::int as y, count(*) as n from orders group by 1;
      create view hidden_group as select sum(total) as total from orders group by customer_id;
      create view uniq as select distinct product from lines;
      create view stacked as select n as number, buyer from plain where total < 10;
      create view nested as select s.k as key from (select number as k from orders) s;
      create view "both" as select number from orders union all select id from customers;
      create view "Odd (view)" as select "Odd (name)" as "a b", id from customers;
      create materialized view kept as select customer_id, seller, count(*) as n from orders group by 1, 2;
      create unique index on kept (n);
    `)
  })
  afterAll(() => database.drop())

  const read = () =>
    withPostgres({ url: database.url, readConnections: 1 }, (postgres) =>
      Effect.gen(function*() {
        const facts = makeFacts(postgres)
        return { tables: yield* facts.all(["public"]), traced: traceViews(yield* facts.trees()) }
      }))

  it("proposes keys, the likeliest first", async () => {
    const { tables, traced } = await read()
    const keys = Object.fromEntries(
      tables.filter(({ kind }) => kind.endsWith("view")).map((view) => [
        view.name,
        viewKeys(view, tables, traced.find((each) => same(view, each)) ?? null)
      ])
    )
    expect(keys).toEqual({
      plain: [["n"]],
      outer_join: [["number"]],
      driven: [["number"], ["customer"]],
      listed: [["o", "p"]],
      totals: [["who"]],
      months: [["y"]],
      hidden_group: [],
      uniq: [["product"]],
      stacked: [["number"]],
      nested: [["key"]],
      both: [["number"]],
      "Odd (view)": [["id"]],
      kept: [["n"], ["customer_id", "seller"]]
    })
  })

  it("gives columns the foreign keys of their tables", async () => {
    const { tables, traced } = await read()
    const keysOf = (name: string) =>
      withForeignKeys(
        tables.find((table) => table.name === name)!,
        traced.find((each) => each.table === name)!,
        tables
      ).foreignKeys.map(({ columns, target }) => [...columns, target.table])
    expect(keysOf("plain")).toEqual([["buyer", "customers"]])
    expect(keysOf("stacked")).toEqual([["buyer", "customers"]])
    expect(keysOf("listed")).toEqual([["o", "orders"]])
    expect(keysOf("totals")).toEqual([["who", "customers"]])
    expect(keysOf("kept")).toEqual([["customer_id", "customers"], ["seller", "customers"]])
    expect(keysOf("months")).toEqual([])
    expect(traced.find((each) => each.table === "Odd (view)")!.columns.get("a b")).toEqual({
      schema: "public",
      table: "customers",
      column: "Odd (name)"
    })
  })
})
