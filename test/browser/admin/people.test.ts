// Accounts in a real browser: the page of users for admins, and everybody's own account.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { codeAt } from "../../support/totp.ts"
import { chromiumPath } from "../chromium.ts"
import { accountPage, giveAuthenticator } from "./pages/account.ts"
import { signInPage } from "./pages/sign-in.ts"
import { usersPage } from "./pages/users.ts"
import { axeAgain, opener, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  if (chromiumPath !== null) stage = await startStage({ mail: true, twoFactor: true, passkeys: true })
})
afterAll(() => stage?.stop())

const using = opener(() => stage, (page, url) => [usersPage(page, url), accountPage(page, url)])

/** Signs somebody in on a page of their own. */
const asPerson = async (
  email: string,
  password: string,
  work: (page: Page, account: ReturnType<typeof accountPage>) => Promise<void>,
  allow = /401/
) => {
  const { close, page } = await stage.open({ role: null, allow })
  const form = signInPage(page, stage.url)
  await form.open()
  await form.submit(email, password)
  await work(page, accountPage(page, stage.url))
  await close()
}

/** Everything that the browser keeps. */
const kept = (page: Page): Promise<string> =>
  page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie, history.state, location.href]))

const signInStatus = async (email: string, password: string): Promise<number> =>
  (await fetch(`${stage.url}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: stage.url },
    body: JSON.stringify({ email, password })
  })).status

describe.skipIf(chromiumPath === null)("users", () => {
  it("are for admins: others get no entry, no page and no request", async () => {
    for (const role of ["sales", "viewer"] as const) {
      await using({ role, allow: /40[34]/ }, async (page, _, __, sent) => {
        await page.goto(`${stage.url}/-/users`)
        await page.getByRole("heading", { name: "Not found" }).waitFor()
        expect(await page.getByRole("link", { name: "Users" }).count()).toBe(0)
        expect(sent.filter((each) => each.includes("/admin/"))).toEqual([])
        // What the page does not ask, the service would refuse.
        const status = await page.evaluate(async () => (await fetch("/api/auth/admin/list-users")).status)
        expect(status).toBe(403)
      })
    }
  })

  it("are made with a generated password that is shown once and kept nowhere (10)", async () => {
    await using({ allow: /4\d\d/ }, async (page, users, _, sent) => {
      await users.open()
      const password = await users.create("new@shop.example", "viewer")
      expect(password).toMatch(/^[A-Za-z2-9]{20}$/)
      expect(await axeAgain(page)).toEqual([])
      await users.dialog.getByText("It cannot be shown again").waitFor()
      await users.done()
      await users.row("new@shop.example").getByText("viewer").waitFor()
      expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toContain(password)
      expect(await kept(page)).not.toContain(password)
      expect(sent.filter((each) => each.includes(password))).toHaveLength(1)
      expect(await signInStatus("new@shop.example", password)).toBe(200)
      // A second one with the same address is refused where it was typed.
      await page.getByRole("button", { name: "New user" }).click()
      await users.dialog.getByLabel("Email").fill("new@shop.example")
      await users.dialog.getByRole("button", { name: "Create" }).click()
      await users.dialog.getByRole("alert").getByText("Choose at least one role.").waitFor()
      await users.dialog.getByRole("checkbox", { name: "viewer" }).check()
      await users.dialog.getByRole("button", { name: "Create" }).click()
      await users.dialog.getByRole("alert").getByText(/exist/i).waitFor()
    })
  })

  it("are invited by mail where there is mail, and sent a link when they lost the password", async () => {
    await using({}, async (page, users) => {
      await users.open()
      await page.getByRole("button", { name: "New user" }).click()
      await users.dialog.getByLabel("Email").fill("ida@shop.example")
      await users.dialog.getByRole("checkbox", { name: "viewer" }).check()
      expect(await users.dialog.getByRole("radio", { name: /invitation/ }).isChecked()).toBe(true)
      await users.dialog.getByRole("button", { name: "Create" }).click()
      await users.dialog.getByText("An invitation goes to ida@shop.example.").waitFor()
      await users.done()
      await users.row("ida@shop.example").getByText("invited", { exact: true }).waitFor()
      await users.row("admin@shop.example").getByText("active", { exact: true }).waitFor()
      await users.openUser("ida@shop.example")
      await users.detail.getByText("This person was invited and has not chosen a password yet.").waitFor()
      expect(await axeAgain(page)).toEqual([])
      await users.button("Mail a link that sets the password").click()
      await users.toast("The link will be sent").waitFor()
      const mails = async () => (await fetch(`${stage.url}/-/mail`)).text()
      await expect.poll(mails).toContain("ida@shop.example")
      // The mails of development are an entry of their own.
      expect(await page.getByRole("link", { name: "Mail previews" }).getAttribute("href")).toBe("/-/mail")
    })
  })

  it("are drawn up to 500 characters of a value, also where the store holds more", async () => {
    await using({}, async (page, users) => {
      await users.open()
      await users.create("long@shop.example", "viewer")
      await users.done()
      await stage.database.execute(
        `update auth."user" set "name" = repeat('W', 20000), "banned" = true, "banReason" = repeat('M', 20000) where "email" = 'long@shop.example'`
      )
      await page.reload()
      await users.row("long@shop.example").getByText(/^W{500}…$/).waitFor()
      await users.openUser("long@shop.example")
      await users.detail.getByText(/^W{500}…$/).waitFor()
      await users.detail.getByText(/^M{500}…$/).waitFor()
      expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toMatch(/W{501}|M{501}/)
      await users.button("Delete").click()
      await users.confirm("Delete")
      await users.row("long@shop.example").waitFor({ state: "detached" })
    })
  })

  it("have at most 80 characters of their name drawn in the sidebar", async () => {
    await stage.database.execute(
      `update auth."user" set "name" = repeat('N', 20000) where "email" = '${stage.emailOf("viewer")}'`
    )
    await using({ role: "viewer" }, async (page) => {
      await page.goto(stage.url)
      await page.getByRole("navigation").getByText(/^N{80}…$/).waitFor()
      expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toMatch(/N{81}/)
    })
    await stage.database.execute(
      `update auth."user" set "name" = 'viewer' where "email" = '${stage.emailOf("viewer")}'`
    )
  })

  it("keep the last admin: the page says so before the service does", async () => {
    await using({}, async (_, users) => {
      await users.open()
      await users.openUser("admin@shop.example")
      await users.detail.getByText(/This is the last active admin/).waitFor()
      expect(await users.role("admin").isDisabled()).toBe(true)
      expect([await users.button("Ban").isDisabled(), await users.button("Delete").isDisabled()]).toEqual([true, true])
      // A second one, and it may go.
      await users.create("chief@shop.example", "admin")
      await users.done()
      await users.openUser("chief@shop.example")
      await users.detail.getByText(/This is the last active admin/).waitFor({ state: "detached" })
      await users.role("sales").check()
      await users.button("Save").click()
      await users.toast("The roles are saved").waitFor()
      await users.row("chief@shop.example").getByText("admin, sales").waitFor()
      await users.button("Delete").click()
      await users.confirm("Delete")
      await users.row("chief@shop.example").waitFor({ state: "detached" })
    })
  })

  it("are banned with a reason that stays text, let in again, and given a new password", async () => {
    const reason = "<img src=x onerror=alert(1)>"
    await using({}, async (page, users) => {
      await users.open()
      const first = await users.create("ben@shop.example", "sales")
      await users.done()
      expect(await signInStatus("ben@shop.example", first)).toBe(200)
      await page.reload()
      await users.openUser("ben@shop.example")
      await users.detail.getByText(/node/).first().waitFor()
      await users.button("Ban").click()
      await page.getByLabel("Reason").fill(reason)
      await page.getByLabel("For how long").selectOption("7")
      await users.confirm("Ban")
      await users.detail.getByText(/Banned until/).waitFor()
      await users.detail.getByText(reason).waitFor()
      await users.detail.getByText("Nobody is signed in with this account.").waitFor()
      expect(await signInStatus("ben@shop.example", first)).toBe(401)
      await users.button("Lift the ban").click()
      await users.button("Ban").waitFor()
      await users.button("Set a new password").click()
      await users.confirm("Go on")
      const second = await users.detail.getByRole("status", { name: "Password" }).innerText()
      expect(await signInStatus("ben@shop.example", first)).toBe(401)
      expect(await signInStatus("ben@shop.example", second)).toBe(200)
      await page.getByRole("searchbox", { name: "Find by email" }).fill("nobody-here")
      await page.getByRole("heading", { name: "No account has this address" }).waitFor()
    })
  })
})

describe.skipIf(chromiumPath === null)("the own account", () => {
  it("changes the password, says what is wrong with it, and stays signed in", async () => {
    await using({}, async (_, users) => {
      await users.open()
      const password = await users.create("cara@shop.example", "viewer")
      await asPerson("cara@shop.example", password, async (page, account) => {
        await page.getByRole("heading", { name: "Orders" }).waitFor()
        await page.getByRole("button", { name: "Your menu" }).click()
        await page.getByRole("menuitem", { name: "Your account" }).click()
        const form = page.getByRole("form", { name: "Password" })
        const change = async (current: string, next: string, again: string): Promise<void> => {
          await form.getByLabel("Current password").fill(current)
          await form.getByLabel("New password", { exact: true }).fill(next)
          await form.getByLabel("Repeat the new password").fill(again)
          await form.getByRole("button", { name: "Change the password" }).click()
        }
        await change(password, "another password 1", "another password 2")
        await form.getByText("The two passwords differ.").waitFor()
        // The browser sends no short one. Where it is made to, the service refuses it.
        await form.evaluate((element) => void ((element as HTMLFormElement).noValidate = true))
        await change(password, "elevenchars", "elevenchars")
        await form.getByText(/too short|at least 12/i).waitFor()
        await change("not the present one", "another password 1", "another password 1")
        await form.getByText(/invalid password/i).waitFor()
        await change(password, "another password 1", "another password 1")
        await account.toast("The password is changed. Other sessions have ended.").waitFor()
        await page.goto(`${stage.url}/orders`)
        await page.getByRole("heading", { name: "Orders" }).waitFor()
        expect(await kept(page)).not.toMatch(/another password/)
      }, /40[01]/)
      expect(await signInStatus("cara@shop.example", password)).toBe(401)
    })
  })

  it("sets up a second factor by a QR code, shows recovery codes once, and turns it off", async () => {
    await using({}, async (_, users) => {
      await users.open()
      const password = await users.create("dora@shop.example", "viewer")
      await asPerson("dora@shop.example", password, async (page, account) => {
        await page.getByRole("heading", { name: "Orders" }).waitFor()
        await account.open()
        await account.press("Second factor", "Set it up")
        await account.confirm("not the password")
        await account.dialog.getByText(/invalid password/i).waitFor()
        await account.confirm(password)
        await account.dialog.getByRole("img", { name: "QR code for the authenticator app" }).waitFor()
        expect(await axeAgain(page)).toEqual([])
        const key = await account.dialog.getByRole("status", { name: "Or type this key into the app" }).innerText()
        const totpURI = `otpauth://totp/shop?secret=${key}`
        await account.dialog.getByLabel("Code", { exact: true }).fill("000000")
        await account.dialog.getByRole("button", { name: "Turn it on" }).click()
        await account.dialog.getByText(/invalid|not valid/i).waitFor()
        await account.dialog.getByLabel("Code", { exact: true }).fill(codeAt(totpURI))
        await account.dialog.getByRole("button", { name: "Turn it on" }).click()
        const codes = account.dialog.getByRole("status", { name: "Recovery codes" })
        const backupCodes = (await codes.innerText()).split("\n")
        expect(new Set(backupCodes).size).toBe(10)
        await account.done()
        await account.part("Second factor").getByText("on", { exact: true }).waitFor()
        expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toContain(backupCodes[0])
        expect(await kept(page)).not.toContain(backupCodes[0])
        await account.press("Second factor", "Turn it off")
        await account.confirm(password)
        await account.part("Second factor").getByText("off", { exact: true }).waitFor()
      }, /40[01]/)
    })
  })

  it("adds a passkey, signs in with it, and removes it", async () => {
    // The authenticator stays with the page.
    const { close, context, page } = await stage.open({ allow: /401/, fresh: true })
    await giveAuthenticator(page)
    const account = accountPage(page, stage.url)
    await account.open()
    await account.part("Passkeys").getByText("No passkeys yet.").waitFor()
    await account.part("Passkeys").getByLabel("Name").fill("Phone")
    await account.press("Passkeys", "Add a passkey")
    await account.toast("The passkey is added").waitFor()
    await account.part("Passkeys").getByText("Phone", { exact: true }).waitFor()
    await page.evaluate(() => fetch("/api/auth/status"))
    const cookies = await context.cookies()
    await context.clearCookies()
    await page.goto(stage.url)
    await page.getByRole("button", { name: "Use a passkey" }).click()
    await page.getByRole("heading", { name: "Orders" }).waitFor()
    await account.open()
    await account.part("Passkeys").getByRole("button", { name: "Remove: Phone" }).click()
    await account.part("Passkeys").getByText("No passkeys yet.").waitFor()
    expect(cookies.length).toBeGreaterThan(0)
    await close()
  })

  it("makes an API key that opens the API and is shown once, after signing in again where the session is old", async () => {
    await using({ allow: /403/ }, async (page, _, account) => {
      await stage.database.execute(`update auth."session" set "createdAt" = now() - interval '1 hour'`)
      await account.open()
      await account.part("API keys").getByRole("button", { name: "New key" }).click()
      await account.dialog.getByLabel("What it is for").fill("nightly <b>import</b>")
      await account.dialog.getByRole("button", { name: "Make the key" }).click()
      const again = page.getByRole("dialog", { name: /Sign in again to go on/ })
      await again.getByLabel("Password", { exact: true }).fill(stage.password)
      await again.getByRole("button", { name: "Sign in", exact: true }).click()
      const text = await page.getByRole("status", { name: "API key" }).innerText()
      expect(text).toMatch(/^sk_/)
      expect(await kept(page)).not.toContain(text)
      const read = () =>
        fetch(`${stage.url}/api/v1/orders?page_size=1`, { headers: { authorization: `Bearer ${text}` } }).then((
          { status }
        ) => status)
      expect(await read()).toBe(200)
      await account.done()
      expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toContain(text)
      await account.part("API keys").getByText("nightly <b>import</b>").waitFor()
      await account.part("API keys").getByRole("button", { name: /Revoke/ }).click()
      await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click()
      await account.part("API keys").getByText("revoked", { exact: true }).waitFor()
      await expect.poll(read, { timeout: 20_000 }).toBe(401)
    })
  })

  it("lists one's sessions and ends the others", async () => {
    await signInStatus(stage.emailOf("sales"), stage.password)
    await using({ role: "sales" }, async (_, __, account) => {
      await account.open()
      const sessions = account.part("Sessions")
      await sessions.getByText("this browser").waitFor()
      await sessions.getByRole("button", { name: "End all others" }).click()
      await sessions.getByRole("button", { name: "End all others" }).waitFor({ state: "detached" })
      expect(await sessions.getByRole("listitem").count()).toBe(1)
    })
  })
})
