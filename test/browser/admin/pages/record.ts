/** The page of a record, and that of a new one. Fields are named as the API names them. */

import type { Locator, Page } from "playwright-core"

export const recordPage = (page: Page, url: string) => {
  const box = (field: string): Locator => page.locator(`[data-field="${field}"]`)
  return {
    box,
    open: async (resource: string, key: string, query = "") => {
      await page.goto(`${url}/${resource}/${key}${query}`)
      await page.locator("[data-field]").first().waitFor()
    },
    /** Where a field takes input. */
    input: (field: string) => box(field).locator("input:not([type=file]), select, textarea").first(),
    hint: (field: string) => box(field).locator(".hint"),
    title: () => page.locator("header h1").innerText(),
    saveButton: page.getByRole("button", { name: /^(?:Save|Saving)/ }),
    save: () => page.keyboard.press("Control+s"),
    discard: () => page.getByRole("button", { name: "Discard", exact: true }).click(),
    bar: page.locator("[class*=save]").last(),
    toast: (text: string | RegExp) => page.getByRole("status").getByText(text),
    menu: async (name: string) => {
      await page.locator("header").getByRole("button", { name: "More" }).click()
      await page.getByRole("menuitem", { name, exact: true }).click()
    },
    rows: (relation: string) => page.getByRole("region", { name: relation }),
    history: page.locator("aside ol > li"),
    dialog: (name: string | RegExp) => page.getByRole("dialog", { name }),
    alert: (name: string | RegExp) => page.getByRole("alertdialog", { name })
  }
}
