/**
 * The rows of a list by number, from pages that are loaded when they become visible: by the token of an adjacent page, else by position. It keeps a
 * limited number of pages, aborts requests that are no longer needed, and limits the request rate.
 */

/** One page of the service. A token is empty at the end of the list, and null if the answer has none. */
export interface LoadedPage<T> {
  readonly items: readonly T[]
  readonly next: string
  readonly previous: string | null
}

/** Where a page begins: a row number, or the token of a neighbour. */
export type PageStart = { readonly position: number } | { readonly token: string }

/** What is known of a number of rows: it is exact, there are more, or there are at most so many, because the page after them is empty. */
export type Bound = "exact" | "more" | "most"

export interface PagesOptions<T> {
  readonly size: number
  /** The most pages in memory. */
  readonly most: number
  readonly load: (start: PageStart, size: number, signal: AbortSignal) => Promise<LoadedPage<T>>
  /** The key of a record. A record that moved from one page to another is shown once. */
  readonly keyOf: (item: T) => string
  /** Called after rows were loaded or removed, or after a failure. */
  readonly changed: () => void
  /** Called with what a page says of the number of rows in the list. */
  readonly reached: (rows: number, bound: Bound) => void
  /** Milliseconds between rounds of requests while the thumb moves, and after it rests. */
  readonly pace?: { readonly moving: number; readonly rest: number }
}

interface CachedPage<T> extends LoadedPage<T> {
  used: number
}

export class Pages<T> {
  readonly #options: PagesOptions<T>
  readonly #pages = new Map<number, CachedPage<T>>()
  readonly #running = new Map<number, AbortController>()
  readonly #failed = new Map<number, unknown>()
  #wanted: readonly [first: number, last: number] = [0, 0]
  #clock = 0
  #lastRound = Number.NEGATIVE_INFINITY
  #timer: ReturnType<typeof setTimeout> | undefined
  #closed = false

  constructor(options: PagesOptions<T>) {
    this.#options = options
  }

  /** The row, or undefined if it is not loaded. */
  row(index: number): T | undefined {
    const { size } = this.#options
    const page = this.#pages.get(Math.floor(index / size))
    if (page === undefined) return undefined
    page.used = ++this.#clock
    return page.items[index % size]
  }

  /** The number of the first kept row with the key, or -1. */
  indexOf(key: string): number {
    for (const [number, page] of this.#pages) {
      const at = page.items.findIndex((item) => this.#options.keyOf(item) === key)
      if (at >= 0) return number * this.#options.size + at
    }
    return -1
  }

  /** Why the page of a row could not be loaded, or undefined. */
  failureAt(index: number): unknown {
    return this.#failed.get(Math.floor(index / this.#options.size))
  }

  get failure(): unknown {
    return this.#failed.values().next().value
  }

  /** The number of pages in memory. */
  get kept(): number {
    return this.#pages.size
  }

  /** All rows that are kept, in no order. */
  *rows(): Generator<T> {
    for (const page of this.#pages.values()) yield* page.items
  }

  /**
   * Sets the visible rows. While the thumb moves, requests are sent at intervals, and once after it rests. Without any, the list would stay empty; one for
   * each event would overload the database.
   */
  want(first: number, last: number, moving: boolean): void {
    if (this.#closed || last <= first) return
    const { size, pace = { moving: 300, rest: 70 } } = this.#options
    this.#wanted = [Math.floor(first / size), Math.floor((last - 1) / size)]
    clearTimeout(this.#timer)
    const since = performance.now() - this.#lastRound
    if (!moving || since >= pace.moving) this.#round()
    else this.#timer = setTimeout(() => this.#round(), Math.min(pace.rest, pace.moving - since))
  }

  /** None of the rows is visible any more: what is under way is not needed. */
  rest(): void {
    clearTimeout(this.#timer)
    this.#wanted = [0, -1]
    this.#round()
    this.#lastRound = Number.NEGATIVE_INFINITY
  }

  /** Tries pages again that failed. */
  retry(): void {
    this.#failed.clear()
    this.#round()
  }

  /** Adds a page that was loaded in another way (the first page of a list). */
  put(number: number, page: LoadedPage<T>): void {
    this.#keep(number, page)
  }

  /** Replaces a record in all loaded pages. */
  replace(key: string, make: (item: T) => T): void {
    for (const page of this.#pages.values()) {
      const at = page.items.findIndex((item) => this.#options.keyOf(item) === key)
      if (at < 0) continue
      ;(page as { items: readonly T[] }).items = page.items.with(at, make(page.items[at]!))
    }
    this.#options.changed()
  }

  /** Replaces several records by their keys: each page is gone through once. */
  replaceAll(make: (item: T, key: string) => T | undefined): void {
    for (const [number, page] of this.#pages) {
      const items = page.items.map((item) => make(item, this.#options.keyOf(item)) ?? item)
      this.#pages.set(number, { ...page, items })
    }
    this.#options.changed()
  }

  /** Drops the page of a record, so that it is read again. False if the page is visible and stays. */
  forget(key: string): boolean {
    const number = Math.floor(this.indexOf(key) / this.#options.size)
    const [first, last] = this.#wanted
    if (number >= first && number <= last) return false
    this.#pages.delete(number)
    return true
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const controller of this.#running.values()) controller.abort()
    this.#running.clear()
  }

  #round(): void {
    this.#lastRound = performance.now()
    const [first, last] = this.#wanted
    for (const [number, controller] of this.#running) {
      // An adjacent page is allowed, because the next movement probably needs it.
      if (first <= last && number >= first - 1 && number <= last + 1) continue
      controller.abort()
      this.#running.delete(number)
    }
    for (let number = first; number <= last; number++) this.#fetch(number)
  }

  #fetch(number: number): void {
    if (this.#closed || this.#pages.has(number) || this.#running.has(number) || this.#failed.has(number)) return
    const { load, size } = this.#options
    const controller = new AbortController()
    this.#running.set(number, controller)
    const before = this.#pages.get(number - 1)
    const after = this.#pages.get(number + 1)
    const start: PageStart = before !== undefined && before.next !== ""
      ? { token: before.next }
      : after?.previous != null && after.previous !== ""
      ? { token: after.previous }
      : { position: number * size }
    load(start, size, controller.signal).then(
      (page) => {
        if (this.#running.get(number) !== controller) return
        this.#running.delete(number)
        this.#keep(number, page)
      },
      (error: unknown) => {
        if (this.#running.get(number) !== controller) return
        this.#running.delete(number)
        this.#failed.set(number, error)
        this.#options.changed()
      }
    )
  }

  #keep(number: number, page: LoadedPage<T>): void {
    const { keyOf, most, size } = this.#options
    // A page by token and one by position overlap after somebody added or deleted rows above. The earlier row is kept.
    const keys = new Set(this.#pages.get(number - 1)?.items.map(keyOf))
    const items = keys.size === 0 ? page.items : page.items.filter((item) => !keys.has(keyOf(item)))
    this.#pages.set(number, { items, next: page.next, previous: page.previous, used: ++this.#clock })
    if (this.#pages.size > most) {
      const [oldest] = [...this.#pages].reduce((a, b) => a[1].used < b[1].used ? a : b)
      this.#pages.delete(oldest)
    }
    const bound = page.next !== "" ? "more" : page.items.length > 0 || number === 0 ? "exact" : "most"
    this.#options.reached(number * size + items.length, bound)
    this.#options.changed()
  }
}
