/**
 * What the admin app's list costs in a browser, on a running example shop, beside a page by hand over the same rows of the same API (`reference.html`). Both
 * take turns in one run, so that a busy moment of the machine is in both. It prints a table with the goals and judges nothing: a slow machine gives
 * slow numbers.
 */

import { readFileSync } from "node:fs"
import { loadavg } from "node:os"
import { parseArgs } from "node:util"
import { chromium } from "playwright-core"
import type { CDPSession, Page } from "playwright-core"
import {
  dragThumb,
  during,
  type FirstRows,
  firstRows,
  jump,
  noteFirstRows,
  peek,
  type Peeked,
  scroll,
  scrollIn,
  type Seen,
  swipe,
  turnMonth
} from "./watch.ts"

const usage = `node bench/web/run.ts --password PASSWORD [--url URL] [--email EMAIL]

  --rounds N    rounds in which the pages take turns, default 3
  --slow N      slows the processor N times
  --only NAMES  of first, jump, scroll, drag, touch, peek, groups, board, calendar, gallery, heap; default all but heap
  --screens N   how far heap goes on, default 10,000`

const { values } = parseArgs({
  options: {
    url: { type: "string", default: "http://localhost:5173" },
    email: { type: "string", default: "admin@shop.example" },
    password: { type: "string" },
    rounds: { type: "string", default: "3" },
    slow: { type: "string", default: "1" },
    only: { type: "string", default: "first,jump,scroll,drag,touch,peek,groups,board,calendar,gallery" },
    screens: { type: "string", default: "10000" }
  }
})
if (values.password === undefined) throw new Error(`Give --password, as the example prints it.\n\n${usage}`)
const { email, password, url } = values
const rounds = Number(values.rounds)
const slow = Number(values.slow)
const only = new Set(values.only.split(","))

const quantile = (numbers: readonly number[], share: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.min(numbers.length - 1, Math.floor(numbers.length * share))] ?? Number.NaN

const median = (numbers: readonly number[]): number => quantile(numbers, 0.5)

const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
  // A thumb can be dragged only where there is one.
  ignoreDefaultArgs: ["--hide-scrollbars"]
})

/** The list that the app asks for, and how many rows it has. */
interface Asked {
  readonly list: object
  readonly columns: readonly string[]
  readonly total: number
}

const at = `${url}/bench-reference`
const reference = readFileSync(new URL("reference.html", import.meta.url)).toString("base64")

const sessions = new Map<Page, CDPSession>()

const open = async (byHand: boolean, touch = false): Promise<Page> => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, hasTouch: touch })
  const answer = await context.request.post(`${url}/api/auth/sign-in/email`, {
    data: { email, password },
    headers: { origin: url }
  })
  if (!answer.ok()) throw new Error(`Signing in was refused: ${answer.status()} ${await answer.text()}`)
  const page = await context.newPage()
  await noteFirstRows(page)
  const session = await context.newCDPSession(page)
  if (byHand) {
    // Not by Playwright's routes: with one, the browser keeps no file, and every request of the page waits for this process.
    session.on("Fetch.requestPaused", ({ requestId }) =>
      void session.send("Fetch.fulfillRequest", {
        requestId,
        responseCode: 200,
        responseHeaders: [{ name: "content-type", value: "text/html; charset=utf-8" }],
        body: reference
      }))
    await session.send("Fetch.enable", { patterns: [{ urlPattern: at, resourceType: "Document" }] })
  }
  await session.send("Network.enable")
  await session.send("Emulation.setCPUThrottlingRate", { rate: slow })
  await session.send("Performance.enable", { timeDomain: "threadTicks" })
  sessions.set(page, session)
  return page
}

/** Milliseconds of processor time that the page's main thread has taken so far: unlike frames it does not depend on who else computes. */
const processorOf = async (page: Page): Promise<number> => {
  const { metrics } = await sessions.get(page)!.send("Performance.getMetrics")
  return 1_000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN)
}

/** Reads from the app what the reference is to show. */
const ask = async (page: Page): Promise<Asked> => {
  const sent = page.waitForRequest((request) => request.url().includes("/orders:search"))
  await firstRows(page, `${url}/orders`)
  const list: { readonly fields: readonly string[] } = (await sent).postDataJSON()
  const grid = page.getByRole("grid")
  // The service counts all rows beside its first answers.
  const deadline = performance.now() + 20_000
  let total = 0
  while (performance.now() < deadline && total <= 10_000) {
    total = Number(await grid.getAttribute("aria-rowcount")) - 1
    await page.waitForTimeout(200)
  }
  return { list, total, columns: list.fields.slice(0, 9) }
}

const line = (cells: readonly string[]): void => void process.stdout.write(`| ${cells.join(" | ")} |\n`)

const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`

/** One row of the table: what the app took, the reference, how many times that is, and the goal. */
const tell = (
  name: string,
  app: number,
  reference: number,
  goal: string,
  shown: (value: number) => string = ms
): void => line([name, shown(app), shown(reference), (app / reference).toFixed(2), goal])

/** What was seen, and the processor time that each frame took. */
interface Frames extends Seen {
  readonly processor: number
}

const tellFrames = (name: string, app: readonly Frames[], reference: readonly Frames[], goal: string): void => {
  const all = (seen: readonly Seen[], of: "frames" | "long") => seen.flatMap((each) => each[of])
  const sum = (seen: readonly Seen[], of: "blank" | "samples") => seen.reduce((count, each) => count + each[of], 0)
  tell(`${name}, p95 of frames`, quantile(all(app, "frames"), 0.95), quantile(all(reference, "frames"), 0.95), goal)
  const processor = (seen: readonly Frames[]) => median(seen.map((each) => each.processor))
  tell(`${name}, processor time a frame`, processor(app), processor(reference), "")
  const longest = (seen: readonly Seen[]) => {
    const tasks = all(seen, "long")
    return tasks.length === 0 ? "none" : `${tasks.length}, ${ms(Math.max(...tasks))}`
  }
  line([`${name}, tasks above 50 ms and the longest`, longest(app), longest(reference), "", "none above 100 ms"])
  const blank = (seen: readonly Seen[]) => `${sum(seen, "blank")} of ${sum(seen, "samples")}`
  line([`${name}, looks without a row`, blank(app), blank(reference), "", "0"])
}

/** Both pages in turn, so many times: what each round gave. */
const inTurn = async <A>(pages: readonly [Page, Page], work: (page: Page) => Promise<A>): Promise<[A[], A[]]> => {
  const found: [A[], A[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    for (const which of round % 2 === 0 ? [0, 1] as const : [1, 0] as const) {
      await pages[which].bringToFront()
      found[which].push(await work(pages[which]))
    }
  }
  return found
}

const tellSeen = (name: string, { frames, long }: Seen): void => {
  line([`${name}, p95 of frames`, ms(quantile(frames, 0.95)), "", "", "17 ms"])
  const longest = long.length === 0 ? "none" : `${long.length}, ${ms(Math.max(...long))}`
  line([`${name}, tasks above 50 ms and the longest`, longest, "", "", "none above 100 ms"])
}

/** What a selector finds, scrolled as fast as one reads and as fast as one flings. */
const measureScroll = async (page: Page, name: string, selector: string): Promise<void> => {
  for (const speed of [1_500, 6_000]) {
    tellSeen(`${name} at ${speed} px/s`, await during(page, () => scrollIn(page, selector, speed)))
  }
}

/** A calendar of all rows: other months by keys, and the scroller of one day. The months end before the one of today, which may be half empty. */
const measureCalendar = async (page: Page): Promise<void> => {
  await page.bringToFront()
  const month = new Date(Date.now() - 40 * 86_400_000).toISOString().slice(0, 7)
  await page.goto(`${url}/orders?layout=calendar&by=created_at&at=${month}`)
  await page.locator("[role=gridcell]:not([data-other]) [data-key]").first().waitFor()
  const turns: number[] = []
  const turning = await during(page, async () => {
    for (let run = 0; run < 8 * rounds; run++) turns.push(await turnMonth(page, run % 8 < 4 ? "PageUp" : "PageDown"))
  })
  const p95 = (times: readonly number[]): string => `${ms(median(times))}, ${ms(quantile(times, 0.95))}`
  line(["calendar, another month with its records: median, p95", p95(turns), "", "", ""])
  tellSeen("calendar, another month", turning)
  await page.locator("[role=gridcell]:not([data-other]) button").nth(8).click()
  await page.locator("[data-cards] [data-key]").first().waitFor()
  await measureScroll(page, "calendar, scrolling a day", "[data-cards]")
}

/** A board of all rows: the scroller of its fullest column. */
const measureBoard = async (page: Page): Promise<void> => {
  await page.bringToFront()
  await page.goto(`${url}/orders?layout=board&by=status`)
  await page.locator("[data-column] [data-key]").first().waitFor()
  const fullest = await page.locator("[data-column]").evaluateAll((columns) => {
    const height = (column: Element): number => column.querySelector("[data-cards]")?.scrollHeight ?? 0
    return columns.toSorted((a, b) => height(b) - height(a))[0]?.getAttribute("data-column")
  })
  await measureScroll(page, "board, scrolling a column", `[data-column="${fullest ?? ""}"] [data-cards]`)
}

/** The products with their pictures. */
const measureGallery = async (page: Page): Promise<void> => {
  await page.bringToFront()
  await page.goto(`${url}/products?layout=gallery&by=image`)
  await page.locator("[data-tiles] [data-key]").first().waitFor()
  await measureScroll(page, "gallery, scrolling", "[data-tiles]")
}

/** Screen after screen, and the heap between them. The first screens fill the cache of pages, which is no growth. */
const measureHeap = async (page: Page, total: number): Promise<void> => {
  const session = await page.context().newCDPSession(page)
  const heap = async (): Promise<number> => {
    await page.waitForTimeout(1_000)
    await session.send("HeapProfiler.collectGarbage")
    await session.send("HeapProfiler.collectGarbage")
    const { usedSize } = await session.send("Runtime.getHeapUsage")
    return usedSize / 1e6
  }
  const screens = Number(values.screens)
  const marks = [0, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000].filter((mark) => mark <= screens)
  let begun = Number.NaN
  for (let screen = 0; screen <= screens; screen++) {
    if (marks.includes(screen)) {
      const now = await heap()
      if (screen === 0) begun = now
      line([`heap after ${screen} screens`, `${now.toFixed(1)} MB`, "", `+${(now - begun).toFixed(1)} MB`, "+10 MB"])
    }
    // One in ten is waited for, so that its rows are read; the others are left again at once, as by whoever drags the thumb.
    const row = Math.floor(screen * 0.0373 % 1 * total)
    if (screen % 10 === 0) await jump(page, row, total)
    else {
      await page.evaluate(([to, all]) => {
        const scroller = document.querySelector("[role=grid]")!.parentElement!
        scroller.scrollTop = to / all * (scroller.scrollHeight - scroller.clientHeight)
        return new Promise((done) => requestAnimationFrame(done))
      }, [row, total] as const)
    }
  }
}

try {
  const pages: [Page, Page] = [await open(false), await open(true)]
  const asked = await ask(pages[0])
  const { total } = asked
  const told = { api: "/api", path: "/api/v1/orders", ...asked }
  const addresses = [`${url}/orders`, `${at}#${encodeURIComponent(JSON.stringify(told))}`] as const
  const load = (page: Page) => firstRows(page, addresses[page === pages[0] ? 0 : 1])
  process.stdout.write(
    `${total} rows, ${rounds} rounds, processor slowed ${slow} times, load ${loadavg()[0]!.toFixed(1)}\n\n`
  )
  line(["", "the app", "by hand", "ratio", "goal"])
  line(["---", "---", "---", "---", "---"])

  for (const page of pages) await load(page)
  if (only.has("first")) {
    // As for whoever was here before, and as for whoever comes for the first time: no file is kept then.
    for (
      const [name, cacheDisabled, goal] of [["", false, "at most 1.5 times"], [
        ", nothing cached",
        true,
        "at most 2 times"
      ]] as const
    ) {
      const found = await inTurn(pages, async (page) => {
        await sessions.get(page)!.send("Network.setCacheDisabled", { cacheDisabled })
        const taken: FirstRows[] = []
        for (let run = 0; run < 5; run++) taken.push(await load(page))
        return taken
      })
      const seenIn = (turns: readonly FirstRows[][]): readonly number[] => turns.flat().map(({ seen }) => seen)
      const [app, reference] = [seenIn(found[0]), seenIn(found[1])]
      tell(`first rows${name}, median`, median(app), median(reference), goal)
      tell(`first rows${name}, p95`, quantile(app, 0.95), quantile(reference, 0.95), "")
      const usable = found[0].flat().map((each) => each.usable)
      tell(`first rows that can be used${name}, median`, median(usable), median(reference), "")
    }
    for (const page of pages) await sessions.get(page)!.send("Network.setCacheDisabled", { cacheDisabled: false })
  }
  if (only.has("jump")) {
    for (const [name, from, goal] of [["first", 0.03, "200 ms"], ["second", 0.52, ""]] as const) {
      const found = await inTurn(pages, async (page) => {
        const taken: number[] = []
        for (let run = 0; run < 12; run++) {
          // Elsewhere in each round: what was read before is still there.
          taken.push(await jump(page, Math.floor((from + (run + Math.random()) * 0.037) * total), total))
          await page.waitForTimeout(400)
        }
        return taken
      })
      const [app, reference] = [found[0].flat(), found[1].flat()]
      tell(`jump, ${name} half, median`, median(app), median(reference), "")
      tell(`jump, ${name} half, p95`, quantile(app, 0.95), quantile(reference, 0.95), goal)
    }
  }
  const fromTop = (work: (page: Page) => Promise<unknown>) => async (page: Page) => {
    await jump(page, 0, total)
    const before = await processorOf(page)
    const seen = await during(page, () => work(page))
    return { ...seen, processor: (await processorOf(page) - before) / seen.frames.length }
  }
  if (only.has("scroll")) {
    for (const speed of [1_500, 6_000]) {
      const found = await inTurn(pages, fromTop((page) => scroll(page, speed)))
      tellFrames(`scrolling at ${speed} px/s`, ...found, "17 ms")
    }
  }
  if (only.has("drag")) {
    tellFrames("dragging the thumb", ...await inTurn(pages, fromTop(dragThumb)), slow > 1 ? "50 ms" : "34 ms")
  }
  if (only.has("touch")) {
    const fingers: [Page, Page] = [await open(false, true), await open(true, true)]
    for (const [which, page] of fingers.entries()) await firstRows(page, addresses[which]!)
    const [app, reference] = await inTurn(fingers, async (page) => {
      await jump(page, 0, total)
      await page.waitForTimeout(500)
      return swipe(page, 4)
    })
    const px = (value: number): string => `${value.toFixed(0)} px`
    tell("four swipes of 300 px by touch", median(app), median(reference), "within 10 %", px)
  }
  if (only.has("peek")) {
    const [page] = pages
    await page.bringToFront()
    await firstRows(page, addresses[0])
    // The list takes the focus.
    await page.keyboard.press("j")
    const found: Peeked[] = []
    for (let run = 0; run < 12 * rounds; run++) found.push(await peek(page))
    const [rows, whole] = [found.map((each) => each.row), found.map((each) => each.whole)]
    const p95 = (times: readonly number[]): string => `${ms(median(times))}, ${ms(quantile(times, 0.95))}`
    line(["peek open, from the key to the row's values: median, p95", p95(rows), "", "", "100 ms"])
    line(["peek open, from the key to the whole record: median, p95", p95(whole), "", "", ""])
  }
  if (only.has("groups")) {
    // The same rows in groups, beside the rows by hand, which have none.
    const groups = `${addresses[0]}?group=status`
    const taken: number[] = []
    for (let run = 0; run < 5 * rounds; run++) taken.push((await firstRows(pages[0], groups)).usable)
    line(["first rows in groups: median, p95", `${ms(median(taken))}, ${ms(quantile(taken, 0.95))}`, "", "", ""])
    await load(pages[1])
    for (const speed of [1_500, 6_000]) {
      const found = await inTurn(pages, fromTop((page) => scroll(page, speed)))
      tellFrames(`scrolling groups at ${speed} px/s`, ...found, "17 ms")
    }
    tellFrames(
      "dragging the thumb over groups",
      ...await inTurn(pages, fromTop(dragThumb)),
      slow > 1 ? "50 ms" : "34 ms"
    )
  }
  if (only.has("board")) await measureBoard(pages[0])
  if (only.has("calendar")) await measureCalendar(pages[0])
  if (only.has("gallery")) await measureGallery(pages[0])
  if (only.has("heap")) await measureHeap(pages[0], total)
  process.stdout.write(`\nload at the end ${loadavg()[0]!.toFixed(1)}\n`)
} finally {
  await browser.close()
}
