/** The guide of files is true: its lines run in one shell against the example shop, and print what it says. */

import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { listen } from "../../adapters/http/node.ts"
import type { Listener } from "../../adapters/http/node.ts"
import { findProgram } from "../../scripts/programs.mjs"
import { tokenOf } from "../support/composed.ts"
import type { TestService } from "../support/composed.ts"
import { examplesOf } from "./blocks.ts"
import { runLines } from "./shell.ts"
import { admin, startShop } from "./shop.ts"

let service: TestService
let listener: Listener
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "files-guide-"))
  const data = join(folder, "data")
  service = await startShop(
    `insert into shop.orders (tenant_id, customer_id, owner_id, status, ship_country, total) values (1, 1, 'ann', 'draft', 'NO', 10);
     insert into shop.products (tenant_id, sku, name, category, price) values (1, 'a-1', 'Lamp', 'lighting', 10);`,
    { fileSettings: { folder, data, keys: () => null, retention: null } }
  )
  listener = await listen(service.edge, { port: 0 })
})
afterAll(async () => {
  await listener?.close()
  await service?.close()
  await rm(folder, { recursive: true, force: true })
})

it.skipIf(findProgram("curl") === null)("every line does what the page says", async () => {
  const printed = await runLines(examplesOf("docs/guides/files.md", "sh").slice(0, -1), {
    folder,
    env: { URL: `http://127.0.0.1:${listener.port}`, TOKEN: tokenOf(admin) },
    // The last block is taken by test/cli/files.test.ts. A link that stops working is part of the page.
    strict: false
  })
  expect(printed).toEqual(examplesOf("docs/guides/files.md", "text").map(({ text }) => text))
  expect((await readdir(join(folder, "data", "files"))).sort()).toEqual(["private", "public"])
})
