/**
 * The address as the app's state: path, query, and data of the entry in the browser's history (such as the focused row). Paths stay percent-encoded,
 * because an encoded slash or comma in a key differs from a plain one.
 */

import { useSyncExternalStore } from "react"
import { prefix } from "../config.ts"

/** The current address. */
export interface AppAddress {
  /** The path below the app's own path, still encoded: `/orders/17`. */
  readonly path: string
  /** The segments of the path, still encoded. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
  /** Data of this history entry, by name. */
  readonly memory: { readonly [name: string]: unknown }
  /** The number of this history entry among those of the tab. */
  readonly entry: number
  /** Increases with every navigation, also to the same address. */
  readonly turn: number
  /** Whether the user came back: by the browser's own way back, or by one of the app's. */
  readonly back: boolean
}

/** The state of a history entry. `at`: its number among the entries of this tab. */
interface Entry {
  readonly at: number
  readonly memory: { readonly [name: string]: unknown }
}

const entryOf = (state: unknown): Entry =>
  typeof state === "object" && state !== null && "at" in state ? state as Entry : { at: 0, memory: {} }

let turn = 0
let at = entryOf(history.state).at
/** A page that is loaded again shows what it showed. */
let back = true

const readPlace = (): AppAddress => {
  const { pathname, search } = location
  const path = prefix !== "" && pathname.startsWith(prefix) ? pathname.slice(prefix.length) || "/" : pathname
  return {
    path,
    parts: path.split("/").slice(1).filter((part, index) => index > 0 || part !== ""),
    query: new URLSearchParams(search),
    memory: entryOf(history.state).memory,
    entry: at,
    turn,
    back
  }
}

let place = readPlace()
const listeners = new Set<() => void>()

const tell = (came: boolean): void => {
  turn++
  back = came
  place = readPlace()
  for (const listener of listeners) listener()
}

/** Called before the app leaves a page. False keeps the page; a promise decides later. */
export type Guard = (to: string) => boolean | Promise<boolean>

const guards = new Set<Guard>()

/** Whether leaving has to be asked for. */
export const isGuarded = (): boolean => guards.size > 0

/** Asks the guards. */
export const mayLeave = async (to: string): Promise<boolean> => {
  for (const guard of guards) if (!await guard(to)) return false
  return true
}

/** Calls `guard` before every navigation, except changes of the query. Returns the function that ends this. */
export const guardLeaving = (guard: Guard): () => void => {
  guards.add(guard)
  return () => void guards.delete(guard)
}

export interface GoOptions {
  /** Replaces the history entry instead of adding one. */
  readonly replace?: boolean
  readonly memory?: { readonly [name: string]: unknown }
  /** Navigates without asking the guards: they have agreed, or their content is saved. */
  readonly force?: boolean
  /** The user goes back to a page: it has the focus where it had it. */
  readonly back?: boolean
}

const move = (to: string, { back = false, memory = {}, replace = false }: GoOptions): void => {
  const entry: Entry = { at: replace ? at : at + 1, memory }
  at = entry.at
  if (replace) history.replaceState(entry, "", prefix + to)
  else history.pushState(entry, "", prefix + to)
  tell(back)
}

/** Goes to an address of the app, such as `/orders?filter=…`. */
export const go = (to: string, options: GoOptions = {}): void => {
  if (guards.size === 0 || options.force === true) return move(to, options)
  void mayLeave(to).then((yes) => {
    if (yes) move(to, options)
  })
}

/** Goes to the entry before, as the browser's own button does. */
export const goBack = (): void => history.back()

/** Loads another page in place of the app. The guards are not asked: whoever calls this has asked already. */
export const leaveApp = (href: string): void => {
  guards.clear()
  location.assign(href)
}

/** Stores data in the history entry, without navigation. */
export const remember = (values: { readonly [name: string]: unknown }): void => {
  const memory = { ...entryOf(history.state).memory, ...values }
  history.replaceState({ at, memory } satisfies Entry, "")
  place = { ...place, memory }
}

/** Sets parts of the query. Null removes one. The rest of the address stays, and no guard is called. */
export const setQuery = (
  values: { readonly [name: string]: string | null },
  options: { readonly replace?: boolean } = {}
): void => {
  const query = new URLSearchParams(place.query)
  for (const [name, value] of Object.entries(values)) {
    if (value === null) query.delete(name)
    else query.set(name, value)
  }
  const text = query.toString()
  move(place.path + (text === "" ? "" : `?${text}`), { replace: options.replace ?? true, memory: place.memory })
}

/** The address of a path of the app, for `href`. */
export const hrefOf = (to: string): string => prefix + to

/** The address within the app of an `href`, or null if it leads out of the app. */
export const withinApp = (href: string): string | null => {
  if (!URL.canParse(href, location.href)) return null
  const url = new URL(href, location.href)
  if (url.origin !== location.origin || !(url.pathname === prefix || url.pathname.startsWith(`${prefix}/`))) return null
  const below = url.pathname.slice(prefix.length) || "/"
  if (/^\/(?:api|livez|readyz)(?:\/|$)/.test(below) && prefix === "") return null
  // Public forms and mail previews are documents of their own.
  if (/^\/-\/(?:forms|mail)(?:\/|$)/.test(below)) return null
  return below + url.search
}

const onPop = (event: PopStateEvent): void => {
  const to = entryOf(event.state)
  const distance = to.at - at
  if (guards.size === 0 || distance === 0) {
    at = to.at
    return tell(true)
  }
  // The browser has already moved. It moves back until the guards agree.
  const wanted = readPlace().path
  addEventListener("popstate", () => {
    addEventListener("popstate", onPop)
    void mayLeave(wanted).then((yes) => {
      if (!yes) return
      guards.clear()
      history.go(distance)
    })
  }, { once: true })
  removeEventListener("popstate", onPop)
  history.go(-distance)
}
addEventListener("popstate", onPop)
addEventListener("beforeunload", (event) => {
  if (guards.size > 0) event.preventDefault()
})
if (entryOf(history.state).at === 0 && history.state === null) history.replaceState({ at, memory: {} }, "")
history.scrollRestoration = "manual"

const subscribe = (listener: () => void): () => void => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** The current address. The component is rendered again when it changes. */
export const usePlace = (): AppAddress => useSyncExternalStore(subscribe, () => place)

/** The current address, for code outside of components. */
export const currentPlace = (): AppAddress => place
