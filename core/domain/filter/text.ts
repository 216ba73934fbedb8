/**
 * Text matching as PostgreSQL does it, without its regular expressions: simple lower case, wildcards and trigram similarity. Linear in
 * the texts; it knows no fields and no trees.
 */

import { BoundedMap } from "../bounded.ts"

/**
 * Lower case by simple mapping, one code point to one, as PostgreSQL's built-in C.UTF-8 `lower` does it. Unlike in `toLowerCase`, İ becomes
 * i without a combining dot, and Σ becomes σ at the end of a word too.
 */
export const lower = (text: string): string =>
  text.replaceAll("\u0130", "i").replaceAll("\u03a3", "\u03c3").toLowerCase()

/** Long texts in lower case: a filter may look into one for many parts. */
const longTexts = new BoundedMap<string, string>(4)
const longText = 1_000

const lowerOnce = (text: string): string => {
  if (text.length < longText) return lower(text)
  let made = longTexts.get(text)
  if (made === undefined) longTexts.set(text, made = lower(text))
  return made
}

/** Whether `text` contains `part`, ignoring case. */
export const containsIgnoringCase = (text: string, part: string): boolean => lowerOnce(text).includes(lower(part))

/** Whether `text` is `part`, or begins with it, ignoring case. */
export const isSame = (text: string, part: string, whole: boolean): boolean =>
  whole ? lower(text) === lower(part) : lower(text).startsWith(lower(part))

/** Whether the whole text consists of the parts in this order, with anything between them. Case-sensitive. */
export const matchesParts = (text: string, parts: readonly string[]): boolean => {
  const first = parts[0] ?? ""
  if (parts.length < 2) return text === first
  const last = parts[parts.length - 1]!
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
  const end = text.length - last.length
  let at = first.length
  // The leftmost place of every part leaves the most room for the rest.
  for (let i = 1; i < parts.length - 1; i++) {
    const start = text.indexOf(parts[i]!, at)
    if (start === -1) return false
    at = start + parts[i]!.length
  }
  return at <= end
}

const words = /[\p{Alphabetic}\p{Nd}]+/gu

/** The distinct trigrams of a text by pg_trgm's rules: of every lower-cased word, with two blanks before and one after it. */
const trigrams = (text: string): ReadonlySet<string> => {
  const parts = new Set<string>()
  for (const [word] of text.matchAll(words)) {
    const chars = [" ", " ", ...Array.from(lower(word)), " "]
    for (let at = 0; at + 2 < chars.length; at++) parts.add(chars[at]! + chars[at + 1]! + chars[at + 2]!)
  }
  return parts
}

/** pg_trgm's `similarity(a, b) >= 0.3`, decided in whole numbers. Texts without letters or digits are similar to nothing. */
export const isSimilar = (a: string, b: string): boolean => {
  const left = trigrams(a)
  const right = trigrams(b)
  if (left.size === 0 || right.size === 0) return false
  let shared = 0
  for (const trigram of left) {
    if (right.has(trigram)) shared++
  }
  return shared * 10 >= (left.size + right.size - shared) * 3
}
