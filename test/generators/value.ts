/**
 * Texts, cells and JSON values of every kind. Pools are small, so that equal and neighbouring values are likely; beside them stand the ends of each
 * kind, and the signs that mean something to LIKE, quoting, regular expressions, addresses and tables as text.
 */

import * as Result from "effect/Result"
import type { Field, FieldOf } from "../../core/domain/model/model.ts"
import { elementField } from "../../core/domain/model/model.ts"
import { cellFromText, compareCells, wireFromCell } from "../../core/domain/value/cell.ts"
import { elementOf } from "../../core/domain/value/exact.ts"
import type { Cell, Json, RangeElement } from "../../core/domain/value/kind.ts"
import type { Random } from "./random.ts"

/** Signs that are likely to be met in two texts. */
const usual = ["a", "b", "A", "B", "ab", " ", "*", "\\", "\"", "'", "%", "_", "é", "-", "1", "."]

/** The rest: case that folds in odd ways, marks that join, what lies beyond the BMP, controls, words of languages. No NUL and no half of a pair. */
const rare = [
  ..."x i I İ ı ß ẞ ss σ ς Σ É Å å s ſ k ǅ Ǆ ǆ ﬁ ΐ Ω ω Ა ა Ꭰ ꭰ 𐐀 𐐨 😀 👩‍👩‍👧 漢字 א e\u0301 \u0301 \u212a \u212b".split(
    " "
  ),
  ..."0 Ab abc '' $1 100% { } , NULL null ( ) [ ] note Note order ORDER $ref @ # & + = / : ; ? ! | ^ .. %2F %00".split(
    " "
  ),
  ..."AND OR NOT :undelete :restore \\u0041 O'Brien ORDER\u002012".split(" "),
  "\n",
  "\t",
  "\r",
  "\u0001",
  "\u001f",
  "\u007f",
  "\u0085",
  "\u00a0",
  "\u2028",
  "\ufeff",
  "\uffee",
  "\uffff",
  "\u{10ffff}"
]

const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text)
const pools = { any: [usual, rare], ascii: [usual.filter(isAscii), rare.filter(isAscii)] } as const

export interface TextOptions {
  /** Fewest pieces. Default 0. */
  readonly least?: number
  readonly ascii?: boolean
}

/** A text of up to five pieces. */
export const text = (random: Random, { ascii = false, least = 0 }: TextOptions = {}): string => {
  const [often, seldom] = ascii ? pools.ascii : pools.any
  return random.many(least, 5, () => random.pick(random.chance(2) ? seldom : often)).join("")
}

/** Digits of a whole number without leading zeros. */
const digits = (random: Random, most: number): string =>
  random.many(1, most, () => String(random.below(10))).join("").replace(/^0+(?=\d)/, "")

const signed = (random: Random, number: string): string =>
  random.chance(3) && /[1-9]/.test(number) ? `-${number}` : number

const two = (value: number): string => String(value).padStart(2, "0")

const integer = (random: Random, bits: 16 | 32 | 64): string => {
  const highest = 2n ** BigInt(bits - 1) - 1n
  const few = () => signed(random, String(random.below(5)))
  const near = (): string => {
    const away = BigInt(random.below(2))
    return String(random.pick([highest - away, -highest - 1n + away, bits === 64 ? 2n ** 53n + away : 14n + away]))
  }
  return random.one(few, few, () => signed(random, digits(random, bits === 16 ? 4 : bits === 32 ? 9 : 18)), near)
}

const decimal = (random: Random, precision: number | null, scale: number | null): string => {
  const places = scale ?? random.pick([0, 1, 2, 3, 8])
  const whole = (precision ?? 30) - places
  const fraction = places === 0 ? "" : `.${
    random.one(
      () => "0".repeat(places),
      () => Array.from({ length: places }, () => random.pick(["0", "0", "5", "9"])).join(""),
      () => `${"0".repeat(places - 1)}1`,
      () => String(random.below(10 ** Math.min(places, 6))).padStart(places, "0")
    )
  }`
  const few = () => String(random.below(4)) + fraction
  return signed(
    random,
    random.one(
      few,
      few,
      () => String(random.below(30)) + fraction,
      () => digits(random, whole) + fraction,
      () => "9".repeat(whole) + fraction,
      // What no scale binds has hundreds of digits.
      ...scale === null && precision === null && random.chance(4)
        ? [() => `0.${"0".repeat(200)}1`, () => `1${"0".repeat(300)}`]
        : []
    )
  )
}

const reals = [0, 1, 1.5, 0.5, -0.5, 1e21, 1e-7, -3, 0.1, 0.2, 0.3, 0.1 + 0.2, 2, -1.5, 12345.678, 2 ** 53]
const farReals = [5e-324, Number.MAX_VALUE, -Number.MAX_VALUE]

const real = (random: Random): number =>
  random.one(() => random.pick(reals), () => random.pick(farReals), () => random.below(1e9) / 7)

const days = [
  "2026-01-01",
  "2026-01-02",
  "2026-01-03",
  "0001-01-01",
  "1582-10-10",
  "1900-03-01",
  "1970-01-01",
  "1999-12-31",
  "2000-02-29",
  "2024-02-29",
  "2026-03-29",
  "2026-10-25",
  "9999-12-31"
]

const day = (random: Random): string => {
  const fixed = () => random.pick(days)
  const within = (year: string) => `${year}-${two(1 + random.below(12))}-${two(1 + random.below(28))}`
  return random.one(fixed, fixed, () => within("2026"), () => within(String(1 + random.below(9999)).padStart(4, "0")))
}

const fractions = ["", "", ".5", ".1", ".000001", ".123456", ".999999"]

const instant = (random: Random): string => {
  const time = random.one(
    () => "00:00:00",
    () => random.pick(["23:59:59", "02:30:00"]),
    () => `${two(random.below(24))}:${two(random.below(60))}:${two(random.below(60))}`
  )
  return `${random.one(() => random.pick(days.slice(0, 3)), () => day(random))}T${time}${random.pick(fractions)}Z`
}

const times = ["00:00:00", "12:30:00", "23:59:59", "09:30:01"]

/** A number without leading zeros of which equal lengths are likely: 30 days and a month, 24 hours and a day. */
const interval = (random: Random): string => {
  const few = (unit: string): string => random.chance(2) ? `${random.pick(["", "", "-"])}${random.below(3)}${unit}` : ""
  const date = few("Y") + random.one(() => few("M"), () => "1M") + random.one(() => few("D"), () => "30D")
  const time = random.one(() => few("H"), () => "24H") + few("M") +
    (random.chance(3) ? `${random.pick(["", "-"])}${random.below(2)}${random.pick(fractions)}S` : "")
  return Result.getOrElse(
    cellFromText({ kind: "interval" }, `P${date}${time === "" ? "" : `T${time}`}`),
    () => "PT0S"
  )
}

const hosts = [
  "10.0.0.1",
  "10.0.0.0",
  "10.0.0.3",
  "192.0.2.255",
  "2001:db8::1",
  "::",
  "::1",
  "::ffff:10.0.0.1",
  "::0.1.0.0"
]
const networks = [
  "10.0.0.0/8",
  "10.0.0.0/24",
  "10.0.0.0/32",
  "0.0.0.0/0",
  "2001:db8::/32",
  "::/0",
  "::1/128",
  "::ffff:0.0.0.0/96"
]

const address = (random: Random, kind: "inet" | "cidr"): string =>
  kind === "cidr"
    ? random.pick(networks)
    : random.pick(hosts) + random.pick(["", "", "/8", "/24", "/31"])

const money = (random: Random, scale: number): string =>
  random.one(
    () => signed(random, `${random.below(4)}.${"0".repeat(scale)}`),
    () => signed(random, `${random.below(1000)}.${String(random.below(100)).padStart(scale, "0")}`),
    () => random.pick(["92233720368547758.07", "-92233720368547758.08"])
  )

/** Ranges that a database holds and no body gives. */
const beyondRanges: { readonly [of in RangeElement]: readonly string[] } = {
  integer: ["empty"],
  bigint: ["empty"],
  decimal: ["[NaN,)", "[-Infinity,Infinity]", "[1.50,2.0)"],
  date: ["[-infinity,infinity)", "[2026-01-01,infinity]"],
  timestamp: ["[-infinity,infinity)", "[2026-01-01T00:00:00Z,infinity]"]
}

const range = (random: Random, field: FieldOf<"range">): string => {
  const inside: Field = { ...field, ...elementOf(field) }
  const [one, other] = [cell(random, inside), cell(random, inside)]
  const [low, high] = compareCells(inside, one, other) > 0 ? [other, one] : [one, other]
  const text = random.pick(["[", "("]) + random.pick([low, low, low, ""]) + "," + random.pick([high, high, high, ""]) +
    random.pick([")", "]"])
  return Result.getOrElse(cellFromText(field, text), () => "empty")
}

/** Any JSON value; `levels` bounds its depth. */
export const json = (random: Random, levels = 4): Json =>
  random.part("json", () => {
    const inner = [
      () => random.many(0, 2, () => json(random, levels - 1)),
      () => Object.fromEntries(random.many(0, 2, () => [`k${text(random)}`, json(random, levels - 1)]))
    ]
    const kinds: ReadonlyArray<() => Json> = [() => null, () => true, () => random.below(1000) / 8, () => text(random)]
    return random.one(...kinds, ...levels === 0 ? [] : inner)
  })

export interface CellOptions {
  /** Only texts of ASCII. */
  readonly ascii?: boolean
  /** Also what a database takes and no caller may write: infinite and undefined numbers and times, and texts that it rounds. */
  readonly beyond?: boolean
}

/** A cell of a field that is not null, in its canonical text unless it is one of those beyond. */
export const cell = (random: Random, field: Field, { ascii = false, beyond = false }: CellOptions = {}): string => {
  const rarely = (texts: readonly string[], usually: () => string): string =>
    beyond && random.chance(12) ? random.pick(texts) : usually()
  switch (field.kind) {
    case "integer":
      return integer(random, field.bits)
    case "decimal":
      return field.scale === null
        ? rarely(["NaN", "Infinity", "-Infinity"], () => decimal(random, field.precision, field.scale))
        : decimal(random, field.precision, field.scale)
    case "float":
      return rarely(["NaN", "Infinity", "-Infinity", "-0", "9007199254740993", "1e21"], () => String(real(random)))
    case "boolean":
      return random.pick(["false", "true"])
    case "timestamp":
      return rarely(["infinity", "-infinity"], () => instant(random))
    case "date":
      return day(random)
    case "uuid":
      return random.one(
        () => `0000000${random.below(3)}-0000-4000-8000-00000000000${random.below(3)}`,
        () => random.pick(["3f2a9c41-7d5e-4b0a-9e11-c0ffee123456", "ffffffff-ffff-4fff-bfff-ffffffffffff"])
      )
    case "enum":
      return random.pick(field.values)
    case "currency":
      return random.pick(["EUR", "NOK", "USD", "JPY"])
    case "country":
      return random.pick(["NO", "SE", "DE", "FR"])
    case "list":
      return list(random, field, { ascii, beyond })
    case "time":
      return random.pick(times) + random.pick(fractions)
    case "interval":
      return rarely(["P-178000000Y", "P178000000Y", "PT-2562047788H-54.775808S"], () => interval(random))
    case "inet":
    case "cidr":
      return address(random, field.kind)
    case "macaddr":
      return `08:00:2b:01:0${random.below(2)}:0${random.below(3)}`
    case "bytes":
      return random.pick(["", "AA==", "AAE=", "aGVsbG8=", "+/+/", "////"])
    case "money":
      return money(random, field.scale)
    case "range":
      return rarely(beyondRanges[field.of], () => range(random, field))
    case "native":
      return field.type === "box" ? random.pick(["(1,1),(0,0)", "(2,2),(1,1)"]) : "(1,2)"
    case "json":
      return rarely(["[1, 2]"], () => random.pick(["{}", "[]", "1", "null", "\"x\""]))
    case "text":
      return field.max === null ? text(random, { ascii }) : text(random, { ascii }).slice(0, field.max).toWellFormed()
  }
}

/** A list: of few elements, some of them twice; beyond also with nulls, and with arrays in it. */
const list = (random: Random, field: FieldOf<"list">, options: CellOptions): string => {
  const element = (): Json => {
    if ((field.nulls || options.beyond === true) && random.chance(6)) return null
    const of = elementField(field)
    return wireFromCell(of, cell(random, of, options))
  }
  const some = (least: number): readonly Json[] => random.many(least, 4, element)
  if (options.beyond !== true || !random.chance(12)) return JSON.stringify(some(0))
  // Arrays in an array have one length, and an array of none has no dimension.
  const inner = some(1)
  return JSON.stringify([inner, inner.map(element)])
}

/** A record: one cell per field, every fourth null. */
export const record = (random: Random, fields: readonly Field[]): ReadonlyMap<Field, Cell> =>
  new Map(fields.map((field) => [field, random.chance(4) ? null : cell(random, field)]))
