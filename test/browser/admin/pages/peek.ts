/** The panel beside a list. Fields are named as the API names them. */

import type { Locator, Page } from "playwright-core"

export const peekPage = (page: Page) => {
  const panel = page.locator("[data-peek]").getByRole("complementary")
  return {
    panel,
    title: () => panel.getByRole("heading", { level: 2 }).first().innerText(),
    box: (field: string): Locator => panel.locator(`[data-field="${field}"]`),
    button: (name: string) => panel.locator("header").getByRole("button", { name, exact: true }),
    /** Waits until the whole record is there. */
    whole: async () => {
      await panel.locator("[data-field]").first().waitFor()
      await panel.locator("[aria-busy=true]").first().waitFor({ state: "detached" })
    },
    closed: () => panel.waitFor({ state: "detached" }),
    /** The rows that are marked as the ones beside. */
    marked: () =>
      page.evaluate(() =>
        Array.from(
          document.querySelectorAll("[data-index][aria-current=true]"),
          (row) => row.getAttribute("data-index")
        )
      )
  }
}
