/** How much room the window has. On a narrow one lists are cards, and side panels are sheets. The styles use the same widths. */

import { useSyncExternalStore } from "react"

/** A hook that says whether the window fits a query. */
const mediaHook = (query: string): () => boolean => {
  const media = matchMedia(query)
  const subscribe = (listener: () => void): () => void => {
    media.addEventListener("change", listener)
    return () => media.removeEventListener("change", listener)
  }
  return () => useSyncExternalStore(subscribe, () => media.matches)
}

/** Whether the screen is narrow. */
export const useNarrow = mediaHook("(max-width: 720px)")

/** Whether a panel has room beside a list. */
export const useRoomBeside = mediaHook("(min-width: 900px)")
