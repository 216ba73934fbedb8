// Lists as a calendar, in a real browser: what the address says, moves by keys and by the pointer, full days, changes by others meanwhile.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { axe, axeAgain, opener, otherLooks, type Stage, startStage } from "./stage.ts"

let stage: Stage
let customer: object = {}

/** A month in which the shop has no order of its own. */
const month = "2031-05"

const make = async (due: string | null, more: object = {}): Promise<string> => {
  const made = await stage.call("admin", "POST", "/orders", {
    ...customer,
    status: "draft",
    total: "10.00",
    ship_country: "DE",
    due_on: due,
    ...more
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return String(made.body["id"])
}
const read = async (id: string) => (await stage.call("admin", "GET", `/orders/${id}`)).body
const change = async (id: string, body: object) => {
  const answer = await stage.call("admin", "PATCH", `/orders/${id}`, body, String((await read(id))["etag"]))
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
}

beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage()
  const { body } = await stage.call("admin", "GET", "/orders?page_size=1&fields=customer_id,owner_id")
  const [first] = body["items"] as ReadonlyArray<{ readonly customer_id: string; readonly owner_id: string }>
  customer = { customer_id: first!.customer_id, owner_id: first!.owner_id }
})
afterAll(() => stage?.stop())

const calendar = (page: Page, url: string) => {
  const day = (date: string) => page.locator(`[role=gridcell][data-day="${date}"]`)
  const list = (name: string) => page.getByRole("region", { name })
  return {
    day,
    list,
    record: (date: string, id: string) => day(date).locator(`[data-key="${id}"]`),
    /** The record is there, and nothing of it is under way. */
    stands: (date: string, id: string) => day(date).locator(`[data-key="${id}"]:not([data-saving])`).waitFor(),
    open: async (more = "") => {
      await page.goto(`${url}/orders?layout=calendar&by=due_on&at=${month}${more}`)
      await page.getByRole("grid", { name: /^Calendar by/ }).waitFor()
    },
    month: (name: string) => page.getByRole("heading", { name, exact: true }).waitFor(),
    focused: () => page.evaluate(() => (document.activeElement as HTMLElement | null)?.dataset["key"] ?? null)
  }
}
const using = opener(() => stage, (page, url) => [calendar(page, url)], { width: 1_600 })

describe.skipIf(chromiumPath === null)("a calendar", () => {
  it("has records on their days, is chosen in the header, and is walked by keys and by its address", async () => {
    const id = await make("2031-05-14")
    await using({}, async (page, { day, month, open, record }) => {
      await page.goto(`${stage.url}/orders`)
      await page.getByRole("button", { name: "Layout" }).click()
      await page.getByRole("menuitem", { name: "Calendar by due" }).click()
      await page.locator("[role=gridcell][aria-current=date]").waitFor()
      await page.getByRole("link", { name: /^[\d,]+ without due$/ }).waitFor()
      await open()
      await record("2031-05-14", id).waitFor()
      await page.getByText("1 record", { exact: true }).waitFor()
      await day("2031-05-14").getByText(/14.*2031, 1 record$/).waitFor({ state: "attached" })
      expect(await axe(page)).toEqual([])
      await page.keyboard.press("PageDown")
      await month("June 2031")
      expect(new URL(page.url()).searchParams.get("at")).toBe("2031-06")
      await page.keyboard.press("PageUp")
      await day("2031-05-14").focus()
      for (const key of ["ArrowLeft", "ArrowUp", "End", "ArrowRight"]) await page.keyboard.press(key)
      const at = () => page.evaluate(() => (document.activeElement as HTMLElement | null)?.dataset["day"])
      const focused = await at()
      expect(focused! > "2031-05-06" && focused! < "2031-05-14").toBe(true)
      await page.keyboard.press("t")
      await page.locator("[role=gridcell][aria-current=date]:focus").waitFor()
      await page.getByRole("button", { name: "Week", exact: true }).click()
      await expect.poll(() => page.getByRole("gridcell").count()).toBe(7)
      await page.goBack()
      await page.getByRole("button", { name: "Month", pressed: true }).waitFor()
    })
  })

  it("moves a record by keys, says so, and takes it back", async () => {
    const id = await make("2031-05-06")
    await using({}, async (page, { day, focused, open, record, stands }) => {
      await open()
      await record("2031-05-06", id).focus()
      await page.keyboard.press("Space")
      await page.getByText(`#${id} taken from`).waitFor({ state: "attached" })
      await page.keyboard.press("ArrowDown")
      await page.keyboard.press("Escape")
      await expect.poll(focused).toBe(id)
      await page.keyboard.press("Space")
      await page.keyboard.press("ArrowDown")
      await page.keyboard.press("ArrowRight")
      await page.getByText(/^Over Wednesday/).waitFor({ state: "attached" })
      await page.keyboard.press("Space")
      await stands("2031-05-14", id)
      expect((await read(id))["due_on"]).toBe("2031-05-14")
      await expect.poll(focused).toBe(id)
      await page.getByText(new RegExp(`#${id} moved to`)).waitFor()
      await page.keyboard.press("Control+z")
      await stands("2031-05-06", id)
      await expect.poll(async () => (await read(id))["due_on"]).toBe("2031-05-06")
      // From the keyboard into the next month, which comes into sight.
      await record("2031-05-06", id).focus()
      await page.keyboard.press("Space")
      await page.keyboard.press("PageDown")
      await day("2031-06-06").waitFor()
      await page.keyboard.press("Enter")
      await stands("2031-06-06", id)
      await page.keyboard.press("p")
      await page.locator("[data-peek]").waitFor()
    })
  })

  it("moves a record by the pointer, keeps what others changed, and leaves it where they moved it", async () => {
    const id = await make("2031-05-20")
    await using({ allow: /404|412|ERR_FAILED/ }, async (page, { day, open, record, stands }) => {
      await open()
      await record("2031-05-20", id).waitFor()
      await change(id, { note: "Call before delivery" })
      await record("2031-05-20", id).dragTo(day("2031-05-22"))
      await stands("2031-05-22", id)
      await expect.poll(async () => (await read(id))["due_on"]).toBe("2031-05-22")
      expect((await read(id))["note"]).toBe("Call before delivery")
      // The stream of changes is held, so that the page knows nothing of the next ones.
      await page.route("**/*:watch*", (route) => route.abort())
      await page.reload()
      await record("2031-05-22", id).waitFor()
      await change(id, { due_on: "2031-05-28" })
      await record("2031-05-22", id).dragTo(day("2031-05-21"))
      await page.getByText(`Somebody moved #${id} to`).waitFor()
      await stands("2031-05-28", id)
      expect((await stage.call("admin", "DELETE", `/orders/${id}`, undefined, String((await read(id))["etag"]))).status)
        .toBeLessThan(300)
      await record("2031-05-28", id).dragTo(day("2031-05-21"))
      await page.getByText(`#${id} was not moved`).waitFor()
      await page.unroute("**/*:watch*")
    })
  })

  it("opens a full day with all its records, and a record beside it", async () => {
    const ids: string[] = []
    for (let at = 0; at < 12; at++) ids.push(await make("2031-07-09"))
    await using({}, async (page, { day, list }) => {
      await page.goto(`${stage.url}/orders?layout=calendar&by=due_on&at=2031-07`)
      await day("2031-07-09").getByRole("button", { name: /more on/ }).click()
      await list("Wednesday, July 9, 2031").or(list("Wednesday, 9 July 2031")).getByRole("listitem").nth(5).waitFor()
      expect(new URL(page.url()).searchParams.get("day")).toBe("2031-07-09")
      expect(await axe(page)).toEqual([])
      await page.locator(`[data-panel] [data-key="${ids[0]}"]`).focus()
      await page.keyboard.press("ArrowDown")
      await page.locator(`[data-panel] [data-key="${ids[1]}"]:focus`).waitFor()
      await page.keyboard.press("Space")
      await page.keyboard.press("ArrowRight")
      await page.keyboard.press("Space")
      await expect.poll(async () => (await read(ids[1]!))["due_on"]).toBe("2031-07-10")
      await page.locator(`[role=gridcell][data-day="2031-07-10"] [data-key="${ids[1]}"]`).click()
      await page.locator("[data-peek]").getByText(`#${ids[1]}`).first().waitFor()
    })
  })

  it("shows what others add, and begins a new record on a day", async () => {
    await using({}, async (page, { day, open, stands }) => {
      await open()
      await day("2031-05-30").getByText(/2031, no records$/).waitFor({ state: "attached" })
      const id = await make("2031-05-30")
      await stands("2031-05-30", id)
      await day("2031-05-17").focus()
      await page.keyboard.press("n")
      await page.waitForURL(/\/orders\/new\?due_on=2031-05-17/)
      await expect.poll(() => page.getByLabel(/^Due/).first().inputValue()).toMatch(/17/)
    })
  })

  it("draws spans over their days, and drags nothing that may not be changed", async () => {
    const due = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10)
    const id = await make(due)
    await using({}, async (page) => {
      await page.goto(
        `${stage.url}/orders?layout=calendar&by=created_at,due_on&span=week&filter=${encodeURIComponent(`id = ${id}`)}`
      )
      const bar = page.locator(`[role=gridcell] [data-key="${id}"]`).first()
      await bar.waitFor()
      expect(await bar.getAttribute("draggable")).toBe("false")
      await bar.focus()
      await page.keyboard.press("Space")
      await page.getByText(/may not|cannot/i).first().waitFor()
      await page.getByRole("button", { name: /^Until/ }).click()
      await page.getByRole("menuitem", { name: "No end" }).click()
      await page.waitForURL(/by=created_at&/)
    })
    await using({ role: "viewer" }, async (page, { open, record }) => {
      const shown = await make("2031-05-02")
      await open()
      await record("2031-05-02", shown).waitFor()
      expect(await record("2031-05-02", shown).getAttribute("draggable")).toBe("false")
      expect(await page.getByRole("link", { name: /^New on/ }).count()).toBe(0)
    })
  })

  it.each(otherLooks)("is accessible in %j", async (look) => {
    await using({ ...look, height: 700 }, async (page) => {
      await page.goto(`${stage.url}/orders?layout=calendar&by=created_at`)
      await page.locator("[role=gridcell][aria-current=date]").waitFor()
      await page.locator(look.width === 320 ? "[data-panel] [data-key]" : "[role=gridcell] [data-key]").first()
        .waitFor()
      expect(await axeAgain(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    })
  })
})
