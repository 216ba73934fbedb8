// Lists under a finger: a swipe moves them as far as it moves a plain scroller, with its momentum, at the top and where the scrollbar is squeezed.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { putThumb, swipe } from "../../../bench/web/watch.ts"
import { deep } from "../../support/depth.ts"
import { chromiumPath } from "../chromium.ts"
import { listPage } from "./pages/list.ts"
import { type OpenOptions, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  if (chromiumPath !== null) stage = await startStage()
})
afterAll(() => stage?.stop())

/** Thousands of rows in a scroller that knows nothing. */
const plain = `<body style="margin: 0; height: 100vh; display: flex">
  <div style="flex: 1; overflow: auto"><div role="grid" id="rows"></div></div>
</body>`

const fillPlain = (page: Page): Promise<void> =>
  page.evaluate(() => {
    const rows = Array.from({ length: 4_000 }, (_, index) => {
      const row = document.createElement("div")
      row.setAttribute("role", "row")
      row.setAttribute("style", "height: 34px; overflow: hidden")
      row.dataset["index"] = String(index)
      row.textContent = `Row ${index}`
      return row
    })
    document.getElementById("rows")!.replaceChildren(...rows)
  })

/** The service says that there are a million rows: what is read from beyond is the end of the list. */
const pretendMillion = (page: Page): Promise<unknown> =>
  page.route("**/api/v1/orders:search", async (route) => {
    const answer = await route.fetch()
    const body = await answer.json() as object
    await route.fulfill({
      response: answer,
      json: { ...body, total_size_estimate: 1_000_000, total_size_accuracy: "exact" }
    })
  })

const swipes = 3

const moved = async (options: OpenOptions, share: number): Promise<number> => {
  const { close, page } = await stage.open({ ...options, touch: true })
  await pretendMillion(page)
  await listPage(page, stage.url).open("orders")
  await expect.poll(() => page.getByRole("grid").getAttribute("aria-rowcount")).toBe("1000001")
  if (share > 0) await putThumb(page, share)
  const distance = await swipe(page, swipes)
  await close()
  return distance
}

describe.skipIf(chromiumPath === null)("a list under a finger", () => {
  it("keeps the momentum of swipes", async () => {
    const { close, page } = await stage.open({ touch: true })
    await page.route("**/plain", (route) => route.fulfill({ contentType: "text/html", body: plain }))
    await page.goto(`${stage.url}/plain`)
    await fillPlain(page)
    const usual = await swipe(page, swipes)
    await close()
    // More than the way of the finger: there is momentum.
    expect(usual).toBeGreaterThan(swipes * 300 * 1.5)
    const phone = { width: 390, height: 844 }
    const ways = [[phone, 0.5], ...deep ? [[{}, 0.5], [{}, 0], [phone, 0]] as const : []] as const
    for (const [options, share] of ways) {
      const times = await moved(options, share) / usual
      expect([options, share, times > 0.9 && times < 1.1 ? "as far" : times]).toEqual([options, share, "as far"])
    }
  })
})
