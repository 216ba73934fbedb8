// Groups have one meaning: for random rows and random questions, written as texts, memory and PostgreSQL give the same groups in the same order.
import { layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { expect } from "vitest"
import { aggregateStatement } from "../../adapters/postgres/compile-aggregate.ts"
import { bind, canonicalRows, valuesOf } from "../../adapters/postgres/sql.ts"
import type { Access } from "../../core/domain/access/access.ts"
import { readableBit, restrictModel } from "../../core/domain/access/restrict.ts"
import { always } from "../../core/domain/filter/tree.ts"
import { readGroups } from "../../core/domain/read/group.ts"
import { groupsRequest } from "../../core/domain/read/request.ts"
import { granularities } from "../../core/domain/value/instant.ts"
import type { Cell, Row } from "../../core/domain/value/kind.ts"
import { groupRows } from "../fakes/aggregate.ts"
import { propertyOf } from "../generators/property.ts"
import type { Random } from "../generators/random.ts"
import { declarations } from "../generators/source.ts"
import { Connection, connectionLayer, live } from "../support/layers.ts"
import { makeModel } from "../support/model.ts"

const model = makeModel({
  name: "facts",
  fields: [
    { name: "id", kind: "integer" },
    { name: "word", kind: "text", optional: true },
    { name: "flag", kind: "boolean", optional: true },
    { name: "small", kind: "integer", bits: 16, optional: true },
    { name: "huge", kind: "integer", optional: true },
    { name: "money", kind: "decimal", precision: 20, scale: 2, optional: true },
    { name: "share", kind: "decimal", optional: true },
    { name: "ratio", kind: "float", optional: true },
    { name: "at", kind: "timestamp", optional: true },
    { name: "plain", kind: "timestamp", optional: true },
    { name: "day", kind: "date", optional: true },
    { name: "ref", kind: "uuid", optional: true }
  ]
})
const types =
  "bigint primary key,text,boolean,smallint,bigint,numeric(20,2),numeric,double precision,timestamptz,timestamp,date,uuid"
const schema = `create table facts (${
  types.split(/,(?!2)/).map((type, i) => `"${model.fields[i]!.column}" ${type}`).join(", ")
})`
const restricted = restrictModel(model, model.fields.map(() => readableBit), true)

/**
 * Few values of each kind, so that groups have several rows. No two of them are equal in another form: which of them a group shows is the
 * database's choice.
 */
const pools: { readonly [name: string]: readonly string[] } = {
  word: ["a", "A", "b", "", "ß", "10", "9", "\u{1f600}", "\uffee"],
  flag: ["true", "false"],
  small: ["-32768", "-1", "0", "7", "32767"],
  huge: ["-9223372036854775808", "-3", "0", "2", "9007199254740993", "9223372036854775807"],
  money: ["-0.01", "0.00", "0.05", "1.10", "999999999999999999.99"],
  share: ["-7", "0", "0.3333", "2", "12345678901234567.891", "NaN", "Infinity"],
  ratio: ["-0.1", "0", "0.1", "0.3", "1e+22", "1e-07", "NaN", "-Infinity"],
  at: [
    "2026-03-29T00:59:59.999999Z",
    "2026-03-29T01:00:00Z",
    "2026-10-25T00:30:00Z",
    "2026-10-25T01:30:00Z",
    "2026-11-01T04:30:00Z",
    "2026-11-01T05:30:00Z",
    "2026-03-28T22:30:00Z",
    "2025-12-31T23:30:00.000001Z",
    "2024-02-29T12:00:00Z",
    "infinity"
  ],
  plain: ["2026-01-01T00:00:00Z", "2026-03-29T02:30:00Z", "2026-06-30T22:00:00Z"],
  day: ["2026-01-01", "2026-03-29", "2026-03-31", "2027-01-03", "0001-01-01"],
  ref: ["00000000-0000-4000-8000-000000000001", "ffffffff-0000-4000-8000-000000000001"]
}

const numbers = ["small", "huge", "money", "share", "ratio"]
const times = ["at", "plain", "day"]

const measure = (random: Random): string =>
  random.one(
    () => "count",
    () => `count_distinct(${random.pick(Object.keys(pools))})`,
    () => `${random.pick(["sum", "avg"])}(${random.pick(numbers)})`,
    () => `${random.pick(["min", "max", "median", "p95"])}(${random.pick([...numbers, ...times])})`
  )

const key = (random: Random): string =>
  random.chance(2)
    ? `${random.pick(granularities)}(${random.pick(times)})`
    : random.pick(Object.keys(pools))

/** A value that a measure may be compared with: one of its field, or a number beside it. */
const value = (random: Random, measure: string): string => {
  const [of = "", field = ""] = measure.slice(0, -1).split("(")
  if (of === "coun" || of === "count_distinct") return String(random.below(4))
  if (times.includes(field)) {
    return `"${random.pick(["2026-03-29", "2026-06-30"])}${field === "day" ? "" : "T01:00:00Z"}"`
  }
  const decimal = ["sum", "avg"].includes(of) || field === "money" || field === "share"
  return random.pick(decimal ? ["0", "-3", "0.1", "1.5", "9007199254740993.25"] : ["0", "-1", "7"])
}

const condition = (random: Random, measures: readonly string[], depth = 2): string => {
  const one = random.pick(measures)
  return depth > 0 && random.chance(2)
    ? random.one(
      () => `(${condition(random, measures, depth - 1)} AND ${condition(random, measures, depth - 1)})`,
      () => `(${condition(random, measures, depth - 1)} OR ${condition(random, measures, depth - 1)})`,
      () => `NOT ${condition(random, measures, depth - 1)}`,
      () => `-${condition(random, measures, 0)}`
    )
    : random.one(
      () => `${one}${random.pick([" = ", " != ", ">", "<=", " < ", ">="])}${value(random, one)}`,
      () => `isNull(${one})`,
      () => `${one}:*`,
      () => `in(${one}, ${value(random, one)}, ${value(random, one)})`
    )
}

const question = (random: Random): ReadonlyArray<readonly [string, string]> => {
  const keys = [...new Set(random.many(0, 3, () => key(random)))]
  const measures = [...new Set(random.many(1, 4, () => measure(random)))]
  const sorts = random.some([...keys, ...measures], 2).map((name) => random.chance(2) ? name : `${name} desc`)
  return [
    ["group_by", keys.join()],
    ["measures", measures.join()],
    ["having", random.chance(2) ? condition(random, measures) : ""],
    ["order_by", sorts.join(", ")],
    [
      "time_zone",
      random.pick(["UTC", "Europe/Berlin", "America/Havana", "Asia/Beirut", "Asia/Kolkata", "Australia/Lord_Howe"])
    ],
    ["limit", random.pick(["1000", "1000", "2"])]
  ]
}

const perTable = 40

const scene = (random: Random) => ({
  rows: random.many(0, 40, (i): Row => [
    String(i),
    ...model.fields.slice(1).map(({ name }): Cell => random.chance(5) ? null : random.pick(pools[name]!))
  ]),
  questions: random.many(perTable, perTable, () => question(random), 1)
})

layer(connectionLayer(schema), live)((it) => {
  let groups = 0
  let cut = 0
  propertyOf(it.effect)(
    "memory and SQL give the same groups",
    { scene },
    {
      cases: 250,
      show: ({ scene }) => declarations(scene),
      // Groups are found, and conditions leave some of them out.
      reaches: (runs) => {
        expect(groups).toBeGreaterThan(runs * perTable)
        expect(cut).toBeGreaterThan(runs * perTable / 10)
      }
    },
    ({ scene: { questions, rows } }) =>
      Effect.gen(function*() {
        const postgres = yield* Connection
        yield* postgres.transaction((session) =>
          Effect.gen(function*() {
            yield* session.run("truncate facts", [], false)
            if (rows.length === 0) return
            const params: Cell[] = []
            const tuples = rows.map((row) => `(${row.map((cell) => `$${params.push(cell)}`).join(", ")})`)
            yield* session.run(`insert into facts values ${tuples.join(", ")}`, params, false)
          })
        )
        for (const query of questions) {
          const request = Result.getOrThrow(groupsRequest(query))
          const asked = Result.getOrThrow(
            readGroups(() => null, { model: restricted.model, restricted } as Access, request)
          )
          const bindings = { caller: { id: "u", tenant: null }, now: 1_767_225_600_000_000n, params: [] }
          const plan = { of: "groups", model, question: asked, where: always, limit: request.limit, bindings } as const
          const statement = aggregateStatement(plan, "public")
          const found = yield* postgres.read(statement.sql, bind(statement, valuesOf(bindings)), { prepare: false })
          const cellOf = (row: Row, { index }: { readonly index: number }): Cell => row[index] ?? null
          const expected = groupRows(plan, rows, cellOf, (row, { field }) => cellOf(row, field))
          expect(canonicalRows(found, asked.columns), JSON.stringify(query)).toEqual(expected)
          groups += expected.length
          const all = groupRows({ ...plan, question: { ...asked, having: always } }, rows, cellOf, (row, { field }) =>
            cellOf(row, field))
          if (all.length > expected.length) {
            cut++
          }
        }
      })
  )
})
