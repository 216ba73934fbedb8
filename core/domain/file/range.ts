/** Ranges of downloads (RFC 9110, 14): one range of bytes, or the whole. */

/** Bytes from `start` to `end`, both included. */
export interface WantedRange {
  readonly start: number
  readonly end: number
}

/** Whether a text is a date as HTTP writes it. A condition with any other text is ignored. */
export const isHttpDate = (text: string): boolean =>
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(text) &&
  !Number.isNaN(Date.parse(text))

/**
 * The part of a file of `size` bytes that a Range header asks for. Null is the whole file: also for several ranges and for an invalid range. An
 * `If-Range` that names another version also gives the whole file.
 */
export const rangeOf = (
  header: string | null,
  ifRange: string | null,
  size: number,
  etag: string,
  modified: string
): WantedRange | "unsatisfiable" | null => {
  if (header === null || (ifRange !== null && ifRange !== etag && ifRange !== modified)) return null
  const [, first = "", last = ""] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header) ?? []
  if (first === "" && last === "") return null
  if (first === "") {
    const length = Math.min(Number(last), size)
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== "" && Number(last) < start) return null
  return start >= size ? "unsatisfiable" : { start, end }
}
