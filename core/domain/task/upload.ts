/**
 * Parses an uploaded table piece by piece, from bytes to lines. It holds one record at a time. Invalid input is refused with its line. Other
 * modules decide which fields the columns are for.
 */

import * as Result from "effect/Result"
import type { Delimiter } from "../read/request.ts"
import { parseJson } from "../value/json.ts"
import type { Cell, Json } from "../value/kind.ts"
import { CsvReader, guessDelimiter } from "./csv.ts"
import type { CsvProblem } from "./csv.ts"

/** A line of a table, whose values pair with the columns, or an object of NDJSON. */
export type UploadedLine =
  | { readonly line: number; readonly values: readonly Cell[] }
  | { readonly line: number; readonly record: { readonly [name: string]: Json } }

/** Most columns, and most characters of one line. */
const mostColumns = 500
const mostCharacters = 1_048_576

export type UploadProblem = CsvProblem

type Lines = Result.Result<readonly UploadedLine[], UploadProblem>

const refuse = (line: number, message: string, column = 1): Result.Result<never, UploadProblem> =>
  Result.fail({ line, column, message })

const isObject = (value: Json): value is { readonly [name: string]: Json } =>
  value !== null && typeof value === "object" && !Array.isArray(value)

/** Reads an upload. After a problem it reads nothing more. */
export class UploadReader {
  readonly #format: "csv" | "ndjson"
  readonly #decoder = new TextDecoder("utf-8", { fatal: true })
  readonly #columns: string[] = []
  readonly #names = new Set<string>()
  #delimiter: Delimiter | null
  #csv: CsvReader | null = null
  /** The beginning of a table until its separator is known; the rest of a line of NDJSON. */
  #held = ""
  #line = 1
  #begun = false
  #hasHead = false

  constructor(format: "csv" | "ndjson", delimiter: Delimiter | null) {
    this.#format = format
    this.#delimiter = delimiter
  }

  /** The names of the columns so far. */
  get columns(): readonly string[] {
    return this.#columns
  }

  get delimiter(): Delimiter {
    return this.#delimiter ?? "comma"
  }

  read(bytes: Uint8Array): Lines {
    if (!this.#begun && bytes.length > 1) {
      this.#begun = true
      if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
        return refuse(1, "The file is in UTF-16. Save it as UTF-8.")
      }
    }
    try {
      return this.#text(this.#decoder.decode(bytes, { stream: true }))
    } catch {
      return this.#encoding()
    }
  }

  end(): Lines {
    let rest: string
    try {
      rest = this.#decoder.decode()
    } catch {
      return this.#encoding()
    }
    return Result.flatMap(
      this.#text(rest),
      (before) =>
        Result.map(
          this.#format === "csv" ? this.#endTable() : this.#objects([this.#held]),
          (last) => [...before, ...last]
        )
    )
  }

  #encoding(): Lines {
    return refuse(this.#line, "The file is not valid UTF-8. Save it as UTF-8.")
  }

  #text(text: string): Lines {
    return this.#format === "csv" ? this.#table(text) : this.#lines(text)
  }

  #table(text: string): Lines {
    if (this.#csv !== null) return this.#records(this.#csv.read(text))
    this.#held += text
    const end = /[\r\n]/.exec(this.#held)?.index ?? -1
    if (this.#delimiter === null && end < 0 && this.#held.length < 65_536) return Result.succeed([])
    return this.#beginTable(end < 0 ? this.#held : this.#held.slice(0, end))
  }

  #beginTable(first: string): Lines {
    this.#delimiter ??= guessDelimiter(first)
    this.#csv = new CsvReader(this.#delimiter, { columns: mostColumns, characters: mostCharacters })
    const held = this.#held
    this.#held = ""
    return this.#records(this.#csv.read(held))
  }

  #endTable(): Lines {
    const before = this.#csv === null ? this.#beginTable(this.#held) : Result.succeed([])
    return Result.flatMap(before, (lines) => Result.map(this.#records(this.#csv!.end()), (last) => [...lines, ...last]))
  }

  #records(read: ReturnType<CsvReader["read"]>): Lines {
    if (Result.isFailure(read)) return Result.fail(read.failure)
    const lines: UploadedLine[] = []
    for (const { line, values } of read.success) {
      this.#line = line
      if (!this.#hasHead) {
        this.#hasHead = true
        for (const [index, name] of values.entries()) this.#columns.push((name ?? `column ${index + 1}`).slice(0, 200))
        continue
      }
      if (values.length > this.#columns.length) {
        return refuse(
          line,
          `The line has ${values.length} values, and the first line names ${this.#columns.length} columns.`,
          this.#columns.length + 1
        )
      }
      lines.push({ line, values })
    }
    return Result.succeed(lines)
  }

  #lines(text: string): Lines {
    const parts = (this.#held + text).split("\n")
    this.#held = parts.pop()!
    return this.#held.length > mostCharacters ? this.#tooLong() : this.#objects(parts)
  }

  #tooLong(): Lines {
    return refuse(this.#line, `A line has at most ${mostCharacters.toLocaleString("en")} characters.`)
  }

  #objects(texts: readonly string[]): Lines {
    const lines: UploadedLine[] = []
    for (const text of texts) {
      const line = this.#line++
      if (text.length > mostCharacters) {
        this.#line = line
        return this.#tooLong()
      }
      if (text.trim() === "") continue
      const json = parseJson(text)
      if (Result.isFailure(json)) {
        return refuse(line, `The line is not valid JSON: ${json.failure.message}`, json.failure.at + 1)
      }
      if (!isObject(json.success)) return refuse(line, "The line is not a JSON object.")
      for (const name of Object.keys(json.success)) {
        if (this.#names.has(name)) continue
        if (name.length > 200) return refuse(line, "A name has at most 200 characters.")
        if (this.#columns.length >= mostColumns) {
          return refuse(line, `The objects have at most ${mostColumns} names together.`)
        }
        this.#names.add(name)
        this.#columns.push(name)
      }
      lines.push({ line, record: json.success })
    }
    return Result.succeed(lines)
  }
}
