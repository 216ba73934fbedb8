/** The app as a whole: addresses that a page goes to without loading the app again. */

import type { Page } from "playwright-core"

/**
 * Goes to a path of the app in which the page already is, as the browser's own buttons do. A load costs three times as much. What was read a moment ago is not read
 * again, and the old page may stand until the new one is there: wait for something of the new one.
 */
export const goWithin = (page: Page, path: string): Promise<void> =>
  page.evaluate((to) => {
    const { at = 0 } = (history.state ?? {}) as { readonly at?: number }
    history.pushState({ at, memory: {} }, "", to)
    dispatchEvent(new PopStateEvent("popstate", { state: history.state as unknown }))
  }, path)
