// A record beside its list: opened, walked, edited, closed, and found again by its address.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { listPage } from "./pages/list.ts"
import { peekPage } from "./pages/peek.ts"
import { recordPage } from "./pages/record.ts"
import { newOrder } from "./reach/scene.ts"
import { axe, opener, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  if (chromiumPath !== null) stage = await startStage()
})
afterAll(() => stage?.stop())

const using = opener(
  () => stage,
  (page, url) => [listPage(page, url), peekPage(page), recordPage(page, url)],
  { width: 1440, height: 900 }
)

/** The row with the focus. */
const focused = (page: Page): Promise<string | null | undefined> =>
  page.evaluate(() => document.activeElement?.closest("[data-index]")?.getAttribute("data-index"))

/** The records that were read one by one. */
const reads = (sent: readonly string[]): readonly string[] =>
  sent.flatMap((line) => /^GET \S+\/api\/v1\/orders\/(\d+)\?/.exec(line)?.[1] ?? [])

describe.skipIf(chromiumPath === null)("a record beside its list", () => {
  it("is shown by Space and by the mark, closed by Space, Escape and Back, and the focus returns to the row", async () => {
    await using({}, async (page, list, peek) => {
      await list.open("orders", "?order=id&columns=id,customer_id,total")
      const ids = await list.texts(0, 4)
      await list.cell(1, 2).click()
      await page.keyboard.press("Space")
      await peek.whole()
      expect(await peek.title()).toContain(ids[1]!)
      expect(list.query().get("peek")).toBe(ids[1])
      // The list stays in sight, with its row marked, and has the focus.
      expect(await peek.marked()).toEqual(["1"])
      expect(await focused(page)).toBe("1")
      await page.keyboard.press("Space")
      await peek.closed()
      expect(list.query().has("peek")).toBe(false)
      await list.row(2).hover()
      await list.row(2).getByTitle("Open beside the list").click()
      await peek.whole()
      expect(await peek.title()).toContain(ids[2]!)
      await peek.button("Close").click()
      await peek.closed()
      await expect.poll(() => focused(page)).toBe("2")
      await page.keyboard.press("Space")
      await peek.whole()
      await page.goBack()
      await peek.closed()
      // One way back for each panel that was opened, and none for a panel that was closed.
      expect(new URL(page.url()).pathname).toBe("/orders")
      expect(await page.evaluate(() => (history.state as { readonly at: number }).at)).toBe(0)
    })
  })

  it("is walked with J, K and the arrows, from the list and from the panel", async () => {
    await using({}, async (page, list, peek) => {
      await list.open("orders", "?order=id&columns=id,total")
      const ids = await list.texts(0, 5)
      await list.cell(0, 1).click()
      await page.keyboard.press("Space")
      await peek.whole()
      await page.keyboard.press("j")
      await page.keyboard.press("ArrowDown")
      await expect.poll(() => peek.title()).toContain(ids[2]!)
      await page.keyboard.press("k")
      await expect.poll(() => list.query().get("peek")).toBe(ids[1])
      await peek.panel.getByText(/^2 of [\d,]+$/).waitFor()
      // A click on another row is followed, too.
      await list.cell(3, 1).click()
      await expect.poll(() => list.query().get("peek")).toBe(ids[3])
      await peek.whole()
      await peek.button("Next record").focus()
      await page.keyboard.press("j")
      await expect.poll(() => list.query().get("peek")).toBe(ids[4])
      // Whoever is in the panel stays there.
      expect(await peek.button("Next record").evaluate((button) => button === document.activeElement)).toBe(true)
      expect(await peek.marked()).toEqual(["4"])
      await page.keyboard.press("Escape")
      await peek.closed()
      await expect.poll(() => focused(page)).toBe("4")
    })
  })

  it("shows the row's values at once, and reads a record only where the walk rests", async () => {
    await using({ fresh: true }, async (page, list, peek, _, sent, quiet) => {
      await page.clock.install()
      await list.open("orders", "?order=id&columns=id,total,note")
      const ids = await list.texts(0, 8)
      await list.cell(0, 1).click()
      await page.keyboard.press("Space")
      await peek.whole()
      await quiet()
      const before = reads(sent).length
      // While time stands still, no walk rests.
      await page.clock.pauseAt(Date.now() + 3_600_000)
      for (let step = 0; step < 7; step++) await page.keyboard.press("j")
      await expect.poll(() => peek.title()).toContain(ids[7]!)
      expect(await peek.box("total").innerText()).toContain((await list.cell(7, 1).innerText()).split(" ")[0])
      expect(reads(sent).slice(before)).toEqual([])
      expect(list.query().get("peek")).toBe(ids[0])
      await page.clock.resume()
      await peek.whole()
      await expect.poll(() => list.query().get("peek")).toBe(ids[7])
      expect(new Set(reads(sent).slice(before))).toEqual(new Set([ids[7]]))
    })
  })

  it("is edited beside the list, whose row shows what was saved", async () => {
    const { id } = await newOrder(stage)
    await using({}, async (page, list, peek, record) => {
      await list.open("orders", `?filter=${encodeURIComponent(`id = ${id}`)}&columns=id,total,note`)
      await list.cell(0, 1).click()
      await page.keyboard.press("Space")
      await peek.whole()
      await page.keyboard.press("e")
      // The first input of the record, and not the cell of the list.
      expect(await page.evaluate(() => document.activeElement?.closest("[data-peek] [data-field]") !== null)).toBe(true)
      await record.input("note").fill("Beside the list")
      await record.save()
      await record.toast("Saved").waitFor()
      await expect.poll(() => list.cell(0, 2).innerText()).toBe("Beside the list")
      // Escape leaves the field for the list, and then the record.
      await page.keyboard.press("Escape")
      await expect.poll(() => focused(page)).toBe("0")
      // What is changed in the row is in the panel.
      await list.cell(0, 2).click()
      await page.keyboard.press("F2")
      await page.getByRole("grid").getByRole("textbox").fill("In the row")
      await page.keyboard.press("Enter")
      await expect.poll(() => record.input("note").inputValue()).toBe("In the row")
      await page.keyboard.press("Escape")
      await peek.closed()
    })
  })

  it("merges with what somebody else saved, and asks for a field that both changed", async () => {
    const { etag, id } = await newOrder(stage)
    await using({ allow: /412/ }, async (page, list, peek, record) => {
      await list.open("orders", `?filter=${encodeURIComponent(`id = ${id}`)}&columns=id,note`)
      await list.cell(0, 1).click()
      await page.keyboard.press("Space")
      await peek.whole()
      await record.input("note").fill("mine")
      const { status } = await stage.call("admin", "PATCH", `/orders/${id}`, { note: "theirs" }, etag)
      expect(status).toBe(200)
      await record.save()
      const dialog = record.dialog(/saved this order while you were editing/)
      await dialog.waitFor()
      await dialog.getByRole("button", { name: "mine", exact: true }).click()
      await dialog.getByRole("button", { name: "Save merged" }).click()
      await dialog.waitFor({ state: "detached" })
      await expect.poll(() => list.cell(0, 1).innerText()).toBe("mine")
    })
  })

  it("asks before a walk leaves what was typed, keeps it as a draft, and takes it to the page", async () => {
    await using({}, async (page, list, peek, record) => {
      await list.open("orders", "?order=id desc&columns=id,total&filter=status%20%3D%20draft")
      const ids = await list.texts(0, 2)
      await list.cell(0, 1).click()
      await page.keyboard.press("Space")
      await peek.whole()
      await record.input("note").fill("A draft")
      await page.keyboard.press("Escape")
      await page.keyboard.press("j")
      const question = record.dialog("Leave without saving?")
      await question.getByRole("button", { name: "Stay" }).click()
      await expect.poll(() => focused(page)).toBe("0")
      expect(await record.input("note").inputValue()).toBe("A draft")
      await page.keyboard.press("j")
      await question.getByRole("button", { name: "Leave", exact: true }).click()
      await expect.poll(() => list.query().get("peek")).toBe(ids[1])
      await peek.whole()
      expect(await record.input("note").inputValue()).not.toBe("A draft")
      await list.cell(0, 1).click()
      await expect.poll(() => record.input("note").inputValue()).toBe("A draft")
      // The page goes on with it, so that nothing is asked.
      await page.keyboard.press("Shift+Enter")
      await page.getByRole("heading", { level: 1, name: new RegExp(ids[0]!) }).waitFor()
      expect(new URL(page.url()).pathname).toBe(`/orders/${ids[0]}`)
      await expect.poll(() => record.input("note").inputValue()).toBe("A draft")
      await record.discard()
      await page.goBack()
      await peek.whole()
      expect(await peek.title()).toContain(ids[0]!)
    })
  })

  it("is at its address: a link that was sent and a reload show the same, also of a record that is not there", async () => {
    await using({ allow: /404/ }, async (page, list, peek) => {
      await list.open("orders", "?order=id&columns=id,total")
      const id = await list.cell(4, 0).innerText()
      await page.goto(`${stage.url}/orders?order=id&columns=id,total&peek=${id}`)
      await peek.whole()
      expect(await peek.title()).toContain(id)
      expect(await peek.marked()).toEqual(["4"])
      await page.reload()
      await peek.whole()
      await page.keyboard.press("j")
      await expect.poll(() => peek.marked()).toEqual(["5"])
      // It has no entry before: closing stays on the list.
      await page.keyboard.press("Escape")
      await peek.closed()
      expect(new URL(page.url()).search).toBe("?order=id&columns=id%2Ctotal")
      await page.goto(`${stage.url}/orders?peek=99999999`)
      await peek.panel.getByText(/This record does not exist/).waitFor()
      // What no key can be is no record.
      await list.open("orders", "?peek=a%2Fb")
      expect(await peek.panel.count()).toBe(0)
    })
  })

  it("is as wide as its edge is put, by keys and by the pointer, wide by a key, and stays so", async () => {
    await using({}, async (page, list, peek) => {
      await list.open("orders", "?order=id")
      await list.cell(0, 1).click()
      await page.keyboard.press("Space")
      await peek.whole()
      const width = async (): Promise<number> => Math.round((await peek.panel.boundingBox())!.width)
      const first = await width()
      const edge = page.getByRole("separator", { name: "Width of the panel" })
      await edge.focus()
      await page.keyboard.press("ArrowLeft")
      await expect.poll(width).toBe(first + 24)
      const box = (await edge.boundingBox())!
      await page.mouse.move(box.x + 3, 400)
      await page.mouse.down()
      await page.mouse.move(box.x + 3 + 74, 400, { steps: 3 })
      await page.mouse.up()
      await expect.poll(width).toBe(first - 50)
      await page.keyboard.press("Alt+Enter")
      await expect.poll(width).toBeGreaterThan(first + 200)
      // The row stays in sight.
      expect(await list.cell(0, 0).isVisible()).toBe(true)
      expect(await peek.marked()).toEqual(["0"])
      await page.keyboard.press("Alt+Enter")
      await page.reload()
      await peek.whole()
      expect(await width()).toBe(first - 50)
      await edge.focus()
      await page.keyboard.press("Home")
      await page.keyboard.press("ArrowLeft")
    })
  })

  it("is deleted from there, and the list has one row less; a viewer sees nothing that is hidden", async () => {
    const { id } = await newOrder(stage, { internal_note: "Do not tell: 8f41ac" })
    await using({ role: "viewer" }, async (page, list, peek, _, sent, quiet) => {
      await list.open("orders", `?peek=${id}`)
      await peek.whole()
      await quiet()
      expect(await peek.panel.locator("[data-field] :is(input, select, textarea)").count()).toBe(0)
      const all = await page.evaluate(() =>
        document.documentElement.outerHTML + JSON.stringify([localStorage, sessionStorage])
      )
      for (const hidden of [/internal.note/i, /8f41ac/, /deleted_at/]) {
        expect(all).not.toMatch(hidden)
        expect(sent.join("\n")).not.toMatch(hidden)
      }
    })
    await using({}, async (page, list, peek) => {
      await list.open("orders", `?peek=${id}&order=id%20desc`)
      await peek.whole()
      const rows = await list.rows()
      await peek.panel.getByRole("button", { name: "More" }).click()
      await page.getByRole("menuitem", { name: "Delete" }).click()
      await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click()
      await peek.closed()
      await expect.poll(() => list.rows()).toBe(rows - 1)
    })
  })

  it("opens the page where there is no room", async () => {
    await using({ width: 320 }, async (page, list, peek) => {
      await list.open("orders", "?order=id")
      await list.cell(1, 0).focus()
      await page.keyboard.press("Space")
      await page.waitForURL(/\/orders\/\d+$/)
      const key = new URL(page.url()).pathname.split("/").at(-1)!
      await page.goto(`${stage.url}/orders?peek=${key}`)
      await page.waitForURL(`**/orders/${key}`)
      expect(await peek.panel.count()).toBe(0)
    })
  })

  it.each(
    [
      ["light", {}],
      ["dark", { theme: "dark" }],
      ["right to left", { language: "ar" }],
      ["small", { width: 900, height: 600 }]
    ] as const
  )("is reachable for everybody: %s", async (_, options) => {
    await using(options, async (page, list, peek, __, ___, quiet) => {
      await list.open("orders", "?order=id&columns=id,total")
      await list.cell(1, 1).click()
      await page.keyboard.press("Space")
      await peek.whole()
      await quiet()
      expect(await axe(page)).toEqual([])
      const { list: at, panel, over } = await page.evaluate(() => {
        const [panel, grid] = ["[data-peek]", "[role=grid]"].map((each) => document.querySelector(each)!)
        const over = document.documentElement.scrollWidth - document.documentElement.clientWidth
        return { panel: panel!.getBoundingClientRect().x, list: grid!.getBoundingClientRect().x, over }
      })
      // At the end of the line, where reading ends.
      expect(panel > at).toBe(!("language" in options))
      expect(over).toBe(0)
    })
  })
})
