/** The guide of the client is true: its lines run as they stand, in order, against the example shop, and print what they say. */

import * as Context from "effect/Context"
import { stripTypeScriptTypes } from "node:module"
import * as entry from "resource-admin/client"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { tokenOf } from "../support/composed.ts"
import type { TestService } from "../support/composed.ts"
import { examplesOf } from "./blocks.ts"
import { admin, startGenerated } from "./shop.ts"

let service: TestService
beforeAll(async () => {
  service = await startGenerated()
})
afterAll(() => service.close())

it("every line runs and prints what the page says", async () => {
  const text = examplesOf("docs/guides/client.md", "ts").map(({ text }) => text).join("\n")
  const expected = [...text.matchAll(/^print\(.+\) \/\/ (.+)$/gm)].map(([, value = ""]) => JSON.parse(value) as unknown)
  expect(expected.length).toBe(text.match(/^print\(/gm)?.length)
  const imported = [...text.matchAll(/^import \{ (.+) \} from "resource-admin\/client"$/gm)]
    .flatMap(([, names = ""]) => names.split(", "))
  for (const name of imported) expect(entry, name).toHaveProperty(name)
  const body = stripTypeScriptTypes(`async () => {\n${text.replace(/^import .*$/gm, "")}\n}`)
  const printed: unknown[] = []
  const names = [...new Set(imported)]
  const call = makeFetch(service.edge, Context.empty())
  const scope: { readonly [name: string]: unknown } = {
    ...entry,
    createClient: (options: object) =>
      entry.createClient({
        ...options,
        fetch: (url, init) => call(new Request(url, init))
      })
  }
  // The page's own text, as a module's body would run it.
  const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as new(
    ...parts: readonly string[]
  ) => (...values: readonly unknown[]) => Promise<void>
  const run = new AsyncFunction("token", "console", ...names, `return (${body})()`)
  const console = { log: (value: string) => printed.push(JSON.parse(value)) }
  await run(tokenOf(admin), console, ...names.map((name) => scope[name]))
  expect(printed).toEqual(expected)
})
