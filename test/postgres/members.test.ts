// Declared paths into JSON have one meaning: for random documents and trees, and for documents that PostgreSQL cannot take apart, `evaluate` in memory and the
// compiled SQL select the same rows.
import { layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { expect } from "vitest"
import { columnOf, conditionSql, truthSql } from "../../adapters/postgres/compile-filter.ts"
import { bind, valuesOf, Writer } from "../../adapters/postgres/sql.ts"
import { cellIn, evaluate } from "../../core/domain/filter/evaluate.ts"
import type { Field } from "../../core/domain/model/model.ts"
import type { Row } from "../../core/domain/value/kind.ts"
import { tree } from "../generators/filter.ts"
import { propertyOf } from "../generators/property.ts"
import type { Random } from "../generators/random.ts"
import { Connection, connectionLayer, execute, live } from "../support/layers.ts"
import { withPaths } from "../support/members.ts"
import { makeModel } from "../support/model.ts"

const levels = ["low", "mid", "high"]
const pathsOf = (whole: string, storage: "jsonb" | "json") => [
  { whole, storage, name: "color", kind: "text" as const },
  { whole, storage, name: "size.color", kind: "text" as const },
  { whole, storage, name: "size.n", kind: "decimal" as const },
  { whole, storage, name: "n", kind: "decimal" as const },
  { whole, storage, name: "size.\"it's a.b\"", kind: "text" as const },
  { whole, storage, name: "on", kind: "boolean" as const },
  { whole, storage, name: "a-b.level", kind: "enum" as const, values: levels, ordered: true as const }
]
const model = withPaths(
  makeModel({
    name: "docs",
    fields: [
      { name: "id", kind: "integer", bits: 32 },
      { name: "b", kind: "json", optional: true, filterable: false },
      { name: "j", kind: "json", optional: true, filterable: false }
    ]
  }),
  [...pathsOf("b", "jsonb"), ...pathsOf("j", "json")]
)

const leaves = [
  `"red"`,
  `"Red "`,
  `"r*d"`,
  `"ä\\nb"`,
  `"low"`,
  `"high"`,
  `"none"`,
  `""`,
  `"\\ud83d\\ude00"`,
  `"1"`,
  "0",
  "-0.0",
  "1",
  "1.0",
  "1.50",
  "9007199254740993",
  "0.1000000000000000000001",
  "1e3",
  "12E-2",
  "-7",
  "true",
  "false",
  "null",
  "[]",
  "[1]",
  "{}"
]
/** What a `json` column takes, and `jsonb` does not. */
const odd = [
  `"\\\\u0000"`,
  `"C:\\\\Udata\\\\\\\\udcff"`,
  `"\\\\\\u0000"`,
  `"\\ud83d\\\\\\ude00"`,
  `"\\u0000"`,
  `"\\ud800"`,
  `"\\udc00x"`,
  "1e999999",
  "1e-999999",
  `1${"0".repeat(1_200)}`,
  "1e400"
]

const keys = ["color", "size", "it's a.b", "n", "on", "a-b", "level", "other"]

const document = (random: Random, pool: readonly string[], depth: number): string => {
  const value = () => depth > 0 && random.chance(3) ? document(random, pool, depth - 1) : random.pick(pool)
  const gap = () => random.pick(["", "", " ", "\n"])
  if (random.chance(12)) return random.one(() => random.pick(pool), () => `[${document(random, pool, 0)}]`)
  return `{${gap()}${random.many(0, 7, () => `"${random.pick(keys)}"${gap()}:${gap()}${value()}`).join(",")}${gap()}}`
}

const scene = (random: Random) => {
  const rows = random.many(
    30,
    30,
    (i): Row => [
      String(i),
      random.chance(8) ? null : document(random, leaves, 2),
      random.chance(8) ? null : document(random, [...leaves, ...random.chance(2) ? odd : []], 2)
    ],
    0
  )
  const known = rows.map((row): Row => [
    ...row,
    ...model.members!.map((field) => cellIn(field, ({ index }) => row[index] ?? null))
  ])
  const options = { fields: model.members!, rows: known, params: [], similar: false }
  return { rows, trees: random.many(30, 30, () => tree(random, options), 1) }
}

layer(connectionLayer("create table docs (id integer primary key, b jsonb, j json)"), live)((it) => {
  let selected = 0
  propertyOf(it.effect)(
    "in memory and in SQL",
    { scene },
    { cases: 120, reaches: () => expect(selected).toBeGreaterThan(500) },
    ({ scene: { rows: given, trees } }) =>
      Effect.gen(function*() {
        const postgres = yield* Connection
        const bindings = { caller: { id: "red", tenant: null }, now: 0n, params: [] }
        const read = (sql: string, params: readonly unknown[]) => postgres.read(sql, params, { prepare: false })
        yield* execute("truncate docs")
        if (given.length === 0) return
        const params: Array<string | null> = []
        const tuples = given.map((row) => `(${row.map((cell) => `$${params.push(cell)}`).join(", ")})`).join(", ")
        yield* postgres.transaction((session) => session.run(`insert into docs values ${tuples}`, params, false))
        const members = model.members!
        const values = members.map((field) => `${columnOf("t", field)}::text`).join(", ")
        const stored = yield* read(`select t.id::text, t.b::text, t.j::text, ${values} from docs t order by t.id`, [])
        for (const row of stored) {
          for (const field of members) {
            expect([field.name, row[1], row[2], cellIn(field, ({ index }) => row[index] ?? null)]).toEqual([
              field.name,
              row[1],
              row[2],
              row[field.index]
            ])
          }
        }
        for (const each of trees) {
          const where = new Writer("public")
          const condition = conditionSql(each, "t", where)
          const check = truthSql(each, "t", where)
          const statement = where.finish(
            `select t.id::text, (${check})::text from docs t where ${condition} order by t.id`
          )
          const found = yield* read(statement.sql, bind(statement, valuesOf({ ...bindings })))
          const expected = stored.filter((row) => evaluate(each, (field: Field) => row[field.index] ?? null, bindings))
          selected += found.length
          expect(found).toEqual(expected.map(([id]) => [id, "true"]))
        }
      })
  )
})
