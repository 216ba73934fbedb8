/** The hands of somebody who has a keyboard and nothing else. What the Tab key does not reach within a page's length counts as not there. */

import type { Locator, Page } from "playwright-core"

/** The most presses of one key on the way to an element: more than any page of these tests has stops. */
const most = 150

export const keyboard = (page: Page) => {
  const isAt = (target: Locator): Promise<boolean> => target.evaluate((element) => element === document.activeElement)
  /** Presses a key until the target has the focus. To look for it after each press would cost more than the press. */
  const go = async (target: Locator, key = "Tab"): Promise<void> => {
    let found = await target.elementHandle()
    // To ask for its role once more, as waiting does, costs more than a press.
    if (!await found!.evaluate((element) => element.isConnected && element.checkVisibility())) {
      await target.waitFor()
      found = await target.elementHandle()
    }
    for (let pressed = 0; pressed < most; pressed++) {
      const [at, there] = await found!.evaluate((element) => [element === document.activeElement, element.isConnected])
      if (at) return
      // The page may draw another element in its place.
      if (!there || pressed % 10 === 9) {
        found = await target.elementHandle()
        if (await found!.evaluate((element) => element === document.activeElement)) return
      }
      await page.keyboard.press(key)
    }
    throw new Error(`${key} does not lead to ${String(target)}.`)
  }
  return {
    isAt,
    go,
    press: async (target: Locator, key = "Enter"): Promise<void> => {
      await go(target)
      await page.keyboard.press(key)
    },
    /** Types a text in place of what stands there. */
    type: async (target: Locator, text: string): Promise<void> => {
      await go(target)
      await page.keyboard.press("Control+a")
      await page.keyboard.type(text)
    },
    /** Chooses an entry of the menu that is open. */
    choose: async (name: string): Promise<void> => {
      await go(page.getByRole("menuitem", { name, exact: true }), "ArrowDown")
      await page.keyboard.press("Enter")
    },
    /** Goes from the start of a page to what it is about, past the sidebar. */
    skip: async (): Promise<void> => {
      await page.keyboard.press("Tab")
      await go(page.getByRole("link", { name: "Skip to content" }))
      await page.keyboard.press("Enter")
      if (!await isAt(page.getByRole("main"))) throw new Error("The way past the sidebar leads elsewhere.")
      if (page.url().includes("#")) throw new Error(`It changes the address to ${page.url()}.`)
    }
  }
}
