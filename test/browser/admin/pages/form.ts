/** The page of a public form. */

import type { Page } from "playwright-core"

export const formPage = (page: Page, url: string) => ({
  open: (name: string) => page.goto(`${url}/-/forms/${name}`),
  input: (field: string) => page.locator(`[name="${field}"]`),
  send: () => page.getByRole("button", { name: "Send", exact: true }).click(),
  hints: () => page.locator(".hint:visible").allInnerTexts(),
  refusal: page.getByRole("alert")
})
