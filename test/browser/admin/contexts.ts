/**
 * Contexts of the browser that many tests use one after the other, so that what the app is made of is fetched and compiled once and not for each test. A test has
 * such a context for itself: its cookies, what pages keep, permissions and the connection are those of a new one. Only the cache stays.
 */

import type { BrowserContext } from "playwright-core"
import { chromiumOfProcess } from "../chromium.ts"

/** What a context cannot change later. `who`: whose browser it is, as people do not share one. */
export interface ContextLook {
  readonly who: string
  readonly language: string
  readonly touch: boolean
}

export interface TakenContext {
  readonly context: BrowserContext
  /** Back to the others. */
  readonly giveBack: () => Promise<void>
  /** It may be in any state: it is closed. */
  readonly discard: () => Promise<void>
}

const free = new Map<string, BrowserContext[]>()

/** `prepare` is for new ones. A `fresh` one was never used and never will be again. */
export const takeContext = async (
  { language, touch, who }: ContextLook,
  fresh: boolean,
  prepare: (context: BrowserContext) => Promise<void>
): Promise<TakenContext> => {
  const key = `${who} ${language} ${touch}`
  const known = fresh ? undefined : free.get(key)?.pop()
  const context = known ??
    await (await chromiumOfProcess()).newContext({ hasTouch: touch, locale: language, reducedMotion: "reduce" })
  if (known === undefined) await prepare(context)
  const discard = () => context.close()
  return {
    context,
    discard,
    giveBack: async () => {
      if (fresh) return discard()
      await context.unrouteAll({ behavior: "ignoreErrors" })
      for (const page of context.pages()) await page.close()
      await context.clearCookies()
      await context.clearPermissions()
      await context.setOffline(false)
      free.set(key, [...free.get(key) ?? [], context])
    }
  }
}
