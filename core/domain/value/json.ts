/**
 * Strict JSON for request bodies (RFC 8259), in one pass and with bounded depth. It refuses what parsers read differently: duplicate keys,
 * prototype keys, lone surrogates, trailing text. Numbers that a JavaScript number cannot hold exactly are refused, never rounded.
 */

import * as Result from "effect/Result"
import { endOfDigits } from "./digits.ts"
import type { Json } from "./kind.ts"

export const maxJsonDepth = 64

/**
 * Most members of one object, most members in all objects of a text, and most elements in all its lists. A member costs about a microsecond and an
 * element a fifth of one, and other requests wait meanwhile.
 */
export const maxJsonMembers = 10_000
export const maxJsonNames = 50_000
export const maxJsonElements = 250_000

/** Why a body is not acceptable JSON; `at` is a UTF-16 offset. */
export interface JsonProblem {
  readonly message: string
  readonly at: number
}

class Refused {
  readonly message: string
  readonly at: number
  constructor(message: string, at: number) {
    this.message = message
    this.at = at
  }
}

const forbiddenKeys = new Set(["__proto__", "constructor", "prototype"])
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const plainString = /[^"\\\u0000-\u001f]*/y
const escapes: { readonly [letter: string]: string } = {
  "\"": "\"",
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t"
}

class Reader {
  readonly text: string
  at = 0
  depth = 0
  /** Members and elements that were read so far. */
  names = 0
  elements = 0

  constructor(text: string) {
    this.text = text
  }

  space(): number {
    for (;;) {
      const c = this.text.charCodeAt(this.at)
      if (c === 32 || c === 10 || c === 13 || c === 9) this.at++
      else return c
    }
  }

  value(): Json {
    const c = this.space()
    if (c === 0x22) return this.string()
    if (c === 0x7b) return this.object()
    if (c === 0x5b) return this.array()
    if (c === 0x74) return this.word("true", true)
    if (c === 0x66) return this.word("false", false)
    if (c === 0x6e) return this.word("null", null)
    return this.number()
  }

  word<A extends Json>(word: string, value: A): A {
    if (!this.text.startsWith(word, this.at)) throw new Refused("unexpected text", this.at)
    this.at += word.length
    return value
  }

  number(): number {
    number.lastIndex = this.at
    // No `exec`, here and below: its results would be most of the garbage that parsing makes.
    if (!number.test(this.text)) {
      throw new Refused(this.at >= this.text.length ? "unexpected end of text" : "unexpected text", this.at)
    }
    const source = this.text.slice(this.at, number.lastIndex)
    const value = Number(source)
    if (!Number.isFinite(value) || !isExact(source, value)) {
      throw new Refused("this number cannot be held exactly; send it as text", this.at)
    }
    this.at += source.length
    return value
  }

  string(): string {
    const start = this.at
    let out = ""
    this.at++
    for (;;) {
      plainString.lastIndex = this.at
      plainString.test(this.text)
      out += this.text.slice(this.at, plainString.lastIndex)
      this.at = plainString.lastIndex
      const c = this.text[this.at]
      if (c === "\"") {
        this.at++
        if (!out.isWellFormed()) throw new Refused("text with a lone surrogate", start)
        return out
      }
      if (c !== "\\") throw new Refused(c === undefined ? "unterminated text" : "control character in text", this.at)
      const letter = this.text[this.at + 1] ?? ""
      if (letter === "u") {
        const hex = this.text.slice(this.at + 2, this.at + 6)
        if (!/^[0-9a-fA-F]{4}$/.test(hex)) throw new Refused("bad \\u escape", this.at)
        out += String.fromCharCode(Number.parseInt(hex, 16))
        this.at += 6
      } else {
        const plainChar = Object.hasOwn(escapes, letter) ? escapes[letter] : undefined
        if (plainChar === undefined) throw new Refused("bad escape", this.at)
        out += plainChar
        this.at += 2
      }
    }
  }

  enter(): void {
    if (++this.depth > maxJsonDepth) throw new Refused(`nested deeper than ${maxJsonDepth} levels`, this.at)
    this.at++
  }

  array(): Json[] {
    this.enter()
    const items: Json[] = []
    if (this.space() === 0x5d) {
      this.at++
      this.depth--
      return items
    }
    for (;;) {
      if (++this.elements > maxJsonElements) {
        throw new Refused(`more than ${maxJsonElements} elements in all lists`, this.at)
      }
      items.push(this.value())
      const c = this.space()
      this.at++
      if (c === 0x5d) {
        this.depth--
        return items
      }
      if (c !== 0x2c) throw new Refused("expected , or ]", this.at - 1)
    }
  }

  object(): { readonly [key: string]: Json } {
    this.enter()
    const members: { [key: string]: Json } = {}
    let count = 0
    if (this.space() === 0x7d) {
      this.at++
      this.depth--
      return members
    }
    for (;;) {
      if (this.space() !== 0x22) throw new Refused("expected a name in quotes", this.at)
      const at = this.at
      // Counted before anything of it is kept.
      if (++count > maxJsonMembers) throw new Refused(`more than ${maxJsonMembers} members in one object`, at)
      if (++this.names > maxJsonNames) throw new Refused(`more than ${maxJsonNames} members in all`, at)
      const key = this.string()
      if (forbiddenKeys.has(key)) throw new Refused("a name that is not allowed", at)
      if (Object.hasOwn(members, key)) throw new Refused("the same name twice in one object", at)
      if (this.space() !== 0x3a) throw new Refused("expected :", this.at)
      this.at++
      members[key] = this.value()
      const c = this.space()
      this.at++
      if (c === 0x7d) {
        this.depth--
        return members
      }
      if (c !== 0x2c) throw new Refused("expected , or }", this.at - 1)
    }
  }
}

/**
 * Whether the double prints as the same decimal value as its source. Fifteen digits always do, unless the exponent makes them too small.
 */
const isExact = (source: string, value: number): boolean =>
  (source.length <= 15 && !source.includes("e") && !source.includes("E")) ||
  decimalDigits(source) === decimalDigits(String(value))

/** Sign, significant digits and exponent of a decimal text: equal texts mean equal values. */
const decimalDigits = (source: string): string => {
  const [mantissa = "", exponent = "0"] = source.toLowerCase().split("e")
  const negative = mantissa.startsWith("-")
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".")
  const digits = (whole + fraction).replace(/^0+/, "")
  const trimmed = digits.slice(0, endOfDigits(digits))
  if (trimmed === "") return "0"
  return `${negative ? "-" : ""}${trimmed}e${Number(exponent) - fraction.length + digits.length - trimmed.length}`
}

/** Parses a JSON text strictly. The text must already be valid Unicode. */
export const parseJson = (text: string): Result.Result<Json, JsonProblem> => {
  const reader = new Reader(text)
  try {
    const value = reader.value()
    reader.space()
    if (reader.at < text.length) throw new Refused("text after the value", reader.at)
    return Result.succeed(value)
  } catch (refused) {
    if (refused instanceof Refused) return Result.fail({ message: refused.message, at: refused.at })
    throw refused
  }
}

/** A reader that judges no number: of other people's documents only the names matter here. */
class NameReader extends Reader {
  override number(): number {
    number.lastIndex = this.at
    if (!number.test(this.text)) throw new Refused("unexpected text", this.at)
    this.at = number.lastIndex
    return 0
  }
}

/** Whether a JSON text is one, and says nothing twice: of a name that stands twice two readers may take different values. */
export const saysOnce = (text: string): boolean => {
  const reader = new NameReader(text)
  try {
    reader.value()
    reader.space()
    return reader.at === text.length
  } catch (refused) {
    if (refused instanceof Refused) return false
    throw refused
  }
}
