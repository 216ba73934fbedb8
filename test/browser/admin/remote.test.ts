// What a source brings beside its lists: new records, files, links, and values that it has no right to. On phones, in the dark, from right to left.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../../support/cluster.ts"
import { deep } from "../../support/depth.ts"
import { chromiumPath } from "../chromium.ts"
import { goWithin } from "./pages/app.ts"
import { listPage } from "./pages/list.ts"
import { recordPage } from "./pages/record.ts"
import { axe, opener, type OpenOptions, type Stage, startStage } from "./stage.ts"
import { startStranger, strangeMeta, strangeModel, type Stranger, strangeView } from "./stranger.ts"

let stage: Stage
let stranger: Stranger

const writable = { create: true, update: true }

beforeAll(async () => {
  if (chromiumPath === null) return
  stranger = await startStranger(["gadgets"])
  const model = strangeModel("gadgets", {}, [
    {
      name: "paper",
      kind: "file",
      optional: true,
      writable,
      file: { accept: null, maxSize: 1_000_000, externalUrls: true }
    },
    { name: "state", kind: "enum", values: ["new", "constructor"], filterable: true, writable },
    { name: "at", kind: "timestamp", optional: true, writable },
    { name: "owner", kind: "text", optional: true, relation: "gadgets", filterable: true, writable }
  ])
  const view = strangeView("gadgets", {
    label: { singular: "Gadget", plural: "Gadgets" },
    columns: ["id", "name", "paper", "state", "at", "owner"],
    layout: [],
    nav: { group: null, order: 1, icon: "constructor", recent: { sort: "id", limit: 3 } },
    links: [
      { label: "Track", href: "https://track.example/{name}" },
      { label: "Itself", href: "/gadgets/{id}" },
      { label: "Elsewhere", href: "/settings" },
      { label: "Broken", href: "http://[{id}" },
      { label: "Script", href: "javascript:globalThis.harmed=1" }
    ]
  })
  stranger.answers.set("/api/meta", { body: strangeMeta([model], { gadgets: view }) })
  stage = await startStage({
    port: await freePort(),
    env: { SERVICE_SOURCES: JSON.stringify([{ url: stranger.url, label: "Stranger", resources: ["gadgets"] }]) }
  })
})
afterAll(async () => {
  await stage?.stop()
  await stranger?.close()
})

const record = {
  id: 1,
  name: "One / two",
  paper: { uri: "x", name: "paper.pdf", type: "application/pdf", size: 1_200, url: "https://files.example/paper.pdf" },
  state: "new",
  at: "2026-03-01T10:00:00Z",
  owner: null,
  etag: "\"1\"",
  permissions: { update: true, delete: true }
}

/** What the stranger has: these records, of which the first one can be read and written. */
const holds = (...items: readonly object[]): void => {
  stranger.got.length = 0
  for (const path of stranger.answers.keys()) if (path.startsWith("/api/v1/gadgets")) stranger.answers.delete(path)
  stranger.answers.set(
    "/api/v1/gadgets",
    () =>
      stranger.got.at(-1)?.method === "POST" && stranger.got.at(-1)?.path === "/api/v1/gadgets"
        ? { status: 201, headers: { etag: "\"2\"" }, body: { ...record, id: 2, name: "made", etag: "\"2\"" } }
        : { body: { items, next_page_token: "", prev_page_token: "", total_size_estimate: items.length, position: 0 } }
  )
  stranger.answers.set("/api/v1/gadgets/", { headers: { etag: "\"1\"" }, body: items[0] })
  stranger.answers.set("/api/v1/gadgets:upload", {
    body: { value: "ticket-17", file: { name: "new.txt", type: "text/plain", size: 5 }, derived: {} }
  })
}

const open = opener(() => stage, async (page, url) => {
  await page.context().grantPermissions(["local-network-access"], { origin: url })
  return [recordPage(page, url)]
})

const unharmed = async (page: Page): Promise<void> => {
  expect(await page.evaluate(() => "harmed" in globalThis)).toBe(false)
  expect(await page.locator("[href^='javascript:' i], [src^='javascript:' i]").count()).toBe(0)
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
}

describe.skipIf(chromiumPath === null)("a remote resource", () => {
  it("takes new records by its form, sent straight to the source (52, 53)", async () => {
    holds(record)
    await open({}, async (page, { input, open: show, save }, sent) => {
      await show("gadgets", "new")
      await input("name").fill("made")
      await input("state").selectOption("constructor")
      stranger.got.length = 0
      await save()
      await page.waitForURL(/\/gadgets\/2$/)
      const posts = sent.filter((line) => line.startsWith(`POST ${stranger.url}/gadgets `))
      expect(posts.map((line) => JSON.parse(line.replace(/^\S+ \S+ /, "")) as unknown)).toEqual([
        { name: "made", state: "constructor" }
      ])
      expect(stranger.got.find(({ method }) => method === "POST")?.token).toMatch(/^Bearer /)
      expect(sent.filter((line) => line.includes(`${stage.url}/api/v1/gadgets`))).toEqual([])
    })
  })

  it("has files: opened without a referrer, sent to the source, their ticket saved (37, 42, 53)", async () => {
    holds(record)
    await open({}, async (page, { box, open: show, save, toast }, sent) => {
      await show("gadgets", "1")
      const link = box("paper").getByRole("link", { name: "Open" })
      expect([await link.getAttribute("href"), await link.getAttribute("rel")]).toEqual([
        "https://files.example/paper.pdf",
        "noreferrer"
      ])
      await box("paper").locator("input[type=file]").setInputFiles({
        name: "new.txt",
        mimeType: "text/plain",
        buffer: Buffer.from("hello")
      })
      await box("paper").getByText("new.txt").waitFor()
      await box("paper").getByRole("button", { name: /^Replace/ }).waitFor()
      await save()
      await toast("Saved").first().waitFor()
      expect(sent.some((line) => line.startsWith(`POST ${stranger.url}/gadgets:upload?`))).toBe(true)
      expect(sent.find((line) => line.startsWith(`PATCH ${stranger.url}/gadgets/1 `))).toContain(
        JSON.stringify({ paper: "ticket-17" })
      )
      await unharmed(page)
    })
  })

  it("has the links that lead out or to what is drawn, and no others (53, 54)", async () => {
    holds(record)
    await open({}, async (page, { open: show }) => {
      await show("gadgets", "1")
      const links = page.locator("aside").getByRole("link")
      await links.first().waitFor()
      const shown = await links.evaluateAll((all) =>
        all.map((link) => [link.textContent?.trim(), link.getAttribute("href")])
      )
      expect(shown).toEqual([
        ["Track", "https://track.example/One%20%2F%20two"],
        ["Itself", "/gadgets/1"],
        ["Broken", "http://[1"]
      ])
      await unharmed(page)
    })
  })

  it.each<readonly [string, object]>([
    ["an address that runs a script", { paper: { ...record.paper, url: "javascript:globalThis.harmed=1" } }],
    ["an address that is none", {
      paper: { ...record.paper, url: "http://[", type: "image/png", variants: { card: { url: 5 } } }
    }],
    ["a file of other kinds", { paper: { uri: "x", name: { a: 1 }, type: 7, size: "big", url: ["x"], missing: "no" } }],
    ["half a character as a key", { owner: "\ud800", id: 1 }],
    ["times beyond all times", { at: "+275760-09-13T00:00:00.000Z" }],
    ["a number as a name", { name: 7, state: { deep: [] } }],
    ["a name that nobody sees", { name: "\u200b\u2060" }]
  ])("that answers %s breaks nothing, in the list and in the record", async (_, more) => {
    holds({ ...record, ...more })
    await open({}, async (page, { box }) => {
      await listPage(page, stage.url).open("gadgets")
      await unharmed(page)
      await goWithin(page, "/gadgets/1")
      await box("paper").waitFor()
      expect(await page.getByText("nobody expected").count()).toBe(0)
      await unharmed(page)
    })
  })

  // The last of them has all that the others have, so a quick run takes it alone.
  it.each<readonly [string, OpenOptions]>(([
    ["on a phone", { width: 320, height: 640, touch: true }],
    ["in the dark", { theme: "dark" }],
    ["from right to left", { language: "ar" }],
    ["on a phone, in the dark, from right to left", {
      width: 360,
      height: 640,
      theme: "dark",
      language: "ar",
      touch: true
    }]
  ] as const).slice(deep ? 0 : -1))("reads well %s: list, record, form", async (_, options) => {
    holds(record, { ...record, id: 2, name: "W".repeat(500) }, { ...record, id: 3, name: "מזלג \u202e", paper: null })
    await open(options, async (page, { open: show }) => {
      await listPage(page, stage.url).open("gadgets")
      expect(await axe(page)).toEqual([])
      await unharmed(page)
      await show("gadgets", "1")
      expect(await axe(page)).toEqual([])
      await unharmed(page)
      await show("gadgets", "new")
      expect(await axe(page)).toEqual([])
      await unharmed(page)
      const folder = process.env["SCREENSHOTS"]
      if (folder === undefined) return
      await listPage(page, stage.url).open("gadgets")
      await page.screenshot({
        path: `${folder}/remote-${options.width ?? 1280}-${options.theme ?? "light"}-${options.language ?? "en"}.png`
      })
    })
  })
})
