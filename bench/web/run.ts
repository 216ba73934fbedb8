/**
 * What the admin app's list costs in a browser, on a running example shop: `node bench/web/run.ts --url http://localhost:5173 --email … --password …`. It
 * measures the first rows, jumps, frames while scrolling and while the thumb is dragged, long tasks and memory. It judges nothing: a slow machine
 * gives slow numbers.
 */

import { parseArgs } from "node:util"
import { chromium } from "playwright-core"
import type { Page } from "playwright-core"

const { values } = parseArgs({
  options: {
    url: { type: "string", default: "http://localhost:5173" },
    email: { type: "string", default: "admin@shop.example" },
    password: { type: "string" },
    slow: { type: "string", default: "1" },
    screens: { type: "string", default: "500" }
  }
})
if (values.password === undefined) throw new Error("Give --password, as the example prints it.")

const quantile = (numbers: readonly number[], share: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.min(numbers.length - 1, Math.floor(numbers.length * share))] ?? Number.NaN

const shown = (numbers: readonly number[]): string =>
  `p50 ${quantile(numbers, 0.5).toFixed(0)} ms, p95 ${quantile(numbers, 0.95).toFixed(0)} ms (n=${numbers.length})`

/** In the page: frames, long tasks, and whether rows are there at three heights of the list, for as long as `work` runs. */
const inPage = {
  begin: `(() => {
    const seen = { frames: [], blank: 0, samples: 0, long: [], running: true }
    const scroller = document.querySelector("[role=grid]").parentElement
    new PerformanceObserver((list) => seen.long.push(...list.getEntries().map((e) => e.duration))).observe({ entryTypes: ["longtask"] })
    let last = performance.now()
    const frame = (now) => {
      seen.frames.push(now - last); last = now
      const box = scroller.getBoundingClientRect()
      for (const share of [0.2, 0.5, 0.8]) {
        seen.samples++
        const at = document.elementFromPoint(box.left + 60, box.top + 32 + (box.height - 40) * share)
        if (at === null || at.closest("[role=row]") === null) seen.blank++
      }
      if (seen.running) requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
    globalThis.benchSeen = seen
  })()`,
  end: `(() => { benchSeen.running = false; return benchSeen })()`
}

interface Seen {
  readonly frames: readonly number[]
  readonly blank: number
  readonly samples: number
  readonly long: readonly number[]
}

const during = async (page: Page, work: () => Promise<unknown>): Promise<Seen> => {
  await page.evaluate(inPage.begin)
  await work()
  return await page.evaluate(inPage.end) as Seen
}

const tell = (name: string, { blank, frames, long, samples }: Seen): void => {
  const longest = long.length === 0 ? 0 : Math.max(...long)
  process.stdout.write(
    `${name}: frames ${shown(frames.slice(1))}, ${long.length} long tasks (longest ${
      longest.toFixed(0)
    } ms), blank ${blank} of ${samples}\n`
  )
}

const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
  // A thumb can be dragged only where there is one.
  ignoreDefaultArgs: ["--hide-scrollbars"]
})
try {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  await context.request.post(`${values.url}/api/auth/sign-in/email`, {
    data: { email: values.email, password: values.password },
    headers: { origin: values.url }
  })
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await session.send("Emulation.setCPUThrottlingRate", { rate: Number(values.slow) })
  const heap = async (): Promise<number> => {
    await session.send("HeapProfiler.collectGarbage")
    const { metrics } = await session.send("Performance.getMetrics")
    return (metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? 0) / 1e6
  }
  await session.send("Performance.enable")

  const loads: number[] = []
  for (let run = 0; run < 5; run++) {
    const begun = performance.now()
    await page.goto(`${values.url}/orders`)
    await page.locator("[data-index='0']:not([aria-busy])").waitFor()
    loads.push(performance.now() - begun)
  }
  const rows = Number(await page.getByRole("grid").getAttribute("aria-rowcount")) - 1
  process.stdout.write(`${rows} rows\nfirst rows: ${shown(loads)}\n`)
  const before = await heap()

  const jump = (share: number): Promise<number> =>
    page.evaluate(async (to) => {
      const scroller = document.querySelector("[role=grid]")!.parentElement!
      const begun = performance.now()
      scroller.scrollTop = to * (scroller.scrollHeight - scroller.clientHeight)
      for (;;) {
        await new Promise((done) => requestAnimationFrame(done))
        const box = scroller.getBoundingClientRect()
        const row = document.elementFromPoint(box.left + 60, box.top + box.height / 2)?.closest("[role=row]")
        if (row != null && row.getAttribute("aria-busy") === null) return performance.now() - begun
        if (performance.now() - begun > 10_000) throw new Error("No rows came.")
      }
    }, share)
  const near: number[] = []
  const far: number[] = []
  for (let run = 0; run < 16; run++) {
    near.push(await jump(0.03 + (run * 0.029) % 0.47))
    await page.waitForTimeout(400)
    far.push(await jump(0.52 + (run * 0.031) % 0.46))
    await page.waitForTimeout(400)
  }
  process.stdout.write(`jump, first half: ${shown(near)}\njump, second half: ${shown(far)}\n`)

  await jump(0)
  const scroll = (pixels: number): Promise<void> =>
    page.evaluate(async (speed) => {
      const scroller = document.querySelector("[role=grid]")!.parentElement!
      let last = performance.now()
      const end = last + 4_000
      while (last < end) {
        const now = await new Promise<number>((done) => requestAnimationFrame(done))
        scroller.scrollTop += speed * Math.max(0, now - last) / 1000
        last = now
      }
    }, pixels)
  tell("scrolling at 1,500 px/s", await during(page, () => scroll(1_500)))
  tell("scrolling at 6,000 px/s", await during(page, () => scroll(6_000)))

  await jump(0)
  const box = await page.evaluate(() => {
    const { height, right, top } = document.querySelector("[role=grid]")!.parentElement!.getBoundingClientRect()
    return { height, right, top }
  })
  tell(
    "dragging the thumb",
    await during(page, async () => {
      await page.mouse.move(box.right - 6, box.top + 14)
      await page.mouse.down()
      for (let step = 0; step < 120; step++) {
        await page.mouse.move(box.right - 6, box.top + 14 + (box.height - 60) * Math.abs(Math.sin(step / 20)))
        await page.waitForTimeout(25)
      }
      await page.mouse.up()
    })
  )

  const screens = Number(values.screens)
  for (let run = 0; run < screens; run++) {
    await page.evaluate((to) => {
      const scroller = document.querySelector("[role=grid]")!.parentElement!
      scroller.scrollTop = to * (scroller.scrollHeight - scroller.clientHeight)
    }, (run * 0.0373) % 1)
    await page.waitForTimeout(40)
  }
  await page.waitForTimeout(1_000)
  process.stdout.write(`heap: ${before.toFixed(1)} MB, after ${screens} screens ${(await heap()).toFixed(1)} MB\n`)
} finally {
  await browser.close()
}
