/**
 * Finds and starts a real Chromium for browser tests: one for all files of a process. It downloads none: `CHROMIUM_PATH`, else where systems put it.
 */

import { chromium } from "playwright-core"
import type { Browser } from "playwright-core"
import { findProgram } from "../../scripts/programs.mjs"

/** Path of a Chromium, or null: browser tests are then skipped and say so. */
export const chromiumPath: string | null = findProgram("chromium")

/**
 * Parts of Chromium that tests have nothing of. The popups of its address bar are pages of their own, in a process of their own, for each window: they cost more
 * than opening the window itself. The other names are those that Playwright turns off, as the last such switch counts alone.
 */
const unused = [
  "PreloadTopChromeWebUI",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxPopup",
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "TcpPortRandomizationWin",
  "ThirdPartyStoragePartitioning"
]

/** A Chromium of the caller's own, who closes it. */
export const startChromium = (): Promise<Browser> => {
  if (chromiumPath === null) throw new Error("There is no Chromium here; set CHROMIUM_PATH.")
  return chromium.launch({
    executablePath: chromiumPath,
    args: ["--no-sandbox", "--disable-dev-shm-usage", `--disable-features=${unused.join(",")}`]
  })
}

let started: Promise<Browser> | undefined

/**
 * The Chromium of this process, started when the first file asks for it. It ends with the process: Playwright ends it on exit and on signals, and when the
 * process is killed, Chromium notices the end of the pipe between them.
 */
export const chromiumOfProcess = (): Promise<Browser> => started ??= startChromium()
