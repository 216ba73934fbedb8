/**
 * What is measured inside a page: when the first rows stand there, frames, long tasks, and whether rows are where they should be. It works on every
 * page whose scroller holds an element with the role `grid` or `treegrid`, and whose rows are `aria-busy` until their record is there.
 */

import type { Page } from "playwright-core"

/** What was seen in a page for as long as some work took. */
export interface Seen {
  /** Milliseconds between frames. */
  readonly frames: readonly number[]
  /** Tasks of more than 50 ms. */
  readonly long: readonly number[]
  /** Looks at three heights of the list, one a frame each, and how many of them found no row. */
  readonly samples: number
  readonly blank: number
}

interface Watching {
  frames: number[]
  long: number[]
  samples: number
  blank: number
  running: boolean
}

type Measured = typeof globalThis & {
  benchFirst?: number
  benchUsable?: number
  benchSeen: Watching
  benchRest: Promise<unknown>
  benchPeek: Promise<Peeked>
  benchTurn: Promise<number>
  jump?: (row: number) => void
}

/**
 * Notes when the first rows stand in the page, in milliseconds since its navigation began, and when they can be used: plain rows are seen before the app has them.
 */
export const noteFirstRows = (page: Page): Promise<unknown> =>
  page.addInitScript(() => {
    const look = (): void => {
      const measured = globalThis as Measured
      // A head of a group is no row.
      const row = "[data-index]:not([aria-busy]):not([data-line])"
      const usable = document.querySelector(`${row}[data-index='0'], [data-line] ~ ${row}`) !== null
      if (usable || document.querySelector("[data-plain='0']") !== null) measured.benchFirst ??= performance.now()
      if (usable) measured.benchUsable = performance.now()
      else requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })

/** When the first rows of a page were seen, and when they could be used, in milliseconds. */
export interface FirstRows {
  readonly seen: number
  readonly usable: number
}

/** Loads a page and gives how long its first rows took. */
export const firstRows = async (page: Page, address: string): Promise<FirstRows> => {
  await page.goto("about:blank")
  await page.goto(address)
  const found = await page.waitForFunction(() => {
    const { benchFirst: seen, benchUsable: usable } = globalThis as Measured
    return seen === undefined || usable === undefined ? null : { seen, usable }
  })
  const rows = await found.jsonValue()
  if (rows === null) throw new Error("No rows were noted.")
  return rows
}

export const during = async (page: Page, work: () => Promise<unknown>): Promise<Seen> => {
  await page.evaluate(() => {
    const seen: Watching = { frames: [], long: [], samples: 0, blank: 0, running: true }
    const scroller = document.querySelector("[role=grid], [role=treegrid]")!.parentElement!
    new PerformanceObserver((list) => {
      if (seen.running) seen.long.push(...list.getEntries().map(({ duration }) => duration))
    }).observe({ entryTypes: ["longtask"] })
    const box = scroller.getBoundingClientRect()
    let last = performance.now()
    const frame = (now: number): void => {
      seen.frames.push(now - last)
      last = now
      for (const share of [0.2, 0.5, 0.8]) {
        seen.samples++
        const at = document.elementFromPoint(box.left + 60, box.top + 32 + (box.height - 40) * share)
        if (at === null || at.closest("[role=row]") === null) seen.blank++
      }
      if (seen.running) requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
    ;(globalThis as Measured).benchSeen = seen
  })
  await work()
  return page.evaluate(() => {
    const { benchSeen } = globalThis as Measured
    benchSeen.running = false
    return { ...benchSeen, frames: benchSeen.frames.slice(1) }
  })
}

/** Shows the rows around a row, and gives how long it took until they stood in the middle of the list. `total`: rows in all. */
export const jump = (page: Page, row: number, total: number): Promise<number> =>
  page.evaluate(async ([to, all]) => {
    const scroller = document.querySelector("[role=grid], [role=treegrid]")!.parentElement!
    const begun = performance.now()
    const { jump: own } = globalThis as Measured
    if (own === undefined) scroller.scrollTop = to / all * (scroller.scrollHeight - scroller.clientHeight)
    else own(to)
    for (;;) {
      await new Promise((done) => requestAnimationFrame(done))
      const box = scroller.getBoundingClientRect()
      const line = document.elementFromPoint(box.left + 60, box.top + box.height / 2)?.closest("[role=row]")
      if (line != null && line.getAttribute("aria-busy") === null) return performance.now() - begun
      if (performance.now() - begun > 30_000) throw new Error(`No rows came at ${to} in ${location.pathname}.`)
    }
  }, [row, total] as const)

/** Scrolls from the top for four seconds, at so many pixels a second. */
export const scroll = (page: Page, pixels: number): Promise<void> =>
  page.evaluate(async (speed) => {
    const scroller = document.querySelector("[role=grid], [role=treegrid]")!.parentElement!
    let last = performance.now()
    const end = last + 4_000
    while (last < end) {
      const now = await new Promise<number>((done) => requestAnimationFrame(done))
      scroller.scrollTop += speed * Math.max(0, now - last) / 1000
      last = now
    }
  }, pixels)

/**
 * Drags the thumb up and down with the mouse, for three seconds. Within the first 14 pixels of a plain scrollbar is a button, and no thumb to be dragged.
 */
export const dragThumb = async (page: Page): Promise<void> => {
  const { height, right, top } = await page.evaluate(() => {
    const { height, right, top } = document.querySelector("[role=grid], [role=treegrid]")!.parentElement!
      .getBoundingClientRect()
    return { height, right, top }
  })
  const begin = top + 22
  let farthest = 0
  await page.mouse.move(right - 6, begin)
  await page.mouse.down()
  for (let step = 0; step < 120; step++) {
    await page.mouse.move(right - 6, begin + (height - 60) * Math.abs(Math.sin(step / 20)))
    await page.waitForTimeout(25)
    if (step % 30 !== 29) continue
    const at = await page.evaluate(() =>
      document.querySelector("[role=grid], [role=treegrid]")!.parentElement!.scrollTop
    )
    farthest = Math.max(farthest, at)
  }
  await page.mouse.up()
  if (farthest < 100_000) throw new Error(`The thumb was not dragged: ${page.url().slice(0, 80)} moved ${farthest} px.`)
}

/** Milliseconds from a key until a record stands beside the list as its row has it, and until the whole record does. Both are painted. */
export interface Peeked {
  readonly row: number
  readonly whole: number
}

/** Goes a row down and opens its record beside the list by its key, and closes it again. The list has the focus. */
export const peek = async (page: Page): Promise<Peeked> => {
  await page.keyboard.press("ArrowDown")
  // The key is pressed once the page listens.
  await page.evaluate(() => {
    const seen = new Promise<{ readonly row: number; readonly whole: number }>((done) => {
      const begin = ({ timeStamp }: KeyboardEvent): void => {
        let row = 0
        // A frame that finds something has not painted it: the next one comes after that.
        let found: "nothing" | "row" | "whole" = "nothing"
        const look = (now: number): void => {
          if (found !== "nothing" && row === 0) row = now - timeStamp
          if (found === "whole") return done({ row, whole: now - timeStamp })
          const panel = document.querySelector("[data-peek]")
          if (panel?.querySelector("[data-field]") != null) {
            found = panel.querySelector("[aria-busy=true]") === null ? "whole" : "row"
          }
          requestAnimationFrame(look)
        }
        requestAnimationFrame(look)
      }
      addEventListener("keydown", begin, { once: true, capture: true })
    })
    Object.assign(globalThis, { benchPeek: seen })
  })
  await page.keyboard.press("Space")
  const peeked = await page.evaluate(() => (globalThis as Measured).benchPeek)
  await page.keyboard.press("Escape")
  await page.locator("[data-peek]").waitFor({ state: "detached" })
  return peeked
}

/** Where the list stands, in pixels from its first row. */
const standing = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const scroller = document.querySelector("[role=grid], [role=treegrid]")!.parentElement!
    const { left, top } = scroller.getBoundingClientRect()
    const line = document.elementFromPoint(left + 60, top + 60)!.closest<HTMLElement>("[role=row]")!
    const box = line.getBoundingClientRect()
    return Number(line.dataset["index"]) * box.height + top - box.top
  })

/** Does something that scrolls, and waits until the list has come to rest: the app puts the thumb right after a movement, which is another one. */
const untilRest = async (page: Page, work: () => Promise<unknown>): Promise<void> => {
  await page.evaluate(() => {
    const scroller = document.querySelector("[role=grid], [role=treegrid]")!.parentElement!
    Object.assign(globalThis, {
      benchRest: new Promise((done) => {
        let quiet: ReturnType<typeof setTimeout> | undefined
        const wait = (time: number) => (): void => {
          clearTimeout(quiet)
          quiet = setTimeout(done, time)
        }
        // A movement that is cut off by another one has no end of its own.
        scroller.addEventListener("scroll", wait(2_000))
        scroller.addEventListener("scrollend", wait(300))
      })
    })
  })
  await work()
  await page.evaluate(() => (globalThis as Measured).benchRest.then(() => {}))
}

/** Puts the thumb at a share of its way. */
export const putThumb = (page: Page, share: number): Promise<void> =>
  untilRest(page, () =>
    page.evaluate((to) => {
      const scroller = document.querySelector("[role=grid], [role=treegrid]")!.parentElement!
      scroller.scrollTop = to * (scroller.scrollHeight - scroller.clientHeight)
    }, share))

/**
 * How far so many swipes with a finger move the list, in pixels, with their momentum. Each waits for the one before to end. The finger's times are given,
 * and it waits for no answer: else a slow page would have a slow finger, whose momentum is small.
 */
export const swipe = async (page: Page, times: number): Promise<number> => {
  const session = await page.context().newCDPSession(page)
  const { x, y } = await page.evaluate(() => {
    const { height, left, top } = document.querySelector("[role=grid], [role=treegrid]")!.parentElement!
      .getBoundingClientRect()
    return { x: left + 200, y: top + height * 0.8 }
  })
  const [length, step, pause] = [300, 24, 16]
  const finger = async (): Promise<void> => {
    const begun = Date.now()
    const sent: Promise<unknown>[] = []
    const touch = (type: "touchStart" | "touchMove" | "touchEnd", at: number, moved: number): void => {
      sent.push(session.send("Input.dispatchTouchEvent", {
        type,
        timestamp: (begun + at) / 1_000,
        touchPoints: type === "touchEnd" ? [] : [{ x, y: y - moved }]
      }))
    }
    touch("touchStart", 0, 0)
    for (let moved = step, at = pause; moved <= length; moved += step, at += pause) {
      await new Promise((done) => setTimeout(done, Math.max(0, begun + at - Date.now())))
      touch("touchMove", at, moved)
    }
    touch("touchEnd", pause * (length / step + 1), 0)
    await Promise.all(sent)
  }
  const from = await standing(page)
  for (let turn = 0; turn < times; turn++) await untilRest(page, finger)
  const to = await standing(page)
  await session.detach()
  return to - from
}

/** Milliseconds from a key that leads to another month until its records stand there, painted. The list is a calendar. */
export const turnMonth = async (page: Page, key: "PageUp" | "PageDown"): Promise<number> => {
  await page.evaluate(() => {
    const before = document.querySelector("[role=grid]")?.getAttribute("aria-label")
    const seen = new Promise<number>((done) => {
      addEventListener("keydown", ({ timeStamp }) => {
        let found = false
        const look = (now: number): void => {
          // A frame that finds something has not painted it: the next one comes after that.
          if (found) return done(now - timeStamp)
          const grid = document.querySelector("[role=grid]")
          const days = [...document.querySelectorAll("[role=gridcell]:not([data-other])")]
          found = grid?.getAttribute("aria-label") !== before &&
            days.some((day) => day.querySelector("[data-key]") !== null) &&
            // Of a full month only some days have more than their number.
            days.every((day) => day.querySelector("[data-key], [data-more]") !== null)
          requestAnimationFrame(look)
        }
        requestAnimationFrame(look)
      }, { once: true, capture: true })
    })
    Object.assign(globalThis, { benchTurn: seen })
  })
  await page.keyboard.press(key)
  return page.evaluate(() => (globalThis as Measured).benchTurn)
}

/** Scrolls what a selector finds first for three seconds, at so many pixels a second. */
export const scrollIn = (page: Page, selector: string, pixels: number): Promise<void> =>
  page.evaluate(async ([found, speed]) => {
    const scroller = document.querySelector(found) ?? document.body
    let last = performance.now()
    const end = last + 3_000
    while (last < end) {
      const now = await new Promise<number>((done) => requestAnimationFrame(done))
      scroller.scrollTop += speed * Math.max(0, now - last) / 1000
      last = now
    }
  }, [selector, pixels] as const)
