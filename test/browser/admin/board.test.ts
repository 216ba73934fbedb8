// Composed pages, saved views, links and actions in a real browser.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { boardPage } from "./pages/board.ts"
import { listPage } from "./pages/list.ts"
import { axeAgain, opener, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  if (chromiumPath !== null) stage = await startStage()
})
afterAll(() => stage?.stop())

const using = opener(() => stage, (page, url) => [boardPage(page, url), listPage(page, url)])

describe.skipIf(chromiumPath === null)("a composed page", () => {
  it("shows figures, a chart, lists and texts, and each leads to its records", async () => {
    await using({ role: "admin" }, async (page, board) => {
      await board.open("today")
      expect(await board.labels()).toEqual([
        "Paid orders",
        "Orders",
        "Average order",
        "To answer",
        "Orders by day",
        "Overdue",
        "Sold out"
      ])
      const orders = await stage.call(
        "admin",
        "GET",
        `/orders:series?field=created_at&granularity=year&from=${
          new Date(Date.now() - 30 * 86_400_000).toISOString()
        }&to=${new Date().toISOString()}`
      )
      const count = (orders.body["points"] as ReadonlyArray<{ readonly count: number }>)
        .reduce((sum, point) => sum + point.count, 0)
      await board.block("Orders").getByText(new Intl.NumberFormat("en").format(count), { exact: true }).waitFor()
      await board.block("Orders").getByText(/Last 30 days/).waitFor()
      // Amounts of several currencies have no average: those in the most frequent one have.
      await board.block("Average order").getByText(/^[\d.,]+ EUR only$/).waitFor()
      expect(await axeAgain(page)).toEqual([])
      await board.block("Overdue").getByRole("link", { name: "Overdue" }).click()
      await page.waitForURL(/\/orders\?filter=status/)
      expect(new URL(page.url()).searchParams.get("order")).toBe("due_on")
    })
  })

  it("has the blocks whose records and fields a person may see, and becomes their start page", async () => {
    await using({ role: "sales" }, async (page, board) => {
      await board.open("today")
      expect(await board.labels()).toContain("Orders by day")
      await page.getByRole("button", { name: "Start with this page" }).click()
      await page.goto(stage.url)
      await page.waitForURL(/\/today$/)
    })
  })
})

describe.skipIf(chromiumPath === null)("saved views", () => {
  it("keep filter, order and columns under a name, and are shared with a role", async () => {
    await using({ role: "sales" }, async (page, board, list) => {
      await list.open("orders", "?filter=status+%3D+paid&order=total+desc&columns=id,total,status")
      await board.save.click()
      await board.dialog.getByLabel("Name").fill("Paid, large first")
      await board.dialog.getByLabel(/role sales/).check()
      expect(await axeAgain(page)).toEqual([])
      await board.dialog.getByRole("button", { name: "Save" }).click()
      await board.tab("Paid, large first").waitFor()
      expect(await board.tab("Paid, large first").getAttribute("aria-selected")).toBe("true")

      await board.tab("All").click()
      await page.waitForFunction(() => !location.search.includes("filter"))
      await board.tab("Paid, large first").click()
      await page.waitForFunction(() => location.search.includes("total+desc"))
      const query = list.query()
      expect([query.get("filter"), query.get("order"), query.get("columns")])
        .toEqual(["status = paid", "total desc", "id,total,status"])

      // A change is marked, and kept when it is saved.
      await list.header("ID").getByRole("button").first().click()
      await board.tab("•").waitFor()
      await page.getByRole("button", { name: "Save the changes" }).click()
      await board.tab("•").waitFor({ state: "detached" })

      await board.options.click()
      await board.option("Name and sharing").click()
      await board.dialog.getByLabel("Name").fill("Paid <b>orders</b>")
      await board.dialog.getByRole("button", { name: "Save" }).click()
      await board.tab("Paid <b>orders</b>").waitFor()
    })
    // Another seller sees it; a viewer does not.
    expect((await stage.call("viewer", "GET", "/../saved-views")).body["items"]).toEqual([])
    await using({ role: "sales" }, async (page, board, list) => {
      await list.open("orders")
      await board.tab("Paid <b>orders</b>").click()
      await board.options.click()
      await board.option("Delete view").click()
      await board.tab("Paid <b>orders</b>").waitFor({ state: "detached" })
      await page.getByRole("button", { name: "Undo" }).click()
      await board.tab("Paid <b>orders</b>").waitFor()
    })
  })

  it("are shared by an admin with any role of the service, and keep a role that is gone", async () => {
    const made = await stage.call("admin", "POST", "/../saved-views", {
      resource: "orders",
      name: "For two",
      filter: "status = paid",
      shared_with: ["gone"]
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    await using({}, async (page, board, list) => {
      await list.open("orders")
      await board.tab("For two").click()
      await board.options.click()
      await board.option("Name and sharing").click()
      await board.dialog.getByLabel(/role viewer/).check()
      expect(await board.dialog.getByLabel(/role gone/).isChecked()).toBe(true)
      expect(await board.dialog.getByLabel("Only you").isChecked()).toBe(false)
      expect(await board.dialog.getByRole("textbox").count()).toBe(1)
      expect(await axeAgain(page)).toEqual([])
      await board.dialog.getByRole("button", { name: "Save" }).click()
      await board.dialog.waitFor({ state: "detached" })
    })
    const shared = async (role: "admin" | "viewer") =>
      ((await stage.call(role, "GET", "/../saved-views")).body["items"] as readonly Record<string, unknown>[])
        .filter(({ name }) => name === "For two").map((view) => view["shared_with"])
    expect(await shared("admin")).toEqual([["gone", "viewer"]])
    expect(await shared("viewer")).toHaveLength(1)
  })

  it("say whose they are, what changed, and that a part is missing", async () => {
    const made = await stage.call("admin", "POST", "/../saved-views", {
      resource: "products",
      name: "Margins",
      filter: "cost > 1",
      columns: ["name", "cost", "price"],
      shared_with: ["viewer"]
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const left = "Parts of this view are left out, because you may not see them."
    await using({ role: "viewer" }, async (page, board, list) => {
      await list.open("products")
      await board.tab("Margins").click()
      await page.getByText(left).waitFor()
      await page.getByText("Shared with you", { exact: true }).waitFor()
      expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toContain("cost")
      expect(await axeAgain(page)).toEqual([])
      await list.header("Name").getByRole("button").first().click()
      await page.getByText("Shared with you · changed").waitFor()
      await board.tab("All").click()
      await page.getByText(left).waitFor({ state: "detached" })
    })
    await using({ role: "admin" }, async (page, board, list) => {
      await list.open("products")
      await board.tab("Margins").click()
      await list.header("Cost").waitFor()
      expect(await page.getByText(left).count()).toBe(0)
      expect(await page.getByText("Shared with you").count()).toBe(0)
    })
  })

  it("say under the dialog's fields why they are refused", async () => {
    await using({ role: "admin", allow: /409/ }, async (page, board, list) => {
      for (const again of [false, true]) {
        await list.open("customers", "?filter=kind+%3D+company")
        await board.save.click()
        await board.dialog.getByLabel("Name").fill("Companies, mine")
        await page.keyboard.press("Enter")
        if (again) await board.dialog.getByRole("alert").getByText(/already/).waitFor()
        else await board.tab("Companies, mine").waitFor()
      }
    })
  })
})

describe.skipIf(chromiumPath === null)("links and actions", () => {
  it("of a record lead where its values say", async () => {
    await using({ role: "admin" }, async (page) => {
      const { body } = await stage.call("admin", "GET", "/customers?page_size=1&order_by=id")
      const [customer] = body["items"] as ReadonlyArray<
        { readonly id: string; readonly email: string; readonly city: string }
      >
      await page.goto(`${stage.url}/customers/${customer!.id}`)
      const mail = page.getByRole("link", { name: "Write a mail" })
      await mail.waitFor()
      expect(await mail.getAttribute("href")).toBe(`mailto:${encodeURIComponent(customer!.email)}`)
      const map = page.getByRole("link", { name: "Find on a map" })
      expect(await map.getAttribute("href")).toContain(`query=${encodeURIComponent(customer!.city)}`)
      expect(await map.getAttribute("rel")).toBe("noreferrer")
    })
  })

  it("of a selection call the function as the person, and show what it says", async () => {
    await stage.database.execute(
      `insert into shop.messages (tenant_id, name, email, topic, message) select 1, 'Visitor ' || n, 'v@example.org', 'other', 'Hello' from generate_series(1, 3) n`
    )
    await using({ role: "sales" }, async (page, _, list) => {
      await list.open("messages", "?filter=done+%3D+false")
      await list.tick(0)
      await list.tick(1)
      await page.getByRole("button", { name: "Mark as done" }).click()
      await list.toast("2 messages are done").waitFor()
    })
    const left = await stage.call("admin", "GET", "/messages?filter=done%20%3D%20true")
    expect((left.body["items"] as readonly unknown[]).length).toBeGreaterThanOrEqual(2)
    // A viewer may not call it, and is not offered it.
    await using({ role: "viewer" }, async (page, _, list) => {
      await list.open("messages")
      await list.tick(0)
      await page.getByRole("toolbar").waitFor()
      expect(await page.getByRole("button", { name: "Mark as done" }).count()).toBe(0)
    })
  })
})
