/**
 * The rows that stand in the page before the app does (`first/plain.ts`): whether they may be drawn at all, and how they end. For whoever was not signed in here
 * they are not loaded. Nothing of a person is kept but that somebody was signed in.
 */

import { prefix } from "../config.ts"

const key = `admin${prefix}:in`

/** Whether somebody was signed in when this browser had the app last. */
export const wasIn = (): boolean => {
  try {
    return localStorage.getItem(key) !== null
  } catch {
    return false
  }
}

export const keepIn = (isIn: boolean): void => {
  try {
    if (isIn) localStorage.setItem(key, "")
    else localStorage.removeItem(key)
  } catch {
    // Without storage the app draws its first rows itself.
  }
}

let plain: HTMLElement | null = null

/** Whether the app shows its first page. Plain rows would come too late then. */
let isOver = false

/** Puts the rows into the page. */
export const showPlain = (page: HTMLElement): void => {
  if (isOver) return
  plain = page
  document.body.prepend(page)
}

/** The app shows its own page, and the plain rows go. Its list goes on where they were scrolled to. */
export const endPlain = (): void => {
  isOver = true
  const top = plain?.querySelector("[data-scroller]")?.scrollTop ?? 0
  plain?.remove()
  plain = null
  const scroller = document.querySelector("[role=grid]")?.parentElement
  if (top > 0 && scroller != null) scroller.scrollTop = top
}
