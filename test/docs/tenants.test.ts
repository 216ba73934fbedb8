/** The guide to tenants is true: its configuration serves two of them, and its lines print what it says. */

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { createUser, defineConfig, defineResource, f, fromHost } from "../../composition/index.ts"
import { findProgram } from "../../scripts/programs.mjs"
import { openServer, type TestServer } from "../support/server.ts"
import { examplesOf } from "./blocks.ts"
import { runLines } from "./shell.ts"

const hosts = { "acme.example.com": "acme", "globex.example.com": "globex" }
const config = defineConfig({
  resources: [
    defineResource("notes", {
      primaryKey: "id",
      tenant: "tenant_id",
      fields: { id: f.integer().readOnly().dbDefault(), title: f.text() }
    })
  ],
  auth: { tenant: fromHost({ hosts }) }
})

let server: TestServer
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tenants-guide-"))
  server = await openServer(config, {
    schema:
      `create table notes (id integer generated always as identity primary key, title text not null, tenant_id text not null);
      insert into notes (title, tenant_id) values ('Of acme', 'acme'), ('Of globex', 'globex')`
  })
  await createUser(server.server.tenantAuths!.get("acme")!, { email: "ann@example.org", password: server.password })
})
afterAll(async () => {
  await server?.close()
  await rm(folder, { recursive: true, force: true })
})

it("shows the hosts that this test has", () => {
  const [example] = examplesOf("docs/guides/tenants.md", "ts")
  for (const [host, tenant] of Object.entries(hosts)) expect(example?.text).toContain(`"${host}": "${tenant}"`)
})

it.skipIf(findProgram("curl") === null)("every line does what the page says", async () => {
  const [printed = ""] = await runLines(examplesOf("docs/guides/tenants.md", "sh"), {
    folder,
    env: { URL: server.server.address, PASSWORD: server.password },
    strict: false
  })
  expect(printed).toContain("Of acme")
  expect(printed).not.toContain("Of globex")
  expect(printed).toMatch(/401\n404\n$/)
})
