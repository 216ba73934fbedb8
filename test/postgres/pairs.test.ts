// Two columns compare in the database as their cells do in memory, also where their types or collations are not the same.
import { layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { expect } from "vitest"
import { conditionSql } from "../../adapters/postgres/compile-filter.ts"
import { bind, valuesOf, Writer } from "../../adapters/postgres/sql.ts"
import { evaluate } from "../../core/domain/filter/evaluate.ts"
import { type Comparison, not } from "../../core/domain/filter/tree.ts"
import { Connection, connectionLayer, live } from "../support/layers.ts"
import { makeModel } from "../support/model.ts"

const model = makeModel({
  name: "pairs",
  fields: [
    { name: "single", kind: "float" },
    { name: "double", kind: "float" },
    { name: "posix", kind: "text" },
    { name: "other", kind: "text" },
    { name: "folding", kind: "text" },
    { name: "padded", kind: "text" },
    { name: "state", kind: "enum", values: ["draft", "paid"] },
    { name: "word", kind: "enum", values: ["draft", "paid"] },
    { name: "big", kind: "integer", bits: 64 },
    { name: "small", kind: "integer", bits: 16 },
    { name: "exact", kind: "decimal" }
  ]
})

const schema = `
  create type state as enum ('paid', 'draft');
  create collation other (provider = icu, locale = 'de');
  create table pairs (
    single real, double double precision, posix text collate "C", other text collate other, folding citext, padded char(5),
    state state, word text, big bigint, small smallint, exact numeric
  );
  insert into pairs values
    (0.1, 0.1, 'Z', 'a', 'A', 'a', 'paid', 'paid', 9007199254740993, 1, 9007199254740993.0),
    (16777217, 16777217, 'a', 'Z', 'a', 'a ', 'draft', 'paid', -1, -1, -1.0),
    ('nan', 'infinity', 'ä', 'a', 'b', 'B', 'paid', 'draft', 32768, 32767, 'nan'),
    (null, 1, null, 'x', null, 'x', null, 'paid', 5, null, null);
`

layer(connectionLayer(schema), live)((it) => {
  it.effect("in every pair of columns", () =>
    Effect.gen(function*() {
      const postgres = yield* Connection
      const given = { caller: { id: "u", tenant: null }, now: 0n, params: [] }
      const list = model.fields.map(({ column }) => `"${column}"::text`).join(", ")
      const rows = yield* postgres.read(`select ${list} from pairs`, [], { prepare: false })
      let held = 0
      for (const [a, b] of [[0, 1], [2, 3], [2, 4], [3, 5], [4, 5], [6, 7], [8, 9], [8, 10], [9, 10]] as const) {
        for (const is of ["=", "<", "<=", ">", ">="] satisfies readonly Comparison[]) {
          for (const [field, other] of [[a, b], [b, a]].map((at) => at.map((index) => model.fields[index!]!))) {
            const tree = { op: "pair", field: field!, is, other: other! } as const
            for (const each of [tree, not(tree)]) {
              const writer = new Writer("public")
              const condition = conditionSql(each, "t", writer)
              const statement = writer.finish(`select ${list} from pairs t where ${condition}`)
              const found = yield* postgres.read(statement.sql, bind(statement, valuesOf(given)), { prepare: false })
              const expected = rows.filter((row) => evaluate(each, ({ index }) => row[index] ?? null, given))
              expect(found, `${field!.name} ${is} ${other!.name}`).toEqual(expected)
              held += found.length
            }
          }
        }
      }
      expect(held).toBeGreaterThan(100)
    }))
})
