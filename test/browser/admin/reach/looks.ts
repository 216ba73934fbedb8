/**
 * What every page is held to in every look: light, dark, right to left, 320 px wide, and at 400 % zoom of a window of 1280 by 1024 pixels. A page changes its
 * look while it is open, so that also what only a dialog or an error shows is looked at. A quick run asks axe in one look of each state, and these take turns; of
 * a state that is made of parts of others it asks the shape.
 */

import type { Page } from "playwright-core"
import { expect } from "vitest"
import { deep } from "../../../support/depth.ts"
import { axe } from "../stage.ts"

interface Look {
  readonly name: string
  readonly width: number
  readonly height: number
  readonly theme?: "dark"
  readonly language?: "ar"
}

const usual: Look = { name: "light", width: 1280, height: 800 }
const narrow: Look = { name: "320 px", width: 320, height: 640 }
const looks: readonly Look[] = [
  usual,
  { ...usual, name: "dark", theme: "dark" },
  { ...usual, name: "right to left", language: "ar" },
  narrow,
  { name: "400 % zoom", width: 320, height: 256 }
]

/** The app's settings in the browser's storage. Pages follow what another tab writes there. */
const settings = "admin:preferences"

/** Changes what differs from the look before. Each such change costs more than asking the page about it. */
const put = async (page: Page, before: Look, { height, language, theme, width }: Look): Promise<void> => {
  const size = page.viewportSize()
  if (size?.width !== width || size.height !== height) await page.setViewportSize({ width, height })
  if (theme !== before.theme) await page.emulateMedia({ colorScheme: theme ?? "light" })
  // Pages of development have the language that they are written in.
  if (page.url().includes("/-/mail")) return
  if (language !== before.language) {
    await page.evaluate(([key, language]) => {
      const kept = JSON.parse(localStorage.getItem(key) ?? "{}") as object
      localStorage.setItem(key, JSON.stringify({ ...kept, language }))
      dispatchEvent(new StorageEvent("storage", { key }))
    }, [settings, language ?? "auto"] as const)
    await page.waitForFunction((direction) => document.documentElement.dir === direction, language ? "rtl" : "ltr")
  }
  // What depends on the width is drawn anew. A window that becomes lower may be one with a keyboard on its screen: dialogs are hidden until it stands.
  await page.evaluate(() =>
    new Promise<void>((done) => {
      const look = (): void => {
        const dialogs = [...document.querySelectorAll<HTMLElement>("[data-rac]")]
        if (dialogs.every(({ style }) => style.opacity !== "0")) done()
        else requestAnimationFrame(look)
      }
      requestAnimationFrame(() => requestAnimationFrame(look))
    })
  )
}

/** What is wrong with the page as it is drawn, as texts: what scrolls sideways, is cut off, or cannot be seen while it has the focus. */
const faultsOf = (): readonly string[] => {
  const found: string[] = []
  const nameOf = (element: Element): string => {
    const name = element.getAttribute("aria-label") ?? element.textContent
    return `${element.tagName.toLowerCase()}.${element.className} “${name.trim().slice(0, 40)}”`
  }
  const root = document.documentElement
  if (root.scrollWidth > innerWidth) found.push(`the page is ${root.scrollWidth} px wide`)
  if (root.scrollHeight > innerHeight && getComputedStyle(document.body).overflowY === "hidden") {
    found.push(`the page is ${root.scrollHeight} px high, and does not scroll`)
  }

  // Tables and code may be wider than the window, in a box of their own. A strip of tabs is one line.
  for (const element of document.querySelectorAll("body *")) {
    if (element.scrollWidth <= element.clientWidth + 1 || element.clientWidth === 0) continue
    const scrolls = /auto|scroll/.test(getComputedStyle(element).overflowX)
    const holds = element.matches("pre, textarea, input, select") ||
      element.querySelector(":scope > :is(table, [role=grid])") !== null
    if (scrolls && !holds && element.clientHeight > 60) found.push(`${nameOf(element)} scrolls sideways`)
    if (
      !scrolls && !holds &&
      element.matches("main, aside, form, footer, header, [role=dialog], [role=alertdialog], [role=dialog] *")
    ) {
      const { overflowX, textOverflow } = getComputedStyle(element)
      if (overflowX !== "visible" && textOverflow !== "ellipsis" && !element.matches(".hush, :has(> input)")) {
        found.push(`${nameOf(element)} cuts off what it holds`)
      }
    }
  }

  /** The part of the window in which an element is not cut off by the boxes around it. */
  const roomOf = (element: Element) => {
    const room = { left: 0, top: 0, right: innerWidth, bottom: innerHeight }
    let { position } = getComputedStyle(element)
    for (let around = element.parentElement; around !== null && position !== "fixed"; around = around.parentElement) {
      const style = getComputedStyle(around)
      if (position === "absolute" && style.position === "static") continue
      position = style.position
      if (style.overflowX === "visible" || around === document.body) continue
      const box = around.getBoundingClientRect()
      room.left = Math.max(room.left, box.left)
      room.top = Math.max(room.top, box.top)
      room.right = Math.min(room.right, box.right)
      room.bottom = Math.min(room.bottom, box.bottom)
    }
    return room
  }
  const reached = document.querySelectorAll<HTMLElement>(
    "a[href], button, input, select, textarea, [tabindex], [contenteditable]"
  )
  for (const element of reached) {
    if (
      element.tabIndex < 0 || element.matches(":disabled") || element.closest("[inert], [aria-hidden=true]") !== null
    ) continue
    if (!element.checkVisibility({ visibilityProperty: true })) continue
    // What has the focus already is not brought into sight by it once more.
    if (document.activeElement === element) element.scrollIntoView({ block: "nearest", inline: "nearest" })
    element.focus()
    // A dialog keeps the focus.
    if (document.activeElement !== element) continue
    const whole = element.getBoundingClientRect()
    const room = roomOf(element)
    const left = Math.max(whole.left, room.left)
    const top = Math.max(whole.top, room.top)
    const shown = {
      left,
      top,
      width: Math.min(whole.right, room.right) - left,
      height: Math.min(whole.bottom, room.bottom) - top
    }
    const wanted = Math.min(whole.height, 24)
    if (shown.width < Math.min(whole.width, innerWidth) - 2 || shown.height < wanted - 2) {
      found.push(
        `${nameOf(element)} is cut off while it has the focus: ${Math.round(shown.width)} x ${
          Math.round(shown.height)
        } of ${Math.round(whole.width)} x ${Math.round(whole.height)} px are shown`
      )
      continue
    }
    const points = [[0.5, 0.5], [0.1, 0.5], [0.9, 0.5], [0.5, 0.1], [0.5, 0.9]] as const
    const over = points.map(([x, y]) =>
      document.elementFromPoint(shown.left + shown.width * x, shown.top + shown.height * y)
    )
    // A message stands above the page for a moment.
    if (
      !over.some((each) =>
        each !== null && (element.contains(each) || each.contains(element) || each.closest("[aria-live]") !== null)
      )
    ) {
      found.push(
        `${nameOf(element)} is behind ${over[0] === null ? "nothing" : nameOf(over[0]!)} while it has the focus`
      )
    }
    // The caret shows where one types. Everything else needs a ring, of its own or of the box around an input, with at least one side to be seen.
    const rings = [element, element.parentElement!].some((each) => {
      const { boxShadow, outlineOffset, outlineStyle } = getComputedStyle(each)
      if (boxShadow !== "none") return true
      if (outlineStyle === "none") return false
      const box = each.getBoundingClientRect()
      const around = each === element ? room : roomOf(each)
      const out = parseFloat(outlineOffset) + 1
      return box.left - out >= around.left || box.right + out <= around.right || box.top - out >= around.top ||
        box.bottom + out <= around.bottom
    })
    const typed = element.matches("input:not([type=checkbox], [type=radio]), textarea, [contenteditable]")
    if (element.matches(":focus-visible") && !rings && !typed) {
      found.push(`${nameOf(element)} does not show that it has the focus`)
    }
    // The focus also scrolls what nobody can scroll by hand.
    for (let around = element.parentElement; around !== null; around = around.parentElement) {
      if (around.scrollTop !== 0 && getComputedStyle(around).overflowY === "hidden") {
        found.push(`${nameOf(element)} is reached by the focus only: what is around it does not scroll`)
        around.scrollTop = 0
      }
    }
  }
  return found
}

/** Which looks a state is looked at in, unless the run is deep. A number: in the look of that turn only. `known`: other states have all its parts. */
export type Turn = number | "known"

/** What axe and the geometry of each look are asked. */
const questionsOf = (
  turn: Turn
): ReadonlyArray<readonly [look: Look, rules: "all" | "contrast" | "none", shape: boolean]> => {
  // A theme changes colours and nothing else.
  if (deep) return looks.map((look) => look.theme === undefined ? [look, "all", true] : [look, "contrast", false])
  if (turn === "known") return [[narrow, "none", true]]
  const look = looks[turn % looks.length]!
  // What is cut off or scrolls sideways mostly is so in a narrow window alone. Without axe that costs little.
  return [[look, "all", look.theme === undefined], ...look === narrow ? [] : [[narrow, "none", true] as const]]
}

/** Fails for what is wrong with the page in the looks of its turn. The page is then as it was before, with the focus where it was. */
export const seen = async (page: Page, state: string, turn: Turn): Promise<void> => {
  const focused = await page.evaluateHandle(() => document.activeElement as HTMLElement | null)
  const found: string[] = []
  let before = usual
  for (const [look, rules, shape] of questionsOf(turn)) {
    await put(page, before, look)
    before = look
    // Where somebody looks at the pages after a run. Not kept.
    const folder = process.env["PICTURES"]
    if (folder !== undefined) await page.screenshot({ path: `${folder}/${state}, ${look.name}.png` })
    const faults = [
      ...rules === "none" ? [] : await axe(page, rules === "all" ? undefined : ["color-contrast"]),
      ...shape ? await page.evaluate(faultsOf) : []
    ]
    found.push(...faults.map((fault) => `${look.name}: ${fault}`))
  }
  await put(page, before, usual)
  await focused.evaluate((element) => element?.focus({ preventScroll: true }))
  expect(found, state).toEqual([])
}
