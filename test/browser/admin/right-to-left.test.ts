// A page that is written from right to left: a text in Latin letters that is too long loses its end there, too, and not its beginning.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { goWithin } from "./pages/app.ts"
import { opener, type Stage, startStage } from "./stage.ts"

let stage: Stage

const long = `Begin ${"of a text in Latin letters ".repeat(20)}end`

beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage({ webhooks: { allowPrivateAddresses: true } })
  const make = async (path: string, data: object): Promise<Record<string, unknown>> => {
    const { body, status } = await stage.call("admin", "POST", path, data)
    expect(status, JSON.stringify(body)).toBe(201)
    return body
  }
  await make("/webhook_subscriptions", {
    name: long.slice(0, 90),
    url: `https://receiver.example/${"path/".repeat(40)}`,
    events: "orders.*"
  })
  await stage.database.execute(
    `select jobs.enqueue('test/${"long_".repeat(18)}', '{}');
     update jobs._private_jobs set attempts = max_attempts, last_error = '${long}', updated_at = now()`
  )
  const { id } = await make("/products", { sku: "LONG", name: long.slice(0, 120), category: "tables", price: "10" })
  await stage.database.execute(`update shop.order_lines set product_id = ${String(id)} where order_id = 1`)
})
afterAll(() => stage?.stop())

const using = opener(() => stage, () => [], { language: "ar" })

/** Texts that are cut, and those among them whose first letter is out of sight. */
const cutTexts = (page: Page): Promise<{ readonly cut: number; readonly wrong: readonly string[] }> =>
  page.evaluate(() => {
    let cut = 0
    const wrong: string[] = []
    for (const element of document.querySelectorAll("main *")) {
      if (getComputedStyle(element).textOverflow !== "ellipsis" || element.scrollWidth <= element.clientWidth + 1) {
        continue
      }
      const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode()
      if (text === null || !/^\s*[A-Za-z]/.test(text.textContent ?? "")) continue
      cut++
      const letter = document.createRange()
      letter.setStart(text, 0)
      letter.setEnd(text, 1)
      const [seen, box] = [letter.getBoundingClientRect(), element.getBoundingClientRect()]
      if (seen.left < box.left - 1 || seen.right > box.right + 1) {
        wrong.push(`${element.tagName}: ${text.textContent ?? ""}`)
      }
    }
    return { cut, wrong }
  })

describe.skipIf(chromiumPath === null)("right to left", () => {
  it("keeps the full stop of the service's own sentences at their end", async () => {
    await using({ allow: /403/ }, async (page) => {
      const detail = "You may not do this."
      await page.route(/\/api\/v1\/orders(\?|:seek|:search)/, (route) =>
        route.fulfill({
          status: 403,
          contentType: "application/problem+json",
          body: JSON.stringify({ type: "urn:service:problem:access-denied", status: 403, title: "Denied", detail })
        }))
      await page.goto(`${stage.url}/orders`)
      const [first, last] = await page.getByRole("alert").getByText(detail).evaluate((element) => {
        const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode()!
        return [0, text.textContent!.length - 1].map((at) => {
          const letter = document.createRange()
          letter.setStart(text, at)
          letter.setEnd(text, at + 1)
          return letter.getBoundingClientRect().left
        })
      })
      expect(last).toBeGreaterThan(first!)
    })
  })

  it("keeps the beginning of long Latin texts", async () => {
    const pages: ReadonlyArray<readonly [path: string, text: string]> = [
      ["/-/jobs", "Begin"],
      ["/-/jobs/queues", "long_"],
      ["/-/webhooks", "Begin"],
      // A record's related rows, and a list.
      ["/orders/1", "Begin"],
      [`/products?filter=${encodeURIComponent("sku = LONG")}`, "Begin"]
    ]
    await using({ width: 1_000 }, async (page, _sent, quiet) => {
      await page.goto(`${stage.url}/customers`)
      await page.getByRole("grid").waitFor()
      for (const [path, text] of pages) {
        await goWithin(page, path)
        await page.getByText(text).first().waitFor()
        await quiet()
        const folder = process.env["SCREENSHOTS"]
        if (folder !== undefined) await page.screenshot({ path: `${folder}/rtl-${path.replaceAll(/\W+/g, "-")}.png` })
        for (const way of await page.locator("[data-flips]").all()) {
          expect(await way.evaluate((picture) => getComputedStyle(picture).transform)).toBe("matrix(-1, 0, 0, 1, 0, 0)")
        }
        const { cut, wrong } = await cutTexts(page)
        expect([path, cut > 0, wrong]).toEqual([path, true, []])
      }
    })
  })
})
