/** The reference of writes is true: its requests are sent as they stand, in order, to the example shop, and answered as it says. */

import { afterAll, beforeAll, expect, it } from "vitest"
import type { TestService } from "../support/composed.ts"
import { exchangesOf, runExchanges } from "./exchange.ts"
import { readPage, startShop } from "./shop.ts"

const examples = exchangesOf(readPage("writes"))

let service: TestService
beforeAll(async () => {
  service = await startShop(`
    insert into shop.products (tenant_id, sku, name, category, price) values (1, 'S-1', 'Stool', 'seating', 10);
  `)
})
afterAll(() => service.close())

it("every request is answered as the page says", async () => {
  expect(examples.length).toBeGreaterThan(12)
  await runExchanges(service, examples)
})
