/** The page of webhooks: subscriptions, deliveries, the log. */

import type { Page } from "playwright-core"

export const webhooksPage = (page: Page, url: string) => {
  const dialog = page.getByRole("dialog")
  return {
    open: async (part = "") => {
      await page.goto(`${url}/-/webhooks${part}`)
      await page.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor()
    },
    row: (text: string) => page.getByRole("row").filter({ hasText: text }),
    openRow: async (name: string) => {
      await page.getByRole("button", { name, exact: true }).first().click()
      await page.getByRole("complementary", { name }).waitFor()
    },
    detail: page.getByRole("complementary"),
    button: (name: string) => page.getByRole("complementary").getByRole("button", { name, exact: true }),
    dialog,
    fill: async (values: { readonly name?: string; readonly url?: string; readonly events?: readonly string[] }) => {
      if (values.name !== undefined) await dialog.getByLabel("Name").fill(values.name)
      if (values.url !== undefined) await dialog.getByLabel("URL").fill(values.url)
      for (const event of values.events ?? []) await dialog.getByRole("checkbox", { name: event, exact: true }).check()
    },
    save: () => dialog.getByRole("button", { name: "Save" }).click(),
    confirm: (name: string) => page.getByRole("alertdialog").getByRole("button", { name, exact: true }).click(),
    toast: (text: string | RegExp) => page.getByRole("status").getByText(text)
  }
}
