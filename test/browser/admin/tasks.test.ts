// Exports, changes of all that match and imports in a real browser: what a person sees from the list to the report.
import { readFileSync } from "node:fs"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { f } from "../../../composition/index.ts"
import { chromiumPath } from "../chromium.ts"
import { listPage } from "./pages/list.ts"
import { axeAgain, opener, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage({
    // The shop's only key of several fields is of records in which nothing else can be changed.
    schema: "alter table shop.product_tags add column note text",
    change: (config) => ({
      ...config,
      resources: config.resources.map((resource) => {
        if (resource.name !== "product_tags") return resource
        const declaration = resource.declaration as { readonly fields: object }
        return {
          ...resource,
          declaration: { ...declaration, fields: { ...declaration.fields, note: f.text().optional() } }
        }
      })
    })
  })
})
afterAll(() => stage?.stop())

const using = opener(() => stage, (page, url) => [listPage(page, url)])

/** Where somebody looks at the pages after a run (not kept). */
const picture = async (page: Page, name: string): Promise<void> => {
  const folder = process.env["PICTURES"]
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` })
}

const file = (name: string, text: string) => ({ name, mimeType: "text/csv", buffer: Buffer.from(text) })

const upload = async (page: Page, text: string, name = "customers.csv"): Promise<void> => {
  await page.locator("input[type=file]").setInputFiles(file(name, text))
  await page.getByRole("table").first().waitFor()
}

const choose = (page: Page, label: string, option: string) =>
  page.getByRole("combobox", { name: new RegExp(`^${label}`) }).selectOption({ label: option })

describe.skipIf(chromiumPath === null)("an export", () => {
  it("saves all that the list matches, with its columns, as the service streams it", async () => {
    await using({ role: "admin" }, async (page, list) => {
      await list.open("orders", "?filter=status%20%3D%20paid")
      await page.getByRole("button", { name: "Export" }).click()
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("menuitem", { name: "CSV", exact: true }).click()
      ])
      expect(download.suggestedFilename()).toBe("orders.csv")
      const text = readFileSync(await download.path(), "utf8")
      const lines = text.trimEnd().split("\r\n")
      expect(lines.length - 1).toBe(await list.rows())
      expect(lines[0]!.replace("\uFEFF", "").split(",")).toContain("status")
      await list.toast("The export is saved.").waitFor()
    })
  })
})

describe.skipIf(chromiumPath === null)("a change of all that match", () => {
  it("is tried, begun, followed to its end, and reported", async () => {
    await using({ role: "admin" }, async (page, list) => {
      await list.open("orders", "?filter=customer.country%20%3D%20DE")
      const count = (await list.rows()).toLocaleString("en")
      await page.getByRole("checkbox", { name: "Select all" }).click()
      await page.getByRole("toolbar").getByRole("button", { name: "Edit" }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByLabel("Field").selectOption("note")
      await dialog.getByLabel("New value").fill("all at once")
      await dialog.getByRole("button", { name: "Check" }).click()
      await dialog.getByText(`${count} records match.`, { exact: false }).waitFor()
      expect(await axeAgain(page)).toEqual([])
      await picture(page, "bulk-tried")
      await dialog.getByRole("button", { name: `Change ${count}` }).click()
      await dialog.getByText("done", { exact: true }).waitFor()
      await dialog.getByText(`${count} of ${count}`).waitFor()
      expect(await axeAgain(page)).toEqual([])
      await picture(page, "bulk-done")
      await dialog.getByRole("button", { name: "Close", exact: true }).click()
      const { body } = await stage.call("admin", "GET", "/orders?filter=search(%27all%20at%20once%27)&count=exact")
      expect(Number(body["total_size"]).toLocaleString("en")).toBe(count)
      // A change that every record refuses is not offered.
      await page.getByRole("checkbox", { name: "Select all" }).click()
      await page.getByRole("toolbar").getByRole("button", { name: "Edit" }).click()
      await dialog.getByLabel("Field").selectOption("total")
      await dialog.getByLabel("New value").fill("-1")
      await dialog.getByRole("button", { name: "Check" }).click()
      await dialog.getByText("0 would be written", { exact: false }).waitFor()
      expect(await dialog.getByRole("button").allInnerTexts()).toEqual(["Cancel"])
    })
  })
})

describe.skipIf(chromiumPath === null)("records that were deleted", () => {
  it("are all brought back at once, as a task that says so", async () => {
    const count = async (query = "") =>
      Number((await stage.call("admin", "GET", `/products?count=exact&page_size=1${query}`)).body["total_size"])
    const all = await count("&show_deleted=true")
    const begun = await stage.call("admin", "POST", "/products:bulk", { op: "delete", filter: "" })
    expect(begun.status).toBe(202)
    await expect.poll(() => count()).toBe(0)
    await using({ role: "admin" }, async (page, list) => {
      await list.open("products", "?deleted=true")
      await page.getByRole("checkbox", { name: "Select all" }).click()
      await page.getByRole("toolbar").getByRole("button", { name: "Bring back" }).click()
      const dialog = page.getByRole("dialog")
      const shown = all.toLocaleString("en")
      await dialog.getByText(`${shown} records match. All were tried. Nothing was written.`, { exact: false }).waitFor()
      expect(await axeAgain(page)).toEqual([])
      await picture(page, "undelete-tried")
      await dialog.getByRole("button", { name: `Bring back ${shown}` }).click()
      await dialog.getByText("done", { exact: true }).waitFor()
      await picture(page, "undelete-done")
      await dialog.getByRole("button", { name: "Close", exact: true }).click()
      expect(await count()).toBe(all)
      await page.goto(`${stage.url}/-/tasks`)
      await page.getByRole("link", { name: "Bring back Products" }).first().waitFor()
      await picture(page, "undelete-tasks")
    })
  })
})

describe.skipIf(chromiumPath === null)("for a role that may do some of it", () => {
  /** What the list of a resource offers, once everything in it is selected. */
  const offered = async (page: Page, list: ReturnType<typeof listPage>, resource: string) => {
    await list.open(resource)
    await page.locator("header").getByRole("button", { name: "More" }).click()
    await page.getByRole("menuitem", { name: "Reload" }).waitFor()
    const more = await page.getByRole("menuitem").allInnerTexts()
    await page.keyboard.press("Escape")
    await page.getByRole("checkbox", { name: "Select all" }).click()
    await page.getByRole("toolbar").waitFor()
    const buttons = await page.getByRole("toolbar").getByRole("button").allInnerTexts()
    return [
      ...more.filter((label) => /Import|tasks/.test(label)),
      ...buttons.map((label) => label.trim()).filter((label) => /^(Edit|Delete|Bring back)$/.test(label))
    ]
  }

  it("the app offers what the role sales may do, and the service keeps to it", async () => {
    await using({ role: "sales", allow: /40[34]/ }, async (page, list) => {
      expect(await offered(page, list, "customers")).toEqual(["Import…", "Your tasks", "Edit"])
      expect(await offered(page, list, "products")).toEqual([])
      expect(await offered(page, list, "orders")).toEqual(["Import…", "Your tasks", "Edit", "Delete"])
      const own = await list.rows()
      // Of their own orders only drafts may be deleted: the preview says so before anything happens.
      await page.getByRole("toolbar").getByRole("button", { name: "Delete" }).click()
      const dialog = page.getByRole("alertdialog")
      await dialog.getByText(`${own.toLocaleString("en")} records match.`, { exact: false }).waitFor()
      await dialog.getByRole("heading", { name: "You may not do this. 200 records" }).waitFor()
      // Each by its title; a few orders have no customer.
      await expect.poll(() => dialog.getByRole("link", { name: /^#\d+/ }).count()).toBe(200)
      const named = dialog.getByRole("link", { name: /^#\d+ \S/ }).first()
      expect(await named.getAttribute("href")).toMatch(/^\/orders\/\d+$/)
      // A dry run has no report that could hold the others.
      await dialog.getByText("The first 200 are shown.").waitFor()
      expect(await dialog.getByText("report", { exact: false }).count()).toBe(0)
      await picture(page, "sales-delete")
      await dialog.getByRole("button", { name: "Cancel" }).click()

      await page.goto(`${stage.url}/-/import/products`)
      await page.getByRole("heading", { name: "Not found" }).waitFor()
      await page.goto(`${stage.url}/-/import/customers`)
      await upload(page, "name,kind,credit_limit\r\nSold,person,5\r\n")
      // A field that only admins may write is no goal.
      const goals = await page.getByLabel("Goes to: credit_limit").getByRole("option").allInnerTexts()
      expect(goals).toContain("Email")
      expect(goals.filter((label) => /credit/i.test(label))).toEqual([])
      const address = page.url()
      await using({ role: "admin", allow: /404/ }, async (other) => {
        await other.goto(address)
        await other.getByText("There is no such resource or record.").waitFor()
        await other.goto(`${stage.url}/-/tasks`)
        await other.getByRole("heading", { name: "Your tasks" }).waitFor()
        expect(await other.locator(`a[href$="${new URL(address).pathname}"]`).count()).toBe(0)
      })
    })
    const refused = [
      await stage.call("sales", "POST", "/products:bulk", { op: "delete" }),
      await stage.call("sales", "POST", "/customers:bulk", { op: "delete" }),
      await stage.call("viewer", "POST", "/customers:bulk", { op: "update", data: { name: "x" } }),
      await stage.call("viewer", "POST", "/customers:bulk?dry_run=true", { op: "undelete" })
    ]
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403])
  })
})

describe.skipIf(chromiumPath === null)("an import", () => {
  const text = "E-Mail,Full name,Name,Kind,Country,City,Nothing\r\n" +
    "one@import.example,x,One,person,NO,Oslo,1\r\ntwo@import.example,x,Two,nobody,NO,Oslo,2\r\nthree@import.example,x,Three,,NO,Oslo,3\r\n"

  it("is uploaded, mapped, checked, corrected, and brought in", async () => {
    await using({ role: "admin" }, async (page, list) => {
      await list.open("customers")
      await list.menu("Import…")
      await page.getByRole("heading", { name: "Import customers" }).waitFor()
      expect(await axeAgain(page)).toEqual([])
      await picture(page, "import-begin")
      await upload(page, text)
      expect(new URL(page.url()).pathname).toMatch(/^\/-\/tasks\/\w+$/)
      expect(await page.getByLabel("Goes to: Name").inputValue()).toBe("name")
      expect(await page.getByLabel("Goes to: Nothing").inputValue()).toBe("")
      expect(await axeAgain(page)).toEqual([])
      await picture(page, "import-mapping")
      await page.getByRole("button", { name: "Check all lines" }).click()
      await page.getByText("checked", { exact: true }).waitFor()
      const refusals = page.getByRole("region", { name: "1 refused" })
      expect(await refusals.getByRole("row").nth(1).innerText()).toMatch(/^3\s+Kind\s+Expected/)
      expect(await axeAgain(page)).toEqual([])
      await picture(page, "import-checked")
      await choose(page, "When a line is refused", "Leave it out and go on")
      await page.getByRole("button", { name: "Import 3 lines" }).click()
      await page.getByText("done", { exact: true }).waitFor()
      await page.getByText("2 written · 1 refused", { exact: false }).waitFor()
      await picture(page, "import-done")
      const [report] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Download the report" }).click()
      ])
      expect(readFileSync(await report.path(), "utf8")).toContain("3,Kind,,kind,invalid-record")
      await page.getByRole("link", { name: "Back to customers" }).click()
      await page.getByRole("heading", { name: "Customers" }).waitFor()
      await page.goto(`${stage.url}/-/tasks`)
      await page.getByRole("link", { name: "Import customers" }).first().waitFor()
      expect(await axeAgain(page)).toEqual([])
      await picture(page, "tasks")
    })
  })

  it("finds records by a key of several fields", async () => {
    const { body } = await stage.call("admin", "GET", "/product_tags?page_size=1&count=exact")
    const [known] = body["items"] as ReadonlyArray<{ readonly product_id: string; readonly tag: string }>
    const { product_id: product, tag } = known!
    await using({ role: "admin" }, async (page) => {
      await page.goto(`${stage.url}/-/import/product_tags`)
      await upload(
        page,
        `Product id,Tag,Note\r\n${product},${tag},found\r\n${product},by-two,made\r\n${product},Not a tag,no\r\n`
      )
      await choose(page, "What to do with the lines", "Change those that are there, add the others")
      const match = page.getByRole("combobox", { name: /^Find records by/ })
      expect(await match.locator("option:checked").innerText()).toBe("Product + Tag")
      expect(await axeAgain(page)).toEqual([])
      await picture(page, "match-mapping")
      await page.getByRole("button", { name: "Check all lines" }).click()
      await page.getByText("checked", { exact: true }).waitFor()
      await page.getByText("2 would be written · 1 would be refused", { exact: false }).waitFor()
      await picture(page, "match-checked")
      await choose(page, "When a line is refused", "Leave it out and go on")
      await page.getByRole("button", { name: "Import 3 lines" }).click()
      await page.getByText("done", { exact: true }).waitFor()
      await page.getByText("2 written · 1 refused · 0 needed no change", { exact: false }).waitFor()
      await picture(page, "match-done")
    })
    for (const [name, note] of [[tag, "found"], ["by-two", "made"]]) {
      const { body: after } = await stage.call("admin", "GET", `/product_tags/${product},${name!}`)
      expect([after["tag"], after["note"]]).toEqual([name, note])
    }
  })

  it("is discarded before it begins, and then blocks no other", async () => {
    await using({ role: "admin" }, async (page) => {
      await page.goto(`${stage.url}/-/import/customers`)
      await upload(page, text)
      await page.getByRole("button", { name: "Discard the file" }).click()
      await page.getByText("cancelled", { exact: true }).waitFor()
      expect(await page.getByRole("button", { name: "Discard the file" }).count()).toBe(0)
      expect(await page.getByRole("button", { name: /^Import \d/ }).count()).toBe(0)
    })
  })

  it("says what is wrong with a file, and stays", async () => {
    await using({ role: "admin", allow: /400/ }, async (page) => {
      await page.goto(`${stage.url}/-/import/customers`)
      await page.getByRole("button", { name: "Choose a file" }).waitFor()
      await page.locator("input[type=file]").setInputFiles(file("a.csv", "name,kind\r\n\"open"))
      await page.getByText("Line 2: A quote is not closed.", { exact: false }).waitFor()
      expect(new URL(page.url()).pathname).toBe("/-/import/customers")
    })
  })

  it("is not there for who may not add or change records", async () => {
    await using({ role: "viewer" }, async (page, list) => {
      await list.open("customers")
      await page.locator("header").getByRole("button", { name: "More" }).click()
      expect(await page.getByRole("menuitem", { name: "Import…" }).count()).toBe(0)
      await page.goto(`${stage.url}/-/import/customers`)
      await page.getByRole("heading", { name: "Nothing is here" }).or(page.locator(".missing h1")).first().waitFor()
    })
  })
})
