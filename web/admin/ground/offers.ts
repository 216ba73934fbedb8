/** The actions that the shown page offers on its record or selection. Pages put them here, and the palette lists them: neither knows the other. */

import { useEffect, useRef, useSyncExternalStore } from "react"
import type { MenuEntry } from "./parts.tsx"

export interface Offer {
  readonly label: string
  readonly onAction: () => void
  readonly disabled?: boolean
}

let offered: ReadonlyMap<object, readonly Offer[]> = new Map()
const listeners = new Set<() => void>()

const put = (next: ReadonlyMap<object, readonly Offer[]>): void => {
  offered = next
  for (const listener of listeners) listener()
}

/** The entries of a menu that are actions: no line, no link. */
const isOffer = (entry: MenuEntry): entry is Offer =>
  entry !== "line" && "onAction" in entry && entry.onAction !== undefined && entry.disabled !== true

/** Offers the entries of a menu while it is rendered. */
export const Offers = ({ entries }: { readonly entries: readonly MenuEntry[] }): null => {
  const latest = useRef(entries)
  const who = useRef({}).current
  useEffect(() => {
    latest.current = entries
  })
  const labelsText = JSON.stringify(entries.filter(isOffer).map(({ label }) => label))
  useEffect(() => {
    const labels: readonly string[] = JSON.parse(labelsText)
    put(
      new Map([
        ...offered,
        [
          who,
          labels.map((label) => ({
            label,
            // The entry is looked up again when it is chosen: its record or selection may be another by then.
            onAction: () => latest.current.filter(isOffer).find((entry) => entry.label === label)?.onAction()
          }))
        ]
      ])
    )
    return () => put(new Map([...offered].filter(([each]) => each !== who)))
  }, [who, labelsText])
  return null
}

const subscribe = (listener: () => void): () => void => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useOffers = (): readonly Offer[] => [...useSyncExternalStore(subscribe, () => offered).values()].flat()
