/** The reference of writes is true: its requests are sent as they stand, in order, to the example shop, and answered as it says. */

import { afterAll, beforeAll, expect, it } from "vitest"
import type { TestService } from "../support/composed.ts"
import { examplesOf } from "./blocks.ts"
import { exchangesOf, runExchanges } from "./exchange.ts"
import { startGenerated } from "./shop.ts"

const examples = exchangesOf(examplesOf("docs/reference/writes.md", "http"))

let service: TestService
beforeAll(async () => {
  service = await startGenerated()
})
afterAll(() => service.close())

it("every request is answered as the page says", async () => {
  expect(examples.length).toBeGreaterThan(12)
  await runExchanges(service, examples)
})
