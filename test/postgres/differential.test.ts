// The filter language has one meaning: for random tables, rows and trees, `evaluate` in memory and the compiled SQL select the same rows, as a
// condition of WHERE and as a check column. Set DIFFERENTIAL_SEED to repeat a run, DIFFERENTIAL_TREES for more.
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { conditionSql, truthSql } from "../../adapters/postgres/compile-filter.ts"
import { makePostgres, type Postgres } from "../../adapters/postgres/connection.ts"
import { bind, canonicalRows, tableOf, valuesOf, Writer } from "../../adapters/postgres/sql.ts"
import { evaluate } from "../../core/domain/filter/evaluate.ts"
import type { Bindings, Comparison, FilterTree, Operand } from "../../core/domain/filter/tree.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import { cellFromText } from "../../core/domain/value/cell.ts"
import type { Row } from "../../core/domain/value/kind.ts"
import { type FieldParts, makeModel } from "../support/model.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"

const seed = Number(process.env["DIFFERENTIAL_SEED"] ?? Math.floor(Math.random() * 2 ** 31))
const wanted = Number(process.env["DIFFERENTIAL_TREES"] ?? 12_000)
const rowCount = 60
const perStatement = 50

/** mulberry32: small, good enough, repeatable. */
let state = seed
const random = (): number => {
  state = (state + 0x6d2b79f5) | 0
  let t = Math.imul(state ^ (state >>> 15), 1 | state)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
}
const below = (n: number): number => Math.floor(random() * n)
const chance = (p: number): boolean => random() < p
const pick = <A>(items: readonly A[]): A => items[below(items.length)]!
const several = <A>(least: number, most: number, make: () => A): A[] =>
  Array.from({ length: least + below(most - least + 1) }, make)

// Letters whose case is special, signs that mean something to LIKE, quoting and regular expressions, and what lies beyond the BMP.
const pieces = [
  "a",
  "b",
  "A",
  "ab",
  "Ab",
  "abc",
  "x",
  "i",
  "I",
  "İ",
  "ı",
  "ß",
  "ẞ",
  "ss",
  "σ",
  "ς",
  "Σ",
  "é",
  "É",
  "e\u0301",
  "\u0301",
  "Å",
  "å",
  "Å",
  "K",
  "k",
  "ſ",
  "s",
  "ǅ",
  "Ǆ",
  "ǆ",
  "ﬁ",
  "ΐ",
  "Ω",
  "ω",
  "Ა",
  "ა",
  "Ꭰ",
  "ꭰ",
  "𐐀",
  "𐐨",
  "😀",
  "👩‍👩‍👧",
  "漢字",
  "א",
  "%",
  "_",
  "\\",
  "*",
  "'",
  "\"",
  "''",
  "$1",
  "\n",
  "\t",
  " ",
  "\u00a0",
  "\uffee",
  "0",
  "1",
  "100%",
  "{",
  "}",
  ",",
  "NULL",
  "null",
  "(",
  ")",
  ".",
  "note",
  "Note",
  "order",
  "ORDER 12",
  "-"
]
const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text)
const asciiPieces = pieces.filter(isAscii)
/**
 * Tables of ASCII only, where `similar` is compared too: what pg_trgm takes for a letter beyond ASCII depends on the LC_CTYPE of the database (in C
 * nothing is), so there is no one answer to agree with.
 */
let ascii = false
const randomText = (): string => several(0, 5, () => pick(ascii ? asciiPieces : pieces)).join("")

interface Column {
  readonly parts: FieldParts
  readonly type: string
  readonly value: () => string
}

const around = (edges: readonly bigint[]) => (): string =>
  String(chance(0.5) ? pick(edges) + BigInt(below(3) - 1) : BigInt(below(20) - 5))
const clamp = (low: bigint, high: bigint, make: () => string) => (): string => {
  const value = BigInt(make())
  return String(value < low ? low : value > high ? high : value)
}
const two = (n: number): string => String(n).padStart(2, "0")
const days = ["0001-01-01", "1970-01-01", "1999-12-31", "2024-02-29", "2026-03-29", "2026-10-25", "9999-12-31"]
const randomDay = (): string => chance(0.6) ? pick(days) : `2026-${two(1 + below(12))}-${two(1 + below(28))}`
const randomInstant = (): string => {
  const fraction = pick(["", "", ".5", ".123456", ".000001", ".999999", ".1"])
  return `${randomDay()}T${
    pick(["00:00:00", "23:59:59", "02:30:00", `${two(below(24))}:${two(below(60))}:${two(below(60))}`])
  }${fraction}Z`
}
const randomDecimal = (digits: number, places: number) => (): string => {
  const whole = chance(0.3) ? "9".repeat(digits) : String(below(30))
  const fraction = places === 0 ? "" : `.${String(below(10 ** Math.min(places, 6))).padStart(places, "0")}`
  return `${chance(0.3) ? "-" : ""}${whole}${fraction}`
}
const floats = [
  "0",
  "-0",
  "0.1",
  "0.2",
  "0.30000000000000004",
  "0.3",
  "1e21",
  "1e-7",
  "5e-324",
  "1.7976931348623157e308",
  "-1.5",
  "2",
  "9007199254740993"
]
const uuids = several(8, 8, () => "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replaceAll("x", () => below(16).toString(16)))
const labels = ["draft", "paid", "Shipped", "it's", "ß"]

const kinds: ReadonlyArray<() => Column> = [
  () => ({
    parts: { name: "i16", kind: "integer", bits: 16 },
    type: "smallint",
    value: clamp(-32768n, 32767n, around([-32768n, 32767n, 0n]))
  }),
  () => ({
    parts: { name: "i32", kind: "integer", bits: 32 },
    type: "integer",
    value: clamp(-(2n ** 31n), 2n ** 31n - 1n, around([-(2n ** 31n), 2n ** 31n - 1n, 0n]))
  }),
  () => ({
    parts: { name: "i64", kind: "integer" },
    type: "bigint",
    value: clamp(-(2n ** 63n), 2n ** 63n - 1n, around([-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n, 0n]))
  }),
  () => ({ parts: { name: "txt", kind: "text" }, type: "text", value: randomText }),
  () => ({ parts: { name: "vc", kind: "text", max: 200 }, type: "varchar(200)", value: randomText }),
  () => ({
    parts: { name: "ch", kind: "text", max: 40 },
    type: "char(40)",
    value: () => randomText().slice(0, 30).toWellFormed()
  }),
  () => ({ parts: { name: "dom", kind: "text" }, type: "label", value: randomText }),
  () => ({
    parts: { name: "dec", kind: "decimal", precision: 12, scale: 2 },
    type: "numeric(12,2)",
    value: randomDecimal(10, 2)
  }),
  () => ({
    parts: { name: "num", kind: "decimal" },
    type: "numeric",
    value: () => chance(0.1) ? pick(["NaN", "Infinity", "-Infinity"]) : randomDecimal(25, below(8))()
  }),
  () => ({
    parts: { name: "flt", kind: "float" },
    type: "double precision",
    value: () => chance(0.1) ? pick(["NaN", "Infinity", "-Infinity"]) : pick(floats)
  }),
  () => ({ parts: { name: "bool", kind: "boolean" }, type: "boolean", value: () => String(chance(0.5)) }),
  () => ({
    parts: { name: "tz", kind: "timestamp" },
    type: "timestamptz",
    value: () => chance(0.05) ? pick(["infinity", "-infinity"]) : randomInstant()
  }),
  () => ({ parts: { name: "ts", kind: "timestamp" }, type: "timestamp", value: () => randomInstant() }),
  () => ({ parts: { name: "dt", kind: "date" }, type: "date", value: randomDay }),
  () => ({ parts: { name: "st", kind: "enum", values: labels }, type: "status", value: () => pick(labels) }),
  () => ({ parts: { name: "stt", kind: "enum", values: labels }, type: "text", value: () => pick(labels) }),
  () => ({ parts: { name: "uid", kind: "uuid" }, type: "uuid", value: () => pick(uuids) }),
  () => ({ parts: { name: "cur", kind: "currency" }, type: "char(3)", value: () => pick(["EUR", "USD", "JPY"]) }),
  () => ({ parts: { name: "cty", kind: "country" }, type: "varchar(2)", value: () => pick(["NO", "DE", "FR"]) }),
  () => ({ parts: { name: "js", kind: "json" }, type: "jsonb", value: () => pick(["{}", "null", "[1, 2]", "\"x\""]) })
]

const isText = (field: Field): boolean => field.kind === "text"
/** Kinds that an enum type of the database would order otherwise, or that have no order at all. */
const isOrdered = (field: Field): boolean =>
  field.kind !== "enum" && field.kind !== "json" && field.kind !== "uuid" && field.kind !== "boolean"

describe(`evaluate and SQL agree (seed ${seed})`, () => {
  let database: TestDatabase
  let postgres: Postgres
  const scope = Effect.runSync(Scope.make())

  beforeAll(async () => {
    database = await openDatabase(
      `create domain label as text; create type status as enum (${
        labels.map((label) => `'${label.replaceAll("'", "''")}'`).join(", ")
      });`
    )
    postgres = await Effect.runPromise(Scope.provide(makePostgres({ url: database.url }), scope))
  })
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await database?.drop()
  })

  const read = (sql: string, params: readonly unknown[]) =>
    Effect.runPromise(postgres.read(sql, params, { prepare: false }))

  /** A table with a key and some random columns, half of them optional. */
  const makeTable = async (name: string): Promise<{ readonly model: Model; readonly rows: readonly Row[] }> => {
    const columns = kinds.filter(() => chance(0.6)).map((make) => make())
    const optional = columns.map(() => chance(0.6))
    const model = makeModel({
      name,
      fields: [
        { name: "id", kind: "integer", bits: 32 },
        ...columns.map((column, i) => ({ ...column.parts, optional: optional[i]! }))
      ]
    })
    const values = Array.from({ length: rowCount }, (_, row) => [
      String(row),
      ...columns.map((column, i) => optional[i] && chance(0.25) ? null : column.value())
    ])
    const types = ["integer primary key", ...columns.map((column, i) => column.type + (optional[i] ? "" : " not null"))]
    await database.execute(
      `create table "${name}" (${model.fields.map((field, i) => `"${field.column}" ${types[i]}`).join(", ")})`
    )
    const params: Array<string | null> = []
    const tuples = values.map((row) => `(${row.map((cell) => `$${params.push(cell)}`).join(", ")})`).join(", ")
    await Effect.runPromise(
      postgres.transaction((session) => session.run(`insert into "${name}" values ${tuples}`, params, false))
    )
    const list = model.fields.map((field) => `t."${field.column}"::text`).join(", ")
    const rows = canonicalRows(await read(`select ${list} from "${name}" t order by t.id`, []), model.fields)
    return { model, rows }
  }

  const bindingsOf = (): Bindings => ({
    caller: {
      id: pick(["0", "7", "a", "İ", "draft", "NaN", "2026-01-01", ...uuids.slice(0, 2)]),
      tenant: chance(0.3) ? null : pick(["1", "32767", "abc", "99999999999999999999"])
    },
    now: BigInt(Date.UTC(2026, 2, 29, 1, 30)) * 1000n + BigInt(below(3)),
    params: []
  })

  const literalOf = (field: Field, rows: readonly Row[]): Operand => {
    for (let attempt = 0; attempt < 20; attempt++) {
      const own = pick(rows)[field.index] ?? null
      const column = kinds.map((make) => make()).find(({ parts }) => parts.name === field.name)
      const text = own !== null && chance(0.6)
        ? (isText(field) && chance(0.3) ? (chance(0.5) ? own + pick([" ", "a", "%"]) : own.toUpperCase()) : own)
        : column === undefined
        ? String(below(rowCount))
        : column.value()
      const cell = cellFromText(field, field.kind === "decimal" && chance(0.1) ? `${text}001` : text)
      if (Result.isSuccess(cell)) return { of: "literal", text: cell.success }
    }
    throw new Error(`no literal for ${field.name}`)
  }

  const operandOf = (field: Field, rows: readonly Row[], bindings: { params: string[] }): Operand => {
    if (chance(0.08)) return { of: "caller", value: pick(["id", "tenant"]) }
    if ((field.kind === "timestamp" || field.kind === "date") && chance(0.3)) {
      return { of: "now", offset: BigInt(below(5) - 2) * 86_400_000_000n + BigInt(below(3) - 1) }
    }
    const literal = literalOf(field, rows)
    // A param that ends in blanks equals the value without them in a char(n) column, where the two are one value.
    if (chance(0.1) && literal.of === "literal" && !literal.text.endsWith(" ")) {
      return { of: "param", index: bindings.params.push(literal.text) - 1 }
    }
    return literal
  }

  const fragmentOf = (field: Field, rows: readonly Row[]): string => {
    const own = pick(rows)[field.index] ?? null
    if (own === null || chance(0.3)) return randomText()
    const points = Array.from(own)
    const start = below(points.length + 1)
    const part = points.slice(start, start + below(4)).join("")
    return chance(0.4) ? (chance(0.5) ? part.toLowerCase() : part.toUpperCase()) : part
  }

  const patternOf = (field: Field, rows: readonly Row[]): string => {
    const safe = (text: string) => text.replace(/[^\p{L}\p{N}]/gu, "")
    const atom = () =>
      pick([".", "[ab]", "[^a]", "a", "x*", "(a|b)", "[0-9]+", "b?", safe(fragmentOf(field, rows)) || "o"])
    return `${chance(0.2) ? "^" : ""}${several(1, 3, atom).join("")}${chance(0.2) ? "$" : ""}`
  }

  const comparisons: readonly Comparison[] = ["=", "<", "<=", ">", ">="]

  const leaf = (model: Model, rows: readonly Row[], bindings: { params: string[] }): FilterTree => {
    const field = pick(model.fields)
    const texts = model.fields.filter(isText)
    if (chance(0.1)) return { op: "null", field }
    if (chance(0.02)) return { op: chance(0.5) ? "true" : "false" }
    if (isText(field) && chance(0.7)) {
      switch (below(6)) {
        case 0:
          return { op: "match", field, parts: several(1, 3, () => fragmentOf(field, rows)) }
        case 1:
          return { op: "search", fields: texts.filter(() => chance(0.7)), text: fragmentOf(field, rows) }
        case 2:
          if (!ascii) return { op: "contains", field, text: fragmentOf(field, rows) }
          return {
            op: "similar",
            field,
            text: chance(0.5) ? fragmentOf(field, rows) : pick(rows)[field.index] ?? "note"
          }
        case 3:
          return { op: "regex", field, pattern: patternOf(field, rows) }
        default:
          return { op: "contains", field, text: fragmentOf(field, rows) }
      }
    }
    if (field.kind === "json") return { op: "null", field }
    if (chance(0.25)) return { op: "in", field, values: several(0, 5, () => operandOf(field, rows, bindings)) }
    return {
      op: "compare",
      field,
      is: isOrdered(field) ? pick(comparisons) : "=",
      value: operandOf(field, rows, bindings)
    }
  }

  const treeOf = (model: Model, rows: readonly Row[], bindings: { params: string[] }, depth: number): FilterTree => {
    if (depth === 0 || chance(0.35)) return leaf(model, rows, bindings)
    return chance(0.35)
      ? { op: "not", item: treeOf(model, rows, bindings, depth - 1) }
      : { op: chance(0.5) ? "and" : "or", items: several(0, 3, () => treeOf(model, rows, bindings, depth - 1)) }
  }

  it(`over ${wanted} trees`, async () => {
    let done = 0
    for (let table = 0; done < wanted; table++) {
      ascii = table % 3 === 0
      const { model, rows } = await makeTable(`t${table}`)
      for (let batch = 0; batch < 20 && done < wanted; batch++, done += perStatement) {
        const params: string[] = []
        const bindings: Bindings = { ...bindingsOf(), params }
        const trees = Array.from({ length: perStatement }, () => treeOf(model, rows, { params }, 4))

        const where = new Writer("public")
        const selects = trees.map((tree, i) =>
          `select ${i}, t.id from ${tableOf(model)} t where ${conditionSql(tree, "t", where)}`
        )
        const conditions = where.finish(`select u.i::text, u.id::text from (${selects.join(" union all ")}) u(i, id)`)
        const checks = new Writer("public")
        const columns = trees.map((tree) => `${truthSql(tree, "t", checks)}::text`).join(", ")
        const truths = checks.finish(`select ${columns} from ${tableOf(model)} t order by t.id`)

        const selected = trees.map(() => new Set<number>())
        for (const [i, id] of await read(conditions.sql, bind(conditions, valuesOf(bindings)))) {
          selected[Number(i)]!.add(Number(id))
        }
        const judged = await read(truths.sql, bind(truths, valuesOf(bindings)))

        for (const [i, tree] of trees.entries()) {
          for (const [id, row] of rows.entries()) {
            const expected = evaluate(tree, (field) => row[field.index] ?? null, bindings)
            if (selected[i]!.has(id) !== expected || judged[id]![i] !== String(expected)) {
              const shown = JSON.stringify(
                tree,
                (key, value: unknown) =>
                  key === "field"
                    ? (value as Field).name
                    : key === "fields"
                    ? (value as readonly Field[]).map((field) => field.name)
                    : typeof value === "bigint"
                    ? String(value)
                    : value
              )
              const record = Object.fromEntries(model.fields.map((field) => [field.name, row[field.index]]))
              expect.fail(
                `memory says ${expected}, WHERE ${selected[i]!.has(id)}, check ${judged[id]![i]}\n` +
                  `tree ${shown}\nrow ${JSON.stringify(record)}\ncaller ${JSON.stringify(bindings.caller)} params ${
                    JSON.stringify(params)
                  }\nDIFFERENTIAL_SEED=${seed}`
              )
            }
          }
        }
      }
    }
    expect(done).toBeGreaterThanOrEqual(wanted)
  })
})
