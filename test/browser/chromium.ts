/** Finds and starts a real Chromium for browser tests. It downloads none: `CHROMIUM_PATH`, else where systems put it. */

import { chromium } from "playwright-core"
import type { Browser } from "playwright-core"
import { findProgram } from "../../scripts/programs.mjs"

/** Path of a Chromium, or null: browser tests are then skipped and say so. */
export const chromiumPath: string | null = findProgram("chromium")

export const startChromium = (): Promise<Browser> => {
  if (chromiumPath === null) throw new Error("There is no Chromium here; set CHROMIUM_PATH.")
  return chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox", "--disable-dev-shm-usage"] })
}
