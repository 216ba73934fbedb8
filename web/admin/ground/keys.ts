/**
 * Keyboard shortcuts of the current page. A single letter works outside of inputs only. `G` waits a moment for a second letter. Handlers that were added
 * last run first, so that a dialog's keys take precedence over those of the page.
 */

import { useEffect, useEffectEvent } from "react"

/** A combination such as `mod+k`, `n`, `?` or `g o`. `mod` is Ctrl, and Cmd on a Mac. */
export type Combination = string

interface Bound {
  readonly combination: Combination
  readonly run: (event: KeyboardEvent) => void | false
}

const bound: Bound[] = []
let lead: { readonly key: string; readonly at: number } | null = null
/** Milliseconds that the second letter of a sequence may take. */
const sequenceMs = 1_500

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent)

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
  !(target instanceof HTMLInputElement && /^(?:checkbox|radio|button|submit)$/.test(target.type))

const pressed = (event: KeyboardEvent): Combination => {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
  const mod = event.ctrlKey || event.metaKey ? "mod+" : ""
  const shift = event.shiftKey && (event.key.length > 1 || mod !== "") ? "shift+" : ""
  return `${mod}${event.altKey ? "alt+" : ""}${shift}${key}`
}

const isInDialog = (): boolean =>
  document.querySelector("[role=dialog][data-rac], [role=alertdialog][data-rac], .scrim") !== null

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return
  const combination = pressed(event)
  const typing = isField(event.target)
  if (typing && !combination.startsWith("mod+") && combination !== "Escape") return
  const sequence = lead !== null && event.timeStamp - lead.at < sequenceMs ? `${lead.key} ${combination}` : null
  lead = null
  for (const wanted of sequence === null ? [combination] : [sequence, combination]) {
    for (const { combination: each, run } of bound.toReversed()) {
      if (each !== wanted) continue
      // The page below an open dialog must not react.
      if (isInDialog() && wanted !== "mod+k") continue
      if (run(event) === false) continue
      event.preventDefault()
      return
    }
  }
  if (!typing && bound.some((each) => each.combination.startsWith(`${combination} `))) {
    lead = { key: combination, at: event.timeStamp }
  }
})

/** Binds a shortcut while the component is mounted. If the handler returns false, the next handler gets the key. */
export const useShortcut = (
  combination: Combination,
  run: (event: KeyboardEvent) => void | false,
  active = true
): void => {
  const latest = useEffectEvent(run)
  useEffect(() => {
    if (!active) return
    const entry: Bound = { combination, run: (event) => latest(event) }
    bound.push(entry)
    return () => void bound.splice(bound.indexOf(entry), 1)
  }, [combination, active])
}

/** The keys of a combination for display: `Ctrl K`, `⌘ K`, `G O`. */
export const shownKeys = (combination: Combination): readonly string[] =>
  combination.split(/[+ ]/).map((part) =>
    part === "mod"
      ? isMac ? "⌘" : "Ctrl"
      : part === "alt"
      ? isMac ? "⌥" : "Alt"
      : part === "shift"
      ? "⇧"
      : part === "Escape"
      ? "Esc"
      : part === "Enter"
      ? "↵"
      : part.replace("Arrow", "").length === 1 || part.length === 1
      ? part.toUpperCase()
      : part
  )
