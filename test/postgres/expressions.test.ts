// What is sorted by more than a column: pages give every row once, in the order of memory, and the index that is proposed serves them and is known to the
// doctor.
import { layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { expect } from "vitest"
import { pageStatement } from "../../adapters/postgres/compile-page.ts"
import { makeFacts } from "../../adapters/postgres/facts.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { bind } from "../../adapters/postgres/sql.ts"
import { checkIndexes } from "../../composition/doctor/indexes.ts"
import type { Compiled } from "../../core/domain/compile/compile.ts"
import { always, type Bindings } from "../../core/domain/filter/tree.ts"
import type { Field, SortKey } from "../../core/domain/model/model.ts"
import { suggestIndex } from "../../core/domain/read/guard.ts"
import type { PagePlan, PageShape } from "../../core/domain/read/plan.ts"
import type { Row } from "../../core/domain/value/kind.ts"
import { pageOf } from "../fakes/reader.ts"
import { Connection, connectionLayer, execute, live } from "../support/layers.ts"
import { withPaths } from "../support/members.ts"
import { makeModel } from "../support/model.ts"

const levels = ["low", "it's", "hi\\gh"]
const plain = makeModel({
  name: "tickets",
  fields: [
    { name: "id", kind: "integer", bits: 32 },
    { name: "level", kind: "enum", values: levels, ordered: true, optional: true },
    { name: "state", kind: "enum", values: ["new", "open", "done"], ordered: true },
    { name: "stage", kind: "enum", values: ["done", "new", "open"], ordered: true, typed: true, optional: true },
    { name: "title", kind: "text", optional: true, sortable: false },
    { name: "meta", kind: "json", optional: true, sortable: false, filterable: false },
    { name: "notes", kind: "json", optional: true, sortable: false, filterable: false }
  ]
})
const model = withPaths(plain, [
  { whole: "meta", name: "size.width", kind: "decimal" },
  { whole: "meta", name: "color", kind: "text", sortable: false },
  { whole: "notes", name: "n", kind: "decimal", storage: "json" },
  { whole: "notes", name: "level", kind: "enum", values: levels, ordered: true, storage: "json" }
])
const field = (name: string): Field => [...model.fields, ...model.members!].find((each) => each.name === name)!

const schema = `
create type state as enum ('done', 'new', 'open');
create table tickets (id integer primary key, level text, state state not null, stage state, title text, meta jsonb, notes json);
insert into tickets select i, (array['low', 'it''s', E'hi\\\\gh', null, 'other', 'more'])[1 + i * 7 % 6],
  (array['new', 'open', 'done'])[1 + i * 5 % 3]::state, (array['new', 'open', null, 'done'])[1 + i * 3 % 4]::state, null,
  (array[format('{"size": {"width": %s.50}, "color": "red"}', i % 9), '{"size": {"width": "wide"}}', '{"size": [1]}', null, '7'])[1 + i % 5]::jsonb,
  (array[format('{"n": %se1, "level": "low"}', i % 9), '{"n": 1, "x": "\\u0000"}', '{"n": 1e999999, "level": "it''s"}', null])[1 + i % 4]::json
  from generate_series(1, 60) i;
`

const bindings: Bindings = { caller: { id: "u1", tenant: null }, now: 0n, params: [] }
const noRelations = () => []
const keys = (names: readonly string[]): readonly SortKey[] =>
  names.map((name) => ({ field: field(name.replace(/^-/, "")), descending: name.startsWith("-") }))
const shapeOf = (order: readonly SortKey[], limit: number): PageShape => ({
  model,
  columns: [...new Set([...model.columns, ...order.map((key) => key.field)])],
  where: always,
  order,
  limit,
  checks: []
})
const positionOf = ({ columns, order }: PageShape, row: Row) => order.map((key) => row[columns.indexOf(key.field)]!)

layer(connectionLayer(schema), live)((it) => {
  const orders = [
    ["level", "id"],
    ["-level", "-id"],
    ["level", "-id"],
    ["-level", "state", "id"],
    ["state", "-level", "id"],
    ["stage", "id"],
    ["-stage", "level", "-id"],
    ["meta.size.width", "id"],
    ["-meta.size.width", "level", "id"],
    ["notes.level", "-notes.n", "id"]
  ]
  it.effect.each(orders.map((order) => [order.join(", "), order] as const))(
    "pages by %s, forwards and back",
    ([, names]) =>
      Effect.gen(function*() {
        const records = makeRecords(yield* Connection)
        const all = yield* records.page({ shape: shapeOf(keys(["id"]), 1_000), bindings })
        expect(all).toHaveLength(60)
        const shape = shapeOf(keys(names), 7)
        const expected = pageOf({ shape: { ...shape, limit: 1_000 }, bindings }, all, noRelations)
        for (const way of ["after", "before"] as const) {
          const walked: Row[] = []
          let plan: PagePlan = way === "after" ? { shape, bindings } : { shape, bindings, before: [] }
          for (;;) {
            const page = yield* records.page(plan)
            walked.push(...(way === "after" ? page : [...page].reverse()))
            const last = way === "after" ? page.at(-1) : page[0]
            if (last === undefined || page.length < shape.limit) break
            plan = { shape, bindings, [way]: positionOf(shape, last) }
          }
          expect(walked, way).toEqual(way === "after" ? expected : [...expected].reverse())
        }
      })
  )

  it.effect("the index that is proposed gives the order, and the doctor knows it", () =>
    Effect.gen(function*() {
      const postgres = yield* Connection
      const facts = makeFacts(postgres)
      const compiled = { rules: new Map(), roles: null, models: new Map([[model.name, model]]) } as unknown as Compiled
      const findings = Effect.map(
        facts.tables([{ schema: null, table: "tickets" }]),
        ([table]) => checkIndexes(model, table!, compiled, { large: 10, trigrams: false })
      )
      const told = yield* findings
      for (const name of ["level", "state", "stage", "meta.size.width", "notes.n", "notes.level"]) {
        const order = keys([name, "id"])
        const { sql } = suggestIndex(model, always, order, () => true)!
        expect(told.filter((finding) => finding.field === name).flatMap((finding) => finding.sql)).toContain(
          `${sql.replace("create index on", "create index concurrently on")};`
        )
        yield* execute(`${sql}; analyze tickets`)
        for (const after of [null, 30]) {
          const shape = shapeOf(order, 5)
          const rows = yield* makeRecords(postgres).page({ shape: { ...shape, limit: 60 }, bindings })
          const plan = after === null
            ? { shape, bindings }
            : { shape, bindings, after: positionOf(shape, rows[after]!) }
          const statement = pageStatement(plan, "public")
          const explained = yield* postgres.transaction((session) =>
            Effect.andThen(
              session.run("set local enable_seqscan = off", [], false),
              session.run(
                `explain ${statement.sql}`,
                bind(statement, { bindings, given: plan.after ?? [], offset: 0 }),
                false
              )
            )
          )
          expect(JSON.stringify(explained), `${name} ${after}`).not.toContain("Sort  (")
          expect(JSON.stringify(explained)).toContain(after === null ? "Index Scan" : "Index Cond")
        }
      }
      const left = (yield* findings).filter(({ message }) => /declared order|the path/.test(message))
      expect(left.map((finding) => [finding.field, finding.sql[0]])).toEqual([[
        "meta.color",
        "create index concurrently on tickets ((case when jsonb_typeof(meta -> 'color') = 'string' then meta ->> 'color' end), id);"
      ]])
    }))
})
