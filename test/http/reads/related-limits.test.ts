// Conditions through relations where a search depends on the role, where nothing gives the read little time, and beside patterns.
import { expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import type { OptionsDeclaration } from "../../../core/domain/declare/config.ts"
import { f, relation } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { defineRoles } from "../../../core/domain/declare/roles.ts"
import { at, pluck } from "../../support/answer.ts"
import type { Answer, Fixture, TestCaller } from "../../support/composed.ts"
import { on, onBoth } from "../writes/scenes.ts"

const people = defineResource("people", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable(),
    name: f.text().searched().filterable(),
    secret: f.text().searched().filterable()
  },
  access: { fields: { secret: { read: ["admin"] } } }
})
const orders = defineResource("orders", {
  primaryKey: "id",
  version: "rev",
  fields: { id: f.integer().filterable(), person_id: relation(people), note: f.text().optional(), rev: f.integer() }
})
const lines = defineResource("lines", {
  primaryKey: "id",
  fields: { id: f.integer(), order_id: relation(orders), sku: f.text().filterable() }
})

const fixture = (options: OptionsDeclaration, schema = "create table lines", more = ""): Fixture => ({
  config: defineConfig({
    resources: [people, orders, lines],
    roles: defineRoles({ admin: ["*"], clerk: ["people.read", "orders.*", "lines.read"] }),
    options
  }),
  schema: `
    create table people (id integer primary key, name text not null, secret text not null);
    create table orders (id integer primary key, person_id integer not null, note text, rev integer not null default 1);
    ${schema} (id integer primary key, order_id integer not null, sku text not null);
    ${more}
  `,
  rows: {
    people: [{ id: 1, name: "Ann", secret: "sesame" }, { id: 2, name: "Bob", secret: "none" }],
    orders: [1, 2, 3, 4].map((id) => ({ id, person_id: id === 4 ? 2 : 1, rev: 1 }))
  }
})

const admin: TestCaller = { id: "u", roles: ["admin"], tenant: "1" }
const clerk: TestCaller = { ...admin, roles: ["clerk"] }
const slugOf = ({ json }: Answer) => (json["type"] as unknown as string | undefined)?.split(":").at(-1)

onBoth("a search through a relation", () => fixture({}), (use) => {
  it("counts for each of a user's roles what that role may search", async () => {
    for (const filter of ["has(person, 'sesame')", "NOT has(person, 'sesame')"]) {
      const sizes: unknown[] = []
      for (const who of [admin, clerk, admin]) {
        const answer = await use().get(who, at("orders", { filter, page_size: 1 }))
        sizes.push(answer.json["total_size_estimate"])
      }
      expect(sizes).toEqual(filter.startsWith("NOT") ? [1, 4, 1] : [3, 0, 3])
    }
  })
})

const many = `insert into lines select i, i / 3, 'sku ' || i from generate_series(3, 9000) i;`

on(
  "postgres",
  "a read through a relation without a time of its own",
  () => fixture({ scanGuard: { seqScanRows: 10, aggregateRows: 100 } }, undefined, many),
  (use) => {
    const filter = "lines.sku : 0"
    it("is refused where a change by filter would look at too many records", async () => {
      const path = "/api/v1/orders"
      const query = `?filter=${encodeURIComponent(filter)}&dry_run=true`
      for (const method of ["PATCH", "DELETE"]) {
        const answer = await use().call(
          clerk,
          method,
          `${path}${query}`,
          method === "PATCH" ? { body: { note: "x" } } : {}
        )
        expect(slugOf(answer), answer.text).toBe("expensive-query")
      }
    })

    it("is refused where related records are read for a page", async () => {
      const answer = await use().get(clerk, at("people", { expand: `orders(filter: "${filter}")` }))
      expect(slugOf(answer), answer.text).toBe("expensive-query")
    })
  }
)

/** Lines that take long to walk and no time to find by their text. */
const slowly = `
  create function slowly(value integer) returns integer language plpgsql as
    $$ begin perform pg_sleep(case when value < 0 then 0 else 600 end); return value; end $$;
  insert into stored values (1, 1, 'abc');
  create view lines as select id, slowly(order_id) as order_id, sku from stored;
`

on(
  "postgres",
  "a page through slow relations",
  () => fixture({ statementTimeoutMs: 700, scanGuard: { seqScanRows: 10 } }, "create table stored", slowly),
  (use) => {
    it("does not blame a pattern", async () => {
      const filter = "regex(lines.sku, '^a')"
      const answer = await use().get(clerk, at("orders", { filter }))
      expect(slugOf(answer), answer.text).toBe("expensive-query")
      expect(pluck(await use().get(clerk, at("orders", { filter: "id = 1" })), "id")).toEqual([1])
    })
  }
)
