/** The page of one's own account. */

import type { Page } from "playwright-core"

/** Gives the page's browser a device that makes and confirms passkeys by itself. */
export const giveAuthenticator = async (page: Page): Promise<void> => {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send("WebAuthn.enable")
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true
    }
  })
}

export const accountPage = (page: Page, url: string) => {
  const dialog = page.getByRole("dialog")
  const part = (name: string) => page.getByRole("region", { name, exact: true })
  return {
    open: async () => {
      await page.goto(`${url}/-/account`)
      await page.getByRole("heading", { name: "Your account", level: 1 }).waitFor()
    },
    part,
    dialog,
    press: (where: string, name: string) => part(where).getByRole("button", { name, exact: true }).click(),
    /** Types the password into the dialog and goes on. */
    confirm: async (password: string) => {
      await dialog.getByLabel("Type your password").fill(password)
      await dialog.getByRole("button", { name: "Go on" }).click()
    },
    /** Makes a key; gives its text. */
    makeKey: async (name: string): Promise<string> => {
      await part("API keys").getByRole("button", { name: "New key" }).click()
      await dialog.getByLabel("What it is for").fill(name)
      await dialog.getByRole("button", { name: "Make the key" }).click()
      return dialog.getByRole("status", { name: "API key" }).innerText()
    },
    done: () => dialog.getByRole("button", { name: "Done" }).click(),
    toast: (text: string | RegExp) => page.getByRole("status").getByText(text)
  }
}
