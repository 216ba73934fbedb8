/** Keeps a form's unsaved input in the tab's storage, so that a reload or an ended session loses nothing. */

import type { Drafts, Values } from "./draft.ts"
import type { Rows } from "./rows.ts"

/** The stored input of a form: the drafts, the rows, and the version of the record that was edited. */
export interface Kept {
  readonly base: Values
  readonly drafts: Drafts
  readonly rows: Rows
}

const storeOf = (place: string): string => `admin:draft:${place}`

export const keepDrafts = (place: string, kept: Kept | null): void => {
  try {
    if (kept === null || Object.keys(kept.drafts).length + Object.keys(kept.rows).length === 0) {
      sessionStorage.removeItem(storeOf(place))
    } else sessionStorage.setItem(storeOf(place), JSON.stringify(kept))
  } catch {
    // If storage is full or not available, the form still has everything.
  }
}

export const keptDrafts = (place: string): Kept | null => {
  try {
    const text = sessionStorage.getItem(storeOf(place))
    const kept: unknown = text === null ? null : JSON.parse(text)
    return typeof kept === "object" && kept !== null && "drafts" in kept && "base" in kept && "rows" in kept
      ? kept as Kept
      : null
  } catch {
    return null
  }
}
