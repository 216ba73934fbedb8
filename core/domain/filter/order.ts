/**
 * Reads an order text by AIP-132: names separated by commas, each ascending unless ` desc` follows. It decides which fields may sort
 * and in what direction; making an order total is the page's business.
 */

import * as Result from "effect/Result"
import type { Field, SortKey } from "../model/model.ts"
import { pastCharacters } from "../value/cell.ts"
import { maxWords } from "./functions.ts"
import type { Token } from "./lex.ts"
import { decode, scan } from "./lex.ts"
import { textProblem } from "./parse.ts"
import type { FilterError, FilterErrorCode, FilterScope } from "./scope.ts"
import { Findings, nameHint, namesOf, quote, refusal } from "./scope.ts"

/** Limits of an order. */
export const maxOrderCharacters = 10_000
const maxKeys = 20

const example = "Write names separated by commas, such as created_at desc, id."

const maySort = (field: Field): boolean => field.sortable && field.kind !== "json"

interface WrittenKey {
  readonly name: Token
  readonly descending: boolean
  /** `rank(vector, "text")`: the vector and the text. */
  readonly rank?: { readonly vector: Token; readonly text: Token; readonly end: number }
}

/** The arguments of a `rank` that begins at a parenthesis. */
const rankAt = (text: string, open: Token): Result.Result<NonNullable<WrittenKey["rank"]>, FilterError> => {
  const tokens: Token[] = []
  for (let at = open.end; tokens.length < 4;) {
    const token = scan(text, at)
    tokens.push(token)
    at = token.end
    if (token.kind === "end") break
  }
  const [vector, comma, words, close] = tokens
  return vector?.kind === "word" && comma?.kind === "," && (words?.kind === "word" || words?.kind === "string") &&
      close?.kind === ")"
    ? Result.succeed({ vector, text: words, end: close.end })
    : Result.fail(
      refusal("syntax", "rank() takes a search vector and a text.", "Write rank(vector, \"text\") desc.", {
        start: open.start,
        end: tokens.at(-1)!.end
      })
    )
}

const direction = (token: Token): FilterError => {
  const lower = token.text.toLowerCase()
  const hint = lower !== token.text && (lower === "asc" || lower === "desc")
    ? `Write ${lower} in small letters.`
    : `After a name may stand asc or desc. ${example}`
  return refusal("syntax", `${quote(token.text)} cannot stand here.`, hint, token)
}

const unexpected = (token: Token, code: FilterErrorCode = "syntax"): FilterError =>
  token.kind === "end" || token.kind === ","
    ? refusal(code, "A field's name is missing here.", example, token)
    : token.kind === "string"
    ? refusal(code, "A field's name stands without quotes.", example, token)
    : refusal(code, `${quote(token.text)} cannot stand here.`, example, token)

/** The keys as written; stops at the first error of the grammar. */
const writtenKeys = (text: string): Result.Result<readonly WrittenKey[], FilterError> => {
  const keys: WrittenKey[] = []
  let token = scan(text, 0)
  if (token.kind === "end") return Result.succeed(keys)
  for (;;) {
    if (token.kind !== "word") return Result.fail(unexpected(token))
    if (keys.length === maxKeys) {
      return Result.fail(refusal("limit", `The order has more than ${maxKeys} fields.`, "Name fewer fields.", token))
    }
    const name = token
    token = scan(text, name.end)
    let rank: WrittenKey["rank"]
    if (name.text === "rank" && token.kind === "(" && token.start === name.end) {
      const read = rankAt(text, token)
      if (Result.isFailure(read)) return Result.fail(read.failure)
      rank = read.success
      token = scan(text, rank.end)
    }
    let descending = false
    if (token.kind === "word") {
      if (token.text !== "asc" && token.text !== "desc") return Result.fail(direction(token))
      descending = token.text === "desc"
      token = scan(text, token.end)
    }
    keys.push({ name, descending, ...(rank === undefined ? {} : { rank }) })
    if (token.kind === "end") return Result.succeed(keys)
    if (token.kind !== ",") return Result.fail(token.kind === "word" ? direction(token) : unexpected(token))
    token = scan(text, token.end)
  }
}

/** A hint about a name. `-total` is how some other APIs write a descending order. */
const orderHint = (text: string, scope: FilterScope): string => {
  const hint = nameHint(text, namesOf(scope, maySort), "Fields that can be sorted")
  const field = text.startsWith("-") ? scope.names.get(text.slice(1)) : undefined
  return field !== undefined && maySort(field) ? `${hint} Write ${text.slice(1)} desc.` : hint
}

/** A rank as a field, or null after reporting. */
const rankOf = (
  findings: Findings,
  scope: FilterScope,
  { text, vector }: NonNullable<WrittenKey["rank"]>
): Field | null => {
  const named = scope.vectors?.get(vector.text)
  if (named === undefined) {
    const hint = nameHint(vector.text, [...scope.vectors?.keys() ?? []], "Search vectors")
    return findings.add("unknown-field", `There is no search vector ${quote(vector.text)}.`, hint, vector)
  }
  const decoded = decode(text.text, text.kind === "string" ? text.start + 1 : text.start)
  if (!decoded.ok) return findings.add("syntax", decoded.message, "Write \\\\ for a backslash.", decoded.span)
  const words = decoded.parts.join("*")
  if (pastCharacters(words, maxWords) !== null) {
    return findings.add("limit", `The text has more than ${maxWords} characters.`, "Look for fewer words.", text)
  }
  return { ...named, kind: "float", name: `rank(${named.name})`, rank: words }
}

/** Reads an order text against a scope. Errors: the first of the grammar, else all of the names. */
export const readOrder = (
  text: string,
  scope: FilterScope
): Result.Result<readonly SortKey[], readonly FilterError[]> => {
  const bad = textProblem(text, maxOrderCharacters, "order")
  if (bad !== null) return Result.fail([bad])
  const written = writtenKeys(text)
  if (Result.isFailure(written)) return Result.fail([written.failure])
  const findings = new Findings()
  const keys: SortKey[] = []
  const seen = new Set<Field>()
  for (const { descending, name, rank } of written.success) {
    if (rank !== undefined) {
      const field = rankOf(findings, scope, rank)
      if (field !== null) keys.push({ field, descending })
      continue
    }
    const field = scope.names.get(name.text)
    if (field === undefined || !maySort(field)) {
      const hint = orderHint(name.text, scope)
      if (field === undefined) findings.add("unknown-field", `There is no field ${quote(name.text)}.`, hint, name)
      else findings.add("not-sortable", `The field ${quote(name.text)} cannot be sorted.`, hint, name)
    } else if (seen.has(field)) {
      findings.add(
        "duplicate",
        `The field ${quote(name.text)} stands in the order twice.`,
        "Name every field once.",
        name
      )
    } else {
      seen.add(field)
      keys.push({ field, descending })
    }
  }
  return findings.errors.length > 0 ? Result.fail(findings.errors) : Result.succeed(keys)
}
