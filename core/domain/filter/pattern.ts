/**
 * Regular expressions in memory, by a linear-time engine. A caller's pattern never runs in JavaScript's own engine. PostgreSQL has the last
 * word on what a pattern means; this covers what the two engines share.
 */

import { RE2JS } from "re2js"

// Escapes that PostgreSQL means differently, outside brackets. `\b` is a backspace there, `\y` a word boundary.
const escapes: { readonly [letter: string]: string } = {
  y: "\\b",
  m: "\\b",
  M: "\\b",
  Y: "\\B",
  Z: "\\z",
  B: "\\\\",
  b: "\\x08",
  e: "\\x1b"
}

// Classes, as members of a bracket: PostgreSQL knows the letters of all scripts, the engine's own classes are ASCII.
const classes: { readonly [name: string]: string } = {
  w: "\\p{L}\\p{Nl}0-9_",
  s: "\\s\\v\\x{85}\\p{Z}",
  d: "0-9",
  alpha: "\\p{L}\\p{Nl}",
  alnum: "\\p{L}\\p{Nl}0-9",
  upper: "\\p{Lu}",
  lower: "\\p{Ll}",
  space: "\\s\\v\\x{85}\\p{Z}",
  digit: "0-9"
}

const outside = /\[\[:[<>]:\]\]|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\([^])|\[\^?\]?|[^]/y
const inside = /\[:([a-z]+):\]|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\([^])|[^]/y

const outsideText = (match: RegExpExecArray): string => {
  const [written, short, long, letter] = match
  const code = short ?? long
  if (code !== undefined) return `\\x{${code}}`
  if (written.startsWith("[[:")) return "\\b"
  if (letter === undefined) return written
  if (Object.hasOwn(classes, letter)) return `[${classes[letter]}]`
  const opposite = letter.toLowerCase()
  if (opposite !== letter && opposite.length === 1 && Object.hasOwn(classes, opposite)) return `[^${classes[opposite]}]`
  return Object.hasOwn(escapes, letter) ? escapes[letter]! : written
}

const insideText = (match: RegExpExecArray): string => {
  const [written, name, short, long, letter] = match
  const code = short ?? long
  if (code !== undefined) return `\\x{${code}}`
  const letters = name ?? letter
  return letters !== undefined && Object.hasOwn(classes, letters)
    ? classes[letters]!
    : written === "["
    ? "\\["
    : written
}

const translate = (pattern: string): string => {
  let text = ""
  let bracket = false
  for (let at = 0; at < pattern.length;) {
    const token: RegExp = bracket ? inside : outside
    token.lastIndex = at
    const match: RegExpExecArray = token.exec(pattern)!
    at = token.lastIndex
    text += bracket ? insideText(match) : outsideText(match)
    bracket = bracket ? match[0] !== "]" : match[0].startsWith("[") && match[0][1] !== "["
  }
  return text
}

/**
 * A test for a pattern: partial match, case-sensitive, `.` matches line breaks, `^` and `$` only the ends. Null for a pattern that is
 * wrong or needs what no linear-time engine has (back references, look-around).
 */
export const compilePattern = (pattern: string): ((text: string) => boolean) | null => {
  try {
    const compiled = RE2JS.compile(translate(pattern), RE2JS.DOTALL)
    return (text) => compiled.test(text)
  } catch {
    return null
  }
}
