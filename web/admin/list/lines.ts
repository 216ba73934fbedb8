/** The lines of a list in groups: a head for each group, and the rows of those that are not folded. Pure. */

import type { Head } from "./group-heads.ts"

/** Which groups are folded: those that are named, or all but those. */
export interface Folds {
  readonly all: boolean
  readonly ids: ReadonlySet<string>
}

/** Most groups that an address names. */
const mostNamed = 200

export const readFolds = (texts: readonly string[] = []): Folds => ({
  all: texts.includes("*"),
  ids: new Set(texts.filter((text) => text !== "*"))
})

export const printFolds = ({ all, ids }: Folds): readonly string[] => [
  ...(all ? ["*"] : []),
  ...[...ids].slice(-mostNamed)
]

export const isFolded = ({ all, ids }: Folds, id: string): boolean => all !== ids.has(id)

/** Folds a group, or unfolds it. */
export const withFold = (folds: Folds, id: string, folded: boolean): Folds => {
  const ids = new Set(folds.ids)
  ids.delete(id)
  if (folded !== folds.all) ids.add(id)
  return { ...folds, ids }
}

/** What a line is. `index`: the number of the row within its group. */
export type Line =
  | { readonly of: "head"; readonly head: Head }
  | { readonly of: "row"; readonly head: Head; readonly index: number }
  | { readonly of: "more" }

/** Rows of a group, first to last (exclusive). */
export interface Stretch {
  readonly head: Head
  readonly first: number
  readonly last: number
}

export interface Lines {
  readonly count: number
  readonly at: (line: number) => Line | undefined
  /** The line of a group's head, or -1. */
  readonly lineOf: (id: string) => number
  /** The line of a row, or -1 where its group is folded. */
  readonly lineOfRow: (id: string, index: number) => number
  /** The same text for lines that stand alike. */
  readonly shape: string
  /** The rows among these lines. */
  readonly stretches: (first: number, last: number) => readonly Stretch[]
}

/** `rowsOf`: how many rows a group has. `more`: the last line says that there are more groups. */
export const linesOf = (
  heads: readonly Head[],
  folds: Folds,
  rowsOf: (head: Head) => number,
  more: boolean
): Lines => {
  const starts: number[] = []
  const parts: ({ readonly head: Head; readonly rows: boolean } | null)[] = []
  const lineOf = new Map<string, number>()
  let count = 0
  const put = (part: typeof parts[number], length: number): void => {
    if (length === 0) return
    starts.push(count)
    parts.push(part)
    count += length
  }
  const walk = (heads: readonly Head[]): void => {
    for (const head of heads) {
      lineOf.set(head.id, count)
      put({ head, rows: false }, 1)
      if (isFolded(folds, head.id)) continue
      if (head.inner.length > 0) walk(head.inner)
      else put({ head, rows: true }, rowsOf(head))
    }
  }
  walk(heads)
  if (more) put(null, 1)

  /** The part that has a line. */
  const partAt = (line: number): number => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? count) <= line) low = middle
      else high = middle - 1
    }
    return low
  }
  return {
    count,
    shape: parts.map((part, at) => `${starts[at]} ${part?.head.id ?? ""}`).join(),
    at: (line) => {
      if (line < 0 || line >= count) return undefined
      const at = partAt(line)
      const part = parts[at]
      if (part == null) return { of: "more" }
      return part.rows
        ? { of: "row", head: part.head, index: line - (starts[at] ?? 0) }
        : { of: "head", head: part.head }
    },
    lineOf: (id) => lineOf.get(id) ?? -1,
    lineOfRow: (id, index) => {
      const line = lineOf.get(id)
      if (line === undefined) return -1
      const part = parts[partAt(line + 1)]
      return part?.rows === true && part.head.id === id ? line + 1 + index : -1
    },
    stretches: (first, last) => {
      const found: Stretch[] = []
      for (let at = partAt(first); at < parts.length; at++) {
        const part = parts[at]
        const start = starts[at] ?? count
        if (start >= last) break
        const end = starts[at + 1] ?? count
        if (part?.rows !== true || end <= first) continue
        found.push({ head: part.head, first: Math.max(0, first - start), last: Math.min(last, end) - start })
      }
      return found
    }
  }
}
