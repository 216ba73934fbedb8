// The scan guard on orders and conditions through relations, on PostgreSQL: what is refused, which table's index is suggested and to whom, and that a big list
// is read to its ends.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f, relation } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { defineRoles } from "../../../core/domain/declare/roles.ts"
import { at, expectProblem, pluck, related } from "../../support/answer.ts"
import type { Query } from "../../support/answer.ts"
import { startService } from "../../support/composed.ts"
import type { Answer, Fixture, TestCaller, TestService } from "../../support/composed.ts"

const customers = defineResource("customers", {
  primaryKey: "id",
  tenant: f.integer().column("secret_tenant"),
  fields: {
    id: f.integer().filterable().sortable(),
    name: f.text().filterable().sortable(),
    email: f.text().filterable().sortable(),
    town: f.text().optional().filterable().sortable()
  }
})
const orders = defineResource("orders", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    customer_id: relation(customers).filterable(),
    status: f.text().filterable().sortable()
  }
})

const orderCount = 9_000
const big: Fixture = {
  config: defineConfig({
    resources: [customers, orders],
    roles: defineRoles({ admin: ["*"], staff: ["customers.read", "orders.read"] }),
    options: { scanGuard: { seqScanRows: 1_000, aggregateRows: 2_000 } }
  }),
  schema: `
    create table customers (id integer primary key, secret_tenant integer not null, name text not null, email text not null, town text);
    create table orders (id integer primary key, customer_id integer not null references customers, status text not null);
    insert into customers select i, 1 + i % 2, md5(i::text), md5((i + 1)::text), md5((i + 2)::text) from generate_series(1, 6000) i;
    insert into orders select i, 1 + i * 7919 % 6000, (array['new', 'paid'])[1 + i % 2] from generate_series(1, ${orderCount}) i;
    create index on customers (secret_tenant, name, id);
    create index on orders (customer_id);
    analyze customers; analyze orders;
  `,
  rows: {}
}

const admin: TestCaller = { id: "u-admin", roles: ["admin"], tenant: "1" }
const staff: TestCaller = { id: "u-staff", roles: ["staff"], tenant: "1" }

describe("the guard on what goes through relations", () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService("postgres", big)
  })
  afterAll(async () => {
    expect(service.unhandled).toEqual([])
    await service.close()
  })
  const list = (query: Query, caller: TestCaller = admin): Promise<Answer> =>
    related(() => service.get(caller, at("orders", query)))
  const whole = "The query would scan a big table from end to end."

  it.each<readonly [order: string, caller: TestCaller, suggestion: string]>([
    ["customer.email", admin, "create index on customers (secret_tenant, email, id)"],
    ["customer.email desc,id", staff, "create index on customers (email, id)"],
    ["status,customer.email", staff, "create index on customers (email, id)"]
  ])("refuses an order without an index, and names that of the target: %s", async (order_by, caller, suggestion) => {
    expectProblem(await service.get(caller, at("orders", { order_by })), "expensive-query", "/api/v1/orders", {
      errors: [{ code: "sequential-scan", message: whole, hint: suggestion }],
      suggestion
    }, whole)
  })

  it.each<readonly [filter: string, caller: TestCaller, suggestion: RegExp | null]>([
    ["customer.email = a", admin, /^create index on customers \(email\)$/],
    ["customer.email = a", staff, /^create index on customers \(email\)$/],
    ["customer.email : zzzzzz", staff, /^create index on customers using gin \(email gin_trgm_ops\)$/],
    ["has(customer)", staff, null]
  ])(
    "suggests for a condition the index of the table that was read, or none: %s",
    async (filter, caller, suggestion) => {
      const answer = await service.get(caller, at("orders:facets", { field: "status", filter }))
      expect(answer.status, answer.text).toBe(400)
      const found = answer.json["suggestion"] as unknown as string | undefined
      if (suggestion === null) expect(answer.text).not.toContain("create index")
      else expect(found).toMatch(suggestion)
      if (caller === staff) expect(answer.text).not.toContain("secret")
    }
  )

  it.each(["customer.name", "customer.name desc,id"])("reads all of a big list, up and down: %s", async (order) => {
    const query = { order_by: order, page_size: 500, fields: "id" }
    const forth: unknown[] = []
    let token = ""
    do {
      const page = await list({ ...query, ...token === "" ? {} : { page_token: token } })
      forth.push(...pluck(page, "id"))
      token = page.json["next_page_token"] as unknown as string
    } while (token !== "")
    expect(forth.length).toBe(orderCount)
    expect(new Set(forth).size).toBe(orderCount)
    const jump = await related(() => service.get(admin, at("orders:seek", { ...query, position: 5_000 })))
    // A jump skips rows of both tables: it is given, or refused by its cost.
    if (jump.status === 200) expect(pluck(jump, "id")).toEqual(forth.slice(5_000, 5_500))
    else expect(jump.json["type"]).toBe("urn:service:problem:expensive-query")
    const seek = await related(() => service.get(admin, at("orders:seek", { ...query, position: 0 })))
    let page = await list({ ...query, page_token: seek.json["next_page_token"] as unknown as string })
    const back: unknown[] = [...pluck(page, "id")]
    for (;;) {
      const previous = (page.json["prev_page_token"] as unknown as string | undefined) ?? ""
      if (previous === "") break
      page = await list({ ...query, page_token: previous })
      back.unshift(...pluck(page, "id"))
    }
    expect(back).toEqual(forth.slice(0, back.length))
    expect(back.length).toBe(1_000)
  })
})
