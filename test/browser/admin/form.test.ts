// The page of a public form in a real browser, as visitors see it. The numbers are those of the rules that it was built to.
import type { Page, Route } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { extendResource, withResources } from "../../../composition/index.ts"
import { messages } from "../../../examples/shop/resources/messages.ts"
import { chromiumPath } from "../chromium.ts"
import { formPage } from "./pages/form.ts"
import { axe, opener, type OpenOptions, type Stage, startStage } from "./stage.ts"

let stage: Stage

const labelled = (field: (typeof messages)["~fields"]["topic"]) => field.label("About")
const worded = (field: (typeof messages)["~fields"]["email"]) => field.label("Your e-mail").help("We answer there.")

beforeAll(async () => {
  // What the proof of work costs, `client.test.ts` says. Here it is one that is solved at once.
  if (chromiumPath !== null) {
    stage = await startStage({
      change: (config) => ({
        ...config,
        resources: withResources(
          config.resources,
          extendResource(messages, { fields: { email: worded, topic: labelled } })
        ),
        forms: { ...config.forms, difficulty: 8 }
      })
    })
  }
})
afterAll(() => stage?.stop())

const using = opener(() => stage, (page, url) => [formPage(page, url)], { role: null })

const problem = (route: Route, status: number, slug: string, headers: Record<string, string> = {}): Promise<void> =>
  route.fulfill({
    status,
    headers,
    contentType: "application/problem+json",
    body: JSON.stringify({ type: `urn:service:problem:${slug}`, title: slug, status })
  })

/** Answers what is sent by the form; what it asks goes on to the service. */
const onSend = (page: Page, answer: (route: Route) => Promise<void>): Promise<unknown> =>
  page.route("**/api/forms/contact", (route) => route.request().method() === "POST" ? answer(route) : route.continue())

const fillIn = async (form: ReturnType<typeof formPage>): Promise<void> => {
  await form.input("name").fill("Ruth Adeyemi")
  await form.input("email").fill("ruth@example.com")
  await form.input("message").fill("Where is my shelf? <b>&\u202Eflehs</b>")
}

describe.skipIf(chromiumPath === null)("a public form", () => {
  it("needs no session, has its title over labelled fields of the form only, and thanks who sent it (14, 45, 46, 50)", async () => {
    await using({}, async (page, form, sent) => {
      await form.open("contact")
      await page.getByRole("heading", { level: 1, name: "Write to us" }).waitFor()
      expect(await page.title()).toBe("Write to us")
      expect(await page.locator("label").allInnerTexts()).toEqual(["Name", "Your e-mail", "About", "Message"])
      expect(await page.getByText("We answer there.").isVisible()).toBe(true)
      expect(await form.input("email").getAttribute("aria-describedby")).toBe(
        await page.getByText("We answer there.").getAttribute("id")
      )
      expect(await form.input("topic").inputValue()).toBe("other")
      expect(await form.input("email").getAttribute("type")).toBe("email")
      await fillIn(form)
      await form.input("topic").selectOption("order")
      await form.send()
      await page.getByText("Thank you. We answer within two days.").waitFor()
      expect(sent.some((line) => /\/api\/(?:meta|auth)/.test(line))).toBe(false)
      await page.getByRole("button", { name: "Send another one" }).click()
      expect(await form.input("message").inputValue()).toBe("")
    })
    const { body } = await stage.call("admin", "GET", "/messages?order_by=id%20desc&page_size=1")
    const [message] = body["items"] as readonly Record<string, unknown>[]
    expect(message).toMatchObject({ topic: "order", message: "Where is my shelf? <b>&\u202Eflehs</b>", done: false })
  })

  it("has the same label and help in lists and forms of the admin app", async () => {
    await using({ role: "admin" }, async (page) => {
      await page.goto(`${stage.url}/messages`)
      await page.getByRole("columnheader", { name: "About" }).waitFor()
      await page.goto(`${stage.url}/messages/new`)
      await page.getByLabel("Your e-mail").waitFor()
      await page.getByText("We answer there.").waitFor()
    })
  })

  it("shows a refused field's problem below it, keeps the input, and goes to the first one (47)", async () => {
    await using({ allow: /400|422/ }, async (page, form) => {
      await form.open("contact")
      await form.input("name").waitFor()
      await form.send()
      expect(await form.hints()).toEqual(["Needs a value.", "Needs a value.", "Needs a value."])
      expect(await form.input("name").evaluate((input) => input === document.activeElement)).toBe(true)
      await fillIn(form)
      await form.input("email").fill("nowhere")
      await form.send()
      await page.getByText("Must be an email address.").waitFor()
      expect(await form.hints()).toEqual(["Must be an email address."])
      expect(await form.input("email").getAttribute("aria-invalid")).toBe("true")
      expect(await form.input("message").inputValue()).toContain("shelf")
      expect(await axe(page)).toEqual([])
    })
  })

  it("takes a fresh challenge when the answer was not taken, and then says so above the button (47, 48)", async () => {
    await using({ allow: /400/ }, async (page, form, sent) => {
      let refusals = 0
      await onSend(page, (route) => ++refusals === 1 ? problem(route, 400, "bot-check-failed") : route.continue())
      await form.open("contact")
      await fillIn(form)
      await form.send()
      await page.getByText("Thank you.").waitFor()
      expect(sent.filter((line) => /\/forms\/contact:challenge/.test(line))).toHaveLength(2)
    })
    await using({ allow: /400/ }, async (page, form) => {
      await onSend(page, (route) => problem(route, 400, "bot-check-failed"))
      await form.open("contact")
      await fillIn(form)
      await form.send()
      await form.refusal.getByText("The form was not accepted. Try again.").waitFor()
      expect(await form.input("name").inputValue()).toBe("Ruth Adeyemi")
    })
  })

  it("says how long to wait (48), that there is no such form, and that it is offline", async () => {
    await using({ allow: /429|404|Failed to load|ERR_/ }, async (page, form) => {
      await onSend(page, (route) => problem(route, 429, "too-many-requests", { "retry-after": "90" }))
      await form.open("contact")
      await fillIn(form)
      await form.send()
      await form.refusal.getByText(/Try again in 90 seconds/).waitFor()
      await page.unroute("**/api/forms/contact")
      await page.context().setOffline(true)
      await form.send()
      await form.refusal.getByText(/Check the connection/).waitFor()
      await page.context().setOffline(false)
      await form.send()
      await page.getByText("Thank you.").waitFor()
      await form.open("nothing")
      await page.getByText("This form does not exist, or is closed.").waitFor()
    })
  })

  it("says so where the browser has no Web Crypto (49)", async () => {
    // What a page was told to begin with, it does at each beginning.
    await using({ fresh: true }, async (page, form) => {
      await page.addInitScript(() => Object.defineProperty(globalThis, "isSecureContext", { value: false }))
      await form.open("contact")
      await page.getByText(/works over https only/).waitFor()
    })
  })

  it("is sent by keyboard alone", async () => {
    await using({}, async (page, form) => {
      await form.open("contact")
      await form.input("name").waitFor()
      await page.keyboard.press("Tab")
      await page.keyboard.type("Ida")
      await page.keyboard.press("Tab")
      await page.keyboard.type("ida@example.com")
      await page.keyboard.press("Tab")
      await page.keyboard.press("o")
      await page.keyboard.press("Tab")
      await page.keyboard.type("Hello")
      await page.keyboard.press("Tab")
      await page.keyboard.press("Enter")
      await page.getByText("Thank you.").waitFor()
    })
  })

  it.each<readonly [string, OpenOptions]>([
    ["light", {}],
    ["dark", { theme: "dark" }],
    ["right to left", { language: "ar" }],
    ["320 px", { width: 320, height: 640, touch: true }],
    ["400 % zoom", { width: 320, height: 256 }]
  ])("axe finds nothing in %s, and nothing is cut", async (_, options) => {
    await using(options, async (page, form) => {
      await form.open("contact")
      await form.input("name").waitFor()
      expect(await axe(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
    })
  })
})
