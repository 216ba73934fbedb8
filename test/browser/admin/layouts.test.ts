// Lists in other layouts, in a real browser: what the address says, moves by keys and by the pointer, refusals, and changes by others meanwhile.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { axe, axeAgain, opener, otherLooks, type Stage, startStage } from "./stage.ts"

let stage: Stage
let draft = ""
let paid = ""

const filter = encodeURIComponent("total >= 900000")

beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage()
  const { body } = await stage.call("admin", "GET", "/orders?page_size=1&fields=customer_id,owner_id")
  const [first] = body["items"] as ReadonlyArray<{ readonly customer_id: string; readonly owner_id: string }>
  const make = async (status: string, total: string): Promise<string> => {
    const { customer_id, owner_id } = first!
    const made = await stage.call("admin", "POST", "/orders", {
      customer_id,
      owner_id,
      status,
      total,
      ship_country: "DE"
    })
    expect(made.status).toBe(201)
    return String(made.body["id"])
  }
  draft = await make("draft", "900001.50")
  paid = await make("paid", "900002.25")
})
afterAll(() => stage?.stop())

const board = (page: Page, url: string) => {
  const column = (name: string) => page.getByRole("region", { name, exact: true })
  const card = (name: string, id: string) => column(name).locator(`[data-key="${id}"]`)
  return {
    column,
    card,
    open: async (by = "status") => {
      await page.goto(`${url}/orders?layout=board&by=${by}&filter=${filter}`)
      await page.getByRole("group", { name: /^Board by/ }).waitFor()
    },
    /** The card is there, and nothing of it is under way. */
    stands: (name: string, id: string) => column(name).locator(`[data-key="${id}"]:not([data-saving])`).waitFor()
  }
}

/** Wide enough for all columns: a card can be dragged to each. */
const using = opener(() => stage, (page, url) => [board(page, url)], { width: 2_200 })
const statusOf = async (id: string) => (await stage.call("admin", "GET", `/orders/${id}`)).body["status"]

describe.skipIf(chromiumPath === null)("a board", () => {
  it("has a column for each value with its count and sum, is chosen in the header, and comes back by its address", async () => {
    await using({}, async (page, { card, column, open }) => {
      await page.goto(`${stage.url}/orders?filter=${filter}`)
      await page.getByRole("button", { name: "Layout" }).click()
      await page.getByRole("menuitem", { name: "Board by status" }).click()
      await expect.poll(() => page.getByRole("group", { name: /^Board by/ }).getByRole("heading").allTextContents())
        .toEqual(
          ["draft", "pending", "paid", "shipped", "cancelled", "refunded"]
        )
      expect(new URL(page.url()).search).toContain("layout=board&by=status")
      await card("paid", paid).waitFor()
      await column("paid").getByText("900,002.25 EUR").first().waitFor()
      await column("shipped").getByText("No records").waitFor()
      await open("customer_id")
      await page.locator(`[data-key="${paid}"]`).waitFor()
      await page.goBack()
      await card("draft", draft).waitFor()
      expect(await axe(page)).toEqual([])
    })
  })

  it("moves a card by keys, says so, and takes it back", async () => {
    await using({}, async (page, { card, open, stands }) => {
      await open()
      await card("paid", paid).focus()
      await page.keyboard.press("Space")
      await page.getByText(`#${paid} taken from paid`).waitFor({ state: "attached" })
      await page.keyboard.press("ArrowRight")
      await page.getByText("Over shipped").waitFor({ state: "attached" })
      await page.keyboard.press("Escape")
      expect(await statusOf(paid)).toBe("paid")
      await page.keyboard.press("Space")
      await page.keyboard.press("ArrowRight")
      await page.keyboard.press("Space")
      await stands("shipped", paid)
      expect(await statusOf(paid)).toBe("shipped")
      await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("data-key"))).toBe(paid)
      await page.getByText(`#${paid} moved to shipped`).waitFor()
      await page.keyboard.press("Control+z")
      await stands("paid", paid)
      await page.getByText("The change is undone").or(page.getByText("Undone")).first().waitFor()
      expect(await statusOf(paid)).toBe("paid")
      // Arrows lead to the next column that has a card.
      await card("paid", paid).focus()
      await page.keyboard.press("ArrowLeft")
      await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("data-key"))).toBe(draft)
      await page.keyboard.press("Enter")
      await page.waitForURL(`**/orders/${draft}`)
    })
  })

  it("puts a card back that the service refuses, and says why", async () => {
    await using({ allow: /400/ }, async (page, { card, column, open, stands }) => {
      await open()
      await card("draft", draft).dragTo(column("pending"))
      await page.getByText(/was not moved: A pending order needs the day/).waitFor()
      await stands("draft", draft)
      expect(await statusOf(draft)).toBe("draft")
      // By the pointer to a column that takes it.
      await card("draft", draft).dragTo(column("cancelled"))
      await stands("cancelled", draft)
      await page.getByText(`#${draft} moved to cancelled`).waitFor()
      await page.keyboard.press("Control+z")
      await stands("draft", draft)
    })
  })

  it("keeps what others changed meanwhile, and leaves a card where they moved it", async () => {
    await using({ allow: /412|ERR_FAILED/ }, async (page, { card, column, open, stands }) => {
      const change = async (body: object) => {
        const { body: record } = await stage.call("admin", "GET", `/orders/${paid}`)
        const answer = await stage.call("admin", "PATCH", `/orders/${paid}`, body, String(record["etag"]))
        expect(answer.status).toBe(200)
      }
      await open()
      await card("paid", paid).waitFor()
      await change({ note: "Call before delivery" })
      await card("paid", paid).dragTo(column("shipped"))
      await stands("shipped", paid)
      await expect.poll(() => statusOf(paid)).toBe("shipped")
      expect((await stage.call("admin", "GET", `/orders/${paid}`)).body["note"]).toBe("Call before delivery")
      // The stream of changes is held, so that the page knows nothing of the next one.
      await page.route("**/*:watch*", (route) => route.abort())
      await page.reload()
      await card("shipped", paid).waitFor()
      await change({ status: "refunded" })
      await card("shipped", paid).dragTo(column("draft"))
      await page.getByText(`Somebody moved #${paid} to refunded meanwhile`).waitFor()
      await stands("refunded", paid)
      expect(await statusOf(paid)).toBe("refunded")
      await change({ status: "paid" })
      await page.unroute("**/*:watch*")
    })
  })

  it("shows what others move, create and delete, with a mark, and counts again", async () => {
    await using({}, async (page, { card, column, open, stands }) => {
      await open()
      await card("paid", paid).waitFor()
      await column("paid").getByText("900,002.25 EUR").first().waitFor()
      await card("draft", draft).focus()
      const of = async (id: string) => (await stage.call("admin", "GET", `/orders/${id}`)).body
      const change = async (id: string, body: object) => {
        const answer = await stage.call("admin", "PATCH", `/orders/${id}`, body, String((await of(id))["etag"]))
        expect(answer.status).toBe(200)
      }
      const head = (name: string) => column(name).locator("header").innerText()
      // Counts are held, so that no column is read again for them before the card is heard of.
      const counts = Promise.withResolvers<void>()
      await page.route("**/orders:aggregate*", async (route) => {
        await counts.promise
        await route.continue()
      })
      await change(paid, { status: "shipped" })
      await stands("shipped", paid)
      expect(await card("shipped", paid).getAttribute("data-mark")).toBe("changed")
      counts.resolve()
      await page.getByText("Others changed 1 card").waitFor({ state: "attached" })
      await expect.poll(() => head("shipped")).toMatch(/1\s+900,002.25 EUR/)
      await expect.poll(() => head("paid")).toMatch(/0$/)
      expect(await page.evaluate(() => document.activeElement?.getAttribute("data-key"))).toBe(draft)
      await change(paid, { status: "paid", total: "900010.00" })
      await stands("paid", paid)
      await expect.poll(() => head("paid")).toMatch(/1\s+900,010.00 EUR/)
      // One comes, and goes again.
      const { customer_id, owner_id } = await of(paid)
      const made = await stage.call("admin", "POST", "/orders", {
        customer_id,
        owner_id,
        status: "paid",
        total: "900001.00",
        ship_country: "DE"
      })
      const id = String(made.body["id"])
      await stands("paid", id)
      await expect.poll(() => head("paid")).toMatch(/2\s+1,800,011.00 EUR/)
      const { status } = await stage.call("admin", "DELETE", `/orders/${id}`, undefined, String(made.body["etag"]))
      expect(status).toBe(204)
      await expect.poll(() => head("paid")).toMatch(/1\s+900,010.00 EUR/)
      await card("paid", id).waitFor({ state: "detached" })
      await change(paid, { total: "900002.25" })
    })
  })

  it("shows a limit of a column, and keeps it in the address", async () => {
    await using({}, async (page, { card, column, open }) => {
      await open()
      await card("paid", paid).waitFor()
      await column("paid").getByRole("button", { name: "Limit of paid" }).click()
      await page.getByRole("textbox", { name: "Limit of paid" }).fill("5")
      await page.keyboard.press("Enter")
      await column("paid").getByText("1 of at most 5").waitFor()
      expect(new URL(page.url()).searchParams.get("limits")).toBe("paid:5")
    })
  })

  it("asks for nothing that is hidden, and shows the list instead", async () => {
    await using({ role: "viewer" }, async (page, _, sent) => {
      await page.goto(`${stage.url}/products?layout=board&by=cost&group=cost`)
      await page.getByRole("grid").waitFor()
      await page.getByRole("row").nth(2).waitFor()
      expect(sent.filter((each) => each.includes("/api/v1/") && each.includes("cost"))).toEqual([])
      expect(await page.getByRole("grid").innerHTML()).not.toContain("cost")
    })
  })

  it.each(otherLooks)("is accessible in %j", async (look) => {
    await using({ ...look, height: 700 }, async (page) => {
      await page.goto(`${stage.url}/orders?layout=board&by=status`)
      await page.locator("[data-column] [data-key]").first().waitFor()
      expect(await axeAgain(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    })
  })
})
