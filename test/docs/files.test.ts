/** The guide of files is true: its lines run in one shell against the example shop, and print what it says. */

import { spawn } from "node:child_process"
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { listen } from "../../adapters/http/node.ts"
import type { Listener } from "../../adapters/http/node.ts"
import { findProgram } from "../../scripts/programs.mjs"
import { tokenOf } from "../support/composed.ts"
import type { TestService } from "../support/composed.ts"
import { admin, readPage, startShop } from "./shop.ts"

const page = readPage("files", "guides")
const steps = [...page.matchAll(/^```sh\n([\s\S]*?)^```\n\n```text\n([\s\S]*?)^```$/gm)].map((
  [, lines = "", output = ""]
) => ({ lines, output }))

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
  expect(steps.length).toBe(page.match(/^```sh$/gm)?.length)
  expect(steps.length).toBeGreaterThan(4)
  const mark = "----- next -----"
  const script = steps.map(({ lines }) => lines).join(`echo '${mark}'\n`)
  const printed = await new Promise<string>((resolve, reject) => {
    const shell = spawn("bash", ["-euo", "pipefail"], {
      cwd: folder,
      env: { PATH: process.env["PATH"], URL: `http://127.0.0.1:${listener.port}`, TOKEN: tokenOf(admin) }
    })
    let text = ""
    shell.stdout.on("data", (chunk: Buffer) => text += chunk.toString())
    shell.stderr.on("data", (chunk: Buffer) => text += chunk.toString())
    shell.once("error", reject).once("close", () => resolve(text))
    shell.stdin.end(script)
  })
  expect(printed.split(`${mark}\n`)).toEqual(steps.map(({ output }) => output))
  expect((await readdir(join(folder, "data", "files"))).sort()).toEqual(["private", "public"])
})
