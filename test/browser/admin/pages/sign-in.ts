/** The sign-in page. */

import type { Page } from "playwright-core"

export const signInPage = (page: Page, url: string) => ({
  open: () => page.goto(url),
  submit: async (email: string, password: string) => {
    await page.getByLabel("Email").fill(email)
    await page.getByLabel("Password", { exact: true }).fill(password)
    await page.getByRole("button", { name: "Sign in", exact: true }).click()
  },
  problem: () => page.getByRole("alert"),
  email: () => page.getByLabel("Email")
})
