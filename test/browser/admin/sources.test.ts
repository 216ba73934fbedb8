// Remote sources in the admin app: the warehouse beside the shop, and strangers that hang, fail, refuse and lie. The numbers are those of the rules.
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createServer, type Server as WebServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { warehouse } from "../../../examples/warehouse/config.ts"
import { freePort } from "../../support/cluster.ts"
import { openServer } from "../../support/server.ts"
import type { TestServer } from "../../support/server.ts"
import { chromiumPath } from "../chromium.ts"
import { listPage } from "./pages/list.ts"
import { pluginsPage } from "./pages/plugins.ts"
import { sourcesPage } from "./pages/sources.ts"
import { timeByHand, timeIsUp } from "./pages/time.ts"
import { axeAgain, opener, type Stage, startStage } from "./stage.ts"
import { startStranger, strangeMeta, strangeModel, type Stranger, strangeView } from "./stranger.ts"

let stage: Stage
let store: TestServer
let stranger: Stranger
/** Where a redirect of the stranger leads. */
let elsewhere: Stranger
/** Serves a plugin whose actions write to several services at once: the app's own pages never do. */
let plugins: WebServer
/** What stood in the header `Authorization` of its requests. */
const shownToPlugins: (string | undefined)[] = []

const writing = (...resources: readonly string[]): string =>
  `async ({ client, notify }) => {
  const batch = client.batch()
  for (const resource of ${JSON.stringify(resources)}) batch.create(resource, { name: "written at once" })
  await batch.send({ dryRun: true })
  notify("Sent.")
}`
const actions: { readonly [name: string]: string } = {
  "Own and source": writing("orders", "stock"),
  "Source and own": writing("stock", "orders"),
  "Two sources": writing("gadgets", "stock"),
  "One source": writing("gadgets", "parts")
}

const servePlugin = async (): Promise<WebServer> => {
  const names = Object.keys(actions).map((label) => [label.toLowerCase().replaceAll(" ", "-"), label] as const)
  const module = `export default { actions: { ${
    names.map(([name, label]) => `${JSON.stringify(name)}: ${actions[label]!}`).join(", ")
  } } }`
  const manifest = JSON.stringify({
    name: "writer",
    version: "1",
    module: "module.js",
    integrity: `sha384-${createHash("sha384").update(module).digest("base64")}`,
    provides: { actions: Object.fromEntries(names.map(([name, label]) => [name, { label, resources: ["orders"] }])) }
  })
  const server = createServer((request, response) => {
    shownToPlugins.push(request.headers.authorization)
    const isModule = request.url === "/module.js"
    response.writeHead(200, {
      "content-type": isModule ? "text/javascript" : "application/json",
      "access-control-allow-origin": "*"
    }).end(isModule ? module : manifest)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return server
}

beforeAll(async () => {
  if (chromiumPath === null) return
  const port = await freePort()
  stranger = await startStranger(["gadgets", "parts"])
  elsewhere = await startStranger(["gadgets"])
  store = await openServer(warehouse(`http://localhost:${port}`), {
    schema: readFileSync(new URL("../../../examples/warehouse/schema.sql", import.meta.url), "utf8")
  })
  const sources = [
    { url: `${store.url}/api/v1`, label: "Warehouse", resources: ["stock"] },
    { url: stranger.url, label: "Stranger", resources: ["gadgets", "parts"], roles: ["admin"] }
  ]
  plugins = await servePlugin()
  const manifest = `http://localhost:${(plugins.address() as AddressInfo).port}/manifest.json`
  stage = await startStage({
    port,
    env: { SERVICE_SOURCES: JSON.stringify(sources), SERVICE_PLUGINS: JSON.stringify([manifest]) }
  })
})
afterAll(async () => {
  await stage?.stop()
  await store?.close()
  await stranger?.close()
  await elsewhere?.close()
  plugins?.closeAllConnections()
  await new Promise((done) => plugins === undefined ? done(undefined) : plugins.close(done))
})

/** Kept where `SCREENSHOTS` names a folder, to be looked at. */
const picture = async (page: Page, name: string): Promise<void> => {
  const folder = process.env["SCREENSHOTS"]
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` })
}

const using = opener(() => stage, async (page, url) => {
  // The browser asks whether a page may call this machine: here it may.
  await page.context().grantPermissions(["local-network-access"], { origin: url })
  return [sourcesPage(page, url)]
})

/** The stranger behaves otherwise until the test ends. */
const told = async (answers: Parameters<Stranger["answers"]["set"]>[], work: () => Promise<void>): Promise<void> => {
  const before = new Map(stranger.answers)
  for (const answer of answers) {
    stranger.answers.delete(answer[0])
    stranger.answers.set(...answer)
  }
  stranger.got.length = 0
  try {
    await work()
  } finally {
    stranger.answers.clear()
    for (const [path, answer] of before) stranger.answers.set(path, answer)
  }
}

describe.skipIf(chromiumPath === null)("the warehouse in the shop", () => {
  it("is read with the person's own token, and drawn under its label beside the shop's own (51, 53)", async () => {
    await using({ role: "admin" }, async (page, sources, sent) => {
      await sources.open("/orders")
      await sources.entry("Warehouse", "Stock").click()
      const list = listPage(page, stage.url)
      await page.getByRole("heading", { name: "Stock" }).waitFor()
      await list.row(0).waitFor()
      expect(await list.texts(1, 2)).toEqual(["Armchair 1", "Shelf 2"])
      expect(new URL(page.url()).pathname).toBe("/stock")
      expect(await axeAgain(page)).toEqual([])
      await picture(page, "sources-list")
      // Straight to the source, and nothing of it by way of the shop (52).
      expect(sent.filter((each) => each.includes(`${store.url}/api/`)).length).toBeGreaterThan(1)
      expect(sent.filter((each) => each.includes(`${stage.url}/api/v1/stock`))).toEqual([])
      // A source's views name groups; it stands under its own label all the same, and its user menu and pages do not appear (54).
      await sources.group("Warehouse").waitFor()
      expect(
        await page.getByRole("navigation", { name: "Navigation" }).getByRole("heading", { name: "Warehouse" }).count()
      )
        .toBe(1)
    })
  })

  it("filters, charts its columns, and opens a record whose save names its version (53)", async () => {
    await using({ role: "admin" }, async (page, sources, sent) => {
      await sources.open("/stock?filter=" + encodeURIComponent("sku = \"NL-0007\""))
      const list = listPage(page, stage.url)
      await list.row(0).waitFor()
      expect(await list.rows()).toBe(1)
      await list.cell(0, 0).click()
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: /^Chest 7$/ }).waitFor()
      // The place is not drawn from the source: its key is shown, and leads nowhere (54).
      expect(await page.getByLabel("Place").count()).toBe(1)
      await page.getByLabel("Note").fill("Counted by hand")
      sent.length = 0
      const [written] = await Promise.all([
        page.waitForRequest((request) => request.method() === "PATCH"),
        page.keyboard.press("Control+s")
      ])
      expect(written.url()).toMatch(new RegExp(`^${store.url}/api/v1/stock/\\d+$`))
      expect(written.headers()["if-match"]).toMatch(/^".+"$/)
      expect(written.headers()["authorization"]).toMatch(/^Bearer /)
      await page.getByRole("status").getByText("Saved").first().waitFor()
      const [[note]] = await store.database.rows("select note from warehouse.stock where sku = 'NL-0007'") as [[string]]
      expect(note).toBe("Counted by hand")
    })
  })

  it("is searched by the palette like everything else (53)", async () => {
    await using({ role: "admin" }, async (page, sources) => {
      await sources.open("/orders")
      await sources.entry("Warehouse", "Stock").waitFor()
      await page.keyboard.press("Control+k")
      await page.getByRole("combobox").fill("Armchair 1")
      await page.getByRole("option", { name: /Armchair 1 Article/ }).first().click()
      await page.waitForURL(/\/stock\/\d+$/)
      await page.getByRole("heading", { name: /^Armchair 1/ }).waitFor()
    })
  })

  it("decides itself what somebody may do, and the shop who is told of it (3, 51)", async () => {
    await using({ role: "sales" }, async (page, sources, sent) => {
      await sources.open("/stock")
      const list = listPage(page, stage.url)
      await list.row(0).waitFor()
      expect(await page.getByRole("link", { name: /^New / }).count()).toBe(0)
      expect(await sources.group("Stranger").count()).toBe(0)
      await sources.open("/gadgets")
      await page.getByRole("heading", { name: "Not found" }).waitFor()
      expect(sent.filter((each) => each.includes(stranger.origin))).toEqual([])
    })
  })

  it("sends no batch over two services, and says why; one over a single source goes to it (60)", async () => {
    await using({ role: "admin" }, async (page, _, sent) => {
      const list = listPage(page, stage.url)
      const { action } = pluginsPage(page, stage.url)
      await list.open("orders")
      await list.cell(0, 0).click()
      await page.keyboard.press("Enter")
      await page.locator("header").getByRole("button", { name: "More" }).waitFor()
      const batches = () => sent.filter((each) => each.includes(":batchWrite"))
      for (const name of ["Own and source", "Source and own", "Two sources"]) {
        await action(name)
        const refusal = page.getByRole("status").locator("[data-tone=bad]", {
          hasText: "A batch writes to one service"
        })
        await refusal.waitFor()
        await refusal.getByRole("button").first().click()
        await refusal.waitFor({ state: "detached" })
        expect(batches()).toEqual([])
      }
      stranger.answers.set("/api/v1:batchWrite", { body: { results: [] } })
      await action("One source")
      await expect.poll(() => batches().map((each) => each.split(" ")[1]!.split("?")[0])).toEqual([
        `${stranger.url}:batchWrite`
      ])
      stranger.answers.delete("/api/v1:batchWrite")
    })
  })

  it("changes several records of a source in one batch, which goes to it (52, 60)", async () => {
    await using({ role: "admin" }, async (page, sources, sent) => {
      await sources.open("/stock")
      const list = listPage(page, stage.url)
      await list.row(0).waitFor()
      await list.tick(0)
      await list.tick(1)
      await page.getByRole("toolbar").getByRole("button", { name: "Edit" }).click()
      await page.getByLabel("Field").selectOption("note")
      await page.getByRole("dialog").getByLabel("New value").fill("counted")
      await page.getByRole("button", { name: "Check" }).click()
      await page.getByText("All 2 records pass.").waitFor()
      await page.getByRole("button", { name: "Change 2 records" }).click()
      await list.toast("2 records changed").waitFor()
      const batches = sent.filter((each) => each.includes(":batchWrite"))
      expect(batches.length).toBe(2)
      expect(batches.every((each) => each.startsWith(`POST ${store.url}/api/v1:batchWrite`))).toBe(true)
    })
  })
})

describe.skipIf(chromiumPath === null)("a source that", () => {
  it("hangs lets everything else work, says that it is loading, and after ten seconds why it is not there (56, 57)", async () => {
    await told([["/api/meta", { hangs: true }]], () =>
      using({ role: "admin", fresh: true }, async (page, sources) => {
        await page.addInitScript(timeByHand)
        await sources.open("/gadgets")
        await sources.loading.waitFor()
        await picture(page, "sources-loading")
        expect(await axeAgain(page)).toEqual([])
        await sources.entry("Stranger", "Gadgets").getByText("loading").waitFor()
        await sources.entry("Warehouse", "Stock").click()
        await listPage(page, stage.url).row(0).waitFor()
        await page.goBack()
        // All sources have as long, and the warehouse has answered.
        expect(new Set(await page.evaluate(timeIsUp))).toEqual(new Set([10_000]))
        await sources.notice.getByText("It did not answer within 10 seconds.").waitFor()
        await sources.notice.getByRole("heading", { name: "Stranger cannot be reached" }).waitFor()
        expect(await sources.group("Stranger").getByRole("link").allInnerTexts()).toEqual([
          expect.stringMatching(/^Gadgets\s+unreachable$/),
          expect.stringMatching(/^Parts\s+unreachable$/)
        ])
        expect(await axeAgain(page)).toEqual([])
        await picture(page, "sources-away")
      }))
  })

  it("fails says why, and is there after Try again (57)", async () => {
    await told([["/api/meta", {
      status: 500,
      body: { status: 500, title: "Broken", detail: "The stranger is broken." }
    }]], () =>
      using({ role: "admin", allow: /500/ }, async (page, sources) => {
        await sources.open("/gadgets")
        await sources.notice.getByText("The stranger is broken.").waitFor()
        stranger.answers.delete("/api/meta")
        stranger.answers.set("/api/meta", {
          body: strangeMeta([strangeModel("gadgets")], { gadgets: strangeView("gadgets") })
        })
        await sources.retry("Stranger").click()
        await listPage(page, stage.url).row(0).waitFor()
        // The source offers one of the two.
        expect(await sources.entry("Stranger", "parts").count()).toBe(0)
        await sources.open("/parts")
        await page.getByRole("heading", { name: "Not found" }).waitFor()
      }))
  })

  it("refuses the token ends nobody's session, and says so (57)", async () => {
    const refusal = { status: 401, body: { type: "urn:service:problem:unauthenticated", title: "No", status: 401 } }
    await told([["/api/meta", refusal]], () =>
      using({ role: "admin", allow: /401/ }, async (page, sources) => {
        await sources.open("/gadgets")
        await sources.notice.getByText("It does not accept your sign-in.").waitFor()
        await sources.open("/orders")
        await listPage(page, stage.url).row(0).waitFor()
        expect(await page.getByRole("dialog").count()).toBe(0)
      }))
    // Also where it refuses one call only.
    await told([["/api/v1/gadgets", refusal]], () =>
      using({ role: "admin", allow: /401/ }, async (page, sources) => {
        await sources.open("/gadgets")
        await page.getByRole("main").getByRole("alert").waitFor()
        expect(await page.getByRole("dialog").count()).toBe(0)
        await sources.entry("Warehouse", "Stock").click()
        await listPage(page, stage.url).row(0).waitFor()
      }))
  })

  it("leads elsewhere is not followed, with or without the token", async () => {
    elsewhere.got.length = 0
    const redirect = { status: 307, headers: { location: `${elsewhere.origin}/api/meta` } }
    await told([["/api/meta", redirect]], () =>
      using({ role: "admin" }, async (_, sources) => {
        await sources.open("/gadgets")
        await sources.notice.getByRole("heading", { name: "Stranger cannot be reached" }).waitFor()
        expect(stranger.got.length).toBeGreaterThan(0)
        expect(elsewhere.got).toEqual([])
      }))
  })

  it("fails after it answered keeps what was read; a failing call shows its error where it was made (58)", async () => {
    await told([], () =>
      using({ role: "admin", allow: /503/, fresh: true }, async (page, sources) => {
        await page.clock.install()
        await sources.open("/orders")
        await sources.entry("Stranger", "gadgets").waitFor()
        stranger.answers.set("/api/", { status: 503, body: { status: 503, title: "Away", detail: "Back at noon." } })
        await page.clock.fastForward(5_200)
        const before = stranger.got.length
        await sources.focus()
        await expect.poll(() => stranger.got.length).toBeGreaterThan(before)
        await sources.entry("Stranger", "gadgets").click()
        await page.getByRole("main").getByRole("alert").getByText("Back at noon.").waitFor()
        expect(await sources.group("Stranger").getByText("unreachable").count()).toBe(0)
      }))
  })

  it("changes is read again on focus and on a new version, and never without end (59)", async () => {
    let count = 0
    const meta = strangeMeta([strangeModel("gadgets")], { gadgets: strangeView("gadgets") })
    const restless = () => ({ body: meta, headers: { "x-meta-version": String(++count), etag: `"${count}"` } })
    const rows = { items: [], next_page_token: "", total_size_estimate: 0 }
    await told(
      [
        ["/api/meta", restless],
        ["/api/v1/gadgets", () => ({ body: rows, headers: { "x-meta-version": String(++count) } })]
      ],
      () =>
        using({ role: "admin", fresh: true }, async (page, sources) => {
          await page.clock.install()
          await sources.open("/gadgets")
          await sources.entry("Stranger", "gadgets").waitFor()
          const reads = () => stranger.got.filter(({ path }) => path === "/api/meta").length
          await expect.poll(() => stranger.got.some(({ path }) => path.startsWith("/api/v1/gadgets"))).toBe(true)
          // From here on the clock of the page goes only as far as it is told.
          await page.clock.pauseAt(Date.now() + 600_000)
          const untilNext = async () => {
            let waited = 0
            for (const before = reads(); reads() === before; waited += 250) await page.clock.runFor(250)
            return waited
          }
          // One may have been due, or on its way.
          await untilNext()
          // Each answer names a new version, and between two reads are five seconds all the same, give or take a step of the clock.
          expect(await untilNext()).toBeGreaterThanOrEqual(4_500)
        })
    )
  })

  it("lies gets nothing of the app: no markup, no name of the app's, no relation to its resources, no broken page", async () => {
    const script = "<img src=x onerror=\"globalThis.harmed=1\"><script>globalThis.harmed=1</script>"
    const model = strangeModel("gadgets", {
      relations: [{ name: "orders", field: "id", resource: "orders", targetField: "customer_id", many: true }]
    }, [
      {
        name: "order",
        kind: "relation",
        relation: "orders",
        filterable: true,
        writable: { create: true, update: true }
      },
      { name: "at", kind: "timestamp", writable: { create: true, update: true } }
    ])
    const view = strangeView("gadgets", {
      label: { singular: script, plural: script },
      columns: ["id", "name", "order", "at"],
      links: [{ label: "x", href: "javascript:globalThis.harmed=1" }]
    })
    const orders = strangeModel("orders")
    const meta = {
      ...strangeMeta([model, orders], { gadgets: view, orders: strangeView("orders", { label: { plural: "Lies" } }) }),
      userMenu: [{ label: "Lies", href: "javascript:globalThis.harmed=1" }],
      pages: [{ name: "lies", label: "Lies", href: "/lies" }]
    }
    const record = { id: "\ud800", name: script, order: { deep: [1] }, at: "never", etag: 5, permissions: "all" }
    const list = { items: [record, { ...record, id: 2 }], next_page_token: "", total_size_estimate: 2 }
    await told(
      [["/api/meta", { body: meta }], ["/api/v1/gadgets", { body: list }]],
      () =>
        using({ role: "admin" }, async (page, sources) => {
          await sources.open("/gadgets")
          await listPage(page, stage.url).row(1).waitFor()
          expect(await page.getByRole("heading", { level: 1 }).innerText()).toContain("<img src=x")
          expect(await page.evaluate(() => "harmed" in globalThis)).toBe(false)
          const all = await page.evaluate(() => document.documentElement.outerHTML)
          expect(all).not.toContain("javascript:")
          expect(all).not.toContain("Lies")
          await sources.open("/orders")
          await page.getByRole("heading", { name: "Orders" }).waitFor()
          expect(stranger.got.filter(({ path }) => path.startsWith("/api/v1/orders"))).toEqual([])
        })
    )
    // Answers that are none.
    await told(
      [["/api/v1/gadgets", { body: { items: [null, 7, "x"], total_size_estimate: "many" } }]],
      () =>
        using({ role: "admin" }, async (page, sources) => {
          await sources.open("/gadgets")
          await page.getByRole("main").getByRole("alert").waitFor()
          await page.keyboard.press("Control+k")
          await page.getByRole("combobox").fill("Armchair 1")
          await page.getByRole("option", { name: /Armchair 1 Article/ }).first().waitFor()
          await page.keyboard.press("Escape")
          await sources.open("/orders")
          await listPage(page, stage.url).row(0).waitFor()
        })
    )
  })

  it("gets the token only as long as the service names it", async () => {
    await using({ role: "admin" }, async (_, sources, sent) => {
      await sources.open("/orders")
      await sources.entry("Warehouse", "Stock").waitFor()
      const { port } = plugins.address() as AddressInfo
      // The entry stands before its service is asked.
      const hosts = (): string[] => [...new Set(sent.map((each) => new URL(each.split(" ")[1]!).origin))].toSorted()
      await expect.poll(() => hosts().filter((origin) => origin !== "null"))
        .toEqual([stage.url, store.url, stranger.origin, `http://localhost:${port}`].toSorted())
      expect(new Set(shownToPlugins)).toEqual(new Set([undefined]))
      expect(sent.join("\n")).not.toMatch(/eyJ/)
      expect(stranger.got.every(({ token }) => token?.startsWith("Bearer ") === true)).toBe(true)
    })
  })
})
