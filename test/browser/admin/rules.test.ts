// Rules of the app that no other file is about: the reference, forms within the app, who made a version, and the client and hooks under it.
import { join } from "node:path"
import type { Page } from "playwright-core"
import sharp from "sharp"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { history, webhooks } from "../../../composition/index.ts"
import type * as Library from "../../../web/client/index.ts"
import { chromiumPath } from "../chromium.ts"
import { bundlePage } from "../page.ts"
import { recordPage } from "./pages/record.ts"
import { opener, type Stage, startStage } from "./stage.ts"

/** What the page of the client puts there. */
declare const library: typeof Library
declare const mount: (client: Library.Client, order: string) => void

let stage: Stage
let files: ReadonlyMap<string, string>

beforeAll(async () => {
  if (chromiumPath === null) return
  files = await bundlePage(join(import.meta.dirname, "../client-page.ts"))
  stage = await startStage({
    change: (config) => ({
      ...config,
      // What the proof of work costs, `client.test.ts` says.
      forms: { ...config.forms, difficulty: 8 },
      extends: [webhooks(), history({ resources: ["orders", "customers", "products", "messages"] })]
    })
  })
})
afterAll(() => stage?.stop())

const using = opener(() => stage, (page, url) => [recordPage(page, url)])

/** A page of the test's own on the service's origin, with the client and its hooks. */
const withClient = (allow: RegExp, work: (page: Page) => Promise<void>): Promise<void> =>
  using({ allow }, async (page) => {
    await page.route(`${stage.url}/-test/**`, (route) => {
      const name = new URL(route.request().url()).pathname.slice("/-test/".length)
      const contentType = name.endsWith(".html") ? "text/html" : "text/javascript"
      return route.fulfill({ status: files.has(name) ? 200 : 404, contentType, body: files.get(name) ?? "" })
    })
    await page.goto(`${stage.url}/-test/index.html`)
    await page.waitForFunction(() => "mount" in globalThis)
    await work(page)
  })

describe.skipIf(chromiumPath === null)("the app", () => {
  it("leads to the interactive reference, which asks nobody else for anything (11)", async () => {
    await using({}, async (page, record) => {
      await record.open("orders", "new")
      await page.getByRole("navigation", { name: "Navigation" }).getByRole("button", { name: /Account|admin/ }).click()
      const hosts = new Set<string>()
      page.context().on("request", (request) => hosts.add(new URL(request.url()).origin))
      const [reference] = await Promise.all([
        page.context().waitForEvent("page"),
        page.getByRole("menuitem", { name: "API reference" }).last().click()
      ])
      await reference.waitForURL(`${stage.url}/api/docs`)
      await reference.waitForLoadState("load")
      expect([...hosts].filter((host) => host !== "null")).toEqual([stage.url])
    })
  })

  it("leaves the page of a form to its own document, from a link within the app, too (14)", async () => {
    await using({}, async (page) => {
      await page.route("**/api/meta", async (route) => {
        const answer = await route.fetch()
        const meta = await answer.json() as { readonly userMenu: readonly object[] }
        await route.fulfill({
          response: answer,
          json: { ...meta, userMenu: [...meta.userMenu, { label: "Write to us", href: "/-/forms/contact" }] }
        })
      })
      await page.goto(`${stage.url}/orders`)
      await page.getByRole("grid").waitFor()
      await page.getByRole("navigation", { name: "Navigation" }).getByRole("button", { name: /Account|admin/ }).click()
      const [form] = await Promise.all([
        page.context().waitForEvent("page"),
        page.getByRole("menuitem", { name: "Write to us" }).click()
      ])
      await form.getByRole("heading", { level: 1, name: "Write to us" }).waitFor()
      expect(new URL(form.url()).pathname).toBe("/-/forms/contact")
    })
  })

  it("names the maker of a version to everybody who reads it, a visitor as one (36)", async () => {
    await using({ role: null }, async (page) => {
      await page.goto(`${stage.url}/-/forms/contact`)
      await page.locator("[name=name]").fill("Ruth")
      await page.locator("[name=email]").fill("ruth@example.org")
      await page.locator("[name=message]").fill("Hello")
      await page.getByRole("button", { name: "Send", exact: true }).click()
      await page.getByText("Thank you.").waitFor()
    })
    const { body } = await stage.call("admin", "GET", "/messages?order_by=id%20desc&page_size=1")
    const [message] = body["items"] as readonly Record<string, unknown>[]
    const changed = await stage.call(
      "sales",
      "PATCH",
      `/messages/${String(message!["id"])}`,
      { done: true },
      String(message!["etag"])
    )
    expect(changed.status).toBe(200)
    const makers = async (role: "admin" | "sales" | "viewer", language: string): Promise<readonly string[]> => {
      let found: readonly string[] = []
      await using({ role, language }, async (_, record) => {
        await record.open("messages", String(message!["id"]))
        await record.history.nth(1).waitFor()
        await expect.poll(() => record.history.first().locator("b").innerText()).toBe("sales")
        found = await record.history.locator("b").allInnerTexts()
      })
      return found
    }
    expect(await makers("admin", "en")).toEqual(["sales", "Visitor"])
    expect(await makers("admin", "de")).toEqual(["sales", "Gast"])
    // Who may not list accounts reads names, too.
    expect(await makers("viewer", "en")).toEqual(["sales", "Visitor"])
  })
})

describe.skipIf(chromiumPath === null)("the client", () => {
  it("takes a base, and an absolute one makes the addresses of files absolute; uploads tell how far they are (69, 71)", async () => {
    const picture = await sharp({ create: { width: 64, height: 48, channels: 3, background: "#3b82f6" } }).png()
      .toBuffer()
    await withClient(/^$/, async (page) => {
      const seen = await page.evaluate(async ([bytes, origin]) => {
        const relative = library.createClient()
        const absolute = library.createClient({ baseUrl: `${origin}/api/v1` })
        const progress: number[] = []
        const file = new File([Uint8Array.from(bytes)], "p.png", { type: "image/png" })
        const sent = await relative.upload("products", "image", file, {
          onProgress: ({ loaded }) => progress.push(loaded)
        })
        const [product] = (await relative.resource("products").list({ page_size: 1 })).items
        await relative.resource("products").update(product!["id"] as string, { image: sent.value }, {
          etag: product!.etag
        })
        const of = async (client: Library.Client) =>
          (await client.resource("products").get(product!["id"] as string))["image"] as unknown as Library.FileValue
        const [near, far] = [await of(relative), await of(absolute)]
        return {
          near: near.url,
          far: far.url,
          card: library.fileUrl(far, "card"),
          none: library.fileUrl(far, "nothing"),
          nobody: library.fileUrl(null),
          progress: [progress[0], progress.at(-1)],
          size: sent.file.size
        }
      }, [[...picture], stage.url] as const)
      expect(seen.near).toMatch(/^\/api\/files\//)
      expect(seen.far).toBe(stage.url + seen.near!)
      expect(seen.card).toMatch(new RegExp(`^${stage.url}/api/files/.*card`))
      expect([seen.none, seen.nobody]).toEqual([seen.far, null])
      expect([seen.progress, seen.size]).toEqual([[0, picture.length], picture.length])
    })
  })

  it("keeps of a source what its list names, and routes each call to the service that has the resource (70)", async () => {
    await withClient(/^$/, async (page) => {
      const seen = await page.evaluate(async () => {
        const own = library.createClient()
        const calls: string[] = []
        const source = { url: "https://other.example/api/v1", label: "Other", resources: ["parts"] }
        const meta = await own.meta()
        const model = (name: string) => ({ ...meta.models[0], name, relations: [] })
        const kept = library.sourceMeta(
          { models: [model("parts"), model("secrets")], views: {}, permissions: {} },
          source
        )
        const other = library.createClient({
          baseUrl: source.url,
          token: "t",
          fetch: (url) => {
            calls.push(url)
            return Promise.resolve(Response.json({ items: [], next_page_token: "", total_size_estimate: 0 }))
          }
        })
        const both = library.routedClient(own, (name) => name === "parts" ? other : null)
        await both.resource("parts").list({ page_size: 1 })
        const orders = await both.resource("orders").list({ page_size: 1 })
        return { kept: kept.models.map(({ name }) => name), calls, orders: orders.items.length }
      })
      expect(seen).toEqual({
        kept: ["parts"],
        calls: ["https://other.example/api/v1/parts?page_size=1"],
        orders: 1
      })
    })
  })

  it("reads a form, takes its challenge, solves it and sends (72)", async () => {
    await withClient(/400/, async (page) => {
      const seen = await page.evaluate(async () => {
        const client = library.createClient()
        const form = await client.form("contact")
        const challenge = await client.formChallenge("contact")
        const values = { name: "Eva", email: "eva@example.org", message: "Hello" }
        const proof = await library.solveChallenge(challenge)
        await client.submitForm("contact", values, proof)
        const again = await client.submitForm("contact", values, proof).catch((error: unknown) => error)
        return {
          title: form.title,
          challenge: Object.keys(challenge).toSorted(),
          again: again instanceof library.ProblemError ? [again.status, again.slug] : String(again)
        }
      })
      expect(seen).toMatchObject({
        title: "Write to us",
        challenge: ["challenge", "difficulty", "expires"],
        again: [400, "bot-check-failed"]
      })
    })
  })

  it("gives hooks the client, resources and the meta with the state of its sources (73)", async () => {
    const { body } = await stage.call("admin", "GET", "/orders?page_size=1")
    const id = String((body["items"] as readonly Record<string, unknown>[])[0]!["id"])
    await withClient(/404/, async (page) => {
      await page.evaluate((order) => mount(library.createClient(), order), id)
      await expect.poll(() => page.locator("#hooks").textContent()).toBe(JSON.stringify([true, "/api/v1", true]))
      await expect.poll(async () => JSON.parse(await page.locator("#meta").textContent() ?? "null") as unknown)
        .toMatchObject({
          models: expect.arrayContaining(["orders"]),
          sources: []
        })
    })
  })

  it("throws problems with their fields, spans, versions and waits (75)", async () => {
    await withClient(/4\d\d/, async (page) => {
      await page.route("**/api/v1/customers?*", (route) =>
        route.fulfill({
          status: 429,
          headers: { "retry-after": "20", "x-request-id": "request-75" },
          contentType: "application/problem+json",
          body: JSON.stringify({ type: "urn:service:problem:too-many-requests", status: 429, title: "Too many" })
        }))
      const seen = await page.evaluate(async () => {
        const client = library.createClient()
        const caught = (call: Promise<unknown>) =>
          call.then(() => null, (error: unknown) => error as Library.ProblemError)
        const filter = (await caught(client.resource("orders").list({ filter: "stattus = paid" })))!
        const body = (await caught(client.resource("customers").create({ name: "x" })))!
        const [order] = (await client.resource("orders").list({ page_size: 1 })).items
        const stale =
          (await caught(client.resource("orders").update(order!["id"] as string, { note: "x" }, { etag: "\"old\"" })))!
        const busy = (await caught(client.resource("customers").list({ page_size: 1 })))!
        return {
          typed: [filter, body, stale, busy].map((each) => each instanceof library.ProblemError),
          filter: [filter.status, filter.slug, filter.errors[0]?.span],
          body: [body.status, Object.keys(body.fields).toSorted()],
          stale: [stale.status, stale.etag === order!.etag],
          busy: [busy.status, busy.retryAfter, busy.requestId]
        }
      })
      expect(seen).toEqual({
        typed: [true, true, true, true],
        filter: [400, "invalid-filter", { start: 0, end: 7 }],
        body: [400, ["city", "country", "email"]],
        stale: [412, true],
        busy: [429, 20_000, "request-75"]
      })
    })
  })
})
