// Opening a record from a list: by its title, by the mark of its row, and by keys.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { listPage } from "./pages/list.ts"
import { axeAgain, opener, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  if (chromiumPath !== null) stage = await startStage()
})
afterAll(() => stage?.stop())

const using = opener(() => stage, (page, url) => [listPage(page, url)])

describe.skipIf(chromiumPath === null)("a record of a list", () => {
  it("is opened by its title, which is a link, and by the mark of its row", async () => {
    await using({}, async (page, list) => {
      // Every column of it may be edited.
      await list.open("customers", "?columns=name,email,city")
      const name = await list.cell(2, 0).innerText()
      const title = list.cell(2, 0).getByRole("link", { name, exact: true })
      const href = await title.getAttribute("href")
      expect(href).toMatch(/^\/customers\/\d+$/)
      const [tab] = await Promise.all([page.context().waitForEvent("page"), title.click({ button: "middle" })])
      await tab.waitForURL(`${stage.url}${href}`)
      await tab.close()
      expect(new URL(page.url()).pathname).toBe("/customers")
      await title.click()
      await page.waitForURL(`**${href}`)
      await page.goBack()
      await list.cell(2, 0).waitFor()
      // The way back leads to the same row.
      await expect.poll(() =>
        page.evaluate(() => document.activeElement?.closest("[data-index]")?.getAttribute("data-index"))
      )
        .toBe("2")
      await list.cell(3, 1).hover()
      expect(await axeAgain(page)).toEqual([])
      await list.row(3).getByTitle("Open").click()
      await page.getByRole("heading", { level: 1 }).waitFor()
      expect(new URL(page.url()).pathname).toMatch(/^\/customers\/\d+$/)
    })
  })

  it("is opened by Enter; typing, F2 and a double click beside the link edit", async () => {
    await using({}, async (page, list) => {
      await list.open("customers", "?columns=name,city")
      const editor = page.getByRole("grid").getByRole("textbox")
      await list.cell(0, 0).click({ position: { x: 4, y: 2 } })
      await page.keyboard.press("F2")
      await editor.waitFor()
      await page.keyboard.press("Escape")
      await page.keyboard.press("Z")
      await expect.poll(() => editor.inputValue()).toBe("Z")
      await page.keyboard.press("Escape")
      await list.cell(1, 1).dblclick()
      await editor.waitFor()
      await page.keyboard.press("Escape")
      await page.keyboard.press("Enter")
      await page.waitForURL(/\/customers\/\d+$/)
    })
  })

  it("whose columns all lead elsewhere is opened by its mark", async () => {
    await using({}, async (page, list) => {
      await list.open("orders", "?columns=customer_id,owner_id")
      expect(await list.cell(0, 0).getByRole("link").getAttribute("href")).toMatch(/^\/customers\//)
      await list.row(0).hover()
      await list.row(0).getByTitle("Open").click()
      await page.waitForURL(/\/orders\/\d+$/)
    })
  })
})
