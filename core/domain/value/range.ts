/**
 * Ranges of PostgreSQL as text: `[1,10)`, `(,5)`, `empty`, in the form that the database prints, and how two of them compare and overlap. Values of
 * their ends are read and compared by whoever calls. It knows no fields.
 */

/** How the ends of a range are read and compared. `next`: ranges of this kind are written `[a,b)`; the value after one, null where there is none. */
export interface Ends {
  readonly cell: (text: string) => string | null
  readonly compare: (a: string, b: string) => number
  readonly next: ((cell: string) => string | null) | null
}

/** A range that is not empty. Null: it has no end there. */
interface Range {
  readonly low: string | null
  readonly lowIn: boolean
  readonly high: string | null
  readonly highIn: boolean
}

/** Ends without quotes hold none of these. */
const end = /^(?:"[^"\\]*"|[^"\\,()[\]\s]*)$/
const [first, last] = [/^[[(]/, /[\])]$/]
const longest = 300_000

const bare = (text: string): string => text.startsWith("\"") ? text.slice(1, -1) : text

/** The parts of a text that looks like a range. Values of ends hold no comma. */
const split = (text: string): Range | null => {
  if (text.length > longest || !first.test(text) || !last.test(text)) return null
  const comma = text.indexOf(",")
  const [low, high] = [text.slice(1, comma), text.slice(comma + 1, -1)]
  if (comma < 1 || !end.test(low) || !end.test(high)) return null
  return {
    low: low === "" ? null : bare(low),
    lowIn: low !== "" && text.startsWith("["),
    high: high === "" ? null : bare(high),
    highIn: high !== "" && text.endsWith("]")
  }
}

/** Only times before Christ, which a database may hold, have a blank. */
const endText = (value: string | null): string => value === null ? "" : value.includes(" ") ? `"${value}"` : value

const textOf = ({ high, highIn, low, lowIn }: Range): string =>
  `${lowIn ? "[" : "("}${endText(low)},${endText(high)}${highIn ? "]" : ")"}`

/** Rewrites ends of kinds with a next value as `[a,b)`. Null: the database has no such value. */
const stepped = (range: Range, next: NonNullable<Ends["next"]>): Range | null => {
  const low = range.low === null || range.lowIn ? range.low : next(range.low)
  const high = range.high === null || !range.highIn ? range.high : next(range.high)
  if ((low === null) !== (range.low === null) || (high === null) !== (range.high === null)) return null
  return { low, lowIn: low !== null, high, highIn: false }
}

/** The canonical text of a range, or null for anything else: another form, an end that is no value, a lower end above the upper. */
export const rangeCell = (text: string, { cell, compare, next }: Ends): string | null => {
  if (text === "empty") return text
  const written = split(text)
  if (written === null) return null
  const low = written.low === null ? null : cell(written.low)
  const high = written.high === null ? null : cell(written.high)
  if ((low === null) !== (written.low === null) || (high === null) !== (written.high === null)) return null
  if (low !== null && high !== null && compare(low, high) > 0) return null
  const read = { ...written, low, high }
  const range = next === null ? read : stepped(read, next)
  if (range === null) return null
  if (range.low !== null && range.high !== null) {
    const order = compare(range.low, range.high)
    if (order > 0 || (order === 0 && !(range.lowIn && range.highIn))) return "empty"
  }
  return textOf(range)
}

/** The range that holds one value and nothing else. The last value of a kind stands for all from it on, which are no more. */
export const rangeOfValue = (cell: string, { next }: Ends): string => {
  if (next === null) return `[${cell},${cell}]`
  const after = next(cell)
  return after === null ? `[${cell},)` : `[${cell},${after})`
}

/** A range's text with each of its ends rewritten, as the database's spelling of times becomes ours. */
export const mapEnds = (text: string, rewrite: (value: string) => string): string => {
  const range = text === "empty" ? null : split(text)
  if (range === null) return text
  const { high, low } = range
  return textOf({ ...range, low: low === null ? null : rewrite(low), high: high === null ? null : rewrite(high) })
}

/** Orders two ends as PostgreSQL does: no lower end stands before, no upper end behind all values. */
const compareEnds = (a: Range, aLow: boolean, b: Range, bLow: boolean, compare: Ends["compare"]): number => {
  const [left, right] = [aLow ? a.low : a.high, bLow ? b.low : b.high]
  if (left === null || right === null) {
    if (left === null && right === null) return aLow === bLow ? 0 : aLow ? -1 : 1
    return left === null ? (aLow ? -1 : 1) : (bLow ? 1 : -1)
  }
  const order = compare(left, right)
  if (order !== 0) return order
  const [leftIn, rightIn] = [aLow ? a.lowIn : a.highIn, bLow ? b.lowIn : b.highIn]
  // An open lower end begins behind its value, an open upper end ends before it.
  const side = (isIn: boolean, isLow: boolean): number => isIn ? 0 : isLow ? 1 : -1
  return side(leftIn, aLow) - side(rightIn, bLow)
}

/** Orders two canonical ranges as PostgreSQL does: the empty one first, then by lower ends, then by upper ones. */
export const compareRanges = (a: string, b: string, { compare }: Ends): number => {
  if (a === b) return 0
  const [left, right] = [split(a), split(b)]
  if (left === null || right === null) return Number(left !== null) - Number(right !== null)
  return compareEnds(left, true, right, true, compare) || compareEnds(left, false, right, false, compare)
}

/** Whether two canonical ranges have a value in common. */
export const rangesOverlap = (a: string, b: string, { compare }: Ends): boolean => {
  const [left, right] = [split(a), split(b)]
  return left !== null && right !== null &&
    compareEnds(left, true, right, false, compare) <= 0 && compareEnds(right, true, left, false, compare) <= 0
}
