/**
 * Cuts a filter or order text into tokens and decodes escapes. It gives one token at a time, so a text that is refused early is never read
 * to its end. It never recurses, and knows neither grammar nor fields.
 */

import type { Span } from "../problem.ts"

export type Comparator = "=" | "!=" | "<" | "<=" | ">" | ">=" | ":"

/**
 * `word`: unquoted text, `text` as written · `string`: quoted text, `text` between the quotes and still escaped, span with quotes ·
 * `unterminated`: a quote without its partner, span to the end of the text · `stray`: a character that starts no token.
 */
export interface Token extends Span {
  readonly kind: "word" | "string" | "comparator" | "(" | ")" | "," | "unterminated" | "stray" | "end"
  readonly text: string
}

const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)

// Code units that end a word: controls and space, " ( ) , : < = > and, depending on what follows, ' and !.
const ends = new Uint8Array(128)
for (let code = 0; code <= 32; code++) ends[code] = 1
for (const char of "\"(),:<=>") ends[char.charCodeAt(0)] = 1
ends[39] = 2
ends[33] = 3

/** Plain letters and digits. An apostrophe belongs to a word only between two of them. */
const isLetter = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code >= 128

const instant = /\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}[\d:.]*(?:[Zz]|[+-]\d{2}:?\d{2})?/y

const wordEnd = (text: string, from: number): number => {
  instant.lastIndex = from
  // An unquoted time is the one word that holds colons.
  let at = instant.test(text) ? instant.lastIndex : from
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const end = code < 128 ? ends[code] : 0
    if (end === 0) {
      if (code === 92 && at + 1 < text.length && text.charCodeAt(at + 1) > 32) at++
      continue
    }
    if (end === 1) return at
    // O'Brien is one word; name='O' is not.
    if (end === 2 && at > from && isLetter(text.charCodeAt(at - 1)) && isLetter(text.charCodeAt(at + 1))) continue
    if (end === 3 && text.charCodeAt(at + 1) !== 61) continue
    return at
  }
  return at
}

/** The end of the string that opens at `from` (its closing quote), or -1. */
const closingQuote = (text: string, from: number): number => {
  const quote = text.charCodeAt(from)
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    if (code === 92) at++
  }
  return -1
}

/** The token that starts at or after `from`. */
export const scan = (text: string, from: number): Token => {
  let at = from
  while (at < text.length && isSpace(text.charCodeAt(at))) at++
  if (at >= text.length) return { kind: "end", text: "", start: text.length, end: text.length }
  const start = at
  const char = text[at]!
  switch (char) {
    case "(":
    case ")":
    case ",":
      return { kind: char, text: char, start, end: start + 1 }
    case "=":
    case ":":
      return { kind: "comparator", text: char, start, end: start + 1 }
    case "<":
    case ">": {
      const end = text.charCodeAt(start + 1) === 61 ? start + 2 : start + 1
      return { kind: "comparator", text: text.slice(start, end), start, end }
    }
    case "\"":
    case "'": {
      const close = closingQuote(text, start)
      return close === -1
        ? { kind: "unterminated", text: "", start, end: text.length }
        : { kind: "string", text: text.slice(start + 1, close), start, end: close + 1 }
    }
    case "!":
      if (text.charCodeAt(start + 1) === 61) return { kind: "comparator", text: "!=", start, end: start + 2 }
  }
  const end = wordEnd(text, start)
  return end === start
    ? { kind: "stray", text: char, start, end: start + 1 }
    : { kind: "word", text: text.slice(start, end), start, end }
}

/** The first character that no text may hold, as a span: NUL or an unpaired surrogate; null when the text is fine. */
export const unreadable = (text: string): Span | null => {
  const nul = text.indexOf("\0")
  if (text.isWellFormed()) return nul === -1 ? null : { start: nul, end: nul + 1 }
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0) return { start: at, end: at + 1 }
    if ((code & 0xf800) !== 0xd800) continue
    const paired = code < 0xdc00 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
    if (!paired) return { start: at, end: at + 1 }
    at++
  }
  return null
}

/** Decoded text: the parts between unescaped stars (one part when there is none), or what is wrong with an escape. */
export type Decoded =
  | { readonly ok: true; readonly parts: readonly string[] }
  | { readonly ok: false; readonly message: string; readonly span: Span }

const simpleEscapes: { readonly [letter: string]: string } = { n: "\n", r: "\r", t: "\t" }
const asThemselves = "\\\"'*"
const hex = /[0-9a-fA-F]{4}/y

/**
 * Decodes the escapes of a word or string: `\\ \" \' \*` stand for the character, `\n \r \t` for the control, `\uXXXX` for a UTF-16
 * unit. Every other escape is refused. `offset` is where `raw` starts in the whole text.
 */
export const decode = (raw: string, offset: number): Decoded => {
  if (!raw.includes("\\")) return { ok: true, parts: raw.includes("*") ? raw.split("*") : [raw] }
  const parts: string[] = []
  let part = ""
  let plainFrom = 0
  let at = 0
  while (at < raw.length) {
    const char = raw[at]
    if (char === "*") {
      parts.push(part + raw.slice(plainFrom, at))
      part = ""
      plainFrom = ++at
      continue
    }
    if (char !== "\\") {
      at++
      continue
    }
    part += raw.slice(plainFrom, at)
    const letter = raw[at + 1] ?? ""
    let length = 2
    if (letter !== "" && asThemselves.includes(letter)) part += letter
    else if (Object.hasOwn(simpleEscapes, letter)) part += simpleEscapes[letter]!
    else {
      hex.lastIndex = at + 2
      const unit = letter === "u" ? hex.exec(raw)?.[0] : undefined
      if (unit === undefined) {
        const width = letter === "" ? 1 : 1 + String.fromCodePoint(raw.codePointAt(at + 1)!).length
        return {
          ok: false,
          message: "This escape is not known.",
          span: { start: offset + at, end: offset + at + width }
        }
      }
      if (unit === "0000") {
        return {
          ok: false,
          message: "NUL cannot be stored or looked for.",
          span: { start: offset + at, end: offset + at + 6 }
        }
      }
      part += String.fromCharCode(Number.parseInt(unit, 16))
      length = 6
    }
    at += length
    plainFrom = at
  }
  parts.push(part + raw.slice(plainFrom))
  return parts.every((text) => text.isWellFormed())
    ? { ok: true, parts }
    : {
      ok: false,
      message: "A \\u escape stands for half a character only.",
      span: { start: offset, end: offset + raw.length }
    }
}

/**
 * Decodes a quoted regular expression. `\\ \" \'` stand for the character, as everywhere. Every other backslash belongs to the pattern, so
 * `'\d+\.'` is written as it is.
 */
export const decodePattern = (raw: string): string => raw.includes("\\") ? raw.replace(/\\([\\"'])/g, "$1") : raw
