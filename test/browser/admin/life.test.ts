// The life of one record under the hands of two people at once: whatever happens meanwhile, nothing that was typed is lost.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { recordPage } from "./pages/record.ts"
import { type Role, type Stage, startStage, type Watched } from "./stage.ts"

let stage: Stage
let id: string

beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage()
  // An order of the seller's, so that both may write it.
  const { body } = await stage.call("sales", "GET", "/customers?page_size=1")
  const [customer] = body["items"] as readonly Record<string, unknown>[]
  const made = await stage.call("sales", "POST", "/orders", {
    customer_id: customer!["id"],
    ship_country: "DE",
    total: "100.00",
    note: "as it was"
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  id = String(made.body["id"])
})
afterAll(() => stage?.stop())

interface Person {
  readonly page: Page
  readonly quiet: Watched["quiet"]
  readonly record: ReturnType<typeof recordPage>
}

/** People with the same record open. */
const withOpen = async (
  roles: readonly Role[],
  work: (...people: readonly Person[]) => Promise<void>
): Promise<void> => {
  const people = await Promise.all(
    roles.map((role) => stage.open({ role, allow: /412|409|404|401|ERR_|Failed to load/ }))
  )
  const all = people.map(({ page, quiet }) => ({ page, quiet, record: recordPage(page, stage.url) }))
  for (const { record } of all) await record.open("orders", id)
  await work(...all)
  for (const { close } of people) await close()
}

/** Two people with the same record open. */
const together = (work: (ada: Person, ann: Person) => Promise<void>): Promise<void> =>
  withOpen(["sales", "admin"], (ada, ann) => work(ada!, ann!))

/** One of them. */
const alone = (work: (ada: Person) => Promise<void>): Promise<void> => withOpen(["sales"], (ada) => work(ada!))

const stored = async () => (await stage.call("admin", "GET", `/orders/${id}?show_deleted=true`)).body

describe.skipIf(chromiumPath === null)("two people and one record", () => {
  it("other fields: both changes hold, without a question (31)", async () => {
    await together(async (ada, ann) => {
      await ada.record.input("channel").selectOption("store")
      await ann.record.input("internal_note").fill("Ann's")
      await ann.record.save()
      await ann.record.toast("Saved").waitFor()
      await ada.record.save()
      await ada.record.toast(/Changes that somebody else made meanwhile are kept/).waitFor()
      expect(await stored()).toMatchObject({ channel: "store", internal_note: "Ann's" })
    })
  })

  it("the same field: each is shown before, theirs and mine, and the choice is written over their version (31)", async () => {
    await together(async (ada, ann) => {
      await ada.record.input("note").fill("Ada's note")
      await ada.record.input("total").fill("111.11")
      await ann.record.input("note").fill("Ann's note")
      await ann.record.input("due_on").fill("2027-01-31")
      await ann.record.save()
      await ann.record.toast("Saved").waitFor()
      await ada.record.save()
      const dialog = ada.record.dialog(/saved this order while/)
      await dialog.waitFor()
      const row = dialog.getByRole("row", { name: /^Note/ })
      for (const text of ["as it was", "Ann's note", "Ada's note"]) await row.getByText(text, { exact: true }).waitFor()
      // Back to editing keeps everything.
      await dialog.getByRole("button", { name: "Back to editing" }).click()
      expect(await ada.record.input("note").inputValue()).toBe("Ada's note")
      await ada.record.save()
      await dialog.waitFor()
      await row.getByRole("button", { name: "Ann's note" }).click()
      await dialog.getByRole("button", { name: "Save merged" }).click()
      await ada.record.toast(/Saved/).waitFor()
      expect(await stored()).toMatchObject({ note: "Ann's note", total: "111.11", due_on: "2027-01-31" })
    })
  })

  it("a session that ends in the middle: the same page goes on after signing in (7)", async () => {
    await alone(async ({ page, record }) => {
      await record.input("note").fill("typed before the session ended")
      await page.context().clearCookies()
      await page.route("**/api/v1/**", (route) =>
        route.fulfill({
          status: 401,
          contentType: "application/problem+json",
          body: JSON.stringify({ type: "urn:service:problem:unauthenticated", title: "No", status: 401 })
        }))
      await record.save()
      const dialog = record.dialog("Sign in again")
      await dialog.waitFor()
      await page.unroute("**/api/v1/**")
      expect(await record.input("note").inputValue()).toBe("typed before the session ended")
      await dialog.getByLabel("Password", { exact: true }).fill(stage.password)
      await dialog.getByRole("button", { name: "Sign in", exact: true }).click()
      await dialog.waitFor({ state: "detached" })
      expect(await record.input("note").inputValue()).toBe("typed before the session ended")
      await record.save()
      await record.toast("Saved").waitFor()
    })
    expect((await stored())["note"]).toBe("typed before the session ended")
  })

  it("no connection in the middle: typing goes on, and it is saved when the connection is back (22)", async () => {
    await alone(async ({ page, quiet, record }) => {
      await quiet()
      await page.context().setOffline(true)
      await page.getByText("You are offline").waitFor()
      await record.input("note").fill("typed offline")
      await record.save()
      await page.getByRole("status").getByText(/the change may not have arrived|cannot be reached/).waitFor()
      expect(await record.input("note").inputValue()).toBe("typed offline")
      await page.context().setOffline(false)
      await page.getByText("You are offline").waitFor({ state: "detached" })
      await record.save()
      await record.toast("Saved").waitFor()
    })
    expect((await stored())["note"]).toBe("typed offline")
  })

  it("a reload, and leaving without saving: the draft is there again, what cannot be sent and rows included (16)", async () => {
    await alone(async ({ page, record }) => {
      await record.input("note").fill("a draft")
      await record.input("total").fill("not a number")
      await page.getByRole("button", { name: /^Add order line/ }).click()
      await record.rows("Lines").getByRole("textbox", { name: "Quantity" }).fill("7")
      await page.reload()
      await page.getByText("These are your changes from before. They are not saved yet.").waitFor()
      expect(await record.input("note").inputValue()).toBe("a draft")
      expect(await record.input("total").inputValue()).toBe("not a number")
      expect(await record.rows("Lines").getByRole("textbox", { name: "Quantity" }).inputValue()).toBe("7")
      await page.getByRole("navigation", { name: "Navigation" }).getByRole("link", { name: "Customers", exact: true })
        .click()
      await record.dialog("Leave without saving?").getByRole("button", { name: "Stay" }).click()
      expect(await record.input("note").inputValue()).toBe("a draft")
      await page.getByRole("navigation", { name: "Navigation" }).getByRole("link", { name: "Customers", exact: true })
        .click()
      await record.dialog("Leave without saving?").getByRole("button", { name: "Leave" }).click()
      await page.getByRole("grid").waitFor()
      await page.goBack()
      await page.getByText("These are your changes from before. They are not saved yet.").waitFor()
      expect(await record.input("note").inputValue()).toBe("a draft")
      await record.discard()
      const { note, total } = await stored()
      await expect.poll(() => record.input("note").inputValue()).toBe(note)
      await expect.poll(() => record.input("total").inputValue()).toBe(total)
    })
  })

  it("a draft is its writer's: whoever signs in next in the tab finds none", async () => {
    await alone(async ({ page, record }) => {
      await record.input("note").fill("Ada's own")
      await page.getByText("1 change").waitFor()
      await page.context().clearCookies()
      await page.goto(`${stage.url}/orders/${id}`)
      await page.getByLabel("Email").fill(stage.emailOf("viewer"))
      await page.getByLabel("Password", { exact: true }).fill(stage.password)
      await page.getByRole("button", { name: "Sign in", exact: true }).click()
      await page.locator("[data-field]").first().waitFor()
      expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain("Ada's own")
      expect(await page.getByText("Ada's own").count()).toBe(0)
    })
  })

  it("a newer version is deployed: the app says so, and the load brings the draft along (22)", async () => {
    // A tab whose files are gone: what it has not fetched yet is a 404.
    const { close, page } = await stage.open({ role: "sales", allow: /404|Failed to (?:load|fetch)|error loading/i })
    const record = recordPage(page, stage.url)
    await page.route(
      /\/-\/assets\/(?:palette|floats|history)[^/]*\.js$/,
      (route) => route.fulfill({ status: 404, body: "" })
    )
    await record.open("orders", id)
    await record.input("note").fill("typed in the old version")
    await page.keyboard.press("Control+k")
    const banner = page.getByRole("status").filter({ hasText: "There is a new version." })
    await banner.waitFor()
    expect(await record.input("note").inputValue()).toBe("typed in the old version")
    await page.unrouteAll()
    await banner.getByRole("button", { name: "Load it" }).click()
    await page.getByText("These are your changes from before. They are not saved yet.").waitFor()
    expect(await record.input("note").inputValue()).toBe("typed in the old version")
    await page.keyboard.press("Control+k")
    await page.getByRole("combobox", { name: /Search/ }).waitFor()
    await close()
  })

  it("a page whose style cannot be fetched says so: nobody was told of a failure", async () => {
    const { close, page } = await stage.open({ role: "admin", allow: /Failed to load|ERR_FAILED|preload CSS/i })
    await page.goto(`${stage.url}/orders`)
    await page.getByRole("grid").waitFor()
    await page.route(/\.css$/, (route) => route.abort())
    await page.getByRole("link", { name: "Users" }).click()
    const alert = page.locator("main").getByRole("alert")
    await alert.getByText("There is a new version.").waitFor()
    await page.unrouteAll()
    await alert.getByRole("button", { name: "Load it" }).click()
    await page.getByRole("heading", { name: "Users", level: 1 }).waitFor()
    await close()
  })

  it("a delete under an edit: what was typed can be read, and becomes a new record (35)", async () => {
    await together(async (ada, ann) => {
      await ada.record.input("note").fill("typed while it was deleted")
      await ann.record.menu("Delete")
      await ann.record.alert(/^Delete/).getByRole("button", { name: "Delete" }).click()
      await ann.record.toast(/deleted/).waitFor()
      await ada.record.save()
      await ada.page.getByText("This record was deleted meanwhile").waitFor()
      expect(await ada.record.input("note").inputValue()).toBe("typed while it was deleted")
      await ada.page.getByRole("button", { name: "Create from it" }).click()
      await ada.page.waitForURL(/\/orders\/new/)
      expect(await ada.record.input("note").inputValue()).toBe("typed while it was deleted")
      await ada.record.save()
      await ada.page.waitForURL(/\/orders\/\d+$/)
      expect(ada.page.url()).not.toMatch(new RegExp(`/${id}$`))
    })
  })
})
