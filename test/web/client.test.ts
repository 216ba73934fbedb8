/** The client against the composed example shop on PostgreSQL, through the web-standard `fetch` of the edge. */

import * as Context from "effect/Context"
import { createClient, now, or, ProblemError, search } from "resource-admin/client"
import type { Client } from "resource-admin/client"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import type config from "../../examples/shop/admin.config.ts"
import { admin, startShop } from "../docs/shop.ts"
import { tokenOf } from "../support/composed.ts"
import type { TestService } from "../support/composed.ts"

let service: TestService
let client: Client<typeof config>
const sent: { readonly method: string; readonly url: string }[] = []

beforeAll(async () => {
  service = await startShop(`
    insert into shop.orders (tenant_id, customer_id, owner_id, status, ship_country, total, note, created_at)
      select 1, 1, 'ann', case when n % 2 = 0 then 'paid' else 'draft' end, 'NO', n, 'order ' || n || case when n = 7 then ' "x" *' else '' end,
        timestamptz '2026-01-01T00:00:00Z' + n * interval '1 hour'
      from generate_series(1, 1234) n;
    insert into shop.products (tenant_id, sku, name, category, price, stock) values (1, 'A-1', 'Lamp', 'lighting', 10, 5);
    insert into shop.product_tags (tenant_id, product_id, tag) values (1, 1, 'new');
    analyze;
  `)
  const fetch = makeFetch(service.edge, Context.empty())
  client = createClient<typeof config>({
    baseUrl: "http://service.test",
    token: tokenOf(admin),
    fetch: (url, init) => {
      sent.push({ method: init.method ?? "GET", url })
      return fetch(new Request(url, init))
    }
  })
})
afterAll(() => service.close())

const problem = async (work: Promise<unknown>): Promise<ProblemError> => {
  const error = await work.then(() => null, (reason: unknown) => reason)
  if (!(error instanceof ProblemError)) throw new Error(`Expected a problem, got ${String(error)}`)
  return error
}

describe("reads", () => {
  it("gives a page, and every record of all pages once, in order", async () => {
    const orders = client.resource("orders")
    const first = await orders.list({ page_size: 2, fields: ["id", "total"], order_by: "total desc", count: "exact" })
    expect(first.items.map(({ total }) => total)).toEqual(["1234.00", "1233.00"])
    expect(first.total_size).toBe(1234)
    const seen: string[] = []
    for await (const order of orders.list({ page_size: 100, fields: ["id"], order_by: ["created_at desc", "id"] })) {
      seen.push(order.id)
    }
    expect(seen.length).toBe(1234)
    expect(new Set(seen).size).toBe(1234)
    let pages = 0
    for await (const page of orders.list({ page_size: 500 }).pages()) pages += page.items.length > 0 ? 1 : 0
    expect(pages).toBe(3)
  })

  it("prints built filters so that they select what they say", async () => {
    const orders = client.resource("orders")
    const count = async (filter: Parameters<typeof orders.where>[0]): Promise<number | undefined> =>
      (await orders.list({ filter: orders.where(filter), page_size: 1, count: "exact" })).total_size
    expect(await count((o) => o.status.eq("paid"))).toBe(617)
    expect(await count((o) => or(o.total.le(2), o.total.in(["7.00", 8n])))).toBe(4)
    expect(await count((o) => o.created_at.lt(now("-1d")))).toBe(1234)
    expect(await count(() => search(`"x" *`))).toBe(1)
    expect(await count((o) => o.total.in([]))).toBe(0)
    expect(await count((o) => o.due_on.ne(null))).toBe(0)
  })

  it("sends long filters as a search", async () => {
    sent.length = 0
    const ids = Array.from({ length: 2000 }, (_, n) => String(n + 1))
    const page = await client.resource("orders").list({ filter: (o) => o.id.in(ids), page_size: 1, count: "exact" })
    expect(page.total_size).toBe(1234)
    expect(sent).toEqual([{ method: "POST", url: "http://service.test/api/v1/orders:search" }])
  })

  it("reads records, composite keys and relations, and only what changed", async () => {
    const tag = await client.resource("product_tags").get([1, "new"], { expand: ["product"] })
    expect(tag.expand?.product?.name).toBe("Lamp")
    const orders = client.resource("orders")
    const order = await orders.get("1", { fields: ["id", "status"] })
    expect(order).toMatchObject({ id: "1", status: "draft", permissions: { update: true } })
    expect(await orders.getIfChanged("1", (await orders.get("1")).etag)).toBeNull()
  })

  it("counts and charts", async () => {
    const orders = client.resource("orders")
    expect((await orders.facets({ field: "status" })).facets).toEqual([
      { value: "draft", count: 617 },
      { value: "paid", count: 617 }
    ])
    const series = await orders.series({
      field: "created_at",
      from: "2026-01-01",
      to: "2026-01-02",
      filter: (o) => o.currency.eq("EUR"),
      measure: "sum:total"
    })
    expect(series.points.map(({ value }) => value)).toEqual(["276.00", "852.00"])
    expect((await orders.histogram({ field: "total", buckets: 2 })).buckets.map(({ count }) => count)).toEqual([
      617,
      617
    ])
    const { groups, more } = await orders.aggregate({
      group_by: ["currency", "status", "quarter(created_at)"],
      measures: ["count", "sum(total)", "median(total)"],
      filter: (o) => o.total.le("1000"),
      having: "count > 40",
      order_by: ["sum(total) desc", "status"],
      limit: 1
    })
    expect([groups, more]).toEqual([[{
      group: { currency: "EUR", status: "paid", "quarter(created_at)": "2026-01-01T00:00:00Z" },
      measures: { count: 500, "sum(total)": "250500.00", "median(total)": "500.00" }
    }], true])
    expect((await orders.aggregate()).groups).toEqual([{ group: {}, measures: { count: 1234 } }])
    sent.length = 0
    const many = await orders.aggregate({
      measures: ["count"],
      filter: (o) => o.id.in(Array.from({ length: 2000 }, (_, n) => String(n + 1)))
    })
    expect(many.groups[0]?.measures.count).toBe(1234)
    expect(sent).toEqual([{ method: "POST", url: "http://service.test/api/v1/orders:aggregate" }])
    const page = await orders.seek(1230, { page_size: 3, order_by: "total", fields: ["total"] })
    expect(page.items.map(({ total }) => total)).toEqual(["1231.00", "1232.00", "1233.00"])
    const before = await orders.list({ page_size: 3, order_by: "total", page_token: page.prev_page_token })
    expect(before.items.map(({ total }) => total)).toEqual(["1228.00", "1229.00", "1230.00"])
  })

  it("keeps the meta by its ETag", async () => {
    const meta = await client.meta()
    expect(meta.models.map(({ name }) => name)).toContain("orders")
    expect(await client.meta()).toBe(meta)
  })
})

describe("writes", () => {
  it("creates, changes, deletes and brings back", async () => {
    const orders = client.resource("orders")
    const order = await orders.create({ customer_id: "1", owner_id: "ann", ship_country: "NO", total: "99.50" })
    const changed = await orders.update(order.id, { note: "Ring twice." }, { etag: order.etag })
    expect(changed.note).toBe("Ring twice.")
    const stale = await problem(orders.update(order.id, { note: "Ring once." }, { etag: order.etag }))
    expect(stale).toMatchObject({ status: 412, slug: "precondition-failed", etag: changed.etag })
    expect(stale.changed).toContain("note")
    await orders.delete(order.id, { etag: changed.etag })
    expect(await problem(orders.get(order.id))).toMatchObject({ status: 404, slug: "not-found" })
    expect((await orders.undelete(order.id)).id).toBe(order.id)
    await orders.delete(order.id)
  })

  it("creates once for one idempotency key, and never in a dry run", async () => {
    const orders = client.resource("orders")
    const data = { customer_id: "1", owner_id: "ann", ship_country: "SE" }
    const idempotencyKey = crypto.randomUUID()
    const first = await orders.create(data, { idempotencyKey })
    expect((await orders.create(data, { idempotencyKey })).id).toBe(first.id)
    await orders.create(data, { dryRun: true })
    expect((await orders.list({ filter: "ship_country = SE", count: "exact" })).total_size).toBe(1)
  })

  it("creates what is missing", async () => {
    const tags = client.resource("product_tags")
    const put = (once: { readonly idempotencyKey?: string } = {}) =>
      tags.update([1, "fresh"], {}, { etag: "*", allowMissing: true, ...once })
    const once = { idempotencyKey: "fresh" }
    expect((await put(once)).tag).toBe("fresh")
    await tags.delete([1, "fresh"])
    // It is the answer of the first call, and nothing is made anew.
    expect((await put(once)).tag).toBe("fresh")
    expect(await problem(tags.get([1, "fresh"]))).toMatchObject({ status: 404 })
    expect((await put()).tag).toBe("fresh")
    expect((await put()).tag).toBe("fresh")
    const batch = client.batch()
    const other = batch.update("product_tags", [1, "other"], {}, { etag: "*", allowMissing: true })
    expect((await batch.send()).of(other).tag).toBe("other")
    expect(await problem(tags.update("1", {}, { etag: "*", match: "tag" }))).toMatchObject({
      slug: "invalid-parameter"
    })
  })

  it("sends no write twice whose key the service does not take", async () => {
    const sent: (string | null)[] = []
    const { update } = createClient({
      baseUrl: "http://service.test",
      token: tokenOf(admin),
      fetch: (_, { headers }) => {
        sent.push(new Headers(headers).get("idempotency-key"))
        return Promise.reject(new TypeError("The connection broke."))
      }
    }).resource("products")
    const once = { etag: "*", idempotencyKey: "k" }
    await expect(update("1", { stock: { increment: 1 } }, once)).rejects.toThrow()
    await expect(update("A-1", { stock: { increment: 1 } }, { ...once, match: "sku" })).rejects.toThrow()
    expect(sent).toEqual([null, null])
    await expect(update("A-1", { stock: 1 }, { ...once, match: "sku", allowMissing: true })).rejects.toThrow()
    expect(sent.length).toBeGreaterThan(3)
    expect(new Set(sent.slice(2))).toEqual(new Set(["k"]))
  })

  it("changes and deletes what passes a filter, as many as are expected", async () => {
    const orders = client.resource("orders")
    for (const note of ["a", "b"]) {
      await orders.create({ customer_id: "1", owner_id: "ann", ship_country: "IS", note })
    }
    const found = orders.where((o) => o.ship_country.eq("IS"))
    expect(await orders.updateWhere(found, { note: "a" }, { dryRun: true })).toEqual({ count: 2, changed: 1 })
    expect(await problem(orders.deleteWhere(found, { expectedCount: 3 }))).toMatchObject({ status: 412 })
    // The second call has the answer of the first.
    for (const idempotencyKey of ["once", "once"]) {
      expect(await orders.updateWhere(found, { note: "a" }, { expectedCount: 2, idempotencyKey })).toEqual({
        count: 2,
        changed: 1
      })
    }
    expect(await orders.deleteWhere(found, { expectedCount: 2 })).toEqual({ count: 2, changed: 2 })
  })

  it("runs a batch with references", async () => {
    const batch = client.batch()
    const order = batch.create("orders", { customer_id: "1", owner_id: "ann", ship_country: "DK" })
    const line = batch.create("order_lines", {
      order_id: order,
      owner_id: "ann",
      product_id: "1",
      position: 1,
      unit_price: "10.00"
    })
    const changed = batch.update("order_lines", line, { quantity: 3 }, { etag: "*" })
    const gone = batch.delete("product_tags", [1, "new"])
    expect(batch.size).toBe(4)
    const results = await batch.send({ idempotencyKey: true })
    expect(results.of(changed).total).toBe("30.00")
    expect(results.of(changed).order_id).toBe(results.of(order).id)
    expect(results.of(gone)).toBeNull()

    const failing = client.batch()
    failing.create("orders", { customer_id: "1", owner_id: "ann", ship_country: "FI" })
    failing.update("orders", "1", { note: "never written" }, { etag: "\"old\"" })
    expect(await problem(failing.send())).toMatchObject({ status: 412, operation: 1 })
  })

  it("tells of every refused field", async () => {
    const refused = await problem(
      client.resource("orders").update("1", { total: "free", due_on: "soon" }, { etag: "*" })
    )
    expect(refused).toMatchObject({ status: 400, slug: "invalid-record" })
    expect(Object.keys(refused.fields).sort()).toEqual(["due_on", "total"])
    const span = await problem(client.resource("orders").list({ filter: "status = piad" }))
    expect(span.errors[0]?.span).toEqual({ start: 9, end: 13 })
  })
})
