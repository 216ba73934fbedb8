/** Scenes around records: one of them, many, what is kept of them, and the ways to them. */

import { expect } from "vitest"
import { boardPage } from "../pages/board.ts"
import { listPage } from "../pages/list.ts"
import { recordPage } from "../pages/record.ts"
import { newOrder, type Scene } from "./scene.ts"

export const records: readonly Scene[] = [
  {
    name: "a record is changed, refused, deleted and brought back",
    options: { allow: /40[04]/ },
    work: async ({ keys, open, page, seen, stage }) => {
      const record = recordPage(page, stage.url)
      const { id } = await newOrder(stage)
      const stored = async () => (await stage.call("admin", "GET", `/orders/${id}`)).body
      await open(`/orders/${id}`, record.box("note"))
      await seen("record")
      await keys.type(record.input("note"), "Ring twice.")
      await record.save()
      await record.toast("Saved").waitFor()
      await keys.type(record.input("total"), "-5")
      await keys.press(record.saveButton)
      await record.hint("total").getByText("Must not be negative.").waitFor()
      await expect.poll(() => keys.isAt(record.input("total"))).toBe(true)
      await seen("record that is refused")
      await keys.type(record.input("total"), "7.50")
      await record.save()
      await expect.poll(stored).toMatchObject({ note: "Ring twice.", total: "7.50" })

      await keys.press(page.locator("header").getByRole("button", { name: "More" }))
      await keys.choose("Delete")
      const question = record.alert(`Delete #${id}?`)
      await question.waitFor()
      await seen("question before a delete")
      await keys.press(question.getByRole("button", { name: "Delete" }))
      await page.waitForURL(/\/orders(?:\?|$)/)
      await open(`/orders/${id}`, page.getByText("This record is deleted."))
      await seen("deleted record")
      await keys.press(page.getByRole("button", { name: "Bring back" }))
      await record.toast(`#${id} brought back`).waitFor()
    }
  },
  {
    name: "a record is made, after the values that it lacks were asked for",
    work: async ({ keys, open, page, seen, stage }) => {
      const record = recordPage(page, stage.url)
      await open("/customers/new", record.box("name"))
      await record.save()
      await expect.poll(() => keys.isAt(record.input("name"))).toBe(true)
      await record.hint("name").getByText("Needs a value.").waitFor()
      await seen("new record that lacks values", "known")
      await keys.type(record.input("name"), "Kim Berg")
      await keys.type(record.input("email"), "kim@example.org")
      await keys.type(record.input("country"), "NO")
      await keys.type(record.input("city"), "Oslo")
      await keys.press(page.getByRole("button", { name: /^Create(?! another)/ }))
      await page.waitForURL(/\/customers\/\d+$/)
      await expect.poll(() => record.title()).toBe("Kim Berg")
    }
  },
  {
    name: "two changes of one field are merged",
    options: { allow: /412/ },
    work: async ({ keys, open, page, seen, stage }) => {
      const record = recordPage(page, stage.url)
      const { etag, id } = await newOrder(stage, { note: "as it was" })
      await open(`/orders/${id}`, record.box("note"))
      await keys.type(record.input("note"), "mine")
      await keys.type(record.input("total"), "111.11")
      await stage.call("admin", "PATCH", `/orders/${id}`, { note: "theirs", internal_note: "kept" }, etag)
      await record.save()
      const dialog = record.dialog(/saved this order while/)
      await dialog.waitFor()
      await seen("merge")
      const theirs = dialog.getByRole("row", { name: /^Note/ }).getByRole("button", { name: "theirs" })
      await keys.press(theirs)
      expect(await theirs.getAttribute("aria-pressed")).toBe("true")
      await keys.press(dialog.getByRole("button", { name: "Save merged" }))
      await expect.poll(async () => (await stage.call("admin", "GET", `/orders/${id}`)).body)
        .toMatchObject({ note: "theirs", total: "111.11", internal_note: "kept" })
    }
  },
  {
    name: "a version of the history is restored",
    work: async ({ keys, open, page, seen, stage }) => {
      const record = recordPage(page, stage.url)
      const { etag, id } = await newOrder(stage, { note: "first" })
      await stage.call("admin", "PATCH", `/orders/${id}`, { note: "second", channel: "phone" }, etag)
      await open(`/orders/${id}`, record.history.nth(1))
      await record.history.first().locator("ins").getByText("second").waitFor()
      await seen("record with its history")
      await keys.press(record.history.nth(1).getByRole("button", { name: "Restore" }))
      const dialog = record.dialog("Restore this version?")
      await dialog.waitFor()
      await seen("version before it is restored")
      await keys.press(dialog.getByRole("button", { name: "Restore" }))
      await record.toast("The version is restored").waitFor()
      await expect.poll(() => record.input("note").inputValue()).toBe("first")
    }
  },
  {
    name: "a list is filtered, selected and exported",
    work: async ({ keys, open, page, seen, stage }) => {
      const list = listPage(page, stage.url)
      await open("/orders?filter=total+%3E+10", list.row(0))
      await seen("list")
      await keys.press(page.getByRole("button", { name: "Export" }))
      const [download] = await Promise.all([page.waitForEvent("download"), keys.choose("CSV")])
      expect(download.suggestedFilename()).toBe("orders.csv")
      await keys.go(list.cell(0, 0))
      await page.keyboard.press("x")
      await page.getByRole("toolbar").getByText("1 selected").waitFor()
      await seen("list with a selection")
      await page.keyboard.press("Escape")
      await page.getByRole("toolbar").waitFor({ state: "detached" })
    }
  },
  {
    name: "a view is saved, shared, renamed, deleted and brought back",
    options: { role: "sales" },
    work: async ({ keys, open, page, seen, stage }) => {
      const list = listPage(page, stage.url)
      const board = boardPage(page, stage.url)
      await open("/orders?filter=status+%3D+paid", list.row(0))
      await keys.press(board.save)
      await keys.type(board.dialog.getByLabel("Name"), "Paid ones")
      await keys.press(board.dialog.getByLabel(/role sales/), "Space")
      await seen("view before it is saved")
      await keys.press(board.dialog.getByRole("button", { name: "Save" }))
      await board.tab("Paid ones").waitFor()
      await keys.press(board.options)
      await keys.choose("Name and sharing")
      expect(await board.dialog.getByLabel(/role sales/).isChecked()).toBe(true)
      await keys.type(board.dialog.getByLabel("Name"), "All paid")
      await page.keyboard.press("Enter")
      await board.tab("All paid").waitFor()
      await keys.press(board.options)
      await keys.choose("Delete view")
      await board.tab("All paid").waitFor({ state: "detached" })
      await page.keyboard.press("Control+z")
      await board.tab("All paid").waitFor()
    }
  },
  {
    name: "a composed page leads to its records",
    work: async ({ keys, open, page, seen, stage }) => {
      const board = boardPage(page, stage.url)
      await open("/today", board.block("Overdue"))
      await seen("composed page")
      await keys.press(board.block("Overdue").getByRole("link", { name: "Overdue" }))
      await page.waitForURL(/\/orders\?filter=status/)
    }
  },
  {
    name: "the palette leads everywhere, and the keys are listed",
    work: async ({ open, page, seen, stage }) => {
      const list = listPage(page, stage.url)
      await open("/customers", list.row(0))
      await page.keyboard.press("Control+k")
      await page.getByRole("combobox").waitFor()
      await seen("palette")
      await page.keyboard.type("staff")
      const option = page.getByRole("option", { name: "Staff", exact: true })
      await option.waitFor()
      await expect.poll(async () => {
        if (await option.getAttribute("aria-selected") === "true") return true
        await page.keyboard.press("ArrowDown")
        return false
      }).toBe(true)
      await page.keyboard.press("Enter")
      await page.waitForURL(/\/staff$/)
      await list.row(0).waitFor()
      await page.keyboard.press("?")
      const shortcuts = page.getByRole("dialog", { name: "Keyboard shortcuts" })
      await shortcuts.waitFor()
      await seen("keys")
      await page.keyboard.press("Escape")
      await shortcuts.waitFor({ state: "detached" })
    }
  },
  {
    name: "a narrow window has the sidebar over the page, and exports in a menu",
    options: { width: 320, height: 640 },
    work: async ({ keys, open, page, seen, stage }) => {
      const list = listPage(page, stage.url)
      const sidebar = page.getByRole("navigation", { name: "Navigation" })
      const more = page.getByRole("navigation", { name: "Go to" }).getByRole("button", { name: "More" })
      await open("/orders", list.row(0))
      await keys.press(page.locator("header").getByRole("button", { name: "More" }))
      const [download] = await Promise.all([page.waitForEvent("download"), keys.choose("NDJSON")])
      expect(download.suggestedFilename()).toBe("orders.ndjson")
      await keys.press(more)
      await sidebar.waitFor()
      await seen("sidebar over the page")
      await page.setViewportSize({ width: 320, height: 640 })
      await keys.press(more, "Escape")
      await sidebar.waitFor({ state: "hidden" })
      await keys.press(more)
      await keys.press(sidebar.getByRole("link", { name: "Staff" }))
      await page.waitForURL(/\/staff$/)
      await sidebar.waitFor({ state: "hidden" })
    }
  },
  {
    name: "all that match are changed, which is stopped, and listed",
    work: async ({ keys, open, page, seen, stage }) => {
      const list = listPage(page, stage.url)
      await open("/messages", list.row(0))
      await keys.go(list.cell(0, 0))
      await page.keyboard.press("Control+a")
      await keys.press(page.getByRole("toolbar").getByRole("button", { name: "Edit" }))
      const dialog = page.getByRole("dialog")
      await keys.go(dialog.getByLabel("Field"))
      await page.keyboard.type("Topic")
      await keys.go(dialog.getByLabel("New value"))
      await page.keyboard.type("product")
      await seen("change of many")
      await keys.press(dialog.getByRole("button", { name: "Check" }))
      await dialog.getByText(/records match\./).waitFor()
      await seen("change of many that was tried", "known")
      await keys.press(dialog.getByRole("button", { name: /^Change \d/ }))
      await keys.press(dialog.getByRole("button", { name: "Stop after this batch" }))
      await dialog.getByText("cancelled", { exact: true }).waitFor()
      await seen("change of many that was stopped", "known")
      await keys.press(dialog.getByRole("button", { name: "Close", exact: true }))
      await open("/-/tasks", page.getByRole("link", { name: "Change messages" }))
      await seen("tasks")
      await keys.press(page.getByRole("link", { name: "Change messages" }))
      await page.getByText("cancelled", { exact: true }).waitFor()
      await seen("task")
    }
  },
  {
    name: "a file is brought in",
    work: async ({ keys, open, page, seen }) => {
      await open("/-/import/customers", page.getByRole("button", { name: "Choose a file" }))
      await seen("import")
      const [chooser] = await Promise.all([
        page.waitForEvent("filechooser"),
        keys.press(page.getByRole("button", { name: "Choose a file" }))
      ])
      const text =
        "E-Mail,Name,Kind,Country,Place\r\none@reach.example,One,person,NO,Oslo\r\ntwo@reach.example,Two,nobody,NO,Oslo\r\n"
      await chooser.setFiles({ name: "customers.csv", mimeType: "text/csv", buffer: Buffer.from(text) })
      const place = page.getByLabel("Goes to: Place")
      await keys.go(place)
      await page.keyboard.type("City")
      expect(await place.inputValue()).toBe("city")
      await seen("columns of an import")
      await keys.press(page.getByRole("button", { name: "Check all lines" }))
      await page.getByRole("region", { name: "1 refused" }).waitFor()
      await seen("import that was checked")
      const refused = page.getByRole("combobox", { name: /^When a line is refused/ })
      await keys.go(refused)
      await page.keyboard.type("Leave")
      expect(await refused.inputValue()).toBe("skip")
      await keys.press(page.getByRole("button", { name: "Import 2 lines" }))
      await page.getByText("done", { exact: true }).waitFor()
      await page.getByText("1 written · 1 refused", { exact: false }).waitFor()
    }
  }
]
