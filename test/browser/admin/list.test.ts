// The admin app's list in a real browser, as an admin, a seller and a viewer see it. The numbers are those of the rules it was built to.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { MetaDocument } from "../../../web/client/index.ts"
import { chromiumPath } from "../chromium.ts"
import { listPage } from "./pages/list.ts"
import { signInPage } from "./pages/sign-in.ts"
import { axeAgain, opener, type Role, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  if (chromiumPath !== null) stage = await startStage()
})
afterAll(() => stage?.stop())

const using = opener(() => stage, (page, url) => [listPage(page, url)])

const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? "")

describe.skipIf(chromiumPath === null)("signing in", () => {
  it("takes a password, says when it is wrong, and shows the page that was asked for (7)", async () => {
    const { close, page } = await stage.open({ role: null, allow: /401/ })
    const form = signInPage(page, `${stage.url}/customers`)
    await form.open()
    await form.submit(stage.emailOf("admin"), "not the password")
    await form.problem().waitFor()
    expect(await axeAgain(page)).toEqual([])
    await form.submit(stage.emailOf("admin"), stage.password)
    await page.getByRole("heading", { name: "Customers" }).waitFor()
    // The token is in memory only.
    const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie]))
    expect(kept).not.toMatch(/eyJ/)
    await close()
  })

  it("says where the first account is made while there is none (8), and how long to wait (9)", async () => {
    const { close, page } = await stage.open({ role: null, allow: /401|429/ })
    await page.route("**/api/auth/status", (route) => route.fulfill({ json: { needsAdmin: true } }))
    const form = signInPage(page, stage.url)
    await form.open()
    await page.getByText("service users create").waitFor()
    await page.unroute("**/api/auth/status")
    await page.getByRole("button", { name: "I have done it" }).click()
    await page.route("**/api/auth/sign-in/email", (route) =>
      route.fulfill({
        status: 429,
        headers: { "retry-after": "59" },
        contentType: "application/problem+json",
        body: JSON.stringify({ type: "urn:service:problem:too-many-requests", status: 429, detail: "Too many." })
      }))
    await form.submit("a@shop.example", "some password here")
    await page.getByText(/Wait [45]\d s/).waitFor()
    expect(await page.getByRole("button", { name: "Sign in", exact: true }).isDisabled()).toBe(true)
    await close()
  })
})

describe.skipIf(chromiumPath === null)("who sees what", () => {
  it.each<readonly [Role, string, boolean, readonly string[]]>([
    ["admin", "Orders", true, ["Audit", "Jobs", "Users", "Webhooks"]],
    ["sales", "My orders", true, []],
    ["viewer", "Orders", false, ["Webhooks"]]
  ])("%s gets what their meta says, and no more (1, 3, 4)", async (role, orders, creates, own) => {
    await using({ role }, async (page, list) => {
      const [answer] = await Promise.all([page.waitForResponse(/\/api\/meta$/), list.open("orders")])
      const meta = await answer.json() as MetaDocument
      const expected = meta.models.flatMap(({ name }) => {
        const view = meta.views[name]
        return view?.nav == null || name.startsWith("webhook_") ? [] : [view.label.plural]
      })
      expect(expected).toContain(orders)
      if (own[0] !== undefined) await page.getByRole("link", { name: own[0] }).waitFor()
      const navigation = page.getByRole("navigation", { name: "Navigation" })
      const history = navigation.getByRole("button", { name: "History" })
      if (await history.count() > 0) await history.click()
      const entries = await navigation.getByRole("group").getByRole("link").allInnerTexts()
      const names = entries.map((text) => text.split("\n")[0]!).filter((name) => !name.startsWith("#"))
      const pages = meta.pages.map(({ label }) => label)
      expect(names.toSorted()).toEqual([...expected, ...pages, ...own].toSorted())
      expect(await page.getByRole("link", { name: /^New / }).count()).toBe(creates ? 1 : 0)
    })
  })

  it("a viewer finds hidden names nowhere in the document, the storage or the requests, and no way to write", async () => {
    await using({ role: "viewer" }, async (page, list, sent) => {
      await list.open("orders")
      await page.getByRole("button", { name: "Columns" }).click()
      await page.getByLabel("Find a column").waitFor()
      const all = await page.evaluate(() => document.documentElement.outerHTML + JSON.stringify(localStorage))
      for (const hidden of [/internal.note/i, /deleted_at/]) {
        expect(all).not.toMatch(hidden)
        expect(sent.join("\n")).not.toMatch(hidden)
      }
      await page.keyboard.press("Escape")
      expect(await page.getByRole("link", { name: /New order/ }).count()).toBe(0)
      await list.cell(0, 4).click()
      await page.keyboard.press("e")
      await list.toast("You may not change this.").waitFor()
    })
  })

  it("an address that is not there for them says so (3)", async () => {
    await using({ role: "sales", allow: /404/ }, async (page) => {
      for (const path of ["/nothing_here", "/orders/1/2", "/wp-login.php"]) {
        await page.goto(stage.url + path)
        await page.getByRole("heading", { name: "Not found" }).waitFor()
      }
    })
  })
})

describe.skipIf(chromiumPath === null)("the list", () => {
  it("has one scrollbar over all rows, reaches the last by keys, and comes back to the same cell (19, 21)", async () => {
    await using({}, async (page, list) => {
      await list.open("orders")
      const rows = await list.rows()
      expect(rows).toBeGreaterThan(900)
      await list.cell(0, 3).click()
      await page.keyboard.press("Control+End")
      await list.row(rows - 1).and(page.locator(":not([aria-busy])")).waitFor()
      await page.keyboard.press("ArrowUp")
      const before = await focused(page)
      const place = await page.evaluate(() =>
        document.activeElement?.closest("[data-index]")?.getAttribute("data-index")
      )
      expect(place).toBe(String(rows - 2))
      await page.keyboard.press("Enter")
      await page.waitForURL(/\/orders\/\d+/)
      await page.goBack()
      await list.row(rows - 2).and(page.locator(":not([aria-busy])")).waitFor()
      await expect.poll(() => focused(page)).toBe(before)
    })
  })

  it("sorts by one and by several columns, and the address says so (15, 16)", async () => {
    await using({}, async (page, list) => {
      await list.open("orders")
      await list.header("Total").getByRole("button").first().click()
      await expect.poll(() => list.query().get("order")).toBe("total")
      await expect.poll(() => list.header("Total").getAttribute("aria-sort")).toBe("ascending")
      await list.header("ID").getByRole("button").first().click({ modifiers: ["Shift"] })
      await expect.poll(() => list.query().get("order")).toBe("total, id")
      // A field that cannot sort says why, and has its menu instead.
      const why = "Lists cannot be sorted by this field: it is not declared sortable."
      const status = list.header("Status")
      expect(await status.getAttribute("aria-sort")).toBeNull()
      const button = status.getByRole("button").first()
      expect(await button.evaluate((each) => each.ariaDescribedByElements?.map(({ textContent }) => textContent)))
        .toEqual([why])
      await button.click()
      await page.getByRole("dialog", { name: "Status" }).getByText(why).waitFor()
    })
  })

  it("says what the records are: above them, in the palette, where one is made and where a file is chosen", async () => {
    await using({}, async (page, list) => {
      const about = page.getByRole("main").getByText("People and companies that have ordered something, or will.")
      await list.open("customers")
      await about.waitFor()
      await page.keyboard.press("Control+k")
      await page.getByRole("option", { name: "Customers People and companies" }).waitFor()
      await page.keyboard.press("Escape")
      await page.getByRole("link", { name: /^New customer/ }).click()
      await page.waitForURL(/\/customers\/new$/)
      await about.waitFor()
      await page.goto(`${stage.url}/-/import/customers`)
      await about.waitFor()
      await list.open("orders")
      expect(await page.getByRole("main").locator(".about").count()).toBe(0)
    })
  })

  it("filters by chips out of what is there, and the tab with the same filter is the current one (15, 23)", async () => {
    await using({}, async (page, list) => {
      await list.open("orders")
      await page.keyboard.press("f")
      await page.getByLabel("Search", { exact: true }).waitFor()
      await page.keyboard.type("status")
      await page.keyboard.press("Enter")
      await page.getByRole("checkbox", { name: /draft/ }).check()
      await page.getByRole("checkbox", { name: /pending/ }).check()
      await page.getByRole("button", { name: "Apply" }).click()
      await expect.poll(() => list.query().get("filter")).toContain("draft")
      expect(await list.chips()).toEqual(["Status\nis one of\ndraft, pending"])
      await list.tab("Large").click()
      await expect.poll(() => list.query().get("filter")).toBe("total >= 1000")
      expect(await list.tab("Large").getAttribute("aria-selected")).toBe("true")
      await page.getByRole("button", { name: /Remove the condition/ }).click()
      await expect.poll(() => list.query().get("filter")).toBeNull()
    })
  })

  it("takes the filter as text, completes it, and underlines what is wrong where it stands (16, 17)", async () => {
    await using({}, async (page, list) => {
      await list.open("orders")
      await page.getByRole("button", { name: "Edit as text" }).click()
      const text = page.getByRole("textbox", { name: "Filter as text" })
      await text.waitFor()
      await page.keyboard.type("stat")
      await page.getByRole("option", { name: /status/ }).waitFor()
      await page.keyboard.press("Escape")
      await page.keyboard.type("is = paid")
      await page.getByRole("button", { name: "Apply" }).click()
      await page.getByRole("alert").getByText(/Did you mean status/).waitFor()
      // By keys, as people do: the editor takes a selection that a script makes only some time after the focus, and may have put back its own by then.
      await text.click()
      await page.keyboard.press("Control+a")
      await page.keyboard.insertText("status = paid AND total > 100")
      await expect.poll(() => text.innerText()).toBe("status = paid AND total > 100")
      await page.getByRole("button", { name: "Apply" }).click()
      await expect.poll(() => list.chips()).toEqual(["Status\nis\npaid", "Total\nover\n100.00"])
    })
  })

  it("shows a filter of the address that is wrong, with its hint, and loses nothing (17)", async () => {
    await using({ allow: /400/ }, async (page) => {
      await page.goto(`${stage.url}/orders?filter=${encodeURIComponent("stattus = paid")}`)
      await page.getByRole("alert").getByText(/Did you mean status/).waitFor()
    })
  })

  it("picks, hides and pins columns, in the address and for next time (15)", async () => {
    await using({}, async (page, list) => {
      await list.open("orders")
      await page.getByRole("button", { name: "Columns" }).click()
      await page.getByRole("checkbox", { name: "Note", exact: true }).check()
      await page.getByRole("checkbox", { name: "Channel" }).uncheck()
      await page.getByRole("button", { name: "Pin: Customer" }).click()
      await expect.poll(() => list.query().get("columns")).toBe(
        "id,customer_id.p,owner_id,status,total,currency,created_at,note"
      )
      await page.goto(`${stage.url}/customers`)
      await page.getByRole("heading", { name: "Customers" }).waitFor()
      await list.open("orders")
      await expect.poll(() => list.query().get("columns")).toContain("customer_id.p")
      expect(await list.header("Note").count()).toBe(1)
      await page.getByRole("button", { name: "Columns" }).click()
      await page.getByRole("button", { name: "Reset" }).click()
      await expect.poll(() => list.query().get("columns")).toBeNull()
    })
  })

  it("keeps pinned cells at the start while the list is scrolled across, and rows in their order (15)", async () => {
    await using({}, async (page, list) => {
      await page.setViewportSize({ width: 900, height: 700 })
      await list.open("orders", "?columns=id,customer_id.p,owner_id,status,total,currency,created_at,note")
      /** What stands where ticks are, where pinned cells are, and whether rows stand in the document as they are seen. */
      const look = (left: number, top: number) =>
        page.evaluate(async ([left, top]) => {
          const scroller = document.querySelector("[role=grid]")!.parentElement!
          scroller.scrollTo(left, top)
          await new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
          const begin = scroller.getBoundingClientRect()
          const at = document.elementFromPoint(begin.left + 60, begin.top + 200)?.closest("[data-column]") ?? null
          const tick = at?.parentElement!.firstElementChild!.getBoundingClientRect()
          const numbers = Array.from(document.querySelectorAll("[data-index]"), (row) =>
            Number(row.getAttribute("data-index")))
          const shown = numbers.filter((number) =>
            number > 0
          )
          return {
            column: at?.getAttribute("data-column"),
            tick: (tick?.left ?? Number.NaN) - begin.left,
            ordered: shown.every((number, place) => place === 0 || number === shown[place - 1]! + 1)
          }
        }, [left, top] as const)
      const pinned = { column: "0", tick: 0, ordered: true }
      for (const [left, top] of [[0, 0], [300, 0], [300, 900], [200, 20_000], [0, 20_100], [120, 0]] as const) {
        await expect.poll(() => look(left, top)).toEqual(pinned)
      }
      // By keys, a cell is brought out from beneath the pinned ones.
      await page.evaluate(() => document.querySelector("[role=grid]")!.parentElement!.scrollTo(0, 0))
      await list.cell(1, 6).click()
      for (let press = 0; press < 5; press++) await page.keyboard.press("ArrowLeft")
      await expect.poll(() =>
        page.evaluate(() => {
          const box = document.activeElement!.getBoundingClientRect()
          return document.activeElement!.contains(document.elementFromPoint(box.left + 4, box.top + box.height / 2))
        })
      ).toBe(true)
    })
  })

  it("has statistics of a column, and a press on a value filters (23)", async () => {
    await using({}, async (page, list) => {
      await list.open("orders")
      await list.header("Status").getByRole("button").first().click()
      await page.getByRole("button", { name: "Statistics" }).click()
      await page.getByRole("dialog", { name: "Status" }).getByRole("button", { name: /shipped/ }).click()
      await expect.poll(() => list.query().get("filter")).toBe("status = \"shipped\"")
    })
  })

  it("selects by keys and all that match, sums up exactly, and copies (12)", async () => {
    await using({}, async (page, list) => {
      await list.open("orders")
      await list.cell(0, 0).click()
      await list.tick(0)
      await list.cell(2, -1).click({ modifiers: ["Shift"] })
      await page.getByText("3 selected").waitFor()
      await page.getByRole("button", { name: /^Select all \d/ }).click()
      await page.getByText(/^All [\d,]+ selected/).waitFor()
      await page.keyboard.press("Escape")
      expect(await page.getByRole("toolbar").count()).toBe(0)
    })
  })

  it("adds up what is selected by currency, the most frequent one first", async () => {
    await using({}, async (page, list) => {
      const rows = 12
      await list.open("orders", "?columns=id,total")
      await list.cell(0, 0).click()
      await list.tick(0)
      await list.cell(rows - 1, -1).click({ modifiers: ["Shift"] })
      const toolbar = page.getByRole("toolbar", { name: `${rows} selected` })
      await toolbar.waitFor()
      const amounts = (await list.texts(1, rows)).map((text) => /^([\d,]+)\.(\d\d) ([A-Z]{3})$/.exec(text)!)
      const sums = [...Map.groupBy(amounts, ([, , , currency]) => currency)]
        .toSorted(([, a], [, b]) => b.length - a.length)
        .map(([currency, all]) => {
          const cents = all.reduce((sum, [, whole, part]) => sum + Number(`${whole!.replaceAll(",", "")}${part}`), 0)
          return `${(cents / 100).toFixed(2)} ${currency}`
        })
      expect(sums.length).toBeGreaterThan(1)
      expect((await toolbar.getByText(/^Σ/).innerText()).replaceAll(/(?<=\d),(?=\d{3})/g, "")).toBe(
        `Σ ${sums.join(" · ")}`
      )
    })
  })

  it("edits a cell in place with the version it was read as, and undoes it as a new write (13, 15, 31)", async () => {
    await using({}, async (page, list, sent) => {
      await list.open("orders")
      await list.cell(2, 4).click()
      const before = await list.cell(2, 4).innerText()
      const after = before === "phone" ? "store" : "phone"
      await page.keyboard.press("e")
      await page.getByRole("combobox", { name: "Channel" }).selectOption(after)
      await list.toast("Channel saved").waitFor()
      expect(await list.cell(2, 4).innerText()).toBe(after)
      expect(sent.filter((line) => line.startsWith("PATCH"))).toHaveLength(1)
      await page.keyboard.press("Control+z")
      await expect.poll(() => list.cell(2, 4).innerText()).toBe(before)
    })
  })

  it("keeps what was typed when it is refused, with the reason at the cell (32)", async () => {
    await using({ allow: /400/ }, async (page, list) => {
      await list.open("orders")
      await list.cell(3, 5).click()
      await page.keyboard.press("e")
      const input = page.getByRole("textbox", { name: "Total" })
      await input.fill("1.999")
      await page.keyboard.press("Enter")
      await page.getByText("At most 2 decimal places.").waitFor()
      await input.fill("-5")
      await page.keyboard.press("Enter")
      await page.getByRole("alert").getByText(/negative/).waitFor()
      expect(await input.inputValue()).toBe("-5.00")
      await page.keyboard.press("Escape")
    })
  })

  it("merges with what somebody else changed meanwhile, and asks where both changed the same (31)", async () => {
    await using({ allow: /412|ERR_FAILED/ }, async (page, list, _, quiet) => {
      // The page hears of no change: else it may know theirs before the edit begins, and there is nothing to merge.
      await page.route("**/orders:watch*", (route) => route.abort())
      await list.open("orders")
      const id = await list.cell(5, 0).innerText()
      const read = async () => (await stage.call("admin", "GET", `/orders/${id}`)).body
      const first = await read()
      // Another field: both changes hold.
      await stage.call("admin", "PATCH", `/orders/${id}`, { note: "theirs" }, String(first["etag"]))
      await list.cell(5, 4).click()
      const mine = first["channel"] === "phone" ? "store" : "phone"
      await page.keyboard.press("e")
      await page.getByRole("combobox", { name: "Channel" }).selectOption(mine)
      await list.toast("Channel saved").waitFor()
      expect(await read()).toMatchObject({ note: "theirs", channel: mine })
      // The same field: one of the two is chosen. What the page reads again after a save is read: it must not know of what comes now.
      await quiet()
      const second = await read()
      await stage.call("admin", "PATCH", `/orders/${id}`, { channel: "web" }, String(second["etag"]))
      await list.cell(5, 4).click()
      await page.keyboard.press("e")
      const other = mine === "phone" ? "store" : "phone"
      await page.getByRole("combobox", { name: "Channel" }).selectOption(other)
      const dialog = page.getByRole("dialog", { name: "Channel" })
      await dialog.getByRole("button", { name: `Write mine: ${other}` }).click()
      await expect.poll(async () => (await read())["channel"]).toBe(other)
    })
  })

  it("changes many at once after a try that writes nothing, and takes it back (12, 15)", async () => {
    await using({ allow: /400|403/ }, async (page, list, sent) => {
      await list.open("orders", "?order=id")
      await list.tick(0)
      await list.tick(1)
      await page.getByRole("button", { name: "Edit", exact: true }).click()
      await page.getByLabel("Field").selectOption("note")
      await page.getByRole("dialog").getByLabel("New value").fill("many at once")
      await page.getByRole("button", { name: "Check" }).click()
      await page.getByText("All 2 records pass.").waitFor()
      expect(sent.filter((line) => line.includes(":batchWrite")).every((line) => line.includes("dry_run=true"))).toBe(
        true
      )
      await page.getByRole("button", { name: "Change 2 records" }).click()
      await list.toast("2 records changed").waitFor()
      const id = await list.cell(0, 0).innerText()
      expect((await stage.call("admin", "GET", `/orders/${id}`)).body["note"]).toBe("many at once")
      // A value that a rule of the resource refuses: every record is named, nothing is written.
      await list.tick(0)
      await list.tick(1)
      await page.getByRole("button", { name: "Edit", exact: true }).click()
      await page.getByLabel("Field").selectOption("total")
      await page.getByRole("dialog").getByLabel("New value").fill("-1")
      await page.getByRole("button", { name: "Check" }).click()
      await page.getByText(/would be refused/).waitFor()
      // The reason once, and the records by their titles.
      const refused = page.getByRole("dialog").getByRole("heading", { name: /2 records$/ })
      await refused.waitFor()
      const first = page.getByRole("dialog").getByRole("link", { name: new RegExp(`^#${id} \\S`) })
      expect(await first.getAttribute("href")).toBe(`/orders/${id}`)
      await page.getByRole("button", { name: "Cancel", exact: true }).click()
    })
  })

  it("names the record that was changed after the try, and changes the others", async () => {
    await using({ allow: /412/ }, async (page, list) => {
      await list.open("orders", "?order=id")
      const ids = [await list.cell(6, 0).innerText(), await list.cell(7, 0).innerText()]
      await list.tick(6)
      await list.tick(7)
      await page.getByRole("button", { name: "Edit", exact: true }).click()
      await page.getByLabel("Field").selectOption("note")
      await page.getByRole("dialog").getByLabel("New value").fill("the other one")
      await page.getByRole("button", { name: "Check" }).click()
      await page.getByText("All 2 records pass.").waitFor()
      const { etag } = (await stage.call("admin", "GET", `/orders/${ids[0]}`)).body
      await stage.call("admin", "PATCH", `/orders/${ids[0]}`, { note: "meanwhile" }, String(etag))
      await page.getByRole("button", { name: "Change 2 records" }).click()
      const link = page.getByRole("dialog").getByRole("link", { name: new RegExp(`^#${ids[0]}`) })
      expect(await link.getAttribute("href")).toBe(`/orders/${ids[0]}`)
      await page.getByRole("button", { name: "Change 1 record" }).click()
      await list.toast("1 record changed").waitFor()
      const notes = ids.map(async (id) => (await stage.call("admin", "GET", `/orders/${id}`)).body["note"])
      expect(await Promise.all(notes)).toEqual(["meanwhile", "the other one"])
    })
  })

  it("deletes what is kept as deleted, shows it, and brings it back (25, 35)", async () => {
    await using({}, async (page, list) => {
      await list.open("orders", "?order=id")
      const id = await list.cell(4, 0).innerText()
      await list.tick(4)
      await page.getByRole("button", { name: "Delete", exact: true }).click()
      await page.getByText("They are kept as deleted records").waitFor()
      await page.getByRole("button", { name: "Delete 1 record" }).click()
      await list.toast("1 record deleted").waitFor()
      await expect.poll(async () => (await stage.call("admin", "GET", `/orders/${id}`)).status).toBe(404)
      await page.getByRole("button", { name: /^Undo/ }).click()
      await expect.poll(async () => (await stage.call("admin", "GET", `/orders/${id}`)).status).toBe(200)
      await list.menu("Deleted records")
      await expect.poll(() => list.query().get("deleted")).toBe("true")
    })
  })

  it("warns where the scan guard does, and shows its suggestion to admins (26)", async () => {
    await using({ allow: /400/ }, async (page, list) => {
      await page.route("**/api/v1/products:search", async (route) => {
        const answer = await route.fetch()
        await route.fulfill({
          response: answer,
          headers: { ...answer.headers(), "x-service-warning": "expensive-query" }
        })
      })
      await list.open("products")
      await page.getByText("The service warns: expensive-query").waitFor()
      await page.unroute("**/api/v1/products:search")
      await page.route("**/api/v1/customers:search", (route) =>
        route.fulfill({
          status: 400,
          contentType: "application/problem+json",
          headers: { "x-request-id": "request-17" },
          body: JSON.stringify({
            type: "urn:service:problem:expensive-query",
            status: 400,
            detail: "This would read the whole table.",
            suggestion: "create index on shop.customers (city)"
          })
        }))
      await page.goto(`${stage.url}/customers`)
      await page.getByText("create index on shop.customers (city)").waitFor()
      await page.getByRole("button", { name: /Request/ }).waitFor()
    })
  })

  it("keeps the marked record of the palette when records of a resource before it come later", async () => {
    await using({}, async (page, list) => {
      await list.open("orders")
      const { body } = await stage.call("admin", "GET", "/customers?page_size=1")
      const [customer] = body["items"] as readonly Record<string, unknown>[]
      const name = String(customer!["name"])
      let answer = () => {}
      const late = new Promise<void>((resolve) => {
        answer = resolve
      })
      const { body: orders } = await stage.call("admin", "GET", "/orders?page_size=1")
      // The search in orders answers last, and with a record.
      await page.route(/\/orders\?.*filter=/, async (route) => {
        await late
        await route.fulfill({ json: { ...orders, next_page_token: "", total_size_estimate: "1" } })
      })
      await page.keyboard.press("Control+k")
      await page.getByRole("combobox").fill(name)
      const found = page.getByRole("option", { name: new RegExp(`^${name}.*Customer`) }).first()
      await expect.poll(() => found.getAttribute("aria-selected")).toBe("true")
      answer()
      await page.getByRole("option", { name: /Order/ }).first().waitFor()
      await expect.poll(() => page.getByRole("option").first().innerText()).not.toContain(name)
      expect(await found.getAttribute("aria-selected")).toBe("true")
      await page.keyboard.press("Enter")
      await page.waitForURL(/\/customers\/\d+/)
    })
  })

  it("finds records, pages and actions by the palette, and goes by letters (12, 18)", async () => {
    await using({}, async (page, list) => {
      await list.open("orders")
      await page.keyboard.press("Control+k")
      await page.getByRole("combobox").waitFor()
      const { body } = await stage.call("admin", "GET", "/customers?page_size=1")
      const [customer] = body["items"] as readonly Record<string, unknown>[]
      let answer = () => {}
      const late = new Promise<void>((resolve) => {
        answer = resolve
      })
      await page.route(/\/customers\?.*filter=/, (route) => late.then(() => route.continue()))
      await page.keyboard.type(String(customer!["name"]))
      // As fast as fingers are: Enter waits for the record.
      await page.keyboard.press("Enter")
      answer()
      await page.waitForURL(/\/customers\/\d+/)
      // The address changes first. Letters that come before the palette is gone are its own.
      await page.getByRole("dialog").waitFor({ state: "detached" })
      // As fast as fingers are, however late the page answers: the second letter has its time.
      await Promise.all(["g", "p"].map((key) => page.keyboard.press(key)))
      await page.waitForURL(/\/products/)
      await page.getByRole("heading", { name: "Products" }).waitFor()
      await page.keyboard.press("?")
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor()
    })
  })
})

describe.skipIf(chromiumPath === null)("what happens meanwhile", () => {
  it("goes on after the session ended, with what was typed (7, 22)", async () => {
    await using({ allow: /401/ }, async (page, list, _, quiet) => {
      await list.open("orders")
      await quiet()
      // Typed before the session ends: any request of the page may be the first to notice that, and asks then.
      await list.cell(6, 5).click()
      await page.keyboard.press("e")
      await page.getByRole("textbox", { name: "Total" }).fill("77.77")
      await page.context().clearCookies()
      await page.route("**/api/v1/**", (route) =>
        route.fulfill({
          status: 401,
          contentType: "application/problem+json",
          body: JSON.stringify({ type: "urn:service:problem:unauthenticated", status: 401 })
        }))
      await page.keyboard.press("Enter")
      const dialog = page.getByRole("dialog", { name: "Sign in again" })
      await dialog.waitFor()
      await page.unroute("**/api/v1/**")
      await dialog.getByLabel("Password", { exact: true }).fill(stage.password)
      await dialog.getByRole("button", { name: "Sign in", exact: true }).click()
      await dialog.waitFor({ state: "detached" })
      expect(await page.getByRole("textbox", { name: "Total" }).inputValue()).toBe("77.77")
      await page.getByRole("textbox", { name: "Total" }).press("Enter")
      await list.toast("Total saved").waitFor()
    })
  })

  it("says that it is offline, and keeps what was typed until the connection is back (22)", async () => {
    await using({ allow: /ERR_INTERNET_DISCONNECTED|Failed to load/ }, async (page, list, _, quiet) => {
      await list.open("orders")
      await quiet()
      await page.context().setOffline(true)
      await page.getByText("You are offline").waitFor()
      await list.cell(7, 5).click()
      await page.keyboard.press("e")
      await page.getByRole("textbox", { name: "Total" }).fill("88.88")
      await page.keyboard.press("Enter")
      await page.getByRole("alert").getByText(/cannot be reached/).waitFor()
      await page.context().setOffline(false)
      await page.getByRole("textbox", { name: "Total" }).press("Enter")
      await list.toast("Total saved").waitFor()
    })
  })
})

describe.skipIf(chromiumPath === null)("for everybody", () => {
  it("turns with the language: arrows go on where the next column is (RTL)", async () => {
    await using({ language: "ar" }, async (page, list) => {
      await list.open("orders")
      expect(await page.evaluate(() => document.documentElement.dir)).toBe("rtl")
      await list.cell(0, 1).click()
      await page.keyboard.press("ArrowLeft")
      expect(await page.evaluate(() => document.activeElement?.getAttribute("data-column"))).toBe("2")
    })
  })
})

/** The texts and boxes of the head's columns and of the rows and cells in sight, to half a pixel: those that stand there before the app, or the app's own. */
const drawn = (page: Page, rows: string): Promise<readonly string[]> =>
  page.evaluate((rows) => {
    const found = [...document.querySelectorAll(rows)]
    const scroller = found[0]!.parentElement!.parentElement!
    const bottom = scroller.parentElement!.getBoundingClientRect().bottom
    const heads = [...scroller.firstElementChild!.children].map((head) => head.querySelector("[class*=header]") ?? head)
    const parts = found.filter((row) => row.getBoundingClientRect().top < bottom)
      .flatMap((row) => [row, ...row.querySelectorAll("div, bdi, time, .badge, .related, .title-link")])
    return [...heads, ...parts].map((part) => {
      const { height, width, x, y } = part.getBoundingClientRect()
      const box = [x, y, width, height].map((length) => Math.round(length * 2) / 2)
      return `${part.textContent} ${part.getAttribute("href") ?? ""} at ${box.join()}`
    })
  }, rows)

describe.skipIf(chromiumPath === null)("the rows that stand there before the app", () => {
  const plain = "[data-plain]"

  it.each<readonly [Role, string, string, string]>([
    ["viewer", "en", "normal", "?order=status,total+desc"],
    ["admin", "ar", "compact", "?columns=id.p,total,customer_id.220,created_at,customer.country"]
  ])("of a %s in %s are those of the app, box by box", async (role, language, density, query) => {
    await using({ role, language }, async (page, list) => {
      await page.goto(`${stage.url}/-/account`)
      await page.evaluate((density) => {
        localStorage.setItem("admin:in", "")
        localStorage.setItem("admin:preferences", JSON.stringify({ density }))
      }, density)
      const app = Promise.withResolvers<void>()
      await page.route(/\/main-[^/]*\.js$/, async (route) => {
        await app.promise
        await route.continue()
      })
      await page.goto(`${stage.url}/orders${query}`)
      await page.locator(plain).first().waitFor()
      // For the eye and the pointer: the app is the page for everybody else.
      expect(await page.locator("[aria-hidden=true]").filter({ has: page.locator(plain) }).count()).toBeGreaterThan(0)
      expect(await page.locator("[data-plain] a:not([tabindex='-1'])").count()).toBe(0)
      expect(await page.locator("[data-scroller]").first().getAttribute("tabindex")).toBe("-1")
      const text = await page.evaluate(() => document.documentElement.outerHTML + JSON.stringify(localStorage))
      if (role === "viewer") expect(text).not.toMatch(/internal.note|deleted_at/i)
      const before = await drawn(page, plain)
      app.resolve()
      await list.row(0).and(page.locator(":not([aria-busy])")).waitFor()
      expect(await page.locator(plain).count()).toBe(0)
      expect(before.length).toBeGreaterThan(100)
      const after = new Set(await drawn(page, "[data-index]"))
      expect(before.filter((each) => !after.has(each))).toEqual([])
    })
  })

  it("leave a refusal and an ended session to the app", async () => {
    await using({ role: "viewer", allow: /401|403/ }, async (page, list) => {
      await list.open("orders")
      await page.route("**/orders:search", (route) =>
        route.fulfill({
          status: 403,
          contentType: "application/problem+json",
          body: JSON.stringify({ type: "urn:service:problem:forbidden", status: 403, detail: "Not today." })
        }))
      await page.reload()
      await page.getByText("Not today.").waitFor()
      await page.context().clearCookies()
      await page.reload()
      await signInPage(page, stage.url).email().waitFor()
      expect(await page.evaluate(() => localStorage.getItem("admin:in"))).toBeNull()
    })
  })
})
