/** Which overlay is open: the palette, the shortcuts, or the question before signing out. Pages open an overlay without importing it. */

import { useSyncExternalStore } from "react"

export type Overlay = "palette" | "shortcuts" | "sign-out" | null

let overlay: Overlay = null
const listeners = new Set<() => void>()

export const openOverlay = (next: Overlay): void => {
  overlay = next
  for (const listener of listeners) listener()
}

export const openShortcuts = (): void => openOverlay("shortcuts")
export const openPalette = (): void => openOverlay("palette")

const subscribe = (listener: () => void): () => void => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useOverlay = (): Overlay => useSyncExternalStore(subscribe, () => overlay)
