/**
 * From a filter text to its syntax, by the grammar of AIP-160. NOT and - bind tightest, OR binds tighter than AND, and white space between
 * terms is AND. It stops at the first error and at every limit, so any text is answered in linear time on a small stack. It knows no
 * fields.
 */

import * as Result from "effect/Result"
import { nameText } from "../model/path.ts"
import type { Span } from "../problem.ts"
import { pastCharacters } from "../value/cell.ts"
import type { Comparator, Token } from "./lex.ts"
import { decode, scan, unreadable } from "./lex.ts"
import type { FilterError, FilterErrorCode } from "./scope.ts"
import { quote, refusal } from "./scope.ts"

/** Limits of a filter; see the reference page. */
export const maxCharacters = 200_000
const maxLevels = 32
const maxTerms = 1_000
const maxValues = 5_000
const maxShiftSeconds = 1_000n * 31_557_600n

/** The names that a following parenthesis makes a call even across white space. */
const spacedNames = ["in", "search", "similar", "regex", "isNull", "now"] as const
/** All functions. The further ones are words of everyday texts: only a parenthesis right behind makes them a call. */
export const functionNames = [
  ...spacedNames,
  "has",
  "count",
  "length",
  "same",
  "begins",
  "field",
  "contains",
  "overlaps"
] as const
/** Functions that give a number, which is compared. */
const countNames: readonly string[] = ["count", "length"] satisfies readonly FunctionName[]
export type FunctionName = (typeof functionNames)[number]

/** Unquoted text as written, escapes included. */
export interface Word extends Span {
  readonly of: "word"
  readonly text: string
}

/** Quoted text: what stands between the quotes, escapes included. The span has the quotes. */
export interface Quoted extends Span {
  readonly of: "string"
  readonly text: string
}

/** A sum of offsets in microseconds, and where it stands. */
export interface Shift extends Span {
  readonly micros: bigint
}

/** `name(args)`; `shift` is the sum of the offsets that follow, in microseconds. The span has them. */
export interface FunctionCall extends Span {
  readonly of: "call"
  readonly name: Word
  readonly args: readonly Value[]
  readonly shift: Shift | null
}

export type Value = Word | Quoted | FunctionCall

export type Syntax =
  | { readonly node: "and" | "or"; readonly items: readonly Syntax[] }
  | { readonly node: "not"; readonly item: Syntax }
  | {
    readonly node: "restriction"
    readonly field: Word
    readonly is: Comparator
    readonly isAt: Span
    readonly value: Value
  }
  | { readonly node: "call"; readonly call: FunctionCall }
  /** A call that is compared: `count(lines) >= 3`. */
  | {
    readonly node: "counted"
    readonly call: FunctionCall
    readonly is: Comparator
    readonly isAt: Span
    readonly value: Value
  }
  /** A bare word or phrase: text search. */
  | { readonly node: "global"; readonly value: Word | Quoted }

/** The field and comparator of a group in value position: `status = (a OR b)`. */
interface Target {
  readonly field: Word
  readonly is: Comparator
  readonly isAt: Span
}

class Refused {
  readonly error: FilterError
  constructor(error: FilterError) {
    this.error = error
  }
}

const quoteHint = "Put text that holds spaces, quotes or operators in quotes, such as \"two words\"."
const shiftPattern = /^([+-]?)(\d{1,12})([smhdw])$/
const unitSeconds: { readonly [unit: string]: bigint } = { s: 1n, m: 60n, h: 3_600n, d: 86_400n, w: 604_800n }
const foreignOperators: { readonly [word: string]: string } = { "&&": "AND", "&": "AND", "||": "OR", "|": "OR" }
/** Functions of SQL that people wrap around a field. */
const foreignFunctions: { readonly [name: string]: string } = {
  lower: "same(field, 'text') or begins(field, 'text'), which ignore case",
  upper: "same(field, 'text') or begins(field, 'text'), which ignore case"
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57
/** Whether a word is an operator in another case. A search for that word would silently give other rows. */
const isOperatorInCase = ({ kind, text }: Token, operators: readonly string[]): boolean =>
  kind === "word" && text.length <= 3 && !operators.includes(text) && operators.includes(text.toUpperCase())
const binary = ["AND", "OR"] as const
const negation = ["NOT"] as const
const isKeyword = (token: Token): boolean =>
  token.kind === "word" && (token.text === "AND" || token.text === "OR" || token.text === "NOT")

const wordOf = (token: Token): Word => ({ of: "word", text: token.text, start: token.start, end: token.end })

class Parser {
  readonly text: string
  token: Token
  /** End of the token before `token`. */
  end = 0
  terms: number

  constructor(text: string, terms: number) {
    this.text = text
    this.terms = terms
    this.token = this.read(0)
  }

  refuse(code: FilterErrorCode, message: string, hint: string, span: Span): never {
    throw new Refused(refusal(code, message, hint, span))
  }

  read(from: number): Token {
    const token = scan(this.text, from)
    if (token.kind === "unterminated") throw new Refused(openQuote(token))
    if (token.kind === "stray") this.refuse("syntax", "This character cannot stand here.", quoteHint, token)
    return token
  }

  advance(): void {
    this.end = this.token.end
    this.token = this.read(this.token.end)
  }

  /** A method call: after a property test the compiler would keep the narrowed type across `advance`. */
  at(kind: Token["kind"]): boolean {
    return this.token.kind === kind
  }

  isWord(text: string): boolean {
    return this.token.kind === "word" && this.token.text === text
  }

  /** Refuses an operator in small letters where one could stand. Before a comparison it is the name of a field. */
  inCapitals(operators: readonly string[]): void {
    const { token } = this
    if (!isOperatorInCase(token, operators) || scan(this.text, token.end).kind === "comparator") return
    this.refuse(
      "syntax",
      `${quote(token.text)} is no operator: operators are written in capitals.`,
      `Write ${token.text.toUpperCase()}, or ${quote(token.text)} in quotes to search for the word.`,
      token
    )
  }

  enter(levels: number, span: Span): number {
    return levels <= maxLevels
      ? levels
      : this.refuse(
        "limit",
        `The filter is nested deeper than ${maxLevels} levels.`,
        "Use fewer parentheses and negations.",
        span
      )
  }

  term(span: Span): void {
    if (++this.terms > maxTerms) {
      this.refuse(
        "limit",
        `The filter has more than ${maxTerms} conditions.`,
        "Use in(field, value, …) for many values of one field.",
        span
      )
    }
  }

  whole(): Syntax | null {
    if (this.at("end")) return null
    const syntax = this.expression(0, null)
    // `expression` stops at the end of the text, or at a closing parenthesis without an opening one.
    if (!this.at("end")) {
      this.refuse("syntax", "This parenthesis was never opened.", "Remove it, or open it before.", this.token)
    }
    return syntax
  }

  expression(level: number, target: Target | null): Syntax {
    const items = [this.factor(level, target)]
    while (!this.at("end") && !this.at(")")) {
      this.inCapitals(binary)
      if (this.isWord("AND")) this.advance()
      else if (this.token.start === this.end && !this.at("(") && this.text[this.end - 1] !== ")") {
        this.refuse("syntax", "Two conditions need a space or an operator between them.", quoteHint, this.token)
      }
      items.push(this.factor(level, target))
    }
    return items.length === 1 ? items[0]! : { node: "and", items }
  }

  factor(level: number, target: Target | null): Syntax {
    const items = [this.negatable(level, target)]
    while (this.isWord("OR")) {
      this.advance()
      items.push(this.negatable(level, target))
    }
    return items.length === 1 ? items[0]! : { node: "or", items }
  }

  negatable(level: number, target: Target | null): Syntax {
    let inside = level
    for (;;) {
      const token = this.token
      if (token.kind !== "word") break
      this.inCapitals(negation)
      if (token.text === "NOT" || token.text === "-") this.advance()
      else if (token.text.startsWith("-") && !(target !== null && isDigit(token.text.charCodeAt(1)))) {
        this.token = { ...token, text: token.text.slice(1), start: token.start + 1 }
        this.end = token.start + 1
      } else break
      inside = this.enter(inside + 1, { start: token.start, end: token.start + (token.text.startsWith("-") ? 1 : 3) })
    }
    const item = this.simple(inside, target)
    return (inside - level) % 2 === 1 ? { node: "not", item } : item
  }

  simple(level: number, target: Target | null): Syntax {
    const token = this.token
    if (token.kind === "(") return this.group(level, target)
    if (token.kind !== "word" && token.kind !== "string") return this.expected(token)
    if (isKeyword(token)) {
      return this.refuse(
        "syntax",
        `A condition is missing before ${token.text}.`,
        "AND and OR stand between two conditions.",
        token
      )
    }
    if (token.kind === "word" && Object.hasOwn(foreignOperators, token.text)) {
      return this.refuse(
        "syntax",
        `${quote(token.text)} is not an operator.`,
        `Write ${foreignOperators[token.text]}.`,
        token
      )
    }
    this.term(token)
    if (target === null) this.path()
    const name = wordOf(this.token)
    this.advance()
    if (target !== null) return this.targeted(token, level, target)
    if (token.kind === "word") {
      if (this.opensCall(name, spacedNames)) {
        const call = this.call(name, level)
        if (this.at("comparator") && Object.hasOwn(foreignFunctions, name.text)) {
          this.refuse(
            "unknown-function",
            `There is no function ${quote(name.text)}.`,
            `Write ${foreignFunctions[name.text]}.`,
            name
          )
        }
        return countNames.includes(name.text) && this.at("comparator")
          ? this.counted(call, level)
          : { node: "call", call }
      }
      if (this.at("comparator")) return this.restriction(name, level)
      if (token.text.startsWith(".") || token.text.endsWith(".")) {
        this.refuse(
          "syntax",
          "A path has no spaces and no empty parts.",
          "Write it as one word, such as customer.country.",
          token
        )
      }
      // In AIP-160 a period leads to a member, which needs a comparison.
      if (token.text.includes(".")) {
        this.refuse("syntax", "A word to search for has no periods.", `Put it in quotes: ${quote(token.text)}.`, token)
      }
      return { node: "global", value: name }
    }
    if (this.at("comparator")) {
      this.refuse(
        "syntax",
        "The left side of a comparison is a field's name.",
        "Write the name without quotes, such as status = \"paid\".",
        token
      )
    }
    return { node: "global", value: this.quoted(token) }
  }

  /** A value inside a group in value position. */
  targeted(token: Token, level: number, target: Target): Syntax {
    const name = wordOf(token)
    const value = token.kind === "string"
      ? this.quoted(token)
      : this.opensCall(name, ["now"])
      ? this.called(name, level)
      : name
    if (this.at("comparator")) {
      this.refuse(
        "syntax",
        "A group after a comparison holds values only.",
        "Write it as status = (draft OR paid).",
        this.token
      )
    }
    return { node: "restriction", ...target, value }
  }

  group(level: number, target: Target | null): Syntax {
    const open = this.token
    const inside = this.enter(level + 1, open)
    this.advance()
    if (this.at(")")) {
      this.refuse("syntax", "These parentheses are empty.", "Put a condition between them.", {
        start: open.start,
        end: this.token.end
      })
    }
    const syntax = this.expression(inside, target)
    if (!this.at(")")) {
      this.refuse("syntax", "This parenthesis is never closed.", "Add a closing parenthesis.", open)
    }
    this.advance()
    return syntax
  }

  restriction(field: Word, level: number): Syntax {
    const is = this.token.text as Comparator
    const isAt = { start: this.token.start, end: this.token.end }
    this.advance()
    if (this.at("comparator")) {
      this.refuse("syntax", "Two operators stand in a row.", "The operators are = != < <= > >= and :.", {
        start: isAt.start,
        end: this.token.end
      })
    }
    if (this.at("(")) {
      // The group counts as one condition per value in it.
      this.terms--
      // A group of != is the negation of the group: status != (a OR b) keeps what is neither.
      if (is !== "!=") return this.group(level, { field, is, isAt })
      return { node: "not", item: this.group(this.enter(level + 1, isAt), { field, is: "=", isAt }) }
    }
    return { node: "restriction", field, is, isAt, value: this.value(level, `after ${is}`) }
  }

  counted(call: FunctionCall, level: number): Syntax {
    const { end, start, text } = this.token
    this.advance()
    return {
      node: "counted",
      call,
      is: text as Comparator,
      isAt: { start, end },
      value: this.value(level, `after ${text}`)
    }
  }

  quoted(token: Token): Quoted {
    return { of: "string", text: token.text, start: token.start, end: token.end }
  }

  /** Takes the names in quotes that belong to the next word, which names a field. */
  path(): void {
    if (this.token.kind !== "word") return
    const path = pathFrom(this.text, this.token)
    if (Result.isFailure(path)) throw new Refused(path.failure)
    this.token = path.success
  }

  opensCall(name: Word, acrossSpace: readonly string[]): boolean {
    return this.at("(") && (this.token.start === name.end || acrossSpace.includes(name.text))
  }

  value(level: number, where: string): Value {
    const token = this.token
    if ((token.kind !== "word" && token.kind !== "string") || isKeyword(token)) {
      return this.refuse(
        "syntax",
        `A value is missing ${where}.`,
        isKeyword(token)
          ? `Put ${token.text} in quotes to mean the word itself.`
          : "Write a value, such as 42 or \"text\".",
        token
      )
    }
    this.advance()
    if (token.kind === "string") return this.quoted(token)
    const word = wordOf(token)
    return this.opensCall(word, ["now"]) ? this.called(word, level) : word
  }

  /** A call in value position. After the name of a field no offset can stand, so that a dash there begins a condition. */
  called(name: Word, level: number): FunctionCall {
    const call = this.call(name, level)
    return name.text === "field" ? call : this.shifted(call)
  }

  call(name: Word, level: number): FunctionCall {
    const inside = this.enter(level + 1, this.token)
    const open = this.token
    this.advance()
    const args: Value[] = []
    if (!this.at(")")) {
      this.path()
      for (;;) {
        args.push(this.value(inside, `in ${quote(name.text)}`))
        if (!this.at(",")) break
        // The first argument is the field.
        if (args.length > maxValues) {
          this.refuse(
            "limit",
            `The function has more than ${maxValues} values.`,
            "Split the request into several.",
            this.token
          )
        }
        this.advance()
      }
    }
    if (this.at("end")) this.refuse("syntax", "This parenthesis is never closed.", "Add a closing parenthesis.", open)
    if (!this.at(")")) {
      this.refuse("syntax", "Expected a comma or a closing parenthesis.", quoteHint, this.token)
    }
    this.advance()
    return { of: "call", name, args, shift: null, start: name.start, end: this.end }
  }

  /** Reads the offsets after a call in value position: `now() - 7d`, `now() -7d + 1h`. A sign there begins an offset and nothing else. */
  shifted(call: FunctionCall): FunctionCall {
    let shift = null as Shift | null
    for (;;) {
      const sign = this.token
      if (sign.kind !== "word" || (sign.text[0] !== "+" && sign.text[0] !== "-")) break
      let amount = sign
      if (sign.text.length === 1) {
        const next = scan(this.text, sign.end)
        if (next.kind === "word") amount = next
      }
      const span = { start: sign.start, end: amount.end }
      const match = shiftPattern.exec(amount.text)
      // In `now() - -7d` one of the two signs would be lost.
      if (match === null || (amount !== sign && match[1] !== "")) {
        return this.refuse(
          "syntax",
          "This is not an offset.",
          "Write a whole number with s, m, h, d or w, such as now() - 7d. Write AND before a condition that begins with a minus.",
          span
        )
      }
      const seconds = BigInt(match[2]!) * unitSeconds[match[3]!]! * (sign.text[0] === "-" ? -1n : 1n)
      const micros = (shift?.micros ?? 0n) + seconds * 1_000_000n
      if (micros > maxShiftSeconds * 1_000_000n || micros < -maxShiftSeconds * 1_000_000n) {
        return this.refuse("limit", "The offset is longer than 1,000 years.", "Use a time in quotes instead.", span)
      }
      shift = { start: shift?.start ?? span.start, end: span.end, micros }
      if (amount !== sign) this.advance()
      this.advance()
    }
    return shift === null ? call : { ...call, shift, end: shift.end }
  }

  expected(token: Token): never {
    switch (token.kind) {
      case "end":
        return this.refuse(
          "syntax",
          "A condition is missing at the end.",
          "Write a condition, such as status = \"paid\".",
          token
        )
      case "comparator":
        return this.refuse(
          "syntax",
          `${quote(token.text)} has no field on its left.`,
          "Write a field's name before it, such as status = \"paid\".",
          token
        )
      case ")":
        return this.refuse(
          "syntax",
          "A condition is missing before this parenthesis.",
          "Remove it, or write a condition before it.",
          token
        )
      default:
        return this.refuse(
          "syntax",
          `${quote(token.text)} cannot stand here.`,
          "Commas belong between the arguments of a function.",
          token
        )
    }
  }
}

/**
 * A word, with the names in quotes that follow it without a space: `meta."net weight".unit`. They are JSON's: names of fields and relations need no quotes.
 * Its text is the one that such a path has.
 */
export const pathFrom = (text: string, word: Token): Result.Result<Token, FilterError> => {
  let { end, text: path } = word
  while (path.endsWith(".")) {
    const name = scan(text, end)
    if (name.start !== end || name.kind !== "string") break
    const decoded = decode(name.text, name.start + 1)
    if (!decoded.ok) {
      return Result.fail(refusal("syntax", decoded.message, "Write \\\\ for a backslash.", decoded.span))
    }
    path += nameText(decoded.parts.join("*"))
    end = name.end
    const more = scan(text, end)
    if (more.start !== end || more.kind !== "word" || !more.text.startsWith(".")) break
    path += more.text
    end = more.end
  }
  return Result.succeed({ ...word, text: path, end })
}

/** Refuses a quote without its partner. */
export const openQuote = (span: Span): FilterError =>
  refusal(
    "syntax",
    "This quoted text has no end.",
    "Close the quote, or write \\\" or \\' for a quote inside the text.",
    span
  )

/** Refuses a text that is too long or holds characters that no database stores. */
export const textProblem = (text: string, most: number, what: string): FilterError | null => {
  const start = pastCharacters(text, most)
  if (start !== null) {
    return refusal("limit", `The ${what} has more than ${most} characters.`, `Shorten the ${what}.`, {
      start,
      end: text.length
    })
  }
  const bad = unreadable(text)
  return bad === null
    ? null
    : refusal(
      "syntax",
      "NUL characters and unpaired surrogates cannot be stored or looked for.",
      "Remove the character.",
      bad
    )
}

/** What a filter text says: null is the empty filter. */
export interface Parsed {
  readonly syntax: Syntax | null
  /** Its conditions, and those that were counted before it. */
  readonly terms: number
}

/** Parses a filter. The error is the first one in the text. `terms`: the conditions of the text that this one stands in. */
export const parseFilter = (text: string, terms = 0): Result.Result<Parsed, FilterError> => {
  const bad = textProblem(text, maxCharacters, "filter")
  if (bad !== null) return Result.fail(bad)
  try {
    const parser = new Parser(text, terms)
    const syntax = parser.whole()
    return Result.succeed({ syntax, terms: parser.terms })
  } catch (refused) {
    if (refused instanceof Refused) return Result.fail(refused.error)
    throw refused
  }
}
