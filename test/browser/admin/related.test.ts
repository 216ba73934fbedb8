// Fields of related records in the admin app's lists: in the filter, as columns, and several fields in one change.
import { readFileSync } from "node:fs"
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

describe.skipIf(chromiumPath === null)("the filter through relations", () => {
  it("is chosen from the fields of related records, and is a chip in words", async () => {
    await using({}, async (page, list) => {
      await list.open("orders")
      await page.keyboard.press("f")
      await page.getByLabel("Search", { exact: true }).waitFor()
      await page.getByRole("button", { name: "Fields of customer" }).click()
      expect(await axeAgain(page)).toEqual([])
      await page.getByRole("button", { name: "Country", exact: true }).click()
      // The countries of the orders, with the number of orders: those of `:facets` over the path.
      const norway = page.getByRole("checkbox", { name: /^Norway/ })
      await norway.check()
      await page.getByRole("button", { name: "Apply" }).click()
      await expect.poll(() => list.query().get("filter")).toBe("customer.country = \"NO\"")
      await expect.poll(() => list.chips()).toEqual(["Customer → Country\nis\nNorway"])
      const { body } = await stage.call("admin", "GET", "/orders?count=exact&page_size=1&filter=customer.country%3DNO")
      await expect.poll(list.rows).toBe(body["total_size"])
      // Typed words find fields further away, and the number of related records is a subject, too.
      await page.keyboard.press("f")
      await page.getByLabel("Search", { exact: true }).fill("lines stock")
      await page.getByRole("button", { name: "Lines → Product → Stock" }).click()
      await page.getByLabel("Value", { exact: true }).fill("5")
      await page.getByRole("button", { name: "Apply" }).click()
      await page.keyboard.press("f")
      await page.getByRole("button", { name: "Fields of lines" }).click()
      await page.getByRole("button", { name: "Number", exact: true }).click()
      await page.getByLabel("Value", { exact: true }).fill("2")
      await page.getByRole("button", { name: "Apply" }).click()
      await expect.poll(() => list.chips()).toEqual([
        "Customer → Country\nis\nNorway",
        "Lines → Product → Stock\nat least\n5",
        "Lines\nat least\n2"
      ])
      await list.row(0).waitFor()
    })
  })

  it("is completed behind a relation and within the quotes of has, and what is typed becomes chips", async () => {
    await using({}, async (page, list) => {
      await list.open("orders")
      await page.getByRole("button", { name: "Edit as text" }).click()
      const text = page.getByRole("textbox", { name: "Filter as text" })
      await text.waitFor()
      await page.keyboard.type("cust")
      await page.getByRole("option", { name: /^customer ?Customer · Customers/ }).click()
      // Behind the relation the fields of its records are offered at once.
      await page.getByRole("option", { name: /^country/ }).click()
      await page.keyboard.type(" = N")
      await page.getByRole("option", { name: "NO", exact: true }).click()
      await page.keyboard.type(" AND has(li")
      await page.getByRole("option", { name: /^lines/ }).click()
      await page.keyboard.type(", \"product.st")
      await page.getByRole("option", { name: /^stock/ }).click()
      await page.keyboard.type(" > 1\")")
      expect(await text.innerText()).toBe("customer.country = NO AND has(lines, \"product.stock > 1\")")
      await page.getByRole("button", { name: "Apply" }).click()
      await expect.poll(() => list.chips()).toEqual([
        "Customer → Country\nis\nNorway",
        "Lines → Product → Stock\nover\n1"
      ])
    })
  })
})

describe.skipIf(chromiumPath === null)("columns through relations", () => {
  it("are chosen, read only, kept in the address and in saved views, and exported", async () => {
    await using({}, async (page, list, sent) => {
      await list.open("orders")
      await page.getByRole("button", { name: "Columns" }).click()
      await page.getByRole("button", { name: "Fields of customer" }).click()
      expect(await axeAgain(page)).toEqual([])
      await page.getByRole("checkbox", { name: "Customer → Country" }).check()
      // What is searched for is found without opening anything.
      await page.getByLabel("Find a column").fill("customer credit")
      await page.getByRole("checkbox", { name: "Customer → Credit limit" }).check()
      await page.getByLabel("Find a column").fill("")
      for (const name of ["Owner", "Channel", "Currency", "Created"]) {
        await page.getByRole("checkbox", { name, exact: true }).uncheck()
      }
      await page.keyboard.press("Escape")
      const columns = "id,customer_id,status,total,customer.country,customer.credit_limit"
      await expect.poll(() => list.query().get("columns")).toBe(columns)
      await list.header("Customer · Country").waitFor()
      expect(sent.findLast((each) => each.includes("/orders:search"))).toContain("\"customer.country\"")
      const { body } = await stage.call(
        "admin",
        "GET",
        "/orders?page_size=1&order_by=created_at%20desc&fields=id,customer.country"
      )
      const [first] = body["items"] as ReadonlyArray<
        { readonly id: string; readonly expand: { readonly customer: { readonly country: string } } }
      >
      const countryOf = (code: string) => new Intl.DisplayNames(["en"], { type: "region" }).of(code)
      await expect.poll(() => list.cell(0, 0).innerText()).toBe(first!.id)
      await expect.poll(() => list.cell(0, 4).innerText()).toBe(countryOf(first!.expand.customer.country))
      // The head says why it does not sort, and has the statistics of the path.
      await list.header("Customer · Country").getByRole("button").first().click()
      await page.getByText("Lists cannot be sorted by this field of a related record.").last().waitFor()
      await page.getByRole("button", { name: "Statistics" }).click()
      await page.getByRole("button", { name: /^Norway/ }).click()
      await expect.poll(() => list.query().get("filter")).toBe("customer.country = \"NO\"")
      await expect.poll(() => list.cell(0, 4).innerText()).toBe("Norway")
      // Whoever wants to change it is told where.
      await list.cell(0, 4).click()
      await page.keyboard.press("F2")
      await list.toast("This belongs to customer. Change it there.").waitFor()
      // A file of the list has the column, too.
      await page.getByRole("button", { name: "Export" }).click()
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("menuitem", { name: "CSV", exact: true }).click()
      ])
      const [head, line] = readFileSync(await download.path(), "utf8").split("\r\n")
      expect(head).toBe(`\uFEFF${columns}`)
      expect(line!.split(",")[4]).toBe("NO")
      // A saved view keeps it, without what the list had before.
      await page.getByRole("button", { name: "Save view" }).click()
      await page.getByLabel("Name").fill("Northern")
      await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click()
      await list.tab("All").click()
      await expect.poll(() => list.query().get("columns")).not.toBe(columns)
      await list.tab("Northern").click()
      await expect.poll(() => list.query().get("columns")).toBe(columns)
      await expect.poll(() => list.cell(0, 4).innerText()).toBe("Norway")
    })
  })

  it("sort the list from their head, and saved views and files keep that order", async () => {
    await using({}, async (page, list, sent) => {
      const filter = "customer.country = NO"
      await list.open("orders", `?columns=id,customer.name&filter=${encodeURIComponent(filter)}`)
      const head = list.header("Customer · Name")
      for (const [order, sorted] of [["customer.name", "ascending"], ["customer.name desc", "descending"]] as const) {
        await head.getByRole("button").first().click()
        await expect.poll(() => list.query().get("order")).toBe(order)
        await expect.poll(() => head.getAttribute("aria-sort")).toBe(sorted)
      }
      const query = new URLSearchParams({ filter, order_by: "customer.name desc", fields: "id", page_size: "1" })
      const { body } = await stage.call("admin", "GET", `/orders?${query.toString()}`)
      const [{ id }] = body["items"] as readonly [{ readonly id: string }]
      await expect.poll(() => list.cell(0, 0).innerText()).toBe(id)
      await page.getByRole("button", { name: "Export" }).click()
      await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("menuitem", { name: "CSV", exact: true }).click()
      ])
      expect(sent.findLast((each) => each.includes("/orders:export"))).toMatch(/order_by=customer.name(?:\+|%20)desc/)
      await page.getByRole("button", { name: "Save view" }).click()
      await page.getByRole("dialog").getByLabel("Name").fill("By name")
      await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click()
      await list.tab("All").click()
      await expect.poll(() => list.query().get("order")).toBe(null)
      await list.tab("By name").click()
      await expect.poll(() => list.query().get("order")).toBe("customer.name desc")
      await expect.poll(() => list.cell(0, 0).innerText()).toBe(id)
    })
  })

  it("take what is typed in place of the whole title, also of one that arrives late", async () => {
    await using({}, async (page, list) => {
      await list.open("orders", "?columns=customer_id,customer.country")
      const { promise: told, resolve: tell } = Promise.withResolvers<void>()
      await page.route("**/api/v1/customers**", async (route) => {
        await told
        await route.continue()
      })
      await list.cell(0, 0).click()
      await page.keyboard.press("F2")
      const input = page.getByRole("combobox")
      await input.waitFor()
      const key = await input.inputValue()
      expect(key).toMatch(/^#/)
      tell()
      await expect.poll(() => input.inputValue()).not.toBe(key)
      await page.keyboard.insertText("Nobody")
      expect(await input.inputValue()).toBe("Nobody")
    })
  })

  it("follow another related record as soon as it is chosen", async () => {
    await using({}, async (page, list) => {
      const { body } = await stage.call("admin", "GET", "/customers?page_size=1&filter=country%3DPL")
      const [{ email }] = body["items"] as readonly [{ readonly email: string }]
      await list.open(
        "orders",
        `?columns=customer_id,customer.country,customer.email&filter=${encodeURIComponent("customer.country = AT")}`
      )
      await list.cell(0, 0).click()
      await page.keyboard.press("F2")
      await page.getByRole("combobox").fill(email)
      // Those of the text before it are offered until its own are there, and a row that moves while it is pressed takes no click.
      const options = page.getByRole("option")
      await expect.poll(async () => {
        const texts = await options.allInnerTexts()
        return texts.length > 0 && texts.every((text) => text.includes(email))
      }).toBe(true)
      await options.first().click()
      await expect.poll(() => list.cell(0, 2).innerText()).toBe(email)
      expect(await list.cell(0, 1).innerText()).toBe("Poland")
    })
  })
})

describe.skipIf(chromiumPath === null)("one change of several fields", () => {
  it("is tried, written and taken back as one, and says what is wrong beside the field", async () => {
    await using({ allow: /400/ }, async (page, list, sent) => {
      await list.open("orders", "?order=id&columns=id,note,channel,total")
      const before = [await list.cell(0, 1).innerText(), await list.cell(0, 2).innerText()]
      await list.tick(0)
      await list.tick(1)
      await page.getByRole("button", { name: "Edit", exact: true }).click()
      const dialog = page.getByRole("dialog")
      const check = dialog.getByRole("button", { name: "Check" })
      await dialog.getByLabel("Field").selectOption("note")
      await dialog.getByLabel("New value").fill("both at once")
      await dialog.getByRole("button", { name: "Add a field" }).click()
      const second = dialog.getByRole("group").nth(1)
      expect(await second.getByLabel("Field").evaluate((each) => each === document.activeElement)).toBe(true)
      // A field is set once.
      expect(await second.getByLabel("Field").locator("option", { hasText: /^Note$/ }).count()).toBe(0)
      await second.getByLabel("Field").selectOption("total")
      await second.getByLabel("New value").fill("a lot")
      await second.getByRole("alert").waitFor()
      expect(await check.isDisabled()).toBe(true)
      expect(await axeAgain(page)).toEqual([])
      await second.getByRole("button", { name: "Leave out total" }).click()
      await dialog.getByRole("button", { name: "Add a field" }).click()
      await second.getByLabel("Field").selectOption("channel")
      await second.getByLabel("New value").selectOption(before[1] === "phone" ? "web" : "phone")
      await check.click()
      await dialog.getByText("All 2 records pass.").waitFor()
      await dialog.getByText("Note: both at once").waitFor()
      await dialog.getByRole("button", { name: "Change 2 records" }).click()
      await list.toast("2 records changed").waitFor()
      const written = sent.filter((line) => line.includes(":batchWrite") && !line.includes("dry_run=true"))
      expect(written).toHaveLength(1)
      await expect.poll(() => list.cell(0, 1).innerText()).toBe("both at once")
      expect(await list.cell(0, 2).innerText()).not.toBe(before[1])
      await page.getByRole("button", { name: /^Undo/ }).click()
      await expect.poll(async () => [await list.cell(0, 1).innerText(), await list.cell(0, 2).innerText()]).toEqual(
        before
      )
    })
  })

  it("goes to the service as one task where all that match are changed", async () => {
    await using({}, async (page, list, sent) => {
      await list.open("orders", `?filter=${encodeURIComponent("customer.country = DE")}`)
      await page.getByRole("checkbox", { name: "Select all" }).click()
      await page.getByRole("button", { name: "Edit", exact: true }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByLabel("Field").selectOption("note")
      await dialog.getByLabel("New value").fill("all of them")
      await dialog.getByRole("button", { name: "Add a field" }).click()
      await dialog.getByRole("group").nth(1).getByLabel("Field").selectOption("channel")
      await dialog.getByRole("group").nth(1).getByLabel("New value").selectOption("store")
      await dialog.getByRole("button", { name: /^(Check|Try)/ }).click()
      await dialog.getByText("Channel: store").waitFor()
      await dialog.getByText(/would be (written|changed)/).waitFor()
      const tried = sent.findLast((line) => line.includes("/orders:bulk"))!
      expect(tried).toContain("dry_run=true")
      expect(JSON.parse(tried.slice(tried.indexOf("{")))).toMatchObject({
        filter: "customer.country = DE",
        data: { note: "all of them", channel: "store" }
      })
      await page.getByRole("button", { name: "Cancel", exact: true }).click()
    })
  })
})
