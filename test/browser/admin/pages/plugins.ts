/** The list of plugins, their entries in the sidebar, and their actions in the menu of a record. */

import type { Page } from "playwright-core"

export const pluginsPage = (page: Page, url: string) => ({
  open: () => page.goto(`${url}/-/plugins`),
  entry: (name: string) =>
    page.getByRole("navigation", { name: "Navigation" }).getByRole("group", { name: "Plugins" })
      .getByRole("link", { name, exact: true }),
  /** One of the list, by its name or a part of its address. */
  item: (name: string) =>
    page.getByRole("main").getByRole("listitem").filter({ has: page.getByRole("heading", { name: new RegExp(name) }) }),
  action: async (name: string) => {
    await page.locator("header").getByRole("button", { name: "More" }).click()
    await page.getByRole("menuitem", { name, exact: true }).click()
  }
})
