// Fields of related records in the admin app's lists: in the filter, as columns, and several fields in one change.
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

describe.skipIf(chromiumPath === null)("the filter through relations", () => {
  it("is chosen from the fields of related records, and is a chip in words", async () => {
    await using({}, async (page, list) => {
      await list.open("orders")
      await page.keyboard.press("f")
      await page.getByLabel("Search", { exact: true }).waitFor()
      await page.getByRole("button", { name: "Fields of customer" }).click()
      expect(await axeAgain(page)).toEqual([])
      await page.getByRole("button", { name: "Country", exact: true }).click()
      // The countries of the orders, with the number of orders: those of `:facets` over the path.
      const norway = page.getByRole("checkbox", { name: /^Norway/ })
      await norway.check()
      await page.getByRole("button", { name: "Apply" }).click()
      await expect.poll(() => list.query().get("filter")).toBe("customer.country = \"NO\"")
      await expect.poll(() => list.chips()).toEqual(["Customer → Country\nis\nNorway"])
      const { body } = await stage.call("admin", "GET", "/orders?count=exact&page_size=1&filter=customer.country%3DNO")
      await expect.poll(list.rows).toBe(body["total_size"])
      // Typed words find fields further away, and the number of related records is a subject, too.
      await page.keyboard.press("f")
      await page.getByLabel("Search", { exact: true }).fill("lines stock")
      await page.getByRole("button", { name: "Lines → Product → Stock" }).click()
      await page.getByLabel("Value", { exact: true }).fill("5")
      await page.getByRole("button", { name: "Apply" }).click()
      await page.keyboard.press("f")
      await page.getByRole("button", { name: "Fields of lines" }).click()
      await page.getByRole("button", { name: "Number", exact: true }).click()
      await page.getByLabel("Value", { exact: true }).fill("2")
      await page.getByRole("button", { name: "Apply" }).click()
      await expect.poll(() => list.chips()).toEqual([
        "Customer → Country\nis\nNorway",
        "Lines → Product → Stock\nat least\n5",
        "Lines\nat least\n2"
      ])
      await list.row(0).waitFor()
    })
  })

  it("is completed behind a relation and within the quotes of has, and what is typed becomes chips", async () => {
    await using({}, async (page, list) => {
      await list.open("orders")
      await page.getByRole("button", { name: "Edit as text" }).click()
      const text = page.getByRole("textbox", { name: "Filter as text" })
      await text.waitFor()
      await page.keyboard.type("cust")
      await page.getByRole("option", { name: /^customer ?Customer · Customers/ }).click()
      // Behind the relation the fields of its records are offered at once.
      await page.getByRole("option", { name: /^country/ }).click()
      await page.keyboard.type(" = N")
      await page.getByRole("option", { name: "NO", exact: true }).click()
      await page.keyboard.type(" AND has(li")
      await page.getByRole("option", { name: /^lines/ }).click()
      await page.keyboard.type(", \"product.st")
      await page.getByRole("option", { name: /^stock/ }).click()
      await page.keyboard.type(" > 1\")")
      expect(await text.innerText()).toBe("customer.country = NO AND has(lines, \"product.stock > 1\")")
      await page.getByRole("button", { name: "Apply" }).click()
      await expect.poll(() => list.chips()).toEqual([
        "Customer → Country\nis\nNorway",
        "Lines → Product → Stock\nover\n1"
      ])
    })
  })
})
