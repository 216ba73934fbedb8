/**
 * The rows of a list in groups: pages for each group whose rows come into sight. Folded groups read nothing. All groups together keep a limited number of pages,
 * and their requests have one pace.
 */

import { type LoadedPage, Pages, type PageStart } from "../grid/pages.ts"
import { type Head, leavesOf } from "./group-heads.ts"
import { type Folds, type Line, type Lines, linesOf, type Stretch } from "./lines.ts"

interface Leaf<T> {
  readonly pages: Pages<T>
  readonly condition: string
  count: number
  /** Whether its last row was seen. */
  ended: boolean
  used: number
}

export interface GroupSourceOptions<T> {
  readonly size: number
  /** The most pages in memory. */
  readonly most: number
  readonly load: (condition: string, start: PageStart, size: number, signal: AbortSignal) => Promise<LoadedPage<T>>
  readonly keyOf: (item: T) => string
  /** Called after rows were loaded or removed, and after a failure. */
  readonly changed: () => void
  /** Called when a group has more rows than its count says. */
  readonly miscounted: () => void
}

/** Milliseconds between rounds of requests while the thumb moves, and after it rests. */
const pace = { moving: 300, rest: 70 }

export class GroupSource<T> {
  readonly #options: GroupSourceOptions<T>
  readonly #leaves = new Map<string, Leaf<T>>()
  #arranged: readonly [heads: readonly Head[], folds: Folds, more: boolean] | null = null
  #lines: Lines | null = null
  #wanted: readonly [first: number, last: number] = [0, 0]
  #clock = 0
  #lastRound = Number.NEGATIVE_INFINITY
  #timer: ReturnType<typeof setTimeout> | undefined
  #closed = false

  constructor(options: GroupSourceOptions<T>) {
    this.#options = options
  }

  /** Puts the groups in place. The same arguments change nothing. */
  arrange(heads: readonly Head[], folds: Folds, more: boolean): Lines {
    const before = this.#arranged
    if (before === null || before[0] !== heads || before[1] !== folds || before[2] !== more) {
      this.#arranged = [heads, folds, more]
      this.#lines = null
      const found = new Map(leavesOf(heads).map((head) => [head.id, head]))
      for (const [id, leaf] of this.#leaves) {
        const head = found.get(id)
        if (head?.condition !== leaf.condition) this.#drop(id)
        // A group goes on as far as is known, unless its last row was seen.
        else if (head.about && !leaf.ended) leaf.count = Math.max(leaf.count, head.count)
      }
    }
    return this.lines
  }

  get lines(): Lines {
    const [heads, folds, more] = this.#arranged ?? [[], { all: false, ids: new Set<string>() }, false]
    return this.#lines ??= linesOf(heads, folds, (head) => this.#leaves.get(head.id)?.count ?? head.count, more)
  }

  line(index: number): Line | undefined {
    return this.lines.at(index)
  }

  /** Whether rows of a group are in memory. */
  holds({ id }: Head): boolean {
    return this.#leaves.has(id)
  }

  row(index: number): T | undefined {
    const line = this.lines.at(index)
    return line?.of === "row" ? this.#leaves.get(line.head.id)?.pages.row(line.index) : undefined
  }

  /** The line of the first kept row with the key that is not folded, or -1. */
  indexOf(key: string): number {
    for (const [id, { pages }] of this.#leaves) {
      const at = pages.indexOf(key)
      const line = at < 0 ? -1 : this.lines.lineOfRow(id, at)
      if (line >= 0) return line
    }
    return -1
  }

  failureAt(index: number): unknown {
    const line = this.lines.at(index)
    return line?.of === "row" ? this.#leaves.get(line.head.id)?.pages.failureAt(line.index) : undefined
  }

  get failure(): unknown {
    for (const { pages } of this.#leaves.values()) if (pages.failure !== undefined) return pages.failure
    return undefined
  }

  *rows(): Generator<T> {
    for (const { pages } of this.#leaves.values()) yield* pages.rows()
  }

  /** Sets the visible lines. */
  want(first: number, last: number, moving: boolean): void {
    if (this.#closed || last <= first) return
    this.#wanted = [first, last]
    clearTimeout(this.#timer)
    const since = performance.now() - this.#lastRound
    if (!moving || since >= pace.moving) this.#round()
    else this.#timer = setTimeout(() => this.#round(), Math.min(pace.rest, pace.moving - since))
  }

  retry(): void {
    for (const { pages } of this.#leaves.values()) pages.retry()
  }

  replaceAll(make: (item: T, key: string, head: string) => T | undefined): void {
    for (const [id, { pages }] of this.#leaves) pages.replaceAll((item, key) => make(item, key, id))
  }

  /** Drops the page of a record. False if it is visible and stays. */
  forget(key: string): boolean {
    for (const { pages } of this.#leaves.values()) if (pages.indexOf(key) >= 0) return pages.forget(key)
    return true
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const { pages } of this.#leaves.values()) pages.close()
  }

  #drop(id: string): void {
    this.#leaves.get(id)?.pages.close()
    this.#leaves.delete(id)
    this.#lines = null
  }

  #round(): void {
    this.#lastRound = performance.now()
    const stretches = this.lines.stretches(...this.#wanted)
    const shown = new Set(stretches.map(({ head }) => head.id))
    for (const [id, { pages }] of this.#leaves) if (!shown.has(id)) pages.rest()
    for (const stretch of stretches) this.#want(stretch)
    this.#trim(shown)
  }

  #want({ first, head, last }: Stretch): void {
    const leaf = this.#leaves.get(head.id) ?? this.#make(head)
    leaf.used = ++this.#clock
    leaf.pages.want(first, last, false)
  }

  /** What was not seen for the longest time goes, as long as there are too many pages. */
  #trim(shown: ReadonlySet<string>): void {
    let kept = 0
    for (const { pages } of this.#leaves.values()) kept += pages.kept
    const others = [...this.#leaves].filter(([id]) => !shown.has(id)).toSorted(([, a], [, b]) => a.used - b.used)
    for (const [id, { pages }] of others) {
      if (kept <= this.#options.most) return
      kept -= pages.kept
      this.#drop(id)
    }
  }

  #make(head: Head): Leaf<T> {
    const { changed, keyOf, load, miscounted, most, size } = this.#options
    const pages = new Pages<T>({
      size,
      most,
      keyOf,
      changed,
      load: (start, length, signal) => load(head.condition, start, length, signal),
      reached: (rows, bound) => {
        leaf.ended ||= bound === "exact"
        const count = bound === "exact" || (bound === "most" && leaf.count > rows)
          ? rows
          : bound === "more" && rows >= leaf.count
          ? rows + size
          : leaf.count
        if (count === leaf.count) return
        const grown = bound === "more"
        leaf.count = count
        this.#lines = null
        if (grown) miscounted()
      }
    })
    const leaf: Leaf<T> = { pages, condition: head.condition, count: head.count, ended: false, used: 0 }
    this.#leaves.set(head.id, leaf)
    return leaf
  }
}
