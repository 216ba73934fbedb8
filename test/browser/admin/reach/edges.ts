/** Scenes of what is not the app's own or not its day: plugins, parts that fail, and the mails of development. */

import { expect } from "vitest"
import { jobsPage } from "../pages/jobs.ts"
import { listPage } from "../pages/list.ts"
import { pluginsPage } from "../pages/plugins.ts"
import type { PluginHost } from "../plugin-host.ts"
import type { Scene } from "./scene.ts"

/** The manifests that the pages of these scenes load: the example, and a plugin that fails. */
export const pluginsOf = async (host: PluginHost): Promise<readonly string[]> => {
  await host.example()
  const ruin = `const ruin = () => { throw new Error("The plugin is broken.") }
    export default { pages: { ruin }, actions: { fail: ruin } }`
  host.plugin("broken", { pages: { ruin: "Ruin" }, actions: { fail: { label: "Fail" } } }, ruin)
  return ["example", "broken"].map((name) => `${host.origin}/${name}/manifest.json`)
}

/** Where the views of these pages use plugins. */
export const components = {
  customers: { cells: { country: "map" } },
  products: { cells: { stock: "rating" }, inputs: { stock: "rating" } }
}

export const edges: readonly Scene[] = [
  {
    name: "plugins draw cells, an input and a page, and act",
    work: async ({ keys, open, page, seen, stage }) => {
      const list = listPage(page, stage.url)
      const map = page.getByRole("main").locator("svg circle").first()
      await open("/customers", list.row(0))
      await map.waitFor()
      await seen("list with cells of a plugin")
      await open("/-/plugins/countries", map)
      await seen("page of a plugin")

      const { body: product, status } = await stage.call("admin", "POST", "/products", {
        sku: "REACH",
        name: "Stool of stars",
        category: "tables",
        price: "10",
        stock: 2
      })
      expect(status, JSON.stringify(product)).toBe(201)
      const path = `/products/${String(product["id"])}`
      const stock = async () => (await stage.call("admin", "GET", path)).body["stock"]
      await open(path, page.getByRole("radio", { name: "2 stars" }))
      await seen("record with an input of a plugin")
      await keys.go(page.getByRole("radio", { name: "2 stars" }))
      await page.keyboard.press("ArrowRight")
      await page.keyboard.press("ArrowRight")
      await page.keyboard.press("Control+s")
      await expect.poll(stock).toBe(4)
      await keys.press(page.locator("header").getByRole("button", { name: "More" }))
      await keys.choose("Order twenty more")
      const question = page.getByRole("alertdialog")
      await question.waitFor()
      await seen("question of a plugin", "known")
      await keys.press(question.getByRole("button", { name: "Yes" }))
      await expect.poll(stock).toBe(24)
    }
  },
  {
    name: "plugins that fail leave the app as it is, and are listed",
    options: { allow: /broken|error occurred/ },
    work: async ({ keys, open, page, seen, stage }) => {
      const plugins = pluginsPage(page, stage.url)
      await open("/-/plugins/ruin", page.getByRole("main").getByRole("alert"))
      await seen("page of a plugin that failed")
      await plugins.entry("Plugins").focus()
      await page.keyboard.press("Enter")
      await plugins.item("broken").getByText("Failed", { exact: true }).waitFor()
      await seen("plugins")
      await keys.go(plugins.entry("Countries"), "Shift+Tab")
      await page.keyboard.press("Enter")
      await page.getByRole("main").locator("svg circle").first().waitFor()
    }
  },
  {
    name: "a page that crashed, or that a deployment removed, is tried again",
    options: { allow: /TypeError|error occurred|ERR_FAILED|dynamically imported/ },
    work: async ({ keys, open, page, seen, stage }) => {
      const jobs = jobsPage(page, stage.url)
      const alert = page.getByRole("main").getByRole("alert")
      // An answer that no service gives: the page throws while it is drawn.
      await page.route("**/api/jobs", (route) => route.fulfill({ json: { jobs: [null] } }))
      await open("/-/jobs/queues", alert)
      await seen("page that crashed", "known")
      await page.unroute("**/api/jobs")
      await keys.press(alert.getByRole("button", { name: "Try again" }))
      await jobs.row("orders/report").waitFor()

      await open("/customers", listPage(page, stage.url).row(0))
      await page.route("**/-/assets/**", (route) => route.abort())
      await keys.go(page.getByRole("link", { name: "Users", exact: true }), "Shift+Tab")
      await page.keyboard.press("Enter")
      await alert.getByRole("button", { name: "Load it" }).waitFor()
      await page.unroute("**/-/assets/**")
      await seen("page that cannot be loaded")
      await keys.press(alert.getByRole("button", { name: "Load it" }))
      await page.getByRole("heading", { name: "Users" }).waitFor()
    }
  },
  {
    name: "the mails of development are read",
    work: async ({ keys, page, seen, stage }) => {
      await page.goto(`${stage.url}/-/mail`)
      const mail = page.getByRole("link", { name: /password/i }).first()
      await mail.waitFor()
      await seen("mails")
      await keys.press(mail)
      await page.getByRole("link", { name: "All mails" }).waitFor()
      await seen("mail")
      await keys.press(page.getByRole("link", { name: "All mails" }))
      await mail.waitFor()
    }
  }
]
