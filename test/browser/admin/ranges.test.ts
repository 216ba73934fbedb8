// Ranges of cells in the admin app's lists in a real browser: made by keys and by the mouse, copied, pasted, filled, emptied, and taken back as a whole.
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

const using = opener(() => stage, (page, url) => {
  const list = listPage(page, url)
  return [{
    ...list,
    open: async (resource: string, query: string) => {
      await list.open(resource, query)
      await page.locator("[data-ranges]").waitFor()
    },
    /** The rows and columns of the marked cells, as texts. */
    marked: () =>
      page.evaluate(() =>
        Array.from(
          document.querySelectorAll("[role=gridcell][aria-selected=true]"),
          (cell) => `${cell.closest("[data-index]")!.getAttribute("data-index")}:${cell.getAttribute("data-column")}`
        ).toSorted()
      ),
    dialog: page.getByRole("dialog")
  }]
})

/** Pastes by the clipboard's event, as the browser sends it. */
const paste = (page: Page, text: string, html = "") =>
  page.evaluate(([text, html]) => {
    const clipboardData = new DataTransfer()
    if (text !== "") clipboardData.setData("text/plain", text)
    if (html !== "") clipboardData.setData("text/html", html)
    document.activeElement!.dispatchEvent(
      new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true })
    )
  }, [text, html] as const)

/** What a copy puts on the clipboard. */
const copied = (page: Page) =>
  page.evaluate(() => {
    const clipboardData = new DataTransfer()
    document.activeElement!.dispatchEvent(
      new ClipboardEvent("copy", { clipboardData, bubbles: true, cancelable: true })
    )
    return { text: clipboardData.getData("text/plain"), html: clipboardData.getData("text/html") }
  })

const batches = (sent: readonly string[]) =>
  sent.filter((each) => each.includes(":batchWrite")).map((each) => ({
    tries: each.includes("dry_run=true"),
    ops: (JSON.parse(each.slice(each.indexOf(" {") + 1)) as { readonly ops: readonly { readonly etag: string }[] }).ops
  }))

const customers = "?columns=id,name,city,country,customer_since&order=id"

describe.skipIf(chromiumPath === null)("a range of cells", () => {
  it("grows with Shift and the arrows, is summed up by currency, and is copied exactly", async () => {
    await using({}, async (page, list) => {
      await list.open("orders", "?columns=id,total,currency,created_at,note&order=id")
      await list.cell(0, 0).click()
      for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"]) {
        await page.keyboard.press(`Shift+${key}`)
      }
      expect(await list.marked()).toHaveLength(12)
      expect(await page.getByRole("toolbar").count()).toBe(0)
      const status = page.getByRole("status").filter({ hasText: "3 × 4 cells" })
      await status.getByText(/Count 12 · Σ [\d,.]+ [A-Z]{3}.* · Average /).waitFor()
      const { text, html } = await copied(page)
      const lines = text.split("\r\n").map((line) => line.split("\t"))
      expect(lines).toHaveLength(3)
      for (const line of lines) {
        expect(line).toEqual([
          expect.stringMatching(/^\d+$/),
          expect.stringMatching(/^\d+\.\d\d$/),
          expect.stringMatching(/^[A-Z]{3}$/),
          expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
        ])
      }
      expect(html).toContain(lines[2]![3]!)
      expect(await axeAgain(page)).toEqual([])
      // Another cell ends it, and so does Esc.
      await page.keyboard.press("ArrowDown")
      expect(await list.marked()).toEqual([])
      await page.keyboard.press("Shift+ArrowUp")
      await page.keyboard.press("Escape")
      expect(await list.marked()).toEqual([])
    })
  })

  it("is drawn by the mouse, goes up to a click with Shift, and marks no text and no row", async () => {
    await using({}, async (page, list) => {
      await list.open("customers", customers)
      await list.cell(1, 1).hover()
      await page.mouse.down()
      await list.cell(3, 2).hover()
      await expect.poll(list.marked).toEqual(["1:1", "1:2", "2:1", "2:2", "3:1", "3:2"])
      await page.mouse.up()
      expect(page.url()).toContain("/customers?")
      await list.cell(2, 3).click({ modifiers: ["Shift"] })
      await expect.poll(list.marked).toEqual(["1:1", "1:2", "1:3", "2:1", "2:2", "2:3"])
      expect(await page.evaluate(() => getSelection()?.toString())).toBe("")
      expect(await page.getByRole("toolbar").count()).toBe(0)
      // Ticks are not part of a range: a click with Shift on one still selects rows.
      await list.tick(0)
      await list.cell(2, -1).click({ modifiers: ["Shift"] })
      await page.getByText("3 selected").waitFor()
    })
  })

  it("is pasted over as one batch with ETags, after it was tried, and taken back as a whole", async () => {
    await using({}, async (page, list, sent) => {
      await list.open("customers", customers)
      const before = await Promise.all([0, 1].map((row) => list.cell(row, 2).innerText()))
      await list.cell(0, 0).click()
      const ids = await list.texts(0, 2)
      await paste(
        page,
        `${ids[0]}\t=First\tBergen\tNorway\t2020-02-29\n999999\tSecond\tOslo\tNowhere\t31/31/2020\textra\n`
      )
      await list.dialog.getByText(/^[56] cells will change. Records: 2\./).waitFor()
      for (
        const why of [
          "read-only",
          "Choose one from the list.",
          "YYYY-MM-DD",
          "Columns after the last one of the list: 1"
        ]
      ) {
        await list.dialog.getByText(why).first().waitFor()
      }
      expect(batches(sent).map(({ ops, tries }) => [tries, ops.length])).toEqual([[true, 2]])
      expect(await axeAgain(page)).toEqual([])
      await page.keyboard.press("Enter")
      await list.toast(/^[56] cells changed/).waitFor()
      await expect.poll(() => list.texts(2, 2)).toEqual(["Bergen", "Oslo"])
      expect(batches(sent)).toHaveLength(2)
      expect(batches(sent)[1]!.ops.every(({ etag }) => etag.length > 0)).toBe(true)
      const stored = await stage.call("admin", "GET", `/customers/${ids[0]}`)
      expect(stored.body).toMatchObject({ name: "=First", city: "Bergen", country: "NO", customer_since: "2020-02-29" })
      await page.keyboard.press("Control+z")
      await list.toast("Undone").waitFor()
      await expect.poll(() => list.texts(2, 2)).toEqual(before)
      expect(batches(sent).map(({ ops, tries }) => [tries, ops.length])).toEqual([[true, 2], [false, 2], [false, 2]])
    })
  })

  it("says what somebody else changed meanwhile and what a rule refuses, and writes the rest", async () => {
    await using({ allow: /412|400|422/ }, async (page, list) => {
      await list.open("customers", "?columns=id,email,city&order=id")
      const ids = await list.texts(0, 3)
      const { body } = await stage.call("admin", "GET", `/customers/${ids[0]}`)
      await stage.call("admin", "PATCH", `/customers/${ids[0]}`, { city: "Elsewhere" }, String(body["etag"]))
      await list.cell(0, 1).click()
      await paste(page, "a@example.org\tOne\nno address\tTwo\nc@example.org\tThree")
      await list.dialog.getByText("3 cells will change. Records: 2.").waitFor()
      await list.dialog.getByText("Somebody changed this record meanwhile.").waitFor()
      await list.dialog.getByText("Must be an email address.").waitFor()
      await page.keyboard.press("Enter")
      await list.toast("3 cells changed").waitFor()
      await expect.poll(() => list.texts(2, 3)).toEqual(["Elsewhere", "Two", "Three"])
    })
  })

  it("is filled from its first row, and emptied where a value may be missing", async () => {
    await using({}, async (page, list) => {
      await list.open("orders", "?columns=id,due_on,channel&order=id&filter=status%20%3D%20paid")
      await list.cell(0, 1).click()
      await paste(page, "2031-05-06")
      await list.dialog.getByText("1 cell will change.").waitFor()
      await page.keyboard.press("Enter")
      await list.toast("1 cell changed").waitFor()
      await expect.poll(() => list.cell(0, 1).evaluate((cell) => cell === document.activeElement)).toBe(true)
      for (const key of ["ArrowDown", "ArrowDown"]) await page.keyboard.press(`Shift+${key}`)
      await page.keyboard.press("Control+d")
      await list.dialog.getByText("2 cells will change.").waitFor()
      await page.keyboard.press("Enter")
      await list.toast("2 cells changed").waitFor()
      expect(new Set(await list.texts(1, 3)).size).toBe(1)
      await list.cell(0, 1).click()
      await page.keyboard.press("Shift+ArrowRight")
      await page.keyboard.press("Delete")
      await list.dialog.getByText("1 cell will change.").waitFor()
      await list.dialog.getByText("Needs a value.").waitFor()
      await page.keyboard.press("Enter")
      await expect.poll(() => list.cell(0, 1).innerText()).toBe("")
    })
  })

  it("takes 500 rows of 5 columns, of which most are not on the page, in one batch", async () => {
    await using({}, async (page, list, sent) => {
      await list.open("orders", "?columns=channel,ship_country,note,total,internal_note&order=id")
      await list.cell(0, 0).click()
      const line = (row: number): string => `store\tIS\tnote ${row}\t${row}.25\t${row}`
      await paste(page, Array.from({ length: 500 }, (_, row) => line(row)).join("\n"))
      await list.dialog.getByText(/cells will change. Records: 500\./).waitFor()
      await page.keyboard.press("Enter")
      await list.toast(/cells changed/).waitFor()
      await expect.poll(() => list.cell(3, 2).innerText()).toBe("note 3")
      expect(batches(sent).map(({ ops, tries }) => [tries, ops.length])).toEqual([[true, 500], [false, 500]])
      await list.cell(0, 2).click()
      await paste(page, Array.from({ length: 501 }, (_, row) => `x${row}`).join("\n"))
      await list.dialog.getByRole("alert").getByText(/At most 500 change at once/).waitFor()
      await page.keyboard.press("Escape")
    })
  })

  it("is taken back but for what somebody else changed, which is named", async () => {
    await using({ allow: /412/ }, async (page, list) => {
      await list.open("customers", "?columns=id,name,city&order=id")
      const ids = await list.texts(0, 2)
      const before = [await list.texts(1, 2), await list.texts(2, 2)]
      await list.cell(0, 1).click()
      await paste(page, "Mine 1\tTown 1\nMine 2\tTown 2")
      await list.dialog.getByText("4 cells will change. Records: 2.").waitFor()
      await page.keyboard.press("Enter")
      await list.toast("4 cells changed").waitFor()
      const { body } = await stage.call("admin", "GET", `/customers/${ids[0]}`)
      const { status } = await stage.call(
        "admin",
        "PATCH",
        `/customers/${ids[0]}`,
        { city: "Theirs" },
        String(body["etag"])
      )
      expect(status).toBe(200)
      await page.keyboard.press("Control+z")
      await list.dialog.getByText("Somebody changed it meanwhile.").waitFor()
      expect(await list.dialog.getByRole("listitem").allInnerTexts()).toEqual([
        expect.stringMatching(new RegExp(`^.*City: ${before[1]?.[0]} — Somebody`))
      ])
      expect(await axeAgain(page)).toEqual([])
      await list.dialog.getByRole("button", { name: "Close" }).click()
      await list.toast("Cells taken back: 3. Not taken back: 1.").waitFor()
      await expect.poll(() => list.texts(1, 2)).toEqual(before[0])
      await expect.poll(() => list.texts(2, 2)).toEqual(["Theirs", before[1]?.[1]])
    })
  })

  it("passes the heads of groups: what is copied, pasted, filled and summed up are rows", async () => {
    await using({}, async (page, list, sent) => {
      const { body } = await stage.call("admin", "GET", "/customers?page_size=4&fields=id,country&order_by=id")
      const ids = (body["items"] as readonly { readonly id: string }[]).map(({ id }) => id)
      const filter = encodeURIComponent(`in(id, ${ids.join(", ")})`)
      for (const [at, id] of ids.entries()) {
        const { body: record } = await stage.call("admin", "GET", `/customers/${id}`)
        const country = at < 2 ? "DE" : "NO"
        await stage.call("admin", "PATCH", `/customers/${id}`, { country, city: `City ${at}` }, String(record["etag"]))
      }
      await page.goto(`${stage.url}/customers?columns=id,city&order=id&group=country&filter=${filter}`)
      await page.locator("[data-ranges]").waitFor()
      // Lines 0 and 3 are heads.
      await list.cell(5, 1).filter({ hasText: "City 3" }).waitFor()
      await list.cell(1, 1).click()
      for (let at = 0; at < 4; at++) await page.keyboard.press("Shift+ArrowDown")
      await page.getByText("4 × 1 cells · Count 4").waitFor()
      expect((await copied(page)).text).toBe(["City 0", "City 1", "City 2", "City 3"].join("\r\n"))
      expect(await list.marked()).toEqual(["1:1", "2:1", "4:1", "5:1"])
      await list.cell(2, 1).click()
      await paste(page, "a\nb\nc\nd")
      await list.dialog.getByText("3 cells will change. Records: 3.").waitFor()
      await list.dialog.getByText("Rows after the last one of the list: 1").waitFor()
      await page.keyboard.press("Enter")
      await expect.poll(() => Promise.all([1, 2, 4, 5].map((row) => list.cell(row, 1).innerText()))).toEqual([
        "City 0",
        "a",
        "b",
        "c"
      ])
      await page.keyboard.press("Control+z")
      await list.toast("Undone").waitFor()
      // One row alone is filled from the row above it, past the head.
      await list.cell(4, 1).click()
      await page.keyboard.press("Control+d")
      await list.dialog.getByText("1 cell will change.").waitFor()
      await page.keyboard.press("Enter")
      await expect.poll(() => list.cell(4, 1).innerText()).toBe("City 1")
      // A head has no cells.
      await page.keyboard.press("ArrowUp")
      await page.keyboard.press("Delete")
      expect(await list.dialog.count()).toBe(0)
      expect(batches(sent).map(({ ops }) => ops.length)).toEqual([3, 3, 3, 1, 1])
    })
  })

  it("runs the other way in a language that does", async () => {
    await using({ language: "ar" }, async (page, list) => {
      await list.open("customers", customers)
      await list.cell(1, 1).click()
      await page.keyboard.press("Shift+ArrowLeft")
      await expect.poll(list.marked).toEqual(["1:1", "1:2"])
    })
  })

  it("holds no field that is hidden, and offers no write to whoever may not", async () => {
    await using({ role: "viewer" }, async (page, list, sent) => {
      await list.open("customers", "?columns=id,name,city&order=id")
      await list.cell(0, 1).click()
      await paste(page, "a\tb")
      await list.dialog.getByText("Nothing would change.").waitFor()
      await list.dialog.getByText("You may not change this.").first().waitFor()
      expect(batches(sent)).toEqual([])
    })
  })

  it("refuses a paste that is too large, and leaves a paste into an input to it", async () => {
    await using({}, async (page, list) => {
      await list.open("customers", customers)
      await list.cell(0, 1).click()
      await page.evaluate(() => {
        const clipboardData = new DataTransfer()
        clipboardData.setData("text/plain", "x".repeat(10_000_000))
        document.activeElement!.dispatchEvent(
          new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true })
        )
      })
      await list.toast(/This is too much at once/).waitFor()
      await page.keyboard.press("F2")
      await page.locator("[data-editing] input").waitFor()
      await paste(page, "a\tb\nc\td")
      expect(await list.dialog.count()).toBe(0)
    })
  })
})
