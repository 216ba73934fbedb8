/** Scenes around accounts: signing in, one's own account, those of others, and forgotten passwords. */

import type { Locator } from "playwright-core"
import { expect } from "vitest"
import { codeAt } from "../../../support/totp.ts"
import { accountPage, giveAuthenticator } from "../pages/account.ts"
import { signInPage } from "../pages/sign-in.ts"
import { usersPage } from "../pages/users.ts"
import type { Scene, Visit } from "./scene.ts"

/** Somebody of their own, so that a new password or a second factor ends no other scene. */
export const kim = { email: "kim@shop.example", password: "the first password" }

/** Eleven characters: one fewer than a password has. */
const short = "elevenchars"

/** Sends a form with a password that is too short: the browser refuses it at its field, and the service hears nothing. */
const refuseShort = async ({ keys, sent }: Visit, input: Locator, send: () => Promise<void>): Promise<void> => {
  const before = sent.length
  await keys.type(input, short)
  await send()
  expect(await keys.isAt(input)).toBe(true)
  expect(await input.evaluate((element) => (element as HTMLInputElement).validity.tooShort)).toBe(true)
  expect(sent.slice(before).filter((each) => each.includes(short))).toEqual([])
}

const signIn = async ({ keys, page, stage }: Visit, password: string): Promise<void> => {
  const form = signInPage(page, stage.url)
  await keys.type(form.email(), kim.email)
  await keys.type(page.getByLabel("Password", { exact: true }), password)
  await page.keyboard.press("Enter")
}

const fromMenu = async ({ keys, page }: Visit, entry: string): Promise<void> => {
  await keys.press(page.getByRole("button", { name: /^Your menu/ }))
  await keys.choose(entry)
}

export const people: readonly Scene[] = [
  {
    name: "somebody signs in, and sets up all that their account has",
    // Its authenticator stays with the page.
    options: { role: null, allow: /40[01]/, fresh: true },
    work: async (visit) => {
      const { keys, page, seen, stage } = visit
      const account = accountPage(page, stage.url)
      await page.goto(stage.url)
      await page.getByLabel("Email").waitFor()
      await seen("sign-in")
      await signIn(visit, "not the password")
      await page.getByRole("alert").waitFor()
      await seen("sign-in that is refused")
      await signIn(visit, kim.password)
      await page.getByRole("grid").waitFor()

      await fromMenu(visit, "Your account")
      await account.part("API keys").waitFor()
      await seen("account", "known")
      const form = page.getByRole("form", { name: "Password" })
      const change = form.getByRole("button", { name: "Change the password" })
      const next = form.getByLabel("New password", { exact: true })
      const password = "the second password"
      await keys.type(form.getByLabel("Current password"), kim.password)
      await refuseShort(visit, next, () => keys.press(change))
      await keys.type(next, password)
      await keys.type(form.getByLabel("Repeat the new password"), password)
      await keys.press(change)
      await account.toast("The password is changed.").waitFor()
      await account.part("Sessions").getByText("this browser").waitFor()

      await keys.press(account.part("Second factor").getByRole("button", { name: "Set it up" }))
      await keys.type(account.dialog.getByLabel("Type your password"), password)
      await page.keyboard.press("Enter")
      const key = await account.dialog.getByRole("status", { name: "Or type this key into the app" }).innerText()
      await seen("second factor")
      await keys.type(account.dialog.getByLabel("Code", { exact: true }), codeAt(`otpauth://totp/shop?secret=${key}`))
      await page.keyboard.press("Enter")
      const [recovery = ""] = (await account.dialog.getByRole("status", { name: "Recovery codes" }).innerText()).split(
        "\n"
      )
      await seen("recovery codes", "known")
      await keys.press(account.dialog.getByRole("button", { name: "Done" }))
      await account.part("Second factor").getByText("on", { exact: true }).waitFor()

      await giveAuthenticator(page)
      const passkeys = account.part("Passkeys")
      await keys.type(passkeys.getByLabel("Name"), "Phone")
      await keys.press(passkeys.getByRole("button", { name: "Add a passkey" }))
      await passkeys.getByRole("button", { name: "Remove: Phone" }).waitFor()

      const apiKeys = account.part("API keys")
      await keys.press(apiKeys.getByRole("button", { name: "New key" }))
      await keys.type(account.dialog.getByLabel("What it is for"), "nightly import")
      await seen("new API key")
      await keys.press(account.dialog.getByRole("button", { name: "Make the key" }))
      await account.dialog.getByRole("status", { name: "API key" }).waitFor()
      await seen("API key that is shown once", "known")
      await keys.press(account.dialog.getByRole("button", { name: "Done" }))
      await keys.press(apiKeys.getByRole("button", { name: "Revoke: nightly import" }))
      await keys.press(page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }))
      await apiKeys.getByText("revoked", { exact: true }).waitFor()
      await seen("account in use")

      await fromMenu(visit, "Sign out")
      await page.getByLabel("Email").waitFor()
      await signIn(visit, password)
      const input = page.getByLabel("Code", { exact: true })
      await input.waitFor()
      await seen("code at sign-in")
      // A code of the app works once, so it would have to wait for the next one.
      await keys.press(page.getByRole("button", { name: "Use a backup code" }))
      await keys.type(input, recovery)
      await page.keyboard.press("Enter")
      await page.getByRole("navigation", { name: "Navigation" }).waitFor()
    }
  },
  {
    name: "an admin makes an account, bans it and lets it in again",
    work: async ({ keys, open, page, seen, stage }) => {
      const users = usersPage(page, stage.url)
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: stage.url })
      await open("/-/users", page.getByRole("table", { name: "Users" }))
      await seen("accounts")
      await keys.press(page.getByRole("button", { name: "New user" }))
      await keys.type(users.dialog.getByLabel("Email"), "reach@shop.example")
      await keys.press(users.dialog.getByRole("checkbox", { name: "viewer" }), "Space")
      await keys.press(users.dialog.getByRole("radio", { name: /invitation/ }), "ArrowDown")
      expect(await users.dialog.getByRole("radio", { name: /generated password/ }).isChecked()).toBe(true)
      await seen("new account")
      await keys.press(users.dialog.getByRole("button", { name: "Create" }))
      const password = await users.dialog.getByRole("status", { name: "Password" }).innerText()
      await seen("password that is shown once")
      await keys.press(users.dialog.getByRole("button", { name: "Copy" }))
      await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(password)
      await keys.press(users.dialog.getByRole("button", { name: "Done" }))

      await keys.press(page.getByRole("button", { name: "reach@shop.example" }))
      await users.detail.getByRole("checkbox").first().waitFor()
      await seen("account of somebody")
      await keys.press(users.button("Ban"))
      const question = page.getByRole("alertdialog")
      await keys.type(question.getByLabel("Reason"), "left")
      await seen("question before a ban")
      await keys.press(question.getByRole("button", { name: "Ban", exact: true }))
      await users.detail.getByText("left", { exact: true }).waitFor()
      await seen("account that is banned", "known")
      await keys.press(users.button("Lift the ban"))
      await users.button("Ban").waitFor()
    }
  },
  {
    name: "somebody forgot their password, or follows an old link",
    options: { role: null, allow: /40[01]/ },
    work: async (visit) => {
      const { keys, page, seen, stage } = visit
      await page.goto(`${stage.url}/-/reset`)
      const email = page.getByLabel("Email")
      await email.waitFor()
      await seen("forgotten password")
      await keys.type(email, kim.email)
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "Check your mail" }).waitFor()
      await seen("link is on its way", "known")
      await page.goto("about:blank")
      await page.goto(`${stage.url}/-/reset#token=${"a".repeat(43)}`)
      const next = page.getByLabel("New password", { exact: true })
      await next.waitFor()
      await seen("new password")
      await refuseShort(visit, next, () => page.keyboard.press("Enter"))
      await keys.type(next, "long enough by now")
      await page.keyboard.press("Enter")
      await page.getByRole("alert").getByText("expired").waitFor()
      await seen("link that has expired", "known")
    }
  },
  {
    name: "a service without an account says what to do",
    options: { role: null, allow: /401/ },
    work: async ({ keys, page, seen, stage }) => {
      await page.route("**/api/auth/status", (route) => route.fulfill({ json: { needsAdmin: true } }))
      await page.goto(stage.url)
      await page.getByText("service users create").waitFor()
      await seen("no account yet")
      await page.unroute("**/api/auth/status")
      await keys.press(page.getByRole("button", { name: "I have done it" }))
      await page.getByLabel("Email").waitFor()
    }
  }
]
