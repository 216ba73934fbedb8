/**
 * Reports changes from the service (`:watch`) to pages. All followers of a resource in this tab share a connection. A tab holds it only while it is
 * visible, because browsers limit connections to one host. When the tab becomes visible again, it reports missed changes.
 */

import { ProblemError, type WatchEvent } from "../../client/index.ts"
import type { Resource } from "../model/catalogue.ts"
import { client } from "../model/client.ts"

/** `missed`: changes may have been missed, so all shown data may be outdated. */
export type FeedEvent =
  | {
    readonly of: "change"
    readonly key: string
    readonly operation: Extract<WatchEvent, { event: "change" }>["data"]["operation"]
  }
  | { readonly of: "missed" }

type Listener = (event: FeedEvent) => void

/** How long a tab stays hidden before it closes its connection. */
const hiddenMs = 5_000

class Feed {
  readonly listeners = new Set<Listener>()
  readonly #name: string
  #last: string | undefined
  #opened = false
  #refused = false
  #running: AbortController | null = null
  #leaving: ReturnType<typeof setTimeout> | undefined

  constructor(name: string) {
    this.#name = name
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
    try {
      const after = this.#last === undefined ? {} : { after: this.#last }
      for await (const { data, event, id } of client.watch(this.#name, { signal, ...after })) {
        if (id !== "") this.#last = id
        if (event === "change") this.#tell({ of: "change", key: data.key, operation: data.operation })
        // Data that was read before the first connection may be outdated.
        else if (event === "reset" || !this.#opened) this.#tell({ of: "missed" })
        this.#opened = true
      }
    } catch (error) {
      if (signal.aborted) return
      // Without the right to watch, the page works as before. The next request detects an ended session.
      this.#refused = error instanceof ProblemError && error.status !== 401
      this.#running = null
    }
  }
}

const feeds = new Map<string, Feed>()

document.addEventListener("visibilitychange", () => {
  for (const feed of feeds.values()) feed.turn()
})

/** Calls the listener for each change of a resource. Returns the function that ends this. */
export const follow = ({ name }: Resource, listener: Listener): () => void => {
  const feed = feeds.get(name) ?? new Feed(name)
  feeds.set(name, feed)
  feed.listeners.add(listener)
  feed.turn()
  return () => {
    feed.listeners.delete(listener)
    feed.turn()
  }
}
