/**
 * Reports changes from the service (`:watch`) to pages. All followers of a resource and filter in this tab share a connection. A tab holds it only while it
 * is visible, because browsers limit connections to one host. When the tab becomes visible again, it reports missed changes.
 */

import { ProblemError, type WatchEvent } from "../../client/index.ts"
import type { Resource } from "../model/catalogue.ts"
import { client } from "../model/client.ts"

type Change = Extract<WatchEvent, { event: "change" }>["data"]

/**
 * `missed`: changes may have been missed, so all shown data may be outdated. `exact`: `kind` is about the filter that was asked for. Where the service does
 * not follow that one, changes of all records are reported.
 */
export type FeedEvent =
  | { readonly of: "change"; readonly exact: boolean } & Pick<Change, "key" | "kind" | "operation">
  | { readonly of: "missed" }

type Listener = (event: FeedEvent) => void

/** How long a tab stays hidden before it closes its connection. */
const hiddenMs = 5_000

class Feed {
  readonly listeners = new Set<Listener>()
  readonly #name: string
  readonly #asked: string
  /** The filter that is followed; empty: all records. */
  #filter: string
  #last: string | undefined
  #opened = false
  #refused = false
  #running: AbortController | null = null
  #leaving: ReturnType<typeof setTimeout> | undefined

  constructor(name: string, filter: string) {
    this.#name = name
    this.#asked = filter
    this.#filter = filter
  }

  /** Connects or disconnects, depending on listeners and visibility. */
  turn(): void {
    clearTimeout(this.#leaving)
    if (this.listeners.size === 0) this.#stop()
    else if (document.visibilityState === "visible") this.#start()
    else this.#leaving = setTimeout(() => this.#stop(), hiddenMs)
  }

  #start(): void {
    if (this.#running !== null || this.#refused) return
    this.#running = new AbortController()
    void this.#run(this.#running.signal)
  }

  #stop(): void {
    this.#running?.abort()
    this.#running = null
  }

  #tell(event: FeedEvent): void {
    for (const listener of this.listeners) listener(event)
  }

  async #run(signal: AbortSignal): Promise<void> {
    const filter = this.#filter
    try {
      const after = this.#last === undefined ? {} : { after: this.#last }
      for await (const { data, event, id } of client.watch(this.#name, { signal, filter, ...after })) {
        if (id !== "") this.#last = id
        if (event === "change") {
          const { key, kind, operation } = data
          this.#tell({ of: "change", exact: filter === this.#asked, key, kind, operation })
        } // Data that was read before the first connection may be outdated.
        else if (event === "reset" || !this.#opened) this.#tell({ of: "missed" })
        this.#opened = true
      }
    } catch (error) {
      if (signal.aborted) return
      this.#running = null
      if (filter !== "" && error instanceof ProblemError && [400, 414, 431].includes(error.status)) {
        // A filter that is too long or weighs too much, or a service that follows none.
        this.#filter = ""
        this.turn()
        return
      }
      // Without the right to watch, the page works as before. The next request detects an ended session.
      this.#refused = error instanceof ProblemError && error.status !== 401
    }
  }
}

const feeds = new Map<string, Feed>()

document.addEventListener("visibilitychange", () => {
  for (const feed of feeds.values()) feed.turn()
})

/** Calls the listener for each change of a resource's records that pass the filter. Returns the function that ends this. */
export const follow = ({ name }: Resource, filter: string, listener: Listener): () => void => {
  const id = JSON.stringify([name, filter])
  const feed = feeds.get(id) ?? new Feed(name, filter)
  feeds.set(id, feed)
  feed.listeners.add(listener)
  feed.turn()
  return () => {
    feed.listeners.delete(listener)
    // A page that follows the same at once, as when only its order is another one, keeps the connection.
    setTimeout(() => {
      feed.turn()
      if (feed.listeners.size === 0 && feeds.get(id) === feed) feeds.delete(id)
    })
  }
}
