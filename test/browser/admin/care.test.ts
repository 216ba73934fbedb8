// How the page of a record treats the person in front of it: reasons beside what they are about, nothing that was typed lost or repeated, nothing that moves.
import { decodeJwt } from "jose"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { listPage } from "./pages/list.ts"
import { recordPage } from "./pages/record.ts"
import { axeAgain, opener, type Stage, startStage } from "./stage.ts"

let stage: Stage
/** Values of an order that may be created. */
let order: Readonly<Record<string, unknown>>
let product: string

const first = async (path: string): Promise<Record<string, unknown>> =>
  ((await stage.call("admin", "GET", path)).body["items"] as readonly Record<string, unknown>[])[0]!

beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage()
  const customer = await first("/customers?page_size=1&order_by=name")
  const seller = await first("/staff?page_size=1&filter=active%20%3D%20true")
  order = { customer_id: customer["id"], owner_id: seller["id"], ship_country: "DE", total: "100.00" }
  product = String((await first("/products?page_size=1&order_by=name&filter=active%20%3D%20true"))["id"])
})
afterAll(() => stage?.stop())

const using = opener(() => stage, (page, url) => [recordPage(page, url)])

const newOrder = async (lines = 0): Promise<string> => {
  const { body, status } = await stage.call("admin", "POST", "/orders", {
    ...order,
    ...(lines === 0 ? {} : {
      lines: Array.from({ length: lines }, (_, at) => ({
        owner_id: order["owner_id"],
        position: at + 1,
        product_id: product,
        quantity: 1,
        unit_price: "10.00"
      }))
    })
  })
  expect(status, JSON.stringify(body)).toBe(201)
  return String(body["id"])
}

describe.skipIf(chromiumPath === null)("a refusal in a row", () => {
  it("of a new order stands beside its cell, which has the focus and is described by it", async () => {
    await using({ allow: /400/, height: 500 }, async (page, record) => {
      await record.open(
        "orders",
        "new",
        `?customer_id=${String(order["customer_id"])}&owner_id=${String(order["owner_id"])}`
      )
      await record.input("ship_country").fill("FR")
      await page.getByRole("button", { name: /^Add order line/ }).click()
      const added = record.rows("Lines").locator("tr[data-added]")
      await added.getByRole("combobox", { name: "Product" }).click()
      await page.getByRole("listbox").getByRole("option").first().click()
      const quantity = added.getByRole("textbox", { name: "Quantity" })
      await quantity.fill("-3")
      await added.getByRole("textbox", { name: "Unit price" }).fill("7.00")
      await record.save()
      const reason = added.locator(".hint[data-bad]")
      await reason.getByText("Must be at least 1.").waitFor()
      await expect.poll(() => quantity.evaluate((input) => input === document.activeElement)).toBe(true)
      expect(await quantity.getAttribute("aria-invalid")).toBe("true")
      expect(await quantity.getAttribute("aria-describedby")).toBe(await reason.getAttribute("id"))
      const [cell, box] = [await quantity.boundingBox(), await reason.boundingBox()]
      expect(box!.y).toBeLessThan(cell!.y + cell!.height + 10)
      expect(box!.y + box!.height).toBeLessThan(500)
      await page.getByText("One field needs a look").waitFor()
      // It is over once the value is another.
      await quantity.fill("3")
      await reason.waitFor({ state: "detached" })
      await record.save()
      await page.waitForURL(/\/orders\/\d+$/)
    })
  })

  it("of a stored order opens its cell and marks it, whether the form or the service refuses", async () => {
    const id = await newOrder(2)
    await using({ allow: /400/ }, async (page, record) => {
      await record.open("orders", id)
      const row = record.rows("Lines").getByRole("row").nth(2)
      await row.getByRole("button", { name: "Quantity" }).click()
      const quantity = row.getByRole("textbox", { name: "Quantity" })
      await quantity.fill("many")
      const reason = row.locator(".hint[data-bad]")
      await reason.waitFor()
      await record.input("note").fill("with a row")
      await record.save()
      await expect.poll(() => quantity.evaluate((input) => input === document.activeElement)).toBe(true)
      await quantity.fill("-3")
      await reason.waitFor({ state: "detached" })
      await record.save()
      await reason.getByText("Must be at least 1.").waitFor()
      await expect.poll(() => quantity.evaluate((input) => input === document.activeElement)).toBe(true)
      expect(await quantity.getAttribute("aria-describedby")).toBe(await reason.getAttribute("id"))
      expect(await page.getByRole("alert").count()).toBe(0)
      await quantity.fill("4")
      await record.save()
      await record.toast("Saved").waitFor()
    })
  })
})

describe.skipIf(chromiumPath === null)("a refusal in a list", () => {
  it("is read whole beside its cell, in the last row in sight as well, and goes with it", async () => {
    await using({ allow: /400/, height: 500 }, async (page) => {
      const list = listPage(page, stage.url)
      await list.open("orders")
      const total = page.getByRole("textbox", { name: "Total" })
      const reason = page.getByRole("alert").getByText("Must not be negative.")
      /** Whether it is in sight as a whole, and nothing covers it. */
      const isSeen = (): Promise<boolean> =>
        reason.evaluate((said) => {
          const { bottom, left, right, top } = said.getBoundingClientRect()
          return top >= 0 && bottom <= innerHeight && left >= 0 && right <= innerWidth &&
            [[left + 3, top + 3], [right - 3, top + 3], [left + 3, bottom - 3], [right - 3, bottom - 3]]
              .every(([x, y]) => document.elementFromPoint(x!, y!) === said)
        })
      const last = await page.evaluate(() => {
        const grid = document.querySelector("[role=grid]")!.getBoundingClientRect()
        return Math.max(
          ...[...document.querySelectorAll("[data-index]")].filter((row) =>
            row.getBoundingClientRect().bottom < grid.bottom
          )
            .map((row) => Number(row.getAttribute("data-index")))
        )
      })
      for (const row of [2, last]) {
        await list.cell(row, 5).click()
        await page.keyboard.press("e")
        await total.fill("-5")
        await page.keyboard.press("Enter")
        await reason.waitFor()
        expect(await isSeen()).toBe(true)
        expect(await total.getAttribute("aria-describedby")).toBe(await reason.getAttribute("id"))
        expect(await total.evaluate((input) => input === document.activeElement)).toBe(true)
        await page.keyboard.press("Escape")
        await reason.waitFor({ state: "detached" })
      }
    })
  })
})

describe.skipIf(chromiumPath === null)("a change of several records", () => {
  it("is tried by Enter, which ends nothing", async () => {
    await using({}, async (page) => {
      const list = listPage(page, stage.url)
      await list.open("orders")
      await list.tick(0)
      await page.getByRole("toolbar").getByRole("button", { name: "Edit" }).click()
      const dialog = page.getByRole("dialog", { name: "Edit 1 record" })
      await dialog.getByRole("combobox", { name: "Field" }).selectOption({ label: "Total" })
      await dialog.getByRole("textbox", { name: "New value" }).fill("12.50")
      await page.keyboard.press("Enter")
      await dialog.getByText("The record passes.").waitFor()
      await page.keyboard.press("Escape")
    })
  })
})

describe.skipIf(chromiumPath === null)("the session", () => {
  it("after a refused sign-in the password has the focus, and the email stays", async () => {
    await using({ role: null, allow: /401/ }, async (page) => {
      await page.goto(stage.url)
      await page.getByLabel("Email").fill(stage.emailOf("viewer"))
      await page.getByLabel("Password", { exact: true }).fill("a wrong password")
      await page.keyboard.press("Enter")
      await page.getByRole("alert").waitFor()
      const secret = page.getByLabel("Password", { exact: true })
      await expect.poll(() => secret.evaluate((input) => input === document.activeElement)).toBe(true)
      expect(await page.getByLabel("Email").inputValue()).toBe(stage.emailOf("viewer"))
    })
  })

  it("signing out asks before it discards what was typed", async () => {
    const id = await newOrder()
    await using({}, async (page, record) => {
      await record.open("orders", id)
      await record.input("note").fill("not saved yet")
      const signOut = async (): Promise<void> => {
        await page.getByRole("navigation", { name: "Navigation" }).getByRole("button", { name: /admin/ }).click()
        await page.getByRole("menuitem", { name: "Sign out" }).click()
      }
      await signOut()
      await record.alert(/^Sign out and lose/).getByRole("button", { name: "Stay" }).click()
      expect(await record.input("note").inputValue()).toBe("not saved yet")
      await page.reload()
      expect(await record.input("note").inputValue()).toBe("not saved yet")
      // The session itself is the other tests', so this page only pretends to end it.
      await page.route("**/api/auth/sign-out", (route) => route.fulfill({ status: 200, body: "{}" }))
      await signOut()
      await record.alert(/^Sign out and lose/).getByRole("button", { name: "Sign out" }).click()
      await expect.poll(() => page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain("not saved yet")
    })
  })

  it("a save that met its end goes on after signing in again, and leaves no failure behind", async () => {
    const id = await newOrder()
    await using({ allow: /401/ }, async (page, record) => {
      await record.open("orders", id)
      await record.input("note").fill("pressed once")
      await page.route("**/api/v1/orders/**", (route) =>
        route.fulfill({
          status: 401,
          contentType: "application/problem+json",
          body: JSON.stringify({ type: "urn:service:problem:unauthenticated", title: "Unauthorized", status: 401 })
        }))
      await record.save()
      const dialog = record.dialog("Sign in again")
      await dialog.waitFor()
      await page.unrouteAll()
      await dialog.getByLabel("Password", { exact: true }).fill(stage.password)
      await dialog.getByRole("button", { name: "Sign in", exact: true }).click()
      await record.toast("Saved").waitFor()
      expect(await page.getByText("Unauthorized").count()).toBe(0)
      expect((await stage.call("admin", "GET", `/orders/${id}`)).body["note"]).toBe("pressed once")
    })
  })

  it("that another tab has ended is not used any more, whatever its token would still be good for", async () => {
    const id = await newOrder()
    await using({ allow: /401/ }, async (page, record) => {
      await record.open("orders", id)
      const tokens: (string | undefined)[] = []
      page.on("request", (request) => tokens.push(request.headers()["authorization"]))
      await record.input("note").fill("first")
      await record.save()
      await record.toast("Saved").waitFor()
      const before = tokens.findLast((token) => token !== undefined)
      const tell = (word: string) =>
        page.evaluate((said) => {
          const channel = new BroadcastChannel("admin:session")
          channel.postMessage(said)
          channel.close()
        }, word)
      await tell("out")
      await record.dialog("Sign in again").waitFor()
      // Two tokens of one session and second are the same text.
      const { iat = 0 } = decodeJwt(before!.replace("Bearer ", ""))
      await expect.poll(() => Date.now() / 1_000).toBeGreaterThan(iat + 1)
      tokens.length = 0
      await tell("in")
      await record.dialog("Sign in again").waitFor({ state: "detached" })
      await record.input("note").fill("second")
      await record.save()
      await expect.poll(async () => (await stage.call("admin", "GET", `/orders/${id}`)).body["note"]).toBe("second")
      expect(before).toMatch(/^Bearer /)
      expect(tokens).not.toContain(before)
    })
  })

  it("what may not have arrived is not said beside what has", async () => {
    const id = await newOrder()
    await using({ allow: /ERR_FAILED/ }, async (page, record, _, quiet) => {
      await record.open("orders", id)
      await quiet()
      await record.input("note").fill("sent twice")
      await page.route(
        "**/api/v1/orders/**",
        (route) => route.request().method() === "PATCH" ? route.abort() : route.continue()
      )
      await record.save()
      await record.toast(/may not have arrived/).waitFor()
      await page.unrouteAll()
      await record.save()
      await record.toast("Saved").waitFor()
      expect(await page.getByText(/may not have arrived/).count()).toBe(0)
      expect(await page.getByRole("alert").count()).toBe(0)
    })
  })

  it("drafts hold neither links of files nor records of others", async () => {
    await using({}, async (page, record) => {
      await record.open("products", product)
      await record.input("name").fill("A draft of a chair")
      await expect.poll(() => page.evaluate(() => JSON.stringify(sessionStorage))).toContain("A draft of a chair")
      expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toMatch(/"expand"|"url"|sig(?:nature)?=/)
      await record.discard()
    })
  })
})

describe.skipIf(chromiumPath === null)("while somebody else works", () => {
  it("a delete is said once, with a way back for those who may, and what was typed stays", async () => {
    const id = await newOrder()
    await using({ allow: /404|412/ }, async (page, record) => {
      await record.open("orders", id)
      await record.input("note").fill("typed meanwhile")
      const { body } = await stage.call("admin", "GET", `/orders/${id}`)
      await stage.call("admin", "DELETE", `/orders/${id}`, undefined, String(body["etag"]))
      const note = page.locator("[class*=note][data-tone=bad]")
      await note.getByText("This record was deleted meanwhile").waitFor()
      expect(await page.getByText(/delet/i).count()).toBe(1)
      await note.getByRole("button", { name: "Bring back" }).click()
      await note.waitFor({ state: "detached" })
      expect(await record.input("note").inputValue()).toBe("typed meanwhile")
      await record.save()
      await record.toast(/^Saved/).waitFor()
      expect((await stage.call("admin", "GET", `/orders/${id}`)).body["note"]).toBe("typed meanwhile")
    })
  })

  it("their save is told below the form: nothing moves under the hands", async () => {
    const id = await newOrder()
    await using({}, async (page, record, _, quiet) => {
      await record.open("orders", id)
      await quiet()
      await record.input("note").fill("typing")
      const before = await record.box("note").boundingBox()
      const { body } = await stage.call("admin", "GET", `/orders/${id}`)
      await stage.call("admin", "PATCH", `/orders/${id}`, { channel: "phone" }, String(body["etag"]))
      await page.getByText(/changed this record while you edit it: Channel/).waitFor()
      expect(await record.box("note").boundingBox()).toEqual(before)
      await record.discard()
    })
  })

  it("a file on its way is no error, and its part of the whole has no sign", async () => {
    const id = await newOrder()
    await using({}, async (page, record) => {
      await record.open("orders", id)
      // The upload is not answered.
      await page.route("**/orders:upload*", () => new Promise(() => {}))
      await record.box("invoice").locator("input[type=file]").setInputFiles({
        name: "invoice.pdf",
        mimeType: "application/pdf",
        buffer: Buffer.from("%PDF-1.4\n%%EOF\n")
      })
      await record.box("invoice").getByRole("progressbar").waitFor()
      expect(await record.box("invoice").locator("[data-invalid], [data-bad]").count()).toBe(0)
      expect(await record.box("invoice").innerText()).not.toMatch(/[+-]\d/)
      expect(await page.getByText(/needs? a look/).count()).toBe(0)
      expect(await record.saveButton.isDisabled()).toBe(true)
      await record.discard()
    })
  })
})

describe.skipIf(chromiumPath === null)("the page of a record", () => {
  it("has short values in three columns, its key in the head, lines before notes, read-only values as text, and texts that grow", async () => {
    const id = await newOrder(2)
    await using({ width: 1440, height: 900 }, async (_, record) => {
      await record.open("orders", id)
      await record.rows("Lines").getByRole("row").nth(2).waitFor()
      expect(await record.box("id").count()).toBe(0)
      // What is short shares a line: the first four of an order are three and one.
      const boxes = await Promise.all(
        ["status", "channel", "customer_id", "owner_id"].map((field) => record.box(field).boundingBox())
      )
      const places = boxes.map((box) => [box!.x, box!.y] as const)
      expect(new Set(places.map(([x]) => x)).size).toBe(3)
      expect(places.map(([, y]) => y === places[0]![1])).toEqual([true, true, true, false])
      const [lines, note] = [await record.rows("Lines").boundingBox(), await record.box("note").boundingBox()]
      expect(lines!.y + lines!.height).toBeLessThan(900)
      expect(lines!.y).toBeLessThan(note!.y)
      const shown = record.box("created_at").locator("[data-read-only]")
      expect(
        await shown.evaluate((box) => [getComputedStyle(box).borderTopWidth, getComputedStyle(box).backgroundColor])
      )
        .toEqual(["0px", "rgba(0, 0, 0, 0)"])
      const height = async (): Promise<number> => (await record.input("note").boundingBox())!.height
      const small = await height()
      await record.input("note").fill(Array.from({ length: 8 }, (_, at) => `line ${at}`).join("\n"))
      await expect.poll(height).toBeGreaterThan(small + 80)
      await record.discard()
    })
    await using({}, async (page, record) => {
      await record.open("customers", String(order["customer_id"]))
      await page.locator("header").getByText(String(order["customer_id"]), { exact: true }).waitFor()
    })
  })

  it("of a deleted record says so once", async () => {
    const id = await newOrder()
    const { body } = await stage.call("admin", "GET", `/orders/${id}`)
    await stage.call("admin", "DELETE", `/orders/${id}`, undefined, String(body["etag"]))
    await using({ allow: /404/ }, async (page, record) => {
      await record.open("orders", id)
      await page.getByText("This record is deleted.").waitFor()
      expect(await page.locator("[data-field] .hint").count()).toBe(0)
      expect(await page.getByText(/may not change/).count()).toBe(0)
    })
  })
})

describe.skipIf(chromiumPath === null)("inputs of a record", () => {
  it("take dates in the language of the app, by typing, pasting, arrow keys and a calendar", async () => {
    const id = await newOrder()
    const write = async (due: string): Promise<void> => {
      const { body } = await stage.call("admin", "GET", `/orders/${id}`)
      await stage.call("admin", "PATCH", `/orders/${id}`, { due_on: due }, String(body["etag"]))
    }
    await write("2027-02-03")
    const stored = async () => (await stage.call("admin", "GET", `/orders/${id}`)).body["due_on"]
    // The browser speaks English, the app German.
    await using({ language: "en-US" }, async (page, record) => {
      await record.open("orders", id)
      expect(await record.input("due_on").inputValue()).toBe("02/03/2027")
      await page.evaluate(() => localStorage.setItem("admin:preferences", JSON.stringify({ language: "de" })))
      await page.reload()
      const due = record.input("due_on")
      await due.waitFor()
      expect(await due.inputValue()).toBe("03.02.2027")
      expect(await due.getAttribute("placeholder")).toBe("TT.MM.JJJJ")
      await due.fill("4.3.2027")
      await record.save()
      await expect.poll(stored).toBe("2027-03-04")
      await due.blur()
      expect(await due.inputValue()).toBe("04.03.2027")
      // What says the same is no change.
      await due.fill("5.3.2027")
      await due.fill("04.03.2027")
      expect(await record.box("due_on").locator("[data-changed]").count()).toBe(0)
      await due.fill("31.4.2027")
      await record.hint("due_on").getByText("Schreiben Sie es wie 31.12.2026.").waitFor()
      await due.fill("2027-04-30")
      await due.blur()
      expect(await due.inputValue()).toBe("30.04.2027")
      await due.press("Home")
      await due.press("ArrowUp")
      expect(await due.inputValue()).toBe("01.05.2027")
      await due.press("Alt+ArrowDown")
      const month = page.getByRole("grid", { name: "Mai 2027" })
      await month.waitFor()
      expect(await month.getByRole("columnheader").first().innerText()).toBe("Mo")
      expect(await axeAgain(page)).toEqual([])
      await page.keyboard.press("ArrowRight")
      await page.keyboard.press("PageDown")
      await page.getByRole("button", { name: "Mittwoch, 2. Juni 2027" }).press("Enter")
      await month.waitFor({ state: "detached" })
      expect(await due.inputValue()).toBe("02.06.2027")
      await record.save()
      await expect.poll(stored).toBe("2027-06-02")
    })
  })

  it("offer states with their dots, and countries and currencies by name", async () => {
    const id = await newOrder()
    await using({}, async (page, record) => {
      await record.open("orders", id)
      const status = record.input("status")
      const dot = (at: string) =>
        page.locator(at).evaluate((each) => {
          const { backgroundColor, content, width } = getComputedStyle(each, "::before")
          return content === "none" ? null : `${width} ${backgroundColor}`
        })
      const draft = await dot("[data-field=status] [data-tone]:has(> select)")
      expect(draft).toMatch(/^6px/)
      expect(await dot("[data-field=channel] div:has(> select)")).toBe(null)
      await status.focus()
      await page.keyboard.press("Space")
      await page.keyboard.press("ArrowDown")
      await page.keyboard.press("ArrowDown")
      expect(await dot("[data-field=status] option[value=paid]")).not.toBe(draft)
      expect(await axeAgain(page)).toEqual([])
      await page.keyboard.press("Enter")
      expect(await status.inputValue()).toBe("paid")
      expect(await dot("[data-field=status] [data-tone]:has(> select)")).not.toBe(draft)
      await record.input("ship_country").fill("united st")
      await page.getByRole("listbox", { name: "Ship country" }).getByRole("option").first().waitFor()
      expect(await axeAgain(page)).toEqual([])
      await page.keyboard.press("Enter")
      expect(await record.input("ship_country").inputValue()).toBe("US")
      await record.box("ship_country").getByText("United States").waitFor()
      await record.input("currency").fill("japan")
      await page.keyboard.press("Enter")
      expect(await record.input("currency").inputValue()).toBe("JPY")
      await record.input("ship_country").fill("Narnia")
      await record.hint("ship_country").getByText("Choose one from the list.").waitFor()
      await record.input("ship_country").fill("austria")
      await record.save()
      await expect.poll(async () => {
        const { body } = await stage.call("admin", "GET", `/orders/${id}`)
        return [body["status"], body["ship_country"], body["currency"]]
      }).toEqual(["paid", "AT", "JPY"])
    })
  })
})

describe.skipIf(chromiumPath === null)("the lines of an order", () => {
  it("have sums below them, lead to their products, and are moved by a handle", async () => {
    const id = await newOrder(3)
    const positions = async (): Promise<readonly unknown[]> => {
      const { body } = await stage.call("admin", "GET", `/order_lines?filter=order_id%3D${id}&order_by=id`)
      return (body["items"] as readonly Record<string, unknown>[]).map((line) => line["position"])
    }
    await using({ width: 1440, height: 900 }, async (page, record) => {
      await record.open("orders", id)
      const lines = record.rows("Lines")
      const foot = lines.locator("tfoot")
      await foot.waitFor()
      expect((await foot.innerText()).split(/\s+/).filter((word) => word !== "")).toEqual(["Sum", "3", "30.00"])
      const way = lines.getByRole("link", { name: /^Product: / }).first()
      expect(await way.getAttribute("href")).toBe(`/products/${product}`)
      // Quantities are added up as they are typed. The total is the database's.
      await lines.getByRole("button", { name: "Quantity" }).first().click()
      await lines.getByRole("textbox", { name: "Quantity" }).fill("5")
      await expect.poll(async () => (await foot.innerText()).split(/\s+/).filter((word) => word !== ""))
        .toEqual(["Sum", "7", "…"])
      await record.discard()
      const handle = (at: number) => lines.getByRole("button", { name: new RegExp(`^Move .*, ${at} of 3$`) })
      await handle(1).press("ArrowDown")
      expect(await handle(2).evaluate((each) => each === document.activeElement)).toBe(true)
      await record.save()
      await expect.poll(positions).toEqual([2, 1, 3])
      // By mouse, the last line becomes the first.
      await expect.poll(() => lines.locator("[data-changed]").count()).toBe(0)
      const [from, to] = [await handle(3).boundingBox(), await handle(1).boundingBox()]
      await page.mouse.move(from!.x + 5, from!.y + 5)
      await page.mouse.down()
      await page.mouse.move(to!.x + 5, to!.y + 5, { steps: 6 })
      await page.mouse.up()
      await record.save()
      await expect.poll(positions).toEqual([3, 2, 1])
    })
  })
})
