/** Finds and starts a real Chromium for browser tests. It downloads none: `CHROMIUM_PATH`, else where systems put it. */

import { existsSync } from "node:fs"
import { chromium } from "playwright-core"
import type { Browser } from "playwright-core"

const places = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable"
]

/** Path of a Chromium, or null: browser tests are then skipped and say so. */
export const chromiumPath: string | null = process.env["CHROMIUM_PATH"] ?? places.find((place) => existsSync(place)) ??
  null

export const startChromium = (): Promise<Browser> => {
  if (chromiumPath === null) throw new Error("There is no Chromium here; set CHROMIUM_PATH.")
  return chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox", "--disable-dev-shm-usage"] })
}
