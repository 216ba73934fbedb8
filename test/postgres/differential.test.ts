// The filter language has one meaning: for random tables, rows and trees, `evaluate` in memory and the compiled SQL select the same rows, as a
// condition of WHERE and as a check column. A case is a table with many trees, because one statement answers many; shrinking leaves one.
import { layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { expect } from "vitest"
import { conditionSql, truthSql } from "../../adapters/postgres/compile-filter.ts"
import { textColumn } from "../../adapters/postgres/compile-page.ts"
import { bind, canonicalRows, tableOf, valuesOf, valueSql, Writer } from "../../adapters/postgres/sql.ts"
import { evaluate } from "../../core/domain/filter/evaluate.ts"
import { bindings, tree } from "../generators/filter.ts"
import { storedText, table, tableTypes } from "../generators/model.ts"
import { propertyOf } from "../generators/property.ts"
import type { Random } from "../generators/random.ts"
import { declarations } from "../generators/source.ts"
import { Connection, connectionLayer, Database, live } from "../support/layers.ts"

const rowCount = 60
const perStatement = 50

/**
 * A table and trees over it. `similar` is compared in tables of ASCII only: what pg_trgm takes for a letter beyond ASCII depends on the LC_CTYPE
 * of the database (in C nothing is), so there is no one answer to agree with.
 */
const scene = (random: Random) => {
  const ascii = random.chance(3)
  const made = table(random, "things", rowCount, { ascii, beyond: true })
  const params: string[] = []
  const options = { fields: made.model.fields, rows: made.rows, params, similar: ascii, ascii }
  const trees = random.many(perStatement, perStatement, () => tree(random, options), 1)
  return { table: made, trees, bindings: bindings(random, params) }
}
type Scene = ReturnType<typeof scene>

const show = ({ scene: { bindings: given, table: { definitions, parts, rows }, trees } }: { readonly scene: Scene }) =>
  declarations({ parts, definitions, rows, trees, bindings: given })

layer(connectionLayer(tableTypes), live)((it) => {
  let selected = 0
  propertyOf(it.effect)(
    "evaluate and SQL agree",
    { scene },
    {
      cases: 240,
      show,
      // The trees select some rows and leave others.
      reaches: (runs) => {
        const all = runs * rowCount * perStatement
        expect(selected).toBeGreaterThan(all / 10)
        expect(selected).toBeLessThan(all - all / 10)
      }
    },
    ({ scene: { bindings: given, table: { definitions, model, rows: values }, trees } }) =>
      Effect.gen(function*() {
        const postgres = yield* Connection
        const database = yield* Database
        const read = (sql: string, params: readonly unknown[]) => postgres.read(sql, params, { prepare: false })
        const columns = model.fields.map((field, i) => `"${field.column}" ${definitions[i]}`).join(", ")
        yield* Effect.promise(() => database.execute(`drop table if exists things; create table things (${columns})`))
        if (values.length > 0) {
          const params: Array<string | null> = []
          const tuples = values.map((row) =>
            `(${
              row.map((cell, i) => valueSql(model.fields[i]!, `$${params.push(storedText(model.fields[i]!, cell))}`))
                .join(", ")
            })`
          ).join(", ")
          yield* postgres.transaction((session) => session.run(`insert into things values ${tuples}`, params, false))
        }
        const list = model.fields.map((field) => textColumn("t", field)).join(", ")
        const rows = canonicalRows(yield* read(`select ${list} from things t order by t.id`, []), model.fields)

        const where = new Writer("public")
        const selects = trees.map((each, i) =>
          `select ${i}, t.id from ${tableOf(model)} t where ${conditionSql(each, "t", where)}`
        )
        const conditions = where.finish(`select u.i::text, u.id::text from (${selects.join(" union all ")}) u(i, id)`)
        const checks = new Writer("public")
        const checked = trees.map((each) => `${truthSql(each, "t", checks)}::text`).join(", ")
        const truths = checks.finish(`select ${checked} from ${tableOf(model)} t order by t.id`)

        const found = trees.map(() => new Set<string | null>())
        for (const [i, id] of yield* read(conditions.sql, bind(conditions, valuesOf(given)))) {
          found[Number(i)]!.add(id!)
        }
        const judged = yield* read(truths.sql, bind(truths, valuesOf(given)))
        for (const [i, each] of trees.entries()) {
          for (const [at, row] of rows.entries()) {
            const expected = evaluate(each, (field) => row[field.index] ?? null, given)
            if (expected) selected++
            const answers = { memory: expected, where: found[i]!.has(row[0]!), check: judged[at]![i] }
            if (answers.where !== expected || answers.check !== String(expected)) {
              expect(answers, `tree ${i}, row ${at}`).toEqual({
                memory: expected,
                where: expected,
                check: String(expected)
              })
            }
          }
        }
      })
  )
})
