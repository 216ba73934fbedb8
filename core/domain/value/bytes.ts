/**
 * How many bytes texts take on the wire, for limits in bytes. Counting reads every character, so it is done only where such a limit exists.
 */

/** Length of a text in UTF-8, in bytes. A lone surrogate counts as the three bytes of the character that replaces it. */
export const byteLength = (text: string): number => {
  const { length } = text
  let all = 0
  // Most texts are ASCII, which a loop without branches finds out in a quarter of the time.
  for (let i = 0; i < length; i++) all |= text.charCodeAt(i)
  return all < 0x80 ? length : wideLength(text)
}

const wideLength = (text: string): number => {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    bytes += unit < 0x800 ? 1 : 2
    // Two units of one character take four bytes together, so the second adds nothing.
    if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i++
  }
  return bytes
}

/** Bytes of the cells of a row. */
export const rowBytes = (row: Iterable<string | null>): number => {
  let bytes = 0
  for (const cell of row) if (cell !== null) bytes += byteLength(cell)
  return bytes
}

/** Whether a text takes at most so many bytes. Most texts are short enough whatever they are made of, and are not read. */
export const fitsIn = (text: string, bytes: number): boolean => text.length * 3 <= bytes || byteLength(text) <= bytes
