/**
 * Tables as text (RFC 4180): converts cells to lines, and lines to cells. A null is an empty value without quotes, an empty text is `""`. It knows
 * no fields and no files.
 */

import * as Result from "effect/Result"
import type { Delimiter, Formulas } from "../read/request.ts"
import type { Cell } from "../value/kind.ts"

/** The characters that separate values. */
export const delimiterOf: { readonly [name in Delimiter]: string } = { comma: ",", semicolon: ";", tab: "\t" }

/**
 * Texts that a spreadsheet reads as a formula: they begin with one of these characters, or with its full-width form. Apostrophes before the
 * character count as part of the pattern, so that the guard can be removed without ambiguity.
 */
const formula = /^'*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/
const marked = /^''*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/

/** Puts an apostrophe before a text that a spreadsheet would evaluate. */
export const guardFormula = (text: string): string => formula.test(text) ? `'${text}` : text

/** Removes the apostrophe of `guardFormula`. Other texts stay as they are. */
export const unguardFormula = (text: string): string => marked.test(text) ? text.slice(1) : text

/** Kinds whose texts are never formulas, though they may begin with a sign. */
const numeric = new Set(["integer", "decimal", "float", "money"])

/** Writes one value of a column of the kind. */
export const csvValue = (kind: string, delimiter: Delimiter, formulas: Formulas): (cell: Cell) => string => {
  const special = delimiter === "comma" ? /[",\r\n]/ : delimiter === "semicolon" ? /[";\r\n]/ : /["\t\r\n]/
  const guards = formulas === "escape" && !numeric.has(kind)
  return (cell) => {
    if (cell === null) return ""
    const text = guards ? guardFormula(cell) : cell
    return text === "" || special.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text
  }
}

/** A value as it stood in a table. Null: it was empty and without quotes. */
export interface CsvRecord {
  readonly values: readonly Cell[]
  /** The line that it begins in, from 1. */
  readonly line: number
}

/** What is wrong with a table as text, and where. */
export interface CsvProblem {
  readonly line: number
  readonly column: number
  readonly message: string
}

/** Bounds of one record. */
export interface CsvLimits {
  readonly columns: number
  /** Characters of one record. */
  readonly characters: number
}

type Read = Result.Result<readonly CsvRecord[], CsvProblem>

/**
 * Reads a table piece by piece. It holds at most one incomplete record besides the complete ones. After a problem it reads nothing more. A quote
 * counts only at the beginning of a value. Lines end with LF, CRLF or CR. Empty lines are skipped.
 */
export class CsvReader {
  readonly #delimiter: string
  readonly #limits: CsvLimits
  #line = 1
  #began = 1
  #values: Cell[] = []
  #text = ""
  #size = 0
  #state: "start" | "plain" | "quoted" | "closed" = "start"
  #afterCr = false

  constructor(delimiter: Delimiter, limits: CsvLimits) {
    this.#delimiter = delimiterOf[delimiter]
    this.#limits = limits
  }

  /** The records that a further piece of text completes. */
  read(text: string): Read {
    const records: CsvRecord[] = []
    const delimiter = this.#delimiter
    let from = 0
    for (let i = 0; i < text.length; i++) {
      const char = text[i]!
      if (this.#afterCr) {
        this.#afterCr = false
        if (char === "\n") {
          if (this.#state === "quoted") this.#text += char
          from = i + 1
          continue
        }
      }
      if (char === "\0") return this.#problem("The text holds a NUL character.")
      if (this.#state === "quoted") {
        if (char === "\"") {
          this.#take(text.slice(from, i))
          this.#state = "closed"
          from = i + 1
        } else if (char === "\n" || char === "\r") {
          if (char === "\r") {
            // The LF after it belongs to the same line end.
            this.#take(text.slice(from, i + 1))
            from = i + 1
            this.#afterCr = true
          }
          this.#line++
        }
        if (this.#size + i - from > this.#limits.characters) return this.#tooLong()
        continue
      }
      if (this.#state === "closed" && char === "\"") {
        this.#take("\"")
        this.#state = "quoted"
        from = i + 1
        continue
      }
      const ends = char === delimiter || char === "\n" || char === "\r"
      if (!ends) {
        if (this.#state === "closed") {
          return this.#problem("A closing quote must be followed by a separator or the end of the line.")
        }
        if (this.#state === "start") {
          if (char === "\"") {
            this.#state = "quoted"
            from = i + 1
            continue
          }
          this.#state = "plain"
          from = i
        }
        if (this.#size + i - from > this.#limits.characters) return this.#tooLong()
        continue
      }
      if (this.#state === "plain") this.#take(text.slice(from, i))
      this.#endValue()
      from = i + 1
      if (this.#values.length > this.#limits.columns) {
        return this.#problem(`A line has at most ${this.#limits.columns} values.`)
      }
      if (char === delimiter) continue
      this.#endRecord(records)
      this.#line++
      this.#began = this.#line
      this.#afterCr = char === "\r"
    }
    if (this.#state === "plain" || this.#state === "quoted") this.#take(text.slice(from))
    return this.#size > this.#limits.characters ? this.#tooLong() : Result.succeed(records)
  }

  /** The last record, where the text does not end with the end of a line. */
  end(): Read {
    const records: CsvRecord[] = []
    if (this.#state === "quoted") return this.#problem("A quote is not closed.", this.#began)
    if (this.#state !== "start" || this.#values.length > 0) {
      this.#endValue()
      this.#endRecord(records)
    }
    return Result.succeed(records)
  }

  #take(text: string): void {
    this.#text += text
    this.#size += text.length
  }

  #endValue(): void {
    this.#values.push(this.#state === "start" ? null : this.#text)
    this.#text = ""
    this.#size++
    this.#state = "start"
  }

  #endRecord(records: CsvRecord[]): void {
    const values = this.#values
    this.#values = []
    this.#size = 0
    if (values.length > 1 || values[0] !== null) records.push({ values, line: this.#began })
  }

  #problem(message: string, line = this.#line): Read {
    return Result.fail({ line, column: this.#values.length + 1, message })
  }

  #tooLong(): Read {
    return this.#problem(`A line has at most ${this.#limits.characters.toLocaleString("en")} characters.`)
  }
}

/** The separator of a table: the most frequent one in its first line, outside of quotes. */
export const guessDelimiter = (line: string): Delimiter => {
  const outside = line.replaceAll(/"[^"]*"/g, "")
  let best: Delimiter = "comma"
  let most = 0
  for (const name of ["comma", "semicolon", "tab"] as const) {
    const count = outside.split(delimiterOf[name]).length - 1
    if (count > most) [best, most] = [name, count]
  }
  return best
}
