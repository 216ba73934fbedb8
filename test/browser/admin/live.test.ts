// Lists and records that follow what others do: nothing moves under the reader, and nothing is lost.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { listPage } from "./pages/list.ts"
import { axeAgain, opener, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  if (chromiumPath !== null) stage = await startStage({ events: ["order_lines"] })
})
afterAll(() => stage?.stop())

const using = opener(() => stage, (page, url) => [listPage(page, url)])

/** For a page whose clock goes ahead when the test says so. It is told so at its beginning, and nobody has it afterwards. */
const byHand = { fresh: true } as const

/** The stream stands: from here on, nothing is missed. */
const watching = (page: Page, resource: string) =>
  page.waitForResponse((answer) =>
    new URL(answer.url()).pathname.endsWith(`/${resource}:watch`) && answer.status() === 200
  )

interface Order {
  readonly id: string
  readonly etag: string
  readonly note: string | null
}
const orders = async (query: string): Promise<readonly Order[]> =>
  (await stage.call("admin", "GET", `/orders?${query}`)).body["items"] as unknown as readonly Order[]
const newest = () => orders("order_by=created_at%20desc,id%20desc&page_size=30")
const change = async (id: string, values: object) => {
  const { body } = await stage.call("admin", "GET", `/orders/${id}`)
  const answer = await stage.call("admin", "PATCH", `/orders/${id}`, values, body["etag"] as string)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
}
const create = async (more: object = {}) => {
  const [like] = (await stage.call("admin", "GET", "/orders?page_size=1")).body["items"] as unknown as ReadonlyArray<
    { readonly [field: string]: unknown }
  >
  const { customer_id, owner_id, ship_country } = like!
  const answer = await stage.call("admin", "POST", "/orders", {
    customer_id,
    owner_id,
    ship_country,
    total: "7.00",
    ...more
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body["id"] as string
}

describe.skipIf(chromiumPath === null)("a list", () => {
  it("marks a row that somebody changed, where it stands", async () => {
    await using(byHand, async (page, list) => {
      await page.clock.install()
      const open = watching(page, "orders")
      await list.open("orders", "?columns=id,total&order=created_at%20desc,id%20desc")
      await open
      const [, , third] = await newest()
      const before = await list.texts(0, 6)
      await change(third!.id, { total: "4321.09" })
      // At one look: the mark stays for some seconds only.
      const marked = await page.waitForFunction(() => {
        const rows = [...document.querySelectorAll<HTMLElement>("[data-fresh]")]
        return rows.length > 0 && rows.map((row) => [row.dataset["index"], row.innerText])
      })
      expect(await marked.jsonValue()).toEqual([["2", expect.stringContaining("4,321.09")]])
      expect(await list.texts(0, 6)).toEqual(before)
      expect(await axeAgain(page)).toEqual([])
      // The mark goes by itself.
      await page.clock.fastForward(4_000)
      await page.locator("[data-fresh]").waitFor({ state: "detached" })
    })
  })

  it("counts new rows above instead of moving, and shows them when asked", async () => {
    await using({}, async (page, list) => {
      const open = watching(page, "orders")
      await list.open("orders", "?columns=id,total&order=created_at%20desc,id%20desc")
      await open
      const before = await list.texts(0, 4)
      const made = [await create(), await create(), await create()]
      await page.getByRole("button", { name: "3 new" }).waitFor()
      expect(await list.texts(0, 4)).toEqual(before)
      // It covers none of them, and no head.
      const [button, grid] = await Promise.all(
        [page.getByRole("button", { name: "3 new" }), list.grid].map((part) => part.boundingBox())
      )
      expect(button!.y + button!.height).toBeLessThan(grid!.y)
      // One that is deleted again is not counted.
      const { body } = await stage.call("admin", "GET", `/orders/${made[2]!}`)
      expect((await stage.call("admin", "DELETE", `/orders/${made[2]!}`, undefined, body["etag"] as string)).status)
        .toBe(204)
      await page.getByRole("button", { name: "2 new" }).waitFor()
      expect(await axeAgain(page)).toEqual([])
      await page.getByRole("button", { name: "2 new" }).click()
      await page.waitForFunction(
        (text) => document.querySelector("[data-index='0'] [data-column='0']")?.textContent === text,
        made[1]!
      )
      expect(await page.getByRole("button", { name: /new$/ }).count()).toBe(0)
    })
  })

  it("counts only what its filter lets through, and strikes out what is deleted", async () => {
    await using({}, async (page, list) => {
      const kept = await create({ total: "71.37" })
      const open = watching(page, "orders")
      await list.open("orders", `?columns=id,total&filter=${encodeURIComponent("total = 71.37")}`)
      await open
      expect(await list.rows()).toBe(1)
      await create()
      await create({ total: "71.37" })
      await page.getByRole("button", { name: "1 new" }).waitFor()
      const { body } = await stage.call("admin", "GET", `/orders/${kept}`)
      await stage.call("admin", "DELETE", `/orders/${kept}`, undefined, body["etag"] as string)
      await list.row(0).and(page.locator("[data-deleted]")).waitFor()
      expect(await list.cell(0, 0).innerText()).toBe(kept)
    })
  })

  it("marks rows that left its filter where they stand, takes them back, and hears of no others", async () => {
    await using({}, async (page, list, sent) => {
      const [first, second] = [await create({ total: "93.11" }), await create({ total: "93.11" })]
      const other = await create({ total: "5.00" })
      const open = watching(page, "orders")
      await list.open("orders", `?columns=id,total&order=id%20desc&filter=${encodeURIComponent("total = 93.11")}`)
      expect(new URL((await open).url()).searchParams.get("filter")).toBe("total = 93.11")
      const rows = (): Promise<readonly string[]> => list.texts(0, 2)
      const before = await rows()
      expect(before).toEqual([second, first])
      await change(first, { total: "1.50" })
      const left = list.row(1).and(page.locator("[data-left]"))
      await left.waitFor()
      expect(await left.getAttribute("title")).toBe("This record does not match the filter any more")
      // The row and whether it passes are read side by side: one of both may be known first.
      await expect.poll(() => list.cell(1, 1).innerText()).toContain("1.50")
      expect(await rows()).toEqual(before)
      expect(await axeAgain(page)).toEqual([])

      // One of no concern causes no request: only what comes after it is read again.
      const asked = sent.length
      await change(other, { total: "6.00" })
      await change(first, { total: "93.11" })
      await list.row(1).and(page.locator("[data-fresh]")).waitFor()
      expect(await page.locator("[data-left]").count()).toBe(0)
      expect(sent.slice(asked).filter((each) => each.includes(other))).toEqual([])

      await change(other, { total: "93.11" })
      await page.getByRole("button", { name: "1 new" }).waitFor()
      expect(await rows()).toEqual(before)
      await change(other, { total: "5.00" })
      await page.getByRole("button", { name: "1 new" }).waitFor({ state: "detached" })
      expect(await rows()).toEqual(before)
    })
  })

  it("follows all records where the service does not follow its filter, and reads what passes", async () => {
    await using({ allow: /400/ }, async (page, list, sent) => {
      const id = await create({ total: "94.22" })
      const open = watching(page, "orders")
      const filter = `total = 94.22 AND NOT in(id, ${Array.from({ length: 2_000 }, (_, i) => i + 1_000_000).join(",")})`
      await list.open("orders", `?columns=id,total&filter=${encodeURIComponent(filter)}`)
      expect((await open).url()).toMatch(/orders:watch$/)
      await create({ total: "94.22" })
      await create({ total: "95.22" })
      await page.getByRole("button", { name: "1 new" }).waitFor()
      await change(id, { total: "95.22" })
      await list.row(0).and(page.locator("[data-left]")).waitFor()
      expect(sent.filter((each) => each.includes(":watch"))).toHaveLength(2)
    })
  })

  it("lets go of its stream while nobody looks, and catches up", async () => {
    await using(byHand, async (page, list) => {
      await page.clock.install()
      const open = watching(page, "orders")
      await list.open("orders", "?columns=id,total&order=created_at%20desc,id%20desc")
      await open
      const ended = page.waitForEvent("requestfailed", (request) => request.url().endsWith(":watch"))
      const hide = (hidden: boolean) =>
        page.evaluate((state) => {
          Object.defineProperty(document, "visibilityState", { value: state, configurable: true })
          document.dispatchEvent(new Event("visibilitychange"))
        }, hidden ? "hidden" : "visible")
      const [, second] = await newest()
      await hide(true)
      await page.clock.fastForward(5_000)
      await ended
      await change(second!.id, { total: "1234.50" })
      const again = watching(page, "orders")
      await hide(false)
      expect((await again).request().headers()["last-event-id"]).toMatch(/^\d+-\d+$/)
      await list.row(1).and(page.locator("[data-fresh]")).waitFor()
      expect(await list.cell(1, 1).innerText()).toContain("1,234.50")
    })
  })

  it("asks for no stream where a resource has no events", async () => {
    await using({}, async (page, list, sent) => {
      await list.open("staff")
      await page.getByRole("grid").waitFor()
      await list.open("products")
      expect(sent.filter((each) => each.includes(":watch"))).toEqual([])
    })
  })

  it("stays as it is where the stream is refused", async () => {
    await using({ ...byHand, allow: /403/ }, async (page, list, sent, quiet) => {
      await page.clock.install()
      const refused = page.waitForResponse("**/orders:watch")
      await page.route("**/orders:watch", (route) =>
        route.fulfill({
          status: 403,
          contentType: "application/problem+json",
          body: JSON.stringify({ type: "urn:service:problem:access-denied", status: 403, detail: "No." })
        }))
      await list.open("orders")
      await refused
      await quiet()
      await page.clock.fastForward(60_000)
      await quiet()
      expect(sent.filter((each) => each.includes(":watch"))).toHaveLength(1)
      expect(await page.getByRole("alert").count()).toBe(0)
    })
  })
})

/** Orders have a history, and it names who made a change. */
const maker = "admin"

const noteOf = (page: Page) => page.locator("[data-field='note']").getByRole("textbox")

describe.skipIf(chromiumPath === null)("a record", () => {
  it("shows what somebody changed, and says so", async () => {
    const id = await create({ note: "before" })
    await using({}, async (page) => {
      const open = watching(page, "orders")
      await page.goto(`${stage.url}/orders/${id}`)
      await open
      await change(id, { note: "after", total: "99.00" })
      await page.getByText(`${maker} changed this record: Total, Note.`).waitFor()
      expect(await noteOf(page).inputValue()).toBe("after")
      expect(await axeAgain(page)).toEqual([])
      await page.getByRole("button", { name: "Hide" }).click()
      expect(await page.getByText("changed this record").count()).toBe(0)
    })
  })

  it("keeps what is typed, and merges both when it is saved", async () => {
    const id = await create({ note: "before" })
    await using({ allow: /412/ }, async (page) => {
      const open = watching(page, "orders")
      await page.goto(`${stage.url}/orders/${id}`)
      await open
      await noteOf(page).fill("mine")
      await change(id, { total: "55.00" })
      await page.getByText(/while you edit it: Total\. Saving merges both/).waitFor()
      expect(await noteOf(page).inputValue()).toBe("mine")
      await page.keyboard.press("Control+s")
      await page.getByRole("status").getByText(/^Saved/).first().waitFor()
      await page.getByText("changed this record").waitFor({ state: "detached" })
      const { body } = await stage.call("admin", "GET", `/orders/${id}`)
      expect(body).toMatchObject({ note: "mine" })
      expect(String(body["total"])).toMatch(/^55(?:\.0+)?$/)
    })
  })

  it("says nothing of one's own save", async () => {
    const id = await create({ note: "before" })
    await using({}, async (page) => {
      const open = watching(page, "orders")
      await page.goto(`${stage.url}/orders/${id}`)
      await open
      // Every note that ever stands on the page.
      await page.evaluate(() => {
        const seen = new Set<string>()
        Object.assign(globalThis, { seen })
        new MutationObserver(() => {
          for (const line of document.body.innerText.match(/[^\n]*changed this record[^\n]*/g) ?? []) seen.add(line)
        }).observe(document.body, { subtree: true, childList: true, characterData: true })
      })
      await noteOf(page).fill("mine")
      await page.keyboard.press("Control+s")
      await page.getByRole("status").getByText("Saved").first().waitFor()
      // The stream tells of changes in their order: when it has told of a later one, it has told of the save.
      await change(id, { total: "66.00" })
      await page.getByText(`${maker} changed this record: Total.`).waitFor()
      expect(await page.evaluate(() => [...(globalThis as unknown as { seen: Set<string> }).seen])).toEqual([
        `${maker} changed this record: Total.`
      ])
    })
  })
})

interface Line {
  readonly id: string
  readonly etag: string
}

const addLine = async (order: string, position: number): Promise<Line> => {
  const { body } = await stage.call("admin", "GET", "/products?page_size=1")
  const [product] = body["items"] as unknown as readonly { readonly id: string }[]
  const answer = await stage.call("admin", "POST", "/order_lines", {
    order_id: order,
    product_id: product!.id,
    quantity: position,
    position,
    unit_price: "2.00"
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body as unknown as Line
}

describe.skipIf(chromiumPath === null)("rows of a record's page", () => {
  it("are marked where they stand when somebody changes them; new ones are counted, deleted ones struck out", async () => {
    const id = await create({ note: "lines" })
    const [first, second] = [await addLine(id, 3), await addLine(id, 4)]
    await using(byHand, async (page) => {
      await page.clock.install()
      const open = watching(page, "order_lines")
      await page.goto(`${stage.url}/orders/${id}`)
      const lines = page.getByRole("region", { name: "Lines" })
      await lines.getByRole("row").nth(2).waitFor()
      await open
      const changed = await stage.call("admin", "PATCH", `/order_lines/${first.id}`, { quantity: 77 }, first.etag)
      expect(changed.status).toBe(200)
      await lines.getByRole("row").nth(1).and(page.locator("[data-fresh]")).waitFor()
      expect(await lines.getByRole("row").nth(1).innerText()).toContain("77")
      expect(await axeAgain(page)).toEqual([])
      await page.clock.fastForward(4_000)
      await page.locator("[data-fresh]").waitFor({ state: "detached" })

      await addLine(id, 1)
      await lines.getByRole("button", { name: "1 new" }).waitFor()
      expect(await lines.getByRole("row").nth(1).innerText()).toContain("77")
      await lines.getByRole("button", { name: "1 new" }).click()
      await expect.poll(() => lines.locator("tbody tr").count()).toBe(3)
      expect(await lines.getByRole("button", { name: /new$/ }).count()).toBe(0)

      const gone = await stage.call("admin", "DELETE", `/order_lines/${second.id}`, undefined, second.etag)
      expect(gone.status).toBe(204)
      await lines.locator("tr[data-removed]").waitFor()
      expect(await lines.locator("tbody tr").count()).toBe(3)
    })
  })

  it("say nothing of one's own save", async () => {
    const id = await create({ note: "lines" })
    const other = await addLine(id, 3)
    await using({}, async (page) => {
      const open = watching(page, "order_lines")
      await page.goto(`${stage.url}/orders/${id}`)
      const lines = page.getByRole("region", { name: "Lines" })
      await open
      await lines.getByRole("button", { name: /^Add/ }).click()
      const added = lines.locator("tr[data-added]")
      const options = page.getByRole("listbox").getByRole("option")
      await expect.poll(async () => {
        await added.getByRole("combobox", { name: "Product" }).press("ArrowDown")
        return options.count()
      }, { interval: 500 }).toBeGreaterThan(0)
      await options.first().click()
      await added.getByRole("textbox", { name: "Unit price" }).fill("3.00")
      await page.keyboard.press("Control+s")
      await page.getByRole("status").getByText("Saved").first().waitFor()
      await expect.poll(() => lines.locator("tbody tr").count()).toBe(2)
      // The stream tells of changes in their order: when it has told of a later one, it has told of the save. At one look: a mark stays for some seconds only.
      const changed = await stage.call("admin", "PATCH", `/order_lines/${other.id}`, { quantity: 88 }, other.etag)
      expect(changed.status).toBe(200)
      const marked = await page.waitForFunction(() => {
        const rows = [...document.querySelectorAll<HTMLElement>("tr[data-fresh]")]
        return rows.length > 0 && rows.map(({ innerText }) => innerText)
      })
      expect(await marked.jsonValue()).toEqual([expect.stringContaining("88")])
      expect(await lines.getByRole("button", { name: /new$/ }).count()).toBe(0)
    })
  })
})
