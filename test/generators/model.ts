/** Tables: a key and some columns of any types of the database, with rows in them; and rows of a model that a test has. */

import { listLiteral } from "../../adapters/postgres/sql.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import type { Cell, Row } from "../../core/domain/value/kind.ts"
import { elementsOf } from "../../core/domain/value/list.ts"
import { type FieldParts, makeModel } from "../support/model.ts"
import type { Random } from "./random.ts"
import { cell, type CellOptions } from "./value.ts"

const labels = ["draft", "paid", "Shipped", "it's", "ß"]

/** The types that columns of `table` need in the database. */
export const tableTypes =
  `create domain label as text; create domain country_list as varchar(2)[]; create domain price as money; create type status as enum (${
    labels.map((label) => `'${label.replaceAll("'", "''")}'`).join(", ")
  });`

/** Every pair of a kind and a type that holds it. */
const columns: ReadonlyArray<readonly [FieldParts, type: string]> = [
  [{ name: "i16", kind: "integer", bits: 16 }, "smallint"],
  [{ name: "i32", kind: "integer", bits: 32 }, "integer"],
  [{ name: "i64", kind: "integer" }, "bigint"],
  [{ name: "txt", kind: "text" }, "text"],
  [{ name: "vc", kind: "text", max: 200 }, "varchar(200)"],
  [{ name: "ch", kind: "text", max: 40 }, "char(40)"],
  [{ name: "dom", kind: "text" }, "label"],
  [{ name: "dec", kind: "decimal", precision: 12, scale: 2 }, "numeric(12,2)"],
  [{ name: "num", kind: "decimal" }, "numeric"],
  [{ name: "flt", kind: "float" }, "double precision"],
  [{ name: "bool", kind: "boolean" }, "boolean"],
  [{ name: "tz", kind: "timestamp" }, "timestamptz"],
  [{ name: "ts", kind: "timestamp" }, "timestamp"],
  [{ name: "dt", kind: "date" }, "date"],
  [{ name: "st", kind: "enum", values: labels }, "status"],
  [{ name: "stt", kind: "enum", values: labels }, "text"],
  [{ name: "sto", kind: "enum", values: [...labels].reverse(), ordered: true }, "status"],
  [{ name: "stx", kind: "enum", values: [...labels].reverse(), ordered: true }, "text"],
  [{ name: "uid", kind: "uuid" }, "uuid"],
  [{ name: "cur", kind: "currency" }, "char(3)"],
  [{ name: "cty", kind: "country" }, "varchar(2)"],
  [{ name: "js", kind: "json" }, "jsonb"],
  [{ name: "l_i16", kind: "list", of: { kind: "integer", bits: 16 } }, "smallint[]"],
  [{ name: "l_i32", kind: "list", of: { kind: "integer", bits: 32 } }, "integer[]"],
  [{ name: "l_i64", kind: "list", of: { kind: "integer", bits: 64 } }, "bigint[]"],
  [{ name: "l_txt", kind: "list" }, "text[]"],
  [{ name: "l_ch", kind: "list", of: { kind: "text", max: 40 } }, "char(40)[]"],
  [{ name: "l_dom", kind: "list" }, "label[]"],
  [{ name: "l_dec", kind: "list", of: { kind: "decimal", precision: 12, scale: 2 } }, "numeric(12,2)[]"],
  [{ name: "l_num", kind: "list", of: { kind: "decimal", precision: null, scale: null } }, "numeric[]"],
  [{ name: "l_flt", kind: "list", of: { kind: "float" } }, "double precision[]"],
  [{ name: "l_bool", kind: "list", of: { kind: "boolean" } }, "boolean[]"],
  [{ name: "l_tz", kind: "list", of: { kind: "timestamp" } }, "timestamptz[]"],
  [{ name: "l_ts", kind: "list", of: { kind: "timestamp" } }, "timestamp[]"],
  [{ name: "l_dt", kind: "list", of: { kind: "date" } }, "date[]"],
  [{ name: "l_st", kind: "list", of: { kind: "enum", values: labels } }, "status[]"],
  [{ name: "l_uid", kind: "list", of: { kind: "uuid" } }, "uuid[]"],
  [{ name: "l_cur", kind: "list", of: { kind: "currency" } }, "char(3)[]"],
  [{ name: "l_cty", kind: "list", of: { kind: "country" } }, "country_list"],
  [{ name: "l_tm", kind: "list", of: { kind: "time" } }, "time[]"],
  [{ name: "l_iv", kind: "list", of: { kind: "interval" } }, "interval[]"],
  [{ name: "l_nw", kind: "list", of: { kind: "cidr" } }, "cidr[]"],
  [{ name: "l_mac", kind: "list", of: { kind: "macaddr" } }, "macaddr[]"],
  [{ name: "l_ip", kind: "list", of: { kind: "inet" } }, "inet[]"],
  [{ name: "l_by", kind: "list", of: { kind: "bytes", max: 65_536 } }, "bytea[]"],
  [{ name: "l_mon", kind: "list", of: { kind: "money", scale: 2 } }, "money[]"],
  [{ name: "l_mod", kind: "list", of: { kind: "money", scale: 2 } }, "price[]"],
  [{ name: "l_ri", kind: "list", of: { kind: "range", of: "integer" } }, "int4range[]"],
  [{ name: "l_rb", kind: "list", of: { kind: "range", of: "bigint" } }, "int8range[]"],
  [{ name: "l_rn", kind: "list", of: { kind: "range", of: "decimal" } }, "numrange[]"],
  [{ name: "l_rd", kind: "list", of: { kind: "range", of: "date" } }, "daterange[]"],
  [{ name: "l_rts", kind: "list", of: { kind: "range", of: "timestamp" } }, "tsrange[]"],
  [{ name: "l_rtz", kind: "list", of: { kind: "range", of: "timestamp" } }, "tstzrange[]"],
  [{ name: "l_pt", kind: "list", of: { kind: "native", type: "point" } }, "point[]"],
  [{ name: "l_box", kind: "list", of: { kind: "native", type: "box" } }, "box[]"],
  [{ name: "tm", kind: "time" }, "time"],
  [{ name: "iv", kind: "interval" }, "interval"],
  [{ name: "ip", kind: "inet" }, "inet"],
  [{ name: "nw", kind: "cidr" }, "cidr"],
  [{ name: "mac", kind: "macaddr" }, "macaddr"],
  [{ name: "by", kind: "bytes" }, "bytea"],
  [{ name: "mon", kind: "money" }, "money"],
  [{ name: "ri", kind: "range", type: "integer" }, "int4range"],
  [{ name: "rb", kind: "range", type: "bigint" }, "int8range"],
  [{ name: "rn", kind: "range", type: "decimal" }, "numrange"],
  [{ name: "rd", kind: "range", type: "date" }, "daterange"],
  [{ name: "rts", kind: "range", type: "timestamp" }, "tsrange"],
  [{ name: "rtz", kind: "range", type: "timestamp" }, "tstzrange"],
  [{ name: "pt", kind: "native", type: "point" }, "point"]
]

/** A cell as the database takes it. */
export const storedText = (field: Field, cell: Cell): Cell =>
  field.kind === "list" && cell !== null ? listLiteral(elementsOf(cell), field.of) : cell

/** A table: `parts`, `definitions` and `rows` are by the fields of the model, the key `id` first. */
export interface Table {
  readonly parts: readonly FieldParts[]
  readonly model: Model
  readonly definitions: readonly string[]
  /** As the database takes them; it may give some of them back in another form. */
  readonly rows: readonly Row[]
}

/** A table of `most` rows, with some columns of the many types, two thirds of them optional. */
export const table = (random: Random, name: string, most: number, options: CellOptions = {}): Table => {
  const chosen = random.many(6, columns.length, () => random.pick(columns), 1)
    .filter((column, i, all) => all.indexOf(column) === i)
    .map(([parts, type]) => ({ parts: { ...parts, optional: random.below(3) > 0 }, type }))
  const parts: readonly FieldParts[] = [
    { name: "id", kind: "integer", bits: 32 },
    ...chosen.map((column) => column.parts)
  ]
  const model = makeModel({ name, fields: parts })
  const [, ...fields] = model.fields
  return {
    parts,
    model,
    definitions: [
      "integer primary key",
      ...chosen.map(({ parts, type }) => type + (parts.optional ? "" : " not null"))
    ],
    rows: random.many(
      most,
      most,
      (index) => [String(index), ...fields.map((field) => someCell(random, field, options))],
      0
    )
  }
}

const someCell = (random: Random, field: Field, options: CellOptions): Cell =>
  field.optional && random.chance(4) ? null : cell(random, field, options)

/** A row of a model; `given` stand for the columns that it names. */
export const row = (
  random: Random,
  { columns }: Model,
  given: { readonly [column: string]: (random: Random) => Cell } = {}
): Row => columns.map((field) => given[field.name]?.(random) ?? someCell(random, field, {}))
