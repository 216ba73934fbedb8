/**
 * Whether the first page shows its content. Counts and recent records around it are read after that: a browser has six connections to a host, and
 * the first rows would wait for one.
 */

import { useSyncExternalStore } from "react"
import { endPlain } from "./plain-rows.ts"

let hasFirstPage = false
const listeners = new Set<() => void>()

const tell = (): void => {
  if (hasFirstPage) return
  hasFirstPage = true
  endPlain()
  for (const listener of listeners) listener()
}

/** The first page is there. May be called again. Whoever waits begins after the next frame, so that the page is drawn before. */
export const firstPageIsThere = (): void => {
  if (!hasFirstPage) requestAnimationFrame(() => setTimeout(tell))
}

/** Longest time to wait for a page that never says so, in milliseconds. */
const longestMs = 1_000

const subscribe = (listener: () => void): () => void => {
  if (!hasFirstPage && listeners.size === 0) setTimeout(tell, longestMs)
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useFirstPage = (): boolean => useSyncExternalStore(subscribe, () => hasFirstPage)
