/** Saved views over HTTP, on the fake and on PostgreSQL: what is kept, for whom, and what nobody gets to see. */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { where } from "../../core/domain/access/where.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import { type Answer, startService, type TestCaller, type TestService } from "../support/composed.ts"

const orders = defineResource("orders", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    status: f.enum(["draft", "paid"]).filterable().sortable(),
    total: f.decimal({ precision: 12, scale: 2 }).filterable(),
    margin: f.decimal({ precision: 12, scale: 2 }).filterable().sortable(),
    created_at: f.timestamp().filterable().sortable(),
    scan: f.file().optional().accept(["image/*"]),
    contract: f.file().optional().accept(["application/pdf"])
  },
  access: { fields: { margin: { read: ["finance"] } } }
})
const secrets = defineResource("secrets", { primaryKey: "id", fields: { id: f.integer().filterable() } })
const drops = defineResource("drops", {
  primaryKey: "id",
  fields: { id: f.integer().filterable() },
  access: { read: false, create: where`id > 0` }
})

const fixture = {
  config: {
    resources: [orders, secrets, drops],
    roles: defineRoles({ finance: ["*.*"], sales: ["orders.read", "drops.create"], support: ["orders.read"] })
  },
  schema:
    `create table orders (id int primary key, status text, total numeric(12,2), margin numeric(12,2), created_at timestamptz, scan text, contract text);
create table secrets (id int primary key);
create table drops (id int primary key);`,
  rows: {}
}

const finance: TestCaller = { id: "fin", roles: ["finance"] }
const sales: TestCaller = { id: "sal", roles: ["sales"] }
const support: TestCaller = { id: "sup", roles: ["support"] }
const admin: TestCaller = { id: "adm", roles: ["admin", "finance"] }
const at = "/api/saved-views"

describe.each(["fake", "postgres"] as const)("saved views on %s", (backend) => {
  let service: TestService
  beforeAll(async () => {
    service = await startService(backend, fixture)
  })
  afterAll(() => service.close())

  const save = (caller: TestCaller, body: object): Promise<Answer> =>
    service.call(caller, "POST", at, { body: { resource: "orders", ...body } })
  const items = async (caller: TestCaller, query = "") => (await service.get(caller, `${at}${query}`)).json["items"]

  it("let other work be done while many long filters are checked", async () => {
    const hoarder: TestCaller = { id: "hoarder", roles: ["sales"] }
    for (let n = 0; n < 60; n++) {
      const filter = Array.from({ length: 500 }, (_, i) => `id!=${n * 500 + i}`).join(" AND ")
      expect((await save(hoarder, { name: `Long ${n}`, filter })).status).toBe(201)
    }
    // A turn of the event loop counts when it took processor time: turns that only wait take next to none.
    let turns = 0
    let before = process.cpuUsage()
    let ended = false
    const turn = (): void => {
      const { system, user } = process.cpuUsage(before)
      before = process.cpuUsage()
      if (system + user > 500) turns++
      if (!ended) setImmediate(turn)
    }
    setImmediate(turn)
    await items(hoarder)
    ended = true
    await new Promise((resolve) => setImmediate(resolve))
    // 60 views are checked in at least six turns. A turn with a garbage collection may take most of the time, so none is compared with the sum.
    expect(turns).toBeGreaterThanOrEqual(6)
    for (const { id } of await items(hoarder) as unknown as readonly { readonly id: string }[]) {
      expect((await service.call(hoarder, "DELETE", `${at}/${id}`)).status).toBe(204)
    }
  })

  it("are saved, listed, changed and removed by their owner", async () => {
    const made = await save(sales, {
      name: " Open orders ",
      filter: "status = draft",
      order_by: "created_at desc",
      columns: ["id", "total"],
      chart: { of: "series", field: "created_at" }
    })
    expect(made.status).toBe(201)
    expect(made.json).toEqual({
      id: made.json["id"],
      resource: "orders",
      name: "Open orders",
      filter: "status = draft",
      order_by: "created_at desc",
      columns: ["id", "total"],
      chart: { of: "series", field: "created_at", granularity: "day", range: "30d", measure: "count" },
      layout: null,
      shared_with: "me",
      owner: "sal",
      incomplete: false,
      etag: "\"1\""
    })
    expect(made.headers.get("etag")).toBe("\"1\"")
    const path = made.headers.get("location")!
    expect([path, made.json["id"]]).toEqual([`${at}/${path.split("/").at(-1)}`, path.split("/").at(-1)])
    expect(await items(sales)).toEqual([made.json])
    expect(await items(sales, "?resource=orders")).toHaveLength(1)
    expect(await items(sales, "?resource=secrets")).toEqual([])
    expect(await items(support)).toEqual([])

    expect((await service.call(sales, "PATCH", path, { body: { name: "X" } })).status).toBe(428)
    const changed = await service.call(sales, "PATCH", path, {
      body: { columns: ["status"], chart: null },
      headers: { "if-match": "\"1\"" }
    })
    expect(changed.json).toMatchObject({ columns: ["status"], chart: null, name: "Open orders", etag: "\"2\"" })
    const stale = await service.call(sales, "PATCH", path, { body: { name: "X" }, headers: { "if-match": "\"1\"" } })
    expect([stale.status, stale.json["etag"], stale.headers.get("etag")]).toEqual([412, "\"2\"", "\"2\""])
    expect((await service.call(sales, "DELETE", path, { headers: { "if-match": "\"1\"" } })).status).toBe(412)
    expect((await service.call(support, "DELETE", path)).status).toBe(404)
    expect((await service.call(sales, "DELETE", path)).status).toBe(204)
    expect((await service.call(sales, "DELETE", path)).status).toBe(404)
    expect(await items(sales)).toEqual([])
  })

  it("are shown to others without what these cannot see", async () => {
    const shared = await save(finance, {
      name: "Margins",
      filter: "margin > 5",
      order_by: "margin desc, id",
      columns: ["id", "margin"],
      chart: { of: "histogram", field: "margin" },
      shared_with: ["finance"]
    })
    expect(shared.status).toBe(201)
    const path = shared.headers.get("location")!
    // Somebody of finance shares with a role that they do not have: refused. An admin may.
    const foreign = await service.call(finance, "PATCH", path, {
      body: { shared_with: ["sales"] },
      headers: { "if-match": "*" }
    })
    expect([foreign.status, foreign.json["errors"]![0]!["field"]]).toEqual([400, "shared_with"])
    expect(
      (await service.call(admin, "PATCH", path, {
        body: { shared_with: ["sales", "finance"] },
        headers: { "if-match": "*" }
      })).status
    ).toBe(200)
    const [seen] = (await items(sales)) as unknown as readonly object[]
    expect(seen).toMatchObject({
      name: "Margins",
      filter: "",
      order_by: "",
      columns: ["id"],
      chart: null,
      incomplete: true,
      owner: "fin"
    })
    expect(JSON.stringify(seen)).not.toContain("margin >")
    expect(await items(finance)).toMatchObject([{ filter: "margin > 5", incomplete: false }])
    // Who sees it cannot change it.
    expect((await service.call(sales, "PATCH", path, { body: { name: "X" }, headers: { "if-match": "*" } })).status)
      .toBe(403)
    expect((await service.call(sales, "DELETE", path)).status).toBe(403)
    expect(await items(support)).toEqual([])
    expect((await service.call(support, "PATCH", path, { body: {}, headers: { "if-match": "*" } })).status).toBe(404)
    const hidden = await service.call(finance, "POST", at, {
      body: { resource: "secrets", name: "S", shared_with: ["finance"] }
    })
    expect(hidden.status).toBe(201)
    await service.call(admin, "PATCH", hidden.headers.get("location")!, {
      body: { shared_with: ["sales"] },
      headers: { "if-match": "*" }
    })
    expect(JSON.stringify(await items(sales))).not.toContain("secrets")
  })

  it.each([
    [{ name: "" }, "name"],
    [{ name: "x".repeat(201) }, "name"],
    [{ name: "a\u2029b" }, "name"],
    [{ name: "a\u2066b" }, "name"],
    [{ name: "a\u0000b" }, "name"],
    [{ name: "N", columns: ["margin"] }, "columns"],
    [{ name: "N", columns: ["id", "id"] }, "columns"],
    [{ name: "N", columns: "id" }, "columns"],
    [{ name: "N", chart: { of: "pie", field: "id" } }, "chart"],
    [{ name: "N", chart: { of: "facets", field: "margin" } }, "chart"],
    [{ name: "N", chart: { of: "facets", field: "id", limit: 501 } }, "chart"],
    [{ name: "N", chart: { of: "facets", field: "id", href: "x" } }, "chart"],
    [{ name: "N", shared_with: ["admin"] }, "shared_with"],
    [{ name: "N", shared_with: "everybody" }, "shared_with"],
    [{ name: "N", shared_with: [] }, "shared_with"],
    [{ name: "N", owner: "adm" }, "owner"],
    [{ name: "N", id: "1" }, "id"],
    [{ name: "N", resource: "secrets" }, "resource"],
    [{ name: "N", resource: "drops" }, "resource"],
    [{ name: "N", resource: 5 }, "resource"],
    [{}, "name"]
  ])("refuse %j", async (body, field) => {
    const answer = await save(sales, body)
    expect([answer.status, answer.json["type"]]).toEqual([400, "urn:service:problem:invalid-record"])
    expect(answer.json["errors"]![0]!["field"]).toBe(field)
    // A hidden name and one that is not there are refused alike.
    if (field === "columns") expect(answer.text).not.toContain("hidden")
  })

  it.each([
    "board",
    { of: "pie", by: "status" },
    { of: "board", by: "total" },
    { of: "board", by: "margin" },
    { of: "board", by: "status", group: ["status"] },
    { of: "board", by: "status", limits: { draft: 0 } },
    { of: "board", by: "status", limits: { draft: "1" } },
    { of: "list", group: [] },
    { of: "list", group: ["margin"] },
    { of: "list", group: ["month(status)"] },
    { of: "list", group: ["month(margin)"] },
    { of: "list", group: ["hour(created_at)"] },
    { of: "list", group: ["status", "status"] },
    { of: "list", group: ["status", "total", "id"] },
    { of: "list", group: ["status"], folded: "*" },
    { of: "list", group: ["status"], folded: ["a b"] },
    { of: "list", group: ["status"], folded: Array.from({ length: 201 }, () => "a") },
    { of: "board", by: "status", folded: ["*"] },
    { of: "calendar", by: ["status"] },
    { of: "calendar", by: ["created_at"], span: "year" },
    { of: "gallery", by: "contract" },
    { of: "gallery", by: "status" }
  ])("refuse the layout %j", async (layout) => {
    const answer = await save(sales, { name: "N", layout })
    expect([answer.status, answer.json["errors"]![0]!["field"]]).toEqual([400, "layout"])
  })

  it("keep layouts, and leave out those with a hidden field", async () => {
    const layouts = [
      { of: "list", group: ["status", "total"] },
      { of: "list", group: ["month(created_at)"], folded: ["2026-11-01"] },
      { of: "list", group: ["status"], folded: ["*", "paid", "!"] },
      { of: "board", by: "status", limits: { draft: 3 } },
      { of: "calendar", by: ["created_at"], span: "week" },
      { of: "gallery", by: "scan" },
      null
    ]
    const { headers, json } = await save(finance, { name: "Layouts", shared_with: ["finance"] })
    expect(json["layout"]).toBeNull()
    const path = headers.get("location")!
    const put = (caller: TestCaller, body: object) =>
      service.call(caller, "PATCH", path, { body, headers: { "if-match": "*" } })
    for (const layout of layouts) expect((await put(finance, { layout })).json["layout"]).toEqual(layout)
    const usual = await put(finance, { layout: { of: "calendar", by: ["created_at"], span: "month" } })
    expect(usual.json["layout"]).toEqual({ of: "calendar", by: ["created_at"] })
    await put(admin, { layout: { of: "list", group: ["margin"] }, shared_with: ["sales", "finance"] })
    const seen = (await items(sales)) as unknown as ReadonlyArray<{ readonly name: string }>
    expect(seen.find(({ name }) => name === "Layouts")).toMatchObject({ layout: null, incomplete: true })
    expect((await service.call(finance, "DELETE", path)).status).toBe(204)
  })

  it("refuse filters and orders as a list does, and tell nothing of hidden fields", async () => {
    const filter = await save(sales, { name: "N", filter: "margin > 5" })
    expect([filter.status, filter.json["type"]]).toEqual([400, "urn:service:problem:invalid-filter"])
    expect(filter.json["errors"]).toEqual(
      (await save(sales, { name: "N", filter: "nargin > 5" })).json["errors"] === undefined
        ? undefined
        : expect.arrayContaining([expect.objectContaining({ span: { start: 0, end: 6 } })])
    )
    expect((await save(sales, { name: "N", order_by: "total" })).json["type"]).toBe(
      "urn:service:problem:invalid-order-by"
    )
    expect((await save(sales, { name: "N", filter: "x".repeat(10_001) })).status).toBe(400)
  })

  it("have limits, methods and no parameters of their own", async () => {
    expect((await service.call(null, "GET", at)).status).toBe(401)
    expect((await service.call(sales, "PUT", at)).headers.get("allow")).toBe("GET, HEAD, POST")
    expect((await service.call(sales, "GET", `${at}/x`)).headers.get("allow")).toBe("PATCH, DELETE")
    expect((await service.get(sales, `${at}?page=2`)).status).toBe(400)
    expect((await service.get(sales, `${at}?resource=a&resource=b`)).status).toBe(400)
    expect((await service.call(sales, "POST", `${at}?x=1`, { body: {} })).status).toBe(400)
    expect((await service.get(sales, `${at}/a/b`)).status).toBe(404)
    expect((await service.call(sales, "POST", at, { body: "[]" })).status).toBe(400)
    expect((await service.call(sales, "POST", at, { body: "{" })).json["type"]).toBe(
      "urn:service:problem:malformed-json"
    )
    expect((await service.call(sales, "POST", at, { body: `"${"x".repeat(70_000)}"` })).status).toBe(413)
    expect((await service.call(sales, "POST", at, { raw: "a=b", headers: { "content-type": "text/plain" } })).status)
      .toBe(415)
    expect((await save(sales, { name: "Twice" })).status).toBe(201)
    expect((await save(sales, { name: "Twice" })).status).toBe(409)
    expect(service.unhandled).toEqual([])
  })
})
