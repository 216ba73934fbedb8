/** The list of a resource. Rows are numbered from 0, columns by their place; -1 is the tick. */

import type { Locator, Page } from "playwright-core"

export const listPage = (page: Page, url: string) => {
  const cell = (row: number, column: number): Locator => page.locator(`[data-index="${row}"] [data-column="${column}"]`)
  const grid = page.getByRole("grid")
  return {
    grid,
    cell,
    open: async (resource: string, query = "") => {
      await page.goto(`${url}/${resource}${query}`)
      await page.locator("[data-index='0']:not([aria-busy])").waitFor()
    },
    row: (row: number) => page.locator(`[data-index="${row}"]`),
    /** The texts of a column's first cells. */
    texts: (column: number, count: number) =>
      Promise.all(Array.from({ length: count }, (_, row) => cell(row, column).innerText())),
    header: (name: string) => page.getByRole("columnheader", { name: new RegExp(`^${name}`) }),
    tick: (row: number) => cell(row, -1).click(),
    tab: (name: string) => page.getByRole("tab", { name }),
    chips: () =>
      page.getByRole("region", { name: "Filter" }).locator("[class*=chip] button:first-child").allInnerTexts(),
    query: () => new URL(page.url()).searchParams,
    rows: async () => Number(await grid.getAttribute("aria-rowcount")) - 1,
    toast: (text: string | RegExp) => page.getByRole("status").getByText(text),
    menu: async (name: string) => {
      await page.locator("header").getByRole("button", { name: "More" }).click()
      await page.getByRole("menuitem", { name }).click()
    }
  }
}
