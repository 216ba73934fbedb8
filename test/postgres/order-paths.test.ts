// An order through relations has one meaning: for random tables, rows, filters and orders, pages of PostgreSQL and of the fake, in both directions and from
// anywhere, are parts of the one list that a plain sort of the rows makes. Every row is on exactly one page.
import { layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { expect } from "vitest"
import { textColumn } from "../../adapters/postgres/compile-page.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { canonicalRows, valueSql } from "../../adapters/postgres/sql.ts"
import { evaluate } from "../../core/domain/filter/evaluate.ts"
import { printFilter } from "../../core/domain/filter/print.ts"
import { always } from "../../core/domain/filter/tree.ts"
import type { OrderKey, Way } from "../../core/domain/filter/tree.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import { type PagePlan, type PageShape, pathCellOf } from "../../core/domain/read/plan.ts"
import type { Cell, Row } from "../../core/domain/value/kind.ts"
import { hasOrder } from "../../core/domain/value/traits.ts"
import { compareKeys, pageOf, relatedIn } from "../fakes/reader.ts"
import { bindings } from "../generators/filter.ts"
import { storedText, tableTypes } from "../generators/model.ts"
import { propertyOf } from "../generators/property.ts"
import type { Random } from "../generators/random.ts"
import { type Place, relatedTree, type World, world } from "../generators/related.ts"
import { declarations } from "../generators/source.ts"
import { Connection, connectionLayer, Database, live } from "../support/layers.ts"

const rowCount = 14

const orderOf = (random: Random, { places }: World, place: Place): readonly OrderKey[] => {
  // The database orders an enum type by its labels, memory by their texts.
  const sortable = (model: Model) => model.fields.filter(({ kind, name }) => hasOrder(kind) && name !== "st")
  const ways: Way[] = []
  let at = place
  const far = random.pick([1, 1, 2, 3])
  while (ways.length < far) {
    const one = at.ways.filter(({ relation }) => !relation.many)
    const way = random.pick(one)
    ways.push(way)
    at = places.find(({ model }) => model === way.model)!
  }
  const own = random.shuffled(sortable(place.model)).slice(0, random.pick([0, 0, 1, 1, 2, 3]))
    .map((field): OrderKey => ({ field, descending: random.chance(2) }))
  const path: OrderKey = { field: random.pick(sortable(at.model)), descending: random.chance(2), ways }
  const before = random.pick([0, 0, 0, 1, 2])
  const keys = [...own.slice(0, before), path, ...own.slice(before)]
  return keys.some(({ field, ways }) => ways === undefined && field === place.model.key[0])
    ? keys
    : [...keys, { field: place.model.key[0]!, descending: keys.at(-1)!.descending }]
}

/** What the database promises of the keys: nothing, that they lead to a row, or that there is one for each. */
const promises = ["nothing", "held", "filled", "filled"] as const

/** Orders asked of one world. */
const asked = 6

const scene = (random: Random) => {
  const params: string[] = []
  const options = { params, similar: false }
  const made = world(random, rowCount, options)
  const place = random.pick(made.places)
  const promise = random.pick(promises)
  // Rows of a world whose keys lead somewhere.
  const kept = made.places.map(({ model, rows }) =>
    rows.map((row): Row =>
      row.map((cell, i) => {
        const field = model.columns[i]!
        if (promise === "nothing" || (field.name !== "self_id" && field.name !== "up_id")) return cell
        const target = field.name === "self_id"
          ? rows
          : made.places[made.places.findIndex((each) => each.model === model) - 1]?.rows ?? []
        if (target.length === 0) return null
        return cell !== null && target.some(([id]) => id === cell)
          ? cell
          : promise === "filled"
          ? target[0]![0]!
          : null
      })
    )
  )
  return {
    world: made,
    rows: kept,
    at: made.places.indexOf(place),
    promise,
    questions: random.many(asked, asked, () => ({
      order: orderOf(random, made, place),
      where: random.chance(3) ? relatedTree(random, made, place, options) : always,
      size: 1 + random.below(5),
      reversed: random.chance(2)
    }), 1),
    bindings: bindings(random, params)
  }
}
type Scene = ReturnType<typeof scene>

const show = ({ scene: { at, bindings: given, promise, questions, rows, world: { places } } }: {
  readonly scene: Scene
}) =>
  declarations({
    at,
    promise,
    places: places.map(({ definitions, parts, seen }, i) => ({
      parts,
      definitions,
      rows: rows[i],
      seen: printFilter(seen)
    })),
    questions: questions.map(({ order, reversed, size, where }) => ({
      order: order.map(({ descending, field, ways = [] }) =>
        [...ways.map(({ relation }) => relation.name), field.name].join(".") + (descending ? " desc" : "")
      ),
      where: printFilter(where),
      size,
      reversed
    })),
    bindings: given
  })

layer(connectionLayer(tableTypes), live)((it) => {
  const met = { nulls: 0, values: 0, ties: 0, several: 0 }
  propertyOf(it.effect)(
    "pages are parts of one sorted list",
    { scene },
    {
      cases: 300,
      show,
      reaches: (runs) => {
        expect(met.nulls).toBeGreaterThan(runs * asked / 4)
        // About a quarter of them: fewer in a short run, by chance.
        expect(met.values).toBeGreaterThan(runs * asked / 5)
        expect(met.ties).toBeGreaterThan(runs * asked / 8)
        expect(met.several).toBeGreaterThan(runs * asked / 4)
      }
    },
    ({ scene: { at, bindings: given, promise, questions, rows, world: { places } } }) =>
      Effect.gen(function*() {
        const postgres = yield* Connection
        const database = yield* Database
        const stored = new Map<Model, readonly Row[]>()
        const drop = places.map(({ model }) => `drop table if exists ${model.table} cascade`).join("; ")
        yield* Effect.promise(() => database.execute(drop))
        for (const [i, { definitions, model }] of places.entries()) {
          const columns = model.fields.map((field, c) => `"${field.column}" ${definitions[c]}`).join(", ")
          yield* Effect.promise(() => database.execute(`create table ${model.table} (${columns})`))
          if (rows[i]!.length > 0) {
            const params: Array<string | null> = []
            const tuples = rows[i]!.map((row) =>
              `(${
                row.map((cell, c) => {
                  const field = model.fields[c]!
                  return valueSql(field, `$${params.push(storedText(field, cell))}`)
                }).join(", ")
              })`
            )
            yield* postgres.transaction((session) =>
              session.run(`insert into ${model.table} values ${tuples.join(", ")}`, params, false)
            )
          }
          const list = model.fields.map((field) => textColumn("t", field)).join(", ")
          const read = yield* postgres.read(`select ${list} from ${model.table} t order by t.id`, [], {
            prepare: false
          })
          stored.set(model, canonicalRows(read, model.fields))
        }
        if (promise !== "nothing") {
          for (const { model } of places) {
            for (const { from, many, target } of model.relations.values()) {
              if (many) continue
              const key = `alter table ${model.table} add foreign key (${from.column}) references ${target} (id)`
              yield* Effect.promise(() => database.execute(key))
              if (promise !== "filled" || stored.get(model)!.some((row) => row[from.index] === null)) continue
              const filled = `alter table ${model.table} alter column ${from.column} set not null`
              yield* Effect.promise(() => database.execute(filled))
            }
          }
        }
        const { model } = places[at]!
        const related = relatedIn((of) => stored.get(of) ?? [])

        const records = makeRecords(postgres)
        for (const { order, reversed, size, where } of questions) {
          // The sorted list, without a plan: each row's keys by hand.
          const cell = (row: Row, field: Field): Cell => row[field.index] ?? null
          const keyOf = (row: Row, { field, ways = [] }: OrderKey): Cell => {
            let here: Row | undefined = row
            for (const way of ways) {
              const value: Cell = cell(here, way.relation.from)
              here = stored.get(way.model)!.find((far) =>
                value !== null && cell(far, way.to) === value &&
                evaluate(way.rows, (of) => cell(far, of), given, related)
              )
              if (here === undefined) return null
            }
            return cell(here, field)
          }
          const listed = stored.get(model)!
            .filter((row) => evaluate(where, (of) => cell(row, of), given, related))
            .map((row) => ({ id: row[0]!, keys: order.map((key) => keyOf(row, key)) }))
            .sort((a, b) => compareKeys(order, (i) => a.keys[i]!, (i) => b.keys[i]!))
          const wanted = listed.map(({ id }) => id)
          const path = order.findIndex(({ ways }) => ways !== undefined)
          const values = listed.map(({ keys }) => keys[path] ?? null)
          if (values.includes(null)) met.nulls++
          if (values.some((value) => value !== null)) met.values++
          if (new Set(values).size < values.length - 1) met.ties++
          if (listed.length > size) met.several++

          const columns = [model.key[0]!, ...order.filter(({ ways }) => ways === undefined).map(({ field }) => field)]
          const shape: PageShape = { model, columns, where, order, limit: size, checks: reversed ? [always] : [] }
          const cellsOf = (row: Row): readonly Cell[] => {
            const own = columns.slice(1)
            return order.map(({ field, ways }) =>
              ways === undefined ? row[1 + own.indexOf(field)]! : row[pathCellOf(shape)]!
            )
          }
          const plan: PagePlan = { shape, bindings: given }
          const pageBy: ReadonlyArray<readonly [string, (plan: PagePlan) => Effect.Effect<readonly Row[], unknown>]> = [
            ["PostgreSQL", (asked) => records.page(asked)],
            ["memory", (asked) => Effect.sync(() => pageOf(asked, stored.get(model)!, related))],
            ["all rows first", (asked) => records.page({ ...asked, whole: true })]
          ]
          for (const [name, page] of pageBy) {
            const found: string[] = []
            let position: readonly Cell[] | null = null
            for (;;) {
              const asked: PagePlan = position === null
                ? reversed ? { ...plan, before: [] } : plan
                : reversed
                ? { ...plan, before: position }
                : { ...plan, after: position }
              const read: readonly Row[] = yield* page(asked)
              const ids = read.map(([id]) => id!)
              if (reversed) found.unshift(...ids)
              else found.push(...ids)
              if (read.length < size) break
              position = cellsOf(reversed ? read[0]! : read.at(-1)!)
              if (found.length > wanted.length) break
            }
            expect(found, name).toEqual(wanted)
          }
          const offset = Math.floor(wanted.length / 2)
          const skipped = yield* records.page({ ...plan, offset: offset + 1 })
          expect(skipped.map(([id]) => id), "skipped").toEqual(wanted.slice(offset + 1, offset + 1 + size))
          const counted = yield* records.page({ ...plan, counted: 1_000 })
          expect(counted.map((row) => [row[0], row.at(-1)]), "counted").toEqual(
            wanted.slice(0, size).map((id) => [id, String(wanted.length)])
          )
          expect(counted.map(cellsOf)).toEqual(listed.slice(0, size).map(({ keys }) => keys))
          expect((yield* records.estimate(plan)).cost).toBeGreaterThanOrEqual(0)
        }
      })
  )
})
