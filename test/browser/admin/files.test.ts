/** Files in the admin app, in a real browser: the shop's pictures in lists and records, and an invoice from its upload to its removal. */

import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { drawPictures } from "../../../examples/shop/pictures.ts"
import { chromiumPath } from "../chromium.ts"
import { listPage } from "./pages/list.ts"
import { opener, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage()
  await drawPictures(stage.database.url, { SERVICE_DATA: stage.data })
})
afterAll(() => stage?.stop())

const using = opener(() => stage, () => [])

/** Width of a picture as it was decoded; 0 while or where there is none. */
const pixels = (page: Page, inside: string) =>
  page.locator(`${inside} img`).first().evaluate((image) => (image as HTMLImageElement).naturalWidth)

describe.skipIf(chromiumPath === null)("files of the shop", () => {
  it("are pictures in the list of products, in the record, and on a phone", async () => {
    await using({}, async (page) => {
      await listPage(page, stage.url).open("products")
      // The variant for lists, not the upload.
      await expect.poll(() => pixels(page, "[data-index='0']")).toBe(400)
      await page.goto(`${stage.url}/products/1`)
      await expect.poll(() => pixels(page, "[role=group][aria-label=Image]")).toBe(400)
      await page.getByText(/JPEG · \d+ kB/).waitFor()
    })
    await using({ width: 390, touch: true }, async (page) => {
      await listPage(page, stage.url).open("products")
      await expect.poll(() => pixels(page, "[data-index='0']")).toBe(400)
    })
  })

  it("are pictures of products in the lines of an order", async () => {
    await using({}, async (page) => {
      await page.goto(`${stage.url}/orders/1`)
      await expect.poll(() => pixels(page, "[role=region][aria-label=Lines], section[aria-label=Lines]")).toBe(400)
    })
  })

  it("are photos of colleagues by signed links", async () => {
    await using({}, async (page) => {
      await listPage(page, stage.url).open("staff")
      await expect.poll(() => pixels(page, "[role=grid]")).toBe(480)
      expect(await page.locator("[role=grid] img").first().getAttribute("src")).toMatch(
        /^\/api\/files\/private\/1\/.*&sig=/
      )
    })
  })

  it("are asked for again when the links of a list have ended", async () => {
    await using({ allow: /403/ }, async (page) => {
      let lists = 0
      await page.route("**/api/v1/staff**", async (route) => {
        const answer = await route.fetch()
        const text = await answer.text()
        lists++
        await route.fulfill({ response: answer, body: lists === 1 ? text.replaceAll(/exp=\d+/g, "exp=1000") : text })
      })
      await listPage(page, stage.url).open("staff")
      await expect.poll(() => pixels(page, "[role=grid]")).toBe(480)
      expect(lists).toBeGreaterThan(1)
    })
  })

  it("take an invoice, show it again, and let it go", async () => {
    await using({}, async (page) => {
      await page.goto(`${stage.url}/orders/1`)
      const box = page.getByRole("group", { name: "Invoice" })
      await box.getByRole("button", { name: "Choose a file" }).waitFor()
      const pdf = "%PDF-1.4\n1 0 obj <</Type /Catalog>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n"
      await box.locator("input[type=file]").setInputFiles({
        name: "invoice 1.pdf",
        mimeType: "application/pdf",
        buffer: Buffer.from(pdf)
      })
      // Until the file has arrived there is nothing to save.
      await box.getByRole("button", { name: /^Replace/ }).waitFor()
      await page.keyboard.press("Control+s")
      const link = box.getByRole("link", { name: "Open" })
      await link.waitFor()
      const [href, rel] = [await link.getAttribute("href"), await link.getAttribute("rel")]
      expect(rel).toBe("noreferrer")
      const answer = await fetch(stage.url + href!)
      expect([answer.status, await answer.text()]).toEqual([200, pdf])

      await page.reload()
      await box.getByText("invoice 1.pdf").waitFor()
      await box.getByRole("button", { name: "Remove the file" }).click()
      await page.keyboard.press("Control+s")
      await expect.poll(async () => (await stage.call("admin", "GET", "/orders/1")).body["invoice"]).toBeNull()
      expect((await fetch(stage.url + href!)).status).toBe(404)
    })
  })
})
