/** A composed page, and what stands around a list's views. */

import type { Page } from "playwright-core"

export const boardPage = (page: Page, url: string) => ({
  open: async (name: string) => {
    await page.goto(`${url}/${name}`)
    await page.locator("main [role=group]").first().waitFor()
    await page.locator("main [aria-busy=true]").first().waitFor({ state: "detached" })
  },
  block: (label: string) =>
    page.locator("main [class*=block][role=group]").and(page.getByRole("group", { name: label, exact: true })),
  labels: () => page.locator("main [role=group] > h2").allInnerTexts(),
  save: page.getByRole("button", { name: "Save view" }),
  options: page.getByRole("button", { name: "This view" }),
  option: (name: string) => page.getByRole("menuitem", { name }),
  dialog: page.getByRole("dialog"),
  tab: (name: string) => page.getByRole("tab", { name }),
  tabs: () => page.getByRole("tab").allInnerTexts()
})
