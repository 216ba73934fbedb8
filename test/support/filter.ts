/**
 * A scope with every kind of field, and random trees, texts and cells over it from a seed: the same seed gives the same run, so that a
 * failure can be repeated by its number.
 */

import type { FilterScope } from "../../core/domain/filter/read.ts"
import type { FilterTree, Operand } from "../../core/domain/filter/tree.ts"
import { allOf, anyOf, not } from "../../core/domain/filter/tree.ts"
import type { Field } from "../../core/domain/model/model.ts"
import { timestampFromMicros } from "../../core/domain/value/instant.ts"
import type { Cell } from "../../core/domain/value/kind.ts"
import type { FieldParts } from "./model.ts"
import { makeField } from "./model.ts"

const parts: readonly FieldParts[] = [
  { name: "id", kind: "integer", bits: 64 },
  { name: "small", kind: "integer", bits: 16 },
  { name: "count", kind: "integer", bits: 32, alias: "amount" },
  { name: "name", kind: "text", searched: true, max: 80 },
  { name: "note", kind: "text", searched: true },
  { name: "active", kind: "boolean" },
  { name: "created_at", kind: "timestamp" },
  { name: "due", kind: "date" },
  { name: "total", kind: "decimal", precision: 12, scale: 2 },
  { name: "rate", kind: "decimal" },
  { name: "ratio", kind: "float" },
  { name: "status", kind: "enum", values: ["draft", "paid", "shipped", "it's \"odd\" *"] },
  { name: "key", kind: "uuid" },
  { name: "extra", kind: "json" },
  { name: "currency", kind: "currency" },
  { name: "country", kind: "country" },
  { name: "plain", kind: "text", filterable: false, sortable: false }
]

export const filterFields: readonly Field[] = parts.map((part, at) => makeField({ optional: true, ...part }, at))

export const filterField = (name: string): Field => {
  const field = filterFields.find((each) => each.name === name)
  if (field === undefined) throw new Error(`no field ${name}`)
  return field
}

export const scopeOf = (fields: readonly Field[], more: Partial<FilterScope> = {}): FilterScope => {
  const names = new Map(fields.map((field) => [field.name, field]))
  for (const field of fields) if (field.alias !== null) names.set(field.alias, field)
  return { names, searched: fields.filter((field) => field.searched), caller: false, ...more }
}

export const filterScope: FilterScope = scopeOf(filterFields)

/** Numbers from a seed (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** A whole number from 0 to `below` - 1. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) % below
  }

  chance(oneIn: number): boolean {
    return this.below(oneIn) === 0
  }

  pick<A>(choices: readonly A[]): A {
    return choices[this.below(choices.length)]!
  }

  many<A>(least: number, most: number, make: () => A): A[] {
    return Array.from({ length: least + this.below(most - least + 1) }, make)
  }
}

const letters = [
  "a",
  "b",
  "A",
  "B",
  "ab",
  " ",
  "*",
  "\\",
  "\"",
  "'",
  "%",
  "_",
  "é",
  "É",
  "Σ",
  "ς",
  "İ",
  "ß",
  "-",
  "\n",
  "\u{1f600}",
  "\uffff",
  "1",
  ".",
  "AND",
  "("
]

const randomText = (random: Random, least = 0): string => random.many(least, 4, () => random.pick(letters)).join("")

const digits = (random: Random, most: number): string =>
  random.many(1, most, () => String(random.below(10))).join("").replace(/^0+(?=\d)/, "")

const signed = (random: Random, text: string): string => random.chance(3) && /[1-9]/.test(text) ? `-${text}` : text

/** A canonical cell of the field, never null; small pools make equal and neighbouring values likely. */
export const randomCell = (random: Random, field: Field): string => {
  switch (field.kind) {
    case "integer":
      return random.chance(4)
        ? signed(random, digits(random, field.bits === 16 ? 4 : field.bits === 32 ? 9 : 18))
        : signed(random, String(random.below(5)))
    case "decimal": {
      const places = field.scale ?? random.below(4)
      const fraction = places === 0
        ? ""
        : `.${Array.from({ length: places }, () => random.pick(["0", "0", "5", "9"])).join("")}`
      return signed(random, `${random.chance(4) ? digits(random, 10) : String(random.below(4))}${fraction}`)
    }
    case "float":
      return String(random.pick([0, 0.5, -0.5, 1, 1.5, 1e21, 1e-7, -3, 0.1, 12345.678]))
    case "boolean":
      return random.pick(["true", "false"])
    case "timestamp":
      return timestampFromMicros(
        1_767_225_600_000_000n + BigInt(random.below(5)) * 86_400_000_000n +
          BigInt(random.pick([0, 1, 500_000, 999_999]))
      )
    case "date":
      return random.pick([
        "0001-01-01",
        "1999-12-31",
        "2026-01-01",
        "2026-01-02",
        "2026-01-03",
        "2024-02-29",
        "9999-12-31"
      ])
    case "uuid":
      return `0000000${random.below(3)}-0000-4000-8000-00000000000${random.below(3)}`
    case "enum":
      return random.pick(field.values ?? [""])
    case "currency":
      return random.pick(["EUR", "NOK", "USD"])
    case "country":
      return random.pick(["NO", "SE", "DE"])
    case "json":
      return random.pick(["{}", "[]", "1", "null"])
    case "text":
      return randomText(random)
  }
}

const operand = (random: Random, field: Field): Operand =>
  (field.kind === "timestamp" || field.kind === "date") && random.chance(4)
    ? {
      of: "now",
      offset: BigInt(random.below(400) - 200) * random.pick([1n, 60n, 3600n, 86_400n, 604_800n]) * 1_000_000n
    }
    : { of: "literal", text: randomCell(random, field) }

const patterns = ["^a", "b$", "a.b", "[aB]+", "\\d", "(a|é)", "a\\.b", "\\\\", "'", "\"", "\\*", "^$"]
const order = ["integer", "decimal", "float", "timestamp", "date", "text"]

/** One condition that some filter text stands for. */
export const randomLeaf = (random: Random, fields: readonly Field[] = filterFields): FilterTree => {
  const field = random.pick(fields.filter((each) => each.filterable))
  const searched = fields.filter((each) => each.searched)
  if (field.kind === "json" || random.chance(10)) return { op: "null", field }
  if (random.chance(10) && searched.length > 0) return { op: "search", fields: searched, text: randomText(random, 1) }
  if (field.kind !== "boolean" && random.chance(5)) {
    return { op: "in", field, values: random.many(1, 4, () => operand(random, field)) }
  }
  if (field.kind === "text" && random.chance(2)) {
    switch (random.below(4)) {
      case 0:
        return { op: "contains", field, text: randomText(random) }
      case 1:
        return { op: "similar", field, text: randomText(random, 1) }
      case 2:
        return { op: "regex", field, pattern: random.pick(patterns) }
      default: {
        const inner = random.many(0, 2, () => randomText(random, 1))
        return { op: "match", field, parts: [randomText(random), ...inner, randomText(random)] }
      }
    }
  }
  const is = order.includes(field.kind) ? random.pick(["=", "<", "<=", ">", ">="] as const) : "="
  return { op: "compare", field, is, value: operand(random, field) }
}

/** A tree that some filter text stands for; `levels` bounds its depth. */
export const randomTree = (random: Random, levels = 4, fields: readonly Field[] = filterFields): FilterTree => {
  if (levels === 0 || random.chance(3)) return randomLeaf(random, fields)
  if (random.chance(4)) return not(randomTree(random, levels - 1, fields))
  const items = random.many(2, 3, () => randomTree(random, levels - 1, fields))
  return random.chance(2) ? allOf(items) : anyOf(items)
}

const withoutSpan = (value: Operand): Operand => value.of === "literal" ? { of: "literal", text: value.text } : value

/** The tree without the places its functions and values had in a text. */
export const withoutSpans = (tree: FilterTree): FilterTree => {
  switch (tree.op) {
    case "and":
    case "or":
      return { op: tree.op, items: tree.items.map(withoutSpans) }
    case "not":
      return { op: "not", item: withoutSpans(tree.item) }
    case "similar":
      return { op: "similar", field: tree.field, text: tree.text }
    case "regex":
      return { op: "regex", field: tree.field, pattern: tree.pattern }
    case "compare":
      return { ...tree, value: withoutSpan(tree.value) }
    case "in":
      return { ...tree, values: tree.values.map(withoutSpan) }
    default:
      return tree
  }
}

/** A record: one cell per field, every fourth null. */
export const randomRecord = (random: Random, fields: readonly Field[] = filterFields): ReadonlyMap<Field, Cell> =>
  new Map(fields.map((field) => [field, random.chance(4) ? null : randomCell(random, field)]))

const fragments = [
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
export const randomSoup = (random: Random): string => {
  const text = random.many(0, 24, () => random.pick(fragments)).join(random.chance(2) ? " " : "")
  return random.chance(3) ? text.slice(random.below(4), text.length - random.below(4)) : text
}
