// Lists as a gallery, in a real browser: pictures, keys in two dimensions, selection, a record beside it, and a viewer's fields.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { axe, axeAgain, opener, otherLooks, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  if (chromiumPath !== null) stage = await startStage()
})
afterAll(() => stage?.stop())

const gallery = (page: Page, url: string) => ({
  tile: (index: number) => page.locator(`[data-index="${index}"]`),
  open: async (more = "") => {
    await page.goto(`${url}/products?layout=gallery&by=image${more}`)
    await page.locator("[role=gridcell][data-key]").first().waitFor()
  },
  focused: () => page.evaluate(() => Number((document.activeElement as HTMLElement | null)?.dataset["index"] ?? -1)),
  across: async () => Number(await page.getByRole("grid").getAttribute("aria-colcount"))
})
const using = opener(() => stage, (page, url) => [gallery(page, url)], { width: 1_280 })

describe.skipIf(chromiumPath === null)("a gallery", () => {
  it("shows pictures with titles and fields, is chosen in the header, and comes back where it was left", async () => {
    await using({}, async (page, { across, focused, open, tile }) => {
      await page.goto(`${stage.url}/products`)
      await page.getByRole("button", { name: "Layout" }).click()
      await page.getByRole("menuitem", { name: "Gallery by image" }).click()
      await tile(0).waitFor()
      expect(new URL(page.url()).search).toContain("layout=gallery&by=image")
      expect(await tile(0).locator("small").count()).toBeLessThanOrEqual(3)
      // The room of pictures is there before them: all are equally high.
      const heights = await page.locator("[role=gridcell]").evaluateAll((
        all
      ) => [...new Set(all.map((each) => each.clientHeight))])
      expect(heights).toHaveLength(1)
      expect(await axe(page)).toEqual([])
      await open()
      const wide = await across()
      expect(wide).toBeGreaterThan(3)
      await tile(0).focus()
      for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"]) await page.keyboard.press(key)
      await expect.poll(focused).toBe(2 * wide + 1)
      await page.keyboard.press("Home")
      await expect.poll(focused).toBe(2 * wide)
      await page.keyboard.press("Control+End")
      const total = Number(await page.getByRole("grid").getAttribute("aria-rowcount"))
      await expect.poll(async () => Math.floor(await focused() / wide)).toBe(total - 1)
      const last = await focused()
      await tile(last).getByRole("link").waitFor()
      await page.keyboard.press("Enter")
      await page.waitForURL(/\/products\/\d+/)
      await page.goBack()
      await tile(last).waitFor()
    })
  })

  it("selects by keys and clicks, and shows a record beside it that J walks", async () => {
    await using({}, async (page, { open, tile }) => {
      await open()
      await tile(1).focus()
      await page.keyboard.press("x")
      await tile(3).getByRole("link").click({ modifiers: ["Shift"] })
      await page.getByRole("toolbar").getByText("3", { exact: false }).first().waitFor()
      await expect.poll(() => page.locator("[role=gridcell][aria-selected=true]").count()).toBe(3)
      await page.keyboard.press("Escape")
      await expect.poll(() => page.locator("[role=gridcell][aria-selected=true]").count()).toBe(0)
      await tile(2).focus()
      await page.keyboard.press("Space")
      await page.locator("[data-peek] h1, [data-peek] h2").first().waitFor()
      const peeked = new URL(page.url()).searchParams.get("peek")
      expect(await page.locator("[role=gridcell][data-current]").getAttribute("data-key")).toBe(peeked)
      await page.locator("[data-peek]").getByRole("button", { name: /^Next/ }).click()
      await expect.poll(() => new URL(page.url()).searchParams.get("peek")).not.toBe(peeked)
    })
  })

  it("asks for nothing that is hidden", async () => {
    await using({ role: "viewer" }, async (page, { open }, sent) => {
      await open("&columns=name,cost,price")
      expect(sent.filter((each) => each.includes("/api/v1/") && each.includes("cost"))).toEqual([])
      expect(await page.getByRole("grid").innerHTML()).not.toContain("cost")
    })
  })

  it.each(otherLooks)("is accessible in %j", async (look) => {
    await using({ ...look, height: 700 }, async (page, { across, open }) => {
      await open()
      if (look.width === 320) expect(await across()).toBe(2)
      expect(await axeAgain(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    })
  })
})
