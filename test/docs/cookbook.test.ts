/** The cookbook is true: its requests are sent as they stand, in order, to the example shop, and answered as it says. */

import { afterAll, beforeAll, expect, it } from "vitest"
import { related } from "../support/answer.ts"
import type { TestService } from "../support/composed.ts"
import { examplesOf } from "./blocks.ts"
import { exchangesOf, runExchanges } from "./exchange.ts"
import { admin, readPage, startGenerated } from "./shop.ts"

const page = readPage("cookbook", "guides")
const examples = exchangesOf(examplesOf("docs/guides/cookbook.md", "http"))

let service: TestService
beforeAll(async () => {
  service = await startGenerated()
})
afterAll(() => service.close())

it("has twenty-seven tasks", () => {
  expect(page.match(/^## \d+\. /gm)?.length).toBe(27)
  for (const task of page.split(/^## /m).slice(1)) expect(task, task.split("\n")[0]!).toContain("```http")
})

it("every request is answered as the page says", async () => {
  await runExchanges(service, examples)
})

it.each(["from-directus", "from-hasura", "from-postgrest", "from-supabase"])(
  "every request of %s is answered",
  async (guide) => {
    const requests = [...readPage(guide, "guides").matchAll(/`GET (\/api\/v1\/[^`]+)`/g)].map(([, path = ""]) => path)
    expect(requests.length).toBeGreaterThan(8)
    for (const path of requests) {
      if (path.endsWith("/17")) continue
      const answer = await related(() => service.call(admin, "GET", path))
      expect(answer.status, `${path}: ${answer.text}`).toBe(200)
    }
  }
)
