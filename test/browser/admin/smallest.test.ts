// The smallest project in a real browser: every page that its admin can get to opens without an error, and nobody asks for jobs that there are none of.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ownPages } from "../../../adapters/http/web-app.ts"
import { openDatabase } from "../../support/postgres.ts"
import { smallest, smallestSchema } from "../../support/smallest.ts"
import { chromiumPath } from "../chromium.ts"
import { goWithin } from "./pages/app.ts"
import { opener, type Stage, startStage } from "./stage.ts"

let stage: Stage

beforeAll(async () => {
  if (chromiumPath === null) return
  stage = await startStage({ project: { config: smallest, database: await openDatabase(smallestSchema) } })
})
afterAll(() => stage?.stop())

const using = opener(() => stage, () => [])

/** The answers that are no success. */
const watchFailures = (page: Page): readonly string[] => {
  const failures: string[] = []
  page.on("response", (response) => {
    if (response.status() >= 400) failures.push(`${response.status()} ${response.url()}`)
  })
  return failures
}

const navigation = (page: Page) => page.getByRole("navigation", { name: "Navigation" })

describe.skipIf(chromiumPath === null)("the smallest project", () => {
  it("opens every page of its sidebar, a record, and a new one", async () => {
    await using({}, async (page, sent, quiet) => {
      const failures = watchFailures(page)
      await page.goto(`${stage.url}/`)
      await navigation(page).getByRole("link", { name: "Users" }).waitFor()
      await quiet()
      const entries = await navigation(page).getByRole("link").evaluateAll((links) =>
        links.map((link) => link.getAttribute("href"))
      )
      expect(entries).toEqual(["/notes", "/-/audit", "/-/users"])
      for (const to of [...entries, "/notes/1", "/notes/new"]) {
        await goWithin(page, to!)
        await page.getByRole("main").waitFor()
        await quiet()
        expect(await page.getByRole("heading", { name: /Not found|went wrong/ }).count(), String(to)).toBe(0)
      }
      expect(failures).toEqual([])
      expect(sent.filter((each) => each.includes("/api/jobs"))).toEqual([])
    })
  })

  it("opens every page of the account menu", async () => {
    // The reference needs a token, which a browser cannot send as it navigates: its page comes as the body of a 401.
    await using({ allow: /401/ }, async (page, _, quiet) => {
      const failures = watchFailures(page)
      const menu = async () => {
        await page.goto(`${stage.url}/notes`)
        await page.getByRole("button", { name: /^Your menu/ }).click()
        await page.getByRole("menu").waitFor()
        // Choices of looks and languages stand in groups.
        return page.getByRole("menu").locator("> [role=menuitem]")
      }
      const entries = await (await menu()).evaluateAll((items) =>
        items.map((item) => ({ name: item.textContent.trim(), href: item.getAttribute("href") }))
      )
      expect(entries.map(({ name }) => name)).toEqual(["Your account", "Guides", "API reference", "Sign out"])
      for (const { href, name } of entries.slice(0, -1)) {
        // What is outside of the app opens in a tab of its own.
        if (href === null) await (await menu()).filter({ hasText: name }).click()
        else await page.goto(new URL(href, stage.url).href)
        await page.waitForURL((url) => url.pathname !== "/notes")
        await page.getByRole("heading").first().waitFor()
        await quiet()
      }
      expect(failures).toEqual([`401 ${stage.url}/api/docs`])
    })
  })

  it("has every page of the app at its address: shown, or not found, and never an error", async () => {
    await using({}, async (page, sent, quiet) => {
      const failures = watchFailures(page)
      for (const name of ownPages) {
        await page.goto(`${stage.url}/-/${name}`)
        await page.getByRole("main").waitFor()
        await quiet()
      }
      await page.goto(`${stage.url}/-/jobs`)
      await page.getByRole("heading", { name: "Not found" }).waitFor()
      expect(failures).toEqual([])
      expect(sent.filter((each) => each.includes("/api/jobs"))).toEqual([])
    })
  })
})
