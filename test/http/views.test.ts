import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { f, relation } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import { startService, type TestService } from "../support/composed.ts"

const customers = defineResource("customers", {
  primaryKey: "id",
  fields: { id: f.integer(), name: f.text().filterable(), secret: f.text().optional().filterable() },
  access: { fields: { secret: { read: ["admin"], write: ["admin"] } } }
})
const totals = defineResource("totals", {
  readOnly: true,
  primaryKey: "customer_id",
  fields: { customer_id: relation(customers), total: f.decimal().filterable().sortable().optional() }
})
/** Over a view that shows a column which `customers` hides: its rights are its own. */
const names = defineResource("names", {
  readOnly: true,
  primaryKey: "id",
  fields: { id: f.integer(), secret: f.text().optional().filterable() },
  access: { read: ["clerk"] }
})

const admin = { id: "1", roles: ["admin"] }
const clerk = { id: "2", roles: ["clerk"] }

describe("resources over views", () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService("postgres", {
      config: {
        resources: [customers, totals, names],
        roles: defineRoles({ admin: ["*"], clerk: ["*.read"] }),
        options: { tasks: false }
      },
      schema: `
        create table customers (id int primary key, name text not null, secret text);
        create table orders (id int primary key, customer int references customers, total numeric);
        insert into customers values (1, 'Ann', 'x'), (2, 'Bob', 'y');
        insert into orders values (1, 1, 10), (2, 1, 5), (3, 2, 7);
        create view totals as select customer as customer_id, sum(total) as total from orders group by customer;
        create view names as select id, secret from customers`,
      rows: {}
    })
  })
  afterAll(() => service.close())

  it("are listed, expanded and summed like any other", async () => {
    const list = await service.get(admin, "/api/v1/totals?order_by=total+desc&expand=customer&filter=total+>+1")
    expect([list.status, list.json["items"]]).toMatchObject([200, [
      { customer_id: 1, total: "15", expand: { customer: { name: "Ann" } } },
      { customer_id: 2, total: "7" }
    ]])
    expect((await service.get(admin, "/api/v1/totals/2")).json["total"]).toBe("7")
    const groups = await service.get(admin, "/api/v1/totals:aggregate?measures=sum(total)")
    expect(groups.status).toBe(200)
  })

  it.each([
    ["POST", "/api/v1/totals", { customer_id: 3 }],
    ["PATCH", "/api/v1/totals/1", { total: "1" }],
    ["PATCH", "/api/v1/totals/9?allow_missing=true", { total: "1" }],
    ["DELETE", "/api/v1/totals/1", undefined],
    ["DELETE", "/api/v1/totals?filter=total>1&expected_count=2", undefined],
    ["POST", "/api/v1:batchWrite", { ops: [{ op: "delete", resource: "totals", key: 1 }] }]
  ])("refuse %s %s, also to who may do everything", async (method, path, body) => {
    const refused = await service.call(admin, method, path, body === undefined ? {} : { body })
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("The resource is read-only")])
    expect(service.unhandled).toEqual([])
  })

  it("say so in their permissions and fields", async () => {
    const { json } = await service.get(admin, "/api/meta")
    expect(json["permissions"]?.["totals"]).toMatchObject({ create: false, update: false, delete: false })
    const model = (json["models"] as unknown as ReadonlyArray<{ name: string; fields: readonly object[] }>)
      .find(({ name }) => name === "totals")!
    expect(model.fields).toEqual(model.fields.map((field) => ({ ...field, readOnly: true })))
    const record = await service.get(admin, "/api/v1/totals/1")
    expect(record.json["permissions"]).toMatchObject({ update: false, delete: false })
  })

  it("have rights of their own: what a table hides, its views do not", async () => {
    expect((await service.get(clerk, "/api/v1/customers?filter=secret=x")).status).toBe(400)
    expect((await service.get(clerk, "/api/v1/names?filter=secret=x")).json["items"]).toMatchObject([{ id: 1 }])
    expect((await service.get(admin, "/api/v1/names")).status).toBe(404)
  })
})
