// Kinds whose values only PostgreSQL has: what is written comes back as the same cell whatever the settings are, sorts as in memory, and has one ETag
// there and here. Types without a kind refuse every wrong text as bad data.
import { expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createHash } from "node:crypto"
import { outputs, textColumn } from "../../adapters/postgres/compile-page.ts"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { canonicalOf, Writer } from "../../adapters/postgres/sql.ts"
import { always } from "../../core/domain/filter/tree.ts"
import type { Field } from "../../core/domain/model/model.ts"
import { hashedText } from "../../core/domain/read/etag.ts"
import { cellFromText, compareCells } from "../../core/domain/value/cell.ts"
import { isNative, isWritableNative } from "../../core/domain/value/native.ts"
import { hasOrder } from "../../core/domain/value/traits.ts"
import { storedText } from "../generators/model.ts"
import { Random } from "../generators/random.ts"
import { cell } from "../generators/value.ts"
import { Connection, Database, databaseLayer, execute, live, rows } from "../support/layers.ts"
import { type FieldParts, makeModel, makeShape } from "../support/model.ts"

const columns: ReadonlyArray<readonly [FieldParts, string]> = [
  [{ name: "tm", kind: "time" }, "time"],
  [{ name: "iv", kind: "interval" }, "interval"],
  [{ name: "ip", kind: "inet" }, "inet"],
  [{ name: "nw", kind: "cidr" }, "cidr"],
  [{ name: "mac", kind: "macaddr" }, "macaddr"],
  [{ name: "mon", kind: "money" }, "money"],
  [{ name: "ri", kind: "range", type: "integer" }, "int4range"],
  [{ name: "rb", kind: "range", type: "bigint" }, "int8range"],
  [{ name: "rn", kind: "range", type: "decimal" }, "numrange"],
  [{ name: "rd", kind: "range", type: "date" }, "daterange"],
  [{ name: "rts", kind: "range", type: "timestamp" }, "tsrange"],
  [{ name: "rtz", kind: "range", type: "timestamp" }, "tstzrange"],
  [{ name: "by", kind: "bytes" }, "bytea"],
  [{ name: "pt", kind: "native", type: "point" }, "point"]
]

/** Arrays of all of them, and of what is special in arrays: boxes with a delimiter of their own, amounts of a domain. */
const elements: typeof columns = [
  ...columns,
  [{ name: "bx", kind: "native", type: "box" }, "box"],
  [{ name: "md", kind: "money" }, "price"]
]
const lists = elements.map(([parts, type]): readonly [FieldParts, string] => {
  const of = makeShape(parts)
  if (of.kind === "list") throw new Error("Arrays have one dimension.")
  return [{ name: `l_${parts.name}`, kind: "list", of, nulls: true }, `${type}[]`]
})

const all = [...columns, ...lists]
const parts: readonly FieldParts[] = [
  { name: "id", kind: "integer", bits: 32 },
  ...all.map(([part]): FieldParts => ({ ...part, optional: true }))
]
const model = makeModel({ name: "things", fields: parts })
const fields = model.fields.slice(1)
const schema = `create domain price as money; create table things (id integer primary key, ${
  all.map(([{ name }, type]) => `${name} ${type}`).join(", ")
})`

/** Values at the ends of each kind, beside those that the generator makes. */
const ends: { readonly [kind in Field["kind"]]?: readonly string[] } = {
  time: ["24:00:00", "00:00:00", "00:00:00.000001"],
  interval: [
    "PT0S",
    "P178956970Y7M",
    "P-178956970Y-8M",
    "P2147483647D",
    "PT2562047788H54.775807S",
    "PT-2562047788H-54.775808S",
    "P10M3DT-3H-55M-6.7S",
    "P1M",
    "P30D",
    "PT720H"
  ],
  inet: ["::ffff:1.2.3.4", "::0.1.0.0", "::", "1:0:0:2::3/64", "255.255.255.255", "0.0.0.0/0", "2001:db8::/32"],
  cidr: ["0.0.0.0/0", "::/0", "::1/128", "10.0.0.1/32"],
  money: ["92233720368547758.07", "-92233720368547758.08", "0.00"],
  bytes: ["", "AA==", Buffer.alloc(1000, 255).toString("base64")]
}

const cellsOf = (field: Field): readonly string[] => {
  const random = new Random(7)
  const made = Array.from({ length: 60 }, () => cell(random, field, { beyond: true }))
  const canonical = made.flatMap((each) => {
    const read = cellFromText(field, each)
    return read._tag === "Success" ? [read.success] : [each]
  })
  const atEnds = field.kind === "list"
    ? ["[]", "[null]", JSON.stringify(ends[field.of.kind] ?? [])]
    : ends[field.kind] ?? []
  return [...new Set([...atEnds, ...canonical])]
}

/** Settings that change how PostgreSQL prints and reads values, as somebody else's database may have them. */
const settings = [
  "intervalstyle = 'postgres_verbose'",
  "datestyle = 'German, DMY'",
  "timezone = 'Asia/Kolkata'",
  "bytea_output = 'escape'",
  "extra_float_digits = -5"
]

const connection = Layer.effect(
  Connection,
  Effect.gen(function*() {
    const { execute, name, url } = yield* Database
    for (const setting of settings) yield* Effect.promise(() => execute(`alter database ${name} set ${setting}`))
    return yield* makePostgres({ url })
  })
).pipe(Layer.provideMerge(databaseLayer(schema)))

layer(connection, live)("kinds of PostgreSQL", (it) => {
  for (const field of fields) {
    it.effect(`${field.name}: cells come back as they were written, and sort as in memory`, () =>
      Effect.gen(function*() {
        const postgres = yield* Connection
        const cells = cellsOf(field)
        yield* execute("truncate things")
        for (const [i, each] of cells.entries()) {
          const writer = new Writer()
          const sql = `insert into things (id, ${field.column}) values ($1, ${
            writer.value(field, 1).replace("$1", "$2")
          })`
          yield* postgres.transaction((session) => session.run(sql, [String(i), storedText(field, each)], false))
        }
        const sorted = hasOrder(field.kind) ? `t.${field.column}, t.id` : "t.id"
        const found = yield* postgres.read(
          `select t.id::text, ${textColumn("t", field)} from things t order by ${sorted}`,
          [],
          { prepare: false }
        )
        const canonical = canonicalOf(field) ?? ((text: string) => text)
        const read = found.map(([id, text]) => [Number(id), canonical(text!)] as const)
        expect(read.toSorted(([a], [b]) => a - b).map(([, text]) => text)).toEqual(cells)
        if (sorted === "t.id") return
        const expected = cells.map((each, i) => [i, each] as const)
          .toSorted((a, b) => compareCells(field, a[1], b[1]) || a[0] - b[0])
        expect(read).toEqual(expected)
      }))
  }

  it.effect("the hash of a row is the same there and here", () =>
    Effect.gen(function*() {
      const postgres = yield* Connection
      yield* execute("truncate things")
      const random = new Random(3)
      const stored = Array.from({ length: 20 }, (_, i) => [
        String(i),
        ...fields.map((field) => random.chance(5) ? null : random.pick(cellsOf(field)))
      ])
      for (const row of stored) {
        const writer = new Writer()
        const values = model.fields.map((field, i) => writer.value(field, i))
        yield* postgres.transaction((session) =>
          session.run(
            `insert into things values (${values.join(", ")})`,
            row.map((each, i) => storedText(model.fields[i]!, each)),
            false
          )
        )
      }
      const shape = { model, columns: [], where: always, order: [], limit: 1, checks: [], hashed: model.fields }
      const [hash] = outputs(shape, new Writer())
      const found = yield* postgres.read(`select ${hash} from things t order by t.id`, [], { prepare: false })
      expect(found.map(([text]) => text)).toEqual(
        stored.map((row) =>
          createHash("sha256").update(hashedText(model.fields, (_, i) => row[i] ?? null)).digest("hex")
        )
      )
    }))

  it.effect("types without a kind are PostgreSQL's own, and those that are written refuse wrong texts as bad data", () =>
    Effect.gen(function*() {
      const postgres = yield* Connection
      const own = yield* rows(
        `select t.typname from pg_type t where t.typnamespace = 'pg_catalog'::regnamespace and t.typtype in ('b', 'r', 'm') and t.typelem = 0
          or t.typname in ('point', 'box', 'line', 'lseg', 'int2vector', 'oidvector', 'name') order by 1`
      )
      const kinds =
        `bool bytea int8 int2 int4 text json jsonb uuid float4 float8 numeric money bpchar varchar date time timestamp timestamptz interval inet
        cidr macaddr int4range int8range numrange daterange tsrange tstzrange`.split(/\s+/)
      expect(own.flatMap(([type]) => kinds.includes(type!) || isNative(type!) ? [] : [type])).toEqual([])
      const wrong = [
        "",
        "x",
        "(1,2",
        "1e999",
        "-1",
        "<a>",
        "{[1,2",
        "(0,0),(0,0)",
        "9".repeat(5_000),
        "{}",
        "infinity",
        "99:99:99",
        "\u{1f600}"
      ]
      for (const [type] of own) {
        if (!isWritableNative(type!)) continue
        for (const text of wrong) {
          const state = yield* Effect.match(postgres.read(`select $1::${type}::text`, [text], { prepare: false }), {
            onFailure: ({ reason }) => reason._tag,
            onSuccess: () => "fine"
          })
          expect(state, `${type} ${text.slice(0, 20)}`).toMatch(/^(?:fine|BadValue|Unsupported)$/)
        }
      }
    }))
})
