// Conditions about related records have one meaning: for random tables with relations, rows and trees, `evaluate` in memory and the compiled SQL select
// the same rows, as a condition of WHERE and as a check column.
import { layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { expect } from "vitest"
import { conditionSql, truthSql } from "../../adapters/postgres/compile-filter.ts"
import { textColumn } from "../../adapters/postgres/compile-page.ts"
import { bind, canonicalRows, valuesOf, valueSql, Writer } from "../../adapters/postgres/sql.ts"
import { evaluate } from "../../core/domain/filter/evaluate.ts"
import { merged, partsOf } from "../../core/domain/filter/merge.ts"
import { printFilter } from "../../core/domain/filter/print.ts"
import { relatedOf } from "../../core/domain/filter/tree.ts"
import { relatedIn } from "../fakes/reader.ts"
import { bindings } from "../generators/filter.ts"
import { storedText, tableTypes } from "../generators/model.ts"
import { propertyOf } from "../generators/property.ts"
import type { Random } from "../generators/random.ts"
import { relatedTree, world } from "../generators/related.ts"
import { declarations } from "../generators/source.ts"
import { Connection, connectionLayer, Database, live } from "../support/layers.ts"

const rowCount = 12
const perStatement = 40

const scene = (random: Random) => {
  const params: string[] = []
  const options = { params, similar: false }
  const made = world(random, rowCount, options)
  const place = random.pick(made.places)
  const trees = random.many(perStatement, perStatement, () => relatedTree(random, made, place, options), 1)
  return { world: made, at: made.places.indexOf(place), trees, bindings: bindings(random, params) }
}
type Scene = ReturnType<typeof scene>

const show = ({ scene: { at, bindings: given, trees, world: { places } } }: { readonly scene: Scene }) =>
  declarations({
    at,
    places: places.map(({ definitions, parts, rows }) => ({ parts, definitions, rows })),
    trees: trees.map(printFilter),
    bindings: given
  })

layer(connectionLayer(tableTypes), live)((it) => {
  let selected = 0
  let related = 0
  propertyOf(it.effect)(
    "evaluate and SQL agree",
    { scene },
    {
      // About 11,000 trees in a deep run.
      cases: 550,
      show,
      // The trees go through relations, select some rows and leave others.
      reaches: (runs) => {
        expect(related).toBeGreaterThan(runs * perStatement / 2)
        expect(selected).toBeGreaterThan(runs * perStatement * rowCount / 10)
        expect(selected).toBeLessThan(runs * perStatement * rowCount * 0.9)
      }
    },
    ({ scene: { at, bindings: given, trees, world: { places } } }) =>
      Effect.gen(function*() {
        const postgres = yield* Connection
        const database = yield* Database
        const read = (sql: string, params: readonly unknown[]) => postgres.read(sql, params, { prepare: false })
        const stored = new Map<unknown, ReadonlyArray<readonly (string | null)[]>>()
        for (const { definitions, model, rows } of places) {
          const columns = model.fields.map((field, i) => `"${field.column}" ${definitions[i]}`).join(", ")
          yield* Effect.promise(() =>
            database.execute(`drop table if exists ${model.table}; create table ${model.table} (${columns})`)
          )
          if (rows.length > 0) {
            const params: Array<string | null> = []
            const tuples = rows.map((row) =>
              `(${
                row.map((cell, i) => valueSql(model.fields[i]!, `$${params.push(storedText(model.fields[i]!, cell))}`))
                  .join(", ")
              })`
            ).join(", ")
            yield* postgres.transaction((session) =>
              session.run(`insert into ${model.table} values ${tuples}`, params, false)
            )
          }
          const list = model.fields.map((field) => textColumn("t", field)).join(", ")
          stored.set(
            model,
            canonicalRows(yield* read(`select ${list} from ${model.table} t order by t.id`, []), model.fields)
          )
        }
        const reader = relatedIn((model) => stored.get(model) ?? [])
        const { model } = places[at]!
        const rows = stored.get(model)!

        const where = new Writer("public")
        const selects = trees.map((each, i) =>
          `select ${i}, t.id from ${model.table} t where ${conditionSql(each, "t", where)}`
        )
        const conditions = where.finish(`select u.i::text, u.id::text from (${selects.join(" union all ")}) u(i, id)`)
        const checks = new Writer("public")
        const checked = trees.map((each) => `${truthSql(each, "t", checks)}::text`).join(", ")
        const truths = checks.finish(`select ${checked} from ${model.table} t order by t.id`)
        const found = trees.map(() => new Set<string | null>())
        for (const [i, id] of yield* read(conditions.sql, bind(conditions, valuesOf(given)))) found[Number(i)]!.add(id!)
        const judged = yield* read(truths.sql, bind(truths, valuesOf(given)))
        for (const [i, each] of trees.entries()) {
          if (relatedOf(each).length > 0) related++
          for (const [place, row] of rows.entries()) {
            const cellOf = (field: { readonly index: number }) => row[field.index] ?? null
            const memory = evaluate(each, cellOf, given, reader)
            if (memory) selected++
            const answers = {
              memory,
              merged: evaluate(merged(each), cellOf, given, reader),
              parts: partsOf(each).filter((part) => evaluate(part, cellOf, given, reader)).length,
              where: found[i]!.has(row[0]!),
              check: judged[place]![i]
            }
            const parts = memory ? 1 : 0
            if (
              answers.merged !== memory || answers.parts !== parts || answers.where !== memory ||
              answers.check !== String(memory)
            ) {
              expect(answers, `tree ${i}, row ${place}`).toEqual({
                memory,
                merged: memory,
                parts,
                where: memory,
                check: String(memory)
              })
            }
          }
        }
      })
  )
})
