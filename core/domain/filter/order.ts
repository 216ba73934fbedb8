/**
 * Reads an order text by AIP-132: names separated by commas, each ascending unless ` desc` follows. A name may be a path through relations to one record
 * each: `customer.name`. It decides which fields may sort and in what direction; making an order total is the page's business.
 */

import * as Result from "effect/Result"
import { pathParts } from "../model/path.ts"
import { pastCharacters } from "../value/cell.ts"
import { hasOrder } from "../value/traits.ts"
import { maxWords } from "./functions.ts"
import type { Token } from "./lex.ts"
import { decode, scan } from "./lex.ts"
import { openQuote, pathFrom, textProblem } from "./parse.ts"
import type { Word } from "./parse.ts"
import { follow, hintFor, isWhole, relationSteps } from "./path.ts"
import type { Traveller } from "./path.ts"
import type { AnyScope, FilterError, FilterErrorCode, FilterScope } from "./scope.ts"
import { Findings, nameHint, namesOf, quote, refusal } from "./scope.ts"
import type { FilterField, FilterWay, OrderKey } from "./tree.ts"

/** Limits of an order. */
export const maxOrderCharacters = 10_000
const maxKeys = 20
/** Most fields of an order that are reached through relations, and of one that has such a field: each field is one more walk of a page. */
const maxOrderPaths = 1
const maxKeysBesidePath = 5

const example = "Write names separated by commas, such as created_at desc, id."

const maySort = (field: FilterField): boolean => field.sortable && hasOrder(field.kind)

interface WrittenKey {
  readonly name: Token
  readonly descending: boolean
  /** `rank(vector, "text")`: the vector and the text. */
  readonly rank?: { readonly vector: Token; readonly text: Token; readonly end: number }
}

/** The arguments of a `rank` that begins at a parenthesis. */
const rankAt = (text: string, bracket: Token): Result.Result<NonNullable<WrittenKey["rank"]>, FilterError> => {
  const tokens: Token[] = []
  for (let at = bracket.end; tokens.length < 4;) {
    const token = scan(text, at)
    tokens.push(token)
    at = token.end
    if (token.kind === "end") break
  }
  const open = tokens.find(({ kind }) => kind === "unterminated")
  if (open !== undefined) return Result.fail(openQuote(open))
  const [vector, comma, words, close] = tokens
  return vector?.kind === "word" && comma?.kind === "," && (words?.kind === "word" || words?.kind === "string") &&
      close?.kind === ")"
    ? Result.succeed({ vector, text: words, end: close.end })
    : Result.fail(
      refusal("syntax", "rank() takes a search vector and a text.", "Write rank(vector, \"text\") desc.", {
        start: bracket.start,
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
    : token.kind === "unterminated"
    ? openQuote(token)
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
    const path = pathFrom(text, token)
    if (Result.isFailure(path)) return Result.fail(path.failure)
    const name = path.success
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

const sortableFields = "Fields that can be sorted"
const asOrder: Traveller = { what: "order", otherwise: "Name fields of the record itself." }

/** A key's field, and the relations that lead to it. */
interface Target {
  readonly field: FilterField
  readonly ways: readonly FilterWay[]
}

const notSortable = (findings: Findings, name: Word, hint: string): null =>
  findings.add("not-sortable", `The field ${quote(name.text)} cannot be sorted.`, hint, name)

const missing = (findings: Findings, name: Word, hint: string): null =>
  findings.add("unknown-field", `There is no field ${quote(name.text)}.`, hint, name)

/** The field at the end of a path, or null after reporting. */
const pathTarget = (name: Word, scope: AnyScope, findings: Findings): Target | null => {
  const from = { scope, findings, depth: 0 }
  const words = pathParts(name.text)
  if (!isWhole(from, name, words)) return null
  const steps = relationSteps(scope, words)
  const parts = words.slice(0, steps)
  const last = words.slice(steps).join(".")
  const end = follow(from, name, parts, (hint) => missing(findings, name, hint), asOrder)
  if (end === null) return null
  const many = end.ways.find(({ relation }) => relation.many)
  if (many !== undefined) {
    return findings.add(
      "not-sortable",
      `${quote(many.relation.name)} leads to several records, so ${quote(name.text)} is no one value.`,
      "An order goes through relations to one record each.",
      name
    )
  }
  const field = end.scope.names.get(last)
  if (field !== undefined && maySort(field)) return { field, ways: end.ways }
  const hint = hintFor(last, parts, namesOf(end.scope, maySort), sortableFields)
  return field === undefined ? missing(findings, name, hint) : notSortable(findings, name, hint)
}

const targetOf = (name: Word, scope: AnyScope, findings: Findings): Target | null => {
  const field = scope.names.get(name.text)
  if (field === undefined && name.text.includes(".")) return pathTarget(name, scope, findings)
  if (field !== undefined && maySort(field)) return { field, ways: [] }
  const step = field === undefined ? scope.relations?.step(name.text) ?? null : null
  const hint = step !== null && !step.way.relation.many
    ? `It is a relation: name a field of it, such as ${name.text}.id.`
    : nameHint(name.text, namesOf(scope, maySort), sortableFields)
  return field === undefined ? missing(findings, name, hint) : notSortable(findings, name, hint)
}

/** The target of a name. `-total` is how some other APIs write a descending order: the hint shows how it is written here. */
const checkedTarget = (name: Word, scope: AnyScope, findings: Findings): Target | null => {
  const plain = name.text.slice(1)
  if (!name.text.startsWith("-") || targetOf({ ...name, text: plain }, scope, new Findings()) === null) {
    return targetOf(name, scope, findings)
  }
  return missing(findings, name, `Did you mean ${plain}? Write ${plain} desc.`)
}

/** A rank as a field, or null after reporting. */
const rankOf = (
  findings: Findings,
  scope: AnyScope,
  { text, vector }: NonNullable<WrittenKey["rank"]>
): FilterField | null => {
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

type AnyKey = OrderKey<FilterField, FilterWay>

/** Reads an order text against a scope. Errors: the first of the grammar, else all of the names. */
export function readOrder<F extends FilterField, W extends FilterWay>(
  text: string,
  scope: FilterScope<F, W>
): Result.Result<readonly OrderKey<F, W>[], readonly FilterError[]>
export function readOrder(text: string, scope: AnyScope): Result.Result<readonly AnyKey[], readonly FilterError[]> {
  const bad = textProblem(text, maxOrderCharacters, "order")
  if (bad !== null) return Result.fail([bad])
  const written = writtenKeys(text)
  if (Result.isFailure(written)) return Result.fail([written.failure])
  const findings = new Findings()
  const keys: AnyKey[] = []
  const seen = new Set<string>()
  let paths = 0
  for (const { descending, name: { end, start, text }, rank } of written.success) {
    if (rank !== undefined) {
      const field = rankOf(findings, scope, rank)
      if (field !== null) keys.push({ field, descending })
      continue
    }
    const name: Word = { of: "word", text, start, end }
    const target = checkedTarget(name, scope, findings)
    if (target === null) continue
    const { field, ways } = target
    // Two paths may end at one field of one model.
    const path = [...ways.map(({ relation }) => relation.name), field.name].join(".")
    if (seen.has(path)) {
      findings.add(
        "duplicate",
        `The field ${quote(name.text)} stands in the order twice.`,
        "Name every field once.",
        name
      )
    } else if (ways.length > 0 && ++paths > maxOrderPaths) {
      findings.add(
        "limit",
        "An order has at most one field through relations.",
        "Name one such field, and fields of the record itself.",
        name
      )
    } else {
      seen.add(path)
      keys.push(ways.length === 0 ? { field, descending } : { field, descending, ways })
    }
  }
  const { [maxKeysBesidePath]: beyond } = written.success
  if (paths > 0 && beyond !== undefined) {
    const message = `An order through relations has more than ${maxKeysBesidePath} fields.`
    findings.add("limit", message, "Name fewer fields.", beyond.name)
  }
  return findings.errors.length > 0 ? Result.fail(findings.errors) : Result.succeed(keys)
}
