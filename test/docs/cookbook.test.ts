/** The cookbook is true: its requests are sent as they stand, in order, to the example shop, and answered as it says. */

import { afterAll, beforeAll, expect, it } from "vitest"
import type { TestService } from "../support/composed.ts"
import { exchangesOf, runExchanges } from "./exchange.ts"
import { admin, readPage, startShop } from "./shop.ts"

const page = readPage("cookbook", "guides")
const examples = exchangesOf(page)

let service: TestService
beforeAll(async () => {
  service = await startShop(`
    insert into shop.customers (tenant_id, kind, name, email, vat_number, country, city) values
      (1, 'company', 'Oak & Ash', 'post@oak.example', 'NO123', 'NO', 'Bergen');
    insert into shop.products (tenant_id, sku, name, category, price, stock, updated_at) values
      (1, 'ST-01', 'Stool', 'seating', 40, 3, '2026-01-01T00:00:01Z'), (1, 'LA-01', 'Lamp', 'lighting', 90, 0, '2026-01-01T00:00:02Z'),
      (1, 'TA-01', 'Table', 'tables', 400, 7, '2026-01-01T00:00:03Z');
    insert into shop.orders (tenant_id, customer_id, owner_id, status, ship_country, total, note, created_at) values
      (1, 1, 'ann', 'paid', 'NO', 100, 'Ring twice', '2026-01-05T10:00:00Z'),
      (1, 2, 'ann', 'paid', 'NO', 250, null, '2026-01-05T23:30:00Z'),
      (1, 2, 'ann', 'draft', 'DE', 10, null, '2026-01-08T10:00:00Z'),
      (1, 1, 'ann', 'pending', 'DE', 1200, 'Back door', '2026-02-01T08:00:00Z');
    update shop.orders set updated_at = timestamptz '2026-03-01T00:00:00Z' + id * interval '1 minute';
    insert into shop.order_lines (tenant_id, order_id, owner_id, position, product_id, quantity, unit_price) values
      (1, 1, 'ann', 1, 1, 1, 40), (1, 1, 'ann', 2, 2, 1, 60);
  `)
})
afterAll(() => service.close())

it("has twenty tasks", () => {
  expect(page.match(/^## \d+\. /gm)?.length).toBe(20)
  for (const task of page.split(/^## /m).slice(1)) expect(task, task.split("\n")[0]!).toContain("```http")
})

it("every request is answered as the page says", async () => {
  await runExchanges(service, examples)
})

it.each(["from-directus", "from-hasura", "from-postgrest"])("every request of %s is answered", async (guide) => {
  const requests = [...readPage(guide, "guides").matchAll(/`GET (\/api\/v1\/[^`]+)`/g)].map(([, path = ""]) => path)
  expect(requests.length).toBeGreaterThan(8)
  for (const path of requests) {
    if (path.endsWith("/17")) continue
    const answer = await service.call(admin, "GET", path)
    expect(answer.status, `${path}: ${answer.text}`).toBe(200)
  }
})
