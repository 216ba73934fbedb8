/** The reference of reads is true: its requests are sent as they stand, in order, to the example shop, and answered as it says. */

import { readFileSync } from "node:fs"
import { afterAll, beforeAll, expect, it } from "vitest"
import config from "../../examples/shop/admin.config.ts"
import { startService } from "../support/composed.ts"
import type { TestService } from "../support/composed.ts"

const root = new URL("../../", import.meta.url)
const page = readFileSync(new URL("docs/reference/reads.md", root), "utf8")

const examples = [...page.matchAll(/^```http\nGET (.+)\n\nHTTP\/1\.1 (\d+) .+\n\n([\s\S]*?)^```$/gm)].map(
  ([, path = "", status = "", body = ""]) => ({ path, status: Number(status), body })
)

let service: TestService
beforeAll(async () => {
  service = await startService("postgres", {
    config,
    schema: readFileSync(new URL("examples/shop/schema.sql", root), "utf8"),
    rows: {}
  })
  await service.database!.execute(`
    insert into shop.staff (id, tenant_id, name) values ('ann', 1, 'Ann');
    insert into shop.customers (tenant_id, name, email, country, city) values (1, 'Bo', 'bo@example.org', 'NO', 'Oslo');
    insert into shop.orders (tenant_id, customer_id, owner_id, status, ship_country, total, created_at) values
      (1, 1, 'ann', 'paid', 'NO', 100, '2026-01-05T10:00:00Z'),
      (1, 1, 'ann', 'paid', 'NO', 250, '2026-01-05T23:30:00Z'),
      (1, 1, 'ann', 'draft', 'NO', 10, '2026-01-08T10:00:00Z');
  `)
}, 60_000)
afterAll(() => service.close())

it("every request is answered as the page says", async () => {
  expect(examples.length).toBe(page.match(/^```http$/gm)?.length)
  expect(examples.length).toBeGreaterThan(7)
  const admin = { id: "00000000-0000-4000-8000-000000000001", roles: ["admin"], tenant: "1" }
  /** What `p1` and the like, which stand for page tokens, and `"e1"`, which stands for an ETag, were in the answers. */
  const learned = new Map<string, string>()
  const given = (text: string): string =>
    text.replace(/\b[pe]\d\b/g, (name) => {
      const value = learned.get(name)
      if (value === undefined) throw new Error(`${name} is not known yet.`)
      return value
    })
  for (const { body, path, status } of examples) {
    const answer = await service.call(admin, "GET", given(path))
    expect(answer.status, `${path}: ${answer.text}`).toBe(status)
    const actual = answer.json as {
      readonly items?: readonly { readonly etag: string }[]
      readonly [name: string]: unknown
    }
    for (const [, member = "", name = ""] of body.matchAll(/"(\w+_page_token)": "(p\d)"/g)) {
      expect(actual[member], path).toMatch(/^[\w-]{20,}$/)
      learned.set(name, String(actual[member]))
    }
    if (body.includes("e1")) learned.set("e1", actual.items![0]!.etag.slice(1, -1))
    expect(actual, path).toMatchObject(JSON.parse(given(body)) as object)
  }
})
