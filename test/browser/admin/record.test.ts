// Records, new records and related rows in a real browser. The numbers are those of the rules that the app was built to.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { listPage } from "./pages/list.ts"
import { recordPage } from "./pages/record.ts"
import { opener, type Role, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  if (chromiumPath !== null) stage = await startStage()
})
afterAll(() => stage?.stop())

const using = opener(() => stage, (page, url) => [recordPage(page, url)])

/** A new order of the admin's, so that tests do not meet on one. */
const newOrder = async (
  more: Record<string, unknown> = {}
): Promise<{ readonly id: string; readonly etag: string }> => {
  const { body: customers } = await stage.call("admin", "GET", "/customers?page_size=1&order_by=name")
  const { body: staff } = await stage.call("admin", "GET", "/staff?page_size=1&filter=active%20%3D%20true")
  const { body, status } = await stage.call("admin", "POST", "/orders", {
    customer_id: (customers["items"] as readonly Record<string, unknown>[])[0]!["id"],
    owner_id: (staff["items"] as readonly Record<string, unknown>[])[0]!["id"],
    ship_country: "DE",
    total: "100.00",
    ...more
  })
  expect(status, JSON.stringify(body)).toBe(201)
  return { id: String(body["id"]), etag: String(body["etag"]) }
}

const read = async (path: string, role: Role = "admin") => (await stage.call(role, "GET", path)).body

/** What was written, as method, path and body. */
const writes = (sent: readonly string[]): readonly string[] =>
  sent.filter((line) => /^(?:POST|PATCH|DELETE) \S+\/api\/v1[/:]/.test(line) && !/:(?:search|seek)\b/.test(line))
    .map((line) => line.replace(/https?:\/\/[^/]+\/api\/v1/, ""))

describe.skipIf(chromiumPath === null)("the record", () => {
  it("has the view's groups, title and state, and fields of no group last (13, 29)", async () => {
    const { id } = await newOrder()
    await using({}, async (page, record) => {
      await record.open("orders", id)
      expect(await record.title()).toBe(`#${id}`)
      expect(await page.locator("section > h2").allInnerTexts()).toEqual(
        expect.arrayContaining(["Order", "Amounts", "Delivery", "Inside"])
      )
      await page.locator("header").getByText("draft").waitFor()
      await record.box("invoice").waitFor()
      expect(page.url()).toBe(`${stage.url}/orders/${id}`)
      const back = page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Orders" })
      await back.click()
      await page.getByRole("grid").waitFor()
      // Beside a short title there is room for the whole word.
      await record.open("orders", "1")
      expect(await back.evaluate(({ clientWidth, scrollWidth }) => scrollWidth <= clientWidth)).toBe(true)
    })
  })

  it("takes input where the caller may write, and shows the rest (2, 30)", async () => {
    const { body } = await stage.call("sales", "GET", "/customers?page_size=1")
    const [{ id } = { id: "" }] = body["items"] as readonly Record<string, unknown>[]
    await using({ role: "sales" }, async (page, record) => {
      await record.open("customers", String(id))
      expect(await record.input("name").isEditable()).toBe(true)
      // Only admins write it; sellers read it.
      expect(await record.input("credit_limit").count()).toBe(0)
      await record.box("credit_limit").locator("[data-read-only]").waitFor()
      expect(await record.input("id").count()).toBe(0)
      expect(await record.box("deleted_at").count()).toBe(0)
      expect(await page.getByRole("button", { name: /Duplicate/ }).count()).toBe(1)
      await page.locator("header").getByRole("button", { name: "More" }).click()
      await page.getByRole("menuitem", { name: "Copy link" }).waitFor()
      expect(await page.getByRole("menuitem", { name: "Delete" }).count()).toBe(0)
    })
    // A seller's own order that is shipped is read-only for them, which the record itself says.
    const shipped = await stage.call("sales", "GET", "/orders?page_size=1&filter=status%20%3D%20shipped")
    const [order] = shipped.body["items"] as readonly Record<string, unknown>[]
    await using({ role: "sales" }, async (page, record) => {
      await record.open("orders", String(order!["id"]))
      expect(await page.locator("[data-field] :is(input, select, textarea):not([type=file])").count()).toBe(0)
    })
  })

  it("a viewer writes nothing, and hidden names and values are nowhere (1, 30)", async () => {
    const { id } = await newOrder({ internal_note: "Do not tell: 8f41ac" })
    const { body } = await stage.call("admin", "GET", "/products?page_size=1&filter=cost%20%3E%200")
    const [product] = body["items"] as readonly Record<string, unknown>[]
    await using({ role: "viewer" }, async (page, record, sent, quiet) => {
      await record.open("orders", id)
      await quiet()
      await record.open("products", String(product!["id"]))
      await quiet()
      expect(await page.locator("[data-field] :is(input, select, textarea)").count()).toBe(0)
      expect(await page.getByRole("button", { name: /Duplicate|Choose a file/ }).count()).toBe(0)
      const all = await page.evaluate(() =>
        document.documentElement.outerHTML + JSON.stringify([localStorage, sessionStorage])
      )
      for (
        const hidden of [
          /internal.note/i,
          /8f41ac/,
          /deleted_at/,
          /\bcost\b/i,
          new RegExp(`\\b${String(product!["cost"])}\\b`)
        ]
      ) {
        expect(all).not.toMatch(hidden)
        expect(sent.join("\n")).not.toMatch(hidden)
      }
    })
  })

  it("saves only what changed, with the version that was read (22, 31), marks it, and undoes it as a write of its own", async () => {
    const { etag, id } = await newOrder()
    await using({}, async (page, record, sent) => {
      await record.open("orders", id)
      await record.input("note").fill("Ring twice.")
      await record.hint("note").getByText("Was empty").waitFor()
      await page.getByText("1 change").waitFor()
      const asked = page.waitForRequest((request) => request.method() === "PATCH")
      await record.save()
      const request = await asked
      expect(request.headers()["if-match"]).toBe(etag)
      await record.toast("Saved").waitFor()
      expect(writes(sent)).toEqual([`PATCH /orders/${id} {"note":"Ring twice."}`])
      expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain("Ring twice")
      await page.keyboard.press("Control+z")
      await record.toast("The change is undone").waitFor()
      expect((await read(`/orders/${id}`))["note"]).toBe(null)
      expect(writes(sent).at(-1)).toBe(`PATCH /orders/${id} {"note":null}`)
      expect(await record.input("note").inputValue()).toBe("")
    })
  })

  it("keeps 64-bit integers and decimals exact from the wire to the input and back (34, 74)", async () => {
    const { id } = await newOrder({ total: "9007199254.01" })
    await using({}, async (_, record, sent) => {
      await record.open("orders", id)
      expect(await record.input("total").inputValue()).toBe("9007199254.01")
      await record.input("total").fill("9,007,199,254.99")
      await record.save()
      await record.toast("Saved").waitFor()
      expect(writes(sent)).toEqual([`PATCH /orders/${id} {"total":"9007199254.99"}`])
      await record.input("due_on").fill("2027-02-28")
      await record.input("status").selectOption("pending")
      await record.save()
      await expect.poll(() => writes(sent).at(-1)).toContain("\"status\":\"pending\"")
      await expect.poll(async () => {
        const saved = await read(`/orders/${id}`)
        return [saved["due_on"], saved["status"], saved["total"]]
      }).toEqual(["2027-02-28", "pending", "9007199254.99"])
    })
  })

  it("shows every refused field's problem under the field, and loses nothing (32)", async () => {
    const { id } = await newOrder()
    await using({ allow: /400/ }, async (page, record) => {
      await record.open("orders", id)
      // What the app can see is said before it is sent.
      await record.input("total").fill("lots")
      await record.hint("total").getByText("Write a number.").waitFor()
      await record.save()
      expect(await record.input("total").evaluate((input) => input === document.activeElement)).toBe(true)
      await record.input("total").fill("-5")
      await record.input("status").selectOption("pending")
      await record.input("ship_country").fill("Narnia")
      await record.save()
      await expect.poll(() => page.locator(".hint[data-bad]").count()).toBeGreaterThanOrEqual(1)
      const hinted = await page.locator("[data-field]:has(.hint[data-bad])").evaluateAll((boxes) =>
        boxes.map((box) => box.getAttribute("data-field"))
      )
      expect(hinted).toContain("ship_country")
      await record.input("ship_country").fill("DE")
      await record.save()
      await record.hint("total").getByText("Must not be negative.").waitFor()
      await record.hint("due_on").getByText(/needs the day/).waitFor()
      expect(await record.input("total").inputValue()).toBe("-5")
      // What is wrong is read out with its input.
      expect(await record.input("total").getAttribute("aria-invalid")).toBe("true")
      expect(await record.input("total").getAttribute("aria-describedby")).not.toBe(null)
    })
  })

  it("finds related records at the service, and opens them (28, 34)", async () => {
    const { id } = await newOrder()
    const { body } = await stage.call("admin", "GET", "/customers?page_size=1&order_by=name%20desc")
    const [last] = body["items"] as readonly Record<string, unknown>[]
    const name = String(last!["name"])
    await using({}, async (page, record, sent) => {
      await record.open("orders", id)
      await record.input("customer_id").fill(name)
      await page.getByRole("option", { name: new RegExp(name) }).first().waitFor()
      await page.keyboard.press("ArrowDown")
      await page.keyboard.press("Enter")
      await record.save()
      await record.toast("Saved").waitFor()
      expect(writes(sent)).toHaveLength(1)
      const { body: chosen } = await stage.call("admin", "GET", `/orders/${id}?expand=customer`)
      expect(JSON.stringify(chosen["expand"])).toContain(name)
      await record.box("customer_id").getByRole("link", { name: "Customer" }).click()
      await page.waitForURL(/\/customers\/\d+$/)
    })
  })

  it("says whether a delete is for good, deletes, and brings back (25, 35)", async () => {
    const { id } = await newOrder()
    // A record that is not there any more is asked for as a deleted one: the browser says so in its console.
    await using({ allow: /404/ }, async (page, record) => {
      await record.open("orders", id)
      await record.menu("Delete")
      await record.alert(`Delete #${id}?`).getByText(/kept as deleted/).waitFor()
      await page.keyboard.press("Escape")
      await record.alert(`Delete #${id}?`).waitFor({ state: "detached" })
      await record.menu("Delete")
      await record.alert(`Delete #${id}?`).getByRole("button", { name: "Delete" }).click()
      await page.waitForURL(/\/orders(?:\?|$)/)
      await record.open("orders", id)
      await page.getByText("This record is deleted.").waitFor()
      expect(await page.locator("[data-field] :is(input, select, textarea)").count()).toBe(0)
      await page.getByRole("button", { name: "Bring back" }).click()
      await record.toast(`#${id} brought back`).waitFor()
      expect(await record.input("note").isEditable()).toBe(true)
    })
    const { body } = await stage.call("admin", "GET", "/product_tags?page_size=1")
    const [tag] = body["items"] as readonly Record<string, unknown>[]
    // A composite key, and a resource that keeps nothing of what is deleted.
    await using({}, async (page, record) => {
      await record.open("product_tags", `${String(tag!["product_id"])},${String(tag!["tag"])}`)
      await record.menu("Delete")
      await page.getByRole("alertdialog").getByText("removed for good").waitFor()
      await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click()
      await page.waitForURL(/\/product_tags(?:\?|$)/)
      expect(
        (await stage.call("admin", "GET", `/product_tags/${String(tag!["product_id"])},${String(tag!["tag"])}`)).status
      ).toBe(404)
    })
  })

  it("keeps who changed what, shows the difference, and restores a version (36)", async () => {
    const { etag, id } = await newOrder({ note: "first" })
    const { body } = await stage.call("admin", "PATCH", `/orders/${id}`, { note: "second", channel: "phone" }, etag)
    expect(body["note"]).toBe("second")
    await using({}, async (_, record) => {
      await record.open("orders", id)
      await record.history.nth(1).waitFor()
      expect(await record.history.count()).toBe(2)
      const newest = record.history.first()
      await newest.locator("del").getByText("first").waitFor()
      await newest.locator("ins").getByText("second").waitFor()
      await record.history.nth(1).getByText("Created").waitFor()
      await record.history.nth(1).getByRole("button", { name: "Restore" }).click()
      await record.dialog("Restore this version?").getByText("first").waitFor()
      await record.dialog("Restore this version?").getByRole("button", { name: "Restore" }).click()
      await record.toast("The version is restored").waitFor()
      await expect.poll(() => record.input("note").inputValue()).toBe("first")
      await expect.poll(() => record.history.count()).toBe(3)
    })
    // Sellers and viewers see the history of what they see, without what is hidden from them.
    await using({ role: "viewer" }, async (_, record) => {
      await record.open("orders", id)
      await record.history.nth(2).waitFor()
      expect(await record.history.getByRole("button", { name: "Restore" }).count()).toBe(0)
    })
  })

  it("goes to the record before and after it in the list it was opened from", async () => {
    await using({}, async (page, record) => {
      const list = listPage(page, stage.url)
      await list.open("orders", "?order=id")
      const ids = await list.texts(0, 4)
      await list.cell(1, 0).click()
      await page.keyboard.press("Enter")
      await page.getByText(/^2 of /).waitFor()
      expect(await record.title()).toBe(`#${ids[1]!}`)
      await page.keyboard.press("j")
      await expect.poll(() => record.title()).toBe(`#${ids[2]!}`)
      await page.getByText(/^3 of /).waitFor()
      await page.getByRole("button", { name: "Previous record" }).click()
      await expect.poll(() => record.title()).toBe(`#${ids[1]!}`)
      await page.keyboard.press("Escape")
      await page.getByRole("grid").waitFor()
    })
  })
})

describe.skipIf(chromiumPath === null)("related rows", () => {
  it("are edited, added and removed with the record, in one batch with its own changes (27, 29, 60)", async () => {
    const { id } = await newOrder()
    const { body: products } = await stage.call(
      "admin",
      "GET",
      "/products?page_size=3&order_by=name&filter=active%20%3D%20true"
    )
    const [first, second, third] = products["items"] as readonly Record<string, unknown>[]
    const { body: order } = await stage.call("admin", "GET", `/orders/${id}`)
    for (const [position, product] of [first!, second!].entries()) {
      const made = await stage.call("admin", "POST", "/order_lines", {
        order_id: id,
        owner_id: order["owner_id"],
        position: position + 1,
        product_id: product["id"],
        quantity: 1,
        unit_price: "10.00"
      })
      expect(made.status, JSON.stringify(made.body)).toBe(201)
    }
    await using({}, async (page, record, sent) => {
      await record.open("orders", id)
      const lines = record.rows("Lines")
      await lines.getByRole("row").nth(2).waitFor()
      await lines.getByRole("row").nth(1).getByRole("button", { name: "Quantity" }).click()
      await lines.getByRole("textbox", { name: "Quantity" }).fill("12")
      await lines.getByRole("row").nth(2).getByRole("button", { name: /^Remove the row/ }).click()
      await lines.getByRole("button", { name: /^Add order line/ }).click()
      const added = lines.locator("tr[data-added]")
      await added.getByRole("textbox", { name: "Position" }).fill("3")
      await added.getByRole("combobox", { name: "Product" }).fill(String(third!["name"]))
      await page.getByRole("option", { name: new RegExp(String(third!["name"])) }).first().click()
      await added.getByRole("textbox", { name: "Quantity" }).fill("4")
      await added.getByRole("textbox", { name: "Unit price" }).fill("2.50")
      await record.input("note").fill("with rows")
      await record.save()
      await record.toast("Saved").waitFor()
      expect(writes(sent)).toHaveLength(1)
      expect(writes(sent)[0]).toMatch(/^POST :batchWrite /)
      // The head, two lines, and their sums.
      await expect.poll(() => lines.getByRole("row").count()).toBe(4)
    })
    const { body } = await stage.call(
      "admin",
      "GET",
      `/order_lines?filter=${encodeURIComponent(`order_id = ${id}`)}&order_by=position`
    )
    expect((body["items"] as readonly Record<string, unknown>[]).map(({ quantity, total }) => [quantity, total]))
      .toEqual([
        [12, "120.00"],
        [4, "10.00"]
      ])
    expect((await read(`/orders/${id}`))["note"]).toBe("with rows")
  })

  it("are counted beside the record where they are a list of their own (29)", async () => {
    await using({}, async (page, record) => {
      const { body } = await stage.call("admin", "GET", "/product_tags?page_size=1")
      const [tag] = body["items"] as readonly Record<string, unknown>[]
      await record.open("products", String(tag!["product_id"]))
      await page.locator("aside").getByRole("link", { name: /^Tags/ }).click()
      await page.waitForURL(/\/product_tags\?filter=/)
      await page.getByRole("grid").waitFor()
    })
  })
})

describe.skipIf(chromiumPath === null)("a new record", () => {
  it("begins with the declared defaults, says what is missing, and sends neither keys nor what is not written (33)", async () => {
    await using({ allow: /400/ }, async (page, record, sent) => {
      await record.open("customers", "new")
      expect(await record.input("kind").inputValue()).toBe("person")
      expect(await record.input("credit_limit").inputValue()).toBe("0.00")
      await record.hint("customer_since").getByText(/the database fills it in/).waitFor()
      expect(await record.input("id").count()).toBe(0)
      await record.save()
      for (const field of ["name", "email", "country", "city"]) {
        await record.hint(field).getByText("Needs a value.").waitFor()
      }
      expect(writes(sent)).toEqual([])
      await record.input("name").fill("Ida Sand")
      await record.input("email").fill("not an address")
      await record.input("country").fill("de")
      await record.input("city").fill("Kiel")
      await record.save()
      await record.hint("email").getByText("Must be an email address.").waitFor()
      await record.input("email").fill("ida@example.com")
      await record.save()
      await page.waitForURL(/\/customers\/\d+$/)
      await record.toast("Ida Sand created").waitFor()
      const [, last] = writes(sent)
      expect(JSON.parse(last!.replace(/^\S+ \S+ /, ""))).toEqual({
        kind: "person",
        name: "Ida Sand",
        email: "ida@example.com",
        country: "DE",
        city: "Kiel",
        credit_limit: "0.00"
      })
    })
  })

  it("creates a record with its rows in one batch, by references (27, 33, 60)", async () => {
    await using({}, async (page, record, sent) => {
      const { body } = await stage.call("admin", "GET", "/staff?page_size=1&filter=active%20%3D%20true")
      const [seller] = body["items"] as readonly Record<string, unknown>[]
      const { body: customers } = await stage.call("admin", "GET", "/customers?page_size=1&order_by=name")
      const [customer] = customers["items"] as readonly Record<string, unknown>[]
      await record.open("orders", "new", `?customer_id=${String(customer!["id"])}&owner_id=${String(seller!["id"])}`)
      await record.input("ship_country").fill("FR")
      await page.getByRole("button", { name: /^Add order line/ }).click()
      const added = record.rows("Lines").locator("tr[data-added]")
      await added.getByRole("combobox", { name: "Product" }).click()
      await page.getByRole("listbox").getByRole("option").first().click()
      await added.getByRole("textbox", { name: "Unit price" }).fill("7.00")
      await record.save()
      await page.waitForURL(/\/orders\/\d+$/)
      expect(writes(sent)).toHaveLength(1)
      expect(writes(sent)[0]).toMatch(/^POST :batchWrite /)
      await expect.poll(() => record.rows("Lines").getByRole("row").count()).toBe(2)
    })
  })

  it("duplicates without key and files, and creates another one with what was chosen (33)", async () => {
    const { id } = await newOrder({ note: "twice", channel: "phone" })
    await using({}, async (page, record, sent) => {
      await record.open("orders", id)
      await page.getByRole("button", { name: "Duplicate" }).click()
      await page.waitForURL(/\/orders\/new/)
      expect(await record.input("note").inputValue()).toBe("twice")
      await page.getByRole("button", { name: "Create another" }).click()
      await record.toast(/created/).waitFor()
      // Choices stay, texts are written again.
      expect(await record.input("channel").inputValue()).toBe("phone")
      await expect.poll(() => record.input("note").inputValue()).toBe("")
      expect(writes(sent)).toHaveLength(1)
      expect(writes(sent)[0]).not.toMatch(/"id"|etag|updated_at|invoice/)
    })
  })

  it("is not there for whoever may not create (3, 30)", async () => {
    await using({ role: "viewer", allow: /404/ }, async (page) => {
      await page.goto(`${stage.url}/orders/new`)
      await page.getByRole("heading", { name: "Not found" }).waitFor()
    })
  })
})
