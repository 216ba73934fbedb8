/**
 * Runs modules of the documentation, one after the other, as a process of its own: what they export as a configuration has to compile. Prints what failed.
 * Behind `client` are two services in this process: a shop with a form, and the source that it draws its stock from.
 */

import * as Result from "effect/Result"
import { pathToFileURL } from "node:url"
import { createAdmin, defineConfig, defineResource, defineView, f } from "resource-admin"
import { createClient } from "resource-admin/client"
import { compileModels } from "../../core/domain/compile/compile.ts"
import type { Config } from "../../core/domain/declare/config.ts"
import { messages } from "../../examples/shop/resources/messages.ts"
import * as given from "./given.ts"

const source = { url: "https://stock.example.org/api/v1", label: "Stock", resources: ["stock"] }
const authenticate = () => ({ user: { id: "ann", roles: ["admin"] }, tenant: "1" })
const options = { database: { url: process.env["DATABASE_URL"] ?? "" }, secret: given.secret }

const shop = await createAdmin(
  defineConfig({
    resources: [...given.resources, messages],
    views: [
      defineView(messages, {}).form({ name: "contact", fields: ["name", "email", "message"], thanks: "Thank you." })
    ],
    roles: { admin: ["*"], anonymous: ["messages.create(name,email,message)"] },
    forms: { difficulty: 8, tenant: 1 },
    authenticate,
    options: { sources: [source] }
  }),
  options
)
const warehouse = await createAdmin(
  defineConfig({
    resources: [defineResource("stock", {
      table: "shop.products",
      primaryKey: "id",
      fields: { id: f.integer().bits(64).readOnly().dbDefault(), stock: f.integer() }
    })],
    authenticate,
    options: { defaultAccess: "allow" }
  }),
  options
)
const answer = (url: string, init?: RequestInit): Promise<Response> =>
  (new URL(url).origin === given.url ? shop : warehouse).fetch(new Request(url, init))
// A client of a source has no `fetch` of its own.
Object.assign(globalThis, given, { fetch: answer })
Object.assign(globalThis, { client: createClient({ baseUrl: given.url, token: given.token }) })

const failed: string[] = []
for (const path of process.argv.slice(2)) {
  try {
    const { default: made } = await import(pathToFileURL(path).href) as { readonly default?: Config }
    if (made === undefined || !("resources" in made)) continue
    const compiled = compileModels(made)
    if (Result.isFailure(compiled)) failed.push(`${path}: ${JSON.stringify(compiled.failure, null, 2)}`)
  } catch (error) {
    failed.push(`${path}: ${error instanceof Error ? error.stack : String(error)}`)
  }
}
process.stdout.write(failed.join("\n"))
await shop.close()
await warehouse.close()
await given.pool.end()
