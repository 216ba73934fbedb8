/** The user's settings in this browser: theme, density, language, start page, the sidebar, the width of the panel, what is folded. They are kept in local storage and shared by all tabs. */

import { useSyncExternalStore } from "react"
import { prefix } from "../config.ts"

export interface Preferences {
  readonly theme: "system" | "light" | "dark"
  readonly density: "normal" | "comfortable" | "compact"
  /** A language tag, or `auto` for the browser's language. */
  readonly language: string
  /** The address that `/` leads to. Empty: the first entry of the sidebar. */
  readonly start: string
  readonly sidebar: "open" | "closed"
  /** The width of the panel beside lists, in pixels. */
  readonly peek: number
  /** What is not as it is at first, folded or open: groups of the sidebar, charts of lists (`chart:orders`). */
  readonly toggled: readonly string[]
}

const usual: Preferences = {
  theme: "system",
  density: "normal",
  language: "auto",
  start: "",
  sidebar: "open",
  peek: 520,
  toggled: []
}
const key = `admin${prefix}:preferences`

const read = (): Preferences => {
  try {
    const kept: Partial<Preferences> = JSON.parse(localStorage.getItem(key) ?? "{}")
    return { ...usual, ...kept }
  } catch {
    // Without storage, or with invalid data in it, the defaults apply.
    return usual
  }
}

let current = read()
const listeners = new Set<() => void>()

const apply = (): void => {
  const { dataset } = document.documentElement
  if (current.theme === "system") delete dataset["theme"]
  else dataset["theme"] = current.theme
  dataset["density"] = current.density
}
apply()

const changed = (): void => {
  apply()
  for (const listener of listeners) listener()
}

addEventListener("storage", (event) => {
  if (event.key !== key) return
  current = read()
  changed()
})

export const currentPreferences = (): Preferences => current

export const setPreferences = (values: Partial<Preferences>): void => {
  current = { ...current, ...values }
  try {
    localStorage.setItem(key, JSON.stringify(current))
  } catch {
    // Without storage, the choice lasts until the page is closed.
  }
  changed()
}

/** Whether something is not as it is at first, and the function that changes that. */
export const useToggle = (id: string): readonly [toggled: boolean, toggle: () => void] => {
  const { toggled } = usePreferences()
  const is = toggled.includes(id)
  return [is, () => setPreferences({ toggled: is ? toggled.filter((each) => each !== id) : [...toggled, id] })]
}

const subscribe = (listener: () => void): () => void => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const usePreferences = (): Preferences => useSyncExternalStore(subscribe, currentPreferences)
