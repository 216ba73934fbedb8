// A list in groups, in a real browser: what the address says, folding by keys and by the pointer, sums, editing, opening, and changes by others.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { axe, axeAgain, opener, otherLooks, type Stage, startStage } from "./stage.ts"

let stage: Stage
const ids: Record<string, string> = {}

const filter = encodeURIComponent("total >= 900000")

beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage()
  const { body } = await stage.call("admin", "GET", "/orders?page_size=1&fields=customer_id,owner_id")
  const [first] = body["items"] as ReadonlyArray<{ readonly customer_id: string; readonly owner_id: string }>
  const make = async (name: string, status: string, total: string, ship_country: string): Promise<void> => {
    const { customer_id, owner_id } = first!
    const made = await stage.call("admin", "POST", "/orders", { customer_id, owner_id, status, total, ship_country })
    expect(made.status).toBe(201)
    ids[name] = String(made.body["id"])
  }
  await make("draft", "draft", "900001.50", "DE")
  await make("paid", "paid", "900002.25", "NO")
  await make("more", "paid", "900003.00", "DE")
})
afterAll(() => stage?.stop())

const grouped = (page: Page, url: string) => {
  const grid = page.getByRole("treegrid", { name: "Orders" })
  return {
    grid,
    head: (text: RegExp) => grid.locator("[data-line]").filter({ hasText: text }),
    row: (name: string) => grid.getByRole("row").filter({ has: page.locator(`[href$="/orders/${ids[name]}"]`) }),
    /** Makes the row of an order the active one. */
    enter: async (name: string) => {
      await grid.getByRole("row").filter({ has: page.locator(`[href$="/orders/${ids[name]}"]`) }).getByRole("gridcell")
        .nth(3).click()
      await page.keyboard.press("Home")
    },
    texts: () => grid.locator("[data-line]").allTextContents(),
    open: async (group = "status", more = "") => {
      await page.goto(`${url}/orders?group=${group}&filter=${filter}${more}`)
      await grid.locator("[data-line]").first().waitFor()
    }
  }
}

const using = opener(() => stage, (page, url) => [grouped(page, url)])

describe.skipIf(chromiumPath === null)("a list in groups", () => {
  it("is chosen in the header, has counts and sums, and comes back by its address", async () => {
    await using({}, async (page, { grid, head, row, texts }) => {
      await page.goto(`${stage.url}/orders?filter=${filter}`)
      await page.getByRole("button", { name: "Group by" }).click()
      await page.getByRole("menuitem", { name: "Status", exact: true }).click()
      await expect.poll(texts).toEqual(["draft1Total 900,001.50 EUR", "paid2Total 1,800,005.25 EUR"])
      expect(new URL(page.url()).searchParams.get("group")).toBe("status")
      await row("draft").waitFor()
      await row("paid").waitFor()
      expect(await grid.getByRole("row").evaluateAll((rows) => rows.map((each) => each.getAttribute("aria-level"))))
        .toEqual([null, "1", "2", "1", "2", "2"])
      expect(await axe(page)).toEqual([])
      // By a second field.
      await page.getByRole("button", { name: "Then by" }).click()
      await page.getByRole("menuitem", { name: "Ship country" }).click()
      await expect.poll(async () => (await texts()).map((text) => text.replace(/\d.*$/, ""))).toEqual(
        ["draft", "Germany", "paid", "Germany", "Norway"]
      )
      await page.reload()
      await head(/^Norway/).waitFor()
      await page.getByRole("button", { name: "Do not group by status" }).click()
      await expect.poll(async () => (await texts()).map((text) => text.replace(/\d.*$/, ""))).toEqual([
        "Germany",
        "Norway"
      ])
      await page.goBack()
      await head(/^paid/).waitFor()
    })
  })

  it("folds by keys and by the pointer, and keeps that in the address", async () => {
    await using({}, async (page, { enter, grid, head, open, row }, sent) => {
      await open()
      await row("paid").waitFor()
      const folded = () => new URL(page.url()).searchParams.get("folded")
      await enter("paid")
      await page.keyboard.press("ArrowLeft")
      await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toMatch(/^paid/)
      await page.keyboard.press("ArrowLeft")
      await row("paid").waitFor({ state: "detached" })
      expect([folded(), await head(/^paid/).getAttribute("aria-expanded")]).toEqual(["paid", "false"])
      await page.keyboard.press("ArrowRight")
      await row("paid").waitFor()
      await page.keyboard.press("Shift+ArrowLeft")
      await expect.poll(() => grid.getByRole("row").count()).toBe(3)
      expect(folded()).toBe("*")
      // Folded groups read nothing.
      sent.length = 0
      await page.reload()
      await head(/^draft/).waitFor()
      await head(/^paid.*EUR/).waitFor()
      expect(sent.filter((each) => /orders:(?:search|seek)/.test(each))).toEqual([])
      await head(/^draft/).click()
      await row("draft").waitFor()
      expect(folded()).toBe("*,draft")
      await page.getByRole("button", { name: "Unfold all" }).click()
      await row("paid").waitFor()
      expect(folded()).toBeNull()
    })
  })

  it("opens, walks, edits and selects rows as any list; a row that belongs elsewhere says so until the list is read again", async () => {
    await using({}, async (page, { enter, head, open, row }) => {
      await open()
      await enter("draft")
      await page.keyboard.press("ArrowRight")
      await page.keyboard.press("Space")
      const panel = page.locator("[data-peek]")
      await panel.getByText("1 of 1").waitFor()
      // The head between them is passed.
      await page.keyboard.press("j")
      await page.keyboard.press("j")
      await panel.getByText("1 of 2").waitFor()
      await page.keyboard.press("Escape")
      await panel.waitFor({ state: "detached" })
      await enter("paid")
      await page.keyboard.press("x")
      await page.getByRole("toolbar", { name: "1 selected" }).waitFor()
      await page.keyboard.press("Escape")
      // The browser's own list of choices takes the focus where nobody sees it.
      await page.evaluate(() => {
        HTMLSelectElement.prototype.showPicker = () => {
          throw new Error("no list")
        }
      })
      await row("paid").getByRole("gridcell").filter({ hasText: "paid" }).click()
      await page.keyboard.press("F2")
      await page.locator("[data-editing] select").selectOption("shipped")
      await expect.poll(() => row("paid").first().getAttribute("title")).toBe("It is in another group now")
      await head(/^shipped1/).waitFor()
      await head(/^paid1/).waitFor()
      await page.keyboard.press("Control+z")
      await head(/^paid2/).waitFor()
      expect(await row("paid").first().getAttribute("title")).toBeNull()
    })
  })

  it("counts again when others change records", async () => {
    await using({}, async (_, { head, open, row }) => {
      await open()
      await row("more").waitFor()
      const { body } = await stage.call("admin", "GET", `/orders/${ids["more"]}`)
      const changed = await stage.call(
        "admin",
        "PATCH",
        `/orders/${ids["more"]}`,
        { status: "shipped" },
        String(body["etag"])
      )
      expect(changed.status).toBe(200)
      await head(/^shipped1/).waitFor()
      await head(/^paid1/).waitFor()
      await expect.poll(() => row("more").first().getAttribute("title")).toBe("It is in another group now")
    })
  })

  it("is by time, in the lengths that the chip has, and each group has its own rows", async () => {
    await using({}, async (page, { grid, head, open, texts }, sent) => {
      await open("month(created_at)")
      await expect.poll(async () => (await texts()).length).toBe(1)
      await head(/^\p{L}+ \d{4}3Total 2,700,006.75 EUR/u).waitFor()
      await page.getByRole("button", { name: /^Days, weeks, months or years of .*: months$/ }).click()
      await page.getByRole("menuitem", { name: "weeks" }).click()
      await page.waitForFunction(() => new URLSearchParams(location.search).get("group") === "week(created_at)")
      await head(/^.*\d{4}3Total/).waitFor()
      expect(sent.filter((each) => each.includes("orders:aggregate")).every((each) => each.includes("time_zone"))).toBe(
        true
      )
      await expect.poll(() => grid.locator("[data-index]:not([data-line]):not([aria-busy])").count()).toBe(3)
      expect(await axeAgain(page)).toEqual([])
      await open("year(created_at)")
      await head(/^\d{4}3/).waitFor()
      await page.goto(`${stage.url}/orders`)
      await page.getByRole("button", { name: "Group by" }).click()
      await page.getByRole("menuitem", { name: "Created", exact: true }).click()
      await page.waitForFunction(() => new URLSearchParams(location.search).get("group") === "month(created_at)")
      await page.locator("[data-line]").first().waitFor()
    })
  })

  it("is kept in a saved view", async () => {
    await using({}, async (page, { head, open }) => {
      await open("ship_country", "&folded=NO")
      await page.getByRole("button", { name: "Save view" }).click()
      await page.getByRole("textbox", { name: "Name" }).fill("By country")
      await page.keyboard.press("Enter")
      await page.getByRole("tab", { name: "By country" }).waitFor()
      await page.getByRole("tab", { name: "All" }).click()
      await page.getByRole("grid", { name: "Orders" }).waitFor()
      await page.getByRole("tab", { name: "By country" }).click()
      await head(/^Norway/).waitFor()
      expect(await head(/^Norway/).getAttribute("aria-expanded")).toBe("false")
      expect(await head(/^Germany/).getAttribute("aria-expanded")).toBe("true")
    })
  })

  it("says what to do where counting is refused", async () => {
    await using({ allow: /400/ }, async (page, { grid }) => {
      await page.route(/orders:aggregate/, (route) =>
        route.fulfill({
          status: 400,
          contentType: "application/problem+json",
          body: JSON.stringify({
            type: "urn:service:problem:expensive-query",
            title: "Expensive query",
            status: 400,
            detail: "The query would scan a big table from end to end.",
            errors: []
          })
        }))
      // Of an enum, lists say how many records each value has.
      await page.goto(`${stage.url}/orders?group=status`)
      await grid.locator("[data-line]").first().waitFor()
      await page.goto(`${stage.url}/orders?group=status,ship_country`)
      await page.getByText("Groups need a count of all records. A filter makes them fewer.").waitFor()
      await page.getByRole("button", { name: "Show rows without groups" }).click()
      await page.getByRole("grid", { name: "Orders" }).waitFor()
    })
  })

  it.each(otherLooks)("is accessible in %j", async (look) => {
    await using({ ...look, height: 700 }, async (page) => {
      await page.goto(`${stage.url}/orders?group=status,ship_country`)
      await page.locator("[data-line='2']").first().waitFor()
      await page.locator("[data-index]:not([aria-busy]):not([data-line])").first().waitFor()
      expect(await axeAgain(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
      if (process.env["SHOTS"]) {
        await page.screenshot({ path: `${process.env["SHOTS"]}/${look.theme}-${look.width}-${look.language}.png` })
      }
    })
  })
})
