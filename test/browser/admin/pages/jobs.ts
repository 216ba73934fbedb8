/** The page of jobs: failed ones, queues, schedules. */

import type { Page } from "playwright-core"

export const jobsPage = (page: Page, url: string) => ({
  open: async (part = "") => {
    await page.goto(`${url}/-/jobs${part}`)
    await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor()
  },
  tab: (name: string) => page.getByRole("navigation", { name: "Jobs" }).getByRole("link", { name }).click(),
  table: (name: string) => page.getByRole("table", { name }),
  /** The row of the first job of a name. */
  row: (name: string) => page.getByRole("row").filter({ hasText: name }).first(),
  openJob: async (name: string) => {
    await page.getByRole("button", { name, exact: true }).first().click()
    await page.getByRole("complementary", { name }).waitFor()
  },
  search: async (text: string) => {
    await page.getByRole("searchbox", { name: "Search jobs" }).fill(text)
    await page.keyboard.press("Enter")
  },
  /** The box of a job of a name, by its place among those. */
  choose: (name: string, index: number) =>
    page.getByRole("row").filter({ hasText: name }).nth(index).getByRole("checkbox").check(),
  detail: page.getByRole("complementary"),
  error: page.getByLabel("Last error"),
  payload: page.getByLabel("Payload"),
  button: (name: string) => page.getByRole("button", { name, exact: true }),
  confirm: async () => {
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click()
    await page.getByRole("alertdialog").waitFor({ state: "detached" })
  },
  toast: (text: string | RegExp) => page.getByRole("status").getByText(text),
  count: page.getByRole("navigation", { name: "Navigation" }).getByRole("link", { name: /Jobs/ })
})
