/** Whether the screen is narrow. Lists are cards then, and side panels are sheets. The styles use the same width. */

import { useSyncExternalStore } from "react"

const media = matchMedia("(max-width: 720px)")

const subscribe = (listener: () => void): () => void => {
  media.addEventListener("change", listener)
  return () => media.removeEventListener("change", listener)
}

export const useNarrow = (): boolean => useSyncExternalStore(subscribe, () => media.matches)
