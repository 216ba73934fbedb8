/** The parts of sources in the sidebar, and the notice at an address of one that has not answered. */

import type { Page } from "playwright-core"

export const sourcesPage = (page: Page, url: string) => {
  const navigation = page.getByRole("navigation", { name: "Navigation" })
  const group = (label: string) => navigation.getByRole("group", { name: label, exact: true })
  return {
    open: (path: string) => page.goto(url + path),
    group,
    entry: (label: string, name: string) => group(label).getByRole("link", { name: new RegExp(`^${name}`) }),
    retry: (label: string) => group(label).getByRole("button", { name: /Try again/ }),
    notice: page.getByRole("main").getByRole("alert"),
    loading: page.getByRole("main").getByRole("status").filter({ hasText: "Loading from" }),
    /** The window has the focus again. */
    focus: () => page.evaluate(() => void window.dispatchEvent(new Event("focus")))
  }
}
