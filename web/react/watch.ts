/**
 * A hook that follows the records of a filter: which entered, changed and left since the rows on the screen were read. It reads no record and changes no row;
 * the page decides when to read again, so that nothing moves under somebody's hands.
 */

import { useCallback, useEffect, useReducer } from "react"
import type { FilterIn, ResourceClient, ResourceName, WatchEvent } from "../client/index.ts"

/** Keys, as they stand in URLs. */
type Keys = ReadonlySet<string>

/** The changes since the last `clear`, by record. A record is in one set at most, the set of its net change. */
export interface Watched {
  /** Records that pass the filter now and did not then: "3 new". */
  readonly entered: Keys
  readonly changed: Keys
  /** Records that pass it no more, are deleted, or are no longer seen by the caller. */
  readonly left: Keys
  /** Changes may be missing, also those before the first connection: read again. */
  readonly missed: boolean
}

const none: Keys = new Set()

/** Nothing has happened. */
export const unwatched: Watched = { entered: none, changed: none, left: none, missed: false }

const without = (keys: Keys, key: string): Keys =>
  keys.has(key) ? new Set([...keys].filter((each) => each !== key)) : keys
const having = (keys: Keys, key: string): Keys => keys.has(key) ? keys : new Set([...keys, key])

/** What has happened after one more event. */
export const watched = (before: Watched, event: WatchEvent): Watched => {
  if (event.event !== "change") return before.missed ? before : { ...before, missed: true }
  const { key, kind } = event.data
  const { changed, entered, left } = before
  // A record that entered and left again was never shown. A record that left and came back was shown before, so it counts as changed.
  if (kind === "left") {
    return entered.has(key)
      ? { ...before, entered: without(entered, key) }
      : { ...before, changed: without(changed, key), left: having(left, key) }
  }
  if (entered.has(key)) return before
  return kind === "entered" && !left.has(key)
    ? { ...before, entered: having(entered, key) }
    : { ...before, changed: having(changed, key), left: without(left, key) }
}

export interface WatchState extends Watched {
  /** Why nothing is told any more, as when the service refuses to. */
  readonly error: Error | null
  /** To be called when the rows have been read again. */
  readonly clear: () => void
}

export interface WatchQuery<C, Name extends ResourceName<C>> {
  readonly filter?: FilterIn<C, Name> | null
}

interface State extends Watched {
  readonly error: Error | null
}

const quiet: State = { ...unwatched, error: null }

type Action = { readonly of: "clear" | "begin" } | { readonly of: "event"; readonly event: WatchEvent } | {
  readonly of: "error"
  readonly error: Error
}

const reduce = (state: State, action: Action): State => {
  switch (action.of) {
    case "begin":
      return quiet
    case "clear":
      return { ...quiet, error: state.error }
    case "error":
      return { ...state, error: action.error }
    case "event":
      return { ...state, ...watched(state, action.event) }
  }
}

/** Follows the records of a filter, given as text, while the component stands and `enabled` is not false. */
export const useWatched = (records: ResourceClient, filter: string, enabled: boolean): WatchState => {
  const [state, act] = useReducer(reduce, quiet)
  useEffect(() => {
    act({ of: "begin" })
    if (!enabled) return
    const ending = new AbortController()
    const follow = async (): Promise<void> => {
      let opened = false
      for await (const event of records.watch({ filter, signal: ending.signal })) {
        if (ending.signal.aborted) return
        // Later connections go on where the one before broke.
        if (event.event === "open" && opened) continue
        opened = true
        act({ of: "event", event })
      }
    }
    follow().catch((error: unknown) => {
      if (!ending.signal.aborted) act({ of: "error", error: error instanceof Error ? error : new Error(String(error)) })
    })
    return () => ending.abort()
  }, [records, filter, enabled])
  const clear = useCallback(() => act({ of: "clear" }), [])
  return { ...state, clear }
}
