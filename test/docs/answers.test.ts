/** What single pages of the documentation show of answers, settings and refusals is what the example shop and the compiler say. */

import { parseEnv } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { settingsOf } from "../../composition/environment.ts"
import type { Where } from "../../core/domain/access/rules.ts"
import { where } from "../../core/domain/access/where.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import type { TestService } from "../support/composed.ts"
import { examplesOf } from "./blocks.ts"
import { exchangesOf, runExchanges } from "./exchange.ts"
import { admin, startGenerated } from "./shop.ts"

let service: TestService
beforeAll(async () => {
  service = await startGenerated()
})
afterAll(() => service.close())

it.each([
  ["history", examplesOf("docs/reference/history.md", "http")],
  ["saved views", examplesOf("docs/reference/saved-views.md", "http")]
])("requests of %s are answered as their page says", async (_, blocks) => {
  await runExchanges(service, exchangesOf(blocks))
})

it("sizes have the members that the page of the meta document shows", async () => {
  const shown = JSON.parse(examplesOf("docs/reference/meta.md", "json")[1]!.text) as {
    readonly sizes: { readonly orders: object }
  }
  const { sizes } = (await service.get(admin, "/api/sizes?resources=orders")).json
  expect(Object.keys(sizes!["orders"]!)).toEqual(Object.keys(shown.sizes.orders))
})

it.each([
  ["deployment", examplesOf("docs/guides/deployment.md", "dotenv")],
  ["mail", examplesOf("docs/guides/mail.md", "dotenv")],
  ["operations", examplesOf("docs/guides/operations.md", "dotenv")]
])("the settings of %s are settings of the service", (_, blocks) => {
  const { refusals } = settingsOf({
    env: { AUTH_SECRET: "0123456789abcdef0123456789abcdef", ...parseEnv(blocks.map(({ text }) => text).join("\n")) }
  })
  expect(refusals).toEqual([])
})

/** What the start says about a wrong decimal, and about a rule. */
const refusalOf = (name: string, field: string, rule?: Where): string => {
  const wrong = defineResource(name, {
    primaryKey: "id",
    fields: { id: f.integer(), status: f.text().filterable(), [field]: f.decimal({ precision: 2, scale: 4 }) },
    ...(rule === undefined ? {} : { access: { delete: rule } })
  })
  try {
    compileOrThrow(defineConfig({ resources: [wrong] }))
    return ""
  } catch (error) {
    return String(error)
  }
}

it("refusals read as the pages show them", () => {
  expect(refusalOf("invoices", "amount")).toContain(examplesOf("docs/guides/getting-started.md", "text")[0]!.text)
  expect(refusalOf("orders", "total", where`statu = draft`)).toContain(
    examplesOf("docs/reference/resources.md", "text")[0]!.text
  )
})
