/**
 * Pages of the browser that many tests use one after the other, each in a context of its own, so that what the app is made of is fetched and compiled once and
 * not for each test, and a test waits for no new process. A test has such a page for itself: its cookies, what it keeps, permissions and the connection are
 * those of a new one. Only the cache and the way back stay.
 */

import type { BrowserContext, Page } from "playwright-core"
import { chromiumOfProcess } from "../chromium.ts"

/** What a page cannot change later. `who`: whose browser it is, as people do not share one. */
export interface PageLook {
  readonly who: string
  readonly language: string
  readonly touch: boolean
}

export interface TakenPage {
  readonly context: BrowserContext
  readonly page: Page
  /** Back to the others. */
  readonly giveBack: () => Promise<void>
  /** It may be in any state: its context is closed. */
  readonly discard: () => Promise<void>
}

const free = new Map<string, Page[]>()

/** `prepare` is for the context of a new one. A `fresh` one was never used and never will be again. */
export const takePage = async (
  { language, touch, who }: PageLook,
  fresh: boolean,
  prepare: (context: BrowserContext) => Promise<void>
): Promise<TakenPage> => {
  const key = `${who} ${language} ${touch}`
  const known = fresh ? undefined : free.get(key)?.pop()
  const context = known?.context() ??
    await (await chromiumOfProcess()).newContext({
      hasTouch: touch,
      locale: language,
      reducedMotion: "reduce",
      viewport: { width: 1280, height: 800 }
    })
  if (known === undefined) await prepare(context)
  const page = known ?? await context.newPage()
  const discard = () => context.close()
  return {
    context,
    page,
    discard,
    giveBack: async () => {
      if (fresh || page.isClosed() || !page.url().startsWith("http")) return discard()
      page.removeAllListeners()
      await context.unrouteAll({ behavior: "ignoreErrors" })
      for (const other of context.pages()) if (other !== page) await other.close()
      await context.setOffline(false)
      // Without the app, nothing writes there any more. On its origin, the page keeps its process.
      await page.goto(`${new URL(page.url()).origin}/livez`)
      await page.evaluate(() => {
        localStorage.clear()
        sessionStorage.clear()
      })
      await context.clearCookies()
      await context.clearPermissions()
      free.set(key, [...free.get(key) ?? [], page])
    }
  }
}
