/** Times of day as exact text: `HH:MM:SS[.ffffff]` from `00:00:00` to `24:00:00`, without a zone. It reads no clock. */

import { endOfDigits } from "./digits.ts"

const pattern = /^(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?$/
const longest = 15

/** The canonical text of a time of day, or null for anything else: a zone, an hour 25, a leap second, a seventh fraction digit. */
export const timeCell = (text: string): string | null => {
  const match = text.length <= longest ? pattern.exec(text) : null
  if (match === null) return null
  const [hour, minute, second] = [match[1]!, match[2]!, match[3] ?? "00"]
  const digits = match[4] ?? ""
  const fraction = digits.slice(0, endOfDigits(digits))
  const last = hour === "24" && minute === "00" && second === "00" && fraction === ""
  if ((hour > "23" && !last) || minute > "59" || second > "59") return null
  return `${hour}:${minute}:${second}${fraction === "" ? "" : `.${fraction}`}`
}
