// A forgotten password and an invitation in a real browser, from the sign-in page over the mail, as `dev` shows it, to the first page of the app.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { signInPage } from "./pages/sign-in.ts"
import { axe, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  if (chromiumPath !== null) stage = await startStage({ mail: true })
})
afterAll(() => stage?.stop())

const text = async (path: string): Promise<string> => (await fetch(`${stage.url}${path}`)).text()

/** The link of the newest mail with this subject. */
const linkOf = async (subject: string): Promise<string> => {
  const path = await vi.waitFor(async () => {
    const [, found] = new RegExp(`href="(/-/mail/\\d+)"[^>]*>[^<]*${subject}`).exec(await text("/-/mail")) ?? []
    if (found === undefined) throw new Error("no mail yet")
    return found
  }, { timeout: 60_000, interval: 100 })
  return /href="(http:[^"]+#[^"]+)"/.exec(await text(path))?.[1] ?? ""
}

const setPassword = async (page: Page, word: string): Promise<void> => {
  await page.getByLabel("New password", { exact: true }).fill(word)
  await page.getByRole("button", { name: "Set the password" }).click()
}

describe.skipIf(chromiumPath === null)("a forgotten password", () => {
  it("is asked for at sign-in, set by the mailed link, and opens the app", async () => {
    const { close, page, sent } = await stage.open({ role: null, allow: /40[01]/ })
    const form = signInPage(page, stage.url)
    await form.open()
    await page.getByRole("link", { name: "Forgot password?" }).click()
    await page.getByRole("heading", { name: "Forgot your password?" }).waitFor()
    expect(await axe(page)).toEqual([])
    await form.email().fill(stage.emailOf("viewer"))
    await page.getByRole("button", { name: "Send the link" }).click()
    await page.getByRole("heading", { name: "Check your mail" }).waitFor()

    const link = await linkOf("Set a new password for")
    expect(link).toMatch(new RegExp(`^${stage.url}/-/reset#token=[A-Za-z0-9_-]{43}$`))
    // From another page, so that the address alone loads it.
    await page.goto("about:blank")
    await page.goto(link)
    await page.getByRole("heading", { name: "Set a new password" }).waitFor()
    expect(page.url()).toBe(`${stage.url}/-/reset`)
    expect(await axe(page)).toEqual([])
    await setPassword(page, "too short")
    expect(await page.getByLabel("New password", { exact: true }).evaluate((input) => input.matches(":invalid"))).toBe(
      true
    )
    await setPassword(page, "a new and better password")
    await page.getByRole("heading", { name: "Your password is set" }).waitFor()
    const token = link.split("=")[1]!
    expect(sent.filter((request) => request.includes(token)).map((request) => request.split(" ", 2).join(" "))).toEqual(
      [
        `POST ${stage.url}/api/auth/reset-password`
      ]
    )
    await page.getByRole("link", { name: "Go to sign-in" }).click()
    await form.submit(stage.emailOf("viewer"), "a new and better password")
    await page.getByRole("heading", { name: "Orders" }).waitFor()

    await page.goto("about:blank")
    await page.goto(link)
    await setPassword(page, "yet another password")
    await page.getByRole("alert").getByText("expired").waitFor()
    await page.getByRole("button", { name: "Ask for a new link" }).click()
    await page.getByRole("heading", { name: "Forgot your password?" }).waitFor()
    await close()
  })

  it("has nothing to ask for where no links are sent", async () => {
    const { close, page } = await stage.open({ role: null, allow: /401/ })
    await page.route("**/api/auth/providers", (route) =>
      route.fulfill({
        json: { providers: [], twoFactor: false, passkeys: false, passwordReset: false, invitations: false }
      }))
    await page.goto(`${stage.url}/-/reset`)
    await page.getByText("This service cannot send links by mail.").waitFor()
    await page.goto(stage.url)
    await page.getByLabel("Password", { exact: true }).waitFor()
    expect(await page.getByRole("link", { name: "Forgot password?" }).count()).toBe(0)
    await close()
  })
})

describe.skipIf(chromiumPath === null)("an invitation", () => {
  it("opens on a phone, in another language and direction, and sets the password", async () => {
    const headers = { "content-type": "application/json", "origin": stage.url }
    const signedIn = await fetch(`${stage.url}/api/auth/sign-in/email`, {
      method: "POST",
      headers,
      body: JSON.stringify({ email: stage.emailOf("admin"), password: stage.password })
    })
    const cookie = signedIn.headers.getSetCookie().map((each) => each.split(";", 1)[0]).join("; ")
    const invited = await fetch(`${stage.url}/api/auth/admin/invite-user`, {
      method: "POST",
      headers: { ...headers, cookie },
      body: JSON.stringify({ email: "ivy@shop.example", name: "Ivy", role: "viewer" })
    })
    expect(invited.status).toBe(200)
    const { close, page } = await stage.open({ role: null, width: 375, height: 700, language: "ar", touch: true })
    await page.goto(await linkOf("Your account at"))
    await page.getByRole("heading", { name: "مرحبًا بك في" }).waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375)
    expect(await axe(page)).toEqual([])
    await page.locator("input[name=password]").fill("the first password of ivy")
    await page.locator("button.primary").click()
    await page.getByRole("heading", { name: "تم تعيين كلمة المرور" }).waitFor()
    await close()
    const again = await fetch(`${stage.url}/api/auth/sign-in/email`, {
      method: "POST",
      headers,
      body: JSON.stringify({ email: "ivy@shop.example", password: "the first password of ivy" })
    })
    expect(again.status).toBe(200)
  })
})
