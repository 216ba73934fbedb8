/** The page of accounts. */

import type { Page } from "playwright-core"

export const usersPage = (page: Page, url: string) => {
  const dialog = page.getByRole("dialog").or(page.getByRole("alertdialog"))
  return {
    open: async () => {
      await page.goto(`${url}/-/users`)
      await page.getByRole("table", { name: "Users" }).waitFor()
    },
    row: (email: string) => page.getByRole("row").filter({ hasText: email }),
    openUser: async (email: string) => {
      await page.getByRole("button", { name: email }).first().click()
      await page.getByRole("complementary", { name: email }).waitFor()
    },
    detail: page.getByRole("complementary"),
    dialog,
    button: (name: string) => page.getByRole("complementary").getByRole("button", { name, exact: true }),
    role: (name: string) => page.getByRole("complementary").getByRole("checkbox", { name }),
    /** Makes an account; gives the generated password. */
    create: async (email: string, role: string): Promise<string> => {
      await page.getByRole("button", { name: "New user" }).click()
      await dialog.getByLabel("Email").fill(email)
      await dialog.getByRole("checkbox", { name: role }).check()
      const generated = dialog.getByRole("radio", { name: /generated password/ })
      if (await generated.count() > 0) await generated.check()
      await dialog.getByRole("button", { name: "Create" }).click()
      return dialog.getByRole("status", { name: "Password" }).innerText()
    },
    done: () => dialog.getByRole("button", { name: "Done" }).click(),
    confirm: (name: string) => page.getByRole("alertdialog").getByRole("button", { name, exact: true }).click(),
    toast: (text: string | RegExp) => page.getByRole("status").getByText(text)
  }
}
