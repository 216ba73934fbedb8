/** The guide of the client is true: its lines run as they stand, in order, against the example shop, and print what they say. */

import * as Context from "effect/Context"
import { readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import * as entry from "resource-admin/client"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { tokenOf } from "../support/composed.ts"
import type { TestService } from "../support/composed.ts"
import { admin, startShop } from "./shop.ts"

const page = readFileSync(new URL("../../docs/guides/client.md", import.meta.url), "utf8")

let service: TestService
beforeAll(async () => {
  service = await startShop(`
    insert into shop.products (tenant_id, sku, name, category, price, stock) values (1, 'A-1', 'Lamp', 'lighting', 10, 5);
    insert into shop.orders (tenant_id, customer_id, owner_id, status, ship_country, total) values
      (1, 1, 'ann', 'paid', 'NO', 100), (1, 1, 'ann', 'paid', 'NO', 250), (1, 1, 'ann', 'draft', 'NO', 10);
  `)
})
afterAll(() => service.close())

it("every line runs and prints what the page says", async () => {
  const blocks = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text)
  expect(blocks.length).toBeGreaterThan(6)
  const text = blocks.join("\n")
  const expected = [...text.matchAll(/^print\(.+\) \/\/ (.+)$/gm)].map(([, value = ""]) => JSON.parse(value) as unknown)
  expect(expected.length).toBe(text.match(/print\(/g)?.length)
  const imported = [...text.matchAll(/^import \{ (.+) \} from "resource-admin\/client"$/gm)]
    .flatMap(([, names = ""]) => names.split(", "))
  for (const name of imported) expect(entry, name).toHaveProperty(name)
  const body = stripTypeScriptTypes(`async () => {\n${text.replace(/^import .*$/gm, "")}\n}`)
  const made = "const client = createClient({ baseUrl: \"https://shop.example.org\", token })"
  expect(body.replaceAll(/createClient\s*\(/g, "createClient(")).toContain(made)
  const printed: unknown[] = []
  const names = [...new Set(imported)]
  const call = makeFetch(service.edge, Context.empty())
  const scope: { readonly [name: string]: unknown } = {
    ...entry,
    createClient: (options: object) =>
      entry.createClient({
        ...options,
        fetch: (url, init) => call(new Request(url.replace("https://shop.example.org", "http://service.test"), init))
      })
  }
  // The page's own text, as a module's body would run it.
  const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as new(
    ...parts: readonly string[]
  ) => (...values: readonly unknown[]) => Promise<void>
  const run = new AsyncFunction("token", "print", ...names, `return (${body})()`)
  await run(tokenOf(admin), (value: unknown) => printed.push(value), ...names.map((name) => scope[name]))
  expect(printed).toEqual(expected)
})
