// Plugins in the admin app: the example's map, stars, page and action, and plugins that throw, hang, are missing, were changed or come from elsewhere (55).
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { listPage } from "./pages/list.ts"
import { pluginsPage } from "./pages/plugins.ts"
import { timeByHand, timeIsUp } from "./pages/time.ts"
import { digestOf, type PluginHost, startPluginHost } from "./plugin-host.ts"
import { axeAgain, opener, type Stage, startStage } from "./stage.ts"

let stage: Stage
let host: PluginHost
let elsewhere: PluginHost

const hostile = [
  "throws",
  "breaks",
  "wrong",
  "elsewhere",
  "lacks",
  "nothing",
  "page",
  "hangs",
  "waits"
]

beforeAll(async () => {
  if (chromiumPath === null) return
  host = await startPluginHost()
  elsewhere = await startPluginHost()
  const { files, plugin } = host
  await host.example()
  plugin(
    "throws",
    { cells: ["boom"], pages: { ruin: "Ruin" }, actions: { fail: { label: "Fail" } } },
    `
    const boom = () => { throw new Error("The cell is broken.") }
    export default { cells: { boom }, pages: { ruin: boom }, actions: { fail: () => { throw new Error("The action is broken.") } } }`
  )
  plugin("breaks", { cells: ["broken"] }, `throw new Error("The module is broken.")`)
  plugin(
    "wrong",
    { cells: ["changed"] },
    `globalThis.harmed = 1; export default { cells: { changed: () => "changed" } }`,
    {
      integrity: digestOf("another text")
    }
  )
  plugin("elsewhere", { cells: ["foreign"] }, "", { module: `${elsewhere.origin}/elsewhere/module.js` })
  elsewhere.files.set("/elsewhere/module.js", {
    body: `globalThis.harmed = 1; export default { cells: { foreign: () => "foreign" } }`
  })
  plugin("lacks", { cells: ["absent"] }, `export default { cells: {} }`)
  plugin("nothing", { cells: ["void"] }, `export const cells = {}`)
  files.set("/page/manifest.json", { body: "<h1>Not found</h1>", type: "text/html" })
  files.set("/hangs/manifest.json", "hangs")
  plugin("waits", { cells: ["late"] }, `await new Promise(() => {}); export default {}`)
  const plugins = ["example", ...hostile, "gone"].map((name) => `${host.origin}/${name}/manifest.json`)
  stage = await startStage({
    env: { SERVICE_PLUGINS: JSON.stringify(plugins) },
    components: {
      customers: {
        cells: {
          country: "map",
          name: "boom",
          kind: "broken",
          email: "changed",
          city: "foreign",
          customer_since: "late"
        }
      },
      products: { cells: { stock: "rating", sku: "absent", name: "void" }, inputs: { stock: "rating" } }
    }
  })
})
afterAll(async () => {
  await stage?.stop()
  await host?.close()
  await elsewhere?.close()
})

const picture = async (page: Page, name: string): Promise<void> => {
  const folder = process.env["SCREENSHOTS"]
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` })
}

const using = opener(
  () => stage,
  async (page, url) => {
    await page.context().grantPermissions(["local-network-access"], { origin: url })
    return [pluginsPage(page, url)]
  },
  // What the browser and React say of plugins that fail.
  { allow: /broken|Failed to (?:load|find)|integrity|ERR_|error occurred|404/ }
)

describe.skipIf(chromiumPath === null)("plugins", () => {
  it("draw the fields that a view names, and nothing of those that fail", async () => {
    await using({ role: "admin" }, async (page) => {
      const list = listPage(page, stage.url)
      await list.open("customers")
      const columns = await page.getByRole("columnheader").allInnerTexts()
      const column = (name: string) => columns.findIndex((text) => text.startsWith(name)) - 1
      const country = list.cell(0, column("Country"))
      await country.locator("svg circle").waitFor()
      expect(await country.innerText()).toMatch(/^[A-Z]{2}$/)
      for (const name of ["Name", "Email", "City"]) {
        expect(await list.cell(0, column(name)).innerText()).not.toMatch(/^(?:|changed|foreign|.*broken.*)$/i)
      }
      expect(await page.evaluate(() => "harmed" in globalThis)).toBe(false)
      expect(elsewhere.asked).toEqual([])
      expect(host.asked.filter((path) => path === "/example/manifest.json").length).toBe(1)
      expect(await axeAgain(page)).toEqual([])
      await picture(page, "plugins-list")
    })
  })

  it("are listed for admins with what went wrong", async () => {
    await using({ role: "admin", fresh: true }, async (page, plugins, _, quiet) => {
      await page.addInitScript(timeByHand)
      await page.clock.install()
      const list = listPage(page, stage.url)
      await list.open("products")
      await page.getByRole("grid").getByRole("img", { name: /of 5 stars/ }).first().waitFor()
      await page.getByRole("navigation", { name: "Navigation" }).getByRole("link", { name: "Customers", exact: true })
        .click()
      await page.getByRole("grid").locator("svg circle").first().waitFor()
      await plugins.entry("Plugins").click()
      await plugins.item("example").getByText("In use").waitFor()
      const failures: readonly (readonly [string, RegExp])[] = [
        ["throws", /A part of it failed.*The cell is broken/],
        ["breaks", /could not be run.*The module is broken/],
        ["wrong", /It was not run/],
        ["elsewhere", /not in the folder of its manifest/],
        ["lacks", /lacks a part.*cells\.absent/],
        ["nothing", /no default export/],
        ["/gone/", /manifest cannot be read/],
        ["/page/", /manifest cannot be read/],
        ["/hangs/", /manifest cannot be read/],
        ["waits", /could not be run.*10 s/]
      ]
      for (const [name, text] of failures) {
        // The time of the others is over when they have said what is wrong.
        if (name === "/hangs/") await page.evaluate(timeIsUp)
        if (name === "waits") {
          await quiet()
          await page.clock.fastForward(10_000)
        }
        await plugins.item(name).getByText("Failed", { exact: true }).waitFor()
        expect(await plugins.item(name).innerText(), name).toMatch(text)
      }
      expect(await axeAgain(page)).toEqual([])
      await picture(page, "plugins-page")
    })
    await using({ role: "viewer" }, async (page, plugins) => {
      await page.goto(`${stage.url}/-/plugins`)
      await page.getByRole("heading", { name: "Not found" }).waitFor()
      expect(await plugins.entry("Plugins").count()).toBe(0)
    })
  })

  it("edit a field, and the service checks what they give", async () => {
    await using({ role: "admin" }, async (page) => {
      const { body } = await stage.call("admin", "GET", "/products?page_size=1&order_by=id&filter=stock > 20")
      const [product] = body["items"] as readonly { readonly id: string; readonly stock: number }[]
      await page.goto(`${stage.url}/products/${product!.id}`)
      await page.getByRole("radio", { name: "4 stars" }).check({ force: true })
      await page.keyboard.press("Control+s")
      await page.getByRole("status").getByText("Saved").first().waitFor()
      const after = await stage.call("admin", "GET", `/products/${product!.id}`)
      expect(after.body["stock"]).toBe(4)
    })
  })

  it("draw pages and run actions, and what these throw is said", async () => {
    await using({ role: "admin" }, async (page, plugins) => {
      await page.goto(`${stage.url}/orders`)
      await plugins.entry("Countries").click()
      await page.getByRole("heading", { name: "Countries" }).waitFor()
      await page.getByRole("main").locator("svg circle").first().waitFor()
      await picture(page, "plugins-countries")
      await plugins.entry("Ruin").click()
      await page.getByRole("alert").getByText(/cannot be loaded|failed/).waitFor()
      await plugins.entry("Countries").click()
      await page.getByRole("main").locator("svg circle").first().waitFor()

      const { body } = await stage.call("admin", "GET", "/products?page_size=1&order_by=id desc")
      const [product] = body["items"] as readonly { readonly id: string; readonly stock: number }[]
      await page.goto(`${stage.url}/products/${product!.id}`)
      await plugins.action("Order twenty more")
      await page.getByRole("alertdialog").getByRole("button", { name: "Yes" }).click()
      await page.getByRole("status").getByText("Twenty more.").waitFor()
      const after = await stage.call("admin", "GET", `/products/${product!.id}`)
      expect(after.body["stock"]).toBe(product!.stock + 20)
      await plugins.action("Fail")
      await page.getByRole("status").getByText("Fail failed.").waitFor()
    })
  })

  it("act on selected records, which they get whole, and stand in the palette", async () => {
    interface Product {
      readonly id: string
      readonly stock: number
    }
    const products = async () =>
      (await stage.call("admin", "GET", "/products?page_size=2&order_by=id")).body["items"] as readonly Product[]
    const [first, second] = await products()
    await using({ role: "admin" }, async (page) => {
      const list = listPage(page, stage.url)
      // The action needs a field that the list does not show.
      await list.open("products", "?columns=name&order=id")
      await list.tick(0)
      await list.tick(1)
      const bar = page.getByRole("toolbar")
      await bar.getByRole("button", { name: "Order twenty more" }).click()
      await page.getByRole("alertdialog").getByRole("button", { name: "Yes" }).click()
      await list.toast("Twenty more.").waitFor()
      await bar.waitFor({ state: "detached" })
      expect((await products()).map(({ stock }) => stock)).toEqual([first!.stock + 20, second!.stock + 20])

      await list.tick(1)
      await bar.getByRole("button", { name: "Fail" }).waitFor()
      expect(await axeAgain(page)).toEqual([])
      await picture(page, "plugins-selection")
      await page.keyboard.press("Control+k")
      await page.getByRole("dialog").getByRole("combobox").fill("twenty")
      await page.getByRole("option", { name: "Order twenty more" }).click()
      await page.getByRole("alertdialog").getByRole("button", { name: "Yes" }).click()
      await bar.waitFor({ state: "detached" })
      expect((await products())[1]!.stock).toBe(second!.stock + 40)

      await page.goto(`${stage.url}/products/${first!.id}`)
      await page.locator("[data-field]").first().waitFor()
      await page.keyboard.press("Control+k")
      await page.getByRole("dialog").getByRole("combobox").fill("twenty")
      await page.getByRole("option", { name: "Order twenty more" }).click()
      await page.getByRole("alertdialog").getByRole("button", { name: "Yes" }).click()
      await expect.poll(async () => (await products())[0]!.stock).toBe(first!.stock + 40)
      // On other pages there is nothing to act on.
      await page.goto(`${stage.url}/products`)
      await page.locator("[data-index='0']:not([aria-busy])").waitFor()
      await page.keyboard.press("Control+k")
      await page.getByRole("dialog").getByRole("combobox").fill("twenty")
      await page.getByRole("option", { name: /Search products/ }).waitFor()
      expect(await page.getByRole("option", { name: "Order twenty more" }).count()).toBe(0)
    })
  })

  it("run under the app's policy, which names their folders and no more", async () => {
    const policy = (await fetch(stage.url, { headers: { accept: "text/html" } })).headers.get(
      "content-security-policy"
    )!
    const scripts = /script-src ([^;]+);/.exec(policy)![1]!.split(" ")
    expect(scripts).toEqual(["'self'", ...["example", ...hostile, "gone"].map((name) => `${host.origin}/${name}/`)])
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'")
    const form = (await fetch(`${stage.url}/-/forms/contact`, { headers: { accept: "text/html" } })).headers
    expect(form.get("content-security-policy")).toContain("script-src 'self';")
  })
})
