// How the page of a record treats the person in front of it: reasons beside what they are about, nothing that was typed lost or repeated, nothing that moves.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { recordPage } from "./pages/record.ts"
import { opener, type Stage, startStage } from "./stage.ts"

let stage: Stage
/** Values of an order that may be created. */
let order: Readonly<Record<string, unknown>>
let product: string

const first = async (path: string): Promise<Record<string, unknown>> =>
  ((await stage.call("admin", "GET", path)).body["items"] as readonly Record<string, unknown>[])[0]!

beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage()
  const customer = await first("/customers?page_size=1&order_by=name")
  const seller = await first("/staff?page_size=1&filter=active%20%3D%20true")
  order = { customer_id: customer["id"], owner_id: seller["id"], ship_country: "DE", total: "100.00" }
  product = String((await first("/products?page_size=1&order_by=name&filter=active%20%3D%20true"))["id"])
})
afterAll(() => stage?.stop())

const using = opener(() => stage, (page, url) => [recordPage(page, url)])

const newOrder = async (lines = 0): Promise<string> => {
  const { body, status } = await stage.call("admin", "POST", "/orders", {
    ...order,
    ...(lines === 0 ? {} : {
      lines: Array.from({ length: lines }, (_, at) => ({
        owner_id: order["owner_id"],
        position: at + 1,
        product_id: product,
        quantity: 1,
        unit_price: "10.00"
      }))
    })
  })
  expect(status, JSON.stringify(body)).toBe(201)
  return String(body["id"])
}

describe.skipIf(chromiumPath === null)("a refusal in a row", () => {
  it("of a new order stands beside its cell, which has the focus and is described by it", async () => {
    await using({ allow: /400/, height: 500 }, async (page, record) => {
      await record.open(
        "orders",
        "new",
        `?customer_id=${String(order["customer_id"])}&owner_id=${String(order["owner_id"])}`
      )
      await record.input("ship_country").fill("FR")
      await page.getByRole("button", { name: /^Add order line/ }).click()
      const added = record.rows("Lines").locator("tr[data-added]")
      await added.getByRole("combobox", { name: "Product" }).click()
      await page.getByRole("listbox").getByRole("option").first().click()
      const quantity = added.getByRole("textbox", { name: "Quantity" })
      await quantity.fill("-3")
      await added.getByRole("textbox", { name: "Unit price" }).fill("7.00")
      await record.save()
      const reason = added.locator(".hint[data-bad]")
      await reason.getByText("Must be at least 1.").waitFor()
      await expect.poll(() => quantity.evaluate((input) => input === document.activeElement)).toBe(true)
      expect(await quantity.getAttribute("aria-invalid")).toBe("true")
      expect(await quantity.getAttribute("aria-describedby")).toBe(await reason.getAttribute("id"))
      const [cell, box] = [await quantity.boundingBox(), await reason.boundingBox()]
      expect(box!.y).toBeLessThan(cell!.y + cell!.height + 10)
      expect(box!.y + box!.height).toBeLessThan(500)
      await page.getByText("One field needs a look").waitFor()
      // It is over once the value is another.
      await quantity.fill("3")
      await reason.waitFor({ state: "detached" })
      await record.save()
      await page.waitForURL(/\/orders\/\d+$/)
    })
  })

  it("of a stored order opens its cell and marks it, whether the form or the service refuses", async () => {
    const id = await newOrder(2)
    await using({ allow: /400/ }, async (page, record) => {
      await record.open("orders", id)
      const row = record.rows("Lines").getByRole("row").nth(2)
      await row.getByRole("button", { name: "Quantity" }).click()
      const quantity = row.getByRole("textbox", { name: "Quantity" })
      await quantity.fill("many")
      const reason = row.locator(".hint[data-bad]")
      await reason.waitFor()
      await record.input("note").fill("with a row")
      await record.save()
      await expect.poll(() => quantity.evaluate((input) => input === document.activeElement)).toBe(true)
      await quantity.fill("-3")
      await reason.waitFor({ state: "detached" })
      await record.save()
      await reason.getByText("Must be at least 1.").waitFor()
      await expect.poll(() => quantity.evaluate((input) => input === document.activeElement)).toBe(true)
      expect(await quantity.getAttribute("aria-describedby")).toBe(await reason.getAttribute("id"))
      expect(await page.getByRole("alert").count()).toBe(0)
      await quantity.fill("4")
      await record.save()
      await record.toast("Saved").waitFor()
    })
  })
})
