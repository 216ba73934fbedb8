/** The guide to views and functions is true: its SQL, its configuration and its requests, in order. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { expect, it } from "vitest"
import type { Config } from "../../core/domain/declare/config.ts"
import { startService } from "../support/composed.ts"
import { examplesOf, root } from "./blocks.ts"
import { exchangesOf, runExchanges } from "./exchange.ts"

const configuration = examplesOf("docs/guides/views-and-functions.md", "ts")
const statements = examplesOf("docs/guides/views-and-functions.md", "sql")
const requests = examplesOf("docs/guides/views-and-functions.md", "http")

it("every statement and request does what the page says", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "views-")))
  try {
    mkdirSync(join(folder, "node_modules"))
    symlinkSync(root, join(folder, "node_modules/resource-admin"))
    const file = join(folder, "admin.config.ts")
    writeFileSync(file, configuration.map(({ text }) => text).join("\n"))
    const { default: config } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as { default: Config }
    const service = await startService("postgres", {
      config,
      schema: statements.map(({ text }) => text.trim().replace(/;$/, "")).join(";\n"),
      rows: {}
    })
    try {
      await runExchanges(service, exchangesOf(requests))
      expect(service.unhandled).toEqual([])
    } finally {
      await service.close()
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})
