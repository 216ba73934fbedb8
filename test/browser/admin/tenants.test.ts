// Two tenants of one process in one browser: by host and by path, each has its own people, sessions and records, and the app works at all of them.
import type { BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createUser, defineConfig, defineResource, f, fromHost, fromPath } from "../../../composition/index.ts"
import { ensureWebApp } from "../../../composition/web.ts"
import { openServer, type TestServer } from "../../support/server.ts"
import { chromiumOfProcess, chromiumPath } from "../chromium.ts"

const notes = defineResource("notes", {
  primaryKey: "id",
  tenant: "tenant_id",
  fields: {
    id: f.integer().readOnly().dbDefault().filterable().sortable(),
    title: f.text().filterable()
  }
})

const schema =
  `create table notes (id integer generated always as identity primary key, title text not null, tenant_id text not null);
  insert into notes (title, tenant_id) values ('Of acme', 'acme'), ('Of globex', 'globex')`

const tenants = ["acme", "globex"] as const

const ways = [
  [
    "hosts",
    fromHost({ suffix: ".localhost", tenants }),
    (of: string, port: number) => `http://${of}.localhost:${port}`
  ],
  ["paths", fromPath({ prefix: "/t", tenants }), (of: string, port: number) => `http://localhost:${port}/t/${of}`]
] as const

describe.skipIf(chromiumPath === null).each(ways)("by %s", (_, tenant, urlOf) => {
  let server: TestServer
  let context: BrowserContext
  let page: Page
  const wrong: string[] = []

  beforeAll(async () => {
    await ensureWebApp(() => {})
    server = await openServer(defineConfig({ resources: [notes], auth: { tenant } }), { schema })
    for (const of of tenants) {
      await createUser(server.server.tenantAuths!.get(of)!, {
        email: `ann@${of}.example`,
        name: `Ann of ${of}`,
        password: server.password
      })
    }
    context = await (await chromiumOfProcess()).newContext({ locale: "en" })
    page = await context.newPage()
    page.on("pageerror", (error) => wrong.push(error.message))
    page.on("response", (response) => {
      // Whoever is not signed in yet is told so by this route.
      const isAsking = response.status() === 401 && response.url().endsWith("/api/auth/token")
      if (response.status() >= 400 && !isAsking) wrong.push(`${response.status()} ${response.url()}`)
    })
  })
  afterAll(async () => {
    await context?.close()
    await server?.close()
  })

  const at = (of: string, path: string) => `${urlOf(of, server.server.port)}${path}`
  const signIn = async (of: string) => {
    await page.goto(at(of, "/notes"))
    await page.getByLabel("Email").fill(`ann@${of}.example`)
    await page.getByLabel("Password", { exact: true }).fill(server.password)
    await page.getByRole("button", { name: "Sign in", exact: true }).click()
  }
  const title = (of: string) => page.getByText(`Of ${of}`, { exact: true }).first()

  it("somebody who is signed in at one is nobody at the other, and both sessions go on", async () => {
    await signIn("acme")
    await title("acme").waitFor()
    // The sign-in page of the other: the session of the first is none there.
    await signIn("globex")
    await title("globex").waitFor()
    expect(await title("acme").count()).toBe(0)
    await page.goto(at("acme", "/notes"))
    await title("acme").waitFor()
    expect(await title("globex").count()).toBe(0)
    expect(wrong).toEqual([])
  })

  it("a record, a new one, the people and the guides open, and links stay at the tenant", async () => {
    await page.goto(at("acme", "/notes"))
    await page.getByRole("link", { name: "Of acme" }).first().click()
    await page.waitForURL(at("acme", "/notes/1"))
    await page.getByRole("main").getByText("Of acme").first().waitFor()
    for (const path of ["/notes/new", "/-/users", "/-/audit", "/-/account", "/-/guides/tenants"]) {
      await page.goto(at("acme", path))
      await page.getByRole("main").getByRole("heading").first().waitFor()
      expect([path, await page.getByRole("heading", { name: /Not found|went wrong/ }).count()]).toEqual([path, 0])
    }
    const links = await page.getByRole("navigation", { name: "Navigation" }).getByRole("link").evaluateAll((all) =>
      all.map((link) => (link as HTMLAnchorElement).href)
    )
    expect(links.length).toBeGreaterThan(0)
    for (const link of links) expect(link.startsWith(at("acme", "/"))).toBe(true)
    expect(wrong).toEqual([])
  })
})
