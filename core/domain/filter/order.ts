/**
 * Reads an order text by AIP-132: names separated by commas, each ascending unless ` desc` follows. It decides which fields may sort
 * and in what direction; making an order total is the page's business.
 */

import * as Result from "effect/Result"
import type { Field, SortKey } from "../model/model.ts"
import { hasOrder } from "../value/traits.ts"
import type { Token } from "./lex.ts"
import { scan } from "./lex.ts"
import { textProblem } from "./parse.ts"
import type { FilterError, FilterErrorCode, FilterScope } from "./scope.ts"
import { Findings, nameHint, namesOf, quote, refusal } from "./scope.ts"

/** Limits of an order. */
export const maxOrderCharacters = 10_000
const maxKeys = 20

const example = "Write names separated by commas, such as created_at desc, id."

const maySort = (field: Field): boolean => field.sortable && hasOrder(field.kind)

interface WrittenKey {
  readonly name: Token
  readonly descending: boolean
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
    let descending = false
    if (token.kind === "word") {
      if (token.text !== "asc" && token.text !== "desc") return Result.fail(direction(token))
      descending = token.text === "desc"
      token = scan(text, token.end)
    }
    keys.push({ name, descending })
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
  for (const { descending, name } of written.success) {
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
