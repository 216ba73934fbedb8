/** Filters: conditions, trees of them, and any text at all. */

import * as Result from "effect/Result"
import { hasElements } from "../../core/domain/filter/literal.ts"
import type { Bindings, FilterTree, Operand } from "../../core/domain/filter/tree.ts"
import { allOf, anyOf, not } from "../../core/domain/filter/tree.ts"
import type { Field, FieldOf } from "../../core/domain/model/model.ts"
import { elementField } from "../../core/domain/model/model.ts"
import { cellFromText } from "../../core/domain/value/cell.ts"
import { elementOf, rangeAround } from "../../core/domain/value/exact.ts"
import type { Row } from "../../core/domain/value/kind.ts"
import { cellsIn } from "../../core/domain/value/list.ts"
import type { Random } from "./random.ts"
import { cell, text } from "./value.ts"

export interface TreeOptions {
  readonly fields: readonly Field[]
  /** Rows whose values the conditions are likely to ask for. */
  readonly rows?: readonly Row[]
  /**
   * Takes the values of params. With it come trees that rules and plans are made of and no text stands for: params, values of the caller, lists
   * of no item, one condition inside another of the same kind, any texts between stars.
   */
  readonly params?: string[]
  /** Whether texts may be compared by their similarity. Default true. */
  readonly similar?: boolean
  readonly ascii?: boolean
  /** Makes a condition about related records. */
  readonly related?: () => FilterTree
}

const ordered = ["integer", "decimal", "float", "timestamp", "date", "text"]
const orderedExact = ["time", "interval", "inet", "cidr", "macaddr", "money", "range"]
const isOrdered = (field: Field): boolean =>
  ordered.includes(field.kind) || orderedExact.includes(field.kind) || (field.kind === "enum" && field.ordered === true)
const units = [1n, 60n, 3600n, 86_400n, 604_800n]
const patterns = ["^a", "b$", "a.b", "[aB]+", "\\d", "(a|é)", "a\\.b", "\\\\", "'", "\"", "\\*", "^$"]
const atoms = [".", "[ab]", "[^a]", "a", "x*", "(a|b)", "[0-9]+", "b?"]

/** A value of a row in that field; null where there is none. */
const ownText = (random: Random, field: Field, rows: readonly Row[]): string | null =>
  rows.length === 0 ? null : random.pick(rows)[field.index] ?? null

const literal = (random: Random, field: Field, { ascii = false, params, rows = [] }: TreeOptions): string => {
  const other = cell(random, field, { ascii })
  const own = random.chance(2) ? ownText(random, field, rows) : null
  if (own === null) return other
  const near = random.pick([own, own, own, `${own} `, `${own}a`, `${own}%`, own.toUpperCase(), `${own}001`])
  const read = cellFromText(field, params === undefined ? own : near)
  return Result.isSuccess(read) ? read.success : other
}

const operand = (random: Random, field: Field, options: TreeOptions): Operand => {
  const { params } = options
  const value = (): Operand => ({ of: "literal", text: literal(random, field, options) })
  if (params !== undefined && random.chance(12)) return { of: "caller", value: random.pick(["id", "tenant"]) }
  if ((field.kind === "timestamp" || field.kind === "date") && random.chance(4)) {
    const away = BigInt(random.below(200)) * random.pick(units) * 1_000_000n
    const offset = (random.chance(2) ? -away : away) + BigInt(params === undefined ? 0 : random.below(3))
    return { of: "now", offset }
  }
  if (params !== undefined && random.chance(10)) {
    const given = literal(random, field, options)
    // A param that ends in blanks equals the value without them in a char(n) column, where the two are one value.
    return given.endsWith(" ") ? { of: "literal", text: given } : { of: "param", index: params.push(given) - 1 }
  }
  return value()
}

/** A text that is likely to be found: a piece of a value, in its case or another. */
const fragment = (random: Random, field: Field, { ascii = false, rows = [] }: TreeOptions, least = 0): string => {
  const other = text(random, { ascii, least })
  const own = random.chance(2) ? ownText(random, field, rows) : null
  if (own === null) return other
  const points = Array.from(own)
  const start = random.below(points.length + 1)
  const part = points.slice(start, start + least + random.below(4)).join("")
  const cased = random.pick([part, part, part.toLowerCase(), part.toUpperCase()])
  return cased.length < least ? other : cased
}

const pattern = (random: Random, field: Field, options: TreeOptions): string => {
  if (random.chance(2)) return random.pick(patterns)
  const safe = () => fragment(random, field, options).replace(/[^\p{L}\p{N}]/gu, "") || "o"
  const middle = random.many(1, 3, () => random.one(() => random.pick(atoms), safe)).join("")
  return `${random.pick(["", "", "", "^"])}${middle}${random.pick(["", "", "", "$"])}`
}

/** One condition. */
export const leaf = (random: Random, options: TreeOptions): FilterTree => {
  const { fields, params, related, similar = true } = options
  if (related !== undefined && random.chance(2)) return related()
  const field = random.pick(fields.filter((each) => each.filterable))
  const texts = fields.filter((each) => params === undefined ? each.searched : each.kind === "text")
  const isNull = (): FilterTree => ({ op: "null", field })
  if (field.kind === "json" || field.kind === "native") return isNull()
  if (field.kind === "list") {
    const of = elementField(field)
    const own = (rows: readonly Row[] = []): readonly Row[] =>
      rows.flatMap((row) => {
        const list = row[field.index] ?? null
        const elements = list === null ? [] : cellsIn(list)
        return elements.map((element): Row => row.with(field.index, element))
      })
    const among = { ...options, rows: own(options.rows) }
    const has = (least: number, most: number) => (): FilterTree => ({
      op: "has",
      field,
      values: random.many(least, most, () => operand(random, of, among))
    })
    const length = (): FilterTree => ({
      op: "length",
      field,
      is: random.pick(["=", "<", "<=", ">", ">="] as const),
      number: random.below(5)
    })
    return random.one(
      isNull,
      length,
      ...hasElements(field) ? [has(1, 1), has(1, 1), has(params === undefined ? 1 : 0, 5)] : []
    )
  }
  if (params !== undefined && random.chance(50)) return { op: random.pick(["true", "false"]) }
  const compare = (): FilterTree => ({
    op: "compare",
    field,
    is: isOrdered(field) ? random.pick(["=", "<", "<=", ">", ">="] as const) : "=",
    value: operand(random, field, options)
  })
  const inList = (): FilterTree => ({
    op: "in",
    field,
    values: random.many(params === undefined ? 1 : 0, 5, () => operand(random, field, options))
  })
  const searched = (): FilterTree => ({
    op: "search",
    fields: params === undefined ? texts : random.some(texts),
    text: fragment(random, field, options, params === undefined ? 1 : 0)
  })
  const contains = (): FilterTree => ({ op: "contains", field, text: fragment(random, field, options) })
  const match = (): FilterTree => {
    const [first, last] = [fragment(random, field, options), fragment(random, field, options)]
    const inner = random.many(0, 2, () => fragment(random, field, options, params === undefined ? 1 : 0))
    return { op: "match", field, parts: params !== undefined && random.chance(4) ? [first] : [first, ...inner, last] }
  }
  const alike = (): FilterTree => ({
    op: "similar",
    field,
    text: random.chance(2) ? ownText(random, field, options.rows ?? []) || "note" : fragment(random, field, options, 1)
  })
  const same = (): FilterTree => ({
    op: "same",
    field,
    text: random.chance(2) ? ownText(random, field, options.rows ?? []) ?? "" : fragment(random, field, options),
    whole: random.chance(2)
  })
  const numbers = ["integer", "decimal"]
  const others = fields.filter((each) =>
    each.filterable && (each.kind === field.kind || (numbers.includes(each.kind) && numbers.includes(field.kind)))
  )
  const pair = (): FilterTree => {
    const other = random.pick(others)
    const compares = isOrdered(field) && isOrdered(other)
    return { op: "pair", field, is: compares ? random.pick(["=", "<", "<=", ">", ">="] as const) : "=", other }
  }
  const overlapping = (range: FieldOf<"range">): FilterTree => {
    const inside: Field = { ...range, ...elementOf(range) }
    const value = (): Operand => operand(random, range, options)
    const around = (): Operand => ({ of: "literal", text: rangeAround(range, cell(random, inside)) })
    return {
      op: "overlaps",
      field: range,
      value: random.one(
        value,
        around,
        ...range.of === "date" || range.of === "timestamp"
          ? [(): Operand => ({ of: "now", offset: BigInt(random.below(100)) * 86_400_000_000n })]
          : []
      )
    }
  }
  const regex = (): FilterTree => ({ op: "regex", field, pattern: pattern(random, field, options) })
  return random.one(
    isNull,
    compare,
    compare,
    compare,
    compare,
    ...field.kind === "range" ? [] : [pair],
    ...field.kind === "boolean" && params === undefined ? [] : [inList, inList],
    ...texts.length === 0 ? [] : [searched],
    ...field.kind === "range" ? [() => overlapping(field), () => overlapping(field)] : [],
    ...field.kind === "text"
      ? [contains, contains, same, same, match, match, regex, regex, ...similar ? [alike, alike] : []]
      : []
  )
}

/** A tree of conditions; `levels` bounds its depth. */
export const tree = (random: Random, options: TreeOptions, levels = 4): FilterTree =>
  random.part("tree", () => {
    const inner = () => tree(random, options, levels - 1)
    switch (random.below(levels === 0 ? 1 : 6)) {
      case 0:
      case 1:
        return leaf(random, options)
      case 2:
        return options.params === undefined ? not(inner()) : { op: "not", item: inner() }
      case 3:
      case 4:
        return options.params === undefined
          ? allOf(random.many(2, 3, inner, 1))
          : { op: "and", items: random.many(0, 3, inner) }
      default:
        return options.params === undefined
          ? anyOf(random.many(2, 3, inner, 1))
          : { op: "or", items: random.many(0, 3, inner) }
    }
  })

/** What a tree with values from outside is evaluated with. */
export const bindings = (random: Random, params: readonly string[]): Bindings => ({
  caller: {
    id: random.pick(["a", "0", "7", "İ", "draft", "NaN", "2026-01-01", "00000000-0000-4000-8000-000000000000"]),
    tenant: random.pick([null, "1", "32767", "abc", "99999999999999999999"])
  },
  now: BigInt(Date.UTC(2026, 2, 29, 1, 30)) * 1000n + BigInt(random.below(3)),
  params
})

const words = [
  "AND",
  "OR",
  "NOT",
  "-",
  "(",
  ")",
  ",",
  "=",
  "!=",
  "<",
  "<=",
  ">",
  ">=",
  ":",
  "*",
  "\"",
  "'",
  "\\",
  "\\u",
  "\\u0041",
  "null",
  "true",
  " ",
  " ",
  " ",
  "\t",
  "\n",
  "status",
  "total",
  "name",
  "created_at",
  "active",
  "key",
  "paid",
  "\"paid\"",
  "-1",
  "1.5",
  "now()",
  "- 7d",
  "-7d",
  "+1h",
  "in(",
  "search(",
  "similar(",
  "regex(",
  "isNull(",
  "same(",
  "begins(",
  "field(",
  "2026-01-01T00:00:00Z",
  "2026-01-01",
  "caller.id",
  "&&",
  "!",
  "O'Brien",
  "\u{1f600}",
  "\ud800",
  "\0",
  "é",
  "x"
]

/** Any text at all: pieces of the language in any order, whole or cut. */
export const soup = (random: Random): string => {
  const whole = random.many(0, 24, () => random.pick(words)).join(random.pick(["", " "]))
  return random.chance(3) ? whole.slice(random.below(4), whole.length - random.below(4)) : whole
}
