// Opening a record from a list, coming back to the same place, and lists whose number of rows is an estimate.
import type { Page } from "playwright-core"
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
      const [other] = await Promise.all([
        page.context().waitForEvent("page"),
        list.row(3).getByTitle("Open").click({ button: "middle" })
      ])
      await other.waitForURL(/\/customers\/\d+$/)
      await other.close()
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

  it("whose columns all lead elsewhere is opened by its mark, and from there", async () => {
    await using({}, async (page, list) => {
      await list.open("orders", "?columns=customer_id,owner_id")
      expect(await list.cell(0, 0).getByRole("link").getAttribute("href")).toMatch(/^\/customers\//)
      await list.row(0).hover()
      await list.row(0).getByTitle("Open").click()
      await page.getByRole("link", { name: "Open as a page" }).click()
      await page.waitForURL(/\/orders\/\d+$/)
    })
  })
})

/** Where the list stands: the first row in sight, the position of the thumb, the cell with the focus, and the selected rows. */
const standing = (page: Page) =>
  page.evaluate(() => {
    const scroller = document.querySelector("[role=grid]")!.parentElement!
    const { left, top } = scroller.getBoundingClientRect()
    const first = document.elementFromPoint(left + 100, top + 50)?.closest("[data-index]")
    const focus = document.activeElement?.closest("[data-column]")
    return {
      first: first?.getAttribute("data-index"),
      thumb: Math.round(scroller.scrollTop / 34),
      focus: [focus?.closest("[data-index]")?.getAttribute("data-index"), focus?.getAttribute("data-column")],
      selected: Array.from(
        document.querySelectorAll("[data-index][aria-selected=true]"),
        (row) => row.getAttribute("data-index")
      )
    }
  })

describe.skipIf(chromiumPath === null)("coming back to a list", () => {
  it("finds its rows, its thumb, its cell and its selection, whatever the way back", async () => {
    await using({}, async (page, list) => {
      await list.open("orders", "?order=id")
      await page.evaluate(() => document.querySelector("[role=grid]")!.parentElement!.scrollTo(0, 700 * 34))
      await list.cell(705, 3).waitFor()
      // The first click after a jump counts.
      await list.tick(705)
      await list.tick(707)
      await list.cell(710, 3).click()
      const before = await standing(page)
      expect(before).toMatchObject({ first: "700", focus: ["710", "3"], selected: ["705", "707"] })
      const ways: readonly (readonly [string, () => Promise<unknown>])[] = [
        ["the browser", () => page.goBack()],
        ["Escape", () => page.keyboard.press("Escape")],
        ["the path above", () => page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link").click()]
      ]
      for (const [name, back] of ways) {
        await page.keyboard.press("Enter")
        await page.waitForURL(/\/orders\/\d+$/)
        await page.getByRole("heading", { level: 1 }).waitFor()
        await back()
        await list.cell(710, 3).waitFor()
        await expect.poll(async () => [name, await standing(page)]).toEqual([name, before])
      }
      // From there, the wheel goes up.
      await list.cell(712, 3).hover()
      await page.mouse.wheel(0, -340)
      await expect.poll(async () => (await standing(page)).first).toBe("690")
      // The bar acts on what was selected, with records that it knows.
      await page.getByRole("toolbar").getByText("2 selected").waitFor()
      await page.getByRole("toolbar").getByRole("button", { name: "Delete" }).click()
      await page.getByRole("button", { name: "Delete 2 records" }).waitFor()
      await page.keyboard.press("Escape")
    })
  })

  it("finds the record that was gone on to, and a link elsewhere keeps the focus", async () => {
    await using({}, async (page, list) => {
      await list.open("orders", "?order=id&columns=id,total")
      await list.cell(2, 1).click()
      await page.keyboard.press("Enter")
      await page.waitForURL(/\/orders\/\d+$/)
      const title = page.getByRole("heading", { level: 1 })
      const first = await title.innerText()
      await page.getByRole("button", { name: "Next record" }).click()
      await expect.poll(() => title.innerText()).not.toBe(first)
      await page.getByRole("button", { name: "Next record" }).and(page.locator(":enabled")).waitFor()
      await page.keyboard.press("Escape")
      await page.keyboard.press("Escape")
      await list.cell(3, 1).waitFor()
      await expect.poll(async () => (await standing(page)).focus).toEqual(["3", "1"])
      const navigation = page.getByRole("navigation", { name: "Navigation" })
      await navigation.getByRole("link", { name: /^Customers/ }).click()
      await page.getByRole("heading", { name: "Customers" }).waitFor()
      const orders = navigation.getByRole("link", { name: /^Orders/ })
      await orders.click()
      await list.cell(3, 1).waitFor()
      expect(await orders.evaluate((link) => link === document.activeElement)).toBe(true)
      expect(await list.cell(3, 1).getAttribute("tabindex")).toBe("0")
    })
  })
})

describe.skipIf(chromiumPath === null)("a list beyond its estimate", () => {
  it("goes on to its last row, and its number is about so many until it is known", async () => {
    await using({}, async (page, list) => {
      const rows = Number((await stage.call("admin", "GET", "/orders?count=exact&page_size=1")).body["total_size"])
      let answer = () => {}
      const counted = new Promise<void>((resolve) => {
        answer = resolve
      })
      await page.route("**/api/v1/orders:search", async (route) => {
        const response = await route.fetch()
        const body = await response.json() as object
        await route.fulfill({ response, json: { ...body, total_size_estimate: 500, total_size_accuracy: "estimate" } })
      })
      await page.route(/orders\?.*count=exact/, async (route) => {
        await counted
        await route.continue()
      })
      await list.open("orders", "?order=id")
      expect(await list.rows()).toBe(500)
      await list.cell(0, 3).click()
      await page.keyboard.press("Control+End")
      // The service is still counting: the list goes on by what it has seen.
      await expect.poll(() => list.rows()).toBeGreaterThan(500)
      await page.locator("footer").getByText(/of about [67]00$/).waitFor()
      answer()
      await expect.poll(() => list.rows()).toBe(rows)
      await page.keyboard.press("Control+End")
      await list.row(rows - 1).and(page.locator(":not([aria-busy])")).waitFor()
      expect(await page.getByRole("main").getByText(/about/).count()).toBe(0)
    })
  })
})

describe.skipIf(chromiumPath === null)("what stands around the rows", () => {
  it("covers nothing: the heads keep their words beside their menus, and the grid is as wide as its frame", async () => {
    await using({ width: 1600 }, async (page, list) => {
      await list.open("orders")
      const heads = await page.evaluate(() => {
        const scroller = document.querySelector("[role=grid]")!.parentElement!
        const covered = [...document.querySelectorAll("[role=columnheader] [data-column]")].flatMap((button) => {
          const word = button.querySelector(".cut")!
          const menu = button.parentElement!.querySelector(".head-menu")!.getBoundingClientRect()
          const { left, right } = word.getBoundingClientRect()
          const whole = word.scrollWidth <= word.clientWidth
          return whole && (right <= menu.left || left >= menu.right) ? [] : [word.textContent]
        })
        return { covered, over: scroller.scrollWidth - scroller.clientWidth }
      })
      expect(heads).toEqual({ covered: [], over: 0 })
    })
  })

  it("says a currency once: in its column, or with the amount", async () => {
    await using({}, async (page, list) => {
      await list.open("orders", "?columns=id,total,currency")
      expect(await list.cell(0, 1).innerText()).toMatch(/^[\d,.]+$/)
      expect(await list.cell(0, 2).innerText()).toBe("EUR")
      await page.goto(`${stage.url}/orders?columns=id,total`)
      await expect.poll(() => list.cell(0, 1).innerText()).toMatch(/^[\d,.]+ EUR$/)
    })
  })

  it("adds up its numbers over all that it matches, by currency, once it is asked", async () => {
    await using({}, async (page, list, sent) => {
      const filter = encodeURIComponent("customer.country = DE AND status = paid")
      await list.open("orders", `?columns=id,total&filter=${filter}`)
      const sums = page.locator("footer").getByRole("button", { name: /^Σ Total/ })
      await sums.waitFor()
      expect(sent.filter((line) => line.includes(":aggregate"))).toEqual([])
      await sums.click()
      const { body } = await stage.call(
        "admin",
        "GET",
        `/orders:aggregate?group_by=currency&measures=sum(total)&filter=${filter}`
      )
      const groups = body["groups"] as ReadonlyArray<{
        readonly group: { readonly currency: string }
        readonly measures: { readonly "sum(total)": string }
      }>
      const texts = groups.map(({ group, measures }) => `${measures["sum(total)"]} ${group.currency}`)
      expect(texts.length).toBeGreaterThan(0)
      await expect.poll(async () => (await sums.innerText()).replaceAll(/(?<=\d),(?=\d{3})/g, "")).toBe(
        `Σ Total ${texts.join(", ")}`
      )
    })
  })

  it("says beside the thumb which row is the first, for as long as the thumb is held", async () => {
    // A page of its own: its clock is held.
    await using({ fresh: true }, async (page, list) => {
      await page.clock.install()
      await list.open("orders")
      const scroll = (top: number) =>
        page.evaluate((to) => document.querySelector("[role=grid]")!.parentElement!.scrollTo(0, to), top)
      // As while a thumb is held: the scroll does not end.
      await page.evaluate(() => {
        const hold = (event: Event): void => event.stopImmediatePropagation()
        addEventListener("scrollend", hold, true)
        Object.assign(globalThis, { letGo: () => removeEventListener("scrollend", hold, true) })
      })
      await scroll(700 * 34 + 10)
      const label = page.getByText(/^Row 702( ·|$)/)
      await label.waitFor()
      await page.locator("footer").getByText(/^Rows 702–/).waitFor()
      await page.clock.fastForward(5_000)
      expect(await label.count()).toBe(1)
      await page.evaluate(() => {
        ;(globalThis as unknown as { readonly letGo: () => void }).letGo()
        document.querySelector("[role=grid]")!.parentElement!.dispatchEvent(new Event("scrollend"))
      })
      await page.clock.fastForward(5_000)
      await label.waitFor({ state: "detached" })
    })
  })

  it("folds: groups of the sidebar, its one entry of the history, and the chart", async () => {
    await using({}, async (page, list, _, quiet) => {
      await list.open("orders")
      const navigation = page.getByRole("navigation", { name: "Navigation" })
      const history = navigation.getByRole("group", { name: "History" })
      expect(await history.getByRole("link").count()).toBe(0)
      await history.getByRole("button", { name: "History" }).click()
      await history.getByRole("link").nth(2).waitFor()
      await history.getByRole("link").first().click()
      await page.waitForURL(/_history$/)
      await history.getByRole("button", { name: "History" }).click()
      // Where somebody is stays in sight.
      await expect.poll(() => history.getByRole("link").count()).toBe(1)
      await list.open("orders")
      const sales = navigation.getByRole("group", { name: "Sales" })
      // Recent orders are told apart by their customers.
      await sales.getByRole("link", { name: /^#\d+ \p{L}+/u }).first().waitFor()
      await sales.getByRole("button", { name: "Sales" }).click()
      await expect.poll(() => sales.getByRole("link", { name: /^Customers/ }).count()).toBe(0)
      await page.getByRole("button", { name: "Fold the chart" }).click()
      await quiet()
      expect(await axeAgain(page)).toEqual([])
      await page.reload()
      await list.cell(0, 0).waitFor()
      await page.getByRole("button", { name: "Show the chart" }).click()
      expect(await sales.getByRole("link", { name: /^Customers/ }).count()).toBe(0)
      const by = page.getByRole("group", { name: "By status" })
      const { body } = await stage.call("admin", "GET", "/orders:facets?field=status&limit=50")
      const states = (body["facets"] as readonly { readonly value: string }[]).map(({ value }) => value)
      await expect.poll(async () => (await by.getByRole("button").allInnerTexts()).map((text) => text.split(/\s/)[0]))
        .toEqual(states)
      expect(await page.locator("[class*=stack] > i").count()).toBe(states.length)
      await by.getByRole("button", { name: /shipped/ }).click()
      await expect.poll(() => list.query().get("filter")).toBe("status = \"shipped\"")
    })
  })
})

describe.skipIf(chromiumPath === null)("on a phone", () => {
  it("whatever can be pressed has 44 px", async () => {
    await using({ width: 390, height: 844, touch: true }, async (page, list, _, quiet) => {
      const small = () =>
        page.evaluate(() =>
          [...document.querySelectorAll<HTMLElement>("a, button, input, select, [role=menuitem], [role=option]")]
            .flatMap(
              (element) => {
                const { bottom, height, left, right, top, width } = element.getBoundingClientRect()
                const inSight = width > 1 && right > 0 && left < innerWidth && bottom > 0 && top < innerHeight
                const hit = inSight && element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
                  // A link within a row is one with its row, which has the height.
                  element.closest("[role=row]") === null && element.tabIndex >= 0
                // The box around an input is what a finger hits.
                const box = element.closest(".input, label") ?? element
                const size = box === element ? { height, width } : box.getBoundingClientRect()
                return hit && (size.height < 43.5 || size.width < 43.5)
                  ? [`${element.textContent || element.getAttribute("aria-label")} ${size.width} x ${size.height}`]
                  : []
              }
            )
        )
      await list.open("orders", `?filter=${encodeURIComponent("status = paid")}`)
      await quiet()
      expect(await small()).toEqual([])
      await page.getByRole("button", { name: "Filter", exact: false }).last().click()
      await page.getByLabel("Search", { exact: true }).waitFor()
      expect(await small()).toEqual([])
      await page.keyboard.press("Escape")
      await page.locator("header").getByRole("button", { name: "More" }).click()
      await page.getByRole("menuitem").first().waitFor()
      expect(await small()).toEqual([])
      await page.keyboard.press("Escape")
      await page.getByRole("navigation", { name: "Go to" }).getByRole("button").click()
      await page.getByRole("navigation", { name: "Navigation" }).waitFor()
      await quiet()
      expect(await small()).toEqual([])
    })
  })
})
