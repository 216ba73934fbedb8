/** The reference of reads is true: its requests are sent as they stand, in order, to the example shop, and answered as it says. */

import { afterAll, beforeAll, expect, it } from "vitest"
import type { TestService } from "../support/composed.ts"
import { examplesOf } from "./blocks.ts"
import { admin, startShop } from "./shop.ts"

const examples = examplesOf("docs/reference/reads.md", "http").map(({ text }) => {
  const [, method = "", path = "", sent, status = "", body = ""] =
    /^(GET|POST) (.+)\n\n(?:(\{[^]*?\})\n\n)?HTTP\/1\.1 (\d+) .+\n\n([^]*)$/.exec(text) ?? expect.fail(text)
  return {
    method,
    path,
    sent: sent === undefined ? {} : { body: JSON.parse(sent) as object },
    status: Number(status),
    body
  }
})

let service: TestService
beforeAll(async () => {
  service = await startShop(`
    insert into shop.orders (tenant_id, customer_id, owner_id, status, ship_country, total, created_at) values
      (1, 1, 'ann', 'paid', 'NO', 100, '2026-01-05T10:00:00Z'),
      (1, 1, 'ann', 'paid', 'NO', 250, '2026-01-05T23:30:00Z'),
      (1, 1, 'ann', 'draft', 'NO', 10, '2026-01-08T10:00:00Z');
  `)
})
afterAll(() => service.close())

it("every request is answered as the page says", async () => {
  expect(examples.length).toBeGreaterThan(7)
  /** What `p1` and the like, which stand for page tokens, and `"e1"`, which stands for an ETag, were in the answers. */
  const learned = new Map<string, string>()
  const given = (text: string): string =>
    text.replace(/\b[pe]\d\b/g, (name) => {
      const value = learned.get(name)
      if (value === undefined) throw new Error(`${name} is not known yet.`)
      return value
    })
  for (const { body, method, path, sent, status } of examples) {
    const answer = await service.call(admin, method, given(path), sent)
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
