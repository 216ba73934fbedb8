/** Whether the screen is narrow: lists are cards then, and side panels are sheets. The same width as in the styles. */

import { useSyncExternalStore } from "react"

const media = matchMedia("(max-width: 720px)")

const subscribe = (listener: () => void): () => void => {
  media.addEventListener("change", listener)
  return () => media.removeEventListener("change", listener)
}

export const useNarrow = (): boolean => useSyncExternalStore(subscribe, () => media.matches)
