/**
 * The rows of a range. In a list in groups a range reaches over heads, which are no rows: nothing is copied from them, written to them or counted of them. Pure.
 */

import type { Area } from "../grid/range.ts"

/** Rows that follow each other, and how they are read: by their numbers among the records that the condition lets pass. */
export interface RowStretch {
  /** The line of the first one, and how many there are. */
  readonly line: number
  readonly count: number
  readonly index: number
  readonly condition: string
}

/** The lines of a list. */
export interface RangeLines {
  /** Null where each line is a row. */
  readonly groups?: {
    readonly count: number
    /** The rows among lines, first to last (exclusive). */
    readonly stretches: (first: number, last: number) => readonly RowStretch[]
  } | undefined
}

/** The rows from one line to another, both included. */
export const stretchesIn = ({ groups }: RangeLines, top: number, bottom: number): readonly RowStretch[] =>
  bottom < top
    ? []
    : groups?.stretches(top, bottom + 1) ?? [{ line: top, count: bottom - top + 1, index: top, condition: "" }]

/** How many rows an area has. */
export const rowsOf = (lines: RangeLines, { bottom, top }: Pick<Area, "top" | "bottom">): number =>
  stretchesIn(lines, top, bottom).reduce((sum, { count }) => sum + count, 0)

/** The line of the last of so many rows from a line on; further than the last line where there are fewer. */
export const bottomFor = (lines: RangeLines, top: number, rows: number): number => {
  if (lines.groups === undefined) return top + rows - 1
  let left = rows
  for (const { count, line } of stretchesIn(lines, top, lines.groups.count - 1)) {
    if (count >= left) return line + left - 1
    left -= count
  }
  return lines.groups.count
}

/** The line of the row above a line; less than 0 where there is none. */
export const rowAbove = (lines: RangeLines, line: number): number => {
  const last = stretchesIn(lines, 0, line - 1).at(-1)
  return last === undefined ? -1 : last.line + last.count - 1
}

/** The records of an area; null where one is not there. */
export const heldIn = <T>(
  rows: RangeLines & { readonly rowAt: (line: number) => T | undefined },
  { bottom, top }: Pick<Area, "top" | "bottom">
): readonly T[] | null => {
  const records: T[] = []
  for (const { count, line } of stretchesIn(rows, top, bottom)) {
    for (let at = line; at < line + count; at++) {
      const record = rows.rowAt(at)
      if (record === undefined) return null
      records.push(record)
    }
  }
  return records
}
